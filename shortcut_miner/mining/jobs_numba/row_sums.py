"""Sums over the rows where rules fire."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from shortcut_miner.mining.arrays import Ints, Numbers, Summands
from shortcut_miner.mining.jobs_numba.delivery import deliver, project
from shortcut_miner.mining.kernels_numba import row_sums as kernels
from shortcut_miner.mining.threads import thread_count
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
    """See :func:`shortcut_miner.mining.evidence.row_sums.sum_where_fired`."""
    trie, threads = index.trie, threads or thread_count()
    block = deliver(index, *project(index, rows), 0, len(rows))
    summands = Summands(line[trie.rules], column, table, rows.weights)
    sums = np.zeros(len(index), np.int64)
    for place in range(trie.rule_starts[1]):  # without items: these fire on every row
        sums[place] = rows.weights @ table[summands.line[place]][column]

    local = threading.local()

    def add(nodes: tuple[int, int]) -> None:
        if not hasattr(local, "space"):
            local.space = kernels.working_memory(*block.most(trie, index.depth))
        kernels.add_where_fired(*nodes, *block.arrays, trie, summands, sums, local.space)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(add, block.shares(8 * threads)))
    by_rule = np.empty_like(sums)
    by_rule[trie.rules] = sums
    return by_rule
