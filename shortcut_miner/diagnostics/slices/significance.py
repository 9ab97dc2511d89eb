"""How surely a slice is worse than the rest: p values, their corrections, and DivExplorer's statistics."""

from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from shortcut_miner.diagnostics.slices.config import Direction
from shortcut_miner.diagnostics.slices.mined import Ints

Floats = npt.NDArray[np.float64]
Sums = tuple[Ints, Ints, Ints]  # rows, sum of their outcomes, sum of the squares of these
_Whole = TypeVar("_Whole", Ints, npt.NDArray[np.object_])

_EXACT = 2**62


def p_values(slices: Sums, whole: tuple[int, int, int], direction: Direction, *, is_wrong: bool) -> Floats:
    """Return how likely slices so different from the other rows are by chance; NaN where nothing tells.

    Parameters
    ----------
    slices : tuple of int64[slices]
        Rows, sum and sum of squares of the outcome.
    whole : tuple of int
        The same of all rows.
    direction : {"worse", "better", "both"}
        Worse is a larger outcome.
    is_wrong : bool
        The outcome is 0 or 1: Fisher's exact test. Else Welch's test of the slice against the other rows,
        with unbiased variances and the Welch-Satterthwaite degrees of freedom; NaN where a side has less than
        two rows or no side varies.
    """
    return _fisher(slices, whole, direction) if is_wrong else _welch(slices, whole, direction)


def _fisher(slices: Sums, whole: tuple[int, int, int], direction: Direction) -> Floats:
    from scipy.stats import hypergeom

    rows, wrong, _ = whole
    # Many slices have the same counts, and each test takes as long as there are rows in it.
    pairs, back = np.unique(np.stack(slices[:2], axis=1), axis=0, return_inverse=True)
    count, hits = pairs[:, 0], pairs[:, 1]
    sides = []
    if direction != "better":
        sides.append(hypergeom.sf(hits - 1, rows, wrong, count))
    if direction != "worse":
        sides.append(hypergeom.cdf(hits, rows, wrong, count))
    return _of_sides(sides)[back.ravel()]


def _welch(slices: Sums, whole: tuple[int, int, int], direction: Direction) -> Floats:
    from scipy.stats import t as student

    others = tuple(of_all - one for of_all, one in zip(whole, slices, strict=True))
    (mean, spread, rows), (other_mean, other_spread, other_rows) = map(_moments, (slices, others))
    squared = spread + other_spread
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = (mean - other_mean) / np.sqrt(squared)
        freedom = squared**2 / (spread**2 / (rows - 1) + other_spread**2 / (other_rows - 1))
    sides = []
    if direction != "better":
        sides.append(student.sf(statistic, freedom))
    if direction != "worse":
        sides.append(student.cdf(statistic, freedom))
    is_told = (rows >= 2) & (other_rows >= 2) & (squared > 0)
    return np.where(is_told, _of_sides(sides), np.nan)


def _of_sides(sides: list[Floats]) -> Floats:
    """Return the p of one side, or of both: twice the smaller one."""
    p = sides[0] if len(sides) == 1 else 2 * np.minimum(*sides)
    return np.clip(p, 0, 1)


def _moments(sums: tuple[Ints, ...]) -> tuple[Floats, Floats, Floats]:
    """Return mean, squared standard error by the unbiased variance, and rows."""
    rows = sums[0].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return sums[1] / rows, _centred(sums) / (rows * (rows - 1)) / rows, rows


def _centred(sums: tuple[Ints, ...]) -> Floats:
    """Return rows times the sum of squared differences to the mean, from whole numbers: nothing cancels."""
    most = int(sums[0].max(initial=0)) * int(sums[2].max(initial=0))
    count, total, square = sums if most < _EXACT else tuple(one.astype(object) for one in sums)
    return np.asarray(count * square - total * total, np.float64)


def q_values(p: Floats, correction: Literal["by", "bh"]) -> Floats:
    """Return p values corrected for all slices that were mined, by Benjamini and Yekutieli or Hochberg.

    Where p is NaN q is, and the slice counts as a test with p = 1.
    """
    from scipy.stats import false_discovery_control

    if not len(p):
        return p
    return np.where(
        np.isnan(p), np.nan, false_discovery_control(np.nan_to_num(p, nan=1.0), method=correction)
    )


def holm(p: Floats) -> Floats:
    """Return p values corrected after Holm, "A Simple Sequentially Rejective Multiple Test Procedure" (1979).

    NaN stays, and counts as a test.

    >>> holm(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    told = np.nan_to_num(p, nan=1.0)
    order = np.argsort(told, kind="stable")
    raised = np.maximum.accumulate(told[order] * np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(raised, 1.0)
    return np.where(np.isnan(p), np.nan, corrected)


def beta_statistic(count: Ints, wrong: Ints) -> Floats:
    """Return DivExplorer's t of shares of wrong rows: of Beta(1 + wrong, 1 + right) with the first entry's.

    The first entry is of all rows, which a slice's are among.
    """
    above, below = 1.0 + wrong, 1.0 + count - wrong
    mean = above / (above + below)
    variance = above * below / ((above + below) ** 2 * (above + below + 1))
    return np.asarray(np.abs(mean - mean[0]) / np.sqrt(variance + variance[0]))


def welch_statistic(sums: Sums) -> Floats:
    """Return DivExplorer's t of means: Welch's with population variances, against the first entry's rows.

    The first entry is of all rows, which a slice's are among. NaN where neither varies.
    """
    count = sums[0].astype(np.float64)
    mean, spread = sums[1] / count, _centred(sums) / count**3
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(spread + spread[0] > 0, np.abs(mean - mean[0]) / np.sqrt(spread + spread[0]), np.nan)
