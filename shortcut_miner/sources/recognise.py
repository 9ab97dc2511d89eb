"""What a file is and what it holds, by its content."""

import io
import os
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from shortcut_miner.errors import examples
from shortcut_miner.sources.csv_text import csv_shape, read_csv
from shortcut_miner.sources.files import FileFacts, Source, open_source
from shortcut_miner.sources.json_text import first_bytes, parse_json, split_lines
from shortcut_miner.sources.kinds import (
    LABELS_PARQUET,
    PARQUET_MAGIC,
    PREDICTIONS_PARQUET,
    Shape,
    json_shape,
    lines_shape,
)
from shortcut_miner.sources.parquet import read_schema


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKind:
    """A file's format and counts.

    Attributes
    ----------
    kind : str
        One of the names in :mod:`shortcut_miner.sources.kinds`, or a description.
    counts : mapping of str to int
        What it holds, such as {"questions": 214354}.
    is_known : bool
        Whether a reader of this package reads it.
    packing : tuple of str
        Compression layers removed, outermost first.
    file : FileFacts
    notes : tuple of str
    """

    kind: str
    counts: Mapping[str, int]
    is_known: bool
    packing: tuple[str, ...]
    file: FileFacts
    notes: tuple[str, ...] = ()


def recognise(path: str | os.PathLike[str]) -> FileKind:
    """Return what a file is, by its content.

    Raises
    ------
    SourceError
        The file can't be read, or is no JSON, JSONL, CSV or Parquet.
    """
    source = open_source(path)
    shape, notes = _shape(source)
    return FileKind(
        kind=shape.kind,
        counts=shape.counts,
        is_known=shape.is_known,
        packing=source.packing,
        file=source.facts(),
        notes=notes,
    )


def _shape(source: Source) -> tuple[Shape, tuple[str, ...]]:
    if source.content.startswith(PARQUET_MAGIC):
        return _parquet_shape(source), ()
    start = first_bytes(source.content)
    if start not in (b"{", b"["):
        return csv_shape(source, read_csv(source)), ()
    if start == b"{" and (shape := lines_shape([line for _, line in split_lines(source)])):
        return shape, ()
    parsed = parse_json(source)
    return json_shape(parsed.top), parsed.notes


def _parquet_shape(source: Source) -> Shape:
    columns = read_schema(source)
    rows = int(pl.scan_parquet(io.BytesIO(source.content)).select(pl.len()).collect().item())
    if columns.keys() >= {"question_id", "answer"}:
        return Shape(PREDICTIONS_PARQUET, {"answers": rows})
    if columns.keys() >= {"image_id", "label"}:
        return Shape(LABELS_PARQUET, {"labels": rows})
    return Shape(
        f"a Parquet table with the columns {examples(columns, limit=20)}", {"rows": rows}, is_known=False
    )
