"""Which rules fire on which rows: a walk over a trie of the rules, with rows as bits.

The rows that hold a first item of the trie are taken together, some thousands at a time: each later item
becomes a line of bits, one for each of these rows. The rows on which a node fires are then those of its
parent ``&`` the line of its last item, and where none are left, nothing below fires. Only words that have a
row are kept, so a node costs little more than its hits.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import INLINED, KERNEL, STEP
from shortcut_miner.kernel_pointers import pointers
from shortcut_miner.mining.kernels_numba.words import count_ones

# Words of 64 rows that are taken together: what is below a first item then stays in cache.
WORDS = 64
# Numbers in all lines of bits; of more items than this there is still one word for each.
LINES = 1 << 17


class Local(NamedTuple):
    """Some rows of one first item side by side: their numbers, ends, answers, summands and tallies."""

    rows: np.ndarray
    ends: np.ndarray
    majority: np.ndarray
    sketch: np.ndarray
    column: np.ndarray
    weights: np.ndarray
    tallies: np.ndarray


class Space(NamedTuple):
    """One thread's working memory.

    ``line`` is the number of each item's line in ``lines``, 0 for items that no rule at hand uses. Per length
    of the antecedent: how many words have a row (``size``), these ``words`` and their ``places``, ``width``
    for each length, and the nodes still to be tried (``level_next``, ``level_stop``).
    """

    local: Local
    line: np.ndarray
    lines: np.ndarray
    size: np.ndarray
    words: np.ndarray
    places: np.ndarray
    level_next: np.ndarray
    level_stop: np.ndarray
    width: int


NO_RULE = np.iinfo(np.int64).max


def no_tallies(rows: int) -> np.ndarray:
    """Return int64[rows, 4]: rules that fire and are right (0), the first of them (none yet)."""
    return np.tile(np.array([0, 0, NO_RULE, NO_RULE]), (rows, 1))


def working_memory(item_count: int, depth: int) -> Space:
    """Return working memory for so many items and antecedents of at most `depth` of them."""
    rows, levels = 64 * WORDS, depth + 1
    return Space(
        Local(
            rows=np.empty(rows, np.int32),
            ends=np.empty(rows, np.int64),
            majority=np.empty(rows, np.int32),
            sketch=np.empty(rows, np.uint64),
            column=np.empty(rows, np.int32),
            weights=np.empty(rows, np.int64),
            tallies=no_tallies(rows),
        ),
        line=np.zeros(item_count, np.int32),
        lines=np.empty(max(LINES, item_count + 1), np.int64),
        size=np.zeros(levels, np.int64),
        words=np.empty(levels * WORDS, np.int64),
        places=np.empty(levels * WORDS, np.int64),
        level_next=np.zeros(levels, np.int64),
        level_stop=np.zeros(levels, np.int64),
        width=WORDS,
    )


def sketch_classes(accepted_starts: np.ndarray, accepted: np.ndarray) -> np.ndarray:
    """Return uint64[rows] with bit ``class % 64`` set for every accepted class of the row."""
    sketch = np.zeros(len(accepted_starts) - 1, np.uint64)
    rows = np.repeat(np.arange(len(sketch)), np.diff(accepted_starts))
    bits = np.where(accepted < 0, np.uint64(0), np.uint64(1) << (accepted & 63).astype(np.uint64))
    np.bitwise_or.at(sketch, rows, bits)
    return sketch


@njit(**KERNEL)
def match_first_items(
    first, stop, starts, occurrence_rows, after, offsets, items, trie, targets, summands, tallies, space
):
    """Match below the trie's first nodes ``first..stop-1`` and add to `tallies`.

    `starts`, `occurrence_rows` and `after` deliver each item's rows (see kernels_numba.rows.deliver); rows
    are ``items[offsets[r]:offsets[r + 1]]`` in the trie's item numbers, ascending. Different first nodes
    touch different rules, but the same rows.
    """
    most_rows, room = len(space.local.rows), len(space.lines)
    trie, space = pointers((trie, space))
    child_starts, trie_items = trie.child_starts, trie.items
    level_next, level_stop = space.level_next, space.level_stop
    for node in range(first, stop):
        low, end = starts[trie_items[node]], starts[trie_items[node] + 1]
        if low == end:
            continue
        used = _number_items(node, trie, space.line)
        most = 64 * (room // (used + 1))
        most = most if most < most_rows else most_rows
        while low < end:
            high = low + most if low + most < end else end
            stride = (high - low + 63) // 64
            _copy_rows(low, high, occurrence_rows, offsets, targets, summands, space.local)
            _lay_rows(low, high, used, stride, after, items, space)
            level = np.int64(0)  # a literal would be compiled by itself
            level_next[0], level_stop[0] = node, node + 1
            while level >= 0:
                below = level_next[level]
                if below == level_stop[level]:
                    level -= 1
                    continue
                level_next[level] = below + 1
                if _keep_rows(level, space.line[trie_items[below]] * stride, space) == 0:
                    continue
                level += 1
                _add(level, below, trie, targets, summands, tallies, space)
                level_next[level], level_stop[level] = child_starts[below], child_starts[below + 1]
            _flush(high - low, tallies, space.local)
            low = high
        _forget_items(node, trie, space.line)


@njit(**STEP)
def _number_items(node, trie, line):
    """Give the items of a first node and of all below it lines, from 1 on; return how many."""
    child_starts, trie_items = trie.child_starts, trie.items
    used = 0
    first, stop = node, node + 1
    while first < stop:
        for below in range(first, stop):
            if line[trie_items[below]] == 0:
                used += 1
                line[trie_items[below]] = used
        first, stop = child_starts[first], child_starts[stop]
    return used


@njit(**STEP)
def _forget_items(node, trie, line):
    """Let no item have a number."""
    first, stop = node, node + 1
    while first < stop:
        for below in range(first, stop):
            line[trie.items[below]] = 0
        first, stop = trie.child_starts[first], trie.child_starts[stop]


@njit(**STEP)
def _copy_rows(low, high, occurrence_rows, offsets, targets, summands, local):
    """Copy what is known of the rows in low..high."""
    for slot in range(low, high):
        row = occurrence_rows[slot]
        local.rows[slot - low], local.ends[slot - low] = row, offsets[row + 1]
        if len(targets.majority) > 0:
            local.majority[slot - low] = targets.majority[row]
        if len(targets.sketch) > 0:
            local.sketch[slot - low] = targets.sketch[row]
        if len(summands.table) > 0:
            local.column[slot - low] = summands.column[row]
            local.weights[slot - low] = summands.weights[row]


@njit(**STEP)
def _lay_rows(low, high, used, stride, after, items, space):
    """Fill the lines of the items used, line 0 with whatever else, and let level 0 have all rows."""
    line, lines = space.line, space.lines
    for k in range((used + 1) * stride):
        lines[k] = 0
    for slot in range(low, high):
        place, bit = (slot - low) >> 6, 1 << ((slot - low) & 63)
        for position in range(after[slot] - 1, space.local.ends[slot - low]):
            lines[line[items[position]] * stride + place] |= bit
    space.size[0] = stride
    for k in range(stride):
        space.words[k], space.places[k] = -1, k


@njit(**INLINED)
def _keep_rows(level, start, space):
    """Let the next level have the rows of `level` that the line at `start` has; return in how many words."""
    words, places, lines = space.words, space.places, space.lines
    here, there = level * space.width, (level + 1) * space.width
    size = 0
    for k in range(here, here + space.size[level]):
        left = words[k] & lines[start + places[k]]
        words[there + size], places[there + size] = left, places[k]
        size += left != 0
    space.size[level + 1] = size
    return size


@njit(**INLINED)
def _add(level, node, trie, targets, summands, tallies, space):
    """Add the rules of a node, which fire on the rows of `level`."""
    local, by_rule, pairs, cursor = space.local, tallies.by_rule, tallies.pairs, tallies.cursor
    rows, by_row, majority, sketch = local.rows, local.tallies, local.majority, local.sketch
    table, column, weights = summands.table, local.column, local.weights
    has_rows, has_sums, has_more = len(tallies.by_row) > 0, len(table) > 0, len(targets.sketch) > 0
    has_pairs = len(pairs) > 0
    for place in range(trie.rule_starts[node], trie.rule_starts[node + 1]):
        rule, answer = trie.rules[place], targets.answers[place] if has_rows else -1
        line = summands.line[place] if has_sums else 0
        fired = right = accepted = added = 0
        for k in range(level * space.width, level * space.width + space.size[level]):
            left, start = space.words[k], space.places[k] * 64
            fired += count_ones(left)
            while left:
                row = start + count_ones((left & -left) - 1)
                left &= left - 1
                if has_sums:
                    added += weights[row] * table[line, column[row]]
                if has_pairs:
                    pairs[cursor[rows[row]]] = rule
                    cursor[rows[row]] += 1
                if not has_rows:
                    continue
                is_right = answer >= 0 and majority[row] == answer
                right += is_right
                if has_more:
                    may_be = answer >= 0 and (sketch[row] >> np.uint64(answer & 63)) & np.uint64(1)
                    is_right = may_be and _is_accepted(rows[row], answer, targets)
                # No branch on right or wrong: it would often be mispredicted.
                accepted += is_right
                cell = 4 * row
                by_row[cell] += 1
                by_row[cell + 1] += is_right
                by_row[cell + 2] = rule if rule < by_row[cell + 2] else by_row[cell + 2]
                by_row[cell + 3] = rule if is_right and rule < by_row[cell + 3] else by_row[cell + 3]
        by_rule[place, 3] += added
        if has_rows:
            by_rule[place, 0] += fired
            by_rule[place, 1] += right
            by_rule[place, 2] += accepted


@njit(**STEP)
def _is_accepted(row, answer, targets):
    """Return whether an answer is one of those accepted for a row."""
    for k in range(targets.accepted_starts[row], targets.accepted_starts[row + 1]):
        if targets.accepted[k] == answer:
            return True
    return False


@njit(**STEP)
def _flush(count, tallies, local):
    """Add the local tallies of rows to the totals and clear them."""
    by_row, here = tallies.by_row, local.tallies
    if len(by_row) == 0:
        return
    for k in range(count):
        cell = 4 * k
        if here[cell] == 0:
            continue
        row = local.rows[k]
        by_row[row, 0] += here[cell]
        by_row[row, 1] += here[cell + 1]
        for which in (2, 3):
            if here[cell + which] < by_row[row, which]:
                by_row[row, which] = here[cell + which]
        here[cell] = here[cell + 1] = 0
        here[cell + 2] = here[cell + 3] = NO_RULE
