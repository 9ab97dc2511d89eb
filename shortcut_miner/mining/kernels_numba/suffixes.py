"""What a shard keeps of rows: the items from its first one on; equal rows become one."""

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import KERNEL, STEP

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_HALF, _LOWER_HALF = 32, (1 << 32) - 1


@njit(**KERNEL)
def add_suffixes(begin, offsets, items, classes, weights, use, kept):
    """Add the rows from `begin` on to `kept`; return the first one that found no room, or their count.

    Of each row with a class the items of an odd `use` are kept, in the row's own order, if there is some of
    use 3, a first item.
    """
    out_items, out_offsets, size = kept.items, kept.offsets, kept.size
    count, low = size[0], size[1]
    reached = len(classes)
    for row in range(begin, len(classes)):
        if count >= len(kept.classes) or low + offsets[row + 1] - offsets[row] > len(out_items):
            reached = row
            break
        has_first = 0
        top = low
        for position in range(offsets[row], offsets[row + 1]):
            # No branch on kept or not: what is not kept is overwritten.
            item = items[position]
            has_first |= use[item] >> 1
            out_items[top] = item
            top += use[item] & 1
        if has_first and classes[row] >= 0:
            kept.classes[count] = classes[row]
            kept.weights[count] = weights[row]
            count += 1
            out_offsets[count] = low = top
    size[0], size[1] = count, low
    return reached


@njit(**KERNEL)
def merge_rows(kept):
    """Make one row of rows with equal items and class, their weights added; all are merged then.

    The table has twice as many places as there are rows, or more.
    """
    offsets, items, table, size = kept.offsets, kept.items, kept.table, kept.size
    mask = len(table) - 1
    count = size[2]
    low = offsets[count]
    begin = low
    for row in range(count, size[0]):
        end = offsets[row + 1]
        code = np.uint64(kept.classes[row] + 1)
        for position in range(begin, end):
            code = (code ^ np.uint64(items[position])) * _MULTIPLIER
            code ^= code >> _SHIFT
        key = np.int64(code >> np.uint64(33))
        slot = key & mask
        while table[slot]:
            other = (table[slot] & _LOWER_HALF) - 1
            if table[slot] >> _HALF == key and _are_equal(kept, other, row, begin, end):
                kept.weights[other] += kept.weights[row]
                break
            slot = (slot + 1) & mask
        else:
            for position in range(begin, end):
                items[low + position - begin] = items[position]
            low += end - begin
            kept.classes[count] = kept.classes[row]
            kept.weights[count] = kept.weights[row]
            count += 1
            table[slot] = (key << _HALF) | count
            offsets[count] = low
        begin = end
    size[0], size[1], size[2] = count, low, count


@njit(**STEP)
def _are_equal(kept, other, row, begin, end):
    """Return whether a merged row equals a later one, whose items are at begin..end."""
    start = kept.offsets[other]
    if kept.classes[other] != kept.classes[row] or kept.offsets[other + 1] - start != end - begin:
        return False
    same = 0
    while same < end - begin and kept.items[start + same] == kept.items[begin + same]:
        same += 1
    return same == end - begin


@njit(**KERNEL)
def refill_table(old, table):
    """Enter what an old table holds into a larger one, which is empty."""
    mask = len(table) - 1
    for k in range(len(old)):
        entry = old[k]
        if entry:
            slot = (entry >> _HALF) & mask
            while table[slot]:
                slot = (slot + 1) & mask
            table[slot] = entry
