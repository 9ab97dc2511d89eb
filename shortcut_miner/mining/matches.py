"""What matching takes beside rules and rows, and what it adds up."""

import dataclasses
from typing import Self

import numpy as np

from shortcut_miner.mining.arrays import Ints, Numbers
from shortcut_miner.transactions import Transactions


@dataclasses.dataclass(frozen=True, slots=True)
class Accepted:
    """The answers that count as right for each row, as CSR of class numbers (-1 = no class)."""

    offsets: Ints
    classes: Numbers

    def part(self, first: int, stop: int) -> "Accepted":
        """Return the answers of the rows first..stop-1, without a copy."""
        offsets = self.offsets[first : stop + 1]
        return Accepted(offsets - offsets[0], self.classes[offsets[0] : offsets[-1]])

    @classmethod
    def majority(cls, transactions: Transactions) -> "Accepted":
        """Accept the row's own class only."""
        return cls(np.arange(len(transactions) + 1, dtype=np.int64), transactions.classes)


@dataclasses.dataclass(frozen=True, slots=True)
class MatchTotals:
    """What firing rules add up to.

    Attributes
    ----------
    rule_fired, rule_right, rule_accepted : int64[rules]
        Rows where the rule fires; of these, where its answer is the row's class; where it is accepted.
    row_fired, row_right : int64[rows]
        Rules that fire on the row, and those whose answer is accepted.
    row_best, row_best_right : int64[rows]
        The first such rule in the order given; -1 if there is none.
    rule_sum : int64[rules]
        What a rule's summands add up to over the rows where it fires; empty if none were given.
    """

    rule_fired: Ints
    rule_right: Ints
    rule_accepted: Ints
    row_fired: Ints
    row_right: Ints
    row_best: Ints
    row_best_right: Ints
    rule_sum: Ints = dataclasses.field(default_factory=lambda: np.empty(0, np.int64))


@dataclasses.dataclass(frozen=True, slots=True)
class RuleTotals:
    """What firing rules add up to over blocks of rows.

    Attributes
    ----------
    class_rows : int64[classes + 1]
        Rows of each class; last, those of none.
    fired, right, accepted : int64[rules]
        As ``rule_fired``, ``rule_right`` and ``rule_accepted`` of :class:`MatchTotals`, over all blocks.
    """

    class_rows: Ints
    fired: Ints
    right: Ints
    accepted: Ints

    @classmethod
    def of_no_rows(cls, rules: int, classes: int) -> Self:
        """Return the totals before the first block."""
        return cls(np.zeros(classes + 1, np.int64), *np.zeros((3, rules), np.int64))

    @property
    def row_count(self) -> int:
        """Number of rows matched."""
        return int(self.class_rows.sum())

    def add(self, rows: Transactions, totals: MatchTotals) -> None:
        """Add a block of rows and what matching it found, in place."""
        none = len(self.class_rows) - 1
        classes = np.where(rows.classes >= 0, rows.classes, none)
        for total, found in (
            (self.class_rows, np.bincount(classes, minlength=none + 1)),
            (self.fired, totals.rule_fired),
            (self.right, totals.rule_right),
            (self.accepted, totals.rule_accepted),
        ):
            np.add(total, found, out=total)
