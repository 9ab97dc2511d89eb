"""Where compiled kernels are kept: in a folder that this user can write, and nobody else.

numba takes the first of three folders that can be written: the one that ``NUMBA_CACHE_DIR`` names,
``__pycache__`` beside the sources, the user's cache folder. Where there is none (an install that is
read-only, a home that can't be written), and where the one that it would take is open to other users, who
could put code there, a private folder among the temporary files is named instead, before any kernel is
imported. Kernels of other sources go: numba looks at the file of a kernel alone, but the tuples that it takes
may be gone, or have other fields, since it was compiled.
"""

import contextlib
import os
import stat
import sys
import tempfile
from pathlib import Path

from shortcut_miner.errors import ConfigError

_VARIABLE = "NUMBA_CACHE_DIR"
_STAMP = "kernels.sha256"


def prepare(sources: Path) -> str | None:
    """Choose the folder for the kernels of a folder of sources; return what to tell the user, if anything.

    Raises
    ------
    ConfigError
        No folder can be written, not even a temporary one.
    """
    for folder in cache_folders(sources):
        if _can_be_written(folder):
            if _is_private(folder):
                _forget_stale(folder, sources)
                return None
            why = f"{folder} can be written by other users"
            break
    else:
        why = "neither the program's folder nor the user's cache can be written"
    chosen = _private_folder()
    os.environ[_VARIABLE] = str(chosen)
    if "numba" in sys.modules:
        from numba.core import config

        config.CACHE_DIR = str(chosen)
    own = cache_folders(sources)[0]
    own.mkdir(exist_ok=True)
    _forget_stale(own, sources)
    return f"compiled kernels are kept in {chosen}: {why}. Set {_VARIABLE} to a folder of your own to choose."


def cache_folders(sources: Path) -> list[Path]:
    """Return the folders that numba considers for the kernels of a folder of sources, in its order."""
    import hashlib  # loads OpenSSL, which --help does not need

    # As numba names the folder of one package among others.
    own = f"{sources.name}_{hashlib.sha1(str(sources).encode(), usedforsecurity=False).hexdigest()}"
    chosen, users = os.environ.get(_VARIABLE), _user_cache()
    return [
        *([Path(chosen) / own] if chosen else []),
        sources / "__pycache__",
        *([users / "numba" / own] if users else []),
    ]


def _forget_stale(folder: Path, sources: Path) -> None:
    """Remove the kernels in a cache folder unless they were compiled from these sources."""
    digest, stamp = _digest_of(sources), folder / _STAMP
    with contextlib.suppress(OSError):
        if stamp.is_file() and stamp.read_text(encoding="ascii") == digest:
            return
        for path in (*folder.glob("*.nbi"), *folder.glob("*.nbc")):
            path.unlink(missing_ok=True)
        stamp.write_text(digest, encoding="ascii")


def _digest_of(sources: Path) -> str:
    """Return what tells a folder of kernels, the tuples that they take and their options from others."""
    import hashlib

    found = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("kernel_*.py")):
        found.update(hashlib.sha256(path.read_bytes()).digest())
    for path in (*sorted(sources.glob("*.py")), *sorted(sources.parent.glob("*.py"))):
        text = path.read_bytes()
        if path.parent == sources or b"(NamedTuple)" in text:
            found.update(hashlib.sha256(text).digest())
    return found.hexdigest()


def _user_cache() -> Path | None:
    """Return the user's cache folder; None for a user without a home, as a container's may be."""
    is_mac = sys.platform == "darwin"
    named = "~/Library/Caches" if is_mac else os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        return Path(named).expanduser()
    except RuntimeError:
        return None


def _can_be_written(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _is_private(folder: Path) -> bool:
    """Return whether a folder is this user's or root's, and nobody else can put files there."""
    found = folder.stat()
    by_others = found.st_mode & stat.S_IWOTH
    # A group of the user's own, as many systems give each user, is nobody else.
    by_group = found.st_mode & stat.S_IWGRP and not _is_own_group(found.st_gid)
    return found.st_uid in (os.getuid(), 0) and not by_others and not by_group


def _is_own_group(number: int) -> bool:
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.getuid()), grp.getgrgid(number)
    except KeyError:
        return False
    return user.pw_gid == number and {*group.gr_mem} <= {user.pw_name} and group.gr_name == user.pw_name


def _private_folder() -> Path:
    """Return a folder among the temporary files that only this user can write, the same in the next run."""
    try:
        folder = Path(tempfile.gettempdir()) / f"shortcut-miner-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077:
            return folder
        return Path(tempfile.mkdtemp(prefix="shortcut-miner-"))  # someone else took the name
    except FileExistsError:
        return Path(tempfile.mkdtemp(prefix="shortcut-miner-"))
    except OSError as error:
        raise ConfigError(
            f"{_VARIABLE}: got no folder that can be written for compiled kernels "
            f"({error.strerror or error}), expected one. Set {_VARIABLE} or TMPDIR to a folder of your own."
        ) from error
