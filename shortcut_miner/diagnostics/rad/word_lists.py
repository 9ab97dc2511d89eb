"""The room's word lists: colours, what may follow "are", and kinds. They are data, in ``lists/*.toml``."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def word_list(name: str) -> dict[str, Any]:
    """Return one list file as a dictionary.

    Parameters
    ----------
    name : {"colors", "modifiers", "kinds"}
        File name without its ending.

    Examples
    --------
    >>> "blue" in word_list("colors")["basic"]
    True
    """
    text = files("shortcut_miner.diagnostics.rad").joinpath("lists", f"{name}.toml").read_text("utf-8")
    return tomllib.loads(text)


@cache
def words(name: str, *keys: str) -> frozenset[str]:
    """Return one list as a set; further keys lead into tables.

    Examples
    --------
    >>> "passenger" in words("kinds", "answers", "attributive")
    True
    """
    found: Any = word_list(name)
    for key in keys:
        found = found[key]
    return frozenset(found)
