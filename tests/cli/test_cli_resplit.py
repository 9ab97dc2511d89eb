"""``resplit build`` and ``resplit score`` as a user types them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli.commands import CHECKOUT, RunCli, contents


def inputs(demo: Path) -> tuple[object, ...]:
    world = demo / "world"
    return (
        *("--questions", world / "v2_OpenEnded_mscoco_val2014_questions.json"),
        *("--annotations", world / "v2_mscoco_val2014_annotations.json"),
    )


def test_a_build_says_what_was_read_and_found(demo: Path, run_cli: RunCli, tmp_path: Path) -> None:
    ran = run_cli("resplit", "build", *inputs(demo), "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    assert [line.split("  ")[0] for line in ran.out.splitlines()] == [
        "questions", "groups", "train", "val", "test", "images", "concepts", "shift", "written", "took",
    ]  # fmt: skip
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {
        "README.md", "groups.parquet", "manifest.json", "questions.parquet", "run.json", "shift.parquet",
        "split.parquet",
        *(f"{side}_questions.json" for side in ("train", "val", "test")),
        *(f"{side}_annotations.json" for side in ("train", "val", "test")),
    }  # fmt: skip


def test_several_files_are_put_together(demo: Path, run_cli: RunCli) -> None:
    world = demo / "world"
    train = (
        world / "v2_OpenEnded_mscoco_train2014_questions.json",
        world / "v2_mscoco_train2014_annotations.json",
    )
    val = inputs(demo)
    words = ("--questions", train[0], val[1], "--annotations", train[1], val[3], "--dry-run")
    ran = run_cli("resplit", "build", *words, "--format", "json")
    assert ran.code == 0, ran.err
    alone = run_cli("resplit", "build", *val, "--dry-run", "--format", "json").json
    assert ran.json["counts"]["questions"] > alone["counts"]["questions"] == 1685
    twice = run_cli("resplit", "build", "--questions", val[1], val[1], "--annotations", val[3], val[3])
    assert twice.code == 2


def test_a_build_of_what_was_split_finds_the_shortcuts_of_its_training(
    demo: Path, run_cli: RunCli, tmp_path: Path
) -> None:
    """The files of each side are VQA's own: any other command reads them."""
    assert run_cli("resplit", "build", *inputs(demo), "--out", tmp_path / "out", "--quiet").code == 0
    sides = [
        f"--{name}-{what}={tmp_path / 'out' / f'{side}_{what}.json'}"
        for name, side in (("train", "train"), ("val", "test"))
        for what in ("questions", "annotations")
    ]
    ran = run_cli("vqa-ce", "build", *sides, "--items", "words", "--dry-run", "--format", "json")
    assert ran.code == 0, ran.err
    assert ran.json["counts"]["easy"] < ran.json["counts"]["counterexamples"]


def test_scores_are_printed_with_the_drop(demo: Path, run_cli: RunCli) -> None:
    answers = f"m={demo / 'world' / 'shortcut_model_results.json'}"
    words = ("resplit", "score", demo / "resplit", "--predictions", answers)
    ran = run_cli(*words, "--resamples", 20)
    assert ran.code == 0, ran.err
    for title in (
        "Accuracy on the test, in percent [95% interval]",
        "Accuracy on validation questions of the training's kind",
        "Drop from validation to test, in points",
    ):
        assert title in ran.out
    told = run_cli(*words, "--resamples", 0, "--format", "json").json["scores"]
    prior = {metric: told[metric]["overall"]["all"]["prior"]["value"] for metric in told}
    assert prior["accuracy_val"] - prior["accuracy_test"] == pytest.approx(prior["drop"])
    assert prior["accuracy_test"] < 10 < prior["accuracy_val"]


def test_threads_and_hash_seeds_change_no_byte(demo: Path, tmp_path: Path) -> None:
    outs = []
    rules = ("--from-rules", demo / "vqa-ce", "--detections", demo / "world" / "image_to_detection.json")
    for number, threads in enumerate(("1", "3")):
        variables = {"POLARS_MAX_THREADS": threads, "NUMBA_NUM_THREADS": "1", "PYTHONHASHSEED": str(number)}
        for name, words in (("cp", ("--group-by", "antecedent,answer")), ("vs", ("--method", "vqa-vs-like"))):
            out = tmp_path / f"{name}-{number}"
            command = ("resplit", "build", *inputs(demo), *rules, *words, "--out", out)
            subprocess.run(
                [sys.executable, "-m", "shortcut_miner", *map(str, command)],
                env={**os.environ, "PYTHONPATH": str(CHECKOUT), **variables},
                check=True,
                capture_output=True,
            )
            outs.append(contents(out, without=("run.json",)))
    assert outs[:2] == outs[2:]
