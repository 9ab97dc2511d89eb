"""What a file's content is: one of some formats, or a description; and the formats of all but regions."""

from collections.abc import Sequence
from dataclasses import replace

from shortcut_miner.errors import examples
from shortcut_miner.sources.answers.formats import PREDICTIONS, SOFT_LABELS
from shortcut_miner.sources.images.formats import LABELS, SCENE_GRAPHS
from shortcut_miner.sources.opening.json_text import Top, excerpt, fields_of, first_bytes
from shortcut_miner.sources.opening.kinds import Content, Format, Shape, find_format
from shortcut_miner.sources.questions import formats as questions

QUESTIONS = (*questions.QUESTIONS, *questions.ANNOTATIONS, *questions.GQA)
IMAGES, ANSWERS = (*LABELS, *SCENE_GRAPHS), (*PREDICTIONS, *SOFT_LABELS)


def shape_of(content: Content, formats: Sequence[Format]) -> Shape:
    """Return what a file is: one of some formats, or a description."""
    if (found := find_format(content, formats)) and found.form:
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
