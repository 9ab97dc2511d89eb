"""A digest of a table's rows whatever their order, which can be computed a part at a time.

:func:`shortcut_miner.storage.table_sha256` sorts the whole table; here rows are hashed by themselves and the
hashes summed. Nobody who chooses rows to that end is kept from making two tables with one digest.
"""

import dataclasses
import hashlib
import json
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

Words = NDArray[np.uint64]
_MODULUS = 1 << 64


@dataclasses.dataclass(frozen=True, slots=True)
class RowSums:
    """What the rows of a table, or of a part of it, add up to; parts of one table can be added.

    Attributes
    ----------
    columns : tuple of (str, str)
        Names and types.
    rows : int
        How many.
    sums : tuple of int
        Of two 64-bit hashes of each row, modulo 2**64.
    """

    columns: tuple[tuple[str, str], ...]
    rows: int
    sums: tuple[int, int]

    def __add__(self, other: "RowSums") -> "RowSums":
        if self.columns != other.columns:
            raise ValueError(f"parts of one table: got the columns {self.columns} and {other.columns}")
        first, second = (
            (ours + theirs) % _MODULUS for ours, theirs in zip(self.sums, other.sums, strict=True)
        )
        return RowSums(self.columns, self.rows + other.rows, (first, second))

    def sha256(self) -> str:
        """Return the digest, as hexadecimal digits."""
        return hashlib.sha256(json.dumps([self.columns, self.rows, self.sums]).encode()).hexdigest()


def row_sums(frame: pl.DataFrame) -> RowSums:
    """Return what the rows of a table add up to.

    Columns hold texts, numbers, Booleans, nulls, or lists of these; any other raises TypeError. Of each value
    its type, whether it is null, its length and its content count.

    >>> frame = pl.DataFrame({"id": ["7", "8"], "words": [["a", "b"], None]})
    >>> whole = row_sums(frame).sha256()
    >>> whole == row_sums(frame.reverse()).sha256() == (row_sums(frame[:1]) + row_sums(frame[1:])).sha256()
    True
    """
    from shortcut_miner.kernels_numba.row_digests import sum_states

    states = np.zeros(len(frame), np.uint64), np.zeros(len(frame), np.uint64)
    # Column by column, and never in slices: of a slice of lists Polars converts all elements.
    for column in frame.get_columns():
        _take(column.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest()), *states)
    first, second = sum_states(*states)
    columns = tuple((name, str(dtype)) for name, dtype in frame.schema.items())
    return RowSums(columns, len(frame), (int(first), int(second)))


def _take(array: Any, a: Words, b: Words) -> None:
    """Take the values of an Arrow array into the two states of their rows."""
    from shortcut_miner.kernels_numba.row_digests import take_lists, take_numbers, take_texts

    kind, valid = array.type, array.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_large_string(kind):
        take_texts(_words(array), _offsets(array), valid, a, b)
    elif pa.types.is_large_list(kind):
        # As it is stored: slices of it are told by the offsets, and nulls may hide values.
        inner = array.values
        states = np.zeros(len(inner), np.uint64), np.zeros(len(inner), np.uint64)
        _take(inner, *states)
        take_lists(_offsets(array), valid, *states, a, b)
    else:
        take_numbers(_bits(array), valid, a, b)


def _offsets(array: Any) -> NDArray[np.int64]:
    return np.frombuffer(array.buffers()[1], np.int64, len(array) + 1, array.offset * 8)


def _words(array: Any) -> Words:
    """Return the bytes of all texts of an array as 64-bit words, with one more after the last."""
    stored = array.buffers()[2]
    size = stored.size if stored is not None else 0
    words = np.zeros(size // 8 + 2, "<u8")
    if size:
        words.view(np.uint8)[:size] = np.frombuffer(stored, np.uint8)
    return words


def _bits(array: Any) -> Words:
    """Return numbers as the bits of 64-bit words; 0 where there is none."""
    kind = array.type
    if pa.types.is_null(kind):
        return np.zeros(len(array), np.uint64)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise TypeError(f"row_sums: got a column of {kind}, expected texts, numbers, or lists of these")
    values = array.fill_null(False if pa.types.is_boolean(kind) else 0).to_numpy(zero_copy_only=False)
    wide = np.float64 if pa.types.is_floating(kind) else np.int64
    bits: Words = values.astype(np.uint64 if kind == pa.uint64() else wide).view(np.uint64)
    return bits
