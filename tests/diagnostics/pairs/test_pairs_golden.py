"""Pairs of the real subset and NaturalBench's metrics against results of other programs."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shortcut_miner as sm
from shortcut_miner.diagnostics.pairs.groups import group_scores
from shortcut_miner.diagnostics.vqa_ce.build import build
from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles

METRIC = json.loads(
    (Path(__file__).parents[2] / "golden" / "pairs" / "naturalbench_metric.json").read_text("utf-8")
)


def test_naturalbench_metrics() -> None:
    said = np.array([group["scores"] for group in METRIC["groups"]])
    scores = group_scores(said)
    assert len(scores) == 7
    each = [(group["q"] / 2, group["i"] / 2, group["acc"] / 4, group["g"]) for group in METRIC["groups"]]
    assert scores.rows() == [tuple(100.0 * value for value in row) for row in each]
    means = [METRIC[name] for name in ("Q_Acc", "I_Acc", "Acc", "G_Acc")]
    assert scores.mean().row(0) == pytest.approx([100 * mean for mean in means], abs=1e-9)


@pytest.fixture(scope="module")
def expected(real_data: Path) -> dict[str, Any]:
    folder = real_data.parent / "golden" / "pairs"
    if not folder.is_dir():
        pytest.skip(f"no golden files at {folder}")
    return dict(json.loads((folder / "expected.json").read_text("utf-8")))


@pytest.fixture(scope="module")
def built(real_files: VqaCeFiles, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("pairs")
    assert real_files.val_questions is not None
    sm.pairs.build(questions=real_files.val_questions, annotations=real_files.val_annotations, out=out)
    return out


@pytest.mark.real
def test_same_question_pairs(built: Path, expected: dict[str, Any], real_data: Path) -> None:
    pairs = pl.read_parquet(built / "pairs.parquet")
    golden = pl.read_csv(
        real_data.parent / "golden" / "pairs" / "same_question_pairs.csv.gz", infer_schema=False
    ).drop("pair_key")
    ours = pairs.select("question_id_agree", "question_id_counter", "answer_agree", "answer_counter")
    assert {*ours.iter_rows()} == {*golden.iter_rows()}
    assert len(ours) == len(golden) == expected["pairs"] == 668
    is_yes_no = pl.concat_list("answer_agree", "answer_counter").list.sort() == ["no", "yes"]
    assert pairs.select(is_yes_no.sum()).item() == expected["pairs_yes_no"]
    assert pairs["question_similarity"].to_list() == [1.0] * len(pairs)


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("p1", "vqa_accuracy/p1_plain_predictions.json.gz"),
        ("p2", "vqa_accuracy/p2_mixed_predictions.json.gz"),
        ("rules", "vqa_ce/coco_labels/rules_predictions.json.gz"),
    ],
)
def test_three_models(name: str, file: str, built: Path, expected: dict[str, Any], real_data: Path) -> None:
    answers = real_data.parent / "golden" / file
    report = sm.pairs.score(built, {name: answers}, resamples=0)
    values = dict(report.scores.filter(group="overall").select("metric", "value").iter_rows())
    pairs, golden = expected["pairs"], expected[name]
    for metric, key in (("pair_accuracy", "both"), ("one", "one"), ("neither", "neither")):
        assert round(values[metric] * pairs / 100, 6) == golden[key]
    assert values["accuracy"] == pytest.approx(100 * golden["accuracy"], abs=1e-9)
    assert values["pair_accuracy"] == pytest.approx(100 * golden["pair_accuracy"], abs=1e-9)
    if name == "rules":
        alike = Fraction(expected["shortcut_same_on_both_pairs"], pairs)
        assert values["flip_rate"] == pytest.approx(float(100 * (1 - alike)), abs=1e-9)


# Pairs, rules with some, and by modality: words, objects, both.
BY_RULES = {
    "question": (239, 184, (106, 0, 133)),
    "question_type": (1_591, 1_106, (577, 0, 1_014)),
    "antecedent": (2_693, 1_848, (945, 6, 1_742)),
}


@pytest.fixture(scope="module")
def mined(real_files: VqaCeFiles, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("mined")
    build(real_files, VqaCeConfig(), out)
    return out


@pytest.mark.real
@pytest.mark.parametrize("match", BY_RULES)
def test_pairs_by_rules_and_what_must_hold(match: Any, mined: Path, tmp_path: Path) -> None:
    built = sm.pairs.build(mined, match=match, out=tmp_path / "out")
    by_modality = dict(built.rules.group_by("modality").agg(pl.col("pair_count").sum()).iter_rows())
    kinds = tuple(by_modality.get(kind, 0) for kind in ("words", "objects", "multimodal"))
    assert (len(built.pairs), built.counts["rules_with_pairs"], kinds) == BY_RULES[match]
    questions = built.questions.select("question_id", "image_id", "answer", "answers")
    sides = [
        built.pairs.select("rule_answer", question_id=f"question_id_{side}").join(
            questions, on="question_id", how="left", validate="m:1", maintain_order="left"
        )
        for side in ("agree", "counter")
    ]
    assert (sides[0]["answer"] == sides[0]["rule_answer"]).all()
    assert not sides[1].select(pl.col("answers").list.contains(pl.col("rule_answer")).any()).item()
    assert (sides[0]["image_id"] != sides[1]["image_id"]).all()
    assert pl.concat([side["question_id"] for side in sides]).is_unique().all()
    assert built.rules["pair_count"].max() <= 20
    truth = {"copy": questions.select("question_id", "answer")}
    truth["shortcut"] = pl.concat([side.select("question_id", answer="rule_answer") for side in sides])
    paths = {name: tmp_path / f"{name}.parquet" for name in truth}
    for name, table in truth.items():
        table.write_parquet(paths[name])
    scores = sm.pairs.score(tmp_path / "out", paths, scorer="exact", resamples=0).scores
    values = {(metric, model): value for metric, model, value in
              scores.filter(group="overall").select("metric", "model", "value").iter_rows()}  # fmt: skip
    assert values["pair_accuracy", "copy"] == 100
    told = ("agree_accuracy", "counter_accuracy", "pair_accuracy", "shortcut_rate", "flip_rate")
    assert [values[metric, "shortcut"] for metric in told] == [100, 0, 0, 100, 0]
