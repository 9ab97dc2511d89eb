"""Mining: every antecedent of 1..max_antecedent items whose best answer reaches min_count rows."""

from shortcut_miner.mining.antecedents import Antecedents, MiningConfig
from shortcut_miner.mining.backends import Backend, resolve_backend
from shortcut_miner.transactions import Transactions

__all__ = ["Antecedents", "MiningConfig", "mine_antecedents"]


def mine_antecedents(
    transactions: Transactions,
    config: MiningConfig,
    threads: int | None = None,
    backend: str | Backend = "auto",
) -> Antecedents:
    """Return every antecedent that has some answer in ``config.min_count`` rows, with its best answer.

    The best answer is the most frequent one; ties go to the rarer answer overall, then to the
    lexicographically smaller one. Counts are exact, and equal for every number of threads.

    Parameters
    ----------
    transactions : Transactions
        Rows to mine; those without a class count nowhere.
    config : MiningConfig
        What to mine.
    threads : int, optional
        Default: see :func:`shortcut_miner.mining.threads.thread_count`.
    backend : str or Backend
        See :func:`shortcut_miner.mining.backends.resolve_backend`.
    """
    return resolve_backend(backend).mine_antecedents(transactions, config, threads)
