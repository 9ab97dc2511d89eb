"""Formats: what a table of a family's formats holds, and how a file's content finds its format in it.

Each family has its tables: ``QUESTIONS``, ``ANNOTATIONS``, ``SETS`` and ``GQA`` of
:mod:`~shortcut_miner.sources.questions.formats`, ``PREDICTIONS`` and ``SOFT_LABELS`` of
:mod:`~shortcut_miner.sources.answers.formats`, ``LABELS`` and ``SCENE_GRAPHS`` of
:mod:`~shortcut_miner.sources.images.formats`, and ``FORMATS`` of
:mod:`~shortcut_miner.sources.images.regions`. Its readers choose by them, and so does
:func:`~shortcut_miner.sources.recognise.recognise`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec
import polars as pl

from shortcut_miner.columnar import columnar_form
from shortcut_miner.errors import SourceError
from shortcut_miner.sources.opening import json_text
from shortcut_miner.sources.opening.containers import is_eval_log, is_workbook
from shortcut_miner.sources.opening.files import Source
from shortcut_miner.sources.opening.flat_tables import FlatTable, lines_table, open_table, records_table
from shortcut_miner.sources.opening.json_text import (
    LOOKED_AT,
    ParsedJson,
    Top,
    fields_of,
    first_bytes,
    parse_json,
    records_of,
    split_lines,
)

Form = Literal["Parquet", "Arrow", "xlsx", "eval", "CSV", "JSONL", "JSON"]
Counts = Mapping[str, int]
# Of files that may be tables, by their names alone: a folder holds other things too.
TABLE_ENDINGS = (
    ".parquet", ".arrow", ".feather", ".ipc", ".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".xlsx",
)  # fmt: skip
PACKED_ENDINGS = (".gz", ".zst", ".zip")
_NOT_BLANK = re.compile(rb"\S")
RIGHT_FILE = "Check that this is the right file"


@dataclass(frozen=True, slots=True)
class Shape:
    """What a file's content looks like.

    Attributes
    ----------
    kind : str
        A format's name, or a description when no reader knows it.
    counts : mapping of str to int
        What it holds, such as {"questions": 214354}.
    is_known : bool
        Whether a reader of this package reads it.
    notes : tuple of str
        What had to be repaired to look at it.
    goes_to : str
        The commands and options that take it.
    is_table : bool
        Whether it is a table of other columns, of which ``mine`` may be told the names.
    """

    kind: str
    counts: Counts = field(default_factory=dict)
    is_known: bool = True
    notes: tuple[str, ...] = ()
    goes_to: str = ""
    is_table: bool = False


@dataclass(frozen=True)
class Content:
    """An opened file, looked at only as far as somebody asks.

    Attributes
    ----------
    source : Source
        The file.
    """

    source: Source

    @property
    def forms(self) -> tuple[Form, ...]:
        """What the first bytes allow, in the order to try."""
        content = self.source.content
        if form := columnar_form(content):
            return (form,)
        if is_workbook(content):
            return ("xlsx",)
        if is_eval_log(content):
            return ("eval",)
        start = first_bytes(content)
        return ("JSONL", "JSON") if start == b"{" else ("JSON",) if start == b"[" else ("CSV",)

    @cached_property
    def json(self) -> ParsedJson:
        """The undecoded top level of one JSON document."""
        return parse_json(self.source)

    @cached_property
    def lines(self) -> list[tuple[int, bytes]]:
        """Lines that aren't blank, with their numbers."""
        return split_lines(self.source)

    @cached_property
    def table(self) -> FlatTable:
        """The columns of a flat table."""
        if self.forms[0] == "JSONL":
            return lines_table(self.source.path, self.lines)
        if self.forms[0] == "JSON" and isinstance(self.json.top, list):
            return records_table(self.source.path, self.json)
        return open_table(self.source)

    @property
    def is_lines(self) -> bool:
        """Whether lines are JSON objects of their own, so that they can't be one document."""
        content = self.source.content
        end = content.find(b"\n", content.find(b"{"))
        if self.forms[0] != "JSONL" or end < 0 or not _NOT_BLANK.search(content, end):
            return False
        return bool(fields_of(content[:end].lstrip()))

    def view(self, form: Form) -> Any:
        """Return what a format's `recognise` is given."""
        return self.json.top if form == "JSON" else self.lines if form == "JSONL" else self.table


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: how it is told and read.

    Attributes
    ----------
    kind : str
        Its name, such as "VQA questions JSON".
    read : callable
        The reader; its family's table says what it takes and returns.
    form : str, optional
        What `recognise` looks at: "JSON" (the undecoded top level), "JSONL" (lines with their numbers), or a
        :class:`~shortcut_miner.sources.opening.flat_tables.FlatTable`. Without it a file is never looked at
        as a whole.
    recognise : callable, optional
        Whether the content is of this format.
    holds : str or callable
        What its records are, such as "questions"; or how to count what the content holds.
    starts_with : callable, optional
        Whether the first bytes (64 KiB) are of this format, for families of very large files.
    is_folder : callable, optional
        Whether a folder is of this format.
    takes_info : bool
        Whether a second file belongs to it.
    goes_to : str
        The commands and options that take it, as messages name them; see :func:`for_options`.
    """

    kind: str
    read: Callable[..., Any]
    form: Form | None = None
    recognise: Callable[[Any], bool] = lambda view: False
    holds: str | Callable[[Any], Counts] = "records"
    _: KW_ONLY
    starts_with: Callable[[bytes], bool] = lambda start: False
    is_folder: Callable[[Path], bool] = lambda folder: False
    takes_info: bool = False
    goes_to: str = ""

    def count(self, view: Any) -> Counts:
        """Return what the content holds, such as {"questions": 2}."""
        if not isinstance(self.holds, str):
            return self.holds(view)
        return {self.holds: view.total if isinstance(view, FlatTable) else len(view)}

    @property
    def is_streamed(self) -> bool:
        """Whether it is never read as a whole."""
        return self.form is None


def ending_of(path: Path) -> str:
    """Return the ending of a file's name in small letters, without that of its compression.

    >>> ending_of(Path("train.JSONL.gz")), ending_of(Path("train.zip"))
    ('.jsonl', '')
    """
    plain = path.with_suffix("") if path.suffix.lower() in PACKED_ENDINGS else path
    return plain.suffix.lower()


def for_options(goes_to: str, *formats: Format) -> tuple[Format, ...]:
    """Return formats that the same options take, such as "rad build --questions"."""
    return tuple(replace(one, goes_to=goes_to) for one in formats)


def find_format(content: Content, formats: Sequence[Format]) -> Format | None:
    """Return the first format that the content has; None if it has none of them."""
    asked = {one.form for one in formats}
    for form in content.forms:
        if form == "JSON" and content.is_lines:
            break
        for one in formats if form in asked else ():
            if one.form == form and one.recognise(content.view(form)):
                return one
    return None


def alike_records(
    content: Content,
    record_type: type[msgspec.Struct],
    key: str | None,
    kind: str,
    formats: Sequence[Format],
) -> pl.DataFrame | None:
    """Return the records of a large file that nothing is odd about.

    Parameters
    ----------
    content : Content
    record_type, key
        See :func:`.alike_records.read_alike`.
    kind : str
        The format that it must have.
    formats : sequence of Format
        Those that it may have, as it is asked for; they look at no more than the first LOOKED_AT records.

    Returns
    -------
    DataFrame or None
        None of any other file.
    """
    if not json_text.is_worth_walking(content.source.content):
        return None
    from shortcut_miner.sources.opening.alike_records import read_alike

    try:
        alike = read_alike(content.source.content, record_type, key)
        found = find_format(Content(replace(content.source, content=alike.abridged)), formats)
    except (json_text.OddError, SourceError):
        return None
    return alike.table if found is not None and found.kind == kind else None


def with_columns(*columns: str) -> Callable[[FlatTable], bool]:
    """Return a test of flat tables: whether they have some columns."""
    return lambda table: {*columns} <= {*table.columns}


def with_fields(*fields: str) -> Callable[[Top], bool]:
    """Return a test of JSON lists: whether one of the first records has these fields."""

    def is_such_list(top: Top) -> bool:
        looked_at = top[:LOOKED_AT] if isinstance(top, list) else ()
        return any(fields_of(record).keys() >= {*fields} for record in looked_at)

    return is_such_list


def length_of(raw: msgspec.Raw) -> int:
    """Return how many records an undecoded list has; 0 if it is none."""
    return len(records_of(raw))


def wrong_kind(path: str, shape: Shape, expected: str, *, advice: str = RIGHT_FILE) -> SourceError:
    """Return the error for a file of another format than the one asked for: what it is, and where it goes.

    `advice` is for what goes nowhere.
    """
    counts = ", ".join(f"{count:,} {what}" for what, count in shape.counts.items())
    got = f"{shape.kind} ({counts})" if counts else shape.kind
    advice = f"Give it to {shape.goes_to}" if shape.goes_to else advice
    return SourceError(f"{path}: got {got}, expected {expected}. {advice}.")
