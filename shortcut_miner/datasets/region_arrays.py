"""Boxes beside features, arranged as models of region features expect them: for data loaders."""

from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.errors import ConfigError
from shortcut_miner.options import reject

Layout = Literal["bottom-up", "lxmert", "vinvl"]
_SIDES = ("x1", "y1", "x2", "y2")
_SPATIAL = {"bottom-up": 0, "lxmert": 0, "vinvl": 6}  # numbers after the features that say where a box is

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


class RegionArrays:
    """The boxes of images, looked up by region, and how items of a data set are made of them.

    Parameters
    ----------
    boxes : pl.DataFrame
        schemas.ImageBoxes, sorted by image and region.
    layout : {"bottom-up", "lxmert", "vinvl"}
        - "bottom-up": ``features`` (rows x dimensions), ``boxes`` (rows x 4, pixels), ``num_boxes`` (how many
          are regions), ``mask`` (bool, True for these).
        - "lxmert": ``visual_feats``, ``visual_pos`` (x1, y1, x2, y2 as shares of width and height),
          ``visual_attention_mask`` (float32, 1 for regions), as LXMERT's model names them.
        - "vinvl": ``img_feats`` (rows x dimensions + 6: the corners as shares of width and height, then width
          and height of the box as shares), ``img_mask`` (int64, 1 for regions), as Oscar reads VinVL's
          features.

    Raises
    ------
    ConfigError
        No such layout, or one that needs the sizes of images where they are not known.

    Attributes
    ----------
    spatial : int
        Numbers after the features in each row.
    """

    def __init__(self, boxes: pl.DataFrame, layout: Layout) -> None:
        if layout not in _SPATIAL:
            reject("layout", layout, f"one of {', '.join(_SPATIAL)}")
        if layout != "bottom-up" and boxes.select(pl.col("width", "height").null_count()).sum_horizontal()[0]:
            raise ConfigError(
                f"layout: got {layout!r} for a build without the sizes of images, expected 'bottom-up'. Use "
                "that, or build from detections that have them."
            )
        self.layout, self.spatial = layout, _SPATIAL[layout]
        self._boxes: Floats = boxes.select(_SIDES).to_numpy().astype(np.float32, order="C")
        self._sizes: Floats = boxes.select("width", "height").to_numpy().astype(np.float32)
        self._numbers: Ints = boxes["region_index"].to_numpy().astype(np.int64)
        numbered = boxes.select("image_id").with_row_index("row")
        places = numbered.group_by("image_id").agg(first=pl.col("row").min(), stop=pl.col("row").max() + 1)
        self._of_image = {image_id: (first, stop) for image_id, first, stop in places.iter_rows()}

    def places(self, image_id: str, regions: Ints) -> Ints:
        """Return where the boxes of an image's regions are."""
        first, stop = self._of_image[image_id]
        found: Ints = self._numbers[first:stop].searchsorted(regions) + first
        return found

    def arranged(self, rows: Any, places: Ints) -> dict[str, Any]:
        """Return the arrays of an item.

        Parameters
        ----------
        rows : ndarray, size x dimensions + `spatial`
            Features, then zeros; where boxes follow features, room for them, which is filled.
        places : ndarray of int64
            Of the boxes of the first rows.
        """
        size, count = len(rows), len(places)
        mask = np.zeros(size, np.bool_)
        mask[:count] = True
        boxes = self._boxes[places]
        if self.layout == "bottom-up":
            return {"features": rows, "boxes": padded(boxes, size, 0), "num_boxes": count, "mask": mask}
        shares = boxes / np.tile(self._sizes[places], 2)
        if self.layout == "lxmert":
            return {
                "visual_feats": rows,
                "visual_pos": padded(shares, size, 0),
                "visual_attention_mask": mask.astype(np.float32),
            }
        rows[:count, -6:-2] = shares
        rows[:count, -2:] = shares[:, 2:] - shares[:, :2]
        return {"img_feats": rows, "img_mask": mask.astype(np.int64)}


def padded(values: Any, size: int, fill: int) -> Any:
    """Return values with `fill` after them.

    >>> padded(np.array([4, 5]), 3, -1).tolist()
    [4, 5, -1]
    """
    longer = np.empty((size, *values.shape[1:]), values.dtype)
    longer[: len(values)] = values
    longer[len(values) :] = fill
    return longer


def checked_size(pad_to: int | None, regions: int, longest: int) -> int:
    """Return how many rows an item has: `pad_to`, or as many as the file has regions.

    Raises
    ------
    ConfigError
        No whole number, or fewer than some question needs.
    """
    size = regions if pad_to is None else pad_to
    if not isinstance(size, int) or size < longest:
        reject("pad_to", size, f"at least the {longest} regions of some question")
    return size
