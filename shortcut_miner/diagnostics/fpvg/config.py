"""Options of the FPVG room: what changes its result, and nothing else.

A preset fills in the options that were not given: ``code`` follows FPVG's released scripts, ``paper`` the
article (Reich et al., Findings of EMNLP 2023). The room's README has the table of both.
"""

import dataclasses
from pathlib import Path
from typing import Any, ClassVar, Literal

from shortcut_miner.errors import ConfigError
from shortcut_miner.options import OnBadRow, ScoreOptions, as_paths, check_between, check_whole, fill_in

Preset = Literal["default", "code", "paper"]
Relevant = Literal["path", "final"]
OverlapOver = Literal["region", "object"]
BoxArithmetic = Literal["reference", "exact"]
Padding = Literal["excluded", "reference"]
Condition = Literal["both", "relevant", "irrelevant"]
Fill = Literal["blur", "mean", "black", "crop"]

PRESETS: dict[str, dict[str, Any]] = {
    "default": {"overlap_over": "region", "box_arithmetic": "reference", "padding": "excluded"},
    "code": {"overlap_over": "region", "box_arithmetic": "reference", "padding": "reference"},
    "paper": {"overlap_over": "object", "box_arithmetic": "exact", "padding": "excluded"},
}
CONDITIONS = ("all", "relevant", "irrelevant")
CONTROL = "control"  # of images, beside the conditions


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FpvgFiles:
    """Input files of ``fpvg build``.

    Attributes
    ----------
    questions : Path
        GQA questions JSON with annotations, or the folder over which it is split.
    scene_graphs : tuple of Path
        GQA scene graphs JSON, or Visual Genome objects or attributes JSON; several files, or their folder.
    detections : tuple of Path
        A detector's boxes: GQA HDF5 (a file or a folder of shards), bottom-up, LXMERT or VinVL TSV, object
        detection JSONL, COCO results JSON, Open Images CSV, or Parquet; several files, or their folder.
    detections_info : tuple of Path, optional
        The file that some formats need beside: info JSON of HDF5 (found by itself if there is one),
        categories of COCO results, vocabulary of LXMERT, class descriptions of Open Images. One for all
        detections, or one each.
    """

    questions: Path
    scene_graphs: tuple[Path, ...]
    detections: tuple[Path, ...]
    detections_info: tuple[Path, ...] | None = None

    def __post_init__(self) -> None:
        """Take paths as text too."""
        as_paths(self)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FpvgConfig:
    """Options of ``fpvg build``. None means: what the preset says.

    Attributes
    ----------
    preset : {"default", "code", "paper"}
        Follow the released scripts, the article, or the scripts without their padding.
    relevant : {"path", "final"}
        A question's relevant objects: all that its texts name, or those of the answer alone.
    iou_threshold : float
        A region with a larger IoU with some relevant object is relevant.
    overlap_threshold : float
        A region with at most this overlap with every relevant object is irrelevant.
    overlap_over : {"region", "object"}, optional
        Overlap is the share of the region, or of the object, that the other covers.
    box_arithmetic : {"reference", "exact"}, optional
        Truncate coordinates, widths and heights as the released scripts do, or compute exactly.
    padding : {"excluded", "reference"}, optional
        Rows that fill up the detector's arrays are no regions, or count where the released scripts
        let them count.
    nested_json : bool
        Also write the lists as the released scripts do: {image: {question: [region]}}.
    long_form : bool
        Also write a row for each question, condition and region.
    leave_one_out : bool
        Also write a row for each question and region to leave out: the runs that tell what each region is
        worth to a model's answer.
    on_bad_row : {"error", "skip"}
        Stop at rows that don't fit, or count and skip them (exit code 3).
    """

    preset: Preset = "default"
    relevant: Relevant = "path"
    iou_threshold: float = 0.5
    overlap_threshold: float = 0.25
    overlap_over: OverlapOver | None = None
    box_arithmetic: BoxArithmetic | None = None
    padding: Padding | None = None
    nested_json: bool = False
    long_form: bool = False
    leave_one_out: bool = False
    on_bad_row: OnBadRow = "error"

    def __post_init__(self) -> None:
        """Fill in the preset and check every value."""
        fill_in(self, PRESETS)
        for name in ("iou_threshold", "overlap_threshold"):
            check_between(self, name, 0, 1, below=True)
        if self.iou_threshold < self.overlap_threshold:
            raise ConfigError(
                f"iou_threshold and overlap_threshold: got {self.iou_threshold} below "
                f"{self.overlap_threshold}, expected at least as much, or a region could be relevant "
                "and irrelevant. Change --iou-threshold or --overlap-threshold."
            )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ImagesFiles:
    """What ``fpvg images`` reads.

    Attributes
    ----------
    folder : Path
        What ``fpvg build`` wrote.
    images : str
        Folder with the images, which is looked through, or a pattern of paths such as
        images/{image_id:012d}.jpg.
    """

    folder: Path
    images: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ImagesConfig:
    """Options of ``fpvg images``.

    Attributes
    ----------
    condition : {"both", "relevant", "irrelevant"}
        Which boxes stay: an image of the relevant ones and one of the irrelevant ones, or one of the two.
    fill : {"blur", "mean", "black", "crop"}
        What the other pixels become: the image blurred, its mean colour, black; or cut away, as far as the
        smallest box around what stays allows, and black in it.
    control : bool
        Also an image in which randomly drawn boxes stay, of about the area of the relevant ones.
    sample : int, optional
        Use so many questions, drawn at random.
    seed : int
        Of both draws.
    """

    condition: Condition = "both"
    fill: Fill = "blur"
    control: bool = False
    sample: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        fill_in(self)
        check_whole(self, "seed", 0)
        if self.sample is not None:
            check_whole(self, "sample", 1)

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions to draw, in order."""
        chosen = CONDITIONS[1:] if self.condition == "both" else (self.condition,)
        return (*chosen, *((CONTROL,) if self.control else ()))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ScoreConfig(ScoreOptions):
    """Options of ``fpvg score``; see also :class:`shortcut_miner.options.ScoreOptions`.

    Attributes
    ----------
    normalize : bool
        Compare answers after VQA normalisation instead of character by character.
    trust_ids : bool
        Evaluate every question of an id list, also those that the build found not evaluable.
    suff_threshold : float
        A question's sufficiency below it is sufficient, in the quadrants that have two thresholds.
    comp_threshold : float
        A comprehensiveness above it is comprehensive, there.
    resamples : int
        Bootstrap resamples of images; 0 leaves the intervals out.
    seed : int
        Of the bootstrap.
    """

    answer_columns: ClassVar[tuple[str, ...]] = ("question_id", "answer", "probability")

    normalize: bool = False
    trust_ids: bool = False
    suff_threshold: float = 0.01
    comp_threshold: float = 0.2
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        ScoreOptions.__post_init__(self)
        for name in ("suff_threshold", "comp_threshold"):
            check_between(self, name, 0, 1)
        check_whole(self, "resamples", 0)
        check_whole(self, "seed", 0)
