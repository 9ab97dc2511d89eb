"""Words as they can be drawn: in the font that Pillow brings along, so that all machines draw the same."""

from functools import cache

from PIL import ImageFont

from shortcut_miner.errors import visible

_MOST = 200  # characters of a text that are looked at
_MISSING = "\U0010ffff"  # no font has a letter for it


@cache
def font(size: int) -> ImageFont.FreeTypeFont:
    """Return the font at so many pixels a line."""
    found = ImageFont.load_default(size)
    assert isinstance(found, ImageFont.FreeTypeFont)  # see check_pillow
    return found


def drawable(text: str, most: int = _MOST) -> str:
    r"""Return text on one line, with escapes for what is unseen and for letters that the font lacks.

    >>> drawable("a\nb \u202e \u72ac")
    'a b \\u202e \\u72ac'
    """
    cut = text if len(text) <= most else text[:most] + "..."
    return "".join(
        one if _has(one) else one.encode("unicode_escape").decode() for one in visible(" ".join(cut.split()))
    )


def length(text: str, size: int) -> int:
    """Return how many pixels a text takes."""
    return round(font(size).getlength(text))


def fitted(text: str, size: int, width: int) -> str:
    """Return as much of a text as `width` pixels hold, and dots for the rest.

    >>> fitted("a table", 20, 500), length(fitted("a table" * 20, 20, 100), 20) <= 100
    ('a table', True)
    """
    if length(text, size) <= width:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        fits = length(text[:middle].rstrip() + "...", size) <= width
        low, high = (middle, high) if fits else (low, middle - 1)
    return text[:low].rstrip() + "..."


def wrapped(text: str, size: int, width: int) -> list[str]:
    """Return a text as lines of at most `width` pixels; a longer word is cut."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if length(longer, size) <= width:
            lines[-1] = longer
        else:
            lines += [fitted(word, size, width)]
    return [line for line in lines if line]


@cache
def _has(letter: str) -> bool:
    if letter.isascii():
        return True
    size = 20
    return bytes(font(size).getmask(letter)) != bytes(font(size).getmask(_MISSING))
