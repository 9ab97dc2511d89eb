"""Equal rows become one row that stands for all of them, in NumPy alone."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]

# The constants of splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
# What is made on the way of so many rows stays in the cache.
_ROWS_AT_ONCE = 1 << 13


class RowArrays(NamedTuple):
    """Rows as :class:`~shortcut_miner.transactions.Transactions` holds them, and each one's group number.

    Row r holds ``items[offsets[r]:offsets[r + 1]]``, ascending, with ``offsets[0]`` = 0; int64 offsets and
    weights, int32 items, classes and groups.
    """

    offsets: Ints
    items: Numbers
    classes: Numbers
    weights: Ints
    groups: Numbers


def merge_equal_rows(rows: RowArrays) -> RowArrays:
    """Return the rows with those of equal items, class and group merged, weights added up.

    A merged row stands where the first of its equals stood. Rows are compared by their contents; a hash only
    brings them together.

    >>> ones = np.ones(3, np.int64)
    >>> offsets, items = np.array([0, 2, 3, 5]), np.array([4, 7, 7, 4, 7], np.int32)
    >>> same = np.zeros(3, np.int32)
    >>> merged = merge_equal_rows(RowArrays(offsets, items, same, ones, same))
    >>> merged.offsets.tolist(), merged.items.tolist(), merged.weights.tolist()
    ([0, 2, 3], [4, 7, 7], [2, 1])
    """
    keys = _hashes(rows)
    order = np.argsort(keys)
    keys = keys[order]
    is_repeat = np.zeros(len(order), np.bool_)
    suspects = np.flatnonzero(keys[1:] == keys[:-1]) + 1
    is_repeat[suspects] = _are_equal(rows, order[suspects], order[suspects - 1])
    if not is_repeat.any():
        return rows
    heads = np.flatnonzero(~is_repeat)
    firsts = np.minimum.reduceat(order, heads)
    in_place = np.argsort(firsts)
    weights = np.add.reduceat(rows.weights[order], heads)
    return take_rows(rows, firsts[in_place])._replace(weights=weights[in_place])


def take_rows(rows: RowArrays, places: Ints) -> RowArrays:
    """Return the rows at `places`, in that order."""
    offsets, items = take_items(rows.offsets, rows.items, places)
    return RowArrays(offsets, items, rows.classes[places], rows.weights[places], rows.groups[places])


def take_items(offsets: Ints, items: Numbers, places: Ints) -> tuple[Ints, Numbers]:
    """Return (offsets, items) of the rows at `places`, in that order."""
    starts = offsets[places]
    ends = np.concatenate(([0], np.cumsum(offsets[places + 1] - starts)))
    taken = np.empty(ends[-1], items.dtype)
    for first in range(0, len(places), _ROWS_AT_ONCE):
        rows = slice(first, first + _ROWS_AT_ONCE)
        here = ends[first : first + _ROWS_AT_ONCE + 1]
        taken[here[0] : here[-1]] = items[positions_of(starts[rows], np.diff(here))]
    return ends, taken


def _hashes(rows: RowArrays) -> npt.NDArray[np.uint64]:
    """Return a hash per row of its items, class and group: a sum, so that empty rows need no exception."""
    mixed = _mixed(np.arange(rows.items.max(initial=-1) + 1, dtype=np.uint64))
    sums = np.zeros(len(rows.items) + 1, np.uint64)
    np.cumsum(mixed[rows.items], out=sums[1:])
    found = sums[rows.offsets[1:]] - sums[rows.offsets[:-1]]
    for numbers in (rows.classes, rows.groups):
        found = _mixed(found + numbers.astype(np.uint64))
    return found


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return splitmix64's finaliser of each number."""
    mixed = numbers + _STEP
    for shift, factor in zip(_SHIFTS, _FACTORS, strict=False):
        mixed = (mixed ^ (mixed >> shift)) * factor
    return mixed ^ (mixed >> _SHIFTS[-1])


def _are_equal(rows: RowArrays, left: Ints, right: Ints) -> npt.NDArray[np.bool_]:
    """Return whether each row at `left` equals the one at the same place of `right`."""
    lengths = np.diff(rows.offsets)
    equal: npt.NDArray[np.bool_] = lengths[left] == lengths[right]
    for numbers in (rows.classes, rows.groups):
        equal &= numbers[left] == numbers[right]
    alike = np.flatnonzero(equal)
    left, right, lengths = left[alike], right[alike], lengths[left[alike]]
    differs = (
        rows.items[positions_of(rows.offsets[left], lengths)]
        != rows.items[positions_of(rows.offsets[right], lengths)]
    )
    equal[alike[np.repeat(np.arange(len(alike)), lengths)[differs]]] = False
    return equal


def positions_of(starts: Ints, lengths: Ints) -> Ints:
    """Return ``starts[k], starts[k] + 1, ...``, ``lengths[k]`` of them, for each k in turn."""
    ends = np.cumsum(lengths)
    positions: Ints = np.repeat(starts - (ends - lengths), lengths)
    positions += np.arange(len(positions))
    return positions
