"""Tries on the device: whole, or what is below a range of their first nodes.

A trie here is a list of levels, one a length from 0 on, as :class:`~shortcut_miner.mining.arrays.Level` has
them: items, and where the children of each node start in the next level. What is below consecutive first
nodes is a range of every level, so that a trie too large for the device is worked on part by part.
"""

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shortcut_miner.errors import BackendError
from shortcut_miner.mining.arrays import Ints, Numbers, Trie
from shortcut_miner.mining.jobs_cupy import plans
from shortcut_miner.mining.jobs_cupy.device import Array, Device
from shortcut_miner.mining.trie import RuleIndex

# What a node and a rule take on the device, with what comes and goes while they are put there.
BYTES_A_NODE = 48
BYTES_A_RULE = 64
# Nodes of a part are numbered in int32.
_MOST_NODES = (1 << 31) - 2

Levels = Sequence[tuple[Numbers, Ints]]
Ranges = list[tuple[int, int]]


@dataclasses.dataclass(frozen=True, slots=True)
class PlacedTrie:
    """A part of a trie on the device, numbered breadth first; node 0 is empty.

    Attributes
    ----------
    items, parents : int32[nodes]
    child_starts : int32[nodes + 1]
    """

    items: Array
    child_starts: Array
    parents: Array


@dataclasses.dataclass(frozen=True, slots=True)
class PlacedRules:
    """A part of a trie of rules on the device; a rule's place is its position in `rules`.

    Attributes
    ----------
    trie : PlacedTrie
        The nodes.
    starts : int32[nodes + 1]
        The first place of each node.
    rules : int64[places]
        Rule numbers.
    classes : int32[places]
        Their answers.
    numbers : int64[places]
        `rules`, on the host.
    """

    trie: PlacedTrie
    starts: Array
    rules: Array
    classes: Array
    numbers: Ints

    @property
    def arrays(self) -> tuple[Array, ...]:
        """What kernels take of the nodes, in their order."""
        return self.trie.items, self.trie.child_starts, self.trie.parents, self.starts


def node_ranges(levels: Levels, first: int, stop: int) -> Ranges:
    """Return what belongs to the first nodes first..stop-1: a range of each level, all of level 0.

    >>> levels = [([-1], [0, 2]), ([0, 1], [0, 1, 3]), ([1, 1, 2], [0, 0, 0, 0])]
    >>> node_ranges(levels, 1, 2)
    [(0, 1), (1, 2), (1, 3)]
    """
    ranges = [(0, 1)]
    for _, starts in levels[:-1]:
        if len(ranges) > 1:
            first, stop = int(starts[first]), int(starts[stop])
        ranges.append((first, stop))
    return ranges


def first_bounds(levels: Levels) -> Ints:
    """Return where each first node's part of the levels from 1 on starts: int64[lengths, first nodes + 1]."""
    count = len(levels[1][0]) if len(levels) > 1 else 0
    bounds = np.empty((len(levels) - 1, count + 1), np.int64)
    bounds[:1] = np.arange(count + 1)
    for depth, (_, starts) in enumerate(levels[1:-1]):
        bounds[depth + 1] = starts[bounds[depth]]
    return bounds


def fitting_ranges(sizes: Ints, nodes: Ints, room: int) -> Ranges:
    """Return ranges of first nodes that fit into `room`, one at least, if a single one does.

    Parameters
    ----------
    sizes, nodes : int64[first nodes]
        Bytes and nodes of each.
    room : int
        Bytes for a part.
    """
    if nodes.max(initial=0) > _MOST_NODES:
        raise BackendError(
            f"backend cupy: got {nodes.max():,} antecedents with one first item, expected at most "
            f"{_MOST_NODES:,}. Raise min_count, or choose the backend numba."
        )
    # Whichever is the scarcer decides: bytes, or numbers of nodes.
    shares = np.maximum(sizes, np.ceil(nodes * (room / _MOST_NODES)).astype(np.int64))
    return list(plans.fitting_parts(shares, room)) or [(0, 0)]


def place_parts(device: Device, pieces: Sequence[npt.NDArray[np.generic]], dtype: npt.DTypeLike) -> Array:
    """Return arrays of the host as one of the device; no copy of all is made on the way."""
    whole = device.xp.empty(sum(map(len, pieces)), dtype)
    top = 0
    for piece in pieces:
        whole[top : top + len(piece)] = device.xp.asarray(piece)
        top += len(piece)
    return whole


def place_trie(device: Device, levels: Levels, ranges: Ranges) -> PlacedTrie:
    """Return a part of a trie on the device."""
    xp = device.xp
    size = sum(stop - first for first, stop in ranges)
    child_starts = xp.empty(size + 1, np.int32)
    top = 0
    for (_, starts), (first, stop), (below, _) in zip(levels, ranges, [*ranges[1:], (0, 0)], strict=True):
        after = top + stop - first
        child_starts[top:after] = xp.asarray(starts[first:stop]) + (after - below)
        top = after
    child_starts[0], child_starts[size] = 1, size  # all first nodes there are, wherever they start
    parents = xp.zeros(size, np.int32)
    numbers = xp.arange(1, size, dtype=np.int32)
    parents[1:] = xp.searchsorted(child_starts, numbers, side="right") - 1
    items = [items[first:stop] for (items, _), (first, stop) in zip(levels, ranges, strict=True)]
    return PlacedTrie(place_parts(device, items, np.int32), child_starts, parents)


def levels_of(trie: Trie) -> Levels:
    """Return a trie of rules as levels."""
    levels = []
    low, high = 0, 1
    while low < high:
        levels.append((trie.items[low:high], trie.child_starts[low : high + 1] - high))
        low, high = high, int(trie.child_starts[high])
    return levels


def rule_ranges(index: RuleIndex, levels: Levels, room: int) -> Ranges:
    """Return ranges of first nodes whose nodes and rules fit into `room`."""
    bounds = first_bounds(levels)
    numbered_through = bounds + np.array(_level_begins(levels)[1:], np.int64)[:, None]
    nodes = np.diff(bounds).sum(axis=0)
    rules = np.diff(index.trie.rule_starts[numbered_through]).sum(axis=0)
    return fitting_ranges(nodes * BYTES_A_NODE + rules * BYTES_A_RULE, nodes, room)


def place_rules(device: Device, index: RuleIndex, levels: Levels, first: int, stop: int) -> PlacedRules:
    """Return the rules below the first nodes first..stop-1 on the device; with node 0, those of no items."""
    ranges = node_ranges(levels, first, stop)
    rule_starts = index.trie.rule_starts
    starts, numbers, count = [], [], 0
    for begin, (low, high) in zip(_level_begins(levels), ranges, strict=True):
        here = rule_starts[begin + low : begin + high + 1]
        if begin == 0 and first > 0:
            here = here[:1].repeat(2)  # rules without items belong to the first part
        starts.append(here[:-1] + (count - here[0]))
        numbers.append(index.trie.rules[here[0] : here[-1]])
        count += int(here[-1] - here[0])
    starts.append(np.array([count]))
    rules = np.concatenate(numbers)
    xp = device.xp
    return PlacedRules(
        place_trie(device, levels, ranges),
        place_parts(device, starts, np.int32),
        xp.asarray(rules),
        xp.asarray(index.trie.rule_class[rules]),
        rules,
    )


def _level_begins(levels: Levels) -> list[int]:
    """Return the number of each level's first node, numbered through."""
    return list(itertools.accumulate((len(items) for items, _ in levels[:-1]), initial=0))
