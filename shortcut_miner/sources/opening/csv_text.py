"""Delimited text with a header line: comma, semicolon or tab, told by the header."""

import csv
import io
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import polars as pl

from shortcut_miner.errors import SourceError, reason_of
from shortcut_miner.sources.opening.files import Source
from shortcut_miner.sources.opening.json_records import paused_gc
from shortcut_miner.sources.opening.json_text import excerpt
from shortcut_miner.sources.opening.reading import Problem

DELIMITERS = ",;\t"
_ROWS_AT_ONCE = 1000  # as many Python objects as the processor's cache holds: three times faster than more


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of text; nothing is converted, so that "NA" and "007" stay as they are.

    Attributes
    ----------
    header : list of str
        As in the file, in its order.
    frame : DataFrame
        A text column for each distinct name. Rows with more or fewer values than the header are left out.
    records : Series of UInt32
        Of each row of `frame`, which of the file's it is (from 0). Blank lines are none.
    lines : sequence of int
        Of each of the file's rows, the line that it ends on (from 1).
    uneven : list of Problem
        The rows left out.
    """

    header: list[str]
    frame: pl.DataFrame
    records: pl.Series
    lines: Sequence[int]
    uneven: list[Problem] = field(default_factory=list)


def read_csv(source: Source) -> TextTable:
    """Return the columns of delimited text.

    Raises
    ------
    SourceError
        The text is no UTF-8, or a quote is never closed.
    """
    return parse_csv(source.path, source.content)


def parse_csv(path: str, content: bytes, skipped: int = 0) -> TextTable:
    """Return :func:`read_csv` of a header line and rows before which `skipped` lines were left out."""
    text = decoded(path, content)
    if plain := _read_plain(content, _delimiter(text), skipped):
        return plain
    numbered = _rows(path, text, skipped)
    _, header = next(numbered, (0, []))
    lines, records, uneven = array("Q"), array("I"), list[Problem]()
    frames = [_frame(header, [])]
    with paused_gc():
        while piece := list(islice(numbered, _ROWS_AT_ONCE)):
            first = len(lines)
            lines.extend(line for line, _ in piece)
            even = [(at, row) for at, (_, row) in enumerate(piece, first) if len(row) == len(header)]
            if len(even) < len(piece):
                uneven += _uneven(piece, first, len(header))
            records.extend(at for at, _ in even)
            frames.append(_frame(header, [row for _, row in even]))
    return TextTable(
        header, pl.concat(frames, rechunk=True), pl.Series(records, dtype=pl.UInt32), lines, uneven
    )


def _read_plain(content: bytes, delimiter: str, skipped: int = 0) -> TextTable | None:
    """Return the table of text without quotes or blank lines whose rows are all even; None for other text.

    Most files are like that, and need no Python object a value.
    """
    content = content.replace(b"\r\n", b"\n")
    if not content or b'"' in content or b"\r" in content:
        return None
    characters = np.frombuffer(content, np.uint8)
    ends = np.flatnonzero(characters == ord("\n"))
    if not content.endswith(b"\n"):
        ends = np.append(ends, len(content))
    marks = np.searchsorted(np.flatnonzero(characters == ord(delimiter)), ends)
    has_blank = (np.diff(ends, prepend=-1) == 1).any()
    if has_blank or not (np.diff(marks) == marks[0]).all():
        return None
    header = content[: ends[0]].decode().split(delimiter)
    if len({*header}) < len(header):
        return None
    frame = pl.read_csv(
        content, separator=delimiter, quote_char=None, infer_schema=False, empty_string_is_null=False
    )
    records = pl.int_range(len(frame), dtype=pl.UInt32, eager=True)
    return TextTable(header, frame, records, range(2 + skipped, 2 + skipped + len(frame)))


def _uneven(piece: Sequence[tuple[int, list[str]]], first: int, width: int) -> list[Problem]:
    return [
        Problem((at,), "row", f"{len(row)} values", f"{width}, as in the header")
        for at, (_, row) in enumerate(piece, first)
        if len(row) != width
    ]


def _frame(header: list[str], rows: list[list[str]]) -> pl.DataFrame:
    """Return rows as text columns; of columns with the same name the first is meant."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(header)
    named = dict(zip(reversed(header), reversed(columns), strict=True))
    return pl.DataFrame({name: named[name] for name in header}, schema=dict.fromkeys(header, pl.String))


def csv_rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Give the rows that aren't blank, the header too, and the line that each ends on (from 1).

    Raises
    ------
    SourceError
        The text is no UTF-8, or a quote is never closed.
    """
    return _rows(source.path, decoded(source.path, source.content))


def _rows(path: str, text: str, skipped: int = 0) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    try:
        for row in reader:
            if row:
                yield reader.line_num + skipped, row
    except csv.Error as error:
        raise SourceError(
            f"{path}: got broken CSV at line {reader.line_num + skipped:,} ({reason_of(error)}), expected "
            "closed quotes. Correct that line."
        ) from error


def _delimiter(text: str) -> str:
    return delimiter_of(text.lstrip("\r\n").split("\n", maxsplit=1)[0])


def delimiter_of(header: str) -> str:
    """Return the mark between the names of a header line.

    >>> delimiter_of("question_id;answer"), delimiter_of("alone")
    (';', ',')
    """
    return max(DELIMITERS, key=header.count)


def header_names(line: bytes) -> list[str]:
    """Return the column names of the line that may be a header.

    >>> header_names(b'question_id;"answer"')
    ['question_id', 'answer']
    """
    text = line.decode("utf-8", "replace")
    return [name.strip().strip('"') for name in text.split(delimiter_of(text))]


def decoded(path: str, content: bytes) -> str:
    """Return a file's text; raise SourceError if it is no UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        near = excerpt(content[error.start : error.start + 10])
        raise SourceError(
            f"{path}: got bytes that are no UTF-8 (byte {error.start:,}: {near}), expected JSON, CSV "
            "or Parquet. Save text as UTF-8, or check that this is the right file."
        ) from error
