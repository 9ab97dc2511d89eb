"""Scene objects, their regions and the donors, as the arrays that plans are drawn from."""

import dataclasses
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.diagnostics.swapmix.config import SwapMixConfig
from shortcut_miner.diagnostics.swapmix.kernels_numba.match import best_regions
from shortcut_miner.keyed_draws import Words, id_keys

Ints = NDArray[np.int64]
ATTRIBUTE_SEPARATOR = ", "
_BOX = ("x1", "y1", "x2", "y2")


@dataclasses.dataclass(frozen=True, slots=True)
class World:
    """Everything that a plan depends on, but for the questions and the similar classes.

    Attributes
    ----------
    classes, attribute_sets : pl.Series
        The distinct class names and attribute sets (as text) of all objects, sorted.
    objects : pl.DataFrame
        The questions' images' objects, sorted by image_id and object_id: image_id, object_id, class_id,
        attribute_set_id, region_index (UInt32, null if no region overlaps), iou, attributes, and file_order
        (the row in the file).
    regions : ndarray of int64
        region_index of each object, -1 for none.
    images : pl.DataFrame
        One row an image with a scene graph: image_id, first, count: where its objects are.
    object_keys : ndarray of uint64
        What the draws for an object depend on.
    donors : pl.DataFrame
        Objects that can take another's place, sorted by class_id, attribute_set_id, image_id, object_id: with
        the columns of `objects`.
    donor_start : ndarray of int64
        First donor of each class, and the end.
    excluded_start, excluded : ndarray of int64
        Donors, ascending, that the objects of an exclusion list must not take.
    exclusion : ndarray of int64
        The list of each object.
    """

    classes: pl.Series
    attribute_sets: pl.Series
    objects: pl.DataFrame
    regions: Ints
    images: pl.DataFrame
    object_keys: Words
    donors: pl.DataFrame
    donor_start: Ints
    excluded_start: Ints
    excluded: Ints
    exclusion: Ints

    def donor_classes(self) -> Ints:
        """Return the classes that have donors, ascending."""
        return np.flatnonzero(np.diff(self.donor_start))


def encode_world(
    objects: pl.DataFrame,
    regions: pl.DataFrame | None,
    config: SwapMixConfig,
    *,
    images: pl.Series | None = None,
    donor_objects: pl.DataFrame | None = None,
    donor_regions: pl.DataFrame | None = None,
) -> World:
    """Return the world of a plan.

    Parameters
    ----------
    objects : pl.DataFrame
        schemas.SceneObjects of the questions' images, in file order.
    regions : pl.DataFrame or None
        schemas.Regions of these images; None for a perfect-sight plan, which needs no regions.
    config : SwapMixConfig
        ``min_iou``, ``padded_regions``, ``own_image_donors``, ``seed`` matter here.
    images : pl.Series, optional
        Ids of all images with a scene graph, those without objects too; default those of `objects`.
    donor_objects, donor_regions : pl.DataFrame, optional
        The same of the images that donors come from; default the same tables.
    """
    targets = with_regions(objects, regions, config)
    others = targets if donor_objects is None else with_regions(donor_objects, donor_regions, config)
    classes = _distinct(targets["name"], others["name"])
    attribute_sets = _distinct(targets["attribute_set"], others["attribute_set"])
    objects = _encoded(targets, classes, attribute_sets).sort("image_id", "object_id")
    is_donor = pl.lit(True) if regions is None else pl.col("region_index").is_not_null()
    donors = (
        _encoded(others, classes, attribute_sets)
        .filter(is_donor)
        .sort("class_id", "attribute_set_id", "image_id", "object_id")
    )
    donor_start = np.searchsorted(donors["class_id"].to_numpy(), np.arange(len(classes) + 1)).astype(np.int64)
    known = objects["image_id"] if images is None else pl.concat([images, objects["image_id"]])
    places = (
        objects.with_row_index("first")
        .group_by("image_id")
        .agg(pl.col("first").min().cast(pl.Int64), count=pl.len().cast(pl.Int64))
    )
    all_images = (
        known.unique().sort().to_frame("image_id")
        .join(places, on="image_id", how="left", validate="1:1", maintain_order="left")
        .with_columns(pl.col("first", "count").fill_null(0))
    )  # fmt: skip
    keys = ["image_id", "object_id"] if config.own_image_donors else ["image_id"]
    excluded_start, excluded, exclusion = _exclusions(objects, donors, keys)
    return World(
        classes=classes,
        attribute_sets=attribute_sets,
        objects=objects,
        regions=objects["region_index"].cast(pl.Int64).fill_null(-1).to_numpy(),
        images=all_images,
        object_keys=id_keys(objects["object_id"], config.seed, "swapmix object"),
        donors=donors,
        donor_start=donor_start,
        excluded_start=excluded_start,
        excluded=excluded,
        exclusion=exclusion,
    )


def with_regions(objects: pl.DataFrame, regions: pl.DataFrame | None, config: SwapMixConfig) -> pl.DataFrame:
    """Return objects in file order with region_index and iou: the region that overlaps each most.

    Section 3.2 of the paper: an object's region is the one of highest IoU; here also above ``min_iou``.
    """
    described = objects.select(
        "image_id",
        "object_id",
        "name",
        "attributes",
        *_BOX,
        attribute_set=attribute_set_text(),
    ).with_row_index("file_order")
    if regions is None:
        nothing = {"region_index": pl.lit(None, pl.UInt32), "iou": pl.lit(None, pl.Float64)}
        return described.drop(_BOX).with_columns(**nothing)
    ordered = regions.sort("image_id", "region_index")
    places = (
        ordered.with_row_index("first")
        .group_by("image_id", maintain_order=True)
        .agg(pl.col("first").first().cast(pl.Int64))
        .with_row_index("image")
    )
    image = described.join(places, on="image_id", how="left", validate="m:1", maintain_order="left")["image"]
    is_known = image.is_not_null()
    boxes = described.filter(is_known).select(_BOX).to_numpy().astype(np.float64, order="C")
    is_candidate = np.ones(len(ordered), np.bool_)
    if not config.padded_regions:
        is_candidate = ~ordered["is_padding"].to_numpy()
    best, iou = best_regions(
        boxes,
        image.drop_nulls().to_numpy().astype(np.int64),
        np.append(places["first"].to_numpy(), len(ordered)).astype(np.int64),
        ordered.select(_BOX).to_numpy().astype(np.float64, order="C"),
        is_candidate,
        config.min_iou,
    )
    found = np.full(len(described), -1, np.int64)
    overlap = np.zeros(len(described))
    found[is_known.to_numpy()], overlap[is_known.to_numpy()] = best, iou
    has_region = pl.Series(found >= 0)
    index = ordered["region_index"].gather(np.maximum(found, 0)) if len(ordered) else None
    columns: dict[str, Any] = {
        "region_index": pl.lit(None, pl.UInt32) if index is None else index.cast(pl.UInt32),
        "iou": pl.Series(overlap),
    }
    return (
        described.drop(_BOX)
        .with_columns(**columns)
        .with_columns(pl.when(has_region).then(name).alias(name) for name in columns)
    )


def attribute_set_text() -> pl.Expr:
    """Return an object's distinct attributes, sorted and joined; two objects are alike if these are equal."""
    return pl.col("attributes").list.unique().list.sort().list.join(ATTRIBUTE_SEPARATOR)


def _distinct(first: pl.Series, second: pl.Series) -> pl.Series:
    return pl.concat([first.unique(), second.unique()]).unique().sort()


def _encoded(objects: pl.DataFrame, classes: pl.Series, attribute_sets: pl.Series) -> pl.DataFrame:
    return objects.select(
        "image_id",
        "object_id",
        positions(objects["name"], classes).alias("class_id"),
        positions(objects["attribute_set"], attribute_sets).alias("attribute_set_id"),
        "region_index",
        "iou",
        "attributes",
        "file_order",
    )


def positions(values: pl.Series, vocabulary: pl.Series) -> pl.Series:
    """Return each value's place (Int64) in a vocabulary of distinct values; null if it is not there."""
    table = vocabulary.alias("value").to_frame().with_row_index("place")
    asked = values.alias("value").to_frame()
    return asked.join(table, on="value", how="left", validate="m:1", maintain_order="left")["place"].cast(
        pl.Int64
    )


def _exclusions(objects: pl.DataFrame, donors: pl.DataFrame, keys: list[str]) -> tuple[Ints, Ints, Ints]:
    """Return where each exclusion list starts, the lists (donor numbers), and each object's list."""
    groups = objects.select(keys).unique(maintain_order=True).with_row_index("group")
    exclusion = objects.join(groups, on=keys, how="left", validate="m:1", maintain_order="left")["group"]
    kept_out = (
        donors.select(keys)
        .with_row_index("donor")
        .join(groups, on=keys, how="inner", validate="m:1")
        .sort("group", "donor")
    )
    start = np.searchsorted(kept_out["group"].to_numpy(), np.arange(len(groups) + 1)).astype(np.int64)
    return start, kept_out["donor"].to_numpy().astype(np.int64), exclusion.to_numpy().astype(np.int64)
