"""VQA v1/v2 questions joined with their annotations, by question_id and never by position."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import polars as pl

from shortcut_miner.errors import SourceError, examples, problem_list
from shortcut_miner.options import OnBadRow
from shortcut_miner.schemas import Questions
from shortcut_miner.sources.known_formats import known_format
from shortcut_miner.sources.opening.files import in_background, open_source
from shortcut_miner.sources.opening.ids import with_zeros_back
from shortcut_miner.sources.opening.kinds import Content, Format
from shortcut_miner.sources.opening.reading import Reading, check_on_bad_row
from shortcut_miner.sources.questions import vqa_annotations, vqa_questions
from shortcut_miner.sources.questions.formats import ANNOTATIONS, QUESTIONS
from shortcut_miner.sources.questions.vqa_questions import check_limit

_NO_ANNOTATION = "question without annotation"
_OTHER_IMAGE = "annotation for another image than its question's"
_NO_QUESTION = "annotation without question"


def read_vqa_questions(
    path: str | os.PathLike[str], *, on_bad_row: OnBadRow = "error", limit: int | None = None
) -> Reading:
    """Return the questions of a VQA questions JSON, in file order.

    Parameters
    ----------
    path : path-like
        A plain, .gz or .zst file, a zip with one member, or ``archive.zip/member``.
    on_bad_row : {"error", "skip"}
        Raise for all records that don't fit at once, or skip and count them.
    limit : int, optional
        Look only at the first `limit` records.

    Returns
    -------
    Reading
        Columns question_id, image_id, question, split (String; split may be null).

    Raises
    ------
    SourceError
        The file can't be read, is of another format, or has bad records: no or blank ids, a question
        that is null or blank, a question_id twice.
    """
    check_on_bad_row(on_bad_row)
    check_limit(limit)
    return _read_questions(path, on_bad_row, limit)


def read_vqa_annotations(path: str | os.PathLike[str], *, on_bad_row: OnBadRow = "error") -> Reading:
    """Return the annotations of a VQA annotations JSON, in file order.

    Parameters
    ----------
    path : path-like
        A plain, .gz or .zst file, a zip with one member, or ``archive.zip/member``.
    on_bad_row : {"error", "skip"}
        Raise for all records that don't fit at once, or skip and count them.

    Returns
    -------
    Reading
        Columns question_id, image_id, question_type, answer_type, answer (the majority answer), answers
        (List[String]; null where the file has none) and answer_record_key (List[UInt8], see
        :class:`shortcut_miner.schemas.Questions`). Empty answers are kept and noted.

    Raises
    ------
    SourceError
        The file can't be read, is of another format, or has bad records: no or blank ids, an answer that
        is no text, no majority answer, a question_id twice.
    """
    check_on_bad_row(on_bad_row)
    return _read_annotations(path, on_bad_row)


def _read_questions(path: str | os.PathLike[str], on_bad_row: OnBadRow, limit: int | None) -> Reading:
    content = Content(open_source(path, keep_workbooks=True))
    plain = vqa_questions.read_plain(content, QUESTIONS, on_bad_row) if limit is None else None
    return plain or _read(content, QUESTIONS, on_bad_row, limit)


def _read_annotations(path: str | os.PathLike[str], on_bad_row: OnBadRow) -> Reading:
    content = Content(open_source(path, keep_workbooks=True))
    plain = vqa_annotations.read_plain(content, ANNOTATIONS, on_bad_row)
    return plain or _read(content, ANNOTATIONS, on_bad_row)


def _read(content: Content, formats: Sequence[Format], *options: object) -> Reading:
    reading: Reading = known_format(content, formats, formats[0].kind).read(content, *options)
    return reading


def read_vqa(
    questions_path: str | os.PathLike[str],
    annotations_path: str | os.PathLike[str],
    *,
    on_bad_row: OnBadRow = "error",
    limit: int | None = None,
) -> tuple[pl.DataFrame, Reading, Reading]:
    """Return questions with their answers, in the order of the questions file, and both readings.

    Parameters
    ----------
    questions_path, annotations_path : path-like
        See :func:`read_vqa_questions` and :func:`read_vqa_annotations`; one file may hold both.
    on_bad_row : {"error", "skip"}
        Raise for everything that doesn't fit, or leave it out and count it.
    limit : int, optional
        Keep the first `limit` questions and ignore the annotations of all others.

    Returns
    -------
    table : DataFrame
        A :class:`shortcut_miner.schemas.Questions`.
    questions, annotations : Reading
        Rows that the join loses are added to their dropped counts, each row once.

    Raises
    ------
    SourceError
        As the two readers; or a question without annotation, an annotation without question, an
        annotation for another image than its question's: all at once, with ids.
    """
    check_on_bad_row(on_bad_row)
    check_limit(limit)
    reading = in_background(partial(_read_annotations, annotations_path, on_bad_row))
    questions = _read_questions(questions_path, on_bad_row, limit)
    annotations = reading.result()
    annotations = with_zeros_back(annotations, questions.table["question_id"])
    answers = annotations.table.rename({"image_id": "annotated_image_id"})
    joined = _joined(questions.table, answers)
    is_missing = pl.col("annotated_image_id").is_null()
    is_other_image = pl.col("annotated_image_id") != pl.col("image_id")
    question_losses = {
        _NO_ANNOTATION: joined.filter(is_missing)["question_id"],
        _OTHER_IMAGE: joined.filter(is_other_image)["question_id"],
    }
    orphans = annotations.table["question_id"].clear()
    if limit is None and len(annotations.table) > joined["annotated_image_id"].count():
        orphans = annotations.table.join(questions.table, on="question_id", how="anti")["question_id"]
    annotation_losses = {_NO_QUESTION: orphans}
    lost = sum(map(len, question_losses.values()))
    table = joined.filter(~is_missing, ~is_other_image) if lost else joined
    table = table.select(Questions.column_names())
    if on_bad_row == "error" or table.is_empty():
        _check_losses(f"{questions_path} and {annotations_path}", question_losses | annotation_losses)
    return table, _with_losses(questions, question_losses), _with_losses(annotations, annotation_losses)


def _joined(questions: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """Return each question, in order, with its answer; null where there is none."""
    if questions["question_id"].equals(answers["question_id"]):  # as in most sets: both are of one program
        return questions.hstack(answers.drop("question_id")).rechunk()
    return questions.join(answers, on="question_id", how="left", validate="1:1", maintain_order="left")


def _check_losses(files: str, losses: dict[str, pl.Series]) -> None:
    lines = [
        f"{len(ids):,} x {reason}: question_id {examples(ids)}" for reason, ids in losses.items() if len(ids)
    ]
    if lines:
        title = (
            f"{files}: got question_ids that don't match, expected one annotation for each question, about "
            "the same image. Check that both files belong to the same split, or leave such rows out with "
            "--on-bad-row skip."
        )
        raise SourceError(problem_list(title, lines))


def _with_losses(reading: Reading, losses: dict[str, pl.Series]) -> Reading:
    counts = {reason: len(ids) for reason, ids in losses.items() if len(ids)}
    return replace(reading, dropped={**reading.dropped, **counts})
