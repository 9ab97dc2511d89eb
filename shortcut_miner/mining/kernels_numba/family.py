"""Counting frequent itemsets without keeping them: a depth-first search over rows as bits.

Every item that follows a first item in its rows becomes a *line* of bits, one for each of these rows. The
rows of a longer itemset are then the rows of its items' lines, ``&`` taken together. Nothing but the number
of itemsets per length comes out, so the last length is never visited, only counted, in pairs of lines.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import KERNEL, STEP
from shortcut_miner.kernel_pointers import pointers
from shortcut_miner.mining.kernels_numba.words import count_ones

# An index of this type is taken as it is; a signed one is first looked at, whether it counts from the end.
_place = np.uint64


class Rows(NamedTuple):
    """Rows ``items[offsets[r]:offsets[r + 1]]``, ascending, each of which counts ``1 << digits[r]``.

    Rows ascend by ``digits``. Item i occurs in ``rows[starts[i]:starts[i + 1]]``, which ascend, just before
    position ``after`` of each.
    """

    offsets: np.ndarray
    items: np.ndarray
    digits: np.ndarray
    starts: np.ndarray
    rows: np.ndarray
    after: np.ndarray


class Space(NamedTuple):
    """One thread's working memory; ``total`` and ``number`` are zero between uses.

    The rows of the first item are side by side: row r has ``items`` up to ``ends[r]``, by the candidates'
    ``number``, from 1 on. Per number of items that are given, from one on: the ``lines`` of the ``kept``
    candidates, each of ``width`` words, whose rows count ``1 << digits``; line 0 is for whatever is none. For
    so many items there is ``line_room`` in ``lines`` and ``word_room`` in ``digits``. ``cursor`` is how many
    candidates were tried. ``first_rows`` are those of the first item's words,
    ``chosen`` are candidates or their lines, ``source`` words that go to the next level.
    """

    items: np.ndarray
    ends: np.ndarray
    total: np.ndarray
    number: np.ndarray
    chosen: np.ndarray
    source: np.ndarray
    first_rows: np.ndarray
    lines: np.ndarray
    digits: np.ndarray
    kept: np.ndarray
    width: np.ndarray
    cursor: np.ndarray
    item_count: int
    line_room: int
    word_room: int


@njit(**KERNEL)
def count_itemsets(first, stop, rows, limits, space, found):
    """Add the frequent itemsets whose first item is one of first..stop-1 to ``found``, by length.

    ``limits`` is (min_count, max_length). One-item sets are not counted, they are known to be frequent.
    """
    min_count, max_length = limits
    rows, space, found = pointers((rows, space, found))
    kept, cursor = space.kept, space.cursor
    for item in range(first, stop):
        found[2] += _count_after(item, rows, min_count, space)
        if max_length == 2 or kept[0] < 2:
            continue
        _lay_lines(item, rows, space)
        level = np.int64(0)  # a literal would be compiled by itself
        while level >= 0:
            if level + 3 == max_length:
                found[max_length] += _count_pairs(level, min_count, space)
                level -= 1
            elif cursor[level] + 1 >= kept[level]:  # the last candidate has none after it
                level -= 1
            else:
                cursor[level] += 1
                found[level + 3] += _give_candidate(level, cursor[level], min_count, space)
                level += 1


@njit(**STEP)
def _count_after(item, rows, min_count, space):
    """Choose the items that follow `item` in `min_count` rows, ascending; return how many they are.

    What follows in these rows is copied side by side, since they lie far apart.
    """
    total, chosen, items, ends = space.total, space.chosen, space.items, space.ends
    low, high = rows.starts[item], rows.starts[item + 1]
    for slot in range(low, high):
        ends[slot - low] = rows.offsets[rows.rows[slot] + 1]
    top = 0
    for slot in range(low, high):
        weight = 1 << rows.digits[rows.rows[slot]]
        for position in range(rows.after[slot], ends[slot - low]):
            after = rows.items[_place(position)]
            items[_place(top)] = after
            total[_place(after)] += weight
            top += 1
        ends[slot - low] = top
    kept = 0
    for after in range(item + 1, space.item_count):
        chosen[kept] = after
        kept += total[after] >= min_count
        total[after] = 0
    space.kept[0], space.cursor[0] = kept, 0
    return kept


@njit(**STEP)
def _lay_lines(item, rows, space):
    """Make the lines of the items chosen, which are numbered; rows of one word count the same."""
    lines, digits, number, items = space.lines, space.digits, space.number, space.items
    ends, first_rows, kept = space.ends, space.first_rows, space.kept[0]
    low, count = rows.starts[item], rows.starts[item + 1] - rows.starts[item]
    width = fill = 0
    for row in range(count):
        digit = rows.digits[rows.rows[low + row]]
        if width == 0 or fill == 64 or digit != digits[width - 1]:
            digits[width], first_rows[width] = digit, row
            width, fill = width + 1, 0
        fill += 1
    first_rows[width] = count
    for k in range(kept):
        number[space.chosen[k]] = k + 1
    for k in range((kept + 1) * width):
        lines[k] = 0
    begin = top = 0
    for word in range(width):
        for row in range(first_rows[word], first_rows[word + 1]):
            bit = 1 << (row - first_rows[word])
            for position in range(begin, ends[row]):
                candidate = number[_place(items[_place(position)])]
                lines[_place(candidate * width + word)] |= bit
                items[_place(top)] = candidate
                top += candidate > 0
            begin, ends[row] = ends[row], top
    for k in range(kept):
        number[space.chosen[k]] = 0
    space.width[0] = width


@njit(**STEP)
def _choose(level, k, min_count, space):
    """List the lines of the candidates after number k that reach `min_count` with it; return how many.

    After one item its rows are looked at where they have fewer items than the lines have words.
    """
    lines, digits, width, chosen = space.lines, space.digits, space.width[level], space.chosen
    base, stop = level * space.line_room, space.kept[level] + 1
    given, first_digit = base + k * width, level * space.word_room
    if level == 0:
        holders = 0
        for word in range(width):
            holders += count_ones(lines[_place(given + word)])
        rows = space.first_rows[width]
        if holders * space.ends[rows - 1] < rows * (stop - k) * width:
            return _choose_by_rows(k, min_count, space)
    kept = 0
    for line in range(given + width, base + stop * width, width):
        count = 0
        for word in range(width):
            both = lines[_place(given + word)] & lines[_place(line + word)]
            count += count_ones(both) << digits[_place(first_digit + word)]
        chosen[kept] = line
        kept += count >= min_count
    return kept


@njit(**STEP)
def _choose_by_rows(k, min_count, space):
    """Do what `_choose` does, for the first item."""
    lines, digits, width, chosen = space.lines, space.digits, space.width[0], space.chosen
    items, ends, total = space.items, space.ends, space.total
    for word in range(width):
        left, weight = lines[_place(k * width + word)], 1 << digits[word]
        while left:
            row = space.first_rows[word] + count_ones((left & -left) - 1)
            left &= left - 1
            position = ends[row] - 1
            while items[_place(position)] > k:  # k itself is before them
                total[_place(items[_place(position)])] += weight
                position -= 1
    kept = 0
    for other in range(k + 1, space.kept[0] + 1):
        chosen[kept] = other * width
        kept += total[other] >= min_count
        total[other] = 0
    return kept


@njit(**STEP)
def _count_pairs(level, min_count, space):
    """Return how many pairs of candidates reach `min_count`."""
    count = 0
    for k in range(1, space.kept[level]):
        count += _choose(level, k, min_count, space)
    return count


@njit(**STEP)
def _give_candidate(level, k, min_count, space):
    """Let candidate number k, from 1 on, be given too; return how many of those after it stay candidates.

    Words without a row are left out.
    """
    lines, digits, chosen, source = space.lines, space.digits, space.chosen, space.source
    width, first_digit = space.width[level], level * space.word_room
    given = level * space.line_room + k * width
    next_digit = first_digit + space.word_room
    kept = _choose(level, k, min_count, space)
    size = 0
    for word in range(width):
        source[size], digits[next_digit + size] = word, digits[first_digit + word]
        size += lines[_place(given + word)] != 0
    top = (level + 1) * space.line_room + size
    for other in range(kept):
        for place in range(size):
            word = source[_place(place)]
            both = lines[_place(chosen[other] + word)] & lines[_place(given + word)]
            lines[_place(top + place)] = both
        top += size
    space.kept[level + 1], space.width[level + 1], space.cursor[level + 1] = kept, size, 0
    return kept
