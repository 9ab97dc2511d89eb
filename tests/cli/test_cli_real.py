"""The real subset through the real command."""

import json
from pathlib import Path

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
