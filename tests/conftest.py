"""Fixtures that tests of several folders share, and how the whole suite is run."""

import hashlib
import os
from importlib.util import find_spec
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "shortcut_miner"
CACHE = PACKAGE / "__pycache__"
# Each process builds a demo world of its own and takes a gigabyte.
MOST_PROCESSES = 4

if find_spec("hypothesis"):  # tests/gpu runs where there is none
    from hypothesis import HealthCheck, settings

    # How fast a machine is decides nothing: neither deadlines nor a health check on seconds. Drawn inputs are
    # the same in every run, so that a commit has one verdict; .ci/slow draws others:
    # --hypothesis-profile=searching.
    ANY_MACHINE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("searching", ANY_MACHINE)
    settings.register_profile("any machine", ANY_MACHINE, derandomize=True)
    settings.load_profile("any machine")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Share the suite, when all of it runs, between as many processes as there are processors.

    ``-n 0`` or ``-p no:xdist`` keep it in one; paths on the command line and ``--pdb`` do too.
    """
    is_whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if is_worker(config) or not is_whole or not config.pluginmanager.has_plugin("xdist"):
        return
    if config.option.numprocesses is None and config.option.dist == "no" and not config.option.usepdb:
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        config.option.numprocesses = min(processors, MOST_PROCESSES)
        config.option.dist = "worksteal"


def pytest_configure(config: pytest.Config) -> None:
    """Forget compiled kernels of other sources, before any process loads them; let one at a time compile."""
    CACHE.mkdir(exist_ok=True)
    if is_worker(config):
        from compiling import compile_one_process_at_a_time

        compile_one_process_at_a_time(CACHE / "kernels.lock")
    else:
        forget_stale_kernels()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument: gzip and zip write the time, and all processes must name tests alike."""
    return argname if isinstance(val, bytes) else None


def is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def forget_stale_kernels() -> None:
    """Delete all compiled kernels if any source of theirs is another: numba looks at one file at a time."""
    folders = sorted(path for path in PACKAGE.rglob("kernels_*") if path.is_dir())
    digest = hashlib.sha256()
    sources = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    # Compiled code knows the fields of these named tuples by place.
    sources.append(PACKAGE / "mining" / "arrays.py")
    for path in sources:
        digest.update(f"{path.relative_to(PACKAGE)}\n".encode() + path.read_bytes())
    stamp = CACHE / "kernel-sources.sha256"
    if not (stamp.is_file() and stamp.read_text() == digest.hexdigest()):
        for compiled in (path for folder in folders for path in folder.rglob("*.nb[ic]")):
            compiled.unlink(missing_ok=True)
        stamp.write_text(digest.hexdigest())


@pytest.fixture(scope="session")
def real_data() -> Path:
    beside_checkout = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("SHORTCUT_MINER_DATA", beside_checkout))
    if not folder.is_dir():
        pytest.skip("no real data: set SHORTCUT_MINER_DATA")
    return folder
