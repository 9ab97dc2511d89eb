"""The miner's working memory: one set per thread, reused for every node of the search."""

from typing import NamedTuple

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import STEP
from shortcut_miner.mining.kernels_numba.rows import Occurrences, Rows

# Sweeping all counters after a class run beats listing those touched, up to this many counters a row.
SWEEP_RATIO = 8


class Scratch(NamedTuple):
    """Counters that are all zero between uses, and lists that have no meaning between uses."""

    run: np.ndarray
    best: np.ndarray
    best_class: np.ndarray
    total: np.ndarray
    touched: np.ndarray
    new_name: np.ndarray
    run_ends: np.ndarray
    run_classes: np.ndarray
    pair_run: np.ndarray
    pair_best: np.ndarray
    pair_class: np.ndarray
    pair_total: np.ndarray
    pair_touched: np.ndarray


class Stack(NamedTuple):
    """One entry per length of the antecedent under search: its candidates, and where its rows end.

    ``saved`` is ``Found.size`` as it was before the first item being searched.
    """

    cursor: np.ndarray
    kept: np.ndarray
    base: np.ndarray
    row_stop: np.ndarray
    item_stop: np.ndarray
    occurrence_stop: np.ndarray
    saved: np.ndarray
    names: np.ndarray
    starts: np.ndarray


class Found(NamedTuple):
    """Antecedents in the order of the search; ``size[0]`` of them, ``size[k]`` with k items."""

    length: np.ndarray
    parent: np.ndarray
    item: np.ndarray
    best_class: np.ndarray
    antecedent_count: np.ndarray
    rule_count: np.ndarray
    size: np.ndarray


class Space(NamedTuple):
    """One thread's working memory: the nodes' rows and occurrences, counters, stack and output."""

    rows: Rows
    occurrences: Occurrences
    scratch: Scratch
    stack: Stack
    found: Found


@njit(**STEP)
def emit(found, length, parent, item, best_class, antecedent_count, rule_count):
    """Append one antecedent to `found`, which must have room."""
    slot = found.size[0]
    found.length[slot] = length
    found.parent[slot] = parent
    found.item[slot] = item
    found.best_class[slot] = best_class
    found.antecedent_count[slot] = antecedent_count
    found.rule_count[slot] = rule_count
    found.size[0] = slot + 1
    found.size[length] += 1
