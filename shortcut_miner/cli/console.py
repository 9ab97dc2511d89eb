"""Printing: results go to stdout; notes, progress and errors to stderr.

On a terminal, texts and tables keep to its width (see :mod:`shortcut_miner.cli.layout`), and headings and
verdicts have a colour; elsewhere lines are as long as they need, and plain.
"""

import contextlib
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TextIO

from shortcut_miner.cli.layout import (
    Column,
    Paint,
    fits,
    lay_out,
    one_line,
    plain,
    stacked,
    wrapped,
)
from shortcut_miner.cli.options import Shown
from shortcut_miner.cli.time_left import TimeLeft
from shortcut_miner.errors import UNSEEN, visible

if TYPE_CHECKING:
    import polars as pl

    from shortcut_miner.timing import OnStage

_FALLBACK_WIDTH = 80
_STYLES = {"bold": "1", "red": "1;31", "yellow": "33", "green": "32", "faint": "2"}
_VERDICTS = {"real": "green", "chance": "faint"} | dict.fromkeys(("unstable", "prior", "redundant"), "yellow")

Style = Literal["bold", "red", "yellow", "green", "faint"]


def note(shown: Shown, text: str) -> None:
    """Print a remark on stderr, unless the user wants quiet."""
    if not shown.quiet:
        tell(text)


def warn(text: str) -> None:
    """Print a warning on stderr."""
    tell(text, "warning", "yellow")


def tell(text: str, kind: str = "", style: Style = "bold") -> None:
    """Print a text on stderr, after what kind of text it is."""
    prefix = f"{kind}: " if kind else ""
    lines = _fitting(prefix + text, sys.stderr)
    if kind:
        lines[0] = _styled(f"{kind}:", style, sys.stderr) + lines[0].removeprefix(f"{kind}:")
    print("\n".join(lines), file=sys.stderr, flush=True)


def print_json(document: Mapping[str, Any]) -> None:
    """Print one JSON document; numbers that JSON lacks become null."""
    text = json.dumps(_plain(document), indent=2, ensure_ascii=False, allow_nan=False)
    print(UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def print_text(text: str) -> None:
    """Print a paragraph."""
    print("\n".join(_fitting(text, sys.stdout, hanging=0)))


def print_fields(fields: Mapping[str, str]) -> None:
    """Print a name and a text a line, the texts under each other."""
    names = max(map(len, fields), default=0)
    for name, text in fields.items():
        first, *others = _fitting(text, sys.stdout, before=names + 2, hanging=0)
        print(f"{name:<{names}}  {first}".rstrip())
        for line in others:
            print(f"{' ' * (names + 2)}{line}")


def listed(states: Mapping[str, str], most: int, what: str = "") -> dict[str, str]:
    """Return the first of some names and what is said of each, as fields; the last one counts the others.

    >>> listed({"a": "missing", "b": "changed"}, 1)
    {'  a': 'missing', '  ...': '1 more'}
    """
    fields = {f"  {name}": state for name, state in list(states.items())[:most]}
    return fields | ({f"  ...{what}": f"{len(states) - most} more"} if len(states) > most else {})


def print_commands(commands: Mapping[str, str]) -> None:
    """Print a heading and lines for a shell each; a command is never wrapped, so that it can be copied."""
    for heading, lines in commands.items():
        print("", *_fitting(heading, sys.stdout, hanging=0), sep="\n")
        for line in visible(lines).split("\n"):
            print(f"  {line}".rstrip())


def print_title(title: str) -> None:
    """Print a blank line and a heading."""
    lines = [_styled(line, "bold", sys.stdout) for line in _fitting(title, sys.stdout, hanging=0)]
    print("", *lines, "", sep="\n")


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    right: Sequence[str] = (),
    spare: Sequence[str] = (),
    are_fields: bool = False,
) -> None:
    """Print rows under a header, as wide as the terminal, or as needed where there is none.

    Parameters
    ----------
    columns : sequence of str
        Headings.
    rows : sequence of sequences
        Values, see :func:`cell_text`.
    right : sequence of str
        Columns of numbers.
    spare : sequence of str
        Columns that may go where the terminal is too narrow, the first of them first.
    are_fields : bool
        Whether headings are names of fields.
    """
    shown = [Column(one_line(name), name in right, are_fields) for name in columns]
    texts = [[cell_text(value) for value in row] for row in rows]
    laid_out = lay_out(shown, texts, _width(sys.stdout), spare=spare, paint=_paint())
    for line in laid_out.lines:
        print(line)
    if laid_out.left_out:
        names = ", ".join(laid_out.left_out)
        print_text(f"(no room for {names}: a wider terminal or --format json shows all)")


def _paint() -> Paint:
    return _painted if _has_colour(sys.stdout) else plain


def _painted(heading: str, cell: str, piece: str) -> str:
    if not cell:
        return _coded(piece, "bold")
    style = _VERDICTS.get(cell) if heading == "verdict" else None
    return _coded(piece, style) if style else piece


def print_frame(frame: "pl.DataFrame", *, spare: Sequence[str] = ()) -> None:
    """Print a Polars frame's columns and rows; numbers to the right."""
    right = [name for name, dtype in frame.schema.items() if dtype.is_numeric()]
    print_table(frame.columns, frame.rows(), right=right, spare=spare, are_fields=True)


def print_models(
    summary: "pl.DataFrame",
    rows: Sequence[str],
    cell: Callable[[dict[str, Any]], str],
    *,
    most: int | None = None,
    headings: Sequence[str] = (),
) -> None:
    """Print a table of models: a row for each distinct `rows`, at most so many, and a column a model.

    Where the terminal has no room for so many columns, models stand below each other.
    """
    from shortcut_miner.scoring.tables import pivoted

    models, lines = pivoted(summary, rows, cell)
    names, texts = [*(headings or rows)], [[*map(cell_text, line)] for line in lines[:most]]
    width = _width(sys.stdout)
    if width is None or fits([Column(one_line(name)) for name in (*names, *models)], texts, width):
        print_table((*names, *models), lines[:most], right=("n", *models))
        return
    groups = []
    for line in texts:
        heading = ", ".join(
            f"n {text}" if name == "n" else text for name, text in zip(names, line, strict=False)
        )
        values = zip(map(one_line, models), line[len(names) :], strict=True)
        groups.append((heading, [(model, value) for model, value in values if value]))
    print("\n".join(stacked(groups, width, _paint())))


def cell_text(value: object) -> str:
    """Return a value as a cell of a table.

    >>> cell_text(0.33333333), cell_text(1234567), cell_text(["a", "b"]), cell_text(None)
    ('0.333', '1,234,567', 'a b', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.1e}" if 0 < abs(value) < 0.0005 else f"{value:,.3f}"
    if isinstance(value, list | tuple):
        return " ".join(map(cell_text, value))
    return one_line(str(value))


def _fitting(text: str, stream: TextIO, *, before: int = 0, hanging: int = 2) -> list[str]:
    """Return the lines of a text, none wider than what the terminal has beside `before` places."""
    width = _width(stream)
    lines = visible(text)
    return lines.split("\n") if width is None else wrapped(lines, width - before, hanging)


def _width(stream: TextIO) -> int | None:
    """Return the places of the terminal behind a stream; None where it is no terminal."""
    if not stream.isatty():
        return None
    chosen = os.environ.get("COLUMNS", "")
    if chosen.isdecimal() and int(chosen):
        return int(chosen)
    try:
        return os.get_terminal_size(stream.fileno()).columns or _FALLBACK_WIDTH
    except OSError:
        return _FALLBACK_WIDTH


def _has_colour(stream: TextIO) -> bool:
    """Return whether a stream shows colour: a terminal that can, unless NO_COLOR is set; see Rich."""
    if os.environ.get("NO_COLOR") or not (stream.isatty() or os.environ.get("FORCE_COLOR")):
        return False
    from rich.console import Console

    return Console(file=stream).color_system is not None


def _styled(text: str, style: Style, stream: TextIO) -> str:
    return _coded(text, style) if _has_colour(stream) else text


def _coded(text: str, style: str) -> str:
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


@contextlib.contextmanager
def progress(shown: Shown) -> "Iterator[OnStage | None]":
    """Give a function that shows the stage at work, if stderr is a terminal; None otherwise."""
    if shown.quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column as Place

    stage_name = TextColumn(
        "{task.description}", markup=False, table_column=Place(no_wrap=True, overflow="ellipsis")
    )
    columns = (SpinnerColumn(), stage_name, TimeElapsedColumn())
    console = Console(stderr=True, color_system="auto" if _has_colour(sys.stderr) else None)
    bar = Progress(*columns, console=console, transient=True, refresh_per_second=5)
    with bar:
        task = bar.add_task("start", total=None)
        with_rest = TimeLeft()
        yield lambda stage: bar.update(task, description=one_line(with_rest(stage)))
