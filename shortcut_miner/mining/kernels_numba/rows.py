"""Rows as flat arrays: put in order, cut to the items that matter, delivered item by item."""

from typing import NamedTuple

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import FILLING, RETURNING

# Longer rows are sorted by the library, shorter ones while they are written.
_INSERTION_LIMIT = 64


class Rows(NamedTuple):
    """Rows of a node or of the whole job: ``items[starts[r]:ends[r]]`` ascending, one class, one weight."""

    items: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    classes: np.ndarray
    weights: np.ndarray


class Occurrences(NamedTuple):
    """Where items occur: the row, and the position just after the item in ``Rows.items``."""

    rows: np.ndarray
    after: np.ndarray


@njit(**RETURNING)
def count_items(offsets, items, row_order, classes, weights, item_count):
    """Return, per item: rows that hold it, its largest class count, and that class (first on ties).

    `row_order` lists the rows by ascending class.
    """
    total = np.zeros(item_count, np.int64)
    best = np.zeros(item_count, np.int64)
    best_class = np.full(item_count, -1, np.int32)
    run = np.zeros(item_count, np.int64)
    run_class = np.full(item_count, -1, np.int32)
    for row in row_order:
        weight = weights[row]
        row_class = classes[row]
        for position in range(offsets[row], offsets[row + 1]):
            item = items[position]
            total[item] += weight
            run[item] = run[item] + weight if run_class[item] == row_class else weight
            run_class[item] = row_class
            if run[item] > best[item]:
                best[item] = run[item]
                best_class[item] = row_class
    return total, best, best_class


@njit(**RETURNING)
def project_rows(offsets, items, row_order, new_name):
    """Return (offsets, items) of the rows in `row_order`, items renamed, sorted, and -1 names left out."""
    out_offsets = np.zeros(len(row_order) + 1, np.int64)
    most = 0
    for row in row_order:
        most += offsets[row + 1] - offsets[row]
    out_items = np.empty(most, np.int32)
    top = 0
    for k in range(len(row_order)):
        row = row_order[k]
        begin = top
        for position in range(offsets[row], offsets[row + 1]):
            name = new_name[items[position]]
            if name >= 0:
                if top - begin < _INSERTION_LIMIT:
                    place = top
                    while place > begin and out_items[place - 1] > name:
                        out_items[place] = out_items[place - 1]
                        place -= 1
                    out_items[place] = name
                else:
                    out_items[top] = name
                top += 1
        if top - begin > _INSERTION_LIMIT:
            out_items[begin:top].sort()
        out_offsets[k + 1] = top
    return out_offsets, out_items[:top]  # memory is taken as it is filled: a copy would take more


@njit(**RETURNING)
def deliver(offsets, items, item_count):
    """Return (starts, rows, after): for each item the rows that hold it and the position after it."""
    starts = np.zeros(item_count + 1, np.int64)
    for position in range(len(items)):
        starts[items[position] + 1] += 1
    for item in range(item_count):
        starts[item + 1] += starts[item]
    top = starts[:-1].copy()
    rows = np.empty(len(items), np.int32)
    after = np.empty(len(items), np.int64)
    for row in range(len(offsets) - 1):
        for position in range(offsets[row], offsets[row + 1]):
            slot = top[items[position]]
            rows[slot] = row
            after[slot] = position + 1
            top[items[position]] = slot + 1
    return starts, rows, after


@njit(**RETURNING)
def item_work(offsets, items, item_count):
    """Return, per item: rows that hold it, and items that follow it over all its rows (its work)."""
    holders = np.zeros(item_count, np.int64)
    work = np.zeros(item_count, np.int64)
    for row in range(len(offsets) - 1):
        end = offsets[row + 1]
        for position in range(offsets[row], end):
            holders[items[position]] += 1
            work[items[position]] += end - position - 1
    return holders, work


@njit(**RETURNING)
def copy_suffixes(first, stop, holders, work, offsets, items, classes, weights):
    """Return (starts, Rows): for each item first..stop-1 the rows that hold it, cut to what follows it.

    Row ``starts[item - first]..`` of the copy belongs to `item`. One pass over all rows replaces random
    access to them, item by item; ``rows.classes`` ascends within an item as it does in `classes`.
    """
    count = stop - first
    starts = np.zeros(count + 1, np.int64)
    item_top = np.zeros(count + 1, np.int64)
    for k in range(count):
        starts[k + 1] = starts[k] + holders[first + k]
        item_top[k + 1] = item_top[k] + work[first + k]
    out_items = np.empty(item_top[count], np.int32)
    out_starts = np.empty(starts[count], np.int64)
    out_ends = np.empty(starts[count], np.int64)
    out_classes = np.empty(starts[count], np.int32)
    out_weights = np.empty(starts[count], np.int64)
    top = starts[:-1].copy()
    for row in range(len(offsets) - 1):
        end = offsets[row + 1]
        for position in range(offsets[row], end):
            item = items[position]
            if item >= stop:
                break
            if item < first:
                continue
            slot, begin = top[item - first], item_top[item - first]
            for k in range(end - position - 1):
                out_items[begin + k] = items[position + 1 + k]
            out_starts[slot] = begin
            out_ends[slot] = begin + end - position - 1
            out_classes[slot] = classes[row]
            out_weights[slot] = weights[row]
            top[item - first] = slot + 1
            item_top[item - first] = begin + end - position - 1
    return starts, Rows(out_items, out_starts, out_ends, out_classes, out_weights)


@njit(**FILLING)
def add_totals(offsets, items, classes, weights, totals, class_counts):
    """Add the weights of rows with a class to the totals of their items, and to their classes' counts."""
    for row in range(len(classes)):
        if classes[row] >= 0:
            class_counts[classes[row]] += weights[row]
            for position in range(offsets[row], offsets[row + 1]):
                totals[items[position]] += weights[row]
