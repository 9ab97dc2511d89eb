"""Counts of codes per model and group, and the same counts on bootstrap resamples of images.

Questions about one image share it, so images are resampled (see :mod:`shortcut_miner.scoring.intervals`,
whose draws these are). Every figure of a resample, ratios too, then comes from the same few counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.scoring.intervals import ALL, OVERALL

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_DRAWS_AT_ONCE = 25  # as in shortcut_miner.scoring.intervals, so that a seed gives the same resamples


@dataclass(frozen=True, slots=True)
class Cells:
    """One row per subgroup: its group and name; and the subgroup's rows.

    `table` has group and subgroup (String, null = not known); `members` one array of row numbers each.
    """

    table: pl.DataFrame
    members: list[Ints]


def cells_of(frame: pl.DataFrame, by: Sequence[str]) -> Cells:
    """Return the subgroups of a table: all rows, then those of each column's values, sorted, null last."""
    names: list[tuple[str, str | None]] = [(OVERALL, ALL)]
    members: list[Ints] = [np.arange(len(frame))]
    for group in by:
        parts = (
            frame.select(pl.col(group).cast(pl.String))
            .with_row_index("row")
            .group_by(group)
            .agg("row")
            .sort(group, nulls_last=True)
        )
        names += [(group, value) for value in parts[group]]
        members += [rows.to_numpy().astype(np.int64) for rows in parts["row"]]
    schema = {"group": pl.String, "subgroup": pl.String}
    return Cells(pl.DataFrame(names, schema=schema, orient="row"), members)


def code_counts(cells: Cells, codes: Ints, width: int) -> Ints:
    """Return runs x cells x codes: how many rows of each cell have each code.

    Parameters
    ----------
    cells : Cells
        Subgroups of the rows.
    codes : array, runs x rows
        Codes from 0 to `width` - 1.
    """
    return np.stack(
        [[np.bincount(run[rows], minlength=width) for rows in cells.members] for run in codes]
    ).reshape(len(codes), len(cells.members), width)


def resampled_code_counts(
    cells: Cells, codes: Ints, width: int, clusters: pl.Series, resamples: int, seed: int
) -> Floats:
    """Return runs x cells x codes x resamples: the counts where clusters are drawn with replacement.

    Parameters
    ----------
    cells, codes, width
        As for :func:`code_counts`.
    clusters : pl.Series
        Each row's image.
    resamples, seed : int
        How many, and of which stream of draws.
    """
    names = clusters.unique().sort()
    cluster = clusters.cast(pl.Enum(names)).to_physical().to_numpy().astype(np.int64)
    used, compact = np.unique(codes, return_inverse=True)
    shape = (len(codes), len(cells.members), len(used))
    per_cluster = _counts_per_cluster(cells, compact.reshape(codes.shape), len(used), cluster, len(names))
    found = np.zeros((per_cluster.shape[0], resamples))
    generator = np.random.default_rng(seed)
    for first in range(0, resamples if len(names) else 0, _DRAWS_AT_ONCE):
        size = min(_DRAWS_AT_ONCE, resamples - first)
        drawn = generator.integers(0, len(names), size=(size, len(names)))
        places = drawn * size + np.arange(size)[:, None]
        times = np.bincount(places.ravel(), minlength=size * len(names)).reshape(len(names), size)
        found[:, first : first + size] = per_cluster @ times.astype(np.float64)
    result = np.zeros((*shape[:2], width, resamples))
    result[:, :, used] = found.reshape(*shape, resamples)
    return result


def _counts_per_cluster(cells: Cells, codes: Ints, width: int, cluster: Ints, clusters: int) -> Any:
    """Return (runs x cells x codes) x clusters, sparse: most codes are rare in most images."""
    from scipy import sparse

    rows, columns, first = [], [], 0
    for run in codes:
        for members in cells.members:
            rows.append(first + run[members])
            columns.append(cluster[members])
            first += width
    where = (np.concatenate(rows), np.concatenate(columns))
    return sparse.csr_array((np.ones(len(where[0])), where), shape=(first, clusters))


def percentile_interval(values: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return the ends of the central `level` of each row, NaN (an empty resample) left out."""
    tail = (1 - level) / 2
    if not values.shape[-1]:
        nothing = np.full(values.shape[:-1], np.nan)
        return nothing, nothing
    if not np.isnan(values).any():
        low, high = np.quantile(values, [tail, 1 - tail], axis=-1)
        return low, high
    ends = np.full((2, *values.shape[:-1]), np.nan)
    for place in np.ndindex(values.shape[:-1]):
        known = values[place][~np.isnan(values[place])]
        if len(known):
            ends[:, *place] = np.quantile(known, [tail, 1 - tail])
    return ends[0], ends[1]
