from fractions import Fraction

import numpy as np
import pytest
import reference
from hypothesis import example, given
from hypothesis import strategies as st
from plain import antecedents_of_size, encode_words, itemset, plain_rules
from reference import WORD, Row
from strategies import MANY, Table, encode, tables

from shortcut_miner.mining.filters import dropped_by_subset, is_confident, select_rules
from shortcut_miner.mining.jobs_numba import filter as jobs
from shortcut_miner.mining.miner import MiningConfig, mine_antecedents

FILTERS = ("none", "immediate", "all")
THRESHOLDS = st.sampled_from([0.0, 0.1, 0.25, 0.3, 1 / 3, 0.5, 0.6, 0.7, 2 / 3, 0.9, 1.0])


def assert_equals_brute_force(
    table: Table,
    min_count: int,
    max_antecedent: int,
    superset_filter: str,
    empty_rule: bool,
    min_confidence: float,
    threads: int | None = None,
) -> None:
    transactions = encode(table)
    like = transactions.vocabulary
    mined = mine_antecedents(transactions, MiningConfig(min_count=min_count, max_antecedent=max_antecedent))
    masks = dropped_by_subset(mined, superset_filter, empty_rule, threads)

    found = reference.mine(table.rows, min_count, max_antecedent, table.weights)
    empty = reference.count_itemsets(table.rows, 0, table.weights).get(frozenset()) if empty_rule else None
    expected = reference.drop_supersets(found, superset_filter, empty)
    dropped = {
        itemset(items, like)
        for size in range(1, max_antecedent + 1)
        for items in antecedents_of_size(mined, size)[masks[size]]
    }
    assert dropped == expected
    assert not masks[0].any()

    rules, is_dropped = select_rules(mined, masks, min_confidence, empty_rule)
    confident = {
        reference.Rule(antecedent, *rule): antecedent in expected
        for antecedent, rule in {**found, **({frozenset(): empty} if empty else {})}.items()
        if reference.is_confident(rule.rule_count, rule.antecedent_count, min_confidence)
    }
    assert dict(zip(plain_rules(rules, like), is_dropped.tolist(), strict=True)) == confident
    assert rules.items.shape == (len(confident), max_antecedent)
    assert rules.items.dtype == np.int32
    assert rules.answers.dtype == np.int32


@pytest.mark.parametrize("superset_filter", FILTERS)
@MANY
@given(
    table=tables(max_weight=3),
    min_count=st.integers(1, 4),
    max_antecedent=st.integers(1, 5),
    empty_rule=st.booleans(),
    min_confidence=THRESHOLDS,
)
def test_equals_brute_force(
    table: Table,
    min_count: int,
    max_antecedent: int,
    superset_filter: str,
    empty_rule: bool,
    min_confidence: float,
) -> None:
    assert_equals_brute_force(table, min_count, max_antecedent, superset_filter, empty_rule, min_confidence)


@pytest.mark.parametrize("superset_filter", FILTERS)
def test_eight_items(superset_filter: str) -> None:
    random = np.random.default_rng(3)
    rows = [
        Row(frozenset((WORD, f"w{k}") for k in np.flatnonzero(held)), "ab"[held[:3].sum() % 2])
        for held in random.random((40, 9)) < 0.7
    ]
    table = Table(rows, [1] * len(rows))
    for empty_rule in (False, True):
        assert_equals_brute_force(table, 2, 8, superset_filter, empty_rule, 0.3)


@pytest.mark.parametrize("superset_filter", FILTERS)
def test_many_blocks_and_threads(monkeypatch: pytest.MonkeyPatch, superset_filter: str) -> None:
    monkeypatch.setattr(jobs, "_PARENTS_A_BLOCK", 3)
    random = np.random.default_rng(5)
    rows = [
        Row(frozenset((WORD, f"w{k}") for k in np.flatnonzero(held)), f"a{held[:4].sum() % 3}")
        for held in random.random((120, 12)) < 0.5
    ]
    for threads in (1, 2, 5):
        assert_equals_brute_force(
            Table(rows, [1] * len(rows)), 2, 4, superset_filter, True, 0.3, threads=threads
        )


@pytest.mark.parametrize("superset_filter", ["immediate", "all"])
def test_long_and_short_runs_of_children(superset_filter: str) -> None:
    # "hub" has 60 children, each pair of leaves few: the subset's run is bisected, not merged.
    rows = [["hub", f"leaf{k:02}"] for k in range(60) for _ in range(2)]
    rows += [["hub", f"leaf{k:02}", f"leaf{k + 1:02}", "z"] for k in range(59) for _ in range(2)]
    table = Table(reference.word_rows(rows, [f"a{k % 3 // 2}" for k in range(len(rows))]), [1] * len(rows))
    for empty_rule in (False, True):
        assert_equals_brute_force(table, 2, 4, superset_filter, empty_rule, 0.5)


class TestSupersetFilter:
    def test_a_discarded_subset_blocks_all_the_same(self) -> None:
        # a -> x (4/5) is blocked by nothing, ab -> x (3/4) by a, abc -> x (3/4) by the dropped ab.
        rows = [["a", "b", "c"]] * 4 + [["a"]]
        transactions = encode_words(rows, ["x", "x", "x", "y", "x"])
        mined = mine_antecedents(transactions, MiningConfig(min_count=2))
        rules, dropped = select_rules(mined, dropped_by_subset(mined, "immediate", False), 0.3, False)
        kept = {
            "".join(sorted(rule.words)) for rule in plain_rules(rules.take(~dropped), transactions.vocabulary)
        }
        assert kept == {"a", "b", "c"}

    def test_immediate_and_all_differ_where_a_better_answer_stands_between(self) -> None:
        # a -> x has 5/9; ab -> y stands between a and abc -> x, and so do ac, bc with other answers.
        rows = {"abc": "xyxyx", "ab": "yyy", "ac": "yyy", "bc": "yyy", "a": "xxxxxxxxxx", "": "x"}
        table = Table(
            [
                Row(frozenset((WORD, name) for name in items), answer)
                for items, answers in rows.items()
                for answer in answers
            ],
            [1] * sum(map(len, rows.values())),
        )
        found = reference.mine(table.rows, 1, 3)
        abc = frozenset((WORD, name) for name in "abc")
        assert abc not in reference.drop_supersets(found, "immediate")
        assert abc in reference.drop_supersets(found, "all")
        for superset_filter in FILTERS:
            assert_equals_brute_force(table, 1, 3, superset_filter, False, 0.3)

    def test_equal_confidence_blocks_and_a_hair_less_does_not(self) -> None:
        # 2^30 / (2^31 - 1) of ab against 2^30 / 2^31 of a and of b: equal as float32, not as fractions.
        big = 1 << 30
        for alone, is_dropped in (("ab", False), ("c", True)):
            rows = [("ab", "x", big), ("ab", "y", big - 1), *((name, "y", 1) for name in alone), ("", "y", 1)]
            table = Table(
                [Row(frozenset((WORD, name) for name in items), answer) for items, answer, _ in rows],
                [weight for *_, weight in rows],
            )
            found = reference.mine(table.rows, 2, 2, table.weights)
            ab = frozenset({(WORD, "a"), (WORD, "b")})
            assert (ab in reference.drop_supersets(found, "all")) is is_dropped
            for superset_filter in FILTERS:
                assert_equals_brute_force(table, 2, 2, superset_filter, False, 0.3)

    @given(data=st.data(), superset_filter=st.sampled_from(FILTERS))
    def test_counts_whose_products_fill_63_bits(self, data: st.DataObject, superset_filter: str) -> None:
        table = data.draw(tables(min_rows=2, max_rows=6, max_items=4, max_answers=2))
        # At most 6 rows: in all less than the square root of 2^63.
        close = st.integers(500_000_000, 500_000_003)
        weights = [data.draw(close) for _ in table.rows]
        assert_equals_brute_force(Table(table.rows, weights), 1, 4, superset_filter, True, 0.3)


class TestIsConfident:
    @given(
        antecedent_count=st.integers(1, 1 << 50),
        threshold=st.floats(0, 1) | THRESHOLDS | st.decimals(0, 1, places=4).map(float),
        offset=st.integers(-2, 2),
    )
    @example(antecedent_count=10, threshold=0.3, offset=0)
    @example(antecedent_count=10**15, threshold=0.3, offset=0)
    def test_equals_fractions_at_the_edge(self, antecedent_count: int, threshold: float, offset: int) -> None:
        edge = int(Fraction(str(threshold)) * antecedent_count) + offset
        rule_count = min(max(edge, 0), antecedent_count)
        got = is_confident(np.array([rule_count]), np.array([antecedent_count]), threshold)
        assert got.tolist() == [reference.is_confident(rule_count, antecedent_count, threshold)]

    def test_the_threshold_is_the_decimal_number(self) -> None:
        # The float nearest to 0.3 is below 3/10, that of 0.7 below 7/10, of 0.1 and 0.6 above or below.
        for tenths in range(11):
            counts = np.array([tenths, tenths * 10**13]), np.array([10, 10**14])
            assert is_confident(*counts, tenths / 10).all()
            if tenths:
                assert not is_confident(counts[0] - 1, counts[1], tenths / 10).any()

    def test_numpy_and_integer_thresholds(self) -> None:
        counts = np.array([3, 10]), np.array([10, 10])
        assert is_confident(*counts, np.float64(0.3)).tolist() == [True, True]
        assert is_confident(*counts, 1).tolist() == [False, True]

    def test_nothing(self) -> None:
        got = is_confident(np.empty(0, np.int64), np.empty(0, np.int64), 0.3)
        assert (got.dtype, len(got)) == (np.bool_, 0)
