"""Renaming many files as one step: a journal says what is to be done, and whoever finds it does the rest.

A run stages complete files in a hidden folder, syncs them, and writes the journal: for each name what is
there and what is to be there. From then on the change is decided. It is done file by file, and the journal
goes last; a process that dies in between leaves a journal that the next reader or run of the folder finishes.
"""

import contextlib
import dataclasses
import errno
import fcntl
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from shortcut_miner.errors import SourceError

JOURNAL = ".shortcut-miner-journal.json"
STAGING_PREFIX = ".shortcut-miner-staging-"
_LONGEST_NAME = 255  # bytes
# File systems that can't lock or sync a folder say so like this; all others do.
_NOT_SUPPORTED = (errno.EINVAL, errno.ENOTSUP, errno.ENOLCK, errno.ENOSYS, errno.EBADF)  # the last: NFS


@dataclasses.dataclass(frozen=True, slots=True)
class Digest:
    """What tells one content of a file from another: its size in bytes, and its SHA-256."""

    size: int
    sha256: str


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one name in a folder.

    Attributes
    ----------
    name : str
        Of the file, without a folder.
    before : Digest or None
        What is there; None where nothing is.
    after : Digest or None
        What is to be there, which the staging folder has under this name; None: nothing.
    """

    name: str
    before: Digest | None
    after: Digest | None


def digest_of(path: Path) -> Digest | None:
    """Return the digest of a file; None if there is none, or something else, such as a link."""
    if path.is_symlink() or not path.is_file():
        return None
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
        return Digest(os.fstat(file.fileno()).st_size, found)


def is_plain_name(name: object) -> bool:
    """Return whether something is the name of a visible file, without a folder.

    >>> [is_plain_name(name) for name in ("a.txt", "b/../../a.txt", "b/a.txt", "../a.txt", ".a", "", 7)]
    [True, False, False, False, False, False, False]
    """
    return (
        isinstance(name, str)
        and name.isprintable()  # no NUL, no half of a character
        and 0 < len(name.encode()) <= _LONGEST_NAME
        and not name.startswith(".")
        and Path(name).name == name
        and "\\" not in name
    )


def _is_as(path: Path, expected: Digest | None) -> bool:
    """Return whether a file has this digest or, for None, whether nothing of any kind is there."""
    return digest_of(path) == expected and (expected is not None or not _is_there(path))


def _is_there(path: Path) -> bool:
    """Return whether there is anything of this name; PermissionError if that can't be seen."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


@contextlib.contextmanager
def locked(folder: Path, *, wait: bool = True, shared: bool = False) -> Iterator[None]:
    """Let one process at a time work in a folder, or any number that share it.

    The others wait, or without `wait` get BlockingIOError.
    """
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    handle = os.open(folder, os.O_RDONLY)
    try:
        with where_supported():
            fcntl.flock(handle, kind if wait else kind | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def sync(path: Path) -> None:
    """Wait until a file or a folder's names are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        with where_supported():
            os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def where_supported() -> Iterator[None]:
    """Go on where a file system can't lock or sync a folder."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NOT_SUPPORTED:
            raise


def commit(folder: Path, staging: Path, changes: Sequence[Change]) -> None:
    """Do all changes, in their order. The caller holds the lock; the staged files are synced.

    Raises
    ------
    OSError
        Before the journal has its name, nothing is changed; after that (:func:`is_decided`) the next one to
        look at the folder goes on.
    """
    journal, draft = folder / JOURNAL, staging / JOURNAL
    content = {"staging": staging.name, "changes": [dataclasses.asdict(change) for change in changes]}
    draft.write_text(json.dumps(content), encoding="utf-8")
    sync(draft)
    sync(staging)
    draft.replace(journal)
    try:
        sync(folder)
    except OSError:
        journal.unlink()  # nothing is renamed yet
        raise
    _apply(folder, staging, changes)


def is_decided(folder: Path, staging: Path) -> bool:
    """Return whether the changes of a staging folder are in the folder's journal.

    A journal that can't be read now may be of these changes: its files must not be thrown away.
    """
    try:
        return _read(folder / JOURNAL)[0].name == staging.name
    except FileNotFoundError:
        return False
    except (OSError, SourceError):
        return True


def finish_interrupted(folder: Path) -> None:
    """Finish what a run that was stopped had decided; wait for one that is at it.

    Raises
    ------
    SourceError
        The folder can't be written, or somebody changed the files in between.
    """
    if not os.path.lexists(folder / JOURNAL):
        return
    try:
        with locked(folder):
            finish_locked(folder)
    except OSError as error:
        raise SourceError(
            f"{folder}: got a folder whose last run was stopped while its files got their names "
            f"({error.strerror or error}), expected a complete one or permission to complete it. "
            f"Let somebody who may write there run: shortcut-miner inspect {folder}"
        ) from error


def finish_locked(folder: Path) -> None:
    """Do as :func:`finish_interrupted`, for a caller that holds the lock."""
    if not os.path.lexists(folder / JOURNAL):
        return
    staging, changes = _read(folder / JOURNAL)
    pending, lost = [], []
    for change in changes:
        file, staged = folder / change.name, staging / change.name
        if change.after is None:
            if _is_as(file, change.before):
                pending.append(change)
        elif _is_there(staged):
            if digest_of(staged) != change.after:
                raise SourceError(
                    f"{staged}: got a file changed since a run wrote it, expected it as it was. "
                    f"Move your own files in {folder} elsewhere, delete it, and run the command again."
                )
            if _is_there(file) and not _is_as(file, change.before):
                raise SourceError(
                    f"{file}: got a file changed since a run was stopped that was to replace "
                    "it, expected the one that was there. Move it elsewhere, and run the command again."
                )
            pending.append(change)
        elif (now := digest_of(file)) != change.after and now in (None, change.before):
            lost.append(change)  # else it was moved, and changed since
    to_change = [change for change in changes if change.after not in (None, change.before)]
    if lost and len(lost) < len(to_change):
        raise SourceError(
            f"{folder}: got a run that was stopped, and no {lost[0].name} any more among its files in "
            f"{staging.name}, expected all of them. Move your own files elsewhere, delete the folder, and "
            "run the command again."
        )
    if lost:  # the staging folder is gone as a whole: as if the run had never come to its end
        (folder / JOURNAL).unlink()
        sync(folder)
    else:
        _apply(folder, staging, pending)


def _apply(folder: Path, staging: Path, changes: Sequence[Change]) -> None:
    for change in changes:
        if change.after is None:
            (folder / change.name).unlink(missing_ok=True)
        else:
            (staging / change.name).replace(folder / change.name)
    sync(folder)
    (folder / JOURNAL).unlink()
    with contextlib.suppress(OSError):  # a journal that comes back finds everything done
        sync(folder)
    shutil.rmtree(staging, ignore_errors=True)


def _read(journal: Path) -> tuple[Path, list[Change]]:
    try:
        if not stat.S_ISREG(journal.lstat().st_mode):
            raise ValueError("no regular file")
        content = json.loads(journal.read_bytes())
        changes = [
            Change(one["name"], as_digest(one["before"]), as_digest(one["after"]))
            for one in content["changes"]
        ]
        staging = content["staging"]
        known = all(is_plain_name(change.name) for change in changes)
        known &= is_plain_name(staging.removeprefix(".")) and staging.startswith(STAGING_PREFIX)
        if not known or (journal.parent / staging).is_symlink():
            raise ValueError("names that no run writes")
        if any(change.before == change.after is None for change in changes):
            raise ValueError("a change that is none")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise SourceError(
            f"{journal}: got {error}, expected the journal of a run. Move this file elsewhere."
        ) from error
    return journal.parent / staging, changes


def as_digest(value: Any) -> Digest | None:
    """Return a digest from its JSON; ValueError if it is none."""
    if value is None:
        return None
    size, sha256 = value["size"], value["sha256"]
    if not (
        isinstance(size, int) and isinstance(sha256, str) and len(sha256) == hashlib.sha256().digest_size * 2
    ):
        raise ValueError("a digest without size and sha256")
    return Digest(size, sha256)
