"""Flat tables of answers and groups: nothing but question_id, answer and the group's column is needed."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from shortcut_miner.errors import SourceError, examples, problem_list
from shortcut_miner.options import OnBadRow, named_columns
from shortcut_miner.sources.images.image_ids import canonical_image_ids
from shortcut_miner.sources.known_formats import check_no_other_kind
from shortcut_miner.sources.opening.columns import Column, optional
from shortcut_miner.sources.opening.files import open_source
from shortcut_miner.sources.opening.reading import (
    Reading,
    find_duplicates,
    find_problems,
    is_blank,
    settle,
    without_bad,
)
from shortcut_miner.sources.opening.table_columns import check_has_rows, read_columns
from shortcut_miner.sources.questions.tables import QuestionTable, open_question_table

NEEDED = ("question_id", "answer", "group")
FURTHER = ("image_id", "question", "question_type", "answer_type", "split", "structural", "semantic")
FLAG = "is_balanced"
_FLAGS = {"true": True, "1": True, "false": False, "0": False}
COLUMNS = ("question_id", "answer", *FURTHER, FLAG)  # that --columns may name


def read_grouped_table(
    path: Path, group: str, columns: str | None, *, on_bad_row: OnBadRow = "error", limit: int | None = None
) -> Reading:
    """Return the questions of a flat table, in file order: the columns of :class:`.schemas.OodQuestions`.

    Parameters
    ----------
    path : Path
        Parquet, Arrow, CSV, JSON Lines, a JSON list of records or xlsx; plain, .gz or .zst, or a zip's
        member.
    group : str
        The file's column that groups questions; null where a question has no group.
    columns : str, optional
        Our names and the file's, as in question_id=qid,answer=label. image_id (else each question is an image
        of its own), question, question_type, answer_type, split, structural, semantic and is_balanced (else
        true) are read where they are there.
    on_bad_row, limit
        As of :func:`shortcut_miner.sources.questions.question_sets.read_questions`.

    Raises
    ------
    SourceError
        The file can't be read, lacks a column, or has bad rows: no id, no answer, an id twice.
    """
    opened = open_question_table(path)
    flat = opened.flat
    needs = _needs(opened, group, named_columns(columns, COLUMNS))
    check_has_rows(flat, "rows")
    table, problems = read_columns(flat, optional(needs), limit=limit)
    total = flat.total if limit is None else min(limit, flat.total)
    table = table.filter(pl.col("record") < total)
    problems = [one for one in problems if one.records[0] < total]
    if flat.is_untyped:
        table = table.with_columns(pl.col(pl.String).replace("", None))
    flag = pl.col(FLAG).str.to_lowercase()
    problems += find_problems(table, is_blank("question_id").fill_null(True), "question_id", "an id")
    problems += find_problems(table, pl.col("answer").is_null(), "answer", "an answer")
    problems += find_problems(table, ~flag.is_in([*_FLAGS]), FLAG, "true or false")
    problems += find_duplicates(table, "question_id")
    dropped = settle(flat.path, "questions", problems, total, on_bad_row, flat.label)
    good = without_bad(table, problems)
    image = pl.coalesce(pl.when(is_blank("image_id").not_()).then("image_id"), "question_id")
    image_ids, notes = canonical_image_ids(good.select(image_id=image).to_series())
    return Reading(
        table=good.select(
            *(name for name in good.columns if name not in ("image_id", FLAG)),
            image_ids.alias("image_id"),
            flag.replace_strict(_FLAGS, return_dtype=pl.Boolean).fill_null(True).alias(FLAG),
            answers=pl.lit(None, pl.List(pl.String)),
            answer_record_key=pl.lit(None, pl.List(pl.UInt8)),
        ),
        kind=f"grouped answers {flat.form}",
        file=opened.file.facts(),
        dropped=dropped,
        notes=(*flat.notes, *notes),
    )


def _needs(opened: QuestionTable, group: str, named: Mapping[str, str]) -> dict[str, Column]:
    """Return what to read of a table; SourceError for columns that must be there and aren't."""
    names = {name: named.get(name, name) for name in COLUMNS} | {"group": group}
    needs = {
        name: Column(
            "id" if name.endswith("_id") else "value", name not in NEEDED and name not in named, (theirs,)
        )
        for name, theirs in names.items()
    }
    needed = {ours: need.names[0] for ours, need in needs.items() if not need.is_optional}
    missing = {ours: theirs for ours, theirs in needed.items() if not opened.has(theirs)}
    if missing.keys() - named.keys() - {"group"}:
        check_no_other_kind(open_source(opened.flat.path, keep_workbooks=True), missing.values())
    if missing:
        title = (
            f"{opened.flat.path}: got a table of {opened.flat.total:,} rows with the columns "
            f"{examples(opened.flat.columns, limit=20)}, expected question_id, answer and the group. "
            "Name its columns with --columns and --group."
        )
        told = [f"column {name}: got no such column" for name in missing.values()]
        raise SourceError(problem_list(title, told))
    return needs
