"""Saying so while kernels are compiled, which the first run must do.

Loading them in a thread beside the reading of files was tried: it saves nothing (both need the interpreter).
"""

import contextlib
import gc
import os
import re
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortcut_miner import kernel_cache
from shortcut_miner.cli.console import note
from shortcut_miner.cli.loading import left_out, loading
from shortcut_miner.cli.options import Shown

if TYPE_CHECKING:
    from shortcut_miner.timing import OnStage

COMPILING = "compiling kernels (first run only; a quarter of a minute on an idle machine)"
_KERNEL = re.compile(rb"^@njit", re.MULTILINE)
_KEPT = re.compile(rb"^@njit\(\*\*KERNEL\)\ndef (\w+)", re.MULTILINE)  # not their steps
_ALL = "shortcut_miner.mining.kernels_numba"
_TABLES = "shortcut_miner.kernels_numba"
ROW_DIGESTS = "row_digests"  # what reading anybody's table needs
JSON_RECORDS, ALIKE_RECORDS = "json_records", "alike_records"  # what reading large files of GQA, VQA needs
IN_SHARDS = "suffixes"  # what a search in shards needs beside that of the whole
DELIVERY = "delivery"  # of mining's, what slices and plans of shards need too
FPVG, SWAPMIX, SLICES = "fpvg", "swapmix", "slices"
_OF_ROOMS = {room: f"shortcut_miner.diagnostics.{room}.kernels_numba" for room in (FPVG, SWAPMIX, SLICES)}
EVERYTHING = ("all",)  # stands for every kernel that there is


class Compiling:
    """What is compiled during a command: told when it begins, shown kernel by kernel, and timed.

    Attributes
    ----------
    seconds : float
        How long compiling took.
    """

    def __init__(self, shown: Shown, on_stage: "OnStage | None", names: Sequence[str]) -> None:
        self.seconds = 0.0
        self._shown = shown
        self._on_stage = on_stage
        self._stage = "start"
        self._done: set[Any] = set()
        self._open = 0
        self._began = 0.0
        self._expected = kernels_to_compile(*names)
        self._is_told = False

    def on_stage(self, stage: str) -> None:
        """Show a stage of the command."""
        self._stage = stage
        if self._on_stage is not None:
            self._on_stage(stage)

    def on_start(self, _: Any) -> None:
        """Hear from numba that it begins to compile a kernel: one, or one that another needs."""
        if not self._is_told and self._on_stage is None:  # else it is shown as it goes on
            note(self._shown, COMPILING)
        self._is_told = True
        if not self._open:
            self._began = time.perf_counter()
            gc.disable()  # compiling makes much that is looked through again and again, and little garbage
            if not self._done:
                _load_what_compiles()
        self._open += 1
        self._show()

    def on_end(self, event: Any) -> None:
        """Hear from numba that a kernel is compiled."""
        self._open -= 1
        kernel = event.data["dispatcher"]
        # numba compiles parts of its own too.
        is_ours = kernel.py_func.__module__.startswith("shortcut_miner.")
        if is_ours and not kernel.targetoptions.get("no_cpython_wrapper"):
            self._done.add(kernel)
        if self._open:
            self._show()
        else:
            gc.enable()
            self.seconds += time.perf_counter() - self._began
            self.on_stage(self._stage)

    def _show(self) -> None:
        if self._on_stage is None:
            return
        number, taken = len(self._done) + 1, self.seconds + time.perf_counter() - self._began
        of = f" of {self._expected}" if number <= self._expected else ""
        left = taken / len(self._done) * (self._expected - len(self._done)) if self._done and of else 0
        about = f", about {left:.0f} s left" if left >= 1 else ""
        self._on_stage(f"{self._stage}: compiling kernel {number}{of}{about}")


@contextlib.contextmanager
def watched(shown: Shown, on_stage: "OnStage | None", names: Sequence[str] | None) -> Iterator[Compiling]:
    """Tell of kernels that are compiled meanwhile, if the command needs any.

    Parameters
    ----------
    shown, on_stage
        Where to tell it.
    names : sequence of str, optional
        The kernel files that the command needs; all that mining has for an empty sequence.
    """
    if names is None:
        yield Compiling(shown, on_stage, ["none"])
        return
    if told := kernel_cache.prepare(_folder(_ALL)):
        note(shown, f"note: {told}")
    with loading():
        _load_numba()
        from numba.core import event

    class Listener(Compiling, event.Listener):  # type: ignore[misc]
        pass

    listener = Listener(shown, on_stage, names)
    with event.install_listener("numba:compile", listener):
        yield listener


def _load_numba() -> None:
    """Load what of numba takes kernels from its cache; all of it, if that can't be told apart."""
    from shortcut_miner.kernel_options import IS_NUMBA_KNOWN

    if IS_NUMBA_KNOWN:
        from shortcut_miner.kernel_compilers import take_from_cache_at_once

        take_from_cache_at_once()
    else:
        _load_what_compiles()


def _load_what_compiles() -> None:
    """Load all of numba but SciPy's BLAS, which no kernel calls: its modules take longer than Polars."""
    with left_out("scipy.linalg.cython_blas"):
        from numba.core.registry import cpu_target

        cpu_target.target_context.refresh()


def kernels_to_compile(*names: str) -> int:
    """Return how many kernels are not compiled yet: of these files, or of those in :func:`kernel_names`.

    The name of a room that has kernels of its own stands for all of its files, "all" for those of all rooms.
    """
    if names == EVERYTHING:
        names = (*kernel_names(), IN_SHARDS, JSON_RECORDS, ALIKE_RECORDS, ROW_DIGESTS, *_OF_ROOMS)
    mining = names or kernel_names()
    wanted = [path for path in _folder(_ALL).glob("*.py") if path.stem in mining]
    wanted += [path for path in _folder(_TABLES).glob("*.py") if path.stem in names]
    for room in _OF_ROOMS.keys() & {*names}:
        wanted += _folder(_OF_ROOMS[room]).glob("*.py")
    kernels = ((path, name.decode()) for path in wanted for name in _KEPT.findall(path.read_bytes()))
    return sum(_is_missing(path, name) for path, name in kernels)


def kernel_names() -> list[str]:
    """Return the names of mining's files that hold kernels, those that only shards need left out."""
    files = (path for path in sorted(_folder(_ALL).glob("*.py")) if path.stem != IN_SHARDS)
    return [path.stem for path in files if _KERNEL.search(path.read_bytes())]


def kernels_folder() -> Path:
    """Return the folder below which all compiled kernels lie."""
    found = []
    for package in (_ALL, _TABLES, *_OF_ROOMS.values()):
        folders = kernel_cache.cache_folders(_folder(package))
        found.append(next((folder for folder in folders if any(folder.glob("*.nbi"))), folders[0]))
    return Path(os.path.commonpath(found))


def _folder(package: str) -> Path:
    """Return the folder of the kernels' sources, without importing them."""
    parent, _, name = package.rpartition(".")
    found = find_spec(parent)
    return Path(next(iter((found and found.submodule_search_locations) or ["."]))) / name


def _is_missing(source: Path, kernel: str) -> bool:
    """Return whether numba's cache has no code of a kernel that is as new as its source."""
    caches = kernel_cache.cache_folders(source.parent)
    caches = caches[:1] if os.environ.get("NUMBA_CACHE_DIR") else caches
    found = [index for cache in caches for index in cache.glob(f"{source.stem}.{kernel}-*.nbi")]
    return not any(_is_current(index, source) for index in found)


def _is_current(index: Path, source: Path) -> bool:
    try:
        return index.stat().st_mtime >= source.stat().st_mtime
    except OSError:  # another process tidied the cache up just now
        return False
