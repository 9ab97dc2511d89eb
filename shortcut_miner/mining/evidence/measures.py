"""Measures of rules: ratios of the four counts, computed once, as Polars expressions.

Names follow mlxtend and arules: ``antecedent_support``, ``support``, ``confidence``, ``lift``, ``leverage``,
``certainty``. A ratio whose rows don't exist is null.
"""

import numpy as np
import numpy.typing as npt
import polars as pl


def _ratio(top: str, bottom: str) -> pl.Expr:
    return pl.col(top) / pl.col(bottom)


def with_measures(rules: pl.DataFrame) -> pl.DataFrame:
    """Return `rules` with antecedent_support, support, confidence and lift after its counts.

    >>> counts = {"transaction_count": [10], "antecedent_count": [4], "answer_count": [5], "rule_count": [3]}
    >>> with_measures(pl.DataFrame(counts)).select("support", "confidence", "lift").row(0)
    (0.3, 0.75, 1.5)
    """
    expected = pl.col("antecedent_count").cast(pl.Float64) * pl.col("answer_count")
    return rules.with_columns(
        antecedent_support=_ratio("antecedent_count", "transaction_count"),
        support=_ratio("rule_count", "transaction_count"),
        confidence=_ratio("rule_count", "antecedent_count"),
        lift=pl.col("rule_count").cast(pl.Float64) * pl.col("transaction_count") / expected,
    )


def with_further_measures(table: pl.DataFrame) -> pl.DataFrame:
    """Return `table` with confidence_low, confidence_high, leverage and certainty after its four counts.

    ``leverage`` is support minus what independence gives, antecedent_support x answer share
    (Piatetsky-Shapiro, 1991). ``certainty`` is the certainty factor of Shortliffe and Buchanan (1975) as
    arules has it: how far the confidence goes from the answer's share towards 1, or towards 0 if it is
    below; in [-1, 1], 0 for independence. mlxtend's ``certainty`` is the same for confidences above the
    answer's share. See :func:`wilson_interval` for the other two.

    >>> counts = {"transaction_count": [10], "antecedent_count": [4], "answer_count": [5], "rule_count": [3]}
    >>> with_further_measures(pl.DataFrame(counts)).select("leverage", "certainty").row(0)
    (0.1, 0.5)
    """
    total, rows, answers, right = (pl.col(name).cast(pl.Int64) for name in _COUNTS)
    # Products of two counts fit 64 bits, and above 2^53 only integers tell equal from nearly equal.
    excess = right * total - rows * answers
    low, high = wilson_interval(right, rows)
    return table.with_columns(
        confidence_low=low,
        confidence_high=high,
        leverage=pl.when(total > 0).then(excess / total / total),
        certainty=pl.when((excess > 0) & (rows > 0))
        .then(excess / rows / (total - answers))
        .when((excess < 0) & (rows > 0))
        .then(excess / rows / answers)
        .when(rows > 0)
        .then(0.0),
    )


_COUNTS = ("transaction_count", "antecedent_count", "answer_count", "rule_count")
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
