"""A picture to look at or to print: images side by side, with words over them, as PNG."""

import dataclasses
import io
from collections.abc import Iterator, Sequence

from PIL import Image, ImageDraw
from PIL.PngImagePlugin import PngInfo

from shortcut_miner.drawing.letters import drawable, fitted, font, wrapped
from shortcut_miner.drawing.marks import Mark, clipped, draw_marks, letter_size

_LEAST_SIDE, _MOST_SIDE = 640, 1600  # of an image on a sheet, in pixels
_SPACE = 24
_HEADING, _WORDS = 22, 17
_INK, _SOFT = (20, 20, 20), (80, 80, 80)
_SWATCH = 46
_TITLE = 30  # of an image, with the space below
_CHARACTERS = 1000
# Where a PNG says what wrote it.
SOFTWARE = ("Software", "shortcut_miner")


@dataclasses.dataclass(frozen=True, slots=True)
class Panel:
    """An image of a sheet.

    Attributes
    ----------
    image : Image
        RGB.
    marks : tuple of Mark
        Boxes in its pixels.
    title : str
        One line over it.
    """

    image: Image.Image
    marks: tuple[Mark, ...]
    title: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Sheet:
    """What a picture shows.

    Attributes
    ----------
    heading : str
        The question.
    lines : tuple of str
        What is said of it, below.
    legend : tuple of Mark
        Boxes as they are drawn, with what they stand for.
    rows : tuple of tuple of Panel
        Images side by side, row by row.
    """

    heading: str
    lines: tuple[str, ...]
    legend: tuple[Mark, ...]
    rows: tuple[tuple[Panel, ...], ...]


def outside(sheet: Sheet) -> list[Mark]:
    """Return the marks that no image shows: their boxes have no part on it."""
    panels = [panel for row in sheet.rows for panel in row]
    return [mark for panel in panels for mark in panel.marks if clipped(mark.box, panel.image.size) is None]


def png_of(sheet: Sheet) -> bytes:
    """Return a sheet as PNG: the same bytes for the same sheet.

    Images are drawn 640 to 1,600 pixels long, those of a row equally high.
    """
    sizes = [[_size(panel.image, height) for panel in row] for row, height in _with_heights(sheet.rows)]
    letters = max(letter_size(size) for row in sizes for size in row)
    rows = [
        [(panel, _drawn(panel, size, letters)) for panel, size in zip(row, row_sizes, strict=True)]
        for row, row_sizes in zip(sheet.rows, sizes, strict=True)
    ]
    width = max(sum(image.width + _SPACE for _, image in row) for row in rows) - _SPACE
    words = _words(sheet, width)
    heights = [row[0][1].height + (_TITLE if any(panel.title for panel, _ in row) else 0) for row in rows]
    tall = words.height + sum(heights) + _SPACE * len(rows)
    page = Image.new("RGB", (width + 2 * _SPACE, tall + 2 * _SPACE), "white")
    page.paste(words, (_SPACE, _SPACE))
    top = words.height + 2 * _SPACE
    for row, height in zip(rows, heights, strict=True):
        _place_row(page, row, top, height)
        top += height + _SPACE
    file = io.BytesIO()
    info = PngInfo()
    info.add_text(*SOFTWARE)
    page.save(file, "PNG", pnginfo=info)
    return file.getvalue()


def is_sheet(start: bytes) -> bool:
    """Return whether the first bytes of a file are those of a PNG that :func:`png_of` made."""
    return start.startswith(b"\x89PNG\r\n\x1a\n") and b"tEXt" + "\0".join(SOFTWARE).encode() in start


def _with_heights(rows: Sequence[Sequence[Panel]]) -> Iterator[tuple[Sequence[Panel], int]]:
    """Give each row with the height of its images: that of the lowest, each at a size to look at."""
    for row in rows:
        yield row, min(max(1, round(panel.image.height * _factor(panel.image))) for panel in row)


def _factor(image: Image.Image) -> float:
    longest = max(image.size)
    return min(max(longest, _LEAST_SIDE), _MOST_SIDE) / longest


def _size(image: Image.Image, height: int) -> tuple[int, int]:
    return max(1, round(image.width * height / image.height)), height


def _drawn(panel: Panel, size: tuple[int, int], letters: int) -> Image.Image:
    """Return a panel's image at its size on the sheet, with its boxes drawn at that size."""
    image = panel.image
    across, down = size[0] / image.width, size[1] / image.height
    marks = [
        dataclasses.replace(one, box=(x1 * across, y1 * down, x2 * across, y2 * down))
        for one in panel.marks
        for x1, y1, x2, y2 in [one.box]
    ]
    shown = image if size == image.size else image.resize(size, Image.Resampling.LANCZOS)
    return draw_marks(shown, marks, letters)


def _place_row(page: Image.Image, row: Sequence[tuple[Panel, Image.Image]], top: int, height: int) -> None:
    draw = ImageDraw.Draw(page)
    left = _SPACE
    for panel, image in row:
        if panel.title:
            text = fitted(drawable(panel.title), _WORDS, image.width)
            draw.text((left, top), text, fill=_SOFT, font=font(_WORDS))
        page.paste(image, (left, top + height - image.height))
        left += image.width + _SPACE


def _words(sheet: Sheet, width: int) -> Image.Image:
    """Return the heading, the lines below it and the legend, as wide as all images together."""
    lines = [(line, _HEADING, _INK) for line in wrapped(_cut(sheet.heading), _HEADING, width)]
    lines += [(line, _WORDS, _SOFT) for text in sheet.lines for line in wrapped(_cut(text), _WORDS, width)]
    entries = [(mark, drawable(mark.text)) for mark in sheet.legend]
    height = sum(_line(size) for _, size, _ in lines) + _line(_WORDS) * len(entries)
    drawn = Image.new("RGB", (width, max(1, height)), "white")
    draw = ImageDraw.Draw(drawn)
    top = 0
    for line, size, ink in lines:
        draw.text((0, top), line, fill=ink, font=font(size))
        top += _line(size)
    for mark, text in entries:
        drawn.paste(_swatch(mark), (0, top))
        words = fitted(text, _WORDS, width - _SWATCH)
        draw.text((_SWATCH, top), words, fill=_INK, font=font(_WORDS))
        top += _line(_WORDS)
    return drawn


def _swatch(mark: Mark) -> Image.Image:
    box = (3, 3, _SWATCH - 12, _WORDS)
    return draw_marks(
        Image.new("RGB", (_SWATCH, _line(_WORDS)), "white"), [dataclasses.replace(mark, box=box, text="")]
    )


def _cut(text: str) -> str:
    return drawable(text, _CHARACTERS)


def _line(size: int) -> int:
    """Return the height of a line of words."""
    return round(size * 1.45)
