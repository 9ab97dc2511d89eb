"""Content digests and Parquet with provenance."""

import itertools
import shutil
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner import storage
from shortcut_miner.errors import SourceError
from shortcut_miner.storage import (
    InputRecord,
    Provenance,
    parquet_stream,
    read_json_file,
    read_provenance,
    row_order,
    table_sha256,
    write_json,
    write_parquet,
)

RECORD = InputRecord(role="questions", name="q.json", size=3, sha256="ab", content_sha256="cd")
PROVENANCE = Provenance(
    command="test", config={"b": 1, "a": None}, inputs=[RECORD], counts={"rows": 2}, dropped={"bad": 1}
)


COLUMNS = {
    "key": pl.String,
    "text": pl.String,
    "list": pl.List(pl.String),
    "numbers": pl.List(pl.UInt8),
    "value": pl.Float64,
}
ROWS = st.lists(
    st.tuples(
        st.none() | st.text(max_size=3),
        st.none() | st.lists(st.text(max_size=2), max_size=3),
        st.none() | st.lists(st.integers(0, 255), max_size=3),
        st.none() | st.floats(allow_nan=False),
    ),
    max_size=6,
)


def table(rows: list[tuple[object, ...]]) -> pl.DataFrame:
    return pl.DataFrame([(f"{k:02}", *row) for k, row in enumerate(rows)], schema=COLUMNS, orient="row")


@given(rows=ROWS, other=ROWS, seed=st.integers(0, 99))
def test_content_digests(rows: list[tuple[object, ...]], other: list[tuple[object, ...]], seed: int) -> None:
    one, two = table(rows), table(other)
    shuffled = one.sample(fraction=1, shuffle=True, seed=seed)
    assert table_sha256(one, "key") == table_sha256(shuffled, "key")
    assert (table_sha256(one, "key") == table_sha256(two, "key")) == one.equals(two)


def test_provenance_is_in_the_file(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [1, 2, 3]})
    write_parquet(frame, tmp_path / "x.parquet", PROVENANCE)
    stored = read_provenance(tmp_path / "x.parquet")
    assert stored["config"] == {"a": None, "b": 1}
    assert stored["inputs"] == [{"role": "questions", "name": "q.json", "content_sha256": "cd"}]
    assert PROVENANCE.for_manifest()["inputs"][0]["sha256"] == "ab"
    frame.write_parquet(tmp_path / "plain.parquet")
    assert read_provenance(tmp_path / "plain.parquet") == {}


@pytest.mark.parametrize("cuts", [[0, 7], [0, 3, 7], [0, 1, 2, 3, 4, 5, 6, 7], [0, 0, 7], [0, 0]])
def test_a_stream_does_not_depend_on_how_rows_are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cuts: list[int]
) -> None:
    monkeypatch.setattr(storage, "ROW_GROUP_SIZE", 3)
    frame = pl.DataFrame({"id": list("abcdefg"), "n": range(7)}, schema_overrides={"n": pl.UInt32}).head(
        cuts[-1]
    )

    def write(path: Path, edges: list[int]) -> None:
        with parquet_stream(path, PROVENANCE) as append:
            for first, stop in itertools.pairwise(edges):
                append(frame[first:stop])

    write(tmp_path / "cut.parquet", cuts)
    write(tmp_path / "whole.parquet", [0, cuts[-1]])
    assert pl.read_parquet(tmp_path / "cut.parquet").equals(frame)
    assert (tmp_path / "cut.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert pq.ParquetFile(tmp_path / "cut.parquet").num_row_groups == -(-len(frame) // 3)


def test_our_own_json(tmp_path: Path) -> None:
    write_json({"b": 1, "a": ["é"]}, tmp_path / "x.json")
    assert (tmp_path / "x.json").read_text() == '{\n  "a": [\n    "é"\n  ],\n  "b": 1\n}\n'
    (tmp_path / "broken.json").write_text('{"a": ')
    with pytest.raises(SourceError, match=r"broken.json: got broken JSON"):
        read_json_file(tmp_path / "broken.json")
    with pytest.raises(SourceError, match=r"gone.json: got No such file"):
        read_json_file(tmp_path / "gone.json")
    shutil.rmtree(tmp_path)


@given(
    st.lists(st.tuples(st.sampled_from(["b", "a", "é", "", None]), st.lists(st.integers(0, 5), max_size=6))),
    st.booleans(),
)
def test_rows_are_ordered_by_runs_as_by_sorting_all(runs, is_ascending) -> None:
    rows = [
        (one, number) for one, numbers in runs for number in (sorted({*numbers}) if is_ascending else numbers)
    ]
    frame = pl.DataFrame(rows, schema={"one": pl.String, "number": pl.UInt32}, orient="row").unique(
        maintain_order=True
    )
    for key in (("one", "number"), ("number", "one")):
        assert frame[row_order(frame, key)].equals(frame.sort(key, nulls_last=False))


def test_only_runs_are_sorted_where_that_is_all(monkeypatch) -> None:
    frame = pl.DataFrame({"one": ["b"] * 3 + ["a"] * 2, "number": [1, 2, 5, 0, 7]})
    monkeypatch.setattr(storage, "_ranks", lambda *_: pytest.fail("all rows were sorted"))
    assert row_order(frame, ("one", "number")).to_list() == [3, 4, 0, 1, 2]


@given(
    rows=st.lists(
        st.tuples(
            st.none() | st.text("0129", max_size=3) | st.sampled_from(["9" * 17, "9" * 18, "٣", "a"]),
            st.none() | st.sampled_from(["b", "a", "ab", ""]),
            st.none() | st.floats(0, 1) | st.just(0.5),
        ),
        max_size=12,
    ),
    names=st.sampled_from([["id"], ["id", "label"], ["id", "label", "score"], ["score", "id"]]),
    is_in_runs=st.booleans(),
    is_plain=st.booleans(),
)
def test_rows_are_sorted_as_polars_sorts_them(rows, names, is_in_runs, is_plain) -> None:
    schema = {"id": pl.String, "label": pl.String, "score": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    if is_plain:
        frame = frame.filter(pl.col("id").str.contains("^[0-9]{1,17}$"))
    if is_in_runs:
        frame = pl.concat([frame, frame]).sort("id", descending=True, maintain_order=True)
    assert frame[row_order(frame, names)].equals(frame.sort(names, maintain_order=True))
