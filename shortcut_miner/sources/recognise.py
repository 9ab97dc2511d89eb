"""What a file is and what it holds, by its content."""

import io
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.answers.evaluators import (
    is_workbook,
    open_workbook,
    read_workbook,
    workbook_shape,
)
from shortcut_miner.sources.images.regions import STREAMED_KINDS, region_kind
from shortcut_miner.sources.opening.csv_text import csv_shape, read_csv
from shortcut_miner.sources.opening.files import FileFacts, Source, open_source
from shortcut_miner.sources.opening.json_text import first_bytes, parse_json, split_lines
from shortcut_miner.sources.opening.kinds import (
    LABELS_PARQUET,
    PARQUET_MAGIC,
    PREDICTIONS_PARQUET,
    REGIONS_PARQUET,
    SOFT_LABEL_COLUMNS,
    SOFT_LABELS_PARQUET,
    Shape,
    json_shape,
    lines_shape,
    table_shape,
)
from shortcut_miner.sources.opening.parquet import read_schema
from shortcut_miner.sources.opening.streams import file_facts


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKind:
    """A file's format and counts.

    Attributes
    ----------
    kind : str
        One of the names in :mod:`shortcut_miner.sources.opening.kinds`, or a description.
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
        The file can't be read, or is no JSON, JSONL, CSV, xlsx or Parquet.
    BackendError
        An .xlsx file without fastexcel.
    """
    if kind := _boxes_kind(path):
        facts = file_facts(Path(path))
        return FileKind(kind=kind, counts={}, is_known=True, packing=(), file=facts)
    source = open_workbook(path) or open_source(path)
    shape, notes = _shape(source)
    return FileKind(
        kind=shape.kind,
        counts=shape.counts,
        is_known=shape.is_known,
        packing=source.packing,
        file=source.facts(),
        notes=notes,
    )


def _boxes_kind(path: str | os.PathLike[str]) -> str | None:
    """Return the format of a file of boxes that is never read as a whole; None for every other file."""
    if not Path(path).is_file():
        return None
    try:
        kind = region_kind(path)
    except SourceError:
        return None  # told in the words of whoever reads it whole
    return kind if kind in STREAMED_KINDS else None


def _shape(source: Source) -> tuple[Shape, tuple[str, ...]]:
    if source.content.startswith(PARQUET_MAGIC):
        return _parquet_shape(source), ()
    if is_workbook(source.content):
        return workbook_shape(read_workbook(source)), ()
    start = first_bytes(source.content)
    if start not in (b"{", b"["):
        table = read_csv(source)
        return table_shape(table.header, len(table.rows)) or csv_shape(source, table), ()
    if start == b"{" and (shape := lines_shape([line for _, line in split_lines(source)])):
        return shape, ()
    parsed = parse_json(source)
    return json_shape(parsed.top), parsed.notes


def _parquet_shape(source: Source) -> Shape:
    columns = read_schema(source)
    rows = int(pl.scan_parquet(io.BytesIO(source.content)).select(pl.len()).collect().item())
    if columns.keys() >= {*SOFT_LABEL_COLUMNS}:
        return Shape(SOFT_LABELS_PARQUET, {"labels": rows})
    if columns.keys() >= {"question_id", "answer"}:
        return Shape(PREDICTIONS_PARQUET, {"answers": rows})
    if columns.keys() >= {"image_id", "x1", "y1", "x2", "y2"}:
        return Shape(REGIONS_PARQUET, {"regions": rows})
    if columns.keys() >= {"image_id", "label"}:
        return Shape(LABELS_PARQUET, {"labels": rows})
    return Shape(
        f"a Parquet table with the columns {examples(columns, limit=20)}", {"rows": rows}, is_known=False
    )
