"""From questions, scene graphs and boxes to each question's relevant and irrelevant regions."""

import numpy as np
import polars as pl

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
    regions, images = _flat_regions(inputs, config)
    asked = asked.join(images, on="image_id", how="left", validate="m:1", maintain_order="left")
    compared = asked.filter(pl.col("exclusion").is_null())
    relevant, irrelevant = match(regions, _flat_objects(compared, named, inputs.objects), config)
    lists = pl.DataFrame(
        {"row": compared["row"], "relevant": _list_column(relevant), "irrelevant": _list_column(irrelevant)},
        schema_overrides={"relevant": _LISTS, "irrelevant": _LISTS},
    )
    table = asked.join(lists, on="row", how="left", validate="1:1", maintain_order="left")
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


def _flat_regions(inputs: FpvgInputs, config: FpvgConfig) -> tuple[Regions, pl.DataFrame]:
    """Return the regions of all detected images, in the order of their ids.

    Beside it each image's number there, and its region_count without padding (null for an image that is not
    known).
    """
    takes_padding, is_padding = config.padding == "reference", pl.col("is_padding")
    runs = inputs.regions.group_by("image_id").agg(rows=pl.len(), found=(~is_padding).sum())
    images = inputs.detected_images.with_row_index("image").join(
        runs, on="image_id", how="left", validate="1:1", maintain_order="left"
    )
    sizes = images["rows" if takes_padding else "found"].fill_null(0).to_numpy()
    rows = inputs.regions if takes_padding else inputs.regions.filter(~is_padding)
    index = rows["region_index"].to_numpy().astype(np.uint32)
    sides = np.array(rows.select(_SIDES).to_numpy().T, np.float32, order="C")
    may_differ = np.ones(len(rows), np.bool_)
    if takes_padding:
        # The released scripts take a row for empty if its float32 coordinates add up to zero.
        sides[:, ((sides[0] + sides[1]) + sides[2]) + sides[3] == 0] = 0
        may_differ = index < np.repeat(images["region_count"].fill_null(0).to_numpy(), sizes)
    flat = Regions(
        sides=sides,
        region_index=index,
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        may_differ=may_differ,
    )
    known = pl.when(pl.col("region_count").is_not_null())
    return flat, images.select(
        "image_id", "image", region_count=known.then(pl.col("found").fill_null(0).cast(pl.UInt32))
    )


def _flat_objects(compared: pl.DataFrame, named: pl.DataFrame, objects: pl.DataFrame) -> Named:
    used = named.join(compared.select("row"), on="row", how="semi", maintain_order="left")
    lengths = compared["object_id"].list.len().to_numpy().astype(np.int64)
    return Named(
        image=compared["image"].to_numpy().astype(np.int64),
        objects=used["object"].to_numpy().astype(np.int64),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        boxes=objects.select(_SIDES).to_numpy().astype(np.float64, order="C"),
    )


def _list_column(lists: RegionLists) -> pl.Series:
    return list_column(pl.Series(lists.index), np.diff(lists.offsets))
