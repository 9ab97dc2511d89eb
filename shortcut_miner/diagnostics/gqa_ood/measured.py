"""Accuracy on all, head and tail, their distance, and accuracy over alpha, with intervals over images.

Everything is a ratio of counts of questions, made anew on each resample (Kervadec et al., CVPR 2021, section
4).
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.diagnostics.gqa_ood.subsets import HEAD, SWEEP, TAIL
from shortcut_miner.scoring.bootstrap import Floats, numbered, ratios, resampled_sums
from shortcut_miner.scoring.cell_tables import Figures, difference_tables, figure_tables, interval

TYPES = ("structural", "semantic")
SCORER = "exact"


def measured(
    judged: pl.DataFrame, *, baseline: str | None = None, resamples: int, seed: int
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Return each model's accuracies and delta, overall and per type of question, and the differences.

    Parameters
    ----------
    judged : pl.DataFrame
        A row a model and question: model, image_id, structural, semantic, subset ("head", "tail") and right.
    baseline : str, optional
        The model that others are compared with.
    resamples, seed : int
        Of the bootstrap over images.

    Returns
    -------
    scores : pl.DataFrame
        metric, group, subgroup, scorer, model, value, n, low, high: accuracies in percent; delta, the
        distance of head and tail, in percent of the tail's accuracy. A value is null where it is a share of
        nothing; types that no question knows are left out.
    differences : pl.DataFrame or None
        Every other model's minus the baseline's, where there is one.
    """
    is_known = [name for name in TYPES if judged[name].null_count() < len(judged)]
    models, series = numbered(judged["model"])
    sums = resampled_sums(
        judged, _columns(judged), series, len(models),
        by=is_known, clusters="image_id", resamples=resamples, seed=seed,
    )  # fmt: skip
    differences = None if baseline is None else difference_tables(sums, models, _figures, SCORER, baseline)
    return figure_tables(sums, models, _figures, SCORER), differences


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
            *interval(100 * ratios(sums.resampled[at], sums.resampled[at + 1])),
        )
        for at, alpha in zip(range(0, len(columns), 2), upwards, strict=True)
    ]
    return pl.concat(tables).sort("model", "alpha")


def _columns(judged: pl.DataFrame) -> list[NDArray[np.int64]]:
    """Return what is summed: right and all questions of the head, then of the tail."""
    right = judged["right"].to_numpy()
    parts = [(judged["subset"] == name).to_numpy() for name in (HEAD, TAIL)]
    return [column.astype(np.int64) for part in parts for column in (part & right, part)]


def _figures(sums: Floats) -> Figures:
    """Return each metric and its number of questions from the sums of :func:`_columns`."""
    right_head, head, right_tail, tail = sums
    distance = right_head * tail - right_tail * head
    return {
        "acc_all": (100 * ratios(right_head + right_tail, head + tail), head + tail),
        "acc_head": (100 * ratios(right_head, head), head),
        "acc_tail": (100 * ratios(right_tail, tail), tail),
        "delta": (100 * ratios(distance, right_tail * head), head + tail),
    }
