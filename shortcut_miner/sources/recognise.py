"""What a file is and what it holds, by its content: every family's table of formats is asked."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.answers.formats import PREDICTIONS, SOFT_LABELS
from shortcut_miner.sources.images import regions
from shortcut_miner.sources.images.formats import LABELS, SCENE_GRAPHS
from shortcut_miner.sources.opening.files import FileFacts, find_file, open_source
from shortcut_miner.sources.opening.json_text import Top, excerpt, fields_of, first_bytes
from shortcut_miner.sources.opening.kinds import Content, Format, Shape, find_format, wrong_kind
from shortcut_miner.sources.opening.streams import facts_and_packing
from shortcut_miner.sources.questions.formats import ANNOTATIONS, GQA, QUESTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKind:
    """A file's format and counts.

    Attributes
    ----------
    kind : str
        A format's name, or a description.
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


def all_formats() -> tuple[Format, ...]:
    """Return the formats of all families; where content fits several, the first one counts."""
    return (
        *QUESTIONS, *ANNOTATIONS, *GQA, *regions.FORMATS, *regions.INFO, *LABELS, *SCENE_GRAPHS,
        *PREDICTIONS, *SOFT_LABELS,
    )  # fmt: skip


def recognise(path: str | os.PathLike[str]) -> FileKind:
    """Return what a file is, by its content.

    Raises
    ------
    SourceError
        The file can't be read, or is no JSON, JSONL, CSV, xlsx or Parquet.
    BackendError
        An .xlsx file without fastexcel.
    """
    if kind := _streamed(path):
        return kind
    source = open_source(path, keep_workbooks=True)
    shape = shape_of(Content(source))
    return FileKind(
        kind=shape.kind,
        counts=shape.counts,
        is_known=shape.is_known,
        packing=source.packing,
        file=source.facts(),
        notes=shape.notes,
    )


def known_format(content: Content, formats: Sequence[Format], expected: str) -> Format:
    """Return which of a family's formats a file has.

    Raises
    ------
    SourceError
        It has none of them; the message says what it is instead.
    """
    found = find_format(content, formats)
    if found is None and content.forms == ("Parquet",):
        # Its reader names the columns that are missing.
        found = next((one for one in formats if one.form == "Parquet"), None)
    if found is None:
        if content.forms == ("CSV",) and all(one.form != "CSV" for one in formats):
            content.json  # noqa: B018  # says why text is no JSON
        raise wrong_kind(content.source, shape_of(content), expected)
    return found


def shape_of(content: Content) -> Shape:
    """Return what a file is: a format of any family, or a description."""
    if (found := find_format(content, all_formats())) and found.form:
        notes = content.json.notes if found.form == "JSON" else ()
        return Shape(found.kind, found.count(content.view(found.form)), notes=notes)
    if content.is_lines:
        keys = examples(fields_of(content.lines[0][1]))
        return Shape(f"JSON Lines with the keys {keys}", {"lines": len(content.lines)}, is_known=False)
    if content.forms[-1] == "JSON":
        return replace(_document(content.json.top), notes=content.json.notes)
    return _table(content)


def _document(top: Top) -> Shape:
    if not top:
        return Shape(f"an empty JSON {'list' if isinstance(top, list) else 'object'}", is_known=False)
    if isinstance(top, dict):
        return Shape(f"a JSON object with the keys {examples(top)}", {"keys": len(top)}, is_known=False)
    fields = fields_of(top[0])
    if not fields:
        return Shape(f"a JSON list that starts with {excerpt(top[0])}", {"values": len(top)}, is_known=False)
    kind = f"a JSON list of records with {examples(fields)}"
    return Shape(kind, {"records": len(top)}, is_known=False)


def _table(content: Content) -> Shape:
    table = content.table
    columns = f"with the columns {examples(table.columns, limit=20)}"
    counts = {"rows": table.total}
    if table.form == "xlsx":
        if not table.columns:
            return Shape("an .xlsx file whose first sheet is empty", is_known=False)
        return Shape(f"an .xlsx file {columns}", counts, is_known=False)
    if table.types:
        article = "an" if table.form == "Arrow" else "a"
        return Shape(f"{article} {table.form} table {columns}", counts, is_known=False)
    if len(table.columns) > 1:
        return Shape(f"a text table {columns}", counts, is_known=False)
    start = excerpt(first_bytes(content.source.content, 40))
    return Shape(f"text that starts with {start!r}" if start else "nothing but blanks", is_known=False)


def _streamed(path: str | os.PathLike[str]) -> FileKind | None:
    """Return the format of a file that is never read as a whole; None for every other file."""
    if not find_file(Path(path))[0].is_file():  # a pipe must not be opened twice
        return None
    try:
        found = regions.region_format(path)
    except SourceError:
        return None  # told in the words of whoever reads it whole
    if found is None or not found.is_streamed:
        return None
    facts, packing = facts_and_packing(path)
    return FileKind(kind=found.kind, counts={}, is_known=True, packing=packing, file=facts)
