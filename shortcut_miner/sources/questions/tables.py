"""Questions with their answers as flat tables of any form, one file or several, their columns named freely.

Forms: Parquet, Arrow, CSV, JSON Lines, a JSON list of records, xlsx.
"""

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import polars as pl

from shortcut_miner.errors import SourceError, examples, problem_list
from shortcut_miner.options import OnBadRow, named_columns
from shortcut_miner.sources.images.image_ids import canonical_image_ids
from shortcut_miner.sources.opening.class_labels import Classes
from shortcut_miner.sources.opening.files import facts_of_all
from shortcut_miner.sources.opening.flat_tables import open_flat_file, with_classes
from shortcut_miner.sources.opening.kinds import Content
from shortcut_miner.sources.opening.reading import Reading, check_on_bad_row
from shortcut_miner.sources.questions.table_rows import (
    COLUMNS,
    NAME_COLUMNS,
    OWN_COLUMNS,
    QuestionTable,
    Wanted,
    read_rows,
)

__all__ = [
    "COLUMNS", "OWN_COLUMNS", "QuestionTable", "Wanted", "check_same_columns", "column_names", "is_table",
    "open_question_table", "read_question_table", "read_question_tables",
]  # fmt: skip
_FILE = "file"
IN_SEVERAL = "question_id: expected in one file only"


def column_names(mapping: str | None, columns: Sequence[str] = COLUMNS) -> dict[str, str]:
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
    return dict(zip(columns, columns, strict=True)) | named_columns(mapping, columns)


def is_table(content: Content) -> bool:
    """Return whether a file is a flat table rather than one JSON object."""
    if content.forms[0] != "JSONL" or content.is_lines:
        return True
    try:
        content.json  # noqa: B018  # read as far as it goes
    except SourceError:  # lines whose first one is broken are told line by line
        return len(content.lines) > 1 and content.lines[0][1].rstrip().endswith(b"}")
    return False


def open_question_table(path: str | os.PathLike[str], classes: Classes | None = None) -> QuestionTable:
    """Return a file as a table, told by its content; `classes` are those that its folder tells of.

    Parquet and Arrow are left on disk: columns that nobody asks for, such as images, are never read.

    Raises
    ------
    SourceError
        The file can't be read, or is damaged.
    """
    file, flat = open_flat_file(path)
    return QuestionTable(flat=with_classes(flat, classes or {}), file=file)


def read_question_table(
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    is_numbered: bool = False,
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
    is_numbered : bool
        Number the rows of a table without ids, from 1.
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
    advice = "Rename its columns" if columns is None else NAME_COLUMNS
    wanted = Wanted(names=columns or column_names(None), is_numbered=is_numbered, advice=advice)
    return read_question_tables([open_question_table(path)], wanted, on_bad_row=on_bad_row, limit=limit)


def read_question_tables(
    tables: Sequence[QuestionTable],
    wanted: Wanted,
    *,
    first: int = 0,
    on_bad_row: OnBadRow = "error",
    limit: int | None = None,
) -> Reading:
    """Return the questions of one or several files as one table, in the order given.

    Parameters
    ----------
    tables : sequence of QuestionTable
        At least one.
    wanted : Wanted
        Which of their columns are read.
    first : int
        How many rows come before: where rows are numbered, the first one's number is one more.
    on_bad_row : {"error", "skip"}
        Raise for all rows of a file that don't fit at once, or skip and count them.
    limit : int, optional
        Look only at the first rows.

    Returns
    -------
    Reading
        A :class:`shortcut_miner.schemas.Questions`; where they were asked for and are there, with labels
        (List[String]; null where nothing is known), group (String) and attributes (List[String], sorted:
        ``column=value`` of each column of items that has a value).

    Raises
    ------
    SourceError
        As :func:`read_question_table`; files with other columns than the first, or with the same ids.
    """
    check_some_rows(tables)
    check_same_columns(tables, wanted)
    frames: list[pl.DataFrame] = []
    dropped: Counter[str] = Counter()
    left, start = limit, first + 1
    for at, table in enumerate(files_for(tables, limit)):
        frame, lost = read_rows(table, wanted, first, on_bad_row, left)
        frames.append(frame.with_columns(pl.lit(at, pl.UInt32).alias(_FILE)))
        dropped.update(lost)
        first += table.flat.total
        left = None if left is None else left - table.flat.total
    read = tables[: len(frames)]
    whole, repeated = _without_repeated(pl.concat(frames), read, on_bad_row)
    dropped.update(repeated)
    image_ids, image_notes = canonical_image_ids(whole["image_id"])
    whole = whole.with_columns(image_id=image_ids)
    kind = kind_of(read)
    parts = [
        Reading(table=whole.filter(pl.col(_FILE) == at).drop(_FILE), kind=kind, file=table.file.facts())
        for at, table in enumerate(read)
    ]
    files = [part.file for part in parts]
    return Reading(
        table=whole.drop(_FILE),
        kind=kind,
        file=files[0] if len(files) == 1 else facts_of_all(f"{len(files)} files", files),
        dropped={reason: count for reason, count in dropped.items() if count},
        notes=(*notes_of(read, wanted, start), *image_notes),
        parts=tuple(parts) if len(parts) > 1 else (),
    )


def check_some_rows(tables: Sequence[QuestionTable]) -> None:
    """Raise SourceError unless some file has rows."""
    if not any(table.flat.total for table in tables):
        named = " and ".join(table.flat.path for table in tables[:3])
        raise SourceError(f"{named}: got no rows, expected at least one. Check that this is the right file.")


def kind_of(tables: Sequence[QuestionTable]) -> str:
    """Return what files of questions are, in words."""
    return f"questions {', '.join(dict.fromkeys(one.flat.form for one in tables))}"


def check_same_columns(
    tables: Sequence[QuestionTable], wanted: Wanted, columns: Collection[str] | None = None
) -> None:
    """Raise SourceError unless all files have the same of the columns that are read, or of `columns`."""
    told = []
    for ours, theirs in wanted.names.items() if len(tables) > 1 else ():
        lacking = [one.file.name for one in tables if not one.has(theirs)]
        if 0 < len(lacking) < len(tables) and (columns is None or ours in columns):
            told.append(f"column {theirs}: not in {examples(lacking, limit=3)}")
    if told:
        raise SourceError(
            problem_list(
                f"{tables[0].flat.path} and {len(tables) - 1:,} more: got files with different columns, "
                "expected the same in all. Add what is missing, or leave it out of all.",
                told,
            )
        )


def files_for(tables: Sequence[QuestionTable], limit: int | None) -> Sequence[QuestionTable]:
    """Return the files that are needed for so many rows."""
    rows = 0
    for at, table in enumerate(tables, 1):
        rows += table.flat.total
        if limit is not None and rows >= limit:
            return tables[:at]
    return tables


def _without_repeated(
    rows: pl.DataFrame, tables: Sequence[QuestionTable], on_bad_row: OnBadRow
) -> tuple[pl.DataFrame, Mapping[str, int]]:
    """Return the rows without those whose id several files have, or raise for these."""
    is_repeated = rows["question_id"].is_duplicated() if len(tables) > 1 else pl.Series([False])
    if not is_repeated.any():
        return rows, {}
    repeated = rows.filter(is_repeated)
    if on_bad_row == "error" or len(repeated) == len(rows):
        ids = repeated["question_id"].unique(maintain_order=True)
        raise in_several(tables, repeated[_FILE].unique().sort().to_list(), ids.to_list(), len(ids))
    return rows.filter(~is_repeated), {IN_SEVERAL: len(repeated)}


def in_several(
    tables: Sequence[QuestionTable], files: Sequence[int], ids: Sequence[str], count: int
) -> SourceError:
    """Return the error for `count` ids that several files have, of which the first are given."""
    names = [tables[at].flat.path for at in files]
    return SourceError(
        f"{' and '.join(names[:3])}: got {count:,} question_ids in several files "
        f"({examples(ids, total=count)}), expected each in one. Leave one of the files out, or skip these "
        "questions with --on-bad-row skip."
    )


def notes_of(tables: Sequence[QuestionTable], wanted: Wanted, start: int) -> tuple[str, ...]:
    """Return what was repaired, of which file of several, and what was decided, counted of all."""
    decisions: Counter[str] = Counter()
    for one in tables:
        decisions.update(one.flat.decisions)
    names = [f"{one.file.name}: " if len(tables) > 1 else "" for one in tables]
    repairs = [f"{name}{text}" for name, one in zip(names, tables, strict=True) for text in one.flat.repairs]
    numbered = wanted.numbers_rows and not tables[0].takes(wanted, "question_id")
    own = [f"no column {wanted.names['question_id']}: rows are numbered from {start:,}"] if numbered else []
    return (*own, *repairs, *(f"{what}: {count:,}" for what, count in decisions.items() if count))
