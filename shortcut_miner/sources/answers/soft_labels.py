"""Soft labels, {answer: weight} a question: LXMERT-style lists, plain JSON objects, or our own Parquet."""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import polars as pl

from shortcut_miner.sources.opening.files import Source, open_source
from shortcut_miner.sources.opening.json_records import (
    decode_all,
    id_column,
    paused_gc,
    positions_column,
    text_column,
)
from shortcut_miner.sources.opening.json_text import Raws, Top, fields_of, parse_json
from shortcut_miner.sources.opening.kinds import (
    LOOKED_AT,
    PARQUET_MAGIC,
    SOFT_LABEL_FIELDS,
    SOFT_LABELS,
    SOFT_LABELS_PARQUET,
    is_weights,
    json_shape,
    wrong_kind,
)
from shortcut_miner.sources.opening.parquet import read_columns
from shortcut_miner.sources.opening.reading import (
    RECORD,
    OnBadRow,
    Problem,
    Reading,
    check_on_bad_row,
    find_duplicates,
    find_problems,
    is_blank,
    settle,
    without_bad,
)

_EXPECTED = (
    f"{SOFT_LABELS} ([{{question_id, label: {{answer: weight}}}}] or {{question_id: {{answer: weight}}}}), "
    "or Parquet with the columns question_id, answer, weight"
)
_ENTRY = re.compile(rb'(?<!\\)"\s*+:\s*+\{')  # a key and the object it stands for
_NOTHING = (None,)


class _Labelled(msgspec.Struct, gc=False):
    question_id: int | str
    label: dict[str, float]


@dataclass(frozen=True, slots=True)
class _Rows:
    """Labels of a file, one row each, before they are checked; `label` names a record by its position."""

    kind: str
    table: pl.DataFrame
    problems: list[Problem]
    total: int
    what: str
    label: Callable[[int], str]
    notes: tuple[str, ...] = ()


def read_soft_labels(path: str | os.PathLike[str], *, on_bad_row: OnBadRow = "error") -> Reading:
    """Return the weights of answers that the scorer "soft-labels" reads, in file order.

    Parameters
    ----------
    path : path-like
        A plain, .gz or .zst file, a zip with one member, or ``archive.zip/member``: a JSON list of
        ``{"question_id": ..., "label": {answer: weight}}`` (LXMERT, OK-VQA; other fields are left out), a
        JSON object ``{question_id: {answer: weight}}``, or Parquet with the columns of the result.
    on_bad_row : {"error", "skip"}
        Raise for all records that don't fit at once, or skip and count them.

    Returns
    -------
    Reading
        question_id, answer (String) and weight (Float64), one row a label; a question without labels has
        one row whose answer and weight are null, as in
        :func:`shortcut_miner.scoring.accuracy.soft_label_table`.

    Raises
    ------
    SourceError
        The file can't be read, is of another format, or has bad records: no id, a question or an answer
        of it twice, a weight that is no number of at least 0.
    """
    check_on_bad_row(on_bad_row)
    source = open_source(path)
    rows = _read_parquet(source) if source.content.startswith(PARQUET_MAGIC) else _read_json(source)
    table, weight = rows.table, pl.col("weight")
    is_bad = weight.is_null() | ~weight.is_finite() | (weight < 0)
    problems = [
        *rows.problems,
        *find_problems(table, is_blank("question_id"), "question_id", "an id"),
        *find_problems(table, pl.col("answer").is_not_null() & is_bad, "weight", "a number of at least 0"),
    ]
    dropped = settle(source, rows.what, problems, rows.total, on_bad_row, rows.label)
    table = without_bad(table, problems)
    return Reading(
        table=table,
        kind=rows.kind,
        file=source.facts(),
        dropped=dropped,
        notes=rows.notes + _unlabelled_notes(table),
    )


def _read_json(source: Source) -> _Rows:
    parsed = parse_json(source)
    top = parsed.top
    if not _has_labels(top):
        raise wrong_kind(source, json_shape(top), _EXPECTED)
    label: Callable[[int], str] = "record {}".format
    problems: list[Problem] = []
    raws: Raws
    if isinstance(top, list):
        raws = top
    else:
        names = list(top)
        raws = [_as_record(name, weights) for name, weights in top.items()]
        problems = _repeated_keys(source, names)
        label = _names_of(names)
    rows = decode_all(raws, _Labelled)
    questions = pl.DataFrame(
        {
            RECORD: positions_column(rows.positions),
            "question_id": id_column([row.question_id for row in rows.records]),
        }
    )
    problems += rows.problems + find_duplicates(questions, "question_id")
    table = _one_row_a_label(questions, [row.label for row in rows.records])
    return _Rows(SOFT_LABELS, table, problems, len(raws), "questions", label, parsed.notes)


def _one_row_a_label(questions: pl.DataFrame, labels: Sequence[Mapping[str, float]]) -> pl.DataFrame:
    """Return `questions` with answer and weight; nulls in the one row of a question without labels."""
    with paused_gc():
        answers = [answer for weights in labels for answer in weights or _NOTHING]
        values = [weight for weights in labels for weight in weights.values() or _NOTHING]
    sizes = pl.Series([len(weights) or 1 for weights in labels], dtype=pl.UInt32)
    places = pl.int_range(len(labels), eager=True).repeat_by(sizes).explode()
    return questions[places].with_columns(
        answer=text_column(answers), weight=pl.Series(values, dtype=pl.Float64)
    )


def _has_labels(top: Top) -> bool:
    if isinstance(top, list):
        return any(fields_of(record).keys() >= {*SOFT_LABEL_FIELDS} for record in top[:LOOKED_AT])
    return any(is_weights(value) for value in top.values())


def _names_of(names: Sequence[str]) -> Callable[[int], str]:
    return lambda record: f"question {names[record]!r}"


def _as_record(name: str, weights: msgspec.Raw) -> bytes:
    return b'{"question_id":' + msgspec.json.encode(name) + b',"label":' + bytes(weights) + b"}"


def _repeated_keys(source: Source, names: Sequence[str]) -> list[Problem]:
    """Find questions that the JSON object has twice: decoding keeps only the last of them.

    The cheap test counts keys of objects; only a surplus is looked at with a slow parser.
    """
    if len(_ENTRY.findall(source.content)) <= len(names):
        return []
    pairs: list[tuple[str, Any]] = []

    def keep_pairs(found: list[tuple[str, Any]]) -> None:
        pairs[:] = found  # the outermost object comes last

    try:
        json.loads(source.content, object_pairs_hook=keep_pairs)
    except (ValueError, RecursionError):  # bytes that are no UTF-8: their record is told by its decoder
        return []
    places = {name: place for place, name in enumerate(names)}
    counts = Counter(name for name, _ in pairs)
    return [
        Problem((places[name],), "question_id", f"{count} entries", "an id that occurs once")
        for name, count in counts.items()
        if count > 1
    ]


def _read_parquet(source: Source) -> _Rows:
    table = read_columns(source, {"question_id": "id", "answer": "text", "weight": "number"})
    is_repeated = pl.col("answer").is_not_null() & pl.struct("question_id", "answer").is_duplicated()
    is_beside_others = pl.col("answer").is_null() & (pl.len().over("question_id") > 1)
    problems = [
        *find_problems(table, pl.col("question_id").is_null(), "question_id", "an id"),
        *find_problems(table, is_repeated, "answer", "an answer that a question has once"),
        *find_problems(table, is_beside_others, "answer", "null only as a question's one row"),
    ]
    return _Rows(SOFT_LABELS_PARQUET, table, problems, table.height, "labels", "row {}".format)


def _unlabelled_notes(table: pl.DataFrame) -> tuple[str, ...]:
    count = table["answer"].null_count()
    return (f"questions without labels, where no answer scores: {count:,}",) if count else ()
