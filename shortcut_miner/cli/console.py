"""Printing: results go to stdout; notes, progress and errors to stderr."""

import contextlib
import json
import math
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shortcut_miner.cli.options import Shown
from shortcut_miner.errors import UNSEEN, visible

if TYPE_CHECKING:
    import polars as pl

    from shortcut_miner.timing import OnStage

_UNBOUNDED = 100_000


def note(shown: Shown, text: str) -> None:
    """Print a remark on stderr, unless the user wants quiet."""
    if not shown.quiet:
        print(visible(text), file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """Print a warning on stderr."""
    print(f"warning: {visible(text)}", file=sys.stderr, flush=True)


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


def print_fields(fields: Mapping[str, str]) -> None:
    """Print a name and a text a line, the texts under each other."""
    width = max(map(len, fields), default=0)
    for name, text in fields.items():
        print(visible(f"{name:<{width}}  {text}".rstrip()))


def print_title(title: str) -> None:
    """Print a blank line and a heading."""
    print(f"\n{title}\n")


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[object]], *, right: Sequence[str] = ()
) -> None:
    """Print rows under a header, as wide as the terminal, or as needed where there is none."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(Text(column), justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell_text(value)) for value in row))
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _UNBOUNDED
    console = Console(width=width, color_system=None, legacy_windows=False)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        print(line.rstrip())


def print_frame(frame: "pl.DataFrame") -> None:
    """Print a Polars frame's columns and rows; numbers to the right."""
    right = [name for name, dtype in frame.schema.items() if dtype.is_numeric()]
    print_table(frame.columns, frame.rows(), right=right)


def print_models(
    summary: "pl.DataFrame",
    rows: Sequence[str],
    cell: Callable[[dict[str, Any]], str],
    *,
    most: int | None = None,
    headings: Sequence[str] = (),
) -> None:
    """Print a table of models: a row for each distinct `rows`, at most so many, and a column a model."""
    from shortcut_miner.scoring.tables import pivoted

    models, lines = pivoted(summary, rows, cell)
    print_table((*(headings or rows), *models), lines[:most], right=("n", *models))


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
    return visible(" ".join(str(value).split()))


@contextlib.contextmanager
def progress(shown: Shown) -> "Iterator[OnStage | None]":
    """Give a function that shows the stage at work, if stderr is a terminal; None otherwise."""
    if shown.quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=5)
    with bar:
        task = bar.add_task("start", total=None)
        yield lambda stage: bar.update(task, description=stage)
