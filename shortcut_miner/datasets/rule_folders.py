"""What a ``vqa-ce build`` knows, for rooms that go on from it: its questions with their items, its rules."""

import dataclasses
from pathlib import Path
from typing import Any, Literal

import polars as pl

from shortcut_miner.datasets.folders import open_folder
from shortcut_miner.mining.frames.tables import match_rule_pairs
from shortcut_miner.schemas import KeptRules, SplitQuestions
from shortcut_miner.transactions import KINDS

COMMAND = "vqa-ce build"

Which = Literal["kept", "all"]


@dataclasses.dataclass(frozen=True, slots=True)
class RuleFolder:
    """What ``vqa-ce build`` wrote.

    Attributes
    ----------
    path : Path
        The folder.
    questions : pl.DataFrame
        schemas.SplitQuestions, sorted by question_id.
    rules : pl.DataFrame
        schemas.KeptRules in rule order.
    manifest : dict
        Provenance, counts and figures.
    """

    path: Path
    questions: pl.DataFrame
    rules: pl.DataFrame
    manifest: dict[str, Any]

    def chosen(self, which: Which) -> pl.DataFrame:
        """Return the rules in rule order: those of the rule classifier ("kept"), or all."""
        return self.rules.filter("in_classifier") if which == "kept" else self.rules


def read_rule_folder(path: Path) -> RuleFolder:
    """Return the questions and rules of a VQA-CE folder.

    Raises
    ------
    SourceError, SchemaError
        Not such a folder, a missing or damaged file, or files of two different builds.
    """
    folder = open_folder(path, COMMAND)
    return RuleFolder(
        path=path,
        questions=folder.table("questions", SplitQuestions),
        rules=folder.table("rules", KeptRules),
        manifest=folder.manifest,
    )


def firing_rules(rules: pl.DataFrame, questions: pl.DataFrame) -> pl.DataFrame:
    """Return every (row, rule_id), UInt32, such that the rule fires on the question; in rule order by row.

    Parameters
    ----------
    rules : pl.DataFrame
        schemas.Rules.
    questions : pl.DataFrame
        words and objects, and attributes where there are any, List[String]; null is as empty.
    """
    return match_rule_pairs(rules, questions.select(name for name in KINDS if name in questions.columns))
