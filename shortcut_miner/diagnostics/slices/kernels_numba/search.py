"""The search for slices, depth first over bits, and sums over rows that hold given items.

Rows are ordered by their outcome, and no word of 64 bits has rows of two outcomes: a word's outcome is one
number, so that the rows of a slice are counted, and their outcomes and squares summed, by counting bits.

For each first item the rows that hold it are numbered anew, and its candidates are the items after it that
enough of these rows hold. Nothing but the count prunes: what is tested must not depend on the outcome.
"""

# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-incomplete-defs=False

from typing import NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from shortcut_miner.kernel_options import INLINED, KERNEL
from shortcut_miner.kernel_pointers import pointers


class Limits(NamedTuple):
    """Least rows of a slice, and its most items."""

    min_count: int
    max_length: int


class Rows(NamedTuple):
    """Rows by rising outcome, as CSR of items that are numbered by rising frequency, and their transpose.

    ``holders`` are the rows of each item, ``after`` the places in ``items`` behind it there; ``starts`` is
    per item and has the end.
    """

    ends: np.ndarray
    items: np.ndarray
    outcomes: np.ndarray
    starts: np.ndarray
    holders: np.ndarray
    after: np.ndarray


class Space(NamedTuple):
    """Working memory of one thread: ``total`` and ``name`` are per item and 0 and -1 between first items.

    ``bits`` has a line of words for each candidate, ``masks`` one for each length; ``candidates`` and
    ``slices`` have a line for each length: what is gone on with, and its number in :class:`Found`, which has
    ``room`` for so many. A line is as long as there are ``items``.
    """

    total: np.ndarray
    name: np.ndarray
    names: np.ndarray
    outcome: np.ndarray
    bits: np.ndarray
    masks: np.ndarray
    candidates: np.ndarray
    slices: np.ndarray
    kept: np.ndarray
    cursor: np.ndarray
    items: int
    room: int


class Found(NamedTuple):
    """Slices to fill: number of the slice without the last item (-1 = none), last item, and three sums."""

    size: np.ndarray
    parent: np.ndarray
    item: np.ndarray
    rows: np.ndarray
    total: np.ndarray
    square: np.ndarray


@intrinsic
def count_ones(_, word):
    """Return how many bits of an int64 are set."""
    return types.int64(word), lambda context, builder, signature, words: builder.ctpop(words[0])


@njit(**KERNEL)
def search(first, stop, limits, rows, space, found):
    """Write all slices whose first item is in first..stop-1; return the first one that did not fit, or stop.

    Of an item that did not fit nothing is written.
    """
    rows, space, found = pointers((rows, space, found))
    for item in range(first, stop):
        if rows.starts[item + 1] - rows.starts[item] < limits.min_count:
            continue
        before = found.size[0]
        kept, words = _lay_rows(item, limits, rows, space)
        fits = _search_from(item, kept, words, limits, space, found)
        for k in range(kept):
            space.name[space.names[k]] = -1
        if not fits:
            found.size[0] = before
            return item
    return stop


@njit(**INLINED)
def _lay_rows(item, limits, rows, space):
    """Lay the rows of an item in words, with the bits of its candidates; return how many of both."""
    ends, items, total, name = rows.ends, rows.items, space.total, space.name
    begin, end = rows.starts[item], rows.starts[item + 1]
    if limits.max_length > 1:
        for slot in range(begin, end):
            for place in range(rows.after[slot], ends[rows.holders[slot]]):
                total[items[place]] += 1
    words, fill, last = np.int64(0), np.int64(64), np.int64(0)
    for slot in range(begin, end):
        outcome = rows.outcomes[rows.holders[slot]]
        if fill == 64 or outcome != last:
            space.outcome[words] = last = outcome
            space.masks[words] = 0
            words, fill = words + 1, np.int64(0)
        space.masks[words - 1] |= np.int64(1) << fill
        fill += 1
    kept = np.int64(0)
    if limits.max_length == 1:
        return kept, words
    for other in range(item + 1, space.items):
        if total[other] >= limits.min_count:
            name[other] = kept
            space.names[kept] = other
            kept += 1
        total[other] = 0
    for k in range(kept * words):
        space.bits[k] = 0
    word, fill, last = np.int64(-1), np.int64(64), np.int64(0)
    for slot in range(begin, end):
        row = rows.holders[slot]
        if fill == 64 or rows.outcomes[row] != last:
            last = rows.outcomes[row]
            word, fill = word + 1, np.int64(0)
        for place in range(rows.after[slot], ends[row]):
            k = name[items[place]]
            if k >= 0:
                space.bits[k * words + word] |= np.int64(1) << fill
        fill += 1
    return kept, words


@njit(**INLINED)
def _search_from(item, kept, words, limits, space, found):
    """Write the slice of one item, and depth first all that begin with it; return whether they fit."""
    least, zero = np.int64(1), np.int64(0)  # of a literal's type, `_write` would be compiled twice
    if not _write(np.int64(-1), item, space.masks, zero, space.masks, zero, words, least, space, found):
        return False
    width = space.items
    space.slices[0] = found.size[0] - 1
    for k in range(kept):
        space.candidates[k] = k
    space.kept[0], space.cursor[0] = kept, np.int64(-1)
    # Entry `level` of the stack has the candidates that may follow a slice of level + 1 items, whose rows are
    # masks[level]; the entry's own slices are those of its cursor, once it has been moved.
    level = np.int64(0)
    if not kept:
        return True
    if not _extend(level, np.int64(-1), words, width, limits, space, found):
        return False
    level = np.int64(1)
    while level:
        k = space.cursor[level] + 1
        space.cursor[level] = k
        # The last one has no candidate behind it.
        if k + 1 >= space.kept[level] or level + 1 >= limits.max_length:
            level -= 1
            continue
        candidate = space.candidates[level * width + k]
        for word in range(words):
            above = space.masks[(level - 1) * words + word]
            space.masks[level * words + word] = above & space.bits[candidate * words + word]
        if not _extend(level, k, words, width, limits, space, found):
            return False
        level += 1
    return True


@njit(**INLINED)
def _extend(level, k, words, width, limits, space, found):
    """Write the slice of the rows masks[level] with each candidate of the entry behind `k`.

    Those that enough rows hold are the next entry. Returns whether they fit.
    """
    kept, here, there = np.int64(0), level * width, (level + 1) * width
    parent = space.slices[here + (k if k > 0 else 0)]
    for other in range(k + 1, space.kept[level]):
        candidate = space.candidates[here + other]
        before = found.size[0]
        if not _write(
            parent, space.names[candidate], space.masks, level * words, space.bits, candidate * words, words,
            limits.min_count, space, found,
        ):  # fmt: skip
            return False
        if found.size[0] > before:
            space.candidates[there + kept] = candidate
            space.slices[there + kept] = before
            kept += 1
    space.kept[level + 1], space.cursor[level + 1] = kept, np.int64(-1)
    return True


@njit(**INLINED)
def _write(parent, item, left, left_at, right, right_at, words, min_count, space, found):
    """Write a slice whose rows are in both lines of words, if they are enough; return whether it fits."""
    outcome = space.outcome
    count = total = square = np.int64(0)
    for word in range(words):
        ones = count_ones(left[left_at + word] & right[right_at + word])
        weighted = ones * outcome[word]
        count += ones
        total += weighted
        square += weighted * outcome[word]
    if count < min_count:
        return True
    at = found.size[0]
    if at == space.room:
        return False
    found.parent[at], found.item[at] = parent, item
    found.rows[at], found.total[at], found.square[at] = count, total, square
    found.size[0] = at + 1
    return True


@njit(**KERNEL)
def recount(first, stop, items, bits, left, outcome, sums):
    """Write count, sum and sum of squares of the outcome over the rows of ``left`` that hold all items.

    Line s of `items` has the items of slice s, then -1; line i of `bits` the rows of item i, as words.
    """
    words = len(outcome)
    for one in range(first, stop):
        count = total = square = np.int64(0)
        for word in range(words):
            mask = left[word]
            for place in range(items.shape[1]):
                if items[one, place] < 0:
                    break
                mask &= bits[items[one, place], word]
            ones = count_ones(mask)
            weighted = ones * outcome[word]
            count += ones
            total += weighted
            square += weighted * outcome[word]
        sums[one, 0], sums[one, 1], sums[one, 2] = count, total, square
