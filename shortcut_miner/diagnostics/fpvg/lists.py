"""From questions, scene graphs and boxes to each question's relevant and irrelevant regions."""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.diagnostics.fpvg.config import FpvgConfig
from shortcut_miner.diagnostics.fpvg.exclusions import (
    NO_ANNOTATION,
    NO_DETECTIONS,
    NO_IRRELEVANT,
    NO_OBJECT,
    NO_RELEVANT,
    NO_SCENE_GRAPH,
)
from shortcut_miner.diagnostics.fpvg.inputs import FpvgInputs
from shortcut_miner.diagnostics.fpvg.overlap import Named, RegionLists, Regions, match
from shortcut_miner.sources.opening.list_columns import list_column

_MAPS = {
    "path": ("relevant_question", "relevant_answer", "relevant_full_answer"),
    "final": ("relevant_answer",),
}
_SIDES = ("x1", "y1", "x2", "y2")
_LISTS = pl.List(pl.UInt32)


def region_lists(inputs: FpvgInputs, config: FpvgConfig) -> pl.DataFrame:
    """Return each question's relevant and irrelevant regions, and why some can't be evaluated.

    Parameters
    ----------
    inputs : FpvgInputs
        Questions, scene graphs and regions.
    config : FpvgConfig
        Thresholds and definitions.

    Returns
    -------
    pl.DataFrame
        question_id, image_id, relevant, irrelevant List[UInt32] (region indices; null where there was
        nothing to compare: the first four exclusions), region_count UInt32 (regions of the image that are no
        padding), is_evaluable, exclusion (null for an evaluable question). In the order of the questions.

    Notes
    -----
    Reich et al. (2023), section 3 and appendix A.
    """
    asked = inputs.questions.select("question_id", "image_id", _relevant_objects(config)).with_row_index(
        "row"
    )
    named = _named_objects(asked, inputs.objects)
    asked = asked.with_columns(exclusion=_first_exclusion(asked, named, inputs))
    compared = asked.filter(pl.col("exclusion").is_null())
    regions, sizes = _flat_regions(compared, inputs, config)
    relevant, irrelevant = match(regions, _flat_objects(compared, named, inputs.objects), config)
    lists = pl.DataFrame(
        {"row": compared["row"], "relevant": _list_column(relevant), "irrelevant": _list_column(irrelevant)},
        schema_overrides={"relevant": _LISTS, "irrelevant": _LISTS},
    )
    table = asked.join(lists, on="row", how="left", validate="1:1", maintain_order="left").join(
        sizes, on="image_id", how="left", validate="m:1", maintain_order="left"
    )
    exclusion = (
        pl.when(pl.col("exclusion").is_not_null())
        .then("exclusion")
        .when(pl.col("relevant").list.len() == 0)
        .then(pl.lit(NO_RELEVANT))
        .when(pl.col("irrelevant").list.len() == 0)
        .then(pl.lit(NO_IRRELEVANT))
    )
    return table.with_columns(exclusion=exclusion).select(
        *("question_id", "image_id", "relevant", "irrelevant", "region_count"),
        is_evaluable=pl.col("exclusion").is_null(),
        exclusion="exclusion",
    )


def _relevant_objects(config: FpvgConfig) -> pl.Expr:
    """Return the distinct object ids that count for a question; empty if no map names any."""
    none = pl.lit([], pl.List(pl.String))
    parts = [pl.col(name).fill_null(none) for name in _MAPS[config.relevant]]
    return pl.concat_list(parts).list.unique(maintain_order=True).alias("object_id")


def _named_objects(asked: pl.DataFrame, objects: pl.DataFrame) -> pl.DataFrame:
    """Return row, image_id, object_id and object (row in `objects`, null if it has none) per named object."""
    places = objects.select("image_id", "object_id").with_row_index("object")
    return (
        asked.filter(pl.col("object_id").list.len() > 0)
        .select("row", "image_id", "object_id")
        .explode("object_id")
        .join(
            places, on=["image_id", "object_id"], how="left", validate="m:1", maintain_order="left"
        )
    )  # fmt: skip


def _first_exclusion(asked: pl.DataFrame, named: pl.DataFrame, inputs: FpvgInputs) -> pl.Expr:
    annotated = inputs.annotated_images["image_id"].implode()
    known = inputs.detected_images.filter(pl.col("region_count").is_not_null())["image_id"].implode()
    incomplete = named.filter(pl.col("object").is_null())["row"].unique().implode()
    return (
        pl.when(pl.col("object_id").list.len() == 0)
        .then(pl.lit(NO_ANNOTATION))
        .when(~pl.col("image_id").is_in(annotated))
        .then(pl.lit(NO_SCENE_GRAPH))
        .when(pl.col("row").is_in(incomplete))
        .then(pl.lit(NO_OBJECT))
        .when(~pl.col("image_id").is_in(known))
        .then(pl.lit(NO_DETECTIONS))
    )


def _flat_regions(
    compared: pl.DataFrame, inputs: FpvgInputs, config: FpvgConfig
) -> tuple[Regions, pl.DataFrame]:
    """Return the regions of the compared questions' images, in order of the images' first question.

    Beside it each detected image's region_count, without padding.
    """
    counts = inputs.detected_images.select("image_id", pl.col("region_count").alias("claimed"))
    images = compared.select(pl.col("image_id").unique(maintain_order=True)).with_row_index("image")
    rows = (
        inputs.regions.join(images, on="image_id", how="inner", validate="m:1")
        .join(counts, on="image_id", how="left", validate="m:1")
        .sort("image", "region_index")
    )
    sizes = np.bincount(rows["image"].to_numpy(), minlength=len(images))
    is_padding = rows["is_padding"].to_numpy()
    is_claimed = (rows["region_index"] < rows["claimed"]).to_numpy()
    takes_padding = config.padding == "reference"
    boxes = rows.select(_SIDES).to_numpy().astype(np.float32, order="C")
    if takes_padding:
        # The released scripts take a row for empty if its float32 coordinates add up to zero.
        boxes[((boxes[:, 0] + boxes[:, 1]) + boxes[:, 2]) + boxes[:, 3] == 0] = 0
    nothing: NDArray[Any] = np.zeros(1)
    flat = Regions(
        boxes=np.concatenate([boxes, np.zeros((1, 4), np.float32)]),
        region_index=np.concatenate([rows["region_index"].to_numpy(), nothing.astype(np.uint32)]),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        may_match=np.append(np.ones(len(rows), np.bool_) if takes_padding else ~is_padding, False),
        may_differ=np.append(is_claimed if takes_padding else ~is_padding, False),
    )
    real = inputs.regions.group_by("image_id").agg(found=(~pl.col("is_padding")).sum().cast(pl.UInt32))
    known = inputs.detected_images.filter(pl.col("region_count").is_not_null()).select("image_id")
    sizes_table = known.join(real, on="image_id", how="left", validate="1:1").select(
        "image_id", region_count=pl.col("found").fill_null(0)
    )
    return flat, sizes_table


def _flat_objects(compared: pl.DataFrame, named: pl.DataFrame, objects: pl.DataFrame) -> Named:
    images = compared.select(pl.col("image_id").unique(maintain_order=True)).with_row_index("image")
    image = compared.join(images, on="image_id", how="left", validate="m:1", maintain_order="left")["image"]
    used = named.join(compared.select("row"), on="row", how="semi", maintain_order="left")
    lengths = compared["object_id"].list.len().to_numpy().astype(np.int64)
    return Named(
        image=image.to_numpy().astype(np.int64),
        objects=used["object"].to_numpy().astype(np.int64),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        boxes=objects.select(_SIDES).to_numpy().astype(np.float64, order="C"),
    )


def _list_column(lists: RegionLists) -> pl.Series:
    return list_column(pl.Series(lists.index), np.diff(lists.offsets))
