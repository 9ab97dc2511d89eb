"""The jobs of a search with numba's kernels: chunks for the threads, working memory, calls of kernels."""

from shortcut_miner.mining.backends import Backend
from shortcut_miner.mining.jobs_numba.filter import dropped_by_subset
from shortcut_miner.mining.jobs_numba.match import match_pairs, match_totals, sum_where_fired
from shortcut_miner.mining.jobs_numba.mine import mine_antecedents, mine_first_items
from shortcut_miner.mining.jobs_numba.subsets import best_subsets

BACKEND = Backend(
    name="numba",
    mine_antecedents=mine_antecedents,
    mine_first_items=mine_first_items,
    dropped_by_subset=dropped_by_subset,
    match_totals=match_totals,
    match_pairs=match_pairs,
    sum_where_fired=sum_where_fired,
    best_subsets=best_subsets,
)
