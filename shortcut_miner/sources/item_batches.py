"""Large tables of items a batch at a time: the rows of :func:`.item_tables.read_table`, never all."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Literal

import polars as pl

from shortcut_miner.content_digest import RowSums, row_sums
from shortcut_miner.errors import MAX_PROBLEMS_SHOWN, SourceError
from shortcut_miner.sources.item_tables import (
    Columns,
    check_answers,
    item_reading,
    item_rows,
    listed_items,
    read_opened,
    with_answer,
)
from shortcut_miner.sources.opening.column_pieces import PIECE_ROWS, comes_in_pieces, read_pieces
from shortcut_miner.sources.opening.files import Opened
from shortcut_miner.sources.opening.flat_tables import FlatTable
from shortcut_miner.sources.opening.nested import is_text
from shortcut_miner.sources.opening.reading import RECORD, Reading
from shortcut_miner.sources.opening.serialised import Looks, UnreadableCellsError, looks_of

Kind = Literal["words", "objects"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ItemBatches:
    """Rows of items and answers, to be read a batch at a time, as often as needed.

    Attributes
    ----------
    file, flat : Opened, FlatTable
        What :func:`.item_tables.open_items` gives.
    columns, skip_bad_rows, limit
        As :func:`.item_tables.read_table` takes them.
    rows : int
        Of a batch at most.
    found : list of Reading
        What each whole pass found.
    """

    file: Opened
    flat: FlatTable
    columns: Columns
    skip_bad_rows: bool
    limit: int | None = None
    rows: int = PIECE_ROWS
    found: list[Reading] = dataclasses.field(default_factory=list, repr=False, compare=False)

    @property
    def reading(self) -> Reading:
        """What a whole pass over the batches found: a reading with a digest in place of rows."""
        if not self.found:
            raise ValueError("reading: known after a pass over batches()")
        return self.found[-1]

    def whole(self) -> Reading:
        """Return all rows at once, as :func:`.item_tables.read_table` does."""
        flat = dataclasses.replace(self.flat, decisions=Counter())
        return read_opened(self.file, flat, self.columns, skip_bad_rows=self.skip_bad_rows, limit=self.limit)

    def batches(self) -> Iterator[pl.DataFrame]:
        """Give the rows that have an answer in file order; no batch is empty.

        Concatenated they are what :func:`.item_tables.read_table` returns. Files of other forms than Parquet
        and Arrow are read as a whole.

        Raises
        ------
        SourceError
            As there. Rows without an answer are told when all have been read: what was given before is to be
            thrown away.
        """
        yield from _in_pieces(self) if comes_in_pieces(self.flat) else _in_slices(self)


def _in_slices(asked: ItemBatches) -> Iterator[pl.DataFrame]:
    whole = asked.whole()
    yield from whole.table.iter_slices(asked.rows)
    digest = row_sums(whole.table).sha256()
    asked.found.append(dataclasses.replace(whole, table=whole.table.clear(), content_sha256=digest))


def _in_pieces(asked: ItemBatches) -> Iterator[pl.DataFrame]:
    flat = dataclasses.replace(asked.flat, decisions=Counter())  # each pass decides anew
    sums: list[RowSums] = []
    columns = pl.DataFrame()
    total = 0
    try:
        lists: dict[str, bool | None] = {kind: _hold_lists(asked, flat, kind) for kind in _listed(asked)}
        for piece in _pieces(asked, flat):
            rows = item_rows(flat, piece, asked.columns, lists)
            known = with_answer(rows)
            total += len(rows)
            sums = [sum(sums, row_sums(known))]
            columns = known.clear()
            if len(known):
                yield known
    except SourceError:
        _raise_as_of_the_whole(asked, dataclasses.replace(flat, decisions=Counter()))
        raise
    lost = total - sums[0].rows
    check_answers(flat, asked.columns, lost, total, skip_bad_rows=asked.skip_bad_rows)
    asked.found.append(item_reading(asked.file, flat, columns, lost, sums[0].sha256()))


def _pieces(asked: ItemBatches, flat: FlatTable, *kinds: Kind) -> Iterator[pl.DataFrame]:
    """Give what the table holds of these kinds of items, by default of all that is asked for."""
    needs = asked.columns.needs()
    needs = {kind: needs[kind] for kind in kinds} if kinds else needs
    for piece, _ in read_pieces(flat, needs, limit=asked.limit, rows=asked.rows):
        yield piece


def _listed(asked: ItemBatches) -> dict[Kind, str]:
    """Return the columns of items that a text may list."""
    columns: dict[Kind, str | None] = {"words": asked.columns.words, "objects": asked.columns.objects}
    return {kind: name for kind, name in columns.items() if name is not None}


def _hold_lists(asked: ItemBatches, flat: FlatTable, kind: Kind) -> bool | None:
    """Return whether a column of text holds lists written as text; None for a column of another type."""
    found: Looks | None = None
    for piece in _pieces(asked, dataclasses.replace(flat, decisions=Counter()), kind):
        if not is_text(piece[kind].dtype):
            return None
        looks = looks_of(piece[kind].cast(pl.String), _labels(flat, piece[RECORD]))
        found = looks if found is None else found + looks
    name = _listed(asked)[kind]
    return None if found is None else found.hold_lists(flat.path, name, is_sentence=kind == "words")


def _labels(flat: FlatTable, records: pl.Series) -> Callable[[int], str]:
    return lambda row: flat.label(records[row])


def _raise_as_of_the_whole(asked: ItemBatches, flat: FlatTable) -> None:
    """Raise the error that reading the table as a whole raises first, if it is one of a column of text."""
    for kind, name in _listed(asked).items():
        holds_lists = _hold_lists(asked, flat, kind)
        shown: list[str] = []
        count = 0
        for piece in _pieces(asked, flat, kind) if holds_lists is not False else ():
            try:
                listed_items(flat, piece, kind, asked.columns, holds_lists)
            except UnreadableCellsError as error:
                shown = [*shown, *error.shown][:MAX_PROBLEMS_SHOWN]
                count += error.count
        if count:
            raise UnreadableCellsError(flat.path, name, shown, count)
