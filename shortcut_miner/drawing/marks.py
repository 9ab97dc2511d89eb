"""Boxes with labels on an image: lines that show on any ground, words that stay apart from each other."""

import dataclasses
from collections.abc import Iterator, Sequence

from PIL import Image, ImageDraw

from shortcut_miner.drawing.letters import drawable, fitted, font, length

Box = tuple[float, float, float, float]  # x1, y1, x2, y2
Pixels = tuple[int, int, int, int]

# Okabe and Ito's, which the colour-blind tell apart, and on which black or white words can be read.
COLOURS = {
    "blue": (0, 114, 178),
    "vermilion": (213, 94, 0),
    "green": (0, 158, 115),
    "amber": (230, 159, 0),
    "grey": (110, 110, 110),
}
_DARK_WORDS = ("amber",)
_LEAST_LETTERS = 12
_MOST_CHARACTERS = 60


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A box to draw.

    Attributes
    ----------
    box : tuple of float
        x1, y1, x2, y2 in pixels of the image; what is outside is cut off. Nowhere in a legend.
    text : str
        Its label; none if empty.
    colour : str
        A key of :data:`COLOURS`.
    is_dashed : bool
        Told apart without colours too.
    is_thin : bool
        Of less weight than others.
    """

    box: Box = (0.0, 0.0, 0.0, 0.0)
    text: str = ""
    colour: str = "blue"
    is_dashed: bool = False
    is_thin: bool = False


def letter_size(size: tuple[int, int]) -> int:
    """Return the height of labels on an image, in pixels.

    >>> letter_size((640, 480)), letter_size((100, 60)), letter_size((2000, 1000))
    (17, 12, 54)
    """
    return max(_LEAST_LETTERS, round(max(size) / 37))


def clipped(box: Box, size: tuple[int, int]) -> Pixels | None:
    """Return the part of a box that is on an image, in whole pixels; None if there is none.

    >>> clipped((-5, 2.6, 12, 9), (10, 20)), clipped((10, 2, 12, 9), (10, 20))
    ((0, 3, 9, 8), None)
    """
    right, bottom = (min(round(end), side) for end, side in zip(box[2:], size, strict=True))
    left, top = max(0, round(box[0])), max(0, round(box[1]))
    return (left, top, right - 1, bottom - 1) if left < right and top < bottom else None


def draw_marks(image: Image.Image, marks: Sequence[Mark], letters: int | None = None) -> Image.Image:
    """Return a copy of an image with boxes on it, in RGB; those outside are left out.

    Later boxes lie over earlier ones, and all labels over all boxes. Labels stand above their box, below its
    upper side or under it, wherever no other does; those of later boxes choose first.

    Parameters
    ----------
    image : Image
        Of any mode.
    marks : sequence of Mark
        Boxes in its pixels.
    letters : int, optional
        Height of labels in pixels, with which lines grow; :func:`letter_size` by default.

    Examples
    --------
    >>> drawn = draw_marks(Image.new("L", (100, 80)), [Mark(box=(20, 20, 60, 60), colour="vermilion")])
    >>> drawn.getpixel((20, 40)), drawn.getpixel((40, 40))
    ((213, 94, 0), (0, 0, 0))
    """
    letters = letters or letter_size(image.size)
    drawn = image.convert("RGB")
    draw = ImageDraw.Draw(drawn)
    shown = [(mark, box) for mark in marks if (box := clipped(mark.box, image.size)) is not None]
    for mark, box in shown:
        _draw_box(draw, box, mark, letters)
    taken: list[Pixels] = []
    for mark, box in reversed(shown):
        if mark.text:
            taken.append(_draw_label(draw, box, mark, taken, image.size, letters))
    return drawn


def line_width(letters: int, *, is_thin: bool = False) -> int:
    """Return the width of lines beside letters of this height, in pixels.

    >>> line_width(17), line_width(17, is_thin=True)
    (3, 2)
    """
    return max(1, round(letters / 11)) if is_thin else max(2, round(letters / 5.5))


def _draw_box(draw: ImageDraw.ImageDraw, box: Pixels, mark: Mark, letters: int) -> None:
    width = line_width(letters, is_thin=mark.is_thin)
    edge = max(1, width // 2)  # light around the line, for dark ground
    draw.rectangle(_grown(box, edge), outline=(255, 255, 255), width=width + 2 * edge)
    if not mark.is_dashed:
        draw.rectangle(box, outline=COLOURS[mark.colour], width=width)
        return
    left, top, right, bottom = box
    dash = 4 * width
    for first, last in _dashes(left, right, dash):
        draw.rectangle((first, top, last, min(top + width - 1, bottom)), fill=COLOURS[mark.colour])
        draw.rectangle((first, max(bottom - width + 1, top), last, bottom), fill=COLOURS[mark.colour])
    for first, last in _dashes(top, bottom, dash):
        draw.rectangle((left, first, min(left + width - 1, right), last), fill=COLOURS[mark.colour])
        draw.rectangle((max(right - width + 1, left), first, right, last), fill=COLOURS[mark.colour])


def _dashes(start: int, end: int, dash: int) -> Iterator[tuple[int, int]]:
    """Give the first and last pixel of each dash of a line."""
    for first in range(start, end + 1, 2 * dash):
        yield first, min(first + dash - 1, end)


def _grown(box: Pixels, by: int) -> Pixels:
    return (box[0] - by, box[1] - by, box[2] + by, box[3] + by)


def _draw_label(
    draw: ImageDraw.ImageDraw, box: Pixels, mark: Mark, taken: Sequence[Pixels], size: tuple[int, int],
    letters: int,
) -> Pixels:  # fmt: skip
    """Draw a label where there is room, and return where it is."""
    pad = max(2, letters // 4)
    text = fitted(drawable(mark.text, _MOST_CHARACTERS), letters, size[0] - 2 * pad)
    width, height = length(text, letters) + 2 * pad, letters + 2 * pad
    left = max(0, min(box[0], size[0] - width))
    right = max(0, min(box[2] + 1 - width, size[0] - width))
    tops = (box[1] - height, box[1], box[3] + 1, box[3] + 1 - height)
    places = [(x, y) for y in tops for x in (left, right) if 0 <= y <= size[1] - height]
    if not places:
        places = [(left, max(0, min(box[1], size[1] - height)))]
    frames = [(x, y, x + width - 1, y + height - 1) for x, y in places]
    frame = next((one for one in frames if not any(_meet(one, other) for other in taken)), frames[0])
    draw.rectangle(frame, fill=COLOURS[mark.colour])
    ink = (0, 0, 0) if mark.colour in _DARK_WORDS else (255, 255, 255)
    # By the middle, so that words with and without descenders stand alike in their frames.
    middle = frame[1] + height / 2
    draw.text((frame[0] + pad, middle), text, fill=ink, font=font(letters), anchor="lm")
    return frame


def _meet(one: Pixels, other: Pixels) -> bool:
    return one[0] <= other[2] and other[0] <= one[2] and one[1] <= other[3] and other[1] <= one[3]
