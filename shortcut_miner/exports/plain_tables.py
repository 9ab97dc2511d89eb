"""Parquet as every reader of other programs takes it: strings and lists of the plain kind."""

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from shortcut_miner.storage import ROW_GROUP_SIZE


def write_plain_parquet(table: pl.DataFrame, path: Path) -> None:
    """Write a table with ``string`` and ``list`` where Polars has ``large_string`` and ``large_list``."""
    wide = table.to_arrow()
    schema = pa.schema([pa.field(field.name, plain_type(field.type)) for field in wide.schema])
    pq.write_table(wide.cast(schema), path, row_group_size=ROW_GROUP_SIZE, compression="zstd")


def plain_type(one: pa.DataType) -> pa.DataType:
    """Return an Arrow type with plain strings and lists in place of large ones.

    >>> plain_type(pa.large_list(pa.large_string()))
    ListType(list<item: string>)
    """
    if pa.types.is_large_string(one) or pa.types.is_string_view(one):
        return pa.string()
    if pa.types.is_large_list(one):
        return pa.list_(pa.field("item", plain_type(one.value_type)))
    return one
