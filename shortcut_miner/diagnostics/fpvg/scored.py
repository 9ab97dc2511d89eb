"""Tables of figures with intervals, from codes and their resampled counts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.diagnostics.fpvg.config import CONDITIONS, ScoreConfig
from shortcut_miner.diagnostics.fpvg.metric import Figure, bit_masks, figures, packed
from shortcut_miner.scoring.bootstrap import percentile_interval, ratios, resampled_sums

EVERY_QUESTION = "every question"
_LEVEL = 0.95

Ints = NDArray[np.int64]


def scores_of(
    of_run: Mapping[str, tuple[pl.DataFrame, Ints]], groups: Sequence[str], scorer: str, config: ScoreConfig
) -> pl.DataFrame:
    """Return every figure of every run, overall and per group, with intervals.

    Parameters
    ----------
    of_run : mapping of str to (pl.DataFrame, array)
        Run -> its evaluated questions (image_id and the columns of `groups`) and their codes; the questions
        are the same in all runs, in the same order.
    groups : sequence of str
        Columns to group by.
    scorer : str
        Goes into the table.

    Returns
    -------
    pl.DataFrame
        metric, group, subgroup, scorer, model, value, n, low, high. A ratio with nothing below its line is
        left out.
    """
    return _figure_rows(figures(), of_run, groups, scorer, config)


def full_set_scores(answers: Mapping[str, pl.DataFrame], scorer: str, config: ScoreConfig) -> pl.DataFrame:
    """Return the accuracies over every question that a run answered under the condition, evaluable or not.

    With ``on_missing="skip"`` over those that all runs answered under it, so that they compare.

    Parameters
    ----------
    answers : mapping of str to pl.DataFrame
        Run -> image_id, answer, and the answer under each condition (null where there is none); the same
        questions in all runs, in the same order.
    """
    right, known = np.split(bit_masks(2 * len(CONDITIONS)), 2)
    wanted = [
        Figure(f"accuracy_{condition}", right[place], known[place])
        for place, condition in enumerate(CONDITIONS)
    ]
    if config.on_missing == "skip":
        answers = _answered_by_all(answers)
    of_run = {run: (table, _answer_codes(table)) for run, table in answers.items()}
    return _figure_rows(wanted, of_run, (), scorer, config).with_columns(group=pl.lit(EVERY_QUESTION))


def _answered_by_all(answers: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the tables without the answers, under each condition, to questions that some run lacks there."""
    is_there = [table.select(pl.col(CONDITIONS).is_not_null()) for table in answers.values()]
    by_all = {
        condition: pl.select(pl.all_horizontal(table[condition] for table in is_there)).to_series()
        for condition in CONDITIONS
    }
    return {
        run: table.with_columns(
            pl.when(by_all[condition]).then(condition).alias(condition) for condition in CONDITIONS
        )
        for run, table in answers.items()
    }


def _answer_codes(table: pl.DataFrame) -> Ints:
    """Return codes whose bits say under which conditions the answer is right, then where there is one."""
    is_right = table.select(pl.col(condition) == pl.col("answer") for condition in CONDITIONS)
    return packed(is_right.select(pl.all().fill_null(False), pl.all().is_not_null().name.suffix(" known")))


def _figure_rows(
    wanted: Sequence[Figure],
    of_run: Mapping[str, tuple[pl.DataFrame, Ints]],
    groups: Sequence[str],
    scorer: str,
    config: ScoreConfig,
) -> pl.DataFrame:
    """Return figures of codes: figure by figure, subgroup by subgroup, with all runs side by side."""
    rows = pl.concat(table.select("image_id", *groups) for table, _ in of_run.values())
    # Only the codes that occur: every figure is a sum over some of them.
    used, code = np.unique(np.concatenate([codes for _, codes in of_run.values()]), return_inverse=True)
    run = np.repeat(np.arange(len(of_run)), [len(table) for table, _ in of_run.values()])
    sums = resampled_sums(
        rows, [np.ones(len(rows))], run * len(used) + code, len(of_run) * len(used),
        by=groups, clusters="image_id", resamples=config.resamples, seed=config.seed,
    )  # fmt: skip
    sides = sums.subgroups.join(
        pl.DataFrame({"model": list(of_run)}), how="cross", maintain_order="left_right"
    )
    counts = sums.totals.reshape(len(sides), len(used))
    drawn = sums.resampled.reshape(len(sides), len(used), config.resamples)
    parts = []
    for figure in wanted:
        scale = 1.0 if figure.is_ratio else 100.0
        pairs = [(figure.part, figure.whole), *([] if figure.less is None else [figure.less])]
        sums_of = [[counts[:, mask[used]].sum(axis=1) for mask in pair] for pair in pairs]
        drawn_of = [[drawn[:, mask[used]].sum(axis=1) for mask in pair] for pair in pairs]
        part, whole = sums_of[0]
        if figure.less is not None and not (figure.less[1] & figure.whole).any():
            whole = whole + sums_of[1][1]  # the difference of two groups is of both
        table = sides.select(
            pl.lit(figure.name).alias("metric"),
            *("group", "subgroup"),
            pl.lit(scorer).alias("scorer"),
            "model",
            pl.Series("value", scale * _difference(sums_of)),
            pl.Series("n", part + whole if figure.is_ratio else whole).cast(pl.UInt32),
            *percentile_interval(scale * _difference(drawn_of), _LEVEL),
        )
        parts.append(table.filter(pl.col("value").is_not_nan()))
    return pl.concat(parts)


def _difference(pairs: Sequence[Sequence[Any]]) -> NDArray[np.float64]:
    """Return the ratio of the first pair, less that of the second if there is one."""
    first, *others = (ratios(part, whole) for part, whole in pairs)
    return first - others[0] if others else first
