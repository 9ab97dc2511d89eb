"""Object labels of files that were made for something else: a detector's boxes, and scene graphs."""

from collections import Counter

import polars as pl

from shortcut_miner.errors import SourceError
from shortcut_miner.options import OnBadRow
from shortcut_miner.sources.images.region_tables import RegionReading
from shortcut_miner.sources.images.scene_graphs import SceneReading
from shortcut_miner.sources.opening.reading import (
    RECORD,
    Reading,
    find_problems,
    is_blank,
    settle,
    without_bad,
)

LABELS_INSTEAD = (
    "Give the same detector's labels as JSON ({image: {classes, scores}}), or as a table with image_id, "
    "label and score"
)


def labels_of_boxes(found: RegionReading, path: str, on_bad_row: OnBadRow) -> Reading:
    """Return the label and score of each region that is no padding; one row for an image without regions.

    Raises
    ------
    SourceError
        No region has a label, or some have none, or scores that are no numbers from 0 to 1. With
        ``on_bad_row="skip"`` such a region is left out; an image of which nothing is left is not known.
    """
    is_region = ~pl.col("is_padding")
    rows = (
        found.regions.lazy().filter(is_region).select("image_id", "region_index", "label", "score").collect()
    )
    if len(rows) and rows["label"].null_count() == len(rows):
        raise SourceError(
            f"{path}: got {found.kind} in which no box has a label, expected labels. {LABELS_INSTEAD}."
        )
    rows = rows.with_row_index(RECORD)
    problems = find_problems(
        rows, pl.col("label").is_null() | is_blank("label"), "label", "text that is not blank"
    )
    problems += find_problems(rows, ~pl.col("score").is_between(0, 1), "score", "a number from 0 to 1")
    dropped = settle(
        path, "regions", problems, len(rows), on_bad_row,
        lambda at: f"image {rows['image_id'][at]!r}, region {rows['region_index'][at]}",
    )  # fmt: skip
    good = without_bad(rows, problems).drop("region_index")
    is_known = (pl.col("region_count") == 0) | pl.col("image_id").is_in(good["image_id"].implode())
    return Reading(
        table=_one_row_at_least(found.images.filter(is_known), good),
        kind=found.kind,
        file=found.file,
        dropped=dict(Counter(found.dropped) + Counter(dropped)),
        notes=found.notes,
    )


def labels_of_objects(found: SceneReading) -> Reading:
    """Return the names of annotated objects, without scores; one row for an image without objects."""
    names = found.table.select(
        "image_id", pl.col("name").alias("label"), pl.lit(None, pl.Float64).alias("score")
    )
    return Reading(
        table=_one_row_at_least(found.images, names),
        kind=found.kind,
        file=found.file,
        dropped=found.dropped,
        notes=found.notes,
    )


def _one_row_at_least(images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Return labels image by image, and a row without label for an image that has none."""
    return images.select("image_id").join(
        labels, on="image_id", how="left", validate="1:m", maintain_order="left_right"
    )
