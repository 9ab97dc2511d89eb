import gzip
import json
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner import schemas
from shortcut_miner.errors import BackendError, SourceError
from shortcut_miner.sources.answers.formats import PREDICTIONS
from shortcut_miner.sources.answers.predictions import read_predictions
from shortcut_miner.sources.recognise import recognise

Write = Callable[[str, Any], Path]
ODD_TEXTS = ["n/a", "null", "None", "NA", "nan", "#N/A", "TRUE", "007", "1e5", "=1+1", " x ", ""]


def message_of(path: Path, **options: Any) -> str:
    with pytest.raises(SourceError) as caught:
        read_predictions(path, **options)
    return str(caught.value)


# ---- lmms-eval ----


def sample(number: int, doc: Any = None, responses: Any = None, **fields: Any) -> dict[str, Any]:
    """Return a line of a samples file; `doc` None leaves the doc out, as some versions do."""
    record = {
        "doc_id": number,
        "doc": doc,
        "target": "['a', 'b']",
        "filtered_resps": [["yes"]] if responses is None else responses,
        "doc_hash": "0f",
        "input": "What?\nAnswer with a word.",
    }
    return {name: value for name, value in record.items() if name != "doc" or doc is not None} | fields


def as_lines(*records: Any) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def asked(number: int | str, **fields: Any) -> dict[str, Any]:
    return {"question_id": number, "question": "What?", "image_id": 5} | fields


@pytest.mark.parametrize(
    "responses", [[["two  cats"]], ["two  cats"], "two  cats", [[" two  cats\n", "dog"]]]
)
def test_the_answer_is_the_first_filtered_response(write: Write, responses: Any) -> None:
    path = write("m_samples_vqav2.jsonl", as_lines(sample(0, asked(42), responses, resps=[["no"]])))
    reading = read_predictions(path)
    assert reading.table.rows() == [("42", "two  cats")]
    assert reading.kind == "lmms-eval samples JSONL"
    assert reading.notes == (
        "question ids: doc.question_id",
        "answers: filtered_resps without the white space around them",
    )
    schemas.validated(reading.table, schemas.Predictions, "samples")


@pytest.mark.parametrize("text", ["n/a", "null", "None", "NA", "007", "NaN", "two\nlines", "\u2028 x", "\\"])
def test_answers_stay_what_they_are(write: Write, text: str) -> None:
    path = write("samples", as_lines(sample(0, asked("007"), [[f"  {text}\t"]])))
    assert read_predictions(path).table.rows() == [("007", text.strip())]


@pytest.mark.parametrize(
    ("docs", "ids", "place"),
    [
        ([{"id": 0, "question_id": 7, "questionId": 7}], ["7"], "doc.question_id"),
        ([{"id": "0007", "questionId": "0007"}], ["0007"], "doc.questionId"),
        ([{"qid": 5}, {"qid": 6}], ["5", "6"], "doc.qid"),
        ([{"id": "0007", "imageId": "n1"}, {"id": 3}], ["0007", "3"], "doc.id"),
    ],
)
def test_the_id_is_the_questions(write: Write, docs: Sequence[Any], ids: list[str], place: str) -> None:
    path = write("samples", as_lines(*(sample(9 - at, doc) for at, doc in enumerate(docs))))
    reading = read_predictions(path)
    assert reading.table["question_id"].to_list() == ids
    assert reading.notes[0] == f"question ids: {place}"


def test_some_versions_leave_doc_out_and_a_metric_has_the_id(write: Write) -> None:
    records = [
        sample(n, exact_match=0.3, **{"submission,none": {"question_id": 100 + n, "answer": "normalised"}})
        for n in range(3)
    ]
    reading = read_predictions(write("samples", as_lines(*records)))
    assert reading.table.rows() == [("100", "yes"), ("101", "yes"), ("102", "yes")]
    assert reading.notes[0] == "question ids: submission,none.question_id"


def test_without_an_id_the_number_of_the_document_serves_on_request_only(write: Write) -> None:
    path = write("samples", as_lines(sample(3, exact_match=1.0), sample(2)))
    assert message_of(path) == (
        f"{path}: got samples with no doc and no metric with a question_id, expected one of doc.question_id, "
        "doc.questionId, doc.qid, doc.id. Name the field of the ids, as in --columns question_id=FIELD; if "
        "the ids are the numbers of the documents, with --columns question_id=doc_id; or let the task's "
        "process_results return the question_id."
    )
    assert read_predictions(path, columns="question_id=doc_id").table["question_id"].to_list() == ["3", "2"]
    reading = read_predictions(path, allow_doc_id=True)
    assert reading.table.rows() == [("3", "yes"), ("2", "yes")]
    assert reading.notes[0] == "question ids: doc_id"
    path = write("samples", as_lines(sample(3, {"question": "?", "key": 5})))
    assert "with a doc with 'key', 'question' and no metric" in message_of(path)
    assert "--columns question_id=doc.key;" in message_of(path)
    assert read_predictions(path, columns="question_id=doc.key").table.rows() == [("5", "yes")]
    path = write("samples", as_lines(sample(3, asked(42))))
    assert read_predictions(path, allow_doc_id=True).table.rows() == [("42", "yes")]


def test_bad_samples_are_told_at_once(write: Write) -> None:
    records = [
        sample(0, asked(1)),
        sample(1, asked(2), [["-0.5", "False"], ["-1.5", "True"]]),
        sample(2, asked(3), []),
        sample(3, asked(4), [[]]),
        sample(4, asked(5), [[None]]),
        sample(5, asked(6), 5),
        sample(6, {"question": "?"}),
        sample(7),
        sample(8, asked(9.5)),
        sample(9, asked("")),
        sample(10, asked(1)),
        {"doc_id": 11, "doc": asked(12)},
    ]
    path = write("samples", as_lines(*records) + '{"doc_id": 12, "doc": {"question_id": 13}, "filtered_re')
    lines = message_of(path).splitlines()
    advice = (
        "Fix them, or keep one answer a question with --on-duplicate first and skip the other rows with "
        "--on-bad-row skip."
    )
    assert lines[0] == f"{path}: got 13 bad of 13 predictions, expected none. {advice}"
    one = "expected one response"
    assert lines[1:] == [
        "  - line 1 and line 11, question_id: got '1' 2 times, expected an id that occurs once",
        f"  - line 2, filtered_resps: got 2 responses, {one}",
        f"  - line 3, filtered_resps: got no response, {one}",
        f"  - line 4, filtered_resps: got no response, {one}",
        "  - line 5, filtered_resps[0][0]: got null, expected text",
        "  - line 6, filtered_resps: got 5, expected text or a list",
        "  - line 7, doc.question_id: got no such field, expected a value",
        "  - line 8, doc: got no such field, expected an object",
        "  - line 9, doc.question_id: got 9.5, expected a whole number or text",
        "  - line 10, question_id: got '', expected an id",
        "  - line 12, filtered_resps: got no such field, expected text or a list",
        '  - line 13, record: got {"doc_id": 12, "doc": {"question_id": 13}, "filtered_re (input data was '
        "truncated), expected a valid value",
    ]
    reading = read_predictions(write("samples", as_lines(*records[:10])), on_bad_row="skip")
    assert reading.table.rows() == [("1", "yes")]
    assert sum(reading.dropped.values()) == 9
    assert reading.dropped["filtered_resps: expected one response"] == 3


def test_metrics_that_are_nan_do_no_harm(write: Write) -> None:
    records = [
        sample(n, asked(n), [["NaN"]], score=value) for n, value in enumerate([float("nan"), 1, -1e999])
    ]
    path = write("samples", as_lines(*records))
    assert recognise(path).kind == "lmms-eval samples JSONL"
    reading = read_predictions(path)
    assert reading.table.rows() == [("0", "NaN"), ("1", "NaN"), ("2", "NaN")]
    assert reading.notes[-1] == "lines with NaN or infinite numbers read as null: 2"
    every = [sample(n, asked(n), score=float("nan")) for n in range(3)]
    assert len(read_predictions(write("samples", as_lines(*every))).table) == 3


def test_packed_samples_with_blank_lines_and_a_byte_order_mark(write: Write) -> None:
    text = "\ufeff\n" + as_lines(sample(0, asked(1))).replace("\n", "\r\n\r\n")
    path = write("samples.gz", gzip.compress(text.encode()))
    assert read_predictions(path).table.rows() == [("1", "yes")]
    assert recognise(path).counts == {"answers": 1}


# ---- VLMEvalKit ----


def write_xlsx(path: Path, rows: Sequence[Sequence[Any]], **other_sheets: Sequence[Sequence[Any]]) -> Path:
    """Write rows as VLMEvalKit does: texts as texts, numbers as numbers, None as an empty cell."""
    with xlsxwriter.Workbook(path) as book:
        for name, cells in {"Sheet1": rows, **other_sheets}.items():
            sheet = book.add_worksheet(name)
            for row, values in enumerate(cells):
                for column, value in enumerate(values):
                    if isinstance(value, str) and value:
                        sheet.write_string(row, column, value)
                    elif value is not None and value != "":
                        sheet.write(row, column, value)
    return path


def as_tsv(rows: Sequence[Sequence[Any]]) -> str:
    """Return rows as pandas writes them with all values quoted."""
    quoted = [["" if one is None else str(one).replace('"', '""') for one in row] for row in rows]
    return "".join("\t".join(f'"{one}"' for one in row) + "\n" for row in quoted)


HEADER = ["index", "question_id", "question", "answer", "category", "prediction"]
ROWS = [[n, 100 + n, "q\tq", "right", None, text] for n, text in enumerate(ODD_TEXTS)]
ANSWERS = [(str(100 + n), text) for n, text in enumerate(ODD_TEXTS)]


@pytest.mark.parametrize("form", ["xlsx", "tsv", "csv", "json"])
def test_every_table_form_gives_the_same_answers(write: Write, tmp_path: Path, form: str) -> None:
    table = [HEADER, *ROWS]
    if form == "xlsx":
        path, kind = write_xlsx(tmp_path / "results", table, other=[["x"]]), "VLMEvalKit results xlsx"
    elif form == "json":
        records = [dict(zip(HEADER, row, strict=True)) for row in ROWS]
        path, kind = write("results", records), "VLMEvalKit results JSON"
    else:
        text = as_tsv(table)
        path, kind = (
            write("results", text if form == "tsv" else text.replace("\t", ",")),
            "VLMEvalKit results TSV",
        )
    reading = read_predictions(path)
    assert reading.table.rows() == ANSWERS
    assert (reading.kind, reading.dropped) == (kind, {})
    assert reading.notes == (
        "question ids: column question_id", "answers: column prediction", "empty answers kept: 1",
    )  # fmt: skip
    found = recognise(path)
    assert (found.kind, found.counts, found.is_known) == (kind, {"answers": len(ROWS)}, True)
    assert found.file == reading.file
    schemas.validated(reading.table, schemas.Predictions, "results")


@pytest.mark.parametrize("form", ["xlsx", "tsv", "json"])
def test_the_index_is_the_id_where_there_is_no_other(write: Write, tmp_path: Path, form: str) -> None:
    header, rows = ["index", "prediction"], [["007", "a"], [7, "b"], ["COCO 7", "c"], [581929003, "d"]]
    if form == "xlsx":
        path = write_xlsx(tmp_path / "results.xlsx", [header, *rows])
    elif form == "tsv":
        path = write("results.tsv", "index\tprediction\n" + "".join(f"{a}\t{b}\n" for a, b in rows))
    else:
        path = write("results.json", [dict(zip(header, row, strict=True)) for row in rows])
    reading = read_predictions(path)
    assert reading.table.rows() == [(str(one), answer) for one, answer in rows]
    assert reading.notes[0] == "question ids: column index, as there is no column question_id"


def test_numbers_in_cells(tmp_path: Path) -> None:
    header = ["index", "prediction"]
    rows = [[1.0, 2], [2, 2.5], ["3.0", 10**6], [262148000, True], [4, None], [2**52, "2.0"]]
    reading = read_predictions(write_xlsx(tmp_path / "r.xlsx", [header, *rows]))
    assert reading.table.rows() == [
        ("1", "2"), ("2", "2.5"), ("3", "1000000"), ("262148000", "true"), ("4", ""), (str(2**52), "2.0"),
    ]  # fmt: skip


def test_bad_rows_of_a_workbook_are_told_by_their_rows(tmp_path: Path) -> None:
    rows = [["index", "prediction"], [1, "a"], [], [None, "b"], ["  ", "c"], [1, "d"], [2, "e"]]
    path = write_xlsx(tmp_path / "r.xlsx", rows)
    assert message_of(path).splitlines() == [
        f"{path}: got 4 bad of 5 predictions, expected none. Fix them, or keep one answer a question with "
        "--on-duplicate first and skip the other rows with --on-bad-row skip.",
        "  - row 2 and row 6, question_id: got '1' 2 times, expected an id that occurs once",
        "  - row 4, question_id: got '', expected an id",
        "  - row 5, question_id: got '  ', expected an id",
    ]
    reading = read_predictions(path, on_bad_row="skip", on_duplicate="last")
    assert reading.table.rows() == [("1", "d"), ("2", "e")]
    assert reading.dropped == {
        "question_id: expected an id": 2,
        "answer to a question answered already, the last one kept": 1,
    }
    told = message_of(path, on_bad_row="skip").splitlines()
    assert told == [
        f"{path}: got 2 bad of 5 predictions, expected none. Fix them, or keep one answer a question with "
        "--on-duplicate first.",
        "  - row 2 and row 6, question_id: got '1' 2 times, expected an id that occurs once",
    ]


@pytest.mark.parametrize(
    ("rows", "got"),
    [
        ([], "an .xlsx file whose first sheet is empty"),
        ([["id", "label"], [1, 2]], "an .xlsx file with the columns 'id', 'label' (1 rows)"),
        ([["index", "question"], [1, 2]], "an .xlsx file with the columns 'index', 'question' (1 rows)"),
    ],
)
def test_other_workbooks_are_named(tmp_path: Path, rows: Sequence[Any], got: str) -> None:
    path = write_xlsx(tmp_path / "other.xlsx", rows)
    assert message_of(path).startswith(f"{path}: got {got}, expected a table or JSON list with an id")
    found = recognise(path)
    assert (got.startswith(found.kind), found.is_known) == (True, False)


def test_a_workbook_of_answers(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "answers.xlsx", [["question_id", "answer"], [1, "red"], ["007", 2]])
    assert recognise(path).kind == "predictions xlsx"
    assert read_predictions(path).table.rows() == [("1", "red"), ("007", "2")]


def test_rows_below_empty_rows_of_a_workbook_have_their_numbers(tmp_path: Path) -> None:
    rows = [[], [], ["question_id", "answer"], ["q1", "red"], [], ["q2", "blue"], ["", "x"]]
    path = write_xlsx(tmp_path / "r.xlsx", rows)
    with pytest.raises(SourceError, match="row 7, question_id: got '', expected an id"):
        read_predictions(path)
    assert read_predictions(path, on_bad_row="skip").table.rows() == [("q1", "red"), ("q2", "blue")]


def test_a_workbook_of_only_a_header(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "r.xlsx", [["index", "prediction"]])
    assert message_of(path).startswith(f"{path}: got 0 predictions, expected at least one.")


def test_damaged_workbooks(tmp_path: Path) -> None:
    whole = write_xlsx(tmp_path / "r.xlsx", [HEADER, *ROWS]).read_bytes()
    cut = tmp_path / "cut.xlsx"
    cut.write_bytes(whole[:-100])
    assert message_of(cut).startswith(f"{cut}: got a zip file that is damaged or ends too early")
    broken = tmp_path / "broken.xlsx"
    with zipfile.ZipFile(broken, "w") as archive:
        archive.writestr("[Content_Types].xml", "<x/>")
        archive.writestr("xl/workbook.xml", "<never closed")
    for read in (read_predictions, recognise):
        with pytest.raises(
            SourceError, match=r"broken.xlsx: got a damaged .xlsx file \(.+\), expected a comp"
        ):
            read(broken)


def test_a_workbook_inside_a_zip(tmp_path: Path) -> None:
    inner = write_xlsx(tmp_path / "r.xlsx", [HEADER, *ROWS])
    path = tmp_path / "r.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(inner, "folder/r.xlsx")
    assert read_predictions(path).table.rows() == ANSWERS
    assert read_predictions(path / "folder" / "r.xlsx").file.member == "folder/r.xlsx"
    assert recognise(path).kind == "VLMEvalKit results xlsx"


def test_without_fastexcel_the_command_to_install_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_xlsx(tmp_path / "r.xlsx", [HEADER, *ROWS])
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(BackendError) as caught:
        read_predictions(path)
    assert str(caught.value) == (
        f"{path}: got no fastexcel (for .xlsx), expected it to be installed. "
        "Run pip install 'shortcut-miner[evaluators]', or save the table as TSV."
    )


def test_no_file_of_that_name(tmp_path: Path) -> None:
    assert "got no such file" in message_of(tmp_path / "r.xlsx")
    assert "got a folder" in message_of(tmp_path)


# ---- what both have to do with other formats ----


def test_kinds_of_predictions_are_listed() -> None:
    assert len({one.kind for one in PREDICTIONS}) == len(PREDICTIONS) == 16


def test_gqa_predictions(write: Write) -> None:
    path = write(
        "gqa.json", [{"questionId": "0012", "prediction": "yes"}, {"questionId": 5, "prediction": ""}]
    )
    reading = read_predictions(path)
    assert reading.table.rows() == [("0012", "yes"), ("5", "")]
    assert reading.kind == recognise(path).kind == "GQA predictions JSON"
    path = write("gqa.json", [{"questionId": "1", "prediction": "x"}, {"questionId": "2", "prediction": 3}])
    assert message_of(path).endswith("\n  - record 1, prediction: got 3, expected text")


@pytest.mark.parametrize("form", ["list", "lines", "csv", "parquet"])
def test_the_right_answer_is_never_taken_for_the_models(write: Write, tmp_path: Path, form: str) -> None:
    record = {"question_id": "1", "answer": "right", "prediction": "given"}
    content: dict[str, Any] = {
        "list": [record],
        "lines": json.dumps(record),
        "csv": ",".join(record) + "\n" + ",".join(record.values()) + "\n",
    }
    if form == "parquet":
        import polars as pl

        path = tmp_path / "p"
        pl.DataFrame([record]).write_parquet(path)
    else:
        path = write("p", content[form])
    assert message_of(path) == (
        f"{path}: got 'answer' beside 'prediction', expected one column that can be the model's answer: the "
        "other may be the right one. Name the model's with --columns answer=prediction or "
        "--columns answer=answer."
    )


SEEDS = [
    as_lines(sample(0, asked(1)), sample(1, asked(2), ["x"], score=float("nan"))).encode(),
    as_lines(sample(0, submission={"question_id": 4}), sample(1, submission={"question_id": 5})).encode(),
    json.dumps([{"questionId": "1", "prediction": "x"}, {"questionId": "2", "prediction": "y"}]).encode(),
    json.dumps([{"index": 1, "answer": "a", "prediction": "x"}, {"index": 2, "prediction": "y"}]).encode(),
    as_tsv([HEADER, *ROWS]).encode(),
]
TOKENS = [
    *(b"", b"null", b"NaN", b'"\\ud800"', b"[]", b"{}", b'""', b"1e999", b"-1", b"[[", b'"'),
    *(b"\xff", b"\x00", b"\r\n", b"\t", b",", b"}", b"]", b"PK\x03\x04", b"\xe2\x80\xa8"),
]


@given(data=st.data(), on_bad_row=st.sampled_from(["error", "skip"]), allow_doc_id=st.booleans())
def test_damaged_files_are_read_or_refused(
    write: Write, data: st.DataObject, on_bad_row: Any, allow_doc_id: bool
) -> None:
    content = data.draw(st.sampled_from(SEEDS))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content)))
        until = data.draw(st.integers(at, min(len(content), at + 12)))
        content = content[:at] + data.draw(st.sampled_from(TOKENS)) + content[until:]
    path = write("damaged", content)
    try:
        reading = read_predictions(path, on_bad_row=on_bad_row, allow_doc_id=allow_doc_id)
        schemas.validated(reading.table, schemas.Predictions, "damaged")
        assert not reading.table.is_empty()
    except SourceError as error:
        assert ", expected " in str(error)
    try:
        recognise(path)
    except SourceError as error:
        assert ", expected " in str(error)


@given(data=st.data())
def test_workbooks_with_damaged_sheets_are_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    whole = write_xlsx(tmp_path / "whole.xlsx", [HEADER, *ROWS])
    path = tmp_path / "damaged.xlsx"
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(path, "w") as new:
        victim = data.draw(st.sampled_from(old.namelist()))
        for name in old.namelist():
            content = old.read(name)
            if name == victim:
                at = data.draw(st.integers(0, len(content)))
                until = data.draw(st.integers(at, min(len(content), at + 30)))
                content = content[:at] + data.draw(st.binary(max_size=8)) + content[until:]
            new.writestr(name, content)
    for read in (read_predictions, recognise):
        try:
            read(path)
        except SourceError as error:
            assert ", expected " in str(error)
