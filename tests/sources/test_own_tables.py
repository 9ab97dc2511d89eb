"""Anybody's tables as questions: ids, answers, labels, groups and items where some are missing."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.sources.questions.tables import (
    OWN_COLUMNS,
    Wanted,
    check_same_columns,
    column_names,
    open_question_table,
    read_question_tables,
)

ONE = {"question": "Why?", "answer": "so"}


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read(*paths: Path, columns: str | None = None, items: tuple[str, ...] = (), **options: Any) -> Reading:
    wanted = Wanted(names=column_names(columns, OWN_COLUMNS), items=items, is_own=True)
    return read_question_tables([open_question_table(path) for path in paths], wanted, **options)


def test_rows_without_ids_are_numbered_through_files_bad_ones_too(tmp_path: Path) -> None:
    first = write(tmp_path / "a.jsonl", [ONE, {"question": " ", "answer": "x"}, ONE])
    second = write(tmp_path / "b.jsonl", [ONE, ONE])
    reading = read(first, second, on_bad_row="skip")
    assert reading.table["question_id"].to_list() == ["1", "3", "4", "5"]
    assert reading.table["image_id"].to_list() == ["1", "3", "4", "5"]
    assert reading.notes[0] == "no column question_id: rows are numbered from 1"
    assert reading.dropped == {"question: expected text that is not blank": 1}
    assert [part.file.name for part in reading.parts] == ["a.jsonl", "b.jsonl"]
    assert [len(part.table) for part in reading.parts] == [2, 2]
    assert read(second, first=3, limit=1).table["question_id"].to_list() == ["4"]


def test_a_limit_counts_rows_through_files(tmp_path: Path) -> None:
    files = [write(tmp_path / name, [ONE, ONE]) for name in ("a.jsonl", "b.jsonl", "c.jsonl")]
    reading = read(*files, limit=3)
    assert reading.table["question_id"].to_list() == ["1", "2", "3"]
    assert [part.file.name for part in reading.parts] == ["a.jsonl", "b.jsonl"]
    assert len(read(*files, limit=2).parts) == 0


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=7), min_size=1, max_size=5))
def test_the_most_frequent_answer_is_taken_and_the_first_of_ties(
    tmp_path_factory: pytest.TempPathFactory, lists: list[list[str]]
) -> None:
    path = tmp_path_factory.mktemp("most") / "t.jsonl"
    write(path, [{"question": "Why?", "answers": answers} for answers in lists])
    reading = read(path)
    # max gives the first of the best ones
    assert reading.table["answer"].to_list() == [max(answers, key=answers.count) for answers in lists]
    assert reading.table["answers"].to_list() == lists
    assert (
        "answers taken as the most frequent of the list, the first of equally frequent ones: "
        f"{len(lists)}" in reading.notes
    )


def test_an_answer_that_is_given_stays_and_one_alone_is_a_list(tmp_path: Path) -> None:
    rows = [
        {"question": "Q", "answer": "b", "answers": ["a", "a"]},
        {"question": "Q", "answer": "b", "answers": None},
        {"question": "Q", "answer": None, "answers": ["a"]},
        {"question": "Q", "answer": "", "answers": ["", "a"]},
    ]
    table = read(write(tmp_path / "t.jsonl", rows)).table
    assert table["answer"].to_list() == ["b", "b", "a", ""]
    assert table["answers"].to_list() == [["a", "a"], ["b"], ["a"], ["", "a"]]


def test_rows_without_any_answer_and_nulls_in_lists_are_bad(tmp_path: Path) -> None:
    rows = [
        {"question": "Q", "answers": []},
        {"question": "Q", "answers": ["a", None]},
        {"question": "Q", "answers": ["a"], "labels": [None]},
        {"question": "Q", "answers": ["a"], "labels": []},
        {"question": "Q", "answers": ["a"], "labels": {"tag": 1}},
    ]
    path = write(tmp_path / "t.jsonl", rows)
    with pytest.raises(SourceError) as caught:
        read(path)
    assert str(caught.value).splitlines() == [
        f"{path}: got 4 bad of 5 questions, expected none. Fix them, or skip them with --on-bad-row skip.",
        "  - line 1, answer: got null, expected an answer, or a list of answers",
        "  - line 2, answers: got ['a', None], expected a list without nulls",
        "  - line 3, labels: got [None], expected a list without nulls",
        "  - line 5, labels: got {'tag': 1}, expected text, lists of text, or records with an answer",
    ]
    assert read(path, on_bad_row="skip").table["question_id"].to_list() == ["4"]


def test_no_answers_at_all_are_a_missing_column(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", [{"question": "Q", "gold": "a"}] * 2)
    with pytest.raises(SourceError, match=r"expected question, answer\. Name its columns with") as told:
        read(path)
    assert "column answer: got no such column, expected the answer of each row" in str(told.value)
    assert read(path, columns="answer=gold").table["answer"].to_list() == ["a", "a"]
    with pytest.raises(SourceError, match=r"column all: got no such column, expected the answers of"):
        read(path, columns="answer=gold,answers=all")


def test_groups_and_images_stand_in_for_each_other(tmp_path: Path) -> None:
    rows = [
        {**ONE, "image_id": "COCO_val2014_000000000042.jpg", "group": None},
        {**ONE, "image_id": "", "group": "g"},
        ONE,
    ]
    table = read(write(tmp_path / "t.jsonl", rows)).table
    assert table["image_id"].to_list() == ["42", "g", "3"]
    assert table["group"].to_list() == ["COCO_val2014_000000000042.jpg", "g", "3"]
    assert "group" not in read(write(tmp_path / "u.jsonl", [ONE])).table.columns


def test_items_are_sorted_texts_and_an_empty_cell_gives_none(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("question,answer,z,b\nQ,a,1,x=y\nQ,a,,n/a\nQ,a,,\n")
    reading = read(path, items=("z", "b"))
    assert reading.table["attributes"].to_list() == [["b=x=y", "z=1"], ["b=n/a"], []]
    with pytest.raises(SourceError, match=r"column c: got no such column, expected a value for the items"):
        read(path, items=("c",))


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
def test_labels_are_lists_in_every_form(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"t.{form}"
    labels: list[list[str] | None] = [["dog", "a, b"], None, []]
    rows = [{**ONE, "tags": one} for one in labels]
    if form == "csv":
        cells = ["" if one is None else json.dumps(one) for one in labels]
        pl.DataFrame({"question": "Why?", "answer": "so", "tags": cells}).write_csv(path)
    elif form == "parquet":
        pl.DataFrame(rows).write_parquet(path)
    else:
        write(path, rows)
    assert read(path, columns="labels=tags").table["labels"].to_list() == labels


def test_files_with_different_columns_are_told_all_at_once(tmp_path: Path) -> None:
    files = [
        write(tmp_path / "a.jsonl", [{**ONE, "labels": ["x"], "group": 1}]),
        write(tmp_path / "b.jsonl", [ONE]),
    ]
    with pytest.raises(SourceError) as caught:
        read(*files)
    assert str(caught.value).splitlines() == [
        f"{files[0]} and 1 more: got files with different columns, expected the same in all. "
        "Add what is missing, or leave it out of all.",
        "  - column labels: not in 'b.jsonl'",
        "  - column group: not in 'b.jsonl'",
    ]


def test_a_column_that_only_late_records_have_is_there(tmp_path: Path) -> None:
    late = write(tmp_path / "a.jsonl", [ONE] * 500 + [{**ONE, "labels": ["x"]}])
    escaped = tmp_path / "b.jsonl"
    escaped.write_text(json.dumps(ONE)[:-1] + ', "l\\u0061bels": ["x"]}\n')
    tables = [open_question_table(path) for path in (late, escaped)]
    assert all(one.has("labels") and not one.has("group") for one in tables)
    check_same_columns(tables, Wanted(names=column_names(None, OWN_COLUMNS), is_own=True))


def test_an_id_in_two_files_is_told_or_left_out(tmp_path: Path) -> None:
    files = [
        write(tmp_path / name, [{**ONE, "question_id": one} for one in ids])
        for name, ids in (("a.jsonl", (1, 2)), ("b.jsonl", (2, 3)))
    ]
    with pytest.raises(SourceError, match=r"b\.jsonl: got 1 question_ids in several files \('2'\), expected"):
        read(*files)
    reading = read(*files, on_bad_row="skip")
    assert reading.table["question_id"].to_list() == ["1", "3"]
    assert reading.dropped == {"question_id: expected in one file only": 2}


def test_a_column_of_another_type_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"question": ["Why?"], "answer": ["so"]}).with_columns(
        question_id=pl.datetime(2020, 1, 1)
    ).write_parquet(path)
    with pytest.raises(SourceError) as error:
        read(path)
    assert str(error.value) == (
        f"{path}: got a Parquet table with the columns 'question', 'answer', 'question_id', expected other "
        "types. Name its columns with --columns.\n"
        "  - column question_id: got Datetime(time_unit='us', time_zone=None), expected text or whole numbers"
    )


def test_an_empty_list_of_answers_says_no_more_than_none(tmp_path: Path) -> None:
    rows = [{"question": "Q", "answer": "b", "answers": answers} for answers in ([], None, ["a", "c"])]
    reading = read(write(tmp_path / "t.jsonl", rows))
    assert reading.table["answers"].to_list() == [["b"], ["b"], ["a", "c"]]


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv"])
def test_a_shard_without_rows_adds_none_and_no_rows_at_all_are_an_error(tmp_path: Path, form: str) -> None:
    paths = [tmp_path / f"{name}.{form}" for name in "abc"]
    frame = pl.DataFrame([ONE | {"question_id": "7"}, ONE | {"question_id": "8"}])
    for path, rows in zip(paths, (frame, frame.clear(), frame.clear()), strict=True):
        {"parquet": rows.write_parquet, "arrow": rows.write_ipc, "csv": rows.write_csv}[form](path)
    assert read(*paths).table["question_id"].to_list() == ["7", "8"]
    assert read(*reversed(paths)).table["question_id"].to_list() == ["7", "8"]
    with pytest.raises(SourceError) as error:
        read(*paths[1:])
    assert str(error.value) == (
        f"{paths[1]} and {paths[2]}: got no rows, expected at least one. Check that this is the right file."
    )


def test_an_index_that_pandas_leaves_out_is_no_reason_to_number_rows(tmp_path: Path) -> None:
    path, index = tmp_path / "t.parquet", pd.RangeIndex(100, 102, name="question_id")
    frame = pd.DataFrame([ONE, ONE], index=index)
    frame.to_parquet(path)
    with pytest.raises(SourceError) as error:
        read(path)
    assert str(error.value) == (
        f"{path}: got question_id as the index of a pandas frame, without its values, expected a column. "
        "Write the frame again after frame.reset_index()."
    )
    frame.reset_index().to_parquet(path)
    assert read(path).table["question_id"].to_list() == ["100", "101"]
    frame.rename_axis(None).to_parquet(path)
    assert read(path).table["question_id"].to_list() == ["1", "2"]


@given(
    st.lists(st.sampled_from(["a", "a b", "a-", "aa", "a>", "b", "ä"]), min_size=1, unique=True),
    st.lists(st.none() | st.sampled_from(["", "=", "x", "\u00e4", "\U0001f642"]), min_size=7, max_size=7),
)
def test_items_are_sorted_whatever_the_names_of_columns(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], values: list[str | None]
) -> None:
    given_items = dict(zip(names, values, strict=False))
    path = write(tmp_path_factory.mktemp("items") / "t.jsonl", [ONE | given_items])
    expected = sorted(f"{name}={value}" for name, value in given_items.items() if value is not None)
    assert read(path, items=tuple(names)).table["attributes"].to_list() == [expected]
