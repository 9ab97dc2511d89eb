"""Colour phrases in answers: which colours they name, and when two of them are at odds."""

import re
from functools import cache

from shortcut_miner.diagnostics.rad.word_lists import word_list, words

_SEPARATOR = re.compile(r"\s*[,/&]\s*|\s*-\s*|\s+and\s+|\s+", re.IGNORECASE)

Colors = frozenset[str]


def color_set(answer: str) -> Colors | None:
    """Return the colours that an answer names, without shades; None if it is no colour phrase.

    A colour phrase is made of colour names, joined by blanks, commas, slashes, ``&`` and ``and``, with
    modifiers such as *light* between.

    Examples
    --------
    >>> sorted(color_set("Light grey & white"))
    ['gray', 'white']
    >>> color_set("clear"), color_set("no phone"), color_set("dark")
    (None, None, None)
    """
    modifiers = words("colors", "modifiers")
    parts = [part for part in _SEPARATOR.split(answer.strip().lower()) if part and part != "and"]
    found = [name for part in parts if part not in modifiers for name in [_color_name(part)]]
    return frozenset(found) if found and None not in found else None  # type: ignore[arg-type]


def mentioned_colors(answer: str) -> Colors:
    """Return every colour named anywhere in an answer.

    Examples
    --------
    >>> sorted(mentioned_colors("red stripes on white"))
    ['red', 'white']
    """
    parts = re.findall(r"[a-z]+", answer.lower())
    return frozenset(name for part in parts if (name := _color_name(part)) is not None)


def is_multicolored(answer: str) -> bool:
    """Return whether an answer says that there are many colours, so that any may be right.

    Examples
    --------
    >>> is_multicolored("Multi-colored"), is_multicolored("rainbow"), is_multicolored("red and white")
    (True, True, False)
    """
    lower = answer.lower()
    return lower.startswith("multi") or not words("colors", "many").isdisjoint(re.findall(r"[a-z]+", lower))


def offers_colors(subject: str) -> bool:
    """Return whether a subject ends with colours to choose from, as GQA's do.

    Examples
    --------
    >>> offers_colors("shirt, purple or light blue"), offers_colors("cup or bowl on the left")
    (True, False)
    """
    *_, last = subject.rsplit(",", maxsplit=1)
    choices = re.split(r"\s+or\s+", last.strip(), flags=re.IGNORECASE)
    return len(choices) > 1 and all(color_set(choice) is not None for choice in choices)


def are_compatible(one: Colors, other: Colors, *, count_near: bool = True) -> bool:
    """Return whether somebody who says the one could also say the other.

    True if each colour of the smaller set is a colour of the larger, or with `count_near` a close one.

    Examples
    --------
    >>> are_compatible(frozenset({"white"}), frozenset({"black", "white"}))
    True
    >>> are_compatible(frozenset({"red"}), frozenset({"maroon"}))
    True
    >>> are_compatible(frozenset({"red"}), frozenset({"blue"}))
    False
    """
    small, large = sorted((one, other), key=len)
    near = _near_colors() if count_near else {}
    return all(name in large or not near.get(name, frozenset()).isdisjoint(large) for name in small)


@cache
def _names() -> dict[str, str]:
    lists = word_list("colors")
    names: dict[str, str] = {name: name for key in ("basic", "named", "hair") for name in lists[key]}
    names.update(lists["spellings"])
    return names


@cache
def _color_name(part: str) -> str | None:
    return _names().get(part)


@cache
def _near_colors() -> dict[str, frozenset[str]]:
    """Return each colour's close ones, both ways."""
    near: dict[str, set[str]] = {}
    for name, others in word_list("colors")["near"].items():
        for other in others:
            near.setdefault(name, set()).add(other)
            near.setdefault(other, set()).add(name)
    return {name: frozenset(others) for name, others in near.items()}
