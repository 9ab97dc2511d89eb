"""A command with all its descendants: what they take together while it runs, and their numbers. Linux only.

Memory is the sum of the resident sets, so pages that several processes share (libraries, mostly) count once
for each: an upper bound. Processor time is that of the command and of all descendants it waited for. Only the
standard library, for the reason that ``measuring.py`` gives.
"""

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from measuring import CHECKOUT, absolute

PAGE = os.sysconf("SC_PAGE_SIZE")
MEMORY_PERIOD, DISK_PERIOD = 0.05, 1.0  # seconds between two looks


@dataclass(frozen=True, slots=True)
class TreeCost:
    """What a command and its descendants took: seconds, bytes, and how it ended."""

    wall: float
    cpu: float
    tree_bytes: int  # largest sum of resident sets at one look
    process_bytes: int  # largest resident set of one process at one look
    processes: int  # most at one look
    disk_bytes: int  # most that lay in the watched folder at one look
    exit_code: int
    stderr: str


def children_of(process: int) -> list[int]:
    """Return the children that a process has now; none of one that has ended."""
    found = []
    for listing in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            found += map(int, listing.read_text().split())
        except (FileNotFoundError, ProcessLookupError):  # the thread ended while we looked
            continue
    return found


def descendants_of(process: int) -> list[int]:
    """Return all descendants that a process has now, parents first."""
    found = children_of(process)
    for child in found:  # the list grows as it is walked
        found += children_of(child)
    return found


def resident_bytes(process: int) -> int:
    """Return the resident set of a process; 0 when it has ended."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE
    except (FileNotFoundError, ProcessLookupError):
        return 0


def folder_bytes(folder: Path) -> int:
    """Return the size of all files below a folder, as far as they stay while it is walked."""
    total = 0
    for at, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(at) / name).lstat().st_size
            except FileNotFoundError:
                continue
    return total


def run_tree(
    command: Sequence[str | Path], *, folder: Path, environment: dict[str, str] | None = None
) -> TreeCost:
    """Run a command on the checkout's package; return what it and its descendants took, however it ended.

    `folder` is the one whose size is watched.
    """
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    variables = inherited | {"PYTHONPATH": str(CHECKOUT)} | (environment or {})
    with tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        child = subprocess.Popen(
            absolute(command), stdout=subprocess.DEVNULL, stderr=err, env=variables, cwd=CHECKOUT
        )
        watch = _Watch(child.pid, folder)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        watch.end()
        child.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        text = err.read().decode(errors="replace")
    return TreeCost(
        wall=wall,
        cpu=usage.ru_utime + usage.ru_stime,
        tree_bytes=watch.tree_bytes,
        process_bytes=watch.process_bytes,
        processes=watch.processes,
        disk_bytes=watch.disk_bytes,
        exit_code=child.returncode,
        stderr=text,
    )


class _Watch:
    """Looks at a process tree and a folder from a thread of its own, and keeps the largest it saw."""

    def __init__(self, process: int, folder: Path) -> None:
        self.tree_bytes = self.process_bytes = self.processes = self.disk_bytes = 0
        self._process, self._folder = process, folder
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop looking."""
        self._ended.set()
        self._thread.join()
        self.disk_bytes = max(self.disk_bytes, folder_bytes(self._folder))

    def _look(self) -> None:
        next_disk = 0.0
        while not self._ended.is_set():
            sizes = [resident_bytes(one) for one in [self._process, *descendants_of(self._process)]]
            self.tree_bytes = max(self.tree_bytes, sum(sizes))
            self.process_bytes = max(self.process_bytes, *sizes)
            self.processes = max(self.processes, sum(size > 0 for size in sizes))
            if time.perf_counter() >= next_disk:
                self.disk_bytes = max(self.disk_bytes, folder_bytes(self._folder))
                next_disk = time.perf_counter() + DISK_PERIOD
            self._ended.wait(MEMORY_PERIOD)
