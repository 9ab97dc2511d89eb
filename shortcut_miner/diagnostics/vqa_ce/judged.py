"""Validation questions judged block by block: a row a question, and what all of them add up to."""

import dataclasses
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Self

import numpy as np
import polars as pl

from shortcut_miner.datasets.folders import NUMBER
from shortcut_miner.diagnostics.vqa_ce import classifier
from shortcut_miner.diagnostics.vqa_ce.config import Vote
from shortcut_miner.diagnostics.vqa_ce.frames import Spool
from shortcut_miner.diagnostics.vqa_ce.prepared import EncodedQuestions, QuestionBlock
from shortcut_miner.encoding import with_item_lists
from shortcut_miner.mining.arrays import Ints, Numbers
from shortcut_miner.mining.backends import Backend
from shortcut_miner.mining.evidence.verdicts import Counts
from shortcut_miner.mining.matcher import MatchTotals, RuleIndex, match_totals
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.schemas import SUBSETS
from shortcut_miner.transactions import Transactions


@dataclasses.dataclass(frozen=True, slots=True)
class RuleTallies:
    """What rules come to on rows that were not mined.

    Attributes
    ----------
    rows : int
        How many.
    fired, right : int64[rules]
        Rows where the rule fires; of these, where its answer is the row's own.
    best : int64[rules]
        Rows where it is the first rule that fires.
    answers : int64[classes]
        Rows with each answer.
    """

    rows: int
    fired: Ints
    right: Ints
    best: Ints
    answers: Ints

    @classmethod
    def none_of(cls, questions: EncodedQuestions, rules: RuleArrays) -> Self:
        """Return the tallies of these questions before any is added."""
        fired, right, best = np.zeros((3, len(rules)), np.int64)
        return cls(len(questions), fired, right, best, np.zeros(questions.vocabulary.class_count, np.int64))

    def add(self, rows: Transactions, totals: MatchTotals) -> None:
        """Add a block of the rows, and what matching them found, in place."""
        np.add(self.fired, totals.rule_fired, out=self.fired)
        np.add(self.right, totals.rule_right, out=self.right)
        best = np.bincount(totals.row_best[totals.row_best >= 0], minlength=len(self.best))
        np.add(self.best, best, out=self.best)
        answers = np.bincount(rows.classes[rows.classes >= 0], minlength=len(self.answers))
        np.add(self.answers, answers, out=self.answers)

    def counts(self, rules: RuleArrays) -> Counts:
        """Return the four counts of each rule."""
        return Counts(np.full(len(rules), self.rows), self.fired, self.answers[rules.answers], self.right)


@dataclasses.dataclass(frozen=True, slots=True)
class Judged:
    """The validation questions, and what firing rules make of them.

    Attributes
    ----------
    questions : Spool
        A row a question in input order: schemas.SplitQuestions; the other columns of schemas.Split;
        predicted (String), the rule classifier's answer, and predicted_by (UInt32), the rule behind it.
    tallies : RuleTallies
        Of the rules on all of them.
    subset_counts : mapping of str to int
        Questions of each subset.
    with_numbers : set of str
        The subsets whose ids are all numbers.
    """

    questions: Spool
    tallies: RuleTallies
    subset_counts: Mapping[str, int]
    with_numbers: AbstractSet[str]


def tallied(
    rules: RuleArrays, index: RuleIndex, questions: EncodedQuestions, threads: int | None, backend: Backend
) -> RuleTallies:
    """Return what rules come to on questions; `index` has the same rules."""
    tallies = RuleTallies.none_of(questions, rules)
    for block in questions.blocks():
        tallies.add(block.rows, match_totals(index, block.rows, None, threads, backend))
    return tallies


def judge_questions(
    rules: RuleArrays,
    index: RuleIndex,
    kept: Ints,
    validation: EncodedQuestions,
    spool: Spool,
    vote: Vote,
    *,
    threads: int | None,
    backend: Backend,
) -> Judged:
    """Return the validation questions with what the rules make of them, put down in `spool`.

    Parameters
    ----------
    rules, index : RuleArrays, RuleIndex
        All rules in rule order, as arrays and indexed.
    kept : int64[]
        Positions of the rule classifier's rules, ascending.
    validation : EncodedQuestions
        Those to judge.
    spool : Spool
        Empty.
    vote, threads, backend
        See :func:`shortcut_miner.diagnostics.vqa_ce.classifier.predict`.
    """
    tallies = RuleTallies.none_of(validation, rules)
    found = []
    is_number = pl.col("question_id").str.contains(NUMBER).all()
    with spool.writing() as append:
        for block in validation.blocks():
            totals = match_totals(index, block.rows, block.accepted, threads, backend)
            tallies.add(block.rows, totals)
            predicted = classifier.predict(rules, kept, block.rows, vote, backend)
            judged = _with_verdicts(block, totals, *predicted)
            append(judged)
            found.append(judged.group_by("subset").agg(rows=pl.len(), has_numbers=is_number))
    subsets = pl.concat(found).group_by("subset").agg(pl.col("rows").sum(), pl.col("has_numbers").all())
    counts = dict(subsets.select("subset", "rows").iter_rows())
    return Judged(
        spool,
        tallies,
        {name: counts.get(name, 0) for name in SUBSETS},
        {*SUBSETS} - {*subsets.filter(~pl.col("has_numbers"))["subset"]},
    )


def subsets(totals: MatchTotals) -> pl.Series:
    """Return each row's subset: no rule fires: hard; a firing rule is right: easy; else counterexamples."""
    fired, right = pl.Series(totals.row_fired), pl.Series(totals.row_right)
    subset = pl.when(fired == 0).then(pl.lit("hard")).when(right > 0).then(pl.lit("easy"))
    return pl.select(subset=subset.otherwise(pl.lit("counterexamples"))).to_series()


def _with_verdicts(
    block: QuestionBlock, totals: MatchTotals, predicted: Numbers, predicted_by: Ints
) -> pl.DataFrame:
    """Return a block's questions with their items, subsets, rules and predicted answers.

    Objects are null where nothing is known of them.
    """
    is_known = pl.lit(value=False) if block.has_objects is None else block.has_objects
    listed = with_item_lists(block.questions, block.rows).drop("labels", strict=False)
    return listed.with_columns(
        objects=pl.when(is_known).then("objects"),
        subset=subsets(totals),
        matching_rule_count=pl.Series(totals.row_fired.astype(np.uint32)),
        correct_rule_count=pl.Series(totals.row_right.astype(np.uint32)),
        best_rule_id=_rule_ids(totals.row_best),
        best_correct_rule_id=_rule_ids(totals.row_best_right),
        predicted=block.rows.vocabulary.answers.gather(pl.Series(predicted.astype(np.uint32))),
        predicted_by=_rule_ids(predicted_by),
    )


def _rule_ids(positions: Ints) -> pl.Series:
    """Return positions as UInt32 rule ids, -1 as null."""
    ids = pl.Series(positions)
    return ids.set(ids < 0, None).cast(pl.UInt32)
