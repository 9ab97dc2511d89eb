"""The numbers of polling: accuracy, precision, recall, F1 and the share of yes, with intervals over images.

"yes" is positive (Li et al., EMNLP 2023, section 4). Everything is a ratio of counts of questions, made anew
on each resample.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.scoring.bootstrap import Floats, numbered, ratios, resampled_sums
from shortcut_miner.scoring.cell_tables import Figures, difference_tables, figure_tables

MEAN_F1 = "mean_f1"
COUNTS = ("tp", "fp", "tn", "fn", "unparsed", "pairs", "both_right")
_SLOT = ("model", "strategy", "image_id", "slot")


def judged_answers(asked: pl.DataFrame, said: pl.DataFrame, model: str) -> pl.DataFrame:
    """Return questions with what a model says, as 0 or 1 in every column of :data:`COUNTS`.

    Parameters
    ----------
    asked : pl.DataFrame
        question_id, image_id, strategy, object, slot, answer ("yes", "no").
    said : pl.DataFrame
        question_id, said ("yes", "no", or null where the answer is neither).
    model : str
        Its name.

    Notes
    -----
    A pair is a yes question and the no question of its slot; it is counted at the former, and right if both
    answers are. An answer that is neither is in none of the four counts.
    """
    both = asked.join(said, on="question_id", how="left", validate="1:1", maintain_order="left")
    is_yes, says_yes, says_no = pl.col("answer") == "yes", pl.col("said") == "yes", pl.col("said") == "no"
    is_right = (pl.col("said") == pl.col("answer")).fill_null(value=False)
    is_pair = is_yes & (pl.len().over(_SLOT) == 2) & (pl.col("answer").n_unique().over(_SLOT) == 2)
    flags = {
        "tp": is_yes & says_yes, "fp": ~is_yes & says_yes, "tn": ~is_yes & says_no, "fn": is_yes & says_no,
        "unparsed": pl.col("said").is_null(), "pairs": is_pair,
        "both_right": is_pair & is_right.all().over(_SLOT),
    }  # fmt: skip
    return both.with_columns(model=pl.lit(model)).select(
        *("question_id", "image_id", "strategy", "object", "model"),
        **{name: flag.fill_null(value=False).cast(pl.Int64) for name, flag in flags.items()},
    )


def measured(
    judged: pl.DataFrame, parser: str, *, baseline: str | None = None, resamples: int, seed: int
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Return each model's numbers: of all questions together, by strategy and by object.

    Parameters
    ----------
    judged : pl.DataFrame
        As of :func:`judged_answers`, of all models.
    parser : str
        Goes into the column scorer.
    baseline : str, optional
        The model that others are compared with.
    resamples, seed : int
        Of the bootstrap over images.

    Returns
    -------
    scores : pl.DataFrame
        metric (accuracy, precision, recall, f1, yes_ratio, paired; overall also mean_f1, the mean of the
        strategies' F1), group ("overall", "strategy", "object"), subgroup, scorer, model, value in
        percent, n, low, high. A ratio of nothing is null: so is the F1 of a model that is right about no yes.
    differences : pl.DataFrame or None
        Every other model's minus the baseline's, where there is one.
    """
    models, series = numbered(judged["model"])
    by = ["strategy", *(["object"] if judged["object"].null_count() < len(judged) else [])]
    sums = resampled_sums(
        judged, _columns(judged), series, len(models),
        by=by, clusters="image_id", resamples=resamples, seed=seed,
    )  # fmt: skip
    is_strategy = np.repeat((sums.subgroups["group"] == "strategy").to_numpy(), len(models))

    def figures(counts: Floats) -> Figures:
        found = dict(_figures(counts))
        f1, n = found["f1"]
        mean = np.full_like(f1, np.nan)
        strategies = f1[is_strategy].reshape(sum(is_strategy) // len(models), len(models), *f1.shape[1:])
        mean[: len(models)] = strategies.mean(axis=0)
        return found | {MEAN_F1: (mean, n)}

    def told(table: pl.DataFrame) -> pl.DataFrame:
        return table.filter((pl.col("group") == "overall") | ~pl.col("metric").str.starts_with(MEAN_F1))

    scores = figure_tables(sums, models, figures, parser)
    differences = None if baseline is None else difference_tables(sums, models, figures, parser, baseline)
    return told(scores), None if differences is None else told(differences)


def counted(judged: pl.DataFrame, strategies: tuple[str, ...], models: list[str]) -> pl.DataFrame:
    """Return the counts of each model and strategy: model, strategy and those of :data:`COUNTS`."""
    counts = judged.group_by("model", "strategy").agg(pl.col(COUNTS).sum().cast(pl.UInt64))
    return counts.sort(
        pl.col("model").replace_strict(models, range(len(models))),
        pl.col("strategy").replace_strict(strategies, range(len(strategies))),
    )


def _columns(judged: pl.DataFrame) -> list[NDArray[np.int64]]:
    return [judged[name].to_numpy() for name in COUNTS if name != "unparsed"]


def _figures(sums: Floats) -> Figures:
    """Return each metric and its number of questions, or pairs, from the sums of :func:`_columns`."""
    tp, fp, tn, fn, pairs, both_right = sums
    everything, said_yes, is_yes = tp + fp + tn + fn, tp + fp, tp + fn
    return {
        "accuracy": (100 * ratios(tp + tn, everything), everything),
        "precision": (100 * ratios(tp, said_yes), said_yes),
        "recall": (100 * ratios(tp, is_yes), is_yes),
        "f1": (100 * ratios(2 * tp, np.where(tp > 0, said_yes + is_yes, 0)), everything),
        "yes_ratio": (100 * ratios(said_yes, everything), everything),
        "paired": (100 * ratios(both_right, pairs), pairs),
    }
