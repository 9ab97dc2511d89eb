"""Rows delivered item by item, in the item numbers of a trie of rules."""

import dataclasses

import numpy as np

from shortcut_miner.mining.arrays import Ints, Numbers
from shortcut_miner.mining.kernels_numba import delivery as kernels
from shortcut_miner.mining.threads import shares
from shortcut_miner.mining.trie import RuleIndex
from shortcut_miner.transactions import Transactions


@dataclasses.dataclass(frozen=True, slots=True)
class Delivered:
    """A block of rows, delivered by item, and the trie's first nodes with their work in all blocks."""

    offsets: Ints
    items: Numbers
    starts: Ints
    rows: Numbers
    after: Ints
    first_nodes: tuple[int, int]
    work: Ints

    @property
    def arrays(self) -> tuple[Ints, Numbers, Ints, Ints, Numbers]:
        """What the kernels take, in their order."""
        return self.starts, self.rows, self.after, self.offsets, self.items

    def shares(self, count: int) -> list[tuple[int, int]]:
        """Cut the first nodes into at most `count` ranges of about equal work."""
        first = self.first_nodes[0]
        return [(first + low, first + high) for low, high in shares(self.work, count)]


def project(index: RuleIndex, rows: Transactions) -> kernels.Projected:
    """Return the rows in the trie's item numbers, ascending."""
    same_order = np.arange(len(rows), dtype=np.int64)
    return kernels.project_rows(rows.offsets, rows.items, same_order, index.numbers, index.item_count)


def deliver(index: RuleIndex, projected: kernels.Projected, first: int, stop: int) -> Delivered:
    """Return the rows first..stop-1 of projected rows, numbered from 0."""
    offsets, items, _, work = projected
    items = items[offsets[first] : offsets[stop]]
    offsets = offsets[first : stop + 1] - offsets[first]
    starts, rows, after = kernels.deliver(offsets, items, index.item_count)
    low, high = int(index.trie.child_starts[0]), int(index.trie.child_starts[1])
    return Delivered(offsets, items, starts, rows, after, (low, high), work[index.trie.items[low:high]])
