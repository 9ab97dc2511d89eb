"""Object labels of images: image-to-detection JSON, COCO instances, or our own Parquet table."""

import json
import os
from collections import Counter

import msgspec
import numpy as np
import polars as pl

from shortcut_miner.sources.images.coco import coco_labels
from shortcut_miner.sources.images.image_ids import canonical_image_ids
from shortcut_miner.sources.opening.files import Source, open_source
from shortcut_miner.sources.opening.json_records import (
    Chunk,
    decode_chunks,
    paused_gc,
    positions_column,
    text_column,
)
from shortcut_miner.sources.opening.json_text import Top, parse_json
from shortcut_miner.sources.opening.kinds import (
    COCO_INSTANCES,
    IMAGE_LABELS,
    LABELS_PARQUET,
    PARQUET_MAGIC,
    json_shape,
    wrong_kind,
)
from shortcut_miner.sources.opening.parquet import read_columns
from shortcut_miner.sources.opening.reading import (
    RECORD,
    OnBadRow,
    Problem,
    Reading,
    check_on_bad_row,
    find_duplicates,
    find_problems,
    is_blank,
    settle,
    without_bad,
)

_EXPECTED = f"{IMAGE_LABELS} ({{image: {{classes, scores}}}}), {COCO_INSTANCES} or {LABELS_PARQUET}"


class _Detections(msgspec.Struct, gc=False):
    classes: list[str]
    scores: list[float]


def read_labels(path: str | os.PathLike[str], *, on_bad_row: OnBadRow = "error") -> Reading:
    """Return the object labels of images, one row a detection, in file order.

    Reads detect-shortcuts' ``{image: {"classes": [...], "scores": [...]}}``, COCO instances JSON and a
    Parquet table with the columns image_id, label and, optionally, score. An image with an empty list
    gives one row without label: known, none found.

    Parameters
    ----------
    path : path-like
        A plain, .gz or .zst file, a zip with one member, or ``archive.zip/member``.
    on_bad_row : {"error", "skip"}
        Raise for all records that don't fit at once, or skip and count them.

    Returns
    -------
    Reading
        A :class:`shortcut_miner.schemas.Labels`: image_id, label (String), score (Float64; null for
        ground truth). COCO adds iscrowd (Boolean).

    Raises
    ------
    SourceError
        The file can't be read, is of another format, or has bad records. With ``on_bad_row="skip"`` a
        bad record is left out as a whole: an image of the JSON format, an annotation of COCO, a row.
    """
    check_on_bad_row(on_bad_row)
    source = open_source(path)
    if source.content.startswith(PARQUET_MAGIC):
        return _read_parquet(source, on_bad_row)
    parsed = parse_json(source)
    shape = json_shape(parsed.top)
    if shape.kind == COCO_INSTANCES:
        table, dropped, notes = coco_labels(source, parsed.top, on_bad_row)
    elif shape.kind == IMAGE_LABELS:
        table, dropped, notes = _image_labels(source, parsed.top, on_bad_row)
    else:
        raise wrong_kind(source, shape, _EXPECTED)
    notes = parsed.notes + notes
    return Reading(table=table, kind=shape.kind, file=source.facts(), dropped=dropped, notes=notes)


def _image_labels(
    source: Source, images: Top, on_bad_row: OnBadRow
) -> tuple[pl.DataFrame, dict[str, int], tuple[str, ...]]:
    if isinstance(images, list):
        raise wrong_kind(source, json_shape(images), _EXPECTED)
    names = list(images)
    ids, notes = canonical_image_ids(pl.Series("image_id", names, dtype=pl.String))
    by_record = pl.DataFrame({RECORD: positions_column(range(len(names))), "image_id": ids})
    problems = find_problems(by_record, is_blank("image_id"), "image_id", "an id", "image id")
    problems += find_duplicates(by_record, "image_id", "image id") + _repeated_keys(source, names)
    frames = []
    with paused_gc():
        for chunk in decode_chunks(list(images.values()), _Detections):
            frame, uneven = _label_rows(chunk)
            frames.append(frame)
            problems += chunk.problems + uneven
    table = pl.concat(frames)
    is_outside = ~pl.col("score").is_between(0, 1)
    problems += find_problems(table, is_outside, "score", "numbers from 0 to 1", "scores")
    problems += find_problems(table, is_blank("label"), "label", "labels that are not blank", "classes")
    dropped = settle(
        source, "images", problems, len(names), on_bad_row, lambda record: f"image {names[record]!r}"
    )
    table = without_bad(table.with_columns(image_id=ids.gather(table[RECORD])), problems)
    return table.select("image_id", "label", "score"), dropped, notes


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
            "label": text_column(labels),
            "score": pl.Series(scores, dtype=pl.Float64),
        }
    )
    return frame, problems


def _repeated_keys(source: Source, names: list[str]) -> list[Problem]:
    """Find images that the JSON object names twice: decoding keeps only the last of them.

    The cheap test counts the word "classes"; only a surplus is looked at with a slow parser.
    """
    if source.content.count(b'"classes"') <= len(names):
        return []
    pairs: list[tuple[str, object]] = []

    def keep_pairs(found: list[tuple[str, object]]) -> None:
        pairs[:] = found  # the outermost object comes last

    json.loads(source.content, object_pairs_hook=keep_pairs)
    counts = Counter(name for name, _ in pairs)
    places = {name: place for place, name in enumerate(names)}
    return [
        Problem((places[name],), "image id", f"{count} entries", "one entry an image")
        for name, count in counts.items()
        if count > 1
    ]


def _read_parquet(source: Source, on_bad_row: OnBadRow) -> Reading:
    table = read_columns(source, {"image_id": "id", "label": "text", "score": "number"}, optional=("score",))
    is_null = pl.col("image_id").is_null()
    problems = find_problems(table, is_null, "image_id", "an id")
    problems += find_problems(table, is_blank("image_id"), "image_id", "an id")
    problems += find_problems(table, is_blank("label"), "label", "text that is not blank")
    is_outside = ~pl.col("score").is_between(0, 1)
    problems += find_problems(table, is_outside, "score", "a number from 0 to 1")
    says_none = pl.col("label").is_null() & (pl.col("score").is_not_null() | (pl.len().over("image_id") > 1))
    problems += find_problems(
        table, says_none, "label", "null only in an image's single row, without a score"
    )
    dropped = settle(source, "rows", problems, table.height, on_bad_row, "row {}".format)
    table = without_bad(table, problems)
    ids, notes = canonical_image_ids(table["image_id"])
    table = table.with_columns(image_id=ids)
    return Reading(table=table, kind=LABELS_PARQUET, file=source.facts(), dropped=dropped, notes=notes)
