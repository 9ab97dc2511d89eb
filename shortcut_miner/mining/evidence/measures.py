"""Measures of rules: every ratio of the four counts that this package knows, defined once.

:data:`MEASURES` holds them as Polars expressions over the columns transaction_count, antecedent_count,
answer_count and rule_count; names follow mlxtend and arules. The Rules table takes ``RULE_MEASURES``; a
build's measured rules take ``FURTHER_MEASURES`` too, on training and on held-out rows, null where a ratio's
rows don't exist; the mlxtend export takes what mlxtend has.

A new measure as a column takes two files:

1. here, its expression in ``_measures`` and its name in ``FURTHER_MEASURES``;
2. in ``schemas.py``, its column in ``MeasuredRules``, once for training rows (``jaccard``) and once for
   validation rows (``val_jaccard``, nullable: a rule may fire on none).
"""

from types import MappingProxyType
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

Table = TypeVar("Table", pl.DataFrame, pl.LazyFrame)

# The normal quantile of a two-sided 95% interval.
_Z = 1.959963984540054


def wilson_interval(successes: pl.Expr, trials: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return both ends of the 95% score interval of a share (Wilson, 1927); null for no trials.

    >>> low, high = wilson_interval(pl.lit(8), pl.lit(10))
    >>> pl.select(low.round(4).alias("low"), high.round(4).alias("high")).row(0)
    (0.4902, 0.9433)
    """
    share, square = successes / trials, _Z * _Z
    centre = share + square / (2 * trials)
    spread = _Z * (share * (1 - share) / trials + square / (4 * trials * trials)).sqrt()
    scale = 1 + square / trials
    # At the ends the formula gives exactly 0 and 1, its floats don't.
    low = pl.when(successes == 0).then(0.0).otherwise((centre - spread) / scale)
    high = pl.when(successes == trials).then(1.0).otherwise((centre + spread) / scale)
    return pl.when(trials > 0).then(low), pl.when(trials > 0).then(high)


def _measures() -> dict[str, pl.Expr]:
    """Return the measures by name.

    leverage
        Support minus what independence gives, antecedent_support x answer share (Piatetsky-Shapiro, 1991).
    certainty
        The certainty factor of Shortliffe and Buchanan (1975) as arules has it: how far the confidence goes
        from the answer's share towards 1, or towards 0 if it is below; in [-1, 1], 0 for independence.
    mlxtend_certainty
        What mlxtend calls certainty: the same for confidences above the answer's share; one below it is
        divided by the way to 1 as well, so that there is no lower bound.
    mlxtend_leverage
        Leverage from products of floats: its last bits may differ, and nearly equal products above 2^53 too.
    confidence_low, confidence_high
        See :func:`wilson_interval`.
    conviction
        Brin et al. (1997): infinite for a confidence of 1.
    zhangs_metric
        Zhang (2000).
    jaccard, kulczynski
        Tan, Kumar and Srivastava (2004).
    representativity
        Share of the rows in which all items are known: 1, as nothing is missing here.
    """
    names = ("transaction_count", "antecedent_count", "answer_count", "rule_count")
    total, rows, answers, right = (pl.col(name).cast(pl.Float64) for name in names)
    surplus = right * total - rows * answers
    most = pl.max_horizontal(right * (total - rows), rows * (answers - right))
    # Products of two counts fit 64 bits, and above 2^53 only integers tell equal from nearly equal.
    n, n_rows, n_answers, n_right = (pl.col(name).cast(pl.Int64) for name in names)
    excess = n_right * n - n_rows * n_answers
    low, high = wilson_interval(n_right, n_rows)
    return {
        "antecedent_support": rows / total,
        "answer_support": answers / total,
        "support": right / total,
        "confidence": right / rows,
        "lift": right * total / (rows * answers),
        "confidence_low": low,
        "confidence_high": high,
        "leverage": pl.when(n > 0).then(excess / n / n),
        "certainty": pl.when((excess > 0) & (n_rows > 0))
        .then(excess / n_rows / (n - n_answers))
        .when((excess < 0) & (n_rows > 0))
        .then(excess / n_rows / n_answers)
        .when(n_rows > 0)
        .then(0.0),
        "mlxtend_leverage": surplus / (total * total),
        "mlxtend_certainty": pl.when(answers == total)
        .then(0.0)
        .otherwise(surplus / (rows * (total - answers))),
        "conviction": pl.when(right == rows)
        .then(float("inf"))
        .otherwise((total - answers) * rows / (total * (rows - right))),
        "zhangs_metric": pl.when(most == 0).then(0.0).otherwise(surplus / most),
        "jaccard": right / (rows + answers - right),
        "kulczynski": (right / rows + right / answers) / 2,
        "representativity": pl.lit(1.0),
    }


MEASURES = MappingProxyType(_measures())
RULE_MEASURES = ("antecedent_support", "support", "confidence", "lift")
FURTHER_MEASURES = ("confidence_low", "confidence_high", "leverage", "certainty")


def with_measures(rules: Table) -> Table:
    """Return `rules` with antecedent_support, support, confidence and lift after its counts.

    >>> counts = {"transaction_count": [10], "antecedent_count": [4], "answer_count": [5], "rule_count": [3]}
    >>> with_measures(pl.DataFrame(counts)).select("support", "confidence", "lift").row(0)
    (0.3, 0.75, 1.5)
    """
    return rules.with_columns(**{name: MEASURES[name] for name in RULE_MEASURES})


def with_further_measures(table: Table) -> Table:
    """Return `table` with the ``FURTHER_MEASURES`` after its four counts; 0 divided by 0 is null.

    >>> counts = {"transaction_count": [10], "antecedent_count": [4], "answer_count": [5], "rule_count": [3]}
    >>> with_further_measures(pl.DataFrame(counts)).select("leverage", "certainty").row(0)
    (0.1, 0.5)
    """
    return table.with_columns(**{name: MEASURES[name].fill_nan(None) for name in FURTHER_MEASURES})


def binomial_excess_p(
    successes: npt.NDArray[np.int64], trials: npt.NDArray[np.int64], rate: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return P(at least this many successes) for independent trials at `rate`; 1 where there are none.

    >>> binomial_excess_p(np.array([2]), np.array([2]), np.array([0.1])).round(3).tolist()
    [0.01]
    """
    from scipy.stats import binom

    return np.where(successes > 0, binom.sf(successes - 1, trials, rate), 1.0)


def false_discovery_q(p_values: npt.NDArray[np.float64], method: str) -> npt.NDArray[np.float64]:
    """Return q values after Benjamini-Hochberg ("bh") or Benjamini-Yekutieli ("by").

    >>> false_discovery_q(np.array([0.01, 0.04]), "bh").round(3).tolist()
    [0.02, 0.04]
    """
    from scipy.stats import false_discovery_control

    if not len(p_values):
        return p_values
    adjusted: npt.NDArray[np.float64] = false_discovery_control(p_values, method=method)
    return adjusted
