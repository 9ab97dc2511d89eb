"""Rows on the device: sent there, and cut to the items that matter, in the miner's numbers."""

import dataclasses

import numpy as np

from shortcut_miner.mining.arrays import Numbers
from shortcut_miner.mining.jobs_cupy import plans
from shortcut_miner.mining.jobs_cupy.device import Array, Device
from shortcut_miner.transactions import Transactions

# What an item takes while rows are sorted: its number, its row, what both make, and room to sort that.
_BYTES_AN_ITEM = 96


@dataclasses.dataclass(frozen=True, slots=True)
class DeviceRows:
    """Rows on the device, as :class:`Transactions` has them.

    Attributes
    ----------
    offsets : int64[rows + 1]
    items : int32[]
    classes : int32[rows]
    weights : int64[rows]
    item_count, class_count : int
        Numbers of items and of classes.
    max_weight : int
        The largest weight.
    """

    offsets: Array
    items: Array
    classes: Array
    weights: Array
    item_count: int
    class_count: int
    max_weight: int

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.classes)

    @property
    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """What the kernels take, in their order."""
        return self.offsets, self.items, self.classes, self.weights


def send_rows(device: Device, transactions: Transactions) -> DeviceRows:
    """Return transactions on the device."""
    given = (transactions.offsets, transactions.items, transactions.classes, transactions.weights)
    offsets, items, classes, weights = (device.xp.asarray(np.ascontiguousarray(array)) for array in given)
    max_weight = int(transactions.weights.max(initial=1))
    vocabulary = transactions.vocabulary
    return DeviceRows(
        offsets, items, classes, weights, vocabulary.item_count, vocabulary.class_count, max_weight
    )


def project_rows(device: Device, rows: DeviceRows, numbers: Numbers, count: int, room: int) -> DeviceRows:
    """Return the rows with a class and two items at least, in new numbers, ascending within a row.

    Parameters
    ----------
    device : Device
        Where the rows are.
    rows : DeviceRows
        In the numbers of the vocabulary.
    numbers : int32[vocabulary items]
        Each item's new number, or -1 to leave it out.
    count : int
        How many new numbers there are.
    room : int
        Bytes to take at a time.
    """
    xp = device.xp
    new_numbers = xp.asarray(numbers)
    lengths = np.diff(device.to_host(rows.offsets)) if count > 1 else np.zeros(0, np.int64)
    parts = [(xp.zeros(0, np.int64), xp.zeros(0, np.int64), xp.zeros(0, np.int32))]
    for first, stop in plans.fitting_parts(lengths, room // _BYTES_AN_ITEM):
        parts.append(_project_part(xp, rows, new_numbers, count, first, stop))
    kept, lengths_kept, items = map(xp.concatenate, zip(*parts, strict=True))
    offsets = xp.zeros(len(kept) + 1, np.int64)
    offsets[1:] = xp.cumsum(lengths_kept)
    return DeviceRows(
        offsets, items, rows.classes[kept], rows.weights[kept], count, rows.class_count, rows.max_weight
    )


def _project_part(
    xp: Array, rows: DeviceRows, new_numbers: Array, count: int, first: int, stop: int
) -> tuple[Array, Array, Array]:
    """Return which of the rows first..stop-1 are left, their lengths and their items."""
    starts = rows.offsets[first : stop + 1]
    low, high = int(starts[0]), int(starts[-1])
    items = new_numbers[rows.items[low:high]]
    row = xp.searchsorted(starts[1:], xp.arange(low, high), side="right")
    keep = (items >= 0) & (rows.classes[first:stop][row] >= 0)
    # One number per (row, item) sorts the items of all rows at once.
    places = xp.sort(row[keep] * count + items[keep])
    # CuPy's bincount is not for this: before 14.2 it writes out of bounds with millions of bins.
    ends = xp.searchsorted(places, xp.arange(stop - first + 1) * count)
    lengths = ends[1:] - ends[:-1]
    is_long = lengths >= 2
    kept = xp.flatnonzero(is_long)
    items = (places[is_long[places // count]] % count).astype(np.int32)
    return first + kept, lengths[kept], items
