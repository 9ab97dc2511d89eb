"""Tables that are given block by block, wherever they are: in memory, or in files on a disk."""

import contextlib
import dataclasses
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import polars as pl
import pyarrow as pa

from shortcut_miner.drafts import drafted, literal
from shortcut_miner.spools import IPC_OPTIONS, Append, gathered, sorted_blocks, sorted_runs

# What is made of a row of a block, such as its items and rules, takes many times the memory of the row.
ROWS_A_BLOCK = 1 << 17
# Where all rows are in memory anyway, blocks are larger: matching rules takes less time a row then.
_HELD_ROWS_A_BLOCK = 1 << 19
_BYTES_A_BLOCK = 1 << 25


class Frames(Protocol):
    """Rows of one table, a block at a time."""

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    def blocks(self) -> Iterator[pl.DataFrame]:
        """Give the rows in order, one block at least; again from the start at each call."""
        ...


class FrameSpool(Frames, Protocol):
    """Rows that are put down once, to be given again in their order or sorted."""

    def writing(self) -> contextlib.AbstractContextManager[Append]:
        """Give a function that appends rows, in place of those that are there; one frame at least."""
        ...

    def sorted_blocks(self, key: str) -> Iterator[pl.DataFrame]:
        """Give the rows by ascending `key`, a column of unique strings; one block at least."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class HeldFrames:
    """A spool in memory.

    >>> held = HeldFrames([pl.DataFrame({"question_id": ["9", "10"]})])
    >>> [block["question_id"].to_list() for block in held.sorted_blocks("question_id")]
    [['10', '9']]
    """

    held: list[pl.DataFrame] = dataclasses.field(default_factory=list)

    def __len__(self) -> int:
        """Return the number of rows."""
        return sum(map(len, self.held))

    @contextlib.contextmanager
    def writing(self) -> Iterator[Append]:
        """Give a function that appends rows, in place of those that are there; one frame at least."""
        self.held.clear()
        yield self.held.append

    def blocks(self) -> Iterator[pl.DataFrame]:
        """Give the rows in order, one block at least."""
        for frame in self.held:
            yield from _slices(frame, _HELD_ROWS_A_BLOCK)

    def sorted_blocks(self, key: str) -> Iterator[pl.DataFrame]:
        """Give the rows by ascending `key`, one block at least."""
        whole = pl.concat(self.held)
        order = whole.select(pl.col(key).arg_sort())  # a sorted copy of all would take the memory twice
        for part in _slices(order, ROWS_A_BLOCK):
            yield whole[part.to_series()]


@dataclasses.dataclass(frozen=True, slots=True, weakref_slot=True)
class DiskFrames:
    """A spool on a disk.

    Attributes
    ----------
    folder : Path
        Of its own; it need not exist.
    memory : int
        Bytes that sorting may take.
    """

    folder: Path
    memory: int

    def __len__(self) -> int:
        """Return the number of rows."""
        rows: int = json.loads(self._count.read_text())
        return rows

    @contextlib.contextmanager
    def writing(self) -> Iterator[Append]:
        """Give a function that appends rows, in place of those that are there; one frame at least."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._count.unlink(missing_ok=True)
        writers: list[Any] = []
        rows = 0
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(pa.OSFile(literal(self._rows), "wb"))

            def write(frame: pl.DataFrame) -> None:
                nonlocal rows
                rows += len(frame)
                table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
                if not writers:
                    new = pa.ipc.new_stream(file, table.schema, options=IPC_OPTIONS)
                    writers.append(stack.enter_context(new))
                writers[0].write_table(table.combine_chunks(), ROWS_A_BLOCK)

            with gathered(write, memory=_BYTES_A_BLOCK, rows=ROWS_A_BLOCK) as append:
                yield append
        with drafted(self._count) as draft:  # a spool with a count is complete
            draft.write_text(str(rows))

    def blocks(self) -> Iterator[pl.DataFrame]:
        """Give the rows in order, one block at least."""
        # Not mapped into memory: pages of a mapped file count as the process's own.
        with pa.OSFile(literal(self._rows)) as file, pa.ipc.open_stream(file) as batches:
            is_empty = True
            for batch in batches:
                is_empty = False
                yield pl.DataFrame(pl.from_arrow(batch))
            if is_empty:
                yield pl.DataFrame(pl.from_arrow(batches.schema.empty_table()))

    def sorted_blocks(self, key: str) -> Iterator[pl.DataFrame]:
        """Give the rows by ascending `key`, one block at least."""
        if not len(self):
            yield from self.blocks()
            return
        folder = self.folder / "sorted"
        shutil.rmtree(folder, ignore_errors=True)
        with sorted_runs(folder, key, memory=self.memory) as append:
            for block in self.blocks():
                append(block)
        yield from sorted_blocks(folder, key, memory=self.memory)
        shutil.rmtree(folder)

    @property
    def _rows(self) -> Path:
        return self.folder / "rows.arrows"

    @property
    def _count(self) -> Path:
        return self.folder / "count.json"


def _slices(frame: pl.DataFrame, rows: int) -> Iterator[pl.DataFrame]:
    for first in range(0, max(len(frame), 1), rows):
        yield frame.slice(first, rows)
