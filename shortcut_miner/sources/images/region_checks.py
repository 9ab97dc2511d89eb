"""What a detector's reader found, checked: padding told apart, box conventions checked, problems settled."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.errors import SourceError
from shortcut_miner.options import OnBadRow
from shortcut_miner.sources.images.image_ids import canonical_image_ids
from shortcut_miner.sources.images.region_tables import NOT_KNOWN, RawRegions, RegionFiles, RegionReading
from shortcut_miner.sources.opening.files import FileFacts
from shortcut_miner.sources.opening.ids import id_problems
from shortcut_miner.sources.opening.reading import RECORD, Problem, bad_records, find_duplicates, settle

_SIDES = ("x1", "y1", "x2", "y2")
_TOLERANCE = 1.0  # pixels: some detectors count the last pixel, others its far edge

Mask = NDArray[np.bool_]
Places = NDArray[np.integer[Any]]


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
    owner, index = _places(raw)
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
    keeps_image, keeps_row = _kept(raw, owner, problems, ids, asked.images)
    is_padding = raw.is_padding
    if is_padding is None:
        is_padding = (index >= raw.counts[owner]) | ~raw.boxes.any(axis=1)
    notes += raw.notes + _convention_notes(raw, owner, keeps_row & ~is_padding, shown)
    notes += _count_notes(raw, keeps_row, index < raw.counts[owner])
    table = _regions(raw, ids.gather(pl.Series(owner, dtype=pl.UInt32)), index, is_padding)
    return RegionReading(
        table=table if keeps_row.all() else table.filter(pl.Series(keeps_row)),
        images=_images(raw, ids).filter(pl.Series(keeps_image, dtype=pl.Boolean)),
        kind=raw.kind,
        file=facts,
        files=tuple(files),
        dropped=dropped,
        notes=notes,
    )


def _places(raw: RawRegions) -> tuple[NDArray[np.int64], Places]:
    """Return the image record of each row of boxes, and the row's index among those of the record."""
    owner = np.repeat(np.arange(len(raw.rows)), raw.rows)
    if raw.region_index is not None:
        return owner, raw.region_index
    starts = np.cumsum(raw.rows) - raw.rows
    return owner, np.arange(len(owner)) - np.repeat(starts, raw.rows)


def _kept(
    raw: RawRegions,
    owner: NDArray[np.int64],
    problems: Sequence[Problem],
    ids: pl.Series,
    images: Collection[str] | None,
) -> tuple[Mask, Mask]:
    """Return which image records and which rows of boxes have no problem, and are of the images wanted."""
    first_region = len(raw.image_ids)
    bad = np.array(sorted({record for problem in problems for record in problem.records}), np.int64)
    keeps_image, keeps_row = np.ones(first_region, np.bool_), np.ones(len(raw.boxes), np.bool_)
    keeps_image[bad[bad < first_region]] = False
    if images is not None:  # readers leave out what is easily told
        keeps_image &= ids.is_in(list(images)).to_numpy()
    keeps_row[bad[bad >= first_region] - first_region] = False
    keeps_row &= keeps_image[owner]
    return keeps_image, keeps_row


# ---- tables ----


def _regions(raw: RawRegions, ids: pl.Series, index: Places, is_padding: Mask) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "image_id": ids,
            "region_index": pl.Series(index, dtype=pl.UInt32),
            "is_padding": is_padding,
            "label": raw.labels,
            "score": raw.scores,
            **{side: raw.boxes[:, at] for at, side in enumerate(_SIDES)},
            "attributes": raw.attributes,
        }
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


# ---- problems and notes ----


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


def _zero_problems(raw: RawRegions, owner: NDArray[np.int64], index: Places) -> list[Problem]:
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


def _count_notes(raw: RawRegions, keeps_row: Mask, is_counted: Mask) -> tuple[str, ...]:
    """Return notes on single boxes that contradict their image's count."""
    has_box = raw.boxes.any(axis=1)
    counts = {
        "boxes of zeros within their image's count": int((keeps_row & is_counted & ~has_box).sum()),
        "boxes beyond their image's count": int((keeps_row & ~is_counted & has_box).sum()),
    }
    return tuple(f"{what}: {count:,}" for what, count in counts.items() if count)


def _convention_notes(
    raw: RawRegions, owner: NDArray[np.int64], is_region: Mask, shown: str
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
