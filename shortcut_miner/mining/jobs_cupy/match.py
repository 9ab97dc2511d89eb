"""Matching on the device: rules in parts that fit, rows in blocks, added up or listed."""

import dataclasses
from collections.abc import Iterator
from functools import partial

import numpy as np

from shortcut_miner.mining.arrays import Ints, Summands
from shortcut_miner.mining.jobs_cupy import plans
from shortcut_miner.mining.jobs_cupy.device import Device, cuda_device
from shortcut_miner.mining.jobs_cupy.projected import place_rows, row_ranges
from shortcut_miner.mining.jobs_cupy.room import within_room
from shortcut_miner.mining.jobs_cupy.row_sums import sums_on
from shortcut_miner.mining.jobs_cupy.tries import levels_of, place_rules, rule_ranges
from shortcut_miner.mining.matches import Accepted, MatchTotals
from shortcut_miner.mining.trie import RuleIndex
from shortcut_miner.transactions import Transactions

_PAIRS_A_BLOCK = 1 << 24
# A pair, and its place while pairs are sorted.
_BYTES_A_PAIR = 40
_NONE = -1  # kernels take it for the largest number of 64 bits


def match_totals(
    rules: RuleIndex,
    transactions: Transactions,
    accepted: Accepted | None = None,
    threads: int | None = None,
    summands: Summands | None = None,
) -> MatchTotals:
    """See :func:`shortcut_miner.mining.matcher.match_totals`; `threads` are of no use here."""
    return totals_on(cuda_device(), rules, transactions, accepted, summands)


def match_pairs(
    rules: RuleIndex, transactions: Transactions, fired: Ints | None = None
) -> Iterator[tuple[int, Ints, Ints]]:
    """See :func:`shortcut_miner.mining.matcher.match_pairs`."""
    return pairs_on(cuda_device(), rules, transactions, fired)


def totals_on(
    device: Device,
    index: RuleIndex,
    rows: Transactions,
    accepted: Accepted | None = None,
    summands: Summands | None = None,
) -> MatchTotals:
    """Return the totals of matching on a device."""
    accepted = accepted or Accepted.majority(rows)
    totals = within_room(device, partial(_totals, device, index, rows, accepted), "matching")
    if summands is None:
        return totals
    line, column, table, _ = summands
    return dataclasses.replace(totals, rule_sum=sums_on(device, index, rows, table, line, column))


def _totals(
    device: Device, index: RuleIndex, rows: Transactions, accepted: Accepted, room: int
) -> MatchTotals:
    xp = device.xp
    per_rule = np.zeros((3, len(index)), np.uint64)
    per_row = np.zeros((4, len(rows)), np.uint64)
    per_row[2:].view(np.int64)[:] = _NONE
    levels = levels_of(index.trie)
    for nodes in rule_ranges(index, levels, room // 2):
        part = place_rules(device, index, levels, *nodes)
        tallies = [xp.zeros(len(part.numbers), np.uint64) for _ in per_rule]
        for first, stop in row_ranges(rows, room // 2, np.diff(accepted.offsets)):
            block = place_rows(device, index, rows, first, stop)
            counts = [xp.zeros(stop - first, np.uint64) for _ in range(2)]
            firsts = [xp.full(stop - first, _NONE, np.int64).view(np.uint64) for _ in range(2)]
            starts = accepted.offsets[first : stop + 1]
            device.run(
                "match", "match_rows", block.slots, *block.arrays,
                xp.asarray(rows.classes[first:stop]), xp.asarray(starts - starts[0]),
                xp.asarray(accepted.classes[starts[0] : starts[-1]]),
                *part.arrays, part.rules, part.classes, *tallies, *counts, *firsts,
            )  # fmt: skip
            here = per_row[:, first:stop]
            here[:2] += [device.to_host(count) for count in counts]
            np.minimum(here[2:], [device.to_host(rule) for rule in firsts], out=here[2:])
        per_rule[:, part.numbers] = [device.to_host(tally) for tally in tallies]
    return MatchTotals(*per_rule.view(np.int64), *per_row.view(np.int64))


def pairs_on(
    device: Device, index: RuleIndex, rows: Transactions, fired: Ints | None = None
) -> Iterator[tuple[int, Ints, Ints]]:
    """Yield the pairs of matching on a device, block by block."""
    fired = totals_on(device, index, rows).row_fired if fired is None else fired
    most = max(1, min(_PAIRS_A_BLOCK, device.room() // (4 * _BYTES_A_PAIR)))
    for first, stop in plans.fitting_parts(fired, most):
        offsets = np.concatenate(([0], np.cumsum(fired[first:stop])))
        block = partial(_pairs, device, index, rows, first, stop, int(offsets[-1]))
        yield first, offsets, within_room(device, block, "listing pairs") if offsets[-1] else offsets[:0]


def _pairs(
    device: Device, index: RuleIndex, rows: Transactions, first: int, stop: int, count: int, room: int
) -> Ints:
    """Return the rules that fire on the rows first..stop-1, row by row, `count` in all."""
    xp = device.xp
    pairs, cursor = xp.empty(count, np.int64), xp.zeros(1, np.uint64)
    levels = levels_of(index.trie)
    for nodes in rule_ranges(index, levels, room // 4):
        part = place_rules(device, index, levels, *nodes)
        for low, high in row_ranges(rows, room // 4, first=first, stop=stop):
            block = place_rows(device, index, rows, low, high)
            device.run(
                "match", "list_pairs", block.slots, *block.arrays, low - first,
                *part.arrays, part.rules, len(index), cursor, pairs,
            )  # fmt: skip
    pairs.sort()
    found: Ints = device.to_host(pairs % len(index))
    return found
