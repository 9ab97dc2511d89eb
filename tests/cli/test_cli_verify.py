"""``verify``: a folder against its own manifest, and its inputs against theirs."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cli.commands import RunCli, contents, options, tiny_world, write_world

Files = dict[str, Path | None]
SMALL = ("--min-count", 2, "--threads", 1, "--quiet")


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return write_world(tiny_world(), tmp_path / "in")


@pytest.fixture
def out(run_cli: RunCli, files: Files, tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    assert run_cli("vqa-ce", "build", *options(files), *SMALL, "--out", folder).code == 0
    return folder


def edited(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


def test_a_folder_as_it_was_written(run_cli: RunCli, out: Path, files: Files) -> None:
    before = contents(out)
    ran = run_cli("verify", out)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"verified  vqa-ce build, {out}\nfiles     9 of 9 as they were written\n")
    assert "inputs    5, not looked for\n" in ran.out
    ran = run_cli("verify", out, "--data-dir", out.parent, "--format", "json")
    found = ran.json
    assert (ran.code, found["agrees"], found["is_complete"], found["others"]) == (0, True, True, [])
    assert {one["state"] for one in found["inputs"]} == {"same"}
    assert [one["role"] for one in found["inputs"]] == list(files)
    assert found["counts"]["rules"]["tables"] == pl.read_parquet(out / "rules.parquet").height
    assert found["counts"]["val_questions"] == {"manifest": 6, "tables": 6}
    assert found["counts"]["antecedents"]["tables"] is None
    assert contents(out) == before


@pytest.mark.parametrize("name", ["easy.json", "rules.parquet", "README.md"])
@pytest.mark.parametrize("change", ["changed", "same size", "missing", "link", "folder"])
def test_which_file_differs(run_cli: RunCli, out: Path, tmp_path: Path, name: str, change: str) -> None:
    path = out / name
    content = path.read_bytes()
    path.unlink()
    if change == "link":  # even to the same bytes: a folder that is moved loses them
        (tmp_path / "elsewhere").write_bytes(content)
        path.symlink_to(tmp_path / "elsewhere")
    elif change == "folder":
        path.mkdir()
    elif change != "missing":
        path.write_bytes(content + b" " if change == "changed" else bytes([content[0] ^ 1]) + content[1:])
    ran = run_cli("verify", out)
    assert (ran.code, ran.err) == (1, "")
    state = "changed" if change in ("changed", "same size") else "missing"
    assert "8 of 9 as they were written\n" in ran.out
    assert [line.split() for line in ran.out.splitlines() if line.startswith(f"  {name}")] == [[name, state]]


@pytest.mark.parametrize("count", ["rules", "rules_words", "train_rows", "easy", "hard", "val_images"])
def test_a_count_that_the_tables_do_not_give(run_cli: RunCli, out: Path, count: str) -> None:
    """Somebody corrected the manifest by hand: the tables' own record is another then, and their rows are."""
    edited(out / "manifest.json", lambda manifest: manifest["counts"].update({count: 77}))
    found = run_cli("verify", out, "--format", "json")
    assert found.code == 1
    assert set(found.json["files"].values()) == {"same", "of another run"}


def test_counts_are_told_where_tables_say_nothing_of_themselves(run_cli: RunCli, out: Path) -> None:
    """A manifest and tables that were both rewritten agree in their digests; their rows still count."""
    for path in out.glob("*.parquet"):
        pl.read_parquet(path).write_parquet(path)
    rewritten = {
        path.name: {"size": path.stat().st_size, "sha256": sha256_of(path)} for path in out.glob("*.parquet")
    }

    def change(manifest: dict[str, Any]) -> None:
        manifest["files"] |= rewritten
        manifest["counts"] |= {"easy": 77, "rules": 78}

    edited(out / "manifest.json", change)
    ran = run_cli("verify", out)
    assert ran.code == 1
    rules = pl.read_parquet(out / "rules.parquet").height
    assert "files     9 of 9 as they were written\n" in ran.out
    assert f"  rules   78 in the manifest, {rules} in the tables\n" in ran.out
    assert "  easy    77 in the manifest, " in ran.out
    assert run_cli("verify", out, "--limit", 1).out.count("in the manifest") == 1


def sha256_of(path: Path) -> str:
    import hashlib

    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_config_that_was_edited(run_cli: RunCli, out: Path) -> None:
    edited(out / "manifest.json", lambda manifest: manifest["config"].update(min_count=8))
    ran = run_cli("verify", out)
    assert ran.code == 1
    assert "  rules.parquet             of another run\n" in ran.out


def test_inputs_by_their_digests(run_cli: RunCli, out: Path, files: Files, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for number, path in enumerate(files.values()):
        assert path is not None
        shutil.move(path, data / f"{number}.bin")
    ran = run_cli("verify", out, "--data-dir", data)
    assert (ran.code, ran.err) == (0, "")
    assert "inputs    5 of 5 found as they were read\n" in ran.out
    (data / "0.bin").unlink()
    ran = run_cli("verify", out, "--data-dir", data)
    assert ran.code == 3
    assert "  train_questions train_questions.json  not found\n" in ran.out
    (data / "train_questions.json").write_text("{}")
    ran = run_cli("verify", out, "--data-dir", data)
    assert ran.code == 1
    assert "  train_questions train_questions.json  changed\n" in ran.out
    ran = run_cli("verify", out, "--data-dir", tmp_path / "nowhere")
    assert ran.code == 2
    assert "--data-dir" in ran.err


def test_files_of_the_users_stay_and_are_named(run_cli: RunCli, out: Path) -> None:
    (out / "thesis.tex").write_text("mine")
    ran = run_cli("verify", out)
    assert ran.code == 0
    assert "beside    thesis.tex, of no run\n" in ran.out


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda manifest: manifest.update(files=["a"]), "got no digests of files, as version"),
        (lambda manifest: manifest.update(files={"../x": {"size": 1, "sha256": "0" * 64}}), "no digest of a"),
        (
            lambda manifest: manifest.update(files={"x": None}),
            "no digest of a file of this folder for 'x'",
        ),
        (lambda manifest: manifest.update(files={"x": {"size": 1}}), "manifest.json: got "),
        (lambda manifest: manifest.pop("files"), "manifest.json: got "),
        (lambda manifest: manifest.update(inputs=[{"role": "a", "name": "b"}]), "got an input {'role': 'a'"),
        (lambda manifest: manifest.pop("command"), "got no command that wrote it"),
    ],
)
def test_a_manifest_that_can_not_be_used(
    run_cli: RunCli, out: Path, change: Callable[[dict[str, Any]], Any], told: str
) -> None:
    edited(out / "manifest.json", change)
    ran = run_cli("verify", out)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert ran.err.startswith(f"error: {out}/manifest.json: got ")


def test_what_is_no_folder_of_ours(run_cli: RunCli, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path, told in (
        (tmp_path / "empty", "got no manifest.json in it"),
        (tmp_path / "no", "no such folder"),
    ):
        ran = run_cli("verify", path)
        assert ran.code == 2
        assert told in ran.err


def test_a_pipe_in_place_of_a_file_is_not_waited_for(run_cli: RunCli, out: Path) -> None:
    (out / "easy.json").unlink()
    os.mkfifo(out / "easy.json")
    assert run_cli("verify", out).code == 1


def test_an_input_of_several_files(run_cli: RunCli, files: Files, tmp_path: Path) -> None:
    """A folder of parts is recorded as one, by the listing of its digests."""
    record = {"imageId": "1", "question": "What is it?", "answer": "cat"}
    for role in ("train", "val"):
        (tmp_path / role).mkdir()
        for part in range(2):
            parts = {f"{role}{part}{n}": record for n in range(3)}
            (tmp_path / role / f"{role}_all_questions_{part}.json").write_text(json.dumps(parts))
    out = tmp_path / "gqa"
    ran = run_cli(
        *("vqa-ce", "build", "--train-questions", tmp_path / "train", "--val-questions", tmp_path / "val"),
        *(*SMALL, "--items", "words", "--out", out),
    )
    assert ran.code == 0
    assert run_cli("verify", out, "--data-dir", tmp_path).code == 0
    (tmp_path / "val" / "val_all_questions_1.json").write_text("{}")
    ran = run_cli("verify", out, "--data-dir", tmp_path)
    assert ran.code == 1
    assert "  val_questions val  changed\n" in ran.out
