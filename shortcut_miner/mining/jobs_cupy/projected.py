"""Rows on the device, in the item numbers of a trie of rules."""

import dataclasses
from collections.abc import Iterator

import numpy as np

from shortcut_miner.mining.arrays import Ints
from shortcut_miner.mining.jobs_cupy import plans
from shortcut_miner.mining.jobs_cupy.device import Array, Device
from shortcut_miner.mining.trie import RuleIndex
from shortcut_miner.transactions import Transactions

# What a row, an item of one, and an accepted answer take on the device while rows are put there and matched.
BYTES_A_ROW = 128
BYTES_AN_ITEM = 64
BYTES_AN_ANSWER = 8


@dataclasses.dataclass(frozen=True, slots=True)
class PlacedRows:
    """The items of rows on the device: ``items[offsets[r]:offsets[r + 1]]``, ascending.

    Attributes
    ----------
    offsets : int64[rows + 1]
    items : int32[]
        Numbers of the trie; items that no rule uses are left out.
    """

    offsets: Array
    items: Array

    @property
    def slots(self) -> int:
        """Threads that match them: one a row, and one an item."""
        return len(self.offsets) - 1 + len(self.items)

    @property
    def arrays(self) -> tuple[int, Array, Array]:
        """What kernels take, in their order."""
        return len(self.offsets) - 1, self.offsets, self.items


def row_ranges(
    rows: Transactions, room: int, answers: Ints | int = 0, first: int = 0, stop: int | None = None
) -> Iterator[tuple[int, int]]:
    """Yield ranges of the rows first..stop-1 that fit into `room` bytes, with so many answers each."""
    stop = len(rows) if stop is None else stop
    lengths = np.diff(rows.offsets[first : stop + 1])
    sizes = np.int64(BYTES_A_ROW) + BYTES_AN_ITEM * lengths + BYTES_AN_ANSWER * answers
    for low, high in plans.fitting_parts(sizes, room):
        yield first + low, first + high


def place_rows(device: Device, index: RuleIndex, rows: Transactions, first: int, stop: int) -> PlacedRows:
    """Return the rows first..stop-1 on the device."""
    xp, span = device.xp, max(index.item_count, 1)
    begin, end = int(rows.offsets[first]), int(rows.offsets[stop])
    offsets = xp.asarray(rows.offsets[first : stop + 1] - begin)
    numbers = xp.asarray(index.numbers)[xp.asarray(rows.items[begin:end])]
    row = xp.searchsorted(offsets, xp.arange(end - begin), side="right") - 1
    keys = (row * span + numbers)[numbers >= 0]
    keys.sort()
    offsets = xp.searchsorted(keys, xp.arange(stop - first + 1) * span)
    return PlacedRows(offsets, (keys % span).astype(np.int32))
