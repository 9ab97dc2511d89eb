"""Score, explain and sweep on the demo world, against plain Python; damaged folders."""

import dataclasses
import html
import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from scipy.stats import binom, false_discovery_control

from shortcut_miner.demo import DemoWorld
from shortcut_miner.diagnostics.vqa_ce.build import build
from shortcut_miner.diagnostics.vqa_ce.config import ScoreConfig, VqaCeConfig, VqaCeFiles
from shortcut_miner.diagnostics.vqa_ce.explain import explain
from shortcut_miner.diagnostics.vqa_ce.outputs import read_folder
from shortcut_miner.diagnostics.vqa_ce.score import score
from shortcut_miner.diagnostics.vqa_ce.sweep import sweep
from shortcut_miner.errors import ConfigError, SchemaError, SourceError
from shortcut_miner.mining import antecedents
from shortcut_miner.sources.answers.predictions import read_predictions
from shortcut_miner.text import normalise_answer


@pytest.fixture(scope="module")
def folder(world_files: VqaCeFiles, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("vqa-ce")
    build(world_files, VqaCeConfig(keep_matches=True, keep_dropped=True), out)
    return out


def fires(rule: dict[str, Any], question: dict[str, Any]) -> bool:
    return set(rule["antecedent_words"]) <= set(question["words"]) and set(rule["antecedent_objects"]) <= set(
        question["objects"] or []
    )


def test_matches_are_all_pairs(folder: Path) -> None:
    built = read_folder(folder)
    rules, questions = built.rules.to_dicts(), built.questions.to_dicts()[:200]
    expected = {(q["question_id"], r["rule_id"]) for q in questions for r in rules if fires(r, q)}
    asked = [q["question_id"] for q in questions]
    matches = pl.read_parquet(folder / "matches.parquet").filter(pl.col("question_id").is_in(asked))
    assert set(matches.rows()) == expected
    assert matches.height == len(expected) > 1000


def test_dropped_rules_are_blocked_by_a_subset(folder: Path) -> None:
    kept, dropped = (pl.read_parquet(folder / name) for name in ("rules.parquet", "dropped_rules.parquet"))
    counts = json.loads((folder / "manifest.json").read_text())["counts"]
    assert len(kept) + len(dropped) == counts["rules_before_superset_filter"]
    everything = {
        (frozenset(r["antecedent_words"]), frozenset(r["antecedent_objects"])): (r["answer"], r["confidence"])
        for table in (kept, dropped)
        for r in table.to_dicts()
    }
    for rule in dropped.head(300).to_dicts():
        words, objects = frozenset(rule["antecedent_words"]), frozenset(rule["antecedent_objects"])
        smaller = [(words - {w}, objects) for w in words] + [(words, objects - {o}) for o in objects]
        assert any(
            everything.get(one, ("", 0))[0] == rule["answer"] and everything[one][1] >= rule["confidence"]
            for one in smaller
        )


def test_exploited_shortcuts_equal_plain_counting(folder: Path, world: DemoWorld) -> None:
    built = read_folder(folder)
    report = score(folder, {"m": world.shortcut_predictions}, ScoreConfig(resamples=0, min_count=3))
    answers = dict(read_predictions(world.shortcut_predictions).table.rows())
    given = {key: normalise_answer(answer) for key, answer in answers.items()}
    questions = built.questions.to_dicts()
    chosen = {row["rule_id"]: row for row in report.exploited.to_dicts()}
    for rule in built.rules.to_dicts()[::40]:
        fired = [q for q in questions if fires(rule, q)]
        if len(fired) < 3:
            assert rule["rule_id"] not in chosen
            continue
        row, says = chosen[rule["rule_id"]], normalise_answer(rule["answer"])
        wrong = [q for q in fired if says not in {normalise_answer(a) for a in q["answers"]}]
        agreed = [sum(given[q["question_id"]] == says for q in some) for some in (fired, wrong)]
        rate = sum(answer == says for answer in given.values()) / len(questions)
        assert (row["firing_count"], row["counterexample_count"]) == (len(fired), len(wrong))
        assert [row["agreement_count"], row["counterexample_agreement_count"]] == agreed
        assert row["answer_rate"] == pytest.approx(rate)
        assert row["p_value"] == pytest.approx(binom.sf(agreed[0] - 1, len(fired), rate))
    q_values = false_discovery_control(report.exploited["p_value"].to_numpy(), method="by")
    assert report.exploited["q_value"].to_numpy() == pytest.approx(q_values)


def test_the_shortcut_model_exploits_and_the_grounded_one_does_not(folder: Path, world: DemoWorld) -> None:
    models = {"lazy": world.shortcut_predictions, "looks": world.grounded_predictions}
    report = score(folder, models, ScoreConfig(baseline="looks"))
    surely = report.exploited.filter(pl.col("counterexample_q_value") < 0.01)["model"].value_counts()
    assert dict(surely.rows())["lazy"] > 50
    assert "looks" not in dict(surely.rows())
    table = {row["model"]: row for row in report.paper_table().to_dicts()}
    assert list(table) == ["lazy", "looks", "rules (best)", "rules (weighted)"]
    assert table["lazy"]["counterexamples"] < 0.5 * table["lazy"]["easy"]
    assert report.differences is not None
    overall = report.differences.row(0, named=True)
    assert (overall["model"], overall["baseline"], overall["subgroup"]) == ("lazy", "looks", "all")
    assert overall["high"] < 0


def test_score_writes_its_tables(folder: Path, world: DemoWorld, tmp_path: Path) -> None:
    score(folder, {"m": world.grounded_predictions}, ScoreConfig(resamples=20), tmp_path)
    written = {path.name for path in tmp_path.iterdir()}
    scores = {f"scores.{ending}" for ending in ("parquet", "json", "md", "tex")}
    assert written == scores | {
        "scores_long.tex",
        "exploited_shortcuts.parquet",
        "README.md",
        "manifest.json",
    }
    assert json.loads((tmp_path / "scores.json").read_text())["accuracy"]["overall"]["all"]["m"]["n"] == 1685


def test_score_refuses_what_it_cannot_score(folder: Path, world: DemoWorld, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"baseline: got 'x', expected one of m, rules"):
        score(folder, {"m": world.grounded_predictions}, ScoreConfig(baseline="x"))
    with pytest.raises(ConfigError, match="stands for the rule classifier"):
        score(folder, {"rules (best)": world.grounded_predictions}, ScoreConfig())
    some = json.loads(world.grounded_predictions.read_text())[:-3]
    (tmp_path / "some.json").write_text(json.dumps([*some, {"question_id": 1, "answer": "x"}]))
    with pytest.raises(
        SchemaError, match=r"3 x question without a prediction.*\n.*1 x prediction for an unknown"
    ):
        score(folder, {"m": tmp_path / "some.json"}, ScoreConfig())


@pytest.mark.parametrize("subset", ["easy", "counterexamples", "hard"])
def test_explain_lists_the_rules_that_fire(folder: Path, subset: str) -> None:
    built = read_folder(folder)
    ids = built.split.filter(pl.col("subset") == subset)["question_id"].head(5)
    rules = built.rules.to_dicts()
    for question in built.questions.filter(pl.col("question_id").is_in(ids.implode())).to_dicts():
        shown = explain(folder, question["question_id"])
        assert shown.subset == subset
        expected = [rule["rule_id"] for rule in rules if fires(rule, question)]
        assert shown.rules["rule_id"].to_list() == expected
        correct = [rule["answer"] in question["answers"] for rule in rules if fires(rule, question)]
        assert shown.rules["is_correct"].to_list() == correct
        assert {
            "easy": any(correct),
            "counterexamples": bool(correct) and not any(correct),
            "hard": not correct,
        }[subset]


def test_an_explanation_shows_itself(folder: Path) -> None:
    shown = explain(folder, read_folder(folder).questions["question_id"][0])
    page = shown._repr_html_()
    for text in (str(shown.question["question"]), shown.subset, shown.reason):
        assert text in repr(shown)
        assert html.escape(text) in page
    assert len(repr(shown).splitlines()) < 20


def test_explain_an_unknown_question(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"question_id: got '1', expected one of the 1,685 evaluated"):
        explain(folder, "1")


def test_a_sweep_equals_separate_builds(world_files: VqaCeFiles) -> None:
    grid = sweep(world_files, VqaCeConfig(vote="weighted"), min_counts=(8, 20), min_confidences=(0.3, 0.6))
    for row, (count, confidence) in zip(
        grid.sweep.to_dicts(), itertools.product((8, 20), (0.3, 0.6)), strict=True
    ):
        config = VqaCeConfig(min_count=count, min_confidence=confidence, vote="weighted")
        counts = build(world_files, config, None).counts
        assert (row["min_count"], row["min_confidence"]) == (count, confidence)
        for name in ("rules", "classifier_rules", "easy", "counterexamples", "hard"):
            assert row[name] == counts[name], (row, name)


def test_files_of_two_builds_are_not_mixed(folder: Path, world_files: VqaCeFiles, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "mixed")
    build(world_files, VqaCeConfig(min_count=20), tmp_path / "other")
    shutil.copy(tmp_path / "other" / "split.parquet", tmp_path / "mixed" / "split.parquet")
    with pytest.raises(SourceError, match=r"split.parquet: got a table of another build than manifest.json"):
        read_folder(tmp_path / "mixed")


@pytest.mark.parametrize("damage", ["missing", "truncated", "foreign"])
def test_damaged_folders(folder: Path, tmp_path: Path, damage: str) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    victim = tmp_path / "copy" / "rules.parquet"
    if damage == "missing":
        victim.unlink()
    elif damage == "truncated":
        victim.write_bytes(victim.read_bytes()[:1000])
    else:
        victim.write_text("not a table")
    with pytest.raises(SourceError, match=r"rules.parquet: got .*expected a table that vqa-ce build wrote"):
        read_folder(tmp_path / "copy")
    with pytest.raises(
        SourceError, match=r"nowhere: got no such folder, expected a folder that vqa-ce build"
    ):
        read_folder(tmp_path / "nowhere")


def test_a_cut_search_says_so(world_files: VqaCeFiles, tmp_path: Path) -> None:
    report = build(world_files, VqaCeConfig(max_rules=5000), tmp_path)
    assert not report.is_complete
    assert "mining stopped after max_rules = 5,000" in report.warnings[-1]
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert (manifest["figures"]["is_complete"], manifest["config"]["max_rules"]) == (False, 5000)


def test_a_cap_that_memory_sets_is_in_the_manifest_only_where_it_was_hit(
    world_files: VqaCeFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(world_files, VqaCeConfig(), tmp_path / "whole")
    monkeypatch.setattr(antecedents, "fitting_rules", lambda budget: 5000)
    report = build(world_files, VqaCeConfig(), tmp_path / "cut")
    assert not report.is_complete
    assert report.warnings[-1].startswith(
        "mining stopped after max_rules = 5,000 antecedents, which fit in the free memory at about"
    )
    whole, cut = (json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("whole", "cut"))
    assert (whole["config"]["max_rules"], cut["config"]["max_rules"]) == (None, 5000)
    limits = [json.loads((tmp_path / name / "run.json").read_text())["limits"] for name in ("whole", "cut")]
    assert limits[1] == {"max_rules": 5000} != limits[0]
    rebuilt = build(world_files, VqaCeConfig(max_rules=5000), tmp_path / "again")
    assert rebuilt.rules.equals(report.rules)


def test_limit_uses_the_first_questions(world_files: VqaCeFiles) -> None:
    report = build(world_files, VqaCeConfig(min_count=3), None, limit=500)
    assert (report.counts["train_questions"], report.counts["val_questions"]) == (500, 500)


def test_without_detections_rules_are_words(world_files: VqaCeFiles) -> None:
    files = dataclasses.replace(world_files, detections=None)
    counts = build(files, VqaCeConfig(), None).counts
    assert counts["rules"] == counts["rules_words"] > 0
    with pytest.raises(ConfigError, match="got both without detections"):
        build(files, VqaCeConfig(items="both"), None)


def test_predictions_whose_ids_are_floats_or_lost_zeros(folder: Path, tmp_path: Path) -> None:
    questions = read_folder(folder).questions
    path, quick = tmp_path / "p.csv", ScoreConfig(resamples=0)
    answers = questions.select("question_id", "answer")
    answers.write_csv(path)
    wanted = score(folder, {"m": path}, quick).scores["value"].to_list()
    count = f"{len(questions):,}"
    for changed, note in (
        (
            pl.col("question_id") + ".0",
            f"question_id, floats read as whole numbers: {count}",
        ),
        ("0" + pl.col("question_id"), f"ids joined that had lost leading zeros: {count} "),
    ):
        answers.with_columns(question_id=changed).write_csv(path)
        report = score(folder, {"m": path}, quick)
        assert report.notes[0].startswith(f"predictions of m: {note}")
        assert report.scores["value"].to_list() == wanted
