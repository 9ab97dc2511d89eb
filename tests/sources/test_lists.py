"""Lists in nested columns and in text: unpacked where that has one reading, refused elsewhere."""

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.errors import SourceError
from shortcut_miner.scoring.accuracy import score_questions
from shortcut_miner.sources.item_tables import Columns, read_table
from shortcut_miner.sources.opening.nested import NoListError, record_keys
from shortcut_miner.sources.opening.serialised import list_in
from shortcut_miner.sources.questions.tables import read_question_table
from shortcut_miner.sources.questions.vqa import read_vqa

Write = Callable[[str, Any], Path]
Make = Callable[..., dict[str, Any]]

ADVICE = 'Write each cell as a JSON list such as ["a", "b"], or as text with the separator between.'


def answers_of(path: Path) -> list[list[str] | None]:
    return read_question_table(path).table["answers"].to_list()


def table_of(*cells: Any) -> pl.DataFrame:
    rows = [
        {"question_id": at, "question": "Why?", "answer": "x", "answers": one} for at, one in enumerate(cells)
    ]
    return pl.DataFrame(rows)


def message_of(path: Path) -> str:
    with pytest.raises(SourceError) as error:
        read_question_table(path)
    return str(error.value)


@pytest.mark.parametrize(
    ("cells", "lists"),
    [
        (["['red', 'blue']", "['red']"], [["red", "blue"], ["red"]]),
        (['["red", "blue"]', "[]"], [["red", "blue"], []]),
        (["('red', 'blue')", "()"], [["red", "blue"], []]),
        (["[\"it's\", 'a, b']", r"['\'', 'é\n']"], [["it's", "a, b"], ["'", "é\n"]]),
        (["[{'answer': 'red', 'answer_id': 1}]", "[]"], [["red"], []]),
        (["{'answer': ['red', 'blue'], 'answer_id': [1, 2]}", ""], [["red", "blue"], None]),
        (["[1, 2.0, None]", "['a|b']"], [["1", "2", None], ["a|b"]]),
        (["red|blue", "[unknown]|no"], [["red", "blue"], ["[unknown]", "no"]]),
        (["[unknown]", "no"], [["[unknown]"], ["no"]]),
    ],
)
@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
def test_lists_in_text(tmp_path: Path, form: str, cells: list[str], lists: list[Any]) -> None:
    path, frame = tmp_path / "t", table_of(*cells)
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[form](path)
    reading = read_question_table(path)
    assert reading.table["answers"].to_list() == lists
    count = sum(cell != "" for cell in cells) if cells[0][0] in "[({" and cells[1] != "no" else 0
    assert reading.notes == ((f"answers, lists written as text, unpacked: {count}",) if count else ())


def test_lists_in_some_cells_only_are_told_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    table_of("['red']", "blue", "", "['a', 'b']").write_csv(path)
    assert message_of(path).splitlines() == [
        f"{path}: got lists written as text in 2 cells of the column 'answers' and other text in 1, expected "
        f"one of both in all. {ADVICE}",
        "  - line 2: \"['red']\"",
        "  - line 5: \"['a', 'b']\"",
        "  - line 3: 'blue'",
    ]


@pytest.mark.parametrize(
    "cell",
    [
        "['a' 'b']",  # NumPy
        "{a,b}",  # Postgres
        "{'a', 'b'}",  # a set: in no order
        "['a', ['b']]",
        "[True]",
        "[{'text': 'a'}]",
        "['a', ...]",
        "[array(['a'], dtype=object)]",
        r"['\d']",
        "['a', nan]",
        "[a, b]",
        r"['\ud800']",  # half a pair: Python has such texts
        r'["\ud800"]',
    ],
)
def test_text_that_only_looks_like_a_list_is_refused(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "t.csv"
    table_of("['x']", cell).write_csv(path)
    assert message_of(path).splitlines() == [
        f"{path}: got 1 cells of the column 'answers' that look like lists and can't be read as such, "
        f"expected JSON lists or Python's of texts. {ADVICE}",
        f"  - line 3: {cell!r}",
    ]


@given(texts=st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=6), max_size=4))
def test_what_python_and_json_print_is_read_back(texts: list[str]) -> None:
    assert list_in(repr(texts)) == ast.literal_eval(repr(texts)) == texts
    assert list_in(json.dumps(texts)) == list_in(json.dumps(texts, ensure_ascii=False)) == texts
    if len(texts) > 1:
        with pytest.raises(NoListError):
            list_in("[" + " ".join(map(repr, texts)) + "]")


# ---- nested columns ----


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [
        ([[["a"], ["b"]]], "List(List(String))"),
        ([[{"text": "a"}]], "List(Struct({'text': String}))"),
        ([{"answer": "a"}], "Struct({'answer': String})"),
        ([[True]], "List(Boolean)"),
        ([[b"a"]], "List(Binary)"),
        ([True], "Boolean"),
    ],
)
def test_nested_columns_without_a_reading_are_refused(tmp_path: Path, cells: list[Any], dtype: str) -> None:
    path = tmp_path / "t.parquet"
    table_of("x").with_columns(answers=pl.Series(cells)).write_parquet(path)
    assert message_of(path).splitlines()[1:] == [
        f"  - column answers: got {dtype}, expected text, lists of text, or records with an answer"
    ]


@pytest.mark.parametrize("value", [[["a"]], [{"text": "a"}], {"answer": "a"}, True, [True]])
def test_nested_json_without_a_reading_is_refused(write: Write, value: Any) -> None:
    good = {"question_id": 1, "question": "Why?", "answer": "x", "answers": ["x"]}
    rows = [good, good | {"question_id": 2, "answers": value}]
    for name, content in (("t.json", rows), ("t.jsonl", "\n".join(map(json.dumps, rows)))):
        message = message_of(write(name, content))
        assert "answers: got " in message
        assert message.endswith("expected text, lists of text, or records with an answer")


def test_records_are_the_annotators_of_vqa(
    tmp_path: Path, write: Write, question: Make, annotation: Make
) -> None:
    """Records equal as a whole count once, in every form, as in VQA's own files."""
    few = [("red", 1), ("red", 1), ("blue", 1), ("red", 2)]
    kinds = {
        1: [{"answer": one, "answer_confidence": "yes", "answer_id": at} for one, at in few],
        2: [{"answer": one, "answer_confidence": "yes", "answer_id": at} for at, (one, _) in enumerate(few)],
        3: [],
    }
    asked = [question(one) for one in kinds]
    told = [annotation(one, multiple_choice_answer="red", answers=few) for one, few in kinds.items()]
    theirs, _, _ = read_vqa(write("q", {"questions": asked}), write("a", {"annotations": told}))
    assert theirs["answer_record_key"].to_list() == [[0, 0, 0, 1], None, None]
    rows = [one | {"answer": "red", "answers": kinds[one["question_id"]]} for one in asked]
    lists = [
        row | {"answers": {name: [one[name] for one in row["answers"]] for name in kinds[1][0]}}
        for row in rows
    ]
    schema = {"question_id": pl.Int64, "image_id": pl.Int64, "question": pl.String, "answer": pl.String}
    fields = {"answer": pl.String, "answer_confidence": pl.String, "answer_id": pl.Int64}
    frames = [
        pl.DataFrame(rows, schema=schema | {"answers": pl.List(pl.Struct(fields))}),
        pl.DataFrame(
            lists,
            schema=schema | {"answers": pl.Struct({name: pl.List(kind) for name, kind in fields.items()})},
        ),
    ]
    files = [write("rows.json", rows), write("lists.json", lists)]
    for at, frame in enumerate(frames):
        frame.write_parquet(tmp_path / f"{at}.parquet")
        files.append(tmp_path / f"{at}.parquet")
    text = [row | {"answers": repr(row["answers"])} for row in rows]
    pl.DataFrame(text).write_csv(tmp_path / "t.csv")
    files.append(tmp_path / "t.csv")
    predictions = pl.DataFrame({"question_id": ["1", "2"], "answer": ["red", "red"]})
    for file in files:
        table = read_question_table(file).table
        assert table["answers"].to_list() == theirs["answers"].to_list()
        assert table["answer_record_key"].to_list() == theirs["answer_record_key"].to_list()
        assert table.schema["answer_record_key"] == pl.List(pl.UInt8)
        scores = [
            score_questions(one.head(2), predictions, scorer="vqa-official", model="m")["accuracy"].to_list()
            for one in (table, theirs)
        ]
        assert scores[0] == scores[1]
        assert scores[0][0] != scores[0][1]


def test_records_of_an_answer_alone_are_equal_if_their_answers_are() -> None:
    records = pl.Series([[{"answer": "a"}, {"answer": "b"}], [{"answer": "a"}], [], None])
    assert record_keys(records).to_list() == [[0, 0], None, None, None]


def test_too_many_kinds_of_records(tmp_path: Path) -> None:
    records = [{"answer": "a", "answer_id": at} for at in (*range(257), 0)]
    table_of(records).write_parquet(tmp_path / "t")
    assert message_of(tmp_path / "t") == (
        f"{tmp_path / 't'}, column answers: got more than 256 kinds of answer records, some of them twice, "
        "expected at most 256. Correct them."
    )


# ---- what mine reads ----


def items_of(path: Path, *, words: str | None = None, objects: str | None = None) -> list[Any]:
    named = Columns(words=words, objects=objects, answer="answer", separator=",")
    return (
        read_table(path, named, skip_bad_rows=False, limit=None)
        .table["words" if words else "objects"]
        .to_list()
    )


def test_items_written_as_lists(tmp_path: Path) -> None:
    frame = pl.DataFrame({"items": ["['milk', 'bread']", "['eggs']"], "answer": ["a", "b"]})
    frame.write_csv(tmp_path / "t.csv")
    for asked in ({"objects": "items"}, {"words": "items"}):
        assert items_of(tmp_path / "t.csv", **asked) == [["milk", "bread"], ["eggs"]]
    frame.with_columns(items=pl.Series(["{milk,bread}", "{eggs}"])).write_csv(tmp_path / "t.csv")
    with pytest.raises(SourceError, match="2 cells of the column 'items' that look like lists"):
        items_of(tmp_path / "t.csv", objects="items")


def test_sentences_in_brackets_stay_sentences(tmp_path: Path) -> None:
    pl.DataFrame({"w": ["[inaudible]", "[laughter]"], "answer": ["a", "b"]}).write_csv(tmp_path / "t.csv")
    assert items_of(tmp_path / "t.csv", words="w") == [["[inaudible]"], ["[laughter]"]]


def test_items_of_other_types(tmp_path: Path) -> None:
    columns: list[tuple[pl.Series, list[Any]]] = [
        (pl.Series(["milk, eggs", "eggs"], dtype=pl.Categorical), [["milk", "eggs"], ["eggs"]]),
        (pl.Series([["milk"], ["eggs"]], dtype=pl.List(pl.Categorical)), [["milk"], ["eggs"]]),
        (pl.Series([["a", "b"], ["c", "d"]], dtype=pl.Array(pl.String, 2)), [["a", "b"], ["c", "d"]]),
        (pl.Series([[1, 2], [3]]), [["1", "2"], ["3"]]),
    ]
    answer = pl.Series(["a", "b"], dtype=pl.Categorical)
    for column, items in columns:
        pl.DataFrame({"items": column, "answer": answer}).write_parquet(tmp_path / "t")
        assert items_of(tmp_path / "t", objects="items") == items
