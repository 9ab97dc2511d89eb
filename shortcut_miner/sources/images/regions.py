"""Detectors' boxes in every format that carries them, told apart by content.

To add a format, write its reader module and its line in ``WITH_LABELS`` or ``WITHOUT_LABELS``:

1. The module, such as :mod:`.regions_json`, holds the format's name, a function that tells it by the first
   bytes of a file, and its reader. The reader takes a :class:`~.region_tables.RegionFiles`, opens the file
   with :func:`~shortcut_miner.sources.opening.streams.open_stream` and returns the facts of all files it read
   with everything it found: a :class:`~.region_tables.RawRegions`, for which :func:`~.region_tables.gathered`
   puts together one :class:`~.region_tables.Block` an image. What is wrong with an image is a block too
   (:func:`~.region_tables.bad_image`). Ids, padding, box conventions and duplicates are checked here for all.
2. The line names these three, and says whether a second file belongs to the format (``takes_info``). Formats
   whose files are read as a whole also say how :func:`~shortcut_miner.sources.recognise.recognise` tells and
   counts them (``form``, ``recognise``, ``holds``).
"""

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TypeVar

import polars as pl

from shortcut_miner.columnar import COLUMNAR_ERRORS, look_at_columns
from shortcut_miner.errors import ConfigError, SourceError, examples
from shortcut_miner.options import OnBadRow, PathTexts, as_path_tuple
from shortcut_miner.sources.images.h5_info import REGIONS_INFO, is_info
from shortcut_miner.sources.images.region_checks import settled
from shortcut_miner.sources.images.region_tables import RawRegions, RegionFiles, RegionReading
from shortcut_miner.sources.images.regions_flat import (
    OPEN_IMAGES_CSV,
    REGION_COLUMNS,
    REGIONS_PARQUET,
    OtherColumnsError,
    open_images_regions,
    parquet_regions,
    starts_open_images,
    starts_parquet,
)
from shortcut_miner.sources.images.regions_h5 import (
    REGIONS_H5,
    h5_regions,
    is_h5,
    starts_h5,
)
from shortcut_miner.sources.images.regions_json import (
    COCO_RESULTS,
    PIPELINE_JSONL,
    coco_regions,
    pipeline_regions,
    starts_coco_results,
    starts_pipeline,
)
from shortcut_miner.sources.images.regions_tsv import (
    BOTTOM_UP_TSV,
    LXMERT_TSV,
    OSCAR_TSV,
    VINVL_TSV,
    bottom_up_regions,
    lxmert_regions,
    refuse_oscar,
    starts_bottom_up,
    starts_lxmert,
    starts_oscar,
    starts_vinvl,
    vinvl_regions,
)
from shortcut_miner.sources.images.several import files_of, joined
from shortcut_miner.sources.opening.files import FileFacts, facts_of_all, open_source
from shortcut_miner.sources.opening.kinds import (
    Content,
    Format,
    Shape,
    for_options,
    with_columns,
    with_fields,
    wrong_kind,
)
from shortcut_miner.sources.opening.reading import check_on_bad_row
from shortcut_miner.sources.opening.streams import start_of
from shortcut_miner.sources.shapes import ANSWERS, IMAGES, QUESTIONS, shape_or_text

__all__ = ["FORMATS", "RegionReading", "read_regions", "region_format", "region_kind"]

Item = TypeVar("Item")
# They hold no names of what is in the boxes.
WITHOUT_LABELS = for_options(
    "fpvg or swapmix build --detections",
    Format(REGIONS_H5, h5_regions, starts_with=starts_h5, is_folder=is_h5, takes_info=True),
    Format(BOTTOM_UP_TSV, bottom_up_regions, starts_with=starts_bottom_up),
)
WITH_LABELS = for_options(
    "fpvg, swapmix or vqa-ce build --detections",
    Format(LXMERT_TSV, lxmert_regions, starts_with=starts_lxmert, takes_info=True),
    Format(VINVL_TSV, vinvl_regions, starts_with=starts_vinvl),
    Format(PIPELINE_JSONL, pipeline_regions, starts_with=starts_pipeline),
    Format(
        COCO_RESULTS, coco_regions, "JSON", with_fields("image_id", "category_id", "score"), "detections",
        starts_with=starts_coco_results, takes_info=True,
    ),
    Format(OPEN_IMAGES_CSV, open_images_regions, starts_with=starts_open_images, takes_info=True),
    Format(
        REGIONS_PARQUET, parquet_regions, "Parquet", with_columns(*REGION_COLUMNS), "regions",
        starts_with=starts_parquet,
    ),
)  # fmt: skip
FORMATS = (*WITHOUT_LABELS, *WITH_LABELS)
# Recognised, and refused with the reason.
WITHOUT_BOXES = (Format(OSCAR_TSV, refuse_oscar, starts_with=starts_oscar),)
# Recognised, but read beside the HDF5 files that it belongs to.
INFO = for_options(
    "fpvg or swapmix build --detections-info",
    Format(REGIONS_INFO, h5_regions, "JSON", is_info, "images", takes_info=True),
)


def all_formats() -> tuple[Format, ...]:
    """Return the formats of all families; where content fits several, the first one counts."""
    return (*QUESTIONS, *WITHOUT_BOXES, *FORMATS, *INFO, *IMAGES, *ANSWERS)


def read_regions(
    path: PathTexts,
    *,
    info: PathTexts | None = None,
    sizes: pl.DataFrame | None = None,
    images: Collection[str] | None = None,
    on_bad_row: OnBadRow = "error",
) -> RegionReading:
    """Return a detector's boxes, one row a region, in file order.

    Parameters
    ----------
    path : path-like, or a list of them
        A file, a folder of GQA's HDF5 shards, a folder of files in other formats, or several of all these.
        Text may be packed (.gz, .zst, one zip member). Formats:
        GQA objects HDF5, bottom-up-attention TSV, LXMERT TSV, VinVL's predictions.tsv and label.tsv, object
        detection JSONL (Hugging Face pipelines), COCO results JSON (Detectron2), Open Images CSV, and
        Parquet with the columns of :class:`shortcut_miner.schemas.Regions`.
    info : path-like, or a list of them, optional
        The second file that a format needs: the info JSON of HDF5 (looked for beside it if not given), the
        categories of COCO results, LXMERT's vocabulary (a name a line), Open Images' class descriptions. One
        for all of `path`, or one each.
    sizes : pl.DataFrame, optional
        A :class:`shortcut_miner.schemas.Images`; Open Images needs the images' sizes.
    images : collection of str, optional
        Keep these images only, and save the work for all others.
    on_bad_row : {"error", "skip"}
        Raise for all images and regions that don't fit at once, or skip and count them.

    Returns
    -------
    RegionReading
        ``regions`` (also ``table``) is a :class:`shortcut_miner.schemas.Regions`, in pixels; ``images`` is a
        :class:`shortcut_miner.schemas.Images` with each image's region_count. An image that several files
        have alike is there once; ``parts`` has what each file gave.

    Raises
    ------
    SourceError
        A file can't be read, is of another format, or holds what its format does not allow: broken base64,
        boxes that are not finite, an image twice, most boxes with x2 < x1; files differ about an image.
    ConfigError
        A second file that the format needs is missing, or there are not as many as files.
    BackendError
        HDF5 without h5py.

    Notes
    -----
    Single boxes with x2 < x1, and boxes that reach outside their image, are kept and counted in the notes.
    """
    check_on_bad_row(on_bad_row)
    wanted = None if images is None else frozenset(images)
    paths, infos = as_path_tuple("path", path), () if info is None else as_path_tuple("info", info)
    check_infos(paths, infos)
    places = [_in_place(one) for one in paths]
    notes = tuple(note for _, told in places for note in told)
    found = with_infos([files for files, _ in places], infos, _takes_info)
    readings = [
        read_boxes(
            RegionFiles(
                path=place, info=second, sizes=sizes, images=wanted,
                others=[other for other, its in found if other != place and its == second],
            ),
            on_bad_row,
        )
        for place, second in found
    ]  # fmt: skip
    return joined(readings, [place for place, _ in found], on_bad_row, notes)


def check_infos(paths: Sequence[Path], infos: Sequence[Path]) -> None:
    """Raise ConfigError unless there is one second file at most, or one for each of the detections."""
    if len(infos) > 1 and len(infos) != len(paths):
        raise ConfigError(
            f"detections_info: got {len(infos)} files for {len(paths)} detections, expected one for all of "
            "them, or one each. Give as many, in the same order."
        )


def with_infos(
    places: Sequence[Sequence[Item]], infos: Sequence[Path], takes_info: Callable[[Item], bool]
) -> list[tuple[Item, Path | None]]:
    """Return the files of all places, each with the second file if one belongs to it.

    `infos` are none, one for all places, or one each. A single file is not asked whether it takes one, and
    where none does all get it: whoever reads them says that it is too many.
    """
    if len(infos) > 1:
        each = zip(places, infos, strict=True)
        return [pair for files, info in each for pair in with_infos([files], [info], takes_info)]
    files = [file for found in places for file in found]
    info = infos[0] if infos else None
    if info is None or len(files) == 1:
        return [(file, info) for file in files]
    takes = [takes_info(file) for file in files]
    return [(file, info if has or not any(takes) else None) for file, has in zip(files, takes, strict=True)]


def _takes_info(file: Path) -> bool:
    found = region_format(file)
    return found is not None and found.takes_info


def _in_place(path: Path) -> tuple[list[Path], tuple[str, ...]]:
    """Return a file, a folder of HDF5, or the detections in another folder; and notes on folders."""
    if not path.is_dir():
        return [path], ()
    if any(one.is_folder(path) for one in FORMATS):
        return [path], _beside(path)
    return files_of(path, _has_regions, "detections")


def _beside(folder: Path) -> tuple[str, ...]:
    """Return a note on detections that a folder of HDF5 holds in other formats."""
    others = [one.name for one in sorted(folder.iterdir()) if one.is_file() and not is_h5(one)]
    others = [name for name in others if _has_regions(folder / name)]
    return (f"detections beside the HDF5 files left out: {examples(others)}",) if others else ()


def _has_regions(file: Path) -> bool:
    """Return whether a file of a folder looks like detections."""
    try:
        found = region_format(file) if file.stat().st_size else None
    except (SourceError, OSError):
        return False
    return has_region_columns(file) if found and found.kind == REGIONS_PARQUET else found in FORMATS


def has_region_columns(file: Path) -> bool:
    """Return whether an unpacked Parquet file has the columns of regions."""
    try:
        return {*REGION_COLUMNS} <= {*look_at_columns(file).names}
    except COLUMNAR_ERRORS:
        return False


def read_boxes(files: RegionFiles, on_bad_row: OnBadRow) -> RegionReading:
    """Return the boxes of one file or folder of HDF5; see :func:`read_regions` for what it raises."""
    raw, facts = _read(files)
    if not raw.image_ids and files.images is None:
        raise SourceError(
            f"{files.path}: got {raw.kind} without any image, expected at least one. Check the file."
        )
    all_facts = facts[0] if len(facts) == 1 else facts_of_all(files.path.name, facts)
    return settled(raw, files, facts, all_facts, on_bad_row)


def region_format(path: str | os.PathLike[str]) -> Format | None:
    """Return which format of boxes a file or folder has, by its content; None if it is none of them."""
    place = Path(path)
    if place.is_dir():
        return next((one for one in FORMATS if one.is_folder(place)), None)
    start = start_of(place)
    return next((one for one in (*WITHOUT_BOXES, *FORMATS) if one.starts_with(start)), None)


def region_kind(path: str | os.PathLike[str]) -> str | None:
    """Return the name of the format; see :func:`region_format`."""
    found = region_format(path)
    return found.kind if found else None


def _read(files: RegionFiles) -> tuple[RawRegions, list[FileFacts]]:
    found = region_format(files.path)
    if found is None:
        shape = _shape(files.path)  # its start may not tell a format that the whole has
        found = next((one for one in FORMATS if one.kind == shape.kind), None)
        if found is None:
            expected = f"one of {', '.join(one.kind for one in FORMATS)}"
            raise wrong_kind(str(files.path), shape, expected)
    if files.info is not None and not found.takes_info:
        raise info_too_many(files.path, found.kind, files.info)
    try:
        read: tuple[RawRegions, list[FileFacts]] = found.read(files)
    except OtherColumnsError:
        if (shape := _shape(files.path)).goes_to:
            raise wrong_kind(str(files.path), shape, found.kind) from None
        raise
    return read


def info_too_many(path: Path, kind: str, info: Path) -> ConfigError:
    """Return the error for a second file beside one of a format that has none."""
    return ConfigError(
        f"{path}: got {kind} and {info.name} beside it, expected {kind} alone. Leave --detections-info out."
    )


def _shape(path: Path) -> Shape:
    """Return what a file or folder is that has no boxes."""
    if path.is_dir():
        return Shape("a folder without HDF5 files", is_known=False)
    content = Content(open_source(path, keep_workbooks=True))
    return shape_or_text(content, all_formats())
