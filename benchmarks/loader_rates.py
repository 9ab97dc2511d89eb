"""How fast data sets give items, beside bare reads of the same images by h5py."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

REGIONS, DIMENSIONS = 100, 2048
BARE = "bare h5py"
_TURNS = 5


def write_features(folder: Path, images: Sequence[str]) -> Path:
    """Write random features of images, 0.8 MB each, and their info file beside them."""
    path, drawn = folder / "features.h5", np.random.default_rng(0)
    with h5py.File(path, "w") as file:
        data = file.create_dataset("features", (len(images), REGIONS, DIMENSIONS), "f4")
        for row in range(len(images)):
            data[row] = drawn.random((REGIONS, DIMENSIONS), np.float32)
    info = {name: {"objectsNum": REGIONS, "index": row} for row, name in enumerate(images)}
    (folder / "features_info.json").write_text(json.dumps(info))
    return path


def item_rates(
    path: Path, images: Sequence[str], rows: Sequence[int], items: Mapping[str, Callable[[int], Any]]
) -> dict[str, float]:
    """Return items a second of processor time, of h5py and of each data set, taken by turns.

    Parameters
    ----------
    path : Path
        From :func:`write_features`: it was written just now, and so comes from the page cache.
    images : sequence of str
        As of that.
    rows : sequence of int
        The image of each item, which h5py reads as a whole.
    items : mapping of str to callable
        What gives an item by its number, from 0.
    """
    assert len(images) > max(rows)
    with h5py.File(path) as file:
        data = file["features"]
        given = {BARE: lambda at: data[rows[at]], **items}
        seconds = dict.fromkeys(given, 0.0)
        for turn in range(_TURNS):
            for name, get in given.items():
                start = time.process_time()
                for at in range(len(rows)):
                    get(at)
                seconds[name] += (time.process_time() - start) * (turn > 0)
    return {name: (_TURNS - 1) * len(rows) / one for name, one in seconds.items()}
