"""Anybody's table as rows to slice: an outcome, columns of text, and what else it has."""

from collections.abc import Sequence
from itertools import chain

import polars as pl

from shortcut_miner.diagnostics.slices.config import TABLE_COLUMNS, Outcome, SlicesConfig, outcome_range
from shortcut_miner.errors import ConfigError, SourceError, examples
from shortcut_miner.options import named_columns, option_name
from shortcut_miner.schemas import Questions
from shortcut_miner.sources.images.image_ids import canonical_image_ids
from shortcut_miner.sources.opening.columns import Column, Kind
from shortcut_miner.sources.opening.flat_tables import FlatTable, open_flat_file
from shortcut_miner.sources.opening.item_columns import item_needs
from shortcut_miner.sources.opening.reading import (
    RECORD,
    Problem,
    Reading,
    find_duplicates,
    find_problems,
    is_blank,
    settle,
    without_bad,
)
from shortcut_miner.sources.opening.table_columns import check_has_rows, holds_text, read_columns

OUTCOME = "outcome"
_KINDS: dict[str, Kind] = {"question_id": "id", "image_id": "id", "question": "text", "labels": "texts"}
_TRUTH = {"true": "1", "false": "0"}


def read_table(path: str, config: SlicesConfig) -> Reading:
    """Return the rows of a table: schemas.Questions, the item columns, outcome, and labels if it has them.

    Parameters
    ----------
    path : str
        The file.
    config : SlicesConfig
        Its outcome_column is given.

    Raises
    ------
    ConfigError
        A column that is named and not there, or holds numbers that would be items.
    SourceError
        The file can't be read, or has bad rows: an outcome that is no number or out of range, an id twice.
    """
    file, flat = open_flat_file(path)
    check_has_rows(flat, "rows")
    if not flat.columns:
        raise SourceError(
            f"{path}: got rows without columns, expected some. Check that this is the right file."
        )
    names, items, column = config.table_names, _items(flat, config), str(config.outcome_column)
    _check_columns(flat, path, (column, *items), config)
    needs = {ours: Column(kind, True, (names[ours],)) for ours, kind in _KINDS.items()}
    needs |= {OUTCOME: Column("value", names=(column,)), **item_needs(items)}
    has = {ours: name is not None for ours, name in flat.names(needs).items()}
    table, problems = read_columns(flat, needs)
    table = table.rename(dict(zip(item_needs(items), items, strict=True)))
    _check_texts(flat, path, table.select(items))
    table, outcome_problems = _with_outcomes(table, column, config.outcome)
    problems += outcome_problems
    if has["question_id"]:
        problems += find_problems(table, is_blank("question_id").fill_null(True), "question_id", "an id")
        problems += find_duplicates(table, "question_id", names["question_id"])
    dropped = settle(path, "rows", problems, flat.total, config.on_bad_row, flat.label)
    table, notes = _as_questions(without_bad(table, problems), has)
    blanks = [pl.when(pl.col(one) != "").then(one) for one in items] if flat.is_untyped else []
    return Reading(
        table=table.with_columns(blanks), kind=f"{flat.form} table", file=file.facts(), dropped=dropped,
        notes=(*flat.notes, *notes),
    )  # fmt: skip


def _items(flat: FlatTable, config: SlicesConfig) -> tuple[str, ...]:
    """Return the columns whose values are items: of the default ones those that the table has.

    Where nothing else gives items they are all returned, so that they are missed.
    """
    if config.item_columns is not None:
        return config.columns_of_items
    words_and_objects = (
        [] if config.items == "none" else [config.table_names[one] for one in ("question", "labels")]
    )
    there = [name for name in config.columns_of_items if _has(flat, name)]
    has_others = any(_has(flat, name) for name in words_and_objects)
    return tuple(there) if there or has_others else config.columns_of_items


def _has(flat: FlatTable, name: str) -> bool:
    return flat.names({name: Column("any", True)})[name] is not None


def _check_columns(flat: FlatTable, path: str, wanted: Sequence[str], config: SlicesConfig) -> None:
    """Raise ConfigError for columns that are named and not there, all at once, or that can't be items."""
    if own := [name for name in wanted[1:] if name in (wanted[0], OUTCOME, *_KINDS)]:
        raise ConfigError(
            f"item_columns: got {examples(own)}, expected others than the outcome, {OUTCOME} and "
            f"{', '.join(_KINDS)}: these are no items. Leave it out, or rename the column."
        )
    asked = {
        "outcome_column": wanted[:1],
        "item_columns": wanted[1:],
        "columns": named_columns(config.columns, TABLE_COLUMNS).values(),
    }
    lacked = {option: [one for one in names if not _has(flat, one)] for option, names in asked.items()}
    options = [option for option, names in lacked.items() if names]
    if not options:
        return
    missing = list(dict.fromkeys(chain.from_iterable(lacked.values())))
    raise ConfigError(
        f"{path}: got no column {examples(missing)}, expected some of {examples(flat.columns, limit=20)}. "
        f"Name them by {' and '.join(map(option_name, options))}."
    )


def _check_texts(flat: FlatTable, path: str, items: pl.DataFrame) -> None:
    """Raise ConfigError for item columns of numbers, given as texts: each number would be an item."""
    values = {name: items[name].drop_nulls().str.to_lowercase() for name in items.columns}
    numbers = [
        name
        for name, texts in values.items()
        if not texts.is_in(["", *_TRUTH]).all() and not holds_text(flat, name)
    ]
    if numbers:
        raise ConfigError(
            f"item_columns: got {examples(numbers)} of {path}, which has numbers, expected text: "
            "each number would be an item. Bin them first."
        )


def _with_outcomes(
    table: pl.DataFrame, column: str, outcome: Outcome | None
) -> tuple[pl.DataFrame, list[Problem]]:
    """Return the outcomes as whole numbers, and the rows whose outcome is none or out of range."""
    text = pl.col(OUTCOME).str.strip_chars().str.to_lowercase()
    value = text.replace(_TRUTH).cast(pl.Float64, strict=False)
    table = table.with_columns(given=OUTCOME, **{OUTCOME: value})
    low, high = outcome_range(outcome or "error")
    is_bad = ~(pl.col(OUTCOME).is_between(low, high) & (pl.col(OUTCOME) == pl.col(OUTCOME).round()))
    expected = "true or false, or 0 or 1" if outcome == "wrong" else f"a whole number from {low} to {high}"
    bad = table.filter(is_bad.fill_null(True)).select(RECORD, "given")
    problems = [
        Problem((record,), column, "nothing" if not given else repr(given), expected)
        for record, given in bad.iter_rows()
    ]
    return table.drop("given").with_columns(pl.col(OUTCOME).cast(pl.Int64, strict=False)), problems


def _as_questions(table: pl.DataFrame, has: dict[str, bool]) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return rows with the columns of schemas.Questions; without ids they are numbered, an image each."""
    notes: tuple[str, ...] = ()
    if has["question_id"]:
        ids = table["question_id"]
    else:
        ids = pl.Series("question_id", [str(one) for one in range(len(table))], pl.String)
    images = ids.alias("image_id")
    if has["image_id"]:
        given, notes = canonical_image_ids(table["image_id"])
        images = given.fill_null("") if given.null_count() else given
        images = pl.select(pl.when(images != "").then(images).otherwise(ids)).to_series().alias("image_id")
    rows = table.with_columns(ids, images, pl.col("question").fill_null(""))
    missing = [
        pl.lit(None, dtype).alias(name)
        for name, dtype in Questions.create_empty().schema.items()
        if name not in rows.columns
    ]
    rows = rows.with_columns(missing)
    return (rows if has["labels"] else rows.drop("labels")), notes
