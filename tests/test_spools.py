"""Tables on disk: sorted, and told apart by their keys, as Polars does it in memory."""

import itertools
import weakref
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shortcut_miner import spools
from shortcut_miner.spools import (
    distinct_rows,
    gathered,
    key_buckets,
    repeated_rows,
    sorted_blocks,
    sorted_runs,
)

KEYS = st.text("abé\U0001f600", max_size=2)
CUTS = st.lists(st.integers(0, 40), max_size=5)
SMALL, LARGE = 200, 1 << 20  # bytes: a run for each append, and one run for all


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run of a few rows have several parts."""
    monkeypatch.setattr(spools, "_LEAST_PART_ROWS", 2)
    monkeypatch.setattr(spools, "_PARTS_OF_A_RUN", 4)


def numbered(keys: Sequence[str | None]) -> pl.DataFrame:
    return pl.DataFrame({"key": keys, "row": range(len(keys))}, schema={"key": pl.String, "row": pl.Int64})


def pieces(table: pl.DataFrame, cuts: Sequence[int]) -> list[pl.DataFrame]:
    places = [0, *sorted(cuts), len(table)]
    return [table[low:high] for low, high in itertools.pairwise(places)]


@pytest.mark.parametrize(
    ("memory", "rows", "lengths"), [(LARGE, None, [7]), (LARGE, 3, [4, 3]), (1, None, [2] * 3 + [1])]
)
def test_frames_are_gathered_up_to_bytes_or_rows(memory: int, rows: int | None, lengths: list[int]) -> None:
    table, written = numbered(list("abcdefg")), list[pl.DataFrame]()
    with gathered(written.append, memory=memory, rows=rows) as append:
        for piece in pieces(table, [2, 4, 6]):
            append(piece)
    assert [len(frame) for frame in written] == lengths
    assert pl.concat(written).equals(table)


def test_a_writer_can_free_what_was_gathered() -> None:
    found = []

    def write(frame: pl.DataFrame) -> None:
        held = weakref.ref(frame)
        frame = frame.clear()
        found.append(held())

    with gathered(write, memory=LARGE) as append:
        append(numbered(["a", "b"]))
        append(numbered(["c"]))
    assert found == [None]


@given(keys=st.lists(KEYS, max_size=40), cuts=CUTS, memory=st.sampled_from([1, SMALL, LARGE]))
@example(keys=["a"] * 40, cuts=[7, 20], memory=1)
@example(keys=["b"] * 5 + ["a"] * 30 + ["c"] * 5, cuts=[3, 3, 30], memory=1)
def test_rows_come_back_sorted(keys: list[str], cuts: list[int], memory: int) -> None:
    table = numbered(keys)
    with TemporaryDirectory() as name:
        folder = Path(name) / "sorted"
        with sorted_runs(folder, "key", memory=memory) as append:
            for piece in pieces(table, cuts):
                append(piece)
        blocks = list(sorted_blocks(folder, "key", memory=memory, rows=3))
    assert all(0 < len(block) <= 3 for block in blocks)
    expected = table.sort("key", maintain_order=True)
    assert pl.concat([table.clear(), *blocks]).equals(expected)


def test_a_run_that_is_not_complete_is_not_read(tmp_path: Path) -> None:
    with sorted_runs(tmp_path, "key", memory=LARGE) as append:
        append(numbered(["b", "a"]))
    (tmp_path / "run-000001.arrow.part").write_bytes(b"half")
    (block,) = sorted_blocks(tmp_path, "key", memory=LARGE)
    assert block["key"].to_list() == ["a", "b"]


def test_little_is_read_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spools, "_PARTS_OF_A_RUN", 256)
    memory = 1 << 18
    table = pl.DataFrame({"key": [f"{row * 7919 % 50_000:05}" for row in range(50_000)]})
    with sorted_runs(tmp_path, "key", memory=memory) as append:
        for piece in table.iter_slices(1000):
            append(piece)
    assert len(list(tmp_path.iterdir())) > 5
    sizes = [block.estimated_size() for block in sorted_blocks(tmp_path, "key", memory=memory, rows=1 << 20)]
    assert len(sizes) > 5
    assert max(sizes) < memory / 2


@given(keys=st.lists(KEYS | st.none(), max_size=40), cuts=CUTS, memory=st.sampled_from([1, LARGE]))
def test_keys_are_told_apart(keys: list[str | None], cuts: list[int], memory: int) -> None:
    table = numbered(keys)
    with TemporaryDirectory() as name:
        folder = Path(name) / "keys"
        with key_buckets(folder, "key", memory=memory) as append:
            for piece in pieces(table, cuts):
                append(piece)
        repeated = [table.clear().with_columns(times=pl.lit(0, pl.UInt32), first="row", last="row")]
        repeated += repeated_rows(folder, ["key"], "row")
    expected = table.with_columns(
        times=pl.len().over("key"),
        first=pl.col("row").min().over("key"),
        last=pl.col("row").max().over("key"),
    ).filter(pl.col("times") > 1)
    assert pl.concat(repeated).sort("row").equals(expected)


@given(keys=st.lists(KEYS | st.none(), max_size=40), cuts=CUTS, memory=st.sampled_from([1, LARGE]))
def test_distinct_rows_are_counted(keys: list[str | None], cuts: list[int], memory: int) -> None:
    table = pl.DataFrame(
        {"key": keys, "flag": [key == "a" for key in keys]}, schema_overrides={"key": pl.String}
    )
    with TemporaryDirectory() as name:
        folder = Path(name) / "keys"
        with key_buckets(folder, "key", memory=memory, is_distinct=True) as append:
            for piece in pieces(table, cuts):
                append(piece)
        found = pl.concat([table.clear(), *distinct_rows(folder)])
        assert sum(map(len, distinct_rows(folder))) == len(found) == len({*keys})
    assert found.sort("key").equals(table.unique().sort("key"))


def test_a_kind_is_told_by_several_columns(tmp_path: Path) -> None:
    table = numbered(["a", "b", "a", "a"]).with_columns(file=pl.Series([0, 0, 0, 1]))
    with key_buckets(tmp_path, "key", memory=LARGE) as append:
        append(table)
    (found,) = [rows for rows in repeated_rows(tmp_path, ["key", "file"], "row") if len(rows)]
    assert found.select("row", "times", "first", "last").rows() == [(0, 2, 0, 2), (2, 2, 0, 2)]


def test_nothing_appended_is_an_empty_table(tmp_path: Path) -> None:
    with sorted_runs(tmp_path / "s", "key", memory=1), key_buckets(tmp_path / "k", "key", memory=1):
        pass
    assert list(sorted_blocks(tmp_path / "s", "key", memory=1)) == []
    assert list(repeated_rows(tmp_path / "k", ["key"], "row")) == []
    assert sum(map(len, distinct_rows(tmp_path / "k"))) == 0
