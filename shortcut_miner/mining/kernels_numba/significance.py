"""Fisher's exact test in logarithms, to about 1e-8 of the probability at counts up to 10^7.

Differences of log-gamma values lose those digits. Loader's way keeps them ("Fast and Accurate Computation of
Binomial Probabilities", 2000): a factorial is Stirling's formula times a small known error, and Stirling's
formula for all nine factorials of a point probability collapses into one term per cell of the 2 x 2 table,
``o log(o / e)`` with ``e`` the expected count.
"""

import math

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import KERNEL, STEP

# log(n!) - (n log n - n) below 16, where the series is not yet exact; for 0 it is 0.
_SMALL = np.array([0.0] + [math.log(math.factorial(n)) - n * math.log(n) + n for n in range(1, 16)])
_TWO_PI = 2 * math.pi
# Terms of a tail below this share of its sum end it: what follows shrinks at least as fast.
_NEGLIGIBLE = 1e-17


@njit(**STEP)
def _stirling_rest(n):
    """Return log(n!) - (n log n - n)."""
    if n < 16.0:
        return _SMALL[int(n)]
    square = n * n
    series = 1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square
    return 0.5 * math.log(_TWO_PI * n) + (1 / 12 - (1 / 360 - series / square) / square) / n


@njit(**STEP)
def _cell(observed, row, column, total):
    """Return what one cell takes from the log probability of its table."""
    if observed == 0.0:
        return 0.0
    return observed * math.log(observed * total / (row * column)) + _stirling_rest(observed)


@njit(**STEP)
def log_point(both, row, column, total):
    """Return log P(X = both) for X hypergeometric: `row` draws from `total` of which `column` count."""
    cells = (
        _cell(both, row, column, total)
        + _cell(row - both, row, total - column, total)
        + _cell(column - both, total - row, column, total)
        + _cell(total - row - column + both, total - row, total - column, total)
    )
    rows = _stirling_rest(row) + _stirling_rest(total - row)
    columns = _stirling_rest(column) + _stirling_rest(total - column)
    return rows + columns - _stirling_rest(total) - cells


@njit(**STEP)
def log_upper_tail(both, row, column, total):
    """Return log P(X >= both).

    The sum runs away from the mean, where every term is smaller than the one before; at or below the mean
    it is one minus the lower tail.
    """
    if both <= 0.0 or both <= row + column - total:
        return 0.0
    if both > row or both > column:
        return -np.inf
    above = both * total > row * column
    start = both if above else both - 1.0
    k, term, tail = start, 1.0, 1.0
    rest = total - row - column
    while term > _NEGLIGIBLE * tail:
        if above:
            term *= (row - k) * (column - k) / ((k + 1.0) * (rest + k + 1.0))
            k += 1.0
        else:
            term *= k * (rest + k) / ((row - k + 1.0) * (column - k + 1.0))
            k -= 1.0
        tail += term
    log_tail = log_point(start, row, column, total) + math.log(tail)
    return log_tail if above else math.log1p(-math.exp(log_tail))


@njit(**KERNEL)
def fisher_log10(first, stop, both, row, column, total, latest, out):
    """Fill ``out[first:stop]`` with log10 P(X >= both) for each table.

    Most tables are like one shortly before: ``latest``, -1 at first, is the latest one of each remainder.
    """
    for k in range(first, stop):
        place = ((both[k] * 31 + row[k]) * 31 + column[k]) % len(latest)
        like = latest[place]
        if (
            like >= 0
            and both[like] == both[k]
            and row[like] == row[k]
            and column[like] == column[k]
            and total[like] == total[k]
        ):
            out[k] = out[like]
            continue
        log_p = log_upper_tail(float(both[k]), float(row[k]), float(column[k]), float(total[k]))
        out[k] = log_p / math.log(10.0)
        latest[place] = k
