"""Sums over the rows where rules fire: occurrence delivery, restricted to a trie of the rules.

The walk is that of ``match.py``; what differs is what a hit adds. Hits on the last items of antecedents are
added as they are found, without sorting them by node.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import KERNEL, STEP


class Hits(NamedTuple):
    """Hits sorted by trie node: the node, the row, and the position after its last matched item."""

    nodes: np.ndarray
    rows: np.ndarray
    after: np.ndarray


class Local(NamedTuple):
    """The rows of one first item, copied side by side: items that its rules use, and what the summands need.

    All that is below the first item works on these few contiguous rows and stays in cache.
    """

    items: np.ndarray
    starts: np.ndarray
    column: np.ndarray
    weights: np.ndarray
    is_used: np.ndarray


class Space(NamedTuple):
    """One thread's working memory."""

    local: Local
    hits: Hits
    found: Hits
    child_of: np.ndarray
    fill: np.ndarray
    level_next: np.ndarray
    level_stop: np.ndarray


def working_memory(most_rows: int, most_items: int, most_children: int, item_count: int, depth: int) -> Space:
    """Return working memory, as ``match.working_memory`` does."""
    room, found = most_rows + most_items * max(depth - 2, 0), most_items + 1
    return Space(
        Local(
            items=np.empty(most_items + 1, np.int32),
            starts=np.empty(most_rows + 1, np.int64),
            column=np.empty(most_rows, np.int32),
            weights=np.empty(most_rows, np.int64),
            is_used=np.zeros(item_count, np.bool_),
        ),
        Hits(np.empty(room, np.int64), np.empty(room, np.int32), np.empty(room, np.int64)),
        Hits(np.empty(found, np.int64), np.empty(found, np.int32), np.empty(found, np.int64)),
        child_of=np.full(item_count, -1, np.int64),
        fill=np.zeros(most_children + 1, np.int64),
        level_next=np.zeros(depth + 2, np.int64),
        level_stop=np.zeros(depth + 2, np.int64),
    )


@njit(**KERNEL)
def add_where_fired(first, stop, starts, occurrence_rows, after, offsets, items, trie, summands, sums, space):
    """Add each rule's summands over the rows where it fires to ``sums``.

    `starts`, `occurrence_rows`, `after` deliver each item's rows (see ``rows.deliver``); `trie` and its first
    nodes first..stop-1 are as in ``match.py``, and rules go by their place in ``trie.rules``. Every rule is
    met below one first node only, so that threads with different first nodes share `sums`.
    """
    local, hits, found, child_of, fill, level_next, level_stop = space
    child_starts, nodes = trie.child_starts, hits.nodes
    first_child = np.int64(0)  # a literal would be compiled by itself
    for node in range(first, stop):
        low, high = starts[trie.items[node]], starts[trie.items[node] + 1]
        _copy_rows(node, low, high, occurrence_rows, after, offsets, items, trie, summands, local)
        for row in range(high - low):
            nodes[row] = node
            hits.rows[row] = row
            hits.after[row] = local.starts[row]
        _add(high - low, first_child, nodes, hits.rows, trie, local, summands, sums)
        level = 0
        level_next[0], level_stop[0] = 0, high - low
        while level >= 0:
            run, stop_here = level_next[level], level_stop[level]
            if run == stop_here:
                level -= 1
                continue
            end = run
            while end < stop_here and nodes[end] == nodes[run]:
                end += 1
            level_next[level] = end
            child, stop_child = child_starts[nodes[run]], child_starts[nodes[run] + 1]
            if child == stop_child:
                continue
            size = _find_hits(child, stop_child, run, end, trie.items, local, hits, found, child_of)
            _add(size, child, found.nodes, found.rows, trie, local, summands, sums)
            if child_starts[stop_child] > child_starts[child]:  # some child has children
                _sort_hits(size, child, stop_child - child, stop_here, found, hits, fill)
                level += 1
                level_next[level], level_stop[level] = stop_here, stop_here + size


@njit(**STEP)
def _copy_rows(node, low, high, occurrence_rows, after, offsets, items, trie, summands, local):
    """Copy the rows of a first item, cut to the items that rules below its node use."""
    is_used, trie_items, child_starts = local.is_used, trie.items, trie.child_starts
    local_items, local_starts = local.items, local.starts
    first, stop = child_starts[node], child_starts[node + 1]
    while first < stop:
        for below in range(first, stop):
            is_used[trie_items[below]] = True
        first, stop = child_starts[first], child_starts[stop]
    top = 0
    for slot in range(low, high):
        row = occurrence_rows[slot]
        local.column[slot - low] = summands.column[row]
        local.weights[slot - low] = summands.weights[row]
        local_starts[slot - low] = top
        for position in range(after[slot], offsets[row + 1]):
            local_items[top] = items[position]
            top += is_used[items[position]]
    local_starts[high - low] = top
    first, stop = child_starts[node], child_starts[node + 1]
    while first < stop:
        for below in range(first, stop):
            is_used[trie_items[below]] = False
        first, stop = child_starts[first], child_starts[stop]


@njit(**STEP)
def _add(size, first, nodes, rows, trie, local, summands, sums):
    """Add the summands of the first `size` hits, on nodes counted from `first`, to their rules."""
    rule_starts, line, table = trie.rule_starts, summands.line, summands.table
    column, weights = local.column, local.weights
    for k in range(size):
        row, node = rows[k], nodes[k] + first
        for rule in range(rule_starts[node], rule_starts[node + 1]):
            sums[rule] += weights[row] * table[line[rule], column[row]]


@njit(**STEP)
def _find_hits(first, stop, low, high, trie_items, local, hits, found, child_of):
    """Write the hits of low..high on the children first..stop-1 to `found`, in row order; return how many.

    The scan has no branch on hit or miss (a miss is overwritten): mispredictions would cost more.
    """
    rows, after, items, starts = hits.rows, hits.after, local.items, local.starts
    found_nodes, found_rows, found_after = found.nodes, found.rows, found.after
    for child in range(first, stop):
        child_of[trie_items[child]] = child - first
    size = 0
    for slot in range(low, high):
        row = rows[slot]
        for position in range(after[slot], starts[row + 1]):
            child = child_of[items[position]]
            found_nodes[size] = child
            found_rows[size] = row
            found_after[size] = position + 1
            size += child >= 0
    for child in range(first, stop):
        child_of[trie_items[child]] = -1
    return size


@njit(**STEP)
def _sort_hits(size, first, count, top, found, hits, fill):
    """Copy the first `size` hits found on the `count` children from node `first` on to `hits`, by child."""
    nodes, rows, after = hits.nodes, hits.rows, hits.after
    found_nodes, found_rows, found_after = found.nodes, found.rows, found.after
    for k in range(count + 1):
        fill[k] = 0
    for k in range(size):
        fill[found_nodes[k] + 1] += 1
    fill[0] = top
    for k in range(count):
        fill[k + 1] += fill[k]
    for k in range(size):
        place = fill[found_nodes[k]]
        fill[found_nodes[k]] = place + 1
        nodes[place] = found_nodes[k] + first
        rows[place] = found_rows[k]
        after[place] = found_after[k]
