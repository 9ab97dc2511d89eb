"""Mining: every antecedent of 1..max_antecedent items whose best answer reaches min_count rows.

The search itself is in ``kernels_numba/mine.py``. Here rows are put in class order, items in the order of
rising frequency, the first items are cut into chunks for the threads, and what the chunks found is laid
out as one sorted array per antecedent length.
"""

import dataclasses
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from shortcut_miner.mining.antecedents import Antecedents, MiningConfig, root_level
from shortcut_miner.mining.arrays import Ints, Level, Numbers
from shortcut_miner.mining.kernels_numba import filter as filter_kernels
from shortcut_miner.mining.kernels_numba import mine as mine_kernels
from shortcut_miner.mining.kernels_numba import pairs as pair_kernels
from shortcut_miner.mining.kernels_numba import rows as row_kernels
from shortcut_miner.mining.kernels_numba import space as space_kernels
from shortcut_miner.mining.threads import shares, thread_count
from shortcut_miner.transactions import Transactions

# First items are cut into this many chunks a thread; each chunk costs a pass over all rows.
_CHUNKS_A_THREAD = 8
_FIRST_BUFFER = 1 << 19


def mine_antecedents(
    transactions: Transactions, config: MiningConfig, threads: int | None = None
) -> Antecedents:
    """See :func:`shortcut_miner.mining.miner.mine_antecedents`."""
    job = _prepare(transactions, config.min_count)
    item_count = len(job.item_names)
    root = root_level(transactions, item_count)
    chunks, is_complete = _search(job, config, threads or thread_count())
    levels = [root, job.first_level]
    parent_count = item_count
    for length in range(2, config.max_antecedent + 1):
        items, best_class, antecedent_count, rule_count, parents = _joined(chunks, length)
        levels[-1] = levels[-1]._replace(starts=filter_kernels.child_starts(parents, parent_count))
        parent_count = len(items)
        levels.append(Level(items, best_class, antecedent_count, rule_count, _no_children(parent_count)))
    return Antecedents(tuple(levels), job.item_names, is_complete)


@dataclasses.dataclass(frozen=True, slots=True)
class _Job:
    """The rows in class order and the miner's item numbers; per item the rows that hold it, and its work."""

    offsets: Ints
    items: Numbers
    classes: Numbers
    weights: Ints
    holders: Ints
    work: Ints
    item_names: Numbers
    first_level: Level


def _prepare(transactions: Transactions, min_count: int) -> _Job:
    known = np.flatnonzero(transactions.classes >= 0)
    order = known[np.argsort(transactions.classes[known], kind="stable")]
    item_count = transactions.vocabulary.item_count
    total, best, best_class = row_kernels.count_items(
        transactions.offsets,
        transactions.items,
        order,
        transactions.classes,
        transactions.weights,
        item_count,
    )
    names = np.flatnonzero(best >= min_count).astype(np.int32)
    names = names[np.argsort(total[names], kind="stable")]
    number = np.full(item_count, -1, np.int32)
    number[names] = np.arange(len(names), dtype=np.int32)
    offsets, items = row_kernels.project_rows(transactions.offsets, transactions.items, order, number)
    holders, work = row_kernels.item_work(offsets, items, len(names))
    first_level = Level(
        np.arange(len(names), dtype=np.int32),
        best_class[names],
        total[names],
        best[names],
        _no_children(len(names)),
    )
    return _Job(
        offsets,
        items,
        transactions.classes[order],
        transactions.weights[order],
        holders,
        work,
        names,
        first_level,
    )


def _no_children(count: int) -> Ints:
    return np.zeros(count + 1, np.int64)


def _search(job: _Job, config: MiningConfig, threads: int) -> tuple[list[list[space_kernels.Found]], bool]:
    """Run the search chunk by chunk; return what each chunk found, and whether that is all there is.

    Beyond ``max_rules`` the search ends before the first item that does not fit, whatever the chunks.
    """
    item_count = len(job.item_names)
    if config.max_antecedent < 2 or item_count < 2:
        return [], True
    local = threading.local()
    budget = config.max_rules - item_count

    def search_chunk(chunk: tuple[int, int]) -> tuple[list[space_kernels.Found], bool]:
        if not hasattr(local, "space"):
            local.space = _space(job, config.max_antecedent)
        parts, is_all, local.space = _search_chunk(job, config, local.space, *chunk)
        return parts, is_all

    found: list[list[space_kernels.Found]] = []
    with ThreadPoolExecutor(threads) as pool:
        for parts, is_all in pool.map(search_chunk, shares(job.work, _CHUNKS_A_THREAD * threads)):
            size = sum(len(part.item) for part in parts)
            if size > budget or not is_all:
                pool.shutdown(cancel_futures=True)
                found.append(_whole_first_items(parts, budget))
                return found, False
            budget -= size
            found.append(parts)
    return found, True


def _whole_first_items(parts: list[space_kernels.Found], budget: int) -> list[space_kernels.Found]:
    """Return what belongs to the leading first items that fit into the budget together."""
    kept: list[space_kernels.Found] = []
    for part in parts:
        # Entries follow the search: those of length 2, whose parent is the first item, start its group.
        first_item = np.where(part.length == 2, part.parent, -1)
        first_item = np.maximum.accumulate(first_item)
        ends = np.append(np.flatnonzero(np.diff(first_item)) + 1, len(first_item))
        size = int(ends[ends <= budget].max(initial=0))
        kept.append(space_kernels.Found(*[*(field[:size] for field in part[:-1]), part.size]))
        budget -= size
        if size < len(first_item):
            break
    return kept


def _space(job: _Job, max_antecedent: int) -> space_kernels.Space:
    """Return one thread's working memory, large enough for the largest first item."""
    depth = max_antecedent - 1
    items = len(job.item_names)
    rows, most_work = int(job.holders.max()), int(job.work.max())
    cells = pair_kernels.PAIR_LIMIT**2
    return space_kernels.Space(
        rows=row_kernels.Rows(
            items=np.empty(most_work * depth, np.int32),
            starts=np.empty(rows * depth + 1, np.int64),
            ends=np.empty(rows * depth + 1, np.int64),
            classes=np.empty(rows * depth + 1, np.int32),
            weights=np.empty(rows * depth + 1, np.int64),
        ),
        occurrences=row_kernels.Occurrences(
            rows=np.empty(most_work * depth, np.int32), after=np.empty(most_work * depth, np.int64)
        ),
        scratch=space_kernels.Scratch(
            run=np.zeros(items, np.int64),
            best=np.zeros(items, np.int64),
            best_class=np.empty(items, np.int32),
            total=np.zeros(items + 1, np.int64),
            touched=np.empty(2 * items, np.int32),
            new_name=np.full(items, -1, np.int32),
            run_ends=np.empty(rows + 1, np.int64),
            run_classes=np.empty(rows + 1, np.int32),
            pair_run=np.zeros(cells, np.int64),
            pair_best=np.zeros(cells, np.int64),
            pair_class=np.empty(cells, np.int32),
            pair_total=np.zeros(cells, np.int64),
            pair_touched=np.empty(cells, np.int32),
        ),
        stack=space_kernels.Stack(
            cursor=np.zeros(max_antecedent + 1, np.int64),
            kept=np.zeros(max_antecedent + 1, np.int64),
            base=np.zeros(max_antecedent + 1, np.int64),
            row_stop=np.zeros(max_antecedent + 1, np.int64),
            item_stop=np.zeros(max_antecedent + 1, np.int64),
            occurrence_stop=np.zeros(max_antecedent + 1, np.int64),
            names=np.empty((max_antecedent + 1, items), np.int32),
            starts=np.empty((max_antecedent + 1, items + 1), np.int64),
        ),
        found=_empty_found(_FIRST_BUFFER, max_antecedent),
    )


def _empty_found(room: int, max_antecedent: int) -> space_kernels.Found:
    return space_kernels.Found(
        length=np.empty(room, np.int8),
        parent=np.empty(room, np.int64),
        item=np.empty(room, np.int32),
        best_class=np.empty(room, np.int32),
        antecedent_count=np.empty(room, np.int64),
        rule_count=np.empty(room, np.int64),
        size=np.zeros(max_antecedent + 2, np.int64),
    )


def _search_chunk(
    job: _Job, config: MiningConfig, space: space_kernels.Space, first: int, stop: int
) -> tuple[list[space_kernels.Found], bool, space_kernels.Space]:
    """Search below the first items first..stop-1.

    Returns what was found, whether that is all (it stops beyond ``max_rules``), and the working memory: its
    output buffer grows when a single first item needs more.
    """
    limits = (config.min_count, config.max_antecedent, len(job.item_names))
    starts, rows = row_kernels.copy_suffixes(
        first, stop, job.holders, job.work, job.offsets, job.items, job.classes, job.weights
    )
    occurrences = row_kernels.Occurrences(np.arange(len(rows.starts), dtype=np.int32), rows.starts)
    low_item = first
    parts: list[space_kernels.Found] = []
    found = space.found
    found.size[:] = 0
    while first < stop:
        reached = mine_kernels.mine_first_items(
            first, stop, low_item, starts, rows, occurrences, limits, space
        )
        used = int(found.size[0])
        if used:
            parts.append(space_kernels.Found(*[*(field[:used].copy() for field in found[:-1]), found.size]))
        if sum(len(part.item) for part in parts) > config.max_rules:
            return parts, False, space
        if reached == first:
            # More than a full buffer lies below one item: max_rules bounds time and memory, not the data.
            if len(found.item) >= config.max_rules:
                return parts, False, space
            larger = _empty_found(min(2 * len(found.item), config.max_rules), config.max_antecedent)
            found = larger._replace(size=found.size)
            space = space._replace(found=found)
        found.size[0] = 0
        first = reached
    return parts, True, space


def _joined(chunks: list[list[space_kernels.Found]], length: int) -> tuple[npt.NDArray[Any], ...]:
    """Return (items, best_class, antecedent_count, rule_count, parents) of one length over all chunks.

    Parents count from the chunk's first antecedent of the length below, except for length 2, whose
    parents are items.
    """
    columns: list[list[npt.NDArray[Any]]] = [[], [], [], [], []]
    before = 0
    for parts in chunks:
        shift = before if length > 2 else 0
        for part in parts:
            here = part.length == length
            before += int((part.length == length - 1).sum()) if length > 2 else 0
            fields = (part.item, part.best_class, part.antecedent_count, part.rule_count, part.parent + shift)
            for column, field in zip(columns, fields, strict=True):
                column.append(field[here])
    types = (np.int32, np.int32, np.int64, np.int64, np.int64)
    return tuple(
        np.concatenate([np.empty(0, dtype), *column]) for column, dtype in zip(columns, types, strict=True)
    )
