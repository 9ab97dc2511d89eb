"""Options of the POPE room: what changes its result, and nothing else. The room's README has their table.

The preset ``code`` follows POPE's released program (Li et al., EMNLP 2023); ``default`` corrects its wording,
and decides ties whatever the order of the images.
"""

import dataclasses
from pathlib import Path
from typing import Any, Literal

from shortcut_miner.errors import ConfigError
from shortcut_miner.options import (
    OnBadRow,
    ScoreOptions,
    as_paths,
    check_between,
    check_whole,
    fill_in,
    reject,
)

STRATEGIES = ("random", "popular", "adversarial")
PLACE = "{}"

Preset = Literal["default", "code"]
Ties = Literal["first", "lexicographic"]
Article = Literal["letter", "reference"]
Layout = Literal["alternate", "blocks"]
Parser = Literal["pope", "repope", "strict"]
_PRESETS: dict[str, dict[str, Any]] = {
    "default": {"ties": "lexicographic", "article": "letter"},
    "code": {"ties": "first", "article": "reference"},
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PopeFiles:
    """Input files of ``pope build``.

    Attributes
    ----------
    objects : Path
        Images with their objects in order: COCO instances, scene graphs, image-to-detection JSON, a table of
        image_id and label, or of image and objects, as POPE's own JSON Lines.
    also_present : Path, optional
        Objects that must not be asked as absent, such as those that captions name: any of these forms.
    detections_info : Path, optional
        The file with names of classes that some formats of boxes need beside `objects`: categories of COCO
        results, LXMERT's vocabulary, Open Images' class descriptions.
    """

    objects: Path
    also_present: Path | None = None
    detections_info: Path | None = None

    def __post_init__(self) -> None:
        """Take paths as text too."""
        as_paths(self)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PopeConfig:
    """Options of ``pope build``. None means: what the preset says.

    Attributes
    ----------
    preset : {"default", "code"}
        Our wording and ties, or those of the released program.
    image_count : int
        Images to ask about, drawn from all that have enough objects.
    objects_per_image : int
        Present objects that are asked of each image, and as many absent ones.
    strategies : str
        How absent objects are chosen, with commas: random, popular, adversarial; or all.
    ties : {"first", "lexicographic"}, optional
        Of equally frequent objects take the one that the file has first, or the first by name.
    article : {"letter", "reference"}, optional
        Write "an" before a, e, i, o and u; or as the released program, which makes "imange" of image then.
    template : str
        The question, with {} for the object.
    layout : {"alternate", "blocks"}
        Present and absent objects in turns, or of each image all present ones first.
    image_names : str
        The image's name in the JSON Lines, with {} for its id, as in COCO_val2014_{:0>12}.jpg.
    score_threshold : float
        Objects with a lower score are neither asked as present nor as absent.
    name : str
        First part of the files' names.
    seed : int
        Of the draws: what is drawn for an image depends on seed, kind and image alone.
    on_bad_row : {"error", "skip"}
        Stop at rows that don't fit, or count and skip them (exit code 3).
    """

    preset: Preset = "default"
    image_count: int = 500
    objects_per_image: int = 3
    strategies: str = "all"
    ties: Ties | None = None
    article: Article | None = None
    template: str = "Is there a {} in the image?"
    layout: Layout = "alternate"
    image_names: str = PLACE
    score_threshold: float = 0.5
    name: str = "coco"
    seed: int = 0
    on_bad_row: OnBadRow = "error"

    def __post_init__(self) -> None:
        """Fill in the preset and check every value; strategies get the order of the paper."""
        fill_in(self, _PRESETS)
        check_whole(self, "image_count", 1)
        check_whole(self, "objects_per_image", 1)
        check_whole(self, "seed", 0)
        check_between(self, "score_threshold", 0, 1)
        given = STRATEGIES if self.strategies == "all" else [*map(str.strip, str(self.strategies).split(","))]
        if not set(given) <= set(STRATEGIES):
            reject("strategies", self.strategies, f"all, or some of {', '.join(STRATEGIES)} with commas")
        object.__setattr__(self, "strategies", ",".join(one for one in STRATEGIES if one in given))
        if not isinstance(self.template, str) or self.template.count(PLACE) != 1:
            reject("template", self.template, "a question with {} once, for the object")
        if not _fills_in(self.image_names):
            reject("image_names", self.image_names, "a name with {} once, as in COCO_val2014_{:0>12}.jpg")
        if not isinstance(self.name, str) or not self.name.replace("_", "").replace("-", "").isalnum():
            reject("name", self.name, "letters, digits, - and _")

    @property
    def chosen_strategies(self) -> tuple[str, ...]:
        """The strategies to use."""
        return tuple(self.strategies.split(","))


def _fills_in(pattern: object) -> bool:
    """Return whether a pattern makes different names of different ids."""
    try:
        return isinstance(pattern, str) and pattern.format("1") != pattern.format("2")
    except (IndexError, KeyError, ValueError, AttributeError):
        return False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ScoreConfig(ScoreOptions):
    """Options of ``pope score``; see also :class:`shortcut_miner.options.ScoreOptions`.

    Attributes
    ----------
    parser : {"pope", "repope", "strict"}
        How yes or no is found in an answer: POPE's rule, by which all is yes that says no "no" before the
        first full stop; RePOPE's, a yes or else a no anywhere; or the first word alone.
    baseline : str, optional
        Model that all others are compared with, on the same resamples.
    resamples : int
        Bootstrap resamples of images; 0 leaves the intervals out.
    seed : int
        Of the bootstrap.
    """

    parser: Parser = "pope"
    baseline: str | None = None
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        ScoreOptions.__post_init__(self)
        check_whole(self, "resamples", 0)
        check_whole(self, "seed", 0)


def strategy_of(name: str, strategies: tuple[str, ...]) -> tuple[str, str | None]:
    """Return the model and the strategy that a name of answers stands for, as in llava:random.

    Raises
    ------
    ConfigError
        A strategy that is none of the questions'.

    >>> strategy_of("llava:random", STRATEGIES), strategy_of("llava", STRATEGIES)
    (('llava', 'random'), ('llava', None))
    """
    model, mark, strategy = name.rpartition(":")
    if not mark:
        return name, None
    if not model or strategy not in strategies:
        raise ConfigError(
            f"predictions: got {name!r}, expected MODEL, or MODEL:STRATEGY with one of "
            f"{', '.join(strategies)}. Correct the name."
        )
    return model, strategy
