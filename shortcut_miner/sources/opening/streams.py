"""Files too large for memory: their unpacked bytes as a stream, line by line.

Everything that fits comes from :func:`shortcut_miner.sources.opening.files.open_source` instead.
"""

import contextlib
import io
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from shortcut_miner.sources.opening.containers import BUFFER_BYTES, UTF8_BOM, refuse_unreadable, unpack
from shortcut_miner.sources.opening.devices import check_no_device, check_no_pipe
from shortcut_miner.sources.opening.files import (
    FileFacts,
    Opened,
    Version,
    check_not_empty_file,
    file_facts,
    find_file,
    in_background,
    system_errors,
)

START_BYTES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream(Opened):
    """An opened file of any length.

    Attributes
    ----------
    content : buffered binary file
        The unpacked bytes, without a UTF-8 byte order mark.
    """

    content: io.BufferedReader

    def start(self) -> bytes:
        """Return the first bytes (up to 64 KiB) without moving on."""
        with system_errors(self.path, Path(self.path)):
            return self.content.peek(START_BYTES)[:START_BYTES]

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Give the lines that aren't blank, without their end, and their numbers from 1."""
        number = 0
        while True:
            with system_errors(self.path, Path(self.path)):
                line = self.content.readline()
            if not line:
                return
            number += 1
            line = line.rstrip(b"\r\n")
            if line.strip():
                yield number, line


@contextlib.contextmanager
def open_stream(path: str | os.PathLike[str], *, keep_workbooks: bool = False) -> Iterator[Stream]:
    """Open a file for reading as a stream.

    Parameters
    ----------
    path : path-like
        A plain, gzip or Zstandard file, a zip with one member, or ``archive.zip/member``.
    keep_workbooks : bool
        As in :func:`~shortcut_miner.sources.opening.files.open_source`.

    Raises
    ------
    SourceError
        As :func:`~shortcut_miner.sources.opening.files.open_source`; while reading: truncated or damaged.
    """
    with _opened(path, with_digest=True, is_refused=True, keep_workbooks=keep_workbooks) as stream:
        yield stream


def start_of(path: str | os.PathLike[str]) -> bytes:
    """Return the first unpacked bytes of a file of any kind, up to 64 KiB."""
    with _opened(path, with_digest=False, keep_workbooks=True) as stream:
        return stream.start()


def facts_and_packing(path: str | os.PathLike[str]) -> tuple[FileFacts, tuple[str, ...]]:
    """Return the facts of a file of any kind, and the compression layers around its content."""
    with _opened(path, with_digest=True) as stream:
        return stream.facts(), stream.packing


def file_lines(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """Give the lines of a file that aren't blank."""
    with _opened(path, with_digest=False) as stream:
        for _, line in stream.lines():
            yield line


def copy_unpacked(path: str | os.PathLike[str], target: Path) -> None:
    """Write the unpacked bytes of a file, such as a zip's member, into a new file."""
    with _opened(path, with_digest=False) as stream, target.open("xb") as file:
        shutil.copyfileobj(stream.content, file, BUFFER_BYTES)


@contextlib.contextmanager
def _opened(
    path: str | os.PathLike[str],
    *,
    with_digest: bool,
    is_refused: bool = False,
    keep_workbooks: bool = False,
) -> Iterator[Stream]:
    """Open a file of any kind; without the checksum, its facts must not be asked for.

    With `is_refused`, what is never read is refused before its checksum is begun.
    """
    shown = str(path)
    file, member = find_file(Path(path))
    with contextlib.ExitStack() as closing:
        with system_errors(shown, file):
            check_no_device(shown, file)
            check_no_pipe(shown, file)
            stored = closing.enter_context(io.BufferedReader(io.FileIO(file), buffer_size=BUFFER_BYTES))
            version = Version.of(file)
            size = file.stat().st_size
            check_not_empty_file(shown, size)
            content, packing, member = unpack(
                shown, stored, member, packed=size, is_whole=False, keep_workbooks=keep_workbooks
            )
            if isinstance(content, io.BytesIO):  # a workbook in another layer
                content = io.BufferedReader(content, buffer_size=BUFFER_BYTES)
            if content.peek(len(UTF8_BOM))[: len(UTF8_BOM)] == UTF8_BOM:
                content.read(len(UTF8_BOM))
        if is_refused:
            with system_errors(shown, file):
                start = content.peek(START_BYTES)[:START_BYTES]
            refuse_unreadable(shown, start)
        digest = in_background(lambda: file_facts(file).sha256) if with_digest else Future()
        yield Stream(
            path=shown,
            content=content,
            packing=packing,
            name=file.name,
            size=size,
            member=member,
            digest=digest,
            version=version,
        )
