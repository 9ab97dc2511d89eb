"""Reading a SwapMix folder back: its questions, its boxes, and where its plan is."""

import dataclasses
from pathlib import Path
from typing import Any

import polars as pl

from shortcut_miner.datasets.folders import open_folder
from shortcut_miner.datasets.image_boxes import kept_boxes, no_boxes
from shortcut_miner.diagnostics.swapmix.outputs import COMMAND, DONOR_BOXES, SWAPS
from shortcut_miner.errors import SourceError
from shortcut_miner.schemas import ImageBoxes, ObjectBoxes, PlannedQuestions


@dataclasses.dataclass(frozen=True, slots=True)
class PlanBoxes:
    """The boxes of a plan's regions, or of its objects where no detector was.

    Attributes
    ----------
    own : pl.DataFrame
        schemas.ImageBoxes or schemas.ObjectBoxes.
    donors : pl.DataFrame or None
        The same of the donors; None where they come from the same files and so are in `own`.
    """

    own: pl.DataFrame
    donors: pl.DataFrame | None

    @property
    def of_donors(self) -> pl.DataFrame:
        """Where the boxes of donors are."""
        return self.own if self.donors is None else self.donors


@dataclasses.dataclass(frozen=True, slots=True)
class SwapMixFolder:
    """What ``swapmix build`` wrote, but for the plan itself, which may be too large to hold.

    Attributes
    ----------
    swaps : Path
        The plan's file.
    questions : pl.DataFrame
        All questions of the build; ``exclusion`` says why one is not in the plan, ``row_count`` how many rows
        it has there.
    manifest : dict
        Provenance and counts.
    """

    swaps: Path
    questions: pl.DataFrame
    manifest: dict[str, Any]

    @property
    def has_regions(self) -> bool:
        """False for a perfect-sight plan, which swaps objects without a detector."""
        return bool(self.manifest["config"].get("plan") != "perfect-sight")

    def boxes(self) -> "PlanBoxes | None":
        """Return the boxes of the plan; None of a folder that an older version built."""
        return boxes_of(self.swaps.parent, has_regions=self.has_regions)

    def excluded(self) -> set[str]:
        """Return the ids of the questions that the plan leaves out."""
        return set(self.questions.drop_nulls("exclusion")["question_id"].to_list())


def read_folder(path: Path, done: str = "scored") -> SwapMixFolder:
    """Return a folder of an evaluation or perfect-sight plan.

    Parameters
    ----------
    path : Path
        What ``swapmix build`` wrote.
    done : str
        What a training plan can't be, for the error.

    Raises
    ------
    SourceError
        It is no such folder, or a file is missing, damaged or of another build.
    """
    folder = open_folder(path, COMMAND)
    if folder.manifest["config"].get("plan") == "training":
        raise SourceError(
            f"{path}: got a folder without an evaluation plan, expected one that swapmix build wrote. "
            f"A training plan can't be {done}: build with --plan evaluation."
        )
    return SwapMixFolder(folder.check(SWAPS), folder.table("questions", PlannedQuestions), folder.manifest)


def boxes_of(path: Path, *, has_regions: bool) -> PlanBoxes | None:
    """Return the boxes of a plan of any kind; None of a folder that an older version built."""
    schema = ImageBoxes if has_regions else ObjectBoxes
    own = kept_boxes(path, COMMAND, schema)
    return None if own is None else PlanBoxes(own, kept_boxes(path, COMMAND, schema, DONOR_BOXES))


def needed_boxes_of(path: Path, *, has_regions: bool) -> PlanBoxes:
    """Return what :func:`boxes_of` does; SourceError where the folder has none."""
    boxes = boxes_of(path, has_regions=has_regions)
    if boxes is None:
        raise no_boxes(path)
    return boxes
