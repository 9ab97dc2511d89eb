"""Options of the slices room: what changes its result, and nothing else. README.md has their table."""

import dataclasses
import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import ClassVar, Literal

from shortcut_miner.errors import ConfigError
from shortcut_miner.options import (
    AnswerOptions,
    ScoreOptions,
    SweepScorer,
    Tokenizer,
    as_paths,
    check_between,
    check_texts,
    check_whole,
    named_columns,
    named_items,
)

Outcome = Literal["wrong", "error", "regression"]
Items = Literal["both", "words", "objects", "none"]
Direction = Literal["worse", "better", "both"]
Correction = Literal["by", "bh"]

DEFAULT_ITEM_COLUMNS = "answer_type,question_type"
# What a table's columns may be named as, beside its outcome and its item columns.
TABLE_COLUMNS = ("question_id", "image_id", "question", "labels")
_LEAST_COUNT = 30
_RANGES = {"wrong": (0, 1), "error": (0, 100), "regression": (-100, 100)}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SlicesFiles:
    """Input files of ``slices build``: questions, or any table with an outcome; or neither, with a folder.

    Attributes
    ----------
    questions : Path, optional
        VQA questions JSON; or with answers: A-OKVQA, TextVQA, VizWiz, VQA-X, LXMERT, GQA, VisDial, POPE, or
        one Parquet, Arrow, CSV or JSONL table.
    annotations : Path, optional
        The annotations of a VQA questions JSON; other files have their answers in themselves.
    table : Path, optional
        In place of questions: rows with an outcome and columns of text, as Parquet, Arrow, CSV, TSV, JSON
        Lines, a JSON list or xlsx.
    detections : tuple of Path, optional
        Object labels of the images: detect-shortcuts JSON, COCO instances JSON, a table with image_id and
        label, scene graphs, or boxes with labels; several files, or their folder.
    detections_info : tuple of Path, optional
        The file that some formats of boxes need beside: categories of COCO results, LXMERT's vocabulary, Open
        Images' class descriptions. One for all detections, or one each.
    """

    questions: Path | None = None
    annotations: Path | None = None
    table: Path | None = None
    detections: tuple[Path, ...] | None = None
    detections_info: tuple[Path, ...] | None = None

    def __post_init__(self) -> None:
        """Take paths as text too."""
        as_paths(self)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SlicesConfig(AnswerOptions):
    """Options of ``slices build``.

    Attributes
    ----------
    columns : str, optional
        Names in the files of answers, as in question_id=qid,answer=response; or in --table: question_id,
        image_id, question and labels.
    outcome : {"wrong", "error", "regression"}, optional
        What is looked at: answers with an accuracy below --correct-at; 100 - accuracy; the accuracy of
        --baseline minus the other model's. Default: wrong for one model, regression for two; in a table wrong
        for true and false or 0 and 1, else error.
    outcome_column : str, optional
        The column of --table that holds the outcome; larger is worse.
    baseline : str, optional
        Of two models the older one. Default: the first.
    item_columns : str, optional
        Columns whose values are items, with commas between. Default: answer_type,question_type.
    items : {"both", "words", "objects", "none"}, optional
        Which items there are beside those of columns. Default: both, or words without detections.
    tokenizer : {"basic_english", "spacy", "spacy-lemma"}
        Words of a question: VQA-CE's tokeniser, or spaCy's tokens or lemmas.
    score_threshold : float
        Least detection score of an object label.
    scorer : {"auto", "vqa-official", "vqa-normalized", "three-agree", "any-answer", "exact"}
        How answers are scored; auto: as by vqa-ce score.
    correct_at : float
        An answer is right from this accuracy on, in percent.
    min_count : int, optional
        Least rows of a slice. Default: a hundredth of the rows, and at least 30.
    min_support : float, optional
        The same as a share of the rows, in place of --min-count.
    max_length : int
        Most items of a slice, 1 to 8.
    epsilon : float
        A slice is redundant if one item fewer changes its divergence by no more than this.
    direction : {"worse", "better", "both"}
        Which slices are tested for: those that are worse than the other rows, better, or either.
    correction : {"by", "bh"}
        q values over all slices: Benjamini-Yekutieli, which any dependence allows, or Benjamini-Hochberg.
    max_q : float
        A slice is significant up to this q value.
    holdout : float
        Keep this share of the images out of the search, and test on them what was found. 0: none.
    seed : int
        Decides which image is held out.
    alpha : float
        Weight of the mean in SliceLine's score, above 0 and at most 1; the rest is for the size.
    """

    answer_columns: ClassVar[tuple[str, ...]] = ("answer", *TABLE_COLUMNS)

    outcome: Outcome | None = None
    outcome_column: str | None = None
    baseline: str | None = None
    item_columns: str | None = None
    items: Items | None = None
    tokenizer: Tokenizer = "basic_english"
    score_threshold: float = 0.5
    scorer: SweepScorer = "auto"
    correct_at: float = 50.0
    min_count: int | None = None
    min_support: float | None = None
    max_length: int = 4
    epsilon: float = 0.05
    direction: Direction = "worse"
    correction: Correction = "by"
    max_q: float = 0.05
    holdout: float = 0.0
    seed: int = 0
    alpha: float = 0.95

    def __post_init__(self) -> None:
        """Check every value."""
        AnswerOptions.__post_init__(self)
        named_items(self.item_columns)
        if self.outcome_column is not None:
            check_texts(outcome_column=self.outcome_column)
        if self.min_count is not None:
            check_whole(self, "min_count", 1)
        if self.min_support is not None:
            check_between(self, "min_support", 0, 1, above=True)
        if self.min_count is not None and self.min_support is not None:
            raise ConfigError(
                f"min_count and min_support: got {self.min_count} and {self.min_support}, expected only one. "
                "Leave one of --min-count and --min-support out."
            )
        check_whole(self, "max_length", 1, 8)
        check_whole(self, "seed", 0)
        check_between(self, "correct_at", 0, 100, above=True)
        check_between(self, "alpha", 0, 1, above=True)
        check_between(self, "holdout", 0, 1, below=True)
        for name in ("score_threshold", "epsilon", "max_q"):
            check_between(self, name, 0, 1)

    @property
    def columns_of_items(self) -> tuple[str, ...]:
        """The columns whose values are items."""
        return named_items(self.item_columns or DEFAULT_ITEM_COLUMNS)

    @property
    def table_names(self) -> Mapping[str, str]:
        """Our column -> that of a table."""
        return dict(zip(TABLE_COLUMNS, TABLE_COLUMNS, strict=True)) | named_columns(
            self.columns, TABLE_COLUMNS
        )

    @property
    def answers(self) -> AnswerOptions:
        """How files of answers are read."""
        names = [field.name for field in dataclasses.fields(AnswerOptions)]
        return AnswerOptions(**{name: getattr(self, name) for name in names})

    def least_count(self, rows: int) -> int:
        """Return the least rows of a slice, of so many.

        >>> SlicesConfig().least_count(8977), SlicesConfig(min_support=0.02).least_count(8977)
        (90, 180)
        """
        if self.min_count is not None:
            return self.min_count
        if self.min_support is not None:
            return max(1, math.ceil(Fraction(str(self.min_support)) * rows))
        return max(_LEAST_COUNT, -(-rows // 100))


def outcome_range(outcome: Outcome) -> tuple[int, int]:
    """Return the least and the largest outcome of a row."""
    return _RANGES[outcome]


def scale_of(outcome: Outcome) -> int:
    """Return the outcome of a row whose mean is 1: outcomes but wrong are hundredths."""
    return 1 if outcome == "wrong" else 100


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ScoreConfig(ScoreOptions):
    """Options of ``slices score``; see also :class:`shortcut_miner.options.ScoreOptions`.

    Attributes
    ----------
    scorer : {"auto", "vqa-official", "vqa-normalized", "three-agree", "any-answer", "exact"}, optional
        How answers are scored. Default: as in the build.
    baseline : str, optional
        Model that all others are compared with, on the same resamples.
    resamples : int
        Bootstrap resamples of images; 0 leaves the intervals out.
    seed : int
        Of the bootstrap.
    """

    scorer: SweepScorer | None = None
    baseline: str | None = None
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        ScoreOptions.__post_init__(self)
        check_whole(self, "resamples", 0)
        check_whole(self, "seed", 0)
