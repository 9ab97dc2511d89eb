"""``repeat``: a folder built again from its record, wherever its inputs are now."""

import json
import shutil
from pathlib import Path

import pytest
from cli.commands import RunCli, contents, options, tiny_world, write_world

from shortcut_miner.version import __version__

Files = dict[str, Path | None]
SMALL = ("--min-count", 2, "--threads", 1)
WRITTEN = 10


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return write_world(tiny_world(), tmp_path / "in")


@pytest.fixture
def out(run_cli: RunCli, files: Files, tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    ran = run_cli(
        "vqa-ce", "build", *options(files), *SMALL, "--limit", 11, "--keep-matches", "--out", folder
    )
    assert ran.code == 0
    return folder


def test_the_same_bytes(run_cli: RunCli, out: Path, files: Files, tmp_path: Path) -> None:
    before = contents(out)
    ran = run_cli("repeat", out, "--out", tmp_path / "new")
    assert (ran.code, ran.err) == (0, "")
    assert f"agree                {WRITTEN + 1} of {WRITTEN + 1} files, byte for byte\n" in ran.out
    assert ran.out.endswith(f"written              {tmp_path / 'new'}\n")
    assert contents(out) == before
    assert contents(tmp_path / "new", without=("run.json",)) == contents(out, without=("run.json",))
    found = run_cli("repeat", out, "--format", "json").json
    assert (found["agrees"], found["out"], set(found["files"].values())) == (True, None, {"same"})
    assert found["inputs"] == {role: str(path) for role, path in files.items()}


def test_a_sweep_too(run_cli: RunCli, files: Files, tmp_path: Path) -> None:
    out = tmp_path / "sweep"
    few = ("--min-counts", "2,3", "--min-confidences", "0.3", "--limit", 9)
    assert run_cli("vqa-ce", "sweep", *options(files), *few, "--out", out).code == 0
    ran = run_cli("repeat", out)
    assert (ran.code, ran.err) == (0, "")
    assert "3 of 3 files, byte for byte" in ran.out


def test_inputs_are_found_by_their_digest_whatever_they_are_called(
    run_cli: RunCli, out: Path, files: Files, tmp_path: Path
) -> None:
    data = tmp_path / "data" / "deep"
    data.mkdir(parents=True)
    for number, path in enumerate(files.values()):
        assert path is not None
        shutil.move(path, data / f"{number}.bin")
    (data / "other.bin").write_bytes(b"x" * (data / "0.bin").stat().st_size)  # another of the same size
    ran = run_cli("repeat", out)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {out}: got no file for 5 of its inputs, expected them where")
    size = (data / "0.bin").stat().st_size
    assert f"  - --train-questions train_questions.json ({size:,} bytes, SHA-256 " in ran.err
    (out / "run.json").unlink()  # a shared folder may lack it
    ran = run_cli("repeat", out, "--data-dir", tmp_path / "data", "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["inputs"]["train_questions"] == str(data / "0.bin")


def test_an_input_that_was_changed_is_looked_for_elsewhere(
    run_cli: RunCli, out: Path, files: Files, tmp_path: Path
) -> None:
    path = files["detections"]
    assert path is not None
    (tmp_path / "data").mkdir()
    shutil.copy(path, tmp_path / "data" / "same.json")
    path.write_bytes(path.read_bytes() + b" ")
    ran = run_cli("repeat", out)
    assert ran.code == 2
    assert "got no file for 1 of its inputs" in ran.err
    assert f"{path} was changed since" in ran.err
    ran = run_cli("repeat", out, "--data-dir", tmp_path / "data")
    assert (ran.code, ran.err) == (0, "")
    assert f"  detections         {tmp_path / 'data' / 'same.json'}\n" in ran.out


def test_a_difference_is_named(run_cli: RunCli, out: Path) -> None:
    (out / "easy.json").write_text("[]")
    (out / "hard.json").unlink()
    ran = run_cli("repeat", out)
    assert ran.code == 1
    assert f"{WRITTEN - 1} of {WRITTEN + 1} files, byte for byte" in ran.out
    assert "  easy.json          differs\n" in ran.out
    assert "  hard.json          only here\n" in ran.out
    ran = run_cli("repeat", out, "--limit", 1)
    assert "easy.json" in ran.out
    assert "hard.json" not in ran.out
    assert "  ...                1 more\n" in ran.out


def test_another_version_is_told(run_cli: RunCli, out: Path) -> None:
    manifest = json.loads((out / "manifest.json").read_text())
    (out / "manifest.json").write_text(json.dumps(manifest | {"version": "0.0.9"}))
    ran = run_cli("repeat", out)
    assert ran.code == 1
    assert ran.err.startswith(f"note: built by version 0.0.9, repeated by {__version__}")
    (out / "manifest.json").write_text(json.dumps(manifest | {"config": {"new": 1}}))
    ran = run_cli("repeat", out)
    assert ran.code == 2
    assert "got the options 'new', expected those of version" in ran.err
    (out / "manifest.json").write_text(json.dumps(manifest | {"inputs": [{"role": "detections"}]}))
    ran = run_cli("repeat", out)
    assert ran.code == 2
    assert "manifest.json: got an input {'role': 'detections'}, expected its role, name, size" in ran.err


def test_an_input_of_several_files(run_cli: RunCli, files: Files, tmp_path: Path) -> None:
    """It ended with exit code 101."""
    path = files["detections"]
    assert path is not None
    labels = json.loads(path.read_text())
    assert len(labels) > 1
    halves = [tmp_path / "in" / f"half{at}.json" for at in range(2)]
    for at, half in enumerate(halves):
        half.write_text(json.dumps({image: labels[image] for image in list(labels)[at::2]}))
    named = [token for half in halves for token in ("--detections", half)]
    rest = options({role: one for role, one in files.items() if role != "detections"})
    assert run_cli("vqa-ce", "build", *rest, *named, *SMALL, "--out", tmp_path / "out").code == 0
    ran = run_cli("repeat", tmp_path / "out")
    assert (ran.code, ran.err) == (0, "")
    assert f"  detections         {halves[0]}, {halves[1]}\n" in ran.out
    (tmp_path / "data").mkdir()
    moved = shutil.move(halves[0], tmp_path / "data" / "first.json")
    ran = run_cli("repeat", tmp_path / "out")
    assert ran.code == 2
    assert "got no file for 1 of its inputs" in ran.err
    assert "  - --detections half0.json (" in ran.err
    found = run_cli("repeat", tmp_path / "out", "--data-dir", tmp_path / "data", "--format", "json").json
    assert (found["agrees"], found["inputs"]["detections"]) == (True, [str(moved), str(halves[1])])
    (tmp_path / "out" / "run.json").unlink()
    ran = run_cli("repeat", tmp_path / "out", "--data-dir", tmp_path)
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize("given", [[], 7, {"detections": 7}, {"detections": []}, {"detections": ["a", 7]}])
def test_a_run_record_without_paths(run_cli: RunCli, out: Path, files: Files, given: object) -> None:
    path = files["detections"]
    assert path is not None
    (out / "run.json").write_text(json.dumps({"files": given}))
    ran = run_cli("repeat", out, "--data-dir", path.parent)
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize("name", ["..", "", ".", "a\0"])
def test_an_input_by_a_name_that_no_file_has(run_cli: RunCli, out: Path, files: Files, name: str) -> None:
    path = files["detections"]
    assert path is not None
    manifest = json.loads((out / "manifest.json").read_text())
    for one in manifest["inputs"]:
        one["name"] = name
    (out / "manifest.json").write_text(json.dumps(manifest))
    (out / "run.json").unlink()
    ran = run_cli("repeat", out, "--data-dir", path.parent)
    assert ran.code == 1
    assert ran.err.startswith("note: the inputs are not the same: ")


def test_a_dry_run_only_finds_the_inputs(run_cli: RunCli, out: Path, files: Files, tmp_path: Path) -> None:
    ran = run_cli("repeat", out, "--dry-run", "--out", tmp_path / "new")
    assert (ran.code, ran.err) == (0, "")
    assert str(files["detections"]) in ran.out
    assert "agree                not known (dry run)" in ran.out
    assert not (tmp_path / "new").exists()


def test_what_can_not_be_repeated(run_cli: RunCli, out: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for folder, told in (
        (tmp_path / "empty", "got no manifest.json in it, expected a folder that one of 'vqa-ce build', "),
        (tmp_path / "nowhere", "got no such folder"),
    ):
        ran = run_cli("repeat", folder)
        assert ran.code == 2
        assert told in ran.err
    ran = run_cli("repeat", out, "--out", out)
    assert ran.code == 2
    assert "got the folder to repeat, expected a new one" in ran.err
    ran = run_cli("repeat", out, "--data-dir", tmp_path / "nowhere")
    assert ran.code == 2
    assert "--data-dir" in ran.err
    manifest = json.loads((out / "manifest.json").read_text())
    (out / "manifest.json").write_text(json.dumps(manifest | {"command": "vqa-ce score"}))
    ran = run_cli("repeat", out)
    assert ran.code == 2
    assert "got the output of 'vqa-ce score', expected that of one of" in ran.err
