"""What slices say of each other: redundant ones, and how much each item of a slice brings.

All subsets of a slice are slices, since at least as many rows are in them.
"""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shortcut_miner.diagnostics.slices.mined import Ints, Mined

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_EXACT = 2**62
_SLICES_A_BLOCK = 1 << 16


def immediate_subsets(mined: Mined) -> Ints:
    """Return int64[slices, most items]: the slice without its first item, its second, and so on; then -1."""
    longest = int(mined.length.max(initial=0))
    without = np.full((len(mined), longest), -1, np.int64)
    width = len(mined.items) + 1
    key = mined.parent * width + mined.last
    order = np.argsort(key[1:], kind="stable") + 1
    ordered = key[order]
    for length in range(1, longest + 1):
        these = np.flatnonzero(mined.length == length)
        without[these, length - 1] = mined.parent[these]
        for place in range(length - 1):
            wanted = without[mined.parent[these], place] * width + mined.last[these]
            without[these, place] = order[np.searchsorted(ordered, wanted)]
    return without


def divergences(mined: Mined, scale: int) -> Floats:
    """Return float64[slices]: the mean outcome minus that of all rows, the empty slice's; see `means`."""
    count, total = (_exactly(column, _most(mined)) for column in (mined.count, mined.total))
    return _as_floats(total * count[0] - total[0] * count) / _as_floats(count * (count[0] * scale))


def is_redundant(mined: Mined, without: Ints, epsilon: float, scale: int) -> Flags:
    """Return whether an immediate subset's divergence differs by `epsilon` or less: bool[slices].

    Whole numbers are compared, multiplied crosswise, so that no rounding decides. The empty slice, whose
    divergence is 0, is the immediate subset of those with one item; itself it is not redundant.

    Parameters
    ----------
    mined, without
        The slices, and their :func:`immediate_subsets`.
    epsilon : float
        In the unit of means; taken as the decimal number that it is written as.
    scale : int
        Outcome of a row whose mean is 1.
    """
    limit = Fraction(str(epsilon))
    above, below = limit.numerator * scale, limit.denominator
    bound = _most(mined) * max(above, below)
    count, total = _exactly(mined.count, bound), _exactly(mined.total, bound)
    found = np.zeros(len(mined), np.bool_)
    for place in range(without.shape[1]):
        these = np.flatnonzero(without[:, place] >= 0)
        subset = without[these, place]
        difference = abs(total[these] * count[subset] - total[subset] * count[these])
        found[these] |= difference * below <= count[these] * count[subset] * above
    return found


def item_shares(mined: Mined, without: Ints, divergence: Floats) -> Floats:
    """Return what each item brings to its slice's divergence: Shapley values, float64[slices, most items].

    Those of a slice add up to its divergence; further places are 0. Pastor et al., "Looking for Trouble"
    (SIGMOD 2021), definition 4.1.
    """
    shares = np.zeros(without.shape)
    for length in range(1, without.shape[1] + 1):
        of_length = np.flatnonzero(mined.length == length)
        for first in range(0, len(of_length), _SLICES_A_BLOCK):
            these = of_length[first : first + _SLICES_A_BLOCK]
            shares[these, :length] = _shares(these, length, without, divergence)
    return shares


def _shares(these: Ints, length: int, without: Ints, divergence: Floats) -> Floats:
    """Return the Shapley values of slices that all have `length` items."""
    everything = (1 << length) - 1
    subsets = np.empty((everything + 1, len(these)), np.int64)
    subsets[everything] = these
    for kept in range(everything - 1, -1, -1):
        left_out = (everything & ~kept) & -(everything & ~kept)  # the first item that is left out
        place = (kept & (left_out - 1)).bit_count()
        subsets[kept] = without[subsets[kept | left_out], place]
    values = divergence[subsets]
    shares = np.zeros((len(these), length))
    for place in range(length):
        for kept in range(everything + 1):
            if not kept >> place & 1:
                size = kept.bit_count()
                weight = math.factorial(size) * math.factorial(length - size - 1) / math.factorial(length)
                shares[:, place] += weight * (values[kept | 1 << place] - values[kept])
    return shares


def global_divergence(mined: Mined, without: Ints, divergence: Floats, columns: Ints) -> Floats:
    """Return float64[items]: what each item brings over all slices of items of columns; NaN for others.

    Parameters
    ----------
    mined, without, divergence
        The slices, their :func:`immediate_subsets` and :func:`divergences`.
    columns : int64[items]
        The column that each item of ``mined.items`` is a value of, -1 for none.

    Notes
    -----
    Pastor et al., "Looking for Trouble" (SIGMOD 2021), definition 4.4. Of each item the terms are added up
    exactly, so that their order does not matter.
    """
    count = len({*columns.tolist()} - {-1})
    values = np.bincount(columns[columns >= 0], minlength=1)
    is_of_columns = _each(mined, np.True_, np.logical_and, columns >= 0).astype(np.bool_)
    combinations = _each(mined, np.float64(1), np.multiply, values[np.maximum(columns, 0)].astype(np.float64))
    terms: list[list[float]] = [[] for _ in columns]
    for place, these in _places(mined, is_of_columns):
        size = mined.length[these] - 1
        weights = np.array(
            [math.factorial(one) * math.factorial(max(count - one - 1, 0)) / math.factorial(count)
             for one in range(int(size.max(initial=0)) + 1)]
        )  # fmt: skip
        gain = divergence[these] - divergence[without[these, place]]
        term = weights[size] / combinations[these] * gain
        for item, one in zip(_item_at(mined, these, place).tolist(), term.tolist(), strict=True):
            terms[item].append(one)
    found = np.array([math.fsum(one) for one in terms])
    return np.where(columns >= 0, found, np.nan)


def _each(
    mined: Mined, start: np.generic, step: np.ufunc, of_item: npt.NDArray[np.generic]
) -> npt.NDArray[np.generic]:
    """Return for each slice what `step` makes of what its items have."""
    found = np.full(len(mined), start)
    for length in range(1, int(mined.length.max(initial=0)) + 1):
        these = np.flatnonzero(mined.length == length)
        found[these] = step(found[mined.parent[these]], of_item[mined.last[these]])
    return found


def _places(mined: Mined, chosen: Flags) -> Iterator[tuple[int, Ints]]:
    """Give each place in slices with those of the chosen ones that have an item there."""
    for place in range(int(mined.length.max(initial=0))):
        yield place, np.flatnonzero(chosen & (mined.length > place))


def _item_at(mined: Mined, slices: Ints, place: int) -> Ints:
    """Return the item at a place of each slice."""
    at = slices
    while (longer := mined.length[at] > place + 1).any():
        at = np.where(longer, mined.parent[at], at)
    return mined.last[at]


def _most(mined: Mined) -> int:
    """Return what no product of a count and a sum, or of two counts, is above."""
    count = int(mined.count[0])
    return count * max(count, int(np.abs(mined.total).max(initial=0))) * 2


def _exactly(numbers: Ints, bound: int) -> npt.NDArray[np.int64] | npt.NDArray[np.object_]:
    """Return whole numbers as 64 bits where what is made of them is not above `bound`, else as Python's."""
    return numbers if bound < _EXACT else numbers.astype(object)


def _as_floats(numbers: npt.NDArray[np.generic]) -> Floats:
    return np.asarray(numbers, np.float64)
