"""Which regions match which annotated objects, for all questions at once.

Reich et al. (2023), section 3 and appendix A.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shortcut_miner.diagnostics.fpvg.config import FpvgConfig
from shortcut_miner.diagnostics.fpvg.kernels_numba.overlap import Named, Regions, Rule, fill_lists

__all__ = ["Named", "RegionLists", "Regions", "match"]


@dataclass(frozen=True, slots=True)
class RegionLists:
    """One list of region indices for each question, flat."""

    index: NDArray[np.uint32]
    offsets: NDArray[np.int64]


def match(regions: Regions, named: Named, config: FpvgConfig) -> tuple[RegionLists, RegionLists]:
    """Return each question's relevant and irrelevant regions.

    A region is relevant if its IoU with some named object exceeds ``iou_threshold``; irrelevant if its
    overlap with every named object is at most ``overlap_threshold``.
    """
    rule = Rule(
        iou_threshold=float(config.iou_threshold),
        overlap_threshold=float(config.overlap_threshold),
        is_by_region=config.overlap_over == "region",
        is_exact=config.box_arithmetic == "exact",
    )
    most = int(np.diff(regions.offsets)[named.image].sum())
    found = np.empty(most, np.uint32), np.empty(most, np.uint32)
    counts = np.empty((2, len(named.image)), np.int64)
    verdicts = np.empty((2, int(np.diff(regions.offsets).max(initial=0))), np.bool_)
    fill_lists(regions, named, rule, *verdicts, *found, counts)
    relevant, irrelevant = (
        RegionLists(index[: count.sum()], np.concatenate([[0], np.cumsum(count)]))
        for index, count in zip(found, counts, strict=True)
    )
    return relevant, irrelevant
