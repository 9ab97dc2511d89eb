"""What the chunks of a search find: kept as far as it fits, and laid out as one sorted array a length."""

import threading

import numpy as np

from shortcut_miner.mining.arrays import Ints, Level
from shortcut_miner.mining.kernels_numba.space import Found


class Gathered:
    """What the chunks of a search have found so far, in memory for `room` antecedents and one part more.

    The result is what fits into `room` of the last first items. So what lies before that, counted from the
    last chunk back, is dropped as soon as it is known, in whatever order the threads come.

    Attributes
    ----------
    growing : Lock
        Who holds it may fill a part of any size.
    is_complete : bool
        Whether everything fits, of the chunks that were searched.
    """

    def __init__(self, chunks: int, room: int) -> None:
        self.growing = threading.Lock()
        self.is_complete = True
        self._room = room
        self._parts: list[list[Found]] = [[] for _ in range(chunks)]
        self._sizes = [0] * chunks
        self._open = 0  # chunks before this one can't add to the result
        self._lock = threading.Lock()

    def is_open(self, chunk: int) -> bool:
        """Return whether what this chunk finds next can be part of the result."""
        return chunk >= self._open

    def left(self, chunk: int) -> int:
        """Return how many antecedents of this chunk can stay; it falls while later chunks add theirs."""
        with self._lock:
            return self._room - sum(self._sizes[chunk + 1 :])

    def add(self, chunk: int, part: Found) -> None:
        """Keep a part of a chunk, after its earlier ones."""
        with self._lock:
            if self.is_open(chunk):
                self._parts[chunk].append(part)
                self._sizes[chunk] += len(part.item)
                self._drop_what_lies_before()

    def skip(self, chunk: int) -> None:
        """Drop what this chunk found so far, and those before it, since its next first item does not fit."""
        with self._lock:
            self.is_complete = False
            self._open = max(self._open, chunk)
            for earlier in range(chunk + 1):
                self._parts[earlier].clear()
                self._sizes[earlier] = 0

    def whole_first_items(self) -> list[list[Found]]:
        """Return the parts of each chunk, from the first item on that fits into `room`, and forget them."""
        beyond = sum(self._sizes) - self._room
        if beyond > 0:
            parts = next(parts for parts, size in zip(self._parts, self._sizes, strict=True) if size)
            parts[0] = _trailing_first_items(parts[0], len(parts[0].item) - beyond)
        chunks, self._parts = self._parts, []
        return chunks

    def _drop_what_lies_before(self) -> None:
        size = sum(self._sizes)
        while size > self._room:
            self.is_complete = False
            first = next(chunk for chunk, count in enumerate(self._sizes) if count)
            self._open = max(self._open, first)
            part = len(self._parts[first][0].item)
            if size - part < self._room:
                break  # the result starts within this part
            self._parts[first].pop(0)
            self._sizes[first] -= part
            size -= part


def used(found: Found) -> Found:
    """Return a copy of what a buffer holds."""
    return Found(*[*(field[: found.size[0]].copy() for field in found[:-1]), found.size.copy()])


def _trailing_first_items(part: Found, room: int) -> Found:
    """Return what belongs to the last first items that fit into `room` together."""
    # Entries follow the search: those of length 2, whose parent is the first item, start its group.
    first_item = np.maximum.accumulate(np.where(part.length == 2, part.parent, -1))
    starts = np.append(np.flatnonzero(np.diff(first_item)) + 1, len(first_item))
    start = int(starts[len(first_item) - starts <= room].min())
    return Found(*[*(field[start:] for field in part[:-1]), part.size])


def laid_out(
    chunks: list[list[Found]], max_antecedent: int, first_level: Level, lowest: int = 0
) -> list[Level]:
    """Return the antecedents of each length from 1 on, those of 2 and more from what the chunks found.

    `first_level` lists the first items from number `lowest` on, without gaps. The chunks are emptied on the
    way, so that nothing is in memory twice.
    """
    sizes = np.zeros(max_antecedent + 1, np.int64)
    for part in (part for parts in chunks for part in parts):
        sizes += np.bincount(part.length, minlength=len(sizes))
    levels = [_empty_level(size) for size in sizes.tolist()]
    parents = [np.empty(size, np.int64) for size in sizes.tolist()]
    done = np.zeros(max_antecedent + 1, np.int64)
    for parts in chunks:
        # Parents count from the chunk's first antecedent of the length below, of those before its first part
        # too; for length 2 they are items.
        shift = done - (_counts_before(parts[0], len(done)) if parts else 0)
        shift[1] = -lowest
        parts.reverse()
        while parts:
            part = parts.pop()
            for length in range(2, max_antecedent + 1):
                here = np.flatnonzero(part.length == length)
                place = slice(done[length], done[length] + len(here))
                _fill(levels[length], place, part, here)
                parents[length][place] = part.parent[here] + shift[length - 1]
                done[length] = place.stop
    levels[1] = first_level
    for length in range(2, max_antecedent + 1):
        children = np.bincount(parents[length], minlength=len(levels[length - 1].items))
        starts = np.concatenate(([0], np.cumsum(children)))
        levels[length - 1] = levels[length - 1]._replace(starts=starts)
    return levels[1:]


def _counts_before(part: Found, lengths: int) -> Ints:
    """Return how many antecedents of each length its chunk found before a part."""
    return part.size[:lengths] - np.bincount(part.length, minlength=lengths)


def _fill(level: Level, place: slice, part: Found, here: Ints) -> None:
    level.items[place] = part.item[here]
    level.best_class[place] = part.best_class[here]
    level.antecedent_count[place] = part.antecedent_count[here]
    level.rule_count[place] = part.rule_count[here]


def no_children(count: int) -> Ints:
    """Return the ``starts`` of antecedents that have no longer ones."""
    return np.zeros(count + 1, np.int64)


def _empty_level(size: int) -> Level:
    return Level(
        items=np.empty(size, np.int32),
        best_class=np.empty(size, np.int32),
        antecedent_count=np.empty(size, np.int64),
        rule_count=np.empty(size, np.int64),
        starts=no_children(size),
    )
