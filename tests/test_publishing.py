"""Folders of results: written as a whole, and never at the cost of somebody's files."""

import errno
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from publishing_cases import COMMAND, contents, manifest, names, write

from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.journal import JOURNAL, finish_interrupted, locked
from shortcut_miner.publishing import check_target, staged_folder
from shortcut_miner.storage import read_json_file, write_json


def check(out: Path, *wanted: str, command: str = COMMAND, force: bool = False, **more: Any) -> None:
    inputs = more.pop("inputs", None)
    check_target(out, command=command, config=more, names=wanted, inputs=inputs, force=force)


# ---- what is written ----


def test_files_appear_together_with_their_digests(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "old"})
    with staged_folder(tmp_path) as folder:
        (folder / "a.txt").write_text("new")
        (folder / "run.json").write_text("{}")
        write_json(manifest(), folder / "manifest.json")
        assert (tmp_path / "a.txt").read_text() == "old"
    assert (tmp_path / "a.txt").read_text() == "new"
    assert names(tmp_path) == ["a.txt", "manifest.json", "run.json"]
    sha256 = "11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437"
    assert read_json_file(tmp_path / "manifest.json")["files"] == {"a.txt": {"size": 3, "sha256": sha256}}


def test_what_is_not_written_again_goes_and_what_is_not_listed_stays(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("the user's")
    write(tmp_path, {"a.txt": "x", "b.txt": "y"})
    (tmp_path / "sub").mkdir()
    write(tmp_path, {"a.txt": "x"})
    assert names(tmp_path) == ["a.txt", "manifest.json", "sub", "thesis.tex"]
    assert list(read_json_file(tmp_path / "manifest.json")["files"]) == ["a.txt"]


def test_further_files_join_the_manifest(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "x"}, seed=1)
    for text in ("y", "z"):
        with staged_folder(tmp_path, add=True) as folder:
            (folder / "b.txt").write_text(text)
    assert (tmp_path / "b.txt").read_text() == "z"
    found = read_json_file(tmp_path / "manifest.json")
    assert (list(found["files"]), found["config"]) == (["a.txt", "b.txt"], {"seed": 1})
    (tmp_path / "c.txt").write_text("the user's")
    with pytest.raises(ConfigError, match=r"'c\.txt'"), staged_folder(tmp_path, add=True) as folder:
        (folder / "c.txt").write_text("ours")
    assert (tmp_path / "c.txt").read_text() == "the user's"


def test_the_manifest_gets_its_name_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[str] = []
    move = Path.replace

    def replace(path: Path, target: Path) -> Path:
        moved.append(target.name)
        return move(path, target)

    monkeypatch.setattr(Path, "replace", replace)
    write(tmp_path, {"z.parquet": "x", "a.txt": "x", "run.json": "{}"})
    assert moved == [JOURNAL, "a.txt", "run.json", "z.parquet", "manifest.json"]


# ---- what is refused ----

STRANGER = "got a folder with a manifest.json that shortcut-miner did not write, expected none or its own"


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ('{"files": ["thesis.tex", "data.csv"]}', STRANGER),
        ('{"package": "other", "command": "test build", "config": {}, "files": {}}', STRANGER),
        ("[1]", STRANGER),
        ("{", STRANGER),
        (
            json.dumps(manifest() | {"files": ["thesis.tex"]}),
            "got a folder of version .*can't tell its files",
        ),
        (json.dumps(manifest() | {"files": {"../thesis.tex": {"size": 1, "sha256": "0" * 64}}}), "damaged"),
        (json.dumps(manifest() | {"files": {"thesis.tex": {"size": 1}}}), "damaged manifest.json"),
        (json.dumps(manifest() | {"files": {"thesis.tex": None}}), "damaged manifest.json"),
        (json.dumps(manifest() | {"files": {}, "config": None}), "damaged manifest.json"),
        (json.dumps(manifest() | {"files": {}, "inputs": [{}]}), "damaged manifest.json"),
        (json.dumps(manifest()), "damaged manifest.json"),
    ],
)
def test_a_manifest_that_is_not_ours(tmp_path: Path, found: str, told: str) -> None:
    """The finding: a stranger's manifest.json made a build delete thesis.tex."""
    for name, text in (("manifest.json", found), ("thesis.tex", "my thesis"), ("data.csv", "a,b")):
        (tmp_path / name).write_text(text)
    before = contents(tmp_path)
    for attempt in (lambda: check(tmp_path, "a.txt"), lambda: check(tmp_path, "a.txt", force=True)):
        with pytest.raises(ConfigError, match=rf"--out .*{told}"):
            attempt()
    with pytest.raises(ConfigError, match=told):
        write(tmp_path, {"a.txt": "x"}, force=True)
    assert contents(tmp_path) == before
    assert names(tmp_path) == sorted(before)


@pytest.mark.parametrize("name", ["manifest.json", "run.json"])
def test_a_pipe_by_one_of_our_names_is_not_waited_for(tmp_path: Path, name: str) -> None:
    write(tmp_path, {"a.txt": "x"})
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    told = STRANGER if name == "manifest.json" else r"got a folder with 'run\.json', which test build did not"
    with pytest.raises(ConfigError, match=told):
        check(tmp_path, "a.txt", "run.json")


@pytest.mark.parametrize("name", ["a\0", "\ud800", "a" * 256])
def test_a_manifest_of_names_that_no_file_can_have(tmp_path: Path, name: str) -> None:
    files = {name: {"size": 1, "sha256": "0" * 64}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest() | {"files": files}))
    with pytest.raises(ConfigError, match="got a folder with a damaged manifest"):
        check(tmp_path, "a.txt")


@pytest.mark.parametrize("name", ["a.txt", "run.json", "yes-no_val.json"])
@pytest.mark.parametrize("is_built", [False, True])
def test_somebodys_file_of_a_name_that_is_needed(tmp_path: Path, name: str, is_built: bool) -> None:
    if is_built:
        write(tmp_path, {"b.txt": "x"})
    (tmp_path / name).write_text("[1]")
    before = contents(tmp_path)
    told = rf"got a folder with '{name}', which test build did not write and would replace"
    for force in (False, True):
        with pytest.raises(ConfigError, match=told):
            check(tmp_path, "a.txt", "run.json", "yes-no_*.json", force=force)
        with pytest.raises(ConfigError, match=told):
            write(tmp_path, {"b.txt": "x", name: "ours"}, force=force)
    assert contents(tmp_path) == before
    check(tmp_path, "b.txt")


@pytest.mark.parametrize("change", ["edited", "same size", "link", "folder"])
def test_a_file_of_ours_that_was_changed_since_is_not_ours(tmp_path: Path, change: str) -> None:
    out = tmp_path / "out"
    write(out, {"a.txt": "x", "b.txt": "y"})
    victim = out / "a.txt"
    victim.unlink()
    (tmp_path / "elsewhere").write_text("x")
    if change == "link":
        victim.symlink_to(tmp_path / "elsewhere")
    elif change == "folder":
        victim.mkdir()
    else:
        victim.write_text("edited" if change == "edited" else "z")
    for files in ({"a.txt": "x"}, {"b.txt": "y"}):  # it would be replaced, it would be removed
        with pytest.raises(ConfigError, match=r"got 'a\.txt' changed since test build wrote the folder"):
            write(out, files, force=True)
    with pytest.raises(ConfigError, match=r"got 'a\.txt' changed since"):
        check(out, "b.txt", force=True)
    assert os.path.lexists(victim)
    assert (tmp_path / "elsewhere").read_text() == "x"


def test_a_file_of_ours_that_was_deleted_is_written_again(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "x", "b.txt": "y"})
    (tmp_path / "a.txt").unlink()
    write(tmp_path, {"a.txt": "x"})
    assert names(tmp_path) == ["a.txt", "manifest.json"]


def test_another_commands_folder_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "x"})
    before = contents(tmp_path)
    told = r"got a folder that test build wrote, expected .* one of test score\. Choose another --out"
    for force in (False, True):
        with pytest.raises(ConfigError, match=told):
            check(tmp_path, command="test score", force=force)
    assert contents(tmp_path) == before


def test_other_options_are_named_and_need_force(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "x"}, min_count=8, build={"items": "both"}, types=["a"])
    same = {"min_count": 8, "build": {"items": "both"}, "types": ("a",)}
    check(tmp_path, "a.txt", **same)
    other = same | {"min_count": None, "build": {"items": "words"}, "seed": 3}
    told = (
        r"got a folder that test build wrote with other options \(build\.items both, now words, "
        r"min_count 8, now none, seed none, now 3\), expected the same\. Choose another --out, or replace it "
        r"with --force\."
    )
    with pytest.raises(ConfigError, match=told):
        check(tmp_path, "a.txt", **other)
    with pytest.raises(ConfigError, match=told):
        write(tmp_path, {"a.txt": "y"}, **other)
    assert (tmp_path / "a.txt").read_text() == "x"
    check(tmp_path, "a.txt", force=True, **other)
    write(tmp_path, {"a.txt": "y"}, force=True, **other)
    assert (tmp_path / "a.txt").read_text() == "y"


def test_an_older_versions_folder_may_lack_options(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "x"}, seed=1)
    older = read_json_file(tmp_path / "manifest.json") | {"version": "0.0.9"}
    write_json(older, tmp_path / "manifest.json")
    check(tmp_path, "a.txt", seed=1, new_option=5)
    with pytest.raises(ConfigError, match=r"\(seed 1, now 2\)"):
        check(tmp_path, "a.txt", seed=2, new_option=5)


@pytest.mark.parametrize("kind", ["itself", "symlink", "hard link", "link to the folder", "archive"])
def test_an_input_among_the_outputs(tmp_path: Path, kind: str) -> None:
    """The finding: rad build --questions s/questions.parquet --out s overwrote its own input."""
    out = tmp_path / "out"
    write(out, {"a.txt": "x", "b.zip": "y"})
    given = out / "a.txt"
    if kind == "symlink":
        given = tmp_path / "in.txt"
        given.symlink_to(out / "a.txt")
    elif kind == "hard link":
        given = tmp_path / "in.txt"
        given.hardlink_to(out / "a.txt")
    elif kind == "link to the folder":
        (tmp_path / "there").symlink_to(out)
        given = tmp_path / "there" / "a.txt"
    elif kind == "archive":
        given = out / "b.zip" / "deep" / "member.json"
    told = rf"got the folder of a file that this run reads \(questions {given}\) and might replace"
    for inputs in ({"questions": given}, {"questions": [tmp_path / "gone", str(given)]}):
        with pytest.raises(ConfigError, match=told):
            check(out, "a.txt", inputs=inputs, force=True)
    check(out, "a.txt", inputs={"questions": tmp_path / "gone.json", "embeddings": "en_core_web_md"})


def test_the_folder_that_is_read_is_no_place_to_write(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"got the folder that this run reads \(detections .*\)"):
        check(tmp_path, "a.txt", inputs={"detections": tmp_path})
    check(tmp_path / "below", "a.txt", inputs={"detections": tmp_path})


def test_out_must_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with (
        pytest.raises(ConfigError, match=r"--out .*file: got a file, expected a folder"),
        staged_folder(tmp_path / "file"),
    ):
        pass


# ---- what goes wrong ----


def test_a_failure_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "old"})
    before = contents(tmp_path)
    with pytest.raises(ValueError, match="half way"), staged_folder(tmp_path) as folder:
        (folder / "a.txt").write_text("new")
        raise ValueError("half way")
    assert contents(tmp_path) == before
    assert names(tmp_path) == sorted(before)


@pytest.mark.parametrize(
    "number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES, errno.EMFILE, errno.ESTALE]
)
def test_a_disk_that_fails_at_any_point(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One clear error, which says that earlier results are unchanged exactly when they are."""
    told = os.strerror(number)
    said = set()
    for after in range(20):
        out = tmp_path / str(after)
        write(out, {"a.txt": "old", "b.txt": "old"})
        before, done = contents(out), 0

        def fail(*given: Any, real: Callable[..., Any], **more: Any) -> Any:
            nonlocal done
            done += 1
            if done > after:  # noqa: B023
                raise OSError(number, os.strerror(number))
            return real(*given, **more)

        with monkeypatch.context() as patched:
            for owner, name in ((os, "fsync"), (Path, "replace"), (Path, "unlink")):
                real = getattr(owner, name)
                patched.setattr(
                    owner, name, lambda *given, real=real, **more: fail(*given, real=real, **more)
                )
            try:
                write(out, {"a.txt": "new"})
                break
            except SourceError as error:
                message = str(error)
        assert message.startswith(f"{out}: got {told} while writing, expected room")
        is_unchanged = "Earlier results are unchanged" in message
        said.add(is_unchanged)
        assert is_unchanged == (not (out / JOURNAL).exists())
        if is_unchanged:
            assert contents(out) == before
        else:
            assert "the next command that reads this folder puts the rest in place" in message
        finish_interrupted(out)
        assert (out / "b.txt").exists() == is_unchanged
        assert (out / "a.txt").read_text() == ("old" if is_unchanged else "new")
        assert not [name for name in names(out) if name.startswith(".")]
        write(out, {"a.txt": "new"})
    else:
        pytest.fail("the run never came to its end")
    assert said == {True, False}


def test_the_staging_folder_of_a_killed_process_goes_and_a_living_ones_stays(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from shortcut_miner.publishing import staged_folder\n"
        "with staged_folder(Path(sys.argv[1])) as folder:\n"
        "    (folder / 'a.txt').write_text('half'); print('ready', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    write(tmp_path, {"b.txt": "whole"})
    assert len(names(tmp_path)) == 3  # b.txt, the manifest and the other's staging folder
    process.kill()
    process.wait()
    process.stdout.close()
    write(tmp_path, {"b.txt": "whole"})
    assert names(tmp_path) == ["b.txt", "manifest.json"]


def test_a_staging_folder_that_is_at_work_in_another_container_stays(tmp_path: Path) -> None:
    """Its process has a number that nobody has here, and the host's name is the same."""
    dead = subprocess.Popen(["true"])
    dead.wait()
    other = tmp_path / f".shortcut-miner-staging-{os.uname().nodename}-{dead.pid}-x"
    other.mkdir()
    with locked(other):
        write(tmp_path, {"a.txt": "x"})
        assert other.is_dir()
    write(tmp_path, {"a.txt": "x"})
    assert names(tmp_path) == ["a.txt", "manifest.json"]


# ---- two at once ----


def test_a_second_run_waits_for_the_first_to_rename(tmp_path: Path) -> None:
    with locked(tmp_path):
        second = threading.Thread(target=write, args=(tmp_path, {"a.txt": "second"}))
        second.start()
        time.sleep(0.1)
        assert second.is_alive()
        assert not (tmp_path / "a.txt").exists()
    second.join(timeout=60)
    assert (tmp_path / "a.txt").read_text() == "second"


def test_of_two_runs_with_other_options_the_second_to_end_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigError, match=r"with other options \(seed 1, now 2\)"),
        staged_folder(tmp_path) as folder,
    ):
        write(tmp_path, {"a.txt": "first"}, seed=1)  # came while this one worked
        (folder / "a.txt").write_text("second")
        write_json(manifest(seed=2), folder / "manifest.json")
    assert (tmp_path / "a.txt").read_text() == "first"
    assert names(tmp_path) == ["a.txt", "manifest.json"]
