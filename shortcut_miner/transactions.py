"""Sparse transactions, the form in which rows are mined and matched: arrays of numbers, and their vocabulary.

This module needs NumPy alone. :mod:`shortcut_miner.encoding` makes transactions from tables.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import polars as pl

# The kinds of items, in the order of their numbers: two of them never share one.
KINDS = ("words", "objects", "attributes")
_USUAL = {"words": 0, "objects": 0}  # the kinds that every vocabulary has, if only as empty ones
# What is done block by block does not need more memory for more rows.
ROWS_A_BLOCK = 1 << 19


@dataclasses.dataclass(frozen=True, slots=True)
class Vocabulary:
    """The strings behind item and class numbers.

    Attributes
    ----------
    words, objects : pl.Series
        String, unique, ascending.
    answers : pl.Series
        String, unique, ascending by (answer_count, answer). Class c is ``answers[c]``.
    answer_counts : int64[classes]
        Rows of the training data with that answer.
    attributes : pl.Series or None
        String, unique, ascending, as "column=value"; None where no columns are items.

    Notes
    -----
    Items are numbered through ``words``, ``objects`` and ``attributes``: item i is ``words[i]``, or
    ``objects[i - len(words)]``, and so on.
    """

    words: "pl.Series"
    objects: "pl.Series"
    answers: "pl.Series"
    answer_counts: npt.NDArray[np.int64]
    attributes: "pl.Series | None" = None

    @property
    def names(self) -> "dict[str, pl.Series]":
        """The names of the items by kind, in the order of their numbers, without kinds that can't occur."""
        found = {kind: getattr(self, kind) for kind in KINDS}
        return {kind: names for kind, names in found.items() if names is not None}

    @property
    def first_items(self) -> npt.NDArray[np.int64]:
        """First item number of each kind in `names`, and the one after the last item: int64[kinds + 1]."""
        return np.cumsum([0, *map(len, self.names.values())])

    @property
    def item_count(self) -> int:
        """Number of distinct items."""
        return int(self.first_items[-1])

    @property
    def class_count(self) -> int:
        """Number of classes."""
        return len(self.answers)

    def without_names(self) -> "Vocabulary":
        """Return this vocabulary with ranges in place of the strings.

        Mining and matching ask for sizes and counts only, so this is what travels to a process or a machine
        that has NumPy alone.
        """
        return self.of_sizes({kind: len(names) for kind, names in self.names.items()}, self.answer_counts)

    @classmethod
    def of_sizes(cls, sizes: Mapping[str, int], answer_counts: npt.NDArray[np.int64]) -> "Vocabulary":
        """Return a vocabulary of so many items of each kind that can occur: ranges in place of strings."""
        ranges: dict[str, Any] = {kind: range(size) for kind, size in {**_USUAL, **sizes}.items()}
        answers: Any = range(len(answer_counts))
        return cls(**ranges, answers=answers, answer_counts=answer_counts)

    def kinds_of(self, items: npt.NDArray[np.int32]) -> npt.NDArray[np.int8]:
        """Return the kind of each item number, as its place in `names`; -1 where the number is negative."""
        kinds = np.full(items.shape, -1, np.int8)
        for first in self.first_items[:-1].tolist():  # whole numbers of Python keep the comparison in int32
            kinds += items >= first
        return kinds


@dataclasses.dataclass(frozen=True, slots=True)
class Transactions:
    """Rows of items with one class each, as CSR arrays.

    Attributes
    ----------
    offsets : int64[rows + 1]
        Row r holds ``items[offsets[r]:offsets[r + 1]]``.
    items : int32[]
        Item numbers, ascending and unique within a row.
    classes : int32[rows]
        Class number of the row's answer; -1 for an answer that is no class.
    weights : int64[rows]
        How many original rows the row stands for; positive.
    vocabulary : Vocabulary
        The strings behind the numbers.
    """

    offsets: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    classes: npt.NDArray[np.int32]
    weights: npt.NDArray[np.int64]
    vocabulary: Vocabulary

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.classes)

    @property
    def transaction_count(self) -> int:
        """Number of original rows."""
        return int(self.weights.sum())

    @property
    def item_frequency(self) -> npt.NDArray[np.int64]:
        """Rows that hold each item of the vocabulary, whatever their weights: int64[items]."""
        return np.bincount(self.items, minlength=self.vocabulary.item_count)

    def blocks(self) -> "Iterator[Transactions]":
        """Yield the rows in order, at most ROWS_A_BLOCK at a time, without copies of their items."""
        for first in range(0, len(self), ROWS_A_BLOCK):
            rows = slice(first, first + ROWS_A_BLOCK)
            offsets = self.offsets[first : first + ROWS_A_BLOCK + 1]
            items = self.items[offsets[0] : offsets[-1]]
            yield Transactions(
                offsets - offsets[0], items, self.classes[rows], self.weights[rows], self.vocabulary
            )

    def without_names(self) -> "Transactions":
        """Return the same rows with :meth:`Vocabulary.without_names`."""
        return dataclasses.replace(self, vocabulary=self.vocabulary.without_names())


class RowBlocks(Protocol):
    """Rows to mine or to match, wherever they are: :class:`Transactions` in memory, or files on a disk."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The strings behind the numbers."""
        ...

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    @property
    def transaction_count(self) -> int:
        """Number of original rows."""
        ...

    @property
    def item_frequency(self) -> npt.NDArray[np.int64]:
        """Rows that hold each item of the vocabulary, whatever their weights: int64[items]."""
        ...

    def blocks(self) -> Iterator[Transactions]:
        """Yield the rows in order, a part at a time; again from the start at each call."""
        ...


def item_counts(rows: RowBlocks) -> npt.NDArray[np.int64]:
    """Return the number of original rows that hold each item of the vocabulary: int64[items]."""
    counts = np.zeros(rows.vocabulary.item_count, np.int64)
    for block in rows.blocks():
        weights = np.repeat(block.weights, np.diff(block.offsets))
        counts += np.bincount(block.items, weights, len(counts)).astype(np.int64)
    return counts


class GroupedBlocks(RowBlocks, Protocol):
    """Rows that belong to groups, such as the types of their questions."""

    def grouped_blocks(self) -> Iterator[tuple[Transactions, npt.NDArray[np.int32]]]:
        """Yield the rows as `blocks` does, each part with its rows' groups; -1 = not known."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class GroupedRows:
    """Rows in memory, and the group of each; see :class:`GroupedBlocks`."""

    rows: Transactions
    groups: npt.NDArray[np.int32]

    @property
    def vocabulary(self) -> Vocabulary:
        """The strings behind the numbers."""
        return self.rows.vocabulary

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    @property
    def transaction_count(self) -> int:
        """Number of original rows."""
        return self.rows.transaction_count

    @property
    def item_frequency(self) -> npt.NDArray[np.int64]:
        """Rows that hold each item of the vocabulary, whatever their weights: int64[items]."""
        return self.rows.item_frequency

    def blocks(self) -> Iterator[Transactions]:
        """Yield the rows in order, a part at a time; again from the start at each call."""
        return self.rows.blocks()

    def grouped_blocks(self) -> Iterator[tuple[Transactions, npt.NDArray[np.int32]]]:
        """Yield the rows as `blocks` does, each part with its rows' groups; -1 = not known."""
        first = 0
        for rows in self.rows.blocks():
            yield rows, self.groups[first : first + len(rows)]
            first += len(rows)
