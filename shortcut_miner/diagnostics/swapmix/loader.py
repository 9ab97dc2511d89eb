"""Applying a plan where features are: `apply_swap` for one row or a batch, in NumPy or torch.

A plan moves no features. A data loader looks up the donor's features and puts them in the place of one
region's. The paper writes this as ``C * P + S * P'``: the features C, a mask P that is 0 in the rows of
swapped regions, the donors' features S, and the opposite mask P'.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from shortcut_miner.datasets.loaders import check_array, check_same_type, copy_of, region_number, whole_number
from shortcut_miner.errors import ArrayError, examples

Array = TypeVar("Array", bound=Any)
Row = Mapping[str, Any]

_REGION, _DONOR = "region_index", "donor_region_index"
_IMAGE = ("regions", "dimensions")
_ONE_IMAGE = "Give one image's features; apply_swaps takes a batch."
_PANDAS_NULLS = ("nan", "<NA>")
_SWAP_COLUMNS = ("from_class", "to_class", "from_attribute", "to_attribute")


def apply_swap(features: Array, row: Row | None, donors: Array | None) -> Array:
    """Return a copy of an image's region features with one region's replaced by its donor's.

    Parameters
    ----------
    features : ndarray or torch.Tensor, regions x dimensions
        Of the question's image, in the detector's order.
    row : mapping or None
        A row of ``swaps.parquet`` as a dictionary, with ``region_index`` and ``donor_region_index``. Where
        both are null, as in the row of the original, the copy is unchanged, as it is for None.
    donors : ndarray or torch.Tensor, regions x dimensions, or None
        Of the donor's image, ``row["donor_image_id"]``; of the dtype of `features`.

    Raises
    ------
    ArrayError
        A ValueError: arrays of other shapes or types, a region out of range, no donors for a swap, a row
        without its columns, or one of a perfect-sight plan.

    Examples
    --------
    >>> own, other = np.zeros((3, 2)), np.ones((4, 2))
    >>> apply_swap(own, {"region_index": 1, "donor_region_index": 3}, other).tolist()
    [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
    >>> apply_swap(own, {"kind": "class", "to_class": "cat"}, other)
    Traceback (most recent call last):
    shortcut_miner.errors.ArrayError: row: got a swap without region_index and donor_region_index, as of a \
perfect-sight plan, expected one of regions. Rename the object in the scene graph (from_class to to_class, \
from_attribute to to_attribute), or build another plan.
    """
    check_array("features", features, _IMAGE, _ONE_IMAGE)
    swap = None if row is None else _swap_of("row", row)
    if swap is None:
        return copy_of(features)  # type: ignore[no-any-return]
    check_array("donors", donors, ("regions", features.shape[1]), "Look up the features of donor_image_id.")
    check_same_type("donors", donors, features)
    place = region_number(_REGION, swap[0], features.shape[0])
    donor = region_number(_DONOR, swap[1], donors.shape[0])  # type: ignore[union-attr]
    swapped = copy_of(features)
    swapped[place] = donors[donor]  # type: ignore[index]
    return swapped  # type: ignore[no-any-return]


def apply_swaps(features: Array, rows: Sequence[Row | None], donor_rows: Array) -> Array:
    """Return a copy of a batch's region features, each image with at most one region replaced.

    Parameters
    ----------
    features : ndarray or torch.Tensor, batch x regions x dimensions
        Of the questions' images.
    rows : sequence of mapping or None
        A row of the plan for each, None for the original; see :func:`apply_swap`.
    donor_rows : ndarray or torch.Tensor, batch x dimensions
        The donor region's features for each; anything where there is no donor.

    Raises
    ------
    ArrayError
        A ValueError: another number of rows or donors than images, and what :func:`apply_swap` refuses.

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
    check_array("features", features, ("batch", *_IMAGE), "Give a batch; apply_swap takes one image.")
    _check_rows(rows, len(features), "one for each image of the batch")
    check_array("donor_rows", donor_rows, (len(rows), features.shape[2]), "Give one donor's features a row.")
    check_same_type("donor_rows", donor_rows, features)
    swaps = [None if row is None else _swap_of(f"rows[{at}]", row) for at, row in enumerate(rows)]
    at = [place for place, swap in enumerate(swaps) if swap is not None]
    regions = [
        region_number(f"rows[{place}], {_REGION}", swap[0], features.shape[1])
        for place, swap in enumerate(swaps)
        if swap is not None
    ]
    swapped = copy_of(features)
    if at:
        swapped[at, regions] = donor_rows[at]
    return swapped  # type: ignore[no-any-return]


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

    Raises
    ------
    ArrayError
        A ValueError: another number of donors than rows, a region twice or in no row, and what
        :func:`apply_swap` refuses.

    Examples
    --------
    >>> rows = [{"region_index": 0}, {"region_index": 2}]
    >>> apply_all_swaps(np.zeros((3, 1)), rows, np.array([[1.0], [2.0]])).tolist()
    [[1.0], [0.0], [2.0]]
    """
    check_array("features", features, _IMAGE, _ONE_IMAGE)
    _check_rows(rows, None, "the question's rows of one epoch")
    check_array("donor_rows", donor_rows, (len(rows), features.shape[1]), "Give one donor's features a row.")
    check_same_type("donor_rows", donor_rows, features)
    regions = [
        region_number(f"rows[{at}], {_REGION}", _value(f"rows[{at}]", row, _REGION), features.shape[0])
        for at, row in enumerate(rows)
    ]
    if repeated := sorted({region for region in regions if regions.count(region) > 1}):
        raise ArrayError(
            f"rows: got {examples(repeated)} as region_index of several rows, expected each region once. "
            "Give the rows of one question and one epoch."
        )
    swapped = copy_of(features)
    if regions:
        swapped[regions] = donor_rows
    return swapped  # type: ignore[no-any-return]


def swap_matrices(size: int, row: Row) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the paper's masks P and P' for one row: ``C * P + S * P'`` replaces its region.

    Parameters
    ----------
    size : int
        Regions of the image.
    row : mapping
        With ``region_index``; null of the original, which replaces nothing.

    Returns
    -------
    kept, replaced : ndarray of float64, size x 1
        1 where the own features stay, and where the donor's come in.

    Raises
    ------
    ArrayError
        A ValueError: a region out of range, or a row without the column.

    Examples
    --------
    >>> kept, replaced = swap_matrices(3, {"region_index": 1})
    >>> kept.ravel().tolist(), replaced.ravel().tolist()
    ([1.0, 0.0, 1.0], [0.0, 1.0, 0.0])
    """
    kept = np.ones((whole_number("size", size), 1))
    region = _value("row", row, _REGION)
    if region is not None or _says_swap(row):
        kept[region_number(_REGION, region, len(kept))] = 0.0
    return kept, 1.0 - kept


def _check_rows(rows: Any, count: int | None, expected: str) -> None:
    if isinstance(rows, Mapping | str) or not hasattr(rows, "__len__"):
        raise ArrayError(
            f"rows: got {type(rows).__name__}, expected a list of rows: {expected}. Put it in a list."
        )
    if count is not None and len(rows) != count:
        raise ArrayError(f"rows: got {len(rows)} for {count} images, expected {expected}. Correct the batch.")


def _swap_of(name: str, row: Row) -> tuple[Any, Any] | None:
    """Return a row's region and its donor's, or None for the original."""
    region, donor = _value(name, row, _REGION), _value(name, row, _DONOR)
    if region is None and donor is None and not _says_swap(row):
        return None
    if region is None and donor is None:
        raise _no_regions(name)
    if region is None or donor is None:
        raise ArrayError(
            f"{name}: got {_REGION} {region!r} and {_DONOR} {donor!r}, expected two numbers, or two nulls "
            "for the original. Give a row as the plan has it."
        )
    return region, donor


def _value(name: str, row: Row, column: str) -> Any:
    """Return a row's value, None for null."""
    if not isinstance(row, Mapping):
        raise ArrayError(
            f"{name}: got {type(row).__name__}, expected a row of the plan as a dictionary. Give "
            "swaps.row(i, named=True) of Polars, or swaps.iloc[i].to_dict() of pandas."
        )
    if column not in row:
        if _says_swap(row) and _REGION not in row:
            raise _no_regions(name)
        raise ArrayError(
            f"{name}: got no {column} ({examples(row) or 'nothing'}), expected a row of the plan with it. "
            "Give all of the row's columns."
        )
    value = row[column]
    return None if value is None or str(value) in _PANDAS_NULLS else value


def _says_swap(row: Row) -> bool:
    """Return whether a row's other columns say that it swaps something."""
    return row.get("kind", "original") != "original" or any(
        isinstance(row.get(column), str) for column in _SWAP_COLUMNS
    )


def _no_regions(name: str) -> ArrayError:
    return ArrayError(
        f"{name}: got a swap without {_REGION} and {_DONOR}, as of a perfect-sight plan, expected one of "
        "regions. Rename the object in the scene graph (from_class to to_class, from_attribute to "
        "to_attribute), or build another plan."
    )
