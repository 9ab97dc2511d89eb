from collections import Counter
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner import transactions
from shortcut_miner.encoding import (
    accepted_classes,
    build_vocabulary,
    encode_item_lists,
    encode_item_table,
    encode_lists,
    encode_rows,
    encode_training,
    keep_top_answers,
    with_item_lists,
)
from shortcut_miner.errors import ConfigError
from shortcut_miner.item_lists import numbers_of
from shortcut_miner.transactions import Transactions, Vocabulary

WORDS = st.sampled_from(["dog", "is", "Is", "it's", "what", "red", "é"])
LABELS = st.sampled_from(["dog", "cat", "tennis racket"])
ANSWERS = st.sampled_from(["yes", "no", "2", "dog"])


def questions(*rows: tuple[str, str, str | None]) -> pl.DataFrame:
    """Return a Questions table of (image_id, question, answer)."""
    return pl.DataFrame(
        [(str(number), *row) for number, row in enumerate(rows)],
        schema={
            "question_id": pl.String,
            "image_id": pl.String,
            "question": pl.String,
            "answer": pl.String,
        },
        orient="row",
    )


def labels(*rows: tuple[str, str | None, float | None]) -> pl.DataFrame:
    return pl.DataFrame(
        rows, schema={"image_id": pl.String, "label": pl.String, "score": pl.Float64}, orient="row"
    )


def plain(transactions: Transactions) -> list[list[str]]:
    """Return the rows' items by name, objects and attributes marked, in stored order."""
    like = transactions.vocabulary
    attributes = () if like.attributes is None else like.attributes
    names = [*like.words, *(f"object: {name}" for name in like.objects), *(f"{name}!" for name in attributes)]
    return [
        [names[item] for item in transactions.items[low:high]] for low, high in pairwise(transactions.offsets)
    ]


def answers_of(transactions: Transactions) -> list[str | None]:
    return [transactions.vocabulary.answers[int(c)] if c >= 0 else None for c in transactions.classes]


def assert_same_vocabulary(left: Vocabulary, right: Vocabulary) -> None:
    for name in Vocabulary.__slots__:
        one, other = getattr(left, name), getattr(right, name)
        assert (one is None) == (other is None)
        assert list(() if one is None else one) == list(() if other is None else other)


def assert_same_rows(left: Transactions, right: Transactions) -> None:
    for name in ("offsets", "items", "classes", "weights"):
        assert getattr(left, name).dtype == getattr(right, name).dtype
        assert getattr(left, name).tolist() == getattr(right, name).tolist()
    assert_same_vocabulary(left.vocabulary, right.vocabulary)


def assert_typed(transactions: Transactions) -> None:
    assert transactions.offsets.dtype == np.int64
    assert transactions.items.dtype == np.int32
    assert transactions.classes.dtype == np.int32
    assert transactions.weights.dtype == np.int64
    assert len(transactions.offsets) == len(transactions) + 1
    assert transactions.vocabulary.answer_counts.dtype == np.int64


class TestTopAnswers:
    def test_ties_at_the_cut(self) -> None:
        table = questions(*(("1", "?", answer) for answer in ["b", "yes", "a", "yes", "c"]))
        first = keep_top_answers(table, 2, "first")
        assert first["answer"].to_list() == ["b", "yes", "yes"]
        assert keep_top_answers(table, 2, "lexicographic")["answer"].to_list() == ["yes", "a", "yes"]
        assert first["question_id"].to_list() == ["0", "1", "3"]

    def test_more_than_there_are_and_nulls(self) -> None:
        table = questions(("1", "?", None), ("1", "?", "a"), ("1", "?", None), ("1", "?", "b"))
        for ties in ("first", "lexicographic"):
            assert keep_top_answers(table, 10, ties)["answer"].to_list() == ["a", "b"]
        assert keep_top_answers(table.clear(), 3).height == 0

    @given(answers=st.lists(ANSWERS | st.none(), max_size=30), top=st.integers(1, 5))
    def test_equals_plain_python(self, answers: list[str | None], top: int) -> None:
        table = questions(*(("1", "?", answer) for answer in answers))
        known = [answer for answer in answers if answer is not None]
        first_met = [answer for answer, _ in Counter(known).most_common(top)]  # stable: first met first
        kept = [answer for answer in known if answer in first_met]
        assert keep_top_answers(table, top)["answer"].to_list() == kept


class TestBuildVocabulary:
    def test_items_of_rows_and_of_lists(self) -> None:
        flat = pl.Series(["b", None, "a", "b"])
        lists = pl.Series([["dog", "cat"], None, [], ["cat"]], dtype=pl.List(pl.String))
        like = build_vocabulary(flat, lists, pl.Series(["x"]))
        assert (like.words.to_list(), like.objects.to_list()) == (["a", "b"], ["cat", "dog"])
        assert (like.first_items.tolist(), like.item_count, like.class_count) == ([0, 2, 4], 4, 1)
        none = build_vocabulary(None, lists.clear(3), pl.Series([], dtype=pl.String))
        assert (none.words.dtype, none.objects.dtype, none.item_count) == (pl.String, pl.String, 0)
        assert none.answer_counts.dtype == np.int64

    def test_counts_of_rows_add_up_and_totals_are_taken_once(self) -> None:
        answers = pl.Series(["x", "y", "x", "z"])
        counts = pl.Series([2, 3, 2, 0], dtype=pl.UInt64)
        for totals, names, expected in ((False, "zyx", [0, 3, 4]), (True, "zxy", [0, 2, 3])):
            like = build_vocabulary(None, None, answers, counts, counts_are_totals=totals)
            assert "".join(like.answers) == names
            assert like.answer_counts.tolist() == expected
            assert like.answer_counts.dtype == np.int64
        assert build_vocabulary(None, None, answers).answer_counts.tolist() == [1, 1, 2]


class TestEncodeTraining:
    def test_words_and_objects_are_two_namespaces(self) -> None:
        rows = encode_training(questions(("1", "The dog?", "yes")), labels(("1", "dog", 0.9)))
        assert plain(rows) == [["?", "dog", "the", "object: dog"]]
        assert rows.items.tolist() == [0, 1, 2, 3]
        assert_typed(rows)

    def test_a_row_is_a_set(self) -> None:
        rows = encode_training(
            questions(("1", "dog dog DOG", "a")), labels(("1", "cat", 0.9), ("1", "cat", 0.8))
        )
        assert plain(rows) == [["dog", "object: cat"]]

    def test_labels_under_the_threshold(self) -> None:
        found = labels(("1", "a", 0.5), ("1", "b", 0.49999), ("1", "c", None), ("1", None, 1.0))
        assert plain(encode_training(questions(("1", "x", "y")), found)) == [["x", "object: a", "object: c"]]
        low = encode_training(questions(("1", "x", "y")), found, score_threshold=0.1)
        assert low.vocabulary.objects.to_list() == ["a", "b", "c"]

    def test_images_without_labels_give_words_only(self) -> None:
        found = labels(("1", "cat", 1.0), ("3", None, None), ("9", "unused", 1.0))
        rows = encode_training(questions(("1", "x", "y"), ("2", "x", "y"), ("3", "x", "y")), found)
        assert plain(rows) == [["x", "object: cat"], ["x"], ["x"]]

    def test_one_kind_of_items(self) -> None:
        table, found = questions(("1", "x", "y")), labels(("1", "cat", 1.0))
        assert plain(encode_training(table, items="words")) == [["x"]]
        assert plain(encode_training(table, found, items="words")) == [["x"]]
        objects = encode_training(table, found, items="objects")
        assert plain(objects) == [["object: cat"]]
        assert objects.items.tolist() == [0]

    def test_objects_without_detections(self) -> None:
        for items in ("objects", "both"):
            with pytest.raises(ConfigError) as error:
                encode_training(questions(("1", "x", "y")), items=items)
            assert str(error.value) == (
                "items: got objects without detections, expected labels for the images. "
                "Give --detections or a column of labels, or use --items words."
            )

    def test_classes_ascend_by_count_then_name(self) -> None:
        rows = encode_training(
            questions(*(("1", "x", answer) for answer in ["yes", "no", "yes", "no", "2", "10"])),
            items="words",
        )
        assert rows.vocabulary.answers.to_list() == ["10", "2", "no", "yes"]
        assert rows.vocabulary.answer_counts.tolist() == [1, 1, 2, 2]
        assert rows.classes.tolist() == [3, 2, 3, 2, 1, 0]

    def test_empty_tables_and_questions(self) -> None:
        empty = encode_training(questions(), labels())
        assert_typed(empty)
        assert (len(empty), empty.transaction_count, empty.vocabulary.item_count) == (0, 0, 0)
        rows = encode_training(questions(("1", "", "y"), ("1", ' "" ', "y")), labels())
        assert plain(rows) == [[], []]
        assert_typed(rows)

    @given(
        rows=st.lists(st.tuples(st.sampled_from("123"), st.lists(WORDS, max_size=6), ANSWERS), max_size=12),
        found=st.lists(st.tuples(st.sampled_from("124"), LABELS, st.floats(0, 1)), max_size=12),
    )
    def test_equals_plain_python(
        self, rows: list[tuple[str, list[str], str]], found: list[tuple[str, str, float]]
    ) -> None:
        table = questions(*((image, " ".join(words), answer) for image, words, answer in rows))
        encoded = encode_training(table, labels(*found))
        expected = []
        for image, words, _ in rows:
            tokens = {token for text in words for token in text.lower().replace("'", " ' ").split()}
            objects = {f"object: {label}" for where, label, score in found if where == image and score >= 0.5}
            expected.append(sorted(tokens) + sorted(objects))
        assert plain(encoded) == expected
        assert answers_of(encoded) == [answer for *_, answer in rows]
        assert encoded.vocabulary.words.to_list() == sorted(
            {word for row in expected for word in row if not word.startswith("object: ")}
        )
        # The numbers don't depend on the order of the rows.
        turned = encode_training(table.reverse(), labels(*found[::-1])).vocabulary
        assert_same_vocabulary(turned, encoded.vocabulary)


def with_lists(table: pl.DataFrame, **columns: list[list[str] | None]) -> pl.DataFrame:
    return table.with_columns(pl.Series(name, rows, dtype=TEXTS) for name, rows in columns.items())


TEXTS = pl.List(pl.String)
ATTRIBUTES = st.lists(st.sampled_from(["dog", "genre=news", "genre=dog", "source="]), max_size=4)


class TestOwnItems:
    """Labels and attributes that questions bring along."""

    def test_three_namespaces(self) -> None:
        table = with_lists(questions(("1", "dog", "yes")), labels=[["dog"]], attributes=[["dog", "cat=1"]])
        rows = encode_training(table)
        assert plain(rows) == [["dog", "object: dog", "cat=1!", "dog!"]]
        assert rows.items.tolist() == [0, 1, 2, 3]
        assert rows.vocabulary.first_items.tolist() == [0, 1, 2, 4]
        assert rows.vocabulary.kinds_of(np.array([[3, 2, 1, 0, -1]])).tolist() == [[2, 2, 1, 0, -1]]
        assert_typed(rows)

    def test_which_kinds_are_asked_for(self) -> None:
        table = with_lists(questions(("1", "x", "yes")), labels=[["cat"]], attributes=[["a=1"]])
        assert plain(encode_training(table, items="words")) == [["x", "a=1!"]]
        assert plain(encode_training(table, items="objects")) == [["object: cat", "a=1!"]]
        plain_table = table.drop("attributes")
        assert encode_training(plain_table).vocabulary.attributes is None

    def test_own_labels_come_before_the_images(self) -> None:
        table = with_lists(questions(("1", "x", "yes"), ("1", "x", "yes")), labels=[["cat"], None])
        rows = encode_training(table, labels(("1", "dog", 1.0)))
        assert plain(rows) == [["x", "object: cat"], ["x"]]
        assert plain(encode_rows(table, None, rows.vocabulary)) == plain(rows)

    def test_columns_that_hold_nothing(self) -> None:
        rows = encode_training(with_lists(questions(("1", "x", "y")), labels=[None], attributes=[[]]))
        assert plain(rows) == [["x"]]
        assert rows.vocabulary.attributes is not None
        assert rows.vocabulary.attributes.to_list() == []
        listed = with_item_lists(questions(("1", "x", "y")), rows)
        assert listed["attributes"].to_list() == [[]]

    def test_attributes_of_training_questions_alone(self) -> None:
        table = with_lists(questions(("1", "x", "y")), attributes=[["a=1"]])
        like = encode_training(table, items="words").vocabulary
        with pytest.raises(ConfigError) as error:
            encode_rows(table.drop("attributes"), None, like)
        assert str(error.value) == (
            "attributes: got questions without any, expected those of the training questions. "
            "Give all questions the same item columns."
        )

    @given(
        rows=st.lists(
            st.tuples(st.sampled_from("1234"), st.lists(WORDS, max_size=4), ANSWERS, ATTRIBUTES), max_size=12
        ),
        found=st.lists(st.tuples(st.sampled_from("123"), LABELS | st.none()), max_size=12),
    )
    def test_the_same_items_give_the_same_rows_whichever_way_they_came(
        self, rows: list[tuple[str, list[str], str, list[str]]], found: list[tuple[str, str | None]]
    ) -> None:
        """Labels in a detections table or in the rows; then out as lists, and in again."""
        table = questions(*((image, " ".join(words), answer) for image, words, answer, _ in rows))
        table = with_lists(table, attributes=[attributes for *_, attributes in rows])
        of_image: dict[str, list[str]] = {}
        for image, label in found:
            of_image.setdefault(image, []).extend([] if label is None else [label])
        own = with_lists(table, labels=[of_image.get(image) for image in table["image_id"]])
        joined = encode_training(table, labels(*((*one, None) for one in found)))
        encoded = encode_training(own)
        assert_same_rows(joined, encoded)
        assert_same_rows(encode_rows(own, None, encoded.vocabulary), encoded)
        expected = [
            sorted({token for text in words for token in text.lower().replace("'", " ' ").split()})
            + sorted({f"object: {label}" for label in of_image.get(image, ())})
            + sorted(f"{name}!" for name in {*attributes})
            for image, words, _, attributes in rows
        ]
        assert plain(encoded) == expected
        listed = with_item_lists(own, encoded)
        assert listed.columns == [*table.columns[:-1], "labels", "words", "objects", "attributes"]
        assert listed["attributes"].to_list() == [sorted({*attributes}) for *_, attributes in rows]
        assert_same_rows(encode_item_lists(listed, encoded.vocabulary), encoded)
        weighted = encode_item_table(listed.with_columns(weight=pl.lit(1, pl.Int64)))
        assert_same_rows(weighted, encoded)


class TestEncodeRows:
    def test_unknown_items_and_answers(self) -> None:
        like = encode_training(questions(("1", "a b", "x")), labels(("1", "cat", 1.0))).vocabulary
        table = questions(("2", "b z a", "x"), ("3", "z", "other"), ("4", "a", None))
        rows = encode_rows(table, labels(("2", "cat", 1.0), ("2", "dog", 1.0), ("3", "cat", 0.1)), like)
        assert plain(rows) == [["a", "b", "object: cat"], [], ["a"]]
        assert rows.classes.tolist() == [0, -1, -1]
        assert rows.vocabulary is like
        assert_typed(rows)

    def test_a_vocabulary_of_one_kind(self) -> None:
        table, found = questions(("1", "a", "x")), labels(("1", "cat", 1.0))
        words = encode_training(table, items="words").vocabulary
        assert plain(encode_rows(table, None, words)) == [["a"]]
        objects = encode_training(table, found, items="objects").vocabulary
        assert plain(encode_rows(table, found, objects)) == [["object: cat"]]
        with pytest.raises(ConfigError, match="got objects without detections"):
            encode_rows(table, None, objects)

    def test_an_empty_vocabulary(self) -> None:
        nothing = encode_training(questions(), labels()).vocabulary
        rows = encode_rows(questions(("1", "a", "x")), None, nothing)
        assert plain(rows) == [[]]
        assert rows.classes.tolist() == [-1]


class TestEncodeLists:
    def test_weights_count_in_answers(self) -> None:
        rows = encode_lists([["a"], ["a"], []], ["x", "y", "x"], [2, 5, 1])
        assert rows.vocabulary.answers.to_list() == ["x", "y"]
        assert rows.vocabulary.answer_counts.tolist() == [3, 5]
        assert rows.weights.tolist() == [2, 5, 1]
        assert (len(rows), rows.transaction_count) == (3, 8)
        assert_typed(rows)

    def test_nothing(self) -> None:
        assert_typed(encode_lists([], []))
        assert plain(encode_lists([[], []], ["x", "x"])) == [[], []]

    def test_lengths_differ(self) -> None:
        with pytest.raises(ConfigError) as error:
            encode_lists([["a"]], ["x", "y"])
        assert str(error.value) == (
            "transactions: got 1 rows and 2 answers, expected as many. Pass lists of equal length."
        )

    @pytest.mark.parametrize("weights", [[1], [1, 0], [1, -3], [1, 2, 3]])
    def test_bad_weights(self, weights: list[int]) -> None:
        with pytest.raises(ConfigError, match=r"^weights: got .*, expected 2 integers of 1 or more\."):
            encode_lists([["a"], ["b"]], ["x", "y"], weights)

    def test_fractional_weights(self) -> None:
        with pytest.raises(ConfigError, match=r"^weights: got "):
            encode_lists([["a"], ["b"]], ["x", "y"], [1.5, 2.0])  # type: ignore[list-item]

    def test_weights_too_large_to_multiply(self) -> None:
        limit = 3_037_000_499
        assert limit**2 < 2**63 <= (limit + 1) ** 2
        assert encode_lists([["a"], ["b"]], ["x", "y"], [1, limit - 1]).transaction_count == limit
        with pytest.raises(ConfigError, match=r"^weights: got a sum of 3,037,000,500"):
            encode_lists([["a"], ["b"]], ["x", "y"], [1, limit])

    def test_more_items_than_16_bits(self) -> None:
        names = [f"w{k:05}" for k in range(70_000)]
        rows = encode_lists([[name] for name in reversed(names)], ["x"] * len(names))
        assert rows.items.tolist() == list(range(69_999, -1, -1))


class TestAcceptedClasses:
    LIKE = encode_training(
        questions(("1", "a", "x"), ("1", "a", "y"), ("1", "a", "y")), items="words"
    ).vocabulary

    def test_lists_nulls_and_strangers(self) -> None:
        table = questions(*(("1", "a", answer) for answer in ["x", "y", None, "z", "x"])).with_columns(
            answers=pl.Series([["y", "x", "y"], None, None, ["z"], []], dtype=pl.List(pl.String))
        )
        offsets, classes = accepted_classes(table, self.LIKE)
        rows = [sorted(classes[low:high].tolist()) for low, high in pairwise(offsets)]
        assert rows == [[0, 1], [1], [], [-1], [0]]
        assert offsets.dtype == np.int64
        assert classes.dtype == np.int32

    def test_no_rows(self) -> None:
        table = questions().with_columns(answers=pl.Series([], dtype=pl.List(pl.String)))
        offsets, classes = accepted_classes(table, self.LIKE)
        assert offsets.tolist() == [0]
        assert classes.tolist() == []


def test_numbers_of() -> None:
    strings = pl.Series(["b", None, "", "é", "zz", "b"])
    numbers = numbers_of(strings, pl.Series(["", "b", "é"]))
    assert numbers.tolist() == [1, -1, 0, 2, -1, 1]
    assert numbers.dtype == np.int32
    assert numbers_of(strings, pl.Series([], dtype=pl.String)).tolist() == [-1] * 6
    assert numbers_of(strings.clear(), strings.drop_nulls().unique()).tolist() == []
    many = pl.Series([f"w{k}" for k in range(70_000)])
    assert numbers_of(many, many).tolist() == list(range(70_000))


def test_blocks_of_rows_are_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = encode_lists([["a", "b"], [], ["b"], ["c", "a"], ["a"]], ["x", "y", "x", "y", "x"])
    assert [len(block) for block in rows.blocks()] == [5]
    monkeypatch.setattr(transactions, "ROWS_A_BLOCK", 2)
    blocks = list(rows.blocks())
    assert [len(block) for block in blocks] == [2, 2, 1]
    assert np.concatenate([block.items for block in blocks]).tolist() == rows.items.tolist()
    assert np.concatenate([np.diff(block.offsets) for block in blocks]).tolist() == [2, 0, 1, 2, 1]
    assert np.concatenate([block.classes for block in blocks]).tolist() == rows.classes.tolist()
    assert list(encode_lists([], []).blocks()) == []
