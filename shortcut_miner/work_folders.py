"""A folder for what a run keeps on disk while it works, found again by a rerun.

It is told by its ``work.json``, which says what it is for. A folder of the same name without one is somebody
else's: it is neither used nor touched.
"""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from shortcut_miner.drafts import draft_of, drafted
from shortcut_miner.dry_runs import as_if_made, target_of
from shortcut_miner.errors import ConfigError, OutputError, SchemaError, SourceError
from shortcut_miner.journal import locked
from shortcut_miner.version import __version__

WORK_RECORD = "work.json"
_PACKAGE = "shortcut_miner"


def work_path(out: Path, within: Path | None = None) -> Path:
    """Return where the work folder of an output folder is: hidden beside it, or in a folder of the user's.

    >>> work_path(Path("runs/vqa")).as_posix()
    'runs/.vqa.work'
    """
    place = Path(os.path.realpath(out))  # of a link to itself there is none, told by who makes the folder
    if within is None:
        return out.parent / f".{place.name}.work"
    # Many runs may share the folder, with outputs of the same name.
    return within / f"{place.name}-{hashlib.sha256(os.fsencode(place)).hexdigest()[:8]}.work"


@contextlib.contextmanager
def work_folder(out: Path | None, purpose: Mapping[str, Any], within: Path | None = None) -> Iterator[Path]:
    """Give the work folder of an output folder, with what an unfinished run for the same purpose left there.

    It is removed when the work is done, and when the input or an option was wrong. A run that ends otherwise
    (killed, interrupted, out of disk or memory, a failed backend) leaves it for the next.

    Parameters
    ----------
    out : Path or None
        Of the run; of one that writes nothing the folder is new, and always removed (of a dry run, the folder
        that a real run would take is checked).
    purpose : mapping
        All that what is kept depends on, as JSON: digests of inputs, options. What was left for another
        purpose, or by another version, is thrown away.
    within : Path, optional
        A folder to have it in, in place of the output's parent; made if missing.

    Raises
    ------
    ConfigError
        Something else of this name, a folder that can't be written, or another run at work in it.
    """
    if out is None:
        checked = target_of(None)
        with rehearsed_folder(None if checked is None else work_path(checked, within), within) as folder:
            yield folder
        return
    folder = work_path(out, within)
    with kept_folder(folder, purpose):
        try:
            yield folder
        except OutputError:
            raise
        except (SourceError, ConfigError, SchemaError):
            _remove(folder)
            raise
        _remove(folder)


@contextlib.contextmanager
def kept_folder(folder: Path, purpose: Mapping[str, Any]) -> Iterator[Path]:
    """Give a folder of this name that stays, with what earlier runs for the same purpose left there.

    See :func:`work_folder` for what is thrown away, and for errors.
    """
    record = {"package": _PACKAGE, "version": __version__, "purpose": dict(purpose)}
    with _lock(folder):
        with _writing(folder):
            _start_over_unless(folder, json.loads(json.dumps(record)))
        try:
            yield folder
        except OSError as error:
            if error.errno is not None and error.filename is None:  # of a full disk, such as this one's
                error.filename = str(folder)
            raise


@contextlib.contextmanager
def rehearsed_folder(folder: Path | None, within: Path | None = None) -> Iterator[Path]:
    """Give a new folder in place of one, removed afterwards; raise as if that one was given.

    Parameters
    ----------
    folder : Path or None
        Checked, if there is one, and neither made nor changed.
    within : Path, optional
        Where the new one is to be; made if missing.
    """
    if folder is not None:
        _check_name(folder)
        with _writing(folder):
            as_if_made(folder)
        if os.path.lexists(folder):
            with _lock(folder):
                _check_ours(folder)
    with _new_folder(within) as new:
        yield new


@contextlib.contextmanager
def one_run_in(folder: Path) -> Iterator[None]:
    """Keep other runs out of a folder, made if missing; raise ConfigError if one is at work there."""
    with _lock(folder):
        yield


@contextlib.contextmanager
def many_runs_in(folder: Path) -> Iterator[None]:
    """Keep a run that wants a folder for itself out of it; raise ConfigError if one is at work there."""
    with contextlib.ExitStack() as stack:
        if folder.is_dir():  # who reads what is in it says what is missing
            with _writing(folder):
                stack.enter_context(locked(folder, wait=False, shared=True))
        yield


def finish_part(folder: Path, name: str, facts: Mapping[str, Any], files: Iterable[str]) -> None:
    """Write that a part of the work is done, for a rerun to make use of it.

    Parameters
    ----------
    folder : Path
        The work folder.
    name : str
        Of the file that says so.
    facts : mapping
        What is known of the part, as JSON.
    files : iterable of str
        Files that belong to it, and folders of them.
    """
    there = (one for place in files for one in _files_in(folder / place))
    digests = {one.relative_to(folder).as_posix(): _sha256(one) for one in there}
    told = json.dumps({"facts": dict(facts), "files": digests})
    with drafted(folder / name) as draft:
        draft.write_text(f"{hashlib.sha256(told.encode()).hexdigest()}\n{told}\n", encoding="utf-8")


def finished_part(folder: Path, name: str, *, check_files: bool = True) -> dict[str, Any] | None:
    """Return the facts of a part that :func:`finish_part` wrote; None without one.

    A part whose files are gone or damaged since is none, if `check_files`; nor is one that is damaged itself.
    """
    try:
        digest, told, _ = (folder / name).read_text(encoding="utf-8").split("\n")
        if hashlib.sha256(told.encode()).hexdigest() != digest:
            return None
        found: dict[str, Any] = json.loads(told)
        if check_files and any(_sha256(folder / one) != known for one, known in found["files"].items()):
            return None
    except (OSError, ValueError):
        return None
    facts: dict[str, Any] = found["facts"]
    return facts


def _files_in(place: Path) -> list[Path]:
    return sorted(one for one in place.rglob("*") if one.is_file()) if place.is_dir() else [place]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def _new_folder(within: Path | None) -> Iterator[Path]:
    with contextlib.ExitStack() as stack:
        with _writing(within or Path(tempfile.gettempdir())):
            if within is not None:
                within.mkdir(parents=True, exist_ok=True)
            folder = tempfile.TemporaryDirectory(
                prefix="shortcut-miner-", dir=within, ignore_cleanup_errors=True
            )
        yield Path(stack.enter_context(folder))


def _lock(folder: Path) -> contextlib.ExitStack:
    """Return the lock of a work folder, which is made if it is missing; it is held until that is closed."""
    _check_name(folder)
    with _writing(folder):
        while True:
            folder.mkdir(parents=True, exist_ok=True)
            made = folder.stat()
            lock = contextlib.ExitStack()
            lock.enter_context(locked(folder, wait=False))
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(made, folder.stat()):
                    return lock
            lock.close()  # of a folder that another run has just removed


def _check_name(folder: Path) -> None:
    try:
        str(folder).encode()
    except UnicodeEncodeError as error:  # tables can't be written there
        raise ConfigError(
            f"{folder}: got a name that is no UTF-8, expected one that is. Choose another name."
        ) from error


def _start_over_unless(folder: Path, record: Mapping[str, Any]) -> None:
    """Leave what a run with this record left; throw away that of another; refuse what no run left."""
    path = folder / WORK_RECORD
    if _check_ours(folder) == record:
        return
    _empty(folder)
    with drafted(path) as draft:
        draft.write_text(json.dumps(record), encoding="utf-8")


def _check_ours(folder: Path) -> dict[str, Any] | None:
    """Return what a work folder says of itself, None for an empty one; refuse what no run left."""
    path = folder / WORK_RECORD
    found = _record_in(path)
    there = {*folder.iterdir()} - {draft_of(path)}
    if folder.is_symlink() or (there and found is None):
        raise ConfigError(
            f"{folder}: got a folder that shortcut-miner did not make, expected none or its own: what is "
            "in it would be lost. Move it elsewhere, or choose another --work."
        )
    return found


def _empty(folder: Path) -> None:
    """Remove all but work.json, by which the folder is told if this is cut off."""
    for one in folder.iterdir():
        if one.name != WORK_RECORD:
            shutil.rmtree(one) if one.is_dir() and not one.is_symlink() else one.unlink()


def _remove(folder: Path) -> None:
    """Remove a work folder as far as that is possible, work.json last."""
    with contextlib.suppress(OSError):
        _empty(folder)
        (folder / WORK_RECORD).unlink()
        folder.rmdir()


def _record_in(path: Path) -> dict[str, Any] | None:
    """Return what a work folder says of itself; None if it is none of ours."""
    try:
        is_ours = path.is_file() and not path.is_symlink()  # a pipe would never end
        found = json.loads(path.read_bytes()) if is_ours else None
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found.get("package") == _PACKAGE else None


def _holder(folder: Path) -> str:
    """Return who holds a folder's lock, if the system tells: Linux does of processes of this machine."""
    with contextlib.suppress(OSError):
        inode = str(folder.stat().st_ino)
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            _, kind, _, _, process, file, *_ = line.replace(" ->", "").split()
            if kind == "FLOCK" and file.rpartition(":")[2] == inode:
                return f" (process {process})"
    return ""


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Turn what the file system can raise into ConfigErrors that name the folder."""
    try:
        yield
    except BlockingIOError as error:
        raise ConfigError(
            f"{folder}: got a folder in which another run{_holder(folder)} is at work, expected one run at a "
            "time. Wait for it, or choose another folder."
        ) from error
    except OSError as error:
        raise ConfigError(
            f"{folder}: got {error.strerror or error}, expected a folder that can be written. Choose another "
            "one, or fix its permissions."
        ) from error
