"""Saying once that kernels compile."""

import gc
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cli.commands import CHECKOUT, Ran, RunCli, contents, options, spawn_cli

from shortcut_miner import kernel_cache
from shortcut_miner.cli import kernels
from shortcut_miner.cli.loading import loading
from shortcut_miner.cli.mine import KERNELS, KERNELS_OF_A_SHARD
from shortcut_miner.cli.options import Shown
from shortcut_miner.cli.shards import KERNELS_TO_MERGE, KERNELS_TO_SHARD
from shortcut_miner.mining.backends import choose_backend

Files = dict[str, Path | None]


def empty_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for compiled kernels in this folder alone."""
    everywhere = kernel_cache.cache_folders
    monkeypatch.setattr(kernel_cache, "cache_folders", lambda sources: everywhere(sources)[:1])


def test_an_empty_cache_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    empty_home(tmp_path, monkeypatch)
    assert {"match", "mine"} <= set(kernels.kernel_names())
    everything = kernels.kernels_to_compile()
    assert everything == sum(kernels.kernels_to_compile(name) for name in kernels.kernel_names()) == 15
    assert kernels.kernels_to_compile("mine") == 1
    folder = Path(kernel_cache.cache_folders(kernels._folder(kernels._ALL))[0])
    folder.mkdir()
    (folder / "mine.mine_first_items-23.py311.nbi").touch()
    assert kernels.kernels_to_compile("mine") == 0
    assert kernels.kernels_to_compile() == everything - 1


def test_a_cache_older_than_its_source_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    empty_home(tmp_path, monkeypatch)
    index = (
        kernel_cache.cache_folders(kernels._folder(kernels._ALL))[0] / "mine.mine_first_items-23.py311.nbi"
    )
    index.parent.mkdir()
    index.touch()
    past = time.time() - 10 * 365 * 86400
    os.utime(index, (past, past))
    assert kernels.kernels_to_compile("mine") == 1


# Runs a command, then prints the kernel files that it needed: of what it loaded or compiled, and of what that
# calls.
FILES_NEEDED = """
import json, sys
from numba.extending import is_jitted
from shortcut_miner.cli.run import run
KERNELS = ("shortcut_miner.mining.kernels_numba.", "shortcut_miner.kernels_numba.")
code = run(sys.argv[1:])
modules = [module for name, module in sys.modules.items() if name.startswith(KERNELS)]
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


def test_garbage_is_looked_for_again_after_loading() -> None:
    with pytest.raises(ImportError), loading():
        assert not gc.isenabled()
        raise ImportError
    assert gc.isenabled()


def test_a_build_needs_every_file_whose_cache_it_looks_for(built: Path, world_files: Files) -> None:
    needed = python(FILES_NEEDED, "vqa-ce", "build", *options(world_files), "--dry-run")
    assert json.loads(needed) == kernels.kernel_names()


@pytest.mark.slow
def test_mining_needs_the_files_that_it_names(tmp_path: Path) -> None:
    table, work = tmp_path / "t.csv", str(tmp_path / "work")
    table.write_text("w,answer\n" + "a b c,x\n" * 9)
    search = (str(table), "--words", "w", "--superset-filter", "all")
    for tokens, names in (
        (("mine", *search), KERNELS),
        (("mine", *search, "--shards", "2"), (*KERNELS, kernels.IN_SHARDS)),
        (("shard", *search, "--shards", "1", "--work", work), KERNELS_TO_SHARD),
        (("mine", "--work", work, "--shard", "0"), KERNELS_OF_A_SHARD),
        (("merge", work), KERNELS_TO_MERGE),
    ):
        assert json.loads(python(FILES_NEEDED, *tokens, "--quiet")) == [*names], tokens


def test_slices_need_a_file_of_mining(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("w,o\n" + "a,1\nb,0\n" * 40)
    tokens = ("slices", "build", "--table", str(table), "--item-columns", "w", "--outcome-column", "o")
    needed = json.loads(python(FILES_NEEDED, *tokens, "--dry-run", "--quiet"))
    assert needed == [kernels.DELIVERY, kernels.ROW_DIGESTS]


@dataclass(frozen=True, eq=False)
class Dispatcher:
    py_func: SimpleNamespace
    targetoptions: dict[str, bool]


def test_progress_counts_kernels_and_says_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 0.0, 10.0, 10.0, 20.0, 30.0, 30.0, 30.0, 30.0, 31.0, 31.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(kernels, "kernels_to_compile", lambda *names: 3)
    shown: list[str] = []
    one = kernels.Compiling(Shown(), shown.append, ["mine"])

    def ended(
        name: str, module: str = "shortcut_miner.mining.kernels_numba.mine", *, is_step: bool = False
    ) -> Any:
        function = SimpleNamespace(__module__=module, __name__=name)
        return SimpleNamespace(data={"dispatcher": Dispatcher(function, {"no_cpython_wrapper": is_step})})

    one.on_stage("mine")
    one.on_start(None)  # at 0 s
    one.on_start(None)  # one that it calls, at 10 s
    one.on_end(ended("inner"))  # at 10 s
    one.on_end(ended("outer"))  # at 20 s
    one.on_start(None)  # at 30 s
    one.on_start(None)  # a part of numba's own, at 31 s, which is none of the three
    one.on_end(ended("concat_impl", "numba.cpython.unicode"))
    one.on_end(ended("last"))
    assert shown == [
        "mine",
        "mine: compiling kernel 1 of 3",
        "mine: compiling kernel 1 of 3",
        "mine: compiling kernel 2 of 3, about 20 s left",
        "mine",
        "mine: compiling kernel 3 of 3, about 10 s left",
        "mine: compiling kernel 3 of 3, about 10 s left",
        "mine: compiling kernel 3 of 3, about 10 s left",
        "mine",
    ]
    assert one.seconds == 21.0
    one._open = 2
    one.on_end(ended("step", is_step=True))  # its callers hold its code: none of the three either
    assert len(one._done) == 3


def test_another_cache_is_noted_once(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "t.csv"
    table.write_text("w,answer\n" + "a b c,x\n" * 9)
    monkeypatch.setattr(kernel_cache, "prepare", lambda sources: "compiled kernels are kept in /x: why.")
    ran = run_cli("mine", table, "--words", "w")
    assert ran.code == 0
    assert ran.err.count("note: compiled kernels are kept in /x: why.\n") == 1


def test_a_missing_file_is_told_before_any_talk_of_compiling(tmp_path: Path) -> None:
    ran = spawn_cli("mine", tmp_path / "no.csv", "--words", "w", NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert (ran.code, ran.compiled) == (2, False)
    assert ran.err.startswith(f"error: {tmp_path / 'no.csv'}: got no such file")


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
    assert first.err == second.err == f"{choose_backend()}\n"
    assert {name.split(".")[0] for name in compiled.keys() - copied.keys()} == {"significance"}
    assert contents(cache) == compiled == copied | compiled


# Runs a command, then prints whether what numba compiles with was loaded.
CAN_COMPILE = """
import sys
from shortcut_miner.cli.run import run
code = run(sys.argv[1:])
print("numba.typed.typeddict" in sys.modules)
sys.exit(code)
"""


@pytest.mark.slow
def test_compiled_kernels_are_taken_without_what_compiles_them(tmp_path: Path) -> None:
    table, folder = tmp_path / "t.csv", str(tmp_path / "cache")
    table.write_text("w,answer\n" + "a b c,x\n" * 9)
    mine = ("mine", str(table), "--words", "w", "--show", "1")
    assert python(CAN_COMPILE, *mine, NUMBA_CACHE_DIR=folder) == "True"
    assert python(CAN_COMPILE, *mine, NUMBA_CACHE_DIR=folder) == "False"
    # What was not expected to be compiled is compiled all the same.
    for found in (tmp_path / "cache").rglob("*.nbc"):
        found.unlink()
    assert python(CAN_COMPILE, *mine, NUMBA_CACHE_DIR=folder) == "True"
