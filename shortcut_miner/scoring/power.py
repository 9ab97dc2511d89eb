"""Whether a set is big enough to tell two models apart: needed rows, power, the least difference seen.

Two models differ on a row where one is right and the other wrong. `only_a` and `only_b` are here the shares
of rows that only the first, or only the second, answers right; `discordant` is their sum, and their
difference that of the models' accuracies.

Connor, "Sample size for testing differences in proportions for the paired-sample design", Biometrics 43,
1987. Card et al., "With Little Power Comes Great Responsibility", EMNLP 2020.
"""

import math

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import optimize, stats

from shortcut_miner.errors import ConfigError
from shortcut_miner.keyed_draws import draw_below, id_keys

_SLACK = 1e-12  # a p-value that is the level but for its last digits rejects
_NEGLIGIBLE = 1e-15  # of a binomial's probability, at either end
_TEETH = 50  # power falls where one more discordant row is needed: so many larger sets are looked at too
_ROWS_A_TOOTH = 6  # that differ: more than one larger critical value takes
_LOOKS = 12  # at a tooth, to meet its tip
_CLOSE = 1e-10
_BLOCK = 50  # resamples at once

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
    counted = _most_counted(rows, discordant)
    return _power(rows, discordant, _rejections(counted, only_a / discordant, alpha))


def asymptotic_power(rows: int, only_a: float, only_b: float, *, alpha: float = 0.05) -> float:
    """Return the power that :func:`required_rows` asks for, of so many rows.

    >>> round(asymptotic_power(155, 0.15, 0.05), 3)
    0.801
    """
    _check(only_a, only_b, alpha, 0.5)
    difference, discordant = abs(only_a - only_b), only_a + only_b
    reach = math.sqrt(rows) * difference - _normal(1 - alpha / 2) * math.sqrt(discordant)
    spread = math.sqrt(max(discordant - difference**2, 0.0))
    return float(stats.norm.cdf(reach / spread)) if spread else float(reach > 0)


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
    discordant, most = (
        only_a + only_b,
        2 * math.ceil(start) + 10 * _TEETH + math.ceil(4 * _ROWS_A_TOOTH / (only_a + only_b)),
    )
    rejects = _rejections(_most_counted(most, discordant), only_a / discordant, alpha)

    def reaches(rows: int) -> bool:
        return _power(rows, discordant, rejects) >= power

    def any_reaches(rows: int) -> bool:
        return any(map(reaches, range(rows, rows + tooth, max(1, tooth // _LOOKS))))

    # The first size near which any tooth reaches the power, found as if their tips rose; then one by one.
    tooth = _TEETH + math.ceil(_ROWS_A_TOOTH / discordant)
    low, high = 1, most - tooth
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


def resampled_power(
    totals: Floats,
    sizes: Floats,
    *,
    effect: float,
    images: int,
    seed: int,
    resamples: int,
    alpha: float = 0.05,
) -> tuple[float, float, float]:
    """Return how often a test that knows of images finds an effect on resampled ones, with a 95% interval.

    Parameters
    ----------
    totals, sizes : ndarray of float64
        Of each image: the sum of its rows' differences between two models, and its number of rows.
    effect : float
        What the mean difference is shifted to, in the unit of `totals`.
    images : int
        How many are drawn, with replacement.
    seed, resamples : int
        Of the draws, which depend on the seed, the resample's number and the place in it alone.
    alpha : float
        Level of the test: it rejects where the mean is further from 0 than so many of its standard errors,
        which are those of a ratio of sums over images.

    Returns
    -------
    power, low, high : float
        The share of resamples that reject, and Wilson's interval of it.
    """
    shifted = totals + (effect - totals.sum() / sizes.sum()) * sizes
    keys = id_keys(pl.Series([str(number) for number in range(resamples)]), seed, "power")
    rejected = 0
    for first in range(0, resamples, _BLOCK):
        drawn = draw_below(keys[first : first + _BLOCK, None], np.arange(images), len(sizes))
        sums, rows = shifted[drawn], sizes[drawn]
        mean = sums.sum(axis=1) / rows.sum(axis=1)
        error = np.sqrt(((sums - mean[:, None] * rows) ** 2).sum(axis=1)) / rows.sum(axis=1)
        rejected += int((np.abs(mean) > _normal(1 - alpha / 2) * error).sum())
    interval = stats.binomtest(rejected, resamples).proportion_ci(method="wilson")
    return rejected / resamples, float(interval.low), float(interval.high)


def design_effect(differences: Floats, image: NDArray[np.int64]) -> float | None:
    """Return how much more the mean varies than if each row had an image of its own; None where no row does.

    Parameters
    ----------
    differences : ndarray of float64
        Between two models, a value a row.
    image : ndarray of int64
        The number of each row's image.

    >>> design_effect(np.array([1.0, 1.0, 0.0, 0.0]), np.array([0, 0, 1, 1]))
    2.0
    """
    centred = differences - differences.mean()
    within = float((centred**2).sum())
    return float((np.bincount(image, centred) ** 2).sum()) / within if within else None


def _connor(difference: float, discordant: float, alpha: float, power: float) -> float:
    spread = math.sqrt(max(discordant - difference**2, 0.0))
    return ((_normal(1 - alpha / 2) * math.sqrt(discordant) + _normal(power) * spread) / difference) ** 2


def _normal(probability: float) -> float:
    return float(stats.norm.ppf(probability))


def _most_counted(rows: int, discordant: float) -> int:
    """Return the most rows that differ, but for a negligible probability."""
    return int(stats.binom.isf(_NEGLIGIBLE, rows, discordant))


def _power(rows: int, discordant: float, rejects: Floats) -> float:
    """Return the power on so many rows, given the chance to reject for each number of rows that differ."""
    counted = stats.binom(rows, discordant)
    first, last = max(int(counted.ppf(_NEGLIGIBLE)), 0), _most_counted(rows, discordant)
    return float(min(1.0, counted.pmf(np.arange(first, last + 1)) @ rejects[first : last + 1]))


def _rejections(rows: int, share: float, alpha: float) -> Floats:
    """Return the chance that the exact test rejects where 0, ..., `rows` rows differ, `share` of one kind."""
    differing = np.arange(rows + 1)
    level = (alpha + _SLACK) / 2
    most = np.maximum(stats.binom.ppf(level, differing, 0.5), 0)
    # ppf gives the first count whose probability reaches the level: it is the last within, or the one before.
    most = np.where(stats.binom.cdf(most, differing, 0.5) <= level, most, most - 1)
    # At most `most` rows of one kind, or at most so many of the other: never both.
    found: Floats = stats.binom.cdf(most, differing, share) + stats.binom.cdf(most, differing, 1 - share)
    return found


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
