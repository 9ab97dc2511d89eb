"""Delimited text with a header line: comma, semicolon or tab, told by the header."""

import csv
import io
from dataclasses import dataclass

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.opening.files import Source
from shortcut_miner.sources.opening.json_text import excerpt, first_bytes
from shortcut_miner.sources.opening.kinds import PREDICTION_COLUMNS, PREDICTIONS_CSV, Shape

DELIMITERS = ",;\t"


@dataclass(frozen=True, slots=True)
class CsvTable:
    """A header and its rows as text, with the line each row ends on (from 1). Blank lines are left out."""

    header: list[str]
    rows: list[list[str]]
    lines: list[int]


def read_csv(source: Source) -> CsvTable:
    """Split text into rows; nothing is converted, so that "NA" and "007" stay as they are.

    Raises
    ------
    SourceError
        The text is no UTF-8, or a quote is never closed.
    """
    text = _decoded(source)
    first_line = text.lstrip("\r\n").split("\n", maxsplit=1)[0]
    delimiter = max(DELIMITERS, key=first_line.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows, lines = [], []
    try:
        for row in reader:
            if row:
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise SourceError(
            f"{source.path}: got broken CSV at line {reader.line_num:,} ({error}), expected closed "
            "quotes. Correct that line."
        ) from error
    return CsvTable(rows[0] if rows else [], rows[1:], lines[1:])


def csv_shape(source: Source, table: CsvTable) -> Shape:
    """Tell what delimited text holds."""
    if set(PREDICTION_COLUMNS) <= set(table.header):
        return Shape(PREDICTIONS_CSV, {"answers": len(table.rows)})
    if len(table.header) > 1:
        columns = examples(table.header, limit=20)
        return Shape(f"a text table with the columns {columns}", {"rows": len(table.rows)}, is_known=False)
    start = excerpt(first_bytes(source.content, 40))
    return Shape(f"text that starts with {start!r}" if start else "nothing but blanks", is_known=False)


def _decoded(source: Source) -> str:
    try:
        return source.content.decode("utf-8")
    except UnicodeDecodeError as error:
        near = excerpt(source.content[error.start : error.start + 10])
        raise SourceError(
            f"{source.path}: got bytes that are no UTF-8 (byte {error.start:,}: {near}), expected JSON, CSV "
            "or Parquet. Save text as UTF-8, or check that this is the right file."
        ) from error
