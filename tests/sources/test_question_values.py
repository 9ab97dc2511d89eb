from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.questions.values import read_id_list, read_question_values, values_reader

Write = Callable[[str, Any], Path]

COLUMNS: Any = {"question_id": "id", "region_index": "index", "importance": "number"}
ROWS = [("007", 0, 0.5), ("7", 3, -1.0)]


def as_file(write: Write, tmp_path: Path, form: str) -> Path:
    records = [dict(zip(COLUMNS, row, strict=True)) for row in ROWS]
    if form == "json":
        return write("v.json", records)
    if form == "gqa":
        return write("v.json", [{"questionId": one.pop("question_id"), "more": 1} | one for one in records])
    if form == "jsonl":
        return write("v.jsonl", pl.DataFrame(records).write_ndjson())
    if form == "csv":
        return write("v.csv", pl.DataFrame(records).write_csv())
    pl.DataFrame(records).write_parquet(tmp_path / "v.parquet")
    return tmp_path / "v.parquet"


@pytest.mark.parametrize("form", ["json", "gqa", "jsonl", "csv", "parquet"])
def test_every_form_gives_the_same_rows(write: Write, tmp_path: Path, form: str) -> None:
    path = as_file(write, tmp_path, form)
    table = read_question_values(path, COLUMNS).table
    assert table.rows() == ROWS
    assert table.dtypes == [pl.String, pl.UInt32, pl.Float64]
    read = values_reader(path, COLUMNS, "importance")
    assert read is not None
    assert read().table.rows() == ROWS
    assert values_reader(path, COLUMNS, "probability") is None
    if form != "gqa":
        assert read_id_list(path)[0].to_list() == ["007", "7"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ([{"question_id": 1, "importance": 1}], "expected region_index too"),
        ([{"question_id": 1, "region_index": -1, "importance": 1}], "region_index: got null"),
        (
            [{"question_id": 1, "region_index": 1, "importance": "x"}],
            'importance: got "x", expected a number',
        ),
        ([{"question_id": " ", "region_index": 1, "importance": 1}], "question_id: got ' ', expected an id"),
        ("question_id,region_index,importance\n1,2\n", "row: got 2 values, expected 3"),
        ("question_id,region_index,importance\n1,2,inf\n", "importance: got inf, expected a finite number"),
        ([], "got 0 records"),
    ],
)
def test_rows_that_do_not_fit(write: Write, content: Any, told: str) -> None:
    with pytest.raises(SourceError) as error:
        read_question_values(write("v", content), COLUMNS)
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("content", "ids"),
    [
        (["007", "8"], ["007", "8"]),
        ([7, 8], ["7", "8"]),
        ({"007": {}, "8": {}}, ["007", "8"]),
        ([{"questionId": "007"}, {"questionId": "8"}], ["007", "8"]),
        ("007\r\n8\n\n", ["007", "8"]),
        ("x,question_id\n1,007\n2,8\n", ["007", "8"]),
        ("questionId\n007\n8\n", ["007", "8"]),
    ],
)
def test_lists_of_ids(write: Write, content: Any, ids: list[str]) -> None:
    assert read_id_list(write("ids", content))[0].to_list() == ids


def test_a_column_that_occurs_late_is_found(write: Write) -> None:
    records = [{"question_id": at} for at in range(30)] + [{"question_id": 30, "importance": 1}]
    assert values_reader(write("v.json", records), {"question_id": "id"}, "importance") is not None
    assert values_reader(write("v.json", records[:30]), {"question_id": "id"}, "importance") is None


def test_notes_of_repairs_are_kept(write: Write) -> None:
    path = write("v.json", '[{"question_id": 1, "importance": 1, "more": NaN}]')
    notes = read_question_values(path, {"question_id": "id"}).notes
    assert notes == ("NaN or infinite numbers read as null: 1",)


def test_lists_of_ids_in_tables_of_other_forms(tmp_path: Path) -> None:
    frame = pl.DataFrame({"question_id": ["007", "8"]})
    frame.write_ipc(tmp_path / "a")
    frame.write_excel(tmp_path / "x.xlsx")
    for name in ("a", "x.xlsx"):
        assert read_id_list(tmp_path / name)[0].to_list() == ["007", "8"]


def test_ids_that_are_no_utf8(write: Write) -> None:
    with pytest.raises(SourceError, match=r"ids: got bytes that are no UTF-8 \(byte 6: "):
        read_id_list(write("ids", b"q1\ncaf\xe9\n"))


def test_fractions_are_no_ids(write: Write) -> None:
    assert read_id_list(write("ids", [1.0, "2"]))[0].to_list() == ["1", "2"]
    with pytest.raises(SourceError, match=r"no whole numbers \('?1.5'?\)"):
        read_id_list(write("ids", [1.5, 2]))
