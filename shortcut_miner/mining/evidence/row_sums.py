"""Sums over the rows where rules fire, and the confidence that a grouping of the rows would give them."""

import numpy as np
import numpy.typing as npt

from shortcut_miner.mining.arrays import Ints, Numbers
from shortcut_miner.mining.backends import Backend, resolve_backend
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.mining.trie import RuleIndex, index_for
from shortcut_miner.transactions import GroupedBlocks, Transactions

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
    training: GroupedBlocks,
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
        Rules mined from `training`.
    training : GroupedBlocks
        The rows, with groups such as their question types; those without a class count nowhere, as in mining.
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
    counts, is_known_everywhere = _class_counts_by_group(training)
    class_count, group_count = counts.shape[0] - 1, counts.shape[1] - 1
    # Shares as whole multiples of 2**-bits, as fine as their sum over all rows leaves room for. Rows of no
    # group have the last column, of zeros; the last line, of ones, counts the other rows.
    bits = 62 - training.transaction_count.bit_length()
    share = np.rint(counts / np.maximum(counts.sum(axis=0), 1) * 2.0**bits).astype(np.int64)
    share[-1, :-1] = 1
    index, chosen = index_for(index or rules, training), resolve_backend(backend)
    last_line = np.full(len(rules), class_count, np.int32)
    expected, known_rows = np.zeros((2, len(rules)), np.int64)
    for rows, groups in training.grouped_blocks():
        column = np.where((groups >= 0) & (rows.classes >= 0), groups, group_count).astype(np.int32)
        expected += chosen.sum_where_fired(index, rows, share, rules.answers, column, threads)
        if not is_known_everywhere:
            known_rows += chosen.sum_where_fired(index, rows, share, last_line, column, threads)
    known_rows = rules.antecedent_count if is_known_everywhere else known_rows
    prior = np.full(len(rules), np.nan)
    np.divide(expected * 2.0**-bits, known_rows, out=prior, where=known_rows > 0)
    return prior


def _class_counts_by_group(training: GroupedBlocks) -> tuple[Ints, bool]:
    """Return original rows as int64[classes + 1, groups + 1], and whether each row's place is known.

    The last line and the last column are zeros.
    """
    counts = np.zeros((training.vocabulary.class_count + 1, 1), np.int64)
    is_known_everywhere = True
    for rows, groups in training.grouped_blocks():
        is_known = (groups >= 0) & (rows.classes >= 0)
        is_known_everywhere &= bool(is_known.all())
        width = max(counts.shape[1], int(groups.max(initial=-1)) + 2)
        counts = np.pad(counts, ((0, 0), (0, width - counts.shape[1])))
        cells = rows.classes[is_known] * np.int64(width) + groups[is_known]
        found = np.bincount(cells, rows.weights[is_known], counts.size)
        counts += found.astype(np.int64).reshape(counts.shape)
    return counts, is_known_everywhere
