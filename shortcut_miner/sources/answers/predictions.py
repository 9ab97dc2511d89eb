"""A model's answers, of any format: the datasets' own ones, flat tables, and the evaluators' files."""

import os
from dataclasses import replace

import polars as pl

from shortcut_miner.options import AnswerOptions, OnBadRow, OnDuplicate, named_columns
from shortcut_miner.sources.answers.answer_column import ANSWER_NAMES, ID_NAMES
from shortcut_miner.sources.answers.answer_rows import AnswerRows, Asked
from shortcut_miner.sources.answers.formats import NESTED, PREDICTIONS
from shortcut_miner.sources.answers.results import read_results
from shortcut_miner.sources.known_formats import known_format
from shortcut_miner.sources.opening.files import Source, open_source
from shortcut_miner.sources.opening.kinds import Content, find_format
from shortcut_miner.sources.opening.reading import (
    RECORD,
    Problem,
    Reading,
    bad_records,
    find_duplicates,
    find_problems,
    is_blank,
    settle,
    without_bad,
)
from shortcut_miner.sources.opening.serialised import LISTS_NOTE, only_texts

REPEATED = "answer to a question answered already"
_EXPECTED = (
    f"a table or JSON list with an id ({', '.join(ID_NAMES)}) and an answer ({', '.join(ANSWER_NAMES)}), "
    "{id: answer}, VLMEvalKit results (index, prediction), lmms-eval or lm-eval samples, or an inspect_ai log"
)
_NAME_COLUMNS = "Name its columns with --columns, such as --columns question_id=ID,answer=TEXT"


def read_predictions(
    path: str | os.PathLike[str],
    *,
    columns: str | None = None,
    on_duplicate: OnDuplicate = "error",
    on_bad_row: OnBadRow = "error",
    allow_doc_id: bool = False,
) -> Reading:
    """Return a model's answers, one row a question, in file order.

    Parameters
    ----------
    path : path-like
        A plain, .gz or .zst file, a zip with one member, or ``archive.zip/member``.
    columns : str, optional
        Names in the file, as in ``question_id=uid,answer=response``: it is read as a flat table then. In
        samples and logs they are paths, such as ``question_id=doc.uid``.
    on_duplicate : {"error", "first", "last"}
        Raise for questions that are answered twice, or keep the first or the last answer.
    on_bad_row : {"error", "skip"}
        Raise for all rows that don't fit at once, or skip and count them.
    allow_doc_id : bool
        Take the number of the document as the id in lmms-eval samples that have no question id.

    Returns
    -------
    Reading
        A :class:`shortcut_miner.schemas.Predictions`: question_id and answer (String). Empty answers are
        kept; other columns are left out. Answers that are lists of one text, written as text, are these texts
        if all of them are. The notes say which fields of an evaluator's file were taken.

    Raises
    ------
    SourceError
        The file can't be read, is of another format (pickles are refused), does not tell the model's
        answer from the right one, or has bad rows: no id, an answer that is not text, an id twice.
    BackendError
        An .xlsx file without fastexcel (the extra ``evaluators``).

    Notes
    -----
    Tables and lists of records have an id (question_id, questionId, qid, id) and an answer (answer,
    prediction, pred, response, output, generated_text, pred_ans, text); a list may stand in an object under
    results, predictions, annotations or data. Where two columns may be what is asked for, an error asks.

    In VLMEvalKit results the model's answer is ``prediction`` and the id is ``question_id``, or else
    ``index``. In samples of lmms-eval and lm-eval the answer is the filtered response without the white
    space around it, or the likeliest choice; the id is ``doc.question_id`` or alike, or one that a metric
    holds. In logs of inspect_ai it is the output's completion, and the id ``metadata.question_id`` or ``id``.
    """
    options = AnswerOptions(columns=columns, on_duplicate=on_duplicate, on_bad_row=on_bad_row)
    return _read(path, options, allow_doc_id)


def read_answers(path: str | os.PathLike[str], options: AnswerOptions) -> Reading:
    """Return a model's answers as the options of a score say; see :func:`read_predictions`."""
    return _read(path, options, allow_doc_id=False)


def _read(path: str | os.PathLike[str], options: AnswerOptions, allow_doc_id: bool) -> Reading:
    source = open_source(path, keep_workbooks=True)
    content = Content(source)
    named = named_columns(options.columns, options.answer_columns)
    asked = Asked(named, allow_doc_id)
    rows: AnswerRows
    if named and not find_format(content, NESTED):
        kind, rows = f"predictions {content.table.form}", read_results(content, asked)
    else:
        found = known_format(content, PREDICTIONS, _EXPECTED, of_tables=_NAME_COLUMNS)
        kind, rows = found.kind, found.read(content, asked)
    rows = _with_texts(source, rows)
    problems = rows.problems + find_problems(rows.table, is_blank("question_id"), "question_id", "an id")
    table, dropped = _settled(source, rows, problems, options)
    notes = rows.notes + _empty_answer_notes(table)
    return Reading(table=table, kind=kind, file=source.facts(), dropped=dropped, notes=notes)


def _with_texts(source: Source, rows: AnswerRows) -> AnswerRows:
    """Return rows whose answers, if all of them are lists written as text, are the texts in these."""
    records = rows.table[RECORD]
    texts = only_texts(rows.table["answer"], source.path, lambda row: rows.label(records[row]))
    if texts is None:
        return rows
    note = f"answer, {LISTS_NOTE}: {(texts != rows.table['answer']).sum():,}"
    return replace(rows, table=rows.table.with_columns(answer=texts), notes=(*rows.notes, note))


def _settled(
    source: Source, rows: AnswerRows, problems: list[Problem], options: AnswerOptions
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return one answer a question, and how many rows were left out on request, by reason."""
    table, on_bad_row = rows.table, options.on_bad_row
    told = problems
    if on_bad_row == "skip":
        told, table = [], table.filter(~pl.col(RECORD).is_in(bad_records(problems)))
    if options.on_duplicate == "error" and (duplicates := find_duplicates(table, "question_id")):
        skip = " and skip the other rows with --on-bad-row skip" if told else ""
        advice = f"Fix them, or keep one answer a question with --on-duplicate first{skip}"
        settle(source, "predictions", duplicates + told, rows.total, None, rows.label, advice=advice)
    dropped = settle(source, "predictions", problems, rows.total, on_bad_row, rows.label)
    table, repeated = one_a_question(without_bad(rows.table, problems), options)
    return table, dropped | repeated


def one_a_question(table: pl.DataFrame, options: AnswerOptions) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the answer of each question that the options keep, and how many others there were, if any."""
    if options.on_duplicate == "error":
        return table, {}
    kept = table.unique("question_id", keep=options.on_duplicate, maintain_order=True)
    lost = len(table) - len(kept)
    return kept, {f"{REPEATED}, the {options.on_duplicate} one kept": lost} if lost else {}


def _empty_answer_notes(table: pl.DataFrame) -> tuple[str, ...]:
    empty = int((table["answer"] == "").sum())
    return (f"empty answers kept: {empty:,}",) if empty else ()
