"""Rules against the subsets of their antecedents: what the items add to each other.

A rule whose confidence one of its subsets reaches is no shortcut of its own (Bayardo, Agrawal and Gunopulos,
"Constraint-Based Rule Mining in Large, Dense Databases", 1999: *improvement*; Webb, "Discovering Significant
Patterns", 2007: *productive* rules). Every subset of a mined antecedent is mined too, so its row count is
known; how often it goes with an answer that is not its best one is counted in that answer's rows only.
"""

from shortcut_miner.mining.antecedents import Antecedents
from shortcut_miner.mining.backends import Backend, resolve_backend
from shortcut_miner.mining.rules import BestSubsets, RuleArrays
from shortcut_miner.transactions import RowBlocks


def best_subsets(
    rules: RuleArrays,
    antecedents: Antecedents,
    training: RowBlocks,
    threads: int | None = None,
    backend: str | Backend = "auto",
) -> BestSubsets | None:
    """Return the best subset of every rule; None if the search was cut short, so that subsets are missing.

    Parameters
    ----------
    rules : RuleArrays
        Rules whose antecedents were mined, with any answers.
    antecedents : Antecedents
        All that was mined from `training`.
    training : RowBlocks
        The rows; those without a class count nowhere, as in mining.
    threads : int, optional
        Default: see :func:`shortcut_miner.mining.threads.thread_count`.
    backend : str or Backend
        See :func:`shortcut_miner.mining.backends.resolve_backend`.
    """
    if not antecedents.is_complete:
        return None
    return resolve_backend(backend).best_subsets(rules, antecedents, training, threads)
