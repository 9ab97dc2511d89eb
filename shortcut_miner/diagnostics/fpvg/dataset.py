"""A build's questions with the features of the regions that a condition shows, for data loaders."""

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.datasets.image_boxes import needed_boxes
from shortcut_miner.diagnostics.fpvg.config import CONDITIONS
from shortcut_miner.diagnostics.fpvg.outputs import COMMAND, read_folder
from shortcut_miner.errors import ArrayError, ConfigError, SourceError, examples
from shortcut_miner.options import PathText, PathTexts, as_path, as_path_tuple, reject
from shortcut_miner.sources.images.h5_data import data_set, h5_errors, load_h5py
from shortcut_miner.sources.images.h5_info import read_places
from shortcut_miner.sources.images.regions_h5 import find_info, find_shards, is_h5

Layout = Literal["bottom-up", "lxmert", "vinvl"]
_SIDES = ("x1", "y1", "x2", "y2")
_SPATIAL = {"bottom-up": 0, "lxmert": 0, "vinvl": 6}  # numbers after the features that say where a box is

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, slots=True)
class _Opened:
    """An open file's features; to ask h5py for their shape takes as long as to copy a row."""

    file: Any
    data: Any
    shape: tuple[int, int, int]
    dtype: Any


class FpvgDataset:
    """The evaluable questions of a build, each with the regions that one condition shows.

    A map-style data set: ``len`` and whole numbers. torch's DataLoader takes it, with any number of workers,
    and so does a plain loop; torch is not needed. An item reads one image's rows from HDF5, in a file that
    each process opens for itself.

    Parameters
    ----------
    folder : path
        What ``fpvg build`` wrote.
    features : path or sequence of path
        HDF5 with a data set ``features`` (images x regions x dimensions), numbered as the boxes of the build:
        a file, several, or a folder of numbered shards.
    info : path or sequence of path, optional
        The info JSON that says which row is whose; looked for beside the file by default.
    condition : {"all", "relevant", "irrelevant"}
        Which regions are shown.
    layout : {"bottom-up", "lxmert", "vinvl"}
        What an item holds; see the notes.
    pad_to : int, optional
        Rows of each item. Default: as many as the file has for an image.
    question_ids : sequence of str, optional
        These questions in this order, in place of all that are evaluable.

    Raises
    ------
    SourceError
        Not such a folder, or files that don't fit it.
    ConfigError
        An option or a question that there is not, more regions than `pad_to`, or a layout that needs the
        sizes of images where the build has none.
    BackendError
        No h5py.

    Notes
    -----
    Every item has question_id, image_id, question, answer (text, "" where there is none) and region_index
    (int64, -1 for padding). Rows are those of the shown regions in the detector's order, then zeros. Beside:

    - "bottom-up": ``features`` (rows x dimensions), ``boxes`` (rows x 4, pixels), ``num_boxes`` (how many are
      regions), ``mask`` (bool, True for these).
    - "lxmert": ``visual_feats``, ``visual_pos`` (x1, y1, x2, y2 as shares of width and height),
      ``visual_attention_mask`` (float32, 1 for regions), as LXMERT's model names them.
    - "vinvl": ``img_feats`` (rows x dimensions + 6: the corners as shares of width and height, then width and
      height of the box as shares), ``img_mask`` (int64, 1 for regions), as Oscar reads VinVL's features.
    """

    def __init__(
        self,
        folder: PathText,
        features: PathTexts,
        *,
        info: PathTexts | None = None,
        condition: str = "all",
        layout: Layout = "bottom-up",
        pad_to: int | None = None,
        question_ids: Sequence[str] | None = None,
    ) -> None:
        if condition not in CONDITIONS:
            reject("condition", condition, f"one of {', '.join(CONDITIONS)}")
        if layout not in _SPATIAL:
            reject("layout", layout, f"one of {', '.join(_SPATIAL)}")
        path = as_path("folder", folder)
        boxes = needed_boxes(path, COMMAND)
        self.condition, self.layout = condition, layout
        asked = _asked(path, question_ids)
        boxes = boxes.filter(pl.col("image_id").is_in(asked["image_id"].unique().implode()))
        if layout != "bottom-up" and boxes.select(pl.col("width", "height").null_count()).sum_horizontal()[0]:
            raise ConfigError(
                f"layout: got {layout!r} for a build without the sizes of images, expected 'bottom-up'. Use "
                "that, or build from detections that have them."
            )
        self._texts = asked.select("question_id", "image_id", "question", "answer").rows()
        self._regions, self._starts = _flat(asked, boxes, condition)
        # Boxes of an image lie together, those of a question's are looked up by their numbers.
        self._boxes: Floats = boxes.select(_SIDES).to_numpy().astype(np.float32, order="C")
        self._sizes = boxes.select("width", "height").to_numpy().astype(np.float32)
        self._numbers: Ints = boxes["region_index"].to_numpy().astype(np.int64)
        self._of_image = _places_of_images(asked, boxes)
        self._files, self._rows = _rows_of_images(asked, features, info)
        self._opened: dict[Path, _Opened] = {}
        self._inherited: dict[Path, _Opened] = {}
        self._owner = os.getpid()
        first = self._data(next(iter(self._files)))
        longest = int(np.diff(self._starts).max(initial=0))
        self._size = first.shape[1] if pad_to is None else pad_to
        self.close()
        if not isinstance(self._size, int) or self._size < longest:
            reject("pad_to", self._size, f"at least the {longest} regions of some question")

    def __len__(self) -> int:
        """Return how many questions there are."""
        return len(self._texts)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Give all items in order."""
        return (self[at] for at in range(len(self)))

    def __getitem__(self, at: int) -> dict[str, Any]:
        """Return one question; see the class."""
        size = len(self._texts)
        if not -size <= at < size:
            raise IndexError(f"got question {at} of {size}, expected one of them")
        at %= size
        regions = self._regions[self._starts[at] : self._starts[at + 1]]
        first, last = self._of_image[at]
        own = self._numbers[first:last].searchsorted(regions) + first
        question_id, image_id, question, answer = self._texts[at]
        return {
            "question_id": question_id,
            "image_id": image_id,
            "question": question,
            "answer": answer or "",
            "region_index": _padded(regions, self._size, -1),
            **self._shown(self._features(at, regions), own, len(regions)),
        }

    def __getstate__(self) -> dict[str, Any]:
        """Leave open files behind: the process that gets the data set opens its own."""
        return self.__dict__ | {"_opened": {}, "_inherited": {}}

    def close(self) -> None:
        """Close the files that this process opened; the next item opens them again."""
        for opened in self._opened.values():
            opened.file.close()
        self._opened = {}

    def _features(self, at: int, regions: Ints) -> Any:
        """Return the features of some regions of a question's image, and zeros after them."""
        path, row = self._rows[at]
        opened = self._data(path)
        images, rows, dimensions = opened.shape
        count = len(regions)
        low, high = (int(regions[0]), int(regions[-1]) + 1) if count else (0, 0)
        if row >= images or high > rows:
            raise ArrayError(
                f"{path}: got {images:,} images of {rows:,} regions, expected region {high - 1} of image "
                f"{row}. Give the features of the detector that the build was given."
            )
        is_whole = self.layout != "vinvl" and rows == self._size
        try:
            read = opened.data[row] if is_whole else opened.data[row, low:high]
        except Exception:
            with h5_errors(path):
                raise
        if is_whole:  # what is read becomes what is shown
            if high > count:
                read[:count] = read[regions]
            read[count:] = 0
            return read
        shown = np.empty((self._size, dimensions + _SPATIAL[self.layout]), opened.dtype)
        shown[:count, :dimensions] = read if high - low == count else read[regions - low]
        shown[count:] = 0
        return shown

    def _data(self, path: Path) -> "_Opened":
        """Return a file's features, opened by this process."""
        if self._owner != os.getpid():  # forked: the parent's files are not to be read, nor to be closed
            self._inherited, self._opened, self._owner = self._opened, {}, os.getpid()
        if path not in self._opened:
            self._opened[path] = _open(path)
        return self._opened[path]

    def _shown(self, rows: Any, own: Ints, count: int) -> dict[str, Any]:
        """Return the arrays of an item as its layout has them; `own` are the places of its boxes."""
        mask = np.zeros(self._size, np.bool_)
        mask[:count] = True
        boxes = self._boxes[own]
        if self.layout == "bottom-up":
            padded = _padded(boxes, self._size, 0)
            return {"features": rows, "boxes": padded, "num_boxes": count, "mask": mask}
        shares = boxes / np.tile(self._sizes[own], 2)
        if self.layout == "lxmert":
            return {
                "visual_feats": rows,
                "visual_pos": _padded(shares, self._size, 0),
                "visual_attention_mask": mask.astype(np.float32),
            }
        rows[:count, -6:-2] = shares
        rows[:count, -2:] = shares[:, 2:] - shares[:, :2]
        return {"img_feats": rows, "img_mask": mask.astype(np.int64)}

    def __del__(self) -> None:
        """Close what is open."""
        with contextlib.suppress(Exception):
            if self._owner == os.getpid():
                self.close()


def _open(path: Path) -> _Opened:
    h5py = load_h5py()
    with h5_errors(path):
        file = h5py.File(path, "r")
        data = data_set(file, "features", path)
        if data is not None and len(data.shape) == 3:
            return _Opened(file, data, data.shape, data.dtype)
    file.close()
    raise SourceError(
        f"{path}: got no data set 'features' of images x regions x dimensions, expected one. Give the file "
        "with features."
    )


def _padded(values: Any, size: int, fill: int) -> Any:
    padded = np.empty((size, *values.shape[1:]), values.dtype)
    padded[: len(values)] = values
    padded[len(values) :] = fill
    return padded


def _asked(path: Path, question_ids: Sequence[str] | None) -> pl.DataFrame:
    """Return the questions to show with their lists."""
    folder = read_folder(path)
    lists = folder.regions.filter("is_evaluable").select("question_id", "relevant", "irrelevant")
    table = folder.questions.select("question_id", "image_id", "question", "answer").join(
        lists, on="question_id", how="inner", validate="1:1", maintain_order="left"
    )
    if question_ids is not None:
        wanted = pl.DataFrame({"question_id": [*question_ids]}, schema={"question_id": pl.String})
        lost = wanted.join(table, on="question_id", how="anti")["question_id"]
        if len(lost):
            raise ConfigError(
                f"question_ids: got {len(lost):,} that are no evaluable questions of {path} "
                f"({examples(lost)}), expected such. Leave them out."
            )
        table = wanted.join(table, on="question_id", how="left", validate="m:1", maintain_order="left")
    if table.is_empty():
        raise SourceError(f"{path}: got no evaluable question, expected some. Give another build.")
    return table


def _flat(asked: pl.DataFrame, boxes: pl.DataFrame, condition: str) -> tuple[Ints, Ints]:
    """Return the shown regions of all questions, sorted in each, and where each question's begin."""
    if condition == "all":
        real = boxes.filter(~pl.col("is_padding")).group_by("image_id").agg(all="region_index")
        asked = asked.join(real, on="image_id", how="left", validate="m:1", maintain_order="left")
    lists = asked[condition].list.sort()
    lengths = lists.list.len().fill_null(0).to_numpy().astype(np.int64)
    flat = lists.filter(lists.list.len() > 0).explode().to_numpy().astype(np.int64)
    return flat, np.concatenate([[0], np.cumsum(lengths)])


def _places_of_images(asked: pl.DataFrame, boxes: pl.DataFrame) -> list[tuple[int, int]]:
    """Return where the boxes of each question's image begin and end."""
    numbered = boxes.select("image_id").with_row_index("row")
    places = numbered.group_by("image_id").agg(first=pl.col("row").min(), last=pl.col("row").max() + 1)
    joined = asked.join(places, on="image_id", how="left", validate="m:1", maintain_order="left")
    return joined.select("first", "last").rows()


def _rows_of_images(
    asked: pl.DataFrame, features: PathTexts, info: PathTexts | None
) -> tuple[list[Path], list[tuple[Path, int]]]:
    """Return the files, and of each question its image's file and row."""
    places = as_path_tuple("features", features)
    infos = [None] * len(places) if info is None else [*as_path_tuple("info", info)]
    if len(infos) not in (1, len(places)):
        raise ConfigError(
            f"info: got {len(infos)} files for {len(places)} of features, expected one, or one each. Give as "
            "many."
        )
    files: dict[str, tuple[Path, int]] = {}
    wanted = set(asked["image_id"].to_list())
    for at, place in enumerate(places):
        if not place.exists() or not is_h5(place):
            raise SourceError(f"{place}: got no HDF5, expected a file or folder of it. Correct features.")
        entries = read_places(infos[at % len(infos)] or find_info(place))
        shards = find_shards(place, entries["file"].unique().sort().to_list())
        for image_id, number, row in entries.iter_rows():
            if image_id in wanted and number in shards:
                files.setdefault(image_id, (shards[number], row))
    lost = sorted(wanted - files.keys())
    if lost:
        raise SourceError(
            f"{places[0]}: got no features of {len(lost):,} images ({examples(lost)}), expected those of all "
            "questions. Give the files of the detector that the build was given."
        )
    rows = [files[one] for one in asked["image_id"].to_list()]
    return list(dict.fromkeys(path for path, _ in rows)), rows
