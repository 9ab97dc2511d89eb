"""SwapDataset: each item against `apply_swap` on the features themselves, in loops, workers and loaders."""

import json
import multiprocessing
import os
import pickle
import shutil
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from diagnostics.swapmix.test_swapmix_images import write_world

import shortcut_miner as sm
from shortcut_miner.diagnostics.swapmix.dataset import SwapDataset
from shortcut_miner.diagnostics.swapmix.loader import apply_all_swaps, apply_swap
from shortcut_miner.errors import ArrayError, ConfigError, SourceError

h5py: Any = pytest.importorskip("h5py")

ROWS, DIMENSIONS = 6, 3
COUNTS = {"a": 4, "b": 4, "c": 4}


def random_features(seed: int) -> Any:
    return np.random.default_rng(seed).random((len(COUNTS), ROWS, DIMENSIONS), np.float32)


def write_features(path: Path, features: Any, **how: Any) -> Path:
    """Write features of the three images, the last one first, and their info file."""
    with h5py.File(path, "w") as file:
        file.create_dataset("features", data=features[::-1], **how)
    rows = {one: {"objectsNum": COUNTS[one], "index": 2 - at} for at, one in enumerate(COUNTS)}
    path.with_name(f"{path.stem}_info.json").write_text(json.dumps(rows))
    return path


@pytest.fixture
def world(tmp_path: Path) -> Path:
    sm.swapmix.build(**write_world(tmp_path), k=2, out=tmp_path / "built")
    write_features(tmp_path / "features.h5", random_features(0))
    return tmp_path


def shown(world: Path, built: str = "built", **more: Any) -> SwapDataset:
    info = {"info": world / "features_info.json"}
    return SwapDataset(world / built, world / "features.h5", **info | more)


def expected_rows(plan: pl.DataFrame, features: Any) -> list[Any]:
    of = dict(zip(COUNTS, features, strict=True))
    return [
        apply_swap(of[row["image_id"]], row, of.get(row["donor_image_id"]))[: COUNTS[row["image_id"]]]
        for row in plan.iter_rows(named=True)
    ]


def check_items(data: SwapDataset, plan: pl.DataFrame, features: Any) -> None:
    assert len(data) == len(plan)
    items = [*data]
    for one, row, rows in zip(items, plan.iter_rows(named=True), expected_rows(plan, features), strict=True):
        assert (one["question_id"], one["perturbation"]) == (row["question_id"], row["perturbation"])
        count = len(rows)
        assert np.array_equal(one["features"][:count], rows)
        assert not one["features"][count:].any()
        region = row["region_index"]
        assert one["swapped"].tolist() == [at == region for at in range(ROWS)]
        assert one["region_index"].tolist() == [*range(count), *[-1] * (ROWS - count)]
        assert one["num_boxes"] == count == one["mask"].sum()


def plan_of(world: Path, built: str = "built") -> pl.DataFrame:
    return pl.read_parquet(world / built / "swaps.parquet")


@pytest.mark.parametrize(
    "how", [{}, {"chunks": (1, ROWS, DIMENSIONS)}, {"compression": "gzip"}, {"dtype": ">f4"}, {"dtype": "f2"}]
)
def test_items_are_the_rows_of_the_plan(world: Path, how: dict[str, Any]) -> None:
    """Whether the file is read past HDF5 (in one piece, as memory has it) or through it."""
    features = random_features(1).astype(how.get("dtype", "f4"))
    write_features(world / "features.h5", features, **how)
    data = shown(world)
    check_items(data, plan_of(world), features)
    assert data[0]["answer"] == "yes"
    assert (data.files.of("a")[0].descriptor is not None) == (how in ({}, {"dtype": "f2"}))


@pytest.mark.parametrize("before", [0, 512])
def test_features_that_lie_in_another_file(world: Path, before: int) -> None:
    """Behind a link; a file that begins with something else is read through HDF5."""
    with h5py.File(world / "elsewhere.h5", "w", userblock_size=before) as file:
        file["other"] = np.ones(77)
        file["features"] = random_features(2)[::-1]
    with h5py.File(world / "features.h5", "w") as file:
        file["features"] = h5py.ExternalLink("elsewhere.h5", "/features")
    data = shown(world)
    check_items(data, plan_of(world), random_features(2))
    assert (data.files.of("a")[0].descriptor is not None) == (before == 0)


def test_a_file_that_is_cut_while_it_is_read(world: Path) -> None:
    data = shown(world)
    opened, row = data.files.of("a")
    assert row == 2
    os.truncate(world / "features.h5", opened.offset + 2 * ROWS * DIMENSIONS * 4 + 8)
    with pytest.raises(SourceError, match="it ends within its features"):
        data[0]
    data.close()
    with pytest.raises(SourceError, match=r"features.h5: got an HDF5 file that can't be read"):
        shown(world)


def test_items_in_any_order_are_the_same(world: Path) -> None:
    data, plan = shown(world), plan_of(world)
    rows = expected_rows(plan, random_features(0))
    for at in np.random.default_rng(0).permutation(len(plan)):
        assert np.array_equal(data[int(at)]["features"][: len(rows[at])], rows[at])
    assert np.array_equal(data[-1]["features"], data[len(plan) - 1]["features"])
    with pytest.raises(IndexError):
        data[len(plan)]


def test_an_item_may_be_changed(world: Path) -> None:
    """What is kept of an image is not what is given away."""
    data = shown(world)
    first = data[1]["features"].copy()
    data[1]["features"][:] = 7
    data[0]["features"][:] = 7
    assert np.array_equal(data[1]["features"], first)


def test_donors_are_read_once(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = shown(world)
    asked: list[tuple[str, int]] = []
    rows = data.files.rows

    def counted(image_id: str, regions: Any, *more: Any) -> Any:
        asked.append((image_id, len(regions)))
        return rows(image_id, regions, *more)

    monkeypatch.setattr(data.files, "rows", counted)
    for _ in range(2):
        _ = [*data]
    donors = plan_of(world).drop_nulls("donor_image_id").unique(["donor_image_id", "donor_region_index"])
    assert len([1 for _, count in asked if count == 1]) == len(donors)
    monkeypatch.setattr("shortcut_miner.diagnostics.swapmix.dataset._DONORS_KEPT", 2)
    check_items(data, plan_of(world), random_features(0))


def test_layouts_have_what_loaders_expect(world: Path) -> None:
    plan = plan_of(world)
    rows = expected_rows(plan, random_features(0))[1]
    boxes = pl.read_parquet(world / "built" / "boxes.parquet").filter(image_id="a")
    shares = boxes.select("x1", "y1", "x2", "y2").to_numpy() / np.array([40, 30, 40, 30], np.float32)
    lxmert = shown(world, layout="lxmert")[1]
    assert np.array_equal(lxmert["visual_feats"][:4], rows)
    assert np.array_equal(lxmert["visual_pos"][:4], shares.astype(np.float32))
    assert lxmert["visual_attention_mask"].tolist() == [1.0] * 4 + [0.0] * 2
    vinvl = shown(world, layout="vinvl", pad_to=5)[1]
    assert vinvl["img_feats"].shape == (5, DIMENSIONS + 6)
    assert np.array_equal(vinvl["img_feats"][:4, :DIMENSIONS], rows)
    assert np.allclose(vinvl["img_feats"][:4, DIMENSIONS : DIMENSIONS + 4], shares)
    assert (vinvl["img_mask"].tolist(), vinvl["img_mask"].dtype) == ([1, 1, 1, 1, 0], np.int64)
    assert vinvl["swapped"].sum() == 1


def test_questions_in_an_order_of_ones_own(world: Path) -> None:
    data, plan = shown(world, question_ids=["zz", "01"]), plan_of(world)
    wanted = pl.concat([plan.filter(question_id=one) for one in ("zz", "01")])
    check_items(data, wanted, random_features(0))


def test_epochs_of_a_training_plan(world: Path) -> None:
    """An item a question, with all regions of the epoch swapped."""
    files = {"questions": world / "questions.json", "scene_graphs": world / "graphs.json"}
    more = {"detections": world / "boxes.jsonl", "embeddings": world / "vectors.txt"}
    sm.swapmix.build(**files, **more, plan="training", epochs=2, swap_probability=0.7, out=world / "training")
    of = dict(zip(COUNTS, random_features(0), strict=True))
    most = 0
    for epoch in (0, 1):
        data = shown(world, "training", epoch=epoch)
        plan = pl.read_parquet(world / "training" / f"training_epoch_{epoch:03d}.parquet")
        assert [one["question_id"] for one in data] == ["01", "q/../2", "zz"]
        for one in data:
            assert one["epoch"] == epoch
            rows = plan.filter(question_id=one["question_id"]).to_dicts()
            donors = [of[row["donor_image_id"]][row["donor_region_index"]] for row in rows]
            given = np.array(donors, np.float32).reshape(-1, DIMENSIONS)
            whole = apply_all_swaps(of[one["image_id"]], rows, given)
            assert np.array_equal(one["features"][:4], whole[:4])
            assert one["swapped"].sum() == len(rows)
            most = max(most, len(rows))
    assert most > 1
    with pytest.raises(ConfigError, match="epoch: got None, expected one of the 2 epochs"):
        shown(world, "training")


def test_padding_that_may_be_swapped_is_shown(world: Path) -> None:
    """As the released program has it: rows beyond an image's count can be an object's region."""
    padded = np.zeros((3, ROWS, 4), np.float32)
    table = pl.read_parquet(world / "built" / "boxes.parquet")
    for at, one in enumerate(COUNTS):
        padded[2 - at, :4] = table.filter(image_id=one).select("x1", "y1", "x2", "y2").to_numpy()
    with h5py.File(world / "features.h5", "r+") as file:
        file["bboxes"] = padded
    info = json.loads((world / "features_info.json").read_text())
    (world / "features_info.json").write_text(
        json.dumps({one: row | {"objectsNum": 3} for one, row in info.items()})
    )
    files = {"questions": world / "questions.json", "scene_graphs": world / "graphs.json"}
    more = {"embeddings": world / "vectors.txt", "detections_info": world / "features_info.json"}
    sm.swapmix.build(
        **files, **more, detections=world / "features.h5", preset="code", k=2, out=world / "code"
    )  # fmt: skip
    data, plan = shown(world, "code"), plan_of(world, "code")
    assert (plan["region_index"] == 3).any()  # beyond the count
    of = dict(zip(COUNTS, random_features(0), strict=True))
    for one, row in zip(data, plan.iter_rows(named=True), strict=True):
        whole = apply_swap(of[row["image_id"]], row, of.get(row["donor_image_id"]))
        assert np.array_equal(one["features"], whole)


def test_donors_of_other_files(world: Path) -> None:
    """The donors' images have the names of the questions' images, and other regions."""
    other = world / "other"
    other.mkdir()
    for name in ("graphs.json", "boxes.jsonl"):
        shutil.copy(world / name, other / name)
    files = {"questions": world / "questions.json", "scene_graphs": world / "graphs.json"}
    more = {"detections": world / "boxes.jsonl", "embeddings": world / "vectors.txt"}
    donors = {"donor_scene_graphs": other / "graphs.json", "donor_detections": other / "boxes.jsonl"}
    sm.swapmix.build(**files, **more, **donors, k=2, out=world / "apart")
    with pytest.raises(ConfigError, match="donor_features: got none for a build whose donors"):
        shown(world, "apart")
    write_features(other / "features.h5", random_features(9))
    given = {"donor_features": other / "features.h5", "donor_info": other / "features_info.json"}
    own, theirs = (dict(zip(COUNTS, random_features(seed), strict=True)) for seed in (0, 9))
    plan = plan_of(world, "apart")
    for one, row in zip(shown(world, "apart", **given), plan.iter_rows(named=True), strict=True):
        whole = apply_swap(own[row["image_id"]], row, theirs.get(row["donor_image_id"]))
        assert np.array_equal(one["features"][:4], whole[:4])
    write_features(other / "features.h5", random_features(9)[:, :, :2])
    with pytest.raises(ArrayError, match="got float32 of 2 dimensions, expected float32 of 3"):
        _ = [*shown(world, "apart", **given)]


def item(given: tuple[SwapDataset, int]) -> Any:
    data, at = given
    return data[at]["features"]


@pytest.mark.sample(1)
@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_every_process_opens_files_of_its_own(world: Path, start: str) -> None:
    data = shown(world)
    here = [data[at]["features"] for at in range(9)]  # the parent's files are open when others begin
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(start)) as pool:
        there = [*pool.map(item, [(data, at) for at in range(9)])]
    assert all(np.array_equal(one, other) for one, other in zip(here, there, strict=True))
    assert np.array_equal(data[0]["features"], here[0])


def test_files_are_opened_when_they_are_needed(world: Path) -> None:
    data = shown(world)
    assert data.files.opened == {}
    first = data[1]
    assert len(data.files.opened) == 1
    again = pickle.loads(pickle.dumps(data))
    assert (again.files.opened, again._groups, again._donors, again._own) == ({}, {}, {}, ("", None))
    assert again.donor_files is again.files
    data.close()
    assert data.files.opened == {}
    assert np.array_equal(data[1]["features"], first["features"])


def test_what_does_not_fit_is_told(world: Path) -> None:
    for more, message in (
        ({"layout": "oscar"}, "layout: got 'oscar', expected one of bottom-up, lxmert, vinvl"),
        ({"pad_to": 3}, "pad_to: got 3, expected at least the 4 regions of some question"),
        ({"question_ids": ["c0"]}, r"question_ids: got 1 that are not in the plan .*'c0'"),
        ({"epoch": 0}, "epoch: got 0, expected none with this plan"),
    ):
        with pytest.raises(ConfigError, match=message):
            shown(world, **more)
    with pytest.raises(SourceError, match="got no HDF5"):
        SwapDataset(world / "built", world / "questions.json")
    info = json.loads((world / "features_info.json").read_text())
    del info["c"]
    (world / "features_info.json").write_text(json.dumps(info))
    with pytest.raises(SourceError, match=r"got no features of 1 images \('c'\)"):
        _ = [*shown(world)]  # a donor's
    del info["b"]
    (world / "features_info.json").write_text(json.dumps(info))
    with pytest.raises(SourceError, match=r"got no features of 1 images \('b'\), .* of all questions"):
        shown(world)
    write_features(world / "features.h5", random_features(0)[:, :2])
    with pytest.raises(ArrayError, match="got 3 images of 2 regions, expected region 3 of image 2"):
        shown(world, pad_to=4)[0]


def test_plans_without_regions(world: Path) -> None:
    files = {"questions": world / "questions.json", "scene_graphs": world / "graphs.json"}
    sm.swapmix.build(**files, embeddings=world / "vectors.txt", plan="perfect-sight", out=world / "seen")
    with pytest.raises(ConfigError, match="got a perfect-sight plan, which swaps names and no regions"):
        shown(world, "seen")


def test_it_is_a_public_name() -> None:
    assert sm.swapmix.SwapDataset is SwapDataset
    assert "SwapDataset" in dir(sm.swapmix)


def test_torchs_loader_takes_it(world: Path) -> None:
    loading = pytest.importorskip("torch.utils.data")
    data = shown(world)
    for workers in (0, 2):
        batches = [*loading.DataLoader(data, batch_size=4, num_workers=workers)]
        found = np.concatenate([batch["features"].numpy() for batch in batches])
        assert np.array_equal(found, np.stack([one["features"] for one in data]))
        assert batches[0]["perturbation"].tolist() == [0, 1, 2, 3]
