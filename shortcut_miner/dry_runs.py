"""Dry runs: what one would write is checked as a real run's, though it is given nothing to write to."""

import contextlib
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


def target_of(out: Path | None) -> Path | None:
    """Return what a run has to check: where it writes, else where a dry run would; None for neither."""
    return _CHECKED.get() if out is None else out
