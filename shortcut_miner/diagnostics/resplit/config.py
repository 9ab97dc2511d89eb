"""Options of the resplit room: what changes its result, and nothing else. README.md has their table."""

import dataclasses
from fractions import Fraction
from pathlib import Path
from typing import Literal

from shortcut_miner.errors import ConfigError
from shortcut_miner.options import (
    OnBadRow,
    ScoreOptions,
    SweepScorer,
    as_paths,
    check_between,
    check_whole,
    fill_in,
    reject,
)

Method = Literal["vqa-cp", "vqa-vs-like"]
Order = Literal["hash", "name", "size"]
ANTECEDENT = "antecedent"
GROUPABLE = ("question_type", "answer", "answer_type", "question", "image_id", "split", ANTECEDENT)
_MOST_PARTS = 1000  # a share is the nearest fraction of up to so many parts: 0.333333 is a third


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ResplitFiles:
    """Inputs of ``resplit build``.

    Attributes
    ----------
    questions : tuple of Path
        VQA questions JSON, one or several; or files with answers: A-OKVQA, TextVQA, VizWiz, VQA-X, LXMERT,
        GQA, VisDial, POPE, or a Parquet, Arrow, CSV or JSONL table. All are put together.
    annotations : tuple of Path, optional
        The annotations of VQA questions JSON, in the same order; other files have their answers in them.
    from_rules : Path, optional
        A folder that vqa-ce build wrote, for --group-by antecedent and --method vqa-vs-like.
    detections : tuple of Path, optional
        Object labels of the images, of the detector that the rules were mined with; without them, rules
        with objects do not fire.
    detections_info : tuple of Path, optional
        The file that some formats of detections need beside.
    """

    questions: tuple[Path, ...]
    annotations: tuple[Path, ...] | None = None
    from_rules: Path | None = None
    detections: tuple[Path, ...] | None = None
    detections_info: tuple[Path, ...] | None = None

    def __post_init__(self) -> None:
        """Take paths as text too, and check that files belong together."""
        as_paths(self)
        if self.annotations is not None and len(self.annotations) != len(self.questions):
            raise ConfigError(
                f"annotations: got {len(self.annotations)} files for {len(self.questions)} of questions, "
                "expected one for each. Give as many --annotations as --questions, in their order."
            )
        if self.from_rules is None and self.detections is not None:
            raise ConfigError(
                "detections: got some without rules, expected none: rules alone ask for objects. Give "
                "--from-rules too, or leave --detections out."
            )
        if self.detections is None and self.detections_info is not None:
            raise ConfigError(
                f"detections_info: got {self.detections_info[0]} without detections, expected both. "
                "Give --detections too."
            )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ResplitConfig:
    """Options of ``resplit build``.

    Attributes
    ----------
    method : {"vqa-cp", "vqa-vs-like"}
        Whole groups go to training or test, so that answers change; or a random split whose test questions
        with rare answers, given a shortcut, are further tests.
    group_by : str
        Columns whose values make a group, with commas: question_type, answer, answer_type, question,
        image_id, split, or antecedent (of the best rule that fires). For vqa-cp.
    order : {"hash", "name", "size"}
        Which groups are taken for the test first: drawn by their names, by name, or those with most rows.
    test_share : float
        Least share of rows in the test, above 0 and below 1; 0.333333 is a third.
    val_share : float
        Share of images whose training rows are a validation set of the training's kind.
    alpha : float
        For vqa-vs-like: an answer is rare below 1 + alpha times the mean of its group's answers.
    seed : int
        Of the order of groups and of the draws of images.
    flat : bool
        Write questions and annotations as lists of records, as VQA-CP has them.
    columns : str, optional
        Names in tables of questions, as in question=text,answer=label.
    on_bad_row : {"error", "skip"}
        Stop at rows that don't fit, or count and skip them (exit code 3).
    """

    method: Method = "vqa-cp"
    group_by: str = "question_type,answer"
    order: Order = "hash"
    test_share: float = 0.333333
    val_share: float = 0.05
    alpha: float = 0.2
    seed: int = 0
    flat: bool = False
    columns: str | None = None
    on_bad_row: OnBadRow = "error"

    def __post_init__(self) -> None:
        """Check every value."""
        fill_in(self)
        names = [one.strip() for one in str(self.group_by).split(",")]
        if len({*names}) < len(names) or not {*names} <= {*GROUPABLE}:
            reject("group_by", self.group_by, f"different columns of {', '.join(GROUPABLE)}, with commas")
        object.__setattr__(self, "group_by", ",".join(names))
        check_between(self, "test_share", 0, 1, above=True, below=True)
        check_between(self, "val_share", 0, 1, below=True)
        check_between(self, "alpha", -1, 1000, above=True)
        check_whole(self, "seed", 0)
        if not isinstance(self.columns, str | None):
            reject("columns", self.columns, "text, such as question=text,answer=label")

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that make a group."""
        return tuple(self.group_by.split(","))

    @property
    def least_test(self) -> Fraction:
        """The least share of rows in the test."""
        return Fraction(self.test_share).limit_denominator(_MOST_PARTS) or Fraction(self.test_share)

    @property
    def needs_rules(self) -> bool:
        """Whether a folder of rules is asked."""
        return self.method == "vqa-vs-like" or ANTECEDENT in self.keys

    def check_files(self, files: ResplitFiles) -> None:
        """Raise ConfigError if rules are needed and not given, or given for nothing."""
        if self.needs_rules and files.from_rules is None:
            what = "method vqa-vs-like" if self.method == "vqa-vs-like" else "group_by antecedent"
            raise ConfigError(
                f"{what}: got no rules, expected a folder that vqa-ce build wrote. Give --from-rules."
            )
        if files.from_rules is not None and not self.needs_rules:
            raise ConfigError(
                f"from_rules: got {files.from_rules}, expected none: nothing asks for it. Leave it out, or "
                "choose --group-by antecedent or --method vqa-vs-like."
            )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ScoreConfig(ScoreOptions):
    """Options of ``resplit score``; see also :class:`shortcut_miner.options.ScoreOptions`.

    Attributes
    ----------
    scorer : {"auto", "vqa-official", "vqa-normalized", "three-agree", "any-answer", "exact"}
        What an answer's accuracy is; auto chooses by each question's number of answers.
    resamples : int
        Bootstrap resamples of images; 0 leaves the intervals out.
    seed : int
        Of the bootstrap.
    """

    scorer: SweepScorer = "auto"
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        ScoreOptions.__post_init__(self)
        check_whole(self, "resamples", 0)
        check_whole(self, "seed", 0)
