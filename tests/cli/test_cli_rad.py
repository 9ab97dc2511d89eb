import json
from pathlib import Path

import polars as pl
import pytest
from cli.commands import RunCli, contents

from shortcut_miner.cli.run import run
from shortcut_miner.demo import DemoWorld
from shortcut_miner.demo.rad import RadDemo, run_rad


def inputs(world: DemoWorld) -> list[str]:
    return ["--questions", str(world.val_questions), "--annotations", str(world.val_annotations)]


@pytest.fixture(scope="session")
def demo(world: DemoWorld, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RadDemo]:
    out = tmp_path_factory.mktemp("rad-demo")
    return out, run_rad(world, out)


def model_options(world: DemoWorld, demo: RadDemo) -> list[str]:
    files = {"leaning": "shortcut_model", "grounded": "grounded_model"}
    return [
        "--original", f"leaning={world.shortcut_predictions}", f"grounded={world.grounded_predictions}",
        "--augmented", *(f"{name}={demo.answers[model]}" for name, model in files.items()),
    ]  # fmt: skip


def test_build_says_what_it_did(
    run_cli: RunCli, world: DemoWorld, demo: tuple[Path, RadDemo], tmp_path: Path
) -> None:
    out = tmp_path / "deep" / "rad"
    ran = run_cli("rad", "build", *inputs(world), "--out", out)
    assert (ran.code, ran.err) == (0, "")
    assert contents(out, without=("run.json",)) == contents(demo[0] / "rad", without=("run.json",))
    counts = json.loads((out / "manifest.json").read_text())["counts"]
    told = dict(line.split("  ", maxsplit=1) for line in ran.out.splitlines())
    assert told["questions"].strip().startswith(f"{counts['questions']:,} about ")
    assert told["colors"].strip().startswith(f"{counts['augmentations_colors']:,} of ")
    assert "a yes/no question" in told["no augmentation"]
    assert told["nouns found by"].strip().startswith("en_core_web_sm")
    assert told["written"].strip() == str(out)


def test_build_as_json_dry_and_limited(run_cli: RunCli, world: DemoWorld, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = run_cli(
        "rad", "build", *inputs(world), "--limit", 50, "--dry-run", "--out", out, "--format", "json"
    )
    assert ran.code == 0
    assert ran.json["counts"]["questions"] == 50
    assert (ran.json["out"], ran.json["is_complete"]) == (None, True)
    assert [one["stage"] for one in ran.json["stages"]] == ["read", "find sources", "draw", "phrase"]
    assert not out.exists()


def test_build_takes_options_and_a_config_file(run_cli: RunCli, world: DemoWorld, tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text('types = "what-kind"\nmode = "literal"\nseed = 3\n')
    out = tmp_path / "out"
    ran = run_cli("rad", "build", *inputs(world), "--config", path, "--seed", 4, "--out", out, "--quiet")
    assert ran.code == 0
    config = json.loads((out / "manifest.json").read_text())["config"]
    assert (config["types"], config["mode"], config["seed"]) == ("what-kind", "literal", 4)
    made = pl.read_parquet(out / "augmentations.parquet")
    assert set(made["augmentation"]) == {"what-kind"}
    assert set(made["form"]) == {"literal"}


@pytest.mark.parametrize(
    ("tokens", "told"),
    [
        ((), "--out: got none, expected a folder"),
        (("--types", "all,colors", "--dry-run"), "types: got 'all,colors', expected all, or some of"),
        (("--spacy-model", "nope", "--dry-run"), "spacy_model nope: got no such package"),
        (("--columns", "x=y", "--dry-run"), "columns: got 'x=y', expected NAME=COLUMN"),
    ],
)
def test_build_errors(tokens: tuple[str, ...], told: str, run_cli: RunCli, world: DemoWorld) -> None:
    ran = run_cli("rad", "build", *inputs(world), *tokens)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {told}")
    assert "Traceback" not in ran.err


def test_score_prints_a_table_a_metric(
    run_cli: RunCli, world: DemoWorld, demo: tuple[Path, RadDemo], tmp_path: Path
) -> None:
    folder, done = demo
    out = tmp_path / "scores"
    ran = run_cli("rad", "score", folder / "rad", *model_options(world, done), "--out", out)
    assert (ran.code, ran.err) == (0, "")
    assert "RAD(original, augmented) in percent [95% interval]" in ran.out
    assert "accuracy, augmented in percent" in ran.out
    lines = [line for line in ran.out.splitlines() if line.startswith("how-many")]
    assert len(lines) == 6
    assert "[" in lines[0]
    assert (out / "scores.parquet").exists()


def test_score_as_json(run_cli: RunCli, world: DemoWorld, demo: tuple[Path, RadDemo]) -> None:
    folder, done = demo
    ran = run_cli(
        "rad", "score", folder / "rad", *model_options(world, done), "--resamples", 20, "--format", "json"
    )
    assert ran.code == 0
    overall = ran.json["scores"]["rad"]["overall"]["all"]
    assert set(overall) == {"leaning", "grounded"}
    assert overall["grounded"]["value"] > overall["leaning"]["value"]
    assert {one["augmentation"] for one in ran.json["counts"]} == {None, "colors", "how-many", "what-kind"}


def test_score_of_any_pairs_equals_that_of_the_folder(
    run_cli: RunCli, world: DemoWorld, demo: tuple[Path, RadDemo], tmp_path: Path
) -> None:
    folder, done = demo
    made = pl.read_parquet(folder / "rad" / "augmentations.parquet")
    pairs = made.select(original_id="question_id", augmented_id="question_id", augmentation="augmentation")
    pairs.write_csv(tmp_path / "pairs.csv")
    made.select("question_id", "image_id", "question", "answer").write_parquet(tmp_path / "augmented.parquet")
    files = ["--pairs", tmp_path / "pairs.csv", *inputs(world)]
    files += ["--augmented-questions", tmp_path / "augmented.parquet"]
    options = [*model_options(world, done), "--resamples", 0, "--format", "json"]
    of_pairs = run_cli("rad", "score", *files, *options).json
    of_folder = run_cli("rad", "score", folder / "rad", *options).json
    for groups in of_folder["scores"].values():
        assert groups.pop("form")  # which pairs don't tell
    assert of_folder["scores"].pop("vqa_accuracy_augmented")  # the table has one answer a question
    assert of_pairs == of_folder


def test_score_errors(run_cli: RunCli, world: DemoWorld, demo: tuple[Path, RadDemo], tmp_path: Path) -> None:
    folder, done = demo
    models = model_options(world, done)
    for tokens, told in (
        (models, "rad score: got neither a folder nor --pairs"),
        (
            (folder / "rad", *models, "--pairs", "x"),
            "rad score: got a folder and --pairs, expected one of them",
        ),
        (
            (folder / "rad", *models, "--out", folder / "rad"),
            f"--out {folder / 'rad'}: got the build's own folder",
        ),
        (
            (tmp_path, *models),
            f"{tmp_path}: got no manifest.json in it, expected a folder that rad build wrote",
        ),
        (
            (folder / "rad", "--original", "x", "--augmented", "a=b"),
            "--original: got 'x', expected NAME=FILE",
        ),
        (
            (folder / "rad", *models, "--correct", "soft", "--threshold", 0),
            "threshold: got 0.0, expected a number",
        ),
    ):
        ran = run_cli("rad", "score", *tokens)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(f"error: {told}"), ran.err


def test_bad_rows_skipped_on_request_end_with_exit_code_3(run_cli: RunCli, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("question_id,question,answer\n1,What color is the bus?,red\n2,,blue\n")
    assert run_cli("rad", "build", "--questions", path, "--dry-run").code == 2
    ran = run_cli("rad", "build", "--questions", path, "--dry-run", "--on-bad-row", "skip")
    assert ran.code == 3


def test_dry_score_writes_nothing(world: DemoWorld, demo: tuple[Path, RadDemo], tmp_path: Path) -> None:
    folder, done = demo
    out = tmp_path / "scores"
    tokens = [
        "rad",
        "score",
        str(folder / "rad"),
        *model_options(world, done),
        "--out",
        str(out),
        "--dry-run",
    ]
    assert run(tokens) == 0
    assert not out.exists()
