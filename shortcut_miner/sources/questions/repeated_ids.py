"""Question ids that several rows of large tables have, found with the ids on disk.

Rows are numbered through all files; the ids of a part of them are appended as columns question_id, file and
row to :func:`shortcut_miner.spools.key_buckets`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.errors import MAX_EXAMPLES_SHOWN, MAX_PROBLEMS_SHOWN, SourceError
from shortcut_miner.sources.images.image_ids import with_short_names
from shortcut_miner.sources.opening.column_pieces import read_pieces
from shortcut_miner.sources.opening.nested import is_text
from shortcut_miner.sources.opening.reading import RECORD, Problem, repeated_id
from shortcut_miner.sources.questions.table_rows import GROUP, QuestionTable, Wanted, columns_of
from shortcut_miner.spools import key_buckets, repeated_rows

ID, FILE, ROW = "question_id", "file", "row"
Flags = NDArray[np.bool_]
_SHOWN_RECORDS = 3  # of each id


@dataclass(frozen=True, slots=True, kw_only=True)
class Ids:
    """What is known of tables once their columns of ids were read.

    Attributes
    ----------
    starts : sequence of int
        The number of each table's first row.
    total : int
        Rows in all tables.
    repeated : RepeatedIds, optional
        Ids that rows of one file share.
    shared : SharedIds, optional
        Ids that rows of several files share, be these rows good or bad.
    have_image_names : bool
        Whether some id is a file name that is shortened.
    """

    starts: Sequence[int]
    total: int
    repeated: "RepeatedIds | None"
    shared: "SharedIds | None"
    have_image_names: bool

    def numbers(self, at: int, rows: pl.DataFrame) -> NDArray[np.int64]:
        """Return the numbers of rows of the table `at`."""
        return rows[RECORD].to_numpy().astype(np.int64) + self.starts[at]


def look_at_ids(
    folder: Path,
    tables: Sequence[QuestionTable],
    wanted: Wanted,
    *,
    limit: int | None,
    rows: int,
    memory: int,
) -> Ids:
    """Return what the columns of ids of Parquet and Arrow tables tell.

    A file that can't be read ends the look: who reads its rows is told.

    Parameters
    ----------
    folder : Path
        For the ids.
    tables, wanted, limit
        See :func:`.tables.read_question_tables`.
    rows, memory : int
        Rows read at a time, and bytes to take beside them.
    """
    starts = [0, *accumulate(table.flat.total for table in tables)]
    have_names = False
    with key_buckets(folder, ID, memory=memory) as append, suppress(SourceError):
        for at, table in enumerate(tables):
            needs = columns_of(table, wanted)
            columns = [name for name in (ID, "image_id", GROUP) if table.takes(wanted, name)]
            texts = {name for name in columns if is_text(table.flat.types[wanted.names[name]])}
            asked = {name: needs[name] for name in columns if name == ID or name in texts}
            unnoted = replace(table.flat, decisions=Counter())
            left = None if limit is None else limit - starts[at]
            for piece, _ in read_pieces(unnoted, asked, limit=left, rows=rows) if asked else ():
                have_names = have_names or any(with_short_names(piece[name])[1] for name in texts)
                if ID in asked:
                    number = pl.col(RECORD).cast(pl.Int64) + starts[at]
                    append(piece.select(ID, pl.lit(at, pl.UInt32).alias(FILE), number.alias(ROW)))
    total = starts.pop()
    return Ids(
        starts=starts, total=total, have_image_names=have_names,
        repeated=repeated_ids(folder, starts, total),
        shared=shared_ids(folder, starts, total) if len(tables) > 1 else None,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RepeatedIds:
    """Ids that rows of one file share.

    Attributes
    ----------
    first, later : ndarray of bool
        The first row with such an id in its file, and the others.
    shown : mapping of int to Problem
        Those of a file that come first, by the number of their first row.
    """

    first: Flags
    later: Flags
    shown: Mapping[int, Problem] = field(default_factory=dict)

    def among(self, numbers: NDArray[np.int64], start: int) -> tuple[list[Problem], list[int]]:
        """Return the problems of first rows among some of a file, and the records of later ones there.

        Parameters
        ----------
        numbers : ndarray of int64
            Of the rows.
        start : int
            The number of the file's first row.
        """
        problems = [
            self.shown.get(number) or repeated_id(None, [number - start], 1, ID)  # told by number only
            for number in numbers[self.first[numbers]].tolist()
        ]
        return problems, (numbers[self.later[numbers]] - start).tolist()


@dataclass(frozen=True, slots=True)
class SharedIds:
    """Ids that rows of several files share.

    Attributes
    ----------
    rows : ndarray of bool
        Which rows have them.
    files : sequence of int
        Which files.
    count : int
        Of the ids.
    examples : sequence of str
        The first of them, in file order.
    """

    rows: Flags
    files: Sequence[int]
    count: int
    examples: Sequence[str]


def repeated_ids(folder: Path, starts: Sequence[int], total: int) -> RepeatedIds | None:
    """Return the ids that several rows of one file have; None if there are none.

    Parameters
    ----------
    folder : Path
        Of the buckets.
    starts : sequence of int
        The number of each file's first row.
    total : int
        Rows in all files.
    """
    found: RepeatedIds | None = None
    shown = pl.DataFrame()
    for rows in repeated_rows(folder, [ID, FILE], ROW):
        found = found or RepeatedIds(np.zeros(total, np.bool_), np.zeros(total, np.bool_))
        is_first = rows["row"] == rows["first"]
        found.first[rows["row"].filter(is_first).to_numpy()] = True
        found.later[rows["row"].filter(~is_first).to_numpy()] = True
        shown = _shown(pl.concat([shown, rows], how="diagonal"))
    if found is None:
        return None
    return RepeatedIds(found.first, found.later, _problems(shown, starts))


def _shown(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the first rows of those ids of each file that come first."""
    place = pl.col("first").rank("dense").over(FILE)
    within = pl.int_range(pl.len()).over(FILE, "first")
    return rows.sort("first", ROW).filter(place <= MAX_PROBLEMS_SHOWN, within < _SHOWN_RECORDS)


def _problems(shown: pl.DataFrame, starts: Sequence[int]) -> dict[int, Problem]:
    groups = shown.group_by(FILE, "first", maintain_order=True).agg(ROW, pl.col(ID, "times").first())
    return {
        first: repeated_id(value, [row - starts[file] for row in rows], times, ID)
        for file, first, rows, value, times in groups.select(FILE, "first", ROW, ID, "times").iter_rows()
    }


def shared_ids(folder: Path, starts: Sequence[int], total: int) -> SharedIds | None:
    """Return the ids that rows of several files have; None if there are none. See :func:`repeated_ids`."""
    is_shared: Flags | None = None
    files: set[int] = set()
    count = 0
    first = pl.DataFrame()
    for rows in repeated_rows(folder, [ID], ROW):
        file_of = [np.searchsorted(starts, rows[end].to_numpy(), side="right") for end in ("first", "last")]
        shared = rows.filter(pl.Series(file_of[0] != file_of[1]))
        if shared.is_empty():
            continue
        is_shared = np.zeros(total, np.bool_) if is_shared is None else is_shared
        is_shared[shared["row"].to_numpy()] = True
        files |= {*shared[FILE].unique()}
        kinds = shared.filter(pl.col(ROW) == pl.col("first"))
        count += len(kinds)
        first = pl.concat([first, kinds], how="diagonal").sort(ROW).head(MAX_EXAMPLES_SHOWN)
    if is_shared is None:
        return None
    return SharedIds(is_shared, sorted(files), count, first[ID].to_list())
