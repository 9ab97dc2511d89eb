"""Questions with their answers, from whatever set of files they were released as.

=========================  ======================================  =========================================
set                        files                                   a question's answer
=========================  ======================================  =========================================
VQA v1/v2, VQA-CP v1/v2    questions and annotations               ``multiple_choice_answer``
OK-VQA, TDIUC              questions and annotations               the annotators' most frequent one
A-OKVQA                    one list                                the most frequent of ``direct_answers``
TextVQA, VizWiz, VQA-X     one file                                the annotators' most frequent one
LXMERT                     one list                                the ``label`` of most weight
GQA                        one file, or a folder of them           ``answer``
VisDial                    one file                                that of the round
POPE                       JSON Lines                              ``label``
tables                     :mod:`.tables`                          the column ``answer``
=========================  ======================================  =========================================

Of several most frequent or heaviest answers the first one in the file counts. Ids are the files', but
VizWiz's are the images' names, and VisDial's ``<image_id>_<round>``.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.options import OnBadRow, option_name
from shortcut_miner.schemas import Questions
from shortcut_miner.sources.known_formats import known_format
from shortcut_miner.sources.opening.files import open_source
from shortcut_miner.sources.opening.kinds import Content, Format, find_format
from shortcut_miner.sources.opening.reading import Reading, check_on_bad_row
from shortcut_miner.sources.questions.formats import GQA, QUESTIONS, SETS
from shortcut_miner.sources.questions.gqa import read_gqa_questions
from shortcut_miner.sources.questions.tables import column_names, is_table, read_question_table
from shortcut_miner.sources.questions.vqa import read_vqa
from shortcut_miner.sources.questions.vqa_questions import check_limit

_ALONE = (*SETS, *GQA)  # hold their own answers
_KINDS = ", ".join(one.kind for one in (*QUESTIONS, *_ALONE))


def read_questions(
    questions: Path,
    annotations: Path | None,
    columns: Mapping[str, str] | None = None,
    *,
    roles: tuple[str, str] = ("questions", "annotations"),
    is_numbered: bool = False,
    on_bad_row: OnBadRow = "error",
    limit: int | None = None,
) -> tuple[pl.DataFrame, dict[str, Reading]]:
    """Return questions with their answers, and the readings by role.

    Parameters
    ----------
    questions : Path
        A file of one of the sets above, a flat table of questions and answers, or a folder of GQA questions.
    annotations : Path or None
        The answers, where they are in a file of their own.
    columns : mapping of str to str, optional
        Our column -> the table's; see :func:`.tables.column_names`.
    roles : pair of str
        The options that take the two files: names of the readings, and of the options in messages.
    is_numbered : bool
        Number the rows of a table without ids, from 1.
    on_bad_row : {"error", "skip"}
        Raise for all rows that don't fit at once, or skip and count them.
    limit : int, optional
        Keep the first `limit` questions.

    Returns
    -------
    table : DataFrame
        A :class:`shortcut_miner.schemas.Questions`, in file order.
    readings : dict of str to Reading

    Raises
    ------
    SourceError
        A file that can't be read or has rows that don't fit.
    ConfigError
        Annotations of a file that holds its own answers, or none of one that doesn't; columns of no table.
    """
    if annotations is not None:
        refuse_columns(columns, questions)
        try:
            table, *readings = read_vqa(questions, annotations, on_bad_row=on_bad_row, limit=limit)
        except SourceError:
            _check_needs_annotations(questions, annotations, roles[1])
            raise
        return table, dict(zip(roles, readings, strict=True))
    if Path(questions).is_dir():
        refuse_columns(columns, questions)
        reading = read_gqa_questions(questions, on_bad_row=on_bad_row, limit=limit)
    else:
        reading = _read_alone(questions, columns, roles[1], is_numbered, on_bad_row, limit)
    return reading.table.select(Questions.column_names()), {roles[0]: reading}


def read_question_set(
    path: str | os.PathLike[str], *, on_bad_row: OnBadRow = "error", limit: int | None = None
) -> Reading:
    """Return the questions of a set whose one file holds their answers, in file order.

    Parameters
    ----------
    path : path-like
        A plain, .gz or .zst file, a zip with one member, or ``archive.zip/member``.
    on_bad_row : {"error", "skip"}
        Raise for all records that don't fit at once, or skip and count them.
    limit : int, optional
        Look only at the first `limit` questions.

    Returns
    -------
    Reading
        A :class:`shortcut_miner.schemas.Questions`; answer is null only where LXMERT's label is empty.

    Raises
    ------
    SourceError
        The file can't be read, is of another format, has no answers (test questions), or has bad records: no
        or blank ids, a blank question, no answer, a question id twice.
    """
    check_on_bad_row(on_bad_row)
    check_limit(limit)
    content = Content(open_source(path, keep_workbooks=True))
    found = known_format(content, SETS, f"a set with its answers: {', '.join(one.kind for one in SETS)}")
    reading: Reading = found.read(content, on_bad_row, limit)
    return reading


def _read_alone(
    path: Path,
    columns: Mapping[str, str] | None,
    needed: str,
    is_numbered: bool,
    on_bad_row: OnBadRow,
    limit: int | None,
) -> Reading:
    """Return the questions of one file; `needed` is the option that would take its annotations."""
    content = Content(open_source(path, keep_workbooks=True))
    found = format_of(content)
    if found in QUESTIONS:
        raise ConfigError(
            f"{needed}: got none for {path}, expected the answers to its questions. "
            f"Give {option_name(needed)}, or a table of questions and answers."
        )
    if found is not None:
        check_on_bad_row(on_bad_row)
        check_limit(limit)
        refuse_columns(columns, path)
        reading: Reading = found.read(content, on_bad_row, limit)
        return reading
    names = columns or column_names(None)
    if not is_table(content) and names["question"] not in content.json.top:  # no row alone either
        known_format(content, _ALONE, f"one of {_KINDS}, or a table of questions and answers")
    return read_question_table(
        path, columns=columns, is_numbered=is_numbered, on_bad_row=on_bad_row, limit=limit
    )


def refuse_columns(columns: Mapping[str, str] | None, questions: Path) -> None:
    """Raise ConfigError if columns are named for questions that are no table."""
    named = [f"{ours}={theirs}" for ours, theirs in (columns or {}).items() if ours != theirs]
    if named:
        raise ConfigError(
            f"columns: got {','.join(named)} for {questions}, expected none: it is of a released set, whose "
            "fields are known. Leave out --columns, or give a table."
        )


def format_of(content: Content) -> Format | None:
    """Return which set a file is of; None if it may be a table, or is something else."""
    formats = (*_ALONE, *QUESTIONS)
    if content.forms[0] == "JSONL" and is_table(content):
        formats = tuple(one for one in formats if one.form == "JSONL")  # its lines are no one document
    return find_format(content, formats)


def _check_needs_annotations(questions: Path, annotations: Path, role: str) -> None:
    """Raise ConfigError if a file that VQA's reader refused holds its own answers."""
    try:
        found = format_of(Content(open_source(questions, keep_workbooks=True)))
    except SourceError:
        return  # told in the words of the reader
    if found in _ALONE:
        raise ConfigError(
            f"{role}: got {annotations} for {questions}, expected none: it is {found.kind}, which holds the "
            f"answers to its questions. Leave out {option_name(role)}."
        )
