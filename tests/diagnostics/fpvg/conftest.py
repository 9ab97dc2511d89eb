"""The golden world, and a function that builds on it."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shortcut_miner.diagnostics.fpvg.config import FpvgFiles


@pytest.fixture(scope="session")
def golden_fpvg(real_data: Path) -> Path:
    folder = real_data.parent / "golden" / "fpvg"
    if not folder.is_dir():
        pytest.skip(f"no golden files at {folder}")
    return folder


@pytest.fixture(scope="session")
def expected(golden_fpvg: Path) -> Callable[[str], Any]:
    """Return a function that loads one of the released scripts' outputs."""

    def load(name: str) -> Any:
        plain = golden_fpvg / "expected" / f"{name}.json"
        if plain.exists():
            return json.loads(plain.read_text())
        return json.loads(gzip.decompress((golden_fpvg / "expected" / f"{name}.json.gz").read_bytes()))

    return load


@pytest.fixture(scope="session")
def golden_files(golden_fpvg: Path) -> dict[str, FpvgFiles]:
    """Return the files of each detector."""
    world = golden_fpvg / "world"
    common = {
        "questions": world / "val_balanced_questions.json.gz",
        "scene_graphs": world / "val_sceneGraphs.json.gz",
    }
    return {
        "gqa": FpvgFiles(**common, detections=world, detections_info=world / "gqa_objects_info.json"),
        "detectron": FpvgFiles(**common, detections=world / "output_gqa_detectron_objects.h5"),
        "bottomup": FpvgFiles(**common, detections=world / "vg_gqa_obj36.tsv.gz"),
    }
