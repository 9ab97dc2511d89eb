"""The superset filters: which antecedents a subset blocks."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from shortcut_miner.mining.antecedents import Antecedents, Mask
from shortcut_miner.mining.arrays import Ints, Level
from shortcut_miner.mining.kernels_numba import filter as kernels
from shortcut_miner.mining.threads import blocks, thread_count
from shortcut_miner.options import SupersetFilter

_PARENTS_A_BLOCK = 1 << 16


def dropped_by_subset(
    antecedents: Antecedents, superset_filter: SupersetFilter, empty_rule: bool, threads: int | None = None
) -> list[Mask]:
    """See :func:`shortcut_miner.mining.filters.dropped_by_subset`."""
    levels = list(antecedents.levels)
    dropped = [np.zeros(len(level.items), np.bool_) for level in levels]
    if not empty_rule:
        levels[0] = levels[0]._replace(best_class=np.array([-1], np.int32))
    if superset_filter == "none":
        return dropped
    with ThreadPoolExecutor(threads or thread_count()) as pool:
        if superset_filter == "immediate":
            _drop_immediate(levels, dropped, pool)
        else:
            _drop_any(antecedents, levels, dropped, pool)
    return dropped


def _drop_immediate(levels: list[Level], dropped: list[Mask], pool: ThreadPoolExecutor) -> None:
    no_level = Level(*(np.empty(0, field.dtype) for field in levels[0]))
    links = np.empty((1, 0), np.int64)
    for size in range(1, len(levels)):
        below, level = levels[size - 1], levels[size]
        two_below = levels[size - 2] if size > 1 else no_level
        next_links = np.empty((len(level.items) if size + 1 < len(levels) else 0, size), np.int64)
        drop = partial(
            kernels.drop_immediate,
            two_below=two_below,
            below=below,
            level=level,
            below_links=links,
            links=next_links,
            dropped=dropped[size],
        )
        tasks = [pool.submit(drop, *block) for block in blocks(len(below.items), _PARENTS_A_BLOCK)]
        for task in tasks:
            task.result()
        links = next_links


def _drop_any(
    antecedents: Antecedents, levels: list[Level], dropped: list[Mask], pool: ThreadPoolExecutor
) -> None:
    nodes, stops = _joined(levels)
    for size in range(1, len(levels)):
        paths = antecedents.paths(size, np.arange(len(levels[size].items), dtype=np.int64))
        tasks = [
            pool.submit(kernels.drop_any, first, stop, int(stops[size - 1]), nodes, paths, dropped[size])
            for first, stop in blocks(len(paths), _PARENTS_A_BLOCK)
        ]
        for task in tasks:
            task.result()


def _joined(levels: list[Level]) -> tuple[Level, Ints]:
    """Return all antecedents as one level, with the numbers of their children there, and each level's end."""
    stops = np.cumsum([len(level.items) for level in levels])
    starts = [stops[:1], *(stop + level.starts[1:] for stop, level in zip(stops, levels, strict=True))]
    *fields, _ = (np.concatenate(parts) for parts in zip(*levels, strict=True))
    return Level._make((*fields, np.concatenate(starts))), stops
