"""Fixtures of the command line's tests."""

from pathlib import Path

import pytest
from cli.commands import Ran, RunCli, options
from cli.writers import Inputs, write_inputs

from shortcut_miner.cli.run import run
from shortcut_miner.demo import DemoWorld, write_demo_world


@pytest.fixture(autouse=True)
def _without_forced_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)


@pytest.fixture
def run_cli(capfd: pytest.CaptureFixture[str]) -> RunCli:
    """Run a command in this process."""

    def run_command(*tokens: object) -> Ran:
        capfd.readouterr()
        code = run([str(token) for token in tokens])
        return Ran.of(code, *capfd.readouterr())

    return run_command


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> DemoWorld:
    return write_demo_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="session")
def inputs(world: DemoWorld, tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return write_inputs(world, tmp_path_factory.mktemp("inputs"))


@pytest.fixture(scope="session")
def world_files(world: DemoWorld) -> dict[str, Path | None]:
    roles = ("train_questions", "train_annotations", "val_questions", "val_annotations", "detections")
    return {role: getattr(world, role) for role in roles}


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, world_files: dict[str, Path | None]) -> Path:
    """Return the folder of a build of the demo world."""
    out = tmp_path_factory.mktemp("built") / "vqa-ce"
    assert run(["vqa-ce", "build", *options(world_files), "--out", str(out), "--quiet"]) == 0
    return out
