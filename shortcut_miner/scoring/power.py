"""Whether a set is big enough to tell two models apart: needed rows, power, the least difference seen.

Two models differ on a row where one is right and the other wrong. `only_a` and `only_b` are here the shares
of rows that only the first, or only the second, answers right; `discordant` is their sum, and their
difference that of the models' accuracies.

Connor, "Sample size for testing differences in proportions for the paired-sample design", Biometrics 43,
1987. Card et al., "With Little Power Comes Great Responsibility", EMNLP 2020.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from shortcut_miner.errors import ConfigError

_SLACK = 1e-12  # a p-value that is the level but for its last digits rejects
_NEGLIGIBLE = 1e-15  # of a binomial's probability, at either end
_TEETH = 50  # power falls where one more discordant row is needed: so many larger sets are looked at too
_CLOSE = 1e-10

Floats = NDArray[np.float64]


def required_rows(only_a: float, only_b: float, *, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """Return the rows that McNemar's asymptotic test needs, not rounded; None where the shares are equal.

    Parameters
    ----------
    only_a, only_b : float
        Shares of rows that only one of the models answers right.
    alpha, power : float
        Level of the two-sided test, and the wanted chance that it rejects.

    Raises
    ------
    ConfigError
        Shares outside 0..1 or with a sum above 1, or a level or power outside (0, 1).

    Examples
    --------
    >>> round(required_rows(0.15, 0.05), 4)
    154.5986
    """
    _check(only_a, only_b, alpha, power)
    difference, discordant = abs(only_a - only_b), only_a + only_b
    if not difference:
        return None
    return _connor(difference, discordant, alpha, power)


def required_rows_simple(
    only_a: float, only_b: float, *, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Return the rows by the formula that takes the variance without a difference; see :func:`required_rows`.

    >>> round(required_rows_simple(0.15, 0.05), 4)
    156.9776
    """
    _check(only_a, only_b, alpha, power)
    difference = abs(only_a - only_b)
    if not difference:
        return None
    return (_normal(1 - alpha / 2) + _normal(power)) ** 2 * (only_a + only_b) / difference**2


def exact_power(rows: int, only_a: float, only_b: float, *, alpha: float = 0.05) -> float:
    """Return the chance that the exact conditional test rejects, in either direction, on so many rows.

    Parameters
    ----------
    rows : int
        Of the set.
    only_a, only_b, alpha
        See :func:`required_rows`.

    Examples
    --------
    >>> round(exact_power(100, 0.15, 0.05), 5), exact_power(5, 1.0, 0.0)
    (0.54445, 0.0)
    """
    _check(only_a, only_b, alpha, 0.5)
    if rows < 1:
        raise ConfigError(f"rows: got {rows}, expected 1 or more. Give the number of rows of the set.")
    discordant = only_a + only_b
    if not discordant:
        return 0.0
    counted = stats.binom(rows, discordant)
    first, last = int(counted.ppf(_NEGLIGIBLE)), int(counted.isf(_NEGLIGIBLE))
    differing = np.arange(max(first, 0), last + 1)
    share = only_a / discordant
    most = _most_rejected(differing, alpha)
    # At most `most` rows of one kind, or at most so many of the other: never both.
    rejects = stats.binom.cdf(most, differing, share) + stats.binom.cdf(most, differing, 1 - share)
    return float(min(1.0, (counted.pmf(differing) * rejects).sum()))


def required_rows_exact(
    only_a: float, only_b: float, *, alpha: float = 0.05, power: float = 0.8
) -> int | None:
    """Return the fewest rows at which the exact test has the power, there and on each of the next 50 sizes.

    Power is saw-toothed: one more row may demand one more row that differs. See :func:`required_rows`.

    >>> required_rows_exact(0.15, 0.05)
    168
    """
    start = required_rows(only_a, only_b, alpha=alpha, power=power)
    if start is None:
        return None

    def reaches(rows: int) -> bool:
        return exact_power(rows, only_a, only_b, alpha=alpha) >= power

    def any_reaches(rows: int) -> bool:
        return any(reaches(size) for size in range(rows, rows + _TEETH))

    # The first size near which any tooth reaches the power, found as if teeth rose; then one by one.
    low, high = 1, max(int(start), 1)
    while not any_reaches(high):
        low, high = high, 2 * high
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if any_reaches(middle) else (middle + 1, high)
    rows = run = low
    while run - rows <= _TEETH:
        rows, run = (rows, run + 1) if reaches(run) else (run + 1, run + 1)
    return rows


def minimal_detectable(
    rows: int, discordant: float, *, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Return the least difference for which :func:`required_rows` asks for no more rows than there are.

    None where not even models that differ in one direction only would be told apart.

    >>> round(minimal_detectable(3169, 0.2), 5), minimal_detectable(50, 0.05)
    (0.02225, None)
    """
    _check(discordant, 0.0, alpha, power)
    if not discordant or _connor(discordant, discordant, alpha, power) > rows:
        return None

    def lacking(difference: float) -> float:
        return _connor(difference, discordant, alpha, power) - rows

    least = discordant * 1e-9
    return float(optimize.bisect(lacking, least, discordant, xtol=_CLOSE)) if lacking(least) > 0 else least


def _connor(difference: float, discordant: float, alpha: float, power: float) -> float:
    spread = math.sqrt(max(discordant - difference**2, 0.0))
    return ((_normal(1 - alpha / 2) * math.sqrt(discordant) + _normal(power) * spread) / difference) ** 2


def _normal(probability: float) -> float:
    return float(stats.norm.ppf(probability))


def _most_rejected(differing: NDArray[Any], alpha: float) -> NDArray[Any]:
    """Return the most rows of one kind, among so many that differ, at which the test rejects; -1 if none."""
    level = (alpha + _SLACK) / 2
    most = np.maximum(stats.binom.ppf(level, differing, 0.5), 0)
    # ppf gives the first count whose probability reaches the level: it is the last within, or the one before.
    rejected: NDArray[Any] = np.where(stats.binom.cdf(most, differing, 0.5) <= level, most, most - 1)
    return rejected


def _check(only_a: float, only_b: float, alpha: float, power: float) -> None:
    for name, share in (("only_a", only_a), ("only_b", only_b)):
        if not 0 <= share <= 1:
            raise ConfigError(f"{name}: got {share}, expected a share from 0 to 1. Correct it.")
    if only_a + only_b > 1 + _SLACK:
        raise ConfigError(
            f"only_a, only_b: got shares of {only_a} and {only_b}, expected a sum of at most 1: no row "
            "is in both. Correct them."
        )
    for name, value in (("alpha", alpha), ("power", power)):
        if not 0 < value < 1:
            raise ConfigError(f"{name}: got {value}, expected a number between 0 and 1. Correct it.")
