import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.opening import json_records, table_columns
from shortcut_miner.sources.opening.columns import Column
from shortcut_miner.sources.opening.files import open_source
from shortcut_miner.sources.opening.flat_tables import FlatTable, open_table
from shortcut_miner.sources.opening.json_records import repeated_keys
from shortcut_miner.sources.opening.table_columns import check_has_rows, read_blocks, read_columns, read_kept

Write = Callable[[str, Any], Path]

RECORDS: list[dict[str, Any]] = [
    {"id": "007", "name": "yes", "score": 0.5, "place": 3, "more": "x"},
    {"id": "8", "name": "", "score": -1.0, "place": 0, "more": "y"},
    {"id": "9", "name": "NA", "score": 2.0, "place": 7, "more": "z"},
]
FORMS = ["CSV", "TSV", "semicolon", "JSON", "JSONL", "Parquet", "Arrow", "xlsx"]
NEEDS = {
    "question_id": Column("id", names=("question_id", "id")),
    "name": Column("text"),
    "score": Column("number"),
    "place": Column("whole"),
    "absent": Column("text", is_optional=True),
}
ROWS = [
    (0, "007", "yes", 0.5, 3, None),
    (1, "8", "", -1.0, 0, None),
    (2, "9", "NA", 2.0, 7, None),
]


def as_file(folder: Path, form: str) -> Path:
    path, frame = folder / "table", pl.DataFrame(RECORDS)
    if form in ("CSV", "TSV", "semicolon"):
        frame.write_csv(path, separator={"CSV": ",", "TSV": "\t", "semicolon": ";"}[form])
    elif form == "JSON":
        path.write_text(json.dumps(RECORDS))
    elif form == "JSONL":
        frame.write_ndjson(path)
    elif form == "Parquet":
        frame.write_parquet(path)
    elif form == "Arrow":
        frame.write_ipc(path)
    else:
        with xlsxwriter.Workbook(path) as book:
            sheet = book.add_worksheet()
            for row, values in enumerate([list(RECORDS[0]), *(one.values() for one in RECORDS)]):
                for column, value in enumerate(values):
                    (sheet.write_string if isinstance(value, str) else sheet.write)(row, column, value)
    return path


def table_of(path: Path) -> FlatTable:
    return open_table(open_source(path, keep_workbooks=True))


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_columns(tmp_path: Path, form: str, is_packed: bool) -> None:
    path = as_file(tmp_path, form)
    if is_packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    flat = table_of(path)
    assert flat.form == {"TSV": "CSV", "semicolon": "CSV"}.get(form, form)
    assert (list(flat.columns), flat.total) == (list(RECORDS[0]), 3)
    table, problems = read_columns(flat, NEEDS)
    assert (table.rows(), problems) == (ROWS, [])
    assert table.dtypes == [pl.UInt32, pl.String, pl.String, pl.Float64, pl.Int64, pl.String]
    label = {"JSONL": "line 3", "JSON": "record 2", "xlsx": "row 4", "Parquet": "row 2", "Arrow": "row 2"}
    assert flat.label(2) == label.get(form, "line 4")


@pytest.mark.parametrize("form", FORMS)
def test_values_that_may_be_anything(tmp_path: Path, form: str) -> None:
    flat = table_of(as_file(tmp_path, form))
    needs = {"place": Column("value"), "name": Column("any"), "more": Column("texts")}
    table, _ = read_columns(flat, needs)
    assert table["place"].to_list() == ["3", "0", "7"]
    assert table["name"].to_list() == ["yes", "", "NA"]
    assert table["more"].to_list() == [["x"], ["y"], ["z"]]


@pytest.mark.parametrize("form", FORMS)
def test_missing_columns_are_told(tmp_path: Path, form: str) -> None:
    flat = table_of(as_file(tmp_path, form))
    needs = {"name": Column("text"), "image_id": Column("id", names=("image", "img"))}
    assert flat.missing(needs) == ["image"]
    with pytest.raises(SourceError) as caught:
        read_columns(flat, needs)
    assert str(caught.value).splitlines() == [
        f"{flat.path}: got a {flat.form} table with the columns 'id', 'name', 'score', 'place', 'more', "
        "expected name, image_id. Rename or convert its columns.",
        "  - column image_id: got no such column, expected text or whole numbers",
    ]


def test_columns_of_another_type_are_told(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [True], "b": ["x"], "c": [["x"]]})
    frame.write_parquet(tmp_path / "t")
    needs = {"a": Column("id"), "b": Column("whole"), "c": Column("value")}
    with pytest.raises(SourceError) as caught:
        read_columns(table_of(tmp_path / "t"), needs)
    assert str(caught.value).splitlines()[1:] == [
        "  - column a: got Boolean, expected text or whole numbers",
        "  - column b: got String, expected whole numbers",
        "  - column c: got List(String), expected text or numbers",
    ]


def test_whole_numbers(tmp_path: Path, write: Write) -> None:
    pl.DataFrame({"a": [1.0, 1.5, None]}).write_parquet(tmp_path / "t")
    wanted = [1, None, None]
    assert read_columns(table_of(tmp_path / "t"), {"a": Column("whole")})[0]["a"].to_list() == wanted
    path = write("t.csv", "a,b\n1,\n1.5,\nx,\n")
    assert read_columns(table_of(path), {"a": Column("whole")})[0]["a"].to_list() == wanted


def test_lists_of_texts(tmp_path: Path, write: Write) -> None:
    needs = {"a": Column("texts")}
    path = write("t.csv", 'a;b\nx| y ;\n"";\n')
    assert read_columns(table_of(path), needs)[0]["a"].to_list() == [["x", "y"], None]
    path = write("t.json", [{"a": ["x", 2]}, {"a": [{"answer": "y"}]}, {"a": "z|w"}, {"a": None}, {}])
    wanted = [["x", "2"], ["y"], ["z", "w"], None, None]
    assert read_columns(table_of(path), needs)[0]["a"].to_list() == wanted
    pl.DataFrame({"a": [["x"], None]}).write_parquet(tmp_path / "t")
    assert read_columns(table_of(tmp_path / "t"), needs)[0]["a"].to_list() == [["x"], None]


def test_records_that_do_not_fit_are_told_by_their_place(write: Write) -> None:
    needs = {"a": Column("id"), "b": Column("number")}
    lines = ['{"a": 1, "b": 2}', "", '{"a": 1.5, "b": "x"}', "{broken", '{"a": 2, "b": 0}']
    flat = table_of(write("t.jsonl", "\n".join(lines)))
    table, problems = read_columns(flat, needs)
    assert table.rows() == [(0, "1", 2.0), (3, "2", 0.0)]  # the other two can't be decoded
    told = [(flat.label(one.records[0]), one.field, one.expected) for one in problems]
    assert told == [
        ("line 3", "a", "a whole number or text"),
        ("line 3", "b", "a number"),
        ("line 4", "record", "a valid value"),
    ]
    flat = table_of(write("t.csv", 'a,b\n1,"2\n"\n\n3\n4,5,6\n7,8\n'))
    table, problems = read_columns(flat, needs)
    assert table["record"].to_list() == [0, 3]
    assert [(flat.label(one.records[0]), one.got) for one in problems] == [
        ("line 5", "1 values"),
        ("line 6", "3 values"),
    ]


@pytest.mark.parametrize("form", ["CSV", "quoted", "TSV", "xlsx", "Parquet", "Arrow"])
def test_a_column_that_is_needed_and_there_twice_is_refused(tmp_path: Path, form: str) -> None:
    path, rows = tmp_path / "t", [["a", "b", "a", "c"], ["1", "2", "3", "4"], ["5", "6", "7", "8"]]
    if form == "xlsx":
        with xlsxwriter.Workbook(path) as book:
            sheet = book.add_worksheet()
            for at, row in enumerate(rows):
                sheet.write_row(at, 0, row)
    elif form in ("Parquet", "Arrow"):
        table = pa.table([*map(pa.array, zip(*rows[1:], strict=True))], names=rows[0])
        if form == "Parquet":
            pq.write_table(table, path)
        else:
            feather.write_feather(table, path)
    else:
        mark = "\t" if form == "TSV" else ","
        text = "\n".join(mark.join(row) for row in rows)
        path.write_text(text.replace("2", '"2"') if form == "quoted" else text)
    others = {"b": Column("text"), "c": Column("text")}
    assert read_columns(table_of(path), others)[0].rows() == [(0, "2", "4"), (1, "6", "8")]
    told = f"{path}: got the column 'a' twice, expected it once. Rename or remove one of them."
    for needs in ({"a": Column("text")}, {"ours": Column("any", is_optional=True, names=("a",))}):
        for read in (read_columns, lambda flat, needs: [*read_blocks(flat, needs, 2)]):
            with pytest.raises(SourceError) as caught:
                read(table_of(path), needs)
            assert str(caught.value) == told


def test_a_column_that_only_later_records_have(write: Write) -> None:
    records = [{"a": 1}] * 30 + [{"a": 1, "b": "x"}]
    flat = table_of(write("t.json", records))
    assert flat.missing({"b": Column("any")}) == []
    assert read_columns(flat, {"b": Column("any")})[0]["b"].to_list() == [None] * 30 + ["x"]
    optional = {"b": Column("text", is_optional=True)}
    assert read_columns(flat, optional)[0]["b"].to_list() == [None] * 30 + ["x"]


def test_a_document_that_is_no_table(write: Write) -> None:
    document = json.dumps({"info": 1, "questions": []}, indent=1)
    assert list(table_of(write("q.json", document)).columns) == ["info", "questions"]
    with pytest.raises(SourceError, match="inside a value, expected its end"):
        table_of(write("q.json", document[:-3]))


def test_tables_without_rows(tmp_path: Path, write: Write) -> None:
    pl.DataFrame({"a": []}).write_parquet(tmp_path / "t")
    with pytest.raises(SourceError, match="got a table without rows, expected at least one"):
        check_has_rows(table_of(tmp_path / "t"), "answers")
    with pytest.raises(SourceError, match="got 0 answers, expected at least one"):
        check_has_rows(table_of(write("t.csv", "a,b\n")), "answers")
    pl.DataFrame().write_parquet(tmp_path / "none")
    with pytest.raises(SourceError, match="column a: got no such column"):
        read_columns(table_of(tmp_path / "none"), {"a": Column("any")})


@pytest.mark.parametrize("form", FORMS)
def test_blocks_are_the_whole_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.setattr("shortcut_miner.sources.opening.json_records.CHUNK_RECORDS", 1)
    monkeypatch.setattr("shortcut_miner.sources.opening.table_columns.CHUNK_RECORDS", 1)
    flat = table_of(as_file(tmp_path, form))
    blocks = [table for table, _ in read_blocks(flat, NEEDS, 2)]
    assert pl.concat(blocks).rows() == ROWS
    assert [len(block) for block in blocks] == ([2, 1] if form in ("Parquet", "JSON", "JSONL") else [3])


def test_only_the_columns_and_rows_asked_for_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flat = table_of(as_file(tmp_path, "Parquet"))
    read, asked = table_columns.read_batches, []

    def noted(content: Any, columns: list[str]) -> Any:
        asked.extend(columns)
        return read(content, columns, rows=1)

    monkeypatch.setattr(table_columns, "read_batches", noted)
    needs = {"name": Column("text"), "place": Column("whole")}
    kept = read_kept(flat, needs, lambda piece: piece.filter(pl.col("place") > 2), "a name and a place")
    assert (kept.rows(), asked) == ([("yes", 3), ("NA", 7)], ["name", "place"])


@pytest.mark.parametrize("name", ["more", 'a"b', "a\\b", "a\tb", "a?b"])
@pytest.mark.parametrize("form", ["JSON", "JSONL"])
def test_one_field_for_several_columns_under_any_name(write: Write, form: str, name: str) -> None:
    records = [{name: "x|y", "a?b ": 1}, {name: "z"}]
    lines = "\n".join(map(json.dumps, records))
    flat = table_of(write("t", records if form == "JSON" else lines))
    needs = {"one": Column("text", names=(name,)), "two": Column("texts", names=(name,))}
    needs |= {"more": Column("any", is_optional=True), "other": Column("any", True, ("a?b ",))}
    table, problems = read_columns(flat, needs)
    assert (table["one"].to_list(), table["two"].to_list()) == (["x|y", "z"], [["x", "y"], ["z"]])
    assert (table["other"].to_list(), problems) == ([1, None], [])


@pytest.mark.parametrize("value", [["d", "e"], {"d": 1}])
def test_values_that_are_lists_are_problems_of_their_record(write: Write, value: Any) -> None:
    flat = table_of(write("t.json", [{"a": "x"}, {"a": value}, {"a": None}, {"a": 1.5}, {"a": True}]))
    table, (problem,) = read_columns(flat, {"a": Column("value")})
    assert table.rows() == [(0, "x"), (2, None), (3, "1.5"), (4, "true")]
    assert (problem.records, problem.got, problem.expected) == ((1,), json.dumps(value), "text or numbers")


@pytest.mark.parametrize("form", FORMS)
def test_ids_are_text_or_whole_numbers(tmp_path: Path, form: str) -> None:
    path = tmp_path / "t"
    ids = [1.0, 20.0, 1.5]
    if form == "JSON":
        path.write_text(json.dumps([{"id": one} for one in ids]))
    elif form == "JSONL":
        path.write_text("\n".join(json.dumps({"id": one}) for one in ids))
    elif form in ("Parquet", "Arrow"):
        frame = pl.DataFrame({"id": ids})
        (frame.write_parquet if form == "Parquet" else frame.write_ipc)(path)
    elif form == "xlsx":
        with xlsxwriter.Workbook(path) as book:
            book.add_worksheet().write_column(0, 0, ["id", *ids])
    else:
        path.write_text("\n".join(["id", *map(str, ids)]))
    flat = table_of(path)
    table, problems = read_columns(flat, {"id": Column("id")})
    assert table["id"].to_list() == ["1", "20", "1.5"]
    wanted = ((2,), "id", "1.5", "a whole number or text")
    assert [(one.records, one.field, one.got, one.expected) for one in problems] == [wanted]
    # fastexcel writes whole numbers of a sheet without .0 by itself.
    assert flat.notes == (() if form == "xlsx" else ("id, floats read as whole numbers: 2",))


def test_whole_answers_are_lists_of_texts(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1, None]}).write_parquet(tmp_path / "t")
    assert read_columns(table_of(tmp_path / "t"), {"a": Column("texts")})[0]["a"].to_list() == [["1"], None]


@given(
    rows=st.lists(st.lists(st.text(st.sampled_from('ab",;\n\r '), max_size=3), min_size=1, max_size=3)),
    size=st.sampled_from([1, 2, 1000]),
)
def test_csv_is_split_as_the_standard_library_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: list[list[str]], size: int
) -> None:
    import csv

    monkeypatch.setattr("shortcut_miner.sources.opening.csv_text._ROWS_AT_ONCE", size)
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([["x", "y"], *rows])
    flat = table_of(path)
    table, problems = read_columns(flat, {"x": Column("text"), "y": Column("text")})
    good = [(at, *row) for at, row in enumerate(rows) if len(row) == 2]
    assert table.rows() == good
    assert [one.records[0] for one in problems] == [at for at, row in enumerate(rows) if len(row) != 2]
    assert flat.total == len(rows)


def test_keys_that_an_object_has_twice() -> None:
    content = b'{"a": {"x": 1}, "b": {"x": 1}, "a": {"x": 2}, "c": {"a": 1}}'
    assert repeated_keys(content, ["a", "b", "c"], 3, "id") == []
    (problem,) = repeated_keys(content, ["a", "b", "c"], 4, "id")
    assert (problem.records, problem.field, problem.got) == ((0,), "id", "2 entries")


@pytest.mark.parametrize(
    ("last", "expected"),
    [(["c", "d"], ["c", "d"]), (None, None), ([], []), ([1], ["1"]), ([{"answer": "e"}], ["e"])],
)
def test_records_are_read_in_chunks_as_they_are_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: object, expected: object
) -> None:
    path, needs = tmp_path / "t.jsonl", {"id": Column("id"), "texts": Column("texts")}
    rows = [{"id": 1.0, "texts": ["a"]}, {"id": 2, "texts": ["b"]}, {"id": "03", "texts": last}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr(json_records, "CHUNK_RECORDS", 2)
    flat = open_table(open_source(path))
    table, problems = read_columns(flat, needs)
    assert table.rows() == [(0, "1", ["a"]), (1, "2", ["b"]), (2, "03", expected)]
    assert problems == []
    assert flat.decisions == {"id, floats read as whole numbers": 1}


def test_a_column_of_lists_is_judged_as_a_whole_in_chunks_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.jsonl"
    cells = ["['a']", "['b']", "not a list", "nor this"]
    path.write_text("".join(json.dumps({"texts": cell}) + "\n" for cell in cells))
    monkeypatch.setattr(json_records, "CHUNK_RECORDS", 2)
    with pytest.raises(SourceError, match="got lists written as text in 2 cells of the column 'texts'"):
        read_columns(open_table(open_source(path)), {"texts": Column("texts")})
