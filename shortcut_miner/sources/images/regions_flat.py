"""Detections as flat tables: Open Images CSV, and Parquet in our own schema."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.columnar import PARQUET_MAGIC
from shortcut_miner.errors import ConfigError, SourceError, examples, problem_list
from shortcut_miner.sources.images.image_ids import canonical_image_ids
from shortcut_miner.sources.images.region_tables import RawRegions, RegionFiles, box_rows, empty_column
from shortcut_miner.sources.opening.columns import Column
from shortcut_miner.sources.opening.csv_text import csv_rows, parse_csv
from shortcut_miner.sources.opening.files import FileFacts, open_source
from shortcut_miner.sources.opening.flat_tables import column_errors, open_columns
from shortcut_miner.sources.opening.reading import RECORD, Problem, check_once
from shortcut_miner.sources.opening.streams import Stream, open_stream
from shortcut_miner.sources.opening.table_columns import read_kept, settle_columns

OPEN_IMAGES_CSV, REGIONS_PARQUET = "Open Images boxes CSV", "regions Parquet"
OPEN_IMAGES_COLUMNS = ("ImageID", "LabelName", "XMin", "XMax", "YMin", "YMax")
_CSV_NAMES = {
    "image_id": "ImageID", "label": "LabelName", "score": "Confidence",
    "x1": "XMin", "x2": "XMax", "y1": "YMin", "y2": "YMax",
}  # fmt: skip
_SIDES = ("x1", "y1", "x2", "y2")
_BATCH_BYTES = 64 << 20
_NO_BOXES = pl.DataFrame(
    schema=dict.fromkeys(("image_id", "label"), pl.String)
    | dict.fromkeys(("score", "x1", "x2", "y1", "y2"), pl.Float64)
)
REGION_COLUMNS = ("image_id", *_SIDES)
_PARQUET_COLUMNS = {
    "image_id": Column("id"),
    "region_index": Column("any", is_optional=True),
    "is_padding": Column("any", is_optional=True),
    "label": Column("value", is_optional=True),
    "score": Column("any", is_optional=True),
    **dict.fromkeys(_SIDES, Column("any")),
    "attributes": Column("texts", is_optional=True),
}
# Text and truth values are numbers here, if they can be converted.
_PARQUET_TYPES: Any = {"is_padding": pl.Boolean, "score": pl.Float64} | dict.fromkeys(_SIDES, pl.Float32)


class OtherColumnsError(SourceError):
    """A Parquet table without the columns of regions."""


def starts_open_images(start: bytes) -> bool:
    """Return whether a file starts with the header of Open Images, with commas between."""
    return {*OPEN_IMAGES_COLUMNS} <= {*_csv_header(start.split(b"\n", maxsplit=1)[0])}


def _csv_header(line: bytes) -> list[str]:
    return [name.strip().strip('"') for name in line.decode("utf-8", "replace").split(",")]


def starts_parquet(start: bytes) -> bool:
    """Return whether a file starts as Parquet."""
    return start.startswith(PARQUET_MAGIC)


def open_images_regions(files: RegionFiles) -> tuple[RawRegions, list[FileFacts]]:
    """Return the boxes of an Open Images CSV: fractions of the image, the two x before the two y.

    Images without any box don't occur in this format: they are not known. The second file are class
    descriptions (LabelName, DisplayName); without it the label is the LabelName. The images' sizes turn
    fractions into pixels.

    Raises
    ------
    ConfigError
        No sizes.
    SourceError
        An image without size, or values that are no fractions.
    """
    if files.sizes is None and files.needs_pixels:
        raise ConfigError(
            f"{files.path}: got boxes in fractions of their images, expected the images' sizes too. "
            "Give scene graphs with width and height."
        )
    with open_stream(files.path) as stream:
        table = pl.concat([_NO_BOXES, *_csv_batches(stream, files)])
        facts = [stream.facts()]
    if files.info is not None:
        labels, fact = _class_names(files.info)
        facts.append(fact)
        table = table.with_columns(pl.col("label").replace(labels))
    ids, notes = canonical_image_ids(table["image_id"])
    corners = pl.format("{} {} {} {}", *_SIDES)
    table = table.with_columns(image_id=ids, bad=pl.when(_is_no_fraction()).then(corners))
    if files.needs_pixels:
        table = _in_pixels(table, files)
    return replace(_grouped(OPEN_IMAGES_CSV, table), notes=notes), facts


def _in_pixels(table: pl.DataFrame, files: RegionFiles) -> pl.DataFrame:
    """Return boxes in fractions multiplied with their images' sizes, which are joined."""
    assert files.sizes is not None
    known = files.sizes.select("image_id", "width", "height").filter(
        pl.col("width") > 0, pl.col("height") > 0
    )
    table = table.join(known, on="image_id", how="left", validate="m:1", maintain_order="left")
    unsized = table.filter(pl.col("width").is_null())["image_id"].unique(maintain_order=True)
    if len(unsized):
        raise SourceError(
            f"{files.path}: got {len(unsized):,} images without a known size ({examples(unsized)}), "
            "expected width and height of each. Give the sizes of all images, or leave these out of the file."
        )
    return table.with_columns(
        x1=pl.col("x1") * pl.col("width"), x2=pl.col("x2") * pl.col("width"),
        y1=pl.col("y1") * pl.col("height"), y2=pl.col("y2") * pl.col("height"),
    )  # fmt: skip


def _csv_batches(stream: Stream, files: RegionFiles) -> Iterator[pl.DataFrame]:
    """Give the file's rows in pieces that fit in memory, as text and numbers."""
    header, first = stream.content.readline(), 2
    while lines := stream.content.readlines(_BATCH_BYTES):
        batch = _parsed_csv(stream, header, lines, first)
        first += len(lines)
        columns = [
            _filled(theirs, batch).cast(
                pl.String if ours in ("image_id", "label") else pl.Float64, strict=False
            ).alias(ours)
            for ours, theirs in _CSV_NAMES.items()
        ]  # fmt: skip
        yield files.keep_wanted(batch.select(columns))


def _filled(name: str, batch: pl.DataFrame) -> pl.Expr:
    """Return a column of a batch, null where it is empty or not there."""
    return pl.when(pl.col(name) != "").then(name) if name in batch.columns else pl.lit(None)


def _parsed_csv(stream: Stream, header: bytes, lines: list[bytes], first: int) -> pl.DataFrame:
    text = parse_csv(stream.path, header + b"".join(lines), skipped=first - 2)
    if text.uneven:
        width = len(text.header)
        told = [f"line {text.lines[one.records[0]]}: got {one.got}, expected {width}" for one in text.uneven]
        title = f"{stream.path}: got rows that differ from the header, expected {width} values."
        raise SourceError(problem_list(f"{title} Correct them.", told))
    names = [name.strip() for name in text.header]
    check_once(stream.path, names, _CSV_NAMES.values())
    kept = {name: name.strip() for name in text.frame.columns if name.strip() in _CSV_NAMES.values()}
    return text.frame.select(*kept).rename(kept)


def _is_no_fraction() -> pl.Expr:
    return pl.any_horizontal(~pl.col(side).is_between(0, 1).fill_null(value=False) for side in _SIDES)


def _class_names(path: Path) -> tuple[dict[str, str], FileFacts]:
    source = open_source(path)
    rows = csv_rows(source)  # the released file has no header
    return {row[0]: row[1] for _, row in rows if len(row) > 1}, source.facts()


def parquet_regions(files: RegionFiles) -> tuple[RawRegions, list[FileFacts]]:
    """Return the boxes of a Parquet file with the columns of :class:`shortcut_miner.schemas.Regions`.

    Needed are image_id and the four sides; regions are numbered as they come where there is no region_index.
    An image whose only row has null sides was looked at, and nothing was found.
    """
    with open_stream(files.path) as stream:
        content = stream.content.read() if stream.packing else files.path
        facts = stream.facts()
    table, notes = _parquet_rows(content, files)
    empty = table.filter(pl.all_horizontal(pl.col(side).is_null() for side in _SIDES))
    boxes = table.filter(pl.any_horizontal(pl.col(side).is_not_null() for side in _SIDES))
    rows = boxes.with_columns(pl.col(side).fill_null(float("nan")) for side in _SIDES)
    missing = boxes.filter(pl.col("region_index").is_null())
    if 0 < len(missing) < len(boxes):
        raise SourceError(
            f"{files.path}: got {len(missing):,} of {len(boxes):,} boxes without a region_index (images "
            f"{examples(missing['image_id'].unique(maintain_order=True))}), expected one of each or of none. "
            "Fill them, or leave the column out."
        )
    labelled = empty.filter(pl.col("label").is_not_null())
    if len(labelled) and not files.needs_pixels:  # whoever wants labels would lose them
        raise SourceError(
            f"{files.path}: got {len(labelled):,} rows with a label and without a box (images "
            f"{examples(labelled['image_id'].unique(maintain_order=True))}), expected both or none. Fill in "
            "the boxes, or leave the columns of boxes out."
        )
    raw = _grouped(REGIONS_PARQUET, rows, empty["image_id"].unique(maintain_order=True))
    return replace(raw, notes=notes), [facts]


def _parquet_rows(content: Path | bytes, files: RegionFiles) -> tuple[pl.DataFrame, tuple[str, ...]]:
    flat = open_columns(content, str(files.path))
    if missing := flat.missing(_PARQUET_COLUMNS):
        raise OtherColumnsError(
            f"{files.path}: got a Parquet table with the columns {examples(flat.columns, limit=20)}, "
            f"expected {', '.join(missing)} too. Rename its columns."
        )
    if nested := [name for name in _PARQUET_TYPES if flat.types.get(name, pl.Null()).is_nested()]:
        raise SourceError(
            f"{flat.path}: got {flat.types[nested[0]]} in the column {nested[0]}, expected numbers. Give "
            "each side of a box a column of its own."
        )

    def keep(piece: pl.DataFrame) -> pl.DataFrame:
        return files.keep_wanted(piece.cast(_PARQUET_TYPES))

    expected = "the columns of our regions"
    table = read_kept(flat, _PARQUET_COLUMNS, keep, expected).with_row_index(RECORD)
    names = flat.names(_PARQUET_COLUMNS)
    table, problems = settle_columns(flat, table, _PARQUET_COLUMNS, names, flat.types)
    if problems:
        raise _not_whole(files.path, "image_id", [one.got for one in problems])
    with column_errors(flat.path, expected=expected):
        index = _whole_numbers(files.path, table["region_index"])
    return table.drop(RECORD).with_columns(region_index=index), flat.notes


def _whole_numbers(path: Path, index: pl.Series) -> pl.Series:
    """Return the numbers of regions; fractions are not cut off."""
    if index.dtype.is_float() and len(bad := index.filter(index != index.floor())):
        raise _not_whole(path, "region_index", bad.to_list())
    return index.cast(pl.UInt32)


def _not_whole(path: Path, column: str, bad: Sequence[object]) -> SourceError:
    return SourceError(
        f"{path}: got {examples(list(dict.fromkeys(map(str, bad))))} in the column {column}, expected whole "
        "numbers. Correct them."
    )


def _grouped(kind: str, table: pl.DataFrame, without: pl.Series | None = None) -> RawRegions:
    """Return rows of single boxes grouped by image, in the order in which images come."""
    table = table.with_row_index("row")
    sizes = table.group_by("image_id", maintain_order=True).agg(
        pl.len(),
        *(
            (pl.col(name) if name in table.columns else pl.lit(None, pl.Float64)).first().alias(name)
            for name in ("width", "height")
        ),
    )
    by = ["place", *(["region_index"] if "region_index" in table.columns else []), "row"]
    table = table.join(
        sizes.with_row_index("place").select("image_id", "place"), on="image_id", how="left", validate="m:1"
    ).sort(by)
    bare = [] if without is None else without.filter(~without.is_in(sizes["image_id"].implode())).to_list()
    rows = np.concatenate([sizes["len"].to_numpy().astype(np.int64), np.zeros(len(bare), np.int64)])
    index, padding = _own_numbers(table, rows)
    repeated, copies = _repeated_regions(table, index, rows)
    ids = [*sizes["image_id"].to_list(), *bare]
    no_size = np.full(len(bare), np.nan)
    return RawRegions(
        kind=kind,
        image_ids=ids,
        widths=np.concatenate([sizes["width"].fill_null(np.nan).to_numpy(), no_size]),
        heights=np.concatenate([sizes["height"].fill_null(np.nan).to_numpy(), no_size]),
        counts=_counts(index, padding, rows),
        rows=rows,
        boxes=box_rows(table.select(_SIDES).to_numpy()),
        scores=table["score"],
        labels=table["label"],
        attributes=table["attributes"]
        if "attributes" in table.columns
        else empty_column("attributes", pl.List(pl.String), len(table)),
        image_name=lambda record: f"image {ids[record]!r}",
        region_index=index,
        is_padding=padding,
        problems=repeated,
        region_problems=_no_fractions(table) + copies,
    )


def _own_numbers(
    table: pl.DataFrame, rows: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.bool_] | None]:
    """Return each row's region_index and, where the file says it, which rows are padding."""
    index = (np.arange(len(table)) - np.repeat(np.cumsum(rows) - rows, rows)).astype(np.uint32)
    if "region_index" in table.columns and table["region_index"].null_count() < len(table):
        index = table["region_index"].to_numpy()
    if "is_padding" not in table.columns or table["is_padding"].null_count():
        return index, None
    return index, table["is_padding"].to_numpy()


def _counts(
    index: NDArray[np.uint32], padding: NDArray[np.bool_] | None, rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return one more than the last region_index of each image that is no padding."""
    reach = index.astype(np.int64) + 1
    if padding is not None:
        reach[padding] = 0
    counts = np.zeros(len(rows), np.int64)
    np.maximum.at(counts, np.repeat(np.arange(len(rows)), rows), reach)
    return counts


def _repeated_regions(
    table: pl.DataFrame, index: NDArray[np.uint32], rows: NDArray[np.int64]
) -> tuple[list[Problem], list[tuple[int, str, str, str]]]:
    """Return problems of images that number two regions alike, and of rows that repeat the one before."""
    owner = np.repeat(np.arange(len(rows)), rows)
    repeated = np.flatnonzero((np.diff(index.astype(np.int64)) == 0) & (np.diff(owner) == 0))
    if not len(repeated):
        return [], []
    values = table.drop("row", "place")
    is_copy = [values.row(int(at)) == values.row(int(at) + 1) for at in repeated]
    told = ("region_index", "a number that occurs once an image")
    problems = [
        Problem((int(owner[at]),), told[0], f"{index[at]} twice", told[1])
        for at, alike in zip(repeated, is_copy, strict=True)
        if not alike
    ]
    copies = [
        (int(at) + 1, told[0], f"{index[at]} twice", told[1])
        for at, alike in zip(repeated, is_copy, strict=True)
        if alike
    ]
    return problems, copies


def _no_fractions(table: pl.DataFrame) -> list[tuple[int, str, str, str]]:
    if "bad" not in table.columns:
        return []
    bad = table.with_row_index("at").filter(pl.col("bad").is_not_null())
    return [
        (at, "box", corners, "fractions from 0 to 1") for at, corners in bad.select("at", "bad").iter_rows()
    ]
