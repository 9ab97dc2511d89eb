"""Differences between models' shares whose wholes differ, on the same resamples of images."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from shortcut_miner.scoring.bootstrap import numbered, percentile_interval, ratios, resampled_sums

_LEVEL = 0.95
_STEPS = 75_600  # of a percent: accuracies by up to ten annotators are whole numbers of these


def ratio_differences(
    rows: pl.DataFrame,
    *,
    metric: str,
    part: str,
    whole: str | None,
    by: Sequence[str],
    baseline: str,
    resamples: int,
    seed: int,
) -> pl.DataFrame:
    """Return each model's share minus the baseline's, with paired bootstrap intervals.

    Parameters
    ----------
    rows : pl.DataFrame
        The same things of every model: model, image_id, the columns of `by`, `whole` (Boolean) and `part`
        (Boolean, or an accuracy in percent).
    metric : str
        The share's name; ``_difference`` is added.
    part, whole : str, str or None
        The share is that of the rows with `whole` that also have `part`, or their mean accuracy; of all rows
        for None.
    by : sequence of str
        Columns to group by, each on its own; without any, all rows together.
    baseline : str
        One of the models.
    resamples, seed : int
        Of the bootstrap over images; all models share the draws.

    Returns
    -------
    pl.DataFrame
        metric, group, subgroup, model, baseline String; value Float64 in points, null where one of both is a
        share of nothing; n UInt32: rows; low, high Float64. Subgroups that are null are left out.

    Notes
    -----
    Both shares are made anew on every resample, and their difference taken: their denominators differ between
    models. A resample where one is a share of nothing is left out.

    Examples
    --------
    >>> rows = pl.DataFrame({
    ...     "model": ["a", "a", "b", "b"], "image_id": ["1", "2"] * 2,
    ...     "changes": [True, False, True, True], "right": [True, True, True, False],
    ... })
    >>> found = ratio_differences(rows, metric="reliance", part="changes", whole="right", by=(),
    ...                           baseline="a", resamples=0, seed=0)
    >>> found.select("metric", "model", "value", "n").rows()
    [('reliance_difference', 'b', 50.0, 2)]
    """
    models, series = numbered(rows["model"])
    counted = np.ones(len(rows), np.int64) if whole is None else rows[whole].to_numpy().astype(np.int64)
    # Accuracies in whole steps, which add up exactly.
    steps = 1 if rows.schema[part] == pl.Boolean else _STEPS
    whole_row = 1 if steps == 1 else 100 * _STEPS
    right = np.rint(rows[part].cast(pl.Float64).to_numpy() * steps).astype(np.int64) * counted
    sums = resampled_sums(
        rows, (right, counted * whole_row, np.ones(len(rows))), series, len(models),
        by=by, clusters="image_id", resamples=resamples, seed=seed,
    )  # fmt: skip
    names = models.to_list()
    told = 100 * ratios(sums.totals[0], sums.totals[1]).reshape(-1, len(names))
    shape = (len(sums.subgroups), len(names), resamples)
    drawn = 100 * ratios(sums.resampled[0], sums.resampled[1]).reshape(shape)
    count = sums.totals[2].reshape(-1, len(names))
    at = names.index(baseline)
    tables = [
        _table(sums.subgroups, model, told[:, own] - told[:, at], count[:, own], drawn[:, own] - drawn[:, at])
        for own, model in enumerate(names)
        if own != at
    ]
    kept = pl.concat(tables).filter(
        (pl.col("group") != "overall") if by else True, pl.col("subgroup").is_not_null()
    )
    return kept.select(
        pl.lit(f"{metric}_difference").alias("metric"),
        *("group", "subgroup", "model"),
        pl.lit(baseline).alias("baseline"),
        *("value", "n", "low", "high"),
    )


def _table(subgroups: pl.DataFrame, model: str, value: Any, count: Any, drawn: Any) -> pl.DataFrame:
    low, high = percentile_interval(drawn, _LEVEL) if drawn.shape[1] else (None, None)
    return subgroups.with_columns(
        pl.lit(model).alias("model"),
        pl.Series("value", value).fill_nan(None),
        pl.Series("n", count).cast(pl.UInt32),
        pl.lit(low, pl.Float64).alias("low"),
        pl.lit(high, pl.Float64).alias("high"),
    )
