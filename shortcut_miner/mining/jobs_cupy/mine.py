"""Mining on a GPU: every antecedent of 1..max_antecedent items whose best answer reaches min_count rows.

The search goes down level by level (``levels.py``). The first items are searched in chunks, the most
frequent ones first, and the antecedents of every length in parts, so that what lies on the device at a time
fits: each length has an equal share of the free memory, and what a part takes is known before it is begun.
If memory runs out all the same, since others use the device too, the parts are made smaller.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shortcut_miner.mining.antecedents import Antecedents, MiningConfig, root_level
from shortcut_miner.mining.arrays import Ints, Level, Numbers
from shortcut_miner.mining.jobs_cupy import plans
from shortcut_miner.mining.jobs_cupy.device import Array, Device, cuda_device
from shortcut_miner.mining.jobs_cupy.found import Part, laid_out
from shortcut_miner.mining.jobs_cupy.levels import (
    Candidates,
    Children,
    Occurrences,
    Place,
    every_row,
    find_best,
    find_totals,
    search_children,
)
from shortcut_miner.mining.jobs_cupy.room import within_room
from shortcut_miner.mining.jobs_cupy.rows import DeviceRows, project_rows, send_rows
from shortcut_miner.transactions import Transactions

_NAME = "mining"


def mine_antecedents(
    transactions: Transactions, config: MiningConfig, threads: int | None = None
) -> Antecedents:
    """See :func:`shortcut_miner.mining.miner.mine_antecedents`; the device has threads of its own."""
    return mine_on(cuda_device(), transactions, config)


def mine_first_items(
    rows: Transactions,
    order: Numbers,
    first: int,
    stop: int,
    config: MiningConfig,
    threads: int | None = None,
) -> Antecedents:
    """See :func:`shortcut_miner.mining.miner.mine_first_items`; the device has threads of its own."""
    return mine_first_items_on(cuda_device(), rows, order, first, stop, config)


def mine_on(device: Device, transactions: Transactions, config: MiningConfig) -> Antecedents:
    """Return what :func:`mine_antecedents` does, computed by `device`."""

    def by_rising_total(single: _Items) -> Ints:
        return np.argsort(single.totals, kind="stable")

    job = _prepare(device, transactions, config.min_count, by_rising_total)
    return _found_from(job, 0, len(job.single.items), transactions, config)


def mine_first_items_on(
    device: Device, rows: Transactions, order: Numbers, first: int, stop: int, config: MiningConfig
) -> Antecedents:
    """Return what :func:`mine_first_items` does, computed by `device`."""
    place = np.full(rows.vocabulary.item_count, -1, np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)

    def by_place(single: _Items) -> Ints:
        ordered = np.flatnonzero(place[single.items] >= 0)
        return ordered[np.argsort(place[single.items[ordered]])]

    job = _prepare(device, rows, config.min_count, by_place)
    places = place[job.single.items]
    low, high = np.searchsorted(places, (first, stop)).tolist()
    found = _found_from(job, low, high, rows, config)
    renamed = [level._replace(items=places[level.items]) for level in found.levels[1:]]
    return Antecedents((found.levels[0], *renamed), order, found.is_complete)


class _Items(NamedTuple):
    """Items that reach the least count with some class: numbers of the vocabulary, and their rules."""

    items: Numbers
    best_class: Numbers
    counts: Ints
    totals: Ints

    def take(self, which: Ints | slice) -> "_Items":
        return _Items(self.items[which], self.best_class[which], self.counts[which], self.totals[which])


@dataclasses.dataclass(frozen=True, slots=True)
class _Job:
    """What is on the device for all of a search, and the items behind the miner's numbers.

    Attributes
    ----------
    device : Device
        Where all is.
    rows : DeviceRows
        In the miner's numbers.
    every : Occurrences
        Those of the empty antecedent.
    items : Children
        Its children: all items.
    single : _Items
        Their rules.
    """

    device: Device
    rows: DeviceRows
    every: Occurrences
    items: Children
    single: _Items


def _prepare(
    device: Device, transactions: Transactions, min_count: int, ordered: Callable[[_Items], Ints]
) -> _Job:
    """Return rows and items in the miner's numbers; `ordered` chooses the items, and puts them in order."""
    item_count = transactions.vocabulary.item_count

    def prepare(room: int) -> _Job:
        raw = send_rows(device, transactions)
        single = _frequent_items(device, raw, transactions.item_frequency, min_count, room // 2)
        single = single.take(ordered(single))
        count = len(single.items)
        numbers = np.full(item_count, -1, np.int32)
        numbers[single.items] = np.arange(count, dtype=np.int32)
        rows = project_rows(device, raw, numbers, count, room // 2)
        every = every_row(device.xp.arange(len(rows)), 0)
        items = find_totals(
            device, rows, every, device.xp.arange(count, dtype=np.int32), _bounds(device, count)
        )
        return _Job(device, rows, every, items, single)

    return within_room(device, prepare, _NAME)


def _bounds(device: Device, count: int) -> Array:
    """Return where the children of the empty antecedent start and stop."""
    return device.xp.asarray(np.array([0, count]))


def _found_from(
    job: _Job, first: int, stop: int, transactions: Transactions, config: MiningConfig
) -> Antecedents:
    """Return the antecedents whose first item is one of the miner's first..stop-1."""
    parts, is_complete = _search(job, first, stop, config)
    single = job.single.take(slice(first, stop))
    first_level = Level(
        items=np.arange(first, stop, dtype=np.int32),
        best_class=single.best_class,
        antecedent_count=single.totals,
        rule_count=single.counts,
        starts=np.zeros(stop - first + 1, np.int64),
    )
    levels = laid_out(parts, first_level, config.max_antecedent)
    return Antecedents((root_level(transactions, stop - first), *levels), job.single.items, is_complete)


def _frequent_items(device: Device, rows: DeviceRows, frequency: Ints, min_count: int, share: int) -> _Items:
    """Return the items that reach `min_count` with some class, by number; `frequency` is theirs in rows."""
    xp, to_host = device.xp, device.to_host
    known = xp.flatnonzero(rows.classes >= 0)
    candidates = xp.arange(rows.item_count, dtype=np.int32)
    found = [(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int64))]
    sizes = plans.node_bytes(
        0 * frequency, frequency, 0 * frequency + 1, rows.class_count, rows.max_weight, min_count
    )
    for first, stop in plans.fitting_parts(sizes, share):
        entries = frequency[first:stop]
        best = find_best(
            device,
            rows,
            every_row(known, int(entries.sum())),
            Candidates(candidates, xp.asarray(np.array([first])), xp.asarray(np.array([stop]))),
            np.minimum(entries, rows.class_count).sum(keepdims=True),
            min_count,
        )
        found.append((to_host(best.items), to_host(best.classes), to_host(best.counts)))
    items, classes, counts = map(np.concatenate, zip(*found, strict=True))
    children = xp.asarray(items), _bounds(device, len(items))
    totals = find_totals(device, rows, every_row(known, 0), *children).totals
    return _Items(items, classes, counts, totals)


def _search(job: _Job, low: int, high: int, config: MiningConfig) -> tuple[list[Part], bool]:
    """Return what lies below the first items low..high-1, in order, and whether that is all there is.

    Beyond ``max_rules`` it is what the last first items have, as many of them as fit: so these come first.
    """
    most_found = max(config.resolved_max_rules() - (high - low), 0)
    if config.max_antecedent < 2 or not len(job.rows):
        return [], True
    sizes = job.items.sizes(job.rows, config.min_count)
    parts: list[Part] = []
    stop, most = high, high - low
    while stop > low:

        def search_chunk(room: int, stop: int = stop, most: int = most) -> tuple[int, Part | None]:
            share = room // config.max_antecedent
            first = max(stop - most, low + plans.last_fitting(sizes[low:stop], share))
            part = Part(config.max_antecedent, most_found - sum(part.size for part in parts))
            place = Place(job.every, job.items, first, stop, 1)
            fits = search_children(job.device, job.rows, config, share, place, part)
            return first, part if fits else None

        first, part = within_room(job.device, search_chunk, _NAME)
        if part is not None:
            parts.insert(0, part)
            stop = first
        elif stop - first > 1:
            most = (stop - first) // 2
        else:
            return parts, False
    return parts, True
