"""Whether two backends agree, job by job and number by number, on any rows."""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from shortcut_miner.mining.antecedents import Antecedents, MiningConfig
from shortcut_miner.mining.arrays import Ints, Numbers, Summands
from shortcut_miner.mining.backends import Backend
from shortcut_miner.mining.filters import select_rules
from shortcut_miner.mining.matches import Accepted, MatchTotals
from shortcut_miner.mining.sharding.suffixes import kept_rows
from shortcut_miner.mining.trie import RuleIndex, index_rules
from shortcut_miner.transactions import Transactions

Arrays = Sequence[npt.NDArray[np.generic]]
MOST_PAIRS = 50_000_000


def assert_backends_agree(one: Backend, other: Backend, rows: Transactions, config: MiningConfig) -> int:
    """Check all jobs of a search, its filters and its rules' matches; return how many antecedents it has."""
    mined, expected = (backend.mine_antecedents(rows, config, None) for backend in (one, other))
    assert_same_antecedents(mined, expected)
    assert_same_first_items(one, other, rows, config, expected.item_names)
    for superset_filter in ("none", "immediate", "all"):
        for empty_rule in (False, True):
            left, right = (
                backend.dropped_by_subset(expected, superset_filter, empty_rule, None)
                for backend in (one, other)
            )
            assert_same_arrays(left, right, f"{superset_filter}, {empty_rule}")
    kept = one.dropped_by_subset(expected, "immediate", True, None)
    rules, is_dropped = select_rules(expected, kept, 0.2, empty_rule=True)
    assert_same_matches(one, other, index_rules(rules.take(~is_dropped), rows.item_frequency), rows)
    return expected.count


def assert_same_antecedents(mined: Antecedents, expected: Antecedents) -> None:
    """Check every array of two searches."""
    assert mined.is_complete == expected.is_complete
    assert_same_arrays([mined.item_names], [expected.item_names], "item_names")
    for size, (left, right) in enumerate(zip(mined.levels, expected.levels, strict=True)):
        assert_same_arrays(left, right, f"length {size}")


def assert_same_first_items(
    one: Backend, other: Backend, rows: Transactions, config: MiningConfig, order: Numbers
) -> None:
    """Check the searches of three shards: of the rarest first items, of those between, of the last ones."""
    cuts = [0, len(order) // 2, len(order) - len(order) // 8, len(order)]
    for first, stop in itertools.pairwise(cuts):
        kept = kept_rows(rows, order, first, stop)
        assert kept is not None
        parts = (backend.mine_first_items(kept, order, first, stop, config, None) for backend in (one, other))
        assert_same_antecedents(*parts)


def assert_same_matches(one: Backend, other: Backend, index: RuleIndex, rows: Transactions) -> None:
    """Check the totals, pairs and sums of rules on rows."""
    accepted = some_accepted(rows)
    for answers in (None, accepted):
        left, right = (backend.match_totals(index, rows, answers, None) for backend in (one, other))
        names = MatchTotals.__slots__
        assert_same_arrays(*([getattr(totals, name) for name in names] for totals in (left, right)), names)
    if right.row_fired.sum() <= MOST_PAIRS:
        pairs = [joined(backend.match_pairs(index, rows, right.row_fired)) for backend in (one, other)]
        assert_same_arrays(*pairs, "pairs")
    random = np.random.default_rng(1)
    table = random.integers(-(1 << 40), 1 << 40, (5, 7))
    line, column = (
        random.integers(0, high, len(of)).astype(np.int32) for high, of in ((5, index), (7, rows))
    )
    sums = [[backend.sum_where_fired(index, rows, table, line, column, None)] for backend in (one, other)]
    assert_same_arrays(*sums, "sums")
    summands = Summands(line, column, table, rows.weights)
    matched = [backend.match_totals(index, rows, None, None, summands) for backend in (one, other)]
    assert_same_arrays(*([totals.rule_sum] for totals in matched), "sums beside totals")
    assert_same_arrays(sums[0], [matched[0].rule_sum], "sums by themselves and beside totals")


def joined(blocks: Iterable[tuple[int, Ints, Ints]]) -> tuple[Ints, Ints]:
    """Return how many rules fire on each row and which, checking that blocks follow each other."""
    counts, pairs = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for first, offsets, these in blocks:
        assert first == sum(map(len, counts))
        counts.append(np.diff(offsets))
        pairs.append(these)
    return np.concatenate(counts), np.concatenate(pairs)


def some_accepted(rows: Transactions) -> Accepted:
    """Return up to three accepted classes a row, drawn, with the row's own among them in most."""
    random = np.random.default_rng(0)
    counts = random.integers(0, 4, len(rows))
    classes = random.integers(-1, max(rows.vocabulary.class_count, 1), counts.sum()).astype(np.int32)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    classes[offsets[:-1][counts > 0]] = rows.classes[counts > 0]
    return Accepted(offsets, classes)


def assert_same_arrays(left: Arrays, right: Arrays, what: object) -> None:
    """Check the types, sizes and values of arrays."""
    assert len(left) == len(right), what
    for place, (array, expected) in enumerate(zip(left, right, strict=True)):
        assert array.dtype == expected.dtype, (what, place)
        np.testing.assert_array_equal(array, expected, err_msg=f"{what}, {place}")
