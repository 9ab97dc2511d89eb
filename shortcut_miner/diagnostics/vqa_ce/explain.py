"""Explain: the rules that fire on one question, and why it is in its subset."""

import dataclasses
import html
from pathlib import Path

import numpy as np
import polars as pl

from shortcut_miner.datasets.reports import shown_whole
from shortcut_miner.diagnostics.vqa_ce.encoded import encode_folder
from shortcut_miner.diagnostics.vqa_ce.outputs import read_folder
from shortcut_miner.errors import examples, no_such_question
from shortcut_miner.mining.frames.lookup import find_rules
from shortcut_miner.mining.matcher import match_pairs
from shortcut_miner.schemas import ANTECEDENT

_SHOWN = (
    "rule_id", *ANTECEDENT, "answer", "rule_count", "confidence", "is_correct", "q_value_by", "verdict",
)  # fmt: skip
_MOST_SHOWN = 10


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """One question and what fires on it.

    Attributes
    ----------
    question : dict
        Its row of ``questions.parquet``: text, image, answers, words, objects, and attributes if any.
    subset : str
        "easy", "counterexamples" or "hard".
    reason : str
        Why, in one sentence.
    rules : pl.DataFrame
        The firing rules that were asked for, in rule order, with ``is_correct`` (some annotator gave the
        rule's answer).
    """

    question: dict[str, object]
    subset: str
    reason: str
    rules: pl.DataFrame

    def __repr__(self) -> str:
        """Return the question, why it is in its subset, and the first rules."""
        with shown_whole():
            return f"{self._in_words()}\n{self._first_rules()}"

    def _repr_html_(self) -> str:
        with shown_whole():
            return f"<p>{html.escape(self._in_words())}</p>{self._first_rules()._repr_html_()}"

    def _in_words(self) -> str:
        return f"{self.question['question_id']} {self.question['question']} {self.subset}: {self.reason}"

    def _first_rules(self) -> pl.DataFrame:
        return self.rules.select(name for name in _SHOWN if name in self.rules.columns).head(_MOST_SHOWN)


def explain(
    path: Path, question_id: str, *, verdict: str | None = None, max_q: float | None = None
) -> Explanation:
    """Return the explanation of one evaluated question.

    Parameters
    ----------
    path : Path
        What ``vqa-ce build`` wrote.
    question_id : str
        One of the evaluated questions.
    verdict, max_q : optional
        Which of the firing rules to list, see :func:`shortcut_miner.mining.frames.lookup.find_rules`; the
        reason speaks of all.

    Raises
    ------
    SourceError
        The folder can't be read.
    ConfigError
        The folder has no such question, or rules that have no verdict.
    """
    folder = read_folder(path)
    is_asked = folder.questions["question_id"] == question_id
    if not is_asked.any():
        raise no_such_question(question_id, folder.questions["question_id"], path, kind="evaluated ")
    only = dataclasses.replace(folder, questions=folder.questions.filter(is_asked))
    encoded = encode_folder(only)
    (_, _, fired), *_ = match_pairs(encoded.rules, encoded.rows)
    question = only.questions.row(0, named=True)
    accepted = question["answers"] or [question["answer"]]
    rules = folder.rules[fired.astype(np.int64)].with_columns(is_correct=pl.col("answer").is_in(accepted))
    subset = folder.split.filter(pl.col("question_id") == question_id)["subset"].item()
    listed = find_rules(rules, verdict=verdict, max_q=max_q)
    return Explanation(question, subset, _reason(rules, subset), listed)


def _reason(rules: pl.DataFrame, subset: str) -> str:
    if subset == "hard":
        return "No rule fires: no shortcut that was found speaks about this question."
    correct = rules.filter("is_correct")
    fires = f"{len(rules):,} rule{'s fire' if len(rules) != 1 else ' fires'}"
    if subset == "easy":
        shown = correct.row(0, named=True)
        said = shown["answer"]
        return f"{fires}, {len(correct):,} with an annotator's answer; the first of these says {said!r}."
    wrong = rules["answer"].unique(maintain_order=True)
    return f"{fires}, and no annotator gave any of their answers: {examples(wrong)}."
