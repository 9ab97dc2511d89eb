"""Laying texts out in a given width: no word and no number is broken.

A table that is too wide has its texts wrapped at spaces; then the columns that its command can spare go;
what is too wide even so becomes a block of lines a row.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from shortcut_miner.errors import visible

GAP, NARROW_GAP = 3, 2
_LEAST_TEXT = 12  # no text column is narrower for the sake of one that can be spared
# Spaces within brackets hold an interval together.
_WORD = re.compile(r"\[[^\[\]]*\]\S*|\S+")
_WITHOUT_WIDTH = ("Mn", "Me", "Cf")

Paint = Callable[[str, str, str], str]


def plain(heading: str, cell: str, piece: str) -> str:
    """Return a piece of a cell without colour."""
    return piece


def one_line(text: str) -> str:
    r"""Return `text` in one line, with escapes for what would act on a terminal.

    >>> one_line(" a\n b\t\x1b")
    'a b \\x1b'
    """
    spaced = text.replace("\t", " ").replace("\r\n", " ")
    return " ".join(visible(spaced).split())


def text_width(text: str) -> int:
    """Return how many places `text` takes in a terminal: wide letters two, combining marks none.

    >>> text_width("naïve"), text_width("自転車"), text_width("e\u0301")
    (5, 6, 1)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.category(one) in _WITHOUT_WIDTH else 1 + (unicodedata.east_asian_width(one) in "WF")
        for one in text
    )


def wrapped(text: str, width: int, hanging: int = 2) -> list[str]:
    """Return lines of at most `width` places, broken at spaces; a longer word stands alone in its line.

    Parameters
    ----------
    text : str
        One line or several; each keeps its indentation.
    width : int
        Places.
    hanging : int
        Further indentation of what is carried over.

    >>> wrapped("18 rules fire [0.3, 0.5]", 15)
    ['18 rules fire', '  [0.3, 0.5]']
    """
    lines = []
    for line in text.split("\n"):
        if text_width(line) <= width:
            lines.append(line)
            continue
        indent = line[: len(line) - len(line.lstrip())]
        current = ""
        for word in _WORD.findall(line):
            joined = f"{current} {word}" if current.strip() else f"{indent}{current}{word}"
            if current.strip() and text_width(joined) > width:
                lines.append(current)
                joined = f"{indent}{' ' * hanging}{word}"
            current = joined
        lines.append(current)
    return lines


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    heading : str
        Its name.
    is_number : bool
        Its cells stand to the right and are never wrapped.
    is_field : bool
        Its heading is a table's field, in which an underscore may become a space.
    """

    heading: str
    is_number: bool = False
    is_field: bool = False

    def narrow_heading(self) -> str:
        """Return the heading with spaces wherever it may be wrapped."""
        return self.heading.replace("_", " ") if self.is_field else self.heading


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A table as lines, and the headings of the columns that found no room."""

    lines: list[str]
    left_out: list[str] = field(default_factory=list)


def lay_out(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    width: int | None,
    *,
    spare: Sequence[str] = (),
    paint: Paint = plain,
) -> LaidOut:
    """Return a table in at most `width` places.

    Parameters
    ----------
    columns, rows
        Texts of one line each.
    width : int or None
        Places; None: as many as it takes.
    spare : sequence of str
        Headings of columns that may go, the first of them first.
    paint : callable
        Gives a piece of a cell its colour, from the column's heading, the whole cell ("" for the heading
        itself) and the piece.
    """
    if width is None:
        return LaidOut(_grid(columns, rows, _natural(columns, rows), GAP, paint))
    left_out: list[str] = []
    for heading in (None, *spare):
        left_out += [column.heading for column in columns if column.heading == heading]
        shown = [place for place, column in enumerate(columns) if column.heading not in left_out]
        kept = [columns[place] for place in shown]
        cells = [[row[place] for place in shown] for row in rows]
        if fits(kept, cells, width):
            return LaidOut(_grid(kept, cells, _natural(kept, cells), GAP, paint), left_out)
        if widths := _narrowed(kept, cells, width, _LEAST_TEXT):
            return LaidOut(_grid(kept, cells, widths, NARROW_GAP, paint), left_out)
    if widths := _narrowed(kept, cells, width, 1):
        return LaidOut(_grid(kept, cells, widths, NARROW_GAP, paint), left_out)
    return LaidOut(_blocks(columns, rows, width, paint))


def fits(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> bool:
    """Return whether a table fits into `width` places with no cell wrapped."""
    return sum(_natural(columns, rows)) + GAP * (len(columns) - 1) <= width


def _natural(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[int]:
    return [
        max(map(text_width, (column.heading, *(row[place] for row in rows))))
        for place, column in enumerate(columns)
    ]


def _narrowed(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int, least_text: int
) -> list[int] | None:
    """Return widths that fit with no word broken, the widest texts made narrower first; None if none do."""
    most, least = [], []
    for place, column in enumerate(columns):
        cells = [row[place] for row in rows]
        longest = max(map(text_width, cells), default=0)
        heading = _longest_word(column.narrow_heading())
        most.append(max(longest, heading))
        word = longest if column.is_number else max(map(_longest_word, cells), default=0)
        least.append(max(heading, word if column.is_number else max(word, min(longest, least_text))))
    room = width - NARROW_GAP * (len(columns) - 1)
    if sum(least) > room:
        return None
    widths, limit = least, 0
    while sum(widths) < room and limit <= max(most):
        limit += 1
        wider = [max(low, min(high, limit)) for low, high in zip(least, most, strict=True)]
        if sum(wider) > room:
            break
        widths = wider
    return widths


def _longest_word(text: str) -> int:
    return max(map(text_width, _WORD.findall(text)), default=0)


def _grid(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    widths: Sequence[int],
    gap: int,
    paint: Paint,
) -> list[str]:
    def line_of(pieces: Sequence[str], cells: Sequence[str]) -> str:
        padded = []
        for column, cell, piece, width in zip(columns, cells, pieces, widths, strict=True):
            space = " " * (width - text_width(piece))
            painted = paint(column.heading, cell, piece) if piece else piece
            padded.append(f"{space}{painted}" if column.is_number else f"{painted}{space}")
        return (" " * gap).join(padded).rstrip()

    def lines_of(cells: Sequence[str], texts: Sequence[str], *, from_below: bool = False) -> list[str]:
        parts = [wrapped(text, width, 0) for text, width in zip(texts, widths, strict=True)]
        height = max(map(len, parts))
        blank = [[""] * (height - len(part)) for part in parts]
        filled = [gap + part if from_below else part + gap for part, gap in zip(parts, blank, strict=True)]
        return [line_of(pieces, cells) for pieces in zip(*filled, strict=True)]

    headings = [
        column.heading if text_width(column.heading) <= width else column.narrow_heading()
        for column, width in zip(columns, widths, strict=True)
    ]
    lines = lines_of([""] * len(columns), headings, from_below=True)
    lines.append("─" * (sum(widths) + gap * (len(widths) - 1)))
    for row in rows:
        lines += lines_of(row, row)
    return lines


def _blocks(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int, paint: Paint) -> list[str]:
    """Return a line a cell, its heading before it or in a line above, and an empty line between rows."""
    names = max(text_width(column.heading) for column in columns) + NARROW_GAP
    longest = max((_longest_word(cell) for row in rows for cell in row), default=0)
    is_beside = names + longest <= width
    indent = " " * (names if is_beside else NARROW_GAP)
    lines = []
    for number, row in enumerate(rows):
        lines += [""] if number else []
        for column, cell in zip(columns, row, strict=True):
            pieces = [paint(column.heading, cell, one) for one in wrapped(cell, width - len(indent), 0)]
            heading = paint(column.heading, "", column.heading)
            space = " " * (names - text_width(column.heading))
            first = f"{heading}{space}{pieces.pop(0)}" if is_beside else heading
            lines += [first.rstrip(), *(f"{indent}{piece}" for piece in pieces if piece)]
    return lines


def stacked(
    groups: Sequence[tuple[str, Sequence[tuple[str, str]]]], width: int, paint: Paint = plain
) -> list[str]:
    """Return a heading a group, and below it a line a name and value; in two lines where one has no room.

    Parameters
    ----------
    groups : sequence of (str, sequence of (str, str))
        Headings with their names and values.
    width, paint
        As for :func:`lay_out`.
    """
    pairs = [pair for _, group in groups for pair in group]
    names, values = (max((text_width(pair[place]) for pair in pairs), default=0) for place in (0, 1))
    is_narrow = NARROW_GAP + names + NARROW_GAP + values > width
    lines = []
    for heading, group in groups:
        lines += [paint(heading, "", piece) for piece in wrapped(heading, width)]
        for name, value in group:
            if is_narrow:
                lines += wrapped(f"  {name}", width) + wrapped(f"    {value}", width, 0)
            else:
                space = " " * (names - text_width(name) + NARROW_GAP + values - text_width(value))
                lines.append(f"  {name}{space}{value}")
    return lines
