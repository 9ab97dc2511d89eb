"""Counting frequent itemsets without keeping them: a depth-first search with occurrence delivery.

The search is that of ``mine.py`` without classes: nothing but the number of itemsets per length comes out,
so the last length is never visited, only counted, as cells of a matrix of pairs of candidates.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import KERNEL, STEP

# Above this many candidates the pair matrix would leave the cache; the search then goes one level deeper.
PAIR_LIMIT = 256


class Rows(NamedTuple):
    """Rows ``items[starts[r]:ends[r]]``, ascending, with their weights."""

    items: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    weights: np.ndarray


class Occurrences(NamedTuple):
    """Where items occur: the row, and the position just after the item in ``Rows.items``."""

    rows: np.ndarray
    after: np.ndarray


class Space(NamedTuple):
    """One thread's working memory; ``total`` and ``pairs`` are zero, ``name`` is -1 between uses.

    The search's own rows and occurrences, and per length of the itemset under search: how many candidates it
    has (``kept``), how many of them were tried (``cursor``), where each one's occurrences start (``starts``),
    and how much of the rows, items and occurrences is in use (``tops``).
    """

    rows: Rows
    occurrences: Occurrences
    total: np.ndarray
    candidates: np.ndarray
    name: np.ndarray
    pairs: np.ndarray
    kept: np.ndarray
    cursor: np.ndarray
    starts: np.ndarray
    tops: np.ndarray


@njit(**KERNEL)
def count_itemsets(first, stop, starts, occurrences, rows, limits, space, found):
    """Add the frequent itemsets whose first item is one of first..stop-1 to ``found``, by length.

    ``limits`` is (min_count, max_length). One-item sets are not counted, they are known to be frequent.
    """
    kept, cursor = space.kept, space.cursor
    for item in range(first, stop):
        low, high = starts[item], starts[item + 1]
        depth = np.int64(0)  # a literal would be compiled by itself
        depth = _expand(depth, low, high, item + 1, len(starts) - 1, occurrences, rows, limits, space, found)
        while depth > 0:
            k = cursor[depth]
            if k + 1 >= kept[depth]:  # the last candidate has none after it
                depth -= 1
                continue
            cursor[depth] = k + 1
            low, high = space.starts[depth, k], space.starts[depth, k + 1]
            depth += _expand(
                depth, low, high, k + 1, kept[depth], space.occurrences, space.rows, limits, space, found
            )


@njit(**STEP)
def _expand(above, low, high, first, stop, occurrences, rows, limits, space, found):
    """Count the itemsets one or two items longer than the one that occurs at low..high.

    It has ``above + 1`` items; the items after it in its rows are among first..stop-1. Returns 1 if the
    search must go on below it, else 0.
    """
    min_count, max_length = limits
    length = above + 1
    kept = _count_candidates(low, high, first, stop, occurrences, rows, min_count, space)
    found[length + 1] += kept
    go_on = length + 1 < max_length and kept > 1
    if go_on:
        row_top, row_stop = space.tops[above, 0], _keep_rows(above, low, high, occurrences, rows, space)
        if length + 2 == max_length and kept <= PAIR_LIMIT:
            found[length + 2] += _count_pairs(kept, row_top, row_stop, min_count, space)
            go_on = False
        else:
            space.kept[length] = kept
            space.cursor[length] = 0
            _deliver(length, row_top, row_stop, space)
    for k in range(kept):
        space.name[space.candidates[k]] = -1
    return 1 if go_on else 0


@njit(**STEP)
def _count_candidates(low, high, first, stop, occurrences, rows, min_count, space):
    """Give the items of first..stop-1 that reach `min_count` after low..high a ``name``; return how many."""
    items, ends, weights = rows.items, rows.ends, rows.weights
    occurrence_rows, after = occurrences.rows, occurrences.after
    total, candidates, name = space.total, space.candidates, space.name
    for slot in range(low, high):
        row = occurrence_rows[slot]
        weight = weights[row]
        for position in range(after[slot], ends[row]):
            total[items[position]] += weight
    kept = 0
    for item in range(first, stop):
        candidates[kept] = item
        kept += total[item] >= min_count
        total[item] = 0
    for k in range(kept):
        name[candidates[k]] = k
    return kept


@njit(**STEP)
def _keep_rows(above, low, high, occurrences, rows, space):
    """Write the rows of low..high, cut to the named items, where two or more remain; return their end."""
    items, ends, weights = rows.items, rows.ends, rows.weights
    occurrence_rows, after, name = occurrences.rows, occurrences.after, space.name
    new_items, new_starts, new_ends = space.rows.items, space.rows.starts, space.rows.ends
    new_weights = space.rows.weights
    row_top, top = space.tops[above, 0], space.tops[above, 1]
    for slot in range(low, high):
        row = occurrence_rows[slot]
        begin = top
        for position in range(after[slot], ends[row]):
            new_name = name[items[position]]
            new_items[top] = new_name
            top += new_name >= 0
        if top - begin < 2:
            top = begin
            continue
        new_starts[row_top] = begin
        new_ends[row_top] = top
        new_weights[row_top] = weights[row]
        row_top += 1
    space.tops[above + 1, 0], space.tops[above + 1, 1] = row_top, top
    return row_top


@njit(**STEP)
def _count_pairs(kept, row_top, row_stop, min_count, space):
    """Return how many pairs of the `kept` items reach `min_count` in the rows row_top..row_stop."""
    items, starts, ends, weights = space.rows.items, space.rows.starts, space.rows.ends, space.rows.weights
    pairs = space.pairs
    for row in range(row_top, row_stop):
        weight = weights[row]
        end = ends[row]
        for left in range(starts[row], end - 1):
            line = items[left] * kept
            for right in range(left + 1, end):
                pairs[line + items[right]] += weight
    count = 0
    for cell in range(kept * kept):
        count += pairs[cell] >= min_count
    for cell in range(kept * kept):
        pairs[cell] = 0
    return count


@njit(**STEP)
def _deliver(length, row_top, row_stop, space):
    """Write the occurrences of every candidate in the rows row_top..row_stop, and where they start."""
    items, row_starts, row_ends = space.rows.items, space.rows.starts, space.rows.ends
    occurrence_rows, after = space.occurrences.rows, space.occurrences.after
    starts, kept, top = space.starts[length], space.kept[length], space.tops[length - 1, 2]
    for k in range(kept + 1):
        starts[k] = 0
    for row in range(row_top, row_stop):
        for position in range(row_starts[row], row_ends[row]):
            starts[items[position] + 1] += 1
    starts[0] = top
    for k in range(kept):
        starts[k + 1] += starts[k]
    space.tops[length, 2] = starts[kept]
    # Filling moves each start to its end; afterwards every start is the end of the one before.
    for row in range(row_top, row_stop):
        for position in range(row_starts[row], row_ends[row]):
            item = items[position]
            slot = starts[item]
            occurrence_rows[slot] = row
            after[slot] = position + 1
            starts[item] = slot + 1
    for k in range(kept, 0, -1):
        starts[k] = starts[k - 1]
    starts[0] = top
