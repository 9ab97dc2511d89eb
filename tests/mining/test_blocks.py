"""Rows that come in blocks, with equal ones merged, are matched and judged as they are in one piece."""

import dataclasses
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain import encode_words
from strategies import Table, encode, tables

from shortcut_miner import transactions
from shortcut_miner.diagnostics.vqa_ce import classifier
from shortcut_miner.mining.evidence import family
from shortcut_miner.mining.evidence.family import searched_family
from shortcut_miner.mining.evidence.subsets import best_subsets
from shortcut_miner.mining.evidence.verdicts import Counts, Evidence, rule_evidence
from shortcut_miner.mining.filters import dropped_by_subset, select_rules
from shortcut_miner.mining.matcher import index_for, match_totals, rule_totals
from shortcut_miner.mining.matches import Accepted, RuleTotals
from shortcut_miner.mining.miner import MiningConfig, mine_antecedents
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.transactions import GroupedRows, Transactions, Vocabulary, item_counts

SIZES = (1, 7, 1000)
CONFIG = MiningConfig(min_count=2, max_antecedent=4)


@dataclasses.dataclass(frozen=True)
class Parts:
    """Rows in blocks of one size; equal rows of a block and a group are one row with their weights' sum."""

    whole: GroupedRows
    size: int

    @property
    def vocabulary(self) -> Vocabulary:
        return self.whole.vocabulary

    def __len__(self) -> int:
        return sum(map(len, self.blocks()))

    @property
    def transaction_count(self) -> int:
        return self.whole.transaction_count

    @property
    def item_frequency(self) -> np.ndarray:
        return sum((rows.item_frequency for rows in self.blocks()), np.zeros_like(self.whole.item_frequency))

    def blocks(self) -> Iterator[Transactions]:
        for rows, _ in self.grouped_blocks():
            yield rows

    def grouped_blocks(self) -> Iterator[tuple[Transactions, np.ndarray]]:
        rows = self.whole.rows
        spans = list(pairwise(rows.offsets.tolist()))
        for first in range(0, len(rows), self.size):
            merged: dict[tuple[tuple[int, ...], int, int], int] = {}
            for row in range(first, min(first + self.size, len(rows))):
                items = tuple(rows.items[slice(*spans[row])].tolist())
                key = items, int(rows.classes[row]), int(self.whole.groups[row])
                merged[key] = merged.get(key, 0) + int(rows.weights[row])
            lists, classes, groups = zip(*merged, strict=True)
            yield (
                Transactions(
                    offsets=np.cumsum([0, *map(len, lists)], dtype=np.int64),
                    items=np.array([item for items in lists for item in items], np.int32),
                    classes=np.array(classes, np.int32),
                    weights=np.array([*merged.values()], np.int64),
                    vocabulary=self.vocabulary,
                ),
                np.array(groups, np.int32),
            )


def evidence_of(training: GroupedRows | Parts, whole: GroupedRows, val: Transactions) -> Evidence:
    antecedents = mine_antecedents(whole.rows, CONFIG)
    rules = rules_of(whole.rows)
    held_out = Counts.matched(rule_totals(index_for(rules, val), [val], val.vocabulary.class_count))
    return rule_evidence(
        rules, antecedents, training, CONFIG, validation=held_out, holdout=held_out, threads=1
    )


def rules_of(rows: Transactions) -> RuleArrays:
    antecedents = mine_antecedents(rows, CONFIG)
    masks = dropped_by_subset(antecedents, "immediate", True)
    rules, is_dropped = select_rules(antecedents, masks, 0.3, True)
    return rules.take(~is_dropped)


def grouped(rows: Transactions) -> st.SearchStrategy[GroupedRows]:
    numbers = st.lists(st.integers(-1, 3), min_size=len(rows), max_size=len(rows))
    return numbers.map(lambda groups: GroupedRows(rows, np.array(groups, np.int32)))


def without_some_answers(rows: Transactions, data: st.DataObject) -> Transactions:
    """Return the rows with the first class's answers unknown, or as they are."""
    if data.draw(st.booleans()):
        return rows
    classes = np.where(rows.classes == 0, -1, rows.classes).astype(np.int32)
    known = np.bincount(
        classes[classes >= 0], rows.weights[classes >= 0], rows.vocabulary.class_count
    ).astype(np.int64)
    vocabulary = dataclasses.replace(rows.vocabulary, answer_counts=known)
    return dataclasses.replace(rows, classes=classes, vocabulary=vocabulary)


@given(st.data(), tables(max_rows=30, max_weight=3), tables(max_rows=10), st.sampled_from(SIZES))
def test_evidence(data: st.DataObject, table: Table, val: Table, size: int) -> None:
    training = data.draw(grouped(without_some_answers(encode(table), data)))
    validation = encode(val, training.vocabulary)
    whole = evidence_of(training, training, validation)
    parts = evidence_of(Parts(training, size), training, validation)
    assert whole.family == parts.family
    assert whole.table().equals(parts.table())
    assert whole.verdict_counts() == dict(whole.table()["verdict"].value_counts().iter_rows())


def test_evidence_is_told_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [[f"w{k}" for k in range(8) if row >> k & 1] for row in range(256)]
    rows = encode_words(words, [("a", "b", "c")[row % 3] for row in range(256)])
    evidence = evidence_of(GroupedRows(rows, rows.classes % 2), GroupedRows(rows, rows.classes % 2), rows)
    table = evidence.table()
    assert len(table) > 50
    assert evidence.table(10, 20).equals(table[10:20])
    expected = evidence.verdict_counts()
    monkeypatch.setattr("shortcut_miner.mining.evidence.verdicts._RULES_A_BLOCK", 7)
    assert evidence.verdict_counts() == expected
    assert sum(expected.values()) == len(table)


@given(tables(max_rows=30), tables(max_rows=30), st.sampled_from(SIZES))
def test_totals_and_kept_rules(table: Table, other: Table, size: int) -> None:
    training = encode(table)
    rules = rules_of(training)
    rows = encode(other, training.vocabulary)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transactions, "ROWS_A_BLOCK", size)
        totals = rule_totals(index_for(rules, rows), rows.blocks(), rows.vocabulary.class_count)
        kept = classifier.kept_rules(rules, training)
    whole = match_totals(rules, rows)
    for got, expected in (
        (totals.fired, whole.rule_fired),
        (totals.right, whole.rule_right),
        (totals.accepted, whole.rule_accepted),
        (
            totals.class_rows[:-1],
            np.bincount(rows.classes[rows.classes >= 0], minlength=len(totals.class_rows) - 1),
        ),
    ):
        np.testing.assert_array_equal(got, expected)
    assert totals.row_count == len(rows)
    first = match_totals(rules, training).row_best_right
    np.testing.assert_array_equal(kept, np.unique(first[first >= 0]))
    # Merged rows need the same rules.
    merged = Parts(GroupedRows(training, np.zeros(len(training), np.int32)), size)
    np.testing.assert_array_equal(classifier.kept_rules(rules, merged), kept)


@given(tables(max_rows=30), st.data(), st.sampled_from(SIZES))
def test_accepted_answers_go_with_their_rows(table: Table, data: st.DataObject, size: int) -> None:
    rows = encode(table)
    rules = rules_of(rows)
    classes = st.integers(-1, max(rows.vocabulary.class_count - 1, -1))
    lists = data.draw(st.lists(st.lists(classes, max_size=3), min_size=len(rows), max_size=len(rows)))
    accepted = Accepted(
        np.cumsum([0, *map(len, lists)], dtype=np.int64),
        np.array([one for answers in lists for one in answers], np.int32),
    )
    whole = match_totals(rules, rows, accepted)
    totals = RuleTotals.of_no_rows(len(rules), rows.vocabulary.class_count)
    first, right, best = 0, [], []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transactions, "ROWS_A_BLOCK", size)
        for block in rows.blocks():
            found = match_totals(rules, block, accepted.part(first, first + len(block)))
            totals.add(block, found)
            right += found.row_right.tolist()
            best += found.row_best_right.tolist()
            first += len(block)
    assert right == whole.row_right.tolist()
    assert best == whole.row_best_right.tolist()
    np.testing.assert_array_equal(totals.accepted, whole.rule_accepted)


@given(tables(max_rows=30, max_weight=3), st.sampled_from(SIZES))
def test_best_subsets(table: Table, size: int) -> None:
    rows = encode(table)
    antecedents, rules = mine_antecedents(rows, CONFIG), rules_of(rows)
    rules = dataclasses.replace(rules, answers=np.zeros_like(rules.answers))  # each count is looked for
    parts = Parts(GroupedRows(rows, np.zeros(len(rows), np.int32)), size)
    whole, found = best_subsets(rules, antecedents, rows), best_subsets(rules, antecedents, parts)
    assert whole is not None and found is not None
    for field in dataclasses.fields(whole):
        np.testing.assert_array_equal(getattr(found, field.name), getattr(whole, field.name))


@given(tables(max_rows=30, max_weight=3), st.sampled_from(SIZES))
def test_items_are_counted_in_original_rows(table: Table, size: int) -> None:
    rows = encode(table)
    expected = np.zeros(rows.vocabulary.item_count, np.int64)
    for row, weight in enumerate(table.weights):
        expected[rows.items[rows.offsets[row] : rows.offsets[row + 1]]] += weight
    parts = Parts(GroupedRows(rows, np.zeros(len(rows), np.int32)), size)
    for found in (rows, parts):
        np.testing.assert_array_equal(item_counts(found), expected)


@pytest.mark.parametrize("limit", ["_MOST_OCCURRENCES", "_MOST_MEETINGS"])
@pytest.mark.parametrize("size", SIZES)
def test_merged_rows_do_not_decide_what_is_bounded(
    monkeypatch: pytest.MonkeyPatch, limit: str, size: int
) -> None:
    # 20 equal rows of three frequent items: 60 occurrences; 3 + 3 + 1 subsets each: 140 meetings.
    rows = encode_words([["a", "b", "c"]] * 20 + [["rare"]], ["yes"] * 21)
    parts = Parts(GroupedRows(rows, np.zeros(21, np.int32)), size)
    most = {"_MOST_OCCURRENCES": 60, "_MOST_MEETINGS": 140}[limit]
    for allowed, is_exact in ((most, True), (most - 1, False)):
        monkeypatch.setattr(family, limit, allowed)
        for training in (rows, parts):
            found = searched_family(training, 2, 3)
            assert found.is_exact == is_exact
            assert (found.antecedent_count, found.answer_count) == (7, 1)
