"""Which values occur in a column, and each row's number among them."""

# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-incomplete-defs=False

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import KERNEL


def distinct_codes(codes: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the codes below `size` that occur, in their order, and each row's place among them.

    codes: int32 or int64, below 0 for null. The places are int32, 0 for null; third is whether a row has a
    code.
    """
    place, numbers = np.zeros(size, np.int32), np.empty(len(codes), np.int32)
    used, is_there = np.empty(min(size, len(codes)), np.int32), np.empty(len(codes), np.bool_)
    count = number_codes(codes, place, used, numbers, is_there)
    return used[:count], numbers, is_there


@njit(**KERNEL)
def number_codes(codes, place, used, numbers, is_there):
    """Fill all but `codes`; `place` is zeros. Returns how many codes are used."""
    first, last = len(place), -1
    for row in range(len(codes)):
        code = codes[row]
        is_there[row] = code >= 0
        if code >= 0:
            place[code] = 1
            first, last = code if code < first else first, code if code > last else last
    count = 0
    for code in range(first, last + 1):
        if place[code]:
            used[count] = code
            place[code] = count
            count += 1
    for row in range(len(codes)):
        numbers[row] = place[codes[row]] if is_there[row] else 0
    return count
