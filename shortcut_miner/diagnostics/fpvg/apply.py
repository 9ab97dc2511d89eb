"""How a data loader shows a model only some of an image's regions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from shortcut_miner.errors import ConfigError


def apply_regions(features: Any, regions: Sequence[int], *, pad_to: int | None = None) -> tuple[Any, Any]:
    """Return the features of the listed regions, and which rows are regions.

    Parameters
    ----------
    features : array or tensor, regions x ...
        One image's rows as in the detector's file: features, boxes, or anything else with a row a region;
        NumPy or torch. It is not changed.
    regions : sequence of int
        Region indices, as in ``regions.parquet``.
    pad_to : int, optional
        Rows of the result; those after the listed regions are zero. Default: no padding.

    Returns
    -------
    rows : array or tensor, len(regions) or `pad_to` x ...
        In the order of `regions`; of the type, dtype and device of `features`.
    mask : array or tensor of bool
        False for padding.

    Raises
    ------
    ConfigError
        A region that the image lacks, or more regions than `pad_to`.

    Examples
    --------
    >>> rows, mask = apply_regions(np.array([[1.0], [2.0], [3.0]]), [2, 0], pad_to=3)
    >>> rows.tolist(), mask.tolist()
    ([[3.0], [1.0], [0.0]], [True, True, False])
    """
    chosen = [int(region) for region in regions]
    size = len(chosen) if pad_to is None else pad_to
    strange = [region for region in chosen if not 0 <= region < len(features)]
    if strange:
        raise ConfigError(
            f"regions: got {strange[0]} for an image with {len(features)} rows, expected numbers below that. "
            "Check that the features belong to the detections of the build."
        )
    if len(chosen) > size:
        raise ConfigError(
            f"pad_to: got {size} for {len(chosen)} regions, expected at least as many. Raise pad_to."
        )
    is_torch = hasattr(features, "new_zeros")
    shape = (size, *features.shape[1:])
    rows: Any = features.new_zeros(shape) if is_torch else np.zeros(shape, features.dtype)
    rows[: len(chosen)] = features[chosen]
    mask = rows.new_zeros(size).bool() if is_torch else np.zeros(size, np.bool_)
    mask[: len(chosen)] = True
    return rows, mask
