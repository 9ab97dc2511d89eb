"""Columns whose values are items of their own: "column=value", as antecedents name them."""

from collections.abc import Sequence

import polars as pl

from shortcut_miner.sources.opening.columns import Column

_OURS = "item "  # before the file's name, so that it is none of ours


def item_needs(names: Sequence[str]) -> dict[str, Column]:
    """Return what to read for the columns of some names."""
    return {f"{_OURS}{name}": Column("value", names=(name,)) for name in names}


def is_item(ours: str) -> bool:
    """Return whether a column that is read is one of items."""
    return ours.startswith(_OURS)


def attributes(names: Sequence[str], *, is_untyped: bool) -> pl.Expr:
    """Return the items of each row as sorted texts (List[String]), `attributes`.

    A cell without a value gives none; where cells are text, an empty one has no value.

    >>> rows = pl.DataFrame({"item genre": ["news", ""], "item size": ["2", None]})
    >>> rows.select(attributes(["size", "genre"], is_untyped=True))["attributes"].to_list()
    [['genre=news', 'size=2'], []]
    """
    # No name has a "=": the names with it are in the order of the items, whatever their values. Sorting the
    # list of each row takes forty times as long.
    names = sorted(names, key="{}=".format)
    cells = [pl.col(f"{_OURS}{name}") for name in names]
    given = [pl.when(cell != "").then(cell) for cell in cells] if is_untyped else cells
    items = [pl.lit(f"{name}=") + cell for name, cell in zip(names, given, strict=True)]
    return pl.concat_list(items).list.drop_nulls().alias("attributes")
