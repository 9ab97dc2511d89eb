"""The boxes that a folder keeps: all rows of the questions' images, as the detector's file has them."""

import json
from dataclasses import replace
from pathlib import Path

from diagnostics.fpvg.worlds import graph, question, write_world
from polars.testing import assert_frame_equal

import shortcut_miner as sm
from shortcut_miner.datasets.image_boxes import kept_boxes
from shortcut_miner.diagnostics.fpvg.build import build
from shortcut_miner.diagnostics.fpvg.config import FpvgConfig, FpvgFiles
from shortcut_miner.schemas import ImageBoxes, validated
from shortcut_miner.sources.images.regions import read_regions

BOX, FAR = (0, 0, 10, 10), (50.5, 50, 60, 60)


def write_files(folder: Path) -> FpvgFiles:
    """Write three images, of which questions are about two, the later one first."""
    images = ["i2", "i1", "i0"]
    return write_world(
        folder,
        {"q0": question("i1", {"1": "o"}), "q1": question("i0", {"1": "o"}), "q2": question("i1", {})},
        {image: graph({"o": BOX}) for image in images},
        {image: [FAR, BOX] for image in images},
    )


def test_boxes_are_those_of_the_questions_images(tmp_path: Path) -> None:
    files = write_files(tmp_path)
    report = build(files, FpvgConfig(), tmp_path / "built")
    assert report.boxes.columns == [*ImageBoxes.column_names()]
    assert report.boxes.select("image_id", "region_index", "x1", "label").rows() == [
        ("i0", 0, 50.5, "x"), ("i0", 1, 0.0, "x"), ("i1", 0, 50.5, "x"), ("i1", 1, 0.0, "x"),
    ]  # fmt: skip
    kept = kept_boxes(tmp_path / "built", "fpvg build")
    assert kept is not None
    assert_frame_equal(kept, report.boxes)
    assert sm.verify(tmp_path / "built").counts["regions"] == (4, 4)


def test_boxes_are_the_same_without_a_folder_and_in_another_order(tmp_path: Path) -> None:
    files = write_files(tmp_path)
    boxes = build(files, FpvgConfig(), None).boxes
    lines = files.detections[0].read_text().splitlines()
    files.detections[0].write_text("\n".join(reversed(lines)))
    assert_frame_equal(build(files, FpvgConfig(), None).boxes, boxes)


def test_boxes_give_the_same_lists_as_the_detectors_file(tmp_path: Path) -> None:
    files = write_files(tmp_path)
    first = build(files, FpvgConfig(), tmp_path / "built")
    again = replace(files, detections=(tmp_path / "built" / "boxes.parquet",))
    second = build(again, FpvgConfig(), None)
    assert_frame_equal(second.regions, first.regions)
    assert_frame_equal(second.boxes.drop("width", "height"), first.boxes.drop("width", "height"))


def test_sizes_and_padding_are_kept(golden_files: dict[str, FpvgFiles]) -> None:
    files = golden_files["gqa"]
    boxes = validated(build(files, FpvgConfig(), None).boxes, ImageBoxes, "boxes")
    read = read_regions(files.detections, info=files.detections_info)
    expected = (
        read.regions.join(read.images.select("image_id", "width", "height"), on="image_id")
        .join(boxes.select("image_id").unique(), on="image_id", how="semi")
        .sort("image_id", "region_index")
        .drop("attributes")
    )
    assert_frame_equal(boxes, expected)
    assert boxes["is_padding"].any()
    assert boxes["width"].null_count() == 0


def test_a_folder_of_an_older_version_has_none(tmp_path: Path) -> None:
    build(write_files(tmp_path), FpvgConfig(), tmp_path / "built")
    (tmp_path / "built" / "boxes.parquet").unlink()
    path = tmp_path / "built" / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["files"]["boxes.parquet"]
    path.write_text(json.dumps(manifest))
    assert kept_boxes(tmp_path / "built", "fpvg build") is None
