"""Whatever fails while demo and report write: each folder and file is whole, and a rerun completes them."""

import os
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from cli.commands import RunCli, contents, start_cli
from cli.test_cli_faults import check_refused, limited, small_disk, spawned

from shortcut_miner.storage import MANIFEST, RUN_RECORD

QUICK = ("--threads", 1, "--quiet")


def check_rerun(run_cli: RunCli, demo: Path, out: Path) -> None:
    """Check that what is there is whole, and that the demo completes it."""
    for folder in (path for path in out.iterdir() if (path / MANIFEST).is_file()):
        assert run_cli("verify", folder).code == 0, folder
    ran = run_cli("demo", "--out", out, *QUICK)
    assert ran.code == 0, ran.err
    assert contents(out, without=(RUN_RECORD,)) == contents(demo, without=(RUN_RECORD,))


@pytest.mark.slow
def test_a_quota(demo: Path, run_cli: RunCli, tmp_path: Path) -> None:
    """The longest file, the report, is the last: all else is there."""
    out = tmp_path / "out"
    longest = max(path.stat().st_size for path in demo.rglob("*") if path.is_file())
    for most in (1_000, longest - 1):
        with limited(resource.RLIMIT_FSIZE, most):
            check_refused(run_cli("demo", "--out", out, *QUICK), str(out))
    check_rerun(run_cli, demo, out)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.3, 0.95])
def test_a_full_disk(share: float, demo: Path, run_cli: RunCli, tmp_path: Path) -> None:
    """Room for a share of the demo only: the world, some folders, or all but the report."""
    with small_disk(tmp_path / "disk", 40_000_000) as disk:
        out = disk / "out"
        pages = sum(-(-path.stat().st_size // 4096) for path in demo.rglob("*"))
        free = os.statvfs(disk).f_bavail - int(share * pages)
        (disk / "filler").write_bytes(bytes(4096 * free))
        check_refused(run_cli("demo", "--out", out, *QUICK), "No space left on device")
        (disk / "filler").unlink()
        out.mkdir(exist_ok=True)
        check_rerun(run_cli, demo, out)


@pytest.mark.slow
def test_a_disk_that_is_read_only(demo: Path, run_cli: RunCli, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 40_000_000) as disk:
        out, page = disk / "out", disk / "report.html"
        shutil.copytree(demo, out)
        shutil.copy(demo / "report.html", page)
        before = contents(disk)
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        refused = "that can't be written"
        check_refused(run_cli("demo", "--out", out, "--seed", 7, "--force", *QUICK), refused)
        check_refused(run_cli("report", demo / "rad", "--out", page, "--quiet"), refused)
        assert contents(disk) == before
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        check_rerun(run_cli, demo, out)


@pytest.mark.parametrize("command", ["demo", "report"])
def test_a_place_of_somebody_else(command: str, demo: Path, tmp_path: Path) -> None:
    place = tmp_path / "theirs"
    place.mkdir(mode=0o555)
    words = [*QUICK] if command == "demo" else [demo / "rad", "--quiet"]
    limits = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    ran = spawned(limits, command, *words, out=place / ("out" if command == "demo" else "report.html"))
    check_refused(ran, "that can't be written")
    assert not [*place.iterdir()]


@pytest.mark.sample(1)
@pytest.mark.parametrize("place", ["world", "vqa-ce-scores", "swapmix"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda one: one.name)
def test_a_demo_that_is_killed_while_it_writes(
    place: str, number: signal.Signals, demo: Path, run_cli: RunCli, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with start_cli("demo", "--out", out, *QUICK) as process:
        while process.poll() is None and not any((out / place).glob(".shortcut-miner-staging-*/*")):
            time.sleep(0.001)
        process.send_signal(number)
        process.communicate()
    assert process.returncode in (-number, 0)
    check_rerun(run_cli, demo, out)


def test_a_report_that_fails_leaves_the_earlier_one(demo: Path, run_cli: RunCli, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert run_cli("report", demo / "rad", "--out", page, "--quiet").code == 0
    before = page.read_bytes()
    words = ("report", demo / "vqa-ce", "--out", page, "--quiet")
    with limited(resource.RLIMIT_FSIZE, 10_000):
        check_refused(run_cli(*words), "An earlier report is unchanged")
    assert contents(tmp_path) == {"report.html": before}
    with start_cli(*words) as process:
        while process.poll() is None and len([*tmp_path.iterdir()]) == 1:
            time.sleep(0.0005)
        process.kill()
        process.communicate()
    assert process.returncode in (-signal.SIGKILL, 0)
    killed = page.read_bytes()
    assert run_cli(*words).code == 0
    assert killed in (before, page.read_bytes())
