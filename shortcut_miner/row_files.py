"""Rows in files: what :class:`~shortcut_miner.transactions.Transactions` are where memory can't hold them.

A folder holds ``rows.arrow`` (columns items, class, weight and group; a record batch is a block, with the
CRC-32 of its arrays), which is decoded four times as fast as Parquet, since shards read it again and again;
``names.parquet`` (the vocabulary) and ``facts.npz`` (sizes, and what was counted at writing). The facts get
their name last: a folder with facts is complete. This module needs NumPy and PyArrow alone.
"""

import contextlib
import dataclasses
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from shortcut_miner.drafts import draft_of, drafted, literal
from shortcut_miner.errors import SourceError, reason_of
from shortcut_miner.row_arrays import NPZ_ERRORS
from shortcut_miner.row_merging import Ints, Numbers, RowArrays, merge_equal_rows, take_rows
from shortcut_miner.transactions import Transactions, Vocabulary

# A block of at most so many rows and items takes 30 MB, and 100 MB while it is read or written.
ROWS_A_GROUP = 1 << 20
ITEMS_A_GROUP = 1 << 21
ROWS, NAMES, FACTS = "rows.arrow", "names.parquet", "facts.npz"
_ANSWERS = "answers"
_LIST = pa.list_(pa.field("item", pa.int32(), nullable=False))
_SCHEMA = pa.schema(
    [
        pa.field("items", _LIST, nullable=False),
        pa.field("class", pa.int32(), nullable=False),
        pa.field("weight", pa.int64(), nullable=False),
        pa.field("group", pa.int32(), nullable=False),
    ]
)
_CHECKSUM = b"crc32"
_NAMES_SCHEMA = pa.schema([("kind", pa.string()), ("name", pa.large_string())])
# What reading a damaged file can raise.
_ERRORS = (pa.ArrowException, *NPZ_ERRORS)


@dataclasses.dataclass(frozen=True, slots=True)
class RowFiles:
    """Rows in files, read a block at a time; a :class:`~shortcut_miner.transactions.RowBlocks`.

    Attributes
    ----------
    paths : tuple of Path
        Arrow files as :class:`RowWriter` makes them, in the order of their rows.
    vocabulary : Vocabulary
        The strings behind the numbers, or ranges in their place.
    row_count, transaction_count, item_total : int
        Rows, original rows (the sum of weights), and items of all rows together.
    item_frequency : int64[items]
        Rows that hold each item of the vocabulary, whatever their weights.
    """

    paths: tuple[Path, ...]
    vocabulary: Vocabulary
    row_count: int
    transaction_count: int
    item_total: int
    item_frequency: Ints

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.row_count

    def blocks(self) -> Iterator[Transactions]:
        """Yield the rows in order, at most ROWS_A_GROUP of them and ITEMS_A_GROUP items at a time."""
        for rows, _ in self.grouped_blocks():
            yield rows

    def grouped_blocks(self) -> Iterator[tuple[Transactions, Numbers]]:
        """Yield the same blocks with each row's group number: int32[rows], -1 for one of no group.

        Raises
        ------
        SourceError
            A file is damaged or gone.
        """
        for path in self.paths:
            for rows in _read(path):
                yield Transactions(*rows[:-1], self.vocabulary), rows.groups

    def without_names(self) -> "RowFiles":
        """Return the same rows with :meth:`Vocabulary.without_names`."""
        return dataclasses.replace(self, vocabulary=self.vocabulary.without_names())


class RowWriter:
    """Writes rows to a folder; :meth:`close` returns them as :class:`RowFiles`.

    As a context manager it closes at the end, or removes what it has written if that is an exception.

    Parameters
    ----------
    folder : Path
        Made if it is missing; rows that it holds already are replaced.
    vocabulary : Vocabulary
        The strings behind the numbers, or ranges in their place.
    merge : bool
        Whether rows of equal items, class and group become one row of their summed weight, as far as they
        come to lie in one block, whose rows are then in the order of their classes.
    """

    def __init__(self, folder: Path, vocabulary: Vocabulary, merge: bool = True) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FACTS).unlink(missing_ok=True)
        self._folder, self._vocabulary, self._merge = folder, vocabulary, merge
        self._waiting: list[RowArrays] = []
        self._room = (ROWS_A_GROUP, ITEMS_A_GROUP)
        self._row_count = self._transaction_count = self._item_total = 0
        self._item_frequency = np.zeros(vocabulary.item_count, np.int64)
        self._files: RowFiles | None = None
        options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
        self._file = pa.OSFile(literal(draft_of(folder / ROWS)), "wb")
        self._writer = pa.ipc.new_file(self._file, _SCHEMA, options=options)

    def append(self, rows: Transactions, groups: Numbers | None = None) -> None:
        """Add rows, each perhaps with the number of its group (-1: of none).

        Where blocks are cut does not depend on how rows are cut into calls.
        """
        groups = np.full(len(rows), -1, np.int32) if groups is None else groups
        start = 0
        while start < len(rows):
            row_room, item_room = self._room
            fitting = np.searchsorted(rows.offsets, rows.offsets[start] + item_room, "right") - 1
            stop = min(start + row_room, int(fitting))
            if stop <= start and self._waiting:
                self._make_room()
                continue
            stop = max(stop, start + 1)  # a row of more items than a block has is a block
            part = _part(rows, groups, start, stop)
            self._waiting.append(part)
            self._room = (row_room - len(part.classes), item_room - len(part.items))
            start = stop

    def close(self) -> RowFiles:
        """Write what waits, give the files their names and return the rows; the same again at each call."""
        if self._files is None:
            if self._waiting:
                self._write(self._joined())
            self._close_rows()
            self._write_facts()
            draft_of(self._folder / ROWS).replace(self._folder / ROWS)
            draft_of(self._folder / FACTS).replace(self._folder / FACTS)
            self._files = RowFiles(
                (self._folder / ROWS,),
                self._vocabulary,
                self._row_count,
                self._transaction_count,
                self._item_total,
                self._item_frequency,
            )
        return self._files

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close, or after an exception remove what was written."""
        if kind is None:
            self.close()
        elif self._files is None:
            with contextlib.suppress(OSError, pa.ArrowException):  # on a full disk the end can't be written
                self._close_rows()
            for name in (ROWS, FACTS):
                draft_of(self._folder / name).unlink(missing_ok=True)

    def _close_rows(self) -> None:
        with self._file:
            self._writer.close()

    def _make_room(self) -> None:
        """Write the block that waits; or keep it, if merging has left less than half of a block."""
        block = self._joined()
        rows, items = len(block.classes), len(block.items)
        if self._merge and 2 * rows <= ROWS_A_GROUP and 2 * items <= ITEMS_A_GROUP:
            self._waiting, self._room = [block], (ROWS_A_GROUP - rows, ITEMS_A_GROUP - items)
        else:
            self._write(block)
            self._room = (ROWS_A_GROUP, ITEMS_A_GROUP)

    def _joined(self) -> RowArrays:
        """Return the rows that wait, and let none wait; merged ones by class, as they are searched."""
        parts, self._waiting = self._waiting, []
        joined = _concatenated(parts)
        if not self._merge:
            return joined
        merged = merge_equal_rows(joined)
        return take_rows(merged, np.argsort(merged.classes, kind="stable"))

    def _write(self, block: RowArrays) -> None:
        self._row_count += len(block.classes)
        self._transaction_count += int(block.weights.sum())
        self._item_total += len(block.items)
        self._item_frequency += np.bincount(block.items, minlength=len(self._item_frequency))
        self._writer.write_batch(_batch(block), custom_metadata={_CHECKSUM: _checksum(block)})

    def _write_facts(self) -> None:
        like = self._vocabulary
        series = {**like.names, _ANSWERS: like.answers}
        has_names = not any(isinstance(names, range) for names in series.values())
        if has_names:
            with (
                drafted(self._folder / NAMES) as draft,
                pq.ParquetWriter(
                    literal(draft), _NAMES_SCHEMA, compression="zstd", write_page_checksum=True
                ) as writer,
            ):
                for kind, names in series.items():
                    column = names.to_arrow().cast(pa.large_string())
                    kinds = pa.repeat(kind, len(names))
                    writer.write_table(pa.table([kinds, column], schema=_NAMES_SCHEMA))
        else:
            (self._folder / NAMES).unlink(missing_ok=True)
        with draft_of(self._folder / FACTS).open("wb") as file:
            np.savez(
                file,
                kinds=np.array(list(like.names)),
                sizes=np.array([len(names) for names in like.names.values()], np.int64),
                answer_counts=like.answer_counts,
                totals=np.array([self._row_count, self._transaction_count, self._item_total], np.int64),
                item_frequency=self._item_frequency,
            )


def open_row_files(folder: Path, names: bool = False) -> RowFiles:
    """Return the rows that a :class:`RowWriter` wrote to a folder, perhaps in another process.

    Parameters
    ----------
    folder : Path
        Where they are.
    names : bool
        Whether to read the vocabulary's strings, which needs Polars; else ranges stand in their place.

    Raises
    ------
    SourceError
        The folder holds no such files, or damaged ones.
    """
    try:
        with (folder / FACTS).open("rb") as file, np.load(file, allow_pickle=False) as facts:
            sizes = dict(zip(facts["kinds"].tolist(), facts["sizes"].tolist(), strict=True))
            counts = facts["answer_counts"]
            row_count, transaction_count, item_total = facts["totals"].tolist()
            item_frequency = facts["item_frequency"]
        vocabulary = Vocabulary.of_sizes(sizes, counts)
        if names:
            vocabulary = _named(vocabulary, folder / NAMES)
    except _ERRORS as error:
        raise _unreadable(folder, error) from error
    return RowFiles((folder / ROWS,), vocabulary, row_count, transaction_count, item_total, item_frequency)


def _named(sizes: Vocabulary, path: Path) -> Vocabulary:
    """Return the vocabulary of these sizes with its strings."""
    import polars as pl

    with path.open("rb") as file:  # Arrow's own error about a missing file says no more than its name
        read = pq.read_table(file, page_checksum_verification=True)
    if not read.schema.equals(_NAMES_SCHEMA):
        raise ValueError("other columns than names have")
    table = pl.DataFrame(pl.from_arrow(read))
    found: dict[str, Any] = {}
    for kind, size in {**sizes.names, _ANSWERS: sizes.answers}.items():
        found[kind] = table.filter(pl.col("kind") == kind)["name"]
        if len(found[kind]) != len(size):
            raise ValueError(f"{len(found[kind]):,} names of {kind}, not {len(size):,}")
    return dataclasses.replace(sizes, **found)


def _read(path: Path) -> Iterator[RowArrays]:
    """Yield the blocks of a file."""
    pool = pa.default_memory_pool()
    options = pa.ipc.IpcReadOptions(use_threads=False)
    try:
        # Read, not mapped: the pages of a mapped file count as this process's memory.
        with pa.OSFile(literal(path)) as source, pa.ipc.open_file(source, options=options) as file:
            if not file.schema.equals(_SCHEMA):
                raise ValueError("other columns than rows have")
            for number in range(file.num_record_batches):
                rows = _arrays(*file.get_batch_with_custom_metadata(number))
                pool.release_unused()
                yield rows
    except _ERRORS as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: BaseException) -> SourceError:
    return SourceError(
        f"{path}: got {reason_of(error)}, expected rows that were encoded before. "
        "Remove the folder and encode them again."
    )


def _arrays(batch: pa.RecordBatch, metadata: Mapping[bytes, bytes] | None) -> RowArrays:
    """Return a block as arrays of our own: Arrow's are read-only, for which kernels compile again."""
    batch.validate()  # a buffer that is too short would be read past its end
    items, *others = batch.columns
    classes, weights, groups = (_values(column).copy() for column in others)
    rows = RowArrays(
        _values(items.offsets).astype(np.int64), _values(items.values).copy(), classes, weights, groups
    )
    if metadata is None or metadata[_CHECKSUM] != _checksum(rows):
        raise ValueError("other rows than were written")
    return rows


def _checksum(rows: RowArrays) -> bytes:
    """Return the CRC-32 of a block's arrays."""
    found = 0
    for values in rows:
        found = zlib.crc32(values.data, found)
    return b"%08x" % found


def _values(column: pa.Array) -> npt.NDArray[Any]:
    values: npt.NDArray[Any] = column.to_numpy(zero_copy_only=True)
    return values


def _batch(rows: RowArrays) -> pa.RecordBatch:
    count = len(rows.classes)
    items = pa.Array.from_buffers(pa.int32(), len(rows.items), [None, pa.py_buffer(rows.items)])
    offsets = pa.py_buffer(rows.offsets.astype(np.int32))
    lists = pa.Array.from_buffers(_LIST, count, [None, offsets], children=[items])
    columns = [
        pa.Array.from_buffers(field.type, count, [None, pa.py_buffer(values)])
        for field, values in zip(list(_SCHEMA)[1:], rows[2:], strict=True)
    ]
    return pa.record_batch([lists, *columns], schema=_SCHEMA)


def _part(rows: Transactions, groups: Numbers, start: int, stop: int) -> RowArrays:
    """Return copies of some rows, so that a part that waits does not keep the whole in memory."""
    offsets = rows.offsets[start : stop + 1]
    return RowArrays(
        offsets - offsets[0],
        rows.items[offsets[0] : offsets[-1]].astype(np.int32),
        rows.classes[start:stop].astype(np.int32),
        rows.weights[start:stop].astype(np.int64),
        groups[start:stop].astype(np.int32),
    )


def _concatenated(parts: list[RowArrays]) -> RowArrays:
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    others = (np.concatenate(columns) for columns in zip(*(part[1:] for part in parts), strict=True))
    return RowArrays(offsets, *others)
