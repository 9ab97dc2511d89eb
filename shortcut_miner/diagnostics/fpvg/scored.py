"""Tables of figures with intervals, from codes and their resampled counts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.diagnostics.fpvg.config import CONDITIONS, ScoreConfig
from shortcut_miner.diagnostics.fpvg.metric import CODES, Figure, figures
from shortcut_miner.diagnostics.fpvg.resample import (
    cells_of,
    code_counts,
    percentile_interval,
    resampled_code_counts,
)

EVERY_QUESTION = "every question"
_SCHEMA = {
    "metric": pl.String, "group": pl.String, "subgroup": pl.String, "scorer": pl.String, "model": pl.String,
    "value": pl.Float64, "n": pl.UInt32, "low": pl.Float64, "high": pl.Float64,
}  # fmt: skip

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


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
    evaluated = next(iter(of_run.values()))[0]
    codes = np.stack([code for _, code in of_run.values()])
    return _figure_rows(figures(), CODES, evaluated, codes, groups, list(of_run), scorer, config)


def full_set_scores(answers: Mapping[str, pl.DataFrame], scorer: str, config: ScoreConfig) -> pl.DataFrame:
    """Return the accuracies over every question that a run answered under the condition, evaluable or not.

    Parameters
    ----------
    answers : mapping of str to pl.DataFrame
        Run -> image_id, answer, and the answer under each condition (null where there is none); the same
        questions in all runs, in the same order.
    """
    # One digit to the base of three for each condition: wrong, correct, no answer.
    digits = np.arange(3 ** len(CONDITIONS))[:, None] // 3 ** np.arange(len(CONDITIONS)) % 3
    wanted = [
        Figure(f"accuracy_{condition}", digits[:, place] == 1, digits[:, place] < 2)
        for place, condition in enumerate(CONDITIONS)
    ]
    codes = np.stack([_state_codes(table) for table in answers.values()])
    table = next(iter(answers.values()))
    rows = _figure_rows(wanted, len(digits), table, codes, (), list(answers), scorer, config)
    return rows.with_columns(group=pl.lit(EVERY_QUESTION))


def _state_codes(table: pl.DataFrame) -> Ints:
    code = np.zeros(len(table), np.int64)
    for place, condition in enumerate(CONDITIONS):
        state = (pl.col(condition) == pl.col("answer")).cast(pl.Int64).fill_null(2)
        code += 3**place * table.select(state).to_series().to_numpy()
    return code


def _figure_rows(
    wanted: Sequence[Figure],
    width: int,
    rows: pl.DataFrame,
    codes: Ints,
    groups: Sequence[str],
    runs: Sequence[str],
    scorer: str,
    config: ScoreConfig,
) -> pl.DataFrame:
    """Return figures of codes: figure by figure, subgroup by subgroup, with all runs side by side."""
    cells = cells_of(rows, groups)
    counts = code_counts(cells, codes, width)
    drawn = resampled_code_counts(cells, codes, width, rows["image_id"], config.resamples, config.seed)
    sides = cells.table.join(pl.DataFrame({"model": runs}), how="cross", maintain_order="left_right")
    parts = []
    for figure in wanted:
        scale = 1.0 if figure.is_ratio else 100.0
        part, whole = (counts[:, :, mask].sum(axis=2) for mask in (figure.part, figure.whole))
        drawn_part, drawn_whole = (drawn[:, :, mask].sum(axis=2) for mask in (figure.part, figure.whole))
        low, high = percentile_interval(scale * _divided(drawn_part, drawn_whole))
        n = part + whole if figure.is_ratio else whole
        columns = {"value": scale * _divided(part, whole), "n": n.astype(np.uint32), "low": low, "high": high}
        table = sides.with_columns(
            pl.Series(name, values.T.ravel()) for name, values in columns.items()
        ).with_columns(metric=pl.lit(figure.name), scorer=pl.lit(scorer))
        parts.append(table.filter(pl.col("value").is_not_nan()))
    return pl.concat(parts).select(pl.col(name).cast(dtype) for name, dtype in _SCHEMA.items()).with_columns(
        pl.col("low", "high").fill_nan(None)
    )  # fmt: skip


def _divided(part: NDArray[Any], whole: NDArray[Any]) -> Floats:
    """Return part / whole, NaN where whole is 0."""
    below = np.asarray(whole, np.float64)
    ratio: Floats = np.full(below.shape, np.nan)
    np.divide(np.asarray(part, np.float64), below, out=ratio, where=below > 0)
    return ratio
