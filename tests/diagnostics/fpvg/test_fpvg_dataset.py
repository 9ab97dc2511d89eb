"""FpvgDataset: each question's rows against the features themselves, in loops, workers and loaders."""

import json
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from diagnostics.fpvg.worlds import graph, question, write_world

import shortcut_miner as sm
from shortcut_miner.diagnostics.fpvg.build import build
from shortcut_miner.diagnostics.fpvg.config import FpvgConfig
from shortcut_miner.diagnostics.fpvg.dataset import FpvgDataset
from shortcut_miner.errors import ArrayError, ConfigError, SourceError

h5py: Any = pytest.importorskip("h5py")

WIDTH, HEIGHT, ROWS, DIMENSIONS = 80, 60, 6, 3
OBJECT = (0, 0, 20, 20)
# Regions 1 and 3 show the object, 2 a part of it; the second image has two regions less.
BOXES = [(40, 40, 60, 60), (0, 0, 20, 20), (10, 0, 30, 20), (1, 1, 20, 20), (60, 0, 80, 10)]
IMAGES = {"a": BOXES, "b": BOXES[:3]}


@pytest.fixture
def features() -> Any:
    return np.random.default_rng(0).random((2, ROWS, DIMENSIONS), np.float32)


@pytest.fixture
def world(tmp_path: Path, features: Any) -> Path:
    """Build from two shards, one of each image, with three questions."""
    files = write_world(
        tmp_path,
        {name: question(name[0], {"1": "o"}, answer="red") for name in ("a0", "a1", "b0")},
        {image: graph({"o": OBJECT}, (WIDTH, HEIGHT)) for image in IMAGES},
        IMAGES,
    )
    (tmp_path / "h5").mkdir()
    info = {}
    for at, (image, boxes) in enumerate(IMAGES.items()):
        padded = np.zeros((1, ROWS, 4), np.float32)
        padded[0, : len(boxes)] = boxes
        with h5py.File(tmp_path / "h5" / f"objects_{at}.h5", "w") as file:
            file["bboxes"], file["features"] = padded, features[at : at + 1]
        info[image] = {"objectsNum": len(boxes), "width": WIDTH, "height": HEIGHT, "idx": 0, "file": at}
    (tmp_path / "h5" / "objects_info.json").write_text(json.dumps(info))
    files = type(files)(
        questions=files.questions, scene_graphs=files.scene_graphs, detections=(tmp_path / "h5",)
    )
    build(files, FpvgConfig(), tmp_path / "built")
    return tmp_path


def shown(world: Path, **more: Any) -> FpvgDataset:
    return FpvgDataset(world / "built", world / "h5", **more)


LISTS = {
    ("all", "a0"): [0, 1, 2, 3, 4], ("relevant", "a0"): [1, 3], ("irrelevant", "a0"): [0, 4],
    ("all", "b0"): [0, 1, 2], ("relevant", "b0"): [1], ("irrelevant", "b0"): [0],
}  # fmt: skip


@pytest.mark.parametrize("condition", ["all", "relevant", "irrelevant"])
def test_items_are_the_rows_of_the_lists(world: Path, features: Any, condition: str) -> None:
    data = shown(world, condition=condition)
    assert [one["question_id"] for one in data] == ["a0", "a1", "b0"]
    for at, (name, image) in enumerate((("a0", 0), ("b0", 1))):
        one = data[2 * at]
        regions = LISTS[condition, name]
        count = len(regions)
        assert one["num_boxes"] == count
        assert one["region_index"].tolist() == regions + [-1] * (ROWS - count)
        assert np.array_equal(one["features"][:count], features[image, regions])
        assert one["boxes"][:count].tolist() == [list(map(float, BOXES[region])) for region in regions]
        assert not one["features"][count:].any()
        assert not one["boxes"][count:].any()
        assert one["mask"].tolist() == [True] * count + [False] * (ROWS - count)
        assert (one["features"].dtype, one["boxes"].dtype) == (np.float32, np.float32)
        assert (one["question"], one["answer"], one["image_id"]) == ("Is it?", "red", name[0])


def test_layouts_have_what_loaders_expect(world: Path, features: Any) -> None:
    scale = np.array([WIDTH, HEIGHT] * 2, np.float32)
    shares = np.array([BOXES[1], BOXES[3]], np.float32) / scale
    lxmert = shown(world, condition="relevant", layout="lxmert")[0]
    assert {"visual_feats", "visual_pos", "visual_attention_mask"} <= lxmert.keys()
    assert np.array_equal(lxmert["visual_pos"][:2], shares)
    assert lxmert["visual_attention_mask"].tolist() == [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    vinvl = shown(world, condition="relevant", layout="vinvl", pad_to=3)[0]
    assert vinvl["img_feats"].shape == (3, DIMENSIONS + 6)
    assert np.array_equal(vinvl["img_feats"][:2, :DIMENSIONS], features[0, [1, 3]])
    sides = np.concatenate([shares, shares[:, 2:] - shares[:, :2]], axis=1)
    assert np.array_equal(vinvl["img_feats"][:2, DIMENSIONS:], sides)
    assert not vinvl["img_feats"][2].any()
    assert (vinvl["img_mask"].tolist(), vinvl["img_mask"].dtype) == ([1, 1, 0], np.int64)


def test_questions_in_an_order_of_ones_own(world: Path) -> None:
    data = shown(world, question_ids=["b0", "a1"])
    assert [one["question_id"] for one in data] == ["b0", "a1"]
    assert (len(data), data[-1]["question_id"], data[-2]["image_id"]) == (2, "a1", "b")
    with pytest.raises(IndexError):
        data[2]


def item(given: tuple[FpvgDataset, int]) -> Any:
    data, at = given
    return data[at]["features"]


@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_every_process_opens_files_of_its_own(world: Path, start: str) -> None:
    data = shown(world)
    here = [data[at]["features"] for at in range(3)]  # the parent's files are open when others begin
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(start)) as pool:
        there = [*pool.map(item, [(data, at) for at in range(3)])]
    assert all(np.array_equal(one, other) for one, other in zip(here, there, strict=True))
    assert np.array_equal(data[0]["features"], here[0])


def test_files_are_opened_when_they_are_needed(world: Path) -> None:
    data = shown(world)
    assert data.files.opened == {}
    data[0]
    assert len(data.files.opened) == 1
    assert pickle.loads(pickle.dumps(data)).files.opened == {}
    data.close()
    assert data.files.opened == {}
    assert data[0]["num_boxes"] == 5


def test_what_does_not_fit_is_told(world: Path) -> None:
    for more, message in (
        ({"condition": "most"}, "condition: got 'most', expected one of all, relevant, irrelevant"),
        ({"layout": "oscar"}, "layout: got 'oscar', expected one of bottom-up, lxmert, vinvl"),
        ({"pad_to": 4}, "pad_to: got 4, expected at least the 5 regions of some question"),
        ({"question_ids": ["c0"]}, r"question_ids: got 1 that are no evaluable questions .*'c0'"),
    ):
        with pytest.raises(ConfigError, match=message):
            shown(world, **more)
    with pytest.raises(SourceError, match="got no HDF5"):
        FpvgDataset(world / "built", world / "questions.json")
    with h5py.File(world / "h5" / "objects_1.h5", "r+") as file:
        del file["features"]
        file["features"] = np.zeros((1, 2, DIMENSIONS), np.float32)
    with pytest.raises(ArrayError, match="got 1 images of 2 regions, expected region 2 of image 0"):
        shown(world)[2]
    info = json.loads((world / "h5" / "objects_info.json").read_text())
    del info["b"]
    (world / "h5" / "objects_info.json").write_text(json.dumps(info))
    with pytest.raises(SourceError, match="got no features of 1 images"):
        shown(world)


def test_sizes_are_needed_for_shares(world: Path) -> None:
    lines = (world / "detections.jsonl").read_text()
    assert "width" not in lines
    files = {name: world / f"{name}.json" for name in ("questions",)} | {
        "scene_graphs": world / "graphs.json"
    }
    sm.fpvg.build(**files, detections=world / "detections.jsonl", out=world / "unsized")
    assert FpvgDataset(world / "unsized", world / "h5")[0]["num_boxes"] == 5
    with pytest.raises(ConfigError, match="layout: got 'vinvl' for a build without the sizes of images"):
        FpvgDataset(world / "unsized", world / "h5", layout="vinvl")


def test_it_is_a_public_name() -> None:
    assert sm.fpvg.FpvgDataset is FpvgDataset
    assert "FpvgDataset" in dir(sm.fpvg)


def test_torchs_loader_takes_it(world: Path) -> None:
    loading = pytest.importorskip("torch.utils.data")
    for workers in (0, 2):
        (batch,) = [*loading.DataLoader(shown(world), batch_size=3, num_workers=workers)]
        assert batch["features"].shape == (3, ROWS, DIMENSIONS)
        assert batch["num_boxes"].tolist() == [5, 5, 3]
        assert batch["mask"].sum().item() == 13
        assert batch["question_id"] == ["a0", "a1", "b0"]


def test_the_order_of_region_lists_is_the_detectors(world: Path) -> None:
    lists = pl.read_parquet(world / "built" / "regions.parquet")
    assert dict(lists.select("question_id", "relevant").iter_rows()) == {
        "a0": [1, 3], "a1": [1, 3], "b0": [1],
    }  # fmt: skip
