"""What the every-day run leaves out: slow tests, and most cases of those of which a sample is enough."""

import math
import zlib
from collections.abc import Iterable

import pytest


def left_out(tests: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the tests that are ``slow``, and the cases that are not in the ``sample(count)`` of theirs."""
    cases: dict[str, list[pytest.Item]] = {}
    for test in tests:
        cases.setdefault(test.nodeid.partition("[")[0], []).append(test)
    out = []
    for name, its_cases in cases.items():
        sample = its_cases[0].get_closest_marker("sample")
        kept = sampled(name, len(its_cases), *sample.args) if sample else range(len(its_cases))
        out += [
            test for at, test in enumerate(its_cases) if at not in kept or test.get_closest_marker("slow")
        ]
    return out


def sampled(name: str, size: int, count: int) -> set[int]:
    """Return which ``count`` of ``size`` cases to take, the same in every process.

    Each function begins elsewhere, so that several functions over the same commands take different ones. The
    stride has no divisor in common with the size, so that of a product of two lists both change at each step.
    """
    stride = max(1, size // count)
    while math.gcd(stride, size) > 1:
        stride += 1
    first = zlib.crc32(name.encode())
    return {(first + number * stride) % size for number in range(min(count, size))}
