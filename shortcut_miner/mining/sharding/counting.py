"""What is known of all rows before they are mined in parts: one pass over them."""

import dataclasses
import hashlib

import numpy as np

from shortcut_miner.mining.arrays import Ints, Numbers, read_only
from shortcut_miner.mining.threads import read_ahead
from shortcut_miner.row_merging import take_items
from shortcut_miner.transactions import RowBlocks, Transactions, Vocabulary

# Rows of the sample that plans are made from.
_SAMPLED_ROWS = 1 << 17


@dataclasses.dataclass(frozen=True, slots=True)
class Counted:
    """What one pass over rows says of them.

    Attributes
    ----------
    totals : int64[items]
        Original rows with a class that hold each item.
    class_counts : int64[classes]
        Original rows of each class.
    sample : Transactions
        Every k-th row, without names.
    digest : str
        Of the rows in their order, however they came in blocks.
    """

    totals: Ints
    class_counts: Ints
    sample: Transactions
    digest: str

    def order(self, min_count: int) -> Numbers:
        """Return int32[]: the items in `min_count` rows, by rising total, and of equal totals by number.

        That is the order of a whole search, with further items that reach `min_count` with no one class.
        """
        names = np.flatnonzero(self.totals >= min_count)
        return names[np.argsort(self.totals[names], kind="stable")].astype(np.int32)


def count_rows(rows: RowBlocks, threads: int = 1) -> Counted:
    """Return what one pass over the rows says of them; two threads are faster than one."""
    from shortcut_miner.mining.kernels_numba.rows import add_totals

    vocabulary = rows.vocabulary.without_names()
    totals = np.zeros(vocabulary.item_count, np.int64)
    class_counts = np.zeros(vocabulary.class_count, np.int64)
    step = -(-len(rows) // _SAMPLED_ROWS) or 1
    digests = [hashlib.blake2b(digest_size=20) for _ in range(4)]
    sampled: list[Transactions] = []
    before = 0
    for block in read_ahead(rows.blocks(), threads):
        lengths = np.diff(block.offsets).astype(np.int32)
        for digest, field in zip(digests, (lengths, block.items, block.classes, block.weights), strict=True):
            digest.update(np.ascontiguousarray(field).data)
        classes, weights = read_only(block.classes), read_only(block.weights)
        add_totals(block.offsets, block.items, classes, weights, totals, class_counts)
        sampled.append(rows_at(block, np.arange(-before % step, len(block), step), vocabulary))
        before += len(block)
    together = hashlib.blake2b(b"".join(digest.digest() for digest in digests), digest_size=20)
    return Counted(totals, class_counts, _joined(sampled, vocabulary), together.hexdigest())


def rows_at(rows: Transactions, which: Ints, vocabulary: Vocabulary) -> Transactions:
    """Return the rows of these numbers, with this vocabulary."""
    offsets, items = take_items(rows.offsets, rows.items, which)
    return Transactions(offsets, items, rows.classes[which], rows.weights[which], vocabulary)


def _joined(parts: list[Transactions], vocabulary: Vocabulary) -> Transactions:
    lengths = [np.diff(part.offsets) for part in parts]
    fields = [[part.items, part.classes, part.weights] for part in parts]
    empty = [np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int64)]
    items, classes, weights = (np.concatenate(columns) for columns in zip(empty, *fields, strict=True))
    return Transactions(np.cumsum(np.concatenate([[0], *lengths])), items, classes, weights, vocabulary)
