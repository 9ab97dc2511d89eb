"""Region features of HDF5 detections: of a folder of shards, of single shards, and of several files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shortcut_miner.diagnostics.swapmix.features import _features_of
from shortcut_miner.errors import ConfigError, SourceError

h5py: Any = pytest.importorskip("h5py")
TABLE = pl.DataFrame(
    {"image_id": ["i0", "i1", "i2", "i1", "i0"], "region_index": [2, 0, 1, None, 0]},
    schema_overrides={"region_index": pl.UInt32},
)


@pytest.fixture
def features(tmp_path: Path) -> Any:
    """Write three shards, and return their features: shard, image, region, dimension."""
    values = np.random.default_rng(0).normal(size=(3, 1, 3, 4)).astype(np.float32)
    for number, one in enumerate(values):
        with h5py.File(tmp_path / f"gqa_objects_{number}.h5", "w") as file:
            file["bboxes"], file["features"] = np.ones((1, 3, 4), "f4"), one
    info = {f"i{at}": {"width": 9, "height": 9, "objectsNum": 3, "idx": 0, "file": at} for at in range(3)}
    (tmp_path / "gqa_objects_info.json").write_text(json.dumps(info))
    return values


def expected(features: Any, known: set[str]) -> Any:
    rows = np.zeros((len(TABLE), 4), np.float32)
    for at, (image, region) in enumerate(TABLE.iter_rows()):
        if region is not None and image in known:
            row = features[int(image[1]), 0, region]
            rows[at] = row / np.linalg.norm(row)
    return rows


def test_shards_of_a_folder_and_one_by_one(features: Any, tmp_path: Path) -> None:
    shards = [tmp_path / f"gqa_objects_{number}.h5" for number in range(3)]
    for paths, known in (
        ([tmp_path], {"i0", "i1", "i2"}),
        (shards, {"i0", "i1", "i2"}),
        (shards[1:2], {"i1"}),
        ([shards[2], shards[0]], {"i0", "i2"}),
    ):
        for infos in (None, [tmp_path / "gqa_objects_info.json"]):
            found = _features_of(TABLE, paths, infos)
            np.testing.assert_allclose(found, expected(features, known), rtol=1e-6)


def test_files_of_other_lengths_are_refused(features: Any, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "gqa_objects_1.h5", "r+") as file:
        del file["features"]
        file["features"] = np.ones((1, 3, 5), "f4")
    with pytest.raises(SourceError, match=r"objects_1\.h5: got features of 5 dimensions after 4 in"):
        _features_of(TABLE, [tmp_path / f"gqa_objects_{number}.h5" for number in range(2)], None)
    (tmp_path / "x.jsonl").write_text("{}")
    with pytest.raises(ConfigError, match=r"max_feature_cosine: got detections .*x\.jsonl without features"):
        _features_of(TABLE, [tmp_path / "x.jsonl"], None)


def test_features_in_a_file_that_is_missing_are_no_zeros(features: Any, tmp_path: Path) -> None:
    path = tmp_path / "gqa_objects_0.h5"
    layout = h5py.VirtualLayout((1, 3, 4), "<f4")
    layout[:] = h5py.VirtualSource("gone.h5", "features", (1, 3, 4))
    with h5py.File(path, "r+") as file:
        del file["features"]
        file.create_virtual_dataset("features", layout)
    with pytest.raises(SourceError, match=r"objects_0\.h5: got a data set 'features' .* 'gone\.h5'"):
        _features_of(TABLE, [path], None)
