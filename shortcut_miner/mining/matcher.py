"""Matching: which rules fire on which rows, as totals per row and per rule, or as the pairs themselves."""

from collections.abc import Iterable, Iterator

from shortcut_miner.mining.arrays import Ints, Summands
from shortcut_miner.mining.backends import Backend, resolve_backend
from shortcut_miner.mining.matches import Accepted, MatchTotals, RuleTotals
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.mining.trie import RuleIndex, index_for, index_rules
from shortcut_miner.transactions import Transactions

__all__ = [
    "Accepted",
    "MatchTotals",
    "RuleIndex",
    "RuleTotals",
    "index_for",
    "index_rules",
    "match_pairs",
    "match_totals",
    "rule_totals",
]


def match_totals(
    rules: RuleArrays | RuleIndex,
    transactions: Transactions,
    accepted: Accepted | None = None,
    threads: int | None = None,
    summands: Summands | None = None,
    backend: str | Backend = "auto",
) -> MatchTotals:
    """Return the totals of matching every rule against every row.

    Parameters
    ----------
    rules : RuleArrays or RuleIndex
        In the vocabulary of `transactions`; their order decides which rule is "first".
    transactions : Transactions
        Rows to match. Weights play no part: a row is a row. (What a rule counts in the rows it was mined
        from, by weight, it brings along.)
    accepted : Accepted, optional
        Answers that count as right; default the row's own class.
    threads : int, optional
        Default: see :func:`shortcut_miner.mining.threads.thread_count`.
    summands : Summands, optional
        To be added up in the same pass; see :func:`shortcut_miner.mining.evidence.row_sums.sum_where_fired`.
    backend : str or Backend
        See :func:`shortcut_miner.mining.backends.resolve_backend`.
    """
    index = index_for(rules, transactions)
    return resolve_backend(backend).match_totals(index, transactions, accepted, threads, summands)


def rule_totals(
    index: RuleIndex,
    blocks: Iterable[Transactions],
    class_count: int,
    threads: int | None = None,
    backend: str | Backend = "auto",
) -> RuleTotals:
    """Return what matching rules against blocks of rows adds up to per rule, right being the rows' classes.

    As a row is a row, whatever its weight, these should be original rows, not merged ones. They have their
    classes in a vocabulary of `class_count`.
    """
    chosen = resolve_backend(backend)
    totals = RuleTotals.of_no_rows(len(index), class_count)
    for rows in blocks:
        totals.add(rows, chosen.match_totals(index, rows, None, threads, None))
    return totals


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
