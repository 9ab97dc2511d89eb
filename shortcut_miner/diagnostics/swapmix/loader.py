"""Applying a plan where features are: `apply_swap` for one row or a batch, in NumPy or torch.

A plan moves no features. A data loader looks up the donor's features and puts them in the place of one
region's. The paper writes this as ``C * P + S * P'``: the features C, a mask P that is 0 in the rows of
swapped regions, the donors' features S, and the opposite mask P'.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from shortcut_miner.errors import ConfigError

Array = TypeVar("Array", bound=Any)
Row = Mapping[str, Any]


def apply_swap(features: Array, row: Row | None, donors: Array | None) -> Array:
    """Return a copy of an image's region features with one region's replaced by its donor's.

    Parameters
    ----------
    features : ndarray or torch.Tensor, regions x dimensions
        Of the question's image, in the detector's order.
    row : mapping or None
        A row of ``swaps.parquet`` as a dictionary, with ``region_index`` and ``donor_region_index``; without
        a donor (the original, or None) the copy is unchanged.
    donors : ndarray or torch.Tensor, regions x dimensions, or None
        Of the donor's image, ``row["donor_image_id"]``.

    Raises
    ------
    ConfigError
        The donor's features are missing, or have another number of dimensions, or a region is out of range.

    Examples
    --------
    >>> own, other = np.zeros((3, 2)), np.ones((4, 2))
    >>> apply_swap(own, {"region_index": 1, "donor_region_index": 3}, other).tolist()
    [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
    """
    swapped = _copy(features)
    if row is None or row.get("donor_region_index") is None:
        return swapped
    if donors is None:
        raise ConfigError(
            "donors: got none for a row with a donor, expected its image's features. Look them up."
        )
    place, donor = int(row["region_index"]), int(row["donor_region_index"])
    _check_place("region_index", place, features)
    _check_place("donor_region_index", donor, donors)
    if features.shape[1:] != donors.shape[1:]:
        raise ConfigError(
            f"donors: got features of shape {tuple(donors.shape)} for {tuple(features.shape)}, "
            "expected the same "
            "number of dimensions. Use one detector's features."
        )
    swapped[place] = donors[donor]
    return swapped


def apply_swaps(features: Array, rows: Sequence[Row | None], donor_rows: Array) -> Array:
    """Return a copy of a batch's region features, each image with at most one region replaced.

    Parameters
    ----------
    features : ndarray or torch.Tensor, batch x regions x dimensions
        Of the questions' images.
    rows : sequence of mapping or None
        A row of the plan for each, None for the original.
    donor_rows : ndarray or torch.Tensor, batch x dimensions
        The donor region's features for each; anything where there is no donor.

    Raises
    ------
    ConfigError
        The three are of different lengths, or a region is out of range.

    Notes
    -----
    The paper's matrix form, written as an assignment: multiplying by masks would turn infinite or NaN
    features into NaN, and touches all features several times.

    Examples
    --------
    >>> rows = [None, {"region_index": 0, "donor_region_index": 7}]
    >>> apply_swaps(np.zeros((2, 2, 1)), rows, np.ones((2, 1))).tolist()
    [[[0.0], [0.0]], [[1.0], [0.0]]]
    """
    if not len(features) == len(rows) == len(donor_rows):
        raise ConfigError(
            f"apply_swaps: got {len(features)} images, {len(rows)} rows and {len(donor_rows)} donors, "
            "expected one "
            "of each per question. Correct the batch."
        )
    swapped = _copy(features)
    at = [
        place
        for place, row in enumerate(rows)
        if row is not None and row.get("donor_region_index") is not None
    ]
    if not at:
        return swapped
    regions = [
        int(row["region_index"])
        for row in rows
        if row is not None and row.get("donor_region_index") is not None
    ]
    for place, region in zip(at, regions, strict=True):
        _check_place("region_index", region, features[place])
    swapped[at, regions] = donor_rows[at]
    return swapped


def apply_all_swaps(features: Array, rows: Sequence[Row], donor_rows: Array) -> Array:
    """Return a copy of one image's features with several regions replaced: an epoch of a training plan.

    Parameters
    ----------
    features : ndarray or torch.Tensor, regions x dimensions
        Of the question's image.
    rows : sequence of mapping
        The question's rows of ``training_epoch_*.parquet``; they name each region once.
    donor_rows : ndarray or torch.Tensor, rows x dimensions
        The donor region's features for each row.

    Examples
    --------
    >>> rows = [{"region_index": 0}, {"region_index": 2}]
    >>> apply_all_swaps(np.zeros((3, 1)), rows, np.array([[1.0], [2.0]])).tolist()
    [[1.0], [0.0], [2.0]]
    """
    swapped = _copy(features)
    regions = [int(row["region_index"]) for row in rows]
    for region in regions:
        _check_place("region_index", region, features)
    if regions:
        swapped[regions] = donor_rows[: len(regions)]
    return swapped


def swap_matrices(size: int, row: Row) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the paper's masks P and P' for one row: ``C * P + S * P'`` replaces its region.

    Parameters
    ----------
    size : int
        Regions of the image.

    Returns
    -------
    kept, replaced : ndarray of float64, size x 1
        1 where the own features stay, and where the donor's come in.

    Examples
    --------
    >>> kept, replaced = swap_matrices(3, {"region_index": 1})
    >>> kept.ravel().tolist(), replaced.ravel().tolist()
    ([1.0, 0.0, 1.0], [0.0, 1.0, 0.0])
    """
    kept = np.ones((size, 1))
    kept[int(row["region_index"])] = 0.0
    return kept, 1.0 - kept


def _copy(features: Array) -> Array:
    """Return a copy; torch tensors have clone in place of copy."""
    return features.clone() if hasattr(features, "clone") else features.copy()  # type: ignore[no-any-return]


def _check_place(name: str, place: int, features: Any) -> None:
    if not 0 <= place < features.shape[0]:
        raise ConfigError(
            f"{name}: got {place}, expected a region from 0 to {features.shape[0] - 1}. Use the "
            "features of the "
            "detector that the plan was built from."
        )
