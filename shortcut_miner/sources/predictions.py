"""A model's answers: official VQA results JSON, JSONL, CSV or Parquet."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
import polars as pl

from shortcut_miner.sources.csv_text import csv_shape, read_csv
from shortcut_miner.sources.files import Source, open_source
from shortcut_miner.sources.json_records import decode_all, id_column, positions_column, text_column
from shortcut_miner.sources.json_text import Raws, first_bytes, parse_json, split_lines
from shortcut_miner.sources.kinds import (
    PARQUET_MAGIC,
    PREDICTION_COLUMNS,
    PREDICTIONS_CSV,
    PREDICTIONS_JSONL,
    PREDICTIONS_PARQUET,
    RESULTS,
    check_not_empty,
    json_shape,
    lines_shape,
    wrong_kind,
)
from shortcut_miner.sources.parquet import read_columns
from shortcut_miner.sources.reading import (
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
    f"{RESULTS} ([{{question_id, answer}}]), or JSONL, CSV or Parquet with the columns question_id, answer"
)


class _Prediction(msgspec.Struct, gc=False):
    question_id: int | str
    answer: str


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of a file before their ids are checked; `label` names a row by its position."""

    kind: str
    table: pl.DataFrame
    problems: list[Problem]
    total: int
    label: Callable[[int], str]
    notes: tuple[str, ...] = field(default=())


def read_predictions(path: str | os.PathLike[str], *, on_bad_row: OnBadRow = "error") -> Reading:
    """Return a model's answers, one row a question, in file order.

    Parameters
    ----------
    path : path-like
        A plain, .gz or .zst file, a zip with one member, or ``archive.zip/member``.
    on_bad_row : {"error", "skip"}
        Raise for all rows that don't fit at once, or skip and count them.

    Returns
    -------
    Reading
        A :class:`shortcut_miner.schemas.Predictions`: question_id and answer (String). Empty answers are
        kept; other columns are left out.

    Raises
    ------
    SourceError
        The file can't be read, is of another format (pickles are refused), or has bad rows: no id, an
        answer that is not text, an id twice.
    """
    check_on_bad_row(on_bad_row)
    source = open_source(path)
    rows = _read_rows(source)
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


def _read_rows(source: Source) -> _Rows:
    start = first_bytes(source.content)
    if source.content.startswith(PARQUET_MAGIC):
        return _read_parquet(source)
    if start == b"[":
        return _read_results(source)
    if start == b"{":
        return _read_jsonl(source)
    return _read_csv(source)


def _read_parquet(source: Source) -> _Rows:
    table = read_columns(source, {"question_id": "id", "answer": "text"})
    problems = [
        problem
        for name, expected in (("question_id", "an id"), ("answer", "text"))
        for problem in find_problems(table, pl.col(name).is_null(), name, expected)
    ]
    return _Rows(PREDICTIONS_PARQUET, table, problems, table.height, "row {}".format)


def _read_results(source: Source) -> _Rows:
    parsed = parse_json(source)
    shape = json_shape(parsed.top)
    if shape.kind != RESULTS or not isinstance(parsed.top, list):
        raise wrong_kind(source, shape, _EXPECTED)
    table, problems = _decode(parsed.top)
    return _Rows(RESULTS, table, problems, len(parsed.top), "record {}".format, parsed.notes)


def _read_jsonl(source: Source) -> _Rows:
    lines = split_lines(source)
    raws = [line for _, line in lines]
    shape = lines_shape(raws) or json_shape(parse_json(source).top)
    if shape.kind != PREDICTIONS_JSONL:
        raise wrong_kind(source, shape, _EXPECTED)
    table, problems = _decode(raws)
    return _Rows(PREDICTIONS_JSONL, table, problems, len(raws), lambda record: f"line {lines[record][0]}")


def _decode(raws: Raws) -> tuple[pl.DataFrame, list[Problem]]:
    rows = decode_all(raws, _Prediction)
    table = pl.DataFrame(
        {
            RECORD: positions_column(rows.positions),
            "question_id": id_column([row.question_id for row in rows.records]),
            "answer": text_column([row.answer for row in rows.records]),
        }
    )
    return table, rows.problems


def _read_csv(source: Source) -> _Rows:
    table = read_csv(source)
    if not set(PREDICTION_COLUMNS) <= set(table.header):
        raise wrong_kind(source, csv_shape(source, table), _EXPECTED)
    check_not_empty(source, table.rows, "predictions")
    width = len(table.header)
    positions = [at for at, row in enumerate(table.rows) if len(row) == width]
    columns = {
        name: text_column([row[place] for row in table.rows if len(row) == width])
        for name, place in ((name, table.header.index(name)) for name in PREDICTION_COLUMNS)
    }
    problems = [
        Problem((at,), "row", f"{len(row)} values", f"{width}, as in the header")
        for at, row in enumerate(table.rows)
        if len(row) != width
    ]
    frame = pl.DataFrame({RECORD: positions_column(positions), **columns})
    return _Rows(
        PREDICTIONS_CSV, frame, problems, len(table.rows), lambda record: f"line {table.lines[record]}"
    )


def _empty_answer_notes(table: pl.DataFrame) -> tuple[str, ...]:
    empty = int((table["answer"] == "").sum())
    return (f"empty answers kept: {empty:,}",) if empty else ()
