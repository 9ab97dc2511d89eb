"""The boxes that a plan's folder keeps: of its regions, its donors, or its objects."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from diagnostics.swapmix.test_swapmix_images import DONORS, NAMES, write_world
from polars.testing import assert_frame_equal

import shortcut_miner as sm
from shortcut_miner.diagnostics.swapmix.plan_folder import read_folder
from shortcut_miner.schemas import ImageBoxes, ObjectBoxes, validated
from shortcut_miner.sources.images.regions import read_regions


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Any]:
    return write_world(tmp_path)


def test_boxes_are_those_of_the_detectors_file(files: dict[str, Any], tmp_path: Path) -> None:
    report = sm.swapmix.build(**files, k=1, out=tmp_path / "built")
    boxes = validated(report.boxes, ImageBoxes, "boxes")
    read = read_regions(files["detections"])
    expected = read.regions.join(read.images.select("image_id", "width", "height"), on="image_id")
    assert_frame_equal(boxes, expected.sort("image_id", "region_index").drop("attributes"))
    assert sm.verify(tmp_path / "built").counts["regions"] == (12, 12)
    assert "donor_boxes" not in report.tables
    kept = read_folder(tmp_path / "built").boxes()
    assert kept is not None
    assert_frame_equal(kept.own, boxes)
    assert kept.of_donors is kept.own
    # Who has the folder needs the detector's file no more.
    again = sm.swapmix.build(**files | {"detections": tmp_path / "built" / "boxes.parquet"}, k=1)
    assert_frame_equal(again.swaps, report.swaps)


def test_every_box_that_a_plan_names_is_there_once(files: dict[str, Any], tmp_path: Path) -> None:
    report = sm.swapmix.build(**files, k=3, out=tmp_path / "built")
    swaps = report.swaps.filter(pl.col("kind") != "original")
    for side in ("", "donor_"):
        keys = swaps.select(image_id=f"{side}image_id", region_index=f"{side}region_index").unique()
        joined = keys.join(report.boxes, on=["image_id", "region_index"], how="left", validate="1:1")
        assert joined["x1"].null_count() == 0


def test_donors_of_other_files_have_a_table_of_their_own(files: dict[str, Any], tmp_path: Path) -> None:
    """The same image has other regions in the donors' file."""
    graph = {"width": 90, "height": 80, "objects": {}}
    for at, name in enumerate(NAMES):
        sides = {"x": 10 * at, "y": 5, "w": 8, "h": 8}
        graph["objects"][f"d-{name}"] = {"name": name, "attributes": [], **sides}
    (tmp_path / "donors.json").write_text(json.dumps({"a": graph}))
    boxes = [{"xmin": 10 * at, "ymin": 5, "xmax": 10 * at + 8, "ymax": 13} for at in range(len(NAMES))]
    found = [{"score": 0.5, "label": "x", "box": box} for box in boxes]
    (tmp_path / "donors.jsonl").write_text(json.dumps({"image_id": "a", "detections": found}) + "\n")
    others = {"donor_scene_graphs": tmp_path / "donors.json", "donor_detections": tmp_path / "donors.jsonl"}
    report = sm.swapmix.build(**files, **others, k=1, out=tmp_path / "built")
    assert report.donor_boxes.select("image_id", "region_index", "x1").rows() == [
        ("a", at, 10.0 * at) for at in range(len(NAMES))
    ]
    assert report.boxes.filter(image_id="a").height == 4
    kept = read_folder(tmp_path / "built").boxes()
    assert kept is not None
    assert_frame_equal(kept.of_donors, report.donor_boxes)


def test_a_perfect_sight_plan_keeps_the_boxes_of_objects(files: dict[str, Any], tmp_path: Path) -> None:
    del files["detections"]
    report = sm.swapmix.build(**files, plan="perfect-sight", k=1, out=tmp_path / "built")
    boxes = validated(report.boxes, ObjectBoxes, "boxes")
    of_donors = boxes.filter(image_id="b").select("object_id", "x1", "y1", "x2", "y2", "width").rows()
    assert of_donors == [(f"o-{name}", *map(float, DONORS[name]), 80.0) for name in sorted(DONORS)]
    swaps = report.swaps.filter(pl.col("kind") != "original")
    keys = swaps.select("image_id", "object_id").unique()
    assert keys.join(boxes, on=["image_id", "object_id"], how="anti").is_empty()


@pytest.mark.parametrize("plan", ["evaluation", "perfect-sight"])
def test_pictures_need_nothing_but_the_folder(files: dict[str, Any], tmp_path: Path, plan: Any) -> None:
    if plan == "perfect-sight":
        del files["detections"]
    sm.swapmix.build(**files, plan=plan, k=1, out=tmp_path / "built")
    (tmp_path / "built" / "run.json").unlink()
    own = sm.swapmix.show(tmp_path / "built", "01", images=tmp_path / "images")
    name = "detections" if plan == "evaluation" else "scene_graphs"
    given = {name: files[name]}
    assert own.png == sm.swapmix.show(tmp_path / "built", "01", images=tmp_path / "images", **given).png


def test_a_folder_of_an_older_version_has_none(files: dict[str, Any], tmp_path: Path) -> None:
    sm.swapmix.build(**files, k=1, out=tmp_path / "built")
    manifest = json.loads((tmp_path / "built" / "manifest.json").read_text())
    del manifest["files"]["boxes.parquet"]
    (tmp_path / "built" / "manifest.json").write_text(json.dumps(manifest))
    assert read_folder(tmp_path / "built").boxes() is None
    assert sm.swapmix.show(tmp_path / "built", "01").fields["image"] == "a"  # from the detector's file
