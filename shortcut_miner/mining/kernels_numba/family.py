"""Counting frequent itemsets without keeping them: a depth-first search over rows as bits.

Every item that follows a first item in its rows becomes a *line* of bits, one for each of these rows. The
rows of a longer itemset are then the rows of its items' lines, ``&`` taken together. Nothing but the number
of itemsets per length comes out, so the last length is never visited, only counted, in pairs of lines.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import INLINED, KERNEL, STEP
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
    """One thread's working memory; ``total`` and ``line_of`` are zero between uses.

    Per number of items that are given, from one on: the ``lines`` of the ``kept`` candidates, each of
    ``width`` words, whose rows count ``1 << digits``; line 0 is for whatever is none. ``cursor`` is how many
    candidates were tried. ``line_of`` is where the line of each item starts, ``chosen`` are candidates,
    ``source`` words that go to the next level. The items after the first one are copied to ``items``, those
    of the next row up to each of ``ends``.
    """

    items: np.ndarray
    ends: np.ndarray
    total: np.ndarray
    line_of: np.ndarray
    chosen: np.ndarray
    source: np.ndarray
    lines: np.ndarray
    digits: np.ndarray
    kept: np.ndarray
    width: np.ndarray
    cursor: np.ndarray


@njit(**KERNEL)
def count_itemsets(first, stop, rows, limits, space, found):
    """Add the frequent itemsets whose first item is one of first..stop-1 to ``found``, by length.

    ``limits`` is (min_count, max_length). One-item sets are not counted, they are known to be frequent.
    """
    min_count, max_length = limits
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
    for after in range(item + 1, len(total)):
        chosen[kept] = after
        kept += total[after] >= min_count
        total[after] = 0
    space.kept[0], space.cursor[0] = kept, 0
    return kept


@njit(**STEP)
def _lay_lines(item, rows, space):
    """Make the lines of the items chosen; rows of one word count the same."""
    lines, digits, line_of, kept = space.lines[0], space.digits[0], space.line_of, space.kept[0]
    low, high = rows.starts[item], rows.starts[item + 1]
    width = left = 0
    for slot in range(low, high):
        digit = rows.digits[rows.rows[slot]]
        if left == 0 or digit != digits[width - 1]:
            digits[width] = digit
            width, left = width + 1, 64
        left -= 1
    for k in range(kept):
        line_of[space.chosen[k]] = (k + 1) * width
    for k in range((kept + 1) * width):
        lines[k] = 0
    word, left, begin = 0, 64, 0
    for row in range(high - low):
        if left == 0 or rows.digits[rows.rows[low + row]] != digits[word]:
            word, left = word + 1, 64
        left -= 1
        bit = 1 << left
        for position in range(begin, space.ends[row]):
            lines[_place(line_of[_place(space.items[_place(position)])] + word)] |= bit
        begin = space.ends[row]
    for k in range(kept):
        line_of[space.chosen[k]] = 0
    space.width[0] = width


@njit(**INLINED)
def _rows_of_both(left, right, width, lines, digits):
    """Return what the rows count that are in both of two lines."""
    count = 0
    for k in range(width):
        count += count_ones(lines[_place(left + k)] & lines[_place(right + k)]) << digits[_place(k)]
    return count


@njit(**STEP)
def _count_pairs(level, min_count, space):
    """Return how many pairs of candidates reach `min_count`."""
    lines, digits, width = space.lines[level], space.digits[level], space.width[level]
    stop = (space.kept[level] + 1) * width
    count = 0
    for left in range(width, stop, width):
        for right in range(left + width, stop, width):
            count += _rows_of_both(left, right, width, lines, digits) >= min_count
    return count


@njit(**STEP)
def _give_candidate(level, k, min_count, space):
    """Let candidate number k, from 1 on, be given too; return how many of those after it stay candidates.

    Words without a row are left out.
    """
    lines, digits, width, chosen = space.lines[level], space.digits[level], space.width[level], space.chosen
    source, new_lines, new_digits = space.source, space.lines[level + 1], space.digits[level + 1]
    given = k * width
    kept = size = 0
    for line in range(given + width, (space.kept[level] + 1) * width, width):
        chosen[kept] = line
        kept += _rows_of_both(given, line, width, lines, digits) >= min_count
    for word in range(width):
        source[size], new_digits[size] = word, digits[word]
        size += lines[_place(given + word)] != 0
    top = size
    for other in range(kept):
        for k in range(size):
            word = source[_place(k)]
            new_lines[_place(top + k)] = lines[_place(chosen[other] + word)] & lines[_place(given + word)]
        top += size
    space.kept[level + 1], space.width[level + 1], space.cursor[level + 1] = kept, size, 0
    return kept
