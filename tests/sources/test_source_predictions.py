import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import is_id

from shortcut_miner import schemas
from shortcut_miner.errors import SourceError
from shortcut_miner.sources.answers.predictions import read_predictions

Write = Callable[[str, Any], Path]
ROWS = [("42", "yes"), ("7", "NA"), ("007", ""), ("9", 'two\nlines, "quoted"\u2028;\ttab')]
EXPECTED = (
    "expected a table or JSON list with an id (question_id, questionId, qid, id) and an answer (answer, "
    "prediction, pred, response, output, generated_text, pred_ans, text), {id: answer}, VLMEvalKit results "
    "(index, prediction), lmms-eval or lm-eval samples, or an inspect_ai log."
)


def message_of(path: Path, on_bad_row: str = "error") -> str:
    with pytest.raises(SourceError) as caught:
        read_predictions(path, on_bad_row=on_bad_row)  # type: ignore[arg-type]
    return str(caught.value)


def as_records() -> list[dict[str, str]]:
    return [{"question_id": question_id, "answer": answer} for question_id, answer in ROWS]


def as_lines(newline: str = "\n") -> str:
    return newline.join(json.dumps(record, ensure_ascii=False) for record in as_records())


def as_csv(delimiter: str = ",", newline: str = "\n") -> str:
    quoted = ['"' + answer.replace('"', '""') + '"' for _, answer in ROWS]
    lines = [f"question_id{delimiter}answer"]
    lines += [f"{one}{delimiter}{answer}" for (one, _), answer in zip(ROWS, quoted, strict=True)]
    return newline.join(lines) + newline


WRITTEN = {
    "list": ("VQA results JSON", json.dumps(as_records())),
    "indented list": ("VQA results JSON", json.dumps(as_records(), indent=2)),
    "lines": ("predictions JSONL", as_lines()),
    "lines with CRLF, blank lines and a byte order mark": (
        "predictions JSONL",
        "\ufeff" + as_lines("\r\n\r\n") + "\r\n",
    ),
    "comma": ("predictions CSV", as_csv()),
    "semicolon": ("predictions CSV", as_csv(";")),
    "tab": ("predictions CSV", as_csv("\t")),
    "CRLF and a byte order mark": ("predictions CSV", "\ufeff" + as_csv(newline="\r\n")),
    "blank lines": ("predictions CSV", "\n" + as_csv(newline="\n\n")),
}


@pytest.mark.parametrize("form", WRITTEN)
def test_every_form_gives_the_same_table(write: Write, form: str) -> None:
    kind, content = WRITTEN[form]
    reading = read_predictions(write("predictions.txt", content))
    assert reading.table.rows() == ROWS
    assert reading.kind == kind
    assert reading.notes == ("empty answers kept: 1",)
    schemas.validated(reading.table, schemas.Predictions, "predictions")


@pytest.mark.parametrize("id_type", [pl.String, pl.Categorical])
def test_parquet(tmp_path: Path, id_type: Any) -> None:
    path = tmp_path / "predictions"
    frame = pl.DataFrame(ROWS, schema={"question_id": pl.String, "answer": pl.String}, orient="row")
    frame.select("answer", pl.lit(1).alias("model"), pl.col("question_id").cast(id_type)).write_parquet(path)
    reading = read_predictions(path)
    assert reading.table.rows() == ROWS
    assert reading.kind == "predictions Parquet"


def test_numbers_as_ids(tmp_path: Path, write: Write) -> None:
    path = tmp_path / "predictions"
    pl.DataFrame(
        {"question_id": [2**63], "answer": ["x"]}, schema_overrides={"question_id": pl.UInt64}
    ).write_parquet(path)
    assert read_predictions(path).table.rows() == [("9223372036854775808", "x")]
    path = write("p.json", [{"question_id": 2**70, "answer": "x", "answer_id": 3}])
    assert read_predictions(path).table.rows() == [(str(2**70), "x")]
    assert read_predictions(write("p.jsonl", '{"question_id": 5, "answer": "x"}')).table.rows() == [
        ("5", "x")
    ]


def test_other_columns_and_their_order_do_not_matter(write: Write) -> None:
    path = write("p.csv", "model,answer,question_id\nm,yes,42\n")
    assert read_predictions(path).table.rows() == [("42", "yes")]


def test_all_bad_records_are_told_at_once(write: Write) -> None:
    records = [
        {"question_id": 1, "answer": "yes"},
        {"question_id": 2, "answer": 2},
        {"question_id": 3, "answer": None},
        {"question_id": 4},
        {"question_id": 5.5, "answer": "x"},
        {"question_id": "", "answer": "x"},
        {"question_id": 7, "answer": ["x"]},
        {"question_id": 1, "answer": "no"},
        None,
    ]
    problems = [
        ("1", "answer: got 2, expected text"),
        ("2", "answer: got null, expected text"),
        ("3", "answer: got no such field, expected text"),
        ("4", "question_id: got 5.5, expected a whole number or text"),
        ("5", "question_id: got '', expected an id"),
        ("6", 'answer: got ["x"], expected text'),
        ("8", "record: got null, expected an object"),
    ]
    path = write("p.json", records)
    twice = "question_id: got '1' 2 times, expected an id that occurs once"
    assert message_of(path).splitlines() == [
        f"{path}: got 9 bad of 9 predictions, expected none. Fix them, or keep one answer a question with "
        "--on-duplicate first and skip the other rows with --on-bad-row skip.",
        f"  - record 0 and record 7, {twice}",
        *(f"  - record {number}, {problem}" for number, problem in problems),
    ]
    records[7] = {"question_id": 8, "answer": "no"}
    path = write("p.jsonl", "\n".join(map(json.dumps, records)))
    assert message_of(path).splitlines() == [
        f"{path}: got 7 bad of 9 predictions, expected none. Fix them, or skip them with --on-bad-row skip.",
        *(f"  - line {int(number) + 1}, {problem}" for number, problem in problems),
    ]
    reading = read_predictions(path, on_bad_row="skip")
    assert reading.table.rows() == [("1", "yes"), ("8", "no")]
    assert reading.dropped == {
        "answer: expected text": 4,
        "question_id: expected a whole number or text": 1,
        "question_id: expected an id": 1,
        "record: expected an object": 1,
    }


def test_lines_are_numbered_with_blank_ones(write: Write) -> None:
    path = write("p.jsonl", '\n{"question_id": 1, "answer": "x"}\n\n{"question_id": 2, "answer": 5}\n')
    assert message_of(path).endswith("\n  - line 4, answer: got 5, expected text")


def test_a_cut_line_and_two_records_on_a_line(write: Write) -> None:
    good = '{"question_id": 1, "answer": "x"}\n'
    assert message_of(write("p.jsonl", good + '{"question_id": 2, "ans')).endswith(
        '\n  - line 2, record: got {"question_id": 2, "ans (input data was truncated), expected a valid value'
    )
    two = '{"question_id": 2, "answer": "x"},{"question_id": 3, "answer": "x"}'
    message = message_of(write("p.jsonl", good + two))
    assert "\n  - line 2, record: got " in message
    assert "trailing characters" in message


def test_bad_csv_rows_are_told_with_their_lines(write: Write) -> None:
    path = write("p.csv", 'question_id,answer\n1,"a\nb"\n2\n3,x,y\n1,x\n,x\n')
    assert message_of(path).splitlines()[1:] == [
        "  - line 3 and line 6, question_id: got '1' 2 times, expected an id that occurs once",
        "  - line 4, row: got 1 values, expected 2, as in the header",
        "  - line 5, row: got 3 values, expected 2, as in the header",
        "  - line 7, question_id: got '', expected an id",
    ]


def test_an_open_quote_and_bytes_that_are_no_text(write: Write) -> None:
    path = write("p.csv", 'question_id,answer\n1,x\n2,"never closed\n3,x\n')
    assert message_of(path) == (
        f"{path}: got broken CSV at line 4 (unexpected end of data), "
        "expected closed quotes. Correct that line."
    )
    path = write("p.csv", b"question_id,answer\n1,caf\xe9\n")
    assert message_of(path) == (
        f"{path}: got bytes that are no UTF-8 (byte 24: \\xe9), expected JSON, CSV or Parquet. "
        "Save text as UTF-8, or check that this is the right file."
    )


@pytest.mark.parametrize(
    ("content", "got"),
    [
        ("question,label\n1,yes\n", "a text table with the columns 'question', 'label' (1 rows)"),
        ("yes\nno\n", "text that starts with 'yes no'"),
        (" \n \n", "nothing but blanks"),
        ({"a": 1}, "a JSON object with the keys 'a' (1 keys)"),
        ('{"a": 1}\n{"a": 2}\n', "JSON Lines with the keys 'a' (2 lines)"),
        ([], "an empty JSON list"),
        ([{"id": "1", "label": "x"}], "a JSON list of records with 'id', 'label' (1 records)"),
    ],
)  # fmt: skip
def test_another_format_is_named(write: Write, content: Any, got: str) -> None:
    path = write("p", content)
    is_table = " rows)" in got or "Lines" in got or "records" in got
    advice = (
        "Name its columns with --columns, such as --columns question_id=ID,answer=TEXT."
        if is_table
        else "Check that this is the right file."
    )
    assert message_of(path) == f"{path}: got {got}, {EXPECTED} {advice}"


def test_a_format_of_another_option_is_sent_there(write: Write) -> None:
    path = write("p", {"questions": [{}]})
    assert message_of(path) == (
        f"{path}: got VQA questions JSON (1 questions), {EXPECTED} Give it to vqa-ce build --train-questions "
        "or --val-questions, or to rad build --questions."
    )


def test_a_csv_of_only_a_header(write: Write) -> None:
    path = write("p.csv", "question_id,answer\n")
    assert message_of(path).startswith(f"{path}: got 0 predictions, expected at least one.")


def test_parquet_columns_and_nulls(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    pl.DataFrame({"question_id": [1, None, 3], "answer": ["x", "y", None]}).write_parquet(path)
    assert message_of(path).splitlines()[1:] == [
        "  - row 1, question_id: got null, expected an id",
        "  - row 2, answer: got null, expected text",
    ]
    assert read_predictions(path, on_bad_row="skip").table.rows() == [("1", "x")]
    pl.DataFrame({"question_id": [1], "answer": [3]}).write_parquet(path)
    assert message_of(path).splitlines()[1:] == ["  - column answer: got Int64, expected text"]


TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=10)
IDS = TEXTS.filter(is_id)


@given(answers=st.dictionaries(IDS, TEXTS, min_size=1, max_size=8), is_ascii=st.booleans())
def test_what_is_written_is_read_back(write: Write, answers: dict[str, str], is_ascii: bool) -> None:
    rows = list(answers.items())
    records = [{"question_id": question_id, "answer": answer} for question_id, answer in rows]
    lines = "\n".join(json.dumps(record, ensure_ascii=is_ascii) for record in records)
    assert read_predictions(write("p", json.dumps(records, ensure_ascii=is_ascii))).table.rows() == rows
    assert read_predictions(write("p", lines)).table.rows() == rows
    frame = pl.DataFrame(rows, schema=["question_id", "answer"], orient="row")
    assert read_predictions(write("p", frame.write_csv(quote_style="always"))).table.rows() == rows


@pytest.mark.real
def test_real_predictions(real_data: Path) -> None:
    path = real_data / "predictions" / "okvqa_val_pica_vinvl.json"
    reading = read_predictions(path)
    schemas.validated(reading.table, schemas.Predictions, "real")
    records = json.loads(path.read_text())
    assert reading.table.rows() == [(str(one["question_id"]), one["answer"]) for one in records]
    assert reading.table.height == 5046
