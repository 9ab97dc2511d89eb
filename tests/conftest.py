"""Fixtures that tests of several folders share, and how the whole suite is run."""

import hashlib
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from sampling import left_out

PACKAGE = Path(__file__).resolve().parents[1] / "shortcut_miner"
CACHE = PACKAGE / "__pycache__"
# Each process builds a demo world of its own and takes a gigabyte.
MOST_PROCESSES = 4

if find_spec("hypothesis"):  # tests/gpu runs where there is none
    from hypothesis import HealthCheck, settings

    # How fast a machine is decides nothing: neither deadlines nor a health check on seconds. Drawn inputs are
    # few, and the same in every run, so that a commit has one verdict; .ci/slow draws others, and many:
    # --hypothesis-profile=searching.
    HARMLESS = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]  # a folder may be written again
    ANY_MACHINE = settings(deadline=None, suppress_health_check=HARMLESS)
    settings.register_profile("searching", ANY_MACHINE, max_examples=300)
    settings.register_profile("any machine", ANY_MACHINE, max_examples=20, derandomize=True)
    settings.load_profile("any machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--everything", action="store_true", help="run slow tests too, and all cases of samples")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Share the suite, when all of it runs, between as many processes as there are processors.

    ``-n 0`` or ``-p no:xdist`` keep it in one; paths on the command line and ``--pdb`` do too.
    """
    if is_worker(config) or not is_whole(config) or not config.pluginmanager.has_plugin("xdist"):
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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave ``slow`` tests out of the suite, and all but a ``sample`` of the cases of what is marked so.

    What is named on the command line runs whole, and with ``--everything`` all does.
    """
    out = {*left_out(items)} if is_whole(config) and not config.option.everything else set()
    items[:] = [item for item in items if item not in out]
    config.hook.pytest_deselected(items=[*out])
    if is_worker(config):
        config.workeroutput["left out"] = len(out)  # type: ignore[attr-defined]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Count what is left out: xdist doesn't tell what its processes, which are all alike, deselect."""
    count = getattr(node, "workeroutput", {}).get("left out", 0)
    reporter = node.config.pluginmanager.get_plugin("terminalreporter")
    if count and reporter:
        reporter.stats["deselected"] = [node] * count


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument: gzip and zip write the time, and all processes must name tests alike."""
    return argname if isinstance(val, bytes) else None


def is_whole(config: pytest.Config) -> bool:
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS


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
def demo_run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return what the demo gave; kernels are compiled then, for processes that don't wait for one another."""
    from shortcut_miner.demo.run import run_demo  # tests/gpu runs without what it needs

    return run_demo(tmp_path_factory.mktemp("demo") / "demo")


@pytest.fixture(scope="session")
def demo(demo_run: Any) -> Path:
    """Return the demo's folder, for all to read and for none to change."""
    folder: Path = demo_run.world.val_questions.parents[1]
    return folder


@pytest.fixture(scope="session")
def real_data() -> Path:
    beside_checkout = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("SHORTCUT_MINER_DATA", beside_checkout))
    if not folder.is_dir():
        pytest.skip("no real data: set SHORTCUT_MINER_DATA")
    return folder
