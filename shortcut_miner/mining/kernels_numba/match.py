"""Which rules fire on which rows: occurrence delivery, restricted to a trie of the rules.

A node of the trie owns the rows that contain its items, each cut to the later items. Scanning these
remainders finds all hits on the node's children at once, sorted by child, so every hit of a rule is met
exactly once and memory is read in order. The cost grows with the number of hits, not with rows x rules.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import KERNEL, STEP


class Hits(NamedTuple):
    """Hits sorted by trie node: the node, the local row, and the position after its last matched item."""

    nodes: np.ndarray
    rows: np.ndarray
    after: np.ndarray


class Local(NamedTuple):
    """The rows of one first item, copied side by side: items that its rules use, answers, tallies.

    Everything below the first item works on these few contiguous rows and stays in cache.
    """

    rows: np.ndarray
    items: np.ndarray
    starts: np.ndarray
    majority: np.ndarray
    sketch: np.ndarray
    fired: np.ndarray
    right: np.ndarray
    best: np.ndarray
    best_right: np.ndarray


class Space(NamedTuple):
    """One thread's working memory, grown to the largest first item."""

    local: Local
    hits: Hits
    found: Hits
    child_of: np.ndarray
    is_used: np.ndarray
    fill: np.ndarray
    level_next: np.ndarray
    level_stop: np.ndarray


NO_RULE = np.iinfo(np.int64).max


def working_memory(most_rows: int, most_items: int, most_children: int, item_count: int, depth: int) -> Space:
    """Return working memory for first items in so many rows, with so many later items in these.

    `most_children` are those of any node of the trie, `depth` is the length of the longest antecedent.
    """
    room, found = most_rows + most_items * depth, most_items + 1
    return Space(
        Local(
            rows=np.empty(most_rows, np.int32),
            items=np.empty(most_items, np.int32),
            starts=np.empty(most_rows + 1, np.int64),
            majority=np.empty(most_rows, np.int32),
            sketch=np.empty(most_rows, np.uint64),
            fired=np.zeros(most_rows, np.int64),
            right=np.zeros(most_rows, np.int64),
            best=np.full(most_rows, NO_RULE),
            best_right=np.full(most_rows, NO_RULE),
        ),
        Hits(np.empty(room, np.int64), np.empty(room, np.int32), np.empty(room, np.int64)),
        Hits(np.empty(found, np.int64), np.empty(found, np.int32), np.empty(found, np.int64)),
        child_of=np.full(item_count, -1, np.int32),
        is_used=np.zeros(item_count, np.bool_),
        fill=np.zeros(most_children + 1, np.int64),
        level_next=np.zeros(depth + 2, np.int64),
        level_stop=np.zeros(depth + 2, np.int64),
    )


def sketch_classes(accepted_starts: np.ndarray, accepted: np.ndarray) -> np.ndarray:
    """Return uint64[rows] with bit ``class % 64`` set for every accepted class of the row."""
    sketch = np.zeros(len(accepted_starts) - 1, np.uint64)
    add_classes(accepted_starts, accepted, sketch)
    return sketch


@njit(**KERNEL)
def add_classes(accepted_starts, accepted, sketch):
    """Set the bits of the rows' accepted classes in their sketches."""
    for row in range(len(sketch)):
        for k in range(accepted_starts[row], accepted_starts[row + 1]):
            if accepted[k] >= 0:
                sketch[row] |= np.uint64(1) << np.uint64(accepted[k] & 63)


@njit(**KERNEL)
def match_first_items(
    first, stop, starts, occurrence_rows, after, offsets, items, trie, targets, tallies, space
):
    """Match below the trie's first nodes ``first..stop-1`` and add to `tallies`.

    `starts`, `occurrence_rows` and `after` deliver each item's rows (see kernels_numba.rows.deliver); rows
    are ``items[offsets[r]:offsets[r + 1]]`` in the trie's item numbers, ascending. Different first nodes
    touch different rules, but the same rows.
    """
    level_next, level_stop = space.level_next, space.level_stop
    hits, nodes = space.hits, space.hits.nodes
    for node in range(first, stop):
        item = trie.items[node]
        count = _copy_rows(
            node, starts[item], starts[item + 1], occurrence_rows, after, offsets, items, trie, targets, space
        )
        for row in range(count):
            nodes[row] = node
            hits.rows[row] = row
            hits.after[row] = space.local.starts[row]
        level = 0
        level_next[0], level_stop[0] = 0, count
        while level >= 0:
            run = level_next[level]
            if run == level_stop[level]:
                level -= 1
                continue
            end = run
            while end < level_stop[level] and nodes[end] == nodes[run]:
                end += 1
            level_next[level] = end
            _tally(nodes[run], run, end, trie, targets, tallies, space)
            stop_below = _expand(run, end, level_stop[level], trie, space)
            if stop_below > level_stop[level]:
                level_next[level + 1] = level_stop[level]
                level_stop[level + 1] = stop_below
                level += 1
        _flush(count, tallies, space)


@njit(**STEP)
def _copy_rows(node, low, high, occurrence_rows, after, offsets, items, trie, targets, space):
    """Copy the rows of a first item, cut to the items that rules below its node use; return their number."""
    is_used, child_starts, trie_items = space.is_used, trie.child_starts, trie.items
    local_items, local_starts, local_rows = space.local.items, space.local.starts, space.local.rows
    first, stop = child_starts[node], child_starts[node + 1]
    while first < stop:
        for below in range(first, stop):
            is_used[trie_items[below]] = True
        first, stop = child_starts[first], child_starts[stop]
    top = 0
    has_targets = len(targets.sketch) > 0
    for slot in range(low, high):
        row = occurrence_rows[slot]
        local_rows[slot - low] = row
        local_starts[slot - low] = top
        for position in range(after[slot], offsets[row + 1]):
            if is_used[items[position]]:
                local_items[top] = items[position]
                top += 1
        if has_targets:
            space.local.majority[slot - low] = targets.majority[row]
            space.local.sketch[slot - low] = targets.sketch[row]
    local_starts[high - low] = top
    first, stop = child_starts[node], child_starts[node + 1]
    while first < stop:
        for below in range(first, stop):
            is_used[trie_items[below]] = False
        first, stop = child_starts[first], child_starts[stop]
    return high - low


@njit(**STEP)
def _expand(low, high, top, trie, space):
    """Write the hits on the children of hits low..high, sorted by child, from `top`; return their end.

    The scan has no branch on hit or miss (a miss is overwritten): mispredictions would cost more.
    """
    nodes, rows, after = space.hits.nodes, space.hits.rows, space.hits.after
    first = trie.child_starts[nodes[low]] if low < high else 0
    stop = trie.child_starts[nodes[low] + 1] if low < high else 0
    if first == stop:
        return top
    found_nodes, found_rows, found_after = space.found.nodes, space.found.rows, space.found.after
    items, starts = space.local.items, space.local.starts
    trie_items, child_of, fill = trie.items, space.child_of, space.fill
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
    if size == 0:
        return top
    for k in range(stop - first + 1):
        fill[k] = 0
    for k in range(size):
        fill[found_nodes[k] + 1] += 1
    fill[0] = top
    for k in range(stop - first):
        fill[k + 1] += fill[k]
    for k in range(size):
        place = fill[found_nodes[k]]
        fill[found_nodes[k]] = place + 1
        nodes[place] = found_nodes[k] + first
        rows[place] = found_rows[k]
        after[place] = found_after[k]
    return top + size


@njit(**STEP)
def _tally(node, low, high, trie, targets, tallies, space):
    """Add the rules at `node`, which fire on the local rows of hits low..high locally."""
    rows = space.hits.rows
    if trie.rule_starts[node] == trie.rule_starts[node + 1]:
        return
    local_rows, majority, sketch = space.local.rows, space.local.majority, space.local.sketch
    accepted_starts, accepted = targets.accepted_starts, targets.accepted
    fired, row_right = space.local.fired, space.local.right
    best, best_right = space.local.best, space.local.best_right
    cursor, pairs = tallies.cursor, tallies.pairs
    for k in range(trie.rule_starts[node], trie.rule_starts[node + 1]):
        rule = trie.rules[k]
        if len(pairs):
            for slot in range(low, high):
                row = local_rows[rows[slot]]
                pairs[cursor[row]] = rule
                cursor[row] += 1
            continue
        answer = trie.rule_class[rule]
        bit = np.uint64(answer & 63)
        right = 0
        agreed = 0
        for slot in range(low, high):
            row = rows[slot]
            fired[row] += 1
            best[row] = min(best[row], rule)
            if answer < 0:
                continue
            right += majority[row] == answer
            if sketch[row] >> bit & np.uint64(1):
                global_row = local_rows[row]
                for a in range(accepted_starts[global_row], accepted_starts[global_row + 1]):
                    if accepted[a] == answer:
                        agreed += 1
                        row_right[row] += 1
                        best_right[row] = min(best_right[row], rule)
                        break
        tallies.rule_fired[rule] += high - low
        tallies.rule_right[rule] += right
        tallies.rule_accepted[rule] += agreed


@njit(**STEP)
def _flush(count, tallies, space):
    """Add the local tallies of rows to the totals and clear them."""
    if len(tallies.pairs):
        return
    local_rows, fired, right = space.local.rows, space.local.fired, space.local.right
    best, best_right = space.local.best, space.local.best_right
    for k in range(count):
        row = local_rows[k]
        tallies.row_fired[row] += fired[k]
        tallies.row_right[row] += right[k]
        tallies.row_best[row] = min(tallies.row_best[row], best[k])
        tallies.row_best_right[row] = min(tallies.row_best_right[row], best_right[k])
        fired[k] = right[k] = 0
        best[k] = best_right[k] = NO_RULE
