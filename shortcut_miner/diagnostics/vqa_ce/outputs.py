"""What a VQA-CE folder holds: the names of its files, what a build reports, and reading it back."""

import dataclasses
from pathlib import Path
from typing import Any

import polars as pl

from shortcut_miner.datasets import reports
from shortcut_miner.datasets.folders import open_folder
from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig
from shortcut_miner.schemas import (
    MODALITIES,
    SUBSETS,
    Rules,
    Split,
    SplitQuestions,
)

COMMAND = "vqa-ce build"
DEFAULT_ANSWER = "default_answer"
MATCHES, DROPPED_RULES = "matches", "dropped_rules"
RELEASED_PREDICTIONS = "rules_predictions.json"
# How the counts of a manifest follow from the tables beside it, for whoever verifies a folder.
COUNTED = {
    "rules": {
        "rules": pl.len(),
        **{f"rules_{name}": (pl.col("modality") == name).sum() for name in MODALITIES},
        "classifier_rules": pl.col("in_classifier").sum(),
        "train_rows": pl.col("transaction_count").first(),
    },
    "split": {name: (pl.col("subset") == name).sum() for name in SUBSETS},
    "questions": {
        "val_questions": pl.len(),
        "val_images": pl.col("image_id").n_unique(),
        "val_groups": pl.col("group").n_unique(),
    },
    "sweep": {"thresholds": pl.len()},
}


def file_names(config: VqaCeConfig) -> list[str]:
    """Return what a build writes beside its records."""
    kept = [DROPPED_RULES] * config.keep_dropped + [MATCHES] * config.keep_matches
    tables = [f"{name}.parquet" for name in ("rules", "split", "rule_predictions", "questions", *kept)]
    return [*tables, *(f"{subset}.json" for subset in SUBSETS), RELEASED_PREDICTIONS]


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class BuildReport(reports.BuildReport):
    """What ``vqa-ce build`` did."""

    @property
    def rules(self) -> pl.DataFrame:
        """schemas.MeasuredRules in rule order, with ``in_classifier``."""
        return self._table("rules")

    @property
    def split(self) -> pl.DataFrame:
        """schemas.Split, sorted by question_id."""
        return self._table("split")

    @property
    def questions(self) -> pl.DataFrame:
        """schemas.SplitQuestions: the evaluated questions, sorted by question_id."""
        return self._table("questions")

    @property
    def rule_predictions(self) -> pl.DataFrame:
        """question_id, answer, rule_id (null: no kept rule fires): the rule classifier's answers."""
        return self._table("rule_predictions")

    @property
    def dropped_rules(self) -> pl.DataFrame:
        """schemas.Rules that the superset filter dropped; with ``keep_dropped``."""
        return self._table("dropped_rules")

    @property
    def matches(self) -> pl.DataFrame:
        """question_id, rule_id for every rule that fires; with ``keep_matches``."""
        return self._table("matches")


@dataclasses.dataclass(frozen=True, slots=True)
class VqaCeFolder:
    """What ``vqa-ce build`` wrote.

    Attributes
    ----------
    path : Path
        The folder.
    questions : pl.DataFrame
        schemas.SplitQuestions: those that were evaluated.
    rules : pl.DataFrame
        schemas.Rules in rule order, with validation counts and ``in_classifier``.
    split : pl.DataFrame
        schemas.Split; rows as in `questions`.
    manifest : dict
        Provenance, counts and figures.
    """

    path: Path
    questions: pl.DataFrame
    rules: pl.DataFrame
    split: pl.DataFrame
    manifest: dict[str, Any]

    @property
    def default_answer(self) -> str:
        """The most common training answer, which the rule classifier gives when no rule fires."""
        return str(self.manifest["figures"][DEFAULT_ANSWER])


def read_folder(path: Path) -> VqaCeFolder:
    """Return the tables of a VQA-CE folder.

    Raises
    ------
    SourceError
        Not such a folder, a missing or damaged file, or files of two different builds.
    """
    folder = open_folder(path, COMMAND, figures=(DEFAULT_ANSWER,))
    return VqaCeFolder(
        path=path,
        questions=folder.table("questions", SplitQuestions),
        rules=folder.table("rules", Rules),
        split=folder.table("split", Split),
        manifest=folder.manifest,
    )
