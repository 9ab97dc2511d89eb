"""JSON records as Arrow columns, parsed on all processors without Python objects, where nothing is odd.

What a record of any other make means is said by :mod:`.json_records`, once: here it is not understood, and
the caller asks there.
"""

from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
import polars as pl
import pyarrow as pa
from pyarrow import json as arrow_json

from shortcut_miner.columnar import arrow_series
from shortcut_miner.sources.opening.ids import AnyId
from shortcut_miner.sources.opening.json_records import CHUNK_RECORDS
from shortcut_miner.sources.opening.json_text import DECODE_ERRORS, Raws
from shortcut_miner.sources.opening.reading import RECORD

_BLOCK_BYTES = 1 << 22  # what one thread parses at once
_PLAIN: dict[Any, pa.DataType] = {str: pa.string(), float: pa.float64(), int: pa.int64(), bool: pa.bool_()}
_UNSET = msgspec.UnsetType


class _OddError(Exception):
    """The first record has something that no column here is made for."""


def arrow_chunks(
    raws: Raws, record_type: type[msgspec.Struct]
) -> Iterator[tuple[int, Raws, pa.Table | None]]:
    """Give the position of each chunk's first record, its undecoded records, and their columns.

    Parameters
    ----------
    raws : sequence of undecoded records
        Each one valid JSON.
    record_type : a msgspec.Struct
        Of text, ids, numbers, lists and Structs.

    Yields
    ------
    first : int
    chunk : sequence of undecoded records
    table : pa.Table or None
        A column for each field but those that may be unset and are: what decoding to `record_type` gives,
        ids as int64. None if a record has anything else: an id that is no whole number, a value of another
        type, a field that the first record has not, one field twice, no UTF-8.
    """
    for first in range(0, len(raws), CHUNK_RECORDS):
        chunk = raws[first : first + CHUNK_RECORDS]
        yield first, chunk, _table(chunk, record_type)


def arrow_columns(
    first: int, table: pa.Table, record_type: type[msgspec.Struct], *fields: str
) -> dict[str, pl.Series]:
    """Return what :func:`.json_records.record_columns` does, of columns in place of records."""
    types = {field.name: field.type for field in msgspec.structs.fields(record_type)}
    record = pl.int_range(first, first + table.num_rows, dtype=pl.UInt32, eager=True)
    columns = {name: arrow_series(table[name]) for name in fields or types}
    is_id = [name for name in columns if types[name] == AnyId]
    return {RECORD: record} | columns | {name: columns[name].cast(pl.String) for name in is_id}


def _table(raws: Raws, record_type: type[msgspec.Struct]) -> pa.Table | None:
    try:
        kind = _arrow_type(record_type, msgspec.json.decode(raws[0]))
    except (_OddError, *DECODE_ERRORS):
        return None
    lines = b"\n".join(raws)
    try:
        table = arrow_json.read_json(
            pa.BufferReader(lines),
            read_options=arrow_json.ReadOptions(block_size=_BLOCK_BYTES),
            parse_options=arrow_json.ParseOptions(
                explicit_schema=pa.schema(list(kind)), unexpected_field_behavior="error"
            ),
        )
        if not lines.isascii():
            table.validate(full=True)
    except pa.ArrowException:
        return None
    is_whole = table.num_rows == len(raws) and all(
        _is_sound(chunk, one) for one in kind for chunk in table[one.name].chunks
    )
    return table if is_whole else None


def _arrow_type(annotation: Any, sample: Any) -> pa.DataType:
    """Return the Arrow type of values, of which `sample` is the first: further fields are taken from it.

    Raises _OddError for what no column here is made for.
    """
    options = _options(annotation)
    if options == {*get_args(AnyId)}:
        return pa.int64()
    if len(options) != 1:
        raise _OddError
    (one,) = options
    if one in _PLAIN:
        return _PLAIN[one]
    if get_origin(one) is list:
        if not isinstance(sample, list | NoneType):
            raise _OddError
        (inner,) = get_args(one)
        kind = _arrow_type(inner, sample[0] if sample else {})
        return pa.list_(pa.field("item", kind, nullable=_may_be_null(inner)))
    if not isinstance(sample, Mapping):
        raise _OddError
    return pa.struct([*_known_fields(one, sample), *_further_fields(one, sample)])


def _known_fields(record_type: type[msgspec.Struct], sample: Mapping[str, Any]) -> Iterator[pa.Field]:
    for field in msgspec.structs.fields(record_type):
        name = field.encode_name
        if name in sample or _UNSET not in get_args(field.type):
            kind = _arrow_type(field.type, sample.get(name))
            yield pa.field(name, kind, nullable=_may_be_null(field.type))


def _further_fields(record_type: type[msgspec.Struct], sample: Mapping[str, Any]) -> Iterator[pa.Field]:
    known = {field.encode_name for field in msgspec.structs.fields(record_type)}
    for name, value in sample.items():
        if name not in known:
            if type(value) not in _PLAIN:
                raise _OddError
            yield pa.field(name, _PLAIN[type(value)])


def _options(annotation: Any) -> set[Any]:
    is_union = get_origin(annotation) in (Union, UnionType)
    return {*(get_args(annotation) if is_union else (annotation,))} - {NoneType, _UNSET}


def _may_be_null(annotation: Any) -> bool:
    return NoneType in get_args(annotation)


def _is_sound(values: pa.Array, field: pa.Field) -> bool:
    """Return whether values are there wherever they must be, and all numbers are finite."""
    if values.null_count and not field.nullable:
        return False
    if pa.types.is_floating(field.type):
        return bool(arrow_series(values).is_finite().all())
    if pa.types.is_list(field.type):
        return _is_sound(values.values, field.type.value_field)  # flatten would load pyarrow.compute
    if pa.types.is_struct(field.type):
        return all(_is_sound(values.field(one.name), one) for one in field.type)
    return True
