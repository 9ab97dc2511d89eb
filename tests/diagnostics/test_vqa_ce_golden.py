"""vqa-ce build on the real subset, file by file, against the reference program's outputs."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from exports.cases import content, official

import shortcut_miner as sm
from shortcut_miner.diagnostics.vqa_ce import classifier
from shortcut_miner.diagnostics.vqa_ce.build import build
from shortcut_miner.diagnostics.vqa_ce.classifier import RuleClassifier
from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles
from shortcut_miner.diagnostics.vqa_ce.inputs import read_inputs
from shortcut_miner.diagnostics.vqa_ce.judged import subsets
from shortcut_miner.diagnostics.vqa_ce.shortcuts import Shortcuts, find_shortcuts
from shortcut_miner.mining.frames.rules import encode_rules
from shortcut_miner.mining.matcher import match_totals
from shortcut_miner.scoring.accuracy import score_questions
from shortcut_miner.scoring.intervals import summarise

pytestmark = pytest.mark.real

ITEMS = {"coco_labels": "both", "words_only": "words"}
# Predictions that differ from the reference's: equal confidences that it orders by hash.
DIFFERENT_PREDICTIONS = {"coco_labels": 30, "words_only": 26}
COUNTS = {
    "coco_labels": {"rules": 20_178, "rules_before_superset_filter": 46_636, "classifier_rules": 6_673},
    "words_only": {"rules": 4_969, "rules_before_superset_filter": 13_620, "classifier_rules": 2_712},
}
SUBSETS = {
    "coco_labels": {"easy": 4_761, "counterexamples": 3_169, "hard": 1_047},
    "words_only": {"easy": 3_616, "counterexamples": 2_845, "hard": 2_516},
}
YES = {"counterexamples": 3.05, "easy": 35.62, "hard": 7.56}
ACCURACY = {
    ("coco_labels", "best"): 34.60,
    ("coco_labels", "weighted"): 34.86,
    ("words_only", "best"): 29.36,
    ("words_only", "weighted"): 29.71,
}


@pytest.fixture(scope="module", params=list(ITEMS))
def case(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def folder(case: str, real_files: VqaCeFiles, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp(case)
    build(real_files, VqaCeConfig(items=ITEMS[case]), out)
    return out


@pytest.fixture(scope="module")
def real_tables(real_files: VqaCeFiles) -> Any:
    return read_inputs(real_files, VqaCeConfig(items="both"))


@pytest.fixture(scope="module")
def found(case: str, real_tables: Any) -> Shortcuts:
    config = VqaCeConfig(items=ITEMS[case])
    return find_shortcuts(real_tables.train, real_tables.val, real_tables.labels, config)


@pytest.mark.parametrize("subset", ["easy", "counterexamples", "hard"])
def test_the_released_id_lists(case: str, folder: Path, golden: Any, subset: str) -> None:
    ids = json.loads((folder / f"{subset}.json").read_text())
    assert ids == golden(case, subset)
    assert len(ids) == SUBSETS[case][subset]


def test_the_official_evaluation_of_each_exported_subset(case: str, folder: Path, tmp_path: Path) -> None:
    """Of a constant "yes", as all consumers of the exports were seen to print it."""
    sm.export(folder, "vqa-json", out=tmp_path)
    for subset, said in YES.items():
        annotations = tmp_path / f"vqa-ce_{subset}_annotations.json"
        ids = [str(one["question_id"]) for one in content(annotations)["annotations"]]
        accuracy = official(annotations, dict.fromkeys(ids, "yes"))
        assert len(ids) == SUBSETS[case][subset]
        assert case != "coco_labels" or round(accuracy, 2) == said


def test_the_manifest_counts(case: str, folder: Path) -> None:
    counts = json.loads((folder / "manifest.json").read_text())["counts"]
    expected = {"train_rows": 46_183, "val_questions": 8_977, **COUNTS[case], **SUBSETS[case]}
    assert {name: counts[name] for name in expected} == expected
    if case == "coco_labels":
        assert counts["frequent_items"] == 1_664
        assert counts["training_questions_without_detections"] == 360


def test_the_tables_agree_with_each_other(folder: Path) -> None:
    rules, split = pl.read_parquet(folder / "rules.parquet"), pl.read_parquet(folder / "split.parquet")
    assert rules["rule_id"].to_list() == list(range(len(rules)))
    assert split["question_id"].is_sorted()
    is_easy = split["subset"] == "easy"
    assert ((split["correct_rule_count"] > 0) == is_easy).all()
    assert ((split["matching_rule_count"] == 0) == (split["subset"] == "hard")).all()
    assert split["matching_rule_count"].sum() == rules["val_antecedent_count"].sum()
    best = split.drop_nulls("best_correct_rule_id")
    assert (best["best_correct_rule_id"] >= best["best_rule_id"]).all()


def test_predictions_in_our_order(case: str, folder: Path, golden: Any) -> None:
    ours = {
        one["question_id"]: one["answer"]
        for one in json.loads((folder / "rules_predictions.json").read_text())
    }
    theirs = {one["question_id"]: one["answer"] for one in golden(case, "rules_predictions")}
    assert ours.keys() == theirs.keys()
    assert sum(ours[key] != theirs[key] for key in theirs) == DIFFERENT_PREDICTIONS[case]


def test_the_references_rules_in_their_own_order(
    case: str, found: Shortcuts, real_tables: Any, golden: Any
) -> None:
    table = pl.DataFrame(golden(case, "reference_rules")).select(
        antecedent_words=pl.col("antecedent").list.filter(~pl.element().str.starts_with("V_")),
        antecedent_objects=pl.col("antecedent")
        .list.filter(pl.element().str.starts_with("V_"))
        .list.eval(pl.element().str.strip_prefix("V_")),
        answer="answer",
        antecedent_count="count",
        rule_count="joint",
    )
    rules = encode_rules(table, found.training.vocabulary)
    val = found.validation.whole()
    subset = subsets(match_totals(rules, val.rows, val.accepted))
    ids = real_tables.val["question_id"].cast(pl.Int64)
    for name in SUBSETS[case]:
        assert ids.filter(subset == name).to_list() == golden(case, name)
    kept = classifier.kept_rules(rules, found.training)
    predicted, _ = classifier.predict(RuleClassifier.of(rules, kept, found.training), val.rows, "best")
    answers = found.training.vocabulary.answers.gather(pl.Series(predicted.astype(np.uint32)))
    ours = dict(zip(ids.to_list(), answers.to_list(), strict=True))
    assert ours == {one["question_id"]: one["answer"] for one in golden(case, "rules_predictions")}


@pytest.mark.parametrize("vote", ["best", "weighted"])
def test_the_classifiers_accuracy(case: str, found: Shortcuts, real_tables: Any, vote: Any) -> None:
    answering = RuleClassifier.of(found.rules, found.kept, found.training)
    predicted, _ = classifier.predict(answering, found.validation.whole().rows, vote)
    answers = found.training.vocabulary.answers.gather(pl.Series(predicted.astype(np.uint32)))
    predictions = pl.DataFrame({"question_id": real_tables.val["question_id"], "answer": answers})
    scored = score_questions(real_tables.val, predictions)
    overall = summarise(scored, resamples=0)["value"].item()
    assert round(overall, 2) == ACCURACY[case, vote]
