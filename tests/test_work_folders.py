"""Work folders: found again by a rerun, removed at the end, and never somebody else's."""

import errno
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shortcut_miner.errors import BackendError, ConfigError, OutputError, SourceError
from shortcut_miner.work_folders import WORK_RECORD, finish_part, finished_part, work_folder, work_path

PURPOSE = {"inputs": ["ab"], "options": {"min_count": 3}}


def leave_work(out: Path, name: str = "shard-0.npz") -> Path:
    """Return the work folder that an interrupted run with a finished file left."""
    with pytest.raises(KeyboardInterrupt), work_folder(out, PURPOSE) as folder:
        (folder / name).write_text("done")
        raise KeyboardInterrupt
    return folder


def test_it_is_hidden_beside_the_output_and_gone_when_the_work_is_done(tmp_path: Path) -> None:
    with work_folder(tmp_path / "deep" / "run", PURPOSE) as folder:
        assert folder == tmp_path / "deep" / ".run.work"
        (folder / "rows").mkdir()
        (folder / "rows" / "a").write_text("x")
    assert not folder.exists()


@pytest.mark.parametrize("stopped", [KeyboardInterrupt, MemoryError, OSError, BackendError, OutputError])
def test_a_rerun_finds_what_a_stopped_run_left(tmp_path: Path, stopped: type[BaseException]) -> None:
    with pytest.raises(stopped), work_folder(tmp_path / "run", PURPOSE) as folder:
        (folder / "shard-0.npz").write_text("done")
        raise stopped("stopped")
    with work_folder(tmp_path / "run", PURPOSE) as folder:
        assert (folder / "shard-0.npz").read_text() == "done"
    assert not folder.exists()


def test_an_error_of_a_full_disk_names_the_folder(tmp_path: Path) -> None:
    with (
        pytest.raises(OSError, match="No space") as nameless,
        work_folder(tmp_path / "run", PURPOSE) as folder,
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert nameless.value.filename == str(folder)
    with pytest.raises(OSError, match="No space") as named, work_folder(tmp_path / "run", PURPOSE):
        raise OSError(errno.ENOSPC, "No space left on device", "elsewhere")
    assert named.value.filename == "elsewhere"


@pytest.mark.parametrize("cut_off_at", range(6))
def test_a_run_that_is_killed_while_it_tidies_up_leaves_a_folder_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut_off_at: int
) -> None:
    """Whatever is removed first: the order of a folder's names is the system's."""
    removed: list[object] = []

    def stop_at(remove: Callable[..., None]) -> Callable[..., None]:
        def once(path: object, **options: Any) -> None:
            if len(removed) == cut_off_at:
                raise KeyboardInterrupt
            removed.append(path)
            remove(path, **options)

        return once

    with pytest.raises(KeyboardInterrupt), work_folder(tmp_path / "run", PURPOSE) as folder:
        for name in ("a", "z"):
            (folder / name).write_text("x")
        (folder / "rows").mkdir()
        (folder / "rows" / "b").write_text("x")
        for name in ("unlink", "rmdir"):
            monkeypatch.setattr(os, name, stop_at(getattr(os, name)))
    monkeypatch.undo()
    assert len(removed) == cut_off_at
    with work_folder(tmp_path / "run", PURPOSE) as folder:
        assert (folder / WORK_RECORD).exists()
    assert not folder.exists()


@pytest.mark.parametrize("wrong", [SourceError, ConfigError])
def test_nothing_stays_of_a_run_whose_input_is_wrong(tmp_path: Path, wrong: type[Exception]) -> None:
    with pytest.raises(wrong), work_folder(tmp_path / "run", PURPOSE):
        raise wrong("x: got a, expected b.")
    assert list(tmp_path.iterdir()) == []


def test_work_for_another_purpose_or_version_is_thrown_away(tmp_path: Path) -> None:
    left = leave_work(tmp_path / "run")
    with work_folder(tmp_path / "run", {**PURPOSE, "inputs": ["cd"]}) as folder:
        assert [one.name for one in folder.iterdir()] == [WORK_RECORD]
    left = leave_work(tmp_path / "run")
    record = json.loads((left / WORK_RECORD).read_text())
    (left / WORK_RECORD).write_text(json.dumps({**record, "version": "0.0"}))
    with work_folder(tmp_path / "run", PURPOSE) as folder:
        assert [one.name for one in folder.iterdir()] == [WORK_RECORD]


def test_a_run_stopped_before_it_said_what_it_is_for_is_no_stranger(tmp_path: Path) -> None:
    folder = work_path(tmp_path / "run")
    folder.mkdir()
    (folder / f"{WORK_RECORD}.part").write_text("{")
    with work_folder(tmp_path / "run", PURPOSE) as folder:
        assert [one.name for one in folder.iterdir()] == [WORK_RECORD]


@pytest.mark.parametrize("record", [None, "{}", "[]", '{"package": "other"}', "{"])
def test_a_strangers_folder_is_neither_used_nor_touched(tmp_path: Path, record: str | None) -> None:
    folder = work_path(tmp_path / "run")
    folder.mkdir()
    (folder / "thesis.txt").write_text("mine")
    if record is not None:
        (folder / WORK_RECORD).write_text(record)
    with (
        pytest.raises(ConfigError, match=r"did not make, expected none or its own.*Move it elsewhere"),
        work_folder(tmp_path / "run", PURPOSE),
    ):
        pytest.fail("the body ran")
    assert (folder / "thesis.txt").read_text() == "mine"


def test_a_link_to_an_empty_folder_is_a_strangers(tmp_path: Path) -> None:
    (tmp_path / "else").mkdir()
    work_path(tmp_path / "run").symlink_to(tmp_path / "else")
    with pytest.raises(ConfigError, match="did not make"), work_folder(tmp_path / "run", PURPOSE):
        pytest.fail("the body ran")
    assert list((tmp_path / "else").iterdir()) == []


def test_a_file_of_its_name_is_told(tmp_path: Path) -> None:
    work_path(tmp_path / "run").write_text("mine")
    with (
        pytest.raises(
            ConfigError, match=r"run\.work: got File exists, expected a folder that can be written"
        ),
        work_folder(tmp_path / "run", PURPOSE),
    ):
        pytest.fail("the body ran")
    assert work_path(tmp_path / "run").read_text() == "mine"


def test_a_folder_that_many_runs_share_keeps_what_is_in_it(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (scratch / "mine.txt").write_text("mine")
    with (
        work_folder(tmp_path / "a" / "run", PURPOSE, scratch) as one,
        work_folder(tmp_path / "b" / "run", PURPOSE, scratch) as other,
    ):
        assert one != other
        assert one.parent == other.parent == scratch
    assert [path.name for path in scratch.iterdir()] == ["mine.txt"]


def test_two_runs_at_once_are_refused(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from shortcut_miner.work_folders import work_folder\n"
        "with work_folder(Path(sys.argv[1]), {}): pass"
    )
    locks = Path("/proc/locks")
    who = rf" \(process {os.getpid()}\)" if locks.exists() else ""
    told = rf"another run{who} is at work"
    with work_folder(tmp_path / "run", PURPOSE) as folder:
        (folder / "shard-0.npz").write_text("done")
        with pytest.raises(ConfigError, match=told), work_folder(tmp_path / "run", {}):
            pytest.fail("the body ran")
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "run")], capture_output=True, text=True
        )
        assert re.search(told, done.stderr)
        assert (folder / "shard-0.npz").exists()


def test_runs_one_after_the_other_never_share_a_folder(tmp_path: Path) -> None:
    at_work, refused, together = [0], [0], []

    def work() -> None:
        for _ in range(30):
            try:
                with work_folder(tmp_path / "run", PURPOSE):
                    at_work[0] += 1
                    together.append(at_work[0])
                    at_work[0] -= 1
            except ConfigError:
                refused[0] += 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(together) == 1
    assert len(together) + refused[0] == 4 * 30


# ---- parts that are done ----

FACTS = {"b": 1, "a": ["x"]}


@pytest.fixture
def done(tmp_path: Path) -> Path:
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "1").write_bytes(b"one")
    (tmp_path / "names").write_bytes(b"two")
    (tmp_path / "other").write_bytes(b"three")
    finish_part(tmp_path, "part.json", FACTS, ["rows", "names"])
    return tmp_path


def test_a_part_that_is_done_tells_its_facts_in_their_order(done: Path) -> None:
    found = finished_part(done, "part.json")
    assert found is not None
    assert list(found.items()) == list(FACTS.items())
    (done / "other").unlink()
    assert finished_part(done, "part.json") == FACTS
    assert finished_part(done, "another.json") is None


@pytest.mark.parametrize("name", ["rows/1", "names"])
def test_a_part_whose_files_are_gone_or_damaged_is_none(done: Path, name: str) -> None:
    (done / name).write_bytes(b"tw0")
    assert finished_part(done, "part.json") is None
    assert finished_part(done, "part.json", check_files=False) == FACTS
    (done / name).unlink()
    assert finished_part(done, "part.json") is None


def test_a_record_that_is_damaged_is_none(done: Path) -> None:
    whole = (done / "part.json").read_bytes()
    for at in range(len(whole)):
        for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]):
            (done / "part.json").write_bytes(damaged)
            assert finished_part(done, "part.json", check_files=False) is None
