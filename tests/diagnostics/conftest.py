"""The real subset built once, and small builds of the demo world."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shortcut_miner.demo import DemoWorld, write_demo_world
from shortcut_miner.diagnostics.vqa_ce.config import VqaCeFiles

Golden = Callable[[str, str], Any]


@pytest.fixture(scope="session")
def golden(real_data: Path) -> Golden:
    """Return a function that loads one of the reference program's outputs: (case, name)."""
    folder = real_data.parent / "golden" / "vqa_ce"
    if not folder.is_dir():
        pytest.skip(f"no golden files at {folder}")

    def load(case: str, name: str) -> Any:
        with gzip.open(folder / case / f"{name}.json.gz", "rt", encoding="utf-8") as file:
            return json.load(file)

    return load


@pytest.fixture(scope="session")
def real_files(real_data: Path) -> VqaCeFiles:
    folder = real_data / "vqa60k"
    return VqaCeFiles(
        train_questions=folder / "questions_train.json.gz",
        train_annotations=folder / "annotations_train.json.gz",
        val_questions=folder / "questions_valid.json.gz",
        val_annotations=folder / "annotations_valid.json.gz",
        detections=folder / "image_to_detection.json.gz",
    )


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> DemoWorld:
    return write_demo_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="session")
def world_files(world: DemoWorld) -> VqaCeFiles:
    return VqaCeFiles(
        train_questions=world.train_questions,
        train_annotations=world.train_annotations,
        val_questions=world.val_questions,
        val_annotations=world.val_annotations,
        detections=world.detections,
    )
