"""Parquet and Arrow tables as Polars frames, read by PyArrow.

Of a damaged file Polars may panic, or ask for memory until the process ends; PyArrow raises an exception.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from shortcut_miner.drafts import literal

PARQUET_MAGIC, ARROW_MAGIC = b"PAR1", b"ARROW1"
_STREAM_MAGIC = b"\xff\xff\xff\xff"  # an Arrow stream, as Hugging Face datasets are stored
_ROWS_AT_ONCE = 1 << 17
_BYTES_AT_ONCE = 1 << 26
_BUFFER = 1 << 18  # of each column: pages are read as they are needed, however large their row group is
# What reading such a file can raise. OverflowError is PyArrow's for lengths that no file has.
COLUMNAR_ERRORS = (
    pa.ArrowException, OSError, ValueError, OverflowError, pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
)  # fmt: skip

Content = Path | bytes


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a Parquet or Arrow table with their types, and its rows; a name may occur twice."""

    names: Sequence[str]
    types: dict[str, pl.DataType]
    total: int
    metadata: Mapping[bytes, bytes]  # of its schema


@dataclass(frozen=True, slots=True)
class _Exported:
    """A column that is taken over through Arrow's C interface, whichever library made it."""

    column: pa.ChunkedArray

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.column.__arrow_c_stream__(requested_schema)


def arrow_series(column: pa.Array | pa.ChunkedArray) -> pl.Series:
    """Return a column in which all is sound as Polars has it, in one piece.

    (``pl.from_arrow`` does the same, but loads pyarrow.compute, which takes longer than pyarrow itself.)
    """
    chunked = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    return pl.Series(_Exported(chunked)).rechunk()


def list_series(offsets: npt.NDArray[np.int64], flat: pa.Array) -> pl.Series:
    """Return lists: row r holds ``flat[offsets[r]:offsets[r + 1]]``."""
    # Not from pa.array(offsets): that imports pandas where it is installed, which takes 0.2 s.
    buffers = [None, pa.py_buffer(np.ascontiguousarray(offsets, np.int64))]
    lists = pa.large_list(flat.type)
    return arrow_series(pa.Array.from_buffers(lists, len(offsets) - 1, buffers, children=[flat]))


def columnar_form(start: bytes) -> Literal["Parquet", "Arrow"] | None:
    """Return "Parquet" or "Arrow" for a file's first bytes; None for those of another file."""
    if start.startswith(PARQUET_MAGIC):
        return "Parquet"
    return "Arrow" if start.startswith((ARROW_MAGIC, _STREAM_MAGIC)) else None


def look_at_columns(content: Content) -> Columns:
    """Return what columns a file, or its bytes, has.

    Raises
    ------
    One of COLUMNAR_ERRORS
        The file is damaged.
    """
    if form_of(content) == "Parquet":
        with _parquet(content) as file:
            schema, total = file.schema_arrow, file.metadata.num_rows
    else:
        with _arrow(content) as (schema, batches):
            total = sum(batch.num_rows for batch in batches)
    types = {field.name: _type(field) for field in schema}
    return Columns(schema.names, types, total, schema.metadata or {})


def read_frame(content: Content, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Return some columns of a file or its bytes, or all; see :func:`look_at_columns` for errors.

    A column that is read and occurs twice is an error too.
    """
    if form_of(content) == "Parquet":
        with _parquet(content) as file:
            parts = [file.read_row_groups(groups, columns=columns) for groups in _groups(file)]
            return _frame(pa.concat_tables(parts), columns)
    with _arrow(content) as (schema, batches):
        return _frame(pa.Table.from_batches(list(batches), schema), columns)


def read_batches(
    content: Content, columns: Sequence[str], rows: int = _ROWS_AT_ONCE
) -> Iterator[pl.DataFrame]:
    """Give :func:`read_frame` in pieces of at most `rows`, at least one, in memory for one piece.

    Of Parquet fewer rows where they are long; of Arrow one stored batch is in memory as a whole.
    """
    if form_of(content) == "Parquet":
        # What PyArrow reads ahead it keeps, of a large file most of its bytes, until the file is closed.
        with pq.ParquetFile(_readable(content), buffer_size=_BUFFER, pre_buffer=False) as file:
            yield from _pieces(file.schema_arrow, _parquet_batches(file, columns, rows), columns)
        return
    with _arrow(content, columns) as (schema, batches):
        slices = (batch.slice(at, rows) for batch in batches for at in range(0, max(1, batch.num_rows), rows))
        yield from _pieces(schema, slices, columns)


def _pieces(
    schema: pa.Schema, batches: Iterator[pa.RecordBatch], columns: Sequence[str]
) -> Iterator[pl.DataFrame]:
    is_empty = True
    for batch in batches:
        is_empty = False
        yield _frame(batch, columns)
    if is_empty:
        yield _frame(schema.empty_table(), columns)


def _parquet_batches(file: Any, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
    found = file.metadata
    # Of all columns: to ask for one column's size ends the process where its statistics are damaged.
    sizes = [found.row_group(group).total_byte_size for group in range(found.num_row_groups)]
    longest = sum(sizes) / max(1, found.num_rows)
    rows = max(1, min(rows, int(_BYTES_AT_ONCE / max(1, longest))))
    for groups in _groups(file):
        yield from file.iter_batches(rows, row_groups=groups, columns=list(columns))


def _groups(file: Any) -> list[list[int]]:
    """Return which row groups PyArrow can read together, in their order."""
    groups = [*range(file.num_row_groups)]
    # Lists of a dictionary's values (Polars' Categorical and Enum) are read from one row group only.
    is_alone = any(map(_holds_dictionaries, file.schema_arrow.types))
    return [[group] for group in groups] if is_alone and groups else [groups]


def _holds_dictionaries(kind: pa.DataType) -> bool:
    """Return whether a type holds others, one of which is a dictionary."""
    nested = [kind.field(at).type for at in range(kind.num_fields)]
    while nested:
        inner = nested.pop()
        if pa.types.is_dictionary(inner):
            return True
        nested += [inner.field(at).type for at in range(inner.num_fields)]
    return False


def read_through(path: Path) -> Columns:
    """Return :func:`look_at_columns` of a file after reading all of it: damage to values is told too."""
    found = look_at_columns(path)
    for _ in read_batches(path, list(found.types)):
        pass
    return found


def read_metadata(path: Path) -> dict[bytes, bytes]:
    """Return the metadata of a Parquet file; see :func:`look_at_columns` for errors."""
    with _parquet(path) as file:
        return file.metadata.metadata or {}


def range_index(metadata: Mapping[bytes, bytes]) -> str | None:
    """Return the name of the column that pandas keeps in a file's metadata only: an index that counts on.

    >>> range_index({b"pandas": b'{"index_columns": [{"kind": "range", "name": "id", "start": 1}]}'})
    'id'
    """
    try:
        (only,) = json.loads(metadata.get(b"pandas", b"{}"))["index_columns"]
        name = only["name"] if only["kind"] == "range" else None
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return name if isinstance(name, str) else None


def form_of(content: Content) -> Literal["Parquet", "Arrow"]:
    """Return which of both a file, or its bytes, is; of another file a ValueError."""
    if isinstance(content, bytes):
        start = content[: len(ARROW_MAGIC)]
    else:
        with content.open("rb") as file:
            start = file.read(len(ARROW_MAGIC))
    if form := columnar_form(start):
        return form
    raise ValueError("a file that is neither Parquet nor Arrow")


def _parquet(content: Content) -> Any:
    return pq.ParquetFile(_readable(content))


def _readable(content: Content) -> Any:
    return pa.BufferReader(content) if isinstance(content, bytes) else literal(content)


@contextmanager
def _arrow(
    content: Content, columns: Sequence[str] | None = None
) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    """Give the schema and the batches of an Arrow file or stream, mapped into memory.

    With `columns` only these are read, and nothing is mapped: mapped pages count as the process's own.
    """
    options = pa.ipc.IpcReadOptions()
    if columns is not None:
        with _arrow(content) as (schema, _):
            options.included_fields = [at for at, name in enumerate(schema.names) if name in columns]
    open_file = pa.memory_map if columns is None else pa.OSFile
    with pa.BufferReader(content) if isinstance(content, bytes) else open_file(literal(content)) as source:
        if bytes(source.read(len(ARROW_MAGIC))) != ARROW_MAGIC:
            source.seek(0)
            with pa.ipc.open_stream(source, options=options) as stream:
                yield stream.schema, iter(stream)
            return
        source.seek(0)
        with pa.ipc.open_file(source, options=options) as file:
            yield file.schema, (file.get_batch(at) for at in range(file.num_record_batches))


def _frame(table: pa.Table | pa.RecordBatch, columns: Sequence[str] | None) -> pl.DataFrame:
    # Polars trusts what it takes over: offsets, UTF-8, and the metadata of columns.
    names = table.schema.names
    columns = names if columns is None else columns
    if any(names.count(one) > 1 for one in columns):
        raise ValueError("a column name that occurs twice")
    table = table.select(list(columns))
    table.validate(full=True)
    plain = pa.schema([_plain(field) for field in table.schema])
    return pl.DataFrame(pl.from_arrow(type(table).from_arrays(table.columns, schema=plain)))


def _plain(field: pa.Field) -> pa.Field:
    """Return a column without metadata, in which Polars keeps no more than the names of an Enum.

    Raises UnicodeDecodeError (a ValueError) for a name, also of a nested field, that is no UTF-8.
    """
    nested = [field.type]
    while nested:
        kind = nested.pop()
        inner = [kind.field(at) for at in range(kind.num_fields)]
        nested += [one.type for one in inner if one.name is not None]
    return pa.field(field.name, field.type, field.nullable)


def _type(field: pa.Field) -> pl.DataType:
    if "interval" in str(field.type):  # of this Polars panics, with a page on stderr
        return pl.Unknown()
    try:
        empty = pa.table([pa.nulls(0, field.type)], schema=pa.schema([_plain(field)]))
        return pl.DataFrame(pl.from_arrow(empty)).dtypes[0]
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException):
        return pl.Unknown()
