"""Runs that are interrupted or killed: no half-written file, earlier results kept, a rerun succeeds."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from cli.commands import CHECKOUT, RunCli, contents, options, start_cli, without_notice

from shortcut_miner.claims import CLAIM
from shortcut_miner.cli.kernels import COMPILING
from shortcut_miner.cli.run import run

Files = dict[str, Path | None]
# How far a run has come, told from outside.
Moment = Callable[[subprocess.Popen[str], Path], bool]
CALM = "interrupted: no half-written file is left under a final name. Run the command again.\n"


def staging(out: Path) -> list[Path]:
    return list(out.glob(".shortcut-miner-staging-*")) if out.is_dir() else []


def loaded(library: str, seconds: float = 0.0) -> Moment:
    """Wait until the process has loaded a library (so is past Python's own start), then some time."""
    seen: list[float] = []

    def is_now(process: subprocess.Popen[str], out: Path) -> bool:
        maps = Path(f"/proc/{process.pid}/maps")
        if not seen and maps.exists() and library in maps.read_text(errors="replace"):
            seen.append(time.monotonic())
        return bool(seen) and time.monotonic() - seen[0] >= seconds

    return is_now


def staged(name: str) -> Moment:
    """Wait until the run has begun to write a file in its hidden folder."""
    return lambda process, out: any((folder / name).exists() for folder in staging(out))


def signalled(moment: Moment, number: int, out: Path, *tokens: object) -> tuple[int, str]:
    """Start a build, send it a signal at a moment, and return its exit code and stderr."""
    with start_cli("vqa-ce", "build", *tokens, "--out", out) as process:
        while process.poll() is None and not moment(process, out):
            time.sleep(0.001)
        if process.poll() is None:
            process.send_signal(number)
        _, err = process.communicate(timeout=120)
    return process.returncode, without_notice(err)


def check_complete_files(out: Path, *builds: Path) -> None:
    """Every file under a final name is one of the complete builds' files; a killed run's claim may stay."""
    there = [path for path in out.iterdir() if path.is_file()] if out.is_dir() else []
    final = {path.name: path.read_bytes() for path in there if path.name != CLAIM}
    for name, content in final.items():
        if name != "run.json":
            assert content in [(build / name).read_bytes() for build in builds], name
        else:
            json.loads(content)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory, world_files: Files) -> Path:
    """Return the folder of a build with other options: all its files differ from the usual build's."""
    out = tmp_path_factory.mktemp("other") / "out"
    tokens = [*options(world_files), "--min-confidence", "0.6", "--out", str(out), "--quiet"]
    assert run(["vqa-ce", "build", *tokens]) == 0
    return out


MOMENTS: dict[str, Callable[[], Moment]] = {
    "importing Polars": lambda: loaded("_polars_runtime"),
    "importing numba": lambda: loaded("llvmlite"),
    "reading": lambda: loaded("llvmlite", 0.3),
    "mining": lambda: loaded("llvmlite", 0.5),
    "matching": lambda: loaded("llvmlite", 0.7),
    "writing the first table": lambda: staged("rules.parquet"),
    "writing the last table": lambda: staged("questions.parquet"),
    "writing the manifest": lambda: staged("manifest.json"),
    "writing the run record": lambda: staged("run.json"),
}


pytestmark = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs Linux' /proc")
STOPS = [(moment, number) for moment in MOMENTS for number in (signal.SIGINT, signal.SIGKILL)]
STOPS.append(("writing the last table", signal.SIGTERM))


@pytest.mark.sample(3)
@pytest.mark.parametrize(("moment", "number"), STOPS, ids=lambda value: getattr(value, "name", value))
def test_a_run_that_is_stopped(
    moment: str,
    number: signal.Signals,
    run_cli: RunCli,
    world_files: Files,
    built: Path,
    other: Path,
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    shutil.copytree(built, out)
    tokens = (*options(world_files), "--min-confidence", 0.6, "--force", "--quiet")
    code, err = signalled(MOMENTS[moment](), number, out, *tokens)
    if number == signal.SIGINT:
        assert (code, err) in [(130, CALM), (0, "")]
    else:
        assert code in (-number, 0)
        assert err == ""
    check_complete_files(out, built, other)
    if code == 0:
        assert contents(out, without=("run.json",)) == contents(other, without=("run.json",))
    again = run_cli("vqa-ce", "build", *tokens, "--out", out)
    assert (again.code, again.err) == (0, "")
    assert contents(out, without=("run.json",)) == contents(other, without=("run.json",))
    assert not staging(out)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda one: one.name)
def test_a_first_run_that_is_stopped_leaves_nothing_under_a_final_name(
    number: signal.Signals, run_cli: RunCli, world_files: Files, built: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    code, _ = signalled(staged("split.parquet"), number, out, *options(world_files), "--quiet")
    assert code in (130, -signal.SIGKILL, 0)
    check_complete_files(out, built)
    assert run_cli("vqa-ce", "build", *options(world_files), "--quiet", "--out", out).code == 0
    assert contents(out, without=("run.json",)) == contents(built, without=("run.json",))


def test_a_mixture_of_two_builds_is_told_by_its_readers(
    run_cli: RunCli, built: Path, other: Path, tmp_path: Path
) -> None:
    """A kill between two renames leaves files of two builds: whoever reads the folder must say so."""
    out = tmp_path / "out"
    out.mkdir()
    for name, content in contents(built).items():
        (out / name).write_bytes(content)
    (out / "rules.parquet").write_bytes((other / "rules.parquet").read_bytes())
    question_id = pl.read_parquet(built / "split.parquet")["question_id"][0]
    ran = run_cli("explain", out, question_id)
    assert (ran.code, ran.out) == (2, "")
    assert "run it again" in ran.err


def test_pressing_twice_ends_the_process_at_once(world_files: Files, built: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with start_cli("vqa-ce", "build", *options(world_files), "--quiet", "--out", out) as process:
        moment = loaded("llvmlite", 0.1)
        while not moment(process, out):
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert set(without_notice(err).splitlines()) == {CALM.strip()}
    check_complete_files(out)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seconds", [0.5, 3.0])
def test_nothing_follows_the_message_while_kernels_compile(
    seconds: float, tmp_path: Path, built: Path, world_files: Files
) -> None:
    tokens = ("vqa-ce", "build", *options(world_files), "--dry-run")
    with start_cli(*tokens, NUMBA_CACHE_DIR=str(tmp_path / "cache")) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == f"{COMPILING}\n"
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (130, CALM)


def test_what_fails_while_it_is_thrown_away_is_not_told() -> None:
    code = """
import os, signal
from shortcut_miner.cli import interrupt
interrupt.install()
class Compiler:
    def __del__(self):
        raise RuntimeError("half of a module")
def work():
    compiler = Compiler()
    os.kill(os.getpid(), signal.SIGINT)
try:
    work()
except KeyboardInterrupt:
    interrupt.say_interrupted()
"""
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", CALM)


def test_the_second_press_does_not_wait_for_tidying_up() -> None:
    code = """
import os, signal
from shortcut_miner.cli import interrupt
interrupt.install()
try:
    os.kill(os.getpid(), signal.SIGINT)
finally:
    print("tidying up", flush=True)
    os.kill(os.getpid(), signal.SIGINT)
    print("tidied up", flush=True)
"""
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "tidying up\n", CALM)
