"""Rows by NumPy alone: random ones, and those that are hard on a search."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shortcut_miner.mining.arrays import Ints, Numbers
from shortcut_miner.transactions import Transactions, Vocabulary


def rows_of(
    lists: Sequence[npt.ArrayLike], classes: npt.ArrayLike, item_count: int, weights: npt.ArrayLike = 1
) -> Transactions:
    """Return rows of item numbers, with repeats or not, and their classes; -1 is no class."""
    unique = [np.unique(np.asarray(items, np.int32)) for items in lists]
    offsets = np.cumsum([0, *map(len, unique)], dtype=np.int64)
    return _rows(offsets, np.concatenate([np.empty(0, np.int32), *unique]), classes, item_count, weights)


def _rows(
    offsets: Ints, items: Numbers, classes: npt.ArrayLike, item_count: int, weights: npt.ArrayLike
) -> Transactions:
    classes = np.asarray(classes, np.int32)
    weights = np.broadcast_to(np.asarray(weights, np.int64), classes.shape).copy()
    # Classes are numbered by rising count, as the miner wants them.
    known = classes >= 0
    counts = np.bincount(classes[known], weights[known], classes.max(initial=-1) + 1).astype(np.int64)
    order = np.argsort(counts, kind="stable")
    rank = np.full(len(order) + 1, -1, np.int32)
    rank[order] = np.arange(len(order))
    halves = range(item_count // 2), range(item_count - item_count // 2)
    vocabulary = Vocabulary(*halves, range(len(counts)), counts[order])  # type: ignore[arg-type]
    return Transactions(offsets, items, rank[classes], weights, vocabulary)


def random_rows(
    seed: int, rows: int, items: int, classes: int, *, max_weight: int = 1, skew: float = 0.5
) -> Transactions:
    """Return rows of which item k is in about 0.9 / (k + 1)**skew of all; classes depend on the items."""
    random = np.random.default_rng(seed)
    holds = random.random((rows, items)) < 0.9 / np.arange(1, items + 1) ** skew
    holds[: rows // 10] = holds[rows // 2 : rows // 2 + rows // 10]  # some rows are repeated
    of_items = (holds[:, :5].sum(axis=1) + random.integers(0, 2, rows)) % classes
    of_items[random.random(rows) < 0.05] = -1
    offsets = np.concatenate(([0], np.cumsum(holds.sum(axis=1))))
    weights = random.integers(1, max_weight + 1, rows)
    return _rows(offsets, np.nonzero(holds)[1].astype(np.int32), of_items, items, weights)


def hard_rows() -> dict[str, Transactions]:
    """Return rows by what is hard about them, small enough for any machine."""
    random = np.random.default_rng(0)
    many = 70_000
    wide = [random.choice(400, 300, replace=False) for _ in range(6)]
    return {
        "no rows": rows_of([], [], 4),
        "no items": rows_of([[], [], []], [0, 0, 1], 2),
        "no class": rows_of([[0, 1], [1]], [-1, -1], 2),
        "one row": rows_of([[0, 2, 3]], [0], 4, [9]),
        "one class": rows_of([random.choice(9, 5) for _ in range(80)], np.zeros(80), 9),
        "rows all equal": rows_of([[1, 3, 4, 6]] * 70, np.arange(70) % 3, 7),
        "an item in every row": rows_of(
            [[0, *random.choice(20, 4)] for _ in range(90)], np.arange(90) % 4, 20
        ),
        "large weights": rows_of([[0, 1], [0, 1], [1]], [0, 1, 1], 2, [1 << 40, (1 << 40) + 1, 5]),
        "300 items a row": rows_of([*wide, *wide[:2]], np.arange(8) % 2, 400),
        "more than 65,535 items": rows_of(
            [*([k, k + 1, many - 1] for k in range(0, many - 2, 50)), *([many - 3, many - 2, many - 1],) * 9],
            np.arange(1400 + 9) % 2,
            many,
        ),
        "heavy skew": rows_of(
            [[0, 1, 2, 3, *random.choice(3000, 2)] for _ in range(300)],
            random.integers(0, 30, 300) // 12,
            3000,
        ),
    }
