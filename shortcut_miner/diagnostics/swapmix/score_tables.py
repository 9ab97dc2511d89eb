"""What a score says beside its figures: single questions, figures by number of swaps, and differences."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from shortcut_miner.diagnostics.swapmix.config import ScoreConfig
from shortcut_miner.diagnostics.swapmix.metrics import METRICS, NEVER, PlanShape, Verdicts, types_of
from shortcut_miner.errors import ConfigError
from shortcut_miner.scoring.bootstrap import ALL, OVERALL, percentile_interval, ratios, resampled_sums
from shortcut_miner.scoring.ratio_differences import ratio_differences

_LEVEL = 0.95
_KINDS = ("class", "attribute")
CURVED = METRICS[1:5]  # those that depend on the swaps, without the formula's literal reading
_STEP = {"k": pl.UInt32, "value": pl.Float64, "n": pl.UInt32, "low": pl.Float64, "high": pl.Float64}
_KEY = ("question_id", "image_id")


def per_question(shape: PlanShape, verdicts: Mapping[str, Verdicts]) -> pl.DataFrame:
    """Return one row a question and model with what became of it under the swaps.

    Returns
    -------
    pl.DataFrame
        question_id, image_id, the types that are known, model; is_correct (without a swap); of both kinds
        ``class_swaps`` and ``class_flips`` (how many there are, and how many change the answer),
        ``class_flip_k`` (the least swap_index of those that do; null if none does) and the same for
        ``attribute``; fail_k (the least swap_index of a swap under which the answer is not right) and
        stays_correct (there is none).
    """
    parts = []
    keys = shape.questions.select(*_KEY, *types_of(shape))
    for model, one in verdicts.items():
        columns: dict[str, pl.Series] = {"is_correct": pl.Series(one.is_correct)}
        for at, kind in enumerate(_KINDS):
            columns[f"{kind}_swaps"] = pl.Series(one.swaps[at])
            columns[f"{kind}_flips"] = pl.Series(one.flips[at])
            columns[f"{kind}_flip_k"] = pl.Series(one.flip_k[at]).replace(NEVER, None)
        fail_k = pl.Series(one.fail_k).replace(NEVER, None)
        parts.append(
            keys.with_columns(model=pl.lit(model), **columns, fail_k=fail_k, stays_correct=fail_k.is_null())
        )
    return pl.concat(parts)


def curve(shape: PlanShape, verdicts: Mapping[str, Verdicts], config: ScoreConfig) -> pl.DataFrame:
    """Return reliances and effective accuracy with the first swap of each kind and object, the first two, ...

    Returns
    -------
    pl.DataFrame
        metric, group, subgroup, scorer, model String; k UInt32; value Float64 in percent; n UInt32; low, high
        Float64, on the same resamples for all k. Sorted by metric and number of swaps (k).

    Raises
    ------
    ConfigError
        Results that don't say which swap is which.
    """
    if ((shape.index == 0) & (shape.kind > 0)).any():
        raise ConfigError(
            "curve: got it with results that don't say which swaps these are, expected a plan. Leave it out, "
            "or score predictions on a build."
        )
    most = int(shape.index.max(initial=0)) if config.k is None else config.k
    parts = [
        _of_metric(shape, one, metric, most, config).with_columns(metric=pl.lit(metric), model=pl.lit(model))
        for metric in CURVED
        for model, one in verdicts.items()
    ]
    named = pl.concat(parts).with_columns(
        group=pl.lit(OVERALL), subgroup=pl.lit(ALL), scorer=pl.lit(None, pl.String)
    )
    ordered = named.sort(pl.col("metric").cast(pl.Enum(CURVED)), "k", maintain_order=True)
    return ordered.select(
        *("metric", "group", "subgroup", "scorer", "model"), *("k", "value", "n", "low", "high")
    )


def _of_metric(
    shape: PlanShape, verdicts: Verdicts, metric: str, most: int, config: ScoreConfig
) -> pl.DataFrame:
    """Return k, value, n, low and high of one model's figure; no rows if it is of no question."""
    steps = pl.Series("k", range(1, most + 1), dtype=pl.UInt32)
    values = [verdicts.figures(k)[metric] for k in steps]
    is_asked = verdicts.figures()[metric][1]
    rows = shape.questions.filter(pl.Series(is_asked))
    n = len(rows)
    if not n or not most:
        return pl.DataFrame(schema=_STEP)
    columns = [*(value[is_asked] for value, _ in values), np.ones(n)]
    sums = resampled_sums(
        rows, columns, np.zeros(n, np.int64), 1,
        by=(), clusters="image_id", resamples=config.resamples, seed=config.seed,
    )  # fmt: skip
    drawn, counted = sums.resampled[:-1, 0], sums.resampled[-1, 0]
    low, high = percentile_interval(100 * ratios(drawn, np.broadcast_to(counted, drawn.shape)), _LEVEL)
    return pl.DataFrame(
        {
            "k": steps,
            "value": 100 * sums.totals[:-1, 0] / n,
            "n": pl.repeat(n, most, eager=True),
            "low": low,
            "high": high,
        },
        schema=_STEP,
    )


def differences(
    shape: PlanShape, verdicts: Mapping[str, Verdicts], config: ScoreConfig
) -> pl.DataFrame | None:
    """Return each model's figures minus the baseline's, paired; None without a baseline or another model.

    Returns
    -------
    pl.DataFrame
        metric (such as context_reliance_difference), group, subgroup, scorer, model, baseline, value in
        points, n (questions), low, high; see :func:`shortcut_miner.scoring.ratio_differences`. A reliance is
        of the questions that the model itself answers right.
    """
    if config.baseline is None or len(verdicts) < 2:
        return None
    types = types_of(shape)
    tables = {model: one.figures() for model, one in verdicts.items()}
    found = []
    for metric in METRICS:
        rows = pl.concat(
            shape.questions.select("image_id", *types).with_columns(
                model=pl.lit(model), part=pl.Series(figures[metric][0]), whole=pl.Series(figures[metric][1])
            )
            for model, figures in tables.items()
        )
        found += [
            ratio_differences(
                rows, metric=metric, part="part", whole="whole", by=by, baseline=config.baseline,
                resamples=config.resamples, seed=config.seed,
            )
            for by in ((), *((name,) for name in types))
        ]  # fmt: skip
    table = pl.concat(found)
    return table.insert_column(3, pl.lit(None, pl.String).alias("scorer"))
