"""One numbered file of masked images: drawn from a few questions, by whatever process is free."""

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa

from shortcut_miner.datasets.drawn_images import (
    MARK,
    NO_IMAGE,
    Written,
    photo_and_digest,
    pixel_schema,
    png_of,
    shard_name,
    write_pixels,
)
from shortcut_miner.diagnostics.fpvg.config import ImagesConfig
from shortcut_miner.errors import SourceError

if TYPE_CHECKING:
    from shortcut_miner.diagnostics.fpvg.masks import Kept
    from shortcut_miner.drawing.photos import Photo

NO_PIXELS = "questions of which a condition keeps no pixel"
PIXELS = pixel_schema("condition", pa.string())
_SIDES = ("x1", "y1", "x2", "y2")


@dataclasses.dataclass(frozen=True, slots=True)
class Shard:
    """What one file is made of.

    Attributes
    ----------
    number : int
        Of the file.
    questions : pl.DataFrame
        question_id, image_id, question, answer, relevant, irrelevant, place: the number of the question.
    boxes : pl.DataFrame
        schemas.ImageBoxes of their images.
    places : mapping of str to str
        image_id -> its file.
    config : ImagesConfig
    folder : Path or None
        Where to write; None draws and throws away.
    """

    number: int
    questions: pl.DataFrame
    boxes: pl.DataFrame
    places: Mapping[str, str]
    config: ImagesConfig
    folder: Path | None

    @property
    def name(self) -> str:
        """The name of the file."""
        return shard_name(self.number)


def write_shard(shard: Shard) -> Written:
    """Draw and write the images of some questions; no file if there are none."""
    done = Written([], {NO_PIXELS: [], NO_IMAGE: []}, [])
    images = _drawn(shard, done.rows, done.left_out, done.broken)
    write_pixels(images, PIXELS, None if shard.folder is None else shard.folder / shard.name)
    return done


def _drawn(
    shard: Shard, rows: list[dict[str, Any]], left_out: dict[str, list[str]], broken: list[str]
) -> Iterator[dict[str, Any]]:
    """Give the rows of the file, and note beside what they are, and what is left out."""
    for (image_id,), asked in shard.questions.group_by("image_id", maintain_order=True):
        boxes = shard.boxes.filter(pl.col("image_id") == image_id)
        path = Path(shard.places[str(image_id)])
        try:
            photo, digest = photo_and_digest(path, boxes, str(image_id))
        except SourceError as error:
            broken.append(str(error))
            left_out[NO_IMAGE] += asked["question_id"].to_list()
            continue
        for question in asked.iter_rows(named=True):
            masks = masks_of(question, boxes, photo, shard.config)
            if not all(one.any() for one in masks.values()):
                left_out[NO_PIXELS].append(question["question_id"])
                continue
            for at, (condition, kept) in enumerate(masks.items()):
                number = question["place"] * len(masks) + at
                row, png = _image(question, condition, kept, photo, shard, number)
                rows.append(row | {"source_sha256": digest})
                shown = {name: row[name] for name in PIXELS.names if name != "image"}
                yield shown | {"image": {"bytes": png, "path": row["file"]}}


def masks_of(
    question: Mapping[str, Any], boxes: pl.DataFrame, photo: "Photo", config: ImagesConfig
) -> "dict[str, Kept]":
    """Return the pixels that each condition of the options keeps of a question's image.

    Of the irrelevant boxes' union the relevant boxes are taken away: an irrelevant box may cover a part of
    what is relevant, and many together may cover all of it, which features of single regions can't show.
    """
    from shortcut_miner.diagnostics.fpvg.masks import control, union

    size, (across, down) = photo.image.size, photo.scales
    sides = boxes.select(_SIDES).to_numpy().astype(np.float64) * [across, down, across, down]
    row_of = {number: row for row, number in enumerate(boxes["region_index"].to_list())}
    listed = {name: [row_of[number] for number in question[name]] for name in ("relevant", "irrelevant")}
    relevant = union(sides[listed["relevant"]], size)
    masks = {}
    for condition in config.conditions:
        if condition == "relevant":
            masks[condition] = relevant
        elif condition == "irrelevant":
            masks[condition] = union(sides[listed["irrelevant"]], size) & ~relevant
        else:
            is_free = ~boxes["is_padding"].to_numpy()
            is_free[listed["relevant"]] = False
            key = (question["question_id"], config.seed)
            candidates = np.flatnonzero(is_free).tolist()
            masks[condition] = control(sides, candidates, int(relevant.sum()), size, key=key)
    return masks


def _image(
    question: Mapping[str, Any], condition: str, kept: "Kept", photo: "Photo", shard: Shard, number: int
) -> tuple[dict[str, Any], bytes]:
    """Return what the table says of an image, and its PNG."""
    from shortcut_miner.diagnostics.fpvg.masks import filled

    done = filled(photo.image, kept, shard.config.fill)
    return {
        "id": f"{question['question_id']}{MARK}{condition}",
        "question_id": question["question_id"],
        "image_id": question["image_id"],
        "condition": condition,
        "fill": shard.config.fill,
        "file": f"{number:08d}.png",
        "shard": shard.name,
        "width": done.width,
        "height": done.height,
        "kept_share": int(kept.sum()) / kept.size,
        "question": question["question"],
        "answer": question["answer"],
    }, png_of(done)
