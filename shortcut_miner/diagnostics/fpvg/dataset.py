"""A build's questions with the features of the regions that a condition shows, for data loaders."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shortcut_miner.datasets.image_boxes import needed_boxes
from shortcut_miner.datasets.region_arrays import Ints, Layout, RegionArrays, checked_size, padded
from shortcut_miner.diagnostics.fpvg.config import CONDITIONS
from shortcut_miner.diagnostics.fpvg.outputs import COMMAND, read_folder
from shortcut_miner.errors import ConfigError, SourceError, examples
from shortcut_miner.options import PathText, PathTexts, as_path, reject
from shortcut_miner.sources.images.h5_features import FeatureFiles


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
    (int64, -1 for padding). Rows are those of the shown regions in the detector's order, then zeros. Beside,
    the arrays of its layout: see :class:`shortcut_miner.datasets.region_arrays.RegionArrays`.
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
        path = as_path("folder", folder)
        boxes = needed_boxes(path, COMMAND)
        self.condition, self.layout = condition, layout
        asked = _asked(path, question_ids)
        images = asked["image_id"].unique(maintain_order=True)
        boxes = boxes.filter(pl.col("image_id").is_in(images.implode()))
        self._arrays = RegionArrays(boxes, layout)
        self._texts = asked.select("question_id", "image_id", "question", "answer").rows()
        self._regions, self._starts = _flat(asked, boxes, condition)
        self.files = FeatureFiles(features, info, images.to_list())
        self.files.check_all(images.to_list(), "questions")
        longest, (first, _) = int(np.diff(self._starts).max(initial=0)), self.files.of(images[0])
        self._size = checked_size(pad_to, first.shape[1], longest)
        self.close()

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
        question_id, image_id, question, answer = self._texts[at]
        rows = self.files.rows(image_id, regions, self._size, self._arrays.spatial)
        return {
            "question_id": question_id,
            "image_id": image_id,
            "question": question,
            "answer": answer or "",
            "region_index": padded(regions, self._size, -1),
            **self._arrays.arranged(rows, self._arrays.places(image_id, regions)),
        }

    def close(self) -> None:
        """Close the files that this process opened; the next item opens them again."""
        self.files.close()


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
