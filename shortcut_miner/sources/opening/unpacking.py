"""Removing compression (gzip, Zstandard, zip) by the first bytes; other packed files are refused."""

import gzip
import io
import zipfile
import zlib
from dataclasses import dataclass

from shortcut_miner.errors import SourceError, examples

UTF8_BOM = b"\xef\xbb\xbf"
MAX_LAYERS = 4
_GZIP, _ZSTD, _ZIP, _EMPTY_ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"PK\x05\x06"
CUT = "Download or copy it again: it was probably cut"
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
    (b"\x89HDF", "an HDF5 file", "Give a file of one of the formats in the documentation"),
    (b"BZh", "a bzip2 file", _UNPACK),
    (b"\xfd7zXZ", "an xz file", _UNPACK),
    (b"7z\xbc\xaf", "a 7-Zip file", _UNPACK),
    (b"Rar!", "a RAR file", _UNPACK),
    (b"\xff\xfe", "UTF-16 text", "Save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "Save it as UTF-8"),
    (b"version https://git-lfs", "a Git LFS pointer", "Fetch the real file with `git lfs pull`"),
    *((start, "an HTML page", "Download the file again: the link gave a web page") for start in _HTML),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """Unpacked content, the layers removed (outermost first) and the zip member chosen."""

    content: bytes
    packing: tuple[str, ...]
    member: str | None


def unpack(shown: str, stored: bytes, member: str | None) -> Layers:
    """Remove compression layers until none is left, then refuse what can't be a text or Parquet file."""
    content, packing, found = stored, [], None
    for _ in range(MAX_LAYERS):
        if content.startswith(_GZIP):
            content = _gunzip(shown, content)
            packing.append("gzip")
        elif content.startswith(_ZSTD):
            content = _unzstd(shown, content)
            packing.append("zstd")
        elif content.startswith((_ZIP, _EMPTY_ZIP)) and found is None:
            content, found = _unzip(shown, content, member)
            packing.append("zip")
        else:
            break
    if member is not None and found is None:
        raise SourceError(
            f"{shown}: got a path inside a file that is no zip archive, expected archive.zip/member. "
            "Check the path."
        )
    content = content.removeprefix(UTF8_BOM)
    if not content:
        raise SourceError(f"{shown}: got nothing after unpacking, expected content. {CUT}.")
    _refuse_unreadable(shown, content)
    return Layers(content=content, packing=tuple(packing), member=found)


def _gunzip(shown: str, packed: bytes) -> bytes:
    try:
        return gzip.decompress(packed)
    except EOFError as error:
        raise SourceError(
            f"{shown}: got a gzip file that ends too early (after {len(packed):,} bytes), "
            f"expected its end marker. {CUT}."
        ) from error
    except (OSError, zlib.error) as error:
        raise SourceError(
            f"{shown}: got a damaged gzip file ({error}), expected intact data. Download or copy it again."
        ) from error


def _unzstd(shown: str, packed: bytes) -> bytes:
    import zstandard

    frames, rest = [], packed
    try:
        while rest:
            frame = zstandard.ZstdDecompressor().decompressobj()
            frames.append(frame.decompress(rest))
            if not frame.eof:
                raise SourceError(
                    f"{shown}: got a Zstandard file that ends too early (after {len(packed):,} bytes), "
                    f"expected its last frame to be complete. {CUT}."
                )
            rest = frame.unused_data
    except zstandard.ZstdError as error:
        raise SourceError(
            f"{shown}: got a damaged Zstandard file ({error}), expected intact data. "
            "Download or copy it again."
        ) from error
    return b"".join(frames)


def _unzip(shown: str, packed: bytes, member: str | None) -> tuple[bytes, str]:
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            name = _choose_member(shown, archive.infolist(), member)
            return archive.read(name), name
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise SourceError(
            f"{shown}: got a zip file that is damaged or ends too early ({error}), "
            f"expected a complete archive. {CUT}."
        ) from error
    except (RuntimeError, NotImplementedError) as error:  # encrypted, or a rare compression
        raise SourceError(
            f"{shown}: got a zip member that can't be opened ({error}), expected a plain one. {_UNPACK}."
        ) from error


def _choose_member(shown: str, members: list[zipfile.ZipInfo], wanted: str | None) -> str:
    names = [one.filename for one in members if not one.is_dir() and not one.filename.startswith("__MACOSX/")]
    if any(name.endswith("data.pkl") for name in names):
        raise SourceError(f"{shown}: got a PyTorch pickle, expected JSON, CSV or Parquet. {_PICKLE_NOTE}.")
    if "[Content_Types].xml" in names:
        raise SourceError(
            f"{shown}: got an Office document, expected JSON, CSV or Parquet. Export it as CSV."
        )
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted in names:
        return str(wanted)
    listed = examples(names, limit=20) or "none"
    if wanted is None:
        raise SourceError(
            f"{shown}: got a zip with {len(names):,} members ({listed}), expected one. "
            "Name the member: archive.zip/member."
        )
    raise SourceError(
        f"{shown}: got no member {wanted!r}, expected one of {listed}. Check the member's name."
    )


def _refuse_unreadable(shown: str, content: bytes) -> None:
    for start, what, advice in _REFUSED:
        if content.startswith(start):
            raise SourceError(f"{shown}: got {what}, expected JSON, CSV or Parquet. {advice}.")
