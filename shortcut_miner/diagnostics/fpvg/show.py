"""A question's regions on its image: those it is about, and those it is not about."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shortcut_miner.datasets.image_boxes import kept_boxes
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
from shortcut_miner.diagnostics.fpvg.outputs import COMMAND, FpvgFolder, read_folder
from shortcut_miner.errors import ConfigError, SourceError, examples, no_such_question
from shortcut_miner.options import PathTexts
from shortcut_miner.sources.images.regions import read_regions

if TYPE_CHECKING:
    from shortcut_miner.drawing.marks import Mark

# Drawn in this order: what a question is about lies over the rest. Colour, and whether dashed.
_LOOKS = {"irrelevant": ("vermilion", True), "relevant": ("blue", False)}


def show(
    path: Path,
    question_id: str,
    *,
    images: str | None = None,
    detections: PathTexts | None = None,
    detections_info: PathTexts | None = None,
    out: Path | None = None,
    limit: int | None = None,
) -> Picture:
    """Return a picture of a question's relevant and irrelevant regions.

    Parameters
    ----------
    path : Path
        What ``fpvg build`` wrote.
    question_id : str
        One of its questions.
    images : str, optional
        Folder of the images, or a pattern of paths; without it, regions are drawn on an empty page.
    detections, detections_info : optional
        Boxes to draw in place of the folder's own, such as the file that the build read.
    out : Path, optional
        PNG to write.
    limit : int, optional
        Most regions to draw of each list.

    Raises
    ------
    ConfigError
        The folder has no such question, or no lists for it.
    SourceError
        A file that can't be read, an image that is not found, or boxes that the lists don't fit.
    """
    check_png_target(out)
    folder = read_folder(path)
    question, lists = _question(folder, question_id)
    image_id = question["image_id"]
    found = find_files(images, [image_id])
    boxes = _boxes(folder, lists, sizes_of(found), detections, detections_info)
    photo = photo_of(found.get(image_id), boxes.regions, boxes.images, image_id)
    regions = scaled(boxes.regions, photo)
    counts = {name: len(lists[name]) for name in reversed(_LOOKS)}
    fields = {
        "question": question["question"],
        "answer": f"{question['answer']}",
        "image": image_id,
        **{name: f"{count:,} of {lists['region_count']:,} regions" for name, count in counts.items()},
        **({} if lists["is_evaluable"] else {"not evaluable": lists["exclusion"]}),
    }
    marks = [mark for name in _LOOKS for mark in _marks(regions, lists[name][:limit], name)]
    notes = _cut_notes(counts, limit)
    from shortcut_miner.drawing.marks import Mark
    from shortcut_miner.drawing.sheets import Panel, Sheet

    legend = [
        Mark(text=f"{name}: {fields[name]}", colour=colour, is_dashed=is_dashed)
        for name, (colour, is_dashed) in reversed(_LOOKS.items())
    ]
    sheet = Sheet(
        heading=question["question"],
        lines=(f"answer: {question['answer']}; question {question_id}, image {image_id}", *notes),
        legend=tuple(legend),
        rows=((Panel(photo.image, tuple(marks)),),),
    )
    return picture_of(sheet, fields, [*boxes.notes, *notes], boxes.warnings, out)


@dataclasses.dataclass(frozen=True, slots=True)
class _Boxes:
    """One image's boxes, a table that has its size, and what reading them said."""

    regions: pl.DataFrame
    images: pl.DataFrame
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()


def _boxes(
    folder: FpvgFolder,
    lists: Mapping[str, Any],
    sizes: pl.DataFrame,
    detections: PathTexts | None,
    detections_info: PathTexts | None,
) -> _Boxes:
    """Return the boxes of a question's image: those of the folder, or of the files that are given.

    A folder of an older version has none: those of the files that it was built from then.
    """
    path, image_id = folder.path, lists["image_id"]
    kept = kept_boxes(path, COMMAND) if detections is None else None
    if kept is not None:
        regions = kept.filter(pl.col("image_id") == image_id)
        return _Boxes(regions, images=regions)
    files = needed(files_of_build(path, "detections", detections), path, "detections")
    reading = read_regions(
        files,
        info=files_of_build(path, "detections_info", detections_info),
        images=[image_id],
        sizes=sizes,
        on_bad_row="skip",
    )
    _check_count(files, reading.images, lists)
    warnings = other_files(reading, folder.manifest, "detections")
    return _Boxes(reading.regions, reading.images, reading.notes, warnings)


def _question(folder: FpvgFolder, question_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a question, and its lists."""
    known = folder.questions["question_id"]
    if question_id not in known:
        raise no_such_question(question_id, known, folder.path)
    is_asked = pl.col("question_id") == question_id
    question = folder.questions.row(by_predicate=is_asked, named=True)
    lists = folder.regions.row(by_predicate=is_asked, named=True)
    if lists["relevant"] is None:
        some = folder.regions.filter("is_evaluable")["question_id"].head(3)
        raise ConfigError(
            f"question_id: got {question_id!r}, which has no lists of regions ({lists['exclusion']}), "
            f"expected a question that has, such as {examples(some)}. Choose another."
        )
    return question, lists


def _check_count(files: tuple[Path, ...], images: pl.DataFrame, lists: Mapping[str, Any]) -> None:
    """Raise SourceError unless the boxes' file has as many regions of the image as the build read."""
    counts = images.filter(pl.col("image_id") == lists["image_id"])["region_count"].to_list()
    if counts != [lists["region_count"]]:
        got = f"{counts[0]:,} regions" if counts and counts[0] is not None else "no regions"
        raise SourceError(
            f"{files[0]}: got {got} of the image {lists['image_id']!r}, expected {lists['region_count']:,} "
            "as when the lists were built. Give the same --detections as to fpvg build."
        )


def _marks(regions: pl.DataFrame, numbers: list[int], name: str) -> "list[Mark]":
    """Return the boxes of the regions with these numbers, and what they are labelled."""
    from shortcut_miner.drawing.marks import Mark

    colour, is_dashed = _LOOKS[name]
    chosen = regions.filter(pl.col("region_index").is_in(numbers))
    return [
        Mark(
            box=(x1, y1, x2, y2), text=f"{number} {label}" if label else f"{number}", colour=colour,
            is_dashed=is_dashed, is_thin=is_dashed,
        )
        for number, label, x1, y1, x2, y2 in chosen.select(
            "region_index", "label", "x1", "y1", "x2", "y2"
        ).iter_rows()
    ]  # fmt: skip


def _cut_notes(counts: dict[str, int], limit: int | None) -> list[str]:
    return [
        f"the first {limit:,} of {count:,} {name} regions are drawn"
        for name, count in counts.items()
        if limit is not None and count > limit
    ]
