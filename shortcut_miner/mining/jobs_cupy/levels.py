"""From the antecedents of one length to those one item longer, on the device.

A node is an antecedent. Its *occurrences* are the rows that hold it, each with the place after its last
item; its *candidates* are the items that may extend it: the last items of its later siblings, since an
antecedent reaches ``min_count`` with an answer only if both of its parts do. The kernels go over occurrences
(``kernels_cupy/mine.cu``); all else is done here with functions that NumPy and CuPy share.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from shortcut_miner.mining.antecedents import MiningConfig
from shortcut_miner.mining.arrays import Ints
from shortcut_miner.mining.jobs_cupy import plans
from shortcut_miner.mining.jobs_cupy.device import Array, Device
from shortcut_miner.mining.jobs_cupy.found import Part
from shortcut_miner.mining.jobs_cupy.rows import DeviceRows

# Threads for each occurrence, as in mine.cu.
_LANES = 8


@dataclasses.dataclass(frozen=True, slots=True)
class Occurrences:
    """The occurrences of some nodes, node after node.

    Attributes
    ----------
    rows, after, nodes : int32[occurrences], on the device
        The row, the place in it after the node's last item, and the node, counted from 0.
    starts : int64[nodes + 1]
        Where each node's occurrences start.
    entries : int64[nodes]
        At most how many candidates follow in all rows of a node together.
    """

    rows: Array
    after: Array
    nodes: Array
    starts: Ints
    entries: Ints

    def __len__(self) -> int:
        """Return the number of occurrences."""
        return len(self.rows)

    @property
    def arrays(self) -> tuple[Array, Array, Array, int]:
        """What the kernels take, in their order."""
        return self.rows, self.after, self.nodes, len(self)

    def of_nodes(self, first: int, stop: int) -> "Occurrences":
        """Return the occurrences of the nodes first..stop-1, under the same node numbers."""
        which = slice(int(self.starts[first]), int(self.starts[stop]))
        return dataclasses.replace(
            self, rows=self.rows[which], after=self.after[which], nodes=self.nodes[which]
        )


class Candidates(NamedTuple):
    """What may extend nodes: node n has ``items[starts[n]:stops[n]]``, ascending, all on the device."""

    items: Array
    starts: Array
    stops: Array


@dataclasses.dataclass(frozen=True, slots=True)
class Best:
    """Pairs of a node and a candidate that reach ``min_count`` with some class, by node and item.

    Attributes
    ----------
    nodes : int64[pairs]
    items, classes : int32[pairs]
        The class is the most frequent one, the smaller number on ties.
    counts : int64[pairs]
        Rows of that class. All arrays are on the device.
    """

    nodes: Array
    items: Array
    classes: Array
    counts: Array


@dataclasses.dataclass(frozen=True, slots=True)
class Children:
    """Antecedents one item longer than some nodes, node after node, and what their own lists would hold.

    Attributes
    ----------
    items : int32[children], on the device
        Their last items.
    starts : int64[nodes + 1], on the device
        Where the children of each node start.
    host_starts : int64[nodes + 1]
        The same on the host.
    totals : int64[children]
        Rows that hold them.
    holders, entries : int64[children]
        Occurrences that have further children after them, and how many of those, over all of them.
    """

    items: Array
    starts: Array
    host_starts: Ints
    totals: Ints
    holders: Ints
    entries: Ints

    def candidates(self, xp: Array, first: int, stop: int) -> Candidates:
        """Return what may extend the children first..stop-1: their later siblings."""
        places = xp.arange(first, stop)
        family = xp.searchsorted(self.starts, places, side="right")
        return Candidates(self.items, places + 1, self.starts[family])

    def sizes(self, rows: DeviceRows, min_count: int) -> Ints:
        """Return how many bytes each child takes at most while it is searched: int64[children]."""
        return plans.node_bytes(
            self.holders, self.entries, self.siblings(), rows.class_count, rows.max_weight, min_count
        )

    def siblings(self) -> Ints:
        """Return how many later siblings each child has: int64[children]."""
        counts = np.diff(self.host_starts)
        return np.repeat(self.host_starts[1:], counts) - np.arange(1, len(self.entries) + 1)


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Where a search stands: at the children first..stop-1, of `length` items, of nodes with occurrences."""

    occurrences: Occurrences
    children: Children
    first: int
    stop: int
    length: int


def every_row(which: Array, entries: int) -> Occurrences:
    """Return the occurrences of the empty antecedent in the rows `which`, with so many entries at most."""
    rows = which.astype(np.int32)
    return Occurrences(rows, 0 * rows, 0 * rows, np.array([0, len(rows)]), np.array([entries]))


def search_children(
    device: Device, rows: DeviceRows, config: MiningConfig, share: int, place: Place, part: Part
) -> bool:
    """Add all that lies below some antecedents to `part`; return whether it had room for that.

    Parameters
    ----------
    device, rows, config
        Where to search, and for what.
    share : int
        Bytes that the antecedents of a length may take at a time.
    place : Place
        Below which ones to search.
    part : Part
        What is found goes there.
    """
    xp, children, first, stop = device.xp, place.children, place.first, place.stop
    if not children.entries[first:stop].any():
        part.add(place.length, np.zeros(stop - first, np.int64))
        return True
    below = deliver(device, rows, place)
    candidates = children.candidates(xp, first, stop)
    most_keys = children.siblings()[first:stop] * rows.class_count
    best = find_best(device, rows, below, candidates, most_keys, config.min_count)
    if len(best.items) > part.left:
        return False
    longer = find_totals(device, rows, below, best.items, _starts_by_node(xp, best, stop - first))
    items, classes, counts = map(device.to_host, (best.items, best.classes, best.counts))
    part.add(place.length, np.diff(longer.host_starts), (items, classes, longer.totals, counts))
    if place.length + 1 == config.max_antecedent:
        return True
    return all(
        search_children(device, rows, config, share, Place(below, longer, *span, place.length + 1), part)
        for span in plans.fitting_parts(longer.sizes(rows, config.min_count), share)
    )


def _starts_by_node(xp: Array, best: Best, nodes: int) -> Array:
    """Return where the pairs of each node start: int64[nodes + 1]."""
    return xp.searchsorted(best.nodes, xp.arange(nodes + 1))


def find_best(
    device: Device,
    rows: DeviceRows,
    occurrences: Occurrences,
    candidates: Candidates,
    most_keys: Ints,
    min_count: int,
) -> Best:
    """Return the candidates of each node that reach `min_count` with some class, with their best class.

    ``most_keys`` is how many pairs of candidate and class each node can have at most.
    """
    xp = device.xp
    classes = _tables(xp, np.diff(occurrences.starts), rows.class_count)
    pairs = _tables(xp, occurrences.entries, most_keys)
    entries = int(occurrences.entries.sum())
    reaching = xp.empty(plans.most_reaching(entries, rows.max_weight, min_count), np.int64)
    reached = xp.zeros(1, np.uint64)
    where, count = occurrences.arrays, len(occurrences)
    device.run("mine", "weigh_classes", count, rows.classes, rows.weights, *where, *classes)
    given = (*rows.arrays, *where, *candidates, *classes, *pairs, rows.class_count, min_count)
    device.run("mine", "count_entries", count * _LANES, *given, reaching, reached)
    return _best_of(xp, reaching[: int(reached[0])], *pairs, rows.class_count)


def _tables(xp: Array, entries: Ints, most_keys: Ints | int) -> tuple[Array, Array]:
    """Return the hash tables of nodes, empty, and where each starts, counted in slots."""
    starts = plans.starts_of(plans.table_sizes(entries, most_keys))
    return xp.zeros(2 * int(starts[-1]), np.uint64), xp.asarray(starts)


def _best_of(xp: Array, slots: Array, tables: Array, table_starts: Array, class_count: int) -> Best:
    """Return the best class of each node and item among the slots that reached the least count."""
    keys = (tables[2 * slots] - 1).astype(np.int64)
    counts = tables[2 * slots + 1].astype(np.int64)
    nodes = xp.searchsorted(table_starts, slots, side="right") - 1
    items, classes = keys // class_count, keys % class_count
    order = xp.lexsort(xp.stack([classes, -counts, items, nodes]))
    nodes, items = nodes[order], items[order]
    is_first = xp.ones(len(slots), np.bool_)
    is_first[1:] = (nodes[1:] != nodes[:-1]) | (items[1:] != items[:-1])
    order = order[is_first]
    return Best(
        nodes[is_first],
        items[is_first].astype(np.int32),
        classes[order].astype(np.int32),
        counts[order],
    )


def find_totals(
    device: Device, rows: DeviceRows, occurrences: Occurrences, items: Array, starts: Array
) -> Children:
    """Return the children of nodes with their totals: node n has ``items[starts[n]:starts[n + 1]]``."""
    xp = device.xp
    sums = xp.zeros((3, len(items)), np.uint64)
    given = (*rows.arrays, *occurrences.arrays, items, starts, *sums)
    device.run("mine", "add_totals", len(occurrences) * _LANES, *given)
    totals, holders, entries = device.to_host(sums).view(np.int64)
    return Children(items, starts, device.to_host(starts), totals, holders, entries)


def deliver(device: Device, rows: DeviceRows, place: Place) -> Occurrences:
    """Return the occurrences of the children of a place that have further children after them."""
    xp, children, first, stop = device.xp, place.children, place.first, place.stop
    starts = plans.starts_of(children.holders[first:stop])
    parents = np.searchsorted(children.host_starts, [first, stop - 1], side="right")
    above = place.occurrences.of_nodes(int(parents[0]) - 1, int(parents[1]))
    child_rows, child_after, child_nodes = (xp.empty(int(starts[-1]), np.int32) for _ in range(3))
    cursor = xp.asarray(starts[:-1].astype(np.uint64))
    given = (*rows.arrays, *above.arrays, children.items, children.starts, first, stop, cursor)
    device.run("mine", "deliver", len(above) * _LANES, *given, child_rows, child_after, child_nodes)
    return Occurrences(child_rows, child_after, child_nodes, starts, children.entries[first:stop])
