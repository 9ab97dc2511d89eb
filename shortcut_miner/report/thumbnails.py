"""Small pictures of the questions that a rule table names, and where their objects are."""

import base64
import dataclasses
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from shortcut_miner.errors import SourceError
from shortcut_miner.options import PathTexts
from shortcut_miner.report.pages import RoomPage, Section, label
from shortcut_miner.sources.images.image_files import find_images
from shortcut_miner.sources.images.regions import read_regions
from shortcut_miner.timing import OnStage, in_parts

MOST_IMAGES = 300
_SIDE, _QUALITY = 264, 72  # pixels: twice as wide as shown


@dataclasses.dataclass(frozen=True, slots=True)
class Pictured:
    """A room's page with pictures, and what was decided."""

    page: RoomPage
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def with_thumbnails(
    page: RoomPage,
    images: str,
    detections: PathTexts | None,
    info: PathTexts | None = None,
    on_stage: OnStage | None = None,
) -> Pictured:
    """Return a page whose rule tables have pictures.

    Parameters
    ----------
    page : RoomPage
        As its room makes it.
    images : str
        A folder, or a pattern with {image_id}; see
        :func:`shortcut_miner.sources.images.image_files.find_images`.
    detections : path or list of them, optional
        Boxes with labels, to be drawn on the pictures; what is bad among them is left out.
    info : path or list of them, optional
        Second files of formats that need them.
    on_stage : callable, optional
        Told how many pictures are drawn.

    Raises
    ------
    SourceError, ConfigError
        No such folder, or detections that can't be read.
    BackendError
        Pillow is not installed.
    """
    sections, notes, warnings = [], [], []
    for section in page.sections:
        if section.rules is None:
            sections.append(section)
            continue
        wanted = _wanted(section.rules)
        found = find_images(images, wanted)
        shown = [one for one in wanted if one in found.images.places][:MOST_IMAGES]
        files = {one: Path(found.images.places[one]) for one in shown} if found.images.kind == "files" else {}
        made, broken = _thumbnails(files, detections, info, on_stage)
        notes += [*found.notes, f"{len(made):,} of {len(wanted):,} images are shown with their questions"]
        if broken:
            warnings.append(f"images that can't be read: {len(broken):,} ({', '.join(broken[:3])})")
        sections.append(_pictured(section, made, len(wanted)))
    return Pictured(dataclasses.replace(page, sections=tuple(sections)), tuple(notes), tuple(warnings))


def _wanted(rules: Mapping[str, Any]) -> list[str]:
    """Return the images of a table's questions, those of the first rules first."""
    ids = rules["questions"]["image_id"]
    positions = (
        one
        for pair in zip(rules["supporting"], rules["counterexamples"], strict=True)
        for side in pair
        for one in side
    )
    return list(dict.fromkeys(ids[one] for one in positions))


def _pictured(section: Section, made: Mapping[str, Any], wanted: int) -> Section:
    told = (
        f" Pictures are those of the first {len(made):,} of {wanted:,} images." if len(made) < wanted else ""
    )
    return dataclasses.replace(
        section, text=section.text + told, rules={**(section.rules or {}), "thumbnails": dict(made)}
    )


def _thumbnails(
    files: Mapping[str, Path],
    detections: PathTexts | None,
    info: PathTexts | None,
    on_stage: OnStage | None,
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return a picture and boxes by image, and the files that are no picture."""
    boxes = {} if detections is None or not files else _boxes(detections, info, list(files))
    made: dict[str, dict[str, Any]] = {}
    broken = []
    for image_id, path in in_parts([*files.items()], "draw", on_stage, "pictures"):
        picture = _picture(path)
        if picture is None:
            broken.append(path.name)
            continue
        source, size = picture
        made[image_id] = {"source": source}
        if image_id in boxes:
            made[image_id]["boxes"] = _in_shares(boxes[image_id], size)
    return made, broken


def _picture(path: Path) -> tuple[str, tuple[int, int]] | None:
    """Return a small JPEG as an address, and the size of the image; None of what can't be read."""
    from shortcut_miner.drawing.photos import read_photo, size_of

    try:
        size, image = size_of(path), read_photo(path, least=2 * _SIDE).image
    except SourceError:
        return None
    image.thumbnail((_SIDE, _SIDE))
    file = io.BytesIO()
    image.save(file, "JPEG", quality=_QUALITY, optimize=True)
    return f"data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode()}", size


Box = tuple[str, float, float, float, float]


def _boxes(detections: PathTexts, info: PathTexts | None, ids: Sequence[str]) -> dict[str, list[Box]]:
    """Return label, x1, y1, x2, y2 of each labelled region, by image."""
    found = read_regions(detections, info=info, images=ids, on_bad_row="skip")
    rows = found.regions.filter(~pl.col("is_padding"), pl.col("label").is_not_null())
    boxes: dict[str, list[Box]] = {}
    for image_id, *box in rows.select("image_id", "label", "x1", "y1", "x2", "y2").iter_rows():
        boxes.setdefault(image_id, []).append(tuple(box))
    return boxes


def _in_shares(boxes: Sequence[Box], size: tuple[int, int]) -> list[list[Any]]:
    """Return label, x, y, width and height of boxes as shares of the image."""
    width, height = size
    return [
        [
            label(name),
            *(round(one, 4) for one in (x1 / width, y1 / height, (x2 - x1) / width, (y2 - y1) / height)),
        ]
        for name, x1, y1, x2, y2 in boxes
    ]
