from itertools import pairwise

import numpy as np
import polars as pl
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from plain import rules_frame
from reference import OBJECT, WORD, Row, Rule
from strategies import ANSWERS, MANY, Table, encode, item_pool, tables

from shortcut_miner.mining.frames.rules import encode_rules
from shortcut_miner.mining.jobs_numba import match as jobs
from shortcut_miner.mining.kernels_numba import match as kernels
from shortcut_miner.mining.kernels_numba.match import sketch_classes
from shortcut_miner.mining.matcher import (
    Accepted,
    MatchTotals,
    RuleIndex,
    index_rules,
    match_pairs,
    match_totals,
)
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.transactions import Transactions

# Items and answers that no row of the strategies has.
STRANGERS = [(WORD, "stranger"), (OBJECT, "stranger"), (OBJECT, "zz")]


@st.composite
def rule_lists(draw: st.DrawFn, max_rules: int = 30) -> list[Rule]:
    """Draw rules in no order: several answers to one antecedent, empty and impossible antecedents."""
    items = st.frozensets(st.sampled_from([*item_pool(8), *item_pool(8), *STRANGERS]), max_size=5)
    antecedents = draw(st.lists(items, min_size=1, max_size=max_rules))
    answers = st.sampled_from([*ANSWERS, "never"])
    chosen = draw(st.lists(st.tuples(st.sampled_from(antecedents), answers), unique=True, max_size=max_rules))
    return [Rule(antecedent, answer, 2, 1) for antecedent, answer in chosen]


def as_arrays(rules: list[Rule], transactions: Transactions) -> RuleArrays:
    return encode_rules(rules_frame(rules, {}, 10), transactions.vocabulary)


def accept(answers: list[list[str]], transactions: Transactions) -> Accepted:
    number = {name: k for k, name in enumerate(transactions.vocabulary.answers)}
    offsets = np.cumsum([0, *map(len, answers)], dtype=np.int64)
    classes = np.array([number.get(name, -1) for row in answers for name in row], np.int32)
    return Accepted(offsets, classes)


def expected_totals(rules: list[Rule], table: Table, accepted: list[list[str]]) -> MatchTotals:
    """Return the totals by brute force; answers no row has are no class, so never right."""
    fired = reference.match(rules, table.rows)
    known = {row.answer for row in table.rows}
    is_right = [
        [k for k in reference.right(rules, hits, answers) if rules[k].answer in known]
        for hits, answers in zip(fired, accepted, strict=True)
    ]

    def count(per_row: list[list[int]]) -> np.ndarray:
        return np.bincount([k for hits in per_row for k in hits], minlength=len(rules)).astype(np.int64)

    majority = [
        [k for k in hits if rules[k].answer == row.answer]
        for hits, row in zip(fired, table.rows, strict=True)
    ]
    return MatchTotals(
        rule_fired=count(fired),
        rule_right=count(majority),
        rule_accepted=count(is_right),
        row_fired=np.array([len(hits) for hits in fired], np.int64),
        row_right=np.array([len(hits) for hits in is_right], np.int64),
        row_best=np.array([hits[0] if hits else -1 for hits in fired], np.int64),
        row_best_right=np.array([hits[0] if hits else -1 for hits in is_right], np.int64),
    )


def assert_same(got: MatchTotals, expected: MatchTotals) -> None:
    for name in MatchTotals.__slots__:
        array = getattr(got, name)
        assert array.dtype == np.int64, name
        np.testing.assert_array_equal(array, getattr(expected, name), err_msg=name)


def pairs_of(rules: RuleArrays | RuleIndex, transactions: Transactions) -> list[list[int]]:
    """Return the rules of every row from the blocks of pairs, checking the blocks' own promises."""
    rows: list[list[int]] = []
    for first, offsets, pairs in match_pairs(rules, transactions):
        assert first == len(rows)
        assert offsets[0] == 0
        assert offsets[-1] == len(pairs)
        rows += [pairs[low:high].tolist() for low, high in pairwise(offsets)]
    return rows


def assert_equals_brute_force(
    rules: list[Rule], table: Table, accepted: list[list[str]] | None = None, threads: int | None = None
) -> None:
    transactions = encode(table)
    arrays = as_arrays(rules, transactions)
    majority = [[row.answer] if row.answer is not None else [] for row in table.rows]
    totals = match_totals(arrays, transactions, threads=threads)
    assert_same(totals, expected_totals(rules, table, majority))
    if accepted is not None:
        totals = match_totals(arrays, transactions, accept(accepted, transactions), threads)
        assert_same(totals, expected_totals(rules, table, accepted))
    assert pairs_of(arrays, transactions) == reference.match(rules, table.rows)


@MANY
@given(data=st.data(), table=tables(), rules=rule_lists())
def test_equals_brute_force(data: st.DataObject, table: Table, rules: list[Rule]) -> None:
    answers = st.lists(st.sampled_from([*ANSWERS, "never", "unheard of"]), max_size=4)
    accepted = [data.draw(answers) for _ in table.rows]
    assert_equals_brute_force(rules, table, accepted, threads=data.draw(st.sampled_from([None, 1, 2, 5])))


@given(table=tables(min_rows=1, max_rows=40), rules=rule_lists(), rows=st.integers(1, 7))
def test_several_blocks_of_rows(table: Table, rules: list[Rule], rows: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "_ROWS_A_BLOCK", rows)
        for threads in (1, 3):
            assert_equals_brute_force(rules, table, [["yes", "no"]] * len(table.rows), threads)


@given(table=tables(min_rows=1, max_rows=20), rules=rule_lists(), lines=st.integers(1, 40))
def test_more_rows_than_are_taken_together(table: Table, rules: list[Rule], lines: int) -> None:
    table = Table(table.rows * 40, table.weights * 40)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "WORDS", 3)
        patch.setattr(kernels, "LINES", lines)
        for threads in (1, 3):
            assert_equals_brute_force(rules, table, [["yes", "no"]] * len(table.rows), threads)


@given(table=tables(min_rows=1, max_rows=40), rules=rule_lists(), room=st.integers(1, 40))
def test_several_blocks_of_pairs(table: Table, rules: list[Rule], room: int) -> None:
    transactions = encode(table)
    arrays = as_arrays(rules, transactions)
    expected = reference.match(rules, table.rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "_PAIRS_A_BLOCK", room)
        blocks = list(match_pairs(arrays, transactions))
        assert pairs_of(arrays, transactions) == expected
    assert all(len(pairs) <= room or len(offsets) == 2 for _, offsets, pairs in blocks)
    assert len(blocks) >= sum(map(len, expected)) / max(room, *map(len, expected))


@given(table=tables(), other=tables(), rules=rule_lists())
def test_one_index_for_several_tables(table: Table, other: Table, rules: list[Rule]) -> None:
    # The rows that give the item frequencies only choose an order in the trie.
    transactions = encode(table)
    arrays = as_arrays(rules, transactions)
    index = index_rules(arrays, np.bincount(transactions.items, minlength=transactions.vocabulary.item_count))
    for rows in (transactions, encode(other, transactions.vocabulary)):
        totals = match_totals(index, rows)
        assert_same(totals, match_totals(arrays, rows))
        assert pairs_of(index, rows) == pairs_of(arrays, rows)
    fired = [
        np.flatnonzero(totals.row_fired).tolist(),
        [k for k, hits in enumerate(pairs_of(index, rows)) if hits],
    ]
    assert fired[0] == fired[1]


def test_pairs_take_counts_that_are_known() -> None:
    table = Table(reference.word_rows([["a"], ["a", "b"], []], ["x"] * 3), [1] * 3)
    transactions = encode(table)
    rules = as_arrays([Rule(frozenset({(WORD, name)}), "x", 2, 1) for name in "ab"], transactions)
    fired = match_totals(rules, transactions).row_fired
    ((first, offsets, pairs),) = match_pairs(rules, transactions, fired)
    assert (first, offsets.tolist(), pairs.tolist()) == (0, [0, 1, 3, 3], [0, 0, 1])


@pytest.mark.parametrize("rows", [1, 3, 40, 120])
def test_few_rows_and_many_children(rows: int) -> None:
    """A node of 120 children, with fewer rows than that and with more."""
    children = 120
    names = [f"w{k:03}" for k in range(children)]
    random = np.random.default_rng(rows)
    items = [["root", *random.choice(names, 12, replace=False)] for _ in range(rows)]
    items += [[name] for name in names for _ in range(rows + 1)]  # so that "root" is the rarest item
    answers = [f"a{k % 3}" for k in range(len(items))]
    table = Table(reference.word_rows(items, answers), [1] * len(items))
    rules = [
        Rule(frozenset({(WORD, "root"), (WORD, left), (WORD, right)}), f"a{k % 3}", 2, 1)
        for k, (left, right) in enumerate(zip(names, [*names[7:], *names[:7]], strict=True))
    ]
    rules += [Rule(frozenset({(WORD, "root"), (WORD, name)}), "a1", 2, 1) for name in names]
    for threads in (1, 2):
        assert_equals_brute_force(rules, table, threads=threads)


def test_answers_that_share_a_sketch_bit() -> None:
    # Classes 0 and 64 have the same bit in the 64-bit sketch of a row's accepted answers.
    answers = [f"a{k:03}" for k in range(130)]
    table = Table(reference.word_rows([["w"]] * 130, answers), [1] * 130)
    rules = [Rule(frozenset({(WORD, "w")}), answers[k], 2, 1) for k in (129, 64, 0, 65)]
    assert_equals_brute_force(rules, table, [[answers[(k * 64) % 130], answers[0]] for k in range(130)])


def test_every_class_has_its_bit_of_64() -> None:
    classes = np.arange(-1, 200, dtype=np.int32)
    sketch = sketch_classes(np.arange(len(classes) + 1, dtype=np.int64), classes)
    assert sketch.tolist() == [0, *(1 << k % 64 for k in range(200))]
    together = sketch_classes(np.array([0, 3], np.int64), np.array([5, 69, 40], np.int32))
    assert together.tolist() == [1 << 5 | 1 << 40]


def test_answers_of_all_64_sketch_bits() -> None:
    answers = [f"a{k:03}" for k in range(130)]
    table = Table(reference.word_rows([["w"]] * 130, answers), [1] * 130)
    rules = [Rule(frozenset({(WORD, "w")}), answer, 2, 1) for answer in answers]
    assert_equals_brute_force(rules, table, [[answers[k], answers[129 - k]] for k in range(130)])


def test_thread_count_does_not_matter() -> None:
    random = np.random.default_rng(4)
    items = [[f"w{k}" for k in np.flatnonzero(held)] for held in random.random((3000, 24)) < 0.3]
    table = Table(reference.word_rows(items, [f"a{k % 7}" for k in range(3000)]), [1] * 3000)
    transactions = encode(table)
    rules = [
        Rule(
            frozenset((WORD, f"w{k}") for k in random.choice(24, 1 + size % 4, replace=False)),
            f"a{size % 7}",
            2,
            1,
        )
        for size in range(500)
    ]
    arrays = as_arrays(rules, transactions)
    one = match_totals(arrays, transactions, threads=1)
    assert one.rule_fired.sum() > 10_000
    for threads in (2, 5):
        assert_same(match_totals(arrays, transactions, threads=threads), one)


class TestDegenerate:
    TABLE = Table(reference.word_rows([["a", "b"], [], ["a"]], ["x", "y", "y"]), [1, 1, 1])
    NOTHING = Table([], [])

    def test_no_rules(self) -> None:
        assert_equals_brute_force([], self.TABLE, [["x"]] * 3)

    def test_no_rows(self) -> None:
        assert_equals_brute_force([Rule(frozenset({(WORD, "a")}), "x", 2, 1)], self.NOTHING, [])
        assert_equals_brute_force([Rule(frozenset(), "x", 2, 1)], self.NOTHING, [])
        assert_equals_brute_force([], self.NOTHING, [])

    def test_only_the_empty_antecedent(self) -> None:
        rules = [Rule(frozenset(), answer, 2, 1) for answer in ("y", "never", "x")]
        assert_equals_brute_force(rules, self.TABLE, [["x"], [], ["x", "y"]])

    def test_only_impossible_antecedents(self) -> None:
        rules = [Rule(frozenset(STRANGERS[:k]), "x", 2, 1) for k in (1, 2, 3)]
        rules += [Rule(frozenset({(WORD, "a"), STRANGERS[0]}), "y", 2, 1)]
        assert_equals_brute_force(rules, self.TABLE, [["x"]] * 3)

    def test_a_row_of_300_items(self) -> None:
        names = [f"w{k}" for k in range(300)]
        rules = [Rule(frozenset((WORD, name) for name in names[k : k + 8]), "x", 2, 1) for k in range(293)]
        assert_equals_brute_force(rules, Table([Row(frozenset((WORD, n) for n in names), "x")], [1]))


def test_weights_play_no_part() -> None:
    rules = [Rule(frozenset({(WORD, "a")}), "x", 2, 1)]
    light = TestDegenerate.TABLE
    heavy = encode(Table(light.rows, [5, 6, 7]), encode(light).vocabulary)
    assert_same(
        match_totals(as_arrays(rules, encode(light)), heavy),
        match_totals(as_arrays(rules, encode(light)), encode(light)),
    )


class TestEncodeRules:
    def test_numbers_order_and_strangers(self) -> None:
        table = Table([Row(frozenset({(WORD, "b"), (OBJECT, "a"), (WORD, "c")}), "x")], [1])
        like = encode(table).vocabulary
        rules = [
            Rule(frozenset({(OBJECT, "a"), (WORD, "c")}), "x", 9, 4),
            Rule(frozenset(), "unknown", 8, 3),
            Rule(frozenset({(WORD, "a"), (WORD, "b"), (WORD, "c")}), "x", 7, 2),
        ]
        arrays = encode_rules(rules_frame(rules, {"x": 5}, 10), like)
        assert arrays.items.tolist() == [[1, 2], [-1, -1], [like.item_count, -1]]
        assert arrays.answers.tolist() == [0, -1, 0]
        assert arrays.antecedent_count.tolist() == [9, 8, 7]
        assert arrays.rule_count.tolist() == [4, 3, 2]
        assert [array.dtype for array in (arrays.items, arrays.answers)] == [np.int32, np.int32]

    def test_no_rules(self) -> None:
        empty = encode_rules(rules_frame([], {}, 1), encode(TestDegenerate.TABLE).vocabulary)
        assert len(empty) == 0
        assert empty.items.shape == (0, 0)

    def test_an_empty_vocabulary(self) -> None:
        like = encode(Table([], [])).vocabulary
        rules = [Rule(frozenset({(WORD, "a"), (OBJECT, "b")}), "x", 2, 1)]
        assert encode_rules(rules_frame(rules, {}, 10), like).items.tolist() == [[0]]


def test_rules_frame_is_what_the_package_calls_rules() -> None:
    from shortcut_miner.schemas import Rules

    frame = rules_frame([Rule(frozenset({(WORD, "a")}), "x", 2, 1)], {"x": 1}, 10)
    assert isinstance(Rules.validate(frame), pl.DataFrame)
