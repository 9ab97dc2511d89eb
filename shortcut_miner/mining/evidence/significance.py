"""Fisher's exact test of rules, and corrections for the number of rules that were searched.

Probabilities are kept as log10, since the interesting ones are below 1e-300.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np
import numpy.typing as npt

from shortcut_miner.mining.arrays import Ints
from shortcut_miner.mining.kernels_numba import significance as kernels
from shortcut_miner.mining.threads import blocks, thread_count

Floats = npt.NDArray[np.float64]

_TESTS_A_TASK = 1 << 15
_LATEST = 1021  # tests whose results are taken again: a prime, so that counts fall on different places
_EULER_GAMMA = 0.5772156649015329


def fisher_log10_p(
    rule_count: Ints,
    antecedent_count: Ints,
    answer_count: Ints,
    transaction_count: Ints | int,
    threads: int | None = None,
) -> Floats:
    """Return log10 of Fisher's one-sided p: of at least `rule_count` rows with antecedent and answer.

    Parameters
    ----------
    rule_count, antecedent_count, answer_count, transaction_count : int64[tables] or int
        The four counts of each rule.
    threads : int, optional
        Default: see :func:`shortcut_miner.mining.threads.thread_count`.

    Returns
    -------
    float64[tables]
        The relative error of p is below 1e-8 at counts up to 10^7.

    >>> 10 ** fisher_log10_p(np.array([3]), np.array([4]), np.array([4]), 8)
    array([0.24285714])
    """
    total = np.empty(len(rule_count), np.int64)
    total[:] = transaction_count
    out = np.empty(len(rule_count))

    def test(task: tuple[int, int]) -> None:
        latest = np.full(_LATEST, -1, np.int64)
        kernels.fisher_log10(*task, rule_count, antecedent_count, answer_count, total, latest, out)

    with ThreadPoolExecutor(threads or thread_count()) as pool:
        list(pool.map(test, blocks(len(out), _TESTS_A_TASK)))
    return out


def family_q(
    log10_p: Floats, family_size: int, method: Literal["bh", "by"], order: Ints | None = None
) -> Floats:
    """Return the q values of some members of a family of tests; the others count with p = 1.

    Parameters
    ----------
    log10_p : float64[tests]
        log10 of the p values at hand.
    family_size : int
        All tests of the family.
    method : {"bh", "by"}
        Benjamini and Hochberg, "Controlling the False Discovery Rate" (1995), or Benjamini and Yekutieli,
        "The Control of the False Discovery Rate in Multiple Testing under Dependency" (2001), which holds
        under any dependence.
    order : int64[tests], optional
        What sorts the p values, if it is known.

    >>> family_q(np.log10([0.01, 0.04]), 2, "bh").round(3).tolist()
    [0.02, 0.04]
    >>> family_q(np.log10([0.01, 0.04]), 10, "bh").round(3).tolist()
    [0.1, 0.2]
    """
    order = np.argsort(log10_p) if order is None else order
    size = max(family_size, len(log10_p), 1)
    factor = math.log10(size) + (math.log10(_harmonic(size)) if method == "by" else 0.0)
    scaled = log10_p[order] + factor - np.log10(np.arange(1, len(order) + 1))
    q_values = np.empty(len(order))
    q_values[order] = 10 ** np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 0.0)
    return q_values


def _harmonic(size: int) -> float:
    """Return 1 + 1/2 + ... + 1/size."""
    if size < 1000:
        return math.fsum(1 / k for k in range(1, size + 1))
    return math.log(size) + _EULER_GAMMA + 1 / (2 * size) - 1 / (12 * size**2)


def holm_p(log10_p: Floats) -> Floats:
    """Return p values adjusted after Holm, "A Simple Sequentially Rejective Multiple Test Procedure" (1979).

    >>> holm_p(np.log10([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(log10_p)
    scaled = log10_p[order] + np.log10(np.arange(len(order), 0, -1))
    adjusted = np.empty(len(order))
    adjusted[order] = 10 ** np.minimum(np.maximum.accumulate(scaled), 0.0)
    return adjusted
