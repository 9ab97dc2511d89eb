"""Matching: which rules fire on which rows, as totals per row and per rule, or as the pairs themselves."""

from collections.abc import Iterator

from shortcut_miner.mining.arrays import Ints
from shortcut_miner.mining.backends import Backend, resolve_backend
from shortcut_miner.mining.matches import Accepted, MatchTotals
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.mining.trie import RuleIndex, index_for, index_rules
from shortcut_miner.transactions import Transactions

__all__ = [
    "Accepted",
    "MatchTotals",
    "RuleIndex",
    "index_for",
    "index_rules",
    "match_pairs",
    "match_totals",
]


def match_totals(
    rules: RuleArrays | RuleIndex,
    transactions: Transactions,
    accepted: Accepted | None = None,
    threads: int | None = None,
    backend: str | Backend = "auto",
) -> MatchTotals:
    """Return the totals of matching every rule against every row.

    Parameters
    ----------
    rules : RuleArrays or RuleIndex
        In the vocabulary of `transactions`; their order decides which rule is "first".
    transactions : Transactions
        Rows to match. Weights play no part: a row is a row.
    accepted : Accepted, optional
        Answers that count as right; default the row's own class.
    threads : int, optional
        Default: see :func:`shortcut_miner.mining.threads.thread_count`.
    backend : str or Backend
        See :func:`shortcut_miner.mining.backends.resolve_backend`.
    """
    index = index_for(rules, transactions)
    return resolve_backend(backend).match_totals(index, transactions, accepted, threads)


def match_pairs(
    rules: RuleArrays | RuleIndex,
    transactions: Transactions,
    fired: Ints | None = None,
    backend: str | Backend = "auto",
) -> Iterator[tuple[int, Ints, Ints]]:
    """Yield every (row, rule) pair, block by block: (first row, offsets, rule positions).

    Rule ``pairs[offsets[k]:offsets[k + 1]]``, ascending, fire on row ``first + k``. A block holds at most
    16M pairs (128 MB), or one row. `fired` saves a pass if :func:`match_totals` has counted already.
    """
    return resolve_backend(backend).match_pairs(index_for(rules, transactions), transactions, fired)
