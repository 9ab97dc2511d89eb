"""Lists that a program wrote as text: JSON, or what Python prints. A column has them in all cells or in none.

What NumPy and Postgres print, ``['a' 'b']`` and ``{a,b}``, has no reading without doubt, and is refused.
"""

import ast
import contextlib
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import polars as pl

from shortcut_miner.errors import SourceError, problem_list
from shortcut_miner.sources.opening.json_text import DECODE_ERRORS
from shortcut_miner.sources.opening.list_columns import list_column
from shortcut_miner.sources.opening.nested import TEXTS, NoListError, listed_keys, listed_texts
from shortcut_miner.sources.opening.reading import MAX_SHOWN

LISTS_NOTE = "lists written as text, unpacked"
_HAS_BRACKETS = r"(?s)^\s*(?:\[.*\]|\{.*\})\s*$|^\s*\(\s*(?:['\"].*)?\)\s*$"
_MEANS_A_LIST = r"['\",]|^\s*\S\s*\S\s*$"  # in a cell with brackets: quotes, commas, or nothing in between
_IS_LIST = r"(?s)^\s*(?:\[.*\]|\(.*\))\s*$"
_SHOWN_LOOKS = 3
_LITERAL = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_NEIGHBOURS = re.compile(r"\0\s*\0")
_PYTHON_ERRORS = (ValueError, SyntaxError, MemoryError, RecursionError)
_KEYS = pl.List(pl.UInt8)
_TEXT_LISTS = msgspec.json.Decoder(list[str])
_ADVICE = 'Write each cell as a JSON list such as ["a", "b"], or as text with the separator between'


def unpacked_cells(
    cells: pl.Series,
    path: str,
    column: str,
    label: Callable[[int], str],
    *,
    is_sentence: bool = False,
    holds_lists: bool | None = None,
) -> tuple[pl.Series, pl.Series] | None:
    """Return the lists in a column of text, and the keys of their records; None if it holds no lists.

    Parameters
    ----------
    cells : Series of String
        Empty cells and nulls are missing.
    path, column : str
        For messages.
    label : callable
        Names a cell by its position.
    is_sentence : bool
        The cells may be sentences: brackets around all of them mean nothing without quotes or commas.
    holds_lists : bool, optional
        What :class:`Looks` of all cells tell, where these are a part of a column.

    Returns
    -------
    tuple of Series
        List[String], and List[UInt8] as ``Questions.answer_record_key``; null where a cell is missing.

    Raises
    ------
    SourceError
        Some cells are lists and others are not, or cells look like lists and can't be read.
    """
    given = cells.replace("", None)
    if holds_lists is None:
        holds_lists = looks_of(cells, label).hold_lists(path, column, is_sentence=is_sentence)
    if not holds_lists:
        return None
    if (plain := _json_texts(given)) is not None:
        return plain, pl.Series([None], dtype=_KEYS).new_from_index(0, len(given))
    distinct = given.drop_nulls().unique(maintain_order=True)
    read, keys, bad = [], [], []
    for cell in distinct:
        try:
            value = list_in(cell)
            read.append(listed_texts(value))
            keys.append(listed_keys(value))
        except NoListError:
            bad.append(cell)
    if bad:
        shown = _shown(cells, given.is_in(bad), label)
        raise UnreadableCellsError(path, column, shown, len(shown))
    lists = pl.DataFrame(
        {
            "cell": distinct,
            "texts": pl.Series(read, dtype=TEXTS),
            "keys": pl.Series(keys, dtype=_KEYS),
        }
    )
    table = given.rename("cell").to_frame().join(lists, on="cell", how="left", maintain_order="left")
    return table["texts"], table["keys"]


class UnreadableCellsError(SourceError):
    """Cells that look like lists and can't be read: how many, and in words the first of them."""

    def __init__(self, path: str, column: str, shown: Sequence[str], count: int) -> None:
        self.shown, self.count = shown, count
        super().__init__(
            problem_list(
                f"{path}: got {count:,} cells of the column {column!r} that look like lists and "
                f"can't be read as such, expected JSON lists or Python's of texts. {_ADVICE}.",
                shown,
                total=count,
            )
        )


@dataclass(frozen=True, slots=True)
class Looks:
    """What the cells of a column, or of parts of it, look like.

    Attributes
    ----------
    given, bracketed, listed : int
        Cells that are not missing; of these, with brackets around; of these, that must be lists.
    shown_lists, shown_others : tuple of str
        The first that must be lists, and the first without brackets, in words.
    """

    given: int
    bracketed: int
    listed: int
    shown_lists: tuple[str, ...]
    shown_others: tuple[str, ...]

    def __add__(self, other: "Looks") -> "Looks":
        return Looks(
            self.given + other.given,
            self.bracketed + other.bracketed,
            self.listed + other.listed,
            (*self.shown_lists, *other.shown_lists)[:_SHOWN_LOOKS],
            (*self.shown_others, *other.shown_others)[:_SHOWN_LOOKS],
        )

    def hold_lists(self, path: str, column: str, *, is_sentence: bool = False) -> bool:
        """Return whether a column holds lists; see :func:`unpacked_cells` for what it raises."""
        is_all = 0 < self.bracketed == self.given and (self.listed > 0 or not is_sentence)
        if self.listed and not is_all:
            raise SourceError(
                problem_list(
                    f"{path}: got lists written as text in {self.listed:,} cells of the column {column!r} "
                    f"and other text in {self.given - self.bracketed:,}, expected one of both in all. "
                    f"{_ADVICE}.",
                    self.shown_lists + self.shown_others,
                )
            )
        return is_all


def looks_of(cells: pl.Series, label: Callable[[int], str]) -> Looks:
    """Return what cells look like; `label` names one by its position among them."""
    given = cells.replace("", None)
    has_brackets = given.str.contains(_HAS_BRACKETS)
    looks = has_brackets & given.str.contains(_MEANS_A_LIST)
    return Looks(
        given.count(), int(has_brackets.sum()), int(looks.sum()),
        tuple(_shown(cells, looks, label, _SHOWN_LOOKS)),
        tuple(_shown(cells, has_brackets.not_(), label, _SHOWN_LOOKS)),
    )  # fmt: skip


def _json_texts(cells: pl.Series) -> pl.Series | None:
    """Return cells that are JSON lists of texts, or null, as List[String], else None: twenty times faster."""
    listed = cells.drop_nulls()
    distinct = listed.unique(maintain_order=True)
    if 0 < len(distinct) <= len(listed) // 2:  # such as the labels of an image, which all its questions have
        if (texts := _json_texts(distinct)) is None:
            return None
        places = cells.rename("cell").to_frame().join(
            pl.DataFrame({"cell": distinct, "texts": texts}),
            on="cell", how="left", validate="m:1", maintain_order="left",
        )  # fmt: skip
        return places["texts"]
    if listed.str.contains(r"[\r\n]").any():
        return None  # they are decoded as lines
    lines = "\n".join(listed.to_list()).encode()
    try:
        lists = _TEXT_LISTS.decode_lines(lines)
    except DECODE_ERRORS:
        return None
    if len(lists) < len(listed):  # a blank cell, which is no line
        return None
    flat = [text for one in lists for text in one]
    is_null = cells.is_null()
    lengths = np.zeros(len(cells), np.int64)
    lengths[~is_null.to_numpy()] = [len(one) for one in lists]
    return list_column(pl.Series(flat, dtype=pl.String), lengths, is_null.to_numpy())


def only_texts(cells: pl.Series, path: str, label: Callable[[int], str]) -> pl.Series | None:
    """Return the one text of each answer of a column of lists; None if some answer is no list.

    Parameters
    ----------
    cells : Series of String
        Models' answers; blank ones and nulls are none, and stay as they are.
    path : str
        For messages.
    label : callable
        Names a cell by its position.

    Raises
    ------
    SourceError
        All answers are lists, and some of them not of one text.
    """
    is_given = cells.str.contains(r"\S")
    given = cells.filter(is_given)
    if given.is_empty() or not given.str.contains(_IS_LIST).all():
        return None
    listed = {cell: _listed(cell) for cell in given.unique()}
    if any(one is None for one in listed.values()):
        return None
    texts = {cell: one[0] for cell, one in listed.items() if one and len(one) == 1 and one[0] is not None}
    is_bad = is_given & cells.is_in([*texts]).not_()
    if is_bad.any():
        raise SourceError(
            problem_list(
                f"{path}: got lists written as text in all {len(given):,} answers, {int(is_bad.sum()):,} of "
                "them not of one text, expected one answer a row. Write each answer as text.",
                _shown(cells, is_bad, label),
            )
        )
    return cells.replace(texts)


def _listed(cell: str) -> list[str | None] | None:
    """Return the texts of a list, none of a list of other values; None if a text is no list."""
    try:
        value = list_in(cell)
    except NoListError:
        return [] if _has_neighbours(cell) else None
    try:
        return listed_texts(value) if isinstance(value, list) else None
    except NoListError:
        return []


def _shown(
    cells: pl.Series, chosen: pl.Series, label: Callable[[int], str], most: int | None = None
) -> list[str]:
    rows = chosen.fill_null(value=False).arg_true()[:most].to_list()
    return [f"{label(row)}: {_cut(repr(cells[row]))}" for row in rows]


def _cut(shown: str) -> str:
    return shown if len(shown) <= MAX_SHOWN else shown[:MAX_SHOWN] + "..."


def list_in(cell: str) -> object:
    r"""Return the list, or the record of lists, that a text holds.

    >>> list_in('["a", 1]'), list_in("['a', \"it's\"]"), list_in("[{'answer': 'b'}]")
    (['a', 1], ['a', "it's"], [{'answer': 'b'}])

    Raises
    ------
    NoListError
        The text is no JSON, and nothing that Python prints, or holds texts without a comma between.
    """
    cell = cell.strip()
    with contextlib.suppress(*DECODE_ERRORS):
        return msgspec.json.decode(cell)
    if '"' not in cell and "\\" not in cell:  # most of what Python prints: twenty times faster
        with contextlib.suppress(*DECODE_ERRORS):
            return msgspec.json.decode(cell.replace("'", '"'))
    with contextlib.suppress(*_PYTHON_ERRORS), warnings.catch_warnings():
        warnings.simplefilter("error")  # an escape that Python does not know
        if not _has_neighbours(cell):
            value = ast.literal_eval(cell)
            return list(value) if isinstance(value, tuple) else value
    raise NoListError(cell)


def _has_neighbours(cell: str) -> bool:
    """Return whether two texts follow each other, as NumPy prints them: Python would make them one."""
    return bool(_NEIGHBOURS.search(_LITERAL.sub("\0", cell)))
