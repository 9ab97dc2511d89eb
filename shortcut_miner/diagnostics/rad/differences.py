"""Differences between models' RAD scores and accuracies, on the same resamples of images."""

from typing import Any

import numpy as np
import polars as pl

from shortcut_miner.scoring.bootstrap import numbered, percentile_interval, ratios, resampled_sums

_LEVEL = 0.95
# Metric -> what of which pairs it is the share of, and, for accuracies, what counts once.
_SHARES: dict[str, tuple[str, str | None, str | None]] = {
    "rad": ("augmented_right", "original_right", None),
    "rad_backward": ("original_right", "augmented_right", None),
    "accuracy_original": ("original_right", None, "original_id"),
    "accuracy_augmented": ("augmented_right", None, "augmented_id"),
}
# Accuracies of up to ten annotators are whole numbers of these.
_STEPS = 75_600


def differences_from(
    judged: pl.DataFrame,
    baseline: str,
    groups: tuple[str, ...],
    *,
    official: tuple[str, ...] = (),
    resamples: int,
    seed: int,
) -> pl.DataFrame:
    """Return each model's score minus the baseline's, with paired bootstrap intervals.

    Parameters
    ----------
    judged : pl.DataFrame
        The same pairs of every model: model, original_id, augmented_id, image_id, original_right,
        augmented_right, and the columns of `groups`.
    baseline : str
        One of the models.
    groups : tuple of str
        Columns to group by, each on its own; beside all pairs.
    official : tuple of str
        Sides ("original", "augmented") whose official accuracy is compared too; in percent in the column
        original_accuracy or augmented_accuracy.
    resamples, seed : int
        Of the bootstrap over images; all models share the draws.

    Returns
    -------
    pl.DataFrame
        metric (such as rad_difference), group, subgroup, model, baseline String; value Float64 in points,
        null where one of both is a share of nothing; n UInt32: pairs, or questions; low, high Float64.

    Notes
    -----
    A RAD score is a ratio whose denominator differs between models: both ratios are made anew on every
    resample, and their difference taken. A resample where one is a share of nothing is left out.
    """
    found = []
    shares = _SHARES | {f"vqa_accuracy_{side}": (f"{side}_accuracy", None, f"{side}_id") for side in official}
    for metric, (part, whole, once) in shares.items():
        for by in ((), *((name,) for name in groups)):
            rows = (
                judged
                if once is None
                else judged.unique(["model", once, *by], keep="first", maintain_order=True)
            )
            found.append(_differences(rows, metric, part, whole, by, baseline, resamples, seed))
    return pl.concat(found)


def _differences(
    rows: pl.DataFrame,
    metric: str,
    part: str,
    whole: str | None,
    by: tuple[str, ...],
    baseline: str,
    resamples: int,
    seed: int,
) -> pl.DataFrame:
    models, series = numbered(rows["model"])
    counted = np.ones(len(rows), np.int64) if whole is None else rows[whole].to_numpy().astype(np.int64)
    # In whole steps, which add up exactly.
    per_row = 1 if rows.schema[part] == pl.Boolean else 100 * _STEPS
    steps = rows[part].cast(pl.Float64).to_numpy() * (1 if per_row == 1 else _STEPS)
    right = np.rint(steps).astype(np.int64) * counted
    sums = resampled_sums(
        rows, (right, counted * per_row, np.ones(len(rows))), series, len(models),
        by=by, clusters="image_id", resamples=resamples, seed=seed,
    )  # fmt: skip
    names = models.to_list()
    told = 100 * ratios(sums.totals[0], sums.totals[1]).reshape(-1, len(names))
    drawn = 100 * ratios(sums.resampled[0], sums.resampled[1]).reshape(-1, len(names), resamples)
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
