"""Mining on a GPU: every antecedent of 1..max_antecedent items whose best answer reaches min_count rows.

The search goes down level by level (``levels.py``). The first items are searched in chunks, the most
frequent ones first, and the antecedents of every length in parts, so that what lies on the device at a time
fits: each length has an equal share of the free memory, and what a part takes is known before it is begun.
If memory runs out all the same, since others use the device too, the shares are halved.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from shortcut_miner.errors import BackendError
from shortcut_miner.mining.antecedents import Antecedents, MiningConfig, root_level
from shortcut_miner.mining.arrays import Ints, Level, Numbers
from shortcut_miner.mining.jobs_cupy import plans
from shortcut_miner.mining.jobs_cupy.device import Device, cuda_device
from shortcut_miner.mining.jobs_cupy.found import Part, laid_out
from shortcut_miner.mining.jobs_cupy.levels import (
    Candidates,
    every_row,
    find_best,
    find_totals,
    search_children,
)
from shortcut_miner.mining.jobs_cupy.rows import DeviceRows, project_rows, send_rows
from shortcut_miner.transactions import Transactions

# With less than this for each length, it isn't the size of the parts for which memory is short.
_LEAST_SHARE = 1 << 16
_T = TypeVar("_T")


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
    """Return the antecedents whose rarest item is one of ``order[first:stop]``, in the numbers of `order`.

    See :class:`shortcut_miner.mining.backends.Backend`; the device has threads of its own.
    """
    return mine_first_items_on(cuda_device(), rows, order, first, stop, config)


def mine_on(device: Device, transactions: Transactions, config: MiningConfig) -> Antecedents:
    """Return what :func:`mine_antecedents` does, computed by `device`."""

    def by_rising_total(single: _Items) -> Ints:
        return np.argsort(single.totals, kind="stable")

    rows, single, share = _prepare(device, transactions, config, by_rising_total)
    count = len(single.items)
    parts, is_complete = _search(device, rows, 0, count, config, share)
    first_level = single.as_level(np.arange(count, dtype=np.int32))
    levels = laid_out(parts, first_level, config.max_antecedent)
    return Antecedents((root_level(transactions, count), *levels), single.items, is_complete)


def mine_first_items_on(
    device: Device, rows: Transactions, order: Numbers, first: int, stop: int, config: MiningConfig
) -> Antecedents:
    """Return what :func:`mine_first_items` does, computed by `device`."""
    place = np.full(rows.vocabulary.item_count, -1, np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)

    def by_place(single: _Items) -> Ints:
        known = np.flatnonzero(place[single.items] >= 0)
        return known[np.argsort(place[single.items[known]])]

    device_rows, single, share = _prepare(device, rows, config, by_place)
    places = place[single.items]
    low, high = np.searchsorted(places, [first, stop]).tolist()
    parts, is_complete = _search(device, device_rows, low, high, config, share)
    first_level = single.take(slice(low, high)).as_level(places[low:high])
    first_level, *longer = laid_out(parts, first_level, config.max_antecedent)
    longer = [level._replace(items=places[level.items]) for level in longer]
    return Antecedents((root_level(rows, high - low), first_level, *longer), order, is_complete)


class _Items(NamedTuple):
    """Items that reach the least count with some class: numbers of the vocabulary, and their rules."""

    items: Numbers
    best_class: Numbers
    counts: Ints
    totals: Ints

    def take(self, which: Ints | slice) -> "_Items":
        return _Items(self.items[which], self.best_class[which], self.counts[which], self.totals[which])

    def as_level(self, numbers: Numbers) -> Level:
        """Return these as antecedents of one item, under other numbers, without longer ones."""
        return Level(numbers, self.best_class, self.totals, self.counts, np.zeros(len(numbers) + 1, np.int64))


def _prepare(
    device: Device, transactions: Transactions, config: MiningConfig, ordered: Callable[[_Items], Ints]
) -> tuple[DeviceRows, _Items, int]:
    """Return the rows in the miner's numbers, the items behind these, and each length's share of memory."""
    item_count = transactions.vocabulary.item_count

    def prepare(share: int) -> tuple[DeviceRows, _Items]:
        raw = send_rows(device, transactions)
        single = _frequent_items(device, raw, item_count, config.min_count, share)
        single = single.take(ordered(single))
        numbers = np.full(item_count, -1, np.int32)
        numbers[single.items] = np.arange(len(single.items), dtype=np.int32)
        return project_rows(device, raw, numbers, len(single.items)), single

    (rows, single), _ = _with_a_share(device, device.room() // 2, prepare)
    return rows, single, device.room() // config.max_antecedent


def _frequent_items(device: Device, rows: DeviceRows, item_count: int, min_count: int, share: int) -> _Items:
    """Return the items that reach `min_count` with some class, by number."""
    xp, to_host = device.xp, device.to_host
    frequency = to_host(xp.bincount(rows.items, minlength=item_count))
    known = xp.flatnonzero(rows.classes >= 0)
    candidates = xp.arange(item_count, dtype=np.int32)
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
    children = xp.asarray(items), xp.asarray(np.array([0, len(items)]))
    totals = find_totals(device, rows, every_row(known, 0), *children).totals
    return _Items(items, classes, counts, totals)


def _search(
    device: Device, rows: DeviceRows, low: int, high: int, config: MiningConfig, share: int
) -> tuple[list[Part], bool]:
    """Return what lies below the first items low..high-1, in order, and whether that is all there is.

    Beyond ``max_rules`` it is what the last first items have, as many of them as fit: so these come first.
    """
    room = max(config.resolved_max_rules() - (high - low), 0)
    if config.max_antecedent < 2 or not len(rows):
        return [], True
    xp = device.xp
    every = every_row(xp.arange(len(rows)), 0)
    numbers = xp.arange(rows.item_count, dtype=np.int32)
    items = find_totals(device, rows, every, numbers, xp.asarray(np.array([0, rows.item_count])))
    sizes = items.sizes(rows, config.min_count)
    parts: list[Part] = []
    stop, most = high, high - low
    while stop > low:

        def search_chunk(share: int, stop: int = stop, most: int = most) -> tuple[int, Part | None]:
            first = max(stop - most, low + plans.last_fitting(sizes[low:stop], share))
            part = Part(config.max_antecedent, room - sum(part.size for part in parts))
            fits = search_children(device, rows, config, share, every, items, (first, stop), 1, part)
            return first, part if fits else None

        (first, part), share = _with_a_share(device, share, search_chunk)
        if part is not None:
            parts.insert(0, part)
            stop = first
        elif stop - first > 1:
            most = (stop - first) // 2
        else:
            return parts, False
    return parts, True


def _with_a_share(device: Device, share: int, work: Callable[[int], _T]) -> tuple[_T, int]:
    """Return what `work` makes with a share of memory, and that share, halved as long as memory runs out.

    Raises
    ------
    BackendError
        Memory runs out with the smallest share too.
    """
    while share >= _LEAST_SHARE:
        try:
            return work(share), share
        except device.out_of_memory:
            pass  # the arrays of that try are free only after this clause
        device.release()
        share //= 2
    raise BackendError(
        f"backend cupy: got {device.free_bytes() / 1e9:.1f} GB of free memory on {device.name}, expected "
        "enough for the rows and for one item's share of them. Free some, raise min_count, or choose the "
        "backend numba."
    )
