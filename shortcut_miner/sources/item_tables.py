"""Any table as rows of words, objects, attributes and an answer: what ``mine`` reads."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from shortcut_miner.errors import ConfigError, SourceError, examples, problem_list
from shortcut_miner.options import named_items
from shortcut_miner.sources.opening.columns import Column
from shortcut_miner.sources.opening.files import Source, open_source
from shortcut_miner.sources.opening.flat_tables import FlatTable, open_table
from shortcut_miner.sources.opening.item_columns import attributes, item_needs
from shortcut_miner.sources.opening.json_text import decoding_error
from shortcut_miner.sources.opening.nested import TEXTS, holds_texts, is_text, unpacked
from shortcut_miner.sources.opening.reading import RECORD, Problem, Reading, bad_records
from shortcut_miner.sources.opening.serialised import LISTS_NOTE, unpacked_cells
from shortcut_miner.sources.opening.table_columns import read_columns
from shortcut_miner.sources.recognise import check_no_other_kind
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
    items = named_items(columns.item_columns)
    source = open_source(path, keep_workbooks=True)
    flat = open_table(source)
    if columns.words is None and columns.objects is None and not items:
        raise ConfigError(
            f"--words, --objects: got neither, expected a column of items of {flat.path}. Name one or both "
            f"of {examples(flat.columns, limit=20)}."
        )
    table = _read(source, flat, columns)
    table = table if limit is None else table.head(limit)
    rows = pl.DataFrame(
        {
            "words": _items(flat, table, "words", columns.words, None),
            "objects": _items(flat, table, "objects", columns.objects, columns.separator),
            **table.select(attributes(items, is_untyped=flat.is_untyped) if items else ()).to_dict(),
            "answer": _answers(flat, table["answer"], columns.answer),
        }
    )
    known = rows.filter(pl.col("answer").str.len_bytes() > 0)
    lost = len(rows) - len(known)
    if known.is_empty() or (lost and not skip_bad_rows):
        advice = "Correct them" if known.is_empty() else "Correct them, or skip them with --on-bad-row skip"
        raise SourceError(
            f"{flat.path}: got {lost:,} of {len(rows):,} rows without text in {columns.answer!r}, "
            f"expected none. {advice}."
        )
    dropped = {WITHOUT_ANSWER: lost} if lost else {}
    return Reading(
        table=known, kind=f"items {flat.form}", file=source.facts(), dropped=dropped, notes=flat.notes
    )


def _read(source: Source, flat: FlatTable, columns: Columns) -> pl.DataFrame:
    needs = columns.needs()
    if missing := flat.missing(needs):
        check_no_other_kind(source, [need.names[0] for need in needs.values()])
        raise SourceError(
            f"{flat.path}: got a table with the columns {examples(flat.columns, limit=20) or 'none'}, "
            f"expected {examples(dict.fromkeys(missing))} too. "
            "Name its columns with --words, --objects, --item-columns and --answer."
        )
    table, problems = read_columns(flat, needs)
    if problems:
        raise _unfit(flat, problems)
    return table


def _unfit(flat: FlatTable, problems: Sequence[Problem]) -> SourceError:
    if flat.form.startswith("JSON"):
        title = "got lines that are no JSON objects, expected one record a line"
        told = [f"{flat.label(at)}: {decoding_error(flat.content[at])}" for at in bad_records(problems)]
    else:
        width = f"{len(flat.columns)}"
        title = f"got rows that differ from the header, expected {width} values"
        told = [f"{flat.label(one.records[0])}: got {one.got}, expected {width}" for one in problems]
    return SourceError(problem_list(f"{flat.path}: {title}. Correct them.", told))


def _items(
    flat: FlatTable, table: pl.DataFrame, ours: str, name: str | None, separator: str | None
) -> pl.Series:
    """Return List[String]: lists as they are, nested or written as text; other text is split.

    Words are split by the tokeniser, objects at the separator.
    """
    if name is None:
        return pl.Series([None], dtype=TEXTS).new_from_index(0, len(table))
    column = table[ours]
    if isinstance(column.dtype, pl.List | pl.Array) and holds_texts(column.dtype):
        return table.select(unpacked(pl.col(ours), column.dtype)).to_series()
    if column.dtype == pl.Null:
        return column.cast(TEXTS)
    if not is_text(column.dtype):
        raise _wrong_type(flat, column, name, "text or lists of text")
    table = table.with_columns(pl.col(ours).cast(pl.String))
    found = unpacked_cells(
        table[ours],
        flat.path,
        name,
        lambda row: flat.label(table[RECORD][row]),
        is_sentence=separator is None,
    )
    if found:
        flat.decisions[f"{name}, {LISTS_NOTE}"] = found[0].count()
        return found[0]
    if separator is None:
        return table.select(basic_english(pl.col(ours))).to_series()
    split = pl.col(ours).str.split(separator).list.eval(pl.element().str.strip_chars())
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
