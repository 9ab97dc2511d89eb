"""What an id, a text or a number may look like in a file, and how typed and text columns become it."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import polars as pl

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.opening.ids import find_floats, float_note, number_text, whole_column
from shortcut_miner.sources.opening.nested import (
    MAX_RECORD_KINDS,
    TEXTS,
    NoListError,
    holds_texts,
    is_text,
    record_keys,
    unpacked,
)
from shortcut_miner.sources.opening.reading import RECORD, Problem
from shortcut_miner.sources.opening.serialised import LISTS_NOTE, unpacked_cells

Kind = Literal["id", "text", "value", "texts", "keys", "number", "whole", "any"]
LIST_MARK = "|"
WORDS: dict[Kind, str] = {
    "id": "text or whole numbers",
    "text": "text",
    "value": "text or numbers",
    "texts": "text, lists of text, or records with an answer",
    "keys": "text, lists of text, or records with an answer",
    "number": "numbers",
    "whole": "whole numbers",
    "any": "a value",
}
KEYS = pl.List(pl.UInt8)
TARGETS: dict[Kind, Any] = {
    **dict.fromkeys(("id", "text", "value"), pl.String()),
    "texts": TEXTS,
    "keys": KEYS,
    "number": pl.Float64(),
    "whole": pl.Int64(),
    "any": None,
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column that a reader needs.

    Attributes
    ----------
    kind : str
        What it holds and how it comes out: "id" (text or whole numbers, as text: 1.0 is "1", and no other
        float is an id), "text", "value" (text or numbers, as text), "texts" (List[String]: lists, nested or
        written as text, or text with ``|`` between), "keys" (List[UInt8]: which of the answer records that
        "texts" are taken from belong together), "number" (Float64), "whole" (Int64; null where a number isn't
        whole), "any" (as it is in the file; in text files, text).
    is_optional : bool
        Whether a file may lack it: then it is null.
    names : tuple of str
        Under which files have it, in the order of preference; only its own name if empty.
    """

    kind: Kind
    is_optional: bool = False
    names: tuple[str, ...] = ()


Needs = Mapping[str, Column]
# A file's column -> the lists in its text and the keys of their records.
Seen = dict[str, tuple[pl.Series, pl.Series] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a table is from: its file, and how its records are named."""

    path: str
    label: Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Converted:
    """A table with columns as their kinds have them, the problems of its records, and what was decided."""

    table: pl.DataFrame
    problems: list[Problem]
    decisions: Counter[str]


def optional(needs: Needs) -> dict[str, Column]:
    """Return what to read of a table that has all it needs, but not in each record: null there."""
    return {name: replace(need, is_optional=True) for name, need in needs.items()}


def fits(dtype: pl.DataType, kind: Kind) -> bool:
    """Return whether a column of some type may be read as a kind."""
    if dtype == pl.Null or kind == "any":
        return True
    if kind in ("number", "whole"):
        return dtype.is_numeric()
    if kind in ("texts", "keys") and dtype.is_nested():
        return holds_texts(dtype)
    is_number = dtype.is_numeric() or (dtype == pl.Boolean and kind == "value")
    return is_text(dtype) or (is_number and kind != "text")


def expressions(
    needs: Needs, names: Mapping[str, str | None], types: Mapping[str, pl.DataType]
) -> list[pl.Expr]:
    """Return the columns nearly as their kinds have them; `names` and `types` are those of the file.

    What depends on a column as a whole, or must be told of a record, is left to :func:`converted`.
    """
    return [
        pl.lit(None, TARGETS[needs[ours].kind]).alias(ours)
        if name is None
        else _expression(pl.col(name), needs[ours].kind, types[name]).alias(ours)
        for ours, name in names.items()
    ]


def _expression(column: pl.Expr, kind: Kind, dtype: pl.DataType) -> pl.Expr:
    if kind == "any" or (kind == "keys" and (dtype.is_nested() or is_text(dtype))):
        return column
    if kind in ("id", "value") and dtype.is_numeric():
        is_missing = kind == "value" and dtype.is_float()
        return number_text(column.fill_nan(None) if is_missing else column, dtype)
    if kind == "texts" and dtype.is_nested():
        return unpacked(column, dtype)
    if kind == "texts" and dtype.is_numeric():
        return pl.when(column.is_not_null()).then(pl.concat_list(number_text(column, dtype)))
    if kind == "texts" and dtype != pl.Null:
        return column.cast(pl.String)
    if kind == "keys":
        return pl.lit(None, KEYS)
    if kind == "whole" and dtype.is_float():
        return pl.when(column == column.round()).then(column).cast(pl.Int64, strict=False)
    return column.cast(TARGETS[kind], strict=kind not in ("number", "whole"))


def converted(
    table: pl.DataFrame,
    needs: Needs,
    names: Mapping[str, str | None],
    types: Mapping[str, pl.DataType],
    place: Place,
    lists: Mapping[str, bool] | None = None,
) -> Converted:
    """Return the table of :func:`expressions`, and the working column `record`, as the kinds have it.

    `lists` says of the file's columns of text whether they hold lists, where the table is a part of theirs.

    Raises
    ------
    SourceError
        Cells with lists that can't be read, or lists in some cells of a column only.
    """
    problems: list[Problem] = []
    decisions: Counter[str] = Counter()
    seen: Seen = {}
    for ours, name in names.items():
        kind = needs[ours].kind
        if name is None or (dtype := types[name]) == pl.Null:
            continue
        column, count = table[ours], 0
        if kind == "id" and is_text(dtype):
            column, count = whole_column(column)
        elif kind in ("texts", "keys") and is_text(dtype):
            cells, holds_lists = column.cast(pl.String), (lists or {}).get(name)
            column, count = split_texts(cells, kind, name, place, table[RECORD], seen, holds_lists)
        elif kind == "keys" and dtype.is_nested():
            column = _keys(column, name, place)
        table = table.with_columns(column.alias(ours))
        if kind == "id":
            problems += (bad := find_floats(table, ours, name))
            count = column.count() - len(bad) if dtype.is_float() else count
        elif kind == "value" and dtype.is_float():
            count = int(column.str.contains(r"^-?\d+$").sum())
        if kind != "keys":
            decisions[f"{name}, {LISTS_NOTE}" if kind == "texts" else float_note(name)] += count
    # With those of nothing: the order is that of the columns, also where parts of a table are added.
    return Converted(table, problems, decisions)


def split_texts(
    cells: pl.Series,
    kind: Kind,
    name: str,
    place: Place,
    records: pl.Series,
    seen: Seen,
    holds_lists: bool | None = None,
) -> tuple[pl.Series, int]:
    """Return the lists in a column of text, or their records' keys, and how many were written as lists.

    `seen` keeps what is found of a column for who asks next.
    """
    if name not in seen:
        seen[name] = unpacked_cells(
            cells, place.path, name, lambda row: place.label(records[row]), holds_lists=holds_lists
        )
    if found := seen[name]:
        return found[kind == "keys"], cells.replace("", None).count()
    if kind == "keys":
        return pl.Series([None], dtype=KEYS).new_from_index(0, len(cells)), 0
    text = pl.lit(cells)
    split = text.str.split(LIST_MARK).list.eval(pl.element().str.strip_chars())
    return pl.select(pl.when(text != "").then(split)).to_series(), 0


def _keys(column: pl.Series, name: str, place: Place) -> pl.Series:
    try:
        return record_keys(column)
    except NoListError as error:
        raise SourceError(
            f"{place.path}, column {name}: got {error}, expected at most {MAX_RECORD_KINDS}. Correct them."
        ) from error
