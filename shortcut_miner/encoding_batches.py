"""Questions in batches to rows in files: :mod:`shortcut_miner.encoding` where memory can't hold the rows.

The questions are read once. Words, objects, attributes, answers and question types get provisional numbers as
they are met, and rows of these go to a file. Then the top answers are known, and with them the
vocabulary of their rows; a pass over that file, whole numbers only, gives all of them their final numbers.
Memory grows with distinct strings, not with rows; the file takes 4 bytes an item and 20 a row.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from shortcut_miner.encoding import no_labels, null_items
from shortcut_miner.errors import MAX_EXAMPLES_SHOWN
from shortcut_miner.item_lists import certain_labels
from shortcut_miner.options import AnswerTies, ItemKinds, Tokenizer
from shortcut_miner.provisional_rows import Lists, ProvisionalRows, Strings
from shortcut_miner.row_files import RowFiles
from shortcut_miner.tokenizers import tokenize
from shortcut_miner.transactions import KINDS

_ROWS_AT_ONCE = 1 << 16
_BYTES_AT_ONCE = 1 << 24


class _Images(NamedTuple):
    """The images that have labels, and the objects of each."""

    ids: pl.Enum
    objects: Lists


class _Nulls(NamedTuple):
    """The first rows that have nulls among their items, and the number of all such rows."""

    first: list[int]
    total: int

    def with_those_of(self, lists: pl.Series, start: int) -> "_Nulls":
        """Return also those of further rows, of which `start` is the number of the first."""
        rows = lists.list.contains(None).fill_null(value=False).arg_true()
        first = [*self.first, *(rows[:MAX_EXAMPLES_SHOWN] + start)]
        return _Nulls(first[:MAX_EXAMPLES_SHOWN], self.total + len(rows))


def encode_training_batches(
    batches: Iterable[pl.DataFrame],
    labels: pl.DataFrame | None,
    folder: Path,
    *,
    top_answers: int = 3000,
    answer_ties: AnswerTies = "first",
    items: ItemKinds = "both",
    tokenizer: Tokenizer = "basic_english",
    score_threshold: float = 0.5,
) -> RowFiles:
    """Return the training questions that have one of the top answers as rows, with their vocabulary.

    They are the rows that :func:`shortcut_miner.encoding.keep_top_answers` and
    :func:`~shortcut_miner.encoding.encode_training` give with these options, in files, equal rows merged.
    Their groups are the question types, numbered in lexicographic order; -1 where the type is not known.

    Parameters
    ----------
    batches : iterable of pl.DataFrame
        Questions, see :func:`~shortcut_miner.encoding.encode_training`, but an ``answer`` may be null. Their
        order decides ties at the top-answers cut. All have the same columns.
    labels : pl.DataFrame or None
        schemas.Labels of the images, for questions without their own.
    folder : Path
        Where the files go; see :class:`shortcut_miner.row_files.RowWriter`.

    Raises
    ------
    ConfigError
        Objects are wanted and nothing says which.
    """
    with ProvisionalRows(folder) as rows_so_far:
        strings = rows_so_far.strings
        images = None if labels is None or items == "words" else _images(strings, labels, score_threshold)
        for questions in _pieces(batches):
            lists = {}
            if items != "objects":
                lists["words"] = _words(strings, questions["question"], tokenizer)
            if items != "words":
                lists["objects"] = _objects(strings, questions, images)
            if "attributes" in questions.columns:
                lists["attributes"] = strings.lists("attributes", questions["attributes"])
            rows_so_far.add(questions, lists)
        return rows_so_far.encoded(top_answers, answer_ties)


def encode_item_batches(batches: Iterable[pl.DataFrame], folder: Path) -> RowFiles:
    """Return rows whose items are listed already, in files, with the vocabulary found in them.

    They are the rows that :func:`shortcut_miner.encoding.encode_item_table` gives, equal rows merged.

    Parameters
    ----------
    batches : iterable of pl.DataFrame
        words, objects and, where there are any, attributes, List[String] (null = none); answer String; weight
        Int64, by default 1. All have the same columns. Rows without an answer are left out.
    folder : Path
        Where the files go; see :class:`shortcut_miner.row_files.RowWriter`.

    Raises
    ------
    SchemaError
        Some items are null.
    """
    nulls = {kind: _Nulls([], 0) for kind in KINDS}
    start = 0
    with ProvisionalRows(folder) as rows_so_far:
        for rows in _pieces(batches):
            kinds = [kind for kind in KINDS if kind in rows.columns]
            for kind in kinds:
                nulls[kind] = nulls[kind].with_those_of(rows[kind], start)
            start += len(rows)
            rows_so_far.add(rows, {kind: rows_so_far.strings.lists(kind, rows[kind]) for kind in kinds})
        for kind, (first, total) in nulls.items():
            if total:
                raise null_items(f"items of {kind}", first, total)
        return rows_so_far.encoded()


def _pieces(batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield the rows with an answer, a bounded number of rows and bytes at a time."""
    for batch in batches:
        known = batch.filter(pl.col("answer").is_not_null())
        fitting = len(known) * _BYTES_AT_ONCE // max(1, int(known.estimated_size()))
        size = max(1, min(_ROWS_AT_ONCE, fitting))
        yield from known.iter_slices(size) if len(known) else [known]


def _words(strings: Strings, questions: pl.Series, tokenizer: Tokenizer) -> Lists:
    """Return the words of each question; a text is read once, however often it is asked."""
    numbered = questions.cast(pl.Categorical(pl.Categories.random()))
    distinct = numbered.drop_nulls().unique()
    texts = distinct.gather(distinct.to_physical().arg_sort()).cast(pl.String)
    return strings.lists("words", tokenize(texts, tokenizer)).taken(numbered.to_physical())


def _objects(strings: Strings, questions: pl.DataFrame, images: _Images | None) -> Lists:
    """Return the question's own labels, or its image's."""
    if "labels" in questions.columns:
        return strings.lists("objects", questions["labels"])
    if images is None:
        raise no_labels()
    return images.objects.taken(questions["image_id"].cast(images.ids, strict=False).to_physical())


def _images(strings: Strings, labels: pl.DataFrame, score_threshold: float) -> _Images:
    by_image = certain_labels(labels, score_threshold).group_by("image_id").agg("item").collect()
    return _Images(pl.Enum(by_image["image_id"]), strings.lists("objects", by_image["item"]))
