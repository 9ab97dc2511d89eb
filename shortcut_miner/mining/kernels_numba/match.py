"""Which rules fire on which rows: occurrence delivery, restricted to a trie of the rules.

A node of the trie owns the rows that contain its items, each cut to the later items. Scanning these
remainders finds all hits on the node's children at once, and memory is read in order. Hits are added up as
they are found; only where children have children they are sorted, to go on below these. The cost grows with
the number of hits, not with rows x rules.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import KERNEL, STEP


class Hits(NamedTuple):
    """Hits: the trie node, the local row, and the position after its last matched item."""

    nodes: np.ndarray
    rows: np.ndarray
    after: np.ndarray


class Local(NamedTuple):
    """The rows of one first item, copied side by side: items that its rules use, answers, summands, tallies.

    Everything below the first item works on these few contiguous rows and stays in cache.
    """

    rows: np.ndarray
    items: np.ndarray
    starts: np.ndarray
    majority: np.ndarray
    sketch: np.ndarray
    column: np.ndarray
    weights: np.ndarray
    tallies: np.ndarray


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


def no_tallies(rows: int) -> np.ndarray:
    """Return int64[rows, 4]: rules that fire and are right (0), the first of them (none yet)."""
    return np.tile(np.array([0, 0, NO_RULE, NO_RULE]), (rows, 1))


def working_memory(most_rows: int, most_items: int, most_children: int, item_count: int, depth: int) -> Space:
    """Return working memory for first items in so many rows, with so many later items in these.

    `most_children` are those of any node of the trie, `depth` is the length of the longest antecedent.
    """
    room, found = most_rows + most_items * max(depth - 2, 0), most_items + 1
    return Space(
        Local(
            rows=np.empty(most_rows, np.int32),
            items=np.empty(found, np.int32),
            starts=np.empty(most_rows + 1, np.int64),
            majority=np.empty(most_rows, np.int32),
            sketch=np.empty(most_rows, np.uint64),
            column=np.empty(most_rows, np.int32),
            weights=np.empty(most_rows, np.int64),
            tallies=no_tallies(most_rows),
        ),
        Hits(np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int64)),
        Hits(np.empty(found, np.int32), np.empty(found, np.int32), np.empty(found, np.int64)),
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
    first, stop, starts, occurrence_rows, after, offsets, items, trie, targets, summands, tallies, space
):
    """Match below the trie's first nodes ``first..stop-1`` and add to `tallies`.

    `starts`, `occurrence_rows` and `after` deliver each item's rows (see kernels_numba.rows.deliver); rows
    are ``items[offsets[r]:offsets[r + 1]]`` in the trie's item numbers, ascending. Different first nodes
    touch different rules, but the same rows.
    """
    level_next, level_stop = space.level_next, space.level_stop
    local, hits, found, child_starts = space.local, space.hits, space.found, trie.child_starts
    nodes = hits.nodes
    first_child = np.int64(0)  # a literal would be compiled by itself
    for node in range(first, stop):
        low, high = starts[trie.items[node]], starts[trie.items[node] + 1]
        _copy_rows(node, low, high, occurrence_rows, after, offsets, items, trie, targets, summands, space)
        for row in range(high - low):
            nodes[row] = node
            hits.rows[row] = row
            hits.after[row] = local.starts[row]
        _add(high - low, first_child, nodes, hits.rows, trie, local, targets, summands, tallies)
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
            size = _find_hits(child, stop_child, run, end, trie.items, space)
            _add(size, child, found.nodes, found.rows, trie, local, targets, summands, tallies)
            if child_starts[stop_child] > child_starts[child]:  # some child has children
                _sort_hits(size, child, stop_child - child, stop_here, found, hits, space.fill)
                level += 1
                level_next[level], level_stop[level] = stop_here, stop_here + size
        _flush(high - low, tallies, local)


@njit(**STEP)
def _copy_rows(node, low, high, occurrence_rows, after, offsets, items, trie, targets, summands, space):
    """Copy the rows of a first item, cut to the items that rules below its node use."""
    local, is_used, child_starts, trie_items = space.local, space.is_used, trie.child_starts, trie.items
    local_items, local_starts = local.items, local.starts
    has_targets, has_summands = len(targets.majority) > 0, len(summands.table) > 0
    has_sketch = len(targets.sketch) > 0
    first, stop = child_starts[node], child_starts[node + 1]
    while first < stop:
        for below in range(first, stop):
            is_used[trie_items[below]] = True
        first, stop = child_starts[first], child_starts[stop]
    top = 0
    for slot in range(low, high):
        row = occurrence_rows[slot]
        local.rows[slot - low] = row
        local_starts[slot - low] = top
        for position in range(after[slot], offsets[row + 1]):
            local_items[top] = items[position]
            top += is_used[items[position]]
        if has_targets:
            local.majority[slot - low] = targets.majority[row]
        if has_sketch:
            local.sketch[slot - low] = targets.sketch[row]
        if has_summands:
            local.column[slot - low] = summands.column[row]
            local.weights[slot - low] = summands.weights[row]
    local_starts[high - low] = top
    first, stop = child_starts[node], child_starts[node + 1]
    while first < stop:
        for below in range(first, stop):
            is_used[trie_items[below]] = False
        first, stop = child_starts[first], child_starts[stop]


@njit(**STEP)
def _find_hits(first, stop, low, high, trie_items, space):
    """Write the hits of low..high on the children first..stop-1 to `found`, in row order; return how many.

    The scan has no branch on hit or miss (a miss is overwritten): mispredictions would cost more.
    """
    rows, after = space.hits.rows, space.hits.after
    items, starts, child_of = space.local.items, space.local.starts, space.child_of
    found_nodes, found_rows, found_after = space.found.nodes, space.found.rows, space.found.after
    for child in range(first, stop):
        child_of[trie_items[child]] = child - first
    size, last = 0, trie_items[stop - 1]
    for slot in range(low, high):
        row = rows[slot]
        for position in range(after[slot], starts[row + 1]):
            if items[position] > last:
                break
            child = child_of[items[position]]
            found_nodes[size] = child
            found_rows[size] = row
            found_after[size] = position + 1
            size += child >= 0
    for child in range(first, stop):
        child_of[trie_items[child]] = -1
    return size


@njit(**STEP)
def _add(size, first, nodes, rows, trie, local, targets, summands, tallies):
    """Add the rules of the first `size` hits, whose nodes count from `first`."""
    rule_starts, numbers, answers = trie.rule_starts, trie.rules, targets.answers
    by_rule, by_row, majority, sketch = tallies.by_rule, local.tallies, local.majority, local.sketch
    line, table, column, weights = summands.line, summands.table, local.column, local.weights
    has_rows, has_sums, has_more = len(tallies.by_row) > 0, len(table) > 0, len(targets.sketch) > 0
    pairs, cursor = tallies.pairs, tallies.cursor
    has_pairs = len(pairs) > 0
    for k in range(size):
        row, node = rows[k], nodes[k] + first
        for place in range(rule_starts[node], rule_starts[node + 1]):
            if has_pairs:
                pairs[cursor[local.rows[row]]] = numbers[place]
                cursor[local.rows[row]] += 1
            if has_sums:
                by_rule[place, 3] += weights[row] * table[line[place], column[row]]
            if not has_rows:
                continue
            rule, answer = numbers[place], answers[place]
            by_rule[place, 0] += 1
            by_row[row, 0] += 1
            by_row[row, 2] = min(by_row[row, 2], rule)
            is_right = answer >= 0 and majority[row] == answer
            by_rule[place, 1] += is_right
            if has_more:
                is_right = answer >= 0 and (sketch[row] >> np.uint64(answer & 63)) & np.uint64(1)
                if is_right:
                    is_right = _is_accepted(local.rows[row], answer, targets)
            if is_right:
                by_rule[place, 2] += 1
                by_row[row, 1] += 1
                by_row[row, 3] = min(by_row[row, 3], rule)


@njit(**STEP)
def _is_accepted(row, answer, targets):
    """Return whether an answer is one of those accepted for a row."""
    for k in range(targets.accepted_starts[row], targets.accepted_starts[row + 1]):
        if targets.accepted[k] == answer:
            return True
    return False


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


@njit(**STEP)
def _flush(count, tallies, local):
    """Add the local tallies of rows to the totals and clear them."""
    by_row, here = tallies.by_row, local.tallies
    if len(by_row) == 0:
        return
    for k in range(count):
        row = local.rows[k]
        by_row[row, 0] += here[k, 0]
        by_row[row, 1] += here[k, 1]
        by_row[row, 2] = min(by_row[row, 2], here[k, 2])
        by_row[row, 3] = min(by_row[row, 3], here[k, 3])
        here[k, 0] = here[k, 1] = 0
        here[k, 2] = here[k, 3] = NO_RULE
