"""A question's swaps on its image: each region that changes, beside the donor whose features it takes."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shortcut_miner.datasets.pictures import (
    Picture,
    check_png_target,
    files_of_build,
    find_files,
    needed,
    other_files,
    photo_of,
    picture_of,
    scaled,
    sizes_of,
)
from shortcut_miner.diagnostics.swapmix.plan_folder import SwapMixFolder, read_folder
from shortcut_miner.drafts import literal
from shortcut_miner.errors import ConfigError, SourceError, examples, no_such_question
from shortcut_miner.options import PathTexts
from shortcut_miner.sources.images.regions import read_regions
from shortcut_miner.sources.images.scene_graphs import read_scene_graphs

if TYPE_CHECKING:
    from shortcut_miner.drawing.sheets import Panel

SHOWN = 4  # swaps, unless told otherwise
# Files that a build read, which may have been moved since.
ROLES = tuple(
    f"{side}{role}" for side in ("", "donor_") for role in ("detections", "detections_info", "scene_graphs")
)
_LEGEND = {"blue": "the region that changes", "vermilion": "the donor, whose features it takes"}


@dataclasses.dataclass(frozen=True, slots=True)
class _Boxes:
    """Boxes with ``image_id``, ``key`` (what a plan calls them) and corners; the images they are in."""

    table: pl.DataFrame
    images: pl.DataFrame
    source: str
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def show(
    path: Path,
    question_id: str,
    *,
    images: str | None = None,
    donor_images: str | None = None,
    perturbation: int | None = None,
    boxes: Mapping[str, PathTexts | None] | None = None,
    out: Path | None = None,
    limit: int = SHOWN,
) -> Picture:
    """Return a picture of a question's swaps, one a row.

    Parameters
    ----------
    path : Path
        What ``swapmix build`` wrote.
    question_id : str
        One of the questions in its plan.
    images : str, optional
        Folder of the images, or a pattern of paths; without it, boxes are drawn on empty pages.
    donor_images : str, optional
        Where the donors' images are; `images` by default.
    perturbation : int, optional
        The swap to show; the first `limit` by default.
    boxes : mapping, optional
        "detections", "detections_info", "scene_graphs" and the same of donors -> the files that the build
        read; where they were by default.
    out : Path, optional
        PNG to write.
    limit : int
        Most swaps to show.

    Raises
    ------
    ConfigError
        The plan has no such question or perturbation.
    SourceError
        A file that can't be read, an image that is not found, or boxes that the plan doesn't fit.
    """
    check_png_target(out)
    folder = read_folder(path, "shown")
    question = _question(folder, path, question_id)
    whole = pl.scan_parquet(literal(folder.swaps), glob=False)
    plan = whole.filter(pl.col("question_id") == question_id).collect()
    swaps = _chosen(plan, perturbation, limit)
    own, donors = (
        swaps["image_id"].unique().to_list(),
        swaps["donor_image_id"].drop_nulls().unique().to_list(),
    )
    found = find_files(images, own)
    found_donors = find_files(donor_images or images, donors)
    given = boxes or {}
    here = _boxes(path, folder, given, "", own, sizes_of(found))
    there = _boxes(path, folder, given, "donor_", donors, sizes_of(found_donors)) if donors else here
    from shortcut_miner.drawing.marks import Mark
    from shortcut_miner.drawing.sheets import Sheet

    rows = []
    for swap in swaps.iter_rows(named=True):
        place = f"perturbation {swap['perturbation']:,}: {_words(swap)}"
        row = [_panel(here, found, swap, "", "blue", place)]
        if swap["donor_image_id"] is not None:
            row.append(
                _panel(
                    there,
                    found_donors,
                    swap,
                    "donor_",
                    "vermilion",
                    f"donor in image {swap['donor_image_id']}",
                )
            )
        rows.append(tuple(row))
    fields = {
        "question": question["question"],
        "answer": f"{question['answer']}",
        "image": question["image_id"],
        "swaps": f"{len(swaps):,} of {plan.filter(pl.col('perturbation') > 0).height:,}",
    }
    sheet = Sheet(
        heading=question["question"],
        lines=(f"answer: {question['answer']}; question {question_id}, image {question['image_id']}; "
               f"{fields['swaps']} swaps",),
        legend=tuple(
            Mark(text=text, colour=colour)
            for colour, text in list(_LEGEND.items())[: max(map(len, rows))]
        ),
        rows=tuple(rows),
    )  # fmt: skip
    return picture_of(sheet, fields, [*here.notes, *there.notes], [*here.warnings, *there.warnings], out)


def _question(folder: SwapMixFolder, path: Path, question_id: str) -> dict[str, Any]:
    known = folder.questions["question_id"]
    planned = folder.questions.filter(pl.col("row_count") > 1)["question_id"].head(3)
    if question_id not in known:
        raise no_such_question(question_id, known, path, planned)
    question = folder.questions.row(by_predicate=pl.col("question_id") == question_id, named=True)
    if (question["row_count"] or 0) < 2:
        reason = question["exclusion"] or "nothing in its image can be swapped"
        raise ConfigError(
            f"question_id: got {question_id!r}, which has no swap ({reason}), expected a question that has, "
            f"such as {examples(planned)}. Choose another."
        )
    return question


def _chosen(plan: pl.DataFrame, perturbation: int | None, limit: int) -> pl.DataFrame:
    swaps = plan.filter(pl.col("perturbation") > 0).sort("perturbation")
    if perturbation is None:
        return swaps.head(limit)
    chosen = swaps.filter(pl.col("perturbation") == perturbation)
    if chosen.is_empty():
        raise ConfigError(
            f"perturbation: got {perturbation}, expected 1 to {len(swaps):,} (0 is the question without a "
            "swap). Change --perturbation."
        )
    return chosen


def _words(swap: Mapping[str, Any]) -> str:
    """Return what a swap does, in words."""
    if swap["kind"] == "class":
        return f"{swap['from_class']} becomes {swap['to_class']}"
    before, after = swap["from_attribute"] or "nothing", swap["to_attribute"] or "nothing"
    return f"{swap['from_class']}, {before}, becomes {after}"


def _boxes(
    path: Path, folder: SwapMixFolder, given: Mapping[str, PathTexts | None], side: str,
    ids: list[str], sizes: pl.DataFrame,
) -> _Boxes:  # fmt: skip
    """Return the regions of images, or their annotated objects for a plan without a detector.

    They are those of the folder, or of the files that are given. A folder of an older version has none:
    those of the files that it was built from then.
    """
    is_detected = folder.has_regions
    role = "detections" if is_detected else "scene_graphs"
    kept = folder.boxes() if given.get(f"{side}{role}") is None else None
    if kept is not None and side and kept.donors is not None:
        return _of_folder(path, kept.donors)
    if kept is not None and given.get(role) is None:
        return _of_folder(path, kept.own)
    files = files_of_build(path, f"{side}{role}", given.get(f"{side}{role}"))
    own = side if files is not None else ""
    if files is None:  # donors are from the questions' files then
        files = needed(files_of_build(path, role, given.get(role)), path, role)
    reading: Any
    if is_detected:
        info = files_of_build(path, f"{own}detections_info", given.get(f"{own}detections_info"))
        reading = read_regions(files, info=info, images=ids, sizes=sizes, on_bad_row="skip")
        table = reading.regions.with_columns(key=pl.col("region_index").cast(pl.String))
    else:
        reading = read_scene_graphs(files, on_bad_row="skip")
        table = reading.table.filter(pl.col("image_id").is_in(ids)).with_columns(key="object_id")
    return _Boxes(
        table.select("image_id", "key", "x1", "y1", "x2", "y2"),
        reading.images,
        str(files[0]),
        reading.notes,
        tuple(other_files(reading, folder.manifest, f"{own}{role}")),
    )


def _of_folder(path: Path, boxes: pl.DataFrame) -> _Boxes:
    key = pl.col(boxes.columns[1]).cast(pl.String)
    return _Boxes(boxes.with_columns(key=key), boxes, str(path), (), ())


def _panel(
    boxes: _Boxes, files: Mapping[str, Path], swap: Mapping[str, Any], side: str, colour: str, title: str
) -> "Panel":
    """Return an image with one box on it."""
    from shortcut_miner.drawing.marks import Mark
    from shortcut_miner.drawing.sheets import Panel

    image_id = swap[f"{side}image_id"]
    is_detected = f"{side}region_index" in swap
    key = str(swap[f"{side}region_index" if is_detected else f"{side}object_id"])
    of_image = boxes.table.filter(pl.col("image_id") == image_id)
    photo = photo_of(files.get(image_id), of_image, boxes.images, image_id)
    chosen = scaled(of_image.filter(pl.col("key") == key), photo)
    if len(chosen) != 1:
        what = "region" if is_detected else "object"
        raise SourceError(
            f"{boxes.source}: got no {what} {key} of the image {image_id!r}, expected it: the plan names it. "
            "Give the files that swapmix build read."
        )
    name = swap["from_class"] if not side or swap["kind"] != "class" else swap["to_class"]
    box = chosen.select("x1", "y1", "x2", "y2").row(0)
    return Panel(photo.image, (Mark(box=box, text=name, colour=colour),), title)
