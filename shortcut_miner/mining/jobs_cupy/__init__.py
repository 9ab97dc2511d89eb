"""The jobs of a search on a GPU: what lies on the device, plans of its memory, launches of kernels.

The best subsets of rules are numba's: they are looked up for few rules, in what was mined.
"""

from shortcut_miner.mining.backends import Backend
from shortcut_miner.mining.jobs_cupy.filter import dropped_by_subset
from shortcut_miner.mining.jobs_cupy.match import match_pairs, match_totals
from shortcut_miner.mining.jobs_cupy.mine import mine_antecedents, mine_first_items
from shortcut_miner.mining.jobs_cupy.row_sums import sum_where_fired
from shortcut_miner.mining.jobs_numba.subsets import best_subsets

BACKEND = Backend(
    name="cupy",
    mine_antecedents=mine_antecedents,
    mine_first_items=mine_first_items,
    dropped_by_subset=dropped_by_subset,
    match_totals=match_totals,
    match_pairs=match_pairs,
    sum_where_fired=sum_where_fired,
    best_subsets=best_subsets,
)
