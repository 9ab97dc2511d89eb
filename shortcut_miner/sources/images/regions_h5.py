"""GQA's object features in HDF5: shards or one file, with an info JSON that says which row is whose.

Only the boxes are read; they are a thousandth of the features. Needs the extra ``gqa`` (h5py).
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.errors import ConfigError, SourceError, examples
from shortcut_miner.sources.images.h5_data import H5_MAGIC, data_set, h5_errors, load_h5py
from shortcut_miner.sources.images.h5_info import (
    REGIONS_INFO,
    Info,
    image_rows,
    is_info,
    repeated_images,
    row_problems,
)
from shortcut_miner.sources.images.region_tables import (
    NOT_KNOWN,
    Boxes,
    RawRegions,
    RegionFiles,
    box_rows,
    empty_column,
)
from shortcut_miner.sources.opening.files import FileFacts, Version, file_facts, open_source
from shortcut_miner.sources.opening.json_records import decode_all
from shortcut_miner.sources.opening.json_text import Top, fields_of, parse_json
from shortcut_miner.sources.opening.kinds import Content, wrong_kind
from shortcut_miner.sources.opening.limits import in_memory
from shortcut_miner.sources.opening.reading import Problem
from shortcut_miner.sources.opening.streams import START_BYTES, start_of
from shortcut_miner.sources.shapes import ANSWERS, IMAGES, QUESTIONS, shape_of

REGIONS_H5 = "GQA objects HDF5"
_BOXES = ("bboxes", "boxes")
_ROWS_AT_ONCE = 4096
HASHED_WHOLE = 1 << 30  # bytes
_NUMBER = re.compile(r"(\d+)\.[^.]*$")


class _Place(msgspec.Struct, gc=False):
    file: int | None = None


def h5_regions(files: RegionFiles) -> tuple[RawRegions, list[FileFacts]]:
    """Return the boxes of one HDF5 file, or of the numbered shards of a folder.

    The files of a folder have names that end in their number, as in ``gqa_objects_7.h5``. The second file is
    the info JSON; it is looked for in the folder if not given. Of one shard the images of all others are not
    known.

    Raises
    ------
    BackendError
        h5py is not installed.
    ConfigError
        No or several info files.
    SourceError
        Files that don't fit the info file, or that lack a part.
    """
    path = files.path
    h5py = load_h5py()
    info = files.info or find_info(path)
    source = open_source(info)
    parsed = parse_json(source)
    if isinstance(parsed.top, list) or not is_info(parsed.top):
        shape = shape_of(Content(source), (*QUESTIONS, *IMAGES, *ANSWERS))
        raise wrong_kind(source.path, shape, f"{REGIONS_INFO} ({{image: {{objectsNum, index}}}})")
    names = files.wanted([*parsed.top])
    decoded = decode_all([parsed.top[name] for name in names], Info)
    entries = image_rows(decoded.positions, decoded.records)
    problems = decoded.problems + row_problems(entries)
    problems += repeated_images(source, list(parsed.top), names)
    shards = find_shards(path, _shard_numbers(parsed.top))
    if path.is_dir():
        problems += _missing_shards(entries, shards)
    bad = pl.Series([record for one in problems for record in one.records], dtype=pl.UInt32)
    entries = entries.with_columns(is_bad=pl.col("record").is_in(bad.implode()))
    versions = [Version.of(shards[number]) for number in sorted(shards)]
    beside = _numbers_of([one for one in files.others if one.parent == path.parent])
    counts, rows, boxes, notes = _read_shards(h5py, entries, len(names), shards, problems, beside)
    raw = RawRegions(
        kind=REGIONS_H5,
        image_ids=names,
        widths=_aligned(len(names), entries, "width"),
        heights=_aligned(len(names), entries, "height"),
        counts=counts,
        rows=rows,
        boxes=boxes,
        scores=empty_column("score", pl.Float64(), len(boxes)),
        labels=empty_column("label", pl.String(), len(boxes)),
        attributes=empty_column("attributes", pl.List(pl.String), len(boxes)),
        image_name=lambda record: f"{info.name} image {names[record]!r}",
        problems=problems,
        notes=parsed.notes + notes + _checksum_notes(shards),
    )
    facts = [source.facts(), *(_facts(h5py, shards[number]) for number in sorted(shards))]
    for version in versions:
        version.check(str(version.file))
    return raw, facts


def _facts(h5py: Any, path: Path) -> FileFacts:
    """Return a file's facts; of a large one (60 GB of features in GQA) the checksum is of its boxes alone."""
    if path.stat().st_size <= HASHED_WHOLE:
        return file_facts(path)
    digest = hashlib.sha256()
    with h5_errors(path), h5py.File(path, "r") as file:
        dataset = _box_dataset(file, path)
        for start in range(0, len(dataset), _ROWS_AT_ONCE):
            digest.update(np.ascontiguousarray(dataset[start : start + _ROWS_AT_ONCE], "<f4").tobytes())
    return FileFacts(name=path.name, size=path.stat().st_size, sha256=digest.hexdigest())


def _checksum_notes(shards: dict[int, Path]) -> tuple[str, ...]:
    large = sum(path.stat().st_size > HASHED_WHOLE for path in shards.values())
    return (f"files above 1 GiB whose checksum is of their boxes alone: {large:,}",) if large else ()


def find_info(path: Path) -> Path:
    """Return the one info JSON beside the file or in the folder that fits: with shard numbers or without."""
    folder = path if path.is_dir() else path.parent
    infos = {
        one: keys
        for one in sorted(folder.iterdir())
        if one.is_file() and "objectsNum" in (keys := _info_keys(_start_of_json(one)))
    }
    if path.is_dir():
        found = [one for one, keys in infos.items() if keys >= {"idx", "file"}]
    else:
        stem = _NUMBER.sub("", path.name).rstrip("_-") or path.name
        named = [one for one in infos if one.name.startswith((path.name.split(".")[0], stem.split(".")[0]))]
        found = named or [one for one, keys in infos.items() if "index" in keys] or list(infos)
    if len(found) != 1:
        got = "no info JSON" if not found else f"{len(found)} info JSON files"
        raise ConfigError(
            f"{path}: got {got} ({examples([one.name for one in found]) or 'none'} in {folder}), expected "
            "one that says which rows belong to which image. Name it with --detections-info."
        )
    return found[0]


def _start_of_json(file: Path) -> bytes:
    """Return a file's first bytes if it may be JSON, else nothing."""
    try:
        start = start_of(file) if file.stat().st_size else b""
    except SourceError:
        return b""
    return start if start.lstrip().startswith(b"{") else b""


def _info_keys(start: bytes) -> set[str]:
    first = re.match(rb'\s*\{\s*"[^"]*"\s*:\s*(\{[^{}]*\})', start[:START_BYTES])
    return {*fields_of(first[1])} if first else set()


def starts_h5(start: bytes) -> bool:
    """Return whether a file starts as HDF5."""
    return start.startswith(H5_MAGIC)


def is_h5(place: Path) -> bool:
    """Return whether a file is HDF5, or a folder holds such files."""
    if place.is_dir():
        return any(is_h5(file) for file in place.iterdir() if file.is_file())
    with place.open("rb") as handle:
        return handle.read(len(H5_MAGIC)) == H5_MAGIC


def find_shards(path: Path, numbers: Sequence[int]) -> dict[int, Path]:
    """Return shard number -> file.

    Parameters
    ----------
    path : Path
        A folder of shards, or one file: one of several shards by the number in its name, or all there is.
    numbers : sequence of int
        The shards of all images in the info JSON.
    """
    if not path.is_dir():
        return {_own_number(path, numbers): path}
    numbered: dict[str, dict[int, Path]] = {}
    for file in sorted(path.iterdir()):
        match = _NUMBER.search(file.name)
        if match and file.is_file() and is_h5(file):
            numbered.setdefault(file.name[: match.start()], {})[int(match[1])] = file
    if not numbered:
        raise SourceError(
            f"{path}: got no HDF5 files with a number at the end of their names, expected some such as "
            "gqa_objects_0.h5. Give that folder, or one file."
        )
    if len(numbered) > 1:
        raise SourceError(
            f"{path}: got several series of HDF5 files ({examples(numbered)}), expected one. Move the others."
        )
    return next(iter(numbered.values()))


def _shard_numbers(top: Top) -> list[int]:
    """Return the numbers of the files in which an info JSON has images."""
    assert isinstance(top, dict)
    records = decode_all(list(top.values()), _Place).records
    return sorted({0 if one.file is None else one.file for one in records})


def _own_number(path: Path, numbers: Sequence[int]) -> int:
    """Return the shard that a single file is."""
    match = _NUMBER.search(path.name)
    if match and int(match[1]) in numbers:
        return int(match[1])
    if len(numbers) > 1:
        raise SourceError(
            f"{path}: got one HDF5 file and an info JSON of {len(numbers)} (files {examples(numbers)}), "
            "expected a name that ends in the file's number, such as gqa_objects_0.h5. Give the folder that "
            "holds all files, or name the file with its number."
        )
    return numbers[0] if numbers else 0


def _numbers_of(paths: Iterable[Path]) -> set[int]:
    """Return the numbers at the end of files' names."""
    return {int(match[1]) for path in paths if (match := _NUMBER.search(path.name))}


def _missing_shards(entries: pl.DataFrame, shards: dict[int, Path]) -> list[Problem]:
    missing = entries.filter(~pl.col("file").is_in(list(shards)) & (pl.col("file") >= 0))
    return [
        Problem(tuple(records), "file", f"{number}, not in the folder", "the number of a file in the folder")
        for number, records in missing.group_by("file").agg("record").sort("file").iter_rows()
    ]


def _read_shards(
    h5py: Any,
    entries: pl.DataFrame,
    total: int,
    shards: dict[int, Path],
    problems: list[Problem],
    beside: set[int],
) -> tuple[NDArray[np.int64], NDArray[np.int64], Boxes, tuple[str, ...]]:
    """Return each image's count and rows, and all boxes, image by image; adds to `problems`.

    `beside` are the numbers of shards that somebody reads beside these.
    """
    counts, rows = np.full(total, NOT_KNOWN, np.int64), np.zeros(total, np.int64)
    found: list[tuple[NDArray[np.int64], Boxes]] = []
    past = 0
    good = entries.filter(~pl.col("is_bad"))
    here = good.filter(pl.col("file").is_in(list(shards)))
    for (number,), part in here.sort("file", "row", maintain_order=True).group_by(
        "file", maintain_order=True
    ):
        path = shards[int(str(number))]
        with h5_errors(path), h5py.File(path, "r") as file:
            dataset = _box_dataset(file, path)
            in_memory(str(path)).check(min(_ROWS_AT_ONCE, len(part)) * int(np.prod(dataset.shape[1:])) * 8)
            height, width = dataset.shape[0], dataset.shape[1]
            inside = part.filter(pl.col("row") < height)
            past += len(part) - len(inside)
            for record, count in inside.filter(pl.col("count") > width).select("record", "count").iter_rows():
                problems.append(Problem((record,), "objectsNum", str(count), f"at most {width}, the rows"))
            inside = inside.filter(pl.col("count") <= width)
            records = inside["record"].to_numpy().astype(np.int64)
            counts[records], rows[records] = inside["count"].to_numpy(), width
            for at, boxes in _slabs(dataset, inside["row"].to_numpy()):
                found.append((records[at], boxes))
    elsewhere = len(good.filter(~pl.col("file").is_in([*shards, *beside])))
    told = {
        "images whose row lies past the end of their file, taken as not detected": past,
        "images of other HDF5 files than this one, taken as not detected": elsewhere,
    }
    notes = tuple(f"{what}: {count:,}" for what, count in told.items() if count)
    return counts, rows, _in_order(found, rows), notes


def _in_order(found: Sequence[tuple[NDArray[np.int64], Boxes]], rows: NDArray[np.int64]) -> Boxes:
    """Return the boxes of all images in the order of the records."""
    starts = np.cumsum(rows) - rows
    boxes = np.zeros((int(rows.sum()), 4), np.float32)
    for records, part in found:
        places = starts[records][:, None] + np.arange(part.shape[1])
        boxes[places.ravel()] = part.reshape(-1, 4)
    return boxes


def _slabs(dataset: Any, wanted: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], Boxes]]:
    """Give positions in `wanted` (sorted rows) with their boxes, reading whole stretches of rows."""
    first = 0
    while first < len(wanted):
        start = int(wanted[first])
        stop = int(np.searchsorted(wanted, start + _ROWS_AT_ONCE))
        slab = dataset[start : int(wanted[stop - 1]) + 1]
        at = np.arange(first, stop)
        yield at, box_rows(slab[wanted[at] - start]).reshape(len(at), -1, 4)
        first = stop


def _box_dataset(file: Any, path: Path) -> Any:
    dataset = next((found for one in _BOXES if (found := data_set(file, one, path)) is not None), None)
    shape: tuple[int, ...] = getattr(dataset, "shape", None) or ()
    if dataset is None or len(shape) != 3 or shape[2] != 4:
        held = [f"{key} {getattr(file.get(key), 'shape', '')}" for key in file]
        raise SourceError(
            f"{path}: got an HDF5 file with {examples(held) or 'nothing'}, expected a data set 'bboxes' of "
            "images x regions x 4. Check that this is the right file."
        )
    return dataset


def _aligned(total: int, entries: pl.DataFrame, column: str) -> NDArray[np.float64]:
    values = np.full(total, np.nan)
    values[entries["record"].to_numpy()] = entries[column].fill_null(np.nan).to_numpy()
    return values
