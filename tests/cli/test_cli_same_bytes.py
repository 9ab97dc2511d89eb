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
from cli.commands import CHECKOUT, contents, options, without_notice

from shortcut_miner.demo import DemoWorld

Files = dict[str, Path | None]
# Row groups of the usual size would hold these tables whole, and one group can't tell whether threads matter.
PROGRAM = """
import sys
from shortcut_miner import storage
storage.ROW_GROUP_SIZE = 500
from shortcut_miner.cli.run import run
sys.exit(run(sys.argv[1:]))
"""
WAYS = {
    "one thread": {"NUMBA_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "PYTHONHASHSEED": "1"},
    "two threads": {"NUMBA_NUM_THREADS": "2", "POLARS_MAX_THREADS": "2", "PYTHONHASHSEED": "1"},
    "another hash seed": {"NUMBA_NUM_THREADS": "2", "POLARS_MAX_THREADS": "2", "PYTHONHASHSEED": "2"},
}
MORE = ("--keep-matches", "--keep-dropped", "--min-confidence", 0.4, "--quiet")


def build(files: Files, out: Path, way: dict[str, str], *tokens: object) -> dict[str, bytes]:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            PROGRAM,
            *map(str, ("vqa-ce", "build", *options(files), *tokens, "--out", out)),
        ],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), **way},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, without_notice(done.stderr)) == (0, "")
    return contents(out, without=("run.json",))


@pytest.fixture(scope="module")
def usual(world_files: Files, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return build(world_files, tmp_path_factory.mktemp("usual") / "out", WAYS["one thread"], *MORE)


def test_tables_have_several_row_groups(usual: dict[str, bytes], tmp_path: Path) -> None:
    for name in (
        "rules.parquet",
        "dropped_rules.parquet",
        "split.parquet",
        "questions.parquet",
        "matches.parquet",
    ):
        path = tmp_path / name
        path.write_bytes(usual[name])
        assert pq.ParquetFile(path).num_row_groups > 2, name


@pytest.mark.parametrize("way", WAYS)
def test_threads_and_hash_seeds_change_nothing(
    way: str, world_files: Files, usual: dict[str, bytes], tmp_path: Path
) -> None:
    assert build(world_files, tmp_path / "out", WAYS[way], *MORE) == usual


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_number_asked_for_changes_nothing(
    threads: int, world_files: Files, usual: dict[str, bytes], tmp_path: Path
) -> None:
    assert build(world_files, tmp_path / "out", WAYS["two threads"], *MORE, "--threads", threads) == usual


def shuffled(path: Path, key: str, out: Path) -> Path:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    random.Random(5).shuffle(document[key])
    target = out / path.name
    target.write_text(json.dumps(document, separators=(",", ":")) + "\n", encoding="utf-8")
    return target


def test_the_order_of_annotations_changes_their_checksum_only(
    world: DemoWorld, world_files: Files, usual: dict[str, bytes], tmp_path: Path
) -> None:
    moved = {
        role: shuffled(getattr(world, role), "annotations", tmp_path)
        for role in ("train_annotations", "val_annotations")
    }
    other = build({**world_files, **moved}, tmp_path / "out", WAYS["two threads"], *MORE)
    ours, theirs = (json.loads(one.pop("manifest.json")) for one in (dict(usual), other))
    assert other == {name: content for name, content in usual.items() if name != "manifest.json"}
    changed = []
    for mine, one in zip(ours.pop("inputs"), theirs.pop("inputs"), strict=True):
        differing = {name for name in mine if mine[name] != one[name]}
        assert differing <= {"sha256"}
        changed += [mine["role"]] if differing else []
    assert ours == theirs
    assert changed == ["train_annotations", "val_annotations"]


def test_scores_are_the_same_bytes_too(world: DemoWorld, world_files: Files, tmp_path: Path) -> None:
    found = []
    for name, way in WAYS.items():
        folder = tmp_path / name
        build(world_files, folder / "vqa-ce", way, "--quiet")
        tokens = ("--predictions", f"m={world.grounded_predictions}", "--quiet", "--resamples", 200)
        subprocess.run(
            [
                *(sys.executable, "-c", PROGRAM, "vqa-ce", "score", str(folder / "vqa-ce")),
                *map(str, (*tokens, "--out", folder / "scores")),
            ],
            env={**os.environ, "PYTHONPATH": str(CHECKOUT), **way},
            capture_output=True,
            check=True,
        )
        found.append(contents(folder / "scores"))
    assert found[0] == found[1] == found[2]
    assert pl.read_parquet(tmp_path / "one thread" / "scores" / "scores.parquet").height > 10
