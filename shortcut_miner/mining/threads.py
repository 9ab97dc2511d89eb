"""How many threads the kernels use, and how work is cut for them."""

import itertools
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from shortcut_miner.errors import ConfigError

_T = TypeVar("_T")

# Of fewer values, finding parts to sort side by side takes as long as is gained; each looks at all values.
_MANY, _MOST_PARTS = 1 << 16, 8


def thread_count() -> int:
    """Return the threads to use: ``NUMBA_NUM_THREADS`` if set, else the processors this process may use.

    Raises
    ------
    ConfigError
        The variable is not a whole number of 1 or more.
    """
    wanted = os.environ.get("NUMBA_NUM_THREADS")
    if wanted is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not wanted.isdigit() or int(wanted) < 1:
        raise ConfigError(
            f"NUMBA_NUM_THREADS: got {wanted!r}, expected a whole number of 1 or more. Correct or unset it."
        )
    return int(wanted)


def blocks(count: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield (first, stop) of consecutive blocks of at most `size` that cover 0..count-1.

    >>> list(blocks(5, 2))
    [(0, 2), (2, 4), (4, 5)]
    """
    for first in range(0, count, size):
        yield first, min(first + size, count)


def read_ahead(parts: Iterator[_T], threads: int) -> Iterator[_T]:
    """Yield the parts; with two threads or more, each is made while the one before it is worked on.

    >>> list(read_ahead(iter("abc"), 2))
    ['a', 'b', 'c']
    """
    if threads < 2:
        yield from parts
        return
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, parts, None)
        while (part := coming.result()) is not None:
            coming = pool.submit(next, parts, None)
            yield part


def shares(work: npt.NDArray[np.int64], count: int) -> list[tuple[int, int]]:
    """Return (first, stop) of at most `count` ranges of about equal work that cover all positions of `work`.

    >>> shares(np.array([5, 1, 1, 1]), 2)
    [(0, 1), (1, 4)]
    """
    if not len(work):
        return []
    done = np.cumsum(work + 1)
    cuts = np.searchsorted(done, done[-1] * np.arange(1, count) / count, side="right")
    return list(itertools.pairwise(np.unique([0, *cuts, len(work)]).tolist()))


def sorted_order(
    first: npt.NDArray[Any], *further: npt.NDArray[Any], threads: int | None = None
) -> npt.NDArray[np.int64]:
    """Return the order by `first`, where that is equal by the `further` columns, and then as given.

    Threads sort parts of it by ranges of `first`, which has neither NaN nor infinity.

    >>> sorted_order(np.array([2, 1, 1]), np.array([0.5, 0.5, -0.5])).tolist()
    [2, 1, 0]
    """

    def in_order(which: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        for key in (*reversed(further), first):
            which = which[np.argsort(key[which], kind="stable")]
        return which

    parts = min(threads or thread_count(), _MOST_PARTS) if len(first) >= _MANY else 1
    if parts == 1:
        return in_order(np.arange(len(first)))
    cuts = np.arange(1, parts) * len(first) // parts
    borders = [-np.inf, *np.partition(first, cuts)[cuts].tolist(), np.inf]

    def part(low: float, high: float) -> npt.NDArray[np.int64]:
        return in_order(np.flatnonzero((first >= low) & (first < high)))

    with ThreadPoolExecutor(parts) as pool:
        return np.concatenate(list(pool.map(part, borders, borders[1:])))
