"""What a search finds part by part, on the host, and its layout as one sorted array a length."""

from collections.abc import Sequence

import numpy as np

from shortcut_miner.mining.arrays import Ints, Level, Numbers

# Last items, best classes, antecedent counts and rule counts of some antecedents of one length.
Arrays = tuple[Numbers, Numbers, Ints, Ints]
_NONE = (np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64))


class Part:
    """The antecedents below consecutive first items, as they are found: in order at each length.

    Attributes
    ----------
    size : int
        How many there are.
    left : int
        How many more there may be.
    """

    def __init__(self, max_antecedent: int, room: int) -> None:
        self.size = 0
        self.left = room
        self._children: list[list[Ints]] = [[] for _ in range(max_antecedent + 1)]
        self._arrays: list[list[Arrays]] = [[] for _ in range(max_antecedent + 1)]

    def add(self, length: int, children: Ints, arrays: Arrays | None = None) -> None:
        """Keep what extends the next antecedents of one length.

        Parameters
        ----------
        length : int
            Items of the antecedents that are extended.
        children : int64[antecedents]
            How many longer ones each has.
        arrays : Arrays, optional
            The longer ones. Default: none.
        """
        self._children[length].append(children)
        if arrays is not None:
            self.size += len(arrays[0])
            self.left -= len(arrays[0])
            self._arrays[length + 1].append(arrays)

    def children(self, length: int) -> list[Ints]:
        """Return what was said of the antecedents of one length, in order."""
        return self._children[length]

    def arrays(self, length: int) -> list[Arrays]:
        """Return the antecedents of one length, in order."""
        return self._arrays[length]


def laid_out(parts: Sequence[Part], first_level: Level, max_antecedent: int) -> list[Level]:
    """Return the antecedents of each length from 1 on; `parts` are of the last first items, in order."""
    levels = [first_level]
    for length in range(2, max_antecedent + 1):
        found = [_NONE, *(arrays for part in parts for arrays in part.arrays(length))]
        items, classes, totals, counts = map(np.concatenate, zip(*found, strict=True))
        levels.append(Level(items, classes, totals, counts, np.zeros(0, np.int64)))
    for length, level in enumerate(levels, 1):
        starts = np.zeros(len(level.items) + 1, np.int64)
        said = [children for part in parts for children in part.children(length)]
        if said:
            children = np.concatenate(said)
            np.cumsum(children, out=starts[len(starts) - len(children) :])
        levels[length - 1] = level._replace(starts=starts)
    return levels
