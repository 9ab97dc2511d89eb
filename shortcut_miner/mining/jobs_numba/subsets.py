"""Best subsets: rules and their subsets as distinct pairs (antecedent, answer), length by length."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shortcut_miner.mining.antecedents import Antecedents, class_counts
from shortcut_miner.mining.arrays import Best, Ints, Numbers
from shortcut_miner.mining.jobs_numba.match import sum_where_fired
from shortcut_miner.mining.kernels_numba import subsets as kernels
from shortcut_miner.mining.memory import left
from shortcut_miner.mining.rules import BestSubsets, RuleArrays
from shortcut_miner.mining.threads import blocks, shares, thread_count
from shortcut_miner.mining.trie import index_rules
from shortcut_miner.row_merging import take_items
from shortcut_miner.transactions import GroupedRows, RowBlocks, Transactions

# The rules of a block have about this many subsets in all, which bounds memory. As each block looks for the
# rows of its answers among all, it has more where these are many, as far as a part of free memory holds them.
_SUBSETS_A_BLOCK, _MOST_SUBSETS_A_BLOCK = 1 << 23, 1 << 25
_SUBSETS_A_ROW = 20
_BYTES_A_SUBSET, _PART_OF_MEMORY = 32, 8
_PAIRS_A_TASK = 1 << 15
_NODES_AT_ONCE = 1 << 16  # what is made on the way of so many stays in the cache
_PADDING = np.iinfo(np.int32).max


class _Nodes(NamedTuple):
    """All mined antecedents, numbered by length and then as mined; see kernels_numba.subsets."""

    items: Numbers
    child_starts: Numbers
    parents: Numbers
    firsts: Ints


class _Rung(NamedTuple):
    """Distinct pairs (antecedent, answer) of one length.

    ``nodes`` count from the first one of the length, ``paths`` hold the antecedents' items in the miner's
    numbers, ``links`` their subsets among the pairs one rung below. The rules number ``rules`` are the pairs
    at ``places``.
    """

    nodes: Numbers
    answers: Numbers
    paths: Numbers
    links: Numbers
    rules: Ints
    places: Numbers


def best_subsets(
    rules: RuleArrays, antecedents: Antecedents, training: RowBlocks, threads: int | None = None
) -> BestSubsets:
    """See :func:`shortcut_miner.mining.evidence.subsets.best_subsets`."""
    threads = threads or thread_count()
    vocabulary = training.vocabulary
    best = BestSubsets(*np.zeros((4, len(rules)), np.int64))
    subsets = np.left_shift(1, (rules.items >= 0).sum(axis=1))
    count = max(1, -(-int(subsets.sum()) // _subsets_a_block(training)))
    order = _by_answer(rules.answers, vocabulary.answer_counts, count)
    mined = _number_nodes(antecedents)
    with ThreadPoolExecutor(threads) as pool:
        for part in shares(subsets[order], count):
            block = order[slice(*part)]
            rungs = _rungs(rules.take(block), mined, antecedents.item_names, vocabulary.class_count, pool)
            counts = _counts(rungs, antecedents, training, threads)
            kinds = vocabulary.kinds_of(antecedents.item_names)
            _raise(rungs, counts, kinds, pool, block, best)
    return best


def _by_answer(answers: Numbers, answer_counts: Ints, count: int) -> Ints:
    """Return the rules in an order of which each of `count` blocks has few answers that others have too.

    Rules share subsets with those of their answer alone, and count in its rows alone. Frequent answers are
    dealt out to the blocks: the threads of a block share its rows by answers.
    """
    block_of = np.empty(len(answer_counts), np.uint16)  # numbers of 16 bits are sorted at once
    block_of[np.argsort(-answer_counts, kind="stable")] = np.arange(len(answer_counts)) % count
    return np.argsort(block_of[answers], kind="stable")


def _subsets_a_block(training: RowBlocks) -> int:
    """Return how many subsets the rules of a block may have; few where rows are in files, to save memory."""
    if not isinstance(training, Transactions | GroupedRows):
        return _SUBSETS_A_BLOCK
    fitting = left() // (_PART_OF_MEMORY * _BYTES_A_SUBSET)
    return max(_SUBSETS_A_BLOCK, min(_SUBSETS_A_ROW * len(training), fitting, _MOST_SUBSETS_A_BLOCK))


def _raise(
    rungs: Sequence[_Rung],
    counts: Sequence[Best],
    kinds: npt.NDArray[np.int8],
    pool: ThreadPoolExecutor,
    block: Ints,
    out: BestSubsets,
) -> None:
    """Carry the best subsets from rung to rung, and write those of the rules in `block`."""
    best = single = _nothing(len(counts[0].rule_count))
    is_single = np.zeros(len(counts[0].rule_count), np.bool_)
    for rung, counts_below in zip(rungs, counts[:-1], strict=True):
        below = (counts_below, best, single, is_single)
        best, single = _nothing(len(rung.links)), _nothing(len(rung.links))
        _in_tasks(pool, kernels.raise_best, len(rung.links), rung.links, *below, best, single)
        found = kinds[rung.paths]
        is_single = (found == found[:, :1]).all(axis=1)
        rules = block[rung.rules]
        out.antecedent_count[rules] = best.antecedent_count[rung.places]
        out.rule_count[rules] = best.rule_count[rung.places]
        out.single_antecedent_count[rules] = single.antecedent_count[rung.places]
        out.single_rule_count[rules] = single.rule_count[rung.places]


def _nothing(count: int) -> Best:
    return Best(np.zeros(count, np.int64), np.zeros(count, np.int64))


def _in_tasks(pool: ThreadPoolExecutor, kernel: Callable[..., None], count: int, *arguments: object) -> None:
    list(pool.map(lambda task: kernel(*task, *arguments), blocks(count, _PAIRS_A_TASK)))


def _rungs(
    rules: RuleArrays, mined: _Nodes, item_names: Numbers, class_count: int, pool: ThreadPoolExecutor
) -> list[_Rung]:
    """Return the rules and all their subsets but the empty one, as distinct pairs by length."""
    # The last entry is for the padding, -1: it sorts last.
    most = int(max(item_names.max(initial=-1), rules.items.max(initial=-1)))
    numbers = np.full(most + 2, _PADDING, np.int32)
    numbers[item_names] = np.arange(len(item_names), dtype=np.int32)
    paths = np.sort(numbers[rules.items], axis=1)
    lengths = (rules.items >= 0).sum(axis=1)
    # Subsets of the rung above, with repeats.
    nodes, answers = np.empty((2, 0), np.int32)
    rungs: list[_Rung] = []
    for size in range(rules.items.shape[1], 0, -1):
        own = np.flatnonzero(lengths == size)
        own = own[np.argsort(paths[own, 0])]  # neighbours are found in the same part of memory
        own_nodes, own_paths = np.empty(len(own), np.int32), np.ascontiguousarray(paths[own, :size])
        _in_tasks(pool, kernels.find_nodes, len(own), own_paths, mined.items, mined.child_starts, own_nodes)
        first = np.int32(mined.firsts[size])
        nodes = np.concatenate((own_nodes, nodes)) - first
        if nodes.min(initial=0) < 0:
            raise ValueError(
                "rules: got an antecedent that was not mined, expected rules of these antecedents."
            )
        answers = np.concatenate((rules.answers[own], answers))
        node_count = int(mined.firsts[size + 1] - mined.firsts[size])
        members, number = kernels.distinct_pairs(nodes, answers, node_count, class_count)
        if rungs:
            rungs[-1] = rungs[-1]._replace(links=number[len(own) :].reshape(-1, size + 1))
        nodes, answers = nodes[members], answers[members]
        rung_paths, subsets = _subsets(nodes + first, size, mined, pool)
        links = answers[:, None]  # of one item: the empty antecedent with each answer
        rungs.append(_Rung(nodes, answers, rung_paths, links, own, number[: len(own)]))
        nodes, answers = subsets.ravel(), np.repeat(answers, size)
    return rungs[::-1]


def _number_nodes(antecedents: Antecedents) -> _Nodes:
    levels = antecedents.levels
    firsts = np.concatenate(([0], np.cumsum([len(level.items) for level in levels])))
    items = np.concatenate([level.items for level in levels])
    child_starts, parents = np.empty(len(items) + 1, np.int32), np.empty(len(items), np.int32)
    child_starts[0], parents[0] = 1, 0
    for level, low, high in zip(levels, firsts, firsts[1:], strict=False):
        # As nodes are numbered in 32 bits, the sums have no more.
        np.add(level.starts[1:], high, out=child_starts[low + 1 : high + 1], casting="same_kind")
        for first, stop in blocks(len(level.items), _NODES_AT_ONCE):
            nodes = np.arange(low + first, low + stop, dtype=np.int32)
            children = np.diff(level.starts[first : stop + 1])
            parents[child_starts[nodes[0]] : child_starts[nodes[-1] + 1]] = np.repeat(nodes, children)
    return _Nodes(items, child_starts, parents, firsts)


def _subsets(nodes: Numbers, size: int, mined: _Nodes, pool: ThreadPoolExecutor) -> tuple[Numbers, Numbers]:
    """Return the items of nodes of one length, and the nodes that lack each of these."""
    paths, links = np.empty((len(nodes), size), np.int32), np.empty((len(nodes), size), np.int32)
    _in_tasks(
        pool, kernels.link_subsets, len(nodes), nodes, mined.items, mined.child_starts, mined.parents, paths,
        links,
    )  # fmt: skip
    return paths, links


def _counts(
    rungs: Sequence[_Rung], antecedents: Antecedents, training: RowBlocks, threads: int
) -> list[Best]:
    """Return the counts of all pairs by length, from 0 on: the empty antecedent with each answer."""
    counts, unknown = [], []
    for rung, level in zip(rungs, antecedents.levels[1:], strict=False):
        counts.append(Best(level.rule_count[rung.nodes], level.antecedent_count[rung.nodes]))
        unknown.append(np.flatnonzero(level.best_class[rung.nodes] != rung.answers))
    paths = [antecedents.item_names[rung.paths[which]] for rung, which in zip(rungs, unknown, strict=True)]
    classes = [rung.answers[which] for rung, which in zip(rungs, unknown, strict=True)]
    found, class_rows = _count_together(paths, classes, training, threads)
    for count, which, right in zip(counts, unknown, found, strict=True):
        count.rule_count[which] = right
    return [Best(class_rows, np.full(len(class_rows), class_rows.sum())), *counts]


def _count_together(
    paths: Sequence[Numbers], classes: Sequence[Numbers], training: RowBlocks, threads: int
) -> tuple[list[Ints], Ints]:
    """Return, by length, in how many rows an antecedent and an answer are together, and each class's rows.

    The answer becomes an item, rarer than all others, so that the matcher looks for an antecedent among its
    answer's rows only.
    """
    item_count, class_count = training.vocabulary.item_count, training.vocabulary.class_count
    ends = np.cumsum([len(part) for part in classes])
    items = np.full((sum(len(part) for part in classes), len(paths) + 1), -1, np.int32)
    for part, answer, stop in zip(paths, classes, ends, strict=True):
        items[stop - len(part) : stop, 0] = item_count + answer
        items[stop - len(part) : stop, 1 : part.shape[1] + 1] = part
    frequency = np.append(training.item_frequency, np.zeros(class_count, np.int64))
    is_wanted = np.zeros(class_count + 1, np.bool_)  # the last is for rows of no class
    for part in classes:
        is_wanted[part] = True
    line, ones = np.zeros(len(items), np.int32), np.ones((1, 1), np.int64)
    found, class_rows = np.zeros(len(items), np.int64), np.zeros(class_count, np.int64)
    index = index_rules(RuleArrays(items, line, found, found), frequency)
    for block in training.blocks():
        class_rows += class_counts(block)
        rows = _with_class_items(block, np.flatnonzero(is_wanted[block.classes]))
        column = np.zeros(len(rows), np.int32)
        found += sum_where_fired(index, rows, ones, line, column, threads)
    return np.split(found, ends[:-1]), class_rows


def _with_class_items(transactions: Transactions, places: Ints) -> Transactions:
    """Return the rows at `places` with their class as a last item."""
    classes = transactions.classes[places]
    starts, taken = take_items(transactions.offsets, transactions.items, places)
    offsets = starts + np.arange(len(starts))
    is_class = np.zeros(offsets[-1], np.bool_)
    is_class[offsets[1:] - 1] = True
    items = np.empty(offsets[-1], np.int32)
    items[~is_class] = taken
    items[is_class] = transactions.vocabulary.item_count + classes
    return Transactions(offsets, items, classes, transactions.weights[places], transactions.vocabulary)
