"""Detectors' boxes in every format that carries them, told apart by content."""

import os
from collections.abc import Collection, Sequence
from pathlib import Path

import polars as pl

from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.sources.images.region_tables import RawRegions, RegionReading, settled
from shortcut_miner.sources.images.regions_flat import (
    OPEN_IMAGES_COLUMNS,
    open_images_regions,
    parquet_regions,
)
from shortcut_miner.sources.images.regions_h5 import H5_MAGIC, h5_regions, is_h5_folder
from shortcut_miner.sources.images.regions_json import coco_regions, pipeline_regions
from shortcut_miner.sources.images.regions_tsv import (
    KIND_OF_COLUMNS,
    NUMBER_COLUMNS,
    tsv_regions,
    vinvl_regions,
)
from shortcut_miner.sources.opening.files import FileFacts
from shortcut_miner.sources.opening.json_text import excerpt, fields_of
from shortcut_miner.sources.opening.kinds import (
    BOTTOM_UP_TSV,
    COCO_RESULTS,
    LXMERT_TSV,
    OPEN_IMAGES_CSV,
    PARQUET_MAGIC,
    PIPELINE_JSONL,
    REGIONS_H5,
    REGIONS_PARQUET,
    VINVL_TSV,
)
from shortcut_miner.sources.opening.reading import OnBadRow, check_on_bad_row
from shortcut_miner.sources.opening.streams import facts_of_all, file_facts, file_lines, open_stream, start_of

__all__ = ["STREAMED_KINDS", "RegionReading", "read_regions", "region_kind"]

KINDS = (
    REGIONS_H5, BOTTOM_UP_TSV, LXMERT_TSV, VINVL_TSV, PIPELINE_JSONL, COCO_RESULTS, OPEN_IMAGES_CSV,
    REGIONS_PARQUET,
)  # fmt: skip


# Files of these formats are read as streams, or by their own library.
STREAMED_KINDS = (REGIONS_H5, BOTTOM_UP_TSV, LXMERT_TSV, VINVL_TSV, PIPELINE_JSONL, OPEN_IMAGES_CSV)


def read_regions(
    path: str | os.PathLike[str],
    *,
    info: str | os.PathLike[str] | None = None,
    sizes: pl.DataFrame | None = None,
    images: Collection[str] | None = None,
    on_bad_row: OnBadRow = "error",
) -> RegionReading:
    """Return a detector's boxes, one row a region, in file order.

    Parameters
    ----------
    path : path-like
        A file, or a folder of GQA's HDF5 shards. Text may be packed (.gz, .zst, one zip member). Formats:
        GQA objects HDF5, bottom-up-attention TSV, LXMERT TSV, VinVL's predictions.tsv and label.tsv, object
        detection JSONL (Hugging Face pipelines), COCO results JSON (Detectron2), Open Images CSV, and
        Parquet with the columns of :class:`shortcut_miner.schemas.Regions`.
    info : path-like, optional
        The second file that a format needs: the info JSON of HDF5 (looked for beside it if not given), the
        categories of COCO results, LXMERT's vocabulary (a name a line), Open Images' class descriptions.
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
        :class:`shortcut_miner.schemas.Images` with each image's region_count.

    Raises
    ------
    SourceError
        A file can't be read, is of another format, or holds what its format does not allow: broken base64,
        boxes that are not finite, an image twice, most boxes with x2 < x1.
    ConfigError
        A second file that the format needs is missing.
    BackendError
        HDF5 without h5py.

    Notes
    -----
    Single boxes with x2 < x1, and boxes that reach outside their image, are kept and counted in the notes.
    """
    check_on_bad_row(on_bad_row)
    place, second = Path(path), None if info is None else Path(info)
    if images is not None and not isinstance(images, frozenset):
        images = frozenset(images)
    raw, files = _read(place, second, sizes, images)
    if not raw.image_ids and images is None:
        raise SourceError(f"{path}: got {raw.kind} without any image, expected at least one. Check the file.")
    facts = files[0] if len(files) == 1 else facts_of_all(place.name, files)
    return settled(raw, str(path), files, facts, on_bad_row)


def region_kind(path: str | os.PathLike[str]) -> str | None:
    """Return which format of boxes a file or folder has, by its content; None if it is none of them."""
    place = Path(path)
    if place.is_dir():
        return REGIONS_H5 if is_h5_folder(place) else None
    start = start_of(place)
    if start.startswith(H5_MAGIC):
        return REGIONS_H5
    if start.startswith(PARQUET_MAGIC):
        return REGIONS_PARQUET
    if start.lstrip()[:1] in (b"{", b"["):
        return _json_kind(start.lstrip())
    line = start.split(b"\n", maxsplit=1)[0]
    values = line.split(b"\t")
    if len(values) in NUMBER_COLUMNS:
        # One of them may be what is wrong with the file.
        are_numbers = sum(values[at].strip().isdigit() for at in NUMBER_COLUMNS[len(values)])
        return KIND_OF_COLUMNS[len(values)] if are_numbers > 1 else None
    if len(values) == 2 and values[1].lstrip()[:1] in (b"{", b"["):
        return VINVL_TSV
    return OPEN_IMAGES_CSV if set(OPEN_IMAGES_COLUMNS) <= set(_header(line)) else None


def _json_kind(start: bytes) -> str | None:
    if start.startswith(b"["):
        first = start[: start.find(b"}") + 1].removeprefix(b"[").strip()
        return COCO_RESULTS if fields_of(first).keys() >= {"image_id", "category_id", "bbox"} else None
    line = start.split(b"\n", maxsplit=1)[0]
    # A line longer than what was looked at has no end here.
    is_line = b'"detections"' in line and b'"image_id"' in line
    return PIPELINE_JSONL if is_line else None


def _header(line: bytes) -> list[str]:
    return [value.strip().strip('"') for value in line.decode("utf-8", "replace").split(",")]


def _read(
    path: Path, info: Path | None, sizes: pl.DataFrame | None, images: Collection[str] | None
) -> tuple[RawRegions, list[FileFacts]]:
    kind = region_kind(path)
    if kind == REGIONS_H5:
        return h5_regions(path, info, images)
    if kind == COCO_RESULTS:
        return coco_regions(path, info, images)
    if kind == REGIONS_PARQUET:
        _check_no_info(path, kind, info)
        return parquet_regions(path, images)
    if kind is None:
        got = "a folder without HDF5 files" if path.is_dir() else excerpt(start_of(path)[:40])
        raise SourceError(
            f"{path}: got {got}, expected one of {', '.join(KINDS)}. Check that this is the right file."
        )
    with open_stream(path) as stream:
        others: list[FileFacts] = []
        if kind == OPEN_IMAGES_CSV:
            raw, others = open_images_regions(stream, info, sizes, images)
        elif kind == LXMERT_TSV:
            raw = tsv_regions(stream, None if info is None else _vocabulary(info), images)
            others = [] if info is None else [file_facts(info)]
        else:
            _check_no_info(path, kind, info)
            read = {VINVL_TSV: vinvl_regions, PIPELINE_JSONL: pipeline_regions}.get(kind)
            raw = tsv_regions(stream, None, images) if read is None else read(stream, images)
        return raw, [stream.facts(), *others]


def _check_no_info(path: Path, kind: str, info: Path | None) -> None:
    if info is not None:
        raise ConfigError(
            f"{path}: got {kind} and {info.name} beside it, expected {kind} alone. "
            "Leave --detections-info out."
        )


def _vocabulary(path: Path) -> Sequence[str]:
    """Return names by line number from 0; of synonyms (with commas between) the first."""
    return [line.decode("utf-8", "replace").split(",")[0].strip() for line in file_lines(path)]
