import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from cli.commands import CHECKOUT, Ran, RunCli, contents

from shortcut_miner.cli.run import run
from shortcut_miner.demo import DemoWorld, write_demo_world
from shortcut_miner.demo.detector import write_detections
from shortcut_miner.demo.fpvg import FpvgDemo, run_fpvg, write_runs

CONDITIONS = ("all", "relevant", "irrelevant")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[DemoWorld, FpvgDemo, Path]:
    out = tmp_path_factory.mktemp("fpvg-demo")
    world = write_demo_world(out / "world")
    return world, run_fpvg(world, out), out


def inputs(demo: tuple[DemoWorld, FpvgDemo, Path]) -> list[object]:
    world, done, _ = demo
    return [
        *("--questions", world.gqa_questions),
        *("--scene-graphs", world.val_scene_graphs),
        *("--detections", done.detections),
    ]


def runs(demo: tuple[DemoWorld, FpvgDemo, Path], *names: str) -> list[object]:
    folder = demo[2] / "world"
    return [
        token
        for condition in CONDITIONS
        for name in names
        for token in (f"--{condition}", f"{name}={folder / f'{name}_model_{condition}_regions.json'}")
    ]


def test_the_demo_tells_its_models_apart(demo: tuple[DemoWorld, FpvgDemo, Path]) -> None:
    done = demo[1]
    assert done.built.counts["evaluable"] > 100
    plus = done.scores.scores.filter(metric="fpvg_plus", group="overall")
    values = dict(plus.select("model", "value").iter_rows())
    assert values["grounded_model"] > 50 > 25 > values["shortcut_model"]


def test_the_demo_is_the_same_for_a_seed(demo: tuple[DemoWorld, FpvgDemo, Path], tmp_path: Path) -> None:
    world, done, _ = demo
    again = write_detections(world.val_scene_graphs, tmp_path)
    assert again.read_bytes() == done.detections.read_bytes()
    other = write_detections(world.val_scene_graphs, tmp_path, seed=1)
    assert other.read_bytes() != done.detections.read_bytes()
    run_files = write_runs(world.gqa_questions, tmp_path, 0)
    theirs = world.gqa_questions.parent / run_files[0].all.name
    assert run_files[0].all.read_bytes() == theirs.read_bytes()


def test_build_writes_a_folder_and_says_what_it_did(
    run_cli: RunCli, demo: tuple[DemoWorld, FpvgDemo, Path], tmp_path: Path
) -> None:
    out = tmp_path / "deep" / "folder"
    ran = run_cli("fpvg", "build", *inputs(demo), "--out", out)
    assert (ran.code, ran.err) == (0, "")
    assert contents(out, without=("run.json",)) == contents(demo[2] / "fpvg", without=("run.json",))
    told = dict(line.split("  ", maxsplit=1) for line in ran.out.splitlines())
    counts = json.loads((out / "manifest.json").read_text())["counts"]
    assert told["questions"].strip() == f"{counts['questions']} about {counts['images']} images"
    assert told["evaluable"].strip().startswith(f"{counts['evaluable']} questions")
    assert f"{counts['no_annotation']} without annotation" in told["not"]
    assert "per evaluable question" in told["regions"]


def test_build_as_json_and_dry(
    run_cli: RunCli, demo: tuple[DemoWorld, FpvgDemo, Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    ran = run_cli(
        "fpvg", "build", *inputs(demo), "--dry-run", "--out", out, "--format", "json", "--limit", 50
    )
    assert (ran.code, ran.json["out"], ran.json["counts"]["questions"]) == (0, None, 50)
    assert [stage["stage"] for stage in ran.json["stages"]] == ["read", "match"]
    assert not out.exists()


def test_build_options(run_cli: RunCli, demo: tuple[DemoWorld, FpvgDemo, Path], tmp_path: Path) -> None:
    config = tmp_path / "run.toml"
    config.write_text('preset = "code"\niou_threshold = 0.6\n')
    out = tmp_path / "out"
    options = ("--config", config, "--overlap-over", "object", "--nested-json", "--long-form")
    assert run_cli("fpvg", "build", *inputs(demo), *options, "--out", out).code == 0
    chosen = json.loads((out / "manifest.json").read_text())["config"]
    assert (chosen["preset"], chosen["iou_threshold"], chosen["overlap_over"]) == ("code", 0.6, "object")
    assert (out / "relevant_regions.json").is_file()
    assert pl.read_parquet_schema(out / "regions_long.parquet").names() == [
        "question_id", "condition", "region_index",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), "--out: got none"),
        (("--dry-run", "--iou-threshold", "0.1"), "iou_threshold and overlap_threshold: got 0.1 below 0.25"),
        (("--dry-run", "--detections-info", "x.json"), "expected object detection JSONL alone"),
    ],
)
def test_build_says_what_is_wrong(
    run_cli: RunCli, demo: tuple[DemoWorld, FpvgDemo, Path], options: tuple[str, ...], told: str
) -> None:
    ran = run_cli("fpvg", "build", *inputs(demo), *options)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


def test_bad_rows_are_an_error_or_exit_code_3(
    run_cli: RunCli, demo: tuple[DemoWorld, FpvgDemo, Path], tmp_path: Path
) -> None:
    questions = json.loads(demo[0].gqa_questions.read_text())
    next(iter(questions.values()))["annotations"]["question"] = {"1": 5}
    path = tmp_path / "q.json"
    path.write_text(json.dumps(questions))
    tokens = ["fpvg", "build", "--questions", path, *inputs(demo)[2:], "--dry-run"]
    ran = run_cli(*tokens)
    assert (ran.code, ran.out) == (2, "")
    assert "got 1 bad of 531 questions" in ran.err
    ran = run_cli(*tokens, "--on-bad-row", "skip")
    assert ran.code == 3
    assert "skipped" in ran.out


def table_of(ran: Ran) -> list[str]:
    assert ran.code == 0, ran.err
    return [" ".join(line.split()) for line in ran.out.splitlines()]


def test_score_prints_a_table(
    run_cli: RunCli, demo: tuple[DemoWorld, FpvgDemo, Path], tmp_path: Path
) -> None:
    folder = demo[2] / "fpvg"
    out = tmp_path / "scores"
    lines = table_of(run_cli("fpvg", "score", folder, *runs(demo, "grounded", "shortcut"), "--out", out))
    assert "metric group subgroup n grounded shortcut" in lines
    assert any(line.startswith("fpvg_plus overall all") for line in lines)
    assert any(line.startswith("fpvg_plus structural verify") for line in lines)
    assert len(pl.read_parquet(out / "categories.parquet")) == 2 * demo[1].built.counts["evaluable"]


def test_score_as_json(run_cli: RunCli, demo: tuple[DemoWorld, FpvgDemo, Path], tmp_path: Path) -> None:
    folder = demo[2] / "fpvg"
    ran = run_cli(
        "fpvg", "score", folder, *runs(demo, "grounded"), "--resamples", 0, "--dry-run", "--format", "json",
        "--out", tmp_path / "x",
    )  # fmt: skip
    assert ran.code == 0
    plus = ran.json["scores"]["fpvg_plus"]["overall"]["all"]["grounded"]
    assert (plus["n"], plus["low"]) == (demo[1].built.counts["evaluable"], None)
    assert sum(one["count"] for one in ran.json["outcomes"]) == plus["n"]
    assert not (tmp_path / "x").exists()


def test_score_of_seeds_and_lists(
    run_cli: RunCli, demo: tuple[DemoWorld, FpvgDemo, Path], tmp_path: Path
) -> None:
    folder = demo[2] / "fpvg"
    ids = pl.read_parquet(folder / "questions.parquet")["question_id"].to_list()
    for name, part in (("id", ids[::2]), ("ood", ids[1::2])):
        (tmp_path / f"{name}.json").write_text(json.dumps(part))
    tokens = [str(token).replace("grounded=", "m@1=").replace("shortcut=", "m@2=")
              for token in runs(demo, "grounded", "shortcut")]  # fmt: skip
    lists = ("--ids", f"ID={tmp_path / 'id.json'}", f"OOD={tmp_path / 'ood.json'}")
    ran = run_cli("fpvg", "score", folder, *tokens, *lists, "--resamples", 0)
    lines = table_of(ran)
    assert "Median and largest deviation over runs" in lines
    assert "Drop between lists" in lines
    assert "note: ID: " in ran.err


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            ("--all", "other"),
            "--relevant: got the names 'grounded', expected 'grounded', 'other', as in --all",
        ),
        (("--relevant", ""), "expected NAME=FILE"),
    ],
)
def test_score_needs_three_files_a_model(
    run_cli: RunCli, demo: tuple[DemoWorld, FpvgDemo, Path], change: tuple[str, str], told: str
) -> None:
    option, name = change
    ran = run_cli("fpvg", "score", demo[2] / "fpvg", *runs(demo, "grounded"), option, f"{name}=x.json")
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


def test_score_does_not_write_into_the_build(run_cli: RunCli, demo: tuple[DemoWorld, FpvgDemo, Path]) -> None:
    folder = demo[2] / "fpvg"
    ran = run_cli("fpvg", "score", folder, *runs(demo, "grounded"), "--out", folder)
    assert ran.code == 2
    assert "the build's own folder" in ran.err


def test_the_commands_answer_to_their_names() -> None:
    assert run(["fpvg", "--help"]) == 0


def test_pandas_is_not_loaded(demo: tuple[DemoWorld, FpvgDemo, Path]) -> None:
    """PyArrow loads it, 0.2 s of the command, to turn NumPy values into its own or its own into NumPy's."""
    words = ("fpvg", "build", *inputs(demo), "--dry-run")
    line = [sys.executable, "-X", "importtime", "-m", "shortcut_miner", *map(str, words)]
    done = subprocess.run(line, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    loaded = {text.rpartition("|")[2].strip() for text in done.stderr.splitlines()}
    assert "pyarrow" in loaded
    assert "pandas" not in loaded
