"""The rows of a shard: what its first items need of all rows."""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from shortcut_miner.mining.arrays import KeptRows, Numbers, read_only
from shortcut_miner.mining.threads import read_ahead
from shortcut_miner.transactions import RowBlocks, Transactions, Vocabulary

# Measured at 0.3 to 2 million rows of 6 to 14 items: what gathering and mining takes for a row, an item, and
# a row that holds one of the first items that are searched below at a time, which copies it.
BYTES_A_ROW, BYTES_AN_ITEM, BYTES_A_COPY = 80, 8, 95
# So many rows are merged if there are more, for which the room is taken at the start (but not filled).
_UNMERGED_ROWS = 1 << 20
_UNMERGED_ITEMS = 1 << 23

_T = TypeVar("_T", bound=np.generic)


def bytes_of_rows(rows: Transactions, first_items: Numbers, threads: int) -> int:
    """Return about how many bytes it takes to mine rows below first items, without what is found.

    Each thread copies the rows that hold the first item that it is at: at worst the most frequent one.
    """
    holders = np.bincount(rows.items, minlength=rows.vocabulary.item_count)[first_items]
    copies = min(threads * int(holders.max(initial=0)), int(holders.sum()))
    return _bytes_of(len(rows), len(rows.items)) + copies * BYTES_A_COPY


def _bytes_of(rows: int, items: int) -> int:
    return rows * BYTES_A_ROW + items * BYTES_AN_ITEM


def placed_rows(rows: Transactions, order: Numbers) -> Transactions:
    """Return the rows with a class, by class, with places in `order` as items; those without a place go.

    Shards of them are faster to mine.
    """
    from shortcut_miner.mining.kernels_numba.delivery import project_rows

    known = np.flatnonzero(rows.classes >= 0)
    by_class = known[np.argsort(rows.classes[known], kind="stable")]
    places = _places(rows.vocabulary, order)
    offsets, items, *_ = project_rows(rows.offsets, rows.items, by_class, places, len(order))
    vocabulary = Vocabulary.of_sizes({"words": len(order)}, rows.vocabulary.answer_counts)
    return Transactions(offsets, items, rows.classes[by_class], rows.weights[by_class], vocabulary)


def kept_rows(
    rows: RowBlocks,
    order: Numbers,
    first: int,
    stop: int,
    *,
    room: int | None = None,
    merge: bool = False,
    threads: int = 1,
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
    merge : bool
        Whether rows of equal items and class become one, with their weights added, however few there are;
        many are merged in any case.
    threads : int
        With two or more, rows are read while those before them are looked through; so many are going to mine.

    Returns
    -------
    Transactions or None
        None if there is no room.
    """
    from shortcut_miner.mining.kernels_numba.suffixes import add_suffixes

    use = np.zeros(rows.vocabulary.item_count, np.uint8)  # a byte each: it stays in the processor's cache
    use[order[first:stop]] = 3
    use[order[stop:]] = 1
    kept = _no_rows(min(len(rows), _UNMERGED_ROWS))
    for block in read_ahead(rows.blocks(), threads):
        arrays = (block.offsets, block.items, read_only(block.classes), read_only(block.weights))
        done = 0
        while (done := add_suffixes(done, *arrays, use, kept)) < len(block):
            kept = _with_room(kept, int(block.offsets[done + 1] - block.offsets[done]))
        if room is not None and _bytes_of(*kept.size[:2].tolist()) > room:
            kept = _merged(kept)
            if _bytes_of(*kept.size[:2].tolist()) > room:
                return None
    if merge or kept.size[2]:
        kept = _merged(kept)
    size, top, *_ = kept.size.tolist()
    # In place: what lies behind is given back.
    kept.offsets.resize(size + 1, refcheck=False)
    kept.items.resize(top, refcheck=False)
    kept.classes.resize(size, refcheck=False)
    kept.weights.resize(size, refcheck=False)
    fields = (kept.offsets, kept.items, kept.classes, kept.weights)
    found = Transactions(*fields, rows.vocabulary.without_names())
    fits = room is None or bytes_of_rows(found, order[first:stop], threads) <= room
    return found if fits else None


def _places(vocabulary: Vocabulary, order: Numbers) -> Numbers:
    place = np.full(vocabulary.item_count, -1, np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return place


def _no_rows(room: int) -> KeptRows:
    return KeptRows(
        offsets=np.zeros(room + 1, np.int64),
        items=np.empty(_UNMERGED_ITEMS, np.int32),
        classes=np.empty(room, np.int32),
        weights=np.empty(room, np.int64),
        table=np.empty(0, np.int64),
        size=np.zeros(3, np.int64),
    )


def _merged(kept: KeptRows) -> KeptRows:
    """Return the rows with equal ones merged; arrays are changed in place, or replaced by larger ones."""
    from shortcut_miner.mining.kernels_numba.suffixes import merge_rows, refill_table

    if len(kept.table) < 2 * len(kept.classes):
        table = np.zeros(1 << (2 * len(kept.classes) - 1).bit_length(), np.int64)
        refill_table(kept.table, table)
        kept = kept._replace(table=table)
    merge_rows(kept)
    return kept


def _with_room(kept: KeptRows, longest: int) -> KeptRows:
    """Return the rows merged, with room for as many again, and for a row of so many items."""
    kept = _merged(kept)
    rows, top, *_ = kept.size.tolist()
    if top + longest > len(kept.items) // 2:
        kept = kept._replace(items=_longer(kept.items, max(2 * len(kept.items), 2 * (top + longest))))
    if rows <= len(kept.classes) // 2:
        return kept
    room = 2 * len(kept.classes)
    return kept._replace(
        offsets=_longer(kept.offsets, room + 1),
        classes=_longer(kept.classes, room),
        weights=_longer(kept.weights, room),
    )


def _longer(array: npt.NDArray[_T], length: int) -> npt.NDArray[_T]:
    longer = np.empty(length, array.dtype)
    longer[: len(array)] = array
    return longer
