"""Arrays as pointers inside compiled functions: the same numbers, at the same places."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from shortcut_miner.kernel_options import STEP
from shortcut_miner.kernel_pointers import pointers


class Inner(NamedTuple):
    small: np.ndarray
    table: np.ndarray


class Outer(NamedTuple):
    flags: np.ndarray
    inner: Inner
    width: int


@njit(**STEP)  # type: ignore[untyped-decorator]
def move(outer: Any, line: int) -> None:
    """Write a line of the table over the small numbers where flags are set, and clear these."""
    for k in range(outer.width):
        if outer.flags[k]:
            outer.inner.small[k] = outer.inner.table[line * outer.width + k]
            outer.flags[k] = False


@njit  # type: ignore[untyped-decorator]
def call_move(outer: Any, line: int) -> None:
    move(pointers(outer), line)


@njit  # type: ignore[untyped-decorator]
def first_of(array: Any) -> Any:
    return pointers(array)[0]


def test_what_pointers_reach_is_what_the_arrays_hold() -> None:
    flags = np.array([True, False, True])
    small = np.array([1, -2, 3], np.int32)
    outer = Outer(flags, Inner(small, np.array([[10, 20, 30], [-40, 50, 60]])), 3)
    call_move(outer, np.int64(1))
    assert small.tolist() == [-40, -2, 60]
    assert flags.tolist() == [False, False, False]


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64, np.float32, np.float64])
def test_numbers_of_every_type_are_read(dtype: Any) -> None:
    assert first_of(np.array([7, 8], dtype)) == 7


def test_an_array_with_gaps_is_refused() -> None:
    with pytest.raises(TypingError, match="expected an array that is contiguous"):
        first_of(np.arange(10)[::2])
