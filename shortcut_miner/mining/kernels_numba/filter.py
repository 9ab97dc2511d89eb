"""Superset filters over mined antecedents, laid out as a trie with one array per length.

The antecedents of length k are sorted, so the children of one parent are a run whose items ascend.
Every subset of a mined antecedent is mined too, so the children of P are among the children of each
subset of P: looking up all subsets of all children is a merge of ascending runs, without hashing.
"""

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import KERNEL, STEP
from shortcut_miner.kernel_pointers import pointers

# An index of this type is taken as it is; a signed one is first looked at, whether it counts from the end.
_place = np.uint64
# When one run is this many times longer than the other, bisection beats a merge.
_BISECT_RATIO = 8


@njit(**STEP)
def find_child(items, low, high, item):
    """Return the position of `item` in the ascending run ``items[low:high]``, or -1."""
    stop = high
    while low < high:
        middle = (low + high) // 2
        if items[middle] < item:
            low = middle + 1
        else:
            high = middle
    return low if low < stop and items[low] == item else -1


@njit(**KERNEL)
def drop_immediate(first, stop, two_below, below, level, below_links, links, dropped):
    """Mark antecedents of one length that a subset one item smaller answers at least as confidently.

    Works on the children of the antecedents first..stop-1 of the level below. Both confidences are
    compared as fractions, in int64.

    Parameters
    ----------
    two_below, below, level : Level
        Antecedents with k - 2, k - 1 and k items.
    below_links : int64[antecedents of length k - 1, k - 1]
        Position in `two_below` of each one's subset without its i-th item; -1 if it was not mined.
    links : int64[antecedents of length k, k] or int64[0, k]
        Filled with the same for this level, unless it has no rows.
    dropped : bool[antecedents of length k]
        Set to True where the filter drops.
    """
    size = below_links.shape[1]
    keep_links = len(links) > 0
    two_below, below, level = pointers((two_below, below, level))
    starts, items, other_starts, other_items = below.starts, level.items, two_below.starts, below.items
    answer, rows, right = level.best_class, level.antecedent_count, level.rule_count
    other_answer, other_rows, other_right = below.best_class, below.antecedent_count, below.rule_count
    for parent in range(first, stop):
        low, high = starts[parent], starts[parent + 1]
        for child in range(low, high):
            if keep_links:
                links[child, size] = parent
            if other_answer[parent] == answer[child]:
                dropped[child] |= other_right[parent] * rows[child] >= right[child] * other_rows[parent]
        for missing in range(size):
            subset = below_links[parent, missing]
            other = other_stop = 0
            if subset >= 0:
                other, other_stop = other_starts[subset], other_starts[subset + 1]
            bisect = (other_stop - other) > _BISECT_RATIO * (high - low)
            for child in range(low, high):
                item = items[_place(child)]
                if bisect:
                    match = find_child(other_items, other, other_stop, item)
                else:
                    while other < other_stop and other_items[_place(other)] < item:
                        other += 1
                    match = other if other < other_stop and other_items[_place(other)] == item else -1
                if keep_links:
                    links[child, missing] = match
                if match >= 0 and other_answer[_place(match)] == answer[_place(child)]:
                    most = other_right[_place(match)] * rows[_place(child)]
                    dropped[_place(child)] |= most >= right[_place(child)] * other_rows[_place(match)]


@njit(**STEP)
def _blocks(nodes, subset, child):
    """Say whether `subset` has the child's answer with at least the child's confidence."""
    return (
        nodes.best_class[subset] == nodes.best_class[child]
        and nodes.rule_count[subset] * nodes.antecedent_count[child]
        >= nodes.rule_count[child] * nodes.antecedent_count[subset]
    )


@njit(**KERNEL)
def drop_any(first, stop, before, nodes, paths, dropped):
    """Mark the antecedents first..stop-1 of one length that *any* proper subset blocks.

    `nodes` holds the antecedents of all lengths, of which `before` are shorter; ``paths[x]`` the items of
    antecedent x, ascending.
    """
    nodes = pointers(nodes)
    items, starts, size = nodes.items, nodes.starts, paths.shape[1]
    for child in range(first, stop):
        for mask in range(1 << size):
            if mask == (1 << size) - 1 or dropped[child]:
                break
            node = np.int64(0)
            for position in range(size):
                if mask >> position & 1 and node >= 0:
                    node = find_child(items, starts[node], starts[node + 1], paths[child, position])
            if node >= 0 and _blocks(nodes, node, before + child):
                dropped[child] = True
