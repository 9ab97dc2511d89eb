"""Measures of rules: ratios of the four counts, computed once, as Polars expressions.

Names follow mlxtend and arules: ``antecedent_support``, ``support``, ``confidence``, ``lift``.
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
