"""Accuracy on all, head and tail, their distance, and accuracy over alpha, with intervals over images.

Everything is a ratio of counts of questions, made anew on each resample (Kervadec et al., CVPR 2021, section
4).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.diagnostics.gqa_ood.subsets import HEAD, SWEEP, TAIL
from shortcut_miner.scoring.bootstrap import (
    Floats,
    Sums,
    numbered,
    percentile_interval,
    ratios,
    resampled_sums,
)

METRICS = ("acc_all", "acc_head", "acc_tail", "delta")
TYPES = ("structural", "semantic")
SCORER = "exact"
_LEVEL = 0.95
_Values = dict[str, tuple[Floats, Floats]]  # metric -> its values, and the questions that each is of


def measured(judged: pl.DataFrame, *, resamples: int, seed: int) -> tuple[pl.DataFrame, Sums]:
    """Return each model's accuracies and delta, overall and per type of question.

    Parameters
    ----------
    judged : pl.DataFrame
        A row a model and question: model, image_id, structural, semantic, subset ("head", "tail") and right.
    resamples, seed : int
        Of the bootstrap over images.

    Returns
    -------
    scores : pl.DataFrame
        metric, group, subgroup, scorer, model, value, n, low, high: accuracies in percent; delta, the
        distance of head and tail, in percent of the tail's accuracy. A value is null where it is a share of
        nothing; types that no question knows are left out.
    sums : Sums
        What they are made of, for :func:`compared`.
    """
    is_known = [name for name in TYPES if judged[name].null_count() < len(judged)]
    models, series = numbered(judged["model"])
    sums = resampled_sums(
        judged, _columns(judged), series, len(models),
        by=is_known, clusters="image_id", resamples=resamples, seed=seed,
    )  # fmt: skip
    cells = _cells(sums, models)
    values, drawn = _values(sums.totals), _values(sums.resampled)
    return pl.concat(
        _table(cells, name, value, n, drawn[name][0]) for name, (value, n) in values.items()
    ), sums


def compared(judged: pl.DataFrame, sums: Sums, baseline: str) -> pl.DataFrame | None:
    """Return all other models' numbers minus the baseline's, on the same resamples, if there are any."""
    models, _ = numbered(judged["model"])
    at = models.to_list().index(baseline)
    if len(models) < 2:
        return None
    cells = _cells(sums, models)
    values, drawn = _values(sums.totals), _values(sums.resampled)
    tables = [
        _table(
            cells,
            f"{name}_difference",
            _minus(value, at, len(models)),
            n,
            _minus(drawn[name][0], at, len(models)),
        )
        for name, (value, n) in values.items()
    ]
    found = pl.concat(tables).filter(pl.col("model") != baseline)
    return found.select(
        *("metric", "group", "subgroup", "scorer", "model"),
        pl.lit(baseline).alias("baseline"),
        *("value", "n", "low", "high"),
    )


def swept(judged: pl.DataFrame, *, resamples: int, seed: int) -> pl.DataFrame:
    """Return each model's accuracy on the tail at every alpha of the sweep.

    Returns
    -------
    pl.DataFrame
        model String, alpha Float64, n UInt32 (questions of that tail), value, low, high Float64 in percent;
        models in order, alphas upwards. Null where the tail has no question.
    """
    models, series = numbered(judged["model"])
    upwards = sorted(SWEEP)
    is_tail = [(judged["tail_alpha"] <= alpha).fill_null(value=False).to_numpy() for alpha in upwards]
    right = judged["right"].to_numpy()
    columns = [column.astype(np.int64) for tail in is_tail for column in (tail & right, tail)]
    sums = resampled_sums(
        judged, columns, series, len(models), by=(), clusters="image_id", resamples=resamples, seed=seed
    )
    tables = [
        models.to_frame("model").with_columns(
            pl.lit(alpha).alias("alpha"),
            pl.Series("n", sums.totals[at + 1]).cast(pl.UInt32),
            pl.Series("value", 100 * ratios(sums.totals[at], sums.totals[at + 1])).fill_nan(None),
            *_interval(100 * ratios(sums.resampled[at], sums.resampled[at + 1])),
        )
        for at, alpha in zip(range(0, len(columns), 2), upwards, strict=True)
    ]
    return pl.concat(tables).sort("model", "alpha")


def _columns(judged: pl.DataFrame) -> list[NDArray[np.int64]]:
    """Return what is summed: right and all questions of the head, then of the tail."""
    right = judged["right"].to_numpy()
    parts = [(judged["subset"] == name).to_numpy() for name in (HEAD, TAIL)]
    return [column.astype(np.int64) for part in parts for column in (part & right, part)]


def _values(sums: Floats) -> _Values:
    """Return each metric and its number of questions from the sums of :func:`_columns`."""
    right_head, head, right_tail, tail = sums
    distance = right_head * tail - right_tail * head
    return {
        "acc_all": (100 * ratios(right_head + right_tail, head + tail), head + tail),
        "acc_head": (100 * ratios(right_head, head), head),
        "acc_tail": (100 * ratios(right_tail, tail), tail),
        "delta": (100 * ratios(distance, right_tail * head), head + tail),
    }


def _cells(sums: Sums, models: pl.Series) -> pl.DataFrame:
    return sums.subgroups.join(models.to_frame("model"), how="cross", maintain_order="left_right")


def _table(cells: pl.DataFrame, metric: str, value: Floats, n: Floats, drawn: Floats) -> pl.DataFrame:
    table = cells.select(
        pl.lit(metric).alias("metric"),
        *("group", "subgroup"),
        pl.lit(SCORER).alias("scorer"),
        "model",
        pl.Series("value", value).fill_nan(None),
        pl.Series("n", n).cast(pl.UInt32),
        *_interval(drawn),
    )
    return table.filter(pl.col("subgroup").is_not_null())


def _interval(drawn: Floats) -> Sequence[pl.Expr | pl.Series]:
    if drawn.shape[1]:
        return percentile_interval(drawn, _LEVEL)
    return [pl.lit(None, pl.Float64).alias(name) for name in ("low", "high")]


def _minus(values: Any, at: int, models: int) -> Floats:
    """Return values, cells by models, minus those of one model in the same cell."""
    by_cell = values.reshape(-1, models, *values.shape[1:])
    found: Floats = (by_cell - by_cell[:, at : at + 1]).reshape(values.shape)
    return found
