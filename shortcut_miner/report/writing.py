"""The page's file: written beside its name, and given it when it is complete."""

import os
import tempfile
from pathlib import Path

from shortcut_miner.errors import ConfigError, OutputError
from shortcut_miner.journal import sync

_MARK = b'<meta name="generator" content="shortcut_miner report">'
_LOOKED_AT = 1024  # bytes


def check_page_target(out: Path) -> None:
    """Raise ConfigError if a page can't be written to `out`: a folder, or a file that is no report."""
    if out.is_dir():
        raise ConfigError(
            f"--out {out}: got a folder, expected a file. Name the file, such as {out}/report.html."
        )
    nearest = next(path for path in (out.absolute().parent, *out.absolute().parents) if path.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise ConfigError(
            f"--out {out}: got a place that can't be written, expected a folder that can. "
            "Choose another name."
        )
    if os.path.lexists(out) and not _is_report(out):
        raise ConfigError(
            f"--out {out}: got a file that report did not write, expected none or an earlier report. Choose "
            "another name."
        )


def _is_report(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return _MARK in file.read(_LOOKED_AT)
    except OSError:
        return False


def write_page(out: Path, html: str) -> None:
    """Write a page; an earlier one stays as it is until the new one is complete.

    Raises
    ------
    ConfigError
        See :func:`check_page_target`.
    OutputError
        The disk is full, or the file can't be replaced.
    """
    check_page_target(out)
    staged: Path | None = None
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(prefix=f".{out.name}-", dir=out.parent, delete=False) as file:
            staged = Path(file.name)
            file.write(html.encode())
        staged.chmod(0o666 & ~_umask())
        sync(staged)
        staged.replace(out)
    except OSError as error:
        raise OutputError(
            f"--out {out}: got {error.strerror or error} while writing, expected room and permission to "
            "write. An earlier report is unchanged; free some space or choose another name."
        ) from error
    finally:
        if staged is not None:
            staged.unlink(missing_ok=True)


def _umask() -> int:
    """Return the mask of permissions; there is no way to ask for it without setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
