"""Plans made before a launch: sizes of grids, parts of work that fit in memory. Plain numbers in and out."""

from collections.abc import Iterator

import numpy as np

from shortcut_miner.mining.arrays import Ints

# Threads of a block, where a kernel does not ask for another number: a multiple of the 32 lanes of a warp.
BLOCK_SIZE = 256
# Blocks of a launch; kernels stride over the rest. Enough for any device, and far below what one takes.
MOST_BLOCKS = 1 << 16
# Of a device's free memory: the rest is for what libraries take for themselves, and for fragments.
SHARE = 0.8
# Bytes: a node has a slot in two hash tables, and where its parts start; an occurrence has three numbers; a
# key has up to four slots of 16 bytes; one that reaches the least count is listed, sorted by four numbers,
# and may become an antecedent.
_NODE, _OCCURRENCE, _KEY, _REACHING = 96, 12, 64, 160


def grid_size(threads: int, block_size: int = BLOCK_SIZE) -> int:
    """Return how many blocks to launch for so many threads, one at least.

    >>> grid_size(1000), grid_size(0), grid_size(1 << 40)
    (4, 1, 65536)
    """
    return min(MOST_BLOCKS, max(1, -(-threads // block_size)))


def fitting_parts(sizes: Ints, room: int) -> Iterator[tuple[int, int]]:
    """Yield (first, stop) of consecutive parts that cover all of `sizes`, each of at most `room` in total.

    What is larger than `room` is a part alone.

    >>> list(fitting_parts(np.array([3, 3, 9, 1, 2, 3]), 6))
    [(0, 2), (2, 3), (3, 6)]
    """
    ends = np.cumsum(sizes)
    first = 0
    while first < len(sizes):
        before = int(ends[first - 1]) if first else 0
        stop = max(first + 1, int(np.searchsorted(ends, before + room, side="right")))
        yield first, stop
        first = stop


def last_fitting(sizes: Ints, room: int) -> int:
    """Return where the last part of `sizes` starts that has at most `room` in total, one entry at least.

    >>> last_fitting(np.array([9, 1, 2, 3]), 6), last_fitting(np.array([9]), 6)
    (1, 0)
    """
    from_end = np.cumsum(sizes[::-1])
    return len(sizes) - max(1, int(np.searchsorted(from_end, room, side="right")))


def table_sizes(entries: Ints, most: Ints | int) -> Ints:
    """Return the slots of hash tables: powers of two, at least twice as many as each can have keys.

    Parameters
    ----------
    entries : int64[tables]
        What is added to each table.
    most : int64[tables] or int
        How many different keys there are.

    >>> table_sizes(np.array([0, 1, 5, 1000]), 50).tolist()
    [1, 2, 16, 128]
    """
    keys = np.minimum(entries, most)
    exponents = np.ceil(np.log2(np.maximum(2 * keys, 1))).astype(np.int64)
    sizes: Ints = np.ones_like(exponents) << exponents
    return sizes


def most_reaching(entries: int, max_weight: int, min_count: int) -> int:
    """Return how many keys of a hash table can reach `min_count` at most: each needs that much weight.

    >>> most_reaching(100, 1, 8), most_reaching(100, 1000, 8)
    (12, 100)
    """
    return min(entries, entries * max_weight // min_count)


def node_bytes(
    holders: Ints, entries: Ints, siblings: Ints, class_count: int, max_weight: int, min_count: int
) -> Ints:
    """Return how many bytes of the device nodes take at most while they are searched: int64[nodes].

    Parameters
    ----------
    holders, entries, siblings : int64[nodes]
        Occurrences, candidates that follow in all of them together, and different candidates.
    class_count, max_weight, min_count : int
        Classes, largest weight of a row, and least count.
    """
    keys = np.minimum(entries, siblings * class_count)
    reaching = np.minimum(entries, entries / min_count * max_weight)
    sizes: Ints = _NODE + _OCCURRENCE * holders + _KEY * (np.minimum(holders, class_count) + keys)
    return sizes + (_REACHING * reaching).astype(np.int64)


def starts_of(sizes: Ints) -> Ints:
    """Return where consecutive parts of these sizes start, and where the last one ends.

    >>> starts_of(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    starts = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts
