"""Rules as arrays, their order, and what is counted per rule.

A rule's number is its place in the rule order: confidence descending, antecedent_count descending, fewer
items first, then words, objects, attributes and answer ascending. Confidences compare as fractions.
"""

import dataclasses
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shortcut_miner.mining.arrays import Ints, Numbers
from shortcut_miner.mining.threads import sorted_order
from shortcut_miner.transactions import KINDS, Vocabulary

# What `modalities` says of an antecedent with items of two kinds or more.
MULTIMODAL = len(KINDS)


@dataclasses.dataclass(frozen=True, slots=True)
class RuleArrays:
    """Rules in the numbers of a vocabulary.

    Attributes
    ----------
    items : int32[rules, longest antecedent]
        Item numbers, ascending (so words before objects before attributes), filled up with -1.
    answers : int32[rules]
        Class number.
    antecedent_count, rule_count : int64[rules]
        Training rows with the antecedent, and with antecedent and answer.
    """

    items: Numbers
    answers: Numbers
    antecedent_count: Ints
    rule_count: Ints

    def __len__(self) -> int:
        """Return the number of rules."""
        return len(self.answers)

    def take(self, which: Ints | npt.NDArray[np.bool_] | slice) -> "RuleArrays":
        """Return the rules at these positions (or where a mask is true, or in a slice: without a copy)."""
        return RuleArrays(
            self.items[which], self.answers[which], self.antecedent_count[which], self.rule_count[which]
        )

    def sort(self, vocabulary: Vocabulary, threads: int | None = None) -> None:
        """Put the rules in rule order, in place: a copy costs as much as the rules."""
        order = rule_order(self, vocabulary, threads)
        for column in (self.items, self.answers, self.antecedent_count, self.rule_count):
            column[:] = column[order]


@dataclasses.dataclass(frozen=True, slots=True)
class BestSubsets:
    """The most confident of each rule's proper subsets, with the rule's answer.

    Of equally confident ones the one with most rows counts. Zeros mean that there is none.

    Attributes
    ----------
    antecedent_count, rule_count : int64[rules]
        Of all proper subsets, the empty one included.
    single_antecedent_count, single_rule_count : int64[rules]
        Of those with one kind of items (words, objects or attributes), the empty one not included.
    """

    antecedent_count: Ints
    rule_count: Ints
    single_antecedent_count: Ints
    single_rule_count: Ints


def modalities(rules: RuleArrays, vocabulary: Vocabulary) -> npt.NDArray[np.int8]:
    """Return int8[rules]: the one kind of an antecedent's items, as its place in KINDS, or MULTIMODAL.

    The empty antecedent counts as words.
    """
    kinds = vocabulary.kinds_of(rules.items)
    lowest = kinds[:, :1].max(axis=1, initial=-1)  # items ascend, and so do their kinds
    return np.where(kinds.max(axis=1, initial=-1) == lowest, np.maximum(lowest, 0), MULTIMODAL).astype(
        np.int8
    )


def rule_order(rules: RuleArrays, vocabulary: Vocabulary, threads: int | None = None) -> Ints:
    """Return int64[rules]: positions that put the rules in rule order."""
    lengths = (rules.items >= 0).sum(axis=1, dtype=np.int64)
    # Within equal lengths an antecedent whose word list ends earlier comes first, and then one whose object
    # list does: attributes sort below objects, and objects below words.
    firsts = vocabulary.first_items
    shift = np.append(vocabulary.item_count - firsts[1:] - firsts[:-1], 0).astype(np.int32)
    code = shift[vocabulary.kinds_of(rules.items)]  # the last entry is for the padding, -1
    code += rules.items
    fewest = rules.antecedent_count.max(initial=0) - rules.antecedent_count
    keys = _packed([fewest, lengths, *code.T, rules.answers])
    doubt = -(rules.rule_count / np.maximum(rules.antecedent_count, 1))
    return _repair_close_confidences(rules, sorted_order(doubt, *keys, threads=threads))


def _packed(columns: Sequence[npt.NDArray[np.integer]]) -> list[Ints]:
    """Return what sorts as these columns do, the first one first, in fewer columns: their bits side by side.

    >>> (packed,) = _packed([np.array([1, 0, 1]), np.array([-2, 5, -3])])
    >>> packed.argsort().tolist()
    [1, 2, 0]
    """
    packed: list[Ints] = []
    used = 64
    for column in columns:
        lowest = int(column.min(initial=0))
        bits = (int(column.max(initial=0)) - lowest).bit_length()
        if used + bits > 63:
            packed.append(np.zeros(len(column), np.int64))
            used = 0
        packed[-1] <<= bits
        packed[-1] |= np.subtract(column, lowest, dtype=np.int64)
        used += bits
    return packed


def _repair_close_confidences(rules: RuleArrays, order: Ints) -> Ints:
    """Return `order` with runs of equal float confidence but different fractions put right.

    Division rounds monotonically, so floats can only merge neighbours, and below 2^26 not even that.
    """
    if not len(order) or rules.antecedent_count.max() < 1 << 26:
        return order
    top, bottom = rules.rule_count[order], rules.antecedent_count[order]
    confidence = top / bottom
    starts = np.flatnonzero(np.concatenate(([True], confidence[1:] != confidence[:-1])))
    for first, stop in zip(starts, [*starts[1:], len(order)], strict=True):
        divisor = np.gcd(top[first:stop], bottom[first:stop])
        if (
            stop - first > 1
            and len({*zip(top[first:stop] // divisor, bottom[first:stop] // divisor, strict=True)}) > 1
        ):
            run = sorted(range(first, stop), key=lambda k: -Fraction(int(top[k]), int(bottom[k])))
            order[first:stop] = order[run]
    return order
