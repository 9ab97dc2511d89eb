"""Values of questions in flat files (JSON, JSON Lines, CSV, Parquet), such as probabilities; and id lists."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
import polars as pl

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.opening.csv_text import read_csv
from shortcut_miner.sources.opening.files import Source, open_source
from shortcut_miner.sources.opening.json_records import decode_all, positions_column
from shortcut_miner.sources.opening.json_text import (
    DECODE_ERRORS,
    Raws,
    fields_of,
    first_bytes,
    parse_json,
    split_lines,
)
from shortcut_miner.sources.opening.kinds import LOOKED_AT, PARQUET_MAGIC, check_not_empty
from shortcut_miner.sources.opening.parquet import read_columns, read_schema
from shortcut_miner.sources.opening.reading import (
    RECORD,
    Problem,
    Reading,
    find_problems,
    settle,
    without_bad,
)

Kind = Literal["id", "number", "index"]
QUESTION_ID = "question_id"
_GQA_ID = "questionId"
_TYPES: dict[str, Any] = {"id": int | str, "number": float, "index": int}
_DTYPES: dict[str, Any] = {"id": pl.String(), "number": pl.Float64(), "index": pl.UInt32()}
_WORDS = {"id": "an id", "number": "a finite number", "index": "a whole number of 0 or more"}


def read_question_values(
    path: str | os.PathLike[str], columns: Mapping[str, Kind], *, what: str = "rows"
) -> Reading:
    """Return the named columns of a flat file, in file order.

    Parameters
    ----------
    path : path-like
        A JSON list of records, JSON Lines, CSV or Parquet; plain, .gz or .zst, or a zip's member.
        ``questionId`` is read as question_id.
    columns : mapping of str to {"id", "number", "index"}
        Column -> what it holds: String, finite Float64, or UInt32.
    what : str
        What the rows are, for messages.

    Raises
    ------
    SourceError
        The file can't be read, lacks a column, or has rows that don't fit: all at once.
    """
    source = open_source(path)
    table, problems, total = _rows(source, columns)
    for name, kind in columns.items():
        is_bad = pl.col(name).is_null()
        if kind == "number":
            is_bad = is_bad | ~pl.col(name).is_finite()
        elif kind == "id":
            is_bad = is_bad | (pl.col(name).str.strip_chars() == "")
        problems += find_problems(table, is_bad.fill_null(value=True), name, _WORDS[kind])
    settle(source, what, problems, total, "error")
    return Reading(table=without_bad(table, problems), kind=f"table of {what}", file=source.facts())


def has_column(path: str | os.PathLike[str], column: str) -> bool:
    """Return whether the records of a flat file have a column."""
    source = open_source(path)
    if source.content.startswith(PARQUET_MAGIC):
        return column in read_schema(source)
    return f'"{column}"'.encode() in source.content[:20_000] or column in _header(source)


def _header(source: Source) -> list[str]:
    if first_bytes(source.content) in (b"{", b"["):
        return []
    line = source.content.split(b"\n", maxsplit=1)[0].decode("utf-8", "replace")
    return [value.strip().strip('"') for value in line.replace(";", ",").replace("\t", ",").split(",")]


def read_id_list(path: str | os.PathLike[str]) -> tuple[pl.Series, Reading]:
    """Return question ids: a JSON list of ids or of records, an object's keys, a table, or lines.

    Raises
    ------
    SourceError
        The file can't be read, holds no ids, or an id twice.
    """
    source = open_source(path)
    ids = _ids(source)
    if not len(ids):
        raise SourceError(f"{path}: got no ids, expected at least one. Check that this is the right file.")
    repeated = ids.filter(ids.is_duplicated()).unique(maintain_order=True)
    if len(repeated):
        raise SourceError(
            f"{path}: got {len(repeated):,} ids more than once ({examples(repeated)}), expected each once. "
            "Remove them."
        )
    table = ids.to_frame()
    return ids, Reading(table=table, kind="list of question ids", file=source.facts())


def _ids(source: Source) -> pl.Series:
    start = first_bytes(source.content)
    if source.content.startswith(PARQUET_MAGIC):
        return read_columns(source, {QUESTION_ID: "id"})[QUESTION_ID]
    if start not in (b"[", b"{"):
        lines = source.content.decode("utf-8", "replace").splitlines()
        listed = [line.strip() for line in lines if line.strip()]
        if listed and QUESTION_ID in _header(source):
            return read_question_values(source.path, {QUESTION_ID: "id"}, what="ids").table[QUESTION_ID]
        return pl.Series(QUESTION_ID, listed, dtype=pl.String)
    records = split_lines(source) if start == b"{" else []
    if records and fields_of(records[0][1]).keys() & {QUESTION_ID, _GQA_ID}:
        return read_question_values(source.path, {QUESTION_ID: "id"}, what="ids").table[QUESTION_ID]
    top = parse_json(source).top
    if isinstance(top, dict):
        return pl.Series(QUESTION_ID, list(top), dtype=pl.String)
    try:
        plain = msgspec.json.decode(source.content, type=list[int | str])
        return pl.Series(QUESTION_ID, [str(one) for one in plain], dtype=pl.String)
    except DECODE_ERRORS:
        return read_question_values(source.path, {QUESTION_ID: "id"}, what="ids").table[QUESTION_ID]


def _rows(source: Source, columns: Mapping[str, Kind]) -> tuple[pl.DataFrame, list[Problem], int]:
    start = first_bytes(source.content)
    if source.content.startswith(PARQUET_MAGIC):
        needs: dict[str, Any] = {name: "id" if kind == "id" else "number" for name, kind in columns.items()}
        table = read_columns(source, needs)
        return _typed(table, columns), [], len(table)
    if start == b"[" and isinstance(top := parse_json(source).top, list):
        return _records(source, top, columns)
    if start == b"{":
        return _records(source, [line for _, line in split_lines(source)], columns)
    text = read_csv(source)
    _check_columns(source, text.header, columns)
    check_not_empty(source, text.rows, "rows")
    places = {name: text.header.index(_theirs(name, text.header)) for name in columns}
    uneven = [at for at, row in enumerate(text.rows) if len(row) != len(text.header)]
    problems = [
        Problem((at,), "row", f"{len(text.rows[at])} values", f"{len(text.header)}, as in the header")
        for at in uneven
    ]
    kept = [at for at in range(len(text.rows)) if at not in set(uneven)]
    values = {name: [text.rows[at][place] for at in kept] for name, place in places.items()}
    frame = pl.DataFrame(values, schema=dict.fromkeys(columns, pl.String))
    frame = frame.insert_column(0, pl.Series(RECORD, kept, dtype=pl.UInt32))
    return _typed(frame, columns), problems, len(text.rows)


def _typed(table: pl.DataFrame, columns: Mapping[str, Kind]) -> pl.DataFrame:
    return table.with_columns(
        pl.col(name).cast(_DTYPES[kind], strict=False) for name, kind in columns.items()
    )


def _records(
    source: Source, raws: Raws, columns: Mapping[str, Kind]
) -> tuple[pl.DataFrame, list[Problem], int]:
    check_not_empty(source, raws, "records")
    keys = list(dict.fromkeys(key for raw in raws[:LOOKED_AT] for key in fields_of(raw)))
    _check_columns(source, keys, columns)
    renamed = {name: _theirs(name, keys) for name in columns}
    record = msgspec.defstruct(
        "_Record", [(name, _TYPES[kind]) for name, kind in columns.items()], rename=renamed, gc=False
    )
    rows = decode_all(raws, record)
    values: dict[str, Any] = {RECORD: positions_column(rows.positions)}
    for name, kind in columns.items():
        listed = [getattr(one, name) for one in rows.records]
        values[name] = pl.Series([str(one) for one in listed] if kind == "id" else listed)
    return _typed(pl.DataFrame(values), columns), rows.problems, len(raws)


def _theirs(name: str, keys: Sequence[str]) -> str:
    return _GQA_ID if name == QUESTION_ID and name not in keys and _GQA_ID in keys else name


def _check_columns(source: Source, keys: Sequence[str], columns: Mapping[str, Kind]) -> None:
    missing = [name for name in columns if _theirs(name, keys) not in keys]
    if missing:
        raise SourceError(
            f"{source.path}: got records with {examples(keys, limit=20) or 'nothing'}, expected "
            f"{', '.join(missing)} too. Check that this is the right file."
        )
