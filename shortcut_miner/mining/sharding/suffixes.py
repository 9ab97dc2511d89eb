"""The rows of a shard: what its first items need of all rows, equal ones once."""

import numpy as np

from shortcut_miner.mining.arrays import Numbers
from shortcut_miner.transactions import RowBlocks, Transactions, Vocabulary

# Measured in tests/mining/test_sharding.py: what mining takes for a row and for an item of what a shard keeps,
# the search's own copies in class order and by first item included.
BYTES_A_ROW = 120
BYTES_AN_ITEM = 40
_FIRST_ROWS = 1 << 12
_FIRST_ITEMS = 1 << 16


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
        Distinct rows with their weights summed; items are places in `order`. None if there is no room.
    """
    from shortcut_miner.mining.kernels_numba import suffixes as kernels

    number = np.full(rows.vocabulary.item_count, -1, np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    store = _empty_store()
    for block in rows.blocks():
        arrays = (block.offsets, block.items, block.classes, block.weights)
        done = 0
        while (done := kernels.add_suffixes(done, *arrays, number, first, stop, store)) < len(block):
            longest = int(block.offsets[done + 1] - block.offsets[done])
            store = _grown(store, longest)
        if room is not None and bytes_of_rows(*store.size.tolist()) > room:
            return None
    size, top = store.size.tolist()
    vocabulary = Vocabulary(
        words=range(len(order)),  # type: ignore[arg-type]  # as Vocabulary.without_names
        objects=range(0),  # type: ignore[arg-type]
        answers=range(rows.vocabulary.class_count),  # type: ignore[arg-type]
        answer_counts=rows.vocabulary.answer_counts,
    )
    return Transactions(
        store.offsets[: size + 1], store.items[:top], store.classes[:size], store.weights[:size], vocabulary
    )


def _empty_store() -> "kernels.Store":
    from shortcut_miner.mining.kernels_numba import suffixes as kernels

    return kernels.Store(
        offsets=np.zeros(_FIRST_ROWS + 1, np.int64),
        items=np.empty(_FIRST_ITEMS, np.int32),
        classes=np.empty(_FIRST_ROWS, np.int32),
        weights=np.empty(_FIRST_ROWS, np.int64),
        table=np.zeros(2 * _FIRST_ROWS, np.int32),
        size=np.zeros(2, np.int64),
    )


def _grown(store: "kernels.Store", longest: int) -> "kernels.Store":
    """Return the store with twice the room for what it lacks room for: rows, or one more row's items."""
    from shortcut_miner.mining.kernels_numba import suffixes as kernels

    rows, top = store.size.tolist()
    if top + longest > len(store.items):
        store = store._replace(items=_longer(store.items, max(2 * len(store.items), top + longest)))
    if rows < len(store.classes):
        return store
    room = 2 * len(store.classes)
    store = store._replace(
        offsets=_longer(store.offsets, room + 1),
        classes=_longer(store.classes, room),
        weights=_longer(store.weights, room),
        table=np.zeros(2 * room, np.int32),
    )
    kernels.fill_table(store)
    return store


def _longer(array, length):
    longer = np.empty(length, array.dtype)
    longer[: len(array)] = array
    return longer
