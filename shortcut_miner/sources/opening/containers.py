"""Compression (gzip, Zstandard, zip) removed by the first bytes, whole or as a stream; others are refused."""

import contextlib
import errno
import io
import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, BinaryIO

from shortcut_miner.errors import SourceError, examples, reason_of
from shortcut_miner.sources.opening.limits import Allowance, allowance

UTF8_BOM = b"\xef\xbb\xbf"
MAX_LAYERS = 4
BUFFER_BYTES = 1 << 20
CUT = "Download or copy it again: it was probably cut"
_PACKED_BYTES = 1 << 16  # unpacked at a time when streaming
_UNPACKED_BYTES = 1 << 20  # given at a time, however few the packed bytes are that they come from
_UNBOUNDED_BYTES = 1 << 10  # unpacked at a time by a decoder without a limit: four can be a block of 128 KiB
_ZIP, _EMPTY_ZIP = b"PK\x03\x04", b"PK\x05\x06"
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, ValueError)
_LOCAL_HEADER = struct.Struct("<26xHH")  # of a member: the lengths of its name and what follows it
_DAMAGE = (None, errno.EINVAL)  # what an OSError of bzip2, or of a seek before the start, is; not the disk's
_ZIP_REFUSED = (RuntimeError, NotImplementedError)  # encrypted, or a rare compression
_WORKBOOK_PART = "xl/workbook.xml"
_LOG_PARTS = {"header.json", "_journal/start.json"}  # of an inspect_ai log, finished or not
_ZSTD_METHOD = 93  # of a zip member; Python reads it from 3.14 on
_UNPACK = "Unpack it first, then give the file inside"
_PICKLE_NOTE = (
    "Pickles can run code when opened, so they are never read. Convert it where you trust it: "
    "json.dump([{'question_id': id, 'answer': answer}, ...], file)"
)
_PICKLES = (*(b"\x80" + bytes([protocol]) for protocol in range(2, 6)), b"(lp", b"(dp", b"]q\x00", b"}q\x00")
_HTML = (b"<!DOCTYPE html", b"<!doctype html", b"<html", b"<HTML")
# First bytes of files that are not read -> (what they are, what to do).
_REFUSED: tuple[tuple[bytes, str, str], ...] = (
    *((start, "a Python pickle", _PICKLE_NOTE) for start in _PICKLES),
    (b"\x93NUMPY", "a NumPy array", "Write it as Parquet or JSON"),
    (b"\x89HDF", "an HDF5 file", "Give a detector's to fpvg or swapmix build --detections"),
    (b"BZh", "a bzip2 file", _UNPACK),
    (b"\xfd7zXZ", "an xz file", _UNPACK),
    (b"7z\xbc\xaf", "a 7-Zip file", _UNPACK),
    (b"Rar!", "a RAR file", _UNPACK),
    (b"\xff\xfe", "UTF-16 text", "Save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "Save it as UTF-8"),
    (b"version https://git-lfs", "a Git LFS pointer", "Fetch the real file with `git lfs pull`"),
    *((start, "an HTML page", "Download the file again: the link gave a web page") for start in _HTML),
)


@dataclass(frozen=True, slots=True)
class _Packing:
    """A compression of one stream: `start` gives a decoder of one of its parts (members, frames).

    `is_bounded` says that a decoder takes a limit of what it gives at a time.
    """

    name: str
    first_bytes: bytes
    what: str
    end: str
    start: Callable[[], Any]
    is_bounded: bool
    padding: bytes = b""


def _zstd_decoder() -> Any:
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj()


def _decoding_errors() -> tuple[type[Exception], ...]:
    import zstandard

    return (zlib.error, zstandard.ZstdError)


_PACKINGS = (
    _Packing(
        "gzip", b"\x1f\x8b", "gzip", "its end marker", lambda: zlib.decompressobj(31), is_bounded=True,
        padding=b"\0",
    ),
    _Packing(
        "zstd", b"\x28\xb5\x2f\xfd", "Zstandard", "its last frame to be complete", _zstd_decoder,
        is_bounded=False,
    ),
)  # fmt: skip


def unpack(
    shown: str,
    stored: BinaryIO,
    wanted: str | None,
    *,
    packed: int,
    is_whole: bool,
    keep_workbooks: bool = False,
) -> tuple[Any, tuple[str, ...], str | None]:
    """Remove compression layers until none is left, as far as four.

    Parameters
    ----------
    stored : buffered binary file
        Can go back to its start.
    wanted : str or None
        Name of a zip member.
    packed : int
        Bytes of the file, by which :func:`.limits.allowance` says what it may give.
    is_whole : bool
        Unpack at once, for those who read everything; else piece by piece.
    keep_workbooks : bool
        Leave .xlsx files and inspect_ai logs, which are zip archives, as they are; else they are refused.

    Returns
    -------
    content : buffered binary file
        What is left.
    packing : tuple of str
        The layers removed, outermost first: "zip", "gzip", "zstd".
    member : str or None
        The zip member that was entered.

    Raises
    ------
    SourceError
        An unknown member, an archive that is not read; while reading: truncated, damaged, too large.
    """
    content: Any = stored
    removed: list[str] = []
    member = None
    for _ in range(MAX_LAYERS):
        start = _peek(content, 4)
        packing = next((one for one in _PACKINGS if start.startswith(one.first_bytes)), None)
        if packing is not None:
            allowed = allowance(shown, packed, is_held=is_whole)
            content = _file_of(allowed.counted(_decoded(shown, content, packing)), is_whole=is_whole)
            removed.append(packing.name)
        elif start in (_ZIP, _EMPTY_ZIP) and member is None:
            held = content if content.seekable() else _held(content, allowance(shown, packed, is_held=True))
            with zip_errors(shown):
                archive = zipfile.ZipFile(held)
            if keep_workbooks and wanted is None and _is_kept(archive.namelist()):
                held.seek(0)
                return held, tuple(removed), None
            member = _choose_member(shown, archive.infolist(), wanted)
            allowed = allowance(shown, packed, is_held=is_whole)
            allowed.check(archive.getinfo(member).file_size)
            content = _file_of(_member_pieces(shown, archive, member), is_whole=is_whole)
            removed.append("zip")
        else:
            break
    if wanted is not None and member is None:
        raise SourceError(
            f"{shown}: got a path inside a file that is no zip archive, expected archive.zip/member. "
            "Check the path."
        )
    return content, tuple(removed), member


def is_workbook(content: bytes) -> bool:
    """Return whether these are the bytes of an .xlsx file."""
    return content.startswith(_ZIP) and _WORKBOOK_PART in zip_names(io.BytesIO(content))


def is_eval_log(content: bytes) -> bool:
    """Return whether these are the bytes of an inspect_ai log (.eval)."""
    return content.startswith(_ZIP) and _is_log(zip_names(io.BytesIO(content)))


def _is_log(names: list[str]) -> bool:
    return bool(_LOG_PARTS & {*names})


def _is_kept(names: list[str]) -> bool:
    return _WORKBOOK_PART in names or _is_log(names)


def zip_contents(shown: str, content: bytes, wanted: Callable[[str], object]) -> dict[str, bytes]:
    """Return the members of a zip archive whose names are `wanted`; of several of one name the last.

    Raises
    ------
    SourceError
        The archive or one of these members is damaged, or encrypted; or they are larger than allowed.
    """
    found = {}
    with zip_errors(shown), zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: info for name, info in archive.NameToInfo.items() if wanted(name)}
        allowed = allowance(shown, len(content), is_held=True)
        allowed.check(sum(info.file_size for info in members.values()))
        for name, info in members.items():
            is_zstd = info.compress_type == _ZSTD_METHOD
            found[name] = _zstd_member(shown, content, info) if is_zstd else archive.read(name)
    return found


def _zstd_member(shown: str, content: bytes, info: zipfile.ZipInfo) -> bytes:
    """Return a member that zipfile can't unpack, checked as zipfile does."""
    header = content[info.header_offset : info.header_offset + _LOCAL_HEADER.size]
    name_length, extra_length = _LOCAL_HEADER.unpack(header)
    start = info.header_offset + len(header) + name_length + extra_length
    packed = io.BytesIO(content[start : start + info.compress_size])
    allowed = Allowance(f"{shown}/{info.filename}", info.file_size, "as much as its archive says")
    unpacked = b"".join(allowed.counted(_decoded(allowed.shown, packed, _PACKINGS[1])))
    if zlib.crc32(unpacked) != info.CRC:
        raise zipfile.BadZipFile(f"wrong checksum of {info.filename!r}")
    return unpacked


def zip_names(stored: BinaryIO) -> list[str]:
    """Return the names of a zip archive's members; none of what is no archive, or a damaged one."""
    try:
        with zipfile.ZipFile(stored) as archive:
            return archive.namelist()
    except (*_ZIP_ERRORS, *_ZIP_REFUSED, OSError):
        return []


def refuse_unreadable(shown: str, start: bytes) -> None:
    """Raise SourceError for the first unpacked bytes of a kind of file that is never read, or for none."""
    if not start:
        raise SourceError(f"{shown}: got nothing after unpacking, expected content. {CUT}.")
    for first_bytes, what, advice in _REFUSED:
        if start.startswith(first_bytes):
            raise SourceError(f"{shown}: got {what}, expected JSON, CSV or Parquet. {advice}.")


def _decoded(shown: str, packed: BinaryIO, packing: _Packing) -> Iterator[bytes]:
    """Give the unpacked pieces of all members or frames, one after the other."""
    decoder, taken = packing.start(), 0
    limit = (_UNPACKED_BYTES,) if packing.is_bounded else ()
    size = _PACKED_BYTES if packing.is_bounded else min(_PACKED_BYTES, _UNBOUNDED_BYTES)
    try:
        while rest := packed.read(size):
            taken += len(rest)
            while rest:
                if decoder.eof:
                    rest = rest.lstrip(packing.padding) if packing.padding else rest
                    if not rest:
                        break
                    decoder = packing.start()
                yield decoder.decompress(rest, *limit)
                rest = decoder.unused_data if decoder.eof else getattr(decoder, "unconsumed_tail", b"")
    except _decoding_errors() as error:
        raise SourceError(
            f"{shown}: got a damaged {packing.what} file ({reason_of(error)}), expected intact data. "
            "Download or copy it again."
        ) from error
    if not decoder.eof:
        raise SourceError(
            f"{shown}: got a {packing.what} file that ends too early (after {taken:,} bytes), "
            f"expected {packing.end}. {CUT}."
        )


def _held(content: BinaryIO, allowed: Allowance) -> io.BytesIO:
    """Return all of a stream in memory."""
    return io.BytesIO(b"".join(allowed.counted(iter(lambda: content.read(BUFFER_BYTES), b""))))


def _member_pieces(shown: str, archive: zipfile.ZipFile, member: str) -> Iterator[bytes]:
    with zip_errors(shown), archive.open(member) as opened:
        while piece := opened.read(_UNPACKED_BYTES):  # never more in all than the archive says
            yield piece


@contextlib.contextmanager
def zip_errors(shown: str) -> Iterator[None]:
    """Turn what opening a zip archive and reading its members can raise into SourceErrors."""
    try:
        yield
    except _ZIP_REFUSED as error:
        raise SourceError(
            f"{shown}: got a zip member that can't be opened ({reason_of(error)}), expected a plain one. "
            f"{_UNPACK}."
        ) from error
    except (*_ZIP_ERRORS, OSError) as error:
        if isinstance(error, OSError) and error.errno not in _DAMAGE:
            raise
        raise SourceError(
            f"{shown}: got a zip file that is damaged or ends too early ({reason_of(error)}), "
            f"expected a complete archive. {CUT}."
        ) from error


def _choose_member(shown: str, members: list[zipfile.ZipInfo], wanted: str | None) -> str:
    # Python 3.11 fails to say whether a member without a name is a folder.
    members = [one for one in members if one.filename and not one.is_dir()]
    names = [one.filename for one in members if not one.filename.startswith("__MACOSX/")]
    if odd := [name for name in names if name.startswith("/") or ".." in PurePosixPath(name).parts]:
        raise SourceError(
            f"{shown}: got members that would lie outside of the archive's folder ({examples(odd)}), "
            f"expected plain names. {_UNPACK}, if you trust it."
        )
    if any(name.endswith("data.pkl") for name in names):
        raise SourceError(f"{shown}: got a PyTorch pickle, expected JSON, CSV or Parquet. {_PICKLE_NOTE}.")
    if wanted is None and names and all(name.endswith(".npy") for name in names):
        arrays = examples([name.removesuffix(".npy") for name in names])
        raise SourceError(
            f"{shown}: got an npz file with the arrays {arrays}, expected JSON, CSV or Parquet. Give word "
            "vectors to swapmix build --embeddings; write other arrays as Parquet, a column each."
        )
    if "[Content_Types].xml" in names:
        raise SourceError(
            f"{shown}: got an Office document, expected JSON, CSV or Parquet. Export it as CSV."
        )
    if wanted is None and _is_log(names):
        raise SourceError(
            f"{shown}: got an inspect_ai log, expected JSON, CSV or Parquet. Give it to an option that takes "
            "models' answers, such as vqa-ce score --predictions."
        )
    chosen = names[0] if wanted is None and len(names) == 1 else wanted
    if chosen in names:
        if any(stat.S_ISLNK(one.external_attr >> 16) for one in members if one.filename == chosen):
            raise SourceError(
                f"{shown}: got a zip member that is a link ({chosen!r}), expected a file. "
                "Pack the file that it leads to."
            )
        return str(chosen)
    listed = examples(names, limit=20) or "none"
    if wanted is None:
        raise SourceError(
            f"{shown}: got a zip with {len(names):,} members ({listed}), expected one. "
            "Name the member: archive.zip/member."
        )
    raise SourceError(
        f"{shown}: got no member {wanted!r}, expected one of {listed}. Check the member's name."
    )


class _Pieces(io.RawIOBase):
    """Pieces of bytes as one raw file, which fills every buffer it is given."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer and return how much of it; less only at the end."""
        at = 0
        while at < len(buffer):
            if not self._rest:
                piece = next(self._pieces, None)
                if piece is None:
                    break
                self._rest = memoryview(piece)
            taken = min(len(self._rest), len(buffer) - at)
            buffer[at : at + taken] = self._rest[:taken]
            self._rest, at = self._rest[taken:], at + taken
        return at


def _file_of(pieces: Iterator[bytes], *, is_whole: bool) -> Any:
    """Return pieces as a file: all of them at once, or one after the other."""
    if is_whole:
        return io.BytesIO(b"".join(pieces))
    return io.BufferedReader(_Pieces(pieces), buffer_size=BUFFER_BYTES)


def _peek(content: Any, length: int) -> bytes:
    """Return the first bytes without moving on."""
    if isinstance(content, io.BytesIO):
        start = content.read(length)
        content.seek(0)
        return start
    return bytes(content.peek(length)[:length])
