"""Questions of large tables a batch at a time: the rows of :func:`.tables.read_question_tables`, never all.

What must be known of all rows before the first one is given (ids that repeat) is found in a pass over the
columns of ids alone, with the ids on disk; what is told at the end (digests, counts, notes) adds up.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from shortcut_miner.content_digest import RowSums, row_sums
from shortcut_miner.options import OnBadRow
from shortcut_miner.sources.images.image_ids import shortened_note, with_short_names
from shortcut_miner.sources.opening.column_pieces import PIECE_ROWS, comes_in_pieces, read_pieces
from shortcut_miner.sources.opening.files import facts_of_all
from shortcut_miner.sources.opening.ids import float_note, whole_column
from shortcut_miner.sources.opening.reading import Reading, check_on_bad_row, refuse_bad
from shortcut_miner.sources.questions.problem_tally import ProblemTally
from shortcut_miner.sources.questions.repeated_ids import (
    FILE,
    ID,
    ROW,
    Ids,
    SharedIds,
    look_at_ids,
    shared_ids,
)
from shortcut_miner.sources.questions.table_rows import (
    QuestionTable,
    Wanted,
    as_questions,
    chosen_columns,
    columns_of,
    problems_of,
    without_records,
)
from shortcut_miner.sources.questions.tables import (
    IN_SEVERAL,
    check_same_columns,
    check_some_rows,
    files_for,
    in_several,
    kind_of,
    notes_of,
    read_question_tables,
)
from shortcut_miner.spools import Append, distinct_rows, key_buckets

_IS_SHORT = "is_short"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionBatches:
    """Questions of one or several files, to be read a batch at a time, as often as needed.

    Attributes
    ----------
    tables, wanted, first, on_bad_row, limit
        As :func:`.tables.read_question_tables` takes them.
    folder : Path
        In which ids are put during a pass; it is made if missing.
    memory : int
        Bytes to take beside one batch.
    rows : int
        Of a batch at most.
    found : list of Reading
        What each whole pass found.
    """

    tables: Sequence[QuestionTable]
    wanted: Wanted
    folder: Path
    memory: int
    first: int = 0
    on_bad_row: OnBadRow = "error"
    limit: int | None = None
    rows: int = PIECE_ROWS
    found: list[Reading] = field(default_factory=list, repr=False, compare=False)

    @property
    def total(self) -> int:
        """Rows that are looked at, good and bad ones."""
        total = sum(table.flat.total for table in self.tables)
        return total if self.limit is None else min(total, self.limit)

    @property
    def reading(self) -> Reading:
        """What a whole pass over the batches found: a reading with digests in place of rows."""
        if not self.found:
            raise ValueError("reading: known after a pass over batches()")
        return self.found[-1]

    def batches(self) -> Iterator[pl.DataFrame]:
        """Give the questions in file order, no batch of two files; no batch is empty.

        Concatenated they are what :func:`.tables.read_question_tables` returns. Files of other forms than
        Parquet and Arrow are read as a whole.

        Raises
        ------
        SourceError
            As there. Bad rows of a file are told when it has been read: what was given before is to be thrown
            away.
        """
        check_on_bad_row(self.on_bad_row)
        # Each pass decides anew, and counts what it decided.
        tables = [replace(one, flat=replace(one.flat, decisions=Counter())) for one in self.tables]
        if not all(comes_in_pieces(table.flat) for table in tables):
            yield from _in_slices(self, tables)
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix="ids-", dir=self.folder) as name:
            yield from _in_pieces(self, tables, Path(name))


def _in_slices(asked: QuestionBatches, tables: Sequence[QuestionTable]) -> Iterator[pl.DataFrame]:
    whole = read_question_tables(
        tables, asked.wanted, first=asked.first, on_bad_row=asked.on_bad_row, limit=asked.limit
    )
    parts = [
        replace(part, table=part.table.clear(), content_sha256=row_sums(part.table).sha256())
        for part in whole.parts or (whole,)
    ]
    for part in whole.parts or (whole,):
        yield from part.table.iter_slices(asked.rows) if len(part.table) else ()
    of_all = replace(whole, table=whole.table.clear(), parts=tuple(parts))
    asked.found.append(of_all if whole.parts else parts[0])


def _in_pieces(
    asked: QuestionBatches, tables: Sequence[QuestionTable], folder: Path
) -> Iterator[pl.DataFrame]:
    check_some_rows(tables)
    check_same_columns(tables, asked.wanted)
    tables = files_for(tables, asked.limit)
    ids = look_at_ids(
        folder / "all", tables, asked.wanted, limit=asked.limit, rows=asked.rows, memory=asked.memory
    )
    shared = ids.shared
    if shared is not None and asked.on_bad_row == "skip":
        shared = _shared_by_good_rows(asked, tables, folder / "good", ids, shared)
    names = folder / "image names"
    dropped: Counter[str] = Counter()
    sums: list[RowSums] = []
    columns = pl.DataFrame()
    good = floats = 0
    with key_buckets(names, "image_id", memory=asked.memory, is_distinct=True) as append_names:
        for at, table in enumerate(tables):
            of_file: list[RowSums] = []
            for rows in _good_rows(asked, tables, at, ids, dropped):
                good += len(rows)
                kept = rows.filter(~pl.Series(shared.rows[ids.numbers(at, rows)])) if shared else rows
                batch, count = _with_image_ids(
                    chosen_columns(kept, table, asked.wanted), append_names if ids.have_image_names else None
                )
                floats += count
                of_file.append(row_sums(batch))
                columns = batch.clear()
                if len(batch):
                    yield batch
            sums.append(sum(of_file[1:], of_file[0]))
    if shared is not None:
        if asked.on_bad_row == "error" or shared.rows.sum() == good:
            raise in_several(tables, shared.files, shared.examples, shared.count)
        dropped[IN_SEVERAL] = int(shared.rows.sum())
    notes = (*notes_of(tables, asked.wanted, asked.first + 1), *_image_notes(floats, names))
    asked.found.append(_reading(columns, tables, sums, dropped, notes))


def _reading(
    columns: pl.DataFrame,
    tables: Sequence[QuestionTable],
    sums: Sequence[RowSums],
    dropped: Counter[str],
    notes: tuple[str, ...],
) -> Reading:
    """Return what was read of all files, with what was read of each."""
    kind = kind_of(tables)
    parts = [
        Reading(table=columns, kind=kind, file=table.file.facts(), content_sha256=one.sha256())
        for table, one in zip(tables, sums, strict=True)
    ]
    dropped = +dropped
    if len(parts) == 1:
        return replace(parts[0], dropped=dropped, notes=notes)
    file = facts_of_all(f"{len(parts)} files", [part.file for part in parts])
    return Reading(table=columns, kind=kind, file=file, dropped=dropped, notes=notes, parts=tuple(parts))


def _good_rows(
    asked: QuestionBatches, tables: Sequence[QuestionTable], at: int, ids: Ids, dropped: Counter[str]
) -> Iterator[pl.DataFrame]:
    """Give the good rows of a file with their records; at its end raise for the others, or count them."""
    table, start = tables[at], ids.starts[at]
    limit = table.flat.total if asked.limit is None else min(asked.limit - start, table.flat.total)
    needs, tally = columns_of(table, asked.wanted), ProblemTally()
    for piece, broken in read_pieces(
        table.flat, needs, advice=asked.wanted.advice, limit=limit, rows=asked.rows
    ):
        rows = as_questions(piece, table, asked.wanted, asked.first + start)
        repeated, later = ids.repeated.among(ids.numbers(at, rows), start) if ids.repeated else ([], [])
        bad = tally.add([*broken, *problems_of(rows, asked.wanted, repeated)], later)
        if asked.on_bad_row == "skip" or not tally.count:
            yield without_records(rows, bad)
    refuse_bad(
        table.flat.path, "questions", tally.shown, tally.count, tally.bad, limit, asked.on_bad_row,
        table.flat.label,
    )  # fmt: skip
    dropped.update(tally.dropped)


def _shared_by_good_rows(
    asked: QuestionBatches, tables: Sequence[QuestionTable], folder: Path, ids: Ids, shared: SharedIds
) -> SharedIds | None:
    """Return the ids that several files have, of rows that are good otherwise: all are read for it."""
    unnoted = [replace(one, flat=replace(one.flat, decisions=Counter())) for one in tables]
    with key_buckets(folder, ID, memory=asked.memory) as append:
        for at in range(len(tables)):
            for rows in _good_rows(asked, unnoted, at, ids, Counter()):
                numbers = pl.Series(ROW, ids.numbers(at, rows))
                numbered = rows.select(ID, pl.lit(at, pl.UInt32).alias(FILE), numbers)
                append(numbered.filter(pl.Series(shared.rows[numbers.to_numpy()])))
    return shared_ids(folder, ids.starts, ids.total)


def _with_image_ids(batch: pl.DataFrame, append: Append | None) -> tuple[pl.DataFrame, int]:
    """Return questions with image ids as all files write them, and how many were floats.

    `append` takes each image with whether its name was shortened.
    """
    given, floats = whole_column(batch["image_id"])
    if append is None:
        return batch.with_columns(given), floats
    ids, _ = with_short_names(given)
    append(pl.DataFrame({"image_id": given, _IS_SHORT: ids != given}).unique())
    return batch.with_columns(ids), floats


def _image_notes(floats: int, names: Path) -> tuple[str, ...]:
    """Return the notes of :func:`.image_ids.canonical_image_ids`."""
    images = short = 0
    for rows in distinct_rows(names):
        images += len(rows)
        short += int(rows[_IS_SHORT].sum())
    told = [f"{float_note('image_id')}: {floats:,}"] if floats else []
    return (*told, *([shortened_note(short, images)] if short else []))
