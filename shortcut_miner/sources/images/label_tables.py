"""Object labels as flat tables: a row a label, or a row an image with a list of labels."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import msgspec
import polars as pl

from shortcut_miner.errors import SourceError
from shortcut_miner.options import OnBadRow
from shortcut_miner.sources.images.image_ids import canonical_image_ids
from shortcut_miner.sources.opening.columns import Column, Place, split_texts
from shortcut_miner.sources.opening.csv_text import TextTable
from shortcut_miner.sources.opening.flat_tables import FlatTable
from shortcut_miner.sources.opening.ids import AnyId, find_floats, with_whole_ids
from shortcut_miner.sources.opening.json_records import decode_all, record_columns
from shortcut_miner.sources.opening.json_text import LOOKED_AT, Top, fields_of
from shortcut_miner.sources.opening.kinds import Content, Form
from shortcut_miner.sources.opening.list_columns import list_column, text_lists
from shortcut_miner.sources.opening.nested import TEXTS, is_text
from shortcut_miner.sources.opening.reading import (
    RECORD,
    Problem,
    Reading,
    find_duplicates,
    find_problems,
    finished,
    is_blank,
    shown_value,
)
from shortcut_miner.sources.opening.table_columns import check_has_rows, read_columns

LABEL_TABLE_FORMS: tuple[Form, ...] = ("Parquet", "Arrow", "xlsx", "CSV", "JSONL", "JSON")
_A_LABEL, _A_LIST = {"image_id", "label"}, {"image_id", "labels"}
_SIDES = {"x1", "y1", "x2", "y2"}
_OF_QUESTIONS = {"question_id", "question", "answer"}  # such a table's labels are no detector's
_SCORE = "a number from 0 to 1"
_NUMBERS = pl.List(pl.Float64)


class _Listed(msgspec.Struct, gc=False):
    image_id: AnyId
    labels: list[str] | None = None
    scores: list[float] | None = None


_Found = tuple[pl.DataFrame, list[Problem], tuple[str, ...]]


def labels_kind(form: str) -> str:
    """Return the name of a table of labels, such as "labels Parquet"."""
    return f"labels {form}"


def is_label_table(form: Form) -> Callable[[Any], bool]:
    """Return a test of what a file of some form holds: image_id with label or labels."""
    if form == "JSON":
        return _is_label_list
    return _are_label_lines if form == "JSONL" else lambda table: _has_labels(table.columns)


def _has_labels(names: Collection[str]) -> bool:
    columns = {*names}
    is_such = columns >= _A_LABEL or columns >= _A_LIST
    return is_such and not columns >= _SIDES and not columns & _OF_QUESTIONS


def _are_label_lines(lines: Sequence[tuple[int, bytes]]) -> bool:
    return any(_has_labels(fields_of(line)) for _, line in lines[:LOOKED_AT])


def _is_label_list(top: Top) -> bool:
    return isinstance(top, list) and any(_has_labels(fields_of(one)) for one in top[:LOOKED_AT])


def read_label_table(content: Content, on_bad_row: OnBadRow) -> Reading:
    """Return the rows of a table with image_id, label and, optionally, score; or with labels and scores.

    In a row a label, a null label (in text an empty cell) says that nothing was found in the image. In a row
    an image, an empty list says so, and a null says that the image was not looked at. Lists may be written as
    JSON text, or with ``|`` between.
    """
    flat = content.table
    is_listed = "labels" in flat.columns
    if is_listed and "label" in flat.columns:
        raise SourceError(
            f"{flat.path}: got the columns label and labels, expected one of them. Remove the other."
        )
    table, problems, notes = _lists(flat) if is_listed else _rows(flat)
    end = "s" if is_listed else ""
    is_outside = ~pl.col("score").is_between(0, 1)
    problems += find_problems(table, pl.col("image_id").is_null(), "image_id", "an id")
    problems += find_problems(table, is_blank("image_id"), "image_id", "an id")
    problems += find_problems(table, is_blank("label"), "label", "text that is not blank", f"label{end}")
    problems += find_problems(table, is_outside, "score", _SCORE, f"score{end}")
    return finished(
        content.source, labels_kind(flat.form), table.select(RECORD, "image_id", "label", "score"),
        problems, what="rows", total=flat.total, on_bad_row=on_bad_row, label=flat.label,
        notes=flat.notes + notes,
    )  # fmt: skip


def _rows(flat: FlatTable) -> _Found:
    """Return the rows of a table with a row a label."""
    is_untyped = isinstance(flat.content, TextTable)
    needs = {
        "image_id": Column("id"),
        "label": Column("text", is_optional=flat.form.startswith("JSON")),  # null in some records
        "score": Column("number", is_optional=True),
    }
    if is_untyped:
        needs["score_text"] = Column("text", is_optional=True, names=("score",))
    table, problems = read_columns(flat, needs)
    check_has_rows(flat, "labels")
    ids, notes = canonical_image_ids(table["image_id"])
    table = table.with_columns(image_id=ids)
    if is_untyped:
        table = table.with_columns(pl.col("label", "score_text").replace("", None))
        is_no_number = pl.col("score").is_null() & pl.col("score_text").is_not_null()
        problems += find_problems(table, is_no_number, "score_text", _SCORE, "score")
    if flat.repairs:  # of a score that was NaN only null is left, which is no unknown score
        problems += [
            Problem((record,), "score", "null, in a file with NaN", _SCORE)
            for record, raw in enumerate(flat.content)
            if bytes(fields_of(raw).get("score", b"")) == b"null"
        ]
    says_none = pl.col("label").is_null() & (pl.col("score").is_not_null() | (pl.len().over("image_id") > 1))
    expected = "null only in an image's single row, without a score"
    return table, problems + find_problems(table, says_none, "label", expected), notes


def _lists(flat: FlatTable) -> _Found:
    """Return the rows of a table with a row an image, one a label."""
    table, problems = _list_records(flat) if flat.form.startswith("JSON") else _list_columns(flat)
    check_has_rows(flat, "labels")
    ids, notes = canonical_image_ids(table["image_id"])
    table = table.with_columns(image_id=ids)
    problems += find_duplicates(table, "image_id")
    sizes, scored = pl.col("labels").list.len(), pl.col("scores").list.len()
    is_uneven = scored.is_not_null() & (scored != sizes)
    counts = pl.format("{} labels and {} scores", sizes, scored)
    problems += [
        Problem((record,), "labels and scores", got, "lists of the same length")
        for record, got in table.filter(is_uneven).select(RECORD, counts).iter_rows()
    ]
    unknown = table["labels"].null_count()
    is_none = sizes == 0
    fitting = pl.when(is_uneven | scored.is_null()).then(pl.lit(None, pl.Float64).repeat_by(sizes))
    # Null lists become one row each, with every version of Polars; empty ones with some.
    one_each = table.filter(sizes.is_not_null()).with_columns(
        is_none=is_none,
        label=pl.when(~is_none).then("labels"),
        score=pl.when(~is_none).then(fitting.otherwise("scores")),
    )
    one_each = one_each.drop("labels", "scores").explode("label", "score")
    is_missing = pl.col("label").is_null() & ~pl.col("is_none")
    problems += find_problems(one_each, is_missing, "label", "text that is not blank", "labels")
    if unknown:
        notes += (f"images whose labels are null, taken as not detected: {unknown:,}",)
    return one_each, problems, notes


def _list_records(flat: FlatTable) -> tuple[pl.DataFrame, list[Problem]]:
    chunk = decode_all(flat.content, _Listed)
    table = pl.DataFrame(record_columns(chunk, _Listed, "image_id"))
    whole, _ = with_whole_ids(table, "image_id")
    sizes = [len(one.scores or ()) for one in chunk.records]
    flat_scores = pl.Series([score for one in chunk.records for score in one.scores or ()], dtype=pl.Float64)
    table = table.with_columns(
        labels=text_lists([one.labels for one in chunk.records]),
        scores=list_column(flat_scores, sizes, [one.scores is None for one in chunk.records]),
    )
    return table, chunk.problems + find_floats(whole, "image_id")


def _list_columns(flat: FlatTable) -> tuple[pl.DataFrame, list[Problem]]:
    needs = {"image_id": Column("id"), "labels": Column("any"), "scores": Column("any", is_optional=True)}
    table, problems = read_columns(flat, needs)
    labels = _texts(flat, table, "labels", is_text, "text or lists of text")
    given = _texts(flat, table, "scores", lambda dtype: dtype.is_numeric(), "numbers or lists of numbers")
    scores = given.cast(_NUMBERS, strict=False)
    is_bad = given.is_not_null() & scores.list.eval(pl.element().is_null()).list.any()
    for row in is_bad.fill_null(value=False).arg_true():
        problems.append(Problem((table[RECORD][row],), "scores", shown_value(given[row].to_list()), _SCORE))
    return table.select(RECORD, "image_id", labels.alias("labels"), scores.alias("scores")), problems


def _texts(
    flat: FlatTable, table: pl.DataFrame, name: str, is_fitting: Callable[[Any], bool], expected: str
) -> pl.Series:
    """Return a column of lists: as they are, or those that text holds."""
    column = table[name]
    dtype: Any = column.dtype
    if isinstance(dtype, pl.List | pl.Array) and (dtype.inner == pl.Null or is_fitting(dtype.inner)):
        listed = column.arr.to_list() if isinstance(dtype, pl.Array) else column
        return listed.cast(_NUMBERS if dtype.inner.is_numeric() else TEXTS)
    if dtype == pl.Null:
        return column.cast(TEXTS)
    if is_text(dtype):
        place = Place(path=flat.path, label=flat.label)
        return split_texts(column.cast(pl.String), "texts", name, place, table[RECORD], {})[0].alias(name)
    raise SourceError(
        f"{flat.path}: got {dtype} in the column {name}, expected {expected}. Convert the column."
    )
