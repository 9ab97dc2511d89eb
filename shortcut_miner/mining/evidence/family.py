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

import numpy as np

from shortcut_miner.mining.arrays import Ints, Numbers
from shortcut_miner.mining.kernels_numba import family as kernels
from shortcut_miner.mining.kernels_numba import rows as row_kernels
from shortcut_miner.mining.threads import shares, thread_count
from shortcut_miner.transactions import Transactions

_CHUNKS = 64
# A search that could meet more itemsets than this, rows counted one by one, is replaced by a bound: at a few
# nanoseconds each this is some ten seconds.
_MOST_MEETINGS = 4_000_000_000


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


def searched_family(
    transactions: Transactions, min_count: int, max_antecedent: int, threads: int | None = None
) -> SearchedFamily:
    """Return the size of the family of rules that a search goes through.

    Antecedents are counted one by one by a search of their own. Where that could take more than some ten
    seconds (long rows, long antecedents) they are bounded instead: a k-item antecedent in min_count rows
    uses up min_count of the k-item subsets of all rows, so there are at most that many divided by min_count,
    and at most as many as there are k-item subsets of the frequent items.
    """
    rows = np.flatnonzero(transactions.classes >= 0)
    weights = transactions.weights[rows]
    per_class = np.bincount(transactions.classes[rows], weights, 1)
    in_class = np.where(transactions.classes >= 0, transactions.weights, 0)
    item_count = transactions.vocabulary.item_count
    frequency = np.bincount(
        transactions.items, np.repeat(in_class, np.diff(transactions.offsets)), item_count
    ).astype(np.int64)
    frequent = np.flatnonzero(frequency >= min_count)
    number = np.full(item_count, -1, np.int32)
    rare_first = frequent[np.argsort(frequency[frequent], kind="stable")]
    number[rare_first] = np.arange(len(frequent), dtype=np.int32)
    offsets, items = row_kernels.project_rows(transactions.offsets, transactions.items, rows, number)
    lengths = np.diff(offsets)
    sizes = range(1, max_antecedent + 1)
    is_exact = sum(_subsets_in_rows(lengths, np.ones_like(weights), k) for k in sizes) <= _MOST_MEETINGS
    if is_exact:
        limits = (min_count, max_antecedent)
        count = len(frequent) + _count_longer(offsets, items, weights, len(frequent), limits, threads)
    else:
        count = sum(
            min(math.comb(len(frequent), k), _subsets_in_rows(lengths, weights, k) // min_count)
            for k in sizes
        )
    return SearchedFamily(count, int((per_class >= min_count).sum()), is_exact)


def _subsets_in_rows(lengths: Ints, weights: Ints, size: int) -> int:
    """Return how many subsets of `size` items the rows have, all rows together."""
    by_length = np.bincount(lengths, weights).astype(np.int64)
    return sum(int(rows) * math.comb(length, size) for length, rows in enumerate(by_length.tolist()))


def _count_longer(
    offsets: Ints,
    items: Numbers,
    weights: Ints,
    item_count: int,
    limits: tuple[int, int],
    threads: int | None,
) -> int:
    """Return the number of frequent itemsets of two items and more."""
    if limits[1] < 2 or item_count < 2:
        return 0
    starts, occurrence_rows, after = row_kernels.deliver(offsets, items, item_count)
    holders, work = row_kernels.item_work(offsets, items, item_count)
    rows = kernels.Rows(items, offsets[:-1], offsets[1:], weights)
    occurrences = kernels.Occurrences(occurrence_rows, after)
    local = threading.local()

    def count(chunk: tuple[int, int]) -> int:
        if not hasattr(local, "space"):
            local.space = _space(item_count, int(holders.max()), int(work.max()), limits[1])
        found = kernels.count_itemsets(*chunk, starts, occurrences, rows, limits, local.space)
        return int(found.sum())

    with ThreadPoolExecutor(threads or thread_count()) as pool:
        return sum(pool.map(count, shares(work, _CHUNKS)))


def _space(item_count: int, most_rows: int, most_items: int, max_length: int) -> kernels.Space:
    """Return one thread's working memory, large enough for the largest first item."""
    depth = max(max_length - 2, 1)
    rows = most_rows * depth + 1
    return kernels.Space(
        rows=kernels.Rows(
            items=np.empty(most_items * depth + 1, np.int32),
            starts=np.empty(rows, np.int64),
            ends=np.empty(rows, np.int64),
            weights=np.empty(rows, np.int64),
        ),
        occurrences=kernels.Occurrences(
            rows=np.empty(most_items * depth, np.int32), after=np.empty(most_items * depth, np.int64)
        ),
        total=np.zeros(item_count, np.int64),
        candidates=np.empty(item_count + 1, np.int32),
        name=np.full(item_count, -1, np.int32),
        pairs=np.zeros(kernels.PAIR_LIMIT**2, np.int64),
        kept=np.zeros(max_length + 1, np.int64),
        cursor=np.zeros(max_length + 1, np.int64),
        starts=np.zeros((max_length + 1, item_count + 1), np.int64),
        tops=np.zeros((max_length + 1, 3), np.int64),
    )
