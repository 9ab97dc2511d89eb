"""Sums per subgroup on bootstrap resamples of clusters, and percentile intervals of what they give.

Questions about one image share it, so images are resampled, not questions (a cluster bootstrap): a resample
draws as many images as there are, with replacement, and takes all their questions along. A sum then needs no
more than each image's own sum. Sums are of integers, hence exact whatever their order: row order, threads and
block sizes change no digit. Every figure of a resample (a mean, a share, a ratio) is made of such sums.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

OVERALL = "overall"
ALL = "all"

_EXACT = 1 << 53  # float64 holds all whole numbers up to here
_BLOCK = 25  # resamples at once: their counts for 40,000 images fit the processor's cache

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums of columns per cell; a cell is a subgroup of one series (a model, say), series side by side.

    Attributes
    ----------
    subgroups : pl.DataFrame
        group, subgroup, as of :func:`subgroups_of`.
    totals : ndarray of float64, columns x cells
        Sums over all rows.
    resampled : ndarray of float64, columns x cells x resamples
        The same where clusters are drawn with replacement.
    """

    subgroups: pl.DataFrame
    totals: Floats
    resampled: Floats


def resampled_sums(
    rows: pl.DataFrame,
    columns: Sequence[NDArray[Any]],
    series: Ints,
    series_count: int,
    *,
    by: Sequence[str],
    clusters: str,
    resamples: int,
    seed: int,
) -> Sums:
    """Return the sums of columns per subgroup and series, over all rows and on each resample.

    Parameters
    ----------
    rows : pl.DataFrame
        The columns of `by` and `clusters`.
    columns : sequence of ndarray
        What to sum: integers of any dtype, one for each row, whose sums stay below 2^53.
    series, series_count : ndarray of int64, int
        Each row's series, from 0 to `series_count` - 1.
    by : sequence of str
        Columns to group by, each on its own.
    clusters : str
        The column whose values are resampled, with all their rows; without nulls.
    resamples, seed : int
        How many, and of which stream of draws. Draws depend on the seed and the set of clusters alone.

    Examples
    --------
    >>> rows = pl.DataFrame({"image_id": ["1", "1", "2"]})
    >>> sums = resampled_sums(rows, [np.array([5, 1, 2])], np.array([0, 1, 1]), 2, by=(),
    ...                       clusters="image_id", resamples=3, seed=0)
    >>> sums.totals.tolist(), sums.resampled.tolist()
    ([[5.0, 3.0]], [[[0.0, 5.0, 10.0], [4.0, 3.0, 2.0]]])
    """
    subgroups, code = subgroups_of(rows, by)
    names, cluster = numbered(rows[clusters])
    where = ((code * series_count + series).ravel(), np.tile(cluster, len(code)))
    shape = (len(subgroups) * series_count, len(names))
    # No sum on a resample is of more rows than as many clusters as there are, all as large as the largest.
    most_rows = len(names) * int(np.bincount(cluster, minlength=1).max())
    packs = _packed(columns, most_rows)
    # Entries of one cell and cluster are added up here.
    per_cluster = [sparse.csr_array((np.tile(one.values, len(code)), where), shape=shape) for one in packs]
    pairs = list(zip(packs, per_cluster, strict=True))
    totals = np.concatenate([one.unpacked(sums.sum(axis=1)) for one, sums in pairs])
    resampled = np.zeros((len(columns), shape[0], resamples))
    for first, weights in _multiplicities(len(names), resamples, seed):
        drawn = np.concatenate([one.unpacked(sums @ weights) for one, sums in pairs])
        resampled[:, :, first : first + weights.shape[1]] = drawn
    return Sums(subgroups, totals, resampled)


@dataclass(frozen=True, slots=True)
class _Pack:
    """Columns that are summed as one: of each value the digits of the first column are the lowest ones.

    Attributes
    ----------
    values : ndarray of float64, rows
        Whole numbers whose sums stay below 2^53.
    steps, bounds : list of int
        What each column's values are multiples of, and what the size of a sum of these multiples stays below.
    """

    values: Floats
    steps: list[int]
    bounds: list[int]

    def unpacked(self, sums: Floats) -> Floats:
        """Return the sums of each column, columns x the shape of `sums`."""
        found = np.empty((len(self.steps), *sums.shape))
        rest = sums
        for one, step, bound in zip(found[:-1], self.steps, self.bounds, strict=False):
            higher = np.floor(rest / bound)  # exact: bounds are powers of two
            np.multiply(rest - higher * bound, step, out=one)
            rest = higher
        np.multiply(rest, self.steps[-1], out=found[-1])
        return found


def _packed(columns: Sequence[NDArray[Any]], most_rows: int) -> list[_Pack]:
    """Return columns in order, as few packs as hold them: a pack takes the time of one column."""
    packs: list[_Pack] = []
    for column in columns:
        values = np.asarray(column, np.float64)
        step = int(np.gcd.reduce(values.astype(np.int64), initial=0)) or 1
        bound = 1 << int(most_rows * np.abs(values).max(initial=0) / step + 1).bit_length()
        last = packs[-1] if packs and packs[-1].values.min(initial=0) >= 0 else None
        if last and (below := math.prod(last.bounds)) * bound <= _EXACT:
            packs[-1] = _Pack(
                last.values + below * (values / step), [*last.steps, step], [*last.bounds, bound]
            )
        else:
            packs.append(_Pack(values / step, [step], [bound]))
    return packs


def subgroups_of(rows: pl.DataFrame, by: Sequence[str]) -> tuple[pl.DataFrame, Ints]:
    """Return the subgroups of a table, and for each grouping the position there of each row's.

    Returns
    -------
    subgroups : pl.DataFrame
        group, subgroup String: first all rows, then those of each column's values, sorted, null (not known)
        last.
    codes : ndarray of int64, (1 + len(by)) x rows

    Examples
    --------
    >>> table, codes = subgroups_of(pl.DataFrame({"type": ["b", None, "a", "b"]}), ["type"])
    >>> table.rows(), codes.tolist()
    ([('overall', 'all'), ('type', 'a'), ('type', 'b'), ('type', None)], [[0, 0, 0, 0], [2, 3, 1, 2]])
    """
    tables = [pl.DataFrame({"group": [OVERALL], "subgroup": [ALL]})]
    codes, first = [np.zeros(len(rows), np.int64)], 1
    for group in by:
        values, code = numbered(rows[group])
        tables.append(pl.select(pl.lit(group).alias("group"), values.alias("subgroup")))
        codes.append(first + code)
        first += len(values)
    return pl.concat(tables), np.stack(codes)


def numbered(column: pl.Series) -> tuple[pl.Series, Ints]:
    """Return the distinct values as String, sorted, null last, and the position there of each row's."""
    names = column.cast(pl.String)
    distinct = names.unique().sort(nulls_last=True)
    codes = names.cast(pl.Enum(distinct.drop_nulls())).to_physical()
    return distinct, codes.fill_null(len(distinct) - 1).to_numpy().astype(np.int64)


def _multiplicities(clusters: int, resamples: int, seed: int) -> Iterator[tuple[int, Floats]]:
    """Give blocks of resamples: the first one's number, and clusters x resamples how often each is drawn."""
    generator = np.random.default_rng(seed)
    for first in range(0, resamples if clusters else 0, _BLOCK):
        width = min(_BLOCK, resamples - first)
        drawn = generator.integers(0, clusters, size=(width, clusters))
        places = drawn * width + np.arange(width)[:, None]
        times = np.bincount(places.ravel(), minlength=clusters * width).reshape(clusters, width)
        yield first, times.astype(np.float64)


def ratios(part: NDArray[Any], whole: NDArray[Any]) -> Floats:
    """Return part / whole, NaN where the whole is 0: nothing was drawn."""
    found: Floats = np.full(part.shape, np.nan)
    np.divide(part, whole, out=found, where=whole > 0)
    return found


def percentile_interval(values: Floats, level: float) -> tuple[pl.Series, pl.Series]:
    """Return the ends ``low`` and ``high`` of the central `level` of each row; null where there is no value.

    Parameters
    ----------
    values : ndarray of float64, rows x resamples
        A resample that says nothing about a row (NaN) is left out of its interval.
    level : float
        Between 0 and 1.
    """
    ends = np.full((2, len(values)), np.nan)
    tail = (1 - level) / 2
    is_absent = np.isnan(values)
    is_whole, is_empty = ~is_absent.any(axis=1), is_absent.all(axis=1)
    # Both give the same digits for the same values; that for NaN goes through its rows one by one.
    for kept, quantile in ((is_whole & ~is_empty, np.quantile), (~is_whole & ~is_empty, np.nanquantile)):
        if kept.any():
            ends[:, kept] = quantile(values[kept], [tail, 1 - tail], axis=1)
    low, high = (pl.Series(name, end).fill_nan(None) for name, end in zip(("low", "high"), ends, strict=True))
    return low, high
