"""Sums over the rows where rules fire, and the confidence that a grouping of the rows would give them."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from shortcut_miner.encoding import Transactions
from shortcut_miner.mining.kernels_numba import row_sums as kernels
from shortcut_miner.mining.kernels_numba import rows as row_kernels
from shortcut_miner.mining.matcher import RuleIndex, index_rules
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.mining.threads import thread_count

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int32]


def sum_where_fired(
    index: RuleIndex,
    rows: Transactions,
    table: Ints,
    line: Numbers,
    column: Numbers,
    threads: int | None = None,
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

    Returns
    -------
    int64[rules]
    """
    trie = index.trie
    same_order = np.arange(len(rows), dtype=np.int64)
    offsets, items = row_kernels.project_rows(rows.offsets, rows.items, same_order, index.numbers)
    starts, occurrence_rows, after = row_kernels.deliver(offsets, items, index.item_count)
    _, work = row_kernels.item_work(offsets, items, index.item_count)
    summands = kernels.Summands(line[trie.rules], column, table, rows.weights)
    sums = np.zeros(len(index), np.int64)
    for place in range(trie.rule_starts[1]):  # without items: these fire on every row
        sums[place] = rows.weights @ table[summands.line[place]][column]
    first, stop = int(trie.child_starts[0]), int(trie.child_starts[1])
    threads = threads or thread_count()
    cost = np.cumsum(work[trie.items[first:stop]] + 1)
    shares = 8 * threads if len(cost) else 1
    cuts = np.searchsorted(cost, [cost[-1] * share / shares for share in range(1, shares)])
    edges = np.unique([first, *(first + cuts), stop])

    def add(share: int) -> None:
        nodes = edges[share], edges[share + 1]
        kernels.add_where_fired(
            *nodes, starts, occurrence_rows, after, offsets, items, trie, index.depth, summands, sums
        )

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(add, range(len(edges) - 1)))
    by_rule = np.empty_like(sums)
    by_rule[trie.rules] = sums
    return by_rule


def prior_confidence(
    rules: RuleArrays,
    transactions: Transactions,
    groups: Numbers,
    *,
    index: RuleIndex | None = None,
    threads: int | None = None,
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

    Returns
    -------
    float64[rules]
        To 1e-9 or better; NaN where no row of a known group has the antecedent.
    """
    classes, class_count = transactions.classes, len(transactions.vocabulary.answers)
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
    index = index or index_rules(rules, item_frequency(transactions))
    expected = sum_where_fired(index, transactions, share, rules.answers, column, threads)
    rows = rules.antecedent_count
    if not is_known.all():
        last_line = np.full(len(rules), class_count, np.int32)
        rows = sum_where_fired(index, transactions, share, last_line, column, threads)
    prior = np.full(len(rules), np.nan)
    np.divide(expected * 2.0**-bits, rows, out=prior, where=rows > 0)
    return prior


def item_frequency(transactions: Transactions) -> Ints:
    """Return int64[items]: rows that hold each item of the vocabulary."""
    return np.bincount(transactions.items, minlength=transactions.vocabulary.item_count)
