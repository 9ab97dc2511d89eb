"""The regions that match, and that differ from, each question's annotated objects."""

# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-incomplete-defs=False

from typing import NamedTuple

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import INLINED, KERNEL


class Regions(NamedTuple):
    """Regions of images, flat: those of image i are rows offsets[i] to offsets[i + 1].

    sides: float32, 4 (x1, y1, x2, y2) x rows; region_index: uint32. `may_differ` says which rows can be
    irrelevant at all.
    """

    sides: np.ndarray
    region_index: np.ndarray
    offsets: np.ndarray
    may_differ: np.ndarray


class Named(NamedTuple):
    """The objects that each question names: rows of `boxes` in `objects`, flat, with `offsets` per question.

    boxes: float64, x 4. Every question names at least one object, all in its image ``image``.
    """

    image: np.ndarray
    objects: np.ndarray
    offsets: np.ndarray
    boxes: np.ndarray


class Rule(NamedTuple):
    """What matches and what differs; ``is_exact`` is false where sides are truncated as in the scripts."""

    iou_threshold: float
    overlap_threshold: float
    is_by_region: bool
    is_exact: bool


@njit(**INLINED)
def areas(x1, y1, x2, y2, one, is_exact):
    """Return the areas of what a region and an object share, of the region, and of the object.

    Not exact are those of the released scripts: a region's coordinates are truncated towards zero, an
    object's are not; then every width and height is truncated before it is multiplied. Boxes that share no
    length on an axis share nothing.
    """
    if not is_exact:
        x1, y1, x2, y2 = np.trunc(x1), np.trunc(y1), np.trunc(x2), np.trunc(y2)
    left, top = one[0] if one[0] > x1 else x1, one[1] if one[1] > y1 else y1
    right, bottom = one[2] if one[2] < x2 else x2, one[3] if one[3] < y2 else y2
    width, height = right - left, bottom - top
    own_width, own_height, its_width, its_height = x2 - x1, y2 - y1, one[2] - one[0], one[3] - one[1]
    is_shared = (width > 0) & (height > 0)
    if is_exact:
        own = own_width * own_height if (own_width > 0) & (own_height > 0) else 0.0
        its = its_width * its_height if (its_width > 0) & (its_height > 0) else 0.0
        return width * height if is_shared else 0.0, own, its
    shared = np.trunc(width) * np.trunc(height) if is_shared else 0.0
    return shared, np.trunc(own_width) * np.trunc(own_height), np.trunc(its_width) * np.trunc(its_height)


@njit(**INLINED)
def _judge(sides, first, stop, one, rule, matches, differs):
    """Add an object to the verdicts on the regions of its image."""
    for region in range(first, stop):
        x1, y1 = np.float64(sides[0, region]), np.float64(sides[1, region])
        x2, y2 = np.float64(sides[2, region]), np.float64(sides[3, region])
        shared, own, its = areas(x1, y1, x2, y2, one, rule.is_exact)
        union = own + its - shared
        whole = own if rule.is_by_region else its
        matches[region - first] |= (shared / union if union > 0 else 0.0) > rule.iou_threshold
        differs[region - first] &= (shared / whole if whole > 0 else 0.0) <= rule.overlap_threshold


@njit(**KERNEL)
def fill_lists(regions, named, rule, matches, differs, relevant, irrelevant, counts):
    """Fill each question's relevant and irrelevant regions one after another, and how many there are.

    regions: Regions; named: Named; rule: Rule; matches, differs: bool, room for one image; relevant,
    irrelevant: uint32; counts: int64, 2 x questions.
    """
    matched, differing = 0, 0
    for question in range(len(named.image)):
        image = named.image[question]
        first, stop = regions.offsets[image], regions.offsets[image + 1]
        for at in range(stop - first):
            matches[at], differs[at] = False, True
        for place in range(named.offsets[question], named.offsets[question + 1]):
            box = named.objects[place]
            one = (named.boxes[box, 0], named.boxes[box, 1], named.boxes[box, 2], named.boxes[box, 3])
            _judge(regions.sides, first, stop, one, rule, matches, differs)
        before, before_differing = matched, differing
        for at in range(stop - first):
            region = first + at
            if matches[at]:
                relevant[matched] = regions.region_index[region]
                matched += 1
            if differs[at] and regions.may_differ[region]:
                irrelevant[differing] = regions.region_index[region]
                differing += 1
        counts[0, question], counts[1, question] = matched - before, differing - before_differing
