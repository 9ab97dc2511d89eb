"""Atomic folders, content digests and Parquet with provenance."""

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortcut_miner import storage
from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.storage import (
    InputRecord,
    Provenance,
    parquet_stream,
    read_json_file,
    read_provenance,
    staged_folder,
    table_sha256,
    write_json,
    write_parquet,
)

RECORD = InputRecord(role="questions", name="q.json", size=3, sha256="ab", content_sha256="cd")
PROVENANCE = Provenance(
    command="test", config={"b": 1, "a": None}, inputs=[RECORD], counts={"rows": 2}, dropped={"bad": 1}
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_files_appear_together_and_replace_older_ones(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "mine.txt").write_text("the user's")
    with staged_folder(tmp_path) as folder:
        (folder / "a.txt").write_text("new")
        (folder / "manifest.json").write_text("{}")
        assert (tmp_path / "a.txt").read_text() == "old"
    assert (tmp_path / "a.txt").read_text() == "new"
    assert names(tmp_path) == ["a.txt", "manifest.json", "mine.txt"]


def test_what_the_new_manifest_lacks_goes_and_foreign_files_stay(tmp_path: Path) -> None:
    for names_of_run in (["a.txt", "b.txt"], ["a.txt"]):
        with staged_folder(tmp_path) as folder:
            for name in names_of_run:
                (folder / name).write_text("x")
            write_json({"command": "test build"}, folder / "manifest.json")
        (tmp_path / "mine.txt").write_text("the user's")
    assert names(tmp_path) == ["a.txt", "manifest.json", "mine.txt"]
    assert read_json_file(tmp_path / "manifest.json")["files"] == ["a.txt", "manifest.json"]


def test_the_manifest_gets_its_name_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that finds a manifest finds the tables that it speaks for."""
    moved: list[str] = []
    move = Path.replace

    def replace(path: Path, target: Path) -> Path:
        moved.append(path.name)
        return move(path, target)

    monkeypatch.setattr(Path, "replace", replace)
    with staged_folder(tmp_path) as folder:
        for name in ("z.parquet", "a.txt", "run.json"):
            (folder / name).write_text("x")
        write_json({"command": "test build"}, folder / "manifest.json")
    assert moved == ["a.txt", "run.json", "z.parquet", "manifest.json"]
    assert read_json_file(tmp_path / "manifest.json")["files"] == ["a.txt", "manifest.json", "z.parquet"]


def test_another_commands_folder_is_refused(tmp_path: Path) -> None:
    write_json({"command": "test build", "files": ["a.txt"]}, tmp_path / "manifest.json")
    before = (tmp_path / "manifest.json").read_bytes()
    with (
        pytest.raises(
            ConfigError, match=r"got a folder that test build wrote, expected .* one of test score"
        ),
        staged_folder(tmp_path) as folder,
    ):
        write_json({"command": "test score"}, folder / "manifest.json")
    assert names(tmp_path) == ["manifest.json"]
    assert (tmp_path / "manifest.json").read_bytes() == before


def test_a_failure_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(ValueError, match="half way"), staged_folder(tmp_path) as folder:
        (folder / "a.txt").write_text("new")
        raise ValueError("half way")
    assert names(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_full_disk_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("old")

    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with (
        pytest.raises(SourceError, match=r"got No space left on device while writing.*Earlier results"),
        staged_folder(tmp_path) as folder,
    ):
        (folder / "a.txt").write_text("new")
    assert names(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_out_must_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with (
        pytest.raises(ConfigError, match=r"--out .*file: got a file, expected a folder"),
        staged_folder(tmp_path / "file"),
    ):
        pass


def test_the_staging_folder_of_a_killed_process_goes_and_a_living_ones_stays(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from shortcut_miner.storage import staged_folder\n"
        "with staged_folder(Path(sys.argv[1])) as folder:\n"
        "    (folder / 'a.txt').write_text('half'); print('ready', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    with staged_folder(tmp_path) as folder:
        (folder / "b.txt").write_text("whole")
    assert len(names(tmp_path)) == 2  # b.txt and the other's staging folder
    process.kill()
    process.wait()
    process.stdout.close()
    assert "a.txt" not in names(tmp_path)
    with staged_folder(tmp_path) as folder:
        (folder / "b.txt").write_text("again")
    assert names(tmp_path) == ["b.txt"]


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


@settings(max_examples=60, deadline=None)
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


@pytest.mark.parametrize("cuts", [[0, 7], [0, 3, 7], [0, 1, 2, 3, 4, 5, 6, 7], [0, 0, 7], [0]])
def test_a_stream_does_not_depend_on_how_rows_are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cuts: list[int]
) -> None:
    monkeypatch.setattr(storage, "ROW_GROUP_SIZE", 3)
    schema = pa.schema([("id", pa.large_string()), ("n", pa.uint32())])
    frame = pl.DataFrame({"id": list("abcdefg"), "n": range(7)}, schema_overrides={"n": pl.UInt32}).head(
        cuts[-1]
    )

    def write(path: Path, edges: list[int]) -> None:
        with parquet_stream(path, schema, PROVENANCE) as append:
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
