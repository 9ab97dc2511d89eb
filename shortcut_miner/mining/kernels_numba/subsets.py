"""Rules against the subsets of their antecedents.

A *pair* is an antecedent with an answer, ``(node, answer)``. Nodes number the mined antecedents by length
and then as the miner sorts them: 0 is the empty antecedent, the children of node v are
``child_starts[v]..``, and ``items[v]`` is v's last item. The best subset of a pair is the best of its subsets
one item smaller and of *their* best subsets, so going up length by length no subset is looked at twice.
"""

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import KERNEL, STEP

# An index of this type is taken as it is; a signed one is first looked at, whether it counts from the end.
_place = np.uint64


# As in filter.py, not called there: numba's cache on disk does not see a callee change in another file.
@njit(**STEP)
def _find_child(items, low, high, item):
    """Return the position of `item` in the ascending run ``items[low:high]``, or -1."""
    stop = high
    while low < high:
        middle = (low + high) // 2
        if items[middle] < item:
            low = middle + 1
        else:
            high = middle
    return low if low < stop and items[low] == item else -1


@njit(**STEP)
def _walk(node, position, stop, path, items, child_starts):
    """Return the node that ``path[position:stop]`` leads to from `node`; -1 if none."""
    while position < stop and node >= 0:
        node = _find_child(items, child_starts[node], child_starts[node + 1], path[position])
        position += 1
    return node


@njit(**KERNEL)
def find_nodes(first, stop, paths, items, child_starts, nodes):
    """Fill ``nodes[first:stop]`` with the antecedents whose items (the miner's, ascending) are `paths`."""
    root = np.int64(0)  # of a literal's type, `_walk` would be compiled twice
    for k in range(first, stop):
        nodes[k] = _walk(root, root, paths.shape[1], paths[k], items, child_starts)


@njit(**KERNEL)
def link_subsets(first, stop, nodes, items, child_starts, parents, paths, links):
    """Fill ``paths[first:stop]`` with the items of nodes, ``links`` with the nodes that lack each item.

    ``links[k, i]`` lacks the i-th item of ``nodes[k]``; it is -1 if that was not mined.
    """
    size = paths.shape[1]
    for k in range(first, stop):
        prefix = np.int64(nodes[k])
        for missing in range(size - 1, -1, -1):
            paths[k, missing] = items[prefix]
            prefix = np.int64(parents[prefix])
            links[k, missing] = _walk(prefix, missing + 1, size, paths[k], items, child_starts)


def distinct_pairs(
    nodes: np.ndarray, answers: np.ndarray, node_count: int, class_count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return (position of a first member of each distinct pair, number of each given pair's distinct one).

    Distinct pairs ascend by node. Counting sort by node, then one mark per answer: no hashing, no sorting.
    """
    starts = np.zeros(node_count + 1, np.int32)
    marked_by, number_of = np.full((2, class_count), -1, np.int64)
    order, members, number = (np.empty(len(nodes), np.int32) for _ in range(3))
    size = mark_pairs(nodes, answers, starts, order, marked_by, number_of, members, number)
    return members[:size].copy(), number


@njit(**KERNEL)
def mark_pairs(nodes, answers, starts, order, marked_by, number_of, members, number):
    """Fill the members and numbers of :func:`distinct_pairs`; return how many distinct pairs there are."""
    for k in range(len(nodes)):
        starts[nodes[k] + 1] += 1
    for node in range(1, len(starts)):
        starts[node] += starts[node - 1]
    for k in range(len(nodes)):
        place = _place(nodes[k])
        order[_place(starts[place])] = k
        starts[place] += 1
    size = low = 0
    for node in range(len(starts) - 1):  # each of `starts` is now where the next node's members start
        for k in range(low, starts[node]):
            member = _place(order[_place(k)])
            answer = _place(answers[member])
            if marked_by[answer] != node:
                marked_by[answer] = node
                number_of[answer] = size
                members[_place(size)] = member
                size += 1
            number[member] = number_of[answer]
        low = starts[node]
    return size


@njit(**STEP)
def _take_better(best, k, rule_count, antecedent_count):
    """Let a subset take the place of the best one if it is more confident, or as confident on more rows."""
    if antecedent_count == 0:
        return
    mine = rule_count * best.antecedent_count[k]
    other = best.rule_count[k] * antecedent_count
    is_commoner = antecedent_count > best.antecedent_count[k]
    if best.antecedent_count[k] == 0 or mine > other or (mine == other and is_commoner):
        best.rule_count[k] = rule_count
        best.antecedent_count[k] = antecedent_count


@njit(**KERNEL)
def raise_best(first, stop, links, counts, below, below_single, is_single, best, single):
    """Fill the best subsets of the pairs first..stop-1 of one length from those one item shorter.

    Parameters
    ----------
    links : int32[pairs, items]
        Pairs of the length below: each subset one item smaller, with the same answer.
    counts : Best
        The pairs' own counts, of the length below.
    below, below_single : Best
        Best proper subset of the length below, and best subset with words only or objects only.
    is_single : bool[pairs below]
        Whether the subset itself is not empty and has words only or objects only.
    best, single : Best
        Filled; `antecedent_count` must be zero before.
    """
    for k in range(first, stop):
        for i in range(links.shape[1]):
            subset = links[k, i]
            right, rows = counts.rule_count[subset], counts.antecedent_count[subset]
            _take_better(best, k, right, rows)
            _take_better(best, k, below.rule_count[subset], below.antecedent_count[subset])
            if is_single[subset]:
                _take_better(single, k, right, rows)
            _take_better(single, k, below_single.rule_count[subset], below_single.antecedent_count[subset])
