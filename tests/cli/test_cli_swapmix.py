import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from cli.commands import CHECKOUT, RunCli, contents

from shortcut_miner.demo import write_demo_world
from shortcut_miner.demo.swapmix import run_swapmix


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("swapmix")
    run_swapmix(write_demo_world(out / "world"), out)
    return out


def build_options(demo: Path) -> list[str]:
    world = demo / "world"
    return [
        *("--questions", str(world / "val_balanced_questions.json")),
        *("--scene-graphs", str(world / "val_sceneGraphs.json")),
        *("--detections", str(world / "val_objects.jsonl")),
        *("--embeddings", str(world / "word_vectors.txt")),
    ]


def test_build_says_what_it_did(run_cli: RunCli, demo: Path, tmp_path: Path) -> None:
    ran = run_cli("swapmix", "build", *build_options(demo), "--k", "2", "--out", tmp_path / "out")
    assert ran.code == 0
    assert "525 of 531 about 531 images" in ran.out
    assert "questions: image without detections" in ran.out
    assert "context objects left out without region" in ran.out
    assert "note: embeddings: GloVe text" in ran.err
    assert (tmp_path / "out" / "swaps.parquet").is_file()


def test_build_as_json(run_cli: RunCli, demo: Path, tmp_path: Path) -> None:
    words = ("swapmix", "build", *build_options(demo), "--plan", "training", "--epochs", "2")
    ran = run_cli(*words, "--out", tmp_path / "out", "--format", "json", "--quiet")
    assert ran.code == 0
    assert ran.json["counts"]["questions_in_plan"] == 525
    assert ran.json["is_complete"] is True
    assert (tmp_path / "out" / "training_epoch_001.parquet").is_file()


def test_dry_run_writes_nothing(run_cli: RunCli, demo: Path, tmp_path: Path) -> None:
    ran = run_cli(
        "swapmix", "build", *build_options(demo), "--limit", "20", "--dry-run", "--out", tmp_path / "out"
    )
    assert ran.code == 0
    assert "nothing (dry run)" in ran.out
    assert not (tmp_path / "out").exists()


def test_options_come_from_a_file_too(run_cli: RunCli, demo: Path, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('k = 3\npadding = "none"\n')
    words = ("swapmix", "build", *build_options(demo), "--config", tmp_path / "run.toml")
    assert run_cli(*words, "--k", "1", "--out", tmp_path / "out").code == 0
    config = json.loads((tmp_path / "out" / "manifest.json").read_bytes())["config"]
    assert (config["k"], config["padding"]) == (1, "none")


def test_bad_input_leaves_earlier_results_alone(run_cli: RunCli, demo: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run_cli("swapmix", "build", *build_options(demo), "--k", "1", "--out", out).code == 0
    before = contents(out)
    options = build_options(demo)
    options[options.index("--embeddings") + 1] = str(demo / "world" / "val_sceneGraphs.json")
    ran = run_cli("swapmix", "build", *options, "--k", "1", "--out", out)
    assert ran.code == 2
    assert "expected word vectors" in ran.err
    assert contents(out) == before


def test_score_prints_metrics_and_classes(run_cli: RunCli, demo: Path, tmp_path: Path) -> None:
    answers = demo / "swapmix-answers"
    words = (
        *(
            "swapmix",
            "score",
            demo / "swapmix",
            "--predictions",
            f"leaning={answers / 'shortcut_model.parquet'}",
        ),
        *("--predictions", f"grounded={answers / 'grounded_model.parquet'}"),
    )
    ran = run_cli(*words, "--resamples", "50", "--out", tmp_path / "scores", "--limit", "2")
    assert ran.code == 0
    for text in (
        "context reliance",
        "effective accuracy perturbations only",
        "leaning: objects whose class swaps",
    ):
        assert text in ran.out
    as_json = run_cli(*words, "--resamples", "0", "--format", "json", "--k", "2", "--exclude-padding").json
    assert as_json["scores"]["accuracy"]["overall"]["all"]["grounded"]["n"] == 525
    assert as_json["class_flips"]
    written = json.loads((tmp_path / "scores" / "scores.json").read_bytes())
    assert written["context_reliance"]["overall"]["all"]["leaning"]["value"] > 10


RESULT = '{"1": {"007": {"ans": 3, "changes": ["original", "a_to_b"], "pred": [[3, %s]]}}}'


def test_score_reads_the_released_results(run_cli: RunCli, tmp_path: Path) -> None:
    for name, answer in (("classes", "3"), ("attributes", "4")):
        (tmp_path / f"{name}.json").write_text(RESULT % answer)
    words = ("swapmix", "score", "--class-results", tmp_path / "classes.json")
    ran = run_cli(*words, "--attribute-results", tmp_path / "attributes.json", "--format", "json")
    assert ran.code == 0
    assert ran.json["scores"]["attribute_reliance"]["overall"]["all"]["model"]["value"] == 100.0
    alone = run_cli(*words)
    assert (alone.code, alone.out) == (2, "")
    assert alone.err.endswith(
        "swapmix score: got --class-results alone, expected a folder that swapmix build wrote with "
        "--predictions, or --class-results with --attribute-results. Give --attribute-results too.\n"
    )


def test_out_is_not_the_builds_own_folder(run_cli: RunCli, demo: Path) -> None:
    answers = demo / "swapmix-answers" / "grounded_model.parquet"
    ran = run_cli(
        "swapmix", "score", demo / "swapmix", "--predictions", f"m={answers}", "--out", demo / "swapmix"
    )
    assert ran.code == 2
    assert "expected another" in ran.err


def test_missing_answers_are_bad_input(run_cli: RunCli, demo: Path, tmp_path: Path) -> None:
    answers = pl.read_parquet(demo / "swapmix-answers" / "grounded_model.parquet")
    answers.head(-1).write_parquet(tmp_path / "few.parquet")
    ran = run_cli("swapmix", "score", demo / "swapmix", "--predictions", f"m={tmp_path / 'few.parquet'}")
    assert ran.code == 2
    assert "1 perturbations of 1 questions without an answer" in ran.err


def test_pandas_is_not_loaded(demo: Path) -> None:
    """PyArrow loads it, 0.2 s of the command, to turn NumPy values into its own or its own into NumPy's."""
    answers = demo / "swapmix-answers" / "grounded_model.parquet"
    words = ("swapmix", "score", demo / "swapmix", "--predictions", f"m={answers}", "--resamples", "0")
    line = [sys.executable, "-X", "importtime", "-m", "shortcut_miner", *map(str, words)]
    done = subprocess.run(line, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    loaded = {text.rpartition("|")[2].strip() for text in done.stderr.splitlines()}
    assert "pyarrow" in loaded
    assert "pandas" not in loaded
