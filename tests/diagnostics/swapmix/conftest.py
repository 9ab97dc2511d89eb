"""The reference's inputs and outputs for SwapMix, and builds on them."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shortcut_miner.diagnostics.swapmix.config import SwapMixFiles

Load = Callable[[str], Any]


@pytest.fixture(scope="session")
def golden_folder(real_data: Path) -> Path:
    folder = real_data.parent / "golden" / "swapmix"
    if not folder.is_dir():
        pytest.skip(f"no golden files at {folder}")
    return folder


@pytest.fixture(scope="session")
def golden_file(golden_folder: Path) -> Load:
    """Return a function that loads a file of the golden folder, packed or not."""

    def load(name: str) -> Any:
        path = golden_folder / name
        if path.exists():
            return json.loads(path.read_bytes())
        return json.loads(gzip.decompress((golden_folder / f"{name}.gz").read_bytes()))

    return load


@pytest.fixture(scope="session")
def golden_files(golden_folder: Path) -> dict[str, Any]:
    """Return the inputs of the golden world by role, without what says what is similar."""
    world = golden_folder.parent / "fpvg" / "world"
    return {
        "questions": golden_folder / "inputs" / "val_questions_new.json.gz",
        "scene_graphs": world / "val_sceneGraphs.json.gz",
        "detections": world,
        "detections_info": world / "gqa_objects_info.json",
    }


@pytest.fixture(scope="session")
def code_files(golden_files: dict[str, Any], golden_folder: Path) -> SwapMixFiles:
    return SwapMixFiles(**golden_files, similar_classes=golden_folder / "inputs" / "obj_matching.json")


@pytest.fixture(scope="session")
def vector_files(golden_files: dict[str, Any], golden_folder: Path) -> SwapMixFiles:
    return SwapMixFiles(
        **golden_files, embeddings=str(golden_folder / "inputs" / "synthetic_glove.50d.txt.gz")
    )
