"""Loading the compiled kernels while files are read, and saying so when they must be compiled first."""

import contextlib
import functools
import os
import threading
from importlib.util import find_spec
from pathlib import Path

from shortcut_miner.cli.console import note
from shortcut_miner.cli.options import Shown

KERNELS = ("mine", "filter", "match")  # the files of kernels_numba/ behind every build
COMPILING = "compiling kernels (first run only, about 20 s)"


def note_compiling(shown: Shown) -> None:
    """Say so if the kernels must be compiled first."""
    if not are_compiled():
        note(shown, COMPILING)


def are_compiled() -> bool:
    """Return whether numba's cache has every kernel file that a build needs, no older than its source."""
    package = find_spec("shortcut_miner.mining.kernels_numba")
    if package is None or not package.submodule_search_locations:
        return False
    folder = Path(package.submodule_search_locations[0])
    caches = [path for cache in _caches(folder) if cache.is_dir() for path in cache.rglob("*.nbi")]
    return all(
        any(path.name.startswith(f"{name}.") and _is_current(path, folder / f"{name}.py") for path in caches)
        for name in KERNELS
    )


def _caches(folder: Path) -> list[Path]:
    """Return where numba keeps compiled code: a chosen folder, beside the source, or in the user's cache."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    return [Path(chosen)] if chosen else [folder / "__pycache__", Path.home() / ".cache" / "numba"]


def _is_current(index: Path, source: Path) -> bool:
    return index.stat().st_mtime >= source.stat().st_mtime


@functools.cache
def load_early() -> None:
    """Start loading the kernels in the background, beside the reading of files; once a process."""
    threading.Thread(target=_load, name="load kernels", daemon=True).start()


def _load() -> None:
    """Run the whole method once on a few rows: it loads (or compiles) exactly what a build calls."""
    # Whatever goes wrong here goes wrong again, and is told, where the kernels are needed.
    with contextlib.suppress(Exception):
        import polars as pl

        from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig
        from shortcut_miner.diagnostics.vqa_ce.shortcuts import find_shortcuts

        rows = pl.DataFrame(
            {
                "question_id": ["1", "2", "3"],
                "image_id": ["1", "2", "3"],
                "question": ["a b c", "a b c d", "d"],
                "answer": ["yes", "yes", "no"],
                "answers": [["yes"], ["yes"], ["no"]],
            }
        )
        config = VqaCeConfig(items="words", min_count=1)
        find_shortcuts(rows, rows, None, config, threads=1)
