"""How much a packed file may give: a bomb is stopped before it fills memory or takes hours.

A file may give a hundred times its own size, and in any case 256 MB; what is held as a whole may take half of
the free memory. ``--max-unpacked``, or :func:`max_unpacked`, says another limit in place of both.
"""

import contextlib
from collections.abc import Iterable, Iterator
from contextvars import ContextVar, Token
from dataclasses import dataclass

from shortcut_miner.errors import ShortcutMinerError, SourceError
from shortcut_miner.free_memory import free_memory
from shortcut_miner.options import memory_bytes

MOST_TIMES, ALWAYS_ALLOWED = 100, 256 * 1000 * 1000
_given: ContextVar[int | None] = ContextVar("max_unpacked", default=None)
_bound: ContextVar[int | None] = ContextVar("read_at_most", default=None)


class LargerError(ShortcutMinerError):
    """A file that gives more than somebody wants to read who only looks at it."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one file may give when unpacked, and why no more.

    Attributes
    ----------
    shown : str
        The file.
    most : int
        Bytes.
    reason : str
        What it was expected to be, in words.
    """

    shown: str
    most: int
    reason: str
    error: type[ShortcutMinerError] = SourceError

    def counted(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Give the pieces on as long as there are no more bytes than allowed; raises SourceError."""
        size = 0
        for piece in pieces:
            size += len(piece)
            self.check(size)
            yield piece

    def check(self, size: int) -> None:
        """Raise SourceError for more bytes than allowed."""
        if size > self.most:
            raise self.error(
                f"{self.shown}: got more than {_in_words(self.most)} in it, expected {self.reason}. "
                "If you trust the file, allow more with --max-unpacked, such as --max-unpacked 8GB."
            )


@contextlib.contextmanager
def max_unpacked(size: str | int) -> Iterator[None]:
    """Allow files that are read inside a ``with`` block to give so much when unpacked: "8GB", or bytes.

    Raises
    ------
    ConfigError
        No amount of memory.
    """
    token = allow_unpacking(size)
    try:
        yield
    finally:
        _given.reset(token)


def allow_unpacking(size: str | int) -> Token[int | None]:
    """Allow what :func:`max_unpacked` does for the rest of the context."""
    return _given.set(memory_bytes(size, "max_unpacked", least=1))


def given_limit() -> int | None:
    """Return the limit that somebody asked for, in bytes."""
    return _given.get()


@contextlib.contextmanager
def read_at_most(size: int) -> Iterator[None]:
    """Raise LargerError for files that are read inside a ``with`` block and give more bytes."""
    token = _bound.set(size)
    try:
        yield
    finally:
        _bound.reset(token)


def allowance(shown: str, packed: int, *, is_held: bool) -> Allowance:
    """Return what a file of `packed` bytes may give; `is_held` says that all of it is kept in memory."""
    given, bound = _given.get(), _bound.get()
    if bound is not None:
        return Allowance(shown, bound, "less", LargerError)
    if given is not None:
        return Allowance(shown, given, "no more than --max-unpacked")
    most = max(ALWAYS_ALLOWED, MOST_TIMES * packed)
    fitting = free_memory() // 2 if is_held else most
    if fitting < most:
        return Allowance(shown, fitting, "no more than half of the free memory")
    reason = f"at most {MOST_TIMES} times its {packed:,} bytes, or {_in_words(ALWAYS_ALLOWED)}"
    return Allowance(shown, most, reason)


def check_looked_at(shown: str, size: int) -> None:
    """Raise LargerError if somebody who only looks at a file would get more bytes than they want."""
    bound = _bound.get()
    if bound is not None:
        Allowance(shown, bound, "less", LargerError).check(size)


def in_memory(shown: str) -> Allowance:
    """Return how many bytes of a file may be held as they are stored; ``--max-unpacked`` can raise it."""
    bound = _bound.get()
    if bound is not None:
        return Allowance(shown, bound, "less", LargerError)
    fitting = free_memory() // 2
    return Allowance(shown, max(fitting, _given.get() or 0), "no more than half of the free memory")


def _in_words(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"
