"""How a data loader shows a model only some of an image's regions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from shortcut_miner.datasets.loaders import check_array, region_number, whole_number
from shortcut_miner.errors import ArrayError

_ONE_IMAGE = "Give one image's rows; apply_region_lists takes a batch."


def apply_regions(features: Any, regions: Sequence[int], *, pad_to: int | None = None) -> tuple[Any, Any]:
    """Return the features of the listed regions, and which rows are regions.

    Parameters
    ----------
    features : array or tensor, regions x dimensions, or regions
        One image's rows as in the detector's file: features, boxes, or one value a region; NumPy or torch.
        It is not changed.
    regions : sequence of int
        Region indices, as in ``regions.parquet``.
    pad_to : int, optional
        Rows of the result; those after the listed regions are zero. Default: no padding.

    Returns
    -------
    rows : array or tensor, len(regions) or `pad_to` (x dimensions)
        In the order of `regions`; of the type, dtype and device of `features`.
    mask : array or tensor of bool
        False for padding.

    Raises
    ------
    ArrayError
        A ValueError: features of another shape (a batch), a region that the image lacks, or more regions than
        `pad_to`.

    Examples
    --------
    >>> rows, mask = apply_regions(np.array([[1.0], [2.0], [3.0]]), [2, 0], pad_to=3)
    >>> rows.tolist(), mask.tolist()
    ([[3.0], [1.0], [0.0]], [True, True, False])
    """
    is_flat = len(getattr(features, "shape", ())) == 1
    check_array("features", features, ("regions",) if is_flat else ("regions", "dimensions"), _ONE_IMAGE)
    chosen = _chosen("regions", regions, len(features))
    size = _size(pad_to, len(chosen))
    rows, mask = _zeros(features, (size, *features.shape[1:])), _zeros(features, (size,), is_mask=True)
    if chosen:
        rows[: len(chosen)] = features[chosen]
        mask[: len(chosen)] = True
    return rows, mask


def apply_region_lists(
    features: Any, lists: Sequence[Sequence[int]], *, pad_to: int | None = None
) -> tuple[Any, Any]:
    """Return the features of the listed regions of a batch's images, and which rows are regions.

    Parameters
    ----------
    features : array or tensor, images x regions x dimensions
        As of :func:`apply_regions`, an image after the other.
    lists : sequence of sequence of int
        Region indices, a list an image.
    pad_to : int, optional
        Rows an image in the result. Default: as many as the longest list has.

    Returns
    -------
    rows : array or tensor, images x `pad_to` x dimensions
    mask : array or tensor of bool, images x `pad_to`
        False for padding.

    Raises
    ------
    ArrayError
        A ValueError: as by :func:`apply_regions`, and another number of lists than images.

    Examples
    --------
    >>> rows, mask = apply_region_lists(np.array([[[1.0], [2.0]], [[3.0], [4.0]]]), [[1], [1, 0]])
    >>> rows.tolist(), mask.tolist()
    ([[[2.0], [0.0]], [[4.0], [3.0]]], [[True, False], [True, True]])
    """
    advice = "Give a batch's rows; apply_regions takes one image."
    check_array("features", features, ("images", "regions", "dimensions"), advice)
    if len(lists) != len(features):
        raise ArrayError(
            f"lists: got {len(lists)} for {len(features)} images, expected one an image. Correct the batch."
        )
    chosen = [_chosen(f"lists[{at}]", one, features.shape[1]) for at, one in enumerate(lists)]
    size = _size(pad_to, max(map(len, chosen), default=0))
    images, _, dimensions = features.shape
    rows, mask = _zeros(features, (images, size, dimensions)), _zeros(features, (images, size), is_mask=True)
    for image, one in enumerate(chosen):
        if one:
            rows[image, : len(one)] = features[image][one]
            mask[image, : len(one)] = True
    return rows, mask


def _chosen(name: str, regions: Sequence[int], size: int) -> list[int]:
    if isinstance(regions, str | bytes) or not hasattr(regions, "__iter__"):
        raise ArrayError(
            f"{name}: got {regions!r}, expected a list of region indices. Give the question's list."
        )
    return [region_number(name, region, size) for region in regions]


def _size(pad_to: int | None, longest: int) -> int:
    size = longest if pad_to is None else whole_number("pad_to", pad_to)
    if size < longest:
        raise ArrayError(
            f"pad_to: got {size} for {longest} regions, expected at least as many. Raise pad_to."
        )
    return size


def _zeros(features: Any, shape: tuple[int, ...], *, is_mask: bool = False) -> Any:
    """Return zeros of the type and device of `features`, or a mask where they are."""
    if hasattr(features, "new_zeros"):  # torch
        return features.new_zeros(shape).bool() if is_mask else features.new_zeros(shape)
    return np.zeros(shape, np.bool_ if is_mask else features.dtype)
