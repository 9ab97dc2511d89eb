"""The slices of some rows: every set of items that enough rows hold, with its rows and their outcome.

It is the search for class-association rules with another leaf (count, sum and sum of squares of the outcome),
over bits; see :mod:`.kernels_numba.search`. Counts and sums are integers.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from shortcut_miner.diagnostics.slices.kernels_numba import search as kernels
from shortcut_miner.errors import ConfigError
from shortcut_miner.mining.kernels_numba.delivery import deliver, project_rows
from shortcut_miner.mining.threads import blocks, shares, thread_count
from shortcut_miner.transactions import Transactions

Ints = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Bits = npt.NDArray[np.int64]

MOST_SLICES = 10_000_000  # which take some gigabytes as a table
_FIRST_ROOM = 1 << 12
_TASKS_A_THREAD = 4
_SLICES_A_TASK = 1 << 10


@dataclasses.dataclass(frozen=True, slots=True)
class Mined:
    """Slices by number; 0 is the empty one, which all rows are in.

    Attributes
    ----------
    parent : int64[slices]
        The slice without the last item; 0 for the empty one.
    last : int64[slices]
        The last item, by its place in `items`; -1 for the empty slice. Items of a slice ascend there.
    length : int64[slices]
        How many items it has.
    count, total, square : int64[slices]
        Rows, and the sums of their outcomes and of the squares of these.
    items : int32[]
        The items that enough rows hold, by rising frequency, as numbers of the vocabulary.
    """

    parent: Ints
    last: Ints
    length: Ints
    count: Ints
    total: Ints
    square: Ints
    items: Numbers

    def __len__(self) -> int:
        """Return how many slices there are, the empty one among them."""
        return len(self.parent)

    def item_lists(self) -> Numbers:
        """Return int32[slices, most items]: the items of each slice as numbers of the vocabulary, then -1."""
        longest = int(self.length.max(initial=0))
        lists = np.full((len(self), longest), -1, np.int32)
        at, here = np.arange(len(self)), self.length.copy()
        for _ in range(longest):
            has_more = here > 0
            lists[has_more, here[has_more] - 1] = self.items[self.last[at[has_more]]]
            at, here = np.where(has_more, self.parent[at], at), here - has_more
        return lists


def mine_slices(
    rows: Transactions, outcome: Ints, *, min_count: int, max_length: int, threads: int | None = None
) -> Mined:
    """Return every slice of 1 to `max_length` items that `min_count` rows or more are in.

    Parameters
    ----------
    rows : Transactions
        Items of each row.
    outcome : int64[rows]
        What is summed; it prunes nothing.
    min_count, max_length : int
        Least rows, and most items.
    threads : int, optional
        Default: see :func:`shortcut_miner.mining.threads.thread_count`. The result is the same for any.

    Raises
    ------
    ConfigError
        There are more than MOST_SLICES.
    """
    frequency = rows.item_frequency
    frequent = np.flatnonzero(frequency >= min_count)
    frequent = frequent[np.argsort(frequency[frequent], kind="stable")]
    ordered = _ordered(rows, outcome, frequent)
    limits = kernels.Limits(min_count, max_length)
    work = np.diff(ordered.starts)
    used = threads or thread_count()
    ranges = shares(work, used * _TASKS_A_THREAD)
    with ThreadPoolExecutor(used) as pool:
        tasks = [pool.submit(_search, *one, limits, ordered) for one in ranges]
        parts = [part for task in tasks for part in task.result()]
    return _joined(parts, outcome, frequent, limits)


def _ordered(rows: Transactions, outcome: Ints, frequent: Ints) -> kernels.Rows:
    """Return the rows by rising outcome with the frequent items alone, numbered by their places."""
    number = np.full(rows.vocabulary.item_count, -1, np.int32)
    number[frequent] = np.arange(len(frequent), dtype=np.int32)
    order = np.argsort(outcome, kind="stable")
    offsets, items, *_ = project_rows(rows.offsets, rows.items, order, number, len(frequent))
    starts, holders, after = deliver(offsets, items, len(frequent))
    return kernels.Rows(offsets[1:], items, outcome[order].astype(np.int64), starts, holders, after)


def _search(first: int, stop: int, limits: kernels.Limits, rows: kernels.Rows) -> list[kernels.Found]:
    """Return what a range of first items gives, in order, in parts of a growing size."""
    space, found = _space(first, stop, limits, rows), []
    room, done = _FIRST_ROOM, 0
    while first < stop:
        part = kernels.Found(np.zeros(1, np.int64), *(np.empty(room, np.int64) for _ in range(5)))
        first = kernels.search(first, stop, limits, rows, space._replace(room=room), part)
        size = int(part.size[0])
        done += size
        if done > MOST_SLICES or room > 2 * MOST_SLICES:
            raise too_many(limits)
        found.append(kernels.Found(part.size, *(column[:size] for column in part[1:])))
        room *= 2
    return found


def too_many(limits: kernels.Limits) -> ConfigError:
    """Return the error of more slices than a table may have."""
    return ConfigError(
        f"min_count: got {limits.min_count:,}, which gives more than {MOST_SLICES:,} slices of at most "
        f"{limits.max_length} items, expected fewer. Raise --min-count, or lower --max-length."
    )


def _space(first: int, stop: int, limits: kernels.Limits, rows: kernels.Rows) -> kernels.Space:
    items = len(rows.starts) - 1
    holders = np.diff(rows.starts)[first:stop]
    # A word has 64 rows of one outcome, so each outcome may begin one more.
    words = np.minimum(holders, holders // 64 + np.unique(rows.outcomes).size + 1)
    candidates = items - 1 - np.arange(first, stop)
    most, width = int(words.max(initial=0)), items
    return kernels.Space(
        total=np.zeros(items, np.int64),
        name=np.full(items, -1, np.int64),
        names=np.empty(width, np.int64),
        outcome=np.empty(most, np.int64),
        bits=np.empty(int((words * candidates).max(initial=0)), np.int64),
        masks=np.empty(most * limits.max_length, np.int64),
        candidates=np.empty(width * (limits.max_length + 1), np.int64),
        slices=np.empty(width * (limits.max_length + 1), np.int64),
        kept=np.empty(limits.max_length + 1, np.int64),
        cursor=np.empty(limits.max_length + 1, np.int64),
        items=items,
        room=0,
    )


def _joined(parts: Sequence[kernels.Found], outcome: Ints, frequent: Ints, limits: kernels.Limits) -> Mined:
    """Return the slices of all parts behind the empty one, with parents as numbers of all slices."""
    firsts = itertools.accumulate((len(part.item) for part in parts), initial=1)
    of_parts = [
        np.where(part.parent < 0, 0, part.parent + first) for first, part in zip(firsts, parts, strict=False)
    ]
    parent = np.concatenate([np.zeros(1, np.int64), *of_parts])
    if len(parent) - 1 > MOST_SLICES:
        raise too_many(limits)
    length = np.zeros(len(parent), np.int64)
    at = parent.copy()
    length[1:] = 1
    while (at > 0).any():
        length += at > 0
        at = parent[at]
    whole = (len(outcome), int(outcome.sum()), int((outcome * outcome).sum()))
    count, total, square = (
        np.concatenate([np.array([one], np.int64), *(getattr(part, name) for part in parts)])
        for name, one in zip(("rows", "total", "square"), whole, strict=True)
    )
    last = np.concatenate([np.array([-1], np.int64), *(part.item for part in parts)])
    return Mined(parent, last, length, count, total, square, frequent.astype(np.int32))


# ---- rows as bits ----


@dataclasses.dataclass(frozen=True, slots=True)
class RowBits:
    """Rows as words of 64 bits, each of rows with one outcome.

    Attributes
    ----------
    place : int64[rows]
        Bit of each row.
    outcome : int64[words]
        Of the rows of each word.
    whole : int64[words]
        All rows.
    """

    place: Ints
    outcome: Ints
    whole: Bits

    @classmethod
    def of(cls, outcome: Ints) -> "RowBits":
        """Return the places of rows with these outcomes."""
        values, which, counts = np.unique(outcome, return_inverse=True, return_counts=True)
        words = -(-counts // 64)
        starts = np.cumsum(words) - words
        order = np.argsort(which, kind="stable")
        within = np.arange(len(outcome)) - np.repeat(np.cumsum(counts) - counts, counts)
        place = np.empty(len(outcome), np.int64)
        place[order] = 64 * np.repeat(starts, counts) + within
        repeated = np.repeat(values, words).astype(np.int64)
        return cls(place, repeated, _as_words(place, len(repeated)))

    def bits_of(self, rows: Transactions, items: Numbers) -> Bits:
        """Return int64[items, words]: the rows that hold each item."""
        number = np.full(rows.vocabulary.item_count, -1, np.int32)
        number[items] = np.arange(len(items), dtype=np.int32)
        lines = np.zeros((len(items), len(self.outcome)), np.int64)
        line = number[rows.items]
        place = np.repeat(self.place, np.diff(rows.offsets))[line >= 0]
        np.bitwise_or.at(lines, (line[line >= 0], place >> 6), np.int64(1) << (place & 63))
        return lines

    def lines_of(self, rows: Transactions, lists: Numbers) -> tuple[Numbers, Bits]:
        """Return lists of items as lines of the bits of these, and the bits; see :meth:`bits_of`."""
        used = np.unique(lists[lists >= 0])
        lines = np.where(lists < 0, -1, np.searchsorted(used, lists)).astype(np.int32)
        return lines, self.bits_of(rows, used)

    def sums(
        self, lists: Numbers, bits: Bits, left: Bits | None = None, threads: int | None = None
    ) -> npt.NDArray[np.int64]:
        """Return int64[slices, 3]: count, sum and sum of squares of the outcome, of the rows in `left`.

        Parameters
        ----------
        lists : int32[slices, most items]
            Lines of `bits` for each slice, then -1.
        bits : int64[items, words]
            See :meth:`bits_of`.
        left : int64[words], optional
            The rows that count; all by default.
        threads : int, optional
            Default: see :func:`shortcut_miner.mining.threads.thread_count`.
        """
        found = np.zeros((len(lists), 3), np.int64)
        rows = self.whole if left is None else left

        def count(task: tuple[int, int]) -> None:
            kernels.recount(*task, lists, bits, rows, self.outcome, found)

        tasks = [*blocks(len(lists), _SLICES_A_TASK)]
        if len(tasks) == 1:
            count(tasks[0])
            return found
        with ThreadPoolExecutor(threads or thread_count()) as pool:
            list(pool.map(count, tasks))
        return found


def _as_words(places: Ints, words: int) -> Bits:
    is_set = np.zeros(words * 64, np.bool_)
    is_set[places] = True
    return np.packbits(is_set, bitorder="little").view(np.int64)
