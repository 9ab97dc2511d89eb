"""Options of the RAD room: what changes its result, and nothing else. The room's README has their table.

A preset fills in the options that were not given: ``paper`` follows the article, ``balanced`` leaves nothing
to guess from text.
"""

import dataclasses
from pathlib import Path
from typing import Any, Literal

from shortcut_miner.options import (
    OnBadRow,
    ScoreOptions,
    as_paths,
    check_between,
    check_whole,
    fill_in,
    reject,
)

TYPES = ("colors", "how-many", "what-kind")
PAPER_FORMS = ("are", "are-there", "bare", "no-verb")
FORMS = (*PAPER_FORMS, "seen", "modified", "does-have", "have", "number-words", "color-are", "what-type")

Preset = Literal["paper", "balanced"]
Draw = Literal["paper", "balanced"]
Surface = Literal["plain", "exact"]
Mode = Literal["grammar", "literal"]
PoolBy = Literal["type", "subject"]
Correct = Literal["equal", "soft"]
_LONGEST_SPLIT = 100  # characters
_MOST_PER_QUESTION = 1000
_PRESETS: dict[str, dict[str, Any]] = {
    "paper": {
        "draw": "paper",
        "forms": "paper",
        "min_agreement": 1,
        "exclude_doubtful": False,
        "surface": "plain",
        "soft_targets": False,
    },
    "balanced": {
        "draw": "balanced",
        "forms": "all",
        "min_agreement": 4,
        "exclude_doubtful": True,
        "surface": "exact",
        "soft_targets": True,
    },
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RadFiles:
    """Input files of ``rad build``.

    Attributes
    ----------
    questions : Path
        VQA questions JSON; or with answers: A-OKVQA, TextVQA, VizWiz, VQA-X, LXMERT, GQA, VisDial, POPE, or
        one Parquet, Arrow, CSV or JSONL table.
    annotations : Path, optional
        The annotations of a VQA questions JSON; other files have their answers in themselves.
    pools : Path, optional
        The pools.parquet of a build on a whole set: then a shard of it gives the rows that the whole gives.
    balance : Path, optional
        Beside pools, for a balanced draw of a shard: the balance.parquet of the same build.
    """

    questions: Path
    annotations: Path | None = None
    pools: Path | None = None
    balance: Path | None = None

    def __post_init__(self) -> None:
        """Take paths as text too."""
        as_paths(self)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PairFiles:
    """Files that ``rad score`` reads in place of a build's folder: any two aligned sets of questions.

    Attributes
    ----------
    pairs : Path, optional
        Parquet, CSV or JSONL table: original_id, augmented_id and, if there are several types, augmentation.
    questions : Path, optional
        The original questions: VQA JSON or a table, as for a build.
    annotations : Path, optional
        Their annotations; a table has its answers in itself.
    augmented_questions : Path, optional
        The augmented questions.
    augmented_annotations : Path, optional
        Their annotations.
    """

    pairs: Path | None = None
    questions: Path | None = None
    annotations: Path | None = None
    augmented_questions: Path | None = None
    augmented_annotations: Path | None = None

    def __post_init__(self) -> None:
        """Take paths as text too."""
        as_paths(self)

    @property
    def given(self) -> tuple[str, ...]:
        """The options that were given."""
        fields = dataclasses.fields(self)
        return tuple(field.name for field in fields if getattr(self, field.name) is not None)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RadConfig:
    """Options of ``rad build``. None means: what the preset says.

    Attributes
    ----------
    preset : {"paper", "balanced"}
        Fills in the options left out: as the paper has it, or so that no answer can be guessed from text.
    draw : {"paper", "balanced"}, optional
        What a "no" asks for: an answer of the pool by how often it was given; or, in expectation, each answer
        as often as "yes" does, and what fits the question's words as well.
    types : str
        Augmentations to make, with commas between: colors, how-many, what-kind; or all.
    mode : {"grammar", "literal"}
        What-kind questions as the paper's examples have them (Is this animal an elephant?), or by its rule.
    forms : str, optional
        Forms of questions to use, with commas: of how many are, are-there, bare, no-verb (paper for these),
        seen, modified, does-have, have, number-words; of colours, beside the paper's, color-are; of kinds
        what-type; or all.
    pool_by : {"type", "subject"}
        Draw the answer of a what-kind "no" from all answers, or from those given about the same subject.
    exclude_annotators : bool
        Never ask a "no" question with an answer that some annotator gave, or that comes close to one (maroon
        to red, 7 to "more than 5"); otherwise the original answer alone is left out.
    min_agreement : int, optional
        Use questions on whose answer at least so many of ten annotators agree; of fewer annotators as many in
        proportion. 1 uses all.
    exclude_doubtful : bool, optional
        Never ask "no" questions with numbers between annotators' least and most, and use no colour question
        that an annotator answers by "multicolored", "rainbow" or the like.
    surface : {"plain", "exact"}, optional
        Of how-many questions: Are there two dogs, or Are there exactly two dogs.
    soft_targets : bool, optional
        Write the share of annotators who gave the answer asked for beside each label, as column target.
    per_question : int
        Augmentations of each question, for training: draws of their own, with ids of their own (12_1, 12_2).
    seed : int
        Of the draws: what is drawn for a question depends on seed, type and question_id alone.
    spacy_model : str
        Installed spaCy pipeline that finds the nouns.
    split : str, optional
        Name of the split in file names; default: what the input says, or its file name.
    columns : str, optional
        Names in a table of questions, as in question=text,answer=label.
    on_bad_row : {"error", "skip"}
        Stop at rows that don't fit, or count and skip them (exit code 3).
    """

    preset: Preset = "paper"
    draw: Draw | None = None
    types: str = "all"
    mode: Mode = "grammar"
    forms: str | None = None
    pool_by: PoolBy = "type"
    exclude_annotators: bool = True
    min_agreement: int | None = None
    exclude_doubtful: bool | None = None
    surface: Surface | None = None
    soft_targets: bool | None = None
    per_question: int = 1
    seed: int = 0
    spacy_model: str = "en_core_web_sm"
    split: str | None = None
    columns: str | None = None
    on_bad_row: OnBadRow = "error"

    def __post_init__(self) -> None:
        """Fill in the preset and check every value; names in lists get the order of the paper."""
        fill_in(self, _PRESETS)
        object.__setattr__(self, "types", _listed("types", self.types, TYPES))
        forms = ",".join(PAPER_FORMS) if self.forms == "paper" else self.forms
        object.__setattr__(self, "forms", _listed("forms", forms, FORMS))
        check_whole(self, "seed", 0)
        check_whole(self, "per_question", 1, _MOST_PER_QUESTION)
        check_whole(self, "min_agreement", 1, 10)
        if not isinstance(self.columns, str | None):
            reject("columns", self.columns, "text, such as question=text,answer=label")
        if self.split is not None and not may_be_in_name(self.split):
            reject("split", self.split, "letters, digits, - and _")

    @property
    def chosen_types(self) -> tuple[str, ...]:
        """The augmentations to make."""
        return tuple(self.types.split(","))

    @property
    def chosen_forms(self) -> tuple[str, ...]:
        """The forms of questions to use."""
        return tuple((self.forms or "").split(","))

    @property
    def mends_slips(self) -> bool:
        """Whether what spoils sentences in the paper's forms is skipped or mended: with any further form."""
        return not {*self.chosen_forms} <= {*PAPER_FORMS}


def _listed(name: str, value: str | None, known: tuple[str, ...]) -> str:
    """Return the names in `value` in the order of `known`.

    >>> _listed("types", "what-kind, colors", TYPES)
    'colors,what-kind'
    """
    given = known if value == "all" else tuple(one.strip() for one in str(value).split(","))
    if not set(given) <= set(known):
        reject(name, value, f"all, or some of {', '.join(known)} with commas between")
    return ",".join(one for one in known if one in given)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ScoreConfig(ScoreOptions):
    """Options of ``rad score``; see also :class:`shortcut_miner.options.ScoreOptions`.

    Attributes
    ----------
    correct : {"equal", "soft"}
        An answer is right if it equals the question's answer after VQA normalisation, or if its VQA accuracy
        reaches the threshold: the official one with 10 or more annotators' answers, with fewer as in vqa-ce
        score's --scorer auto.
    threshold : float
        Least accuracy of a right answer with --correct soft, above 0 and at most 1.
    baseline : str, optional
        Model that all others are compared with, on the same resamples.
    resamples : int
        Bootstrap resamples of images; 0 leaves the intervals out.
    seed : int
        Of the bootstrap.
    """

    correct: Correct = "equal"
    threshold: float = 0.5
    baseline: str | None = None
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        ScoreOptions.__post_init__(self)
        check_between(self, "threshold", 0, 1, above=True)
        check_whole(self, "resamples", 0)
        check_whole(self, "seed", 0)


def may_be_in_name(split: str) -> bool:
    """Return whether a split's name can be a part of a file's name, and of nothing else.

    >>> may_be_in_name("val2014"), may_be_in_name("../x"), may_be_in_name("")
    (True, False, False)
    """
    return 0 < len(split) <= _LONGEST_SPLIT and all(one.isalnum() or one in "-_." for one in split)
