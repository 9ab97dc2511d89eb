"""Questions with their answers as one flat table of any form, its columns named freely.

Forms: Parquet, Arrow, CSV, JSON Lines, a JSON list of records, xlsx.
"""

import os
from collections.abc import Mapping

import polars as pl

from shortcut_miner.errors import SourceError, examples, problem_list
from shortcut_miner.options import OnBadRow, named_columns
from shortcut_miner.sources.images.image_ids import canonical_image_ids
from shortcut_miner.sources.opening.columns import Column, Kind, optional
from shortcut_miner.sources.opening.files import Source, open_source
from shortcut_miner.sources.opening.flat_tables import FlatTable, open_table, read_columns
from shortcut_miner.sources.opening.json_text import decoding_error, first_bytes, split_lines
from shortcut_miner.sources.opening.reading import (
    RECORD,
    Problem,
    Reading,
    bad_records,
    check_on_bad_row,
    find_duplicates,
    find_problems,
    is_blank,
    settle,
    without_bad,
)
from shortcut_miner.sources.recognise import check_no_other_kind

COLUMNS = (
    "question_id", "image_id", "question", "question_type", "answer_type", "answer", "answers", "split",
)  # fmt: skip
_NEEDED = ("question_id", "question", "answer")
_KINDS: dict[str, Kind] = {"question_id": "id", "image_id": "id", "answers": "texts"}
_KEY = "answer_record_key"
_NAME, _RENAME = "Name its columns with --columns", "Rename its columns"


def column_names(mapping: str | None) -> dict[str, str]:
    """Return our column -> the file's, as in ``question=text,answer=label``.

    Raises
    ------
    ConfigError
        A part that is no NAME=COLUMN, or a name that is none of ours.

    Examples
    --------
    >>> column_names("answer=label")["answer"], column_names(None)["answer"]
    ('label', 'answer')
    """
    return dict(zip(COLUMNS, COLUMNS, strict=True)) | named_columns(mapping, COLUMNS)


def is_table(source: Source) -> bool:
    """Return whether a file is a flat table rather than one JSON document."""
    if first_bytes(source.content) != b"{":
        return True
    lines = split_lines(source)
    return len(lines) > 1 and lines[0][1].rstrip().endswith(b"}")


def read_question_table(
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    on_bad_row: OnBadRow = "error",
    limit: int | None = None,
) -> Reading:
    """Return the questions of a flat table, in file order.

    Parameters
    ----------
    path : path-like
        Parquet, Arrow (Feather 2), CSV (comma, semicolon, tab), JSON Lines, a JSON list of records or xlsx;
        plain, .gz or .zst, or a zip's member.
    columns : mapping of str to str, optional
        Our column -> the file's (see :func:`column_names`); None where the user has no such option.
        question_id, question and answer are needed; without image_id each question is its own image. answers
        is a list of texts, of records with an answer, or a record of such lists (Hugging Face); in text a
        JSON list, Python's, or ``|`` between.
    on_bad_row : {"error", "skip"}
        Raise for all rows that don't fit at once, or skip and count them.
    limit : int, optional
        Look only at the first rows.

    Returns
    -------
    Reading
        A :class:`shortcut_miner.schemas.Questions`.

    Raises
    ------
    SourceError
        The file can't be read, lacks a column, or has bad rows: no id, a blank question, an id twice.
    """
    check_on_bad_row(on_bad_row)
    source = open_source(path, keep_workbooks=True)
    flat = open_table(source)
    advice = _RENAME if columns is None else _NAME
    needs = _needs(source, flat, columns or column_names(None), advice)
    table, broken = read_columns(flat, needs, advice=advice)
    total = flat.total if limit is None else min(limit, flat.total)
    table = table.filter(pl.col(RECORD) < total).with_columns(
        image_id=pl.when(is_blank("image_id").not_()).then("image_id").otherwise("question_id")
    )
    problems = [
        *(_in_lines(flat, one) for one in broken if one.records[0] < total),
        *find_problems(table, is_blank("question_id").fill_null(True), "question_id", "an id"),
        *find_problems(table, is_blank("question").fill_null(True), "question", "text that is not blank"),
        *find_duplicates(table, "question_id"),
    ]
    dropped = settle(source, "questions", problems, total, on_bad_row, flat.label)
    table = table.filter(~pl.col(RECORD).is_in(pl.Series(bad_records(problems), dtype=pl.UInt32).implode()))
    image_ids, notes = canonical_image_ids(table["image_id"])
    table = without_bad(table.with_columns(image_id=image_ids), problems)
    return Reading(
        table=table.select(*COLUMNS[:7], _KEY, "split"),
        kind=f"questions {flat.form}",
        file=source.facts(),
        dropped=dropped,
        notes=flat.notes + notes,
    )


def _needs(source: Source, flat: FlatTable, names: Mapping[str, str], advice: str) -> dict[str, Column]:
    """Return what to read: columns named by the user must be there."""
    needs = {
        name: Column(_KINDS.get(name, "value"), name not in _NEEDED and theirs == name, (theirs,))
        for name, theirs in names.items()
    }
    found = flat.names(needs)
    missing = [
        f"column {names[name]}: got no such column, expected the {name} of each row"
        for name, need in needs.items()
        if found[name] is None and not need.is_optional
    ]
    if missing:
        check_no_other_kind(source, [names[name] for name in _NEEDED])
    if missing or not flat.total:
        got = f"a table of {flat.total:,} rows with the columns {examples(flat.columns, limit=20)}"
        title = f"{flat.path}: got {got}, expected {', '.join(_NEEDED)}. {advice}."
        raise SourceError(problem_list(title, missing))
    needs[_KEY] = Column("keys", is_optional=True, names=(names["answers"],))
    return optional(needs)  # a record may lack one


def _in_lines(flat: FlatTable, problem: Problem) -> Problem:
    """Return the problem of a record; that of a line that is no JSON object in words of lines."""
    if flat.form != "JSONL" or problem.field != "record":
        return problem
    got = f"broken JSON ({decoding_error(flat.content[problem.records[0]])})"
    return Problem(problem.records, "line", got, "one JSON object a line")
