"""What a set can say of two models, subset by subset: how often they differ, and what that takes to see.

A row is right where its accuracy reaches `correct_at`. Formulas: :mod:`shortcut_miner.scoring.power`; tests:
:mod:`shortcut_miner.scoring.paired_tests`. Here they meet tables.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import polars as pl

from shortcut_miner.options import check_counts, reject
from shortcut_miner.scoring import power as formulas
from shortcut_miner.scoring.bootstrap import ALL
from shortcut_miner.scoring.paired_tests import exact_p, holm, midp
from shortcut_miner.scoring.power_config import PowerConfig

DETECTABLE, TOO_SMALL = "detectable", "too small"
COLUMNS = {
    **dict.fromkeys(("subset", "model_a", "model_b"), pl.String()),
    **dict.fromkeys(("row_count", "image_count", "only_a", "only_b"), pl.Int64()),
    **dict.fromkeys(("discordant", "difference", "p_value", "p_midp", "p_adjusted"), pl.Float64()),
    **dict.fromkeys(("minimal_detectable", "effect"), pl.Float64()),
    "required_rows": pl.Int64(),
    **dict.fromkeys(("power", "power_low", "power_high", "design_effect"), pl.Float64()),
    "verdict": pl.String(),
}


def paired_power(scored: pl.DataFrame, pairs: Iterable[tuple[str, str]], config: PowerConfig) -> pl.DataFrame:
    """Return what each subset says of each pair of models, and what it could.

    Parameters
    ----------
    scored : pl.DataFrame
        question_id, subset, image_id String, model String, accuracy Float64 (percent): every question of a
        subset once for every model.
    pairs : iterable of two str
        Models to compare.
    config : PowerConfig
        What is asked.

    Returns
    -------
    pl.DataFrame
        :data:`COLUMNS`; shares between 0 and 1. A row a pair and subset, the subset "all" first where there
        are several. Null where nothing can be said: p-values, power and needed rows of an effect that is
        larger than the share of rows on which the models differ, the least difference that a subset shows if
        none that these rows allow is enough.
    """
    rows = [row for pair in pairs for row in _of_pair(scored, *pair, config)]
    table = pl.DataFrame(
        rows, schema={name: dtype for name, dtype in COLUMNS.items() if name != "p_adjusted"}
    )
    adjusted = pl.Series("p_adjusted", holm(table["p_value"].to_list()), pl.Float64)
    return table.with_columns(adjusted).select(*COLUMNS)


def _of_pair(
    scored: pl.DataFrame, model_a: str, model_b: str, config: PowerConfig
) -> Iterator[dict[str, Any]]:
    sides = [
        scored.filter(model=model).select("question_id", "subset", "image_id", pl.col("accuracy").alias(name))
        for name, model in (("a", model_a), ("b", model_b))
    ]
    both = sides[0].join(
        sides[1].drop("image_id"),
        on=["question_id", "subset"],
        how="inner",
        validate="1:1",
        maintain_order="left",
    )
    subsets = both["subset"].unique(maintain_order=True).to_list()
    everything = [(ALL, both)] if len(subsets) > 1 else []
    for name, table in [*everything, *((one, both.filter(subset=one)) for one in subsets)]:
        yield {"subset": name, "model_a": model_a, "model_b": model_b} | _of_subset(table, config)


def _of_subset(table: pl.DataFrame, config: PowerConfig) -> dict[str, Any]:
    a, b = (table[name].to_numpy() for name in ("a", "b"))
    is_right_a, is_right_b = (accuracy >= config.correct_at for accuracy in (a, b))
    rows = len(table)
    only_a, only_b = int((is_right_a & ~is_right_b).sum()), int((is_right_b & ~is_right_a).sum())
    image = table["image_id"].rank("dense").to_numpy().astype(np.int64) - 1
    discordant = (only_a + only_b) / rows
    differences = is_right_a.astype(np.float64) - is_right_b
    spread = formulas.design_effect(differences, image)
    least = formulas.minimal_detectable(rows, discordant, alpha=config.alpha, power=config.power)
    planned = _planned(rows, discordant, spread, config)
    if config.method == "bootstrap" and discordant:
        totals = np.bincount(image, (a - b) / 100).astype(np.float64)
        sizes = np.bincount(image).astype(np.float64)
        planned |= _resampled(totals, sizes, config)
    return {
        "row_count": rows,
        "image_count": int(image.max()) + 1,
        "only_a": only_a,
        "only_b": only_b,
        "discordant": discordant,
        "difference": (only_a - only_b) / rows,
        "p_value": exact_p(only_a, only_b),
        "p_midp": midp(only_a, only_b),
        "minimal_detectable": least,
        "effect": config.effect,
        "design_effect": spread,
        "verdict": DETECTABLE if least is not None and config.effect >= least else TOO_SMALL,
    } | planned


def planned_rows(rows: int, discordant: float, config: PowerConfig) -> dict[str, Any]:
    """Return one row of the table for numbers alone: so many rows, and so large a share that differs.

    Raises
    ------
    ConfigError
        Fewer rows than none, or an effect that is larger than the share of rows on which models differ.

    Notes
    -----
    Of no rows nothing can be said: all that depends on them is null.
    """
    if rows:
        check_counts(rows=rows)
    if not 0 <= discordant <= 1:
        reject("discordant", discordant, "a share from 0 to 1")
    if config.effect > discordant:
        reject("effect", config.effect, f"at most the share of rows that differ, {discordant}")
    if not rows:
        nothing = ("minimal_detectable", "required_rows", "power", "verdict")
        asked = {"row_count": 0, "discordant": discordant, "effect": config.effect}
        return asked | dict.fromkeys(nothing)
    least = formulas.minimal_detectable(rows, discordant, alpha=config.alpha, power=config.power)
    verdict = DETECTABLE if least is not None and config.effect >= least else TOO_SMALL
    told = {"row_count": rows, "discordant": discordant, "minimal_detectable": least, "effect": config.effect}
    return told | _planned(rows, discordant, None, config) | {"verdict": verdict}


def _planned(rows: int, discordant: float, spread: float | None, config: PowerConfig) -> dict[str, Any]:
    """Return the power for the effect on so many rows, and the rows that it needs; null if it can't be."""
    nothing = dict.fromkeys(("required_rows", "power", "power_low", "power_high"))
    if config.effect > discordant:
        return nothing
    shares = (discordant + config.effect) / 2, (discordant - config.effect) / 2
    asked = {"alpha": config.alpha, "power": config.power}
    if config.method == "exact":
        needed: float | None = formulas.required_rows_exact(*shares, **asked)
        power = formulas.exact_power(rows, *shares, alpha=config.alpha)
    else:
        needed = formulas.required_rows(*shares, **asked)
        power = formulas.asymptotic_power(rows, *shares, alpha=config.alpha)
    inflated = None if needed is None else math.ceil(needed * max(spread or 1.0, 1.0))
    return nothing | {"required_rows": inflated, "power": power}


def _resampled(totals: formulas.Floats, sizes: formulas.Floats, config: PowerConfig) -> dict[str, float]:
    power, low, high = formulas.resampled_power(
        totals,
        sizes,
        effect=config.effect,
        images=config.image_count or len(sizes),
        seed=config.seed,
        resamples=config.resamples,
        alpha=config.alpha,
    )
    return {"power": power, "power_low": low, "power_high": high}
