"""Rows in provisional numbers, on a disk until their final numbers are known.

Strings are numbered as they are met. When all rows have been seen, the answers that are classes are chosen.
The vocabulary is what their rows hold: one pass over the file finds that, another writes the rows.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from shortcut_miner.encoding import build_vocabulary
from shortcut_miner.item_lists import numbers_of
from shortcut_miner.options import AnswerTies
from shortcut_miner.row_files import RowFiles, RowWriter
from shortcut_miner.row_merging import Ints, Numbers, positions_of
from shortcut_miner.transactions import KINDS, Transactions, Vocabulary

_ITEMS_AT_ONCE = 1 << 20
_ITEM = (1 << 32) - 1  # the half of a sorting key that is no row
_NAME = ".provisional.part"
_ANSWER, _GROUP = "answer", "question_type"

Mask = npt.NDArray[np.bool_]


class Lists(NamedTuple):
    """A list of numbers for each row: ``numbers[starts[r]:starts[r] + lengths[r]]``."""

    starts: Ints
    lengths: Ints
    numbers: Numbers

    def taken(self, places: pl.Series) -> "Lists":
        """Return the lists at `places`, whole numbers; an empty one for null."""
        index = places.cast(pl.Int64).fill_null(len(self.starts)).to_numpy()
        return Lists(np.append(self.starts, 0)[index], np.append(self.lengths, 0)[index], self.numbers)


class Strings:
    """Strings of several columns, each with its own numbers from 0 on in no particular order."""

    def __init__(self) -> None:
        self._columns: dict[str, pl.Series] = {}

    def numbers(self, column: str, strings: pl.Series) -> pl.Series:
        """Return the number of each string, UInt32; null for null. New strings get new numbers."""
        if column not in self._columns:
            # Polars forgets the numbers when no Series of their type is left, so an empty one stays.
            kind = pl.Categorical(pl.Categories.random())
            self._columns[column] = pl.Series(column, [], dtype=kind)
        return strings.cast(pl.String).cast(self._columns[column].dtype).to_physical()

    def lists(self, column: str, lists: pl.Series) -> Lists:
        """Return the numbers of lists of strings, without nulls; an empty list for null."""
        lists = lists.cast(pl.List(pl.String))
        lengths = lists.list.len().fill_null(0).cast(pl.Int64).to_numpy()
        numbers = self.numbers(column, lists.filter(pl.Series(lengths > 0)).explode())
        if numbers.null_count():
            known = np.append(0, np.cumsum(numbers.is_not_null().to_numpy()))
            ends = np.cumsum(lengths)
            lengths = known[ends] - known[ends - lengths]
            numbers = numbers.drop_nulls()
        return Lists(np.cumsum(lengths) - lengths, lengths, numbers.to_numpy().astype(np.int32))

    def __contains__(self, column: str) -> bool:
        """Return whether strings of this column were ever asked about."""
        return column in self._columns

    def known(self, column: str) -> pl.Series:
        """Return the strings of a column in the order of their numbers."""
        kind = self._columns[column].dtype if column in self else None
        if not isinstance(kind, pl.Categorical):
            return pl.Series(column, [], dtype=pl.String)
        return kind.categories.to_series().alias(column)


class _Part(NamedTuple):
    """Some rows in provisional numbers; an item is ``number * len(KINDS) + kind``, and may be repeated."""

    lengths: Numbers
    items: Numbers
    answers: Numbers
    groups: Numbers
    weights: Ints


class _Final(NamedTuple):
    """The final number behind each provisional one, -1 where it has none, and the vocabulary."""

    items: Numbers
    classes: Numbers
    groups: Numbers
    vocabulary: Vocabulary


class ProvisionalRows:
    """Rows in provisional numbers in a file of `folder`, which is gone at the end.

    Attributes
    ----------
    strings : Strings
        The strings behind the numbers: of the kinds of items, of answers and of question types.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.strings = Strings()
        self._folder = folder
        self._file = (folder / _NAME).open("w+b")
        self._row_count = 0
        # Per provisional answer its original rows, and the first of its rows.
        self._answer_counts = np.zeros(0, np.int64)
        self._first_rows = np.zeros(0, np.int64)

    def __enter__(self) -> Self:
        """Return the rows."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the file."""
        self._file.close()
        (self._folder / _NAME).unlink()

    def add(self, rows: pl.DataFrame, lists: Mapping[str, Lists]) -> None:
        """Add rows with their items by kind.

        Parameters
        ----------
        rows : pl.DataFrame
            answer, without nulls; weight Int64, by default 1; question_type, by default not known.
        lists : mapping of str to Lists
            By kind (see KINDS), in numbers of `strings`.
        """
        count = len(rows)
        answers = self.strings.numbers(_ANSWER, rows[_ANSWER]).to_numpy().astype(np.int32)
        groups = np.full(count, -1, np.int32)
        if _GROUP in rows.columns:
            numbers = self.strings.numbers(_GROUP, rows[_GROUP]).cast(pl.Int32)
            groups = numbers.fill_null(-1).to_numpy()
        weights = np.ones(count, np.int64)
        if "weight" in rows.columns:
            weights = rows["weight"].to_numpy()
        self._count_answers(answers, weights)
        ends = np.zeros(count + 1, np.int64)
        for one in lists.values():
            ends[1:] += np.cumsum(one.lengths)
        start = 0
        while start < count:
            fitting = int(np.searchsorted(ends, ends[start] + _ITEMS_AT_ONCE, "right")) - 1
            here = slice(start, max(fitting, start + 1))
            part = _Part(*_joined(lists, here), answers[here], groups[here], weights[here])
            for column in part:
                np.save(self._file, column, allow_pickle=False)
            start = here.stop

    def encoded(self, top_answers: int | None = None, answer_ties: AnswerTies = "first") -> RowFiles:
        """Return the rows that have one of the top answers, by default any, in final numbers, in files."""
        final = self._final(self._top_answers(top_answers, answer_ties))
        with RowWriter(self._folder, final.vocabulary) as writer:
            for part in self._parts():
                classes = final.classes[part.answers]
                kept = classes >= 0
                offsets, items = _final_rows(part, kept, final.items)
                rows = Transactions(offsets, items, classes[kept], part.weights[kept], final.vocabulary)
                writer.append(rows, final.groups[part.groups[kept]])
        return writer.close()

    def _count_answers(self, answers: Numbers, weights: Ints) -> None:
        size = max(len(self._answer_counts), int(answers.max(initial=-1)) + 1)
        never = np.iinfo(np.int64).max
        counts, firsts = np.zeros(size, np.int64), np.full(size, never)
        np.add.at(counts, answers, weights)
        # Of assignments to one place the last one stays: the first row.
        firsts[answers[::-1]] = self._row_count + np.arange(len(answers))[::-1]
        earlier = len(self._answer_counts)
        counts[:earlier] += self._answer_counts
        np.minimum(firsts[:earlier], self._first_rows, out=firsts[:earlier])
        self._answer_counts, self._first_rows = counts, firsts
        self._row_count += len(answers)

    def _top_answers(self, top_answers: int | None, answer_ties: AnswerTies) -> Mask:
        """Return which answers are classes, as :func:`shortcut_miner.encoding.keep_top_answers` chooses."""
        is_class = np.ones(len(self._answer_counts), np.bool_)
        if top_answers is None:
            return is_class
        tie = "first_row" if answer_ties == "first" else "answer"
        columns = {"count": self._answer_counts, "first_row": self._first_rows}
        ranked = (
            pl.DataFrame({"answer": self.strings.known(_ANSWER), **columns})
            .with_row_index("number")
            .sort(["count", tie], descending=[True, False])
        )
        is_class[ranked["number"].slice(top_answers).to_numpy()] = False
        return is_class

    def _final(self, is_class: Mask) -> _Final:
        """Return the vocabulary of the rows whose answers are classes, and what leads to its numbers."""
        names = {kind: self.strings.known(kind) for kind in KINDS}
        is_used = np.zeros((max(map(len, names.values())), len(KINDS)), np.bool_)
        types = self.strings.known(_GROUP)
        is_group = np.zeros(len(types) + 1, np.bool_)  # the last is that of -1
        for part in self._parts():
            kept = is_class[part.answers]
            is_used.reshape(-1)[part.items[np.repeat(kept, part.lengths)]] = True
            is_group[part.groups[kept]] = True
        is_group[-1] = False
        for place, kind in enumerate(KINDS):
            names[kind] = names[kind].filter(pl.Series(is_used[: len(names[kind]), place]))
        answers = self.strings.known(_ANSWER).filter(pl.Series(is_class))
        vocabulary = build_vocabulary(
            names["words"],
            names["objects"],
            answers,
            pl.Series(self._answer_counts[is_class]),
            attributes=names["attributes"] if "attributes" in self.strings else None,
        )
        items = np.full(is_used.shape, -1, np.int32)
        for place, (kind, ordered) in enumerate(vocabulary.names.items()):
            items[is_used[:, place], place] = numbers_of(names[kind], ordered) + vocabulary.first_items[place]
        types = types.filter(pl.Series(is_group[:-1]))
        return _Final(
            items.reshape(-1),
            _placed(numbers_of(answers, vocabulary.answers), is_class),
            _placed(numbers_of(types, types.sort()), is_group),
            vocabulary,
        )

    def _parts(self) -> Iterator[_Part]:
        end = self._file.seek(0, 2)
        self._file.seek(0)
        while self._file.tell() < end:
            yield _Part(*(np.load(self._file, allow_pickle=False) for _ in _Part._fields))


def _placed(numbers: Numbers, places: Mask) -> Numbers:
    """Return the numbers at these places in their order, -1 elsewhere."""
    placed = np.full(places.shape, -1, np.int32)
    placed[places] = numbers
    return placed


def _joined(lists: Mapping[str, Lists], rows: slice) -> tuple[Numbers, Numbers]:
    """Return the lengths and provisional items of some rows, the kinds of each one after the other."""
    by_kind = [
        (KINDS.index(kind), one.numbers, one.starts[rows], one.lengths[rows]) for kind, one in lists.items()
    ]
    total = np.zeros(rows.stop - rows.start, np.int64)
    for *_, lengths in by_kind:
        total += lengths
    top = np.cumsum(total) - total
    items = np.empty(int(total.sum()), np.int32)
    for kind, numbers, starts, lengths in by_kind:
        items[positions_of(top, lengths)] = numbers[positions_of(starts, lengths)] * len(KINDS) + kind
        top += lengths
    return total.astype(np.int32), items


def _final_rows(part: _Part, kept: Mask, number: Numbers) -> tuple[Ints, Numbers]:
    """Return the offsets and items of the rows to keep, in final numbers, ascending and without repeats."""
    lengths = part.lengths[kept]
    row = np.repeat(np.arange(len(lengths)), lengths)
    keys = np.sort(row << 32 | number[part.items[np.repeat(kept, part.lengths)]])
    keys = keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]]
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(np.bincount(keys >> 32, minlength=len(lengths)), out=offsets[1:])
    return offsets, (keys & _ITEM).astype(np.int32)
