"""Looking at files of any size within a gigabyte and half a minute: what may take more is read in a child."""

import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TypeVar

from shortcut_miner.errors import ShortcutMinerError
from shortcut_miner.free_memory import held_by

Found = TypeVar("Found")
READ_HERE = 16_000_000  # bytes of content: as JSON it may take forty times as much
_MOST_BYTES, _MOST_SECONDS = 750_000_000, 25.0
_SECONDS_BETWEEN = 0.02
PAST_LIMITS = (
    "only the start was looked at: all of it takes more than "
    f"{_MOST_BYTES / 1e6:.0f} MB or {_MOST_SECONDS:.0f} s. With --max-unpacked, such as --max-unpacked 8GB, "
    "all is read, whatever it takes"
)


def in_child(look: Callable[[Path, int], Found], path: Path, most: int) -> Found | None:
    """Return what a function says of a file, or raise its error; None if that takes too much."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe(duplex=False)
    process = spawn.Process(target=_look, args=(theirs, look, path, most), daemon=True)
    process.start()
    theirs.close()
    try:
        found = _heard(ours, process)
    finally:
        process.kill()
        process.join()
        ours.close()
    if isinstance(found, BaseException):
        raise found
    return found


def _heard(ours: Connection, process: BaseProcess) -> Found | BaseException | None:
    until = time.monotonic() + _MOST_SECONDS
    while time.monotonic() < until and held_by(process.pid) < _MOST_BYTES:
        if ours.poll(_SECONDS_BETWEEN):
            try:
                heard: Found | BaseException = ours.recv()
            except EOFError:  # the system ended it
                return None
            return heard
    return None


def _look(theirs: Connection, look: Callable[[Path, int], Found], path: Path, most: int) -> None:
    try:
        theirs.send(look(path, most))
    except ShortcutMinerError as error:
        theirs.send(error)
    except MemoryError:
        return
