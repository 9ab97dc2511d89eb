"""The superset filters on the device: a part of the antecedents at a time, against parts of the subsets."""

from functools import partial

import numpy as np

from shortcut_miner.mining.antecedents import Antecedents, Mask
from shortcut_miner.mining.arrays import Level
from shortcut_miner.mining.jobs_cupy.device import Array, Device, cuda_device
from shortcut_miner.mining.jobs_cupy.room import within_room
from shortcut_miner.mining.jobs_cupy.tries import (
    BYTES_A_NODE,
    Levels,
    PlacedTrie,
    Ranges,
    first_bounds,
    fitting_ranges,
    node_ranges,
    place_parts,
    place_trie,
)
from shortcut_miner.options import SupersetFilter

# The best class, the two counts and the mark of a node, beside the trie's own.
_BYTES_A_COUNT = 32


def dropped_by_subset(
    antecedents: Antecedents, superset_filter: SupersetFilter, empty_rule: bool, threads: int | None = None
) -> list[Mask]:
    """See :func:`shortcut_miner.mining.filters.dropped_by_subset`; `threads` are of no use here."""
    return dropped_on(cuda_device(), antecedents, superset_filter, empty_rule)


def dropped_on(
    device: Device, antecedents: Antecedents, superset_filter: SupersetFilter, empty_rule: bool
) -> list[Mask]:
    """Return what subsets block, per length from 0 on, found on a device."""
    levels = list(antecedents.levels)
    if superset_filter == "none" or not antecedents.count:
        return [np.zeros(len(level.items), np.bool_) for level in levels]
    if not empty_rule:
        levels[0] = levels[0]._replace(best_class=np.array([-1], np.int32))
    is_any = int(superset_filter == "all")
    return within_room(device, partial(_dropped, device, levels, is_any), "the superset filter")


def _dropped(device: Device, levels: list[Level], is_any: int, room: int) -> list[Mask]:
    dropped = [np.zeros(len(level.items), np.bool_) for level in levels]
    trie = _trie(levels)
    nodes = np.diff(first_bounds(trie)).sum(axis=0)
    parts = fitting_ranges(nodes * (BYTES_A_NODE + _BYTES_A_COUNT), nodes, room // 2)
    for number, part in enumerate(parts):
        ranges = node_ranges(trie, *part)
        placed, counts = _place(device, levels, ranges)
        size = len(placed.items)
        marks = device.xp.zeros(size, np.bool_)
        # Items ascend: a subset has the same first item or a later one.
        for other in parts[number:]:
            others, other_counts = (
                (placed, counts) if other == part else _place(device, levels, node_ranges(trie, *other))
            )
            device.run(
                "filter", "drop_by_subset", size - 1, size, is_any, placed.items, placed.parents, *counts,
                others.items, others.child_starts, *other_counts, marks,
            )  # fmt: skip
        found = device.to_host(marks)
        top = 0
        for mask, (first, stop) in zip(dropped, ranges, strict=True):
            mask[first:stop] = found[top : top + stop - first]
            top += stop - first
    return dropped


def _place(device: Device, levels: list[Level], ranges: Ranges) -> tuple[PlacedTrie, tuple[Array, ...]]:
    """Return a part of the antecedents on the device: the trie, and best classes and counts of its nodes."""
    parts = [
        (level.best_class[first:stop], level.antecedent_count[first:stop], level.rule_count[first:stop])
        for level, (first, stop) in zip(levels, ranges, strict=True)
    ]
    counts = [place_parts(device, pieces, pieces[0].dtype) for pieces in zip(*parts, strict=True)]
    return place_trie(device, _trie(levels), ranges), tuple(counts)


def _trie(levels: list[Level]) -> Levels:
    return [(level.items, level.starts) for level in levels]
