"""Saying so when a run must compile the kernels first.

Loading them in a thread beside the reading of files was tried: it saves nothing (both need the interpreter).
"""

import os
from importlib.util import find_spec
from pathlib import Path

from shortcut_miner.cli.console import note
from shortcut_miner.cli.options import Shown

COMPILING = "compiling kernels (first run only, about half a minute)"


def note_compiling(shown: Shown, *names: str) -> None:
    """Say so if the kernels of these files (without names: of all) must be compiled first."""
    if not are_compiled(*names):
        note(shown, COMPILING)


def are_compiled(*names: str) -> bool:
    """Return whether numba's cache has these kernel files, no older than their sources.

    Without names: all files, which is what a build needs.
    """
    folder = kernel_folder()
    caches = [path for cache in _caches(folder) if cache.is_dir() for path in cache.rglob("*.nbi")]
    return all(
        any(path.name.startswith(f"{name}.") and _is_current(path, folder / f"{name}.py") for path in caches)
        for name in names or kernel_names()
    )


def kernel_folder() -> Path:
    """Return the folder of the kernels' sources, without importing them."""
    package = find_spec("shortcut_miner.mining.kernels_numba")
    return Path(next(iter((package and package.submodule_search_locations) or ["kernels_numba"])))


def kernel_names() -> list[str]:
    """Return the names of the files that hold kernels."""
    return [path.stem for path in sorted(kernel_folder().glob("*.py")) if b"@njit" in path.read_bytes()]


def _caches(folder: Path) -> list[Path]:
    """Return where numba keeps compiled code: a chosen folder, beside the source, or in the user's cache."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return [Path(chosen)]
    user = os.environ.get("XDG_CACHE_HOME") or f"{os.environ.get('HOME', '')}/.cache"
    return [folder / "__pycache__", Path(user) / "numba"]


def _is_current(index: Path, source: Path) -> bool:
    try:
        return index.stat().st_mtime >= source.stat().st_mtime
    except OSError:  # another process tidied the cache up just now
        return False
