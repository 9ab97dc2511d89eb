"""The boxes that a folder keeps: a table by image and region, so that nothing beside it repeats them."""

from pathlib import Path

import polars as pl

from shortcut_miner.datasets.folders import open_folder
from shortcut_miner.errors import SourceError
from shortcut_miner.schemas import ImageBoxes

BOXES = "boxes"


def image_boxes(regions: pl.DataFrame, images: pl.DataFrame) -> pl.DataFrame:
    """Return a detector's boxes as schemas.ImageBoxes, sorted by image and region.

    Parameters
    ----------
    regions : pl.DataFrame
        schemas.Regions.
    images : pl.DataFrame
        schemas.Images: all of the regions' images, with the sizes that they were made for.
    """
    # Images are few and regions many: numbers of images are sorted, not their names.
    sizes = images.select("image_id", "width", "height").sort("image_id").with_row_index("image")
    joined = regions.drop("attributes").join(
        sizes, on="image_id", how="left", validate="m:1", maintain_order="left"
    )
    places = joined["image"].cast(pl.Int64) * (1 << 32) + joined["region_index"]
    in_order = joined if places.is_sorted() else joined.sort("image", "region_index")
    return in_order.drop("image")


def kept_boxes(path: Path, command: str) -> pl.DataFrame | None:
    """Return the schemas.ImageBoxes of a folder that `command` wrote; None of an older version's.

    Raises
    ------
    SourceError
        Not such a folder, or a missing or damaged file.
    """
    folder = open_folder(path, command)
    is_listed = f"{BOXES}.parquet" in folder.manifest.get("files", ())
    return folder.table(BOXES, ImageBoxes) if is_listed else None


def needed_boxes(path: Path, command: str) -> pl.DataFrame:
    """Return what :func:`kept_boxes` does; SourceError where the folder has none."""
    boxes = kept_boxes(path, command)
    if boxes is None:
        raise no_boxes(path)
    return boxes


def no_boxes(path: Path) -> SourceError:
    """Return the error that a folder has no boxes."""
    return SourceError(
        f"{path}: got a folder without {BOXES}.parquet, which an older version built, expected one with "
        "it. Build it again."
    )
