"""Who does the heavy work: one object that holds the jobs of a search, compiled for one kind of machine.

A backend is a folder of jobs over its own kernels and one line in ``_KNOWN``. Its jobs have the parameters
and defaults of the public functions of the same names (see :class:`Backend`), and results equal to the last
count.
"""

import dataclasses
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

from shortcut_miner.errors import BackendError, ConfigError
from shortcut_miner.mining.antecedents import Antecedents, Mask, MiningConfig
from shortcut_miner.mining.arrays import Ints, Numbers
from shortcut_miner.mining.matches import Accepted, MatchTotals
from shortcut_miner.mining.rules import BestSubsets, RuleArrays
from shortcut_miner.mining.trie import RuleIndex
from shortcut_miner.options import SupersetFilter
from shortcut_miner.transactions import Transactions


class _Known(NamedTuple):
    """A backend that can be asked for: the library it needs, where its ``BACKEND`` is, how to get both."""

    library: str
    jobs: str
    install: str


# The best first: "auto" takes the first that is there.
_KNOWN = {
    "cupy": _Known("cupy", "shortcut_miner.mining.jobs_cupy", "pip install cupy-cuda12x"),
    "numba": _Known("numba", "shortcut_miner.mining.jobs_numba", "pip install numba"),
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """The jobs of one backend.

    Attributes
    ----------
    name : str
        Which one it is.
    mine_antecedents, mine_first_items : callable
        As in :mod:`shortcut_miner.mining.miner`.
    dropped_by_subset : callable
        As :func:`shortcut_miner.mining.filters.dropped_by_subset`.
    match_totals, match_pairs : callable
        As in :mod:`shortcut_miner.mining.matcher`, of rules that are indexed already.
    sum_where_fired : callable
        As :func:`shortcut_miner.mining.evidence.row_sums.sum_where_fired`.
    best_subsets : callable
        As :func:`shortcut_miner.mining.evidence.subsets.best_subsets`, of a complete search.
    """

    name: str
    mine_antecedents: Callable[[Transactions, MiningConfig, int | None], Antecedents]
    mine_first_items: Callable[[Transactions, Numbers, int, int, MiningConfig, int | None], Antecedents]
    dropped_by_subset: Callable[[Antecedents, SupersetFilter, bool, int | None], list[Mask]]
    match_totals: Callable[[RuleIndex, Transactions, Accepted | None, int | None], MatchTotals]
    match_pairs: Callable[[RuleIndex, Transactions, Ints | None], Iterator[tuple[int, Ints, Ints]]]
    sum_where_fired: Callable[[RuleIndex, Transactions, Ints, Numbers, Numbers, int | None], Ints]
    best_subsets: Callable[[RuleArrays, Antecedents, Transactions, int | None], BestSubsets]


def resolve_backend(backend: str | Backend = "auto") -> Backend:
    """Return the backend of that name; "auto" is the best that is there, and its ``name`` says which.

    Raises
    ------
    BackendError
        Something that this backend needs is not installed.
    ConfigError
        No such backend.

    >>> resolve_backend("numba").name
    'numba'
    """
    if isinstance(backend, Backend):
        return backend
    if not isinstance(backend, str) or backend not in ("auto", *_KNOWN):
        names = ", ".join(["auto", *sorted(_KNOWN)])
        raise ConfigError(f"backend: got {backend!r}, expected one of {names}. Choose one of these.")
    wanted = list(_KNOWN) if backend == "auto" else [backend]
    ready = [name for name in wanted if _is_there(_KNOWN[name].jobs) and _is_there(_KNOWN[name].library)]
    if ready:
        return _loaded(_KNOWN[ready[0]].jobs)
    name = wanted[-1]
    if not _is_there(_KNOWN[name].jobs):
        raise BackendError(
            f"backend {name}: got a version of shortcut-miner without it, expected one that has it. "
            "Choose another backend, or a newer version."
        )
    raise BackendError(
        f"backend {name}: got no {_KNOWN[name].library}, expected all that it needs. "
        f"Run {_KNOWN[name].install}, or choose another backend."
    )


def _is_there(module: str) -> bool:
    return find_spec(module) is not None


@cache
def _loaded(jobs: str) -> Backend:
    backend: Backend = import_module(jobs).BACKEND
    return backend
