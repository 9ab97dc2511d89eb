"""Dry runs: what one would write is checked as a real run's, though it is given nothing to write to."""

import contextlib
import errno
import os
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

_CHECKED: ContextVar[Path | None] = ContextVar("_CHECKED", default=None)


@contextlib.contextmanager
def rehearsed(out: Path | None) -> Iterator[None]:
    """Let what runs inside with no folder or file to write check this one as if it wrote there.

    >>> with rehearsed(Path("out")):
    ...     target_of(None), target_of(Path("other"))
    (PosixPath('out'), PosixPath('other'))
    """
    token = _CHECKED.set(out)
    try:
        yield
    finally:
        _CHECKED.reset(token)


def nearest_above(path: Path) -> Path:
    """Return a path, or the nearest above it, that is there: a link that leads nowhere is, too.

    >>> nearest_above(Path("/nowhere/at/all")).as_posix()
    '/'
    """
    return next(one for one in (path, *path.absolute().parents) if one.exists() or one.is_symlink())


def as_if_made(folder: Path, *, is_written: bool = True) -> None:
    """Raise the OSError that making a folder would or, if it is going to be written, making a file in it."""
    nearest = nearest_above(folder)
    code = 0
    if not nearest.is_dir():
        code = errno.ENOTDIR if nearest.exists() and nearest != folder else errno.EEXIST
    elif (is_written or nearest != folder) and not os.access(nearest, os.W_OK | os.X_OK):
        code = errno.EACCES
    if code:
        raise OSError(code, os.strerror(code))


def target_of(out: Path | None) -> Path | None:
    """Return what a run has to check: where it writes, else where a dry run would; None for neither."""
    return _CHECKED.get() if out is None else out
