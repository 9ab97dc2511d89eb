"""Which rules fire on which rows: occurrence delivery, restricted to a trie of the rules.

A node of the trie owns the rows that contain its items, each cut to the later items. Scanning these
remainders finds all hits on the node's children at once, sorted by child, so every hit of a rule is met
exactly once and memory is read in order. The cost grows with the number of hits, not with rows x rules.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from shortcut_miner.mining.kernels_numba.filter import find_child

# With this many times more children than rows, a node's few hits are looked up and sorted singly.
_FEW_ROWS_RATIO = 4


class Trie(NamedTuple):
    """Rules by antecedent: node v has children ``child_starts[v]..`` and rules ``rules[rule_starts[v]..]``.

    Node 0 is the empty antecedent. Items are numbers in the matcher's own order, ascending along a
    path and among siblings. ``rule_class`` is per rule.
    """

    items: np.ndarray
    child_starts: np.ndarray
    rule_starts: np.ndarray
    rules: np.ndarray
    rule_class: np.ndarray


class Targets(NamedTuple):
    """The answers of rows: the majority's class, and all accepted classes as CSR with a 64-bit sketch."""

    majority: np.ndarray
    accepted_starts: np.ndarray
    accepted: np.ndarray
    sketch: np.ndarray


class Tallies(NamedTuple):
    """What a match adds up. Per rule: rows fired, majority right, accepted. Per row: counts and first rules.

    With room in ``pairs``, each hit only writes its rule at ``cursor[row]`` and moves the cursor on.
    """

    rule_fired: np.ndarray
    rule_right: np.ndarray
    rule_accepted: np.ndarray
    row_fired: np.ndarray
    row_right: np.ndarray
    row_best: np.ndarray
    row_best_right: np.ndarray
    cursor: np.ndarray
    pairs: np.ndarray


class Hits(NamedTuple):
    """Hits sorted by trie node: the node, the row, and the position after the row's last matched item."""

    nodes: np.ndarray
    rows: np.ndarray
    after: np.ndarray


@njit(nogil=True, cache=True)
def sketch_classes(accepted_starts, accepted):
    """Return uint64[rows] with bit ``class % 64`` set for every accepted class of the row."""
    sketch = np.zeros(len(accepted_starts) - 1, np.uint64)
    for row in range(len(sketch)):
        for k in range(accepted_starts[row], accepted_starts[row + 1]):
            if accepted[k] >= 0:
                sketch[row] |= np.uint64(1) << np.uint64(accepted[k] & 63)
    return sketch


@njit(nogil=True, cache=True)
def match_block(first, stop, offsets, items, item_count, trie, depth, targets, tallies):
    """Match the rows first..stop-1 (items in the trie's order, ascending) and add to `tallies`.

    `depth` is the length of the longest antecedent.
    """
    hits, most = _first_hits(first, stop, offsets, items, item_count, trie, targets, tallies)
    arena = Hits(np.empty(most * depth, np.int64), np.empty(most * depth, np.int32), np.empty(most * depth, np.int64))
    child_of = np.full(item_count, -1, np.int64)
    upto = np.zeros(depth + 2, np.int64)
    stops = np.zeros(depth + 2, np.int64)
    low = 0
    while low < len(hits.nodes):
        high = _run_end(hits, low, len(hits.nodes))
        level = 1
        stops[1] = _expand(hits, low, high, offsets, items, trie, arena, 0, child_of)
        upto[1] = 0
        while level > 0:
            run = upto[level]
            if run == stops[level]:
                level -= 1
                continue
            end = _run_end(arena, run, stops[level])
            upto[level] = end
            _tally(arena.nodes[run], run, end, arena.rows, trie, targets, tallies)
            stop_below = _expand(arena, run, end, offsets, items, trie, arena, stops[level], child_of)
            if stop_below > stops[level]:
                upto[level + 1] = stops[level]
                stops[level + 1] = stop_below
                level += 1
        low = high


@njit(nogil=True, cache=True)
def _first_hits(first, stop, offsets, items, item_count, trie, targets, tallies):
    """Tally the root and its children; return the children's hits and the most items after any of them."""
    rows = np.arange(first, stop).astype(np.int32)
    _tally(0, 0, len(rows), rows, trie, targets, tallies)
    node_of = np.full(item_count, -1, np.int64)
    for node in range(trie.child_starts[0], trie.child_starts[1]):
        node_of[trie.items[node]] = node
    starts = np.zeros(item_count + 1, np.int64)
    for position in range(offsets[first], offsets[stop]):
        starts[items[position] + 1] += node_of[items[position]] >= 0
    for item in range(item_count):
        starts[item + 1] += starts[item]
    hits = Hits(np.empty(starts[-1], np.int64), np.empty(starts[-1], np.int32), np.empty(starts[-1], np.int64))
    nodes, hit_rows, after = hits.nodes, hits.rows, hits.after
    top = starts[:-1].copy()
    work = np.zeros(item_count + 1, np.int64)
    for row in range(first, stop):
        for position in range(offsets[row], offsets[row + 1]):
            item = items[position]
            if node_of[item] >= 0:
                slot = top[item]
                nodes[slot] = node_of[item]
                hit_rows[slot] = row
                after[slot] = position + 1
                top[item] = slot + 1
                work[item] += offsets[row + 1] - position - 1
    for item in range(item_count):
        if starts[item + 1] > starts[item]:
            _tally(node_of[item], starts[item], starts[item + 1], hit_rows, trie, targets, tallies)
    return hits, work.max()


@njit(nogil=True, cache=True)
def _run_end(hits, low, stop):
    nodes = hits.nodes
    node = nodes[low]
    while low < stop and nodes[low] == node:
        low += 1
    return low


@njit(nogil=True, cache=True)
def _expand(hits, low, high, offsets, items, trie, arena, top, child_of):
    """Write the hits on the children of one node, sorted by child, to the arena from `top`; return their end."""
    node = hits.nodes[low]
    first, stop = trie.child_starts[node], trie.child_starts[node + 1]
    if first == stop:
        return top
    rows, after, trie_items = hits.rows, hits.after, trie.items
    out_nodes, out_rows, out_after = arena.nodes, arena.rows, arena.after
    if stop - first > _FEW_ROWS_RATIO * (high - low):
        end = top
        for slot in range(low, high):
            for position in range(after[slot], offsets[rows[slot] + 1]):
                child = find_child(trie_items, first, stop, items[position])
                if child >= 0:
                    place = end
                    while place > top and out_nodes[place - 1] > child:
                        out_nodes[place] = out_nodes[place - 1]
                        out_rows[place] = out_rows[place - 1]
                        out_after[place] = out_after[place - 1]
                        place -= 1
                    out_nodes[place], out_rows[place], out_after[place] = child, rows[slot], position + 1
                    end += 1
        return end
    for child in range(first, stop):
        child_of[trie_items[child]] = child
    fill = np.zeros(stop - first + 1, np.int64)
    for slot in range(low, high):
        for position in range(after[slot], offsets[rows[slot] + 1]):
            child = child_of[items[position]]
            if child >= 0:
                fill[child - first + 1] += 1
    fill[0] = top
    for k in range(stop - first):
        fill[k + 1] += fill[k]
    end = fill[-1]
    for slot in range(low, high):
        for position in range(after[slot], offsets[rows[slot] + 1]):
            child = child_of[items[position]]
            if child >= 0:
                place = fill[child - first]
                out_nodes[place], out_rows[place], out_after[place] = child, rows[slot], position + 1
                fill[child - first] = place + 1
    for child in range(first, stop):
        child_of[trie_items[child]] = -1
    return end


@njit(nogil=True, cache=True)
def _tally(node, low, high, rows, trie, targets, tallies):
    """Add the rules at `node`, which fire on ``rows[low:high]``, to the tallies."""
    majority, sketch = targets.majority, targets.sketch
    accepted_starts, accepted = targets.accepted_starts, targets.accepted
    row_fired, row_right = tallies.row_fired, tallies.row_right
    row_best, row_best_right = tallies.row_best, tallies.row_best_right
    cursor, pairs = tallies.cursor, tallies.pairs
    for k in range(trie.rule_starts[node], trie.rule_starts[node + 1]):
        rule = trie.rules[k]
        if len(pairs):
            for slot in range(low, high):
                pairs[cursor[rows[slot]]] = rule
                cursor[rows[slot]] += 1
            continue
        answer = trie.rule_class[rule]
        bit = np.uint64(answer & 63)
        right = 0
        agreed = 0
        for slot in range(low, high):
            row = rows[slot]
            row_fired[row] += 1
            row_best[row] = min(row_best[row], rule)
            if answer < 0:
                continue
            right += majority[row] == answer
            if sketch[row] >> bit & np.uint64(1):
                for a in range(accepted_starts[row], accepted_starts[row + 1]):
                    if accepted[a] == answer:
                        agreed += 1
                        row_right[row] += 1
                        row_best_right[row] = min(row_best_right[row], rule)
                        break
        tallies.rule_fired[rule] += high - low
        tallies.rule_right[rule] += right
        tallies.rule_accepted[rule] += agreed
