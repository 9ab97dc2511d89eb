"""A single file that a command writes where the user says: whether it may be written, and writing it."""

import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from shortcut_miner.drafts import drafted
from shortcut_miner.dry_runs import nearest_above, target_of
from shortcut_miner.errors import ConfigError, OutputError, reason_of
from shortcut_miner.journal import sync


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What a command writes.

    Attributes
    ----------
    name : str
        What such a file may be called, such as "report.html".
    thing : str
        What it is, such as "report".
    writer : str
        Who writes it, and what it was written of: a file that somebody else wrote is not replaced.
    is_ours : callable
        Whether a file that is there is an earlier one.
    of : str
        Words after `thing`, where the two together say what may be replaced.
    suffix : str
        What its name has to end in, such as ".png"; "" for anything.
    """

    name: str
    thing: str
    writer: str
    is_ours: Callable[[Path], bool]
    of: str = ""
    suffix: str = ""


def check_file_target(out: Path | None, kind: Kind) -> None:
    """Raise ConfigError now, not after the work, if a file can't be written to `out`.

    Without one, that of a dry run is checked, if there is any.
    """
    out = target_of(out)
    if out is None:
        return
    if out.is_dir():
        raise ConfigError(
            f"--out {out}: got a folder, expected a file. Name the file, such as {out}/{kind.name}."
        )
    if kind.suffix and out.suffix.lower() != kind.suffix:
        form = kind.suffix.removeprefix(".").upper()
        raise ConfigError(
            f"--out {out}: got another name than of a {form}, expected one. End it in {kind.suffix}."
        )
    if not can_be_made(out):
        raise ConfigError(
            f"--out {out}: got a place that can't be written, expected a folder that can. "
            "Choose another name."
        )
    if os.path.lexists(out) and not kind.is_ours(out):
        raise ConfigError(
            f"--out {out}: got a file that {kind.writer} did not write, expected none or an earlier "
            f"{kind.thing}{kind.of}. Choose another name."
        )


def can_be_made(path: Path) -> bool:
    """Return whether the nearest folder above a path that is there is one, and can be written."""
    nearest = nearest_above(path.absolute().parent)
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)


def start_of(path: Path, size: int) -> bytes:
    """Return the first bytes of a file; none of one that can't be read, or is a pipe, which may never end."""
    if not path.is_file():
        return b""
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        return b""


def write_file(out: Path, content: bytes, kind: Kind) -> None:
    """Write a file; an earlier one stays as it is until the new one is complete.

    Raises
    ------
    ConfigError
        See :func:`check_file_target`.
    OutputError
        The disk is full, or the file can't be replaced.
    """
    check_file_target(out, kind)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with drafted(out, f".{uuid.uuid4().hex}") as draft:
            draft.write_bytes(content)
            sync(draft)
    except OSError as error:
        raise OutputError(
            f"--out {out}: got {reason_of(error)} while writing, expected room and permission to write. "
            f"An earlier {kind.thing} is unchanged; free some space or choose another name."
        ) from error
