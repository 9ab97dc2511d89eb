import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from cli.commands import RunCli

from shortcut_miner import vqa_ce
from shortcut_miner.mining.frames.lookup import find_rules

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
    assert (ran.code, ran.out) == (0, "no such rule\n")
    assert ran.err == "warning: answer: got 'nobody says this', but no rule gives it.\n0 rules\n"
    ran = run_cli("rules", built, "--answer", "nobody says this", "--format", "json")
    assert ran.json == {"total": 0, "rules": []}


@pytest.mark.parametrize(
    ("tokens", "told"),
    [
        (
            ("--contains", "tenis"),
            "contains: got 'tenis', but no rule contains it. Did you mean 'tennis racket'?",
        ),
        (("--contains", "Cat", "sport"), "contains: got 'Cat', but no rule contains it. Did you mean 'cat'?"),
        (("--contains", "zzz"), "contains: got 'zzz', but no rule contains it."),
        (
            ("--answer", "tennnis"),
            "answer: got 'tennnis', but no rule gives it. Did you mean 'tennis' or 'tennis racket'?",
        ),
    ],
)
def test_items_and_answers_that_no_rule_has_are_told(
    tokens: tuple[str, ...], told: str, run_cli: RunCli, built: Path
) -> None:
    ran = run_cli("rules", built, *tokens, "--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "no such rule\n", f"warning: {told}\n")


def test_items_that_no_rule_has_together_are_no_warning(run_cli: RunCli, built: Path) -> None:
    ran = run_cli("rules", built, "--contains", "banana", "giraffe")
    assert (ran.code, ran.out, ran.err) == (0, "no such rule\n", "0 rules\n")


@pytest.mark.parametrize("verdict", ["chance", "unstable", "prior", "redundant", "real"])
def test_rules_by_verdict(verdict: str, run_cli: RunCli, built: Path) -> None:
    counts = json.loads((built / "manifest.json").read_text())["figures"]["verdicts"]
    ran = run_cli("rules", built, "--verdict", verdict, "--format", "json", "--limit", 3)
    assert ran.json["total"] == counts[verdict] > 0
    assert {rule["verdict"] for rule in ran.json["rules"]} == {verdict}


def test_rules_by_q(run_cli: RunCli, built: Path) -> None:
    q = pl.read_parquet(built / "rules.parquet")["q_value_by"]
    ran = run_cli(
        "rules", built, "--max-q", 0.05, "--sort", "q_value_by", "--format", "json", "--limit", 9999
    )
    assert [rule["q_value_by"] for rule in ran.json["rules"]] == q.filter(q < 0.05).sort().to_list()


def test_rules_show_verdict_and_q(run_cli: RunCli, built: Path) -> None:
    first = pl.read_parquet(built / "rules.parquet").row(0, named=True)
    header, _, row = run_cli("rules", built, "--limit", 1).out.splitlines()
    assert header.split()[-2:] == ["q", "verdict"]
    assert row.split()[-2:] == [f"{first['q_value_by']:.1e}", first["verdict"]]


def test_rules_of_mine_have_no_verdict(run_cli: RunCli, built: Path, tmp_path: Path) -> None:
    table, out = built / "questions.parquet", tmp_path / "mined"
    assert run_cli("mine", table, "--words", "words", "--out", out, "--quiet").code == 0
    assert run_cli("rules", out).out.splitlines()[0].split()[-1] == "lift"
    for tokens, column in ((("--verdict", "real"), "verdict"), (("--max-q", 0.1), "q_value_by")):
        ran = run_cli("rules", out, *tokens)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(
            f"error: verdict, max_q: got rules without {column}, expected those of vqa-ce"
        )


@pytest.mark.parametrize("q", ["-0.1", "1.5", "nan"])
def test_a_q_that_is_none_is_told(q: str, run_cli: RunCli, built: Path) -> None:
    ran = run_cli("rules", built, "--max-q", q)
    assert (ran.code, ran.err) == (
        2, f"error: max_q: got {float(q)!r}, expected a number from 0 to 1. Change --max-q.\n"
    )  # fmt: skip


def test_every_measure_of_the_table_sorts(run_cli: RunCli, built: Path) -> None:
    rules = pl.read_parquet(built / "rules.parquet")
    measures = [name for name, dtype in rules.schema.items() if dtype.is_numeric()]
    smallest_first = {"rule_id", "q_value_bh", "q_value_by", "log10_p_value", "improvement_log10_p",
                      "val_log10_p_value"}  # fmt: skip
    assert smallest_first <= {*measures}
    for name in measures:
        found = find_rules(rules, sort=name)[name].drop_nulls().to_list()
        assert found == sorted(rules[name].drop_nulls(), reverse=name not in smallest_first), name
    ran = run_cli("rules", built, "--sort", "shrinkage", "--format", "json", "--limit", 1)
    assert ran.json["rules"][0]["shrinkage"] == rules["shrinkage"].max()


def test_a_measure_that_is_none_is_told_with_a_near_name(run_cli: RunCli, built: Path) -> None:
    ran = run_cli("rules", built, "--sort", "val_lft")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: sort: got 'val_lft', expected one of rule_id, transaction_count, ")
    assert ran.err.endswith(" Did you mean 'val_lift'? Choose one.\n")


def test_rules_of_another_build_are_told(run_cli: RunCli, built: Path, tmp_path: Path) -> None:
    mixed = tmp_path / "mixed"
    shutil.copytree(built, mixed)
    pl.read_parquet(built / "rules.parquet").write_parquet(mixed / "rules.parquet")
    for source in (mixed, mixed / "rules.parquet"):
        ran = run_cli("rules", source)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(
            f"error: {mixed / 'rules.parquet'}: got a table of another build than manifest"
        )
    alone = tmp_path / "alone.parquet"
    shutil.copy(mixed / "rules.parquet", alone)
    assert run_cli("rules", alone).out == run_cli("rules", built).out


def test_a_folder_without_rules_is_told_once(run_cli: RunCli, built: Path, tmp_path: Path) -> None:
    without = tmp_path / "without"
    shutil.copytree(built, without, ignore=shutil.ignore_patterns("rules.parquet"))
    ran = run_cli("rules", without)
    path = without / "rules.parquet"
    assert ran.err == (
        f"error: {path}: got no such file, expected a table that vqa-ce build wrote. Run the build again.\n"
    )


def test_a_sort_that_the_file_lacks_is_told(run_cli: RunCli, built: Path, tmp_path: Path) -> None:
    path = tmp_path / "rules.parquet"
    pl.read_parquet(built / "rules.parquet").drop("val_confidence").write_parquet(path)
    ran = run_cli("rules", path, "--sort", "val_confidence")
    assert ran.code == 2
    assert "sort: got 'val_confidence', expected one of rule_id, transaction_count" in ran.err
    assert "Did you mean 'val_confidence_low' or 'val_confidence_high' or 'confidence'?" in ran.err


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "a file that is neither Parquet nor Arrow"),
        (b"{}", "a file that is neither Parquet nor Arrow"),
        (b"PAR1" + b"x" * 100, "magic bytes not found in footer"),
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
    assert told in ran.err
    assert "expected a table that shortcut-miner wrote" in ran.err


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
    near = run_cli("explain", built, "10149600")
    assert near.err.endswith(" Did you mean '101496003' or '101496002' or '101496001'? Check the id.\n")


def test_explain_shows_and_filters_by_verdict_and_q(run_cli: RunCli, built: Path) -> None:
    question_id = question_of(built, "easy")
    everything = run_cli("explain", built, question_id, "--format", "json", "--limit", 9999).json
    header = next(
        line for line in run_cli("explain", built, question_id).out.splitlines() if "verdict" in line
    )
    assert header.split()[-2:] == ["q", "verdict"]
    verdict = everything["rules"][0]["verdict"]
    for tokens, is_asked in (
        (("--verdict", verdict), lambda rule: rule["verdict"] == verdict),
        (("--max-q", 0.05), lambda rule: rule["q_value_by"] < 0.05),
    ):
        ran = run_cli("explain", built, question_id, *tokens, "--format", "json", "--limit", 9999)
        expected = [rule for rule in everything["rules"] if is_asked(rule)]
        assert (ran.json["rules"], ran.json["reason"]) == (expected, everything["reason"])
        assert expected
    fronted = vqa_ce.explain(built, question_id, verdict=verdict, max_q=0.05).rules
    assert fronted["rule_id"].to_list() == [
        rule["rule_id"]
        for rule in everything["rules"]
        if rule["verdict"] == verdict and rule["q_value_by"] < 0.05
    ]


def test_explain_tells_tables_of_another_build(run_cli: RunCli, built: Path, tmp_path: Path) -> None:
    mixed = tmp_path / "mixed"
    shutil.copytree(built, mixed)
    manifest = json.loads((mixed / "manifest.json").read_text())
    manifest["counts"]["rules"] += 1
    (mixed / "manifest.json").write_text(json.dumps(manifest))
    ran = run_cli("explain", mixed, "17")
    assert (ran.code, ran.out) == (2, "")
    assert "of another build than manifest.json describes" in ran.err


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ((), []),
        (("group=user",), ["group     u1"]),
        (("image_id=img",), ["image     i1"]),
        (("image_id=img", "group=user"), ["image     i1", "group     u1"]),
    ],
)
def test_explain_names_the_image_and_the_group_that_a_table_has(
    more: tuple[str, ...], told: list[str], run_cli: RunCli, tmp_path: Path
) -> None:
    rows = [
        {"id": f"q{at}", "text": "win cash", "label": "spam", "user": f"u{at}", "img": f"i{at}"}
        for at in range(9)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "t.csv")
    columns = ",".join(("question_id=id", "question=text", "answer=label", *more))
    files = ("--table", tmp_path / "t.csv", "--val-table", tmp_path / "t.csv")
    assert run_cli("vqa-ce", "build", *files, "--columns", columns, "--out", tmp_path / "ce").code == 0
    shown = run_cli("explain", tmp_path / "ce", "q1").out.splitlines()
    assert [line for line in shown if line.startswith(("image", "group"))] == told
