"""Every function of a kernel is compiled once, and steps no further than needed: the first run waits."""

import json
import os
import subprocess
import sys

import pytest
from cli.commands import CHECKOUT

pytestmark = pytest.mark.slow

# Calls every kernel, with an empty cache; prints of each compiled function how often it was compiled, and how
# often with machine code of its own.
EVERY_KERNEL = """
import json, sys
from pathlib import Path
from numba.core.dispatcher import Dispatcher
from shortcut_miner.demo.warm_up import warm_up
from shortcut_miner.kernel_compilers import Unfinished
warm_up(Path(sys.argv[1]))
modules = [module for name, module in sys.modules.items() if "kernels_numba." in name]
functions = {f for module in modules for f in vars(module).values() if isinstance(f, Dispatcher)}
found = {}
for f in functions:
    libraries = [one.library for one in f.overloads.values()]
    finished = sum(not isinstance(library, Unfinished) for library in libraries)
    is_kernel = not f.targetoptions.get("no_cpython_wrapper")
    name = f"{f.py_func.__module__}.{f.py_func.__name__}"
    found[name.removeprefix("shortcut_miner.")] = (is_kernel, len(libraries), finished)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bool, int, int]]:
    """Return, of each function, whether Python calls it, and how often it was compiled and finished."""
    folder, cache = (tmp_path_factory.mktemp(name) for name in ("work", "cache"))
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT), "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", EVERY_KERNEL, str(folder)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return {name: tuple(found) for name, found in json.loads(done.stdout.splitlines()[-1]).items()}


def test_each_function_is_compiled_for_one_signature(compiled: dict[str, tuple[bool, int, int]]) -> None:
    assert {name: times for name, (_, times, _) in compiled.items() if times != 1} == {}
    rooms = {name.rpartition(".kernels_numba.")[0].rpartition(".")[2] for name in compiled}
    assert rooms >= {"mining", "fpvg", "slices", "swapmix"}


def test_only_kernels_get_machine_code(compiled: dict[str, tuple[bool, int, int]]) -> None:
    assert {
        name for name, (is_kernel, _, finished) in compiled.items() if finished and not is_kernel
    } == set()
    assert {
        name for name, (is_kernel, _, finished) in compiled.items() if is_kernel and not finished
    } == set()
