"""Our own folders when damaged, and what a terminal must not obey: one message, exit code 2, nothing else."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.commands import Ran, RunCli, tiny_world, write_world

Manifest = dict[str, Any]
MANIFESTS: dict[str, tuple[Callable[[Manifest], Any], str]] = {
    "a list": (lambda found: [found], "got no command that wrote it"),
    "deep": (lambda _: "[" * 100_000, "got broken JSON ("),
    "cut": (lambda found: json.dumps(found)[:99], "got broken JSON ("),
    "config": (lambda found: found | {"config": [1]}, "got config of another shape"),
    "counts": (
        lambda found: found | {"counts": {"rules": "many"}},
        "got counts that are no whole numbers",
    ),
    "inputs": (
        lambda found: found | {"inputs": [1]},
        "got inputs that have no role or name",
    ),
}


@pytest.fixture
def folder(built: Path, tmp_path: Path) -> Path:
    return shutil.copytree(built, tmp_path / "vqa-ce")


def check_clear(ran: Ran, path: Path, code: int = 2) -> None:
    told = ran.err if code == 2 else ran.out
    assert ran.code == code, ran.err
    assert str(path) in told
    assert len(ran.err) < 2000
    assert not any(word in ran.err for word in ("Traceback", "panicked", "bug in"))


@pytest.mark.parametrize("how", MANIFESTS)
def test_damaged_manifests(how: str, folder: Path, run_cli: RunCli) -> None:
    spoil, told = MANIFESTS[how]
    manifest = folder / "manifest.json"
    spoilt = spoil(json.loads(manifest.read_text()))
    manifest.write_text(spoilt if isinstance(spoilt, str) else json.dumps(spoilt))
    ran = run_cli("vqa-ce", "score", folder, "--predictions", "m=none.json")
    check_clear(ran, folder)
    assert told in ran.err
    check_clear(run_cli("inspect", folder), folder)


@pytest.mark.parametrize("name", ["split", "questions", "rules"])
def test_damaged_tables(name: str, folder: Path, run_cli: RunCli) -> None:
    draw, path = random.Random(name), folder / f"{name}.parquet"
    whole = path.read_bytes()
    commands = [("rules", folder), ("explain", folder, "none"), ("inspect", folder), ("inspect", path)]
    for at in (5, len(whole) // 2, *(draw.randrange(4, len(whole)) for _ in range(5))):
        damaged = bytearray(whole)
        damaged[at : at + 9] = draw.randbytes(9)
        path.write_bytes(damaged)
        for command in commands:
            ran = run_cli(*command)
            assert ran.code in (0, 1, 2), ran.err
            check_clear(ran, folder if ran.code else Path(), ran.code if ran.code else 0)


def test_control_characters_are_printed_as_escapes(run_cli: RunCli, tmp_path: Path) -> None:
    label = "dog\x1b[2J\x9b31m\u202e"
    world = tiny_world()
    world["detections"] = {"1": {"classes": [label, " "], "scores": [0.5, 2]}, label: {"classes": 1}}
    files = write_world(world, tmp_path / "in")
    table = tmp_path / f"t{label}.csv"
    table.write_text(f"items,answer\n{label},{label}\n")
    mine = ("mine", table, "--objects", "items", "--min-count", 1, "--dry-run")
    for ran in (
        run_cli("inspect", files["detections"]),
        run_cli("inspect", table),
        run_cli("inspect", table, "--format", "json"),
        run_cli(*mine),
        run_cli(*mine, "--format", "json"),
        run_cli("rad", "build", "--questions", table, "--dry-run"),
    ):
        assert ran.code in (0, 1, 2), ran.err
        assert not {*"\x1b\x9b\u202e"} & {*ran.out, *ran.err}
    assert run_cli(*mine, "--format", "json").json["rules"][0]["antecedent_objects"] == [label]
