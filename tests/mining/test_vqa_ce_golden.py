"""The VQA-CE reference program's rules and splits on 46,183 real training questions, compared exactly."""

from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from plain import plain_rules
from reference import OBJECT, Rule

from shortcut_miner.encoding import accepted_classes, encode_rows, encode_training, keep_top_answers
from shortcut_miner.mining.filters import dropped_by_subset, select_rules
from shortcut_miner.mining.matcher import Accepted, match_pairs, match_totals
from shortcut_miner.mining.miner import Antecedents, MiningConfig, mine_antecedents
from shortcut_miner.mining.rules import RuleArrays, rule_order
from shortcut_miner.options import ItemKinds
from shortcut_miner.sources.images.labels import read_labels
from shortcut_miner.sources.questions.vqa import read_vqa
from shortcut_miner.transactions import Transactions

pytestmark = pytest.mark.real

# Counts of specs/vqa_ce.md, "Checked targets", and golden/README.md.
EXPECTED = {
    "coco_labels": {
        "items": 1_664,
        "antecedents": 99_118,
        "rules": 46_636,
        "immediate": 20_178,
        "all": 20_068,
        "classifier": 6_673,
        "decided_by_floats": 14,
        "equal_frequency_ties": 1,
    },
    "words_only": {
        "rules": 13_620,
        "immediate": 4_969,
        "classifier": 2_712,
        "decided_by_floats": 3,
        "equal_frequency_ties": 1,
    },
}
ITEMS: dict[str, ItemKinds] = {"coco_labels": "both", "words_only": "words"}


class Case(NamedTuple):
    name: str
    training: Transactions
    validation: Transactions
    accepted: Accepted
    question_ids: list[int]
    antecedents: Antecedents

    @property
    def expected(self) -> dict[str, int]:
        return EXPECTED[self.name]

    def rules(self, superset_filter: str) -> tuple[RuleArrays, np.ndarray]:
        """Return the confident rules in rule order, and which ones the filter drops."""
        dropped = dropped_by_subset(self.antecedents, superset_filter, empty_rule=False)
        rules, is_dropped = select_rules(self.antecedents, dropped, 0.3, empty_rule=False)
        order = rule_order(rules, self.training.vocabulary)
        return rules.take(order), is_dropped[order]

    def kept(self, superset_filter: str = "immediate") -> RuleArrays:
        rules, is_dropped = self.rules(superset_filter)
        return rules.take(~is_dropped)

    def plain(self, rules: RuleArrays) -> dict[frozenset[str], Rule]:
        """Return rules by antecedent in the golden files' notation: ``V_`` marks an object."""
        return {
            frozenset("V_" + name if kind == OBJECT else name for kind, name in rule.antecedent): rule
            for rule in plain_rules(rules, self.training.vocabulary)
        }


@pytest.fixture(scope="module")
def tables(real_data: Path) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    folder = real_data / "vqa60k"
    training, *_ = read_vqa(folder / "questions_train.json.gz", folder / "annotations_train.json.gz")
    validation, *_ = read_vqa(folder / "questions_valid.json.gz", folder / "annotations_valid.json.gz")
    return keep_top_answers(training), validation, read_labels(folder / "image_to_detection.json.gz").table


@pytest.fixture(scope="module", params=list(EXPECTED))
def case(request: pytest.FixtureRequest, tables: tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]) -> Case:
    training, validation, labels = tables
    transactions = encode_training(training, labels, items=ITEMS[request.param])
    return Case(
        name=request.param,
        training=transactions,
        validation=encode_rows(validation, labels, transactions.vocabulary),
        accepted=Accepted(*accepted_classes(validation, transactions.vocabulary)),
        question_ids=validation["question_id"].cast(pl.Int64).to_list(),
        antecedents=mine_antecedents(transactions, MiningConfig(min_count=8, max_antecedent=4)),
    )


def test_sizes(case: Case) -> None:
    assert len(case.training) == 46_183
    if case.name == "coco_labels":
        assert (np.bincount(case.training.items) >= 8).sum() == case.expected["items"]
        assert case.antecedents.count == case.expected["antecedents"]


def test_every_exact_rule(case: Case, golden_vqa_ce: Any) -> None:
    rules, is_dropped = case.rules("immediate")
    kept = {
        antecedent: not dropped for antecedent, dropped in zip(case.plain(rules), is_dropped, strict=True)
    }
    got = {
        antecedent: (rule.answer, rule.antecedent_count, rule.rule_count, kept[antecedent])
        for antecedent, rule in case.plain(rules).items()
    }
    expected = {
        frozenset(rule["antecedent"]): (rule["answer"], rule["count"], rule["joint"], rule["kept"])
        for rule in golden_vqa_ce(case.name, "exact_rules")
    }
    assert got == expected
    assert len(got) == case.expected["rules"]
    assert sum(kept.values()) == case.expected["immediate"]


def test_the_reference_differs_where_floats_and_hashes_decide(case: Case, golden_vqa_ce: Any) -> None:
    everything, kept = case.plain(case.kept("none")), case.plain(case.kept())
    reference = {
        frozenset(rule["antecedent"]): (rule["answer"], rule["count"], rule["joint"])
        for rule in golden_vqa_ce(case.name, "reference_rules")
    }
    # It keeps all that we keep, and some rules whose blocking subset is *equally* confident: there its
    # float quotients differ in the last bit.
    assert kept.keys() < reference.keys()
    only_there = reference.keys() - kept.keys()
    assert len(only_there) == case.expected["decided_by_floats"]
    for antecedent in only_there:
        rule = everything[antecedent]
        assert reference[antecedent] == tuple(rule[1:])
        subsets = [everything.get(antecedent - {item}) for item in antecedent]
        blocking = [subset for subset in subsets if subset is not None and subset.answer == rule.answer]
        assert max(subset.confidence for subset in blocking) == rule.confidence

    # All other rules are equal, but for ties of answers with equal frequency, where it goes by hash order.
    different = {key for key in kept if reference[key] != tuple(kept[key][1:])}
    assert len(different) == case.expected["equal_frequency_ties"]
    like = case.training.vocabulary
    frequency = dict(zip(like.answers, like.answer_counts.tolist(), strict=True))
    for antecedent in different:
        answer, *counts = reference[antecedent]
        assert counts == list(kept[antecedent][2:])
        assert frequency[answer] == frequency[kept[antecedent].answer]
        assert kept[antecedent].answer < answer


def test_the_all_subsets_filter(case: Case) -> None:
    survivors = case.plain(case.kept("all"))
    immediate = case.plain(case.kept())
    assert survivors.items() <= immediate.items()
    if case.name == "coco_labels":
        assert len(survivors) == case.expected["all"]
        assert len(immediate) - len(survivors) == 110


@pytest.mark.parametrize("superset_filter", ["immediate", "all", "none"])
def test_the_split_has_the_reference_ids_in_order(
    case: Case, golden_vqa_ce: Any, superset_filter: str
) -> None:
    totals = match_totals(case.kept(superset_filter), case.validation, case.accepted)
    fired, is_right = totals.row_fired > 0, totals.row_right > 0
    for subset, mask in {
        "hard": ~fired,
        "counterexamples": fired & ~is_right,
        "easy": fired & is_right,
    }.items():
        got = [number for number, chosen in zip(case.question_ids, mask, strict=True) if chosen]
        assert got == golden_vqa_ce(case.name, subset)


def test_the_classifier_keeps(case: Case) -> None:
    best = match_totals(case.kept(), case.training).row_best_right
    assert len(np.unique(best[best >= 0])) == case.expected["classifier"]


def test_pairs_add_up_to_totals(case: Case) -> None:
    kept = case.kept()
    totals = match_totals(kept, case.validation, case.accepted)
    blocks = list(match_pairs(kept, case.validation, totals.row_fired))
    pairs = np.concatenate([rules for *_, rules in blocks])
    np.testing.assert_array_equal(np.bincount(pairs, minlength=len(kept)), totals.rule_fired)


def test_confidences_compare_as_fractions(case: Case) -> None:
    rules, _ = case.rules("none")
    edge = np.flatnonzero(rules.rule_count * 10 == rules.antecedent_count * 3)
    assert len(edge) > 50  # 3/10 exactly: kept, whatever the float quotient
    confidence = [
        Fraction(int(top), int(bottom))
        for top, bottom in zip(rules.rule_count, rules.antecedent_count, strict=True)
    ]
    assert min(confidence) == Fraction(3, 10)
    assert confidence == sorted(confidence, reverse=True)


@pytest.mark.parametrize("threads", [1, 5])
def test_thread_count_does_not_matter(case: Case, threads: int) -> None:
    again = mine_antecedents(case.training, MiningConfig(), threads)
    for one, other in zip(again.levels, case.antecedents.levels, strict=True):
        for left, right in zip(one, other, strict=True):
            np.testing.assert_array_equal(left, right)
    masks = dropped_by_subset(again, "immediate", False, threads)
    for left, right in zip(masks, dropped_by_subset(case.antecedents, "immediate", False), strict=True):
        np.testing.assert_array_equal(left, right)
