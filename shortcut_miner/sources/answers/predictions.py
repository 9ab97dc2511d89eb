"""A model's answers: VQA results or GQA predictions JSON, flat tables like these, and evaluators' files."""

import os
from dataclasses import replace

import polars as pl

from shortcut_miner.options import AnswerOptions, OnBadRow
from shortcut_miner.sources.answers.evaluators import AnswerRows
from shortcut_miner.sources.answers.formats import PREDICTIONS
from shortcut_miner.sources.answers.results import GQA_PREDICTIONS, RESULTS
from shortcut_miner.sources.opening.files import open_source
from shortcut_miner.sources.opening.kinds import Content
from shortcut_miner.sources.opening.reading import (
    Reading,
    check_on_bad_row,
    find_duplicates,
    find_problems,
    finished,
    is_blank,
)
from shortcut_miner.sources.recognise import known_format

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
    source = open_source(path, keep_workbooks=True)
    content = Content(source)
    found = known_format(content, PREDICTIONS, _EXPECTED)
    rows: AnswerRows = found.read(content, allow_doc_id)
    table = rows.table
    problems = rows.problems + find_problems(table, is_blank("question_id"), "question_id", "an id")
    problems += find_duplicates(table, "question_id")
    reading = finished(
        source, found.kind, table, problems,
        what="predictions", total=rows.total, on_bad_row=on_bad_row, label=rows.label,
    )  # fmt: skip
    return replace(reading, notes=rows.notes + _empty_answer_notes(reading.table))


def read_answers(path: str | os.PathLike[str], options: AnswerOptions) -> Reading:
    """Return a model's answers as the options of a score say; see :func:`read_predictions`."""
    return read_predictions(path, on_bad_row=options.on_bad_row)


def _empty_answer_notes(table: pl.DataFrame) -> tuple[str, ...]:
    empty = int((table["answer"] == "").sum())
    return (f"empty answers kept: {empty:,}",) if empty else ()
