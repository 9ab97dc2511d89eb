"""From antecedents to rules: the confidence threshold and the superset filters.

One answer per antecedent, the most frequent, is already part of the search. ``immediate`` compares a rule
with the best rules of the subsets one item smaller, ``all`` with those of every proper subset; a subset
blocks when it has the same answer with at least the same confidence, whether it survives itself or not.
"""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shortcut_miner.mining.antecedents import Antecedents, Mask
from shortcut_miner.mining.arrays import Level
from shortcut_miner.mining.backends import Backend, resolve_backend
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.mining.threads import blocks, thread_count
from shortcut_miner.options import SupersetFilter

# So many antecedents are looked at together that what is made of them on the way stays in the cache.
_BLOCK = 1 << 15


def is_confident(
    rule_count: npt.NDArray[np.int64], antecedent_count: npt.NDArray[np.int64], min_confidence: float
) -> Mask:
    """Return rule_count / antecedent_count >= min_confidence, exactly.

    The threshold is the decimal number as written (0.3 is 3/10). Where it has too many digits for products in
    int64, floats decide wherever they can't be wrong; the few pairs on the edge are compared as fractions.

    >>> is_confident(np.array([3, 2]), np.array([10, 7]), 0.3).tolist()
    [True, False]
    """
    exact = Fraction(repr(float(min_confidence)))
    if int(antecedent_count.max(initial=0)) * exact.denominator < 1 << 63:
        return rule_count * exact.denominator >= antecedent_count * exact.numerator
    threshold = min_confidence * antecedent_count
    confident = rule_count >= threshold
    for k in np.flatnonzero(np.abs(rule_count - threshold) <= 1e-9 * np.maximum(antecedent_count, 1)):
        confident[k] = int(rule_count[k]) >= exact * int(antecedent_count[k])
    return confident


def dropped_by_subset(
    antecedents: Antecedents,
    superset_filter: SupersetFilter,
    empty_rule: bool,
    threads: int | None = None,
    backend: str | Backend = "auto",
) -> list[Mask]:
    """Return, per length from 0 on, which antecedents a subset blocks.

    Parameters
    ----------
    antecedents : Antecedents
        What was mined.
    superset_filter : {"immediate", "all", "none"}
        Which subsets can block.
    empty_rule : bool
        Whether the empty antecedent is a rule, and so can block.
    threads : int, optional
        Default: see :func:`shortcut_miner.mining.threads.thread_count`.
    backend : str or Backend
        See :func:`shortcut_miner.mining.backends.resolve_backend`.
    """
    return resolve_backend(backend).dropped_by_subset(antecedents, superset_filter, empty_rule, threads)


def select_rules(
    antecedents: Antecedents,
    dropped: list[Mask],
    min_confidence: float,
    empty_rule: bool,
    threads: int | None = None,
) -> tuple[RuleArrays, Mask]:
    """Return the confident rules in vocabulary numbers, and which of them the superset filter drops."""
    chosen = [
        _confident_in(level, min_confidence) & (size > 0 or (empty_rule and level.best_class[0] >= 0))
        for size, level in enumerate(antecedents.levels)
    ]
    count = sum(map(np.count_nonzero, chosen))
    rules = RuleArrays(
        items=np.full((count, len(chosen) - 1), -1, np.int32),
        answers=np.empty(count, np.int32),
        antecedent_count=np.empty(count, np.int64),
        rule_count=np.empty(count, np.int64),
    )
    is_dropped = np.empty(count, np.bool_)

    def fill(size: int, low: int, high: int, first: int) -> None:
        level, which = antecedents.levels[size], low + np.flatnonzero(chosen[size][low:high])
        place = slice(first, first + len(which))
        items = antecedents.item_names[antecedents.paths(size, which)]
        items.sort(axis=1)
        rules.items[place, :size] = items
        rules.answers[place] = level.best_class[which]
        rules.antecedent_count[place] = level.antecedent_count[which]
        rules.rule_count[place] = level.rule_count[which]
        is_dropped[place] = dropped[size][which]

    parts = [(size, *part) for size, mask in enumerate(chosen) for part in blocks(len(mask), _BLOCK)]
    ends = np.cumsum([np.count_nonzero(chosen[size][low:high]) for size, low, high in parts])
    with ThreadPoolExecutor(threads or thread_count()) as pool:
        for _ in pool.map(fill, *zip(*parts, strict=True), [0, *ends[:-1].tolist()]):
            pass
    return rules, is_dropped


def _confident_in(level: Level, min_confidence: float) -> Mask:
    """Return :func:`is_confident` of each antecedent of one length."""
    return np.concatenate(
        [
            is_confident(level.rule_count[low:high], level.antecedent_count[low:high], min_confidence)
            for low, high in blocks(len(level.items), _BLOCK)
        ]
        or [np.empty(0, np.bool_)]
    )
