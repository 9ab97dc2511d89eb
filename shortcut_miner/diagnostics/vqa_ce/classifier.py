"""The rule classifier: which rules it keeps, and how it answers a question.

Of the correct rules that fire on each training row it keeps the first in rule order. On a new row it
answers with the first kept rule that fires (``best``, the released program), or with the answer whose
kept rules have the largest sum of confidences (``weighted``, the article).
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shortcut_miner.diagnostics.vqa_ce.config import Vote
from shortcut_miner.mining.backends import Backend
from shortcut_miner.mining.matcher import MatchTotals, match_pairs, match_totals
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.transactions import Transactions

Ints = npt.NDArray[np.int64]

# Float sums of confidences nearer than this are compared again as fractions.
_NEAR = 1e-9


def kept_rules(training: MatchTotals) -> Ints:
    """Return the ascending positions of the rules that some training row needs."""
    first = training.row_best_right
    return np.unique(first[first >= 0])


def predict(
    rules: RuleArrays, kept: Ints, rows: Transactions, vote: Vote, backend: str | Backend = "auto"
) -> tuple[npt.NDArray[np.int32], Ints]:
    """Return each row's answer (class number) and the rule behind it (-1: no kept rule fires).

    Parameters
    ----------
    rules : RuleArrays
        All rules, in rule order.
    kept : int64[]
        Positions of the classifier's rules, ascending.
    rows : Transactions
        In the rules' vocabulary. A row without a firing rule gets the most common training answer.
    vote : {"best", "weighted"}
        ``weighted`` breaks ties by the larger answer_count, then lexicographically; the rule reported is
        the first that fires with the winning answer.
    backend : str or Backend
        See :func:`shortcut_miner.mining.backends.resolve_backend`.
    """
    classifier = rules.take(kept)
    if vote == "best":
        first = match_totals(classifier, rows, backend=backend).row_best
    else:
        first = _weighted(classifier, rows, backend)
    default = _most_common_answer(rows)
    if not len(kept):
        return np.full(len(rows), default, np.int32), np.full(len(rows), -1, np.int64)
    answers = np.where(first >= 0, classifier.answers[first], default).astype(np.int32)
    return answers, np.where(first >= 0, kept[first], -1)


def _most_common_answer(rows: Transactions) -> int:
    """Return the class with the largest count, the lexicographically smaller one on ties."""
    counts = rows.vocabulary.answer_counts
    return int(np.flatnonzero(counts == counts.max())[0]) if len(counts) else -1


def _weighted(classifier: RuleArrays, rows: Transactions, backend: str | Backend) -> Ints:
    """Return the first rule with each row's winning answer, -1 where no rule fires."""
    first = np.full(len(rows), -1, np.int64)
    confidence = classifier.rule_count / classifier.antecedent_count
    counts = rows.vocabulary.answer_counts
    for start, offsets, pairs in match_pairs(classifier, rows, backend=backend):
        row = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        answer = classifier.answers[pairs].astype(np.int64)
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
                    -_exact_sum(classifier, pairs[group[g] : ends[g]]),
                    -counts[group_answer[g]],
                    group_answer[g],
                ),
            )
            first[start + rival_row] = pairs[group[winner]]
    return first


def _exact_sum(rules: RuleArrays, which: Ints) -> Fraction:
    counts = zip(rules.rule_count[which], rules.antecedent_count[which], strict=True)
    return sum((Fraction(int(right), int(rows)) for right, rows in counts), Fraction(0))
