"""Which regions match which annotated objects, for all questions at once.

Regions and objects meet in blocks of images of about equal size: a matrix of objects x regions is computed
once per block, and a question's verdict is a reduction over the rows of its objects. Reich et al. (2023),
section 3 and appendix A.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shortcut_miner.boxes import iou, overlap, share
from shortcut_miner.diagnostics.fpvg.config import FpvgConfig

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CELLS_AT_ONCE = 150_000  # objects x regions whose float64 matrices stay in the processor's cache


@dataclass(frozen=True, slots=True)
class Regions:
    """Regions of images, flat: those of image i are rows offsets[i] to offsets[i + 1].

    `may_match` and `may_differ` say which rows can be relevant and irrelevant at all (padding can't).
    There is at least one row, if only one that belongs to no image.
    """

    boxes: NDArray[np.float32]
    index: NDArray[np.uint32]
    offsets: Ints
    may_match: Bools
    may_differ: Bools


@dataclass(frozen=True, slots=True)
class Named:
    """The objects that each question names: rows of `boxes` in `objects`, flat, with `offsets` per question.

    Every question names at least one object, all in its image ``image``.
    """

    image: Ints
    objects: Ints
    offsets: Ints
    boxes: Floats


@dataclass(frozen=True, slots=True)
class RegionLists:
    """One list of region indices for each question, flat."""

    index: NDArray[np.uint32]
    offsets: Ints


@dataclass(frozen=True, slots=True)
class _Block:
    """Questions whose images have about equally many regions: their rows, and the regions, padded."""

    questions: Ints
    objects: Ints  # distinct rows of Named.boxes
    object_rows: Ints  # position in `objects`, flat over questions
    starts: Ints
    region_rows: Ints  # distinct objects x width; rows of Regions
    is_region: Bools


def match(regions: Regions, named: Named, config: FpvgConfig) -> tuple[RegionLists, RegionLists]:
    """Return each question's relevant and irrelevant regions.

    A region is relevant if its IoU with some named object exceeds ``iou_threshold``; irrelevant if its
    overlap with every named object is at most ``overlap_threshold``.
    """
    found: tuple[list[NDArray[np.uint32]], list[NDArray[np.uint32]]] = ([], [])
    counts = np.zeros((2, len(named.image)), np.int64)
    order: list[Ints] = []
    for block in _blocks(regions, named):
        matches, differs = verdicts(
            regions.boxes[block.region_rows], named.boxes[block.objects, None], config
        )
        hits = matches & block.is_region & regions.may_match[block.region_rows]
        misses = differs & block.is_region & regions.may_differ[block.region_rows]
        rows = block.region_rows[block.object_rows[block.starts]]
        order.append(block.questions)
        for kind, (verdict, combine) in enumerate(((hits, np.bitwise_or), (misses, np.bitwise_and))):
            of_objects = np.packbits(verdict, axis=1)[block.object_rows]
            bits = np.unpackbits(combine.reduceat(of_objects, block.starts, axis=0), axis=1)
            flags = bits[:, : verdict.shape[1]].view(np.bool_)
            found[kind].append(regions.index[rows[flags]])
            counts[kind, block.questions] = np.count_nonzero(flags, axis=1)
    return _in_order(found[0], counts[0], order), _in_order(found[1], counts[1], order)


def verdicts(regions: NDArray[np.float32], objects: Floats, config: FpvgConfig) -> tuple[Bools, Bools]:
    """Return whether each region matches, and whether it differs from, the object that it is paired with.

    Parameters
    ----------
    regions, objects : arrays, (..., 4)
        x1, y1, x2, y2; their leading axes broadcast.

    Returns
    -------
    matches, differs : arrays of bool, (...)
        IoU above ``iou_threshold``; overlap of at most ``overlap_threshold``.
    """
    is_by_region = config.overlap_over == "region"
    if config.box_arithmetic == "exact":
        covered = overlap(regions, objects) if is_by_region else overlap(objects, regions)
        return iou(regions, objects) > config.iou_threshold, covered <= config.overlap_threshold
    shared, region_area, object_area = reference_areas(regions, objects)
    ratio = share(shared, region_area + object_area - shared)
    covered = share(shared, region_area if is_by_region else object_area)
    return ratio > config.iou_threshold, covered <= config.overlap_threshold


def reference_areas(regions: NDArray[np.float32], objects: Floats) -> tuple[Floats, Floats, Floats]:
    """Return intersection, region area and object area as the released scripts compute them.

    A region's coordinates are truncated towards zero, an object's are not; then every width and height is
    truncated before it is multiplied. Boxes that share no length on an axis share nothing.
    """
    hyp, ref = np.trunc(regions.astype(np.float64)), objects
    width = np.minimum(hyp[..., 2], ref[..., 2]) - np.maximum(hyp[..., 0], ref[..., 0])
    height = np.minimum(hyp[..., 3], ref[..., 3]) - np.maximum(hyp[..., 1], ref[..., 1])
    shared = np.where((width > 0) & (height > 0), np.trunc(width) * np.trunc(height), 0.0)
    return shared, _reference_area(hyp), _reference_area(ref)


def _reference_area(boxes: Floats) -> Floats:
    width, height = boxes[..., 2] - boxes[..., 0], boxes[..., 3] - boxes[..., 1]
    area: Floats = np.trunc(width) * np.trunc(height)
    return area


def _blocks(regions: Regions, named: Named) -> Iterator[_Block]:
    """Cut the questions into blocks, images with few regions first, a whole image at a time."""
    sizes = np.diff(regions.offsets)
    questions = np.lexsort((named.image, sizes[named.image]))
    width = np.maximum(sizes[named.image[questions]], 1)
    # Objects are counted once per question here, though questions of an image share some.
    cells = np.cumsum(np.diff(named.offsets)[questions] * width)
    is_new_image = np.append(True, np.diff(named.image[questions]) != 0)
    first = 0
    while first < len(questions):
        done = cells[first - 1] if first else 0
        stop = max(int(np.searchsorted(cells, done + _CELLS_AT_ONCE)), first + 1)
        while stop < len(questions) and not is_new_image[stop]:
            stop += 1
        yield _block(regions, named, questions[first:stop])
        first = stop


def _block(regions: Regions, named: Named, questions: Ints) -> _Block:
    lengths = np.diff(named.offsets)[questions]
    starts = np.cumsum(lengths) - lengths
    flat = np.repeat(named.offsets[questions] - starts, lengths) + np.arange(lengths.sum())
    objects, first, object_rows = np.unique(named.objects[flat], return_index=True, return_inverse=True)
    image = np.repeat(named.image[questions], lengths)[first]
    begin, sizes = regions.offsets[image], np.diff(regions.offsets)[image]
    columns = np.arange(max(int(sizes.max(initial=0)), 1))
    is_region = columns < sizes[:, None]
    rows = np.where(is_region, begin[:, None] + columns, 0)
    return _Block(questions, objects, object_rows, starts, rows, is_region)


def _in_order(found: list[NDArray[np.uint32]], counts: Ints, order: list[Ints]) -> RegionLists:
    """Return lists that were found block by block in the order of the questions."""
    offsets = np.concatenate([[0], np.cumsum(counts)])
    if not found:
        return RegionLists(np.empty(0, np.uint32), offsets)
    flat, questions = np.concatenate(found), np.concatenate(order)
    lengths = counts[questions]
    places = np.repeat(offsets[questions] - (np.cumsum(lengths) - lengths), lengths) + np.arange(len(flat))
    index = np.empty(len(flat), np.uint32)
    index[places] = flat
    return RegionLists(index, offsets)
