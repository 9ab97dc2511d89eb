"""Rows as flat arrays: counted, cut to what follows an item."""

from typing import NamedTuple

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import KERNEL

# An index of this type is taken as it is; a signed one is first looked at, whether it counts from the end.
_place = np.uint64


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


def count_items(
    offsets: np.ndarray, items: np.ndarray, classes: np.ndarray, weights: np.ndarray, item_count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, per item: rows that hold it, its largest class count, and that class (first on ties).

    The rows ascend by class.
    """
    total, best, run = np.zeros((3, item_count), np.int64)
    best_class, run_class = np.full((2, item_count), -1, np.int32)
    add_items(offsets, items, classes, weights, total, best, best_class, run, run_class)
    return total, best, best_class


@njit(**KERNEL)
def add_items(offsets, items, classes, weights, total, best, best_class, run, run_class):
    """Count the items of all rows; `run` and `run_class` are those of the class that is at hand."""
    for row in range(len(classes)):
        weight = weights[row]
        row_class = classes[row]
        for position in range(offsets[row], offsets[row + 1]):
            item = _place(items[_place(position)])
            total[item] += weight
            run[item] = run[item] + weight if run_class[item] == row_class else weight
            run_class[item] = row_class
            if run[item] > best[item]:
                best[item] = run[item]
                best_class[item] = row_class


def copy_suffixes(
    first: int,
    stop: int,
    holders: np.ndarray,
    work: np.ndarray,
    offsets: np.ndarray,
    items: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray,
) -> tuple[np.ndarray, Rows]:
    """Return (starts, Rows): for each item first..stop-1 the rows that hold it, cut to what follows it.

    Row ``starts[item - first]..`` of the copy belongs to `item`. One pass over all rows replaces random
    access to them, item by item; ``rows.classes`` ascends within an item as it does in `classes`.
    """
    starts = np.concatenate(([0], np.cumsum(holders[first:stop])))
    item_top = np.concatenate(([0], np.cumsum(work[first:stop])))
    count = int(starts[-1])
    copy = Rows(
        items=np.empty(int(item_top[-1]), np.int32),
        starts=np.empty(count, np.int64),
        ends=np.empty(count, np.int64),
        classes=np.empty(count, np.int32),
        weights=np.empty(count, np.int64),
    )
    fill_suffixes(first, stop, offsets, items, classes, weights, starts[:-1].copy(), item_top, copy)
    return starts, copy


@njit(**KERNEL)
def fill_suffixes(first, stop, offsets, items, classes, weights, top, item_top, copy):
    """Fill a copy of the rows: those of each item from its `top` on, their items from its `item_top` on."""
    out_items, out_starts, out_ends = copy.items, copy.starts, copy.ends
    out_classes, out_weights = copy.classes, copy.weights
    for row in range(len(offsets) - 1):
        end = offsets[row + 1]
        for position in range(offsets[row], end):
            item = items[_place(position)]
            if item >= stop:
                break
            if item < first:
                continue
            place = _place(item - first)
            slot, begin = _place(top[place]), item_top[place]
            for k in range(end - position - 1):
                out_items[_place(begin + k)] = items[_place(position + 1 + k)]
            out_starts[slot] = begin
            out_ends[slot] = begin + end - position - 1
            out_classes[slot] = classes[row]
            out_weights[slot] = weights[row]
            top[place] += 1
            item_top[place] = begin + end - position - 1


@njit(**KERNEL)
def add_totals(offsets, items, classes, weights, totals, class_counts):
    """Add the weights of rows with a class to the totals of their items, and to their classes' counts."""
    for row in range(len(classes)):
        if classes[row] >= 0:
            class_counts[classes[row]] += weights[row]
            for position in range(offsets[row], offsets[row + 1]):
                totals[items[position]] += weights[row]
