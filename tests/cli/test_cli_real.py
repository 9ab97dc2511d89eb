"""The real subset through the real command."""

import json
from pathlib import Path

import polars as pl
import pytest
from cli.commands import RunCli, options

Files = dict[str, Path | None]


@pytest.fixture(scope="module")
def real_files(real_data: Path) -> Files:
    folder = real_data / "vqa60k"
    return {
        "train_questions": folder / "questions_train.json.gz",
        "train_annotations": folder / "annotations_train.json.gz",
        "val_questions": folder / "questions_valid.json.gz",
        "val_annotations": folder / "annotations_valid.json.gz",
        "detections": folder / "image_to_detection.json.gz",
    }


@pytest.mark.real
@pytest.mark.parametrize(
    ("items", "counts"),
    [
        ("both", {"rules": 20_178, "easy": 4_761, "counterexamples": 3_169, "hard": 1_047}),
        ("words", {"rules": 4_969, "easy": 3_616, "counterexamples": 2_845, "hard": 2_516}),
    ],
)
def test_build_gives_the_reference_programs_split(
    items: str, counts: dict[str, int], run_cli: RunCli, real_files: Files, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    ran = run_cli("vqa-ce", "build", *options(real_files), "--items", items, "--out", out, "--format", "json")
    assert ran.code == 0
    assert {name: ran.json["counts"][name] for name in counts} == counts
    for subset in ("easy", "counterexamples", "hard"):
        assert len(json.loads((out / f"{subset}.json").read_text())) == counts[subset]


@pytest.mark.real
def test_inspect_finds_nothing_wrong_with_the_real_files(run_cli: RunCli, real_files: Files) -> None:
    ran = run_cli("inspect", *[path for path in real_files.values() if path], "--format", "json")
    assert ran.code == 0
    assert [one["counts"]["rows read"] for one in ran.json["files"][:4]] == [48_061, 48_061, 8_977, 8_977]


@pytest.mark.real
def test_samples_of_one_run_a_subset_score_as_their_evaluator_said(
    run_cli: RunCli, real_files: Files, tmp_path: Path
) -> None:
    """lmms-eval printed these figures for a model that always answers yes."""
    out = tmp_path / "out"
    assert run_cli("vqa-ce", "build", *options(real_files), "--out", out, "--quiet").code == 0
    said = {"counterexamples": 3.05, "easy": 35.62, "hard": 7.56}
    (tmp_path / "run").mkdir()
    for subset in said:
        ids = pl.read_parquet(out / "split.parquet").filter(subset=subset)["question_id"]
        lines = [
            {"doc_id": at, "filtered_resps": "yes", "submission": {"question_id": int(one)}}
            for at, one in enumerate(ids)
        ]
        text = "".join(f"{json.dumps(one)}\n" for one in lines)
        (tmp_path / "run" / f"20261101_samples_{subset}.jsonl").write_text(text)
    words = ("vqa-ce", "score", out, "--format", "json", "--predictions")
    ran = run_cli(*words, f"m={tmp_path / 'run'}")
    assert ran.code == 0, ran.err
    scores = ran.json["scores"]["accuracy"]
    assert {subset: round(one["m"]["value"], 2) for subset, one in scores["subset"].items()} == said
    assert round(scores["overall"]["all"]["m"]["value"], 2) == 20.85
    one_file = f"m={tmp_path / 'run' / '20261101_samples_counterexamples.jsonl'}"
    assert "--on-missing skip" in run_cli(*words, one_file).err
    ran = run_cli(*words, one_file, "--on-missing", "skip")
    assert ran.code == 3
    assert "scores cover the subset counterexamples alone: 3,169 of 8,977 questions" in ran.err
    assert round(ran.json["scores"]["accuracy"]["overall"]["all"]["m"]["value"], 2) == 3.05
