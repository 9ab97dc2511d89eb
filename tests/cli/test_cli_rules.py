import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from cli.commands import RunCli

# ---- rules ----


def test_rules_prints_the_first_rules_in_rule_order(run_cli: RunCli, built: Path) -> None:
    ran = run_cli("rules", built, "--limit", 5)
    assert ran.code == 0
    header, _, *rows = ran.out.splitlines()
    assert header.split("  ")[0].strip() == "rule"
    assert [row.split()[0] for row in rows] == ["0", "1", "2", "3", "4"]
    total = pl.read_parquet(built / "rules.parquet").height
    assert ran.err == f"5 of {total:,} rules; see more with --limit {total}\n"


def test_rules_from_the_folder_and_the_file_are_the_same(run_cli: RunCli, built: Path) -> None:
    assert run_cli("rules", built).out == run_cli("rules", built / "rules.parquet").out


def test_rules_by_item_answer_kind_and_strength(run_cli: RunCli, built: Path) -> None:
    tokens = ("--contains", "color", "banana", "--answer", "yellow", "--modality", "multimodal")
    ran = run_cli("rules", built, *tokens, "--min-confidence", 0.9, "--min-count", 50, "--format", "json")
    assert ran.json["total"] == len(ran.json["rules"]) > 0
    for rule in ran.json["rules"]:
        assert {"color", "banana"} <= {*rule["antecedent_words"], *rule["antecedent_objects"]}
        assert (rule["answer"], rule["modality"]) == ("yellow", "multimodal")
        assert rule["confidence"] >= 0.9
        assert rule["rule_count"] >= 50


def test_rules_sorted_by_a_measure(run_cli: RunCli, built: Path) -> None:
    for measure in ("lift", "support", "val_confidence"):
        ran = run_cli("rules", built, "--sort", measure, "--format", "json", "--limit", 50)
        values = [rule[measure] for rule in ran.json["rules"]]
        assert values == sorted(values, reverse=True)


def test_no_rule_found_is_no_error(run_cli: RunCli, built: Path) -> None:
    ran = run_cli("rules", built, "--answer", "nobody says this")
    assert (ran.code, ran.err) == (0, "0 rules\n")
    ran = run_cli("rules", built, "--answer", "nobody says this", "--format", "json")
    assert ran.json == {"total": 0, "rules": []}


def test_a_sort_that_the_file_lacks_is_told(run_cli: RunCli, built: Path, tmp_path: Path) -> None:
    path = tmp_path / "rules.parquet"
    pl.read_parquet(built / "rules.parquet").drop("val_confidence").write_parquet(path)
    ran = run_cli("rules", path, "--sort", "val_confidence")
    assert ran.code == 2
    assert "sort: got 'val_confidence', expected one of rule_id, confidence" in ran.err


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "File out of specification"),
        (b"{}", "File out of specification"),
        (b"PAR1" + b"x" * 100, "rules that shortcut-miner wrote"),
    ],
)
def test_files_that_hold_no_rules_are_told(
    content: bytes, told: str, run_cli: RunCli, tmp_path: Path
) -> None:
    path = tmp_path / "rules.parquet"
    path.write_bytes(content)
    ran = run_cli("rules", path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {path}: got ")
    assert "Traceback" not in ran.err
    assert "expected rules that shortcut-miner wrote" in ran.err


def test_another_table_is_no_rules(run_cli: RunCli, built: Path) -> None:
    ran = run_cli("rules", built / "split.parquet")
    assert (ran.code, ran.out) == (2, "")
    assert "breaks the Rules schema" in ran.err


# ---- explain ----


def question_of(built: Path, subset: str) -> str:
    split = pl.read_parquet(built / "split.parquet")
    return str(split.filter(pl.col("subset") == subset)["question_id"][0])


@pytest.mark.parametrize("subset", ["easy", "counterexamples", "hard"])
def test_explain_shows_the_rules_that_fire(subset: str, run_cli: RunCli, built: Path) -> None:
    question_id = question_of(built, subset)
    row = pl.read_parquet(built / "split.parquet").row(
        by_predicate=pl.col("question_id") == question_id, named=True
    )
    ran = run_cli("explain", built, question_id, "--format", "json", "--limit", 100_000)
    assert (ran.code, ran.json["subset"]) == (0, subset)
    rules = ran.json["rules"]
    assert ran.json["total"] == len(rules) == row["matching_rule_count"]
    assert sum(rule["is_correct"] for rule in rules) == row["correct_rule_count"]
    items = {*ran.json["question"]["words"], *(ran.json["question"]["objects"] or ())}
    for rule in rules:
        assert {*rule["antecedent_words"], *rule["antecedent_objects"]} <= items
    table = run_cli("explain", built, question_id)
    assert table.out.startswith(f"question  {ran.json['question']['question']}\n")
    assert f"\nsubset    {subset}\n" in table.out
    assert f"\nbecause   {ran.json['reason']}\n" in table.out


def test_explain_tells_unknown_ids(run_cli: RunCli, built: Path) -> None:
    ran = run_cli("explain", built, "17")
    assert (ran.code, ran.out) == (2, "")
    assert "error: question_id: got '17', expected one of the 1,685 evaluated questions" in ran.err


def test_explain_tells_tables_of_another_build(run_cli: RunCli, built: Path, tmp_path: Path) -> None:
    mixed = tmp_path / "mixed"
    shutil.copytree(built, mixed)
    manifest = json.loads((mixed / "manifest.json").read_text())
    manifest["counts"]["rules"] += 1
    (mixed / "manifest.json").write_text(json.dumps(manifest))
    ran = run_cli("explain", mixed, "17")
    assert (ran.code, ran.out) == (2, "")
    assert "of another build than manifest.json describes" in ran.err
