"""JSON records: exact for every text, in ASCII, and read by Python's own reader."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from exports.cases import texts
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.exports import records
from shortcut_miner.sources.images.image_files import Images

rows = st.lists(
    st.fixed_dictionaries(
        {
            "text": st.none() | texts,
            "number": st.none() | st.integers(-(1 << 63), (1 << 63) - 1),
            "list": st.none() | st.lists(texts, max_size=3),
        }
    ),
    min_size=1,
    max_size=6,
)
SCHEMA = {"text": pl.String, "number": pl.Int64, "list": pl.List(pl.String)}


def known(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


@given(rows)
def test_records_come_back_without_what_is_unknown(drawn: list[dict[str, Any]]) -> None:
    written = records.record_texts(pl.DataFrame(drawn, schema=SCHEMA))
    assert [json.loads(text) for text in written] == [known(row) for row in drawn]


@given(st.lists(st.none() | texts, min_size=1))
def test_values_become_json_texts(drawn: list[str | None]) -> None:
    table = pl.DataFrame({"a": drawn}, schema={"a": pl.String})
    written = table.select(records.json_texts(pl.col("a"))).to_series().to_list()
    assert [None if text is None else json.loads(text) for text in written] == drawn


@pytest.mark.parametrize("rows_at_once", [1, 2, 100])
def test_lists_and_lines_are_cut_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_at_once: int
) -> None:
    monkeypatch.setattr(records, "_ROWS_AT_ONCE", rows_at_once)
    texts = pl.Series([json.dumps({"a": text}, ensure_ascii=False) for text in ("é\n", "😀\u2028", "x", "")])
    records.write_records(texts, tmp_path / "a.json")
    records.write_lines(texts, tmp_path / "a.jsonl")
    expected = [{"a": "é\n"}, {"a": "😀\u2028"}, {"a": "x"}, {"a": ""}]
    # The programs that read these open them without an encoding.
    assert json.loads((tmp_path / "a.json").read_text(encoding="ascii")) == expected
    lines = (tmp_path / "a.jsonl").read_text(encoding="ascii").splitlines()
    assert [json.loads(line) for line in lines] == expected


def test_no_records_are_an_empty_list(tmp_path: Path) -> None:
    records.write_records(pl.Series([], dtype=pl.String), tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text()) == []


def test_images_are_named_by_their_files_and_the_others_by_their_ids() -> None:
    places = {
        "1": "/data/val/COCO_val2014_000000000001.jpg",
        "2": "C:\\images\\b.v1.png",
        "3": "https://x/y/c.jpg?w=1",
    }
    stems = records.image_stems(pl.Series(["3", "1", "2", "4", "1"]), Images(kind="files", places=places))
    assert stems.to_list() == ["c", "COCO_val2014_000000000001", "b.v1", "4", "COCO_val2014_000000000001"]
