"""The rule classifier against plain Python, on small tables full of ties."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from strategies import Table, encode, tables, vocabulary

from shortcut_miner.diagnostics.vqa_ce import classifier
from shortcut_miner.diagnostics.vqa_ce.classifier import RuleClassifier
from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig
from shortcut_miner.diagnostics.vqa_ce.judged import subsets
from shortcut_miner.encoding import encode_lists
from shortcut_miner.mining.filters import dropped_by_subset, select_rules
from shortcut_miner.mining.matcher import match_totals
from shortcut_miner.mining.miner import MiningConfig, mine_antecedents
from shortcut_miner.mining.rules import RuleArrays, rule_order
from shortcut_miner.transactions import Transactions


def mined(training: Transactions, min_confidence: float = 0.3, empty_rule: bool = False) -> RuleArrays:
    antecedents = mine_antecedents(training, MiningConfig(min_count=1, max_antecedent=3))
    dropped = dropped_by_subset(antecedents, "immediate", empty_rule)
    rules, is_dropped = select_rules(antecedents, dropped, min_confidence, empty_rule)
    rules = rules.take(~is_dropped)
    return rules.take(rule_order(rules, training.vocabulary))


@pytest.mark.parametrize("vote", ["best", "weighted"])
@given(training=tables(min_rows=1, max_rows=16, max_items=6), rows=tables(max_rows=8, max_items=6))
def test_votes(vote: str, training: Table, rows: Table) -> None:
    training = Table(training.rows, [1] * len(training.rows))
    encoded = encode(training)
    rules = mined(encoded)
    kept = classifier.kept_rules(rules, encoded)
    like = vocabulary(training)
    predicted, by = classifier.predict(RuleClassifier.of(rules, kept, encoded), encode(rows, like), vote)  # type: ignore[arg-type]
    expected_rules = reference.build_rules(
        training.rows, min_count=1, max_antecedent=3, min_confidence=0.3, superset_filter="immediate"
    )
    expected = reference.predict(expected_rules, training.rows, rows.rows, vote)
    assert [like.answers[int(answer)] for answer in predicted] == expected
    assert all(
        rule < 0 or like.answers[int(rules.answers[rule])] == answer
        for rule, answer in zip(by, expected, strict=True)
    )


def test_equal_sums_of_thirds_are_a_tie_that_floats_miss() -> None:
    """1/3 + 1/3 + 1/3 against 1: exact sums tie, and the commoner answer wins."""
    rows = encode_lists([["a", "b", "c", "d"]], ["rare"])
    training = encode_lists([["x"]] * 5, ["often", "often", "often", "rare", "rare"])
    vocabulary = rows.vocabulary.__class__(
        rows.vocabulary.words,
        rows.vocabulary.objects,
        training.vocabulary.answers,
        training.vocabulary.answer_counts,
    )
    rows = Transactions(rows.offsets, rows.items, np.array([0], np.int32), rows.weights, vocabulary)
    rules = RuleArrays(
        items=np.array([[0], [1], [2], [3]], np.int32),
        answers=np.array([0, 1, 1, 1], np.int32),
        antecedent_count=np.array([1, 3, 3, 3]),
        rule_count=np.array([1, 1, 1, 1]),
    )
    predicted, by = classifier.predict(RuleClassifier.of(rules, np.arange(4), rows), rows, "weighted")
    assert vocabulary.answers[int(predicted[0])] == "often"
    assert by[0] == 1


def test_without_kept_rules_everyone_gets_the_most_common_answer() -> None:
    rows = encode_lists([["a"], ["b"], ["c"]], ["no", "yes", "yes"])
    rules = RuleArrays(
        np.empty((0, 4), np.int32), np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int64)
    )
    for vote in ("best", "weighted"):
        predicted, by = classifier.predict(RuleClassifier.of(rules, np.empty(0, np.int64), rows), rows, vote)
        assert [rows.vocabulary.answers[int(k)] for k in predicted] == ["yes"] * 3
        assert by.tolist() == [-1] * 3


@given(training=tables(min_rows=1, max_rows=16, max_items=6), empty_rule=st.booleans())
def test_subsets(training: Table, empty_rule: bool) -> None:
    training = Table(training.rows, [1] * len(training.rows))
    encoded = encode(training)
    rules = mined(encoded, empty_rule=empty_rule)
    expected_rules = reference.build_rules(
        training.rows, min_count=1, max_antecedent=3, min_confidence=0.3, superset_filter="immediate",
        empty_rule=empty_rule,
    )  # fmt: skip
    accepted = [[row.answer] for row in training.rows]
    assert subsets(match_totals(rules, encoded)).to_list() == reference.split(
        expected_rules, training.rows, accepted
    )


def test_presets_fill_in_what_was_not_given() -> None:
    assert VqaCeConfig().superset_filter == "immediate"
    paper = VqaCeConfig(preset="paper", superset_filter="none")
    assert (paper.superset_filter, paper.vote, paper.empty_rule) == ("none", "weighted", True)
