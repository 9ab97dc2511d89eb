"""Region features in HDF5, read by image: what data loaders do thousands of times a second.

A data set that lies in one piece is read past HDF5, straight from the file into the array that is shown: to
ask HDF5 for one row costs as much as to copy a hundred of them.
"""

import contextlib
import dataclasses
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortcut_miner.errors import ArrayError, ConfigError, SourceError, examples
from shortcut_miner.options import PathTexts, as_path_tuple
from shortcut_miner.sources.images.h5_data import data_set, h5_errors, load_h5py
from shortcut_miner.sources.images.h5_info import read_places
from shortcut_miner.sources.images.regions_h5 import find_info, find_shards, is_h5

FEATURES = "features"
Ints = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, slots=True)
class OpenFeatures:
    """An open file's features.

    Attributes
    ----------
    path : Path
        The file.
    file, data : h5py.File, h5py.Dataset
        images x regions x dimensions.
    shape, dtype
        Of `data`: to ask h5py for them takes as long as to copy a row.
    descriptor, offset : int or None, int
        The file that holds the data in one piece, and where it begins there; None if it does not.
    """

    path: Path
    file: Any
    data: Any
    shape: tuple[int, int, int]
    dtype: Any
    descriptor: int | None
    offset: int

    def read_into(self, out: Any, image: int, low: int, high: int) -> None:
        """Fill an array with consecutive regions of an image.

        Parameters
        ----------
        out : ndarray, high - low x dimensions
            Of the features' dtype, in C order.
        image, low, high : int
            The image's row, its first region, and the first one after.

        Raises
        ------
        ArrayError
            The file has fewer images or regions.
        SourceError
            It can't be read.
        """
        images, regions, dimensions = self.shape
        if not 0 <= image < images or not 0 <= low <= high <= regions:
            raise ArrayError(
                f"{self.path}: got {images:,} images of {regions:,} regions, expected region {high - 1} of "
                f"image {image}. Give the features of the detector that the build was given."
            )
        if self.descriptor is None:
            try:
                out[:] = self.data[image, low:high]
            except Exception:
                with h5_errors(self.path):
                    raise
            return
        row = dimensions * self.dtype.itemsize
        place, wanted = self.offset + (image * regions + low) * row, (high - low) * row
        if wanted and os.preadv(self.descriptor, [out], place) != wanted:
            with h5_errors(self.path):
                raise OSError("it ends within its features")

    def close(self) -> None:
        """Close what is open."""
        if self.descriptor is not None:
            os.close(self.descriptor)
        self.file.close()


class FeatureFiles:
    """Files of region features, found by image; each process opens them for itself, when it needs them.

    Parameters
    ----------
    features : path or sequence of path
        HDF5 with a data set ``features`` (images x regions x dimensions): a file, several, or a folder of
        numbered shards.
    info : path or sequence of path, optional
        The info JSON that says which row is whose; looked for beside the file by default.
    images : collection of str
        The images that may be asked for.

    Raises
    ------
    SourceError
        No HDF5, or no image in it.
    ConfigError
        Another number of info files than of features.
    BackendError
        No h5py.
    """

    def __init__(self, features: PathTexts, info: PathTexts | None, images: Collection[str]) -> None:
        self._name = str(as_path_tuple("features", features)[0])
        self.places = _places_of(features, info, images)
        self.opened: dict[Path, OpenFeatures] = {}
        self._inherited: dict[Path, OpenFeatures] = {}
        self._owner = os.getpid()

    def check_all(self, images: Collection[str], whose: str) -> None:
        """Raise SourceError unless there are features of all of these images."""
        lost = sorted(set(images) - self.places.keys())
        if lost:
            raise SourceError(
                f"{self._name}: got no features of {len(lost):,} images ({examples(lost)}), expected those "
                f"of all {whose}. Give the files of the detector that the build was given."
            )

    def of(self, image_id: str) -> tuple[OpenFeatures, int]:
        """Return an image's file, opened by this process, and its row there."""
        if image_id not in self.places:
            self.check_all([image_id], "images that are asked for")
        path, row = self.places[image_id]
        return self._open(path), row

    def rows(self, image_id: str, regions: Ints, size: int | None = None, more: int = 0) -> Any:
        """Return the features of some of an image's regions.

        Parameters
        ----------
        image_id : str
            The image.
        regions : ndarray of int64
            Ascending.
        size : int, optional
            Rows of the result; those after the regions are zero. Default: no more than the regions.
        more : int
            Columns after the features, with room for something else.

        Returns
        -------
        ndarray, `size` x dimensions + `more`

        Raises
        ------
        ArrayError, SourceError
            As by :meth:`OpenFeatures.read_into`.
        """
        opened, row = self.of(image_id)
        count, dimensions = len(regions), opened.shape[2]
        low, high = (int(regions[0]), int(regions[-1]) + 1) if count else (0, 0)
        shown = np.empty((count if size is None else size, dimensions + more), opened.dtype)
        shown[count:] = 0
        if high - low == count and not more:
            opened.read_into(shown[:count], row, low, high)
        else:
            read = np.empty((high - low, dimensions), opened.dtype)
            opened.read_into(read, row, low, high)
            # All are in range by now; to check it again would copy them once more.
            np.take(read, regions - low, axis=0, out=shown[:count, :dimensions], mode="clip")
        return shown

    def close(self) -> None:
        """Close the files that this process opened; the next image opens them again."""
        if self._owner == os.getpid():
            for one in self.opened.values():
                one.close()
        self.opened = {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave open files behind: the process that gets this opens its own."""
        return self.__dict__ | {"opened": {}, "_inherited": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over what another process sent."""
        self.__dict__.update(state | {"_owner": os.getpid()})

    def __del__(self) -> None:
        """Close what is open."""
        with contextlib.suppress(Exception):
            self.close()

    def _open(self, path: Path) -> OpenFeatures:
        if self._owner != os.getpid():  # forked: the parent's files are not to be read, nor to be closed
            self._inherited, self.opened, self._owner = self.opened, {}, os.getpid()
        if path not in self.opened:
            self.opened[path] = open_features(path)
        return self.opened[path]


def open_features(path: Path) -> OpenFeatures:
    """Return the features of a file.

    Raises
    ------
    SourceError
        It can't be read, or has none of images x regions x dimensions.
    """
    h5py = load_h5py()
    with h5_errors(path):
        file = h5py.File(path, "r")
        data = data_set(file, FEATURES, path)
        if data is not None and len(data.shape) == 3:
            offset = _offset_of(data)
            descriptor = None if offset is None else os.open(data.file.filename, os.O_RDONLY)
            return OpenFeatures(path, file, data, data.shape, data.dtype, descriptor, offset or 0)
    file.close()
    raise SourceError(
        f"{path}: got no data set '{FEATURES}' of images x regions x dimensions, expected one. Give the file "
        "with features."
    )


def _offset_of(data: Any) -> int | None:
    """Return where in its file a data set begins; None if it isn't there in one piece, as memory has it."""
    h5d, file = load_h5py().h5d, data.file
    is_plain = file.driver == "sec2" and not file.userblock_size and data.dtype.isnative
    is_one_piece = data.id.get_create_plist().get_layout() == h5d.CONTIGUOUS and not data.external
    offset: int | None = data.id.get_offset() if is_plain and is_one_piece and hasattr(os, "preadv") else None
    return offset


def _places_of(
    features: PathTexts, info: PathTexts | None, images: Collection[str]
) -> dict[str, tuple[Path, int]]:
    """Return each image's file and row."""
    places = as_path_tuple("features", features)
    infos = [None] * len(places) if info is None else [*as_path_tuple("info", info)]
    if len(infos) not in (1, len(places)):
        raise ConfigError(
            f"info: got {len(infos)} files for {len(places)} of features, expected one, or one each. Give as "
            "many."
        )
    files: dict[str, tuple[Path, int]] = {}
    wanted = set(images)
    for at, place in enumerate(places):
        if not place.exists() or not is_h5(place):
            raise SourceError(f"{place}: got no HDF5, expected a file or folder of it. Correct features.")
        entries = read_places(infos[at % len(infos)] or find_info(place))
        shards = find_shards(place, entries["file"].unique().sort().to_list())
        for image_id, number, row in entries.iter_rows():
            if image_id in wanted and number in shards:
                files.setdefault(image_id, (shards[number], row))
    if not files:
        raise SourceError(
            f"{places[0]}: got no features of {len(wanted):,} images ({examples(sorted(wanted))}), expected "
            "those. Give the files of the detector that the build was given."
        )
    return files
