"""What the chunks of a search find: kept as far as it fits, and laid out as one sorted array a length."""

import dataclasses
import itertools
import threading
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from shortcut_miner.mining.arrays import Ints, Level, Numbers
from shortcut_miner.mining.kernels_numba.space import Found

_Integer = TypeVar("_Integer", bound=np.integer)


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """What was found below consecutive first items.

    Attributes
    ----------
    first : int
        The first of these items.
    first_children : int32[first items]
        How many antecedents of two items each one begins.
    fields : list per length from 2 on
        The item, best class, antecedent count, rule count and number of children of each antecedent, in the
        order of the search.
    """

    first: int
    first_children: Numbers
    fields: list[list[npt.NDArray[np.integer]]]

    def __len__(self) -> int:
        """Return the number of antecedents."""
        return sum(len(item) for item, *_ in self.fields)


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
        self._parts: list[list[Part]] = [[] for _ in range(chunks)]
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

    def add(self, chunk: int, part: Part) -> None:
        """Keep a part of a chunk, after its earlier ones."""
        with self._lock:
            if self.is_open(chunk):
                self._parts[chunk].append(part)
                self._sizes[chunk] += len(part)
                self._drop_what_lies_before()

    def skip(self, chunk: int) -> None:
        """Drop what this chunk found so far, and those before it, since its next first item does not fit."""
        with self._lock:
            self.is_complete = False
            self._open = max(self._open, chunk)
            for earlier in range(chunk + 1):
                self._parts[earlier].clear()
                self._sizes[earlier] = 0

    def whole_first_items(self) -> list[Part]:
        """Return the parts in order, from the first item on that fits into `room`, and forget them."""
        beyond = sum(self._sizes) - self._room
        chunks, self._parts = self._parts, []
        parts = [part for part in itertools.chain.from_iterable(chunks) if len(part)]
        if beyond > 0:
            parts[0] = _without_first(parts[0], beyond)
        return parts

    def _drop_what_lies_before(self) -> None:
        size = sum(self._sizes)
        while size > self._room:
            self.is_complete = False
            first = next(chunk for chunk, count in enumerate(self._sizes) if count)
            self._open = max(self._open, first)
            part = len(self._parts[first][0])
            if size - part < self._room:
                break  # the result starts within this part
            self._parts[first].pop(0)
            self._sizes[first] -= part
            size -= part


def used(found: Found, first: int, stop: int) -> Part:
    """Return a copy of what a buffer holds of the first items first..stop-1."""
    fields = [[field[length, :size].copy() for field in found[:5]] for length, size in enumerate(found.size)]
    return Part(first, found.first_children[: stop - first].copy(), fields[2:])


def _without_first(part: Part, beyond: int) -> Part:
    """Return a part without so many of its first items that it has `beyond` antecedents less, or more."""
    ends, last = [], np.arange(1, len(part.first_children) + 1)
    below: npt.NDArray[np.integer] = part.first_children
    for *_, children in part.fields:
        last = np.concatenate(([0], np.cumsum(below)))[last]
        ends.append(last)
        below = children
    cut = int(np.searchsorted(np.sum(ends, axis=0), beyond))
    fields = [[field[end[cut] :] for field in level] for end, level in zip(ends, part.fields, strict=True)]
    return Part(part.first + cut + 1, part.first_children[cut + 1 :], fields)


def laid_out(parts: list[Part], max_antecedent: int, first_level: Level, lowest: int = 0) -> list[Level]:
    """Return the antecedents of each length from 1 on, those of 2 and more from the parts, which are emptied.

    `first_level` lists the first items from number `lowest` on, without gaps.
    """
    children = np.zeros(len(first_level.items), np.int64)
    for part in parts:
        low = part.first - lowest
        children[low : low + len(part.first_children)] = part.first_children
    levels = [first_level]
    for length in range(2, max_antecedent + 1):
        levels[-1] = levels[-1]._replace(starts=np.concatenate(([0], np.cumsum(children))))
        items, best_class = (_joined(parts, length - 2, np.dtype(np.int32)) for _ in range(2))
        antecedent_count, rule_count, children = (
            _joined(parts, length - 2, np.dtype(np.int64)) for _ in range(3)
        )
        starts = no_children(len(items))
        levels.append(Level(items, best_class, antecedent_count, rule_count, starts))
    return levels


def _joined(parts: list[Part], level: int, dtype: np.dtype[_Integer]) -> npt.NDArray[_Integer]:
    """Return the next field of one length, of all parts, which give it up."""
    return np.concatenate([np.empty(0, dtype), *(part.fields[level].pop(0) for part in parts)], dtype=dtype)


def no_children(count: int) -> Ints:
    """Return the ``starts`` of antecedents that have no longer ones."""
    return np.zeros(count + 1, np.int64)
