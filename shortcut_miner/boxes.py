"""Axis-aligned boxes ``x1, y1, x2, y2``: area, intersection, IoU and overlap, one exact definition each.

All functions broadcast over leading axes and compute in float64. A box with x2 <= x1 or y2 <= y1 has no area
and meets nothing.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def area(boxes: ArrayLike) -> Floats:
    """Return the area of boxes; 0 where a side has no length.

    Parameters
    ----------
    boxes : array_like, (..., 4)
        x1, y1, x2, y2.

    Returns
    -------
    array of float64, (...)

    Examples
    --------
    >>> area([[0, 0, 4, 3], [2, 2, 1, 5]]).tolist()
    [12.0, 0.0]
    """
    sides = np.asarray(boxes, np.float64)
    return _rectangle(sides[..., 2] - sides[..., 0], sides[..., 3] - sides[..., 1])


def intersection(first: ArrayLike, second: ArrayLike) -> Floats:
    """Return the area that two boxes share.

    Parameters
    ----------
    first, second : array_like, (..., 4)
        x1, y1, x2, y2; their leading axes broadcast.

    Returns
    -------
    array of float64, (...)

    Examples
    --------
    >>> float(intersection([0, 0, 4, 4], [2, 1, 9, 3]))
    4.0
    """
    one, other = np.asarray(first, np.float64), np.asarray(second, np.float64)
    width = np.minimum(one[..., 2], other[..., 2]) - np.maximum(one[..., 0], other[..., 0])
    height = np.minimum(one[..., 3], other[..., 3]) - np.maximum(one[..., 1], other[..., 1])
    return _rectangle(width, height)


def iou(first: ArrayLike, second: ArrayLike) -> Floats:
    """Return intersection over union, 0 to 1; 0 where both boxes have no area.

    Parameters
    ----------
    first, second : array_like, (..., 4)
        x1, y1, x2, y2; their leading axes broadcast.

    Returns
    -------
    array of float64, (...)

    Examples
    --------
    >>> float(iou([0, 0, 10, 10], [0, 0, 20, 10]))
    0.5
    """
    shared = intersection(first, second)
    return share(shared, area(first) + area(second) - shared)


def overlap(box: ArrayLike, by: ArrayLike) -> Floats:
    """Return the share of `box` that lies in `by`, 0 to 1; 0 where `box` has no area.

    Parameters
    ----------
    box, by : array_like, (..., 4)
        x1, y1, x2, y2; their leading axes broadcast.

    Returns
    -------
    array of float64, (...)

    Examples
    --------
    >>> float(overlap([0, 0, 10, 10], by=[0, 0, 20, 5])), float(overlap([0, 0, 20, 5], by=[0, 0, 10, 10]))
    (0.5, 0.5)
    """
    return share(intersection(box, by), area(box))


def share(part: Floats, whole: Floats) -> Floats:
    """Return part / whole, and 0 where whole is 0.

    >>> share(np.array([1.0, 0.0]), np.array([2.0, 0.0])).tolist()
    [0.5, 0.0]
    """
    part, whole = np.broadcast_arrays(np.asarray(part, np.float64), np.asarray(whole, np.float64))
    result: Floats = np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)
    return result


def _rectangle(width: Floats, height: Floats) -> Floats:
    product: Floats = np.where((width > 0) & (height > 0), width * height, 0.0)
    return product
