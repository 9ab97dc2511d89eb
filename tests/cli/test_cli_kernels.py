"""Saying once that kernels compile."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli.commands import CHECKOUT, Ran, contents, options, spawn_cli

from shortcut_miner.cli import kernels

Files = dict[str, Path | None]


def test_an_empty_cache_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert {"match", "mine"} <= set(kernels.kernel_names())
    assert not kernels.are_compiled()
    assert not kernels.are_compiled("mine")
    folder = tmp_path / "kernels_numba_12ab"
    folder.mkdir()
    for name in kernels.kernel_names():
        assert not kernels.are_compiled()
        (folder / f"{name}.first-1.py311.nbi").touch()
        assert kernels.are_compiled(name)
    assert kernels.are_compiled()


def test_a_cache_older_than_its_source_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    for name in kernels.kernel_names():
        index = tmp_path / f"{name}.first-1.py311.nbi"
        index.touch()
        past = time.time() - 10 * 365 * 86400
        os.utime(index, (past, past))
        assert not kernels.are_compiled(name)


# Runs a command, then prints the kernel files that it needed: of what it loaded or compiled, and of what that
# calls.
FILES_NEEDED = """
import json, sys
from numba.extending import is_jitted
from shortcut_miner.cli.run import run
code = run(sys.argv[1:])
modules = [module for name, module in sys.modules.items() if ".mining.kernels_numba." in name]
waiting = [one for module in modules for one in vars(module).values() if is_jitted(one) and one.signatures]
needed = set()
while waiting:
    function = waiting.pop().py_func
    needed.add(function)
    named = [function.__globals__.get(name) for name in function.__code__.co_names]
    waiting += [one for one in named if is_jitted(one) and one.py_func not in needed]
print(json.dumps(sorted({function.__module__.rpartition(".")[2] for function in needed})))
sys.exit(code)
"""


def python(code: str, *arguments: str, **env: str) -> str:
    """Run a program in a process of its own and return the last line that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), **env},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1]


def test_a_build_needs_every_file_whose_cache_it_looks_for(built: Path, world_files: Files) -> None:
    assert kernels.are_compiled()
    needed = python(FILES_NEEDED, "vqa-ce", "build", *options(world_files), "--dry-run")
    assert json.loads(needed) == kernels.kernel_names()


def test_compiling_is_said_once(tmp_path: Path, built: Path, world_files: Files) -> None:
    from shortcut_miner.mining.kernels_numba.significance import fisher_log10

    chosen = {"NUMBA_CACHE_DIR": str(tmp_path)}
    where = f"from {fisher_log10.__module__} import fisher_log10; print(fisher_log10.stats.cache_path)"
    cache = Path(python(where, **chosen))
    for path in Path(fisher_log10.stats.cache_path).glob("*.nb[ic]"):
        if path.name.split(".")[0] != "significance":
            shutil.copy2(path, cache)
    copied = contents(cache)

    def build() -> Ran:
        return spawn_cli("vqa-ce", "build", *options(world_files), "--dry-run", **chosen)

    first = build()
    compiled = contents(cache)
    second = build()
    assert (first.code, second.code) == (0, 0)
    assert (first.compiled, second.compiled) == (True, False)
    assert (first.err, second.err) == ("", "")
    assert {name.split(".")[0] for name in compiled.keys() - copied.keys()} == {"significance"}
    assert contents(cache) == compiled == copied | compiled
