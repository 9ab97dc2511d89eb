"""What a detector's reader is given, and what it gives: the regions of a file as arrays."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.sources.images.image_ids import canonical_image_id, canonical_image_ids
from shortcut_miner.sources.opening.files import FileFacts
from shortcut_miner.sources.opening.ids import AnyId, is_float
from shortcut_miner.sources.opening.list_columns import text_lists
from shortcut_miner.sources.opening.nested import TEXTS
from shortcut_miner.sources.opening.reading import (
    MAX_SHOWN,
    Problem,
    Reading,
)

Boxes = NDArray[np.float32]
NOT_KNOWN = -1  # as a count: the detector says nothing about the image


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionReading(Reading):
    """Regions of images as a detector gave them, and what it says about each image.

    Attributes
    ----------
    images : DataFrame
        A :class:`shortcut_miner.schemas.Images`, one row for each image that the file names.
    files : tuple of FileFacts
        Every file read; ``file`` sums them up.
    """

    images: pl.DataFrame
    files: tuple[FileFacts, ...]

    @property
    def regions(self) -> pl.DataFrame:
        """The table, a :class:`shortcut_miner.schemas.Regions`."""
        return self.table


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionFiles:
    """What a format's reader is given.

    Attributes
    ----------
    path : Path
        The file, or for some formats a folder.
    info : Path or None
        The second file that belongs to it.
    sizes : DataFrame or None
        image_id, width, height of every image.
    images : collection of str or None
        Keep these images only.
    needs_pixels : bool
        Whether boxes must be in pixels; else boxes in fractions stay so, and need no sizes.
    others : collection of Path
        What is read beside with the same second file.
    """

    path: Path
    info: Path | None = None
    sizes: pl.DataFrame | None = None
    images: Collection[str] | None = None
    needs_pixels: bool = True
    others: Collection[Path] = ()

    def wants(self, image: AnyId) -> bool:
        """Return whether to keep an image, by its id as the file writes it."""
        return self.images is None or canonical_image_id(image) in self.images

    def wanted(self, names: Sequence[str]) -> list[str]:
        """Return the ids to keep, of many."""
        if self.images is None:
            return [*names]
        ids, _ = canonical_image_ids(pl.Series(names, dtype=pl.String))
        return pl.Series(names, dtype=pl.String).filter(ids.is_in([*self.images])).to_list()

    def keep_wanted(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of images to keep, and those whose image_id is none, which is told later."""
        if self.images is None:
            return table
        one, wanted = pl.col("image_id"), list(self.images)
        ids = canonical_image_ids(table["image_id"])[0].to_frame()
        return table.filter(ids.select(one.is_in(wanted) | is_float(one)).to_series())


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Regions of one image or more, in file order.

    Attributes
    ----------
    image_ids : sequence of str
    widths, heights : sequence of float
        NaN where the file doesn't say.
    counts : sequence of int
        How many regions the detector claims; NOT_KNOWN where it says nothing.
    rows : sequence of int
        How many rows of `boxes` each image has.
    boxes : array of float32, rows x 4
        x1, y1, x2, y2 in pixels.
    scores, labels, attributes : sequence, optional
        One value a row.
    problems : sequence of (field, got, expected)
        What is wrong with the block; then it must be of one image, without rows.
    """

    image_ids: Sequence[str]
    widths: Sequence[float]
    heights: Sequence[float]
    counts: Sequence[int]
    rows: Sequence[int]
    boxes: Boxes
    scores: Sequence[float | None] | NDArray[np.float64] | None = None
    labels: Sequence[str | None] | None = None
    attributes: Sequence[Sequence[str]] | None = None
    problems: Sequence[tuple[str, str, str]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRegions:
    """Everything that a format's reader found, before it is checked.

    ``image_name`` names an image record (by its position) in messages; ``problems`` are of image records,
    ``region_problems`` (row, field, got, expected) of rows of `boxes`.
    """

    kind: str
    image_ids: list[str]
    widths: NDArray[np.float64]
    heights: NDArray[np.float64]
    counts: NDArray[np.int64]
    rows: NDArray[np.int64]
    boxes: Boxes
    scores: pl.Series
    labels: pl.Series
    attributes: pl.Series
    image_name: Callable[[int], str]
    region_index: NDArray[np.uint32] | None = None
    is_padding: NDArray[np.bool_] | None = None
    problems: list[Problem] = field(default_factory=list)
    region_problems: list[tuple[int, str, str, str]] = field(default_factory=list)
    notes: tuple[str, ...] = ()


def box_rows(corners: Any) -> Boxes:
    """Return corners as float32, rows x 4; what is too large becomes infinite, and a problem later."""
    with np.errstate(over="ignore"):
        rows: Boxes = np.asarray(corners, np.float64).reshape(-1, 4).astype(np.float32)
    return rows


def bad_image(name: str, field: str, got: str, expected: str) -> Block:
    """Return a block that stands for an image record that can't be read."""
    shown = got if len(got) <= MAX_SHOWN else got[:MAX_SHOWN] + "..."
    nothing = np.empty((0, 4), np.float32)
    return Block(
        image_ids=[name],
        widths=[np.nan],
        heights=[np.nan],
        counts=[NOT_KNOWN],
        rows=[0],
        boxes=nothing,
        problems=[(field, shown, expected)],
    )


def gathered(
    kind: str, blocks: Iterable[Block], image_name: Callable[[int], str], notes: tuple[str, ...] = ()
) -> RawRegions:
    """Put the blocks of a file together."""
    parts = list(blocks)
    problems, first = [], 0
    for part in parts:
        problems += [Problem((first,), *problem) for problem in part.problems]
        first += len(part.image_ids)
    boxes = [part.boxes for part in parts]
    return RawRegions(
        kind=kind,
        image_ids=[one for part in parts for one in part.image_ids],
        widths=np.array([one for part in parts for one in part.widths], np.float64),
        heights=np.array([one for part in parts for one in part.heights], np.float64),
        counts=np.array([one for part in parts for one in part.counts], np.int64),
        rows=np.array([one for part in parts for one in part.rows], np.int64),
        boxes=np.concatenate(boxes) if boxes else np.empty((0, 4), np.float32),
        scores=_column("score", parts, [part.scores for part in parts], pl.Float64()),
        labels=_column("label", parts, [part.labels for part in parts], pl.String()),
        attributes=_column("attributes", parts, [part.attributes for part in parts], TEXTS),
        image_name=image_name,
        problems=problems,
        notes=notes,
    )


def _column(name: str, parts: Sequence[Block], given: Sequence[Any], dtype: pl.DataType) -> pl.Series:
    """Return one column over all blocks; null where a block has none."""
    if all(values is None for values in given):
        return empty_column(name, dtype, sum(len(part.boxes) for part in parts))
    # One column of all values: a column a block takes ten times as long.
    flat = [
        one
        for part, values in zip(parts, given, strict=True)
        for one in (repeat(None, len(part.boxes)) if values is None else _values(values))
    ]
    return text_lists(flat).alias(name) if dtype == TEXTS else pl.Series(name, flat, dtype, strict=False)


def _values(column: Sequence[Any] | NDArray[Any]) -> Sequence[Any]:
    """Return a column's values as Python has them."""
    return list(column.tolist()) if isinstance(column, np.ndarray) else column


def empty_column(name: str, dtype: pl.DataType, length: int) -> pl.Series:
    """Return a column of nulls."""
    return pl.Series(name, [None], dtype=dtype).new_from_index(0, length)
