"""A swap in pixels: a donor's patch, or a fill, in the place of a region; every other pixel stays.

The paper swaps features of regions. For a model that reads pixels the part of the donor's image that its box
shows is resized to the region's box and put there.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL.Image import Image

    from shortcut_miner.drawing.marks import Pixels

Colours = NDArray[np.uint8]


def patch_of(image: "Image", place: "Pixels", size: tuple[int, int]) -> Colours:
    """Return a part of an image, resized.

    Parameters
    ----------
    image : Image
        RGB.
    place : tuple of int
        Left, top, right, bottom: the first and last pixels, on the image.
    size : tuple of int
        Width and height of the result; bilinear, with all pixels that a smaller one covers. A patch that has
        this size already is copied.

    Returns
    -------
    array of uint8, height x width x 3
    """
    from PIL import Image

    left, top, right, bottom = place
    # Cut first: a filter over the whole image would take in what lies beside the box.
    patch = image.crop((left, top, right + 1, bottom + 1))
    return np.asarray(patch.resize(size, Image.Resampling.BILINEAR), np.uint8)


def pasted(pixels: Colours, place: "Pixels", patch: Colours, blend: int = 0) -> Colours:
    """Return a copy of an image with a patch in one place.

    Parameters
    ----------
    pixels : array of uint8, height x width x 3
        The image.
    place : tuple of int
        Left, top, right, bottom: the first and last pixels, on the image.
    patch : array of uint8
        What comes there, of the place's size.
    blend : int
        Over so many pixels inside the place's edges the patch fades in, in equal steps.

    Examples
    --------
    >>> own, patch = np.zeros((1, 5, 3), np.uint8), np.full((1, 3, 3), 90, np.uint8)
    >>> pasted(own, (1, 0, 3, 0), patch)[0, :, 0].tolist()
    [0, 90, 90, 90, 0]
    >>> own, patch = np.zeros((5, 5, 3), np.uint8), np.full((5, 5, 3), 90, np.uint8)
    >>> pasted(own, (0, 0, 4, 4), patch, blend=2)[2, :, 0].tolist()
    [30, 60, 90, 60, 30]
    """
    left, top, right, bottom = place
    done = pixels.copy()
    inside = done[top : bottom + 1, left : right + 1]
    if blend:
        height, width = inside.shape[:2]
        down, across = (np.minimum(np.arange(n), np.arange(n)[::-1]) for n in (height, width))
        steps = blend + 1
        weight = np.minimum(np.minimum(down[:, None], across) + 1, steps)[:, :, None]
        mixed = patch.astype(np.int64) * weight + inside.astype(np.int64) * (steps - weight)
        patch = ((mixed + steps // 2) // steps).astype(np.uint8)
    inside[:] = patch
    return done
