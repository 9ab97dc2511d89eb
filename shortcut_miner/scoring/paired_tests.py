"""Tests of whether one of two models is right more often, from the rows that only one of them answers right.

McNemar, "Note on the sampling error of the difference between correlated proportions or percentages",
Psychometrika 12, 1947. Fagerland, Lydersen and Laake, "The McNemar test for binary matched-pairs data: mid-p
and asymptotic are better than exact conditional", BMC Medical Research Methodology 13, 2013.
"""

from collections.abc import Sequence

import numpy as np
from scipy import stats


def exact_p(only_a: int, only_b: int) -> float:
    """Return the two-sided p-value of the exact conditional test; 1 where the models never differ.

    >>> exact_p(0, 5), exact_p(10, 10)
    (0.0625, 1.0)
    """
    rows = only_a + only_b
    return min(1.0, 2 * float(stats.binom.cdf(min(only_a, only_b), rows, 0.5))) if rows else 1.0


def midp(only_a: int, only_b: int) -> float | None:
    """Return the p-value that counts what was seen by half; None where the models never differ.

    >>> round(midp(3, 9), 6)
    0.092285
    """
    rows, fewer = only_a + only_b, min(only_a, only_b)
    if not rows:
        return None
    half = stats.binom(rows, 0.5)
    return min(1.0, float(2 * half.cdf(fewer) - half.pmf(fewer)))


def chi_squared_p(only_a: int, only_b: int, *, is_corrected: bool = False) -> float | None:
    """Return the p-value of McNemar's statistic on one degree of freedom; None where the models never differ.

    `is_corrected` takes one off the difference, as Edwards does.

    >>> round(chi_squared_p(10, 20), 6)
    0.067889
    """
    rows = only_a + only_b
    if not rows:
        return None
    difference = max(abs(only_a - only_b) - int(is_corrected), 0)
    return float(stats.chi2.sf(difference**2 / rows, 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for being looked at together (Holm, 1979), in their order.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(p_values, np.float64)
    order = np.argsort(given, kind="stable")
    steps = given[order] * np.arange(len(given), 0, -1)
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return [float(value) for value in adjusted]
