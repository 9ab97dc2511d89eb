"""Values of questions in flat tables of every form, such as probabilities; and lists of question ids."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal

import msgspec
import polars as pl

from shortcut_miner.columnar import columnar_form
from shortcut_miner.errors import SourceError, examples
from shortcut_miner.options import OnBadRow
from shortcut_miner.sources.known_formats import check_no_other_kind
from shortcut_miner.sources.opening.columns import Column
from shortcut_miner.sources.opening.containers import is_workbook
from shortcut_miner.sources.opening.csv_text import decoded, header_names
from shortcut_miner.sources.opening.files import Source, open_source
from shortcut_miner.sources.opening.flat_tables import FlatTable, open_table
from shortcut_miner.sources.opening.ids import AnyId, id_column, is_float, with_whole_ids
from shortcut_miner.sources.opening.json_text import (
    DECODE_ERRORS,
    fields_of,
    first_bytes,
    parse_json,
    split_lines,
)
from shortcut_miner.sources.opening.reading import (
    Reading,
    find_problems,
    settle,
    without_bad,
)
from shortcut_miner.sources.opening.table_columns import check_has_rows, read_columns

Kind = Literal["id", "number", "index"]
QUESTION_ID = "question_id"
_IDS = (QUESTION_ID, "questionId")
_WORDS = {"id": "an id", "number": "a finite number", "index": "a whole number of 0 or more"}


def read_question_values(
    path: str | os.PathLike[str],
    columns: Mapping[str, Kind],
    *,
    what: str = "rows",
    on_bad_row: OnBadRow = "error",
) -> Reading:
    """Return the named columns of a flat file, in file order.

    Parameters
    ----------
    path : path-like
        Parquet, Arrow, CSV, JSON Lines, a JSON list of records or xlsx; plain, .gz or .zst, or a zip's
        member.
        ``questionId`` is read as question_id.
    columns : mapping of str to {"id", "number", "index"}
        Column -> what it holds: String, finite Float64, or UInt32.
    what : str
        What the rows are, for messages.
    on_bad_row : {"error", "skip"}
        Raise for all rows that don't fit at once, or skip and count them.

    Raises
    ------
    SourceError
        The file can't be read, lacks a column, or has rows that don't fit: all at once.
    """
    source = open_source(path, keep_workbooks=True)
    return _read_values(source, open_table(source), columns, what, on_bad_row)


def values_reader(
    path: str | os.PathLike[str],
    columns: Mapping[str, Kind],
    given: str,
    *,
    names: Mapping[str, str] | None = None,
    what: str = "rows",
    on_bad_row: OnBadRow = "error",
) -> Callable[[], Reading] | None:
    """Return what reads a file as :func:`read_question_values`; None if no record has the column `given`.

    The file is opened once; without that name anywhere it is not split into records at all. `names` are the
    file's names of columns that the user named: these must be there.
    """
    names = names or {}
    source = open_source(path, keep_workbooks=True)
    is_text = not (columnar_form(source.content) or is_workbook(source.content))
    if given not in names and is_text and given.encode() not in source.content:
        return None
    flat = open_table(source)
    if given not in names and flat.missing({given: Column("any")}):
        return None
    return partial(_read_values, source, flat, columns, what, on_bad_row, names)


def _read_values(
    source: Source,
    flat: FlatTable,
    columns: Mapping[str, Kind],
    what: str,
    on_bad_row: OnBadRow | None = None,
    names: Mapping[str, str] | None = None,
) -> Reading:
    is_json = flat.form.startswith("JSON")
    called = {QUESTION_ID: _IDS} | {ours: (theirs,) for ours, theirs in (names or {}).items()}
    needs = {
        name: Column("whole" if kind == "index" else kind, names=called.get(name, ()))
        for name, kind in columns.items()
    }
    if (flat.total or not is_json) and (missing := flat.missing(needs)):
        check_no_other_kind(source, columns)
        raise SourceError(
            f"{source.path}: got records with {examples(flat.columns, limit=20) or 'nothing'}, expected "
            f"{', '.join(missing)} too. Check that this is the right file."
        )
    check_has_rows(flat, "records" if is_json else "rows")
    table, problems = read_columns(flat, needs)
    indices = [name for name, kind in columns.items() if kind == "index"]
    table = table.with_columns(pl.col(indices).cast(pl.UInt32, strict=False))
    for name, kind in columns.items():
        is_bad = pl.col(name).is_null()
        if kind == "number":
            is_bad = is_bad | ~pl.col(name).is_finite()
        elif kind == "id":
            is_bad = is_bad | (pl.col(name).str.strip_chars() == "")
        problems += find_problems(table, is_bad.fill_null(value=True), name, _WORDS[kind])
    dropped = settle(source, what, problems, flat.total, on_bad_row, flat.label)
    good = without_bad(table, problems)
    return Reading(
        table=good, kind=f"table of {what}", file=source.facts(), dropped=dropped, notes=flat.notes
    )


def read_id_list(path: str | os.PathLike[str]) -> tuple[pl.Series, Reading]:
    """Return question ids: a JSON list of ids, an object's keys, lines, or a flat table of any form.

    Raises
    ------
    SourceError
        The file can't be read, holds no ids, or an id twice.
    """
    source = open_source(path, keep_workbooks=True)
    given, notes = _ids(source)
    ids, bad = given[QUESTION_ID], given.filter(is_float(pl.col(QUESTION_ID)))[QUESTION_ID]
    if len(bad):
        raise SourceError(
            f"{source.path}: got ids that are no whole numbers ({examples(bad)}), expected text or whole "
            "numbers. Correct them."
        )
    if not len(ids):
        raise SourceError(f"{path}: got no ids, expected at least one. Check that this is the right file.")
    repeated = ids.filter(ids.is_duplicated()).unique(maintain_order=True)
    if len(repeated):
        raise SourceError(
            f"{path}: got {len(repeated):,} ids more than once ({examples(repeated)}), expected each once. "
            "Remove them."
        )
    return ids, Reading(table=given, kind="list of question ids", file=source.facts(), notes=notes)


def _ids(source: Source) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return the listed ids, and notes on them."""
    start = first_bytes(source.content)
    if columnar_form(source.content) or is_workbook(source.content):
        return _id_column(source)
    if start not in (b"[", b"{"):
        lines = decoded(source.path, source.content).splitlines()
        listed = [line.strip() for line in lines if line.strip()]
        if listed and {*_IDS} & {*header_names(source.content.split(b"\n", maxsplit=1)[0])}:
            return _id_column(source)
        return _listed(listed)
    records = split_lines(source) if start == b"{" else []
    if records and fields_of(records[0][1]).keys() & {*_IDS}:
        return _id_column(source)
    top = parse_json(source).top
    if isinstance(top, dict):
        return _listed(list(top))
    try:
        plain = msgspec.json.decode(source.content, type=list[AnyId])
    except DECODE_ERRORS:
        return _id_column(source)
    return _listed(plain)


def _listed(ids: Sequence[AnyId]) -> tuple[pl.DataFrame, tuple[str, ...]]:
    return with_whole_ids(pl.DataFrame({QUESTION_ID: id_column(ids)}), QUESTION_ID)


def _id_column(source: Source) -> tuple[pl.DataFrame, tuple[str, ...]]:
    reading = _read_values(source, open_table(source), {QUESTION_ID: "id"}, "ids")
    return reading.table, reading.notes
