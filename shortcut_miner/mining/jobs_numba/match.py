"""Matching: totals never hold the (row, rule) pairs, and pairs come block by block.

Totals take rows + rules (per thread) of memory, whatever the number of hits.
"""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from shortcut_miner.mining.arrays import Ints, Tallies, Targets, Trie, read_only
from shortcut_miner.mining.jobs_numba.delivery import Delivered, deliver, project
from shortcut_miner.mining.kernels_numba import match as kernels
from shortcut_miner.mining.matches import Accepted, MatchTotals
from shortcut_miner.mining.threads import blocks, thread_count
from shortcut_miner.mining.trie import RuleIndex
from shortcut_miner.transactions import Transactions

# Large blocks share the work at a trie node; a thread holds 32 bytes a row of its block.
_ROWS_A_BLOCK = 1 << 21
_PAIRS_A_BLOCK = 1 << 24


def match_totals(
    rules: RuleIndex,
    transactions: Transactions,
    accepted: Accepted | None = None,
    threads: int | None = None,
) -> MatchTotals:
    """See :func:`shortcut_miner.mining.matcher.match_totals`."""
    accepted = accepted or Accepted.majority(transactions)
    offsets, items = project(rules, transactions)
    accepted_classes = read_only(accepted.classes)
    sketch = kernels.sketch_classes(accepted.offsets, accepted_classes)
    per_rule = np.zeros((3, len(rules)), np.int64)
    per_row = _row_tallies(len(transactions))
    for first, stop in blocks(len(transactions), _ROWS_A_BLOCK):
        starts = accepted.offsets[first : stop + 1]
        majority = read_only(transactions.classes[first:stop])
        targets = Targets(majority, starts, accepted_classes, sketch[first:stop])
        block = deliver(rules, offsets, items, first, stop)
        _add_empty_antecedent(rules.trie, targets, per_rule, per_row[:, first:stop])
        _match_block(block, rules, targets, per_rule, per_row[:, first:stop], threads or thread_count())
    for firsts in per_row[2:]:
        firsts[firsts == kernels.NO_RULE] = -1
    return MatchTotals(*per_rule, *per_row)


def match_pairs(
    rules: RuleIndex, transactions: Transactions, fired: Ints | None = None
) -> Iterator[tuple[int, Ints, Ints]]:
    """See :func:`shortcut_miner.mining.matcher.match_pairs`."""
    fired = match_totals(rules, transactions).row_fired if fired is None else fired
    offsets_in, items = project(rules, transactions)
    no_ints, no_classes = np.empty(0, np.int64), read_only(np.empty(0, np.int32))
    targets = Targets(no_classes, no_ints, no_classes, np.empty(0, np.uint64))
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
            cursor = offsets[:-1] + len(everywhere)
            tallies = Tallies(*[*[no_ints] * 7, cursor, pairs])
            block = deliver(rules, offsets_in, items, first, stop)
            space = kernels.working_memory(*block.most(rules.trie, rules.depth))
            kernels.match_first_items(*block.first_nodes, *block.arrays, rules.trie, targets, tallies, space)
            row = np.repeat(np.arange(stop - first, dtype=np.int64), np.diff(offsets))
            pairs = np.sort(row * len(rules) + pairs) % len(rules)
        yield first, offsets, pairs
        first = stop


def _row_tallies(rows: int) -> Ints:
    """Return int64[4, rows]: rules fired and right (0), first rule and first right rule (none yet)."""
    tallies = np.zeros((4, rows), np.int64)
    tallies[2:] = kernels.NO_RULE
    return tallies


def _add_empty_antecedent(trie: Trie, targets: Targets, per_rule: Ints, per_row: Ints) -> None:
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
    block: Delivered,
    index: RuleIndex,
    targets: Targets,
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
            local.space = kernels.working_memory(*block.most(index.trie, index.depth))
        tallies = Tallies(*[*per_rule, *local.per_row, nothing, nothing])
        kernels.match_first_items(*nodes, *block.arrays, index.trie, targets, tallies, local.space)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(match, block.shares(4 * threads if threads > 1 else 1)))
    for part in parts if threads > 1 else []:
        per_row[:2] += part[:2]
        np.minimum(per_row[2:], part[2:], out=per_row[2:])
