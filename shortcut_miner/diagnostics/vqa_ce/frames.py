"""Tables that are given block by block, wherever they are: in memory, or in files on a disk."""

import dataclasses
from collections.abc import Iterator
from typing import Protocol

import polars as pl

# Whatever is kept for each row of a block, such as its rules, should fit in memory many times.
ROWS_A_BLOCK = 1 << 17


class Frames(Protocol):
    """Rows of one table, a block at a time."""

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    def blocks(self) -> Iterator[pl.DataFrame]:
        """Give the rows in order, one block at least; again from the start at each call."""
        ...


class Spool(Frames, Protocol):
    """Rows that are put down block by block, to be given again in their order or sorted."""

    def append(self, frame: pl.DataFrame) -> None:
        """Put rows after those that are there."""
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

    def append(self, frame: pl.DataFrame) -> None:
        """Put rows after those that are there."""
        self.held.append(frame)

    def blocks(self) -> Iterator[pl.DataFrame]:
        """Give the rows in order, one block at least."""
        for frame in self.held:
            yield from _slices(frame)

    def sorted_blocks(self, key: str) -> Iterator[pl.DataFrame]:
        """Give the rows by ascending `key`, one block at least."""
        yield from _slices(pl.concat(self.held).sort(key, maintain_order=True))


def _slices(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    for first in range(0, max(len(frame), 1), ROWS_A_BLOCK):
        yield frame.slice(first, ROWS_A_BLOCK)
