"""Errors that users meet: each message says what, got, expected, and what to do.

Everything a user can cause is a :class:`ShortcutMinerError`. The command line turns these into one
message and exit code 2; anything else that escapes is a bug here (exit code 101).
"""

import re
from collections.abc import Iterable, Sequence

MAX_PROBLEMS_SHOWN = 20
MAX_EXAMPLES_SHOWN = 5
_MAX_PROBLEM, _MAX_EXAMPLE, _MAX_EXAMPLES, _MAX_REASON = 300, 60, 600, 200  # characters
MAX_MESSAGE = 1900
# What a terminal would obey or not show: control characters, marks of writing direction, line separators that
# are no newline, halves of a surrogate pair.
UNSEEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_LEAST_LIKENESS = 0.7
_MANY_NAMES = 10_000  # comparing takes some microseconds a name


class ShortcutMinerError(Exception):
    """Base of every error that the user's input, options or machine can cause.

    Whatever a file or an option holds, its message is shorter than 2,000 characters and safe to print.
    """

    def __init__(self, message: str) -> None:
        super().__init__(shortened(visible(message), MAX_MESSAGE))


class SourceError(ShortcutMinerError):
    """A file that can't be read, or holds what its format does not allow."""


class OutputError(SourceError):
    """Results that can't be written: what led to them was right, and may be gone on with."""


class SchemaError(ShortcutMinerError):
    """A table whose columns, types, keys or values break its schema."""


class ConfigError(ShortcutMinerError):
    """An option or a combination of options that has no meaning."""


class ArrayError(ConfigError, ValueError):
    """An array, or a row of a plan, that a function for data loaders can't use."""


class BackendError(ShortcutMinerError):
    """A compute backend or an optional library that is not available."""


def missing_library(wanted_by: object, library: object, extra: str, otherwise: str = "") -> BackendError:
    """Return the error of an optional library that is not installed.

    Parameters
    ----------
    wanted_by : object
        What needs it: a command, an option, a file.
    library : object
        Its name as people write it.
    extra : str
        The extra of this package that brings it.
    otherwise : str
        What else can be done, such as "choose another executor".

    Examples
    --------
    >>> print(missing_library("pictures", "Pillow", "images"))
    pictures: got no Pillow, expected it to be installed. Run pip install 'shortcut-miner[images]'.
    """
    rest = f", or {otherwise}" if otherwise else ""
    return BackendError(
        f"{wanted_by}: got no {library}, expected it to be installed. "
        f"Run pip install 'shortcut-miner[{extra}]'{rest}."
    )


def visible(text: str) -> str:
    r"""Return text with escapes for what a terminal would obey or not show; newlines stay.

    >>> visible("a \x1b[2J\n")
    'a \\x1b[2J\n'
    """
    return UNSEEN.sub(lambda found: repr(found[0])[1:-1], text)


def shortened(text: str, most: int = _MAX_EXAMPLE) -> str:
    """Return text of at most `most` characters and three dots.

    >>> shortened("abcdef", 3), shortened("abc", 3)
    ('abc...', 'abc')
    """
    return text if len(text) <= most else f"{text[:most]}..."


def reason_of(error: BaseException) -> str:
    r"""Return the start of a library's own message, without what follows an error number, or its name.

    >>> reason_of(ValueError("no such type: \x0f\nat byte 3")), reason_of(KeyError())
    ('no such type: \\x0f', 'KeyError')
    """
    first = next(iter(str(error).splitlines()), "") or type(error).__name__
    told = getattr(error, "strerror", None) or re.sub(r" \(os error \d+\).*", "", first).rstrip(".")
    return shortened(visible(told), _MAX_REASON)


def examples(values: Iterable[object], limit: int = MAX_EXAMPLES_SHOWN, total: int | None = None) -> str:
    """Return the first `limit` values as text, with a count of the rest.

    `total` says how many there are where `values` are only the first.

    >>> examples(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    listed = list(values)
    shown: list[str] = []
    room = _MAX_EXAMPLES
    for value in listed[:limit]:
        text = shortened(repr(value))
        room -= len(text)
        if room < 0:
            break
        shown.append(text)
    rest = (len(listed) if total is None else total) - len(shown)
    return ", ".join(shown) + (f" and {rest:,} more" if rest else "")


def no_such_question(
    question_id: str, known: Iterable[str], place: object, some: Iterable[str] | None = None, kind: str = ""
) -> ConfigError:
    """Return the error of an id that a folder does not hold.

    Parameters
    ----------
    question_id : str
        What was asked for.
    known : iterable of str
        The ids that are there.
    place : path-like
        The folder.
    some : iterable of str, optional
        Ids to give as examples, the first known ones by default.
    kind : str
        What the questions are, such as "evaluated ".
    """
    ids = list(known)
    return ConfigError(
        f"question_id: got {question_id!r}, expected one of the {len(ids):,} {kind}questions of {place}, "
        f"such as {examples(ids[:3] if some is None else some)}.{near_names(question_id, ids)} Check the id."
    )


def near_names(value: str, known: Iterable[str], limit: int = 3) -> str:
    """Return a question with the known names that are most like `value`, to put after a sentence; or "".

    >>> "No such word." + near_names("tenis", ["tennis", "golf"])
    "No such word. Did you mean 'tennis'?"
    """
    import difflib  # not needed until something is misspelt

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


def problem_list(
    title: str, problems: Sequence[str], limit: int = MAX_PROBLEMS_SHOWN, total: int | None = None
) -> str:
    """Return `title` followed by one line per problem, the list cut at `limit`.

    `total` says how many there are where `problems` are only the first.

    >>> print(problem_list("x.json: 2 problems", ["record 1: no id", "record 7: no id"]))
    x.json: 2 problems
      - record 1: no id
      - record 7: no id
    """
    lines, room = [title], MAX_MESSAGE - len(title) - 40
    for problem in problems[:limit]:
        line = f"  - {shortened(problem, _MAX_PROBLEM)}"
        room -= len(line) + 1
        if room < 0 and len(lines) > 1:
            break
        lines.append(line)
    total = len(problems) if total is None else total
    if total >= len(lines):
        lines.append(f"  ... and {total - len(lines) + 1:,} more")
    return "\n".join(lines)
