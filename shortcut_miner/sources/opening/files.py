"""The bytes behind a path: plain, gzip, Zstandard or a zip's member, told apart by their first bytes."""

import difflib
import hashlib
import os
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.opening.unpacking import CUT, unpack


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """What identifies a file on disk, as stored (packed).

    Attributes
    ----------
    name : str
        File name without its folder.
    size : int
        Bytes on disk.
    sha256 : str
        SHA-256 of those bytes, as ``sha256sum`` prints it.
    member : str or None
        Name of the zip member that was read.
    """

    name: str
    size: int
    sha256: str
    member: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An opened file: its unpacked content and, once asked, its facts.

    Attributes
    ----------
    path : str
        As the user wrote it; starts every message about this file.
    content : bytes
        Unpacked, without a UTF-8 byte order mark.
    packing : tuple of str
        The layers removed, outermost first: "zip", "gzip", "zstd".
    name, size, member
        As in :class:`FileFacts`.
    digest : Future
        The checksum, computed in a thread beside the decoding.
    """

    path: str
    content: bytes
    packing: tuple[str, ...]
    name: str
    size: int
    member: str | None
    digest: Future[str]

    def facts(self) -> FileFacts:
        """Return the file's facts; waits for the checksum."""
        return FileFacts(name=self.name, size=self.size, sha256=self.digest.result(), member=self.member)


def open_source(path: str | os.PathLike[str]) -> Source:
    """Read and unpack a file.

    Parameters
    ----------
    path : path-like
        A plain, gzip or Zstandard file, a zip with one member, or ``archive.zip/member``.

    Raises
    ------
    SourceError
        Missing, a folder, not permitted, empty, truncated, damaged, an unknown member, or a kind of
        file that is never read (pickles, other archives, web pages).
    """
    file, member = _split_member(Path(path))
    stored = _read_stored(file, str(path))
    digest = _hash_in_background(stored)
    layers = unpack(str(path), stored, member)
    return Source(
        path=str(path),
        content=layers.content,
        packing=layers.packing,
        name=file.name,
        size=len(stored),
        member=layers.member,
        digest=digest,
    )


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the unpacked content of a file; see :func:`open_source`."""
    return open_source(path).content


def _split_member(path: Path) -> tuple[Path, str | None]:
    """Split ``archive.zip/folder/member.json`` into the file on disk and the member's name."""
    if not path.exists():
        for parent in path.parents:
            if parent.is_file():
                return parent, path.relative_to(parent).as_posix()
    return path, None


def _read_stored(file: Path, shown: str) -> bytes:
    try:
        stored = file.read_bytes()
    except FileNotFoundError as error:
        raise SourceError(
            f"{shown}: got no such file, expected a file to read. Check the path{_similar_names(file)}."
        ) from error
    except IsADirectoryError as error:
        raise SourceError(
            f"{shown}: got a folder, expected a file. Give one of the files inside it."
        ) from error
    except PermissionError as error:
        raise SourceError(
            f"{shown}: got no permission to read it, expected a readable file. Change its permissions."
        ) from error
    except OSError as error:
        raise SourceError(
            f"{shown}: got {error.strerror or error}, expected a readable file. Check the path and the disk."
        ) from error
    if not stored:
        raise SourceError(f"{shown}: got an empty file (0 bytes), expected content. {CUT}.")
    return stored


def _similar_names(file: Path) -> str:
    try:
        names = [one.name for one in file.parent.iterdir()]
    except OSError:
        return ""
    close = difflib.get_close_matches(file.name, names, n=2)
    return f"; its folder has {examples(close)}" if close else ""


def _hash_in_background(stored: bytes) -> Future[str]:
    executor = ThreadPoolExecutor(max_workers=1)
    digest = executor.submit(lambda: hashlib.sha256(stored).hexdigest())
    executor.shutdown(wait=False)
    return digest
