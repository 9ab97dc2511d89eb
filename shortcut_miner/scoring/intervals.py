"""Means per group with bootstrap intervals over images, and paired differences between models.

Images are resampled with all their questions (see :mod:`shortcut_miner.scoring.bootstrap`). A mean needs no
more than each image's total and count, which are integers here, so it is exact whatever the order of rows.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from shortcut_miner.errors import ConfigError, check_no_problems, examples
from shortcut_miner.scoring.bootstrap import (
    ALL,
    OVERALL,
    Floats,
    Ints,
    numbered,
    percentile_interval,
    ratios,
    resampled_sums,
)

__all__ = ["ALL", "OVERALL", "compare", "summarise"]

# Values are summed as multiples of this fraction of a unit. Every mean of thirds over up to ten annotators,
# in percent, is such a multiple, and so is every weight of up to three decimals; others are rounded to it.
_STEPS_PER_UNIT = 7_560_000
_SERIES = ("scorer", "model")


def summarise(
    scored: pl.DataFrame,
    *,
    by: Sequence[str] = (),
    metric: str = "accuracy",
    clusters: str = "image_id",
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> pl.DataFrame:
    """Return the mean of a column per model, overall and per group, with bootstrap intervals.

    Parameters
    ----------
    scored : pl.DataFrame
        One row per scored thing: `metric` (finite numbers or Booleans), `clusters`, the columns of `by`,
        and, where there are several, model and scorer (as
        :func:`shortcut_miner.scoring.accuracy.score_questions`
        returns them; stack the frames of several models).
    by : sequence of str
        Columns to group by, each on its own.
    metric : str
        The column to average; its name goes into the result.
    clusters : str
        The column whose values are resampled, with all their rows.
    resamples : int
        How many bootstrap resamples; 0 leaves the intervals null.
    seed : int
        Of the draws. They depend on the seed and the set of clusters alone: all models and groups of one
        call share them, and so do calls over the same clusters.
    level : float
        Of the interval, between 0 and 1.

    Returns
    -------
    pl.DataFrame
        metric, group, subgroup, scorer, model String; value Float64, in the unit of `metric`; n UInt32
        (rows); low, high Float64: the percentile interval. First the group ``overall`` (subgroup ``all``),
        then those of `by` in order, their subgroups sorted, null (not known) last; models sorted.

    Raises
    ------
    SchemaError
        A column is missing; a value is null or not finite; a cluster is null.
    ConfigError
        resamples below 0, or level outside (0, 1).

    Notes
    -----
    Values are rounded to 1/7,560,000 of a unit before they are summed, which changes no accuracy of up to
    ten annotators. A resample without any row of a subgroup says nothing about it and is left out of its
    interval; with one cluster the interval is a point.
    Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), section 13.3: the percentile interval.

    Examples
    --------
    >>> scored = pl.DataFrame({
    ...     "image_id": ["1", "1", "2", "3"], "model": ["m"] * 4,
    ...     "answer_type": ["yes/no", "other", "other", "other"], "accuracy": [100.0, 0.0, 30.0, 30.0],
    ... })
    >>> summarise(scored, by=["answer_type"]).select("group", "subgroup", "value", "n", "low", "high").rows()
    [('overall', 'all', 40.0, 4, 30.0, 50.0),
     ('answer_type', 'other', 20.0, 3, 0.0, 30.0),
     ('answer_type', 'yes/no', 100.0, 1, 100.0, 100.0)]
    """
    _check_options(resamples, level)
    _check_scores(scored, by, metric, clusters)
    cells, means = _resampled_cells(scored, by, metric, clusters, resamples, seed)
    value = pl.col("steps") / (pl.col("n").cast(pl.Int64) * _STEPS_PER_UNIT)
    return cells.select(
        pl.lit(metric).alias("metric"),
        *("group", "subgroup", *_SERIES),
        value.alias("value"),
        "n",
        *percentile_interval(means, level),
    )


def compare(
    scored: pl.DataFrame,
    *,
    baseline: str | None = None,
    by: Sequence[str] = (),
    metric: str = "accuracy",
    key: str = "question_id",
    clusters: str = "image_id",
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> pl.DataFrame:
    """Return the paired differences between models, with bootstrap intervals on the same resamples.

    Parameters
    ----------
    scored : pl.DataFrame
        As for :func:`summarise`, with model; every model has the same values of `key`, each once.
    baseline : str, optional
        Compare every other model with this one; all pairs of models where it is None.
    key : str
        The column that pairs the rows of two models.
    by, metric, clusters, resamples, seed, level
        As for :func:`summarise`.

    Returns
    -------
    pl.DataFrame
        As :func:`summarise`, with baseline after model; value is the mean of the model minus that of the
        baseline, metric the metric's name with ``_difference``.

    Raises
    ------
    SchemaError
        As :func:`summarise`; models that don't cover the same keys, or one of them twice.
    ConfigError
        As :func:`summarise`; a baseline that is no model.

    Examples
    --------
    >>> scored = pl.DataFrame({
    ...     "question_id": ["1", "2", "1", "2"], "image_id": ["7", "8", "7", "8"],
    ...     "model": ["m", "m", "base", "base"], "accuracy": [100.0, 60.0, 90.0, 30.0],
    ... })
    >>> compare(scored, baseline="base").select("model", "baseline", "value", "n", "low", "high").rows()
    [('m', 'base', 20.0, 2, 10.0, 30.0)]
    """
    _check_options(resamples, level)
    _check_scores(scored, [*by, "model", key], metric, clusters)
    _check_pairing(scored, key)
    pairs = _model_pairs(scored["model"].unique().drop_nulls().sort().to_list(), baseline)
    cells, means = _resampled_cells(scored, by, metric, clusters, resamples, seed)
    paired = _paired_cells(cells, pairs)
    # Both models have the same rows in a cell, so the difference of means is the mean difference.
    differences = means[paired["cell"].to_numpy()] - means[paired["other_cell"].to_numpy()]
    value = (pl.col("steps") - pl.col("other_steps")) / (pl.col("n").cast(pl.Int64) * _STEPS_PER_UNIT)
    return paired.select(
        pl.lit(f"{metric}_difference").alias("metric"),
        *("group", "subgroup", *_SERIES, "baseline"),
        value.alias("value"),
        "n",
        *percentile_interval(differences, level),
    )


def _resampled_cells(
    scored: pl.DataFrame, by: Sequence[str], metric: str, clusters: str, resamples: int, seed: int
) -> tuple[pl.DataFrame, Floats]:
    """Return the cells (a subgroup of one model each) that have rows, and their means, cells x resamples.

    The table has group, subgroup, scorer, model, n UInt32 and steps Int64.
    """
    series, code = _series(scored)
    steps = np.rint(scored[metric].cast(pl.Float64).to_numpy() * _STEPS_PER_UNIT)
    sums = resampled_sums(
        scored, (steps, np.ones(len(scored))), code, len(series),
        by=by, clusters=clusters, resamples=resamples, seed=seed,
    )  # fmt: skip
    total, n = (pl.Series(name, one) for name, one in zip(("steps", "n"), sums.totals, strict=True))
    table = sums.subgroups.join(series, how="cross", maintain_order="left_right").with_columns(
        n.cast(pl.UInt32), total.cast(pl.Int64)
    )
    drawn_steps, drawn_n = sums.resampled
    means = ratios(drawn_steps, drawn_n * _STEPS_PER_UNIT)
    has_rows = table["n"] > 0
    return table.filter(has_rows), means[has_rows.to_numpy()]


def _series(scored: pl.DataFrame) -> tuple[pl.DataFrame, Ints]:
    """Return the distinct (scorer, model), sorted, and the position there of each row's."""
    names = scored.select(
        pl.col(name).cast(pl.String) if name in scored.columns else pl.lit(None, pl.String).alias(name)
        for name in _SERIES
    )
    series = names.unique().sort(_SERIES, nulls_last=True)
    placed = names.join(
        series.with_row_index("at"),
        on=_SERIES,
        how="left",
        validate="m:1",
        nulls_equal=True,
        maintain_order="left",
    )
    return series, placed["at"].to_numpy().astype(np.int64)


def _model_pairs(models: list[str], baseline: str | None) -> list[tuple[str, str]]:
    if baseline is not None and baseline not in models:
        raise ConfigError(
            f"baseline: got {baseline!r}, expected one of the models {', '.join(models)}. Name one of them."
        )
    if len(models) < 2:
        raise ConfigError(f"models: got {len(models)}, expected two or more to compare. Add predictions.")
    if baseline is not None:
        return [(model, baseline) for model in models if model != baseline]
    return [(model, other) for at, other in enumerate(models) for model in models[at + 1 :]]


def _paired_cells(table: pl.DataFrame, pairs: Sequence[tuple[str, str]]) -> pl.DataFrame:
    """Return the cells of each pair's model with the baseline's cell and steps beside them."""
    cells = table.with_row_index("cell")
    named = pl.DataFrame(pairs, schema={"model": pl.String, "baseline": pl.String}, orient="row")
    others = cells.select(
        *("group", "subgroup", "scorer", "n"),
        pl.col("model").alias("baseline"),
        pl.col("cell").alias("other_cell"),
        pl.col("steps").alias("other_steps"),
    )
    paired = cells.join(named, on="model", how="inner", maintain_order="left_right")
    on = ["group", "subgroup", "scorer", "n", "baseline"]
    matched = paired.join(others, on=on, how="inner", validate="m:1", nulls_equal=True, maintain_order="left")
    lost = paired.join(others, on=on, how="anti", nulls_equal=True, maintain_order="left")["group"]
    groups = examples(lost.unique().sort())
    problems = [f"{len(lost):,} x subgroup with other rows in the baseline, by {groups}"] if len(lost) else []
    check_no_problems(problems, "scores to compare", "the same groups for every model")
    return matched


def _check_options(resamples: int, level: float) -> None:
    if resamples < 0:
        raise ConfigError(f"resamples: got {resamples}, expected 0 or more. Choose 0 for no intervals.")
    if not 0 < level < 1:
        raise ConfigError(f"level: got {level}, expected a number between 0 and 1. The usual one is 0.95.")


def _check_scores(scored: pl.DataFrame, columns: Sequence[str], metric: str, clusters: str) -> None:
    wanted = dict.fromkeys([metric, clusters, *columns])
    problems = [f"no column {column}" for column in wanted if column not in scored.columns]
    dtype = scored.schema.get(metric, pl.Float64())
    if not (dtype.is_numeric() or dtype == pl.Boolean):
        problems.append(f"column {metric} of type {dtype}")
    check_no_problems(problems, "scores", f"{', '.join(wanted)}, with numbers or Booleans in {metric}")
    unknown = scored[clusters].null_count()
    not_finite = len(scored) - scored[metric].cast(pl.Float64).is_finite().sum()
    problems = [f"{unknown:,} x {clusters} that is null"] if unknown else []
    problems += [f"{not_finite:,} x {metric} that is null or not finite"] if not_finite else []
    check_no_problems(problems, "scores", "a value and a cluster in every row")


def _check_pairing(scored: pl.DataFrame, key: str) -> None:
    """Raise unless every model has every key exactly once."""
    series, series_code = _series(scored)
    keys, code = numbered(scored[key])
    times = np.bincount(code * len(series) + series_code, minlength=len(keys) * len(series))
    times = times.reshape(len(keys), len(series))
    problems = [
        f"{flags.sum():,} x {key} {what}: {examples(keys.filter(pl.Series(flags)))}"
        for what, flags in (
            ("scored twice for one model", (times > 1).any(axis=1)),
            ("not scored for every model", (times == 0).any(axis=1)),
        )
        if flags.any()
    ]
    check_no_problems(problems, "scores to compare", "each key once for every model")
