"""How docstrings are read: parameters, or errors, that share a line and a text get an entry each.

Otherwise all of them would be shown with the first one's type and default.
"""

import re
from typing import Any

from griffe import Class, Extension, Function

SHARED = re.compile(
    r"^(?P<names>\w+(?:,\s+(?:\w+|\.\.\.))+)(?P<kind> : .*)?\n(?P<text>(?:(?:    .*)?\n)*(?:    .*\n?))",
    re.MULTILINE,
)
HEADED = re.compile(r"^(?:Parameters|Attributes|Raises)\n-+\n", re.MULTILINE)


class OneEntryEach(Extension):
    """Rewrites the docstrings of functions and classes when they have been found."""

    def on_function(self, *, func: Function, **_: Any) -> None:
        """Rewrite a function's docstring."""
        rewrite(func)

    def on_class(self, *, cls: Class, **_: Any) -> None:
        """Rewrite a class's docstring."""
        rewrite(cls)


def rewrite(found: Function | Class) -> None:
    """Give each shared entry of a docstring's sections its own, with the same text."""
    if found.docstring is None:
        return
    head = HEADED.search(found.docstring.value)
    if head is not None:
        text = found.docstring.value
        found.docstring.value = text[: head.start()] + SHARED.sub(apart, text[head.start() :])


def apart(entry: re.Match[str]) -> str:
    """Return one entry a name."""
    names = [name for name in re.split(r",\s+", entry["names"]) if name != "..."]
    text = entry["text"].rstrip()
    return "".join(f"{name}{entry['kind'] or ''}\n{text}\n" for name in names)
