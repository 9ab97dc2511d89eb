"""What pixels become that a model is not to see."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

Fill = Literal["blur", "mean", "black"]

_BLUR = 20  # the longer side of an image is so many radii of its blur


def fill_of(image: Image.Image, fill: Fill) -> NDArray[np.uint8]:
    """Return pixels to show in place of an image's own.

    Parameters
    ----------
    image : Image
        RGB.
    fill : {"blur", "mean", "black"}
        Those of the image blurred by a Gaussian of a twentieth of its longer side; its mean colour; black.

    Returns
    -------
    array of uint8, height x width x 3
    """
    pixels = np.asarray(image)
    if fill == "blur":
        return np.asarray(image.filter(ImageFilter.GaussianBlur(max(image.size) / _BLUR)), np.uint8)
    colour = np.zeros(3, np.uint8)
    if fill == "mean":
        # Of whole numbers, rounded down: the same on every machine.
        colour = (pixels.sum(axis=(0, 1), dtype=np.int64) // (image.width * image.height)).astype(np.uint8)
    return np.broadcast_to(colour, pixels.shape)
