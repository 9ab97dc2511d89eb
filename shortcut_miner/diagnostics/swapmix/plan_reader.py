"""A plan on disk, read one question at a time: tens of millions of rows are more than a worker can hold."""

import os
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from shortcut_miner.datasets.folders import open_folder
from shortcut_miner.diagnostics.swapmix.outputs import COMMAND, SWAPS, epoch_name
from shortcut_miner.diagnostics.swapmix.plan_table import COLUMNS
from shortcut_miner.diagnostics.swapmix.shape import numbers_of
from shortcut_miner.drafts import literal
from shortcut_miner.errors import ConfigError, SourceError, examples
from shortcut_miner.options import PathText, as_path, reject
from shortcut_miner.sources.opening.flat_tables import column_errors

_ROWS_AT_ONCE = 1 << 20
_GROUPS_KEPT = 2  # a question's rows may lie in two row groups


class PlanReader:
    """The rows of a plan, found by question without reading the others.

    Of the file no more than a few row groups (131,072 rows) are in memory. Each process opens it for itself:
    a reader can be pickled, and used in workers that were forked.

    Parameters
    ----------
    path : Path
        The plan's file.
    question_ids : sequence of str
        Its questions, in their order there.
    counts : ndarray of int64
        How many rows each has.
    columns : sequence of str, optional
        Those to read; all by default.
    groups : int
        Row groups to keep in memory.

    Raises
    ------
    SourceError
        The file can't be read, or has another number of rows.

    Attributes
    ----------
    path : Path
        The plan's file.
    question_ids : tuple of str
        In the order of the plan.
    starts : ndarray of int64
        The first row of each question, and the end.
    """

    def __init__(
        self,
        path: Path,
        question_ids: Sequence[str],
        counts: NDArray[np.int64],
        *,
        columns: Sequence[str] | None = None,
        groups: int = _GROUPS_KEPT,
    ) -> None:
        self.path, self._columns, self._kept = path, columns, groups
        self.question_ids = tuple(question_ids)
        self.starts: NDArray[np.int64] = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self._places: dict[str, int] | None = None
        self._groups: OrderedDict[int, pa.Table] = OrderedDict()
        self._file: pq.ParquetFile | None = None
        self._owner = os.getpid()
        with column_errors(str(path)):
            metadata = pq.read_metadata(literal(path))
            sizes = [metadata.row_group(at).num_rows for at in range(metadata.num_row_groups)]
        self._ends = np.cumsum(sizes, dtype=np.int64)
        if metadata.num_rows != self.starts[-1]:
            raise SourceError(
                f"{path}: got {metadata.num_rows:,} rows, expected {self.starts[-1]:,} as questions.parquet "
                "says. Build again."
            )

    def __len__(self) -> int:
        """Return how many questions the plan has."""
        return len(self.question_ids)

    def rows(self, question_id: str) -> list[dict[str, Any]]:
        """Return a question's rows, as :func:`.loader.apply_swap` takes them; the original first.

        Raises
        ------
        ConfigError
            The plan has no such question.
        """
        rows: list[dict[str, Any]] = self._of(question_id).to_pylist()
        return rows

    def frame(self, question_id: str) -> pl.DataFrame:
        """Return a question's rows as schemas.Swaps; raises as :meth:`rows`."""
        return pl.DataFrame(pl.from_arrow(self._of(question_id))).with_columns(
            pl.col(pl.Categorical).cast(pl.String)
        )

    def table(self, first: int, stop: int) -> pa.Table:
        """Return rows of the plan by their number, texts as dictionaries."""
        if stop <= first:
            return self._opened().schema_arrow.empty_table()
        parts = []
        while first < stop:
            number, at = self.group_of(first)
            part = self._group(number).slice(at, stop - first)
            parts.append(part)
            first += len(part)
        return parts[0] if len(parts) == 1 else pa.concat_tables(parts).unify_dictionaries()

    def group_of(self, row: int) -> tuple[int, int]:
        """Return the number of the row group that a row lies in, and its place there."""
        number = int(self._ends.searchsorted(row, side="right"))
        return number, row - (int(self._ends[number - 1]) if number else 0)

    def read_group(self, number: int) -> pa.Table:
        """Return a row group as :meth:`table` does; it is not kept."""
        with column_errors(str(self.path)):
            # Threads of a pool that existed before a fork are not there after it.
            return self._opened().read_row_group(number, columns=self._columns, use_threads=False)

    def place(self, question_id: str) -> int:
        """Return a question's number in the plan; raises as :meth:`rows`."""
        if self._places is None:
            self._places = {one: at for at, one in enumerate(self.question_ids)}
        if question_id not in self._places:
            raise ConfigError(
                f"question_id: got {question_id!r}, expected one of the {len(self):,} questions of "
                f"{self.path}, such as {examples(self.question_ids[:3])}. Choose another."
            )
        return self._places[question_id]

    def __getstate__(self) -> dict[str, Any]:
        """Leave the open file and what was read of it behind."""
        return self.__dict__ | {"_file": None, "_groups": OrderedDict(), "_places": None}

    def _of(self, question_id: str) -> pa.Table:
        at = self.place(question_id)
        return self.table(int(self.starts[at]), int(self.starts[at + 1]))

    def _group(self, number: int) -> pa.Table:
        if number in self._groups:
            self._groups.move_to_end(number)
            return self._groups[number]
        read = self.read_group(number)
        self._groups[number] = read
        while len(self._groups) > self._kept:
            self._groups.popitem(last=False)
        return read

    def _opened(self) -> pq.ParquetFile:
        """Return the file, opened by this process."""
        if self._file is None or self._owner != os.getpid():
            texts = [name for name, kind in COLUMNS.items() if kind == pa.string()]
            with column_errors(str(self.path)):
                self._file = pq.ParquetFile(literal(self.path), read_dictionary=texts)
            self._owner = os.getpid()
        return self._file


def scan_plan(
    folder: PathText,
    *,
    epoch: int | None = None,
    columns: Sequence[str] | None = None,
    groups: int = _GROUPS_KEPT,
) -> PlanReader:
    """Return a plan to read question by question, in bounded memory.

    Parameters
    ----------
    folder : path
        What ``swapmix build`` wrote.
    epoch : int, optional
        Of a training plan, which has a file for each; none otherwise.
    columns : sequence of str, optional
        Those to read; all by default.
    groups : int
        Row groups of 131,072 rows to keep in memory.

    Raises
    ------
    SourceError
        Not such a folder, or a missing or damaged file.
    ConfigError
        An epoch that there is not, or none of a training plan.
    """
    path = as_path("folder", folder)
    opened = open_folder(path, COMMAND)
    config = opened.manifest["config"]
    is_training = config.get("plan") == "training"
    if is_training != (epoch is not None) or (epoch is not None and not 0 <= epoch < config["epochs"]):
        expected = f"one of the {config['epochs']} epochs, from 0" if is_training else "none with this plan"
        reject("epoch", epoch, expected)
    file = opened.check(SWAPS if epoch is None else epoch_name(epoch))
    asked = opened.table("questions").filter(pl.col("exclusion").is_null())
    counts = (
        _counts_of(file, asked["question_id"])
        if is_training
        else asked["row_count"].cast(pl.Int64).to_numpy()
    )
    return PlanReader(file, asked["question_id"].to_list(), counts, columns=columns, groups=groups)


def _counts_of(file: Path, question_ids: pl.Series) -> NDArray[np.int64]:
    """Return how many rows each question has in a file; an epoch has none of some."""
    known = {one: at for at, one in enumerate(question_ids.to_list())}
    counts = np.zeros(len(known), np.int64)
    with column_errors(str(file)):
        opened = pq.ParquetFile(literal(file), read_dictionary=["question_id"])
        for batch in opened.iter_batches(_ROWS_AT_ONCE, columns=["question_id"]):
            counts += np.bincount(numbers_of(batch.column("question_id"), known), minlength=len(counts))
    return counts
