"""What a shard keeps of rows: their items from its first one on, equal rows once."""

import numpy as np
from numba import njit

from shortcut_miner.mining.kernels_numba.rows import INSERTION_LIMIT

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


@njit(nogil=True, cache=True)
def add_totals(offsets, items, classes, weights, totals, class_counts):
    """Add the weights of rows with a class to the totals of their items, and to their classes' counts."""
    for row in range(len(classes)):
        if classes[row] >= 0:
            class_counts[classes[row]] += weights[row]
            for position in range(offsets[row], offsets[row + 1]):
                totals[items[position]] += weights[row]


@njit(nogil=True, cache=True)
def add_suffixes(begin, offsets, items, classes, weights, number, first, stop, kept):
    """Add the rows from `begin` on to `kept`; return the first one that found no room, or their count.

    Items are renamed by `number`. Of each row the names from `first` on are kept, ascending, if one of them
    is below `stop` and the row has a class.
    """
    out_offsets, out_items, size = kept.offsets, kept.items, kept.size
    most_rows = min(len(kept.classes), len(kept.table) // 2)
    for row in range(begin, len(classes)):
        if classes[row] < 0:
            continue
        low = size[1]
        if size[0] >= most_rows or low + offsets[row + 1] - offsets[row] > len(out_items):
            return row
        top = low
        lowest = stop
        for position in range(offsets[row], offsets[row + 1]):
            name = number[items[position]]
            # What is not kept is overwritten.
            out_items[top] = name
            top += name >= first
            if first <= name < lowest:
                lowest = name
        if lowest == stop:
            continue
        _sort(out_items, low, top)
        _add_last(kept, top, classes[row], weights[row])
        out_offsets[size[0]] = size[1]
    return len(classes)


@njit(nogil=True, cache=True)
def fill_table(kept):
    """Enter all rows of a kept into its table, which is empty."""
    mask = len(kept.table) - 1
    for row in range(kept.size[0]):
        slot = _hash(kept.items, kept.offsets[row], kept.offsets[row + 1], kept.classes[row]) & mask
        while kept.table[slot]:
            slot = (slot + 1) & mask
        kept.table[slot] = row + 1


@njit(nogil=True, cache=True)
def _add_last(kept, top, row_class, weight):
    """Make the items from ``size[1]`` to `top` a row, unless an equal one is there: then add the weight."""
    items, table, size = kept.items, kept.table, kept.size
    low = size[1]
    mask = len(table) - 1
    slot = _hash(items, low, top, row_class) & mask
    while table[slot]:
        other = table[slot] - 1
        if kept.classes[other] == row_class and _are_equal(kept, other, low, top):
            kept.weights[other] += weight
            return
        slot = (slot + 1) & mask
    row = size[0]
    kept.classes[row] = row_class
    kept.weights[row] = weight
    table[slot] = row + 1
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


@njit(nogil=True, cache=True)
def _hash(items, low, top, row_class):
    code = np.uint64(row_class + 1)
    for position in range(low, top):
        code = (code ^ np.uint64(items[position])) * _MULTIPLIER
        code ^= code >> _SHIFT
    return np.int64(code >> np.uint64(1))


@njit(nogil=True, cache=True)
def _sort(items, low, top):
    if top - low > INSERTION_LIMIT:
        items[low:top].sort()
        return
    for position in range(low + 1, top):
        name = items[position]
        place = position
        while place > low and items[place - 1] > name:
            items[place] = items[place - 1]
            place -= 1
        items[place] = name
