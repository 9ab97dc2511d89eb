"""Files: found with their zip member, opened with one set of words for what goes wrong, and identified."""

import contextlib
import contextvars
import difflib
import hashlib
import io
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.journal import finish_interrupted
from shortcut_miner.sources.opening.containers import CUT, UTF8_BOM, refuse_unreadable, unpack
from shortcut_miner.sources.opening.devices import check_no_device, check_no_pipe, is_pipe, pipe_pieces
from shortcut_miner.sources.opening.limits import in_memory

Result = TypeVar("Result")


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
class Opened:
    """An opened file, and once asked, its facts.

    Attributes
    ----------
    path : str
        As the user wrote it; starts every message about this file.
    packing : tuple of str
        The layers removed, outermost first: "zip", "gzip", "zstd".
    name, size, member
        As in :class:`FileFacts`.
    digest : Future
        The checksum of the packed file, computed in a thread beside the decoding.
    version : Version or None
        Of a file that is read again for its checksum: what was there when it was opened.
    """

    path: str
    packing: tuple[str, ...]
    name: str
    size: int
    member: str | None
    digest: Future[str] = field(repr=False)
    version: "Version | None" = None

    def facts(self) -> FileFacts:
        """Return the file's facts; waits for the checksum. SourceError if the file was changed since."""
        sha256 = self.digest.result()
        if self.version is not None:
            self.version.check(self.path)
        return FileFacts(name=self.name, size=self.size, sha256=sha256, member=self.member)


@dataclass(frozen=True, slots=True)
class Version:
    """What tells a file from another one of its name, and from itself after a change.

    Attributes
    ----------
    file : Path
        The file.
    state : tuple of int
        Device, inode, size, and when it was changed (ns).
    """

    file: Path
    state: tuple[int, int, int, int]

    @classmethod
    def of(cls, file: Path) -> "Version":
        """Return the version of a file that is there now."""
        found = file.stat()
        return cls(file, (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns))

    def check(self, shown: str) -> None:
        """Raise SourceError if the file is another one now: what was read may be of neither."""
        with system_errors(shown, self.file):
            is_same = Version.of(self.file) == self
        if not is_same:
            raise SourceError(
                f"{shown}: got a file that was changed while it was read, expected one that stays as it is. "
                "Run the command again when nothing writes to it."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Opened):
    """A file opened as a whole.

    Attributes
    ----------
    content : bytes
        Unpacked, without a UTF-8 byte order mark.
    """

    content: bytes


def open_source(path: str | os.PathLike[str], *, keep_workbooks: bool = False) -> Source:
    """Read and unpack a file.

    Parameters
    ----------
    path : path-like
        A plain, gzip or Zstandard file, a zip with one member, or ``archive.zip/member``.
    keep_workbooks : bool
        Leave .xlsx files as they are stored, for a reader of them; else they are refused.

    Raises
    ------
    SourceError
        Missing, a folder, not permitted, empty, truncated, damaged, an unknown member, or a kind of
        file that is never read (pickles, other archives, web pages).
    """
    if not isinstance(path, str | os.PathLike) or isinstance(os.fspath(path), bytes):
        raise SourceError(f"path: got {type(path).__name__}, expected a text or Path. Pass the file's name.")
    shown = str(path)
    file, member = find_file(Path(path))
    with system_errors(shown, file):
        stored = _stored(shown, file)
    check_not_empty_file(shown, len(stored))
    digest = in_background(lambda: hashlib.sha256(stored).hexdigest())
    left, packing, member = unpack(
        shown, io.BytesIO(stored), member, packed=len(stored), is_whole=True, keep_workbooks=keep_workbooks
    )
    content = left.read().removeprefix(UTF8_BOM)
    refuse_unreadable(shown, content)
    return Source(
        path=shown,
        content=content,
        packing=packing,
        name=file.name,
        size=len(stored),
        member=member,
        digest=digest,
    )


def _stored(shown: str, file: Path) -> bytes:
    """Return a file's bytes as they are stored, if they fit in memory."""
    check_no_device(shown, file)
    allowed = in_memory(shown)
    if is_pipe(file):
        return b"".join(allowed.counted(pipe_pieces(shown, file)))
    allowed.check(file.stat().st_size)
    return file.read_bytes()


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the unpacked content of a file; see :func:`open_source`."""
    return open_source(path).content


def file_facts(file: Path) -> FileFacts:
    """Return the facts of a file that another library opens by itself."""
    with opened_file(str(file), file) as handle:
        digest = hashlib.file_digest(handle, "sha256").hexdigest()
        return FileFacts(name=file.name, size=file.stat().st_size, sha256=digest)


@contextlib.contextmanager
def opened_file(shown: str, file: Path) -> Iterator[io.BufferedReader]:
    """Give a regular file, open for reading; raises SourceError for anything else."""
    with system_errors(shown, file):
        check_no_device(shown, file)
        check_no_pipe(shown, file)
        with file.open("rb") as handle:
            yield handle


def facts_of_all(name: str, files: Sequence[FileFacts]) -> FileFacts:
    """Return facts of several files as of one: the checksum is of their ``sha256sum`` listing."""
    listing = "".join(f"{one.sha256}  {one.name}\n" for one in sorted(files, key=lambda one: one.name))
    digest = hashlib.sha256(listing.encode()).hexdigest()
    return FileFacts(name=name, size=sum(one.size for one in files), sha256=digest)


def find_file(path: Path) -> tuple[Path, str | None]:
    """Split ``archive.zip/folder/member.json`` into the file on disk and the member's name.

    Raises
    ------
    SourceError
        The file is in a folder whose last run was interrupted and can't be finished.
    """
    finish_interrupted(path.parent)
    if not path.exists():
        for parent in path.parents:
            if parent.is_file():
                return parent, path.relative_to(parent).as_posix()
    return path, None


@contextlib.contextmanager
def system_errors(shown: str, file: Path) -> Iterator[None]:
    """Turn what the file system can raise into SourceErrors that name the file."""
    try:
        yield
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


def check_not_empty_file(shown: str, size: int) -> None:
    """Raise SourceError for a file of 0 bytes."""
    if not size:
        raise SourceError(f"{shown}: got an empty file (0 bytes), expected content. {CUT}.")


def in_background(work: Callable[[], Result]) -> Future[Result]:
    """Start some work in a thread of its own, with the limits that hold here."""
    executor = ThreadPoolExecutor(max_workers=1)
    future = executor.submit(contextvars.copy_context().run, work)
    executor.shutdown(wait=False)
    return future


def _similar_names(file: Path) -> str:
    try:
        names = [one.name for one in file.parent.iterdir()]
    except OSError:
        return ""
    close = difflib.get_close_matches(file.name, names, n=2)
    return f"; its folder has {examples(close)}" if close else ""
