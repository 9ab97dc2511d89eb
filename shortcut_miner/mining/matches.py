"""What matching takes beside rules and rows, and what it adds up."""

import dataclasses

import numpy as np

from shortcut_miner.mining.arrays import Ints, Numbers
from shortcut_miner.transactions import Transactions


@dataclasses.dataclass(frozen=True, slots=True)
class Accepted:
    """The answers that count as right for each row, as CSR of class numbers (-1 = no class)."""

    offsets: Ints
    classes: Numbers

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
    """

    rule_fired: Ints
    rule_right: Ints
    rule_accepted: Ints
    row_fired: Ints
    row_right: Ints
    row_best: Ints
    row_best_right: Ints
