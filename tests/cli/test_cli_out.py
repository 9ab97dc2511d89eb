"""Where results go: folders that can't be, no room, no permission."""

import contextlib
import errno
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.commands import RunCli, contents, options, tiny_world, write_world

from shortcut_miner import journal
from shortcut_miner.demo import DemoWorld

Files = dict[str, Path | None]
SMALL = ("--min-count", 2, "--threads", 1)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return write_world(tiny_world(), tmp_path / "in")


@contextlib.contextmanager
def mounted(folder: Path, mount_options: str) -> Iterator[Path]:
    """Give a small file system in memory; skip where we may not mount one."""
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", mount_options, "tmpfs", folder], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("mounting needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("command", ["build", "sweep", "score", "mine", "demo"])
@pytest.mark.parametrize("place", ["a file", "below a file"])
def test_out_is_a_file(
    place: str, command: str, run_cli: RunCli, files: Files, built: Path, world: DemoWorld, tmp_path: Path
) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine")
    out = taken if place == "a file" else taken / "deep" / "out"
    tokens: dict[str, tuple[object, ...]] = {
        "build": ("vqa-ce", "build", *options(files)),
        "sweep": ("vqa-ce", "sweep", *options(files)),
        "score": ("vqa-ce", "score", built, "--predictions", f"m={world.grounded_predictions}"),
        "mine": ("mine", built / "questions.parquet", "--words", "question"),
        "demo": ("demo",),
    }
    ran = run_cli(*tokens[command], "--out", out)
    assert (ran.code, ran.out) == (2, "")
    told = "a file" if place == "a file" else f"a path below the file {taken}"
    assert ran.err == f"error: --out {out}: got {told}, expected a folder. Choose another name.\n"
    assert taken.read_text() == "mine"


@pytest.mark.parametrize("path", ["", " "])
@pytest.mark.parametrize("option", ["--out", "--detections", "--work"])
def test_an_empty_path_is_not_the_present_folder(
    option: str, path: str, run_cli: RunCli, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    given = {name.replace("_", "-"): file for name, file in files.items()} | {"out": tmp_path / "out"}
    tokens = [token for name, file in given.items() if f"--{name}" != option for token in (f"--{name}", file)]
    ran = run_cli("vqa-ce", "build", *tokens, option, path, *SMALL)
    assert (ran.code, ran.err) == (
        2,
        f"error: {option}: got an empty path, expected a file or folder. Name it, or . for this one.\n",
    )
    assert not list(Path().iterdir())
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_out_may_not_be_written(run_cli: RunCli, files: Files, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    ran = run_cli("vqa-ce", "build", *options(files), "--out", locked / "out")
    assert ran.code == 2
    assert "that can't be written" in ran.err


def test_out_is_on_a_read_only_disk(run_cli: RunCli, files: Files, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "ro") as disk:
        ran = run_cli("vqa-ce", "build", *options(files), *SMALL, "--out", disk / "out")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: --out {disk / 'out'}: got a folder that can't be written")


@pytest.mark.sample(2)
@pytest.mark.parametrize("pages", [1, 3, 5, 7, 9, 11])
def test_the_disk_is_full(pages: int, run_cli: RunCli, files: Files, tmp_path: Path) -> None:
    """Whatever file finds no room, earlier results are whole and nothing else is left."""
    with mounted(tmp_path / "disk", "size=512k") as disk:
        out = disk / "out"
        assert run_cli("vqa-ce", "build", *options(files), *SMALL, "--out", out).code == 0
        before = contents(out)
        free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize
        (disk / "filler").write_bytes(b"x" * (free - pages * 4096))
        more = ("--min-confidence", 0.9, "--keep-matches", "--force")
        ran = run_cli("vqa-ce", "build", *options(files), *SMALL, *more, "--out", out)
        assert (ran.code, ran.out) == (2, ""), ran.err
        assert "No space left on device" in ran.err
        assert "Traceback" not in ran.err
        assert "Earlier results are unchanged" in ran.err
        assert contents(out) == before


@pytest.mark.sample(3)
@pytest.mark.parametrize("keep_matches", [False, True])
@pytest.mark.parametrize("after", range(0, 16, 3))
def test_the_disk_fills_up_while_writing(
    after: int,
    keep_matches: bool,
    run_cli: RunCli,
    files: Files,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The folder has the earlier results or the new ones, whichever write is the first to fail."""
    out = tmp_path / "out"
    assert run_cli("vqa-ce", "build", *options(files), *SMALL, "--out", out).code == 0
    before = contents(out)
    synced = 0
    sync = os.fsync

    def fill(handle: Any) -> None:
        nonlocal synced
        synced += 1
        if synced > after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    monkeypatch.setattr(journal.os, "fsync", fill)
    more = ("--min-confidence", 0.9, "--force", *(("--keep-matches",) if keep_matches else ()))
    ran = run_cli("vqa-ce", "build", *options(files), *SMALL, *more, "--out", out)
    monkeypatch.undo()
    assert ran.code == 0 or synced > after
    assert ran.code == 2 or contents(out) != before
    if ran.code == 2:
        assert "got No space left on device while writing" in ran.err
        assert ("Earlier results are unchanged" in ran.err) == (contents(out) == before)
    found = run_cli("inspect", out, "--format", "json")
    assert (found.code, found.err) == (0, "")
    told = json.loads(found.out)["files"][0]["facts"]["provenance"]["config"]["min_confidence"]
    assert told == (0.3 if contents(out) == before else 0.9)
    assert not [path for path in out.iterdir() if path.name.startswith(".")]
    assert run_cli("vqa-ce", "build", *options(files), *SMALL, "--force", "--out", out).code == 0


def test_out_may_be_given_relative_and_with_a_link(
    run_cli: RunCli, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for out in ("plain", "./link", "link/deeper"):
        assert run_cli("vqa-ce", "build", *options(files), *SMALL, "--out", out).code == 0
    plain = contents(tmp_path / "plain", without=("run.json",))
    assert contents(tmp_path / "real" / "deeper", without=("run.json",)) == plain


def test_a_folder_left_by_a_killed_run_is_cleared(run_cli: RunCli, files: Files, tmp_path: Path) -> None:
    out = tmp_path / "out"
    dead = subprocess.Popen(["true"])
    dead.wait()
    host = os.uname().nodename
    left = out / f".shortcut-miner-staging-{host}-{dead.pid}-x"
    left.mkdir(parents=True)
    (left / "rules.parquet").write_bytes(b"half")
    assert run_cli("vqa-ce", "build", *options(files), *SMALL, "--out", out).code == 0
    assert not left.exists()
    shutil.rmtree(out)


def test_names_that_are_no_utf8(run_cli: RunCli, files: Files, tmp_path: Path) -> None:
    """As old archives hold them; run.json could not be written, which was told as a bug."""
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/M\xfcll")
    moved = write_world(tiny_world(), Path(folder))
    assert run_cli("vqa-ce", "build", *options(moved), *SMALL, "--out", tmp_path / "out").code == 0
    written = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    assert written["files"]["val_questions"] == str(moved["val_questions"])
    assert run_cli("repeat", tmp_path / "out").code == 0
    ran = run_cli("vqa-ce", "build", *options(files), *SMALL, "--out", folder + "/out")
    assert (ran.code, ran.out) == (2, "")
    assert "got a name that is no UTF-8, expected one that is" in ran.err
    table = Path(folder, "questions.parquet")
    shutil.copy(tmp_path / "out" / "questions.parquet", table)
    ran = run_cli("mine", table, "--words", "words")
    assert (ran.code, ran.out) == (2, "")
    assert "got a name that is no UTF-8, expected one for a Parquet file" in ran.err
