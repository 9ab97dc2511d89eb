"""Rules of a table whose rows go by way of files: by one command, and by the steps of a job array."""

import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cli.commands import RunCli, contents

from shortcut_miner.cli import mined, mined_rows
from shortcut_miner.errors import BackendError
from shortcut_miner.mining.sharding import distribution
from shortcut_miner.sources.item_batches import ItemBatches
from shortcut_miner.work_folders import WORK_RECORD, many_runs_in, one_run_in

WORDS, LABELS, GENRES = [f"w{n}" for n in range(12)], [f"o{n}" for n in range(8)], ["news", "blog", None]
COLUMNS = ("--words", "words", "--objects", "labels", "--item-columns", "genre")
SEARCH = (*COLUMNS, "--min-count", 3, "--superset-filter", "immediate", "--empty-rule")
WAYS: dict[str, tuple[Any, ...]] = {
    "memory": ("--memory", "3GB"),
    "shards": ("--shards", 3),
    "work": ("--work", "between"),
    "workers": ("--executor", "local[2]", "--shards", 2),
}


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a table in the current folder."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(5)
    rows = [
        {
            "words": draw.sample(WORDS, draw.randint(1, 4)),
            "labels": draw.sample(LABELS, draw.randint(0, 3)) if draw.random() < 0.9 else None,
            "genre": draw.choice(GENRES),
            "answer": draw.choice(["yes", "no", "2", "red"]),
        }
        for _ in range(300)
    ]
    path = Path("table.parquet")
    pl.DataFrame(rows).write_parquet(path, row_group_size=70)
    return path


def fail(*_: Any, **__: Any) -> Any:
    raise BackendError("cut off")


def mine_all(run_cli: RunCli, work: str, numbers: range) -> None:
    for number in numbers:
        assert run_cli("mine", "--work", work, "--shard", number).code == 0


@pytest.mark.sample(2)
@pytest.mark.parametrize("way", WAYS)
def test_ways_through_files_give_the_same_bytes(way: str, table: Path, run_cli: RunCli) -> None:
    whole = run_cli("mine", table, *SEARCH, "--out", "whole")
    ran = run_cli("mine", table, *SEARCH, *WAYS[way], "--out", "parts")
    assert (ran.code, ran.out) == (whole.code, whole.out) == (0, whole.out)
    assert contents(Path("parts"), without=("run.json",)) == contents(Path("whole"), without=("run.json",))
    assert json.loads(Path("whole/manifest.json").read_text())["counts"]["rules"] > 50
    told = json.loads(Path("parts/run.json").read_text())
    assert told["limits"].get("memory") == (3_000_000_000 if way == "memory" else None)
    assert told["limits"]["shards"] >= 1
    left = {path.name for path in Path().iterdir()} - {"table.parquet", "whole", "parts"}
    assert left == ({"between"} if way == "work" else set())
    assert not left or [*Path("between").iterdir()] == []
    assert run_cli("mine", table, *SEARCH, *WAYS[way], "--out", "parts", "--dry-run").out == whole.out


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_the_steps_of_a_job_array_give_the_bytes_of_mine(form: str, table: Path, run_cli: RunCli) -> None:
    if form == "jsonl":
        pl.read_parquet(table).write_ndjson(table := Path("table.jsonl"))
    whole = run_cli("mine", table, *SEARCH, "--out", "whole", "--show", 3)
    made = run_cli("shard", table, *SEARCH, "--shards", 4, "--work", "work")
    assert (made.code, made.out) == (0, "4 shards of 300 rows in work\n")
    assert "shortcut-miner mine --work work --shard N, N from 0 to 3\n" in made.err
    mine_all(run_cli, "work", range(4))
    merged = run_cli("merge", "work", "--out", "merged", "--show", 3)
    assert (merged.code, merged.out) == (0, whole.out)
    assert "--show" in merged.err
    assert contents(Path("merged"), without=("run.json",)) == contents(Path("whole"), without=("run.json",))


def test_a_shard_is_mined_once(table: Path, run_cli: RunCli) -> None:
    run_cli("shard", table, *SEARCH, "--shards", 2, "--work", "work")
    first = run_cli("mine", "--work", "work", "--shard", 1)
    assert (first.code, first.out) == (0, "shard 1 of 2 in work is mined\n")
    (found,) = Path("work").glob("found-*")
    written = found.stat().st_mtime_ns
    again = run_cli("mine", "--work", "work", "--shard", 1, "--format", "json")
    assert (again.json, found.stat().st_mtime_ns) == ({"shard": 1, "shards": 2}, written)


def test_shards_that_are_missing_or_damaged_are_named_with_the_command_that_makes_them(
    table: Path, run_cli: RunCli
) -> None:
    run_cli("shard", table, *SEARCH, "--shards", 6, "--work", "work")
    told = "expected all. Run shortcut-miner mine --work work --shard N for each N of "
    assert run_cli("merge", "work").err == f"error: work: got 0 of 6 shards, {told}0-5.\n"
    mine_all(run_cli, "work", range(6))
    whole = run_cli("merge", "work", "--quiet").out
    groups = sorted(Path("work").glob("found-*"), key=lambda path: int(path.name.split("-")[1]))
    groups[0].write_bytes(groups[0].read_bytes()[:-40])
    groups[4].unlink()
    damaged = bytearray(groups[5].read_bytes())
    damaged[len(damaged) // 2] ^= 1
    groups[5].write_bytes(damaged)
    refused = run_cli("merge", "work", "--out", "out")
    assert (refused.code, refused.out, Path("out").exists()) == (2, "", False)
    assert refused.err == f"error: work: got 3 of 6 shards, {told}0, 4-5.\n"
    for number in (0, 4, 5):
        mine_all(run_cli, "work", range(number, number + 1))
    assert run_cli("merge", "work", "--quiet").out == whole


def test_shards_of_another_call_are_not_mixed_in_and_are_found_again(table: Path, run_cli: RunCli) -> None:
    first, other = (*SEARCH, "--shards", 3), (*SEARCH, "--limit", 200, "--shards", 3)
    run_cli("shard", table, *first, "--work", "work")
    mine_all(run_cli, "work", range(3))
    whole = run_cli("merge", "work", "--quiet").out
    run_cli("shard", table, *other, "--work", "work")
    assert "got 0 of 3 shards" in run_cli("merge", "work").err
    run_cli("shard", table, *first, "--min-confidence", 0.3, "--work", "work")
    assert run_cli("merge", "work", "--quiet").out == whole


def test_a_call_that_was_cut_off_leaves_nothing_to_mine_and_can_be_made_again(
    table: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_cli("shard", table, *SEARCH, "--shards", 2, "--work", "work")
    with monkeypatch.context() as patch:
        patch.setattr(mined_rows.ReadTable, "write", fail)
        assert run_cli("shard", table, *SEARCH, "--limit", 99, "--shards", 2, "--work", "work").code != 0
    for step in (("mine", "--work", "work", "--shard", 0), ("merge", "work")):
        refused = run_cli(*step)
        assert (refused.code, refused.err.startswith("error: work/table.json: got ")) == (2, True)
    assert run_cli("shard", table, *SEARCH, "--shards", 2, "--work", "work").code == 0


def test_a_folder_of_other_files_is_refused(table: Path, run_cli: RunCli) -> None:
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("mine")
    refused = run_cli("shard", table, *SEARCH, "--work", "mine")
    assert (refused.code, contents(Path("mine"))) == (2, {"thesis.txt": b"mine"})
    assert "mine: got a folder that shortcut-miner did not make, expected none or its own" in refused.err
    refused = run_cli("shard", table, *SEARCH, "--work", "mine/thesis.txt")
    assert refused.code == 2
    assert "mine/thesis.txt: got File exists, expected a folder that can be written" in refused.err


@pytest.mark.parametrize(
    ("tokens", "told"),
    [
        (("--shard", 0), "--shard: got no --work, expected the folder that shortcut-miner shard made."),
        (("--work", "work", "--shard", 2), "--shard: got 2, expected one of the 2 shards in work, 0 to 1."),
        (("--work", "no", "--shard", 0), "no/table.json: got "),
        (("table.parquet", "--work", "work", "--shard", 0), "--shard: got options of a whole search too"),
        (("--work", "work", "--shard", 0, "--min-count", 9), "--shard: got options of a whole search too"),
        (("--work", "work", "--shard", 0, "--words", "words"), "--shard: got options of a whole search too"),
        (("--work", "work", "--shard", 0, "--out", "out"), "--shard: got options of a whole search too"),
        (("--work", "work", "--shard", 0, "--dry-run"), "--shard: got options of a whole search too"),
    ],
)
def test_steps_that_cannot_be_are_told(
    tokens: tuple[Any, ...], told: str, table: Path, run_cli: RunCli
) -> None:
    run_cli("shard", table, *SEARCH, "--shards", 2, "--work", "work")
    ran = run_cli("mine", *tokens)
    assert (ran.code, ran.out, ran.err.startswith(f"error: {told}")) == (2, "", True), ran.err
    assert [*Path("work").glob("found-*")] == []


def test_skipped_rows_are_told_and_end_with_exit_code_3(table: Path, run_cli: RunCli) -> None:
    pl.read_parquet(table).with_columns(
        answer=pl.when(pl.col("genre").is_not_null()).then("answer")
    ).write_parquet(table)
    skipping = (*SEARCH, "--on-bad-row", "skip")
    refused = run_cli("shard", table, *SEARCH, "--work", "work")
    assert (refused.code, "rows without text in 'answer'" in refused.err) == (2, True)
    whole = run_cli("mine", table, *skipping, "--out", "whole")
    made = run_cli("shard", table, *skipping, "--shards", 1, "--work", "work")
    assert (whole.code, made.code) == (3, 3)
    warning = whole.err.splitlines()[0]
    assert warning.endswith("rows without an answer were skipped")
    assert made.err.splitlines()[0] == warning
    mine_all(run_cli, "work", range(1))
    merged = run_cli("merge", "work", "--out", "merged")
    assert (merged.code, merged.out) == (3, whole.out)
    assert contents(Path("merged"), without=("run.json",)) == contents(Path("whole"), without=("run.json",))


def test_merged_rules_do_not_go_among_the_shards(table: Path, run_cli: RunCli) -> None:
    run_cli("shard", table, *SEARCH, "--shards", 1, "--work", "work")
    mine_all(run_cli, "work", range(1))
    before = contents(Path("work"))
    for out in ("./work/../work", "work/rules", "work/rows"):
        refused = run_cli("merge", "work", "--out", out)
        assert (refused.code, contents(Path("work"))) == (2, before)
        assert "got a place in the shards' own folder" in refused.err
        assert refused.err.endswith("expected another. Choose another name.\n")


def test_rows_are_not_replaced_under_a_step_nor_read_while_they_are(table: Path, run_cli: RunCli) -> None:
    shard = ("shard", table, *SEARCH, "--shards", 2, "--work", "work")
    run_cli(*shard)
    before = contents(Path("work"))
    with many_runs_in(Path("work")):
        refused = run_cli(*shard, "--limit", 100)
        assert (refused.code, contents(Path("work"))) == (2, before)
        assert "work: got a folder in which another run" in refused.err
        mine_all(run_cli, "work", range(2))
        assert run_cli("merge", "work").code == 0
    with one_run_in(Path("work")):
        for step in (("mine", "--work", "work", "--shard", 0), ("merge", "work")):
            refused = run_cli(*step)
            assert (refused.code, "work: got a folder in which another run" in refused.err) == (2, True)


def test_a_search_that_finds_no_item_often_enough(table: Path, run_cli: RunCli) -> None:
    tokens = (table, *COLUMNS, "--min-count", 1000)
    whole = run_cli("mine", *tokens, "--out", "whole")
    made = run_cli("shard", *tokens, "--work", "work")
    assert (made.code, made.out) == (0, "0 shards of 300 rows in work\n")
    assert "--shard N" not in made.err
    refused = run_cli("mine", "--work", "work", "--shard", 0)
    assert refused.err == "error: --shard: got 0, expected one of the 0 shards in work. Change --shard.\n"
    assert run_cli("merge", "work", "--out", "merged").out == whole.out
    assert contents(Path("merged"), without=("run.json",)) == contents(Path("whole"), without=("run.json",))


# ---- in bounded memory ----


def test_a_table_that_does_not_fit_in_memory_is_never_read_as_a_whole(
    table: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_memory = run_cli("mine", table, *SEARCH, "--out", "whole")
    pl.read_parquet(table).write_ndjson("table.jsonl")
    wholes: list[str] = []
    read = ItemBatches.whole
    monkeypatch.setattr(ItemBatches, "whole", lambda one: (wholes.append(one.flat.form), read(one))[1])
    monkeypatch.setattr(distribution, "left", lambda: 300 * distribution._BYTES_A_ROW - 1)
    ran = run_cli("mine", table, *SEARCH, "--out", "files")
    assert (ran.out, wholes) == (in_memory.out, [])
    assert contents(Path("files"), without=("run.json",)) == contents(Path("whole"), without=("run.json",))
    run_cli("mine", table, *SEARCH, "--limit", 299)
    run_cli("mine", "table.jsonl", *SEARCH)  # in memory when it is opened
    assert wholes == ["Parquet", "JSONL"]
    run_cli("shard", table, *SEARCH, "--work", "work")
    assert wholes == ["Parquet", "JSONL"]


def test_a_run_that_was_cut_off_goes_on_with_its_rows(
    table: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run_cli("mine", table, *SEARCH)
    search = (table, *SEARCH, "--shards", 3, "--out", "out")
    with monkeypatch.context() as patch:
        patch.setattr(mined, "search_rules", fail)
        assert "cut off" in run_cli("mine", *search).err
    folder = Path(".out.work")
    assert {path.name for path in folder.iterdir()} == {WORK_RECORD, "rows", "table.json"}
    with monkeypatch.context() as patch:
        patch.setattr(mined_rows, "encode_item_batches", fail)
        assert "cut off" in run_cli("mine", *search, "--limit", 250).err  # other rows: from the start
        assert {path.name for path in folder.iterdir()} == {WORK_RECORD}
    with monkeypatch.context() as patch:
        patch.setattr(mined, "search_rules", fail)
        run_cli("mine", *search)
    monkeypatch.setattr(mined_rows, "encode_item_batches", fail)
    assert run_cli("mine", *search).out == whole.out
    assert not folder.exists()
