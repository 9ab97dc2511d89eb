"""The region that overlaps each annotated object most."""

# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-incomplete-defs=False

import numpy as np
from numba import njit

from shortcut_miner.kernel_options import KERNEL


def best_regions(
    boxes: np.ndarray,
    images: np.ndarray,
    region_start: np.ndarray,
    regions: np.ndarray,
    is_candidate: np.ndarray,
    min_iou: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return each object's region of highest IoU above `min_iou`, the first of equals; -1 for none.

    boxes: objects x 4 (x1, y1, x2, y2); images: per object; region_start: per image, and the end;
    regions: x 4; is_candidate: per region. Returns positions in `regions` (int64) and IoUs (float64).
    """
    best = np.full(len(boxes), -1, np.int64)
    best_iou = np.zeros(len(boxes), np.float64)
    fill_best(boxes, images, region_start, regions, is_candidate, min_iou, best, best_iou)
    return best, best_iou


@njit(**KERNEL)
def fill_best(boxes, images, region_start, regions, is_candidate, min_iou, best, best_iou):
    """Fill each object's best region and its IoU."""
    for one in range(len(boxes)):
        x1, y1, x2, y2 = boxes[one, 0], boxes[one, 1], boxes[one, 2], boxes[one, 3]
        area = (x2 - x1) * (y2 - y1)
        most = min_iou
        image = images[one]
        for region in range(region_start[image], region_start[image + 1]):
            if not is_candidate[region]:
                continue
            begin_x, begin_y = regions[region, 0], regions[region, 1]
            end_x, end_y = regions[region, 2], regions[region, 3]
            left, top = begin_x if begin_x > x1 else x1, begin_y if begin_y > y1 else y1
            right, bottom = end_x if end_x < x2 else x2, end_y if end_y < y2 else y2
            # Written so that a NaN fails every comparison.
            if not (right > left and bottom > top):
                continue
            shared = (right - left) * (bottom - top)
            other = (end_x - begin_x) * (end_y - begin_y)
            iou = shared / (area + other - shared)
            if iou > most:
                most = iou
                best[one] = region
                best_iou[one] = iou
