"""Sparse transactions, the form in which rows are mined and matched: arrays of numbers, and their vocabulary.

This module needs NumPy alone. :mod:`shortcut_miner.encoding` makes transactions from tables.
"""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import polars as pl


@dataclasses.dataclass(frozen=True, slots=True)
class Vocabulary:
    """The strings behind item and class numbers.

    Attributes
    ----------
    words, objects : pl.Series
        String, unique, ascending. Item i is ``words[i]``, or ``objects[i - len(words)]``.
    answers : pl.Series
        String, unique, ascending by (answer_count, answer). Class c is ``answers[c]``.
    answer_counts : int64[classes]
        Rows of the training data with that answer.
    """

    words: "pl.Series"
    objects: "pl.Series"
    answers: "pl.Series"
    answer_counts: npt.NDArray[np.int64]

    @property
    def word_count(self) -> int:
        """Number of distinct words, which is the number of the first object."""
        return len(self.words)

    @property
    def item_count(self) -> int:
        """Number of distinct items."""
        return len(self.words) + len(self.objects)

    @property
    def class_count(self) -> int:
        """Number of classes."""
        return len(self.answers)

    def without_names(self) -> "Vocabulary":
        """Return this vocabulary with ranges in place of the strings.

        Mining and matching ask for sizes and counts only, so this is what travels to a process or a machine
        that has NumPy alone.
        """
        names = (self.words, self.objects, self.answers)
        words, objects, answers = (range(len(column)) for column in names)
        return Vocabulary(words, objects, answers, self.answer_counts)  # type: ignore[arg-type]


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

    def without_names(self) -> "Transactions":
        """Return the same rows with :meth:`Vocabulary.without_names`."""
        return dataclasses.replace(self, vocabulary=self.vocabulary.without_names())
