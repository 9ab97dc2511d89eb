"""What a file is and what it holds, by its content: every family's table of formats is asked.

Readers know a few formats and ask :mod:`.known_formats`, which loads the others for a file of none of them.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path

from shortcut_miner.columnar import columnar_form
from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.images.regions import all_formats
from shortcut_miner.sources.opening.files import FileFacts, Source, file_facts, find_file, open_source
from shortcut_miner.sources.opening.flat_tables import open_columns
from shortcut_miner.sources.opening.kinds import RIGHT_FILE, Content, Format, Shape, wrong_kind
from shortcut_miner.sources.opening.npz import npz_names
from shortcut_miner.sources.opening.starts import whole_start
from shortcut_miner.sources.opening.streams import START_BYTES, facts_and_packing, start_of
from shortcut_miner.sources.shapes import shape_of, shape_of_start, shape_or_text
from shortcut_miner.sources.vector_formats import NPZ, VECTORS, VECTORS_GO_TO, WORDS


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
    goes_to : str
        The commands and options that take it; "" if there are none.
    is_table : bool
        Whether it is a table of other columns, of which ``mine`` may be told the names.
    """

    kind: str
    counts: Mapping[str, int]
    is_known: bool
    packing: tuple[str, ...]
    file: FileFacts
    notes: tuple[str, ...] = ()
    goes_to: str = ""
    is_table: bool = False


def recognise(path: str | os.PathLike[str]) -> FileKind:
    """Return what a file is, by its content.

    Raises
    ------
    SourceError
        The file can't be read, or is no JSON, JSONL, CSV, xlsx, Parquet or Arrow.
    BackendError
        An .xlsx file without fastexcel.
    """
    if shape := _shape_by_start(path):
        file, packing = facts_and_packing(path) if shape.kind != NPZ else (file_facts(Path(path)), ())
        return _file_kind(shape, packing, file)
    source = open_source(path, keep_workbooks=True)
    return _file_kind(shape_of(Content(source), all_formats()), source.packing, source.facts())


def shape_of_file(path: str | os.PathLike[str]) -> Shape:
    """Return what a file is, for the message of a reader that can't read it; see :func:`recognise`."""
    if shape := _shape_by_start(path):
        return shape
    return shape_or_text(Content(open_source(path, keep_workbooks=True)), all_formats())


def recognise_start(path: str | os.PathLike[str]) -> Shape:
    """Return what a file seems to be, by its first bytes and what Parquet and Arrow say of themselves.

    Raises
    ------
    SourceError
        Not even the start can be read.
    """
    start = start_of(path)
    if shape := shape_of_start(start, all_formats()):
        return shape
    place, member = find_file(Path(path))
    if columnar_form(start) and member is None:
        flat = open_columns(place, str(path))
        found = next((one for one in all_formats() if one.form == flat.form and one.recognise(flat)), None)
        names = f"{flat.form} with the columns {examples(flat.columns, limit=20)}"
        counts = {"rows": flat.total}
        return Shape(found.kind, counts, goes_to=found.goes_to) if found else Shape(names, counts)
    cut = Source(
        path=str(path), content=whole_start(start), packing=(), name=place.name, size=0, member=member,
        digest=Future(),
    )  # fmt: skip
    return replace(shape_or_text(Content(cut), all_formats()), counts={})


def _file_kind(shape: Shape, packing: tuple[str, ...], file: FileFacts) -> FileKind:
    return FileKind(
        kind=shape.kind,
        counts=shape.counts,
        is_known=shape.is_known,
        packing=packing,
        file=file,
        notes=shape.notes,
        goes_to=shape.goes_to,
        is_table=shape.is_table,
    )


def nearest_format(
    content: Content, formats: Sequence[Format], expected: str, of_tables: str, failed: SourceError | None
) -> Format:
    """Return the format of a file that has none of `formats` by all signs, or raise what it is instead.

    `failed` is what was raised when it was looked at; see :func:`.known_formats.known_format`.
    """
    if failed is not None:
        if shape := shape_of_start(content.source.content[:START_BYTES], all_formats()):
            raise wrong_kind(content.source.path, shape, expected)
        raise failed
    of_parquet = [one for one in formats if one.form == "Parquet" and content.forms == ("Parquet",)]
    if of_parquet and not shape_of(content, all_formats()).goes_to:
        return of_parquet[0]  # its reader names the columns that are missing
    shape = shape_or_text(content, all_formats())
    advice = of_tables if shape.is_table else RIGHT_FILE
    raise wrong_kind(content.source.path, shape, expected, advice=advice)


def refuse_other_kind(source: Source, needed: Collection[str], expected: str) -> None:
    """Raise what :func:`.known_formats.check_no_other_kind` does."""
    content = Content(source)
    try:
        shape = shape_of(content, all_formats())
        missing = {*needed} - {*content.table.columns}
    except SourceError:
        return  # told in the reader's own words
    is_almost = len(missing) == 1 < len({*needed})
    if not is_almost and (shape.goes_to or not shape.is_table):
        raise wrong_kind(source.path, shape, expected or f"a table with {', '.join(dict.fromkeys(needed))}")


def _shape_by_start(path: str | os.PathLike[str]) -> Shape | None:
    """Return the shape of a file that is never read as a whole; None for every other file."""
    file, member = find_file(Path(path))
    if not file.is_file():  # a pipe must not be opened twice
        return None
    if member is None and (names := {*npz_names(file)}) and names & {*WORDS} and names & {*VECTORS}:
        return Shape(NPZ, goes_to=VECTORS_GO_TO)
    try:
        return shape_of_start(start_of(path), all_formats())
    except SourceError:
        return None  # told in the words of whoever reads it whole
