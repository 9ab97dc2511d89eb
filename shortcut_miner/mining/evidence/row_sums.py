"""Sums over the rows where rules fire, and the confidence that a grouping of the rows would give them."""

import numpy as np
import numpy.typing as npt

from shortcut_miner.mining.arrays import Ints, Numbers
from shortcut_miner.mining.backends import Backend, resolve_backend
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.mining.trie import RuleIndex, index_for
from shortcut_miner.transactions import Transactions

Floats = npt.NDArray[np.float64]


def sum_where_fired(
    index: RuleIndex,
    rows: Transactions,
    table: Ints,
    line: Numbers,
    column: Numbers,
    threads: int | None = None,
    backend: str | Backend = "auto",
) -> Ints:
    """Return, per rule, the sum of ``weight * table[line[rule], column[row]]`` over the rows where it fires.

    Parameters
    ----------
    index : RuleIndex
        The rules, in the item numbers of `rows`.
    rows : Transactions
        Rows with weights; classes play no part.
    table : int64[lines, columns]
        What a rule of one line adds for a row of one column; whole numbers, so that order plays no part.
    line : int32[rules]
        Line of each rule.
    column : int32[rows]
        Column of each row.
    threads : int, optional
        Default: see :func:`shortcut_miner.mining.threads.thread_count`.
    backend : str or Backend
        See :func:`shortcut_miner.mining.backends.resolve_backend`.

    Returns
    -------
    int64[rules]
    """
    job = resolve_backend(backend).sum_where_fired
    return job(index, rows, table, line, column, threads)


def prior_confidence(
    rules: RuleArrays,
    transactions: Transactions,
    groups: Numbers,
    *,
    index: RuleIndex | None = None,
    threads: int | None = None,
    backend: str | Backend = "auto",
) -> Floats:
    """Return the confidence each rule would have if answers depended on a row's group alone.

    That is the mean, over the rows where the rule fires and whose group is known, of the share that the
    rule's answer has in the row's group.

    Parameters
    ----------
    rules : RuleArrays
        Rules mined from `transactions`.
    transactions : Transactions
        The rows; those without a class count nowhere, as in mining.
    groups : int32[rows]
        Group of each row, such as its question type; -1 = not known.
    index : RuleIndex, optional
        The same rules, indexed already.
    threads : int, optional
        Default: see :func:`shortcut_miner.mining.threads.thread_count`.
    backend : str or Backend
        See :func:`shortcut_miner.mining.backends.resolve_backend`.

    Returns
    -------
    float64[rules]
        To 1e-9 or better; NaN where no row of a known group has the antecedent.
    """
    classes, class_count = transactions.classes, transactions.vocabulary.class_count
    group_count = int(groups.max(initial=-1)) + 1
    is_known = (groups >= 0) & (classes >= 0)
    # Rows of no group fall into a last column of zeros; a last line of ones counts the other rows.
    column = np.where(is_known, groups, group_count).astype(np.int32)
    cells = classes[is_known] * np.int64(group_count + 1) + groups[is_known]
    size = (class_count + 1, group_count + 1)
    counts = np.bincount(cells, transactions.weights[is_known], size[0] * size[1]).reshape(size)
    # Shares as whole multiples of 2**-bits, as fine as their sum over all rows leaves room for.
    bits = 62 - transactions.transaction_count.bit_length()
    share = np.rint(counts / np.maximum(counts.sum(axis=0), 1) * 2.0**bits).astype(np.int64)
    share[-1, :-1] = 1
    index = index_for(index or rules, transactions)
    expected = sum_where_fired(index, transactions, share, rules.answers, column, threads, backend)
    rows = rules.antecedent_count
    if not is_known.all():
        last_line = np.full(len(rules), class_count, np.int32)
        rows = sum_where_fired(index, transactions, share, last_line, column, threads, backend)
    prior = np.full(len(rules), np.nan)
    np.divide(expected * 2.0**-bits, rows, out=prior, where=rows > 0)
    return prior
