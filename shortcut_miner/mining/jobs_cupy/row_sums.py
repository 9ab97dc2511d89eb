"""Sums over the rows where rules fire, on the device."""

from functools import partial

import numpy as np

from shortcut_miner.mining.arrays import Ints, Numbers
from shortcut_miner.mining.jobs_cupy.device import Device, cuda_device
from shortcut_miner.mining.jobs_cupy.projected import place_rows, row_ranges
from shortcut_miner.mining.jobs_cupy.room import within_room
from shortcut_miner.mining.jobs_cupy.tries import levels_of, place_rules, rule_ranges
from shortcut_miner.mining.trie import RuleIndex
from shortcut_miner.transactions import Transactions


def sum_where_fired(
    index: RuleIndex,
    rows: Transactions,
    table: Ints,
    line: Numbers,
    column: Numbers,
    threads: int | None = None,
) -> Ints:
    """See :func:`shortcut_miner.mining.evidence.row_sums.sum_where_fired`; `threads` are of no use here."""
    return sums_on(cuda_device(), index, rows, table, line, column)


def sums_on(
    device: Device, index: RuleIndex, rows: Transactions, table: Ints, line: Numbers, column: Numbers
) -> Ints:
    """Return the sums on a device."""
    return within_room(device, partial(_sums, device, index, rows, table, line, column), "adding up rows")


def _sums(
    device: Device,
    index: RuleIndex,
    rows: Transactions,
    table: Ints,
    line: Numbers,
    column: Numbers,
    room: int,
) -> Ints:
    xp = device.xp
    sums = np.zeros(len(index), np.uint64)
    cells = xp.asarray(np.ascontiguousarray(table))
    room = max(room - table.nbytes, 0)
    levels = levels_of(index.trie)
    for nodes in rule_ranges(index, levels, room // 2):
        part = place_rules(device, index, levels, *nodes)
        lines = xp.asarray(line[part.numbers])
        tallies = xp.zeros(len(part.numbers), np.uint64)
        for first, stop in row_ranges(rows, room // 2):
            block = place_rows(device, index, rows, first, stop)
            device.run(
                "row_sums", "add_where_fired", block.slots, *block.arrays,
                xp.asarray(column[first:stop]), xp.asarray(rows.weights[first:stop]),
                *part.arrays, lines, cells, table.shape[1], tallies,
            )  # fmt: skip
        sums[part.numbers] = device.to_host(tallies)
    return sums.view(np.int64)
