"""Questions with their answers, from whatever set of files they were released as."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from shortcut_miner.errors import ConfigError
from shortcut_miner.options import OnBadRow, option_name
from shortcut_miner.schemas import Questions
from shortcut_miner.sources.opening.files import open_source
from shortcut_miner.sources.opening.kinds import Content, find_format
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.sources.questions.formats import GQA, QUESTIONS
from shortcut_miner.sources.questions.gqa import read_gqa_questions
from shortcut_miner.sources.questions.gqa_questions import is_gqa_questions
from shortcut_miner.sources.questions.tables import is_table, read_question_table
from shortcut_miner.sources.questions.vqa import read_vqa
from shortcut_miner.sources.recognise import known_format


def read_questions(
    questions: Path,
    annotations: Path | None,
    columns: Mapping[str, str] | None = None,
    *,
    roles: tuple[str, str] = ("questions", "annotations"),
    on_bad_row: OnBadRow = "error",
    limit: int | None = None,
) -> tuple[pl.DataFrame, dict[str, Reading]]:
    """Return questions with their answers, and the readings by role.

    Parameters
    ----------
    questions : Path
        VQA questions JSON, GQA questions JSON, or a flat table of questions and answers.
    annotations : Path or None
        The answers, where they are in a file of their own.
    columns : mapping of str to str, optional
        Our column -> the table's; see :func:`.tables.column_names`.
    roles : pair of str
        The options that take the two files: names of the readings, and of the options in messages.
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
        A table with annotations, or a questions JSON without.
    """
    if annotations is not None:
        table, *readings = read_vqa(questions, annotations, on_bad_row=on_bad_row, limit=limit)
        return table, dict(zip(roles, readings, strict=True))
    source = open_source(questions, keep_workbooks=True)
    if not is_table(source):
        content = Content(source)
        if find_format(content, QUESTIONS) is None:
            known_format(content, GQA, "VQA or GQA questions JSON, or a table of questions and answers")
        elif not is_gqa_questions(content.json.top):
            raise ConfigError(
                f"{roles[1]}: got none for {questions}, expected the answers to its questions. "
                f"Give {option_name(roles[1])}, or a table of questions and answers."
            )
        reading = read_gqa_questions(questions, on_bad_row=on_bad_row, limit=limit)
        return reading.table.select(Questions.column_names()), {roles[0]: reading}
    reading = read_question_table(questions, columns=columns, on_bad_row=on_bad_row, limit=limit)
    return reading.table, {roles[0]: reading}
