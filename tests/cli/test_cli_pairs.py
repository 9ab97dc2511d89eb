"""``pairs build`` and ``pairs score`` as a user types them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
from cli.commands import CHECKOUT, RunCli, contents


def test_a_build_says_what_was_read_and_found(demo: Path, run_cli: RunCli, tmp_path: Path) -> None:
    ran = run_cli("pairs", "build", demo / "vqa-ce", "--groups", "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert [line.split("  ")[0] for line in lines] == [
        "questions", "rules", "pairs by rule", "pairs", "groups", "not in a pair", "written", "took",
    ]  # fmt: skip
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {
        "README.md", "groups.parquet", "manifest.json", "pair_questions.json", "pairs.json", "pairs.parquet",
        "questions.parquet", "rules.parquet", "run.json",
    }  # fmt: skip
    assert len(pl.read_parquet(tmp_path / "out" / "pairs.parquet")) == 459


def test_a_folder_or_questions_but_not_both(demo: Path, run_cli: RunCli) -> None:
    for words, told in (
        ((), "error: pairs build: got no questions, expected a folder that vqa-ce build wrote, or "
             "--questions. Give one of them.\n"),
        ((demo / "vqa-ce", "--questions", "q.json"), "error: pairs build: got a folder and --questions, "
         "expected one of them. Leave the other out.\n"),
        ((demo / "rad",), f"error: {demo / 'rad'}: got the output of 'rad build', expected that of vqa-ce "
         "build. Give the folder of a vqa-ce build.\n"),
    ):  # fmt: skip
        ran = run_cli("pairs", "build", *words, "--dry-run")
        assert (ran.code, ran.out, ran.err) == (2, "", told)


def test_a_config_file_gives_options(demo: Path, run_cli: RunCli, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('match = "antecedent"\nper_rule = 1\n', encoding="utf-8")
    words = ("--config", tmp_path / "run.toml", "--out", tmp_path / "out", "--format", "json")
    ran = run_cli("pairs", "build", demo / "vqa-ce", *words)
    assert (ran.code, ran.json["counts"]["pairs"]) == (0, ran.json["counts"]["rules_with_pairs"])
    config = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))["config"]
    assert (config["match"], config["per_rule"], config["rules"]) == ("antecedent", 1, "kept")


def test_scores_are_printed_with_the_shortcuts_followed(demo: Path, run_cli: RunCli) -> None:
    models = [f"{name}={demo}/world/{name}_model_results.json" for name in ("shortcut", "grounded")]
    words = ("pairs", "score", demo / "pairs", "--predictions", models[0], "--predictions", models[1])
    ran = run_cli(*words, "--baseline", "grounded", "--resamples", 20, "--limit", 2)
    assert ran.code == 0, ran.err
    for title in (
        "Pairs, in percent [95% interval]",
        "Both right, in percent [95% interval]",
        "Difference to grounded in points [95% interval]",
        "Shortcuts of shortcut: follows 89 of 163 rules on both sides of a pair",
    ):
        assert title in ran.out
    assert "note: images that pairs connect: " in ran.err
    told = run_cli(*words, "--resamples", 0, "--format", "json").json
    shares = told["scores"]["shortcut_rate"]["overall"]["all"]
    assert shares["shortcut"]["value"] > 40 > shares["grounded"]["value"]
    assert len(told["shortcuts"]) == 20


def test_threads_and_hash_seeds_change_no_byte(demo: Path, tmp_path: Path) -> None:
    """By rules, in an order that is drawn, with reuse: all that is counted and sorted on the way."""
    outs = []
    for number, threads in enumerate(("1", "3")):
        out = tmp_path / f"{number}"
        variables = {"POLARS_MAX_THREADS": threads, "NUMBA_NUM_THREADS": "1", "PYTHONHASHSEED": str(number)}
        words = ["pairs", "build", demo / "vqa-ce", "--match", "question_type", "--seed", "4", "--groups"]
        subprocess.run(
            [sys.executable, "-m", "shortcut_miner", *map(str, words), "--rules", "all", "--out", str(out)],
            env={**os.environ, "PYTHONPATH": str(CHECKOUT), **variables},
            check=True,
            capture_output=True,
        )
        outs.append(contents(out, without=("run.json",)))
    assert outs[0] == outs[1]
