"""Which column is scored: a second one that could be the model's is refused until one is named."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sources.test_evaluators import write_xlsx

from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.options import AnswerOptions
from shortcut_miner.sources.answers.predictions import read_answers, read_predictions

Write = Callable[[str, Any], Path]
FORMS = ("json", "jsonl", "csv", "tsv", "parquet", "feather")
RIGHT = [{"question_id": str(n), "answer": f"right {n}", "response": f"said {n}"} for n in (1, 2, 3)]


def written(tmp_path: Path, form: str, records: list[dict[str, Any]]) -> Path:
    path, frame = tmp_path / f"p.{form}", pl.DataFrame(records)
    if form == "json":
        path.write_text(json.dumps(records))
    elif form == "tsv":
        frame.write_csv(path, separator="\t")
    else:
        write = {"jsonl": "ndjson", "feather": "ipc"}.get(form, form)
        getattr(frame, f"write_{write}")(path)
    return path


@pytest.mark.parametrize("form", FORMS)
def test_an_answer_beside_a_response_is_refused_until_one_is_named(tmp_path: Path, form: str) -> None:
    path = written(tmp_path, form, RIGHT)
    with pytest.raises(SourceError) as caught:
        read_predictions(path)
    assert str(caught.value) == (
        f"{path}: got 'answer' beside 'response', expected one column that can be the model's answer: the "
        "other may be the right one. Name the model's with --columns answer=response or "
        "--columns answer=answer."
    )
    for name in ("response", "answer"):
        reading = read_predictions(path, columns=f"answer={name}")
        assert reading.table.rows() == [(one["question_id"], one[name]) for one in RIGHT]
        assert reading.notes[-1] == f"answer: column {name}"


def test_columns_of_a_sheet_are_named_too(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    path = write_xlsx(tmp_path / "p.xlsx", [list(RIGHT[0]), *(list(one.values()) for one in RIGHT)])
    reading = read_predictions(path, columns="answer=response")
    assert reading.table.rows() == [(one["question_id"], one["response"]) for one in RIGHT]
    with pytest.raises(SourceError, match="got 'answer' beside 'response'"):
        read_predictions(path, columns="question_id=question_id")


@pytest.mark.parametrize(
    "name",
    [
        "answers", "Answer", "pred", "model_prediction", "Response", "raw_output", "text", "generated",
        "GT_answer", "model_output", "generation", "question_answer", "predictedAnswer",
    ],
)  # fmt: skip
def test_names_that_could_be_answers(tmp_path: Path, name: str) -> None:
    record = {"question_id": 1, "answer": "a", name: "b"}
    for form in ("json", "csv", "parquet"):
        with pytest.raises(SourceError, match=f"got 'answer' beside '{name}'"):
            read_predictions(written(tmp_path, form, [record]))


@pytest.mark.parametrize(
    "name",
    [
        "question", "image", "model", "prompt", "question_type", "answer_type", "answerType", "answer_id",
        "question_text", "image_text", "prompt_text", "context", "split", "answer_confidence", "category",
    ],
)  # fmt: skip
def test_names_that_are_no_answers(tmp_path: Path, name: str) -> None:
    record = {"question_id": 1, "answer": "a", name: "b"}
    for form in ("json", "csv", "parquet"):
        assert read_predictions(written(tmp_path, form, [record])).table.rows() == [("1", "a")]


@pytest.mark.parametrize("value", [0.25, 3, ["b"], {"b": 1}])
def test_only_text_counts(tmp_path: Path, value: Any) -> None:
    record = {"question_id": 1, "answer": "a", "predicted": value}
    forms = ("json", "jsonl", "parquet") if isinstance(value, list | dict) else FORMS
    for form in forms:
        assert read_predictions(written(tmp_path, form, [record])).table.rows() == [("1", "a")]


def test_several_rivals_are_all_named(tmp_path: Path) -> None:
    path = written(tmp_path, "json", [{"question_id": 1, "answer": "a", "pred": "b", "output": "c"}])
    with pytest.raises(SourceError, match="got 'answer' beside 'pred', 'output', expected one column"):
        read_predictions(path)


def test_ids_and_answers_under_other_names(tmp_path: Path) -> None:
    records = [{"qid": "007", "text": "x", "answer": "right"}, {"qid": "8", "text": "y", "answer": "right"}]
    for form in FORMS:
        path = written(tmp_path, form, records)
        reading = read_predictions(path, columns="question_id=qid, answer=text")
        assert reading.table.rows() == [("007", "x"), ("8", "y")]
    options = AnswerOptions(columns="question_id=qid,answer=text")
    assert read_answers(path, options).table.rows() == reading.table.rows()


def test_what_is_not_named_keeps_its_own_names(tmp_path: Path) -> None:
    path = written(tmp_path, "json", [{"questionId": "1", "prediction": "x", "answer": "right"}])
    assert read_predictions(path, columns="answer=prediction").table.rows() == [("1", "x")]
    path = written(tmp_path, "json", [{"qid": "1", "prediction": "x"}])
    assert read_predictions(path, columns="question_id=qid").table.rows() == [("1", "x")]
    path = written(tmp_path, "json", [{"qid": "1", "prediction": "x", "answer": "right"}])
    with pytest.raises(SourceError, match="got 'answer' beside 'prediction'"):
        read_predictions(path, columns="question_id=qid")


@pytest.mark.parametrize("form", FORMS)
def test_a_named_column_that_is_not_there(tmp_path: Path, form: str) -> None:
    path = written(tmp_path, form, RIGHT)
    with pytest.raises(SourceError) as caught:
        read_predictions(path, columns="answer=respons")
    assert str(caught.value) == (
        f"{path}: got a table with the columns 'question_id', 'answer', 'response', expected 'respons' (the "
        "answer of each row) too; it has 'response'. Name its columns with --columns, such as "
        "--columns answer=NAME."
    )


@pytest.mark.parametrize(
    ("columns", "got"), [("answer", "'answer'"), ("model=x", "'model=x'"), ("answer=", "'answer='")]
)
def test_a_mapping_that_is_none(columns: str, got: str) -> None:
    told = f"columns: got {got}, expected NAME=COLUMN with NAME one of question_id, answer. Change --columns."
    with pytest.raises(ConfigError) as caught:
        AnswerOptions(columns=columns)
    assert str(caught.value) == told
    with pytest.raises(
        ConfigError, match=r"columns: got \{'answer': 'x'\}, expected text, such as answer=label"
    ):
        AnswerOptions(columns={"answer": "x"})  # type: ignore[arg-type]


@pytest.mark.parametrize(("keep", "kept"), [("first", "b"), ("last", "d")])
@pytest.mark.parametrize("form", FORMS)
def test_one_of_several_answers_is_kept_and_the_others_counted(
    tmp_path: Path, form: str, keep: Any, kept: str
) -> None:
    said = (("1", "a"), ("2", "b"), ("2", "c"), ("3", "e"), ("2", "d"))
    path = written(tmp_path, form, [{"question_id": one, "answer": answer} for one, answer in said])
    reading = read_predictions(path, on_duplicate=keep)
    assert sorted(reading.table.rows()) == [("1", "a"), ("2", kept), ("3", "e")]
    assert reading.dropped == {f"answer to a question answered already, the {keep} one kept": 2}
    with pytest.raises(SourceError, match="or keep one answer a question with --on-duplicate first"):
        read_predictions(path)


def test_equal_answers_to_one_question_are_two_all_the_same(tmp_path: Path) -> None:
    path = written(
        tmp_path, "json", [{"question_id": 1, "answer": "a"}] * 2 + [{"question_id": 2, "answer": "b"}]
    )
    with pytest.raises(SourceError, match="'1' 2 times"):
        read_predictions(path)


def test_a_bad_row_is_no_second_answer(tmp_path: Path) -> None:
    said = ({"question_id": 1, "answer": None}, {"question_id": 1, "answer": "b"})
    path = written(tmp_path, "parquet", list(said))
    reading = read_predictions(path, on_bad_row="skip")
    assert reading.table.rows() == [("1", "b")]
    assert reading.dropped == {"answer: expected text": 1}
