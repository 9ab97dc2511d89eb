"""The same bytes from any number of threads, two hash seeds and any order of annotations."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from cli.commands import CHECKOUT, RunCli, contents, options, without_notice

from shortcut_miner import storage
from shortcut_miner.demo import DemoWorld

Files = dict[str, Path | None]
# Row groups of the usual size would hold these tables whole, and one group can't tell whether threads matter.
SEVERAL_GROUPS = 500
# Runs several command lines, given as JSON.
PROGRAM = f"""
import json, sys
from shortcut_miner import storage
storage.ROW_GROUP_SIZE = {SEVERAL_GROUPS}
from shortcut_miner.cli.run import run
sys.exit(max(map(run, json.loads(sys.argv[1]))))
"""
WAYS = {
    "one thread": {"NUMBA_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "PYTHONHASHSEED": "1"},
    "two threads": {"NUMBA_NUM_THREADS": "2", "POLARS_MAX_THREADS": "2", "PYTHONHASHSEED": "1"},
    "another hash seed": {"NUMBA_NUM_THREADS": "2", "POLARS_MAX_THREADS": "2", "PYTHONHASHSEED": "2"},
}
MORE = ("--keep-matches", "--keep-dropped", "--min-confidence", 0.4, "--quiet")
Found = tuple[dict[str, bytes], dict[str, bytes]]


def build_and_score(world: DemoWorld, files: Files, folder: Path, way: dict[str, str]) -> Found:
    """Build and score in a process with these variables; return the files of both folders."""
    out, scores = folder / "out", folder / "scores"
    lines = [
        ("vqa-ce", "build", *options(files), *MORE, "--out", out),
        (
            *("vqa-ce", "score", out, "--predictions", f"m={world.grounded_predictions}"),
            *("--quiet", "--resamples", 200, "--out", scores),
        ),
    ]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([[str(word) for word in line] for line in lines])],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), **way},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, without_notice(done.stderr)) == (0, "")
    return contents(out, without=("run.json",)), contents(scores)


@pytest.fixture(scope="module")
def usual(
    world: DemoWorld, world_files: Files, built: Path, tmp_path_factory: pytest.TempPathFactory
) -> Found:
    return build_and_score(world, world_files, tmp_path_factory.mktemp("usual"), WAYS["one thread"])


@pytest.fixture
def build(run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that builds in this process."""
    monkeypatch.setattr(storage, "ROW_GROUP_SIZE", SEVERAL_GROUPS)

    def build_here(files: Files, *tokens: object) -> dict[str, bytes]:
        ran = run_cli("vqa-ce", "build", *options(files), *tokens, "--out", tmp_path / "out")
        assert (ran.code, ran.err) == (0, "")
        return contents(tmp_path / "out", without=("run.json",))

    return build_here


def test_tables_have_several_row_groups(usual: Found, tmp_path: Path) -> None:
    for name in (
        "rules.parquet",
        "dropped_rules.parquet",
        "split.parquet",
        "questions.parquet",
        "matches.parquet",
    ):
        path = tmp_path / name
        path.write_bytes(usual[0][name])
        assert pq.ParquetFile(path).num_row_groups > 2, name


@pytest.mark.parametrize("way", [way for way in WAYS if way != "one thread"])
def test_threads_and_hash_seeds_change_nothing(
    way: str, world: DemoWorld, world_files: Files, usual: Found, tmp_path: Path
) -> None:
    found = build_and_score(world, world_files, tmp_path, WAYS[way])
    assert found[0] == usual[0]
    assert found[1] == usual[1]
    assert pl.read_parquet(tmp_path / "scores" / "scores.parquet").height > 10


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_number_asked_for_changes_nothing(
    threads: int, build: Any, world_files: Files, usual: Found
) -> None:
    assert build(world_files, *MORE, "--threads", threads) == usual[0]


def shuffled(path: Path, key: str, out: Path) -> Path:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    random.Random(5).shuffle(document[key])
    target = out / path.name
    target.write_text(json.dumps(document, separators=(",", ":")) + "\n", encoding="utf-8")
    return target


def test_the_order_of_annotations_changes_their_checksum_only(
    world: DemoWorld, build: Any, world_files: Files, usual: Found, tmp_path: Path
) -> None:
    moved = {
        role: shuffled(getattr(world, role), "annotations", tmp_path)
        for role in ("train_annotations", "val_annotations")
    }
    other = build({**world_files, **moved}, *MORE)
    ours, theirs = (json.loads(one.pop("manifest.json")) for one in (dict(usual[0]), other))
    assert other == {name: content for name, content in usual[0].items() if name != "manifest.json"}
    changed = []
    for mine, one in zip(ours.pop("inputs"), theirs.pop("inputs"), strict=True):
        differing = {name for name in mine if mine[name] != one[name]}
        assert differing <= {"sha256"}
        changed += [mine["role"]] if differing else []
    assert ours == theirs
    assert changed == ["train_annotations", "val_annotations"]
