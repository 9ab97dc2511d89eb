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
from shortcut_miner.mining.arrays import Ints, Numbers, Summands
from shortcut_miner.mining.matches import Accepted, MatchTotals
from shortcut_miner.mining.rules import BestSubsets, RuleArrays
from shortcut_miner.mining.trie import RuleIndex
from shortcut_miner.options import SupersetFilter
from shortcut_miner.transactions import RowBlocks, Transactions


class _Known(NamedTuple):
    """A backend that can be asked for: the library it needs, where its ``BACKEND`` is, how to get both."""

    library: str
    jobs: str
    install: str


# The best first: "auto" takes the first that is there.
_KNOWN = {
    "cupy": _Known(
        "cupy",
        "shortcut_miner.mining.jobs_cupy",
        'pip install "cupy-cuda12x[ctk]>=14.1" on a machine with an NVIDIA GPU and its driver',
    ),
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
    match_totals: Callable[
        [RuleIndex, Transactions, Accepted | None, int | None, Summands | None], MatchTotals
    ]
    match_pairs: Callable[[RuleIndex, Transactions, Ints | None], Iterator[tuple[int, Ints, Ints]]]
    sum_where_fired: Callable[[RuleIndex, Transactions, Ints, Numbers, Numbers, int | None], Ints]
    best_subsets: Callable[[RuleArrays, Antecedents, RowBlocks, int | None], BestSubsets]


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """A backend, and in a few words why it is this one."""

    backend: Backend
    reason: str

    def __str__(self) -> str:
        """Return what was chosen and why, to be printed."""
        return f"backend: {self.backend.name} ({self.reason})"


def resolve_backend(backend: str | Backend = "auto") -> Backend:
    """Return the backend of that name; "auto" is the best that is there, and its ``name`` says which.

    Raises
    ------
    BackendError
        Something that this backend needs is not installed, or it has no device to run on.
    ConfigError
        No such backend.

    >>> resolve_backend("numba").name
    'numba'
    """
    return choose_backend(backend).backend


def choose_backend(backend: str | Backend = "auto") -> Choice:
    """Return the backend of that name, and why it is this one; it raises as :func:`resolve_backend`.

    >>> print(choose_backend("numba"))
    backend: numba (asked for)
    """
    if isinstance(backend, Backend):
        return Choice(backend, "given")
    if not isinstance(backend, str) or backend not in ("auto", *_KNOWN):
        names = ", ".join(["auto", *sorted(_KNOWN)])
        raise ConfigError(f"backend: got {backend!r}, expected one of {names}. Choose one of these.")
    reason = "asked for" if backend != "auto" else ""
    for name in _KNOWN if backend == "auto" else [backend]:
        lack = _lack(name)
        if not lack:
            return Choice(_loaded(_KNOWN[name].jobs), reason or "a CUDA device answers")
        reason = lack
    raise BackendError(
        f"backend {name}: got {lack}, expected all that it needs. "
        f"Run {_KNOWN[name].install}, or choose another backend."
    )


def _lack(name: str) -> str:
    """Return what a backend needs and does not have, in a few words; "" if it is ready."""
    library, jobs, _ = _KNOWN[name]
    if find_spec(library) is None:
        return f"no {library}"
    if name != "cupy":
        return ""
    reason: str = import_module(f"{jobs}.device").no_device_reason()
    return reason


@cache
def _loaded(jobs: str) -> Backend:
    backend: Backend = import_module(jobs).BACKEND
    return backend
