"""Mining: every antecedent of 1..max_antecedent items whose best answer reaches min_count rows."""

from shortcut_miner.mining.antecedents import Antecedents, MiningConfig
from shortcut_miner.mining.arrays import Numbers
from shortcut_miner.mining.backends import Backend, resolve_backend
from shortcut_miner.transactions import Transactions

__all__ = ["Antecedents", "MiningConfig", "mine_antecedents", "mine_first_items"]


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


def mine_first_items(
    rows: Transactions,
    order: Numbers,
    first: int,
    stop: int,
    config: MiningConfig,
    threads: int | None = None,
    backend: str | Backend = "auto",
) -> Antecedents:
    """Return the antecedents whose first item is one of ``order[first:stop]``: a part of a whole search.

    Parameters
    ----------
    rows : Transactions
        Rows to mine. What no such antecedent needs may lack: rows without any of these items, and of the
        others the items that come before ``order[first]``.
    order : int32[]
        Items of the vocabulary, in the order of the search; an antecedent's first item is its earliest.
    first, stop : int
        Places in `order`.
    config, threads, backend
        As for :func:`mine_antecedents`; ``max_rules`` holds for this part.

    Returns
    -------
    Antecedents
        Item numbers are places in `order`, which is its ``item_names``. ``levels[1]`` lists those of
        first..stop-1 that reach ``min_count``; ``levels[0]`` counts these rows only.
    """
    return resolve_backend(backend).mine_first_items(rows, order, first, stop, config, threads)
