"""What a file's content is: one of some formats, or a description; and the formats of all but regions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

import msgspec

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources import vector_formats as vectors
from shortcut_miner.sources.answers import formats as answers
from shortcut_miner.sources.answers.answer_column import ID_NAMES
from shortcut_miner.sources.answers.formats import PREDICTIONS, SOFT_LABELS
from shortcut_miner.sources.images.formats import LABELS, SCENE_GRAPHS
from shortcut_miner.sources.opening.csv_text import TextTable
from shortcut_miner.sources.opening.flat_tables import FlatTable
from shortcut_miner.sources.opening.json_text import (
    LOOKED_AT,
    Top,
    excerpt,
    fields_of,
    first_bytes,
    records_of,
)
from shortcut_miner.sources.opening.kinds import Content, Format, Shape, find_format
from shortcut_miner.sources.opening.streams import START_BYTES
from shortcut_miner.sources.questions import formats as questions

QUESTIONS = (*questions.SETS, *questions.QUESTIONS, *questions.ANNOTATIONS, *questions.GQA)
IMAGES, ANSWERS = (*LABELS, *SCENE_GRAPHS), (*PREDICTIONS, *SOFT_LABELS)
# The released SwapMix program's own layouts; their readers are the room's.
RESTRUCTURED, SWAPMIX_RESULTS = "restructured GQA questions JSON", "SwapMix results JSON"
_RESULTS_GO_TO = "swapmix score --class-results or --attribute-results"
# Fields of the records two levels down -> kind and what takes it.
_SWAPMIX = (
    ({"question", "annotations"}, RESTRUCTURED, "swapmix build --questions"),
    ({"ans", "changes", "pred"}, SWAPMIX_RESULTS, _RESULTS_GO_TO),
    ({"changes", "prediction", "relevant_questions"}, SWAPMIX_RESULTS, _RESULTS_GO_TO),
)
# Fewest numbers after a word that make a text a file of word vectors, and not any text.
_LEAST_DIMENSIONS = 5
_TABLES = (*answers.TABLES, *vectors.TABLES, *questions.TABLES)  # of those that fit the first
_MINE = "mine, with the names of its columns"


def shape_of(content: Content, formats: Sequence[Format]) -> Shape:
    """Return what a file is: one of some formats, or a description.

    Raises
    ------
    SourceError
        It is damaged, or JSON that breaks off.
    """
    if shape := shape_of_start(content.source.content[:START_BYTES], formats):
        return shape
    if (found := find_format(content, formats)) and found.form:
        notes = content.json.notes if found.form == "JSON" else ()
        counts = found.count(content.view(found.form))
        goes_to = found.goes_to
        if found in PREDICTIONS and (other := _taken_by(content.table)):
            goes_to += f"; or, if its answers are the right ones, to {other}"
        if found in SOFT_LABELS and isinstance(content.view(found.form), dict):
            goes_to += "; or, if its keys are classes (obj_matching.json), to swapmix build --similar-classes"
        return Shape(found.kind, counts, notes=notes, goes_to=goes_to)
    if content.is_lines:
        fields = fields_of(content.lines[0][1])
        kind = f"JSON Lines with the keys {examples(fields)}"
        return _for_tables(content.table, Shape(kind, {"lines": len(content.lines)}, is_known=False))
    if content.forms[-1] == "JSON":
        shape = replace(_document(content.json.top), notes=content.json.notes)
        return _for_tables(content.table, shape) if shape.is_table else shape
    return _table(content)


def shape_of_start(start: bytes, formats: Sequence[Format]) -> Shape | None:
    """Return what a file is that is never read as a whole, by its first bytes; None for every other file."""
    found = next((one for one in formats if one.is_streamed and one.starts_with(start)), None)
    if found is not None:
        return Shape(found.kind, goes_to=found.goes_to, is_known=bool(found.goes_to))
    if kind := vectors.vectors_kind(start, _LEAST_DIMENSIONS):
        return Shape(kind, goes_to=vectors.VECTORS_GO_TO)
    return None


def text_shape(content: Content) -> Shape:
    """Return how a text starts."""
    start = excerpt(first_bytes(content.source.content, 40))
    return Shape(f"text that starts with '{start}'" if start else "nothing but blanks", is_known=False)


_OF_IDS = [bytes([one]) for one in b'"-0123456789']


def _document(top: Top) -> Shape:
    if not top:
        return Shape(f"an empty JSON {'list' if isinstance(top, list) else 'object'}", is_known=False)
    if isinstance(top, dict):
        if "answer" in top:  # the one row of a table
            kind = f"JSON Lines with the keys {examples(top)}"
            return Shape(kind, {"lines": 1}, is_known=False, is_table=True)
        if shape := _of_swapmix(top):
            return shape
        return Shape(f"a JSON object with the keys {examples(top)}", {"keys": len(top)}, is_known=False)
    fields = fields_of(top[0])
    if _is_pair(top[0]):
        return Shape("complementary pairs JSON", {"pairs": len(top)}, goes_to="pairs build --pairs")
    if not fields:
        return Shape(f"a JSON list that starts with {excerpt(top[0])}", {"values": len(top)}, is_known=False)
    kind = f"a JSON list of records with {examples(fields)}"
    return Shape(kind, {"records": len(top)}, is_known=False, is_table=True)


def _is_pair(raw: msgspec.Raw) -> bool:
    """Return whether a value is a list of two numbers or texts, such as two ids."""
    both = records_of(raw)
    return len(both) == 2 and all(first_bytes(bytes(one)) in _OF_IDS for one in both)


def _of_swapmix(top: Mapping[str, msgspec.Raw]) -> Shape | None:
    """Return the shape of one of the released SwapMix program's files; None for every other file."""
    first = [value for raw in islice(top.values(), LOOKED_AT) for value in fields_of(raw).values()]
    fields = {key for raw in first for key in fields_of(raw)}
    for needed, kind, goes_to in _SWAPMIX:
        if needed <= fields:
            return Shape(kind, {"images": len(top)}, goes_to=goes_to)
    return None


def _table(content: Content) -> Shape:
    table = content.table
    columns = f"with the columns {examples(table.columns, limit=20)}"
    counts = {"rows": table.total}
    if table.form == "xlsx":
        if not table.columns:
            return Shape("an .xlsx file whose first sheet is empty", is_known=False)
        return _for_tables(table, Shape(f"an .xlsx file {columns}", counts, is_known=False))
    if table.types:
        article = "an" if table.form == "Arrow" else "a"
        return _for_tables(table, Shape(f"{article} {table.form} table {columns}", counts, is_known=False))
    if len(table.columns) > 1:
        if isinstance(table.content, TextTable) and table.content.uneven:
            widths = f"{len(table.columns)} values in its first line and other numbers in others"
            return Shape(f"text with {widths}", {"lines": table.total + 1}, is_known=False)
        return _for_tables(table, Shape(f"a text table {columns}", counts, is_known=False))
    return text_shape(content)


def _taken_by(table: FlatTable) -> str:
    """Return what takes a table by the names of its columns."""
    columns = {*table.columns}
    is_mined = "answer" in columns and not columns & {*ID_NAMES, "prediction"}
    return next((goes_to for names, goes_to in _TABLES if names <= columns), _MINE if is_mined else "")


def _for_tables(table: FlatTable, shape: Shape) -> Shape:
    """Return the shape of a table with what takes it by the names of its columns."""
    return replace(shape, is_table=bool(table.columns), goes_to=_taken_by(table))


def shape_or_text(content: Content, formats: Sequence[Format]) -> Shape:
    """Return :func:`shape_of`; of text that is no table, how it starts."""
    try:
        return shape_of(content, formats)
    except SourceError:
        if content.forms != ("CSV",):
            raise
        return text_shape(content)
