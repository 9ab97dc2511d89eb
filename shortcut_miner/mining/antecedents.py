"""What is mined: the limits of a search, and the antecedents it finds, a trie with one level per length."""

import dataclasses

import numpy as np
import numpy.typing as npt

from shortcut_miner.mining.arrays import Ints, Level, Numbers
from shortcut_miner.mining.memory import fitting_rules
from shortcut_miner.options import SupersetFilter, check_between, check_whole, fill_in
from shortcut_miner.transactions import Transactions

Mask = npt.NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MiningConfig:
    """What to mine.

    Attributes
    ----------
    min_count : int
        Least rows with antecedent and answer together (``rule_count``).
    max_antecedent : int
        Most items of an antecedent, 1 to 8. VQA-CE's ``max_length`` 5 counts the answer, so is 4 here.
    max_rules : int, optional
        Most antecedents to keep; more end the search early and leave a result marked incomplete: all of one
        item, and all longer ones of the most frequent items, of as many of these as fit. Default: as many as
        fit in memory, see :func:`shortcut_miner.mining.memory.fitting_rules`.
    """

    min_count: int = 8
    max_antecedent: int = 4
    max_rules: int | None = None

    def __post_init__(self) -> None:
        """Raise ConfigError for values without a meaning."""
        check_whole(self, "min_count", 1)
        check_whole(self, "max_antecedent", 1, 8)
        if self.max_rules is not None:
            check_whole(self, "max_rules", 1)

    def resolved_max_rules(self, budget: int | None = None) -> int:
        """Return ``max_rules``, or as many as fit in memory now; see :func:`memory.fitting_rules`."""
        return fitting_rules(budget) if self.max_rules is None else self.max_rules


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SearchConfig(MiningConfig):
    """What to mine, and which rules to keep.

    Attributes
    ----------
    min_confidence : float
        Least confidence of a rule, from 0 to 1; see :func:`shortcut_miner.mining.filters.is_confident`.
    superset_filter, empty_rule
        See :func:`shortcut_miner.mining.filters.dropped_by_subset`.
    """

    min_confidence: float = 0.3
    superset_filter: SupersetFilter = "none"
    empty_rule: bool = False

    def __post_init__(self) -> None:
        """Raise ConfigError for values without a meaning."""
        MiningConfig.__post_init__(self)
        fill_in(self)
        check_between(self, "min_confidence", 0, 1)


@dataclasses.dataclass(frozen=True, slots=True)
class Antecedents:
    """All antecedents found, as a trie: ``levels[k]`` holds those with k items, sorted.

    Attributes
    ----------
    levels : tuple of Level
        ``levels[0]`` is the empty antecedent with the most common answer.
    item_names : int32[]
        Vocabulary item behind each of the miner's item numbers (rising frequency).
    is_complete : bool
        False if ``max_rules`` ended the search; what is there is exact all the same.
    """

    levels: tuple[Level, ...]
    item_names: Numbers
    is_complete: bool

    @property
    def count(self) -> int:
        """Number of antecedents, the empty one left out."""
        return sum(len(level.items) for level in self.levels[1:])

    def paths(self, size: int, which: Ints) -> Numbers:
        """Return int32[len(which), size]: the items of antecedents of one length, in the miner's numbers.

        `which` ascends.
        """
        paths = np.empty((len(which), size), np.int32)
        node = which
        for depth in range(size if len(which) else 0, 0, -1):
            paths[:, depth - 1] = self.levels[depth].items[node]
            starts = self.levels[depth - 1].starts
            low, high = np.searchsorted(starts, node[[0, -1]], side="right") - 1
            children = np.diff(starts[low : high + 2])
            node = np.repeat(np.arange(low, high + 1), children)[node - starts[low]]
        return paths


def root_level(transactions: Transactions, item_count: int) -> Level:
    """Return the empty antecedent: all rows, and the most common answer (the rarer class number on ties)."""
    return root_of(class_counts(transactions), item_count)


def class_counts(transactions: Transactions) -> Ints:
    """Return the original rows of each class: int64[classes]."""
    known = transactions.classes >= 0
    counts = np.bincount(
        transactions.classes[known], transactions.weights[known], transactions.vocabulary.class_count
    )
    return counts.astype(np.int64)


def root_of(counts: Ints, item_count: int) -> Level:
    """Return the empty antecedent of rows with so many of each class."""
    best = int(counts.argmax()) if counts.any() else -1
    return Level(
        items=np.array([-1], np.int32),
        best_class=np.array([best], np.int32),
        antecedent_count=np.array([counts.sum()], np.int64),
        rule_count=np.array([counts.max(initial=0)], np.int64),
        starts=np.array([0, item_count], np.int64),
    )
