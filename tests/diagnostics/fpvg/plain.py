"""The method in plain Python, a pair of boxes at a time: what the vectorised room must agree with."""

from collections.abc import Sequence
from typing import Any

Box = Sequence[float]


def reference_pair(region: Box, annotated: Box) -> tuple[float, float, float]:
    """Return intersection, region area and object area with the released scripts' truncation."""
    hyp = [int(side) for side in region]
    shared = 0
    if hyp[0] < hyp[2] and hyp[1] < hyp[3] and annotated[0] < annotated[2] and annotated[1] < annotated[3]:
        left, top = max(hyp[0], annotated[0]), max(hyp[1], annotated[1])
        right, bottom = min(hyp[2], annotated[2]), min(hyp[3], annotated[3])
        if right >= left and bottom >= top:
            shared = int(right - left) * int(bottom - top)
    return shared, int(hyp[2] - hyp[0]) * int(hyp[3] - hyp[1]), _truncated_area(annotated)


def _truncated_area(box: Box) -> int:
    return int(box[2] - box[0]) * int(box[3] - box[1])


def exact_pair(region: Box, annotated: Box) -> tuple[float, float, float]:
    width = min(region[2], annotated[2]) - max(region[0], annotated[0])
    height = min(region[3], annotated[3]) - max(region[1], annotated[1])
    shared = width * height if width > 0 and height > 0 else 0.0
    return shared, _area(region), _area(annotated)


def _area(box: Box) -> float:
    width, height = box[2] - box[0], box[3] - box[1]
    return width * height if width > 0 and height > 0 else 0.0


def verdict(region: Box, annotated: Box, config: Any) -> tuple[bool, bool]:
    """Return whether the region matches the object, and whether it differs from it."""
    pair = exact_pair if config.box_arithmetic == "exact" else reference_pair
    shared, region_area, object_area = pair(region, annotated)
    union = region_area + object_area - shared
    whole = region_area if config.overlap_over == "region" else object_area
    iou = shared / union if shared and union > 0 else 0.0
    covered = shared / whole if shared and whole > 0 else 0.0
    return iou > config.iou_threshold, covered <= config.overlap_threshold


def lists(regions: Sequence[Box], objects: Sequence[Box], config: Any) -> tuple[list[int], list[int]]:
    """Return the relevant and the irrelevant regions of one question."""
    relevant, irrelevant = [], []
    for index, region in enumerate(regions):
        verdicts = [verdict(region, one, config) for one in objects]
        if any(matches for matches, _ in verdicts):
            relevant.append(index)
        if all(differs for _, differs in verdicts):
            irrelevant.append(index)
    return relevant, irrelevant


def fpvg(answer: str, given: dict[str, str]) -> tuple[int, int]:
    """Return equation 4 (1 for FPVG+) and whether the answer with all regions is right."""
    same = given["all"] == given["relevant"]
    changes = given["all"] != given["irrelevant"]
    return int(same and changes), int(given["all"] == answer)
