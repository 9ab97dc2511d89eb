import json
import sys
from pathlib import Path

import polars as pl
import pytest
from cli.commands import RunCli, contents, options, spawn_cli, tiny_world, write_world

from shortcut_miner.demo import DemoWorld
from shortcut_miner.mining.backends import choose_backend

Files = dict[str, Path | None]
WRITTEN = {
    "README.md", "counterexamples.json", "easy.json", "hard.json", "manifest.json", "questions.parquet",
    "rule_predictions.parquet", "rules.parquet", "rules_predictions.json", "run.json", "split.parquet",
}  # fmt: skip


# ---- build ----


def test_build_writes_a_folder_and_says_what_it_did(
    run_cli: RunCli, world_files: Files, built: Path, tmp_path: Path
) -> None:
    out = tmp_path / "deep" / "folder"
    ran = run_cli("vqa-ce", "build", *options(world_files), "--out", out)
    assert ran.code == 0
    assert {path.name for path in out.iterdir()} == WRITTEN
    assert contents(out, without=("run.json",)) == contents(built, without=("run.json",))
    counts = json.loads((out / "manifest.json").read_text())["counts"]
    told = dict(line.split("  ", maxsplit=1) for line in ran.out.splitlines())
    assert told["training"].strip() == f"{counts['train_questions']:,} questions about 1,271 images"
    assert f"{counts['rules']:,} (" in told["rules"]
    assert f"{counts['easy']:,} easy" in told["split"]
    assert told["written"].strip() == str(out)
    assert "peak memory" in told["took"]


def test_build_as_json_is_one_document(run_cli: RunCli, world_files: Files, built: Path) -> None:
    ran = run_cli("vqa-ce", "build", *options(world_files), "--dry-run", "--format", "json")
    manifest = json.loads((built / "manifest.json").read_text())
    assert ran.json["counts"] == manifest["counts"]
    assert (ran.json["out"], ran.json["is_complete"], ran.json["dropped"]) == (None, True, {})
    stages = [stage["stage"] for stage in ran.json["stages"]]
    assert [name for name in ("read", "encode", "mine", "match", "classify") if name not in stages] == []


def test_a_dry_run_writes_nothing(run_cli: RunCli, world_files: Files, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = run_cli("vqa-ce", "build", *options(world_files), "--dry-run", "--out", out)
    assert ran.code == 0
    assert "nothing (dry run)" in ran.out
    assert not out.exists()


def test_limit_takes_the_first_questions(run_cli: RunCli, world_files: Files) -> None:
    ran = run_cli("vqa-ce", "build", *options(world_files), "--dry-run", "--limit", 100, "--format", "json")
    assert (ran.json["counts"]["train_questions"], ran.json["counts"]["val_questions"]) == (100, 100)


def test_a_cut_search_ends_with_exit_code_3(run_cli: RunCli, world_files: Files, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = run_cli("vqa-ce", "build", *options(world_files), "--out", out, "--max-rules", 500)
    assert ran.code == 3
    assert "warning: mining stopped after max_rules = 500 antecedents" in ran.err
    assert json.loads((out / "manifest.json").read_text())["figures"]["is_complete"] is False


def test_images_without_detections_are_a_warning(run_cli: RunCli, tmp_path: Path) -> None:
    world = tiny_world()
    del world["detections"]["500"]
    files = write_world(world, tmp_path / "in")
    ran = run_cli("vqa-ce", "build", *options(files), "--min-count", 2, "--dry-run", "--quiet")
    assert ran.code == 0
    assert ran.err.startswith(
        "warning: 2 of 12 training questions (16.7%) have an image that detections lack"
    )


def test_words_alone_need_no_detections(run_cli: RunCli, tmp_path: Path) -> None:
    world = tiny_world()
    del world["detections"]
    files = write_world(world, tmp_path / "in")
    ran = run_cli(
        "vqa-ce", "build", *options(files), "--min-count", 2, "--out", tmp_path / "out", "--format", "json"
    )
    assert ran.code == 0
    config = json.loads((tmp_path / "out" / "manifest.json").read_text())["config"]
    assert config["items"] == "words"


def test_stdout_is_the_same_json_in_a_process_of_its_own(world_files: Files, built: Path) -> None:
    ran = spawn_cli("vqa-ce", "build", *options(world_files), "--dry-run", "--format", "json")
    assert ran.code == 0
    assert ran.json["is_complete"]
    assert ran.err == f"{choose_backend()}\n"


@pytest.mark.parametrize("command", ["build", "sweep"])
def test_a_backend_that_is_not_there(
    run_cli: RunCli, world_files: Files, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    ran = run_cli("vqa-ce", command, *options(world_files), "--dry-run", "--backend", "cupy")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: backend cupy: got no cupy, expected all that it needs. Run pip install")


# ---- score ----


@pytest.fixture
def predictions(world: DemoWorld) -> list[str]:
    return [
        "--predictions",
        f"leaning={world.shortcut_predictions}",
        "--predictions",
        f"grounded={world.grounded_predictions}",
    ]


def test_score_prints_tables(run_cli: RunCli, built: Path, predictions: list[str]) -> None:
    ran = run_cli("vqa-ce", "score", built, *predictions, "--baseline", "grounded", "--limit", 3)
    assert ran.code == 0
    lines = ran.out.splitlines()
    header = next(line for line in lines if line.startswith("group"))
    assert "leaning" in header
    assert "rules (best)" in header
    (subset,) = [line for line in lines if line.startswith("subset") and "counterexamples" in line][:1]
    assert subset.split()[2] == "513"
    titles = [place for place, line in enumerate(lines) if line.startswith("Shortcuts of ")]
    assert [lines[place] for place in titles] == [
        "Shortcuts of leaning: exploits 541 of the 2,387 rules that fire often enough",
        "Shortcuts of grounded: exploits none of the 2,387 rules that fire often enough",
    ]
    listed = lines[titles[0] + 4 : titles[1] - 1]
    assert len(listed) == 3
    assert all(float(line.split()[-1]) < 0.05 for line in listed)
    assert lines[titles[1] + 2 :] == [
        "On no rule's counterexamples does it give the rule's answer more often than chance (q < 0.05)."
    ]
    assert "leaning - grounded" in ran.out
    assert all(line == line.rstrip() for line in lines)


def test_the_list_starts_with_shortcuts_that_are_exploited(
    run_cli: RunCli, built: Path, predictions: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "scores"
    assert run_cli("vqa-ce", "score", built, *predictions, "--resamples", 0, "--out", out).code == 0
    listed = pl.read_parquet(out / "exploited_shortcuts.parquet")
    is_exploited = (listed["counterexample_q_value"] < 0.05) & (
        listed["counterexample_agreement"] > listed["answer_rate"]
    )
    assert listed["is_exploited"].equals(is_exploited.fill_null(False).alias("is_exploited"))
    assert dict(listed.group_by("model").agg(pl.col("is_exploited").sum()).iter_rows()) == {
        "leaning": 541, "grounded": 0,
    }  # fmt: skip
    for (_,), one in listed.group_by("model"):
        assert one["is_exploited"].is_sorted(descending=True)


def test_no_rule_that_fires_often_enough_is_said(
    run_cli: RunCli, built: Path, predictions: list[str], tmp_path: Path
) -> None:
    tokens = (*predictions[:2], "--resamples", 0, "--min-count", 100_000, "--out", tmp_path / "scores")
    ran = run_cli("vqa-ce", "score", built, *tokens)
    assert ran.code == 0
    assert "\nShortcuts of leaning: exploits none of the 0 rules that fire often enough\n" in ran.out
    assert "is_exploited" in pl.read_parquet_schema(tmp_path / "scores" / "exploited_shortcuts.parquet")


def test_a_note_on_several_files_is_said_once(
    run_cli: RunCli, built: Path, world: DemoWorld, tmp_path: Path
) -> None:
    answers = json.loads(world.grounded_predictions.read_text())
    path = tmp_path / "p.json"
    path.write_text(json.dumps([answers[0] | {"answer": ""}, *answers[1:]]))
    named = [f"{name}={path}" for name in "abc"]
    ran = run_cli("vqa-ce", "score", built, "--predictions", *named, "--resamples", 0)
    assert ran.err.splitlines()[0] == (
        "note: predictions of a, predictions of b, predictions of c: empty answers kept: 1"
    )

    unlisted = tiny_world()
    for role in ("train_annotations", "val_annotations"):
        del unlisted[role]["annotations"][0]["answers"]
    out = tmp_path / "out"
    files = write_world(unlisted, tmp_path / "in")
    ran = run_cli("vqa-ce", "build", *options(files), "--min-count", 2, "--out", out)
    note = "train_annotations, val_annotations: annotations without a list of answers: 1"
    assert [line for line in ran.err.splitlines() if "annotations" in line] == [f"note: {note}"]
    assert json.loads((out / "run.json").read_text())["notes"] == [note]


def test_score_as_json_has_every_number(
    run_cli: RunCli, built: Path, predictions: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "scores"
    tokens = (*predictions, "--baseline", "grounded", "--limit", 3, "--out", out, "--format", "json")
    ran = run_cli("vqa-ce", "score", built, *tokens)
    assert ran.code == 0
    assert ran.json["scores"] == json.loads((out / "scores.json").read_text())
    overall = ran.json["scores"]["accuracy"]["overall"]["all"]
    assert set(overall) == {"leaning", "grounded", "rules (best)", "rules (weighted)"}
    assert overall["leaning"]["low"] < overall["leaning"]["value"] < overall["leaning"]["high"]
    assert "leaning - grounded" in ran.json["differences"]["accuracy_difference"]["overall"]["all"]
    assert [row["model"] for row in ran.json["exploited_shortcuts"]] == ["leaning"] * 3 + ["grounded"] * 3
    assert run_cli("rules", built).code == 0  # the build is as it was


def test_score_dry_run_and_models_in_one_option(
    run_cli: RunCli, built: Path, world: DemoWorld, tmp_path: Path
) -> None:
    both = (f"a={world.shortcut_predictions}", f"b={world.grounded_predictions}")
    out = tmp_path / "scores"
    ran = run_cli(
        "vqa-ce", "score", built, "--predictions", *both, "--resamples", 0, "--dry-run", "--out", out
    )
    assert ran.code == 0
    assert not out.exists()
    assert "[" not in next(line for line in ran.out.splitlines() if line.startswith("overall"))


def test_score_tells_questions_that_a_model_left_out(
    run_cli: RunCli, built: Path, world: DemoWorld, tmp_path: Path
) -> None:
    answers = json.loads(world.grounded_predictions.read_text())[5:]
    path = tmp_path / "p.json"
    path.write_text(json.dumps(answers))
    ran = run_cli("vqa-ce", "score", built, "--predictions", f"m={path}")
    assert (ran.code, ran.out) == (2, "")
    assert "predictions of m" in ran.err
    assert "5" in ran.err


@pytest.mark.parametrize(
    ("folder", "told"),
    [("empty", "no manifest.json in it"), ("file", "a file"), ("missing", "no such folder")],
)
def test_score_needs_the_folder_of_a_build(
    folder: str, told: str, run_cli: RunCli, predictions: list[str], tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    ran = run_cli("vqa-ce", "score", tmp_path / folder, *predictions)
    assert (ran.code, ran.out) == (2, "")
    expected = "expected a folder that vqa-ce build wrote. Give that folder."
    assert ran.err == f"error: {tmp_path / folder}: got {told}, {expected}\n"


# ---- sweep ----


def test_sweep_prints_a_row_a_pair_and_writes_it(
    run_cli: RunCli, world_files: Files, built: Path, tmp_path: Path
) -> None:
    out = tmp_path / "sweep"
    tokens = ("--min-counts", "8,16", "--min-counts", "32", "--min-confidences", "0.3,0.5", "--out", out)
    ran = run_cli("vqa-ce", "sweep", *options(world_files), *tokens, "--format", "json")
    assert ran.code == 0
    rows = ran.json["sweep"]
    assert [(row["min_count"], row["min_confidence"]) for row in rows] == [
        (8, 0.3), (8, 0.5), (16, 0.3), (16, 0.5), (32, 0.3), (32, 0.5),
    ]  # fmt: skip
    counts = json.loads((built / "manifest.json").read_text())["counts"]
    assert (rows[0]["rules"], rows[0]["classifier_rules"]) == (counts["rules"], counts["classifier_rules"])
    assert pl.read_parquet(out / "sweep.parquet").to_dicts() == rows
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["command"] == "vqa-ce sweep"
    assert [one["role"] for one in manifest["inputs"]] == list(world_files)
    assert all(len(one["sha256"]) == 64 for one in manifest["inputs"])
    table = run_cli("vqa-ce", "sweep", *options(world_files), *tokens[:-2], "--out", out, "--dry-run")
    assert table.out.splitlines()[0].split()[:3] == ["min_count", "min_confidence", "rules"]
    assert len(table.out.splitlines()) == 8


# ---- demo ----


def test_demo_finds_what_was_planted(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run_cli("demo")
    assert ran.code == 0
    assert "Planted shortcuts: 11 of 11 came out as rules" in ran.out
    assert "next: shortcut-miner rules shortcut-miner-demo/vqa-ce" in ran.err
    written = {path.name for path in Path("shortcut-miner-demo").iterdir()}
    assert written >= {"world", "vqa-ce", "vqa-ce-scores"}


@pytest.mark.slow
def test_demo_as_json_and_dry(run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run_cli("demo", "--dry-run", "--format", "json", "--seed", 5)
    assert (ran.code, ran.json["out"]) == (0, None)
    assert len(ran.json["planted"]) == 11
    assert ran.json["all_found"] is True
    assert list(tmp_path.iterdir()) == []


def test_a_table_is_split_from_the_command_line(run_cli: RunCli, tmp_path: Path) -> None:
    lines = [
        f"is {word} good,{label},u{at}" for at in range(20) for word, label in (("it", "yes"), ("he", "no"))
    ]
    for name, some in (("1", lines[:30]), ("2", lines[30:])):
        (tmp_path / f"{name}.csv").write_text("\n".join(["text,gold,user", *some]) + "\n")
    tokens = (
        "--table",
        tmp_path / "1.csv",
        tmp_path / "2.csv",
        "--columns",
        "question=text,answer=gold,group=user",
    )
    out = tmp_path / "out"
    ran = run_cli("vqa-ce", "build", *tokens, "--val-share", "0.5", "--min-count", "3", "--out", out)
    assert ran.code == 0, ran.err
    assert "note: table: no column question_id: rows are numbered from 1\n" in ran.err
    assert " groups\n" in ran.out
    ran = run_cli("vqa-ce", "sweep", *tokens, "--val-share", "0.5", "--min-counts", "3,5", "--format", "json")
    assert ran.code == 0, ran.err
    assert {one["min_count"] for one in ran.json["sweep"]} == {3, 5}


# ---- memory ----


def test_memory_workers_and_shards_do_not_show(run_cli: RunCli, built: Path, tmp_path: Path) -> None:
    """Only run.json says them; the folder in between is gone."""
    table = ("--table", built / "questions.parquet", "--columns", "labels=objects", "--val-share", 0.3)
    scale = ("--memory", "2GB", "--executor", "local[2]", "--shards", 3, "--work", tmp_path / "between")
    for out, given in (("plain", ()), ("scaled", scale)):
        ran = run_cli("vqa-ce", "build", *table, *given, "--out", tmp_path / out)
        assert ran.code == 0, ran.err
    without = ("run.json",)
    assert contents(tmp_path / "scaled", without=without) == contents(tmp_path / "plain", without=without)
    run = json.loads((tmp_path / "scaled" / "run.json").read_text())
    assert (run["executor"], run["limits"]["memory"]) == ("local[2]", 2_000_000_000)
    assert [*(tmp_path / "between").iterdir()] == []


@pytest.mark.parametrize(
    ("option", "given", "told"),
    [
        ("--memory", "much", "memory: got 'much', expected an amount such as 4GB or 512MB"),
        ("--memory", "0GB", "memory: got '0GB', expected 500MB or more"),
        ("--executor", "cluster", "executor: got 'cluster', expected local, local[N], dask://HOST:PORT, or"),
    ],
)
def test_scale_without_meaning_is_told(
    run_cli: RunCli, built: Path, option: str, given: str, told: str
) -> None:
    table = ("--table", built / "questions.parquet", "--columns", "labels=objects", "--val-share", 0.3)
    ran = run_cli("vqa-ce", "build", *table, "--dry-run", option, given)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
