"""Matching: totals never hold the (row, rule) pairs, and pairs come block by block.

Totals take rows + rules (per thread) of memory, whatever the number of hits.
"""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from shortcut_miner.mining.arrays import Ints, Numbers, Summands, Tallies, Targets, read_only
from shortcut_miner.mining.jobs_numba.delivery import Delivered, deliver, project
from shortcut_miner.mining.kernels_numba import match as kernels
from shortcut_miner.mining.matches import Accepted, MatchTotals
from shortcut_miner.mining.threads import blocks, thread_count
from shortcut_miner.mining.trie import RuleIndex
from shortcut_miner.transactions import Transactions

# Large blocks share the work at a trie node; a thread holds 32 bytes a row of its block.
_ROWS_A_BLOCK = 1 << 21
_PAIRS_A_BLOCK = 1 << 24

_NO_INTS, _NO_CLASSES, _NO_TABLE = (
    np.empty(0, np.int64),
    read_only(np.empty(0, np.int32)),
    np.empty((0, 0), np.int64),
)
_NO_TARGETS = Targets(_NO_CLASSES, _NO_CLASSES, _NO_INTS, _NO_CLASSES, np.empty(0, np.uint64))
_NO_SUMMANDS = Summands(_NO_CLASSES, _NO_CLASSES, _NO_TABLE, _NO_INTS)


def match_totals(
    rules: RuleIndex,
    transactions: Transactions,
    accepted: Accepted | None = None,
    threads: int | None = None,
    summands: Summands | None = None,
) -> MatchTotals:
    """See :func:`shortcut_miner.mining.matcher.match_totals`."""
    projected = project(rules, transactions)
    threads = threads or thread_count()
    by_rule = np.zeros((len(rules), 4), np.int64)
    by_row = kernels.no_tallies(len(transactions))
    for first, stop in blocks(len(transactions), _ROWS_A_BLOCK):
        _match_block(
            deliver(rules, projected, first, stop), rules,
            _targets(rules, transactions.classes[first:stop], accepted and accepted.part(first, stop)),
            _summands(rules, summands, first, stop),
            Tallies(by_rule, by_row[first:stop], _NO_INTS, _NO_INTS), threads,
        )  # fmt: skip
    by_row[:, 2:][by_row[:, 2:] == kernels.NO_RULE] = -1
    fired, right, is_accepted, *sums = _by_number(rules, by_rule[:, : 3 + (summands is not None)], threads)
    row_fired, row_right, best, best_right = np.ascontiguousarray(by_row.T)
    return MatchTotals(fired, right, is_accepted, row_fired, row_right, best, best_right, *sums)


def sum_where_fired(
    index: RuleIndex,
    rows: Transactions,
    table: Ints,
    line: Numbers,
    column: Numbers,
    threads: int | None = None,
) -> Ints:
    """See :func:`shortcut_miner.mining.evidence.row_sums.sum_where_fired`."""
    by_rule = np.zeros((len(index), 4), np.int64)
    block = deliver(index, project(index, rows), 0, len(rows))
    summands = _summands(index, Summands(line, column, table, rows.weights), 0, len(rows))
    tallies = Tallies(by_rule, kernels.no_tallies(0), _NO_INTS, _NO_INTS)
    _match_block(block, index, _NO_TARGETS, summands, tallies, threads or thread_count())
    (sums,) = _by_number(index, by_rule[:, 3:], threads=1)
    return sums


def match_pairs(
    rules: RuleIndex, transactions: Transactions, fired: Ints | None = None
) -> Iterator[tuple[int, Ints, Ints]]:
    """See :func:`shortcut_miner.mining.matcher.match_pairs`."""
    fired = match_totals(rules, transactions).row_fired if fired is None else fired
    projected = project(rules, transactions)
    everywhere = rules.trie.rules[: rules.trie.rule_starts[1]]
    ends = np.cumsum(fired)
    first = 0
    while first < len(transactions):
        before = int(ends[first - 1]) if first else 0
        stop = max(first + 1, int(np.searchsorted(ends, before + _PAIRS_A_BLOCK, side="right")))
        offsets = np.concatenate(([0], ends[first:stop] - before))
        pairs = np.empty(int(offsets[-1]), np.int64)
        if len(pairs):
            pairs[offsets[:-1, None] + np.arange(len(everywhere))] = everywhere
            tallies = Tallies(_NO_TABLE, kernels.no_tallies(0), offsets[:-1] + len(everywhere), pairs)
            block = deliver(rules, projected, first, stop)
            _match_nodes(block, rules, _NO_TARGETS, _NO_SUMMANDS, tallies, threads=1)
            row = np.repeat(np.arange(stop - first, dtype=np.int64), np.diff(offsets))
            pairs = np.sort(row * len(rules) + pairs) % len(rules)
        yield first, offsets, pairs
        first = stop


def _targets(index: RuleIndex, majority: Numbers, accepted: Accepted | None) -> Targets:
    answers = read_only(index.trie.rule_class[index.trie.rules])
    if accepted is None:
        return Targets(answers, read_only(majority), _NO_INTS, _NO_CLASSES, _NO_TARGETS.sketch)
    classes = read_only(accepted.classes)
    sketch = kernels.sketch_classes(accepted.offsets, classes)
    return Targets(answers, read_only(majority), accepted.offsets, classes, sketch)


def _summands(index: RuleIndex, summands: Summands | None, first: int, stop: int) -> Summands:
    """Return the summands of the rows first..stop-1, rules by place."""
    if summands is None:
        return _NO_SUMMANDS
    line, column, table, weights = summands
    lines = read_only(line[index.trie.rules])
    return Summands(lines, read_only(column[first:stop]), np.ascontiguousarray(table), weights[first:stop])


def _by_number(index: RuleIndex, by_place: Ints, threads: int) -> list[Ints]:
    """Return the columns of a table of rules by place, by the rules' numbers."""
    numbered = [np.empty(len(index), np.int64) for _ in by_place.T]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(partial(_put, index.trie.rules), numbered, by_place.T))
    return numbered


def _put(places: Ints, out: Ints, values: Ints) -> None:
    out[places] = values


def _match_block(
    block: Delivered,
    index: RuleIndex,
    targets: Targets,
    summands: Summands,
    tallies: Tallies,
    threads: int,
) -> None:
    """Match one block of rows."""
    _add_empty_antecedent(index, targets, summands, tallies)
    _match_nodes(block, index, targets, summands, tallies, threads)


def _add_empty_antecedent(index: RuleIndex, targets: Targets, summands: Summands, tallies: Tallies) -> None:
    """Tally the rules without items, which fire on every row."""
    trie, by_rule, by_row = index.trie, tallies.by_rule, tallies.by_row
    row = np.repeat(np.arange(len(targets.sketch)), np.diff(targets.accepted_starts))
    for place, rule in enumerate(trie.rules[: trie.rule_starts[1]]):
        if len(summands.table):
            by_rule[place, 3] += summands.weights @ summands.table[summands.line[place]][summands.column]
        if not len(by_row):
            continue
        answer = targets.answers[place]
        is_accepted = is_right = (targets.majority == answer) & (answer >= 0)
        if len(targets.sketch):
            is_accepted = np.zeros(len(by_row), np.bool_)
            is_accepted[row[(targets.accepted == answer) & (answer >= 0)]] = True
        by_rule[place, :3] += (len(by_row), is_right.sum(), is_accepted.sum())
        by_row[:, 0] += 1
        by_row[:, 1] += is_accepted
        np.minimum(by_row[:, 2], rule, out=by_row[:, 2])
        by_row[is_accepted, 3] = np.minimum(by_row[is_accepted, 3], rule)


def _match_nodes(
    block: Delivered,
    index: RuleIndex,
    targets: Targets,
    summands: Summands,
    tallies: Tallies,
    threads: int,
) -> None:
    """Match below the first nodes, shared out among threads, each with its own tallies of rows."""
    local = threading.local()
    parts: list[Ints] = []

    def match(nodes: tuple[int, int]) -> None:
        if not hasattr(local, "tallies"):
            by_row = tallies.by_row if threads == 1 else kernels.no_tallies(len(tallies.by_row))
            parts.append(by_row)
            local.tallies = tallies._replace(by_row=by_row)
            local.space = kernels.working_memory(index.item_count, index.depth)
        kernels.match_first_items(
            *nodes, *block.arrays, index.trie, targets, summands, local.tallies, local.space
        )

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(match, block.shares(8 * threads if threads > 1 else 1)))
    for part in parts if threads > 1 else []:
        tallies.by_row[:, :2] += part[:, :2]
        np.minimum(tallies.by_row[:, 2:], part[:, 2:], out=tallies.by_row[:, 2:])
