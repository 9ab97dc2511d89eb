"""The columns of Parquet and Arrow tables a piece at a time, as if they had been read as a whole.

What depends on a column as a whole is found first (whether cells of text hold lists), or when something is
wrong (how many cells are).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import polars as pl

from shortcut_miner.columnar import read_batches
from shortcut_miner.errors import MAX_PROBLEMS_SHOWN, SourceError
from shortcut_miner.sources.opening.class_labels import check_known, no_classes
from shortcut_miner.sources.opening.columns import Needs, Place, converted, expressions
from shortcut_miner.sources.opening.flat_tables import TYPED, FlatTable, column_errors
from shortcut_miner.sources.opening.nested import is_text
from shortcut_miner.sources.opening.reading import RECORD
from shortcut_miner.sources.opening.serialised import Looks, UnreadableCellsError, looks_of
from shortcut_miner.sources.opening.table_columns import (
    RENAME,
    Rows,
    checked_names,
    given_names,
    settle_columns,
    with_names_of_classes,
)

PIECE_ROWS = 65_536
# Values that are no class are told apart up to here; a message shows a few and counts the rest.
_MOST_DISTINCT = 100_000
Names = Mapping[str, str | None]


def comes_in_pieces(flat: FlatTable) -> bool:
    """Return whether a table is of a form that :func:`read_pieces` reads."""
    return flat.form in TYPED


def read_pieces(
    flat: FlatTable,
    needs: Needs,
    *,
    advice: str = RENAME,
    limit: int | None = None,
    rows: int = PIECE_ROWS,
) -> Iterator[Rows]:
    """Give what :func:`.table_columns.read_columns` returns in pieces of at most `rows`, at least one.

    Concatenated they are equal, problems and decisions too, and so are the errors; some are raised before the
    first piece and others when a piece comes to them.
    """
    names = checked_names(flat, needs, advice)
    asked = expressions(needs, names, flat.types)
    with column_errors(flat.path, flat.form):
        try:
            lists = _list_columns(_unnoted(flat), needs, names, limit)
            first = 0
            for piece in _pieces(flat, given_names(names), limit, rows):
                block = with_names_of_classes(flat, piece).select(asked).with_row_index(RECORD, first)
                first += len(block)
                yield settle_columns(flat, block, needs, names, flat.types, lists)
        except SourceError:
            _raise_as_of_the_whole(flat, needs, names, limit)
            raise


def _unnoted(flat: FlatTable) -> FlatTable:
    """Return a table of which what is decided meanwhile is not noted."""
    return replace(flat, decisions=Counter())


def _pieces(
    flat: FlatTable, columns: list[str], limit: int | None, rows: int = PIECE_ROWS
) -> Iterator[pl.DataFrame]:
    left = flat.total if limit is None else min(limit, flat.total)
    for piece in read_batches(flat.content, columns, rows):
        yield piece.head(left)
        left -= len(piece)
        if left <= 0:
            return


def _texts(needs: Needs, names: Names, types: Mapping[str, pl.DataType]) -> list[str]:
    """Return the file's columns of text that are to be lists."""
    listed = (name for ours, name in names.items() if needs[ours].kind in ("texts", "keys"))
    return [name for name in dict.fromkeys(listed) if name is not None and is_text(types[name])]


def _list_columns(flat: FlatTable, needs: Needs, names: Names, limit: int | None) -> dict[str, bool]:
    """Return of each column of text that is to be lists whether it holds lists written as text."""
    columns = _texts(needs, names, flat.types)
    found = dict.fromkeys(columns, Looks(0, 0, 0, (), ()))
    for start, piece in _numbered(flat, columns, limit) if columns else ():
        named = with_names_of_classes(flat, piece)
        for name in columns:
            found[name] += looks_of(named[name].cast(pl.String), _labels(flat, start))
    return {name: looks.hold_lists(flat.path, name) for name, looks in found.items()}


def _labels(flat: FlatTable, start: int) -> Callable[[int], str]:
    return lambda row: flat.label(start + row)


def _numbered(flat: FlatTable, columns: list[str], limit: int | None) -> Iterator[tuple[int, pl.DataFrame]]:
    """Give pieces of some columns, each with the number of its first row."""
    start = 0
    for piece in _pieces(flat, columns, limit):
        yield start, piece
        start += len(piece)


def _raise_as_of_the_whole(flat: FlatTable, needs: Needs, names: Names, limit: int | None) -> None:
    """Raise the error that reading the table as a whole raises, if there is one."""
    flat = _unnoted(flat)
    for column in given_names(names):
        if column in flat.classes:
            _check_classes(flat, column, limit)
    for ours, name in names.items():
        if name is not None:
            _check_column(flat, ours, name, needs, limit)


def _check_classes(flat: FlatTable, name: str, limit: int | None) -> None:
    names, count, distinct = flat.classes[name], 0, None
    for _, piece in _numbered(flat, [name], limit):
        missed = no_classes(piece[name], names)
        count += len(missed)
        if distinct is None or len(distinct) < _MOST_DISTINCT:
            distinct = (missed if distinct is None else distinct.append(missed)).unique(maintain_order=True)
    if distinct is not None:
        check_known(distinct, names, f"{flat.path}, column {name}", count)


def _check_column(flat: FlatTable, ours: str, name: str, needs: Needs, limit: int | None) -> None:
    names = {ours: name}
    lists = _list_columns(flat, needs, names, limit)
    asked, place = expressions(needs, names, flat.types), Place(path=flat.path, label=flat.label)
    shown: list[str] = []
    count = 0
    for start, piece in _numbered(flat, [name], limit):
        block = with_names_of_classes(flat, piece).select(asked).with_row_index(RECORD, start)
        try:
            converted(block, needs, names, flat.types, place, lists)
        except UnreadableCellsError as error:
            shown = [*shown, *error.shown][:MAX_PROBLEMS_SHOWN]
            count += error.count
    if count:
        raise UnreadableCellsError(flat.path, name, shown, count)
