"""Best subsets and priors against plain counting."""

import dataclasses
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain import encode_words, plain_rules
from reference import OBJECT, Antecedent, Rule
from strategies import MANY, Table, encode, tables

from shortcut_miner.diagnostics.vqa_ce.classifier import kept_rules
from shortcut_miner.mining.evidence.row_sums import Priors, prior_confidence
from shortcut_miner.mining.evidence.subsets import best_subsets
from shortcut_miner.mining.filters import dropped_by_subset, select_rules
from shortcut_miner.mining.miner import Antecedents, MiningConfig, mine_antecedents
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.mining.trie import index_for
from shortcut_miner.transactions import GroupedRows, Transactions

TYPES = ("what", "how", "is")


class Counts(NamedTuple):
    rows: int
    right: int

    @property
    def confidence(self) -> Fraction:
        return Fraction(self.right, self.rows)


def counts_of(table: Table, antecedent: Antecedent, answer: str) -> Counts:
    answers: Counter[str | None] = Counter()
    for row, weight in zip(table.rows, table.weights, strict=True):
        if antecedent <= row.items and row.answer is not None:
            answers[row.answer] += weight
    return Counts(answers.total(), answers[answer])


def proper_subsets(antecedent: Antecedent) -> Iterator[Antecedent]:
    for size in range(len(antecedent)):
        yield from map(frozenset, combinations(sorted(antecedent), size))


def is_single(antecedent: Antecedent) -> bool:
    return len({kind for kind, _ in antecedent}) == 1


def best_of(table: Table, rule: Rule, *, single: bool) -> Counts:
    """Return the most confident subset's counts, the commonest of equals; zeros if there is none."""
    found = [
        counts_of(table, subset, rule.answer)
        for subset in proper_subsets(rule.antecedent)
        if not single or is_single(subset)
    ]
    return max(found, key=lambda counts: (counts.confidence, counts.rows), default=Counts(0, 0))


def mined(
    training: Transactions, min_count: int, min_confidence: float = 0.0, empty_rule: bool = False
) -> tuple[Antecedents, RuleArrays]:
    antecedents = mine_antecedents(training, MiningConfig(min_count=min_count, max_antecedent=4))
    dropped = dropped_by_subset(antecedents, "immediate", empty_rule)
    rules, is_dropped = select_rules(antecedents, dropped, min_confidence, empty_rule)
    return antecedents, rules.take(~is_dropped)


@MANY
@given(
    tables(min_rows=1, max_rows=40, max_weight=3),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.3]),
    st.booleans(),
)
def test_best_subsets(table: Table, min_count: int, min_confidence: float, empty_rule: bool) -> None:
    training = encode(table)
    antecedents, rules = mined(training, min_count, min_confidence, empty_rule)
    best = best_subsets(rules, antecedents, training)
    assert best is not None
    plain = plain_rules(rules, training.vocabulary)
    got = list(zip(best.antecedent_count.tolist(), best.rule_count.tolist(), strict=True))
    assert got == [best_of(table, rule, single=False) for rule in plain]
    got = list(zip(best.single_antecedent_count.tolist(), best.single_rule_count.tolist(), strict=True))
    assert got == [best_of(table, rule, single=True) for rule in plain]


@MANY
@given(tables(min_rows=1, max_rows=30), st.integers(1, 3))
def test_any_answer_may_be_asked_for(table: Table, min_count: int) -> None:
    training = encode(table)
    antecedents, rules = mined(training, min_count)
    # An answer other than the antecedents' best ones: every count comes from the rows.
    rules = dataclasses.replace(rules, answers=np.zeros_like(rules.answers))
    best = best_subsets(rules, antecedents, training)
    assert best is not None
    expected = [best_of(table, rule, single=False) for rule in plain_rules(rules, training.vocabulary)]
    assert list(zip(best.antecedent_count.tolist(), best.rule_count.tolist(), strict=True)) == expected


def test_rules_come_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has some of the answers, and one answer may be in several."""
    training, *_ = large_rows()
    antecedents, rules = mined(training, 3, 0.3)
    whole = best_subsets(rules, antecedents, training, threads=1)
    monkeypatch.setattr("shortcut_miner.mining.jobs_numba.subsets._SUBSETS_A_BLOCK", 1 << 8)
    monkeypatch.setattr("shortcut_miner.mining.jobs_numba.subsets._SUBSETS_A_ROW", 0)
    assert len(rules) > 3 * (1 << 4)
    assert_equal_fields(whole, best_subsets(rules, antecedents, training, threads=3))


def test_a_subsets_own_best_answer_may_be_another() -> None:
    # {a} goes with no twice and with yes twice; with b it is always yes.
    training = encode_words(
        [["a", "b"], ["a", "b"], ["a"], ["a"], ["a"], ["b"], []],
        ["yes", "yes", "no", "no", "no", "no", "no"],
    )
    antecedents, rules = mined(training, 2, 0.9)
    assert [rule.answer for rule in plain_rules(rules, training.vocabulary)] == ["yes"]
    best = best_subsets(rules, antecedents, training)
    assert best is not None
    assert (best.antecedent_count.tolist(), best.rule_count.tolist()) == ([3], [2])


def test_a_cut_search_knows_no_subsets() -> None:
    training, *_ = large_rows()
    antecedents, rules = mined(training, 3, 0.3)
    cut = dataclasses.replace(antecedents, is_complete=False)
    assert best_subsets(rules, cut, training) is None


def test_rules_that_were_not_mined_are_refused() -> None:
    training, *_ = large_rows()
    _, rules = mined(training, 3, 0.3)
    antecedents, _ = mined(training, 30, 0.3)
    with pytest.raises(ValueError, match="not mined"):
        best_subsets(rules, antecedents, training)


def test_without_rules() -> None:
    training = encode_words([["a"], ["b"]], ["yes", "no"])
    antecedents, rules = mined(training, 2)
    assert len(rules) == 0
    best = best_subsets(rules, antecedents, training)
    assert best is not None
    assert best.antecedent_count.shape == (0,)
    assert prior_confidence(rules, GroupedRows(training, np.zeros(2, np.int32))).shape == (0,)


def test_the_empty_rule_alone_has_no_subset() -> None:
    training = encode_words([["a"], ["b"]], ["yes", "yes"])
    antecedents, rules = mined(training, 2, empty_rule=True)
    assert [rule.antecedent for rule in plain_rules(rules, training.vocabulary)] == [frozenset()]
    best = best_subsets(rules, antecedents, training)
    assert best is not None
    assert (best.antecedent_count.tolist(), best.rule_count.tolist()) == ([0], [0])


def prior_of(table: Table, types: list[int], rule: Rule) -> Fraction | None:
    """Return the mean over the rule's rows of known type of the answer's share in the row's type."""
    rows = [
        (row, kind, weight)
        for row, kind, weight in zip(table.rows, types, table.weights, strict=True)
        if kind >= 0 and row.answer is not None
    ]

    def share(kind: int) -> Fraction:
        of_kind = [(row, weight) for row, other, weight in rows if other == kind]
        right = sum(weight for row, weight in of_kind if row.answer == rule.answer)
        return Fraction(right, sum(weight for _, weight in of_kind))

    firing = [(kind, weight) for row, kind, weight in rows if rule.antecedent <= row.items]
    total = sum(weight for _, weight in firing)
    return sum((share(kind) * weight for kind, weight in firing), Fraction(0)) / total if total else None


@MANY
@given(tables(min_rows=1, max_rows=30, max_weight=3), st.data(), st.booleans())
def test_prior_confidence(table: Table, data: st.DataObject, empty_rule: bool) -> None:
    least = data.draw(st.sampled_from([-1, 0]))
    kinds = st.lists(st.integers(least, 2), min_size=len(table.rows), max_size=len(table.rows))
    types = data.draw(kinds)
    training = encode(table)
    _, rules = mined(training, 1, empty_rule=empty_rule)
    grouped = GroupedRows(training, np.array(types, np.int32))
    prior = prior_confidence(rules, grouped)
    # The same from the pass that finds the rule classifier's rules.
    index, priors = index_for(rules, training), Priors(rules, grouped)
    np.testing.assert_array_equal(kept_rules(index, grouped, priors=priors), kept_rules(index, training))
    assert priors.confidence(index, None, "auto").tobytes() == prior.tobytes()
    for got, rule in zip(prior, plain_rules(rules, training.vocabulary), strict=True):
        expected = prior_of(table, types, rule)
        assert np.isnan(got) if expected is None else got == pytest.approx(float(expected), abs=1e-14)


def test_where_types_decide_the_answer_the_prior_is_the_confidence() -> None:
    training = encode_words([["how", "many"], ["how", "many"], ["what"], ["what"]], ["2", "3", "a", "a"])
    _, rules = mined(training, 1, 0.5)
    prior = prior_confidence(rules, GroupedRows(training, np.array([0, 0, 1, 1], np.int32)))
    np.testing.assert_allclose(prior, rules.rule_count / rules.antecedent_count)


def large_rows() -> tuple[Transactions, np.ndarray]:
    """Return seeded rows of words and objects whose answers depend on both, and their types."""
    drawn = np.random.default_rng(3)
    present = drawn.random((600, 20)) < drawn.uniform(0.05, 0.5, 20)
    answers = np.where(
        present[:, 0] & present[:, 11], 1, np.where(present[:, 2], 2, drawn.integers(0, 4, 600))
    )
    offsets = np.concatenate(([0], np.cumsum(present.sum(axis=1))))
    words = encode_words([[f"word {k:02}" for k in range(20)]] * 4, ["a", "b", "c", "d"]).vocabulary
    vocabulary = dataclasses.replace(
        words,
        words=words.words[:10],
        objects=words.words[10:],
        answer_counts=np.bincount(answers, minlength=4),
    )
    rows = Transactions(
        offsets=offsets,
        items=np.nonzero(present)[1].astype(np.int32),
        classes=answers.astype(np.int32),
        weights=drawn.integers(1, 3, 600),
        vocabulary=vocabulary,
    )
    return rows, drawn.integers(-1, len(TYPES), 600).astype(np.int32)


def assert_equal_fields(left: object, right: object) -> None:
    for field in dataclasses.fields(left):  # type: ignore[arg-type]
        one, other = getattr(left, field.name), getattr(right, field.name)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("threads", [2, 7])
def test_thread_count_does_not_matter(threads: int) -> None:
    training, types = large_rows()
    antecedents, rules = mined(training, 3, 0.3)
    assert len(rules) > 100
    assert (rules.items[:, :1] < 10).any() and OBJECT == 1
    one = best_subsets(rules, antecedents, training, threads=1)
    assert_equal_fields(one, best_subsets(rules, antecedents, training, threads=threads))
    prior = prior_confidence(rules, GroupedRows(training, types), threads=1)
    again = prior_confidence(rules, GroupedRows(training, types), threads=threads)
    assert prior.tobytes() == again.tobytes()


@MANY
@given(tables(min_rows=5, max_rows=60, max_items=6), st.integers(5, 8))
def test_long_antecedents(table: Table, max_antecedent: int) -> None:
    training = encode(table)
    antecedents = mine_antecedents(training, MiningConfig(min_count=1, max_antecedent=max_antecedent))
    masks = dropped_by_subset(antecedents, "none", False)
    rules, _ = select_rules(antecedents, masks, 0.0, False)
    best = best_subsets(rules, antecedents, training)
    assert best is not None
    expected = [best_of(table, rule, single=False) for rule in plain_rules(rules, training.vocabulary)]
    assert list(zip(best.antecedent_count.tolist(), best.rule_count.tolist(), strict=True)) == expected
