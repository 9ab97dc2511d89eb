"""One numbered file of images with swaps: drawn from a few questions, by whatever process is free."""

import dataclasses
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa

from shortcut_miner.datasets.drawn_images import (
    MARK,
    NO_IMAGE,
    Row,
    Written,
    photo_and_digest,
    pixel_schema,
    png_of,
    shard_name,
    write_pixels,
)
from shortcut_miner.diagnostics.swapmix.config import ImagesConfig
from shortcut_miner.errors import SourceError

if TYPE_CHECKING:
    from shortcut_miner.drawing.marks import Pixels
    from shortcut_miner.drawing.photos import Photo

PIXELS = pixel_schema("perturbation", pa.uint32())
NO_DONOR = "questions with a donor whose image can't be read"
ORIGINAL, DONOR, FILL, NOTHING = "original", "donor", "fill", "nothing"
_SIDES = ("x1", "y1", "x2", "y2")
_PHOTOS_KEPT = 8  # of donors


@dataclasses.dataclass(frozen=True, slots=True)
class Shard:
    """What one file is made of.

    Attributes
    ----------
    number : int
        Of the file.
    questions : pl.DataFrame
        question_id, image_id, question, answer, place: the number of the question's first image.
    rows : pl.DataFrame
        The questions' rows of the plan.
    boxes, donor_boxes : pl.DataFrame
        Those of the plan's boxes that the rows name, with `key`: what the plan calls them.
    places, donor_places : mapping of str to str
        image_id -> its file.
    config : ImagesConfig
    folder : Path or None
        Where to write; None draws and throws away.
    """

    number: int
    questions: pl.DataFrame
    rows: pl.DataFrame
    boxes: pl.DataFrame
    donor_boxes: pl.DataFrame
    places: Mapping[str, str]
    donor_places: Mapping[str, str]
    config: ImagesConfig
    folder: Path | None

    @property
    def name(self) -> str:
        """The name of the file."""
        return shard_name(self.number)


def write_shard(shard: Shard) -> Written:
    """Draw and write the images of some questions; no file if there are none."""
    done = Written([], {NO_IMAGE: [], NO_DONOR: []}, [])
    write_pixels(_drawn(shard, done), PIXELS, None if shard.folder is None else shard.folder / shard.name)
    return done


@dataclasses.dataclass(slots=True)
class _Photos:
    """Images with their digests, of which the last few stay in memory; and their boxes."""

    places: Mapping[str, str]
    boxes: pl.DataFrame
    kept: "OrderedDict[str, tuple[Photo, str]]" = dataclasses.field(default_factory=OrderedDict)
    by_key: dict[tuple[str, str], tuple[float, ...]] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        self.by_key = {
            (image_id, key): tuple(map(float, sides))
            for image_id, key, *sides in self.boxes.select("image_id", "key", *_SIDES).iter_rows()
        }

    def of(self, image_id: str) -> "tuple[Photo, str]":
        if image_id not in self.kept:
            self.kept[image_id] = photo_and_digest(Path(self.places[image_id]), self.boxes, image_id)
            if len(self.kept) > _PHOTOS_KEPT:
                self.kept.popitem(last=False)
        self.kept.move_to_end(image_id)
        return self.kept[image_id]

    def place(self, image_id: str, key: str) -> "tuple[Pixels | None, bool]":
        """Return the pixels of an image that a box covers, None if none; and whether some lies outside."""
        from shortcut_miner.drawing.marks import clipped

        photo, _ = self.of(image_id)
        (across, down), (width, height) = photo.scales, photo.image.size
        x1, y1, x2, y2 = self.by_key[image_id, key]
        left, top, right, bottom = x1 * across, y1 * down, x2 * across, y2 * down
        is_cut = round(left) < 0 or round(top) < 0 or round(right) > width or round(bottom) > height
        return clipped((left, top, right, bottom), photo.image.size), is_cut


def _drawn(shard: Shard, done: Written) -> Iterator[Row]:
    """Give the rows of the file, and note beside what they are, and what is left out.

    A question's donors are all looked at before its first image is drawn: it is written as a whole, or not.
    """
    own, donors = _Photos(shard.places, shard.boxes), _Photos(shard.donor_places, shard.donor_boxes)
    rows_of = {
        str(question_id): rows.to_dicts()
        for (question_id,), rows in shard.rows.group_by("question_id", maintain_order=True)
    }
    unreadable: dict[str, str] = {}
    for question in shard.questions.iter_rows(named=True):
        rows = rows_of[question["question_id"]]
        needed = [(NO_IMAGE, own, question["image_id"])]
        needed += [
            (NO_DONOR, donors, one)
            for one in dict.fromkeys(row["donor_image_id"] for row in rows if row["donor_image_id"])
        ]
        reason = _unreadable(needed, unreadable, done)
        if reason is not None:
            done.left_out[reason].append(question["question_id"])
            continue
        for at, row in enumerate(rows):
            number = question["place"] + at
            described, png = _image(question, row, own, donors, shard, number)
            done.rows.append(described)
            shown = {name: described[name] for name in PIXELS.names if name != "image"}
            yield shown | {"image": {"bytes": png, "path": described["file"]}}


def _unreadable(needed: list[tuple[str, _Photos, str]], known: dict[str, str], done: Written) -> str | None:
    """Return why a question can't be drawn: one of its images can't be read."""
    for reason, photos, image_id in needed:
        path = photos.places[image_id]
        if path not in known:
            try:
                photos.of(image_id)
                known[path] = ""
            except SourceError as error:
                known[path] = str(error)
                done.broken.append(str(error))
        if known[path]:
            return reason
    return None


def _image(
    question: Mapping[str, Any],
    row: Mapping[str, Any],
    own: _Photos,
    donors: _Photos,
    shard: Shard,
    number: int,
) -> tuple[Row, bytes]:
    """Return what the table says of an image, and its PNG."""
    from PIL import Image

    from shortcut_miner.diagnostics.swapmix.pasting import pasted, patch_of
    from shortcut_miner.drawing.fills import fill_of

    image_id, config = question["image_id"], shard.config
    photo, digest = own.of(image_id)
    pixels = np.asarray(photo.image)
    content, place, is_clipped, donor_digest = ORIGINAL, None, False, None
    if row["kind"] != ORIGINAL:
        place, is_clipped = own.place(image_id, row["key"])
        content = NOTHING
    if place is not None:
        left, top, right, bottom = place
        content, patch = FILL, None
        if row["donor_key"] is not None:
            of_donor, is_cut = donors.place(row["donor_image_id"], row["donor_key"])
            is_clipped |= is_cut
            if of_donor is not None:
                donor, donor_digest = donors.of(row["donor_image_id"])
                patch = patch_of(donor.image, of_donor, (right - left + 1, bottom - top + 1))
                content = DONOR
        if patch is None:
            patch = fill_of(photo.image, config.fill)[top : bottom + 1, left : right + 1]
        pixels = pasted(pixels, place, patch, config.blend if content == DONOR else 0)
    sides = (None,) * 4 if place is None else (place[0], place[1], place[2] + 1, place[3] + 1)
    return {
        "id": f"{question['question_id']}{MARK}{row['perturbation']}",
        "question_id": question["question_id"],
        "image_id": image_id,
        "perturbation": row["perturbation"],
        "kind": row["kind"],
        "content": content,
        **dict(zip(("left", "top", "right", "bottom"), sides, strict=True)),
        "is_clipped": is_clipped,
        "file": f"{number:08d}.png",
        "shard": shard.name,
        "width": photo.image.width,
        "height": photo.image.height,
        "question": question["question"],
        "answer": question["answer"],
        "source_sha256": digest,
        "donor_image_id": row["donor_image_id"],
        "donor_sha256": donor_digest,
    }, png_of(Image.fromarray(pixels))
