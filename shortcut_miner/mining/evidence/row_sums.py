"""Sums over the rows where rules fire, and the confidence that a grouping of the rows would give them."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from shortcut_miner.mining.arrays import Ints, Numbers, Summands
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


class Priors:
    """The confidence each rule would have if answers depended on a row's group alone, from sums over blocks.

    That is the mean, over the rows where the rule fires and whose group is known, of the share that the
    rule's answer has in the row's group.

    Parameters
    ----------
    rules : RuleArrays
        Rules mined from `training`.
    training : GroupedBlocks
        The rows, with groups such as their question types; those without a class count nowhere, as in mining.
    """

    def __init__(self, rules: RuleArrays, training: GroupedBlocks) -> None:
        self._rules, self._training = rules, training
        counts, self._is_known_everywhere = _class_counts_by_group(training)
        self._class_count, self._group_count = counts.shape[0] - 1, counts.shape[1] - 1
        # Shares as whole multiples of 2**-bits, as fine as their sum over all rows leaves room for. Rows of
        # no group have the last column, of zeros; the last line, of ones, counts the other rows.
        self._bits = 62 - training.transaction_count.bit_length()
        share = np.rint(counts / np.maximum(counts.sum(axis=0), 1) * 2.0**self._bits).astype(np.int64)
        share[-1, :-1] = 1
        self._share = share
        self._expected = np.zeros(len(rules), np.int64)

    def blocks(self) -> Iterator[tuple[Transactions, Summands | None]]:
        """Yield each block of rows with what it adds to the rules; None where no group is known anywhere."""
        for rows, groups in self._training.grouped_blocks():
            column = self._column(rows, groups)
            is_of_use = self._group_count > 0
            yield (
                rows,
                Summands(self._rules.answers, column, self._share, rows.weights) if is_of_use else None,
            )

    def add(self, sums: Ints) -> None:
        """Add the sums of the summands of a block, int64[rules]; none for an empty array."""
        if len(sums):
            self._expected += sums

    def confidence(self, index: RuleIndex, threads: int | None, backend: str | Backend) -> Floats:
        """Return the priors when all blocks were added; see :func:`prior_confidence`."""
        known_rows = np.zeros(len(self._rules), np.int64)
        if self._is_known_everywhere:
            known_rows = self._rules.antecedent_count
        elif self._group_count:
            line = np.full(len(self._rules), self._class_count, np.int32)
            for rows, groups in self._training.grouped_blocks():
                column = self._column(rows, groups)
                known_rows += sum_where_fired(index, rows, self._share, line, column, threads, backend)
        prior = np.full(len(self._rules), np.nan)
        np.divide(self._expected * 2.0**-self._bits, known_rows, out=prior, where=known_rows > 0)
        return prior

    def _column(self, rows: Transactions, groups: Numbers) -> Numbers:
        is_known = (groups >= 0) & (rows.classes >= 0)
        return np.where(is_known, groups, self._group_count).astype(np.int32)


def prior_confidence(
    rules: RuleArrays,
    training: GroupedBlocks,
    *,
    index: RuleIndex | None = None,
    threads: int | None = None,
    backend: str | Backend = "auto",
) -> Floats:
    """Return the prior of each rule; see :class:`Priors`.

    Parameters
    ----------
    rules, training
        As for :class:`Priors`.
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
    index, chosen, priors = (
        index_for(index or rules, training),
        resolve_backend(backend),
        Priors(rules, training),
    )
    for rows, summands in priors.blocks():
        if summands is not None:
            line, column, table, _ = summands
            priors.add(chosen.sum_where_fired(index, rows, table, line, column, threads))
    return priors.confidence(index, threads, chosen)


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
