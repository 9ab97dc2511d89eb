"""The rows of a shard: what its first items need of all rows, equal ones once."""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from shortcut_miner.mining.arrays import DistinctRows, Numbers
from shortcut_miner.transactions import RowBlocks, Transactions

# Measured, and rounded up: what mining takes for a row and an item of a shard, with the search's copies in
# class order and by first item included.
BYTES_A_ROW = 120
BYTES_AN_ITEM = 40
_FIRST_ROWS = 1 << 16
_FIRST_ITEMS = 1 << 19

_T = TypeVar("_T", bound=np.generic)


def bytes_of_rows(rows: int, items: int) -> int:
    """Return about how many bytes it takes to mine so many distinct rows with so many items in all."""
    return rows * BYTES_A_ROW + items * BYTES_AN_ITEM


def kept_rows(
    rows: RowBlocks, order: Numbers, first: int, stop: int, room: int | None = None
) -> Transactions | None:
    """Return what the antecedents whose first item is one of ``order[first:stop]`` need of the rows.

    Parameters
    ----------
    rows : RowBlocks
        All rows.
    order : int32[]
        Items in the order of the search.
    first, stop : int
        Places in `order`.
    room : int, optional
        Most bytes that mining may take, by :func:`bytes_of_rows`.

    Returns
    -------
    Transactions or None
        Rows of different items or class, with their weights summed. None if there is no room.
    """
    from shortcut_miner.mining.kernels_numba import suffixes as kernels

    place = np.full(rows.vocabulary.item_count, -1, np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    kept = _no_rows()
    for block in rows.blocks():
        arrays = (block.offsets, block.items, block.classes, block.weights)
        done = 0
        while (done := kernels.add_suffixes(done, *arrays, place, first, stop, kept)) < len(block):
            longest = int(block.offsets[done + 1] - block.offsets[done])
            kept = _grown(kept, longest)
        if room is not None and bytes_of_rows(*kept.size.tolist()) > room:
            return None
    size, top = kept.size.tolist()
    return Transactions(
        kept.offsets[: size + 1],
        kept.items[:top],
        kept.classes[:size],
        kept.weights[:size],
        rows.vocabulary.without_names(),
    )


def _no_rows() -> DistinctRows:
    return DistinctRows(
        offsets=np.zeros(_FIRST_ROWS + 1, np.int64),
        items=np.empty(_FIRST_ITEMS, np.int32),
        classes=np.empty(_FIRST_ROWS, np.int32),
        weights=np.empty(_FIRST_ROWS, np.int64),
        table=np.zeros(2 * _FIRST_ROWS, np.int64),
        size=np.zeros(2, np.int64),
    )


def _grown(kept: DistinctRows, longest: int) -> DistinctRows:
    """Return the kept with twice the room for what it lacks room for: rows, or one more row's items."""
    from shortcut_miner.mining.kernels_numba import suffixes as kernels

    rows, top = kept.size.tolist()
    if top + longest > len(kept.items):
        kept = kept._replace(items=_longer(kept.items, max(2 * len(kept.items), top + longest)))
    if rows < len(kept.classes):
        return kept
    room = 2 * len(kept.classes)
    table = np.zeros(2 * room, np.int64)
    kernels.refill_table(kept.table, table)
    return kept._replace(
        offsets=_longer(kept.offsets, room + 1),
        classes=_longer(kept.classes, room),
        weights=_longer(kept.weights, room),
        table=table,
    )


def _longer(array: npt.NDArray[_T], length: int) -> npt.NDArray[_T]:
    longer = np.empty(length, array.dtype)
    longer[: len(array)] = array
    return longer
