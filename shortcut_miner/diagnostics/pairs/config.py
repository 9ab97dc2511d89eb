"""Options of the pairs room: what changes its result, and nothing else. The room's README has their table."""

import dataclasses
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
    option_name,
    reject,
)

Match = Literal["question", "question_type", "antecedent"]
PairRules = Literal["kept", "all", "none"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PairsFiles:
    """Inputs of ``pairs build``: what ``vqa-ce build`` wrote, or questions with their answers.

    Attributes
    ----------
    folder : Path, optional
        A folder that ``vqa-ce build`` wrote: pairs are found among its questions, by its rules.
    questions : Path, optional
        In place of a folder: VQA questions JSON; or with answers: A-OKVQA, TextVQA, VizWiz, VQA-X, LXMERT,
        GQA, VisDial, POPE, or one Parquet, Arrow, CSV or JSONL table.
    annotations : Path, optional
        The annotations of a VQA questions JSON; other files have their answers in themselves.
    pairs : Path, optional
        Complementary pairs to take as they are, in place of finding some: a JSON list of [id, id].
    """

    folder: Path | None = None
    questions: Path | None = None
    annotations: Path | None = None
    pairs: Path | None = None

    def __post_init__(self) -> None:
        """Take paths as text too, and check that there is one source of questions."""
        as_paths(self)
        beside = [name for name in ("questions", "annotations") if getattr(self, name) is not None]
        if self.folder is not None and beside:
            raise ConfigError(
                f"pairs build: got a folder and {', '.join(map(option_name, beside))}, expected one of them. "
                "Leave the other out."
            )
        if self.folder is None and self.questions is None:
            raise ConfigError(
                "pairs build: got no questions, expected a folder that vqa-ce build wrote, or --questions. "
                "Give one of them."
            )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PairsConfig:
    """Options of ``pairs build``.

    Attributes
    ----------
    match : {"question", "question_type", "antecedent"}
        What the questions of a rule's pair have in common beside the rule: their text, their type or nothing.
    rules : {"kept", "all", "none"}, optional
        Rules of the folder that pairs are found by: those of its classifier, all, or none, so that any two
        questions of one text may be a pair. Default: kept with a folder, else none.
    per_rule : int
        Most pairs of one rule.
    reuse : bool
        Let a question be in several pairs.
    groups : bool
        Also find 2 x 2 groups: two yes/no questions about two images, with the answers crossed.
    seed : int, optional
        Take the questions of a rule in an order drawn by their ids; by default in that of the ids.
    columns : str, optional
        Names in a table of questions, as in question=text,answer=label.
    on_bad_row : {"error", "skip"}
        Stop at rows that don't fit, or count and skip them (exit code 3).
    """

    match: Match = "question"
    rules: PairRules | None = None
    per_rule: int = 20
    reuse: bool = False
    groups: bool = False
    seed: int | None = None
    columns: str | None = None
    on_bad_row: OnBadRow = "error"

    def __post_init__(self) -> None:
        """Check every value."""
        fill_in(self)
        check_whole(self, "per_rule", 1)
        if self.seed is not None:
            check_whole(self, "seed", 0)
        if not isinstance(self.columns, str | None):
            reject("columns", self.columns, "text, such as question=text,answer=label")

    def for_files(self, files: PairsFiles) -> "PairsConfig":
        """Return the options with `rules` filled in, as `files` allow it.

        Raises
        ------
        ConfigError
            Rules without a folder, or that pairs are given beside; another match without rules.
        """
        has_rules = files.folder is not None and files.pairs is None
        rules: PairRules = self.rules or ("kept" if has_rules else "none")
        if rules != "none" and not has_rules:
            got = "pairs that are given" if files.pairs is not None else "no folder of vqa-ce build"
            raise ConfigError(
                f"rules: got {rules} with {got}, expected none. Leave --rules out, or give a folder to find "
                "pairs in."
            )
        if rules == "none" and self.match != "question":
            raise ConfigError(
                f"match: got {self.match} without rules, expected question: nothing else would tell what two "
                "questions have in common. Give a folder of vqa-ce build and its rules, or leave --match out."
            )
        return dataclasses.replace(self, rules=rules)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ScoreConfig(ScoreOptions):
    """Options of ``pairs score``; see also :class:`shortcut_miner.options.ScoreOptions`.

    Attributes
    ----------
    scorer : {"auto", "vqa-official", "vqa-normalized", "three-agree", "any-answer", "exact"}
        What an answer's accuracy is; auto chooses by each question's number of answers.
    correct_at : float
        Least accuracy of a right answer, in percent, above 0.
    baseline : str, optional
        Model that all others are compared with, on the same resamples.
    resamples : int
        Bootstrap resamples of images that pairs connect; 0 leaves the intervals out.
    seed : int
        Of the bootstrap.
    """

    scorer: SweepScorer = "auto"
    correct_at: float = 50.0
    baseline: str | None = None
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        ScoreOptions.__post_init__(self)
        check_between(self, "correct_at", 0, 100, above=True)
        check_whole(self, "resamples", 0)
        check_whole(self, "seed", 0)
