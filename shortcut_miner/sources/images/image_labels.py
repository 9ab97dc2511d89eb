"""Object labels of images as image-to-detection JSON."""

from collections.abc import Sequence
from itertools import islice

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa

from shortcut_miner.options import OnBadRow
from shortcut_miner.sources.images.image_ids import canonical_image_ids
from shortcut_miner.sources.opening.arrow_records import arrow_chunks, arrow_columns
from shortcut_miner.sources.opening.files import Source
from shortcut_miner.sources.opening.ids import id_problems
from shortcut_miner.sources.opening.json_records import Chunk, decode_chunks, paused_gc, repeated_keys
from shortcut_miner.sources.opening.json_text import LOOKED_AT, Top, fields_of
from shortcut_miner.sources.opening.kinds import Content, Format, alike_records
from shortcut_miner.sources.opening.reading import (
    RECORD,
    Problem,
    Reading,
    find_duplicates,
    find_problems,
    finished,
    is_blank,
)

IMAGE_LABELS = "image-to-detection JSON"


class _Detections(msgspec.Struct, gc=False):
    classes: list[str]
    scores: list[float]


def is_image_labels(top: Top) -> bool:
    """Return whether this is detect-shortcuts' ``{image: {"classes": [...], "scores": [...]}}``."""
    first = islice(top.values(), LOOKED_AT) if isinstance(top, dict) else ()
    return any("classes" in fields_of(value) for value in first)


def read_image_labels(content: Content, on_bad_row: OnBadRow) -> Reading:
    """Return the labels of an image-to-detection JSON; see :func:`.labels.read_labels`."""
    source, images = content.source, content.json.top
    assert isinstance(images, dict)
    names = list(images)
    entries = source.content.count(b'"classes"')
    problems = repeated_keys(source.content, names, entries, "image id", "one entry an image")
    frames = []
    with paused_gc():
        for first, some, columns in arrow_chunks(list(images.values()), _Detections):
            if columns is not None and (rows := _arrow_rows(first, columns)) is not None:
                frames.append(rows)
                continue
            for chunk in decode_chunks(some, _Detections, first):
                frame, uneven = _label_rows(chunk)
                frames.append(frame)
                problems += chunk.problems + uneven
    ids = pl.Series("image_id", names, dtype=pl.String)
    return _reading(source, ids, pl.concat(frames), problems, on_bad_row, content.json.notes)


def read_plain(content: Content, formats: Sequence[Format], on_bad_row: OnBadRow) -> Reading | None:
    """Return all labels of a large file that nothing is odd about; None of any other file."""
    images = alike_records(content, _Detections, None, IMAGE_LABELS, formats)
    if images is None:
        return None
    names = images[""].alias("image_id")
    # By these, wherever they are, the file would be another one: COCO's, or a table's only row.
    if names.n_unique() < len(names) or names.is_in(["annotations", "image_id"]).any():
        return None
    rows = _rows(images.select(pl.col("classes").alias("label"), pl.col("scores").alias("score")), 0)
    return None if rows is None else _reading(content.source, names, rows, [], on_bad_row)


def _reading(
    source: Source,
    names: pl.Series,
    table: pl.DataFrame,
    found: list[Problem],
    on_bad_row: OnBadRow,
    notes: tuple[str, ...] = (),
) -> Reading:
    """Return the labels of images that have no problem; `names` are all images' ids as the file has them."""
    ids, id_notes = canonical_image_ids(names)
    by_record = ids.to_frame().with_row_index(RECORD)
    problems = id_problems(by_record, "image_id", "image id")
    problems += find_duplicates(by_record, "image_id", "image id") + found
    is_outside = ~pl.col("score").is_between(0, 1)
    problems += find_problems(table, is_outside, "score", "numbers from 0 to 1", "scores")
    problems += find_problems(table, is_blank("label"), "label", "labels that are not blank", "classes")
    labels = table.with_columns(image_id=ids.gather(table[RECORD]))
    return finished(
        source, IMAGE_LABELS, labels.select(RECORD, "image_id", "label", "score"), problems,
        what="images", total=len(names), on_bad_row=on_bad_row,
        label=lambda record: f"image {names[record]!r}", notes=notes + id_notes,
    )  # fmt: skip


def _arrow_rows(first: int, columns: pa.Table) -> pl.DataFrame | None:
    """Return the rows of :func:`_label_rows` of images that are Arrow already; None if lists are uneven."""
    listed = arrow_columns(first, columns, _Detections)
    return _rows(pl.DataFrame({"label": listed["classes"], "score": listed["scores"]}), first)


def _rows(listed: pl.DataFrame, first: int) -> pl.DataFrame | None:
    """Return one row a detection of images' lists, or one without label; None if lists are uneven."""
    if (listed["label"].list.len() != listed["score"].list.len()).any():
        return None
    return listed.with_row_index(RECORD, first).explode("label", "score", empty_as_null=True)


def _label_rows(chunk: Chunk[_Detections]) -> tuple[pl.DataFrame, list[Problem]]:
    """Return one row a detection; one row without label for an image with an empty list."""
    problems, counts = [], []
    labels: list[str | None] = []
    scores: list[float | None] = []
    for position, image in zip(chunk.positions, chunk.records, strict=True):
        if len(image.classes) != len(image.scores):
            got = f"{len(image.classes)} classes and {len(image.scores)} scores"
            problems.append(Problem((position,), "classes and scores", got, "lists of the same length"))
            counts.append(0)
            continue
        labels.extend(image.classes or (None,))
        scores.extend(image.scores or (None,))
        counts.append(len(image.classes) or 1)
    frame = pl.DataFrame(
        {
            RECORD: np.repeat(np.asarray(chunk.positions, dtype=np.uint32), counts),
            "label": pl.Series(labels, dtype=pl.String),
            "score": pl.Series(scores, dtype=pl.Float64),
        }
    )
    return frame, problems
