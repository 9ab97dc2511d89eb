"""A plan's swaps applied to region features, an item a row of the plan: for data loaders."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shortcut_miner.datasets.folders import BuiltFolder, open_folder
from shortcut_miner.datasets.region_arrays import Ints, Layout, RegionArrays, checked_size, padded
from shortcut_miner.diagnostics.swapmix.outputs import COMMAND
from shortcut_miner.diagnostics.swapmix.plan_folder import needed_boxes_of
from shortcut_miner.diagnostics.swapmix.plan_reader import scan_plan
from shortcut_miner.errors import ArrayError, ConfigError, SourceError, examples
from shortcut_miner.options import PathText, PathTexts, as_path
from shortcut_miner.sources.images.h5_features import FeatureFiles

_COLUMNS = ("region_index", "donor_image_id", "donor_region_index")
_GROUPS_KEPT = 64  # row groups of the plan, 1.5 MB each
_DONORS_KEPT = 2048  # regions of donors, 8 KB each
_NULL = np.iinfo(np.uint32).max

_NOTHING = "", None

# region, donor's image (a number), donor's region of each row; -1 for none
_Swaps = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


class SwapDataset:
    """The rows of a plan, each with its question's features in which one region is its donor's.

    A map-style data set: ``len`` and whole numbers. torch's DataLoader takes it, with any number of workers,
    and so does a plain loop; torch is not needed. Of an evaluation plan an item is a row: the question as it
    is, then each of its swaps. Of an epoch of a training plan an item is a question, with all of its swaps.

    Of the plan no more than some row groups are in memory (:class:`PlanReader`), of features the last image's
    and some donors'. Each process opens the files for itself. Items of one question lie together: in this
    order an image is read at most twice; in a random one each item reads its image and, until they are all in
    memory, a row group of the plan.

    Parameters
    ----------
    folder : path
        What ``swapmix build`` wrote, from a detector's regions.
    features : path or sequence of path
        HDF5 with a data set ``features`` (images x regions x dimensions), numbered as the boxes of the build:
        a file, several, or a folder of numbered shards.
    info : path or sequence of path, optional
        The info JSON that says which row is whose; looked for beside the file by default.
    donor_features, donor_info : path or sequence of path, optional
        The same of the donors, if they are in other files.
    epoch : int, optional
        Of a training plan; none otherwise.
    layout : {"bottom-up", "lxmert", "vinvl"}
        What an item holds; see the notes.
    pad_to : int, optional
        Rows of each item. Default: as many as the file has for an image.
    question_ids : sequence of str, optional
        These questions in this order, in place of all that are in the plan.

    Raises
    ------
    SourceError
        Not such a folder, or files that don't fit it.
    ConfigError
        An option or a question that there is not, a plan without regions, more regions than `pad_to`, or a
        layout that needs the sizes of images where the build has none.
    BackendError
        No h5py.

    Notes
    -----
    Every item has question_id, image_id, question, answer (text, "" where there is none), perturbation (0 for
    the question as it is; of a training plan epoch in its place), region_index (int64, -1 for padding) and
    swapped (bool, True for the rows that are donors'). Rows are those of all regions that are no padding in
    the detector's order, then zeros; boxes stay where they are. Of a build with ``padded_regions`` padding is
    shown too, as it may be swapped. Beside, the arrays of its layout: see
    :class:`shortcut_miner.datasets.region_arrays.RegionArrays`.
    """

    def __init__(
        self,
        folder: PathText,
        features: PathTexts,
        *,
        info: PathTexts | None = None,
        donor_features: PathTexts | None = None,
        donor_info: PathTexts | None = None,
        epoch: int | None = None,
        layout: Layout = "bottom-up",
        pad_to: int | None = None,
        question_ids: Sequence[str] | None = None,
    ) -> None:
        path = as_path("folder", folder)
        built = open_folder(path, COMMAND)
        config = built.manifest["config"]
        if config.get("plan") == "perfect-sight":
            raise ConfigError(
                f"{path}: got a perfect-sight plan, which swaps names and no regions, expected one of "
                "regions. Build another plan."
            )
        self.plan = scan_plan(path, epoch=epoch, columns=_COLUMNS)
        self.epoch = epoch
        boxes = needed_boxes_of(path, has_regions=True)
        asked = _asked(built, question_ids)
        places = asked["place"].to_numpy().astype(np.int64)
        self._texts = asked.select("question_id", "image_id", "question", "answer").rows()
        self._first, self._stop = self.plan.starts[places], self.plan.starts[places + 1]
        # Of an epoch each question is one item, however many of its regions are swapped.
        self._ends = np.cumsum(self._stop - self._first if epoch is None else np.ones(len(places), np.int64))
        images = asked["image_id"].unique(maintain_order=True).to_list()
        own = boxes.own.filter(pl.col("image_id").is_in(images))
        self._arrays = RegionArrays(own, layout)
        self._regions = _shown(own, with_padding=bool(config.get("padded_regions")))
        self._donor_ids = boxes.of_donors["image_id"].unique(maintain_order=True).to_list()
        self._donor_numbers = {one: at for at, one in enumerate(self._donor_ids)}
        self.files = FeatureFiles(features, info, {*images, *self._donor_ids})
        self.files.check_all(images, "questions")
        self.donor_files = self.files
        if donor_features is not None:
            self.donor_files = FeatureFiles(donor_features, donor_info, self._donor_ids)
        elif boxes.donors is not None:
            raise ConfigError(
                "donor_features: got none for a build whose donors come from other files, expected their "
                "features. Give donor_features."
            )
        longest, (first, _) = max(map(len, self._regions.values())), self.files.of(images[0])
        self._size = checked_size(pad_to, first.shape[1], longest)
        self._groups: dict[int, _Swaps] = {}
        self._donors: dict[tuple[int, int], Any] = {}
        self._own: tuple[str, Any] = _NOTHING
        self.close()

    def __len__(self) -> int:
        """Return how many items there are."""
        return int(self._ends[-1])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Give all items in order."""
        return (self[at] for at in range(len(self)))

    def __getitem__(self, at: int) -> dict[str, Any]:
        """Return one item; see the class."""
        size = len(self)
        if not -size <= at < size:
            raise IndexError(f"got item {at} of {size}, expected one of them")
        at %= size
        place = int(self._ends.searchsorted(at, side="right"))
        first, stop = int(self._first[place]), int(self._stop[place])
        number = {"epoch": self.epoch}
        if self.epoch is None:
            perturbation = at - (int(self._ends[place - 1]) if place else 0)
            first = first + perturbation
            stop, number = first + 1, {"perturbation": perturbation}
        question_id, image_id, question, answer = self._texts[place]
        regions = self._regions[image_id]
        rows, swapped = self._swapped(image_id, regions, first, stop)
        return {
            "question_id": question_id,
            "image_id": image_id,
            "question": question,
            "answer": answer or "",
            **number,
            "region_index": padded(regions, self._size, -1),
            "swapped": swapped,
            **self._arrays.arranged(rows, self._arrays.places(image_id, regions)),
        }

    def __getstate__(self) -> dict[str, Any]:
        """Leave what was read behind: the process that gets the data set reads for itself."""
        return self.__dict__ | {"_groups": {}, "_donors": {}, "_own": _NOTHING}

    def close(self) -> None:
        """Close the files that this process opened; the next item opens them again."""
        self.files.close()
        self.donor_files.close()

    def _swapped(self, image_id: str, regions: Ints, first: int, stop: int) -> tuple[Any, NDArray[np.bool_]]:
        """Return an image's features with the donors' of some rows of the plan, and where these are."""
        shown, count = self._features(image_id, regions), len(regions)
        dimensions = shown.shape[1] - self._arrays.spatial
        swapped = np.zeros(self._size, np.bool_)
        for at in range(first, stop):
            region, donor, donor_region = self._swap(at)
            if region < 0:
                continue
            row = int(regions.searchsorted(region))
            if row == count or regions[row] != region:
                raise SourceError(
                    f"{self.plan.path}: got a swap of region {region} of the image {image_id!r}, expected "
                    "one of its regions in boxes.parquet. Build again."
                )
            shown[row, :dimensions] = self._donor(donor, donor_region, shown[row, :dimensions])
            swapped[row] = True
        return shown, swapped

    def _features(self, image_id: str, regions: Ints) -> Any:
        """Return the features of an image's regions, and zeros after them.

        Of two items of one image in a row they are kept: the next ones are copies. A random order keeps none.
        """
        last, kept = self._own
        if last != image_id:
            self._own = image_id, None
            return self.files.rows(image_id, regions, self._size, self._arrays.spatial)
        if kept is None:
            kept = self.files.rows(image_id, regions)
            self._own = image_id, kept
        count, dimensions = kept.shape
        shown = np.empty((self._size, dimensions + self._arrays.spatial), kept.dtype)
        shown[:count, :dimensions] = kept
        shown[count:] = 0
        return shown

    def _donor(self, number: int, region: int, own: Any) -> Any:
        """Return a donor's features, of the kind of a question's own."""
        found = self._donors.get((number, region))
        if found is None:
            found = self.donor_files.rows(self._donor_ids[number], np.array([region]))[0]
            if (found.dtype, found.shape) != (own.dtype, own.shape):
                raise ArrayError(
                    f"donor_features: got {found.dtype} of {len(found):,} dimensions, expected {own.dtype} "
                    f"of {len(own):,} as the questions' features. Give the features of one detector."
                )
            if len(self._donors) >= _DONORS_KEPT:
                self._donors = {}
            self._donors[number, region] = found
        return found

    def _swap(self, row: int) -> tuple[int, int, int]:
        """Return region, donor's image and donor's region of a row of the plan; -1 for none."""
        group, at = self.plan.group_of(row)
        swaps = self._groups.get(group)
        if swaps is None:
            if len(self._groups) >= _GROUPS_KEPT:
                self._groups = {}
            swaps = self._groups[group] = _as_arrays(self.plan.read_group(group), self._donor_numbers)
        region, donor, donor_region = swaps
        return int(region[at]), int(donor[at]), int(donor_region[at])


def _as_arrays(group: pa.Table, numbers: dict[str, int]) -> _Swaps:
    """Return the numbers in a row group, without Polars or pandas: this runs in workers that were forked."""
    images = group.column("donor_image_id").unify_dictionaries().combine_chunks()
    if isinstance(images, pa.ChunkedArray):
        images = images.chunk(0)
    known = np.array([*(numbers.get(one, -1) for one in images.dictionary.to_pylist()), -1], np.int64)
    donors = known[_filled(images.indices, len(known) - 1).astype(np.int64)]
    region, donor_region = (
        _filled(group.column(name).combine_chunks(), int(_NULL)).astype(np.int64)
        for name in ("region_index", "donor_region_index")
    )
    return np.where(region == _NULL, -1, region), donors, np.where(donor_region == _NULL, -1, donor_region)


def _filled(numbers: Any, value: int) -> NDArray[Any]:
    """Return Arrow's numbers, `value` for null."""
    if isinstance(numbers, pa.ChunkedArray):
        numbers = numbers.chunk(0)
    whole = pc.fill_null(numbers, pa.scalar(value, numbers.type))
    dtype = np.dtype(str(whole.type))
    return np.frombuffer(whole.buffers()[1], dtype)[whole.offset : whole.offset + len(whole)]


def _asked(built: BuiltFolder, question_ids: Sequence[str] | None) -> pl.DataFrame:
    """Return the questions to show, with `place`: their numbers in the plan."""
    table = built.table("questions")
    planned = table.filter(pl.col("exclusion").is_null()).with_row_index("place")
    if question_ids is not None:
        wanted = pl.DataFrame({"question_id": [*question_ids]}, schema={"question_id": pl.String})
        lost = wanted.join(planned, on="question_id", how="anti")["question_id"]
        if len(lost):
            raise ConfigError(
                f"question_ids: got {len(lost):,} that are not in the plan of {built.path} "
                f"({examples(lost)}), expected such. Leave them out."
            )
        planned = wanted.join(planned, on="question_id", how="left", validate="m:1", maintain_order="left")
    if planned.is_empty():
        raise SourceError(f"{built.path}: got no question in the plan, expected some. Give another build.")
    return planned


def _shown(boxes: pl.DataFrame, *, with_padding: bool) -> dict[str, Ints]:
    """Return the regions of each image that are shown, ascending."""
    shown = boxes if with_padding else boxes.filter(~pl.col("is_padding"))
    found = {
        str(image_id): part["region_index"].to_numpy().astype(np.int64)
        for (image_id,), part in shown.group_by("image_id", maintain_order=True)
    }
    nothing = np.zeros(0, np.int64)
    return {one: found.get(one, nothing) for one in boxes["image_id"].unique(maintain_order=True)}
