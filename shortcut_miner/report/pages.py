"""What a page is made of, before it is HTML: numbers that stand out, figures with their tables, sections."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from shortcut_miner.errors import shortened, visible

if TYPE_CHECKING:
    import altair as alt

LONGEST_LABEL = 160  # characters


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number that stands out at the top of a room.

    Attributes
    ----------
    value, label : str
        Such as "1,153" and "easy questions".
    note : str
        A few words below, such as a share.
    colour : str
        A name of the palette.
    """

    value: str
    label: str
    note: str = ""
    colour: str = "ink"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table to read.

    Attributes
    ----------
    headings : tuple of str
        Of the columns.
    is_number : tuple of bool
        Which of them hold numbers, and stand at the right.
    rows : tuple of tuple of str
        The cells.
    """

    headings: tuple[str, ...]
    is_number: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Charts that belong together, and the numbers that they show.

    Attributes
    ----------
    name : str
        Of its files, such as "subset-sizes".
    title : str
        What is to be seen, in a line.
    note : str
        What is counted: n, units, the article's figure.
    charts : tuple of altair charts
        Side by side where there is room.
    table : pl.DataFrame
        The numbers.
    headings : mapping of str to str
        The columns of `table` to print, and what they are called.
    least_width : int
        That a chart needs beside another one, in pixels.
    """

    name: str
    title: str
    note: str
    charts: tuple["alt.LayerChart", ...]
    table: pl.DataFrame
    headings: Mapping[str, str]
    least_width: int = 300

    @property
    def grid(self) -> Grid:
        """The numbers as text."""
        return grid(self.table, self.headings)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a room's page.

    Attributes
    ----------
    title : str
        In a few words.
    text : str
        What to know before looking, in a sentence or two.
    figures : tuple of Figure
        In the order to show.
    grids : mapping of str to Grid
        Tables to read, by their titles.
    rules : mapping or None
        What the rule table shows; see :func:`shortcut_miner.report.rule_rows.rule_rows`.
    """

    title: str
    text: str = ""
    figures: tuple[Figure, ...] = ()
    grids: Mapping[str, Grid] = dataclasses.field(default_factory=dict)
    rules: Mapping[str, Any] | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RoomPage:
    """What a page says about one room.

    Attributes
    ----------
    title : str
        Such as "VQA-CE".
    place : str
        The folder's name among several; "" for a single one.
    summary : str
        What was found, in a sentence.
    numbers : tuple of Number
        At the top.
    sections : tuple of Section
        In the order to show.
    """

    title: str
    place: str
    summary: str
    numbers: tuple[Number, ...]
    sections: tuple[Section, ...]


def grid(table: pl.DataFrame, headings: Mapping[str, str]) -> Grid:
    """Return some columns of a table as text.

    >>> grid(pl.DataFrame({"n": [1234, None], "name": ["a", "b"]}), {"name": "Name", "n": "Count"}).rows
    (('a', '1,234'), ('b', '-'))
    """
    columns = [table[name] for name in headings]
    return Grid(
        headings=tuple(headings.values()),
        is_number=tuple(column.dtype.is_numeric() for column in columns),
        rows=tuple(zip(*([cell(value) for value in column] for column in columns), strict=True)),
    )


def cell(value: object) -> str:
    """Return a value as people read it: whole numbers with commas, others with as many digits as they need.

    >>> cell(0.12345), cell(58.664), cell(1e-9), cell(["a", "b"]), cell(True)
    ('0.123', '58.66', '1e-09', 'a, b', 'yes')
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}" if abs(value) >= 1 or value == 0 else f"{value:.3g}"
    if isinstance(value, list | tuple | pl.Series):
        return ", ".join(map(cell, value))
    return label(str(value))


def label(text: str) -> str:
    """Return text from data as a page shows it: in one line, nothing unseen, and not endless."""
    return shortened(" ".join(visible(text).split()), LONGEST_LABEL)


def percent(part: int, whole: int) -> str:
    """Return a share in percent, "-" of nothing.

    >>> percent(1153, 1685), percent(0, 0)
    ('68.4%', '-')
    """
    return f"{100 * part / whole:.1f}%" if whole else "-"


def with_shares(table: pl.DataFrame, count: str, name: str = "label") -> pl.DataFrame:
    """Return a table with share (percent of all rows' counts) and a label with count and share.

    >>> with_shares(pl.DataFrame({"n": [3, 1]}), "n")["label"].to_list()
    ['3 (75.0%)', '1 (25.0%)']
    """
    counts = table[count].to_list()
    total = sum(counts)
    return table.with_columns(
        share=pl.Series([100 * one / total if total else None for one in counts], dtype=pl.Float64),
        **{name: pl.Series([f"{one:,} ({percent(one, total)})" for one in counts], dtype=pl.String)},
    )


def labelled(table: pl.DataFrame, column: str, name: str | None = None) -> pl.DataFrame:
    """Return a table whose texts in one column are fit to be shown, there or in a column of another name."""
    return table.with_columns(pl.Series(name or column, map(label, table[column].to_list()), pl.String))
