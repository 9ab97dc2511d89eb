"""Tables to sparse transactions: each question a set of items and a class (its answer).

Items are the words of its text, the objects of its image and its attributes: texts "column=value" of further
columns. Item numbers follow the vocabulary: words first, then objects, then attributes, each in lexicographic
order, so the word "dog" and the object "dog" are two items. Class numbers ascend by (answer_count, answer):
where two answers of one antecedent tie, the smaller number is the rarer answer, which is the field's
convention here.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import polars as pl

from shortcut_miner.columnar import list_series
from shortcut_miner.errors import ConfigError, SchemaError, examples
from shortcut_miner.item_lists import ImageObjects, ItemLists, distinct_items, numbers_of
from shortcut_miner.options import AnswerTies, ItemKinds, Tokenizer
from shortcut_miner.tokenizers import tokenize
from shortcut_miner.transactions import KINDS, Transactions, Vocabulary

_MOST_ORIGINAL_ROWS = math.isqrt(2**63 - 1)


def keep_top_answers(
    questions: pl.DataFrame, top_answers: int = 3000, answer_ties: AnswerTies = "first"
) -> pl.DataFrame:
    """Return the rows whose answer is among the `top_answers` most common, in the order given.

    Ties at the cut go to the answer met first (``"first"``, as VQA-CE's code) or to the lexicographically
    smaller one. Rows without an answer are dropped.

    >>> table = pl.DataFrame({"answer": ["no", "yes", "yes", "2", None]})
    >>> keep_top_answers(table, 2)["answer"].to_list()
    ['no', 'yes', 'yes']
    >>> keep_top_answers(table, 2, "lexicographic")["answer"].to_list()
    ['yes', 'yes', '2']
    """
    tie = "first_row" if answer_ties == "first" else "answer"
    top = (
        questions.lazy()
        .select("answer")
        .with_row_index("first_row")
        .drop_nulls("answer")
        .group_by("answer")
        .agg(pl.len().alias("count"), pl.col("first_row").min())
        .sort(["count", tie], descending=[True, False])
        .head(top_answers)
        .select("answer")
    )
    return questions.lazy().join(top, on="answer", how="semi", maintain_order="left").collect()


def build_vocabulary(
    words: pl.Series | None,
    objects: pl.Series | None,
    answers: pl.Series,
    counts: pl.Series | None = None,
    *,
    attributes: pl.Series | None = None,
    counts_are_totals: bool = False,
) -> Vocabulary:
    """Return the vocabulary of columns of items and answers.

    Parameters
    ----------
    words, objects : pl.Series, optional
        String, or lists of String; repeats and nulls are allowed.
    answers : pl.Series
        String, of rows or of rules.
    counts : pl.Series, optional
        Original rows that each answer of `answers` stands for, by default 1.
    attributes : pl.Series, optional
        As `words` and `objects`; None if no columns are items.
    counts_are_totals : bool
        Each count is its answer's total already, repeated with the answer; else those of an answer add up.

    >>> answers, counts = pl.Series(["no", "yes", "no"]), pl.Series([2, 3, 2])
    >>> build_vocabulary(None, None, answers, counts).answers.to_list()
    ['yes', 'no']
    >>> build_vocabulary(None, None, answers, counts, counts_are_totals=True).answers.to_list()
    ['no', 'yes']
    """
    count = pl.col("count").cast(pl.Int64)
    by_answer = (
        pl.select(answer=answers, count=1 if counts is None else counts)
        .group_by("answer")
        .agg(count.max() if counts_are_totals else count.sum())
        .sort("count", "answer")
    )
    return Vocabulary(
        words=distinct_items(words),
        objects=distinct_items(objects),
        answers=by_answer["answer"],
        answer_counts=by_answer["count"].to_numpy(),
        attributes=None if attributes is None else distinct_items(attributes),
    )


def encode_training(
    questions: pl.DataFrame,
    labels: pl.DataFrame | ImageObjects | None = None,
    *,
    items: ItemKinds = "both",
    tokenizer: Tokenizer = "basic_english",
    score_threshold: float = 0.5,
) -> Transactions:
    """Return the transactions of training questions, with the vocabulary found in them.

    Parameters
    ----------
    questions : pl.DataFrame
        schemas.Questions; every ``answer`` known and a class (see :func:`keep_top_answers`). It may have the
        columns labels, the row's own objects, and attributes, both List[String] (null = none are known).
    labels : pl.DataFrame or ImageObjects, optional
        schemas.Labels, for questions without their own; or the objects that were found in them, with a
        threshold of their own. Images without labels give no objects.
    items : {"both", "words", "objects"}
        Whether a row has words, objects or both; attributes it has wherever `questions` have them.
    tokenizer : {"basic_english", "spacy", "spacy-lemma"}
        What the words of a question are.
    score_threshold : float
        Least detection score of a label of a table; labels without a score, as the row's own, count as
        certain.

    Returns
    -------
    Transactions
        One row a question, in the order given.
    """
    to_list: dict[str, Callable[[], ItemLists]] = {}
    if items != "objects":
        to_list["words"] = lambda: _words(questions, tokenizer)
    if items != "words":
        to_list["objects"] = lambda: _objects(questions, labels, score_threshold).with_used_names()
    if "attributes" in questions.columns:
        to_list["attributes"] = lambda: ItemLists.of_lists(questions["attributes"])
    listed = _side_by_side(to_list)
    words, objects, attributes = (listed[kind].names if kind in listed else None for kind in KINDS)
    vocabulary = build_vocabulary(words, objects, questions["answer"], attributes=attributes)
    return _encode(questions["answer"], listed, vocabulary)


def encode_rows(
    questions: pl.DataFrame,
    labels: pl.DataFrame | ImageObjects | None,
    vocabulary: Vocabulary,
    *,
    tokenizer: Tokenizer = "basic_english",
    score_threshold: float = 0.5,
) -> Transactions:
    """Return the transactions of other questions in the numbers of a known vocabulary.

    Items that the vocabulary lacks are left out; answers that it lacks get class -1. See
    :func:`encode_training` for the parameters.
    """
    to_list: dict[str, Callable[[], ItemLists]] = {}
    if len(vocabulary.words):
        to_list["words"] = lambda: _words(questions, tokenizer, vocabulary.words)
    if len(vocabulary.objects):
        to_list["objects"] = lambda: _objects(questions, labels, score_threshold, vocabulary.objects)
    if vocabulary.attributes is not None:
        if "attributes" not in questions.columns:
            raise ConfigError(
                "attributes: got questions without any, expected those of the training questions. "
                "Give all questions the same item columns."
            )
        to_list["attributes"] = lambda: ItemLists.of_lists(questions["attributes"], vocabulary.attributes)
    return _encode(questions["answer"], _side_by_side(to_list), vocabulary)


def encode_item_lists(rows: pl.DataFrame, vocabulary: Vocabulary) -> Transactions:
    """Return the transactions of rows whose items are listed already, in a known vocabulary.

    Parameters
    ----------
    rows : pl.DataFrame
        words, objects and, where there are any, attributes, List[String] (null = none); answer String.
    vocabulary : Vocabulary
        Items that it lacks are left out; answers that it lacks get class -1.
    """
    listed = {
        kind: ItemLists.of_lists(rows[kind], names)
        for kind, names in vocabulary.names.items()
        if kind in rows.columns
    }
    return _encode(rows["answer"], listed, vocabulary)


def with_item_lists(questions: pl.DataFrame, rows: Transactions) -> pl.DataFrame:
    """Return `questions` with the columns words, objects and, where some are known, attributes.

    They list the items of each row, ascending, in place of columns of these names.
    """
    kinds = rows.vocabulary.kinds_of(rows.items)
    lists = {}
    first = 0
    for number, (kind, names) in enumerate(rows.vocabulary.names.items()):
        chosen = kinds == number
        ends = np.concatenate(([0], np.cumsum(chosen)))[rows.offsets]
        lists[kind] = string_lists(ends, rows.items[chosen] - first, names)
        first += len(names)
    return questions.drop(KINDS, strict=False).with_columns(**lists)


def encode_item_table(rows: pl.DataFrame) -> Transactions:
    """Return the transactions of rows whose items are listed already, with the vocabulary found in them.

    Parameters
    ----------
    rows : pl.DataFrame
        words, objects and, where there are any, attributes, List[String] (null = none); answer String,
        weight Int64.
    """
    attributes = rows.get_column("attributes", default=None)
    vocabulary = build_vocabulary(
        rows["words"], rows["objects"], rows["answer"], rows["weight"], attributes=attributes
    )
    return dataclasses.replace(encode_item_lists(rows, vocabulary), weights=rows["weight"].to_numpy())


def encode_lists(
    transactions: Iterable[Iterable[str]], answers: Sequence[str], weights: Sequence[int] | None = None
) -> Transactions:
    """Return transactions from plain Python lists; every item counts as a word.

    >>> rows = encode_lists([["what", "sport"], ["sport", "what", "what"]], ["tennis", "golf"])
    >>> rows.vocabulary.words.to_list(), rows.offsets.tolist(), rows.items.tolist()
    (['sport', 'what'], [0, 2, 4], [0, 1, 0, 1])
    """
    words = pl.Series([list(row) for row in transactions], dtype=pl.List(pl.String))
    if len(words) != len(answers):
        raise ConfigError(
            f"transactions: got {len(words):,} rows and {len(answers):,} answers, expected as many. "
            "Pass lists of equal length."
        )
    return encode_item_table(
        pl.DataFrame(
            {
                "words": words,
                "objects": words.clear(len(words)),
                "answer": pl.Series(answers, dtype=pl.String),
                "weight": checked_weights(weights, len(words)),
            }
        )
    )


def accepted_classes(
    questions: pl.DataFrame, vocabulary: Vocabulary
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Return all annotators' answers as CSR (offsets int64[rows + 1], classes int32[], -1 = no class).

    A question without annotators' answers, or with an empty list of them, accepts its ``answer``. Answers
    are compared as given.
    """
    given = pl.when(pl.col("answers").list.len() > 0).then("answers")
    answers = questions.select(
        pl.coalesce(given, pl.concat_list("answer").list.drop_nulls()).list.unique().alias("answers")
    ).to_series()
    offsets = np.zeros(len(questions) + 1, np.int64)
    np.cumsum(answers.list.len().fill_null(0).to_numpy(), out=offsets[1:])
    flat = answers.filter(answers.list.len() > 0).explode()
    return offsets, numbers_of(flat, vocabulary.answers)


def checked_weights(weights: Sequence[int] | None, rows: int) -> npt.NDArray[np.int64]:
    """Return int64[rows]: how many original rows each row stands for, by default 1.

    Raises
    ------
    ConfigError
        Not one whole number of 1 or more for each row, or in all too many to multiply two counts in 64 bits.
    """
    is_given = weights is not None and not (hasattr(weights, "__len__") and len(weights) == 0)
    counts = np.asarray(weights if is_given else np.ones(rows, np.int64))
    if counts.shape != (rows,) or counts.dtype.kind not in "iu" or (rows and counts.min() < 1):
        least = f" with least value {counts.min()}" if counts.size and counts.dtype.kind in "iuf" else ""
        raise ConfigError(
            f"weights: got {counts.dtype} of shape {counts.shape}{least}, expected {rows:,} integers of 1 or "
            "more. Pass one weight a row."
        )
    total = sum(counts.tolist())
    if total > _MOST_ORIGINAL_ROWS:
        raise ConfigError(
            f"weights: got a sum of {total:,}, expected at most {_MOST_ORIGINAL_ROWS:,}, so that products of "
            "two counts are exact in 64 bits. Divide the weights."
        )
    return counts.astype(np.int64)


def _side_by_side(to_list: Mapping[str, Callable[[], ItemLists]]) -> dict[str, ItemLists]:
    """Return the items of each kind, listed at the same time."""
    with ThreadPoolExecutor(max(1, len(to_list))) as pool:
        return dict(zip(to_list, pool.map(lambda listed: listed(), to_list.values()), strict=True))


def _words(questions: pl.DataFrame, tokenizer: Tokenizer, names: pl.Series | None = None) -> ItemLists:
    """Return the words of each question; a text is read once, however often it is asked."""
    texts = questions["question"]
    distinct = texts.drop_nulls().unique()
    words = ItemLists.of_lists(tokenize(distinct, tokenizer), names)
    return words.taken(texts.cast(pl.Enum(distinct)).to_physical())


def _objects(
    questions: pl.DataFrame,
    labels: pl.DataFrame | ImageObjects | None,
    score_threshold: float,
    names: pl.Series | None = None,
) -> ItemLists:
    """Return the question's own labels, or its image's over the threshold."""
    if "labels" in questions.columns:
        return ItemLists.of_lists(questions["labels"], names)
    if labels is None:
        raise no_labels()
    images = labels if isinstance(labels, ImageObjects) else ImageObjects(labels, score_threshold)
    return images.of_images(questions["image_id"], names)


def no_labels() -> ConfigError:
    """Return the error of questions whose objects nothing tells."""
    return ConfigError(
        "items: got objects without detections, expected labels for the images. "
        "Give --detections or a column of labels, or use --items words."
    )


def null_items(what: str, rows: Iterable[int], total: int | None = None) -> SchemaError:
    """Return the error of nulls in these rows, of which only the first are given where there is a total."""
    rows = list(rows)
    return SchemaError(
        f"{what}: got nulls in {len(rows) if total is None else total:,} rows "
        f"({examples(rows, total=total)}), expected a value everywhere. Fill these or leave the rows out."
    )


def string_lists(
    offsets: npt.NDArray[np.int64], numbers: npt.NDArray[np.int32], names: pl.Series
) -> pl.Series:
    """Return List[String]: row r holds ``names[numbers[offsets[r]:offsets[r + 1]]]``."""
    return list_series(offsets, names.gather(pl.Series(numbers.astype(np.uint32))).to_arrow())


def _encode(answers: pl.Series, listed: Mapping[str, ItemLists], vocabulary: Vocabulary) -> Transactions:
    """Return rows of the items of all kinds, those of one kind after another."""
    firsts = zip(vocabulary.names, vocabulary.first_items[:-1], strict=True)
    parts = [(listed[kind], first) for kind, first in firsts if kind in listed]
    lengths = np.zeros((len(answers), len(parts)), np.int64)
    for place, (one, _) in enumerate(parts):
        lengths[:, place] = np.diff(one.offsets)
    offsets = np.concatenate(([0], np.cumsum(lengths.sum(axis=1))))
    place_of = np.repeat(np.tile(np.arange(len(parts), dtype=np.int8), len(answers)), lengths.ravel())
    items = np.empty(offsets[-1], np.int32)
    for place, (one, first) in enumerate(parts):
        items[place_of == place] = one.numbers + np.int32(first)
    return Transactions(
        offsets=offsets,
        items=items,
        classes=numbers_of(answers, vocabulary.answers),
        weights=np.ones(len(answers), np.int64),
        vocabulary=vocabulary,
    )
