"""What is no regular file: pipes with somebody at the other end are read, and what has no end is refused."""

import os
import select
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from shortcut_miner.errors import SourceError

_AT_ONCE = 1 << 20
_SECONDS_FOR_A_WRITER = 5.0
_SECONDS_BETWEEN = 0.05
_KINDS = ((stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"), (stat.S_ISSOCK, "a socket"))


def check_no_device(shown: str, file: Path) -> None:
    """Raise SourceError for a device (a terminal, ``/dev/zero``) or a socket; OSError if there is no file."""
    mode = file.stat().st_mode
    if what := next((what for is_one, what in _KINDS if is_one(mode)), ""):
        raise SourceError(
            f"{shown}: got {what}, expected a file or a pipe: it may never end. "
            "Write what it gives to a file."
        )


def is_pipe(file: Path) -> bool:
    """Return whether a path is a pipe, such as that of a process substitution: it can be read only once."""
    try:
        return stat.S_ISFIFO(file.stat().st_mode)
    except OSError:
        return False


def check_no_pipe(shown: str, file: Path) -> None:
    """Raise SourceError for a pipe where a file is read more than once."""
    if is_pipe(file):
        raise SourceError(
            f"{shown}: got a pipe, expected a file: it is looked at before it is read. Write what comes out "
            "of the pipe to a file."
        )


def pipe_pieces(shown: str, file: Path) -> Iterator[bytes]:
    """Give what comes out of a pipe; of one without a writer raise SourceError, after some seconds."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    try:
        first = _first_piece(shown, descriptor)
        os.set_blocking(descriptor, True)
        while first:
            yield first
            first = os.read(descriptor, _AT_ONCE)
    finally:
        os.close(descriptor)


def _first_piece(shown: str, descriptor: int) -> bytes:
    until = time.monotonic() + _SECONDS_FOR_A_WRITER
    asked = select.poll()
    asked.register(descriptor, select.POLLIN)
    while True:
        try:
            piece = os.read(descriptor, _AT_ONCE)
        except BlockingIOError:  # somebody has it open, and writes later
            asked.poll()
            continue
        was_open = any(events & select.POLLHUP for _, events in asked.poll(0))
        if piece or was_open:
            return piece
        if time.monotonic() > until:
            raise SourceError(
                f"{shown}: got a pipe that nobody writes to, expected data. Start what writes to it first, "
                "or give a file."
            )
        time.sleep(_SECONDS_BETWEEN)
