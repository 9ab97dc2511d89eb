"""Models' answers in the datasets' own formats: VQA results, GQA predictions, and flat tables like these."""

from collections.abc import Collection, Sequence

import polars as pl

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.answers.evaluators import AnswerRows, answer_rows
from shortcut_miner.sources.opening.columns import Column
from shortcut_miner.sources.opening.json_text import LOOKED_AT, Top, fields_of
from shortcut_miner.sources.opening.kinds import Content
from shortcut_miner.sources.opening.reading import find_problems

RESULTS, GQA_PREDICTIONS = "VQA results JSON", "GQA predictions JSON"
PREDICTIONS_XLSX = "predictions xlsx"
PREDICTIONS_JSONL, PREDICTIONS_CSV = "predictions JSONL", "predictions CSV"
PREDICTIONS_PARQUET, PREDICTIONS_ARROW = "predictions Parquet", "predictions Arrow"
COLUMNS, GQA_FIELDS = ("question_id", "answer"), ("questionId", "prediction")


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
        There is a prediction too: then `answer` may be the right answer, and scoring it would give 100.
    """
    table = content.table
    if {"answer", "prediction"} <= {*table.columns}:
        raise SourceError(
            f"{table.path}: got both answer and prediction beside question_id, expected only the model's. "
            "Rename the model's to answer and leave the other one out."
        )
    needs = {"question_id": Column("id"), "answer": Column("text")}
    rows = answer_rows(table, needs, table.notes)
    for name, expected in (("question_id", "an id"), ("answer", "text")):
        rows.problems.extend(find_problems(rows.table, pl.col(name).is_null(), name, expected))
    return rows


def read_gqa_predictions(content: Content, allow_doc_id: bool) -> AnswerRows:
    """Return the answers of a list of records with questionId and prediction."""
    one, answer = GQA_FIELDS
    needs = {"question_id": Column("id", names=(one,)), "answer": Column("text", names=(answer,))}
    return answer_rows(content.table, needs, content.table.notes)
