"""The journal: a run that is stopped at any moment leaves the old folder or the new one, never a mixture."""

import dataclasses
import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from publishing_cases import contents, names, write

from shortcut_miner.errors import SourceError
from shortcut_miner.journal import JOURNAL, Digest, finish_interrupted
from shortcut_miner.publishing import check_target

# ---- killed at every file operation ----

RUNS = [json.dumps({"out": run, "files": 0, "backend": 0, "threads": 0}) for run in ("old", "new")]
OLD = {"a.txt": "old a", "b.txt": "same", "gone.txt": "obsolete", "run.json": RUNS[0]}
NEW = {"a.txt": "new a", "b.txt": "same", "c.txt": "new c", "run.json": RUNS[1]}
THESIS = "the user's"
# What the file system is asked for, as Python's audit events name it.
OPERATIONS = {
    "open",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.mkdir",
    "os.listdir",
    "os.scandir",
    "fcntl.flock",
}


def killed_at(number: int, work: Callable[[], None]) -> bool:
    """Do some work in a process that dies before its file operation of this number; return whether it did."""
    process = os.fork()
    if process == 0:
        try:
            _die_at(number)
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status) == 9


def _die_at(number: int) -> None:
    count = 0

    def step(*_given: object) -> None:
        nonlocal count
        if count == number:
            os._exit(9)
        count += 1

    sys.addaudithook(lambda event, _arguments: step() if event in OPERATIONS else None)
    synced = os.fsync
    os.fsync = lambda handle: (step(), synced(handle))[1]  # type: ignore[assignment]


def state_of(out: Path) -> str:
    """Return which run a reader finds, all of it and nothing else."""
    finish_interrupted(out)
    found = {name: text.decode() for name, text in contents(out).items() if not name.startswith(".")}
    assert found.pop("thesis.tex") == THESIS
    listed = json.loads(found.pop("manifest.json"))
    for state, files in (("old", OLD), ("new", NEW)):
        if found == files:
            assert listed["files"].keys() == files.keys() - {"run.json"}
            assert listed["config"] == {"run": state}
            return state
    raise AssertionError(f"a mixture: {found}")


def old_folder(out: Path) -> None:
    write(out, OLD, run="old")
    (out / "thesis.tex").write_text(THESIS)


def rebuild(out: Path) -> None:
    write(out, NEW, force=True, run="new")


def test_a_run_killed_at_any_operation_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    seen, journals = [], 0
    for number in range(1000):
        out = tmp_path / str(number)
        old_folder(out)
        died = killed_at(number, lambda: rebuild(out))  # noqa: B023
        journals += (out / JOURNAL).exists()
        seen.append(state_of(out))
        rebuild(out)
        assert state_of(out) == "new"
        assert not [name for name in names(out) if name.startswith(".")]
        if not died:
            break
    turn = seen.index("new")
    assert 20 < turn < len(seen) - 5
    assert seen == ["old"] * turn + ["new"] * (len(seen) - turn)
    assert journals > 5


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> int:
    """Return the first operation at which a run is killed when there is a journal."""
    folder = tmp_path_factory.mktemp("first")
    return next(number for number in range(1000) if _leaves_a_journal(folder / str(number), number))


@pytest.mark.slow
def test_whoever_finishes_may_be_killed_too(first: int, tmp_path: Path) -> None:
    """From every state that a run can be killed in, at every operation of the reader that finishes it."""
    tried, number = 0, first
    while _leaves_a_journal(tmp_path / f"run {number}", number):
        for second in range(1000):
            out = tmp_path / f"{number} {second}"
            assert _leaves_a_journal(out, number)
            died = killed_at(second, lambda: finish_interrupted(out))  # noqa: B023
            assert state_of(out) == "new"
            tried += 1
            if not died:
                break
        number += 1
    assert number - first > 5
    assert tried > 50


def _leaves_a_journal(out: Path, number: int) -> bool:
    old_folder(out)
    return killed_at(number, lambda: rebuild(out)) and (out / JOURNAL).exists()


@pytest.fixture(scope="module")
def between_renames(first: int, tmp_path_factory: pytest.TempPathFactory) -> int:
    """Return an operation that is between two renames: a.txt has its name, c.txt has not."""
    number = first
    while True:
        out = tmp_path_factory.mktemp("renames") / "out"
        assert _leaves_a_journal(out, number)
        if (out / "a.txt").read_text() == NEW["a.txt"]:
            return number
        number += 1


@pytest.fixture
def half_renamed(between_renames: int, tmp_path: Path) -> Path:
    """Return a folder as a run that was killed between two renames leaves it."""
    assert _leaves_a_journal(tmp_path, between_renames)
    return tmp_path


def test_what_the_user_changes_before_a_run_is_finished_is_kept(half_renamed: Path) -> None:
    (half_renamed / "c.txt").write_text("mine")
    told = r"c\.txt: got a file changed since a run was stopped that was to replace it"
    with pytest.raises(SourceError, match=told):
        finish_interrupted(half_renamed)
    with pytest.raises(SourceError, match=told):
        check_target(half_renamed, command="test build", config={}, names=("a.txt",))
    assert (half_renamed / "c.txt").read_text() == "mine"
    (half_renamed / "c.txt").unlink()
    (half_renamed / "gone.txt").write_text("mine")  # was to be removed
    (half_renamed / "a.txt").write_text("mine")  # was renamed already
    finish_interrupted(half_renamed)
    found = contents(half_renamed)
    assert (found["gone.txt"], found["a.txt"], found["c.txt"]) == (b"mine", b"mine", b"new c")


def test_a_staging_folder_that_is_gone(half_renamed: Path) -> None:
    (staging,) = half_renamed.glob(".shortcut-miner-staging-*")
    (staging / "c.txt").unlink()
    with pytest.raises(SourceError, match=r"got a run that was stopped, and no c\.txt any more"):
        finish_interrupted(half_renamed)


def test_a_decided_run_whose_files_are_all_gone_is_as_if_it_never_was(first: int, tmp_path: Path) -> None:
    assert _leaves_a_journal(tmp_path, first)
    (staging,) = tmp_path.glob(".shortcut-miner-staging-*")
    for path in staging.iterdir():
        path.unlink()
    staging.rmdir()
    assert state_of(tmp_path) == "old"
    assert not (tmp_path / JOURNAL).exists()


def journal(name: str, *, staging: str = ".shortcut-miner-staging-x", **change: Any) -> str:
    """Return a journal that is to give a file of five bytes its name."""
    whole = {"name": name, "before": None, "after": dataclasses.asdict(digest("ours\n"))} | change
    return json.dumps({"staging": staging, "changes": [whole]})


def digest(text: str) -> Digest:
    return Digest(len(text), hashlib.sha256(text.encode()).hexdigest())


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"staging": "..", "changes": []}',
        '{"staging": 7, "changes": []}',
        *(
            journal(name)
            for name in (
                "../x",
                "/tmp/x",
                "b/x",
                "b/../../x",
                ".x",
                "a\0b",
                "\ud800",
                "a\x1b",
                "\u00e9" * 128,
                "",
            )
        ),
        journal("a", before=None, after=None),
        journal("a", staging=".shortcut-miner-staging-x/.."),
        journal("a", staging=".shortcut-miner-staging-\0"),
        "[" * 200_000,
    ],
    ids=lambda text: text[:120],
)
def test_a_journal_that_no_run_wrote(tmp_path: Path, text: str) -> None:
    (tmp_path / JOURNAL).write_text(text)
    with pytest.raises(SourceError, match=r"journal\.json: got .*, expected the journal of a run"):
        finish_interrupted(tmp_path)
    assert (tmp_path / JOURNAL).read_text() == text


@pytest.mark.parametrize("kind", ["pipe", "folder", "link"])
def test_a_journal_that_is_no_file(tmp_path: Path, kind: str) -> None:
    """A pipe has no end to wait for."""
    (tmp_path / "elsewhere").write_text(journal("a"))
    path = tmp_path / JOURNAL
    made: dict[str, Callable[[], object]] = {
        "pipe": lambda: os.mkfifo(path),
        "folder": path.mkdir,
        "link": lambda: path.symlink_to("elsewhere"),
    }
    made[kind]()
    with pytest.raises(SourceError, match="got no regular file, expected the journal of a run"):
        finish_interrupted(tmp_path)
    assert os.path.lexists(path)


def test_a_journal_takes_no_file_from_another_folder(tmp_path: Path) -> None:
    other, out = tmp_path / "other", tmp_path / "out"
    other.mkdir()
    out.mkdir()
    (other / "thesis.tex").write_text("ours\n")
    (out / ".shortcut-miner-staging-x").symlink_to(other)
    (out / JOURNAL).write_text(journal("thesis.tex"))
    with pytest.raises(SourceError, match="got names that no run writes"):
        finish_interrupted(out)
    assert names(other) == ["thesis.tex"]


@pytest.mark.parametrize("staged", ["damaged", "link"])
def test_a_staged_file_that_is_not_as_it_was_written_gets_no_name(tmp_path: Path, staged: str) -> None:
    folder = tmp_path / ".shortcut-miner-staging-x"
    folder.mkdir()
    (tmp_path / "elsewhere").write_text("ours\n")
    if staged == "link":
        (folder / "a.txt").symlink_to(tmp_path / "elsewhere")
    else:
        (folder / "a.txt").write_text("our")
    (tmp_path / JOURNAL).write_text(journal("a.txt"))
    with pytest.raises(SourceError, match=r"a\.txt: got a file changed since a run wrote it"):
        finish_interrupted(tmp_path)
    assert not os.path.lexists(tmp_path / "a.txt")
    assert os.path.lexists(folder / "a.txt")


@pytest.mark.parametrize("kind", ["link", "dangling link", "folder"])
def test_what_is_no_file_is_not_replaced_where_nothing_was(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / ".shortcut-miner-staging-x"
    folder.mkdir()
    (folder / "a.txt").write_text("ours\n")
    (tmp_path / "mine").write_text("mine")
    path = tmp_path / "a.txt"
    path.mkdir() if kind == "folder" else path.symlink_to("mine" if kind == "link" else "nowhere")
    (tmp_path / JOURNAL).write_text(journal("a.txt"))
    with pytest.raises(SourceError, match=r"a\.txt: got a file changed since a run was stopped"):
        finish_interrupted(tmp_path)
    assert path.is_dir() if kind == "folder" else path.is_symlink()
    path.rmdir() if kind == "folder" else path.unlink()
    finish_interrupted(tmp_path)
    assert names(tmp_path) == ["a.txt", "mine"]


def test_a_run_whose_journal_can_not_be_read_keeps_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when no more files may be opened: what is decided must stay possible."""
    old_folder(tmp_path)
    read, move = Path.read_bytes, Path.replace

    def no_journal(path: Path) -> bytes:
        if path.name == JOURNAL:
            raise OSError(24, "Too many open files")
        return read(path)

    def stop(path: Path, target: Path) -> Path:
        if target.name == "c.txt":
            raise OSError(24, "Too many open files")
        return move(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", no_journal)
        patched.setattr(Path, "replace", stop)
        with pytest.raises(SourceError, match="The new files are complete"):
            rebuild(tmp_path)
    assert state_of(tmp_path) == "new"


def test_files_that_can_not_be_seen_are_not_taken_as_gone(
    half_renamed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user's staging folder is closed to all others."""
    seen = Path.lstat

    def closed(path: Path) -> os.stat_result:
        if path.parent.name.startswith(".shortcut-miner-staging-"):
            raise PermissionError(13, "Permission denied")
        return seen(path)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "lstat", closed)
        with pytest.raises(SourceError, match=r"\(Permission denied\).*Let somebody who may write"):
            finish_interrupted(half_renamed)
    assert state_of(half_renamed) == "new"


def test_a_reader_who_may_not_write_says_who_can(half_renamed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(path: Path, target: Path) -> Path:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "replace", forbidden)
    told = r"got a folder whose last run was stopped .*\(Permission denied\).*Let somebody who may write"
    with pytest.raises(SourceError, match=told):
        finish_interrupted(half_renamed)
