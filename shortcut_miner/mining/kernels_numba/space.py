"""The miner's working memory: one set per thread, reused for every node of the search."""

from typing import NamedTuple

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import INLINED
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


class Bits(NamedTuple):
    """Rows as bits, see ``bits.py``: word k has ``masks`` and ``words`` from ``k * stride`` on.

    Each of its ``rows[k]`` rows counts ``1 << shift[k]`` and has class ``classes[k]``; ``same_run[k]`` is 0
    for a class's first word, where ``run_stop`` is that of the next class, else -1. Per antecedent's length:
    its candidates, and where its words start and end, those of heavy classes first. ``source`` and ``turned``
    have no meaning between uses; ``limit`` is how many masks one node may have.
    """

    masks: np.ndarray
    words: np.ndarray
    rows: np.ndarray
    shift: np.ndarray
    same_run: np.ndarray
    classes: np.ndarray
    run_stop: np.ndarray
    source: np.ndarray
    turned: np.ndarray
    candidates: np.ndarray
    low: np.ndarray
    heavy: np.ndarray
    stop: np.ndarray
    limit: np.ndarray


class Stack(NamedTuple):
    """One entry per length of the antecedent under search: its candidates, and where its rows end.

    ``saved`` is ``Found.size`` as it was before the first item being searched. ``names``, ``starts`` and
    ``Bits.candidates`` have a line of ``width`` numbers for each length.
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
    width: int


class Found(NamedTuple):
    """Antecedents in the order of the search: row k has ``size[k]`` with k items, ``size[0]`` is the sum.

    ``children`` counts the antecedents one item longer that follow from each; ``first_children`` those of the
    first items, from the first one of the call on.
    """

    item: np.ndarray
    best_class: np.ndarray
    antecedent_count: np.ndarray
    rule_count: np.ndarray
    children: np.ndarray
    first_children: np.ndarray
    size: np.ndarray
    room: int


class Space(NamedTuple):
    """One thread's working memory: the nodes' rows and occurrences, counters, stack and output."""

    rows: Rows
    occurrences: Occurrences
    scratch: Scratch
    bits: Bits
    stack: Stack
    found: Found


@njit(**INLINED)
def emit(found, length, item, best_class, antecedent_count, rule_count):
    """Append one antecedent to `found`, which must have room."""
    number = found.size[length]
    slot = length * found.room + number
    found.item[slot] = item
    found.best_class[slot] = best_class
    found.antecedent_count[slot] = antecedent_count
    found.rule_count[slot] = rule_count
    found.children[slot] = 0
    found.size[length] = number + 1
    found.size[0] += 1
