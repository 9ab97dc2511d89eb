import dataclasses
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from plain import plain_rules, rules_frame, rules_schema, table_rules
from reference import ATTRIBUTE, OBJECT, WORD, Rule
from strategies import Table, encode, has_attributes, items_of, tables

from shortcut_miner.mining.filters import dropped_by_subset, select_rules
from shortcut_miner.mining.frames.rules import encode_rules, rules_table
from shortcut_miner.mining.miner import MiningConfig, mine_antecedents
from shortcut_miner.mining.rules import RuleArrays, rule_order
from shortcut_miner.schemas import ANTECEDENT, MODALITIES, Rules
from shortcut_miner.transactions import KINDS, Vocabulary

# "a" < "a b" < "b": prefixes, and blanks that sort before letters; answers in class order.
LIKE = Vocabulary(
    words=pl.Series(["a", "a b", "b", "dog"]),
    objects=pl.Series(["a", "b", "dog"]),
    answers=pl.Series(["no", "yes", "a"]),
    answer_counts=np.array([5, 5, 9]),
    attributes=pl.Series(["a", "dog", "x=1"]),
)
ITEMS = items_of(LIKE)


def as_arrays(rules: list[Rule]) -> RuleArrays:
    return encode_rules(rules_frame(rules, {}, 1 << 60), LIKE)


@st.composite
def rules_with_counts(draw: st.DrawFn, counts: st.SearchStrategy[int], max_size: int = 25) -> list[Rule]:
    """Draw distinct rules with many ties in confidence, counts and length."""
    heads = draw(
        st.lists(
            st.tuples(st.frozensets(st.sampled_from(ITEMS), max_size=4), st.sampled_from(list(LIKE.answers))),
            unique=True,
            max_size=max_size,
        )
    )
    rules = []
    for antecedent, answer in heads:
        bottom = draw(counts)
        top = draw(st.integers(max(bottom - 2, 1), bottom) | st.integers(1, bottom))
        rules.append(Rule(antecedent, answer, bottom, top))
    return rules


def class_key(rule: Rule) -> tuple[object, ...]:
    # Within one antecedent and confidence the class number decides, which is (answer_count, name).
    return (*reference.rule_key(rule)[:-1], list(LIKE.answers).index(rule.answer))


class TestRuleOrder:
    @given(rules=rules_with_counts(st.integers(1, 6)))
    def test_small_counts(self, rules: list[Rule]) -> None:
        self.assert_sorted(rules)

    @given(rules=rules_with_counts(st.integers((1 << 26) - 2, (1 << 26) + 2) | st.integers(1, 1 << 31)))
    def test_counts_from_two_to_the_26(self, rules: list[Rule]) -> None:
        self.assert_sorted(rules)

    @given(rules=rules_with_counts(st.integers(3_037_000_490, 3_037_000_499)))
    def test_largest_counts_allowed(self, rules: list[Rule]) -> None:
        self.assert_sorted(rules)

    @given(rules=rules_with_counts(st.integers(1, 6)), threads=st.integers(2, 4))
    def test_parts_that_are_sorted_side_by_side(self, rules: list[Rule], threads: int) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("shortcut_miner.mining.threads._MANY", 1)
            patch.setenv("NUMBA_NUM_THREADS", str(threads))
            self.assert_sorted(rules)

    def test_quotients_that_floats_merge(self) -> None:
        far = 3_037_000_498
        pairs = [(far - 2, far - 1), (far, far + 1), (far - 1, far)]
        assert len({top / below for top, below in pairs}) == 1
        assert len({Fraction(top, below) for top, below in pairs}) == 3
        rules = [
            Rule(frozenset({item}), "no", below, top)
            for item, (top, below) in zip(ITEMS[:3], pairs, strict=True)
        ]
        assert [rule.antecedent_count for rule in self.sorted(rules)] == [far + 1, far, far - 1]
        # An equal fraction of smaller counts goes between unequal ones.
        rules.append(Rule(frozenset({ITEMS[4]}), "no", far // 2, (far - 2) // 2))
        rules.append(Rule(frozenset({ITEMS[5]}), "no", far, far - 2))
        self.assert_sorted(rules)

    def test_each_criterion_in_turn(self) -> None:
        expected = [
            Rule(frozenset({ITEMS[3]}), "a", 2, 2),  # confidence
            Rule(frozenset({ITEMS[3]}), "a", 8, 4),  # antecedent_count
            Rule(frozenset(), "a", 4, 2),  # fewer items
            Rule(frozenset({(ATTRIBUTE, "a")}), "a", 4, 2),  # words and objects: none before any
            Rule(frozenset({(ATTRIBUTE, "x=1")}), "a", 4, 2),
            Rule(frozenset({(OBJECT, "a")}), "a", 4, 2),
            Rule(frozenset({(OBJECT, "dog")}), "a", 4, 2),
            Rule(frozenset({(OBJECT, "a"), (ATTRIBUTE, "dog")}), "a", 4, 2),
            Rule(frozenset({(OBJECT, "a"), (OBJECT, "b")}), "a", 4, 2),
            Rule(frozenset({(OBJECT, "b"), (ATTRIBUTE, "a")}), "a", 4, 2),
            Rule(frozenset({(WORD, "a"), (ATTRIBUTE, "dog")}), "a", 4, 2),
            Rule(frozenset({(WORD, "a"), (OBJECT, "dog")}), "a", 4, 2),
            Rule(frozenset({(WORD, "a"), (WORD, "b")}), "a", 4, 2),
            Rule(frozenset({(WORD, "a b"), (OBJECT, "a")}), "a", 4, 2),
            Rule(frozenset({(WORD, "a b"), (OBJECT, "b")}), "no", 4, 2),  # objects
            Rule(frozenset({(WORD, "a b"), (OBJECT, "b")}), "yes", 4, 2),  # answer
        ]
        expected.insert(7, Rule(frozenset({(WORD, "a")}), "a", 4, 2))
        assert self.sorted(expected[::-1]) == expected
        assert self.sorted(expected) == expected

    def test_nothing(self) -> None:
        order = rule_order(as_arrays([]), LIKE)
        assert order.tolist() == []
        assert order.dtype == np.int64

    @staticmethod
    def sorted(rules: list[Rule]) -> list[Rule]:
        arrays = as_arrays(rules)
        return plain_rules(arrays.take(rule_order(arrays, LIKE)), LIKE)

    def assert_sorted(self, rules: list[Rule]) -> None:
        assert self.sorted(rules) == sorted(rules, key=class_key)


class TestRulesTable:
    @given(
        table=tables(max_weight=3),
        min_confidence=st.sampled_from([0.0, 0.3, 0.5, 1.0]),
        empty_rule=st.booleans(),
        superset_filter=st.sampled_from(["none", "immediate", "all"]),
    )
    def test_equals_brute_force(
        self, table: Table, min_confidence: float, empty_rule: bool, superset_filter: str
    ) -> None:
        transactions = encode(table)
        like = transactions.vocabulary
        mined = mine_antecedents(transactions, MiningConfig(min_count=2))
        masks = dropped_by_subset(mined, superset_filter, empty_rule)
        rules, is_dropped = select_rules(mined, masks, min_confidence, empty_rule)
        kept = rules.take(~is_dropped)
        kept = kept.take(rule_order(kept, like))
        frame = rules_table(kept, like, transactions.transaction_count)

        expected = reference.build_rules(
            table.rows,
            min_count=2,
            min_confidence=min_confidence,
            superset_filter=superset_filter,
            empty_rule=empty_rule,
            weights=table.weights,
        )
        assert table_rules(frame) == expected
        Rules.validate(frame)
        has_column = has_attributes(table.rows)
        assert dict(frame.schema) == rules_schema(attributes=has_column)
        answer_counts = reference.count_answers(table.rows, table.weights)
        total = max(sum(table.weights), 1)
        plain = rules_frame(expected, answer_counts, total, attributes=has_column)
        assert frame.drop("lift").equals(plain.drop("lift"))
        for row in frame.iter_rows(named=True):
            lift = Fraction(
                row["rule_count"] * row["transaction_count"], row["antecedent_count"] * row["answer_count"]
            )
            assert row["lift"] == pytest.approx(float(lift), rel=1e-15)
        again = encode_rules(frame, like)
        width = again.items.shape[1]
        assert np.array_equal(again.items, kept.items[:, :width])
        assert (kept.items[:, width:] == -1).all()
        for name in ("answers", "antecedent_count", "rule_count"):
            assert np.array_equal(getattr(again, name), getattr(kept, name))

    def test_lists_and_modality(self) -> None:
        rules = [
            Rule(frozenset({(WORD, "dog"), (WORD, "a"), (OBJECT, "dog"), (OBJECT, "a")}), "yes", 4, 2),
            Rule(frozenset({(OBJECT, "b")}), "no", 4, 1),
            Rule(frozenset({(WORD, "a b")}), "no", 4, 1),
            Rule(frozenset(), "a", 10, 1),
            Rule(frozenset({(ATTRIBUTE, "dog"), (ATTRIBUTE, "a")}), "a", 4, 1),
            Rule(frozenset({(ATTRIBUTE, "x=1"), (OBJECT, "dog")}), "a", 4, 1),
            Rule(frozenset({(ATTRIBUTE, "x=1"), (WORD, "a")}), "a", 4, 1),
        ]
        frame = rules_table(as_arrays(rules), LIKE, 10)
        assert frame["antecedent_words"].to_list() == [["a", "dog"], [], ["a b"], [], [], [], ["a"]]
        assert frame["antecedent_objects"].to_list() == [["a", "dog"], ["b"], [], [], [], ["dog"], []]
        attributes = [[], [], [], [], ["a", "dog"], ["x=1"], ["x=1"]]
        assert frame["antecedent_attributes"].to_list() == attributes
        modalities = ["multimodal", "objects", "words", "words", "attributes", "multimodal", "multimodal"]
        assert frame["modality"].to_list() == modalities
        assert frame["answer_count"].to_list() == [5, 5, 5, 9, 9, 9, 9]
        assert frame["rule_id"].to_list() == [*range(7)]
        assert (*KINDS, "multimodal") == MODALITIES
        assert [f"antecedent_{kind}" for kind in KINDS] == [*ANTECEDENT]

    def test_no_rules_are_typed(self) -> None:
        for like in (LIKE, encode(Table([], [])).vocabulary):
            frame = rules_table(encode_rules(rules_frame([], {}, 1), like), like, 0)
            assert dict(frame.schema) == rules_schema(attributes=like is LIKE)
            assert frame.height == 0

    def test_rules_of_another_vocabulary(self) -> None:
        """An item that the vocabulary lacks never fires, of a kind that can't occur too."""
        rules = [Rule(frozenset({item}), "no", 4, 1) for item in ITEMS]
        bare = dataclasses.replace(LIKE, attributes=None)
        arrays = encode_rules(rules_frame(rules, {}, 10), bare)
        assert arrays.items[:, 0].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 7, 7]
        assert bare.item_count == 7


def test_take() -> None:
    rules = as_arrays([Rule(frozenset({item}), "no", 5, k + 1) for k, item in enumerate(ITEMS[:4])])
    assert rules.take(np.array([3, 0])).rule_count.tolist() == [4, 1]
    assert rules.take(np.array([True, False, False, True])).items.tolist() == [[0], [3]]
    assert len(rules) == 4
