"""The info JSON beside GQA's HDF5 files: how many boxes each image has, and in which row of which file."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.opening.files import Source, read_bytes
from shortcut_miner.sources.opening.json_records import repeated_keys
from shortcut_miner.sources.opening.json_text import DECODE_ERRORS, LOOKED_AT, Top, fields_of
from shortcut_miner.sources.opening.reading import Problem

REGIONS_INFO = "GQA objects info JSON"


class Info(msgspec.Struct, gc=False):
    """What it says of an image."""

    objectsNum: int  # noqa: N815  # the file's name
    width: float | None = None
    height: float | None = None
    idx: int | None = None
    index: int | None = None
    file: int | None = None


class _Place(msgspec.Struct, gc=False):
    idx: int | None = None
    index: int | None = None
    file: int = 0


def is_info(top: Top) -> bool:
    """Return whether this is an info JSON, ``{image: {objectsNum, ...}}``."""
    first = islice(top.values(), LOOKED_AT) if isinstance(top, dict) else ()
    return any("objectsNum" in fields_of(value) for value in first)


def repeated_images(source: Source, keys: Sequence[str], names: Sequence[str]) -> list[Problem]:
    """Return a problem for each wanted image that the info JSON has twice."""
    entries = source.content.count(b'"objectsNum"')
    found = repeated_keys(source.content, keys, entries, "image id", "one entry an image")
    place = {name: at for at, name in enumerate(names)} if found else {}
    of_key = [(place.get(keys[one.records[0]]), one) for one in found]
    return [replace(one, records=(at,)) for at, one in of_key if at is not None]


def image_rows(positions: Sequence[int], records: Sequence[Info]) -> pl.DataFrame:
    """Return width, height, count, row and file of each image; `record` is its position."""
    columns: dict[str, list[Any]] = {
        "width": [one.width for one in records],
        "height": [one.height for one in records],
        "count": [one.objectsNum for one in records],
        "row": [one.index if one.idx is None else one.idx for one in records],
        "file": [0 if one.file is None else one.file for one in records],
    }
    types = {"width": pl.Float64, "height": pl.Float64} | dict.fromkeys(("count", "row", "file"), pl.Int64)
    frame = pl.DataFrame(columns, schema=types, strict=False)
    return frame.insert_column(0, pl.Series("record", positions, dtype=pl.UInt32))


def row_problems(images: pl.DataFrame) -> list[Problem]:
    """Return what is no number of 0 or more, and rows of a file that several images have."""
    problems = []
    for column, name in (("count", "objectsNum"), ("row", "idx"), ("file", "file")):
        is_bad = pl.col(column).is_null() | (pl.col(column) < 0)
        for record, value in images.filter(is_bad).select("record", column).iter_rows():
            got = "no such field" if value is None else str(value)
            problems.append(Problem((record,), name, got, "a whole number of 0 or more"))
    shared = images.filter(pl.struct("file", "row").is_duplicated() & (pl.col("row") >= 0))
    return problems + [
        Problem(tuple(records), "idx", f"row {row} of file {file}", "a row of each image's own")
        for file, row, records in shared.group_by("file", "row", maintain_order=True)
        .agg("record")
        .iter_rows()
    ]


def read_places(info: Path) -> pl.DataFrame:
    """Return image_id, file and row of each image of an info JSON; raise SourceError where it is none."""
    try:
        given = msgspec.json.decode(read_bytes(info), type=dict[str, _Place])
    except DECODE_ERRORS as error:
        raise SourceError(
            f"{info}: got {error}, expected an info JSON of HDF5 detections. Correct it."
        ) from error
    rows = [(name, one.file, one.index if one.idx is None else one.idx) for name, one in given.items()]
    schema = {"image_id": pl.String, "file": pl.Int64, "row": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")
