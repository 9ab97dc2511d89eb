"""Files that get their name when they are complete."""

import contextlib
from collections.abc import Iterator
from pathlib import Path


def draft_of(path: Path, writer: str = "") -> Path:
    """Return the name that a file has until it is complete.

    Parameters
    ----------
    path : Path
        Its final name.
    writer : str
        Tells writers apart that may write the same file at a time.

    >>> draft_of(Path("work/rows.arrow")).as_posix()
    'work/rows.arrow.part'
    """
    return path.with_name(f"{path.name}{writer}.part")


@contextlib.contextmanager
def drafted(path: Path, writer: str = "") -> Iterator[Path]:
    """Give the :func:`draft_of` a file, to be written; it gets its final name at the end.

    After an exception it is removed, and what had the name before stays.
    """
    draft = draft_of(path, writer)
    try:
        yield draft
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def literal(path: Path) -> str:
    """Return a path that PyArrow and Polars take for what it is: with ~ they begin in the home folder.

    >>> literal(Path("~")).endswith("/~")
    True
    """
    return str(path.absolute())
