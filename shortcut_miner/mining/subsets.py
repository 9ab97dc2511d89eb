"""Rules against what is simpler than they are: subsets of their antecedents, and a grouping of the rows.

A rule that one of its subsets explains is no shortcut of its own (Bayardo, Agrawal and Gunopulos, "Constraint-
Based Rule Mining in Large, Dense Databases", 1999: *improvement*; Webb, "Discovering Significant Patterns",
2007: *productive* rules). Subsets of a mined antecedent are mined too, so their row counts are known; the
count of an answer that is not the subset's best one comes from a pass over that answer's rows only.
"""

import dataclasses
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shortcut_miner.encoding import Transactions
from shortcut_miner.mining.kernels_numba import mine as mine_kernels
from shortcut_miner.mining.kernels_numba import subsets as kernels
from shortcut_miner.mining.matcher import RuleIndex, index_rules
from shortcut_miner.mining.miner import Antecedents
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.mining.threads import blocks, thread_count

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# A block of rules of k items has at most this many subsets in all: it bounds memory.
_SUBSETS_A_BLOCK = 1 << 25
_PAIRS_A_TASK = 1 << 15
_PADDING = np.iinfo(np.int32).max


@dataclasses.dataclass(frozen=True, slots=True)
class BestSubsets:
    """Of each rule's subsets, with the rule's answer, the most confident one.

    Of equally confident ones the one with most rows counts. Zeros mean that there is none.

    Attributes
    ----------
    antecedent_count, rule_count : int64[rules]
        The best proper subset, the empty one included.
    single_antecedent_count, single_rule_count : int64[rules]
        The best non-empty proper subset with words only or objects only.
    """

    antecedent_count: Ints
    rule_count: Ints
    single_antecedent_count: Ints
    single_rule_count: Ints


class _Pairs(NamedTuple):
    """Distinct (antecedent, answer) of one length: node in its level, answer, items in the miner's numbers."""

    nodes: Ints
    answers: npt.NDArray[np.int32]
    paths: npt.NDArray[np.int32]


class _Ladder(NamedTuple):
    """Rules of a block and all their subsets: pairs by length, links to the length below, the rules' places."""

    pairs: list[_Pairs]
    links: list[Ints]
    rules: list[Ints]
    places: list[Ints]


def best_subsets(
    rules: RuleArrays, antecedents: Antecedents, transactions: Transactions, threads: int | None = None
) -> BestSubsets | None:
    """Return the best subset of every rule; None if the search was cut short, so that subsets are missing.

    Parameters
    ----------
    rules : RuleArrays
        Rules whose antecedents are among the mined ones.
    antecedents : Antecedents
        All that was mined from `transactions`.
    transactions : Transactions
        The rows; those without a class count nowhere, as in mining.
    threads : int, optional
        Default: see :func:`shortcut_miner.mining.threads.thread_count`.
    """
    if not antecedents.is_complete:
        return None
    out = np.zeros((4, len(rules)), np.int64)
    with ThreadPoolExecutor(threads or thread_count()) as pool:
        for first, stop in blocks(len(rules), max(1, _SUBSETS_A_BLOCK >> rules.items.shape[1])):
            _fill_block(rules.take(np.arange(first, stop)), antecedents, transactions, pool, out[:, first:stop])
    return BestSubsets(*out)


def prior_confidence(
    rules: RuleArrays,
    transactions: Transactions,
    groups: npt.NDArray[np.int32],
    *,
    index: RuleIndex | None = None,
    threads: int | None = None,
) -> Floats:
    """Return the confidence each rule would have if answers depended on a row's group alone.

    That is the mean, over the rows where the rule fires and whose group is known, of the answer's share in
    the row's group.

    Parameters
    ----------
    rules : RuleArrays
        In the vocabulary of `transactions`.
    transactions : Transactions
        The rows.
    groups : int32[rows]
        Group of each row, such as its question type; -1 = not known.
    index : RuleIndex, optional
        The same rules, indexed already.
    threads : int, optional
        Default: see :func:`shortcut_miner.mining.threads.thread_count`.

    Returns
    -------
    float64[rules]
        NaN where no row of a known group has the antecedent.
    """
    classes, weights = transactions.classes, transactions.weights.astype(np.float64)
    group_count, class_count = int(groups.max(initial=-1)) + 1, len(transactions.vocabulary.answers)
    is_known = (groups >= 0) & (classes >= 0)
    cells = classes[is_known].astype(np.int64) * group_count + groups[is_known]
    counts = np.bincount(cells, weights[is_known], class_count * group_count).reshape(class_count, group_count)
    share = np.zeros((class_count + 1, group_count + 1))  # last column: no group; last line: rows with one
    share[:-1, :-1] = counts / np.maximum(counts.sum(axis=0), 1)
    share[-1, :-1] = 1
    index = index or index_rules(rules, _frequency(transactions))
    column = np.where(groups >= 0, groups, group_count).astype(np.int32)
    weights = np.where(classes >= 0, weights, 0.0)
    sums = _sum_where_fired(
        index, transactions.offsets, transactions.items,
        kernels.Summands(rules.answers, column, share, weights), threads,
    )  # fmt: skip
    rows = rules.antecedent_count.astype(np.float64)
    if not is_known.all():
        last = np.full(len(rules), class_count, np.int32)
        rows = _sum_where_fired(
            index, transactions.offsets, transactions.items,
            kernels.Summands(last, column, share, weights), threads,
        )  # fmt: skip
    return np.divide(sums, rows, out=np.full(len(rules), np.nan), where=rows > 0)


def _frequency(transactions: Transactions) -> Ints:
    return np.bincount(transactions.items, minlength=transactions.vocabulary.item_count)


def _sum_where_fired(
    index: RuleIndex,
    offsets: Ints,
    items: npt.NDArray[np.int32],
    summands: kernels.Summands,
    threads: int | None,
) -> Floats:
    """Return, per rule, the sum of its summands over the rows where it fires."""
    trie = index.trie
    offsets, items = mine_kernels.project_rows(offsets, items, np.arange(len(offsets) - 1), index.numbers)
    starts, rows, after = mine_kernels.deliver(offsets, items, index.item_count)
    summands = summands._replace(line=summands.line[trie.rules])
    sums = np.zeros(len(index))
    for rule in range(trie.rule_starts[1]):  # without items: fires on every row
        sums[rule] = summands.weights @ summands.table[summands.line[rule]][summands.column]
    first, stop = int(trie.child_starts[0]), int(trie.child_starts[1])
    _, work = mine_kernels.item_work(offsets, items, index.item_count)
    work = np.cumsum(work[trie.items[first:stop]] + 1)
    count = 8 * (threads or thread_count())
    cuts = first + np.searchsorted(work, work[-1] * np.arange(1, count) / count) if len(work) else []
    edges = np.unique([first, *cuts, stop])

    def add(share: int) -> None:
        kernels.add_where_fired(
            edges[share], edges[share + 1], starts, rows, after, offsets, items, trie, index.depth, summands, sums
        )

    with ThreadPoolExecutor(threads or thread_count()) as pool:
        list(pool.map(add, range(len(edges) - 1)))
    by_rule = np.empty_like(sums)
    by_rule[trie.rules] = sums
    return by_rule


def _fill_block(
    rules: RuleArrays, antecedents: Antecedents, transactions: Transactions, pool: ThreadPoolExecutor, out: Ints
) -> None:
    """Fill the four lines of BestSubsets for a block of rules."""
    ladder = _ladder(rules, antecedents, len(transactions.vocabulary.answers), pool)
    counts = _counts(ladder, antecedents, transactions)
    first_object = len(transactions.vocabulary.words)
    best = single = _nothing(len(transactions.vocabulary.answers))
    is_single = np.zeros(len(best.rule_count), np.bool_)
    for size in range(1, len(ladder.pairs)):
        pairs, links = ladder.pairs[size], ladder.links[size]
        below, best, single = (counts[size - 1], best, single), _nothing(len(links)), _nothing(len(links))

        def raise_task(task: tuple[int, int], links=links, below=below, is_single=is_single, best=best, single=single) -> None:  # noqa: E501
            kernels.raise_best(*task, links, *below, is_single, best, single)

        list(pool.map(raise_task, blocks(len(links), _PAIRS_A_TASK)))
        is_object = antecedents.item_names[pairs.paths] >= first_object
        is_single = is_object.all(axis=1) | ~is_object.any(axis=1)
        where, place = ladder.rules[size], ladder.places[size]
        out[0, where], out[1, where] = best.antecedent_count[place], best.rule_count[place]
        out[2, where], out[3, where] = single.antecedent_count[place], single.rule_count[place]


def _nothing(count: int) -> kernels.Best:
    return kernels.Best(np.zeros(count, np.int64), np.zeros(count, np.int64))


def _ladder(
    rules: RuleArrays, antecedents: Antecedents, class_count: int, pool: ThreadPoolExecutor
) -> _Ladder:
    """Return the rules and all their subsets as distinct pairs, linked from each length to the one below."""
    numbers = np.full(int(antecedents.item_names.max(initial=-1)) + 1, -1, np.int32)
    numbers[antecedents.item_names] = np.arange(len(antecedents.item_names), dtype=np.int32)
    paths = np.where(rules.items >= 0, numbers[rules.items], _PADDING)
    paths.sort(axis=1)
    lengths = (rules.items >= 0).sum(axis=1)
    width = rules.items.shape[1]
    sizes = np.array([len(level.items) for level in antecedents.levels])
    firsts = np.cumsum(sizes) - sizes
    last_items = np.concatenate([level.items for level in antecedents.levels])
    stops = [first + level.starts[1:] for first, level in zip([*firsts[1:], sizes.sum()], antecedents.levels, strict=True)]
    child_starts = np.concatenate(([1], *stops))
    ladder = _Ladder(*([np.empty(0, np.int64)] * (width + 1) for _ in range(4)))
    above = _Pairs(np.empty(0, np.int64), np.empty(0, np.int32), np.empty((0, width), np.int32))
    for size in range(width, 0, -1):
        own = np.flatnonzero(lengths == size)
        own_paths = np.ascontiguousarray(paths[own, :size])
        own_nodes = np.empty(len(own), np.int64)
        _in_tasks(pool, kernels.find_nodes, len(own), own_paths, last_items, child_starts, own_nodes)
        given = _Pairs(*(np.concatenate(both) for both in zip((own_nodes, rules.answers[own], own_paths), above, strict=True)))
        members, number = kernels.distinct_pairs(given.nodes - firsts[size], given.answers, sizes[size], class_count)
        pairs = _Pairs(*(column[members] for column in given))
        ladder.pairs[size], ladder.rules[size], ladder.places[size] = pairs, own, number[: len(own)]
        if size < width:
            ladder.links[size + 1] = number[len(own) :].reshape(-1, size + 1)
        if size > 1:
            nodes_below = np.empty((len(members), size), np.int64)
            _in_tasks(pool, kernels.link_subsets, len(members), pairs.paths, last_items, child_starts, nodes_below)
            above = _subsets(pairs, nodes_below)
        pairs.nodes[:] -= firsts[size]
    ladder.links[1] = ladder.pairs[1].answers.astype(np.int64)[:, None]
    return ladder


def _in_tasks(pool: ThreadPoolExecutor, kernel, count: int, *arrays) -> None:
    list(pool.map(lambda task: kernel(*task, *arrays), blocks(count, _PAIRS_A_TASK)))


def _subsets(pairs: _Pairs, nodes: Ints) -> _Pairs:
    """Return every subset one item smaller of every pair, by pair and missing item, with repeats."""
    size = pairs.paths.shape[1]
    paths = [np.delete(pairs.paths, missing, axis=1) for missing in range(size)]
    return _Pairs(nodes.ravel(), np.repeat(pairs.answers, size), np.stack(paths, axis=1).reshape(-1, size - 1))


def _counts(ladder: _Ladder, antecedents: Antecedents, transactions: Transactions) -> list[kernels.Best]:
    """Return the counts of all pairs by length, from 0 on."""
    known = transactions.classes >= 0
    answers = np.bincount(
        transactions.classes[known], transactions.weights[known], len(transactions.vocabulary.answers)
    ).astype(np.int64)
    counts = [kernels.Best(answers, np.full(len(answers), answers.sum()))]
    unknown: list[Ints] = []
    for level, pairs in zip(antecedents.levels[1:], ladder.pairs[1:], strict=False):
        rule_count = level.rule_count[pairs.nodes]
        unknown.append(np.flatnonzero(level.best_class[pairs.nodes] != pairs.answers))
        counts.append(kernels.Best(rule_count, level.antecedent_count[pairs.nodes]))
    found = _count_pairs(
        [_Pairs(*(column[which] for column in pairs)) for pairs, which in zip(ladder.pairs[1:], unknown, strict=True)],
        antecedents.item_names, transactions,
    )  # fmt: skip
    for count, which, rows in zip(counts[1:], unknown, found, strict=True):
        count.rule_count[which] = rows
    return counts


def _count_pairs(
    pairs: Sequence[_Pairs], item_names: npt.NDArray[np.int32], transactions: Transactions
) -> list[Ints]:
    """Return in how many rows each antecedent and its answer are together.

    The answer becomes the rarest item of all, so that an antecedent is looked for in its answer's rows only.
    """
    item_count, class_count = transactions.vocabulary.item_count, len(transactions.vocabulary.answers)
    items = np.full((sum(len(part.nodes) for part in pairs), len(pairs) + 1), -1, np.int32)
    first = 0
    for size, part in enumerate(pairs, 1):
        here = slice(first, first := first + len(part.nodes))
        items[here, 0] = item_count + part.answers
        items[here, 1 : size + 1] = item_names[part.paths]
    frequency = np.append(_frequency(transactions), np.zeros(class_count + 1, np.int64))
    nothing = np.zeros(len(items), np.int32)
    index = index_rules(RuleArrays(items, nothing, nothing, nothing), frequency)
    offsets = transactions.offsets + np.arange(len(transactions) + 1)
    rows = np.empty(offsets[-1], np.int32)
    is_class = np.zeros(len(rows), np.bool_)
    is_class[offsets[1:] - 1] = True
    rows[~is_class] = transactions.items
    classes = transactions.classes
    rows[is_class] = item_count + np.where(classes >= 0, classes, class_count)
    ones = kernels.Summands(
        nothing, np.zeros(len(transactions), np.int32), np.ones((1, 1)), transactions.weights.astype(np.float64)
    )
    found = _sum_where_fired(index, offsets, rows, ones, None).astype(np.int64)
    return np.split(found, np.cumsum([len(part.nodes) for part in pairs])[:-1])
