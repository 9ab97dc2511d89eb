"""Any table as rows of words, objects and an answer: what ``mine`` reads."""

import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from shortcut_miner.errors import SourceError, examples, problem_list
from shortcut_miner.sources.opening.csv_text import read_csv
from shortcut_miner.sources.opening.files import Source, open_source
from shortcut_miner.sources.opening.json_text import first_bytes, split_lines
from shortcut_miner.sources.opening.kinds import PARQUET_MAGIC
from shortcut_miner.storage import InputRecord, table_sha256
from shortcut_miner.text import basic_english


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which columns hold what; text in `objects` is split at `separator`."""

    words: str | None
    objects: str | None
    answer: str
    separator: str

    @property
    def names(self) -> list[str]:
        """The distinct names, in order."""
        return list(
            dict.fromkeys(name for name in (self.words, self.objects, self.answer) if name is not None)
        )


@dataclasses.dataclass(frozen=True, slots=True)
class TableRead:
    """Rows of words and objects (List[String]; null = no such column or cell) and an answer (String).

    `without_answer` rows were skipped on request.
    """

    rows: pl.DataFrame
    record: InputRecord
    without_answer: int


def read_table(path: Path, columns: Columns, *, skip_bad_rows: bool, limit: int | None) -> TableRead:
    """Read a Parquet, CSV or JSON Lines table.

    Raises
    ------
    SourceError
        The file can't be read, lacks a column, or has cells that don't fit.
    """
    source = open_source(path)
    if source.content.startswith(PARQUET_MAGIC):
        table = _read_parquet(source, columns.names)
    elif first_bytes(source.content) == b"{":
        table = _read_lines(source, columns.names)
    else:
        table = _read_text(source, columns.names)
    table = table if limit is None else table.head(limit)
    rows = pl.DataFrame(
        {
            "words": _items(source, table, columns.words, None),
            "objects": _items(source, table, columns.objects, columns.separator),
            "answer": _answers(source, table[columns.answer]),
        }
    )
    known = rows.filter(pl.col("answer").str.len_bytes() > 0)
    lost = len(rows) - len(known)
    if known.is_empty() or (lost and not skip_bad_rows):
        advice = "Correct them" if known.is_empty() else "Correct them, or skip them with --on-bad-row skip"
        raise SourceError(
            f"{source.path}: got {lost:,} of {len(rows):,} rows without text in {columns.answer!r}, "
            f"expected none. {advice}."
        )
    return TableRead(known, _record(source, known), lost)


def _read_parquet(source: Source, names: Sequence[str]) -> pl.DataFrame:
    try:
        known = pl.read_parquet_schema(io.BytesIO(source.content))
        _check_names(source, list(known), names)
        return pl.read_parquet(io.BytesIO(source.content), columns=list(names))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise SourceError(
            f"{source.path}: got a damaged Parquet file ({str(error).splitlines()[0]}), expected all of it. "
            "Download or copy it again."
        ) from error


def _read_text(source: Source, names: Sequence[str]) -> pl.DataFrame:
    table = read_csv(source)
    _check_names(source, table.header, names)
    width = len(table.header)
    uneven = [
        f"line {line}: got {len(row)} values, expected {width}"
        for line, row in zip(table.lines, table.rows, strict=True)
        if len(row) != width
    ]
    if uneven:
        title = f"{source.path}: got rows that differ from the header, expected {width} values. Correct them."
        raise SourceError(problem_list(title, uneven))
    places = {name: table.header.index(name) for name in names}
    columns = {name: [row[place] for row in table.rows] for name, place in places.items()}
    return pl.DataFrame(columns, schema=dict.fromkeys(names, pl.String))


def _read_lines(source: Source, names: Sequence[str]) -> pl.DataFrame:
    records: list[dict[str, Any]] = []
    problems = []
    for number, line in split_lines(source):
        try:
            records.append(msgspec.json.decode(line, type=dict[str, Any]))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            problems.append(f"line {number}: {error}")
    if problems:
        title = (
            f"{source.path}: got lines that are no JSON objects, expected one record a line. Correct them."
        )
        raise SourceError(problem_list(title, problems))
    _check_names(source, list(dict.fromkeys(name for record in records for name in record)), names)
    try:
        return pl.DataFrame(
            {name: pl.Series([record.get(name) for record in records], strict=True) for name in names}
        )
    except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
        raise SourceError(
            f"{source.path}: got values of several types in one column ({str(error).splitlines()[0]}), "
            "expected text, whole numbers, or lists of text. Correct them."
        ) from error


def _check_names(source: Source, known: Sequence[str], names: Sequence[str]) -> None:
    missing = [name for name in names if name not in known]
    if missing:
        raise SourceError(
            f"{source.path}: got a table with the columns {examples(known, limit=20) or 'none'}, expected "
            f"{examples(missing)} too. Name its columns with --words, --objects and --answer."
        )


def _items(source: Source, table: pl.DataFrame, name: str | None, separator: str | None) -> pl.Series:
    """Return List[String]: lists as they are, text split by the tokeniser or at the separator."""
    lists = pl.List(pl.String)
    if name is None:
        return pl.Series([None], dtype=lists).new_from_index(0, len(table))
    column = table[name]
    if column.dtype in (lists, pl.List(pl.Null), pl.Null):
        return column.cast(lists)
    if column.dtype != pl.String:
        raise _wrong_type(source, column, "text or lists of text")
    if separator is None:
        return table.select(basic_english(pl.col(name))).to_series()
    split = pl.col(name).str.split(separator).list.eval(pl.element().str.strip_chars())
    return table.select(split.list.eval(pl.element().filter(pl.element().str.len_bytes() > 0))).to_series()


def _answers(source: Source, column: pl.Series) -> pl.Series:
    if column.dtype == pl.Null or column.dtype == pl.String or column.dtype.is_integer():
        return column.cast(pl.String)
    raise _wrong_type(source, column, "text or whole numbers")


def _wrong_type(source: Source, column: pl.Series, expected: str) -> SourceError:
    return SourceError(
        f"{source.path}: got {column.dtype} in the column {column.name!r}, expected {expected}. "
        "Convert it, or name another column."
    )


def _record(source: Source, rows: pl.DataFrame) -> InputRecord:
    facts = source.facts()
    flat = rows.select(
        "answer", *(pl.col(name).list.join("\x1f").alias(name) for name in ("words", "objects"))
    )
    return InputRecord(
        role="table",
        name=facts.name if facts.member is None else f"{facts.name}/{facts.member}",
        size=facts.size,
        sha256=facts.sha256,
        content_sha256=table_sha256(flat, flat.columns),
    )
