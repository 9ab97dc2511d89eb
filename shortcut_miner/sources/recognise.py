"""What a file is and what it holds, by its content: every family's table of formats is asked."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.images import regions
from shortcut_miner.sources.opening.files import FileFacts, find_file, open_source
from shortcut_miner.sources.opening.kinds import Content, Format, find_format, wrong_kind
from shortcut_miner.sources.opening.streams import facts_and_packing
from shortcut_miner.sources.shapes import ANSWERS, IMAGES, QUESTIONS, shape_of


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
    return (*QUESTIONS, *regions.WITHOUT_BOXES, *regions.FORMATS, *regions.INFO, *IMAGES, *ANSWERS)


def recognise(path: str | os.PathLike[str]) -> FileKind:
    """Return what a file is, by its content.

    Raises
    ------
    SourceError
        The file can't be read, or is no JSON, JSONL, CSV, xlsx, Parquet or Arrow.
    BackendError
        An .xlsx file without fastexcel.
    """
    if kind := _streamed(path):
        return kind
    source = open_source(path, keep_workbooks=True)
    shape = shape_of(Content(source), all_formats())
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
        raise wrong_kind(content.source, shape_of(content, all_formats()), expected)
    return found


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
