"""A question's image with the objects of a rule that fires on it."""

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
from shortcut_miner.diagnostics.vqa_ce.explain import Explanation
from shortcut_miner.diagnostics.vqa_ce.outputs import read_folder
from shortcut_miner.errors import ConfigError, SourceError, examples
from shortcut_miner.item_lists import is_certain_label
from shortcut_miner.options import PathTexts
from shortcut_miner.sources.images.regions import read_regions, region_format

if TYPE_CHECKING:
    from shortcut_miner.drawing.marks import Mark

# A rule's objects by name, as far as colours go: the others are of the last.
_COLOURS = ("blue", "vermilion", "green", "amber")
_BOXES = "a detector's boxes with labels"


def show(
    path: Path,
    explanation: Explanation,
    *,
    images: str | None = None,
    detections: PathTexts | None = None,
    detections_info: PathTexts | None = None,
    rule: int | None = None,
    out: Path | None = None,
) -> Picture:
    """Return a picture of a question's image and of the objects of one rule that fires on it.

    Parameters
    ----------
    path : Path
        What ``vqa-ce build`` wrote.
    explanation : Explanation
        Of the question; see :func:`shortcut_miner.diagnostics.vqa_ce.explain.explain`.
    images : str, optional
        Folder of the images, or a pattern of paths; without it, boxes are drawn on an empty page.
    detections, detections_info : optional
        Boxes with labels; the files that the build read by default, if they have boxes.
    rule : int, optional
        ``rule_id`` of one of the explanation's rules; by default the first of them that has objects.
    out : Path, optional
        PNG to write.

    Raises
    ------
    ConfigError
        No such rule among those that fire, or no boxes.
    SourceError
        A file that can't be read, an image that is not found, or an object of the rule that has no box.
    """
    check_png_target(out)
    manifest = read_folder(path).manifest
    question = explanation.question
    image_id = str(question["image_id"])
    chosen = _chosen(explanation, rule)
    objects: list[str] = chosen["antecedent_objects"] if chosen else []
    found = find_files(images, [image_id])
    files = _boxes_files(path, detections)
    reading = read_regions(
        files,
        info=files_of_build(path, "detections_info", detections_info) if detections_info else None,
        images=[image_id],
        sizes=sizes_of(found),
        on_bad_row="skip",
    )
    seen = reading.regions.filter(
        ~pl.col("is_padding"), is_certain_label(manifest["config"]["score_threshold"])
    )
    lacking = [one for one in objects if one not in seen["label"]]
    if lacking:
        raise SourceError(
            f"{files[0]}: got no box of {examples(lacking)} in the image {image_id!r}, expected one, as rule "
            f"{chosen['rule_id']} fires on it. Give the boxes whose labels vqa-ce build read."  # type: ignore[index]
        )
    photo = photo_of(found.get(image_id), seen, reading.images, image_id)
    marks = _marks(scaled(seen, photo), objects)
    from shortcut_miner.drawing.sheets import Panel, Sheet

    fields = {
        "picture": _rule_words(chosen) if chosen else "no rule fires",
        "boxes": f"{sum(not one.is_thin for one in marks):,} of the rule's objects, "
        f"{sum(one.is_thin for one in marks):,} of others",
    }
    sheet = Sheet(
        heading=f"{question['question']}",
        lines=(
            f"question {question['question_id']}, image {image_id}: {explanation.subset}",
            explanation.reason,
            *([fields["picture"]] if chosen else []),
        ),
        legend=_legend(objects, has_others=any(one.is_thin for one in marks)),
        rows=((Panel(photo.image, tuple(marks)),),),
    )
    warnings = other_files(reading, manifest, "detections") if detections is None else []
    return picture_of(sheet, fields, reading.notes, warnings, out)


def _chosen(explanation: Explanation, rule: int | None) -> dict[str, Any] | None:
    """Return the rule to show; None where none fires."""
    rules = explanation.rules
    if rule is not None:
        if rule not in rules["rule_id"]:
            raise ConfigError(
                f"rule: got {rule}, expected one of the rules that fire on the question and were asked for "
                f"({examples(rules['rule_id'])}). Change --rule."
            )
        return rules.row(by_predicate=pl.col("rule_id") == rule, named=True)
    with_objects = rules.filter(pl.col("antecedent_objects").list.len() > 0)
    first = (with_objects if len(with_objects) else rules).head(1)
    return first.row(0, named=True) if len(first) else None


def _boxes_files(path: Path, given: PathTexts | None) -> tuple[Path, ...]:
    """Return the files of boxes: the build's own may be labels alone."""
    files = needed(files_of_build(path, "detections", given), path, "detections", _BOXES)
    if given is None and all(region_format(file) is None for file in files):
        raise ConfigError(
            f"{path}: got {examples([file.name for file in files])} as its detections, labels without boxes, "
            f"expected {_BOXES}. Give --detections."
        )
    return files


def _marks(boxes: pl.DataFrame, objects: list[str]) -> "list[Mark]":
    """Return the boxes of a rule's objects, over those of others."""
    from shortcut_miner.drawing.marks import Mark

    rows = boxes.select("label", "x1", "y1", "x2", "y2").rows()
    others = [
        Mark(box=(x1, y1, x2, y2), colour="grey", is_dashed=True, is_thin=True)
        for name, x1, y1, x2, y2 in rows
        if name not in objects
    ]
    own = [
        Mark(box=(x1, y1, x2, y2), text=name, colour=_colour(objects, name))
        for name, x1, y1, x2, y2 in rows
        if name in objects
    ]
    return others + own


def _colour(objects: list[str], name: str) -> str:
    return _COLOURS[min(objects.index(name), len(_COLOURS) - 1)]


def _legend(objects: list[str], *, has_others: bool) -> "tuple[Mark, ...]":
    from shortcut_miner.drawing.marks import Mark

    own = [Mark(text=name, colour=_colour(objects, name)) for name in objects]
    others = Mark(text="other detections", colour="grey", is_dashed=True, is_thin=True)
    return (*own, *([others] if has_others else []))


def _rule_words(rule: dict[str, Any]) -> str:
    """Return a rule as people read it."""
    antecedent = [f'"{word}"' for word in rule["antecedent_words"]]
    antecedent += rule["antecedent_objects"]
    antecedent += rule.get("antecedent_attributes") or []
    return (
        f"rule {rule['rule_id']}: {' + '.join(antecedent) or 'always'} -> {rule['answer']} "
        f"({rule['rule_count']:,} of {rule['antecedent_count']:,} training questions)"
    )
