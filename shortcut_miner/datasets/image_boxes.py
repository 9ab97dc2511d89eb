"""The boxes that a folder keeps: a table by image and region, so that nothing beside it repeats them."""

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from shortcut_miner.datasets.folders import open_folder
from shortcut_miner.errors import SourceError
from shortcut_miner.schemas import ImageBoxes

if TYPE_CHECKING:
    import dataframely as dy

BOXES = "boxes"


def image_boxes(boxes: pl.DataFrame, images: pl.DataFrame, key: str = "region_index") -> pl.DataFrame:
    """Return boxes with the sizes of their images, sorted by image and `key`.

    Parameters
    ----------
    boxes : pl.DataFrame
        schemas.Regions, which become schemas.ImageBoxes, or schemas.SceneObjects.
    images : pl.DataFrame
        schemas.Images: all of the boxes' images, with the sizes that they were made for.
    key : str
        The column that tells the boxes of an image apart.
    """
    # Images are few and regions many: numbers of images are sorted, not their names.
    sizes = images.select("image_id", "width", "height").sort("image_id").with_row_index("image")
    joined = boxes.drop("attributes").join(
        sizes, on="image_id", how="left", validate="m:1", maintain_order="left"
    )
    is_after = (pl.col("image") > pl.col("image").shift()) | (
        (pl.col("image") == pl.col("image").shift()) & (pl.col(key) >= pl.col(key).shift())
    )
    is_sorted = joined.select(is_after.all()).item()  # as FPVG's are
    return (joined if is_sorted else joined.sort("image", key)).drop("image")


def kept_boxes(
    path: Path, command: str, schema: "type[dy.Schema]" = ImageBoxes, name: str = BOXES
) -> pl.DataFrame | None:
    """Return the boxes of a folder that `command` wrote; None where it has none, as those of older versions.

    Raises
    ------
    SourceError
        Not such a folder, or a missing or damaged file.
    """
    folder = open_folder(path, command)
    is_listed = f"{name}.parquet" in folder.manifest.get("files", ())
    return folder.table(name, schema) if is_listed else None


def needed_boxes(path: Path, command: str, schema: "type[dy.Schema]" = ImageBoxes) -> pl.DataFrame:
    """Return what :func:`kept_boxes` does; SourceError where the folder has none."""
    boxes = kept_boxes(path, command, schema)
    if boxes is None:
        raise no_boxes(path)
    return boxes


def no_boxes(path: Path) -> SourceError:
    """Return the error that a folder has no boxes."""
    return SourceError(
        f"{path}: got a folder without {BOXES}.parquet, which an older version built, expected one with "
        "it. Build it again."
    )
