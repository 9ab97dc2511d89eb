"""Any table as rows of words, objects, attributes and an answer: what ``mine`` reads."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import polars as pl

from shortcut_miner.errors import ConfigError, SourceError, examples, problem_list
from shortcut_miner.options import named_items
from shortcut_miner.sources.known_formats import check_no_other_kind
from shortcut_miner.sources.opening.columns import Column
from shortcut_miner.sources.opening.files import Opened, open_source
from shortcut_miner.sources.opening.flat_tables import FlatTable, open_flat_file
from shortcut_miner.sources.opening.item_columns import attributes, item_needs
from shortcut_miner.sources.opening.json_text import decoding_error
from shortcut_miner.sources.opening.nested import TEXTS, holds_texts, is_text, unpacked
from shortcut_miner.sources.opening.reading import RECORD, Problem, Reading, bad_records
from shortcut_miner.sources.opening.serialised import LISTS_NOTE, unpacked_cells
from shortcut_miner.sources.opening.table_columns import read_columns
from shortcut_miner.text import basic_english

WITHOUT_ANSWER = "rows without an answer"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which columns hold what; text in `objects` is split at `separator`.

    Each value of `item_columns` (names with commas between) is an attribute, "column=value".
    """

    words: str | None
    objects: str | None
    answer: str
    separator: str
    item_columns: str | None = None

    def needs(self) -> dict[str, Column]:
        """Return what to read, by our names."""
        named = {"words": self.words, "objects": self.objects, "answer": self.answer}
        needs = {ours: Column("any", names=(name,)) for ours, name in named.items() if name is not None}
        return needs | item_needs(named_items(self.item_columns))


def read_table(path: Path, columns: Columns, *, skip_bad_rows: bool, limit: int | None) -> Reading:
    """Read a Parquet, Arrow, CSV, JSON Lines or xlsx table, or a JSON list of records.

    Returns
    -------
    Reading
        words and objects (List[String]; null = no such column or cell) and answer (String); with
        item columns also attributes (List[String]; a cell without a value gives none).

    Raises
    ------
    SourceError
        The file can't be read, lacks a column, or has cells that don't fit.
    ConfigError
        Neither words nor objects nor item columns.
    """
    return read_opened(*open_items(path, columns), columns, skip_bad_rows=skip_bad_rows, limit=limit)


def read_opened(
    file: Opened, flat: FlatTable, columns: Columns, *, skip_bad_rows: bool, limit: int | None
) -> Reading:
    """Return what :func:`read_table` returns of a table that :func:`open_items` has opened."""
    table, problems = read_columns(flat, columns.needs(), limit=limit)
    if problems:
        raise _unfit(flat, problems)
    rows = item_rows(flat, table if limit is None else table.head(limit), columns)
    known = with_answer(rows)
    lost = len(rows) - len(known)
    check_answers(flat, columns, lost, len(rows), skip_bad_rows=skip_bad_rows)
    return item_reading(file, flat, known, lost)


def open_items(path: Path, columns: Columns) -> tuple[Opened, FlatTable]:
    """Return a file, and its table, which has all columns to read; see :func:`read_table` for errors."""
    file, flat = open_flat_file(path)
    if columns.words is None and columns.objects is None and not named_items(columns.item_columns):
        raise ConfigError(
            f"--words, --objects: got neither, expected a column of items of {flat.path}. Name one or both "
            f"of {examples(flat.columns, limit=20)}."
        )
    needs = columns.needs()
    if missing := flat.missing(needs):
        whole = open_source(path, keep_workbooks=True)
        check_no_other_kind(whole, [need.names[0] for need in needs.values()])
        raise SourceError(
            f"{flat.path}: got a table with the columns {examples(flat.columns, limit=20) or 'none'}, "
            f"expected {examples(dict.fromkeys(missing))} too. "
            "Name its columns with --words, --objects, --item-columns and --answer."
        )
    return file, flat


def item_rows(
    flat: FlatTable, table: pl.DataFrame, columns: Columns, lists: Mapping[str, bool | None] | None = None
) -> pl.DataFrame:
    """Return the words, objects, perhaps attributes and answer of what was read of a table.

    `lists` says of a part of a table whether texts of words, or of objects, are lists, as all of them tell.
    See :func:`read_table` for errors.
    """
    items, lists = named_items(columns.item_columns), lists or {}
    return pl.DataFrame(
        {
            "words": listed_items(flat, table, "words", columns, lists.get("words")),
            "objects": listed_items(flat, table, "objects", columns, lists.get("objects")),
            **table.select(attributes(items, is_untyped=flat.is_untyped) if items else ()).to_dict(),
            "answer": _answers(flat, table["answer"], columns.answer),
        }
    )


def with_answer(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that have an answer."""
    return rows.filter(pl.col("answer").str.len_bytes() > 0)


def check_answers(flat: FlatTable, columns: Columns, lost: int, total: int, *, skip_bad_rows: bool) -> None:
    """Raise SourceError if no row has an answer, or some have none and are not to be skipped."""
    if lost == total or (lost and not skip_bad_rows):
        advice = "Correct them" if lost == total else "Correct them, or skip them with --on-bad-row skip"
        raise SourceError(
            f"{flat.path}: got {lost:,} of {total:,} rows without text in {columns.answer!r}, "
            f"expected none. {advice}."
        )


def item_reading(
    file: Opened, flat: FlatTable, table: pl.DataFrame, lost: int, content_sha256: str | None = None
) -> Reading:
    """Return what was read: the rows, or none of them and their digest."""
    return Reading(
        table=table,
        kind=f"items {flat.form}",
        file=file.facts(),
        dropped={WITHOUT_ANSWER: lost} if lost else {},
        notes=flat.notes,
        content_sha256=content_sha256,
    )


def _unfit(flat: FlatTable, problems: Sequence[Problem]) -> SourceError:
    broken = [problem for problem in problems if problem.field == "record"]
    if flat.form.startswith("JSON") and broken:
        title = "got lines that are no JSON objects, expected one record a line"
        told = [f"{flat.label(at)}: {decoding_error(flat.content[at])}" for at in bad_records(broken)]
    elif flat.form.startswith("JSON"):
        title = "got records that don't fit, expected none"
        told = [
            f"{flat.label(one.records[0])}, {one.field}: got {one.got}, expected {one.expected}"
            for one in problems
        ]
    else:
        width = f"{len(flat.columns)}"
        title = f"got rows that differ from the header, expected {width} values"
        told = [f"{flat.label(one.records[0])}: got {one.got}, expected {width}" for one in problems]
    return SourceError(problem_list(f"{flat.path}: {title}. Correct them.", told))


def listed_items(
    flat: FlatTable,
    table: pl.DataFrame,
    kind: Literal["words", "objects"],
    columns: Columns,
    holds_lists: bool | None = None,
) -> pl.Series:
    """Return List[String]: lists as they are, nested or written as text; other text is split.

    Words are split by the tokeniser, objects at the separator. See :func:`item_rows` for `holds_lists`.
    """
    name = columns.words if kind == "words" else columns.objects
    if name is None:
        return pl.Series([None], dtype=TEXTS).new_from_index(0, len(table))
    column = table[kind]
    if isinstance(column.dtype, pl.List | pl.Array) and holds_texts(column.dtype):
        return table.select(unpacked(pl.col(kind), column.dtype)).to_series()
    if column.dtype == pl.Null:
        return column.cast(TEXTS)
    if not is_text(column.dtype):
        raise _wrong_type(flat, column, name, "text or lists of text")
    table = table.with_columns(pl.col(kind).cast(pl.String))
    found = unpacked_cells(
        table[kind],
        flat.path,
        name,
        lambda row: flat.label(table[RECORD][row]),
        is_sentence=kind == "words",
        holds_lists=holds_lists,
    )
    if found:
        flat.decisions[f"{name}, {LISTS_NOTE}"] += found[0].count()
        return found[0]
    if kind == "words":
        return table.select(basic_english(pl.col(kind))).to_series()
    split = pl.col(kind).str.split(columns.separator).list.eval(pl.element().str.strip_chars())
    return table.select(split.list.eval(pl.element().filter(pl.element().str.len_bytes() > 0))).to_series()


def _answers(flat: FlatTable, column: pl.Series, name: str) -> pl.Series:
    if column.dtype == pl.Null or is_text(column.dtype) or column.dtype.is_integer():
        return column.cast(pl.String)
    raise _wrong_type(flat, column, name, "text or whole numbers")


def _wrong_type(flat: FlatTable, column: pl.Series, name: str, expected: str) -> SourceError:
    return SourceError(
        f"{flat.path}: got {column.dtype} in the column {name!r}, expected {expected}. "
        "Convert it, or name another column."
    )
