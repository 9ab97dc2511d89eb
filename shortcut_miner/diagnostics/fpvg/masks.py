"""Which pixels of an image a condition keeps, and what the others become.

FPVG hides regions from models that read region features. For a model that reads pixels the union of a
question's relevant boxes stays, or that of its irrelevant boxes, and the rest is filled.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.keyed_draws import draw_uniform, id_keys

if TYPE_CHECKING:
    from PIL.Image import Image

    from shortcut_miner.diagnostics.fpvg.config import Fill

Kept = NDArray[np.bool_]
Boxes = NDArray[np.float64]
Size = tuple[int, int]

_CONTROL = "fpvg control"


def union(boxes: Boxes, size: Size) -> Kept:
    """Return the pixels that some box covers.

    Parameters
    ----------
    boxes : array of float64, n x 4
        x1, y1, x2, y2 in the image's own pixels; cut to whole pixels on it as pictures of them are.
    size : tuple of int
        Width and height.

    Returns
    -------
    array of bool, height x width

    Examples
    --------
    >>> union(np.array([[-3.0, 0.6, 2.0, 9.0]]), (4, 3)).astype(int).tolist()
    [[0, 0, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0]]
    """
    covered = np.zeros((size[1], size[0]), np.bool_)
    for place in _places(boxes, size):
        covered[place] = True
    return covered


def control(boxes: Boxes, candidates: Sequence[int], area: int, size: Size, *, key: tuple[str, int]) -> Kept:
    """Return the union of randomly drawn boxes whose area is near to another union's.

    Boxes come in a random order; each is taken that brings the area of the union nearer. If none does, the
    one box whose area is nearest.

    Parameters
    ----------
    boxes : array of float64, n x 4
        Of all of the image's regions; see :func:`union`.
    candidates : sequence of int
        The rows that may be drawn.
    area : int
        Pixels to match.
    size : tuple of int
        Width and height.
    key : (str, int)
        The question's id and the seed: they alone decide the order.
    """
    keys = id_keys(pl.Series([key[0]]), key[1], _CONTROL)
    order = np.argsort(draw_uniform(keys, np.asarray(candidates, np.uint64)), kind="stable")
    places = _places(boxes[[candidates[at] for at in order]], size)
    kept, found = np.zeros((size[1], size[0]), np.bool_), 0
    for place in places:
        part = kept[place]
        more = part.size - int(part.sum())
        if abs(found + more - area) < abs(found - area):
            kept[place] = True
            found += more
    if not found and places:
        kept[min(places, key=lambda place: abs(kept[place].size - area))] = True
    return kept


def _places(boxes: Boxes, size: Size) -> list[tuple[slice, slice]]:
    """Return the rows and columns of pixels that boxes cover, without those of boxes that cover none."""
    from shortcut_miner.drawing.marks import clipped

    found = [clipped((x1, y1, x2, y2), size) for x1, y1, x2, y2 in boxes.tolist()]
    return [
        (slice(top, bottom + 1), slice(left, right + 1))
        for left, top, right, bottom in (one for one in found if one is not None)
    ]


def filled(image: "Image", kept: Kept, fill: "Fill") -> "Image":
    """Return an image whose pixels outside `kept` are filled; every other pixel is as it was.

    Parameters
    ----------
    image : Image
        RGB.
    kept : array of bool, height x width
        At least one pixel.
    fill : {"blur", "mean", "black", "crop"}
        What the others become: those of the image blurred by a Gaussian of a twentieth of its longer side,
        its mean colour, or black; "crop" cuts to the smallest box around `kept`, in which they are black.
    """
    from PIL import Image

    from shortcut_miner.drawing.fills import fill_of

    others = fill_of(image, "black" if fill == "crop" else fill)
    done = np.where(kept[:, :, None], np.asarray(image), others)
    if fill == "crop":
        rows, columns = (np.flatnonzero(kept.any(axis=axis)) for axis in (1, 0))
        done = done[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    return Image.fromarray(np.ascontiguousarray(done, np.uint8))
