"""Rows encoded in batches are those of the functions that have all rows in memory."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner import encoding_batches, provisional_rows, row_files
from shortcut_miner.encoding import (
    encode_item_table,
    encode_training,
    keep_top_answers,
)
from shortcut_miner.encoding_batches import encode_item_batches, encode_training_batches
from shortcut_miner.errors import ConfigError, SchemaError
from shortcut_miner.item_lists import numbers_of
from shortcut_miner.mining.frames.tables import encode_answered
from shortcut_miner.row_files import RowFiles
from shortcut_miner.transactions import Transactions, Vocabulary

TEXTS = pl.List(pl.String)
QUESTIONS = st.sampled_from(["What is it?", "is the  dog Red", "it's a dog", "", "é", "what what", None])
ITEMS = st.sampled_from(["dog", "cat", "tennis racket", "", None])
LISTS = st.none() | st.lists(ITEMS, max_size=4)
WHOLE = LISTS.map(lambda items: items and [item for item in items if item is not None])
ANSWERS = st.sampled_from(["yes", "no", "2", "10", "dog", "", None])
IMAGES = st.sampled_from(["1", "2", "003", "4", None])
ROWS = st.tuples(QUESTIONS, IMAGES, ANSWERS, LISTS, LISTS, st.sampled_from(["what", "is", "how", None]))
SCHEMA = {
    "question": pl.String,
    "image_id": pl.String,
    "answer": pl.String,
    "labels": TEXTS,
    "attributes": TEXTS,
    "question_type": pl.String,
}
LABELS = pl.DataFrame(
    {
        "image_id": ["1", "1", "1", "2", "2", "003", "5"],
        "label": ["dog", "dog", "cat", "cat", None, "tree", "nobody"],
        "score": [0.9, 0.8, 0.2, None, 1.0, 0.5, 1.0],
    }
)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding_batches, "_ROWS_AT_ONCE", 5)
    monkeypatch.setattr(provisional_rows, "_ITEMS_AT_ONCE", 8)
    monkeypatch.setattr(row_files, "ROWS_A_GROUP", 7)


@st.composite
def question_batches(draw: st.DrawFn) -> list[pl.DataFrame]:
    """Draw questions with some of the optional columns, cut into batches of which some are empty."""
    table = pl.DataFrame(draw(st.lists(ROWS, max_size=30)), schema=SCHEMA, orient="row")
    left_out = draw(st.sets(st.sampled_from(["labels", "attributes", "question_type"])))
    return list(cut(draw, table.drop(left_out)))


def cut(draw: st.DrawFn, table: pl.DataFrame) -> Iterator[pl.DataFrame]:
    cuts = sorted(draw(st.lists(st.integers(0, len(table)), max_size=3)))
    for start, stop in pairwise([0, *cuts, len(table)]):
        yield table[start:stop]


def rows_of(rows: Transactions, groups: np.ndarray) -> Counter:
    """Return the weight of each (items, class, group)."""
    found: Counter = Counter()
    for (low, high), klass, group, weight in zip(
        pairwise(rows.offsets), rows.classes, groups, rows.weights, strict=True
    ):
        found[tuple(rows.items[low:high].tolist()), int(klass), int(group)] += int(weight)
    return found


def assert_same(files: RowFiles, rows: Transactions, groups: np.ndarray) -> None:
    assert_same_vocabulary(files.vocabulary, rows.vocabulary)
    found: Counter = Counter()
    for block, numbers in files.grouped_blocks():
        found += rows_of(block, numbers)
    assert found == rows_of(rows, groups)
    assert files.transaction_count == rows.transaction_count
    assert {path.name for path in files.paths[0].parent.iterdir()} == {
        "rows.arrow",
        "names.parquet",
        "facts.npz",
    }


def assert_same_vocabulary(left: Vocabulary, right: Vocabulary) -> None:
    assert list(left.names) == list(right.names)
    for kind, names in left.names.items():
        assert names.to_list() == right.names[kind].to_list()
    assert left.answers.to_list() == right.answers.to_list()
    assert left.answer_counts.tolist() == right.answer_counts.tolist()


def types_of(kept: pl.DataFrame) -> np.ndarray:
    """Return each row's question type as a number, as the in-memory search has it."""
    if "question_type" not in kept.columns:
        return np.full(len(kept), -1, np.int32)
    types = kept["question_type"]
    return numbers_of(types, types.drop_nulls().unique().sort())


@given(
    question_batches(),
    st.integers(1, 7),
    st.sampled_from(["first", "lexicographic"]),
    st.sampled_from(["both", "words", "objects"]),
)
def test_training_rows(batches: list[pl.DataFrame], top: int, ties, items) -> None:
    kept = keep_top_answers(pl.concat(batches), top, ties)
    expected = encode_training(kept, LABELS, items=items)
    with TemporaryDirectory() as folder:
        files = encode_training_batches(
            batches, LABELS, Path(folder), top_answers=top, answer_ties=ties, items=items
        )
        assert_same(files, expected, types_of(kept))


@given(
    st.lists(st.tuples(WHOLE, WHOLE, WHOLE, st.sampled_from("abcd"), st.integers(1, 5)), max_size=30),
    st.data(),
)
def test_item_rows(rows: list[tuple], data: st.DataObject) -> None:
    schema = dict.fromkeys(("words", "objects", "attributes"), TEXTS) | {
        "answer": pl.String,
        "weight": pl.Int64,
    }
    table = pl.DataFrame(rows, schema=schema, orient="row")
    if data.draw(st.booleans()):
        table = table.drop("attributes")
    batches = list(data.draw(st.composite(cut)(table)))
    with TemporaryDirectory() as folder:
        assert_same(
            encode_item_batches(batches, Path(folder)), encode_item_table(table), np.full(len(table), -1)
        )


@given(st.lists(st.tuples(LISTS, LISTS), min_size=1, max_size=20), st.data())
def test_null_items_are_told_as_those_of_all_rows(rows: list[tuple], data: st.DataObject) -> None:
    table = pl.DataFrame(rows, schema=dict.fromkeys(("words", "objects"), TEXTS), orient="row")
    table = table.with_columns(answer=pl.lit("x"))
    try:
        encode_answered(table, "answer")
        expected = ""
    except SchemaError as error:
        expected = str(error)
    with TemporaryDirectory() as folder:
        try:
            encode_item_batches(data.draw(st.composite(cut)(table)), Path(folder))
            assert not expected
        except SchemaError as error:
            assert str(error) == expected


def test_rows_without_weights_count_once(tmp_path: Path) -> None:
    table = pl.DataFrame({"words": [["a"], ["a"]], "objects": [None, []], "answer": ["x", "x"]})
    files = encode_item_batches([table], tmp_path)
    assert (len(files), files.transaction_count, files.vocabulary.answer_counts.tolist()) == (1, 2, [2])


def test_answers_tied_at_the_cut(tmp_path: Path) -> None:
    answers = ["b", None, "yes", "a", "yes", "c"]
    table = pl.DataFrame({"question": "?", "image_id": "1", "answer": answers})
    batches = list(table.iter_slices(1))
    for ties, expected in (("first", ["b", "yes"]), ("lexicographic", ["a", "yes"])):
        files = encode_training_batches(
            batches, None, tmp_path, top_answers=2, answer_ties=ties, items="words"
        )
        assert files.vocabulary.answers.to_list() == expected


def test_a_row_of_many_items(tmp_path: Path) -> None:
    table = pl.DataFrame(
        {
            "question": " ".join(f"w{k}" for k in range(300)),
            "labels": [[f"o{k}" for k in range(300)], []],
            "answer": ["x", "y"],
        }
    )
    files = encode_training_batches([table], None, tmp_path)
    assert_same(files, encode_training(table), np.full(2, -1))
    assert files.vocabulary.item_count == 600


def test_more_than_65_535_items(tmp_path: Path) -> None:
    table = pl.DataFrame(
        {
            "words": [[f"w{k}" for k in range(70_000)], ["w7"]],
            "objects": [["w7"], None],
            "answer": ["x", "y"],
            "weight": [1, 2],
        }
    )
    files = encode_item_batches(table.iter_slices(1), tmp_path)
    assert_same(files, encode_item_table(table), np.full(2, -1))


def test_no_rows_at_all(tmp_path: Path) -> None:
    table = pl.DataFrame(schema=SCHEMA)
    for batches in ([], [table], [table.clear(), table]):
        files = encode_training_batches(batches, None, tmp_path)
        assert (len(files), files.vocabulary.item_count, files.vocabulary.class_count) == (0, 0, 0)


def test_objects_that_nothing_tells(tmp_path: Path) -> None:
    table = pl.DataFrame({"question": ["?"], "image_id": ["1"], "answer": ["x"]})
    with pytest.raises(ConfigError, match="expected labels for the images") as told:
        encode_training_batches([table], None, tmp_path)
    with pytest.raises(ConfigError) as expected:
        encode_training(table)
    assert str(told.value) == str(expected.value)
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_batches_leaves_no_file(tmp_path: Path) -> None:
    def batches() -> Iterator[pl.DataFrame]:
        yield pl.DataFrame({"words": [["a"]], "answer": ["x"]})
        raise KeyError

    with pytest.raises(KeyError):
        encode_item_batches(batches(), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_numbers_stay_while_strings_are_met() -> None:
    strings = provisional_rows.Strings()
    first = strings.numbers("words", pl.Series(["a", "b", None, "a"])).to_list()
    again = strings.numbers("words", pl.Series(["b", "c", "a"])).to_list()
    assert first[2] is None
    assert again[::2] == [first[1], first[0]]
    names = strings.known("words").to_list()
    assert sorted(names) == ["a", "b", "c"]
    assert [names[number] for number in again] == ["b", "c", "a"]
    assert "objects" not in strings
    assert strings.known("objects").to_list() == []


# ---- memory ----

MEASURE = """
import resource, sys
from pathlib import Path
import numpy as np
import polars as pl
from shortcut_miner.encoding_batches import encode_training_batches

ROWS, WORDS = 1 << 15, pl.Series([f"word{k}" for k in range(900)])

def batches(count):
    for seed in range(count):
        drawn = np.random.default_rng(seed).integers(0, 900, 12 * ROWS)
        lists = pl.Series(WORDS.gather(drawn).reshape((ROWS, 12))).cast(pl.List(pl.String))
        texts = lists.list.slice(0, 6).list.join(" ")
        yield pl.DataFrame({"question": texts, "labels": lists.list.slice(6), "answer": texts.str.head(6)})

files = encode_training_batches(batches(int(sys.argv[2])), None, Path(sys.argv[1]))
for block in files.blocks():
    pass
unit = 1 if sys.platform == "darwin" else 1024
print(len(files), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_rows(tmp_path: Path) -> None:
    peaks = {}
    for count in (16, 64):
        command = [sys.executable, "-c", MEASURE, str(tmp_path), str(count)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        rows, peak = map(int, done.stdout.split())
        assert rows > 0.99 * count * 2**15
        peaks[rows] = peak
    (few, low), (many, high) = sorted(peaks.items())
    assert (high - low) / (many - few) < 12  # bytes; a row has 12 items and so takes more than 60 in memory
