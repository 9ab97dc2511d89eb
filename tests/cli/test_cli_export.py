import json
import shutil
from pathlib import Path

import pytest
from cli.commands import RunCli

from shortcut_miner.exports.formats import FORMATS, exporter


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def images_of(run_cli: RunCli, built: Path, folder: Path) -> list[str]:
    """Write a file for each image of the counterexamples, and return their names."""
    ran = run_cli("export", built, "--to", "vqa-json", "--subset", "counterexamples", "--out", folder / "ids")
    assert ran.code == 0
    questions = json.loads((folder / "ids" / "vqa-ce_counterexamples_questions.json").read_text())
    names = sorted({f"{one['image_id']}.jpg" for one in questions["questions"]})
    (folder / "images").mkdir()
    for name in names:
        (folder / "images" / name).write_bytes(b"\xff\xd8\xff\xe0\x00\x10JFIF")
    return names


def test_it_says_what_was_exported_and_what_to_run(run_cli: RunCli, built: Path, out: Path) -> None:
    ran = run_cli("export", built, "--to", "huggingface", "--out", out)
    assert ran.code == 0
    assert ran.err == "note: no --images: questions are exported with the ids of their images alone\n"
    lines = ran.out.splitlines()
    assert lines[0] == "exported  VQA-CE subsets, for Hugging Face datasets"
    assert lines[1] == "  vqa-ce  513 counterexamples, 1,153 easy, 19 hard"
    assert f"written   {out}" in lines
    shown = "python -c 'import sys, datasets; print(datasets.load_dataset(sys.argv[1]))'"
    assert lines[lines.index("Run Hugging Face datasets:") + 1] == f"  {shown} {out}"
    score = f"  shortcut-miner vqa-ce score {built} --predictions NAME=ANSWERS.jsonl"
    assert lines[lines.index("Score what it answers:") + 1] == score


def test_json_has_everything(run_cli: RunCli, built: Path, out: Path) -> None:
    ran = run_cli(
        "export", built, "--to", "vqa-json", "--out", out, "--subset", "easy,hard", "--format", "json"
    )
    told = json.loads(ran.out)
    assert told["questions"] == [
        {"set": "vqa-ce", "split": "easy", "questions": 1153},
        {"set": "vqa-ce", "split": "hard", "questions": 19},
    ]
    assert (told["to"], told["out"], told["is_complete"]) == ("vqa-json", str(out), True)
    assert f"{out}/${{NAME}}_questions.json" in told["run"]
    assert told["read_back"].endswith("--predictions NAME=RESULTS.json --on-missing skip")
    assert not list(out.glob("*counterexamples*"))


def test_a_dry_run_writes_nothing(run_cli: RunCli, built: Path, out: Path) -> None:
    ran = run_cli("export", built, "--to", "vqa-json", "--out", out, "--dry-run", "--limit", 2)
    assert (ran.code, out.exists()) == (0, False)
    assert "  vqa-ce  2 counterexamples, 2 easy, 2 hard" in ran.out
    assert "written   nothing (dry run)" in ran.out


def test_images_that_are_missing_are_counted_and_named(
    run_cli: RunCli, built: Path, out: Path, tmp_path: Path
) -> None:
    names = images_of(run_cli, built, tmp_path)
    images = tmp_path / "images"
    export = ("export", built, "--to", "huggingface", "--subset", "counterexamples", "--out", out)
    whole = run_cli(*export, "--images", images)
    assert (whole.code, whole.err) == (0, "")
    assert f"images    {len(names):,} of {len(names):,} found" in whole.out
    (images / names[0]).unlink()
    ran = run_cli(*export, "--images", images)
    assert ran.code == 3
    gone = names[0].removesuffix(".jpg")
    assert f"warning: images not found: 1 of {len(names):,} ('{gone}')" in ran.err
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["dropped"] == {"images not found": 1}
    (images / names[1]).write_text("<html>404")
    broken = run_cli(*export, "--images", images)
    assert (broken.code, len(broken.err.splitlines())) == (3, 2)
    assert f"images whose file can't be read, is empty or is a text: 1 of {len(names):,} (" in broken.err
    assert names[1] in broken.err
    addresses = run_cli(*export, "--images", "https://example.org/{image_id}.jpg", "--force")
    assert addresses.code == 0
    assert json.loads((out / "manifest.json").read_text())["config"]["images"] == "addresses"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--to", "vqa-jsn"), f"to: got 'vqa-jsn', expected one of {', '.join(FORMATS)}."),
        (("--subset", "esy"), "subset: got 'esy', expected some of counterexamples, easy, hard."),
        (("--images", ""), "--images '': got no such folder, expected one, or a pattern"),
        (("--images", "nowhere"), "--images nowhere: got no such folder, expected one, or a pattern"),
    ],
)  # fmt: skip
def test_wrong_options_are_told(
    run_cli: RunCli, built: Path, out: Path, more: tuple[str, ...], told: str
) -> None:
    to = () if "--to" in more else ("--to", "vqa-json")
    ran = run_cli("export", built, *to, "--out", out, *more)
    assert (ran.code, ran.out, out.exists()) == (2, "", False)
    assert f"error: {told}" in ran.err


def test_what_has_no_questions_is_told(run_cli: RunCli, built: Path, out: Path, tmp_path: Path) -> None:
    scores = tmp_path / "scores"
    shutil.copytree(built, scores)
    manifest = json.loads((scores / "manifest.json").read_text())
    (scores / "manifest.json").write_text(json.dumps(manifest | {"command": "vqa-ce score"}))
    ran = run_cli("export", scores, "--to", "vqa-json", "--out", out)
    assert (ran.code, out.exists()) == (2, False)
    assert "got the output of 'vqa-ce score', expected that of vqa-ce build or rad build" in ran.err


def test_nothing_of_the_user_is_replaced(run_cli: RunCli, built: Path, out: Path) -> None:
    out.mkdir()
    (out / "README.md").write_text("mine")
    for to in ("vqa-json", "huggingface"):
        ran = run_cli("export", built, "--to", to, "--out", out)
        assert ran.code == 2
        assert "got a folder with 'README.md', which export did not write and would replace" in ran.err
        assert [(path.name, path.read_text()) for path in out.iterdir()] == [("README.md", "mine")]
    into_itself = run_cli("export", built, "--to", "vqa-json", "--out", built)
    assert into_itself.code == 2
    assert "got the folder that this run reads" in into_itself.err


def test_another_format_in_its_place_needs_force(run_cli: RunCli, built: Path, out: Path) -> None:
    assert run_cli("export", built, "--to", "vqa-json", "--out", out).code == 0
    ran = run_cli("export", built, "--to", "huggingface", "--out", out)
    assert ran.code == 2
    assert "got a folder that export wrote with other options (to vqa-json, now huggingface)" in ran.err
    assert run_cli("export", built, "--to", "huggingface", "--out", out, "--force").code == 0
    assert not list(out.glob("*_questions.json"))


@pytest.mark.parametrize("name", FORMATS)
def test_an_exported_folder_is_as_its_manifest_says(
    run_cli: RunCli, built: Path, out: Path, name: str
) -> None:
    assert run_cli("export", built, "--to", name, "--out", out).code == 0
    assert run_cli("inspect", out).code == 0
    for path in out.glob("*.parquet"):
        path.write_bytes((built / "rules.parquet").read_bytes())
        ran = run_cli("inspect", out)
        assert ran.code == 1
        assert f"{path}: got a table of another build than manifest.json describes" in ran.out


@pytest.mark.parametrize("name", FORMATS)
def test_formats_are_called_what_the_table_says(name: str) -> None:
    assert exporter(name).name == name
