"""Tables of figures that are made of sums per cell: a cell is a subgroup of one model, models side by side.

See :mod:`shortcut_miner.scoring.bootstrap` for the sums; a figure may be any ratio of them.
"""

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from shortcut_miner.scoring.bootstrap import Floats, Sums, percentile_interval

_LEVEL = 0.95
Figures = Mapping[str, tuple[Floats, Floats]]  # metric -> its values, and the rows that each is of
_NO_INTERVAL = tuple(pl.lit(None, pl.Float64).alias(name) for name in ("low", "high"))


def figure_tables(
    sums: Sums, models: pl.Series, figures: Callable[[Floats], Figures], scorer: str
) -> pl.DataFrame:
    """Return figures of every subgroup and model, metric by metric, with 95% intervals.

    Parameters
    ----------
    sums : Sums
        With the models as series.
    models : pl.Series
        Their names, in the order of the series.
    figures : callable
        Gives the figures of sums, columns x cells (x resamples).
    scorer : str
        What made an answer right.

    Returns
    -------
    pl.DataFrame
        metric, group, subgroup, scorer, model, value, n, low, high; a ratio of nothing is null, and subgroups
        that are not known are left out.
    """
    drawn = figures(sums.resampled)
    tables = [
        _table(sums, models, metric, scorer, value, n, drawn[metric][0])
        for metric, (value, n) in figures(sums.totals).items()
    ]
    return pl.concat(tables)


def difference_tables(
    sums: Sums, models: pl.Series, figures: Callable[[Floats], Figures], scorer: str, baseline: str
) -> pl.DataFrame | None:
    """Return all other models' figures minus the baseline's, on the same resamples, if there are any.

    Returns
    -------
    pl.DataFrame or None
        As :func:`figure_tables`, with baseline after model, and ``_difference`` after the metric's name.
    """
    if len(models) < 2:
        return None
    at, drawn = models.to_list().index(baseline), figures(sums.resampled)
    tables = [
        _table(
            sums, models, f"{metric}_difference", scorer,
            _minus(value, at, len(models)), n, _minus(drawn[metric][0], at, len(models)),
        )
        for metric, (value, n) in figures(sums.totals).items()
    ]  # fmt: skip
    found = pl.concat(tables).filter(pl.col("model") != baseline)
    return found.select(
        *("metric", "group", "subgroup", "scorer", "model"),
        pl.lit(baseline).alias("baseline"),
        *("value", "n", "low", "high"),
    )


def in_order(table: pl.DataFrame, models: list[str]) -> pl.DataFrame:
    """Return a table with the models as the user named them, and all else as it came."""
    keys = [name for name in ("metric", "group", "subgroup", "alpha") if name in table.columns]
    numbered = table.with_row_index("row").with_columns(
        place=pl.col("row").min().over(keys),
        rank=pl.col("model").replace_strict(models, range(len(models))),
    )
    return numbered.sort("place", "rank").drop("row", "place", "rank")


def _table(
    sums: Sums, models: pl.Series, metric: str, scorer: str, value: Floats, n: Floats, drawn: Floats
) -> pl.DataFrame:
    cells = sums.subgroups.join(models.to_frame("model"), how="cross", maintain_order="left_right")
    return cells.select(
        pl.lit(metric).alias("metric"),
        *("group", "subgroup"),
        pl.lit(scorer).alias("scorer"),
        "model",
        pl.Series("value", value).fill_nan(None),
        pl.Series("n", n).cast(pl.UInt32),
        *interval(drawn),
    ).filter(pl.col("subgroup").is_not_null())


def interval(drawn: Floats) -> tuple[pl.Series | pl.Expr, ...]:
    """Return low and high of each row of resampled values; null without resamples."""
    return percentile_interval(drawn, _LEVEL) if drawn.shape[-1] else _NO_INTERVAL


def _minus(values: Any, at: int, models: int) -> Floats:
    """Return values, cells by models, minus those of one model in the same cell."""
    by_cell = values.reshape(len(values) // models, models, *values.shape[1:])
    found: Floats = (by_cell - by_cell[:, at : at + 1]).reshape(values.shape)
    return found
