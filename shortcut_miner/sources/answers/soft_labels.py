"""Soft labels, {answer: weight} a question: LXMERT-style lists, plain JSON objects, or our own Parquet."""

import os
from dataclasses import replace

import polars as pl

from shortcut_miner.options import OnBadRow
from shortcut_miner.sources.answers.formats import SOFT_LABELS
from shortcut_miner.sources.answers.label_rows import LabelRows
from shortcut_miner.sources.known_formats import known_format
from shortcut_miner.sources.opening.files import open_source
from shortcut_miner.sources.opening.kinds import Content
from shortcut_miner.sources.opening.reading import (
    Reading,
    check_on_bad_row,
    find_problems,
    finished,
    is_blank,
)

_EXPECTED = (
    "soft labels JSON ([{question_id, label: {answer: weight}}] or {question_id: {answer: weight}}), "
    "or Parquet with the columns question_id, answer, weight"
)


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
    source = open_source(path, keep_workbooks=True)
    content = Content(source)
    found = known_format(content, SOFT_LABELS, _EXPECTED)
    rows: LabelRows = found.read(content)
    table, weight = rows.table, pl.col("weight")
    is_bad = weight.is_null() | ~weight.is_finite() | (weight < 0)
    problems = [
        *rows.problems,
        *find_problems(table, is_blank("question_id"), "question_id", "an id"),
        *find_problems(table, pl.col("answer").is_not_null() & is_bad, "weight", "a number of at least 0"),
    ]
    reading = finished(
        source, found.kind, table, problems,
        what=rows.what, total=rows.total, on_bad_row=on_bad_row, label=rows.label,
    )  # fmt: skip
    return replace(reading, notes=rows.notes + _unlabelled_notes(reading.table))


def _unlabelled_notes(table: pl.DataFrame) -> tuple[str, ...]:
    count = table["answer"].null_count()
    return (f"questions without labels, where no answer scores: {count:,}",) if count else ()
