"""Files too large for memory: their unpacked bytes as a stream, line by line, and their checksums.

Everything that fits comes from :mod:`shortcut_miner.sources.opening.files` instead.
"""

import contextlib
import gzip
import hashlib
import io
import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import zstandard

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.opening.files import FileFacts
from shortcut_miner.sources.opening.unpacking import CUT, UTF8_BOM

START_BYTES = 1 << 16
_BUFFER = 1 << 20
_GZIP, _ZSTD, _ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """An opened file of any length.

    Attributes
    ----------
    path : str
        As the user wrote it; starts every message about this file.
    content : buffered binary file
        The unpacked bytes, without a UTF-8 byte order mark.
    name, size, member
        As in :class:`~shortcut_miner.sources.opening.files.FileFacts`.
    digest : Future
        The checksum of the packed file, computed in a thread beside the reading.
    """

    path: str
    content: io.BufferedReader
    name: str
    size: int
    member: str | None
    digest: Future[str] = field(repr=False)

    def facts(self) -> FileFacts:
        """Return the file's facts; waits for the checksum."""
        return FileFacts(name=self.name, size=self.size, sha256=self.digest.result(), member=self.member)

    def start(self) -> bytes:
        """Return the first bytes (up to 64 KiB) without moving on."""
        with _told(self.path):
            return self.content.peek(START_BYTES)[:START_BYTES]

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Give the lines that aren't blank, without their end, and their numbers from 1."""
        number = 0
        while True:
            with _told(self.path):
                line = self.content.readline()
            if not line:
                return
            number += 1
            line = line.rstrip(b"\r\n")
            if line.strip():
                yield number, line


@contextlib.contextmanager
def open_stream(path: str | os.PathLike[str], *, with_digest: bool = True) -> Iterator[Stream]:
    """Open a file for reading as a stream.

    Parameters
    ----------
    path : path-like
        A plain, gzip or Zstandard file, a zip with one member, or ``archive.zip/member``.
    with_digest : bool
        Whether to compute the checksum; without it, do not ask for the facts.

    Raises
    ------
    SourceError
        Missing, a folder, not permitted, empty, an unknown member; while reading: truncated or damaged.
    """
    shown = str(path)
    file, member = _split_member(Path(path))
    with contextlib.ExitStack() as opened:
        with _told(shown):
            raw = _buffered(io.FileIO(file), opened)
            size = file.stat().st_size
        if not size:
            raise SourceError(f"{shown}: got an empty file (0 bytes), expected content. {CUT}.")
        with _told(shown):
            content, member = _unpacked(shown, raw, member, opened)
            if content.peek(len(UTF8_BOM))[: len(UTF8_BOM)] == UTF8_BOM:
                content.read(len(UTF8_BOM))
        digest = _digest_in_background(file) if with_digest else Future()
        yield Stream(path=shown, content=content, name=file.name, size=size, member=member, digest=digest)


def start_of(path: str | os.PathLike[str]) -> bytes:
    """Return the first unpacked bytes of a file, up to 64 KiB."""
    with open_stream(path, with_digest=False) as stream:
        return stream.start()


def file_facts(file: Path) -> FileFacts:
    """Return the facts of a file that another library opens by itself."""
    with _told(str(file)), file.open("rb") as handle:
        digest = hashlib.file_digest(handle, "sha256").hexdigest()
        return FileFacts(name=file.name, size=file.stat().st_size, sha256=digest)


def facts_of_all(name: str, files: Sequence[FileFacts]) -> FileFacts:
    """Return facts of several files as of one: the checksum is of their ``sha256sum`` listing."""
    listing = "".join(f"{one.sha256}  {one.name}\n" for one in sorted(files, key=lambda one: one.name))
    digest = hashlib.sha256(listing.encode()).hexdigest()
    return FileFacts(name=name, size=sum(one.size for one in files), sha256=digest)


def _split_member(path: Path) -> tuple[Path, str | None]:
    """Split ``archive.zip/folder/member`` into the file on disk and the member's name."""
    if not path.exists():
        for parent in path.parents:
            if parent.is_file():
                return parent, path.relative_to(parent).as_posix()
    return path, None


def _unpacked(
    shown: str, raw: io.BufferedReader, member: str | None, opened: contextlib.ExitStack
) -> tuple[io.BufferedReader, str | None]:
    """Return the stream behind the compression layers, told apart by their first bytes."""
    content = raw
    while True:
        start = content.peek(4)[:4]
        if start.startswith(_GZIP):
            content = _buffered(gzip.GzipFile(fileobj=content, mode="rb"), opened)
        elif start.startswith(_ZSTD):
            reader = zstandard.ZstdDecompressor().stream_reader(content, read_across_frames=True)
            content = _buffered(reader, opened)
        elif start.startswith(_ZIP):
            archive = opened.enter_context(zipfile.ZipFile(content))
            member = _chosen_member(shown, archive, member)
            return _buffered(archive.open(member), opened), member
        elif member is not None:
            raise SourceError(
                f"{shown}: got a path inside a file that is no zip archive, expected archive.zip/member. "
                "Check the path."
            )
        else:
            return content, None


def _buffered(raw: Any, opened: contextlib.ExitStack) -> io.BufferedReader:
    """Return `raw` with a buffer, closed with the stack: the layers below may only go after it."""
    return opened.enter_context(io.BufferedReader(cast("io.RawIOBase", raw), buffer_size=_BUFFER))


def _chosen_member(shown: str, archive: zipfile.ZipFile, wanted: str | None) -> str:
    names = [one.filename for one in archive.infolist() if not one.is_dir()]
    names = [name for name in names if not name.startswith("__MACOSX/")]
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted in names:
        return str(wanted)
    raise SourceError(
        f"{shown}: got a zip with {len(names):,} members ({examples(names, limit=20) or 'none'}), expected "
        f"{'one' if wanted is None else repr(wanted)}. Name the member: archive.zip/member."
    )


@contextlib.contextmanager
def _told(shown: str) -> Iterator[None]:
    """Turn what reading can raise into SourceErrors that name the file."""
    try:
        yield
    except FileNotFoundError as error:
        raise SourceError(f"{shown}: got no such file, expected a file to read. Check the path.") from error
    except IsADirectoryError as error:
        raise SourceError(
            f"{shown}: got a folder, expected a file. Give one of the files inside it."
        ) from error
    except PermissionError as error:
        raise SourceError(
            f"{shown}: got no permission to read it, expected a readable file. Change its permissions."
        ) from error
    except EOFError as error:
        raise SourceError(
            f"{shown}: got a packed file that ends too early, expected its end marker. {CUT}."
        ) from error
    except (
        OSError,
        zlib.error,
        zipfile.BadZipFile,
        zstandard.ZstdError,
        RuntimeError,
        NotImplementedError,
    ) as error:
        raise SourceError(
            f"{shown}: got a file that can't be read or unpacked ({error}), expected intact data. "
            "Download or copy it again."
        ) from error


def _digest_in_background(file: Path) -> Future[str]:
    executor = ThreadPoolExecutor(max_workers=1)
    digest = executor.submit(lambda: file_facts(file).sha256)
    executor.shutdown(wait=False)
    return digest


def file_lines(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """Give the lines of a file that aren't blank."""
    with open_stream(path, with_digest=False) as stream:
        for _, line in stream.lines():
            yield line
