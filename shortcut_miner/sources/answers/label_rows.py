"""Soft labels as their files hold them: LXMERT-style lists, plain JSON objects, our own Parquet."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec
import polars as pl

from shortcut_miner.sources.images.h5_info import is_info
from shortcut_miner.sources.opening.columns import Column
from shortcut_miner.sources.opening.ids import AnyId, find_floats, with_whole_ids
from shortcut_miner.sources.opening.json_records import (
    decode_all,
    keyed_records,
    paused_gc,
    record_columns,
    repeated_keys,
)
from shortcut_miner.sources.opening.json_text import DECODE_ERRORS, Raws, Top
from shortcut_miner.sources.opening.kinds import Content, with_fields
from shortcut_miner.sources.opening.reading import Problem, find_duplicates, find_problems
from shortcut_miner.sources.opening.repeated_fields import inner_keys_twice
from shortcut_miner.sources.opening.table_columns import check_has_rows, read_columns

SOFT_LABELS, SOFT_LABELS_PARQUET = "soft labels JSON", "soft labels Parquet"
COLUMNS = ("question_id", "answer", "weight")
_ENTRY = re.compile(rb'(?<!\\)"\s*+:\s*+\{')  # a key and the object it stands for
_NOTHING = (None,)


class _Labelled(msgspec.Struct, gc=False):
    question_id: AnyId
    label: dict[str, float]


@dataclass(frozen=True, slots=True)
class LabelRows:
    """Labels of a file, one row each, before they are checked; `label` names a record by its position."""

    table: pl.DataFrame
    problems: list[Problem]
    total: int
    what: str
    label: Callable[[int], str]
    notes: tuple[str, ...] = ()


_is_list = with_fields("question_id", "label")


def are_soft_labels(top: Top) -> bool:
    """Return whether this is a list of {question_id, label: {answer: weight}}, or {question_id: {...}}.

    The numbers of regions by image are none.
    """
    if isinstance(top, list):
        return _is_list(top)
    return not is_info(top) and any(_are_weights(value) for value in top.values())


def _are_weights(raw: msgspec.Raw) -> bool:
    """Return whether an undecoded value is {answer: weight} with at least one answer."""
    try:
        return bool(msgspec.json.decode(raw, type=dict[str, float]))
    except DECODE_ERRORS:
        return False


def read_json_labels(content: Content) -> LabelRows:
    """Return the labels of a JSON list or object."""
    top, text = content.json.top, content.source.content
    label: Callable[[int], str] = "record {}".format
    problems: list[Problem] = []
    raws: Raws
    if isinstance(top, list):
        raws = top
    else:
        names = list(top)
        raws = keyed_records(top, "question_id", "label")
        problems = repeated_keys(text, names, len(_ENTRY.findall(text)), "question_id")
        label = partial(_question, names)
    rows = decode_all(raws, _Labelled)
    questions = pl.DataFrame(record_columns(rows, _Labelled, "question_id"))
    questions, notes = with_whole_ids(questions, "question_id")
    labels = [row.label for row in rows.records]
    problems += rows.problems + inner_keys_twice(raws, rows.positions, labels, "label")
    problems += find_duplicates(questions, "question_id")
    problems += find_floats(questions, "question_id")
    table = _one_row_a_label(questions, labels)
    return LabelRows(table, problems, len(raws), "questions", label, content.json.notes + notes)


def _one_row_a_label(questions: pl.DataFrame, labels: Sequence[Mapping[str, float]]) -> pl.DataFrame:
    """Return `questions` with answer and weight; nulls in the one row of a question without labels."""
    with paused_gc():
        answers = [answer for weights in labels for answer in weights or _NOTHING]
        values = [weight for weights in labels for weight in weights.values() or _NOTHING]
    sizes = pl.Series([len(weights) or 1 for weights in labels], dtype=pl.UInt32)
    places = pl.int_range(len(labels), eager=True).repeat_by(sizes).explode()
    return questions[places].with_columns(
        answer=pl.Series(answers, dtype=pl.String), weight=pl.Series(values, dtype=pl.Float64)
    )


def _question(names: Sequence[str], record: int) -> str:
    return f"question {names[record]!r}"


def read_labels_parquet(content: Content) -> LabelRows:
    """Return the labels of a Parquet table with question_id, answer, weight."""
    needs = {"question_id": Column("id"), "answer": Column("text"), "weight": Column("number")}
    table, unfit = read_columns(content.table, needs)
    check_has_rows(content.table, "labels")
    is_repeated = pl.col("answer").is_not_null() & pl.struct("question_id", "answer").is_duplicated()
    is_beside_others = pl.col("answer").is_null() & (pl.len().over("question_id") > 1)
    problems = [
        *unfit,
        *find_problems(table, pl.col("question_id").is_null(), "question_id", "an id"),
        *find_problems(table, is_repeated, "answer", "an answer that a question has once"),
        *find_problems(table, is_beside_others, "answer", "null only as a question's one row"),
    ]
    return LabelRows(table, problems, table.height, "labels", "row {}".format, content.table.notes)
