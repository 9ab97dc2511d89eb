"""Rows cut to the items that matter, and delivered item by item."""

from typing import NamedTuple

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import KERNEL, STEP

# An index of this type is taken as it is; a signed one is first looked at, whether it counts from the end.
_place = np.uint64


class Projected(NamedTuple):
    """Rows as CSR; per item the rows that hold it, and how many items follow it over these: its work."""

    offsets: np.ndarray
    items: np.ndarray
    holders: np.ndarray
    work: np.ndarray


def project_rows(
    offsets: np.ndarray, items: np.ndarray, row_order: np.ndarray, new_name: np.ndarray, names: int
) -> Projected:
    """Return the rows in `row_order`, items renamed to 0..names-1, sorted, and those named -1 left out."""
    out_offsets, (holders, work) = np.zeros(len(row_order) + 1, np.int64), np.zeros((2, names), np.int64)
    out_items = np.empty(int((offsets[row_order + 1] - offsets[row_order]).sum()), np.int32)
    rename_items(offsets, items, row_order, new_name, out_offsets, out_items, holders, work)
    # Memory is taken as it is filled: a copy would take more.
    return Projected(out_offsets, out_items[: out_offsets[-1]], holders, work)


@njit(**KERNEL)
def rename_items(offsets, items, row_order, new_name, out_offsets, out_items, holders, work):
    """Fill the rows in `row_order`, each sorted, and add up the rows and the work of each item."""
    top = np.int64(0)  # of a literal's type, `_sort` would be compiled twice
    for k in range(len(row_order)):
        row = row_order[k]
        begin = top
        for position in range(offsets[row], offsets[row + 1]):
            name = new_name[_place(items[_place(position)])]
            out_items[_place(top)] = name
            top += name >= 0
        _sort(out_items, begin, top)
        for position in range(begin, top):
            item = _place(out_items[_place(position)])
            holders[item] += 1
            work[item] += top - position - 1
        out_offsets[k + 1] = top


@njit(**STEP)
def _sort(values, begin, end):
    """Sort the values begin..end-1 (Shell's way: compiling the library's sort takes as long as a kernel)."""
    gap = 1
    while 3 * gap + 1 < end - begin:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(begin + gap, end):
            value = values[_place(k)]
            place = k
            while place >= begin + gap and values[_place(place - gap)] > value:
                values[_place(place)] = values[_place(place - gap)]
                place -= gap
            values[_place(place)] = value
        gap //= 3


def deliver(
    offsets: np.ndarray, items: np.ndarray, item_count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (starts, rows, after): for each item the rows that hold it and the position after it."""
    starts = np.concatenate(([0], np.cumsum(np.bincount(items, minlength=item_count))))
    rows, after = np.empty(len(items), np.int32), np.empty(len(items), np.int64)
    fill_delivery(offsets, items, starts[:-1].copy(), rows, after)
    return starts, rows, after


@njit(**KERNEL)
def fill_delivery(offsets, items, top, rows, after):
    """Fill the rows and positions of each item from its `top` on, which ends where they do."""
    for row in range(len(offsets) - 1):
        for position in range(offsets[row], offsets[row + 1]):
            slot = top[items[position]]
            rows[slot] = row
            after[slot] = position + 1
            top[items[position]] = slot + 1
