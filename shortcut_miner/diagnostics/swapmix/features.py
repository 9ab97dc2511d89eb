"""Region features of objects and donors, for attribute donors that look different enough.

The released program takes an attribute donor only if the cosine of both regions' features is at most 0.7.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.diagnostics.swapmix.config import SwapMixFiles
from shortcut_miner.diagnostics.swapmix.world import World
from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.sources.images import regions_h5
from shortcut_miner.sources.images.h5_data import data_set, h5_errors, load_h5py
from shortcut_miner.sources.images.h5_info import read_places

Features = NDArray[np.float32]


def read_features(files: SwapMixFiles, world: World) -> tuple[Features, Features]:
    """Return unit feature vectors of the regions of ``world.objects`` and of ``world.donors``.

    Objects without a region, and features of length 0, get zeros: similar to nothing.

    Raises
    ------
    ConfigError
        The detections are no HDF5 files.
    SourceError
        The files have no features, or can't be read.
    """
    donors = files.donor_detections or files.detections
    donors_info = files.donor_detections_info if files.donor_detections else files.detections_info
    if files.detections is None or donors is None:
        raise AssertionError("read_inputs lets no such plan through")
    return (
        _features_of(world.objects, files.detections, files.detections_info),
        _features_of(world.donors, donors, donors_info),
    )


def _features_of(table: pl.DataFrame, paths: Sequence[Path], infos: Sequence[Path] | None) -> Features:
    features: Features | None = None
    for at, path in enumerate(paths):
        info = None if infos is None else infos[at if len(infos) > 1 else 0]
        features = _with_features(features, table, path, info)
    if features is None:
        return np.zeros((len(table), 1), np.float32)
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    features /= np.where(norms > 0, norms, 1).astype(np.float32)
    return features


def _with_features(
    features: Features | None, table: pl.DataFrame, path: Path, info: Path | None
) -> Features | None:
    """Return the features found so far with those of another file or folder; None while there are none."""
    if not regions_h5.is_h5(path):
        raise ConfigError(
            f"max_feature_cosine: got detections {path} without features, expected GQA's HDF5 files. "
            "Leave --max-feature-cosine out, or give HDF5 detections."
        )
    entries = read_places(info or regions_h5.find_info(path))
    wanted = (
        table.with_row_index("place")
        .drop_nulls("region_index")
        .join(entries, on="image_id", how="inner", validate="m:1")
        .select("place", "region_index", "file", "row")
        .sort("file", "row")
    )
    shards = regions_h5.find_shards(path, entries["file"].unique().sort().to_list())
    wanted = wanted.filter(pl.col("file").is_in(list(shards)))
    for (number,), part in wanted.group_by("file", maintain_order=True):
        found = _read(shards[int(str(number))], part)
        if features is None:
            features = np.zeros((len(table), found.shape[1]), np.float32)
        if features.shape[1] != found.shape[1]:
            raise SourceError(
                f"{path}: got features of {found.shape[1]:,} dimensions after {features.shape[1]:,} in other "
                "files, expected as many. Give the files of one detector."
            )
        features[part["place"].to_numpy()] = found
    return features


def _read(path: Path, part: pl.DataFrame) -> Features:
    """Return the features of one file's regions, image by image."""
    h5py: Any = load_h5py()
    with h5_errors(path), h5py.File(path, "r") as file:
        dataset = data_set(file, "features", path)
        if dataset is None:
            raise SourceError(
                f"{path}: got no dataset 'features', expected one beside the boxes. "
                "Leave --max-feature-cosine out, or give files with features."
            )
        found = np.empty((len(part), dataset.shape[2]), np.float32)
        at = 0
        for (row,), regions in part.group_by("row", maintain_order=True):
            slab = dataset[int(str(row))]
            found[at : at + len(regions)] = slab[regions["region_index"].to_numpy()]
            at += len(regions)
    return found
