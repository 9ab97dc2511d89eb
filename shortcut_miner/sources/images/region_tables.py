"""From a detector's arrays to our tables: padding told apart, box conventions checked, problems settled."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.errors import SourceError
from shortcut_miner.options import OnBadRow
from shortcut_miner.sources.images.image_ids import canonical_image_id, canonical_image_ids
from shortcut_miner.sources.opening.files import FileFacts
from shortcut_miner.sources.opening.ids import AnyId, id_problems, is_float
from shortcut_miner.sources.opening.list_columns import text_lists
from shortcut_miner.sources.opening.nested import TEXTS
from shortcut_miner.sources.opening.reading import (
    MAX_SHOWN,
    RECORD,
    Problem,
    Reading,
    bad_records,
    find_duplicates,
    settle,
)

Boxes = NDArray[np.float32]
NOT_KNOWN = -1  # as a count: the detector says nothing about the image
_SIDES = ("x1", "y1", "x2", "y2")
_TOLERANCE = 1.0  # pixels: some detectors count the last pixel, others its far edge


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


def settled(
    raw: RawRegions, asked: RegionFiles, files: Sequence[FileFacts], facts: FileFacts, on_bad_row: OnBadRow
) -> RegionReading:
    """Check what a reader found and return it as tables.

    Problems of image records drop the image, those of boxes the region, if `on_bad_row` says so; of equal
    records of one image the first stays.

    Raises
    ------
    SourceError
        Bad records, or boxes in another convention than the format's.
    """
    shown = str(asked.path)
    ids, notes = canonical_image_ids(pl.Series("image_id", raw.image_ids, dtype=pl.String))
    owner = np.repeat(np.arange(len(raw.rows)), raw.rows)
    starts = np.cumsum(raw.rows) - raw.rows
    place = np.arange(len(owner)) - np.repeat(starts, raw.rows)
    index = place if raw.region_index is None else raw.region_index
    problems = raw.problems + _image_problems(raw, ids, on_bad_row) + _box_problems(raw)
    problems += _zero_problems(raw, owner, index)
    first_region = len(raw.image_ids)

    def name(record: int) -> str:
        if record < first_region:
            return raw.image_name(record)
        row = record - first_region
        return f"{raw.image_name(int(owner[row]))}, region {index[row]}"

    total = first_region + len(raw.boxes)
    dropped = settle(shown, "images and regions", problems, total, on_bad_row, name)
    bad = np.array(sorted({record for problem in problems for record in problem.records}), np.int64)
    keeps_image, keeps_row = np.ones(first_region, np.bool_), np.ones(len(raw.boxes), np.bool_)
    keeps_image[bad[bad < first_region]] = False
    if asked.images is not None:  # readers leave out what is easily told
        keeps_image &= ids.is_in(list(asked.images)).to_numpy()
    keeps_row[bad[bad >= first_region] - first_region] = False
    keeps_row &= keeps_image[owner]
    is_padding = raw.is_padding
    if is_padding is None:
        is_padding = (index >= raw.counts[owner]) | ~raw.boxes.any(axis=1)
    notes += raw.notes + _convention_notes(raw, owner, keeps_row & ~is_padding, shown)
    notes += _count_notes(raw, keeps_row, index < raw.counts[owner])
    table = pl.DataFrame(
        {
            "image_id": ids.gather(pl.Series(owner, dtype=pl.UInt32)),
            "region_index": pl.Series(index, dtype=pl.UInt32),
            "is_padding": is_padding,
            "label": raw.labels,
            "score": raw.scores,
            **{side: raw.boxes[:, at] for at, side in enumerate(_SIDES)},
            "attributes": raw.attributes,
        }
    )
    return RegionReading(
        table=table if keeps_row.all() else table.filter(pl.Series(keeps_row)),
        images=_images(raw, ids).filter(pl.Series(keeps_image, dtype=pl.Boolean)),
        kind=raw.kind,
        file=facts,
        files=tuple(files),
        dropped=dropped,
        notes=notes,
    )


def _images(raw: RawRegions, ids: pl.Series) -> pl.DataFrame:
    counts = pl.Series(raw.counts)
    return pl.DataFrame(
        {
            "image_id": ids,
            "width": pl.Series(raw.widths).fill_nan(None),
            "height": pl.Series(raw.heights).fill_nan(None),
            "region_count": counts.set(counts == NOT_KNOWN, None).cast(pl.UInt32),
        }
    )


def _image_problems(raw: RawRegions, ids: pl.Series, on_bad_row: OnBadRow) -> list[Problem]:
    table = ids.to_frame().with_row_index(RECORD)
    unfit = id_problems(table, "image_id", "image id")
    # A record that can't be read takes no good one of its image along.
    readable = table.filter(~pl.col(RECORD).is_in(bad_records(raw.problems)))
    repeated = find_duplicates(readable, "image_id", "image id")
    if on_bad_row == "error":
        return unfit + repeated
    starts = np.cumsum(raw.rows) - raw.rows
    return unfit + [_without_first_copy(raw, starts, one) for one in repeated]


def _without_first_copy(raw: RawRegions, starts: NDArray[np.int64], repeated: Problem) -> Problem:
    """Return the problem of an image's later records only, if all are equal."""
    first, *others = repeated.records
    told = _record_values(raw, starts, first)
    is_equal = all(_record_values(raw, starts, one) == told for one in others)
    return replace(repeated, records=tuple(others)) if is_equal else repeated


def _record_values(raw: RawRegions, starts: NDArray[np.int64], record: int) -> tuple[object, ...]:
    """Return all that a record says; bytes and text, so that NaN equals NaN."""
    rows = slice(int(starts[record]), int(starts[record] + raw.rows[record]))
    arrays = (raw.boxes, raw.region_index, raw.is_padding)
    columns = (raw.scores, raw.labels, raw.attributes)
    return (
        int(raw.counts[record]),
        raw.widths[record].tobytes(),
        raw.heights[record].tobytes(),
        *(None if one is None else one[rows].tobytes() for one in arrays),
        *(repr(one[rows].to_list()) for one in columns),
    )


def _zero_problems(
    raw: RawRegions, owner: NDArray[np.int64], index: NDArray[np.integer[Any]]
) -> list[Problem]:
    """Find images that have regions by their count, and nothing but zeros as their boxes."""
    is_box = raw.boxes.any(axis=1) & (index < raw.counts[owner])
    boxes = np.bincount(owner[is_box], minlength=len(raw.rows))
    return [
        Problem((int(record),), "boxes", f"zeros for all {raw.counts[record]:,} regions", "a box for each")
        for record in np.flatnonzero((raw.counts > 0) & (raw.rows > 0) & (boxes == 0))
    ]


def _box_problems(raw: RawRegions) -> list[Problem]:
    first = len(raw.image_ids)
    is_broken = np.logical_not(np.isfinite(raw.boxes)).any(axis=1)
    is_broken = np.asarray(is_broken)
    is_broken[[row for row, *_ in raw.region_problems]] = False  # told already
    broken = np.flatnonzero(is_broken)
    told = [
        Problem((first + row,), field, got, expected) for row, field, got, expected in raw.region_problems
    ]
    return told + [
        Problem((first + int(row),), "box", str(raw.boxes[row].tolist()), "finite numbers") for row in broken
    ]


def _count_notes(
    raw: RawRegions, keeps_row: NDArray[np.bool_], is_counted: NDArray[np.bool_]
) -> tuple[str, ...]:
    """Return notes on single boxes that contradict their image's count."""
    has_box = raw.boxes.any(axis=1)
    counts = {
        "boxes of zeros within their image's count": int((keeps_row & is_counted & ~has_box).sum()),
        "boxes beyond their image's count": int((keeps_row & ~is_counted & has_box).sum()),
    }
    return tuple(f"{what}: {count:,}" for what, count in counts.items() if count)


def _convention_notes(
    raw: RawRegions, owner: NDArray[np.int64], is_region: NDArray[np.bool_], shown: str
) -> tuple[str, ...]:
    """Return notes on boxes that break the format's convention; raise if most of them do."""
    boxes, total = raw.boxes, int(is_region.sum())
    is_inverted = is_region & ((boxes[:, 2] < boxes[:, 0]) | (boxes[:, 3] < boxes[:, 1]))
    with np.errstate(invalid="ignore"):
        is_outside = is_region & (
            (boxes[:, :2] < -_TOLERANCE).any(axis=1)
            | (boxes[:, 2] > raw.widths[owner] + _TOLERANCE)
            | (boxes[:, 3] > raw.heights[owner] + _TOLERANCE)
        )
    inverted, outside = int(is_inverted.sum()), int(is_outside.sum())
    if inverted * 2 > total:
        raise SourceError(
            f"{shown}: got {inverted:,} of {total:,} boxes with x2 < x1 or y2 < y1, expected corners x1, y1, "
            f"x2, y2 in {raw.kind}. Check whether these boxes are x, y, width, height."
        )
    counts = {"boxes with x2 < x1 or y2 < y1": inverted, "boxes that reach outside their image": outside}
    return tuple(f"{what}: {count:,} of {total:,}" for what, count in counts.items() if count)
