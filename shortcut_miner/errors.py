"""Errors that users meet: each message says what, got, expected, and what to do.

Everything a user can cause is a :class:`ShortcutMinerError`. The command line turns these into one
message and exit code 2; anything else that escapes is a bug here (exit code 101).
"""

import difflib
import re
from collections.abc import Iterable, Sequence

MAX_PROBLEMS_SHOWN = 20
MAX_EXAMPLES_SHOWN = 5
# What a terminal would obey or not show: control characters, marks of writing direction, line separators that
# are no newline, halves of a surrogate pair.
UNSEEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_LEAST_LIKENESS = 0.7
_MANY_NAMES = 10_000  # comparing takes some microseconds a name


class ShortcutMinerError(Exception):
    """Base of every error that the user's input, options or machine can cause."""


class SourceError(ShortcutMinerError):
    """A file that can't be read, or holds what its format does not allow."""


class SchemaError(ShortcutMinerError):
    """A table whose columns, types, keys or values break its schema."""


class ConfigError(ShortcutMinerError):
    """An option or a combination of options that has no meaning."""


class BackendError(ShortcutMinerError):
    """A compute backend or an optional library that is not available."""


def visible(text: str) -> str:
    r"""Return text with escapes for what a terminal would obey or not show; newlines stay.

    >>> visible("a \x1b[2J\n")
    'a \\x1b[2J\n'
    """
    return UNSEEN.sub(lambda found: repr(found[0])[1:-1], text)


def examples(values: Iterable[object], limit: int = MAX_EXAMPLES_SHOWN) -> str:
    """Return the first `limit` values as text, with a count of the rest.

    >>> examples(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    listed = list(values)
    shown = ", ".join(repr(value) for value in listed[:limit])
    rest = len(listed) - limit
    return f"{shown} and {rest:,} more" if rest > 0 else shown


def near_names(value: str, known: Iterable[str], limit: int = 3) -> str:
    """Return a question with the known names that are most like `value`, to put after a sentence; or "".

    >>> "No such word." + near_names("tenis", ["tennis", "golf"])
    "No such word. Did you mean 'tennis'?"
    """
    names = list(dict.fromkeys(known))
    if len(names) > _MANY_NAMES:
        names = [
            name
            for name in names
            if abs(len(name) - len(value)) <= 1 and (name[:2] == value[:2] or name[-2:] == value[-2:])
        ]
    spelt: dict[str, list[str]] = {}
    for name in names:
        for part in dict.fromkeys((name.casefold(), *name.casefold().split())):
            spelt.setdefault(part, []).append(name)
    close = difflib.get_close_matches(value.casefold(), spelt, n=limit, cutoff=_LEAST_LIKENESS)
    near = list(dict.fromkeys(name for part in close for name in spelt[part]))[:limit]
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def check_no_problems(problems: Sequence[str], what: str, expected: str) -> None:
    """Raise a SchemaError that lists the problems of the table `what`, if there are any."""
    if problems:
        title = f"{what}: got the problems below, expected {expected}. Correct them."
        raise SchemaError(problem_list(title, problems))


def problem_list(title: str, problems: Sequence[str], limit: int = MAX_PROBLEMS_SHOWN) -> str:
    """Return `title` followed by one line per problem, the list cut at `limit`.

    >>> print(problem_list("x.json: 2 problems", ["record 1: no id", "record 7: no id"]))
    x.json: 2 problems
      - record 1: no id
      - record 7: no id
    """
    lines = [title, *(f"  - {problem}" for problem in problems[:limit])]
    if len(problems) > limit:
        lines.append(f"  ... and {len(problems) - limit:,} more")
    return "\n".join(lines)
