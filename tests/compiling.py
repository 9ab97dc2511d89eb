"""Test processes that share compiled kernels: each is compiled once, by whoever needs it first."""

import fcntl
import os
import threading
from pathlib import Path

from numba.core import event


class OneProcessAtATime(event.Listener):  # type: ignore[misc]
    """Holds a file's lock while numba holds its own: to load a kernel, or compile it and put it on disk.

    numba's disk cache is not made for two processes that compile a kernel for different types at once: both
    may choose the same file, and who loads it later gets the wrong code.
    """

    def __init__(self, lock: Path) -> None:
        self._file = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        self._threads = threading.RLock()
        self._depth = 0

    def on_start(self, _: event.Event) -> None:
        self._threads.acquire()
        self._depth += 1
        if self._depth == 1:
            fcntl.flock(self._file, fcntl.LOCK_EX)

    def on_end(self, _: event.Event) -> None:
        self._depth -= 1
        if self._depth == 0:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        self._threads.release()


def compile_one_process_at_a_time(lock: Path) -> None:
    """Let this process compile only while no other one that called this does."""
    event.register("numba:compiler_lock", OneProcessAtATime(lock))
