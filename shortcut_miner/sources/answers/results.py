"""Models' answers in the datasets' own formats: VQA results, GQA predictions, and flat tables like these."""

from collections.abc import Collection, Mapping, Sequence

import polars as pl

from shortcut_miner.sources.answers.answer_column import check_columns, needs_of
from shortcut_miner.sources.answers.evaluators import AnswerRows, answer_rows
from shortcut_miner.sources.opening.columns import Column
from shortcut_miner.sources.opening.flat_tables import FlatTable
from shortcut_miner.sources.opening.json_text import LOOKED_AT, Top, fields_of
from shortcut_miner.sources.opening.kinds import Content
from shortcut_miner.sources.opening.reading import find_problems

RESULTS, GQA_PREDICTIONS = "VQA results JSON", "GQA predictions JSON"
PREDICTIONS_XLSX = "predictions xlsx"
PREDICTIONS_JSONL, PREDICTIONS_CSV = "predictions JSONL", "predictions CSV"
PREDICTIONS_PARQUET, PREDICTIONS_ARROW = "predictions Parquet", "predictions Arrow"
COLUMNS, GQA_FIELDS = ("question_id", "answer"), ("questionId", "prediction")
NEEDS = {
    "question_id": Column("id", names=("question_id", "questionId")),
    "answer": Column("text", names=("answer", "prediction")),
}


def are_answers(names: Collection[str]) -> bool:
    """Return whether columns or fields are those of a model's answers.

    Those of answers to swaps, and of questions with all their annotators' answers, are not.
    """
    names = {*names}
    return {*COLUMNS} <= names and "perturbation" not in names and not {"question", "answers"} <= names


def are_predictions(lines: Sequence[tuple[int, bytes]]) -> bool:
    """Return whether lines are records of answers; some of the first ones may lack theirs."""
    return any(are_answers(fields_of(line)) for _, line in lines[:LOOKED_AT])


def is_answer_list(top: Top) -> bool:
    """Return whether this is a list of records of answers; some of the first ones may lack theirs."""
    return isinstance(top, list) and any(are_answers(fields_of(record)) for record in top[:LOOKED_AT])


def read_results(content: Content, allow_doc_id: bool) -> AnswerRows:
    """Return the answers of a table or list of records with question_id and answer.

    Raises
    ------
    SourceError
        Another column may be the model's, such as ``response``: then `answer` may be the right answer, and
        scoring it would give 100. See :func:`.answer_column.rival_columns`.
    """
    return _checked_rows(content.table, {})


def read_named(content: Content, columns: Mapping[str, str]) -> AnswerRows:
    """Return the answers of a flat table of any form whose columns the user names: ours -> the file's.

    Raises
    ------
    SourceError
        A column that the file lacks.
    """
    named = {ours: theirs for ours, theirs in columns.items() if ours in COLUMNS}
    notes = tuple(f"{ours}: column {theirs}" for ours, theirs in named.items())
    return _checked_rows(content.table, named, notes)


def _checked_rows(table: FlatTable, columns: Mapping[str, str], notes: tuple[str, ...] = ()) -> AnswerRows:
    needs = needs_of(columns, NEEDS)
    check_columns(table, needs, columns)
    rows = answer_rows(table, needs, notes)
    for name, expected in (("question_id", "an id"), ("answer", "text")):
        rows.problems.extend(find_problems(rows.table, pl.col(name).is_null(), name, expected))
    return rows


def read_gqa_predictions(content: Content, allow_doc_id: bool) -> AnswerRows:
    """Return the answers of a list of records with questionId and prediction."""
    one, answer = GQA_FIELDS
    needs = {"question_id": Column("id", names=(one,)), "answer": Column("text", names=(answer,))}
    return answer_rows(content.table, needs)
