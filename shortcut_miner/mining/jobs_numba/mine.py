"""Mining: every antecedent of 1..max_antecedent items whose best answer reaches min_count rows.

The search itself is in ``kernels_numba/mine.py``. Here rows are put in class order, items in the order of
rising frequency, and the first items are cut into chunks for the threads; what they find goes to
``gathered.py``.
"""

import dataclasses
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from shortcut_miner.mining.antecedents import Antecedents, MiningConfig, root_level
from shortcut_miner.mining.arrays import Ints, Level, Numbers
from shortcut_miner.mining.jobs_numba.gathered import Gathered, Part, laid_out, no_children, used
from shortcut_miner.mining.kernels_numba import mine as mine_kernels
from shortcut_miner.mining.kernels_numba import rows as row_kernels
from shortcut_miner.mining.kernels_numba import space as space_kernels
from shortcut_miner.mining.kernels_numba.delivery import project_rows
from shortcut_miner.mining.kernels_numba.space import Found
from shortcut_miner.mining.threads import shares, thread_count
from shortcut_miner.row_merging import take_items
from shortcut_miner.transactions import Transactions

# First items are cut into this many chunks a thread, fewer where there is less work than that in each; every
# chunk costs a pass over all rows, and two a thread even out what estimates of work miss.
_CHUNKS_A_THREAD, _FEW_CHUNKS = 4, 2
_LEAST_WORK = 1 << 22
# A thread's output buffer has room for this many antecedents, more where one first item has more.
_FIRST_BUFFER = 1 << 18
# What a node's rows take as bits, at most: 2 MB twice.
_MASKS = 1 << 18


def mine_antecedents(
    transactions: Transactions, config: MiningConfig, threads: int | None = None
) -> Antecedents:
    """See :func:`shortcut_miner.mining.miner.mine_antecedents`."""
    job = _prepare(transactions, config.min_count, None)
    return _found_from(job, 0, len(job.item_names), transactions, config, threads)


def mine_first_items(
    rows: Transactions,
    order: Numbers,
    first: int,
    stop: int,
    config: MiningConfig,
    threads: int | None = None,
) -> Antecedents:
    """See :func:`shortcut_miner.mining.miner.mine_first_items`."""
    job = _prepare(rows, config.min_count, order)
    place = np.full(rows.vocabulary.item_count, -1, np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    places = place[job.item_names]  # in `order`: ascending
    low, high = np.searchsorted(places, (first, stop)).tolist()
    found = _found_from(job, low, high, rows, config, threads)
    renamed = [level._replace(items=places[level.items]) for level in found.levels[1:]]
    return Antecedents((found.levels[0], *renamed), order, found.is_complete)


def _found_from(
    job: "_Job", first: int, stop: int, rows: Transactions, config: MiningConfig, threads: int | None
) -> Antecedents:
    """Return the antecedents whose first item is one of the miner's first..stop-1."""
    root = root_level(rows, stop - first)
    parts, is_complete = _search(job, first, stop, config, threads or thread_count())
    *singles, _ = (field[first:stop] for field in job.first_level)
    first_level = Level._make((*singles, no_children(stop - first)))
    levels = laid_out(parts, config.max_antecedent, first_level, first)
    return Antecedents((root, *levels), job.item_names, is_complete)


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


def _prepare(transactions: Transactions, min_count: int, order: Numbers | None) -> _Job:
    """Put rows in class order, and their items that reach `min_count` in `order`, or in rising frequency."""
    known = np.flatnonzero(transactions.classes >= 0)
    by_class = known[np.argsort(transactions.classes[known], kind="stable")]
    item_count = transactions.vocabulary.item_count
    classes, weights = transactions.classes[by_class], transactions.weights[by_class]
    offsets, items = take_items(transactions.offsets, transactions.items, by_class)
    total, best, best_class = row_kernels.count_items(offsets, items, classes, weights, item_count)
    order = np.argsort(total, kind="stable").astype(np.int32) if order is None else order
    names = order[best[order] >= min_count]
    number = np.full(item_count, -1, np.int32)
    number[names] = np.arange(len(names), dtype=np.int32)
    in_order = np.arange(len(classes))
    projected = project_rows(offsets, items, in_order, number, len(names))
    first_level = Level(
        np.arange(len(names), dtype=np.int32),
        best_class[names],
        total[names],
        best[names],
        no_children(len(names)),
    )
    return _Job(
        offsets=projected.offsets,
        items=projected.items,
        classes=classes,
        weights=weights,
        holders=projected.holders,
        work=projected.work,
        item_names=names,
        first_level=first_level,
    )


def _search(job: _Job, first: int, stop: int, config: MiningConfig, threads: int) -> tuple[list[Part], bool]:
    """Search below the first items first..stop-1, chunk by chunk.

    Returns what is kept of each chunk, and whether that is all there is.

    Beyond ``max_rules`` it is what the last first items have, as many of them as fit: all antecedents of the
    most frequent items, with all their subsets, whatever the chunks. So the search starts with these.
    """
    max_rules = config.resolved_max_rules()
    if config.max_antecedent < 2 or not job.work[first:stop].any():
        return [], True
    work = job.work[first:stop]
    few = 1 if threads == 1 else _FEW_CHUNKS * threads  # one thread has nothing to balance
    count = min(_CHUNKS_A_THREAD * threads, max(few, int(work.sum()) // _LEAST_WORK))
    chunks = [(first + low, first + high) for low, high in shares(work, count)]
    gathered = Gathered(len(chunks), max(max_rules - (stop - first), 0))
    local = threading.local()

    def search_chunk(number: int) -> None:
        if not gathered.is_open(number):
            return
        if not hasattr(local, "space"):
            local.space = _space(job, first, stop, config.max_antecedent)
        _search_chunk(job, config, local.space, gathered, number, *chunks[number])

    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(search_chunk, reversed(range(len(chunks)))):
            pass
    return gathered.whole_first_items(), gathered.is_complete


def _space(job: _Job, first: int, stop: int, max_antecedent: int) -> space_kernels.Space:
    """Return one thread's working memory, large enough for the largest of the first items first..stop-1."""
    depth = max_antecedent - 1
    items = len(job.item_names)
    words = _MASKS // 64 * depth + 1
    rows, most_work = int(job.holders[first:stop].max()), int(job.work[first:stop].max())
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
            touched=np.empty(2 * items + 1, np.int32),
            new_name=np.full(items, -1, np.int32),
            run_ends=np.empty(rows + 1, np.int64),
            run_classes=np.empty(rows + 1, np.int32),
        ),
        bits=space_kernels.Bits(
            masks=np.empty(_MASKS * depth, np.int64),
            words=np.empty(_MASKS * depth, np.int64),
            rows=np.empty(words, np.int64),
            shift=np.empty(words, np.int64),
            same_run=np.empty(words, np.int64),
            classes=np.empty(words, np.int32),
            run_stop=np.empty(words, np.int64),
            source=np.empty(64 * words, np.int64),
            turned=np.empty(128, np.int64),
            candidates=np.empty((max_antecedent + 1, items + 1), np.int32),
            low=np.empty(max_antecedent + 1, np.int64),
            heavy=np.empty(max_antecedent + 1, np.int64),
            stop=np.empty(max_antecedent + 1, np.int64),
            limit=np.array([_MASKS]),
        ),
        stack=space_kernels.Stack(
            cursor=np.zeros(max_antecedent + 1, np.int64),
            kept=np.zeros(max_antecedent + 1, np.int64),
            base=np.zeros(max_antecedent + 1, np.int64),
            row_stop=np.zeros(max_antecedent + 1, np.int64),
            item_stop=np.zeros(max_antecedent + 1, np.int64),
            occurrence_stop=np.zeros(max_antecedent + 1, np.int64),
            saved=np.zeros(max_antecedent + 2, np.int64),
            names=np.empty((max_antecedent + 1, items + 1), np.int32),
            starts=np.empty((max_antecedent + 1, items + 1), np.int64),
            width=items + 1,
        ),
        found=_empty_found(_FIRST_BUFFER, max_antecedent, stop - first),
    )


def _empty_found(room: int, max_antecedent: int, first_items: int) -> Found:
    shape = max_antecedent + 1, room  # memory is taken as it is filled
    return Found(
        item=np.empty(shape, np.int32),
        best_class=np.empty(shape, np.int32),
        antecedent_count=np.empty(shape, np.int64),
        rule_count=np.empty(shape, np.int64),
        children=np.empty(shape, np.int32),
        first_children=np.empty(first_items, np.int32),
        size=np.empty(max_antecedent + 1, np.int64),
        room=room,
    )


def _search_chunk(
    job: _Job,
    config: MiningConfig,
    space: space_kernels.Space,
    gathered: Gathered,
    number: int,
    first: int,
    stop: int,
) -> None:
    """Search below the first items first..stop-1, the chunk of this number, as far as they fit."""
    limits = (config.min_count, config.max_antecedent, len(job.item_names))
    low_item = first
    starts, rows = row_kernels.copy_suffixes(
        first, stop, job.holders, job.work, job.offsets, job.items, job.classes, job.weights
    )
    occurrences = row_kernels.Occurrences(np.arange(len(rows.starts), dtype=np.int32), rows.starts)

    def search(first: int, stop: int, space: space_kernels.Space) -> int:
        return int(
            mine_kernels.mine_first_items(
                first, stop, low_item, starts, rows, occurrences, limits, space
            )
        )  # fmt: skip

    while first < stop and gathered.is_open(number):
        reached = search(first, stop, space)
        if reached > first:
            gathered.add(number, used(space.found, first, reached))
            first = reached
        else:
            # More than a full buffer lies below one item. Of the larger buffers there is one at a time.
            with gathered.growing:
                larger = space
                while reached == first and (room := larger.found.item.shape[1]) < gathered.left(number):
                    room = min(2 * room, gathered.left(number))
                    larger = larger._replace(found=_empty_found(room, config.max_antecedent, 1))
                    reached = search(first, first + 1, larger)
                if reached == first:  # more than all that is left
                    gathered.skip(number)
                else:
                    gathered.add(number, used(larger.found, first, reached))
            first += 1
