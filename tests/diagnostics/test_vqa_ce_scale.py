"""vqa-ce build by way of files: the bytes of a build in memory, whatever the blocks, shards and workers."""

import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cli.commands import CHECKOUT

from shortcut_miner import frame_blocks, row_files, storage
from shortcut_miner.diagnostics.vqa_ce import build as building
from shortcut_miner.diagnostics.vqa_ce import streamed
from shortcut_miner.diagnostics.vqa_ce.build import build
from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles
from shortcut_miner.diagnostics.vqa_ce.outputs import BuildReport
from shortcut_miner.errors import ShortcutMinerError
from shortcut_miner.mining import backends, memory
from shortcut_miner.mining.arrays import Ints
from shortcut_miner.mining.jobs_numba import BACKEND as NUMBA
from shortcut_miner.mining.sharding import jobs
from shortcut_miner.mining.sharding.distribution import Distribution
from shortcut_miner.mining.trie import RuleIndex
from shortcut_miner.sources.questions.table_batches import QuestionBatches
from shortcut_miner.transactions import Transactions

ROWS = 900
MEMORY = Distribution(memory=2_000_000_000)
EVERYTHING = {"min_count": 3, "keep_matches": True, "keep_dropped": True}
Rows = list[dict[str, Any]]


def make_rows(count: int = ROWS, seed: int = 0) -> Rows:
    """Return questions whose answers can be guessed from their words and labels, in some order of ids."""
    rng = random.Random(seed)
    rows: Rows = []
    for number in rng.sample(range(10 * count), count):
        thing, place = rng.choice(["cat", "dog", "bus", "cake"]), rng.choice(["here", "there", "on it"])
        color = {"cat": "black", "bus": "red"}.get(thing, "white")
        answer = color if rng.random() < 0.7 else rng.choice(["red", "black", "white", "2", f"odd {number}"])
        image = number % 211
        rows.append(
            {
                "question_id": str(number),
                "image_id": f"COCO_val2014_{image:012}.jpg",
                "question": f"what color is the {thing} {place}",
                "question_type": rng.choice(["what color", "what", None]),
                "answer": answer,
                "answers": rng.choice([[answer], [answer, color, "gray"], []]),
                "labels": rng.choice([[thing], [thing, "person"], ["person"], [], None]),
                "scene": rng.choice(["indoor", "outdoor", None]),
                "split": rng.choice(["train", "train", "val", "test"]),
                "album": f"album {image % 50}",
            }
        )
    return rows


def write_table(rows: Rows, path: Path, **replaced: Any) -> Path:
    table = pl.DataFrame([{**row, **replaced} for row in rows], infer_schema_length=None)
    table.write_parquet(path, row_group_size=200)
    return path


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut everything that is cut into blocks into many."""
    monkeypatch.setattr(storage, "ROW_GROUP_SIZE", 64)
    monkeypatch.setattr(frame_blocks, "ROWS_A_BLOCK", 50)
    monkeypatch.setattr(frame_blocks, "_HELD_ROWS_A_BLOCK", 60)
    monkeypatch.setattr(row_files, "ROWS_A_GROUP", 40)
    monkeypatch.setattr(streamed, "QuestionBatches", partial(QuestionBatches, rows=37))
    monkeypatch.setattr(streamed, "_LEAST_MEMORY", 1 << 12)
    monkeypatch.setattr(streamed, "_MOST_MEMORY", 1 << 12)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.name != "run.json"}


def told(report: BuildReport) -> dict[str, Any]:
    found = report.as_dict(0)
    return {
        name: found[name] for name in ("counts", "figures", "dropped", "notes", "warnings", "is_complete")
    }


Cases = dict[str, tuple[Callable[[Path], dict[str, Any]], dict[str, Any], int | None]]


def one_table(folder: Path) -> dict[str, Any]:
    return {"table": (write_table(make_rows(), folder / "rows.parquet"),)}


def two_tables(folder: Path) -> dict[str, Any]:
    """Two files to mine and one to split, a part of which was mined too."""
    rows = make_rows()
    return {
        "table": tuple(
            write_table(part, folder / f"train{n}.parquet")
            for n, part in enumerate((rows[:300], rows[300:500]))
        ),
        "val_table": (write_table(rows[450:], folder / "val.parquet"),),
    }


def without_ids(folder: Path) -> dict[str, Any]:
    rows = [{name: row[name] for name in ("question", "answer", "labels")} for row in make_rows()]
    return {"table": (write_table(rows, folder / "rows.parquet"),)}


def bad_rows(folder: Path) -> dict[str, Any]:
    rows = make_rows()
    for at in (3, 400, 877):
        rows[at]["question"] = " "
    rows[500]["question_id"] = rows[70]["question_id"]
    return {"table": (write_table(rows, folder / "rows.parquet"),)}


def other_answers(folder: Path) -> dict[str, Any]:
    rows = make_rows()
    return {
        "table": (write_table(rows[:500], folder / "train.parquet"),),
        "val_table": (write_table(rows[500:], folder / "val.parquet", answer="Oui", answers=["Oui"]),),
    }


def with_detections(folder: Path) -> dict[str, Any]:
    rows = [{name: row[name] for name in row if name != "labels"} for row in make_rows()]
    for row in rows[::9]:
        row["image_id"] = f"lost {row['image_id'][-2:]}"
    labels = {str(image): {"classes": ["cat", "bus"][: image % 3], "scores": [0.9, 0.8][: image % 3]}
              for image in range(211)}  # fmt: skip
    (folder / "labels.json").write_text(json.dumps(labels))
    return {"table": (write_table(rows, folder / "rows.parquet"),), "detections": (folder / "labels.json",)}


CASES: Cases = {
    "a split column": (one_table, {"split_column": "split", "answer_ties": "lexicographic"}, None),
    "a share": (one_table, {"val_share": 0.3, "seed": 4, "top_answers": 4}, None),
    "a share of groups": (one_table, {"val_share": 0.3, "columns": "group=album"}, None),
    "a share and a limit": (one_table, {"val_share": 0.4, "columns": "group=album"}, 77),
    "a holdout": (one_table, {"split_column": "split", "holdout": True, "columns": "group=album"}, None),
    "item columns": (one_table, {"split_column": "split", "item_columns": "scene", "items": "words"}, None),
    "votes": (one_table, {"split_column": "split", "preset": "paper"}, None),
    "a cut search": (one_table, {"split_column": "split", "max_rules": 30}, None),
    "two tables": (two_tables, {"on_bad_row": "skip"}, None),
    "two tables and a limit": (two_tables, {}, 250),
    "no ids": (without_ids, {"val_share": 0.5}, None),
    "bad rows": (bad_rows, {"split_column": "split", "on_bad_row": "skip"}, None),
    "other answers": (other_answers, {}, None),
    "detections": (with_detections, {"split_column": "split"}, None),
}


Case = tuple[VqaCeFiles, VqaCeConfig, int | None]


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    make, options, limit = CASES[request.param]
    return VqaCeFiles(**make(tmp_path)), VqaCeConfig(**{**EVERYTHING, **options}), limit


@pytest.mark.sample(3)
@pytest.mark.usefixtures("tiny")
def test_a_build_by_way_of_files_has_the_bytes_of_one_in_memory(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, config, limit = case
    whole = build(files, config, tmp_path / "whole", limit=limit)
    assert len(whole.rules) > 10
    monkeypatch.setattr(building, "read_inputs", lambda *_: pytest.fail("read as a whole"))
    in_blocks = build(files, config, tmp_path / "blocks", limit=limit, distribution=MEMORY)
    assert contents(tmp_path / "blocks") == contents(tmp_path / "whole")
    assert told(in_blocks) == told(whole)
    unwritten = build(files, config, None, limit=limit, distribution=MEMORY)
    assert told(unwritten) == told(whole)
    for name in whole.tables:
        assert unwritten.tables[name].equals(whole.tables[name]), name
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".work")] == []


@pytest.mark.usefixtures("tiny")
def test_a_process_may_hold_more_than_the_budget_before_it_builds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, options, limit = CASES["a split column"]
    files, config = VqaCeFiles(**make(tmp_path)), VqaCeConfig(**{**EVERYTHING, **options})
    whole = build(files, config, None, limit=limit)
    monkeypatch.setattr(memory, "held_by", lambda: 3 * 10**9)
    assert told(build(files, config, None, limit=limit, distribution=MEMORY)) == told(whole)


@pytest.mark.usefixtures("tiny")
def test_matches_are_counted_once_by_the_backend_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = []

    def pairs(index: RuleIndex, rows: Transactions, fired: Ints | None) -> Iterator[tuple[int, Ints, Ints]]:
        counted.append(fired is not None and len(fired) == len(rows))
        return NUMBA.match_pairs(index, rows, fired)

    files, config = VqaCeFiles(**one_table(tmp_path)), VqaCeConfig(**EVERYTHING, split_column="split")
    monkeypatch.setattr(backends, "_lack", lambda name: "")
    backend = dataclasses.replace(NUMBA, match_pairs=pairs)
    monkeypatch.setattr(backends, "_loaded", lambda jobs: backend if jobs.endswith("numba") else None)
    build(files, config, tmp_path / "blocks", distribution=MEMORY, backend="numba")
    assert len(counted) > 3
    assert all(counted)


@pytest.mark.sample(1)
@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("shards", [1, 2, 7, 64])
def test_shards_do_not_show(tmp_path: Path, shards: int) -> None:
    files, config = VqaCeFiles(**one_table(tmp_path)), VqaCeConfig(**EVERYTHING, split_column="split")
    build(files, config, tmp_path / "whole")
    build(files, config, tmp_path / "shards", distribution=Distribution(shards=shards))
    assert contents(tmp_path / "shards") == contents(tmp_path / "whole")


def test_workers_do_not_show(tmp_path: Path) -> None:
    files, config = VqaCeFiles(**one_table(tmp_path)), VqaCeConfig(**EVERYTHING, split_column="split")
    build(files, config, tmp_path / "whole")
    where = Distribution(executor="local[2]", work=tmp_path / "between")
    build(files, config, tmp_path / "workers", distribution=where)
    assert contents(tmp_path / "workers") == contents(tmp_path / "whole")
    assert json.loads((tmp_path / "workers" / "run.json").read_text())["executor"] == "local[2]"
    assert [*(tmp_path / "between").iterdir()] == []


def no_answer(folder: Path) -> dict[str, Any]:
    rows = make_rows()
    for row in rows[5:8]:
        row["answer"], row["answers"] = None, None
    return {"table": (write_table(rows, folder / "rows.parquet"),)}


def twice(folder: Path) -> dict[str, Any]:
    rows = make_rows()
    return {"table": (write_table(rows + rows[:3], folder / "rows.parquet"),)}


def broken_labels(folder: Path) -> dict[str, Any]:
    files = with_detections(folder)
    (folder / "labels.json").write_text("{")
    return files


def two_problems(folder: Path) -> dict[str, Any]:
    return bad_rows(folder) | {"detections": broken_labels(folder)["detections"]}


def no_images_in_common(folder: Path) -> dict[str, Any]:
    files = with_detections(folder)
    (folder / "labels.json").write_text(json.dumps({"x": {"classes": ["cat"], "scores": [1.0]}}))
    return files


WRONG: dict[str, tuple[Callable[[Path], dict[str, Any]], dict[str, Any]]] = {
    "no answer": (no_answer, {"split_column": "split"}),
    "ids twice": (twice, {"split_column": "split"}),
    "ids twice, drawn": (twice, {"val_share": 0.2}),
    "blank questions": (bad_rows, {"split_column": "split"}),
    "blank questions and no such splits": (bad_rows, {"split_column": "album"}),
    "no such splits": (one_table, {"split_column": "scene"}),
    "no such splits among good rows": (one_table, {"split_column": "scene", "on_bad_row": "skip"}),
    "no such column": (one_table, {"split_column": "nowhere"}),
    "no rows on a side": (one_table, {"val_share": 0.0001, "columns": "group=album"}),
    "broken labels": (broken_labels, {"split_column": "split"}),
    "blank questions and broken labels": (two_problems, {"split_column": "split"}),
    "no images in common": (no_images_in_common, {"split_column": "split"}),
    "no objects": (without_ids, {"val_share": 0.5, "items": "both", "columns": "labels=nothing"}),
}


@pytest.mark.sample(2)
@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_the_same_way(name: str, tmp_path: Path) -> None:
    make, options = WRONG[name]
    files, config = VqaCeFiles(**make(tmp_path)), VqaCeConfig(**options)
    before = {*tmp_path.iterdir()}
    messages = []
    for distribution in (None, MEMORY):
        with pytest.raises(ShortcutMinerError) as raised:
            build(files, config, tmp_path / "out", distribution=distribution)
        messages.append((type(raised.value), str(raised.value)))
    assert messages[0] == messages[1]
    assert {*tmp_path.iterdir()} == before


# ---- killed, and gone on with ----

# Kills itself when it tells the given stage.
KILLED = """
import json, os, signal, sys
from pathlib import Path
from shortcut_miner.diagnostics.vqa_ce.build import build
from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles
from shortcut_miner.diagnostics.vqa_ce.tallies import QuestionTallies
from shortcut_miner.mining.sharding.distribution import Distribution

table, out, options, last = sys.argv[1:]

added = QuestionTallies.add

def on_stage(stage):
    if stage.startswith(last):
        os.kill(os.getpid(), signal.SIGKILL)

def add(*given):
    added(*given)
    on_stage("batch")

QuestionTallies.add = add

build(
    VqaCeFiles(table=(Path(table),)), VqaCeConfig(**json.loads(options)), Path(out),
    distribution=Distribution(shards=7), on_stage=on_stage,
)
"""


@pytest.mark.slow
def test_a_killed_build_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, options = one_table(tmp_path), {**EVERYTHING, "split_column": "split"}
    (table,) = files["table"]
    config = VqaCeConfig(**options)
    build(VqaCeFiles(**files), config, tmp_path / "whole")
    work = tmp_path / ".out.work"
    for last in ("batch", "mine", "mine, 4 of", "write"):
        command = [sys.executable, "-c", KILLED, table, tmp_path / "out", json.dumps(options), last]
        variables = os.environ | {"PYTHONPATH": str(CHECKOUT)}
        done = subprocess.run([*map(str, command)], env=variables, capture_output=True, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()
        assert work.is_dir()
        assert not (tmp_path / "out" / "manifest.json").exists()
    # Nothing that was complete is made again.
    monkeypatch.setattr(streamed, "_make", lambda *_: pytest.fail("read again"))
    monkeypatch.setattr(jobs, "_mine", lambda *_: pytest.fail("mined again"))
    build(VqaCeFiles(**files), config, tmp_path / "out", distribution=Distribution(shards=7))
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert not work.exists()


def test_other_options_do_not_go_on_with_what_was_left(tmp_path: Path) -> None:
    files, options = VqaCeFiles(**one_table(tmp_path)), {**EVERYTHING, "split_column": "split"}

    def stop(stage: str) -> None:
        if stage == "match":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(files, VqaCeConfig(**options), tmp_path / "out", distribution=MEMORY, on_stage=stop)
    assert (tmp_path / ".out.work" / "inputs.json").is_file()
    other = VqaCeConfig(**options | {"top_answers": 3})
    build(files, other, tmp_path / "out", distribution=MEMORY)
    build(files, other, tmp_path / "whole")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "name", ["inputs.json", "training/rows.arrow", "validation/rows.arrows", "validation/count.json"]
)
def test_what_was_damaged_meanwhile_is_made_again(tmp_path: Path, name: str) -> None:
    files, config = VqaCeFiles(**one_table(tmp_path)), VqaCeConfig(**EVERYTHING, split_column="split")

    def stop(stage: str) -> None:
        if stage == "match":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(files, config, tmp_path / "out", distribution=MEMORY, on_stage=stop)
    damaged = bytearray((tmp_path / ".out.work" / name).read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / ".out.work" / name).write_bytes(damaged)
    build(files, config, tmp_path / "out", distribution=MEMORY)
    build(files, config, tmp_path / "whole")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_files_that_change_sides_do_not_go_on_with_what_was_left(tmp_path: Path) -> None:
    first, second, third = (
        write_table(make_rows()[at : at + 300], tmp_path / f"{at}.parquet") for at in (0, 300, 600)
    )

    def stop(stage: str) -> None:
        if stage == "match":
            raise KeyboardInterrupt

    left = VqaCeFiles(table=(first, second), val_table=(third,))
    config = VqaCeConfig(**EVERYTHING)
    with pytest.raises(KeyboardInterrupt):
        build(left, config, tmp_path / "out", distribution=MEMORY, on_stage=stop)
    files = VqaCeFiles(table=(first,), val_table=(second, third))
    build(files, config, tmp_path / "out", distribution=MEMORY)
    build(files, config, tmp_path / "whole")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_a_build_that_writes_nothing_makes_the_folder_to_work_in(tmp_path: Path) -> None:
    files, options = VqaCeFiles(**one_table(tmp_path)), {**EVERYTHING, "split_column": "split"}
    within = Distribution(memory=MEMORY.memory, work=tmp_path / "some" / "where")
    report = build(files, VqaCeConfig(**options), None, distribution=within)
    assert report.rules.equals(build(files, VqaCeConfig(**options), None).rules)
