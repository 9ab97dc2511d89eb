"""One run at a time in an output folder: a lock in it that names the process at work.

The lock is the file system's, so that it ends with its process, however that ends; the file is there to say
whose it is. Runs that don't take it (another program that calls this library) see it before they start.
"""

import contextlib
import fcntl
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

from shortcut_miner.dry_runs import nearest_above
from shortcut_miner.errors import ConfigError
from shortcut_miner.journal import where_supported

CLAIM = ".shortcut-miner-run.json"
_LONGEST = 1000  # bytes of a claim


@contextlib.contextmanager
def claimed(out: Path | None) -> Iterator[None]:
    """Keep other processes from starting a run into a folder, which is made if it is missing.

    What was made goes again if nothing was written into it.

    Parameters
    ----------
    out : Path or None
        The folder; nothing is done without one.

    Raises
    ------
    ConfigError
        Another process is at work in it, or it can't be written.
    """
    if out is None:
        yield
        return
    check_unclaimed(out)
    made = _missing(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
        handle = _take(out)
    except OSError as error:
        _remove_empty(made)
        raise ConfigError(
            f"--out {out}: got {error.strerror or error}, expected a folder that can be written. "
            "Choose another folder or fix its permissions."
        ) from error
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # such as a disk that can't be written any more
            (out / CLAIM).unlink()
        os.close(handle)
        _remove_empty(made)


def check_place(out: Path) -> None:
    """Raise ConfigError now, not after minutes of work, if `out` is no folder that can be written."""
    nearest = nearest_above(out)
    if not nearest.is_dir():
        kind, rest = ("file", "") if nearest.exists() else ("link", " that leads nowhere")
        what = f"a {kind}" if nearest == out else f"a path below the {kind} {nearest}"
        raise ConfigError(f"--out {out}: got {what}{rest}, expected a folder. Choose another name.")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise ConfigError(
            f"--out {out}: got a folder that can't be written, expected one that can. "
            "Choose another folder or fix its permissions."
        )


def check_unclaimed(out: Path) -> None:
    """Raise ConfigError if another process is at work in a folder, or a claim there is somebody's file."""
    try:
        handle = os.open(out / CLAIM, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _no_claim(out) from error
    try:
        if not _is_claim(handle):
            raise _no_claim(out)
        if _owner(handle) != _here():
            with where_supported():
                fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise _at_work(out, handle) from error
    finally:
        os.close(handle)


def _take(out: Path) -> int:
    """Return a handle on the claim, locked, that says who took it."""
    path = out / CLAIM
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
        try:
            with where_supported():
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.path.samestat(os.fstat(handle), path.stat()):
                os.ftruncate(handle, 0)
                os.write(handle, json.dumps(_here()).encode())
                return handle
        except BlockingIOError as error:
            told = _at_work(out, handle)
            os.close(handle)
            raise told from error
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # of a claim that its owner has just given up


def _here() -> dict[str, str | int]:
    return {"host": os.uname().nodename, "pid": os.getpid()}


def _owner(handle: int) -> object:
    try:
        return json.loads(os.pread(handle, _LONGEST, 0))
    except (OSError, ValueError, RecursionError):
        return None


def _is_claim(handle: int) -> bool:
    """Return whether a file is a claim, or one that a power cut left without a word."""
    is_file = stat.S_ISREG(os.fstat(handle).st_mode)
    return is_file and (_names_owner(_owner(handle)) or not os.pread(handle, _LONGEST, 0).strip(b"\0"))


def _names_owner(owner: object) -> TypeGuard[dict[str, object]]:
    return isinstance(owner, dict) and _here().keys() <= owner.keys()


def _no_claim(out: Path) -> ConfigError:
    return ConfigError(
        f"--out {out}: got a folder with a {CLAIM} that shortcut-miner did not write, expected none or its "
        "own. Move it elsewhere, or choose another --out."
    )


def _at_work(out: Path, handle: int) -> ConfigError:
    owner = _owner(handle)
    who = f"process {owner['pid']} on {owner['host']}" if _names_owner(owner) else "another run"
    return ConfigError(
        f"--out {out}: got a folder in which {who} is at work, expected one run at a time. Wait for it, or "
        "choose another --out."
    )


def _missing(out: Path) -> list[Path]:
    """Return the folders that have to be made, the deepest first."""
    return [path for path in (out, *out.parents) if not path.exists()]


def _remove_empty(folders: list[Path]) -> None:
    with contextlib.suppress(OSError):  # not empty, or never made
        for folder in folders:
            folder.rmdir()
