"""The rule classifier: which rules it keeps, and how it answers a question.

Of the correct rules that fire on each training row it keeps the first in rule order. On a new row it
answers with the first kept rule that fires (``best``, the released program), or with the answer whose
kept rules have the largest sum of confidences (``weighted``, the article).
"""

import dataclasses
from fractions import Fraction
from typing import Self

import numpy as np
import numpy.typing as npt

from shortcut_miner.diagnostics.vqa_ce.config import Vote
from shortcut_miner.mining.backends import Backend
from shortcut_miner.mining.evidence.row_sums import Priors
from shortcut_miner.mining.matcher import RuleIndex, index_for, match_pairs, match_totals
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.transactions import RowBlocks, Transactions

Ints = npt.NDArray[np.int64]

# Float sums of confidences nearer than this are compared again as fractions.
_NEAR = 1e-9


@dataclasses.dataclass(frozen=True, slots=True)
class RuleClassifier:
    """The rules that answer, ready for any rows of their vocabulary.

    Attributes
    ----------
    kept : int64[]
        Their positions among all rules, ascending.
    rules : RuleArrays
        These rules.
    index : RuleIndex
        The same, indexed.
    """

    kept: Ints
    rules: RuleArrays
    index: RuleIndex

    @classmethod
    def of(cls, rules: RuleArrays, kept: Ints, rows: RowBlocks) -> Self:
        """Return the classifier with the rules at `kept`, indexed for rows like these."""
        chosen = rules.take(kept)
        return cls(kept, chosen, index_for(chosen, rows))


def kept_rules(
    rules: RuleArrays | RuleIndex,
    training: RowBlocks,
    threads: int | None = None,
    backend: str | Backend = "auto",
    priors: Priors | None = None,
) -> Ints:
    """Return the ascending positions of the rules that some training row needs.

    Parameters
    ----------
    rules : RuleArrays or RuleIndex
        All rules, in rule order.
    training : RowBlocks
        The rows that they were mined from; matched block by block.
    threads, backend
        See :func:`shortcut_miner.mining.matcher.match_totals`.
    priors : Priors, optional
        Of all rules; the blocks are added to them in the same pass.
    """
    index = index_for(rules, training)
    is_kept = np.zeros(len(index), np.bool_)
    blocks = ((rows, None) for rows in training.blocks()) if priors is None else priors.blocks()
    for rows, summands in blocks:
        totals = match_totals(index, rows, None, threads, summands, backend)
        is_kept[totals.row_best_right[totals.row_best_right >= 0]] = True
        if priors is not None:
            priors.add(totals.rule_sum)
    return np.flatnonzero(is_kept)


def predict(
    classifier: RuleClassifier,
    rows: Transactions,
    vote: Vote,
    threads: int | None = None,
    backend: str | Backend = "auto",
) -> tuple[npt.NDArray[np.int32], Ints]:
    """Return each row's answer (class number) and the rule behind it (-1: no kept rule fires).

    Parameters
    ----------
    classifier : RuleClassifier
        The rules that answer.
    rows : Transactions
        In the rules' vocabulary. A row without a firing rule gets the most common training answer.
    vote : {"best", "weighted"}
        ``weighted`` breaks ties by the larger answer_count, then lexicographically; the rule reported is
        the first that fires with the winning answer.
    threads : int, optional
        Default: see :func:`shortcut_miner.mining.threads.thread_count`.
    backend : str or Backend
        See :func:`shortcut_miner.mining.backends.resolve_backend`.
    """
    if vote == "best":
        first = match_totals(classifier.index, rows, None, threads, backend=backend).row_best
    else:
        first = _weighted(classifier, rows, backend)
    default = _most_common_answer(rows)
    if not len(classifier.kept):
        return np.full(len(rows), default, np.int32), np.full(len(rows), -1, np.int64)
    answers = np.where(first >= 0, classifier.rules.answers[first], default).astype(np.int32)
    return answers, np.where(first >= 0, classifier.kept[first], -1)


def _most_common_answer(rows: Transactions) -> int:
    """Return the class with the largest count, the lexicographically smaller one on ties."""
    counts = rows.vocabulary.answer_counts
    return int(np.flatnonzero(counts == counts.max())[0]) if len(counts) else -1


def _weighted(classifier: RuleClassifier, rows: Transactions, backend: str | Backend) -> Ints:
    """Return the first rule with each row's winning answer, -1 where no rule fires."""
    first = np.full(len(rows), -1, np.int64)
    rules = classifier.rules
    confidence = rules.rule_count / rules.antecedent_count
    counts = rows.vocabulary.answer_counts
    for start, offsets, pairs in match_pairs(classifier.index, rows, backend=backend):
        row = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        answer = rules.answers[pairs].astype(np.int64)
        order = np.lexsort((pairs, answer, row))
        row, answer, pairs = row[order], answer[order], pairs[order]
        if not len(pairs):
            continue
        is_new = np.concatenate(([True], (row[1:] != row[:-1]) | (answer[1:] != answer[:-1])))
        group = np.flatnonzero(is_new)
        total = np.add.reduceat(confidence[pairs], group)
        group_row, group_answer = row[group], answer[group]
        # Winner first within each row: larger sum, then the commoner answer, then the smaller class.
        ranked = np.lexsort((group_answer, -counts[group_answer], -total, group_row))
        best = ranked[np.concatenate(([True], group_row[ranked][1:] != group_row[ranked][:-1]))]
        top = np.zeros(len(offsets) - 1)
        top[group_row[best]] = total[best]
        near = total >= top[group_row] - _NEAR
        rivals = np.bincount(group_row[near], minlength=len(top)) > 1
        first[start + group_row[best]] = pairs[group[best]]
        ends = np.append(group[1:], len(pairs))
        for rival_row in np.flatnonzero(rivals):
            low, high = np.searchsorted(group_row, (rival_row, rival_row + 1))
            winner = min(
                (low + np.flatnonzero(near[low:high])).tolist(),
                key=lambda g: (
                    -_exact_sum(rules, pairs[group[g] : ends[g]]),
                    -counts[group_answer[g]],
                    group_answer[g],
                ),
            )
            first[start + rival_row] = pairs[group[winner]]
    return first


def _exact_sum(rules: RuleArrays, which: Ints) -> Fraction:
    counts = zip(rules.rule_count[which], rules.antecedent_count[which], strict=True)
    return sum((Fraction(int(right), int(rows)) for right, rows in counts), Fraction(0))
