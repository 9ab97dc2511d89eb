"""Reading a VQA-CE folder back: everything that score, explain and others need is in it."""

import dataclasses
from pathlib import Path
from typing import Any

import polars as pl

from shortcut_miner.datasets.folders import open_folder
from shortcut_miner.diagnostics.vqa_ce.outputs import COMMAND
from shortcut_miner.encoding import Transactions, Vocabulary, encode_item_lists
from shortcut_miner.mining.rules import RuleArrays, encode_rules
from shortcut_miner.schemas import Rules, Split
from shortcut_miner.text import answer_forms


@dataclasses.dataclass(frozen=True, slots=True)
class VqaCeFolder:
    """What ``vqa-ce build`` wrote.

    Attributes
    ----------
    path : Path
        The folder.
    questions : pl.DataFrame
        The evaluated questions: schemas.Questions, with words and objects (the items of each row).
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
        return str(self.manifest["figures"]["default_answer"])


def read_folder(path: Path) -> VqaCeFolder:
    """Return the tables of a VQA-CE folder.

    Raises
    ------
    SourceError
        Not such a folder, a missing or damaged file, or files of two different builds.
    """
    folder = open_folder(path, COMMAND)
    return VqaCeFolder(
        path=path,
        questions=folder.table("questions"),
        rules=folder.table("rules", Rules),
        split=folder.table("split", Split),
        manifest=folder.manifest,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class EncodedFolder:
    """Rules and rows of a folder in one vocabulary, ready to be matched."""

    vocabulary: Vocabulary
    rules: RuleArrays
    rows: Transactions


def encode_folder(folder: VqaCeFolder, *, normalise_answers: bool = False) -> EncodedFolder:
    """Return the folder's rules and questions as arrays.

    With `normalise_answers`, answers that VQA normalisation makes equal are one class ("Two." and "2"), as
    when a model's free text is compared with a rule's answer.
    """
    rules, questions = folder.rules, folder.questions
    if normalise_answers:
        rules = rules.with_columns(answer=normalised(rules["answer"]))
        questions = questions.with_columns(answer=normalised(questions["answer"]))
    counted = rules.select("answer", count=pl.col("answer_count").cast(pl.Int64))
    default = pl.DataFrame({"answer": [folder.default_answer], "count": [0]}, schema=counted.schema)
    answers = (
        pl.concat([counted, default]).group_by("answer").agg(pl.col("count").max()).sort("count", "answer")
    )
    vocabulary = Vocabulary(
        words=_distinct(rules["antecedent_words"]),
        objects=_distinct(rules["antecedent_objects"]),
        answers=answers["answer"],
        answer_counts=answers["count"].to_numpy(),
    )
    return EncodedFolder(
        vocabulary, encode_rules(rules, vocabulary), encode_item_lists(questions, vocabulary)
    )


def normalised(answers: pl.Series) -> pl.Series:
    """Return answers after VQA normalisation; null stays null."""
    forms = answer_forms(answers.drop_nulls().rename("answer"))
    return answers.replace_strict(forms["answer"], forms["normalised"], default=None, return_dtype=pl.String)


def _distinct(lists: pl.Series) -> pl.Series:
    return lists.filter(lists.list.len() > 0).explode().unique().sort()
