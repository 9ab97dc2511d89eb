"""Matching: which rules fire on which rows, as totals per row and per rule, or as the pairs themselves.

Totals never hold the pairs: memory is rows + rules (per thread), whatever the number of hits. Pairs
come block by block.
"""

import dataclasses
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from shortcut_miner.encoding import Transactions
from shortcut_miner.mining.kernels_numba import match as kernels
from shortcut_miner.mining.kernels_numba import mine as mine_kernels
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.mining.threads import blocks, thread_count

Ints = npt.NDArray[np.int64]

# Blocks of rows: large enough to share a trie node's work, small enough to keep all threads busy.
_LEAST_BLOCK = 1 << 14
_PAIRS_A_BLOCK = 1 << 24


@dataclasses.dataclass(frozen=True, slots=True)
class Accepted:
    """The answers that count as right for each row, as CSR of class numbers (-1 = no class)."""

    offsets: Ints
    classes: npt.NDArray[np.int32]

    @classmethod
    def majority(cls, transactions: Transactions) -> "Accepted":
        """Accept the row's own class only."""
        return cls(np.arange(len(transactions) + 1, dtype=np.int64), transactions.classes)


@dataclasses.dataclass(frozen=True, slots=True)
class MatchTotals:
    """What firing rules add up to.

    Attributes
    ----------
    rule_fired, rule_right, rule_accepted : int64[rules]
        Rows where the rule fires; of these, where its answer is the row's class; where it is accepted.
    row_fired, row_right : int64[rows]
        Rules that fire on the row, and those whose answer is accepted.
    row_best, row_best_right : int64[rows]
        The first such rule in the order given; -1 if there is none.
    """

    rule_fired: Ints
    rule_right: Ints
    rule_accepted: Ints
    row_fired: Ints
    row_right: Ints
    row_best: Ints
    row_best_right: Ints


@dataclasses.dataclass(frozen=True, slots=True)
class _Prepared:
    """Rows in the trie's item numbers."""

    offsets: Ints
    items: npt.NDArray[np.int32]
    item_count: int
    trie: kernels.Trie
    depth: int


def match_totals(
    rules: RuleArrays, transactions: Transactions, accepted: Accepted | None = None, threads: int | None = None
) -> MatchTotals:
    """Return the totals of matching every rule against every row.

    Parameters
    ----------
    rules : RuleArrays
        In the vocabulary of `transactions`; their order decides which rule is "first".
    transactions : Transactions
        Rows to match. Weights play no part: a row is a row.
    accepted : Accepted, optional
        Answers that count as right; default the row's own class.
    threads : int, optional
        Default: see :func:`shortcut_miner.mining.threads.thread_count`.
    """
    threads = threads or thread_count()
    accepted = accepted or Accepted.majority(transactions)
    prepared = _prepare(rules, transactions)
    targets = kernels.Targets(
        transactions.classes,
        accepted.offsets,
        accepted.classes,
        kernels.sketch_classes(accepted.offsets, accepted.classes),
    )
    rows, none = len(transactions), np.iinfo(np.int64).max
    per_row = [np.zeros(rows, np.int64), np.zeros(rows, np.int64), np.full(rows, none), np.full(rows, none)]
    per_rule = np.zeros((3, len(rules)), np.int64)
    nothing = np.empty(0, np.int64)
    lock = threading.Lock()

    def match(block: tuple[int, int]) -> None:
        block_per_rule = np.zeros_like(per_rule)
        tallies = kernels.Tallies(*block_per_rule, *per_row, cursor=nothing, pairs=nothing)
        _match(block, prepared, targets, tallies)
        with lock:
            np.add(per_rule, block_per_rule, out=per_rule)

    size = max(_LEAST_BLOCK, -(-rows // (4 * threads)))
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(match, blocks(rows, size)))
    for first in per_row[2:]:
        first[first == none] = -1
    return MatchTotals(*per_rule, *per_row)


def match_pairs(
    rules: RuleArrays, transactions: Transactions, fired: Ints | None = None
) -> Iterator[tuple[int, Ints, Ints]]:
    """Yield every (row, rule) pair, block by block: (first row, offsets, rule positions).

    Rule ``pairs[offsets[k]:offsets[k + 1]]``, ascending, fire on row ``first + k``. A block holds at most
    16M pairs (128 MB), or one row. `fired` saves a pass if :func:`match_totals` has counted already.
    """
    fired = match_totals(rules, transactions).row_fired if fired is None else fired
    prepared = _prepare(rules, transactions)
    no_ints, no_classes = np.empty(0, np.int64), np.empty(0, np.int32)
    targets = kernels.Targets(no_classes, no_ints, no_classes, np.empty(0, np.uint64))
    ends = np.cumsum(fired)
    first = 0
    while first < len(transactions):
        before = int(ends[first - 1]) if first else 0
        stop = max(first + 1, int(np.searchsorted(ends, before + _PAIRS_A_BLOCK, side="right")))
        offsets = np.concatenate(([0], ends[first:stop] - before))
        cursor = np.zeros(len(transactions), np.int64)
        cursor[first:stop] = offsets[:-1]
        pairs = np.empty(int(offsets[-1]), np.int64)
        if len(pairs):
            tallies = kernels.Tallies(*([no_ints] * 7), cursor=cursor, pairs=pairs)
            _match((first, stop), prepared, targets, tallies)
            row = np.repeat(np.arange(stop - first, dtype=np.int64), np.diff(offsets))
            pairs = np.sort(row * len(rules) + pairs) % len(rules)
        yield first, offsets, pairs
        first = stop


def _match(
    block: tuple[int, int], prepared: _Prepared, targets: kernels.Targets, tallies: kernels.Tallies
) -> None:
    kernels.match_block(
        *block, prepared.offsets, prepared.items, prepared.item_count,
        prepared.trie, prepared.depth, targets, tallies,
    )  # fmt: skip


def _prepare(rules: RuleArrays, transactions: Transactions) -> _Prepared:
    """Return the rules as a trie over the items they use, rare items first, and the rows in its numbers."""
    item_count = transactions.vocabulary.item_count
    frequency = np.bincount(transactions.items, minlength=item_count + 1)
    used = np.unique(rules.items[rules.items >= 0])
    used = used[np.argsort(frequency[used], kind="stable")]
    # One more than the vocabulary: an item that no row can hold (see rules.encode_rules).
    number = np.full(item_count + 1, -1, np.int32)
    number[used] = np.arange(len(used), dtype=np.int32)
    same_order = np.arange(len(transactions), dtype=np.int64)
    offsets, items = mine_kernels.project_rows(transactions.offsets, transactions.items, same_order, number)
    paths = np.where(rules.items >= 0, number[rules.items], np.iinfo(np.int32).max)
    paths.sort(axis=1)
    return _Prepared(offsets, items, len(used), _trie(paths, rules.answers), rules.items.shape[1])


def _trie(paths: npt.NDArray[np.int32], answers: npt.NDArray[np.int32]) -> kernels.Trie:
    """Return the trie of item paths (ascending, filled up with the largest int32), breadth first."""
    padding = np.iinfo(np.int32).max
    count, width = paths.shape
    order = np.lexsort([np.where(paths[:, k] == padding, -1, paths[:, k]) for k in range(width - 1, -1, -1)])
    ordered = paths[order]
    node = np.zeros(count, np.int64)
    parents, items = [np.array([0], np.int64)], [np.array([-1], np.int32)]
    total = 1
    for depth in range(width):
        inside = np.flatnonzero(ordered[:, depth] != padding)
        key = np.stack((node[inside], ordered[inside, depth].astype(np.int64)))
        is_new = np.concatenate(([True], (key[:, 1:] != key[:, :-1]).any(axis=0)))[: len(inside)]
        parents.append(key[0, is_new])
        items.append(key[1, is_new].astype(np.int32))
        node[inside] = total + np.cumsum(is_new) - 1
        total += int(is_new.sum())
    parent = np.concatenate(parents)[1:]
    child_starts = np.concatenate(([1], 1 + np.cumsum(np.bincount(parent, minlength=total))))
    node_of_rule = np.empty(count, np.int64)
    node_of_rule[order] = node
    return kernels.Trie(
        items=np.concatenate(items),
        child_starts=child_starts.astype(np.int64),
        rule_starts=np.concatenate(([0], np.cumsum(np.bincount(node_of_rule, minlength=total)))).astype(np.int64),
        rules=np.argsort(node_of_rule, kind="stable"),
        rule_class=answers,
    )
