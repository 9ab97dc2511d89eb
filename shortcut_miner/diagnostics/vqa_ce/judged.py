"""Validation questions judged block by block: a row a question, and what all of them add up to."""

import dataclasses
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

import numpy as np
import polars as pl

from shortcut_miner.datasets.folders import NUMBER
from shortcut_miner.diagnostics.vqa_ce import classifier
from shortcut_miner.diagnostics.vqa_ce.classifier import RuleClassifier
from shortcut_miner.diagnostics.vqa_ce.config import Vote
from shortcut_miner.diagnostics.vqa_ce.prepared import EncodedQuestions, QuestionBlock
from shortcut_miner.encoding import with_item_lists
from shortcut_miner.frame_blocks import FrameSpool
from shortcut_miner.mining.arrays import Ints, Numbers
from shortcut_miner.mining.backends import Backend
from shortcut_miner.mining.matcher import MatchTotals, RuleIndex, RuleTotals, match_totals
from shortcut_miner.schemas import SUBSETS


@dataclasses.dataclass(frozen=True, slots=True)
class Judged:
    """The validation questions, and what firing rules make of them.

    Attributes
    ----------
    questions : FrameSpool
        A row a question in input order: schemas.SplitQuestions; the other columns of schemas.Split;
        predicted (String), the rule classifier's answer, and predicted_by (UInt32), the rule behind it.
    totals : RuleTotals
        Of the rules on all of them.
    best : int64[rules]
        Questions on which each rule is the first that fires.
    subset_counts : mapping of str to int
        Questions of each subset.
    with_numbers : set of str
        The subsets whose ids are all numbers.
    """

    questions: FrameSpool
    totals: RuleTotals
    best: Ints
    subset_counts: Mapping[str, int]
    with_numbers: AbstractSet[str]


def judge_questions(
    index: RuleIndex,
    answering: RuleClassifier,
    validation: EncodedQuestions,
    spool: FrameSpool,
    vote: Vote,
    threads: int | None,
    backend: Backend,
) -> Judged:
    """Return the validation questions with what the rules make of them, put down in `spool`.

    Parameters
    ----------
    index : RuleIndex
        All rules, in rule order.
    answering : RuleClassifier
        Those of them that answer.
    validation : EncodedQuestions
        Those to judge.
    spool : FrameSpool
        Takes them.
    vote, threads, backend
        See :func:`shortcut_miner.diagnostics.vqa_ce.classifier.predict`.
    """
    totals = RuleTotals.of_no_rows(len(index), validation.vocabulary.class_count)
    best = np.zeros(len(index), np.int64)
    found = []
    is_number = pl.col("question_id").str.contains(NUMBER).all()
    with spool.writing() as append:
        for block in validation.blocks():
            matched = match_totals(index, block.rows, block.accepted, threads, backend=backend)
            totals.add(block.rows, matched)
            best += np.bincount(matched.row_best[matched.row_best >= 0], minlength=len(best))
            predicted = classifier.predict(answering, block.rows, vote, threads, backend)
            judged = _with_verdicts(block, matched, *predicted)
            append(judged)
            found.append(judged.group_by("subset").agg(rows=pl.len(), has_numbers=is_number))
    subsets = pl.concat(found).group_by("subset").agg(pl.col("rows").sum(), pl.col("has_numbers").all())
    counts = dict(subsets.select("subset", "rows").iter_rows())
    return Judged(
        spool,
        totals,
        best,
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
