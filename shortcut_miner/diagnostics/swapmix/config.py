"""Options of the SwapMix room: what changes its result, and nothing else.

A preset fills in the options that were not given: ``paper`` follows the article (Gupta et al., CVPR 2022),
``code`` its released program. The room's README has the table of both.
"""

import dataclasses
from pathlib import Path
from typing import Any, ClassVar, Literal

from shortcut_miner.options import (
    OnBadRow,
    ScoreOptions,
    as_paths,
    check_between,
    check_whole,
    fill_in,
    reject,
)

Preset = Literal["code", "paper"]
PlanKind = Literal["evaluation", "training", "perfect-sight"]
ContextKey = Literal["id", "name"]
Padding = Literal["random", "none"]
Relevance = Literal["annotations", "program", "both"]
Fill = Literal["blur", "mean", "black"]
OnMissingSwap = Literal["error", "skip", "no-swap"]

PRESETS: dict[str, dict[str, Any]] = {
    "paper": {
        "context_key": "id",
        "padded_regions": False,
        "shared_regions": False,
        "own_image_donors": False,
    },
    "code": {
        "context_key": "name",
        "padded_regions": True,
        "shared_regions": True,
        "own_image_donors": True,
    },
}
MAX_K = 1000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SwapMixFiles:
    """Input files of ``swapmix build``.

    Attributes
    ----------
    questions : Path
        GQA questions JSON, a folder of them, or the released ``*_questions_new.json``.
    scene_graphs : tuple of Path
        GQA scene graphs JSON of the questions' images; several files, or their folder.
    detections : tuple of Path, optional
        A detector's regions of these images, files or folders; a perfect-sight plan needs none.
    detections_info : tuple of Path, optional
        The file that a format needs beside, such as the info JSON of h5 detections if it is not beside them.
        One for all detections, or one each.
    embeddings : str, optional
        Word vectors: GloVe or word2vec text, word2vec binary, npz, Parquet, or a spaCy pipeline's name.
    similar_classes : Path, optional
        Neighbours of each class in place of --embeddings: similar_classes.parquet, or obj_matching.json.
    donor_scene_graphs : tuple of Path, optional
        Scene graphs that donors come from; default --scene-graphs.
    donor_detections : tuple of Path, optional
        Regions of the donors' images; default --detections.
    donor_detections_info : tuple of Path, optional
        What --detections-info is for donor detections.
    """

    questions: Path
    scene_graphs: tuple[Path, ...]
    detections: tuple[Path, ...] | None = None
    detections_info: tuple[Path, ...] | None = None
    embeddings: str | None = None
    similar_classes: Path | None = None
    donor_scene_graphs: tuple[Path, ...] | None = None
    donor_detections: tuple[Path, ...] | None = None
    donor_detections_info: tuple[Path, ...] | None = None

    def __post_init__(self) -> None:
        """Take paths as text too; embeddings may also be the name of a pipeline."""
        as_paths(self)
        if self.embeddings is not None:
            object.__setattr__(self, "embeddings", str(self.embeddings))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SwapMixConfig:
    """Options of ``swapmix build``. None means: what the preset says.

    Attributes
    ----------
    preset : {"code", "paper"}
        Follow the released program or the article where they differ.
    plan : {"evaluation", "training", "perfect-sight"}
        What to write: k swaps of each kind per object, random swaps per epoch, or swaps of names and
        attributes without a detector.
    relevance : {"annotations", "program", "both"}
        What names the objects that a question is about: its annotations (words of question and answers), the
        arguments of its program, or either.
    k : int
        Most class swaps and most attribute swaps per object.
    seed : int
        Of all draws.
    min_cosine : float
        Least cosine of a similar class.
    padding : {"random", "none"}
        Fill up to k with random classes when fewer are similar, or leave it at those.
    min_iou : float
        An object's region overlaps it with more than this IoU.
    context_key : {"id", "name"}, optional
        Every context object, or one per name: the last in the scene graph.
    padded_regions : bool, optional
        Whether rows beyond an image's region count can be an object's region.
    shared_regions : bool, optional
        Whether a relevant object's region can also be a context object's.
    own_image_donors : bool, optional
        Whether donors may come from the question's own image (never the object itself).
    max_feature_cosine : float, optional
        Attribute donors whose region features are no more similar than this; needs h5 detections.
    epochs : int
        Epochs of a training plan.
    swap_probability : float
        Of swapping an object in an epoch of a training plan.
    class_probability : float
        That such a swap is by class, not by attribute.
    on_bad_row : {"error", "skip"}
        Stop at rows that don't fit, or count and skip them (exit code 3).
    """

    preset: Preset = "paper"
    plan: PlanKind = "evaluation"
    relevance: Relevance = "annotations"
    k: int = 10
    seed: int = 0
    min_cosine: float = 0.5
    padding: Padding = "random"
    min_iou: float = 0.0
    context_key: ContextKey | None = None
    padded_regions: bool | None = None
    shared_regions: bool | None = None
    own_image_donors: bool | None = None
    max_feature_cosine: float | None = None
    epochs: int = 1
    swap_probability: float = 0.5
    class_probability: float = 0.5
    on_bad_row: OnBadRow = "error"

    def __post_init__(self) -> None:
        """Fill in the preset and check every value."""
        fill_in(self, PRESETS)
        check_whole(self, "k", 1, MAX_K)
        check_whole(self, "epochs", 1)
        check_whole(self, "seed", 0)
        check_between(self, "min_cosine", -1, 1)
        check_between(self, "min_iou", 0, 1, below=True)
        for name in ("swap_probability", "class_probability"):
            check_between(self, name, 0, 1)
        if self.max_feature_cosine is not None:
            check_between(self, "max_feature_cosine", -1, 1)
            if self.plan == "perfect-sight":
                reject("max_feature_cosine", self.max_feature_cosine, "none with a perfect-sight plan")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ImagesFiles:
    """What ``swapmix images`` reads.

    Attributes
    ----------
    folder : Path
        What ``swapmix build`` wrote.
    images : str
        Folder with the images, which is looked through, or a pattern of paths such as images/{image_id}.jpg.
    donor_images : str, optional
        The same for the donors' images, if they are elsewhere.
    """

    folder: Path
    images: str
    donor_images: str | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ImagesConfig:
    """Options of ``swapmix images``.

    Attributes
    ----------
    k : int, optional
        Draw only the first k swaps of each kind and object; default all of them.
    fill : {"blur", "mean", "black"}
        What a region becomes whose swap has no donor to paste: the image blurred, its mean colour, or black.
    blend : int
        Pixels inside a region's edges over which the donor fades in; 0 pastes it as it is.
    sample : int, optional
        Use so many questions, drawn at random.
    seed : int
        Of that draw.
    """

    k: int | None = None
    fill: Fill = "blur"
    blend: int = 0
    sample: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        fill_in(self)
        check_whole(self, "blend", 0)
        check_whole(self, "seed", 0)
        for name in ("k", "sample"):
            if getattr(self, name) is not None:
                check_whole(self, name, 1)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ScoreConfig(ScoreOptions):
    """Options of ``swapmix score``; see also :class:`shortcut_miner.options.ScoreOptions`.

    Attributes
    ----------
    on_missing : {"error", "skip", "no-swap"}
        Stop at swaps that a model gives no answer to, leave their questions out for all models, or read them
        as no such swap (exit code 3).
    k : int, optional
        Read only the first k swaps of each kind and object; default all of them.
    exclude_padding : bool
        Leave out swaps to random classes that stand in for similar ones.
    normalize : bool
        Compare answers after VQA normalisation, not letter by letter.
    curve : bool
        Also each figure with the first swap of each kind and object alone, the first two, and so on.
    baseline : str, optional
        A model from which the differences of the others are given.
    resamples : int
        Bootstrap resamples of images; 0 leaves the intervals out.
    seed : int
        Of the bootstrap.
    """

    answer_columns: ClassVar[tuple[str, ...]] = ("question_id", "perturbation", "answer")

    on_missing: OnMissingSwap = "error"  # type: ignore[assignment]  # a choice more
    k: int | None = None
    exclude_padding: bool = False
    normalize: bool = False
    curve: bool = False
    baseline: str | None = None
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        ScoreOptions.__post_init__(self)
        if self.k is not None:
            check_whole(self, "k", 1)
        check_whole(self, "resamples", 0)
        check_whole(self, "seed", 0)


def check_k(k: int | None, most: int) -> None:
    """Raise ConfigError for more swaps an object than there are."""
    if k is not None and k > most:
        reject("k", k, f"at most {most}, the swaps of each kind and object that there are")
