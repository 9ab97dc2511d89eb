"""What a shard keeps of rows: the items from its first one on; equal rows become one."""

import numpy as np
from numba import njit

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_HALF, _LOWER_HALF = 32, (1 << 32) - 1


@njit(nogil=True, cache=True)
def add_totals(offsets, items, classes, weights, totals, class_counts):
    """Add the weights of rows with a class to the totals of their items, and to their classes' counts."""
    for row in range(len(classes)):
        if classes[row] >= 0:
            class_counts[classes[row]] += weights[row]
            for position in range(offsets[row], offsets[row + 1]):
                totals[items[position]] += weights[row]


@njit(nogil=True, cache=True)
def add_suffixes(begin, offsets, items, classes, weights, place, first, stop, kept):
    """Add the rows from `begin` on to `kept`; return the first one that found no room, or their count.

    Of each row with a class the items whose place is `first` or later are kept, in the row's own order, if
    some place is before `stop`.
    """
    out_items, size = kept.items, kept.size
    most_rows = min(len(kept.classes), len(kept.table) // 2)
    for row in range(begin, len(classes)):
        if classes[row] < 0:
            continue
        top = size[1]
        if size[0] >= most_rows or top + offsets[row + 1] - offsets[row] > len(out_items):
            return row
        has_first = False
        code = np.uint64(classes[row] + 1)
        for position in range(offsets[row], offsets[row + 1]):
            # No branch on kept or not: what is not kept is overwritten.
            item = items[position]
            is_kept = place[item] >= first
            has_first |= is_kept & (place[item] < stop)
            mixed = (code ^ np.uint64(item)) * _MULTIPLIER
            code = mixed ^ (mixed >> _SHIFT) if is_kept else code
            out_items[top] = item
            top += is_kept
        if has_first:
            _add_last(kept, top, classes[row], weights[row], np.int64(code >> np.uint64(33)))
    return len(classes)


@njit(nogil=True, cache=True)
def refill_table(old, table):
    """Enter what an old table holds into a larger one, which is empty."""
    mask = len(table) - 1
    for entry in old:
        if entry:
            slot = (entry >> _HALF) & mask
            while table[slot]:
                slot = (slot + 1) & mask
            table[slot] = entry


@njit(nogil=True, cache=True)
def _add_last(kept, top, row_class, weight, code):
    """Make the items from ``size[1]`` to `top` a row, unless an equal one is there: then add the weight.

    `code` is their hash with the class, of 31 bits.
    """
    table, size = kept.table, kept.size
    low = size[1]
    mask = len(table) - 1
    slot = code & mask
    while table[slot]:
        if table[slot] >> _HALF == code:
            other = (table[slot] & _LOWER_HALF) - 1
            if kept.classes[other] == row_class and _are_equal(kept, other, low, top):
                kept.weights[other] += weight
                return
        slot = (slot + 1) & mask
    row = size[0]
    kept.classes[row] = row_class
    kept.weights[row] = weight
    kept.offsets[row + 1] = top
    table[slot] = (code << _HALF) | (row + 1)
    size[0] = row + 1
    size[1] = top


@njit(nogil=True, cache=True)
def _are_equal(kept, row, low, top):
    begin = kept.offsets[row]
    if kept.offsets[row + 1] - begin != top - low:
        return False
    same = 0
    while same < top - low and kept.items[begin + same] == kept.items[low + same]:
        same += 1
    return same == top - low
