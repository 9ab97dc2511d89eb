"""Matching: which rules fire on which rows, as totals per row and per rule, or as the pairs themselves.

Totals never hold the pairs: memory is rows + rules (per thread), whatever the number of hits. Pairs
come block by block.
"""

import dataclasses
import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from shortcut_miner.encoding import Transactions
from shortcut_miner.mining.kernels_numba import match as kernels
from shortcut_miner.mining.kernels_numba import rows as row_kernels
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.mining.threads import blocks, thread_count

Ints = npt.NDArray[np.int64]

# Large blocks share the work at a trie node; a thread holds 32 bytes a row of its block.
_ROWS_A_BLOCK = 1 << 21
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
class _Block:
    """A block of rows, delivered by item, and the trie's first nodes with their estimated work."""

    offsets: Ints
    items: npt.NDArray[np.int32]
    starts: Ints
    rows: npt.NDArray[np.int32]
    after: Ints
    first_nodes: tuple[int, int]
    work: Ints

    @property
    def arrays(self) -> tuple[npt.NDArray[np.generic], ...]:
        """What the kernel takes, in its order."""
        return self.starts, self.rows, self.after, self.offsets, self.items

    def shares(self, count: int) -> list[tuple[int, int]]:
        """Cut the first nodes into at most `count` ranges of about equal work."""
        first, stop = self.first_nodes
        total = np.cumsum(self.work + 1)
        cuts = np.searchsorted(total, total[-1] * np.arange(1, count) / count) if len(total) else []
        edges = np.unique([first, *(first + np.asarray(cuts, np.int64)), stop])
        return list(itertools.pairwise(edges.tolist()))


@dataclasses.dataclass(frozen=True, slots=True)
class RuleIndex:
    """Rules as a trie, ready to be matched against any rows of their vocabulary.

    Attributes
    ----------
    numbers : int32[vocabulary items + 1]
        Each item's number in the trie, -1 if no rule uses it.
    item_count : int
        Items used.
    trie : Trie
        See kernels_numba.match.
    depth : int
        Items of the longest antecedent.
    """

    numbers: npt.NDArray[np.int32]
    item_count: int
    trie: kernels.Trie
    depth: int

    def __len__(self) -> int:
        """Return the number of rules."""
        return len(self.trie.rule_class)


def _projected(index: RuleIndex, transactions: Transactions) -> tuple[Ints, npt.NDArray[np.int32]]:
    """Return (offsets, items) of the rows in the trie's item numbers, ascending."""
    same_order = np.arange(len(transactions), dtype=np.int64)
    offsets, items = row_kernels.project_rows(
        transactions.offsets, transactions.items, same_order, index.numbers
    )
    return offsets, items


def _block(index: RuleIndex, offsets: Ints, items: npt.NDArray[np.int32], first: int, stop: int) -> _Block:
    """Return the rows first..stop-1, numbered from 0."""
    items = items[offsets[first] : offsets[stop]]
    offsets = offsets[first : stop + 1] - offsets[first]
    starts, rows, after = row_kernels.deliver(offsets, items, index.item_count)
    _, work = row_kernels.item_work(offsets, items, index.item_count)
    first_nodes = (int(index.trie.child_starts[0]), int(index.trie.child_starts[1]))
    return _Block(
        offsets, items, starts, rows, after, first_nodes, work[index.trie.items[slice(*first_nodes)]]
    )


def match_totals(
    rules: RuleArrays | RuleIndex,
    transactions: Transactions,
    accepted: Accepted | None = None,
    threads: int | None = None,
) -> MatchTotals:
    """Return the totals of matching every rule against every row.

    Parameters
    ----------
    rules : RuleArrays or RuleIndex
        In the vocabulary of `transactions`; their order decides which rule is "first".
    transactions : Transactions
        Rows to match. Weights play no part: a row is a row.
    accepted : Accepted, optional
        Answers that count as right; default the row's own class.
    threads : int, optional
        Default: see :func:`shortcut_miner.mining.threads.thread_count`.
    """
    accepted = accepted or Accepted.majority(transactions)
    index = index_for(rules, transactions)
    offsets, items = _projected(index, transactions)
    sketch = kernels.sketch_classes(accepted.offsets, accepted.classes)
    per_rule = np.zeros((3, len(rules)), np.int64)
    per_row = _row_tallies(len(transactions))
    for first, stop in blocks(len(transactions), _ROWS_A_BLOCK):
        starts = accepted.offsets[first : stop + 1]
        targets = kernels.Targets(
            transactions.classes[first:stop], starts, accepted.classes, sketch[first:stop]
        )
        block = _block(index, offsets, items, first, stop)
        _add_empty_antecedent(index.trie, targets, per_rule, per_row[:, first:stop])
        _match_block(block, index, targets, per_rule, per_row[:, first:stop], threads or thread_count())
    for firsts in per_row[2:]:
        firsts[firsts == kernels.NO_RULE] = -1
    return MatchTotals(*per_rule, *per_row)


def index_for(rules: RuleArrays | RuleIndex, transactions: Transactions) -> RuleIndex:
    """Return the index of `rules` that suits these rows: their rare items first; an index as it is."""
    if isinstance(rules, RuleIndex):
        return rules
    return index_rules(rules, np.bincount(transactions.items, minlength=transactions.vocabulary.item_count))


def match_pairs(
    rules: RuleArrays | RuleIndex, transactions: Transactions, fired: Ints | None = None
) -> Iterator[tuple[int, Ints, Ints]]:
    """Yield every (row, rule) pair, block by block: (first row, offsets, rule positions).

    Rule ``pairs[offsets[k]:offsets[k + 1]]``, ascending, fire on row ``first + k``. A block holds at most
    16M pairs (128 MB), or one row. `fired` saves a pass if :func:`match_totals` has counted already.
    """
    index = index_for(rules, transactions)
    fired = match_totals(index, transactions).row_fired if fired is None else fired
    offsets_in, items = _projected(index, transactions)
    no_ints, no_classes = np.empty(0, np.int64), np.empty(0, np.int32)
    targets = kernels.Targets(no_classes, no_ints, no_classes, np.empty(0, np.uint64))
    everywhere = index.trie.rules[: index.trie.rule_starts[1]]
    ends = np.cumsum(fired)
    first = 0
    while first < len(transactions):
        before = int(ends[first - 1]) if first else 0
        stop = max(first + 1, int(np.searchsorted(ends, before + _PAIRS_A_BLOCK, side="right")))
        offsets = np.concatenate(([0], ends[first:stop] - before))
        pairs = np.empty(int(offsets[-1]), np.int64)
        if len(pairs):
            pairs[offsets[:-1, None] + np.arange(len(everywhere))] = everywhere
            cursor = offsets[:-1] + len(everywhere)
            tallies = kernels.Tallies(*[*[no_ints] * 7, cursor, pairs])
            block = _block(index, offsets_in, items, first, stop)
            kernels.match_first_items(
                *block.first_nodes, *block.arrays, index.trie, index.depth, targets, tallies
            )
            row = np.repeat(np.arange(stop - first, dtype=np.int64), np.diff(offsets))
            pairs = np.sort(row * len(index) + pairs) % len(index)
        yield first, offsets, pairs
        first = stop


def _row_tallies(rows: int) -> Ints:
    """Return int64[4, rows]: rules fired and right (0), first rule and first right rule (none yet)."""
    tallies = np.zeros((4, rows), np.int64)
    tallies[2:] = kernels.NO_RULE
    return tallies


def _add_empty_antecedent(
    trie: kernels.Trie, targets: kernels.Targets, per_rule: Ints, per_row: Ints
) -> None:
    """Tally the rules without items, which fire on every row."""
    fired, right, best, best_right = per_row
    accepted = targets.accepted[targets.accepted_starts[0] : targets.accepted_starts[-1]]
    row = np.repeat(np.arange(len(fired)), np.diff(targets.accepted_starts))
    for rule in trie.rules[: trie.rule_starts[1]]:
        answer = trie.rule_class[rule]
        is_accepted = np.zeros(len(fired), np.bool_)
        is_accepted[row[(accepted == answer) & (answer >= 0)]] = True
        is_right = (targets.majority == answer) & (answer >= 0)
        per_rule[:, rule] += (len(fired), is_right.sum(), is_accepted.sum())
        fired += 1
        right += is_accepted
        np.minimum(best, rule, out=best)
        best_right[is_accepted] = np.minimum(best_right[is_accepted], rule)


def _match_block(
    block: _Block,
    index: RuleIndex,
    targets: kernels.Targets,
    per_rule: Ints,
    per_row: Ints,
    threads: int,
) -> None:
    """Match one block of rows, its first nodes shared out among threads, each with its own row tallies."""
    local = threading.local()
    parts: list[Ints] = []
    nothing = np.empty(0, np.int64)

    def match(nodes: tuple[int, int]) -> None:
        if not hasattr(local, "per_row"):
            local.per_row = per_row if threads == 1 else _row_tallies(per_row.shape[1])
            parts.append(local.per_row)
        tallies = kernels.Tallies(*[*per_rule, *local.per_row, nothing, nothing])
        kernels.match_first_items(*nodes, *block.arrays, index.trie, index.depth, targets, tallies)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(match, block.shares(4 * threads if threads > 1 else 1)))
    for part in parts if threads > 1 else []:
        per_row[:2] += part[:2]
        np.minimum(per_row[2:], part[2:], out=per_row[2:])


def index_rules(rules: RuleArrays, item_frequency: Ints) -> RuleIndex:
    """Return rules as a trie over the items they use, rare items first.

    Parameters
    ----------
    rules : RuleArrays
        In the numbers of a vocabulary.
    item_frequency : int64[items]
        How common each item of the vocabulary is. It decides the speed of matching, not its result.
    """
    # One more than the vocabulary: an item that no row can hold (see rules.encode_rules).
    frequency = np.append(item_frequency, 0)
    is_used = np.zeros(len(frequency), np.bool_)
    is_used[rules.items[rules.items >= 0]] = True
    used = np.flatnonzero(is_used)
    used = used[np.argsort(frequency[used], kind="stable")]
    numbers = np.full(len(frequency) + 1, -1, np.int32)  # the last entry is for the padding, -1
    numbers[used] = np.arange(len(used), dtype=np.int32)
    paths = numbers[rules.items]
    paths[rules.items < 0] = len(used)
    paths.sort(axis=1)
    return RuleIndex(numbers[:-1], len(used), _trie(paths, len(used), rules.answers), rules.items.shape[1])


def _trie(paths: npt.NDArray[np.int32], padding: int, answers: npt.NDArray[np.int32]) -> kernels.Trie:
    """Return the trie of item paths (ascending, filled up with `padding`), breadth first."""
    count, width = paths.shape
    order = _path_order(paths, padding)
    ordered = paths[order]
    # Where a path first differs from the one before it, a new node begins; below that, all are new.
    same_upto = np.zeros(count, np.int64)
    if count and width:
        differs = ordered[1:] != ordered[:-1]
        same_upto[1:] = np.where(differs.any(axis=1), differs.argmax(axis=1), width)
    node = np.zeros(count, np.int64)
    parents, items, total = [np.array([0], np.int64)], [np.array([-1], np.int32)], 1
    for depth in range(width):
        inside = ordered[:, depth] != padding
        is_new = inside & (same_upto <= depth)
        is_new[:1] |= inside[:1]
        parents.append(node[is_new])
        items.append(ordered[is_new, depth])
        node = np.where(inside, total - 1 + np.cumsum(is_new), node)
        total += int(is_new.sum())
    child_starts = 1 + np.cumsum(np.bincount(np.concatenate(parents)[1:], minlength=total))
    node_of_rule = np.empty(count, np.int64)
    node_of_rule[order] = node
    return kernels.Trie(
        items=np.concatenate(items),
        child_starts=np.concatenate(([1], child_starts)),
        rule_starts=np.concatenate(([0], np.cumsum(np.bincount(node_of_rule, minlength=total)))),
        rules=np.argsort(node_of_rule, kind="stable"),
        rule_class=answers,
    )


def _path_order(paths: npt.NDArray[np.int32], padding: int) -> Ints:
    """Return the lexicographic order of paths, a shorter path before its extensions."""
    width = paths.shape[1]
    keys = np.where(paths == padding, 0, paths + 1)
    if (padding + 1) ** width < 1 << 63:
        key = np.zeros(len(paths), np.int64)
        for depth in range(width):
            key = key * (padding + 1) + keys[:, depth]
        return np.argsort(key, kind="stable")
    return np.lexsort([keys[:, depth] for depth in range(width - 1, -1, -1)])
