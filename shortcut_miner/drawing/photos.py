"""Images read from files: upright, opaque, of a size that fits in memory, and as their boxes see them."""

import contextlib
import dataclasses
import struct
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path

from PIL import ExifTags, Image, ImageOps

from shortcut_miner.errors import SourceError, reason_of

# Formats that people keep photographs in. Pillow knows others, and hands some of these to further programs.
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
# What damaged files raise, beside Pillow's own.
_DAMAGED = (OSError, SyntaxError, ValueError, EOFError, OverflowError, struct.error, zlib.error)
_ON_THEIR_SIDE = range(5, 9)  # the EXIF orientations that change width and height
_OTHER_SHAPE = 0.02  # sides that were rounded after a change of size differ by less
_PAGE = (242, 242, 242)

Size = tuple[int, int]
Scales = tuple[float, float]


@dataclasses.dataclass(frozen=True, slots=True)
class Photo:
    """An image for boxes.

    Attributes
    ----------
    image : Image
        RGB.
    scales : tuple of float
        Pixels of the image for one of the boxes' pixels, across and down.
    """

    image: Image.Image
    scales: Scales = (1.0, 1.0)


def read_photo(path: Path, size: Size | None = None, *, least: int | None = None) -> Photo:
    """Return an image, turned as its EXIF orientation says; transparent parts become white.

    Parameters
    ----------
    path : Path
        JPEG, PNG, WebP, GIF (its first picture), BMP or TIFF.
    size : tuple of int, optional
        Width and height of the image that boxes were made for. If these are of the image as it is stored, and
        not of what it is when turned, it stays as it is stored: the boxes' maker ignored the orientation. An
        image of the same shape and another size gets scales.
    least : int, optional
        A JPEG may come a half, a quarter or an eighth as large, with sides of so many pixels or more: it is
        decoded in a fraction of the time.

    Raises
    ------
    SourceError
        It can't be read, has more pixels than Pillow holds to be safe, or another shape than `size`.
    """
    with _opened(path) as opened:
        if least is not None:
            opened.draft(None, (least, least))
        stored = _opaque(opened)
        upright = _opaque(ImageOps.exif_transpose(opened))
    return _fitted(path, stored, upright, size)


def size_of(path: Path) -> Size:
    """Return width and height of an image that :func:`read_photo` gives, from the start of its file.

    Raises
    ------
    SourceError
        It is no image, or has more pixels than Pillow holds to be safe.
    """
    with _opened(path) as opened:
        if opened.format == "TIFF":
            opened.load()  # which turns it, and forgets the orientation
        width, height = opened.size
        is_on_its_side = opened.getexif().get(ExifTags.Base.Orientation, 1) in _ON_THEIR_SIDE
    return (height, width) if is_on_its_side else (width, height)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    """Open an image; what is wrong with it, now or when it is decoded, is a SourceError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            warnings.filterwarnings("ignore", category=UserWarning, module="PIL")  # odd EXIF, which is left
            with Image.open(path, formats=FORMATS) as opened:
                yield opened
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise SourceError(
            f"{path}: got an image of more than {Image.MAX_IMAGE_PIXELS or 0:,} pixels, expected fewer: so "
            "many may be made to exhaust memory. Make it smaller."
        ) from error
    except _DAMAGED as error:
        raise SourceError(
            f"{path}: got {reason_of(error)}, expected a whole image ({', '.join(FORMATS)}). Check the file, "
            "or correct --images."
        ) from error


def blank_photo(size: Size) -> Photo:
    """Return an empty page to draw boxes on."""
    return Photo(Image.new("RGB", size, _PAGE))


def _opaque(image: Image.Image) -> Image.Image:
    """Return RGB; integers of more than 8 bits keep their highest ones."""
    if image.mode.startswith("I"):
        return image.convert("I").point(lambda value: value / 256).convert("RGB")
    if not image.has_transparency_data:
        return image.convert("RGB")
    layer = image.convert("RGBA")
    page = Image.new("RGBA", layer.size, "white")
    page.alpha_composite(layer)
    return page.convert("RGB")


def _fitted(path: Path, stored: Image.Image, upright: Image.Image, size: Size | None) -> Photo:
    if size is None or upright.size == size:
        return Photo(upright)
    if stored.size == size:
        return Photo(stored)
    across, down = upright.width / size[0], upright.height / size[1]
    if abs(across / down - 1) > _OTHER_SHAPE:
        raise SourceError(
            f"{path}: got an image of {upright.width:,} x {upright.height:,} pixels, expected one of the "
            f"shape that its boxes were made for ({size[0]:,} x {size[1]:,}). Is it another image of that "
            "name? Correct --images."
        )
    return Photo(upright, (across, down))
