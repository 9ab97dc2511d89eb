"""Questions as arrays of numbers: what two of them have in common is asked many times."""

import dataclasses
import itertools
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.tokenizers import tokenize

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# Ids that are compared as numbers, where all of them are such.
_WHOLE = r"^[0-9]{1,18}$"


def in_id_order(questions: pl.DataFrame) -> pl.DataFrame:
    """Return rows by question_id: as numbers where all are whole numbers, else as text.

    >>> in_id_order(pl.DataFrame({"question_id": ["10", "9"]}))["question_id"].to_list()
    ['9', '10']
    >>> in_id_order(pl.DataFrame({"question_id": ["n10", "9"]}))["question_id"].to_list()
    ['9', 'n10']
    """
    ids = pl.col("question_id")
    if questions["question_id"].str.contains(_WHOLE).all():
        return questions.sort(ids.cast(pl.Int64), ids)
    return questions.sort(ids)


def folded(question: pl.Expr) -> pl.Expr:
    """Return a text in lower case with single blanks between its words, and none around them.

    >>> pl.select(folded(pl.lit(" Is  it RED? "))).item()
    'is it red?'
    """
    return question.str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars()


@dataclasses.dataclass(frozen=True, slots=True)
class ItemSets:
    """A set of items for each row, as CSR arrays.

    Attributes
    ----------
    offsets : int64[rows + 1]
    items : int64[]
        Row r holds ``items[offsets[r]:offsets[r + 1]]``, each once.
    is_known : bool[rows]
        Whether anything is known of the row; its set is empty where not.
    """

    offsets: Ints
    items: Ints
    is_known: NDArray[np.bool_]

    @classmethod
    def of(cls, lists: pl.Series) -> Self:
        """Return the sets of a column of List[String], null where nothing is known."""
        sets = lists.list.drop_nulls().list.unique(maintain_order=True)
        offsets = np.zeros(len(sets) + 1, np.int64)
        np.cumsum(sets.list.len().fill_null(0).to_numpy(), out=offsets[1:])
        flat = sets.filter(sets.list.len() > 0).explode()
        return cls(offsets, _codes(flat), lists.is_not_null().to_numpy())

    def similarity(self, row: int, others: Ints) -> Floats:
        """Return the Jaccard similarity of a row's set with each of the others'; 0 where one is not known.

        Of two empty sets, too: they have nothing in common.
        """
        own = self.items[self.offsets[row] : self.offsets[row + 1]]
        starts, sizes = self.offsets[others], np.diff(self.offsets)[others]
        ends = np.cumsum(sizes)
        places = np.repeat(starts - ends + sizes, sizes) + np.arange(sizes.sum())
        shared = np.concatenate(([0], np.cumsum(np.isin(self.items[places], own))))
        common = shared[ends] - shared[ends - sizes]
        likeness: Floats = common / np.maximum(len(own) + sizes - common, 1)
        return likeness


@dataclasses.dataclass(frozen=True, slots=True)
class Rows:
    """Questions that may be in pairs, in the order of their ids, as numbers.

    Attributes
    ----------
    questions : pl.DataFrame
        Of schemas.Questions those that have an answer.
    image, text, question_type, answer : int64[rows]
        Equal where images, folded texts, types (-1: not known) and majority answers are.
    accepted : list of frozenset of int
        The numbers of all annotators' answers of each row; without annotators that of its answer.
    words, objects : ItemSets
        Words of the texts; objects of the images.
    """

    questions: pl.DataFrame
    image: Ints
    text: Ints
    question_type: Ints
    answer: Ints
    accepted: list[frozenset[int]]
    words: ItemSets
    objects: ItemSets

    @classmethod
    def of(cls, questions: pl.DataFrame) -> Self:
        """Return the questions that have an answer."""
        table = in_id_order(questions.filter(pl.col("answer").is_not_null()))
        given = pl.when(pl.col("answers").list.len() > 0).then("answers")
        lists = table.select(pl.coalesce(given, pl.concat_list("answer"))).to_series()
        # Majority answers and annotators' are numbered together.
        numbers = _codes(pl.concat([table["answer"], lists.explode().rename("answer")]))
        ends = np.cumsum(lists.list.len().to_numpy())
        flat = numbers[len(table) :].tolist()
        starts = [0, *ends.tolist()]
        objects = table["objects"] if "objects" in table.columns else None
        unknown = pl.Series([None] * len(table), dtype=pl.List(pl.String))
        return cls(
            questions=table,
            image=_codes(table["image_id"]),
            text=_codes(table.select(folded(pl.col("question"))).to_series()),
            question_type=_codes(table["question_type"]),
            answer=numbers[: len(table)],
            accepted=[frozenset(flat[a:b]) for a, b in itertools.pairwise(starts)],
            words=ItemSets.of(tokenize(table["question"])),
            objects=ItemSets.of(unknown if objects is None else objects),
        )

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.questions)

    def exclude(self, one: int, other: int) -> bool:
        """Return whether two rows have different images, and no annotator of one gave the other's answer."""
        return bool(
            self.image[one] != self.image[other]
            and self.answer[one] not in self.accepted[other]
            and self.answer[other] not in self.accepted[one]
        )


def _codes(values: pl.Series) -> Ints:
    """Return equal numbers for equal texts, and -1 for null."""
    names = values.drop_nulls().unique().sort()
    numbers = values.cast(pl.Enum(names)).to_physical().cast(pl.Int64).fill_null(-1)
    return numbers.to_numpy().astype(np.int64)
