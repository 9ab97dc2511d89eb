"""Options of the VQA-CE room: what changes its result, and nothing else.

A preset fills in the options that were not given: ``code`` follows VQA-CE's released program, ``paper``
the article (Dancette et al., ICCV 2021). The room's README has the table of both.
"""

import dataclasses
from pathlib import Path
from typing import Any, Literal

from shortcut_miner.errors import ConfigError
from shortcut_miner.options import (
    AnswerOptions,
    AnswerTies,
    ItemKinds,
    OnBadRow,
    Scorer,
    SupersetFilter,
    Tokenizer,
    as_paths,
    check_between,
    check_whole,
    fill_in,
)

Preset = Literal["code", "paper"]
Vote = Literal["best", "weighted"]
SupportRounding = Literal["floor-float32", "ceil"]

DEFAULT_MIN_COUNT = 8
PRESETS: dict[str, dict[str, Any]] = {
    "code": {
        "superset_filter": "immediate",
        "vote": "best",
        "support_rounding": "floor-float32",
        "empty_rule": False,
    },
    "paper": {
        "superset_filter": "all",
        "vote": "weighted",
        "support_rounding": "ceil",
        "empty_rule": True,
    },
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class VqaCeFiles:
    """Input files of ``vqa-ce build``.

    Attributes
    ----------
    train_questions : Path
        Questions that rules are mined from: VQA v1/v2 questions JSON, or a set that holds its answers.
    train_annotations : Path, optional
        The annotations of these questions.
    val_questions : Path
        Questions that are split into easy, counterexamples and hard.
    val_annotations : Path, optional
        The annotations of these questions.
    detections : tuple of Path, optional
        Object labels of both splits' images: detect-shortcuts JSON, COCO instances JSON, a table with
        image_id and label, scene graphs, or boxes with labels; several files, or their folder.
    detections_info : tuple of Path, optional
        The file that some formats of boxes need beside: categories of COCO results, LXMERT's vocabulary, Open
        Images' class descriptions. One for all detections, or one each.
    """

    train_questions: Path
    train_annotations: Path | None = None
    val_questions: Path
    val_annotations: Path | None = None
    detections: tuple[Path, ...] | None = None
    detections_info: tuple[Path, ...] | None = None

    def __post_init__(self) -> None:
        """Take paths as text too."""
        as_paths(self)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class VqaCeConfig:
    """Options of ``vqa-ce build``. None means: what the preset says.

    Attributes
    ----------
    preset : {"code", "paper"}
        Follow the released program or the article where they differ.
    items : {"words", "objects", "both"}, optional
        What an antecedent may hold; default both, or words without --detections.
    tokenizer : {"basic_english", "spacy", "spacy-lemma"}
        Words of a question: the released program's tokeniser, or spaCy's tokens or lemmas.
    min_count : int, optional
        Least training rows with antecedent and answer together; default 8.
    min_support : float, optional
        The same as a share of the training rows, in place of --min-count.
    max_antecedent : int
        Most items of an antecedent, 1 to 8 (the released program's max_length counts the answer too).
    min_confidence : float
        Least confidence of a rule, 0 to 1.
    score_threshold : float
        Least detection score of an object label.
    top_answers : int
        Train on rows with one of this many most common answers.
    answer_ties : {"first", "lexicographic"}
        Which answers make the cut among equally common ones: met first in the questions file, or by name.
    superset_filter : {"immediate", "all", "none"}, optional
        Drop a rule when a subset of its antecedent (one item smaller, any, none) is as confident.
    vote : {"best", "weighted"}, optional
        How the rule classifier answers: its most confident rule, or the sum of confidences.
    support_rounding : {"floor-float32", "ceil"}, optional
        How --min-support becomes a count.
    empty_rule : bool, optional
        Whether the empty antecedent (the most common answer) is a rule like any other.
    keep_dropped : bool
        Also write the rules that the superset filter drops.
    keep_matches : bool
        Also write every (question, rule) pair.
    max_rules : int, optional
        Stop mining at this many antecedents, those of the most frequent items first, with exit code 3;
        default: as many as fit in memory.
    holdout : bool
        Mine on one half of the training images and test the rules found on the other half.
    seed : int
        Decides which image is in which half.
    max_q : float
        Verdict "chance" from this q value on (with --holdout: Holm's p), 0 to 1.
    max_improvement_p : float
        Verdict "redundant" from this p value of the gain over the best subset on, 0 to 1.
    min_val_count : int
        Verdict "unstable" only for rules that fire on so many validation questions.
    on_bad_row : {"error", "skip"}
        Stop at rows that don't fit, or count and skip them (exit code 3).
    """

    preset: Preset = "code"
    items: ItemKinds | None = None
    tokenizer: Tokenizer = "basic_english"
    min_count: int | None = None
    min_support: float | None = None
    max_antecedent: int = 4
    min_confidence: float = 0.3
    score_threshold: float = 0.5
    top_answers: int = 3000
    answer_ties: AnswerTies = "first"
    superset_filter: SupersetFilter | None = None
    vote: Vote | None = None
    support_rounding: SupportRounding | None = None
    empty_rule: bool | None = None
    keep_dropped: bool = False
    keep_matches: bool = False
    max_rules: int | None = None
    holdout: bool = False
    seed: int = 0
    max_q: float = 0.05
    max_improvement_p: float = 0.05
    min_val_count: int = 10
    on_bad_row: OnBadRow = "error"

    def __post_init__(self) -> None:
        """Fill in the preset and check every value."""
        fill_in(self, PRESETS)
        if self.min_count is not None and self.min_support is not None:
            raise ConfigError(
                f"min_count and min_support: got {self.min_count} and {self.min_support}, expected only one. "
                "Leave one of --min-count and --min-support out."
            )
        if self.min_support is not None:
            check_between(self, "min_support", 0, 1, above=True)
        if self.min_count is not None:
            check_whole(self, "min_count", 1)
        check_whole(self, "max_antecedent", 1, 8)
        check_whole(self, "seed", 0)
        if self.max_rules is not None:
            check_whole(self, "max_rules", 1)
        for name in ("top_answers", "min_val_count"):
            check_whole(self, name, 1)
        for name in ("min_confidence", "score_threshold", "max_q", "max_improvement_p"):
            check_between(self, name, 0, 1)

    def for_files(self, files: VqaCeFiles) -> "VqaCeConfig":
        """Return the options with those decided that were left open.

        ``items`` is both, or words without detections; ``min_count`` has its default without a min_support.
        """
        decided: dict[str, Any] = {}
        if self.items is None:
            decided["items"] = "both" if files.detections else "words"
        if self.min_count is None and self.min_support is None:
            decided["min_count"] = DEFAULT_MIN_COUNT
        return dataclasses.replace(self, **decided)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ScoreConfig(AnswerOptions):
    """Options of ``vqa-ce score``; see also :class:`shortcut_miner.options.AnswerOptions`.

    Attributes
    ----------
    scorer : {"auto", "vqa-official", "vqa-normalized", "three-agree", "any-answer", "exact", "soft-labels"}
        How answers are scored. auto: by the annotators' answers of each question, vqa-official for 10 or
        more, three-agree (three matches are full score) for 3 to 9, any-answer for 1 or 2; soft-labels with
        --soft-labels.
    baseline : str, optional
        Model that all others are compared with, question by question.
    min_count : int
        Least validation rows where a rule fires, for the list of exploited shortcuts.
    resamples : int
        Bootstrap resamples of images; 0 leaves the intervals out.
    seed : int
        Of the bootstrap.
    """

    scorer: Scorer = "auto"
    baseline: str | None = None
    min_count: int = 5
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        AnswerOptions.__post_init__(self)
        check_whole(self, "min_count", 1)
        check_whole(self, "resamples", 0)
        check_whole(self, "seed", 0)
