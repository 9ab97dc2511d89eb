"""The searched family: how many rules the search could have reported, whatever the answers of the rows.

That is every antecedent in at least ``min_count`` rows with every answer in at least ``min_count`` rows. It
depends on the margins alone, which Fisher's test takes as given, not on which pairs turned out well. Members
that were not reported (too few rows, too little confidence, or a simpler rule in their place) enter the
corrections with p = 1. That can only raise the others' q values, and it leaves p values valid: they are still
at most uniform under the hypothesis tested. So the Benjamini-Yekutieli q, which needs nothing but valid p
values, holds for the rules that are reported, however they were chosen; Benjamini-Hochberg's needs tests that
depend on each other positively too. Rows count as independent, which questions about one image are not quite.
"""

import dataclasses
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from shortcut_miner.mining.arrays import Ints, Numbers, read_only
from shortcut_miner.mining.kernels_numba import delivery
from shortcut_miner.mining.kernels_numba import family as kernels
from shortcut_miner.mining.kernels_numba import rows as row_kernels
from shortcut_miner.mining.threads import shares, thread_count
from shortcut_miner.transactions import RowBlocks

_CHUNKS = 64
# A search that could meet more itemsets than this, rows counted one by one, is replaced by a bound: at a few
# nanoseconds each this is some ten seconds.
_MOST_MEETINGS = 4_000_000_000
# And so is one whose rows hold more frequent items, all rows together: they are in memory, 25 bytes each with
# the working memory of two threads.
_MOST_OCCURRENCES = 1 << 24


@dataclasses.dataclass(frozen=True, slots=True)
class SearchedFamily:
    """How many rules could have been reported, whatever the answers of the rows.

    Attributes
    ----------
    antecedent_count : int
        Antecedents of 1..max_antecedent items in at least min_count rows.
    answer_count : int
        Answers in at least min_count rows.
    is_exact : bool
        False if antecedent_count is an upper bound.
    """

    antecedent_count: int
    answer_count: int
    is_exact: bool

    @property
    def size(self) -> int:
        """Number of rules: every such antecedent with every such answer."""
        return self.antecedent_count * self.answer_count


class _FrequentRows(NamedTuple):
    """Rows with a class, cut to their frequent items, which are numbered from the rarest on.

    ``rows_by_length`` counts original rows by their number of frequent items. Only rows that a search may go
    through are there one by one.
    """

    rows_by_length: Ints
    offsets: Ints
    items: Numbers
    weights: Ints
    holders: Ints
    work: Ints


def searched_family(
    training: RowBlocks, min_count: int, max_antecedent: int, threads: int | None = None
) -> SearchedFamily:
    """Return the size of the family of rules that a search goes through.

    Antecedents are counted one by one by a search of their own. Where that could take more than some ten
    seconds (long rows, long antecedents) or half a gigabyte (more than 2^24 frequent items in all rows) they
    are bounded instead: a k-item antecedent in min_count rows uses up min_count of the k-item subsets
    of all rows, so there are at most that many divided by min_count, and at most as many as there are k-item
    subsets of the frequent items. Which of both is done depends on the original rows alone: neither on their
    blocks or weights nor on the machine.
    """
    class_rows, item_rows = _margins(training)
    frequent = np.flatnonzero(item_rows >= min_count)
    rare_first = frequent[np.argsort(item_rows[frequent], kind="stable")]
    fits = int(item_rows[frequent].sum()) <= _MOST_OCCURRENCES
    rows = _frequent_rows(training, rare_first, keep_rows=fits)
    sizes = range(1, max_antecedent + 1)
    subsets = [_subsets_in_rows(rows.rows_by_length, size) for size in sizes]
    is_exact = fits and sum(subsets) <= _MOST_MEETINGS
    if is_exact:
        count = len(frequent) + _count_longer(rows, len(frequent), (min_count, max_antecedent), threads)
    else:
        count = sum(
            min(math.comb(len(frequent), size), found // min_count)
            for size, found in zip(sizes, subsets, strict=True)
        )
    return SearchedFamily(count, int((class_rows >= min_count).sum()), is_exact)


def _margins(training: RowBlocks) -> tuple[Ints, Ints]:
    """Return the original rows of each class, and those with a class that hold each item."""
    class_rows = np.zeros(training.vocabulary.class_count, np.int64)
    item_rows = np.zeros(training.vocabulary.item_count, np.int64)
    for block in training.blocks():
        classes, weights = read_only(block.classes), read_only(block.weights)
        row_kernels.add_totals(block.offsets, block.items, classes, weights, item_rows, class_rows)
    return class_rows, item_rows


def _frequent_rows(training: RowBlocks, rare_first: Ints, *, keep_rows: bool) -> _FrequentRows:
    number = np.full(training.vocabulary.item_count, -1, np.int32)
    number[rare_first] = np.arange(len(rare_first), dtype=np.int32)
    by_length, (holders, work) = np.zeros(1, np.int64), np.zeros((2, len(rare_first)), np.int64)
    lengths, items, weights = [np.empty(0, np.int64)], [np.empty(0, np.int32)], [np.empty(0, np.int64)]
    for block in training.blocks():
        known = np.flatnonzero(block.classes >= 0)
        offsets, found, holders_here, work_here = delivery.project_rows(
            block.offsets, block.items, known, number, len(rare_first)
        )
        here = np.bincount(np.diff(offsets), block.weights[known]).astype(np.int64)
        longest = max(len(by_length), len(here))
        by_length = np.pad(by_length, (0, longest - len(by_length)))
        by_length[: len(here)] += here
        if keep_rows:
            lengths.append(np.diff(offsets))
            items.append(found)
            holders += holders_here
            work += work_here
            weights.append(block.weights[known])
    offsets = np.concatenate(([0], np.cumsum(np.concatenate(lengths))))
    return _FrequentRows(by_length, offsets, np.concatenate(items), np.concatenate(weights), holders, work)


def _subsets_in_rows(rows_by_length: Ints, size: int) -> int:
    """Return how many subsets of `size` items the rows have, all rows together."""
    return sum(rows * math.comb(length, size) for length, rows in enumerate(rows_by_length.tolist()))


def _count_longer(found: _FrequentRows, item_count: int, limits: tuple[int, int], threads: int | None) -> int:
    """Return the number of frequent itemsets of two items and more."""
    if limits[1] < 2 or item_count < 2:
        return 0
    (offsets, items, holders, work), digits = _by_digits(found, item_count)
    rows = kernels.Rows(offsets, items, digits, *delivery.deliver(offsets, items, item_count))
    local = threading.local()

    def count(chunk: tuple[int, int]) -> int:
        if not hasattr(local, "space"):
            local.space = _space(holders, work, int(digits.max(initial=0)), limits[1])
        found = np.zeros(limits[1] + 1, np.int64)
        kernels.count_itemsets(*chunk, rows, limits, local.space, found)
        return int(found.sum())

    with ThreadPoolExecutor(threads or thread_count()) as pool:
        return sum(pool.map(count, shares(work, _CHUNKS)))


def _by_digits(rows: _FrequentRows, item_count: int) -> tuple[delivery.Projected, Ints]:
    """Return rows that count ``1 << digits``, ascending by digit, and the digits.

    A row of weight 5 becomes one that counts 1 and one that counts 4.
    """
    weights = rows.weights
    if weights.max(initial=1) == 1:
        as_they_are = delivery.Projected(rows.offsets, rows.items, rows.holders, rows.work)
        return as_they_are, np.zeros(len(weights), np.int64)
    parts = [np.flatnonzero(weights >> digit & 1) for digit in range(int(weights.max()).bit_length())]
    same_names = np.arange(item_count, dtype=np.int32)
    ordered = delivery.project_rows(rows.offsets, rows.items, np.concatenate(parts), same_names, item_count)
    return ordered, np.repeat(np.arange(len(parts)), [len(part) for part in parts])


def _space(holders: Ints, work: Ints, most_digits: int, max_length: int) -> kernels.Space:
    """Return one thread's working memory, large enough for the largest first item.

    The items after a first one are in as many rows at least, so the lines of all of them have little more
    bits than all rows have items.
    """
    item_count, levels = len(holders), max(max_length - 2, 1)
    words = (holders + 63) // 64 + most_digits
    lines = words * (np.minimum(work, np.arange(item_count)[::-1]) + 1)
    line_room, word_room = int(lines.max()), int(words.max()) + 1
    return kernels.Space(
        items=np.empty(int(work.max()), np.int32),
        ends=np.empty(int(holders.max()), np.int64),
        total=np.zeros(item_count, np.int64),
        number=np.zeros(item_count, np.int64),
        chosen=np.empty(item_count, np.int64),
        source=np.empty(word_room, np.int64),
        first_rows=np.empty(word_room, np.int64),
        lines=np.empty(levels * line_room, np.int64),
        digits=np.empty(levels * word_room, np.int64),
        kept=np.zeros(levels, np.int64),
        width=np.zeros(levels, np.int64),
        cursor=np.zeros(levels, np.int64),
        item_count=item_count,
        line_room=line_room,
        word_room=word_room,
    )
