"""What a shard keeps of rows: their items from its first one on, equal rows once."""

from typing import NamedTuple

import numpy as np
from numba import njit

from shortcut_miner.mining.kernels_numba.rows import INSERTION_LIMIT

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


class Store(NamedTuple):
    """Distinct rows, and where to find them by hash: ``table`` holds row numbers + 1, and 0 where it is free.

    ``size`` is (rows, items); the other arrays may have room for more.
    """

    offsets: np.ndarray
    items: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    table: np.ndarray
    size: np.ndarray


@njit(nogil=True, cache=True)
def add_totals(offsets, items, classes, weights, totals, class_counts):
    """Add the weights of rows with a class to the totals of their items, and to their classes' counts."""
    for row in range(len(classes)):
        if classes[row] >= 0:
            class_counts[classes[row]] += weights[row]
            for position in range(offsets[row], offsets[row + 1]):
                totals[items[position]] += weights[row]


@njit(nogil=True, cache=True)
def add_suffixes(begin, offsets, items, classes, weights, number, first, stop, store):
    """Add the rows from `begin` on to `store`; return the first one that found no room, or their count.

    Items are renamed by `number`. Of each row the names from `first` on are kept, ascending, if one of them
    is below `stop` and the row has a class.
    """
    kept_offsets, kept_items, size = store.offsets, store.items, store.size
    most_rows = min(len(store.classes), len(store.table) // 2)
    for row in range(begin, len(classes)):
        if classes[row] < 0:
            continue
        low = size[1]
        if size[0] >= most_rows or low + offsets[row + 1] - offsets[row] > len(kept_items):
            return row
        top = low
        lowest = stop
        for position in range(offsets[row], offsets[row + 1]):
            name = number[items[position]]
            # What is not kept is overwritten.
            kept_items[top] = name
            top += name >= first
            if first <= name < lowest:
                lowest = name
        if lowest == stop:
            continue
        _sort(kept_items, low, top)
        _add_last(store, top, classes[row], weights[row])
        kept_offsets[size[0]] = size[1]
    return len(classes)


@njit(nogil=True, cache=True)
def fill_table(store):
    """Enter all rows of a store into its table, which is empty."""
    mask = len(store.table) - 1
    for row in range(store.size[0]):
        slot = _hash(store.items, store.offsets[row], store.offsets[row + 1], store.classes[row]) & mask
        while store.table[slot]:
            slot = (slot + 1) & mask
        store.table[slot] = row + 1


@njit(nogil=True, cache=True)
def _add_last(store, top, row_class, weight):
    """Make the items from ``size[1]`` to `top` a row, unless an equal one is there: then add the weight."""
    items, table, size = store.items, store.table, store.size
    low = size[1]
    mask = len(table) - 1
    slot = _hash(items, low, top, row_class) & mask
    while table[slot]:
        other = table[slot] - 1
        if store.classes[other] == row_class and _are_equal(store, other, low, top):
            store.weights[other] += weight
            return
        slot = (slot + 1) & mask
    row = size[0]
    store.classes[row] = row_class
    store.weights[row] = weight
    table[slot] = row + 1
    size[0] = row + 1
    size[1] = top


@njit(nogil=True, cache=True)
def _are_equal(store, row, low, top):
    begin = store.offsets[row]
    if store.offsets[row + 1] - begin != top - low:
        return False
    for k in range(top - low):
        if store.items[begin + k] != store.items[low + k]:
            return False
    return True


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
