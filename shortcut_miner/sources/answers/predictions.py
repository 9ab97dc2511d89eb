"""A model's answers: VQA results or GQA predictions JSON, JSONL, CSV, Parquet, and evaluators' files."""

import os
from collections.abc import Iterable
from typing import Any

import msgspec
import polars as pl

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.answers.evaluators import (
    AnswerRows,
    is_workbook,
    open_workbook,
    read_samples,
    read_workbook_answers,
    vlmevalkit_columns,
)
from shortcut_miner.sources.opening.csv_text import csv_shape, read_csv
from shortcut_miner.sources.opening.files import Source, open_source
from shortcut_miner.sources.opening.json_records import decode_all, id_column, positions_column, text_column
from shortcut_miner.sources.opening.json_text import Raws, fields_of, first_bytes, parse_json, split_lines
from shortcut_miner.sources.opening.kinds import (
    GQA_PREDICTION_FIELDS,
    GQA_PREDICTIONS,
    LMMS_EVAL_SAMPLES,
    LOOKED_AT,
    PARQUET_MAGIC,
    PREDICTION_COLUMNS,
    PREDICTIONS_CSV,
    PREDICTIONS_JSONL,
    PREDICTIONS_PARQUET,
    RESULTS,
    VLMEVALKIT_JSON,
    VLMEVALKIT_TSV,
    check_not_empty,
    json_shape,
    lines_shape,
    table_shape,
    wrong_kind,
)
from shortcut_miner.sources.opening.parquet import read_columns, read_schema
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
    f"{RESULTS} ([{{question_id, answer}}]), {GQA_PREDICTIONS} ([{{questionId, prediction}}]), JSONL, CSV "
    "or Parquet with the columns question_id, answer, lmms-eval samples, or VLMEvalKit results (index, "
    "prediction)"
)


def read_predictions(
    path: str | os.PathLike[str], *, on_bad_row: OnBadRow = "error", allow_doc_id: bool = False
) -> Reading:
    """Return a model's answers, one row a question, in file order.

    Parameters
    ----------
    path : path-like
        A plain, .gz or .zst file, a zip with one member, or ``archive.zip/member``.
    on_bad_row : {"error", "skip"}
        Raise for all rows that don't fit at once, or skip and count them.
    allow_doc_id : bool
        Take the number of the document as the id in lmms-eval samples that have no question id.

    Returns
    -------
    Reading
        A :class:`shortcut_miner.schemas.Predictions`: question_id and answer (String). Empty answers are
        kept; other columns are left out. The notes say which fields of an evaluator's file were taken.

    Raises
    ------
    SourceError
        The file can't be read, is of another format (pickles are refused), does not tell the model's
        answer from the right one, or has bad rows: no id, an answer that is not text, an id twice.
    BackendError
        An .xlsx file without fastexcel (the extra ``evaluators``).

    Notes
    -----
    In VLMEvalKit results the model's answer is ``prediction`` and the id is ``question_id``, or else
    ``index``. In lmms-eval samples the answer is the filtered response without the white space around it;
    the id is ``doc.question_id``, ``doc.questionId``, ``doc.id``, or one that a metric holds.
    """
    check_on_bad_row(on_bad_row)
    source = open_workbook(path) or open_source(path)
    rows = _read_rows(source, allow_doc_id)
    table = rows.table
    problems = rows.problems + find_problems(table, is_blank("question_id"), "question_id", "an id")
    problems += find_duplicates(table, "question_id")
    dropped = settle(source, "predictions", problems, rows.total, on_bad_row, rows.label)
    table = without_bad(table, problems)
    return Reading(
        table=table,
        kind=rows.kind,
        file=source.facts(),
        dropped=dropped,
        notes=rows.notes + _empty_answer_notes(table),
    )


def _read_rows(source: Source, allow_doc_id: bool) -> AnswerRows:
    start = first_bytes(source.content)
    if source.content.startswith(PARQUET_MAGIC):
        return _read_parquet(source)
    if is_workbook(source.content):
        return read_workbook_answers(source, _EXPECTED)
    if start == b"[":
        return _read_list(source)
    if start == b"{":
        return _read_lines(source, allow_doc_id)
    return _read_csv(source)


def _read_parquet(source: Source) -> AnswerRows:
    _check_one_answer(source, read_schema(source))
    table = read_columns(source, {"question_id": "id", "answer": "text"})
    problems = [
        problem
        for name, expected in (("question_id", "an id"), ("answer", "text"))
        for problem in find_problems(table, pl.col(name).is_null(), name, expected)
    ]
    return AnswerRows(PREDICTIONS_PARQUET, table, problems, table.height, "row {}".format)


def _read_list(source: Source) -> AnswerRows:
    parsed = parse_json(source)
    shape = json_shape(parsed.top)
    if not isinstance(parsed.top, list):
        raise wrong_kind(source, shape, _EXPECTED)
    raws, notes = parsed.top, parsed.notes
    if shape.kind == GQA_PREDICTIONS:
        columns = GQA_PREDICTION_FIELDS
    elif shape.kind == VLMEVALKIT_JSON:
        one, answer, why = vlmevalkit_columns(_fields_seen(raws))
        columns, notes = (one, answer), notes + why
    elif shape.kind == RESULTS:
        _check_one_answer(source, _fields_seen(raws))
        columns = PREDICTION_COLUMNS
    else:
        raise wrong_kind(source, shape, _EXPECTED)
    table, problems = _decode(raws, *columns)
    return AnswerRows(shape.kind, table, problems, len(raws), "record {}".format, notes)


def _read_lines(source: Source, allow_doc_id: bool) -> AnswerRows:
    lines = split_lines(source)
    raws = [line for _, line in lines]
    shape = lines_shape(raws) or json_shape(parse_json(source).top)
    if shape.kind == LMMS_EVAL_SAMPLES:
        return read_samples(source, allow_doc_id=allow_doc_id)
    if shape.kind != PREDICTIONS_JSONL:
        raise wrong_kind(source, shape, _EXPECTED)
    _check_one_answer(source, _fields_seen(raws))
    table, problems = _decode(raws, *PREDICTION_COLUMNS)
    return AnswerRows(
        PREDICTIONS_JSONL, table, problems, len(raws), lambda record: f"line {lines[record][0]}"
    )


def _decode(raws: Raws, id_field: str, answer_field: str) -> tuple[pl.DataFrame, list[Problem]]:
    record_type: Any = msgspec.defstruct(
        "Prediction",
        [("question_id", int | str), ("answer", str)],
        rename={"question_id": id_field, "answer": answer_field},
        gc=False,
    )
    rows = decode_all(raws, record_type)
    records: list[Any] = rows.records
    table = pl.DataFrame(
        {
            RECORD: positions_column(rows.positions),
            "question_id": id_column([row.question_id for row in records]),
            "answer": text_column([row.answer for row in records]),
        }
    )
    return table, rows.problems


def _read_csv(source: Source) -> AnswerRows:
    table = read_csv(source)
    shape = table_shape(table.header, len(table.rows)) or csv_shape(source, table)
    columns: tuple[str, str, tuple[str, ...]]
    if shape.kind == PREDICTIONS_CSV:
        _check_one_answer(source, table.header)
        columns = (*PREDICTION_COLUMNS, ())
    elif shape.kind == VLMEVALKIT_TSV:
        columns = vlmevalkit_columns(table.header)
    else:
        raise wrong_kind(source, shape, _EXPECTED)
    one, answer, notes = columns
    check_not_empty(source, table.rows, "predictions")
    width = len(table.header)
    whole = [(at, row) for at, row in enumerate(table.rows) if len(row) == width]
    frame = pl.DataFrame(
        {RECORD: positions_column([at for at, _ in whole])}
        | {
            name: text_column([row[table.header.index(column)] for _, row in whole])
            for name, column in (("question_id", one), ("answer", answer))
        }
    )
    problems = [
        Problem((at,), "row", f"{len(row)} values", f"{width}, as in the header")
        for at, row in enumerate(table.rows)
        if len(row) != width
    ]
    return AnswerRows(
        shape.kind, frame, problems, len(table.rows), lambda record: f"line {table.lines[record]}", notes
    )


def _fields_seen(raws: Raws) -> list[str]:
    """Return the fields of the first records, in the order they appear."""
    return list(dict.fromkeys(name for raw in raws[:LOOKED_AT] for name in fields_of(raw)))


def _check_one_answer(source: Source, names: Iterable[str]) -> None:
    """Raise if `answer` may be the right answer and `prediction` the model's: scoring it would give 100."""
    if {"answer", "prediction"} <= {*names}:
        raise SourceError(
            f"{source.path}: got both answer and prediction beside question_id, expected only the model's. "
            "Rename the model's to answer and leave the other one out."
        )


def _empty_answer_notes(table: pl.DataFrame) -> tuple[str, ...]:
    empty = int((table["answer"] == "").sum())
    return (f"empty answers kept: {empty:,}",) if empty else ()
