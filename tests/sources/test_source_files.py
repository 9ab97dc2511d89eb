import bz2
import gzip
import hashlib
import io
import pickle
import zipfile
from pathlib import Path

import pytest
import zstandard

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.opening.files import open_source, read_bytes

TEXT = b'{"questions": [1, 2, 3]}\n' * 40


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def zst(content: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(content)  # as the zstd program does


PACKED = {
    "plain": (TEXT, ()),
    "with a byte order mark": (b"\xef\xbb\xbf" + TEXT, ()),
    "gzip": (gzip.compress(TEXT, mtime=0), ("gzip",)),
    "gzip of a text with a byte order mark": (gzip.compress(b"\xef\xbb\xbf" + TEXT, mtime=0), ("gzip",)),
    "gzip of two parts": (gzip.compress(TEXT[:100], mtime=0) + gzip.compress(TEXT[100:], mtime=0), ("gzip",)),
    "zstd": (zst(TEXT), ("zstd",)),
    "zstd of two frames": (zst(TEXT[:100]) + zst(TEXT[100:]), ("zstd",)),
    "zip": (zipped(inside=TEXT), ("zip",)),
    "zip of gzip": (zipped(inside=gzip.compress(TEXT, mtime=0)), ("zip", "gzip")),
    "zip with Finder's folder": (zipped(**{"__MACOSX/._inside": b"x", "inside": TEXT}), ("zip",)),
}


@pytest.mark.parametrize("name", ["data", "data.json", "data.gz", "data.zip", "data.pkl"])
@pytest.mark.parametrize("packing", PACKED)
def test_content_is_recognised_whatever_the_name(tmp_path: Path, packing: str, name: str) -> None:
    stored, layers = PACKED[packing]
    path = tmp_path / name
    path.write_bytes(stored)
    source = open_source(path)
    assert source.content == TEXT
    assert source.packing == layers


def test_facts_are_of_the_stored_file(tmp_path: Path) -> None:
    path = tmp_path / "questions.json.gz"
    path.write_bytes(stored := gzip.compress(TEXT, mtime=0))
    facts = open_source(str(path)).facts()
    assert (facts.name, facts.size, facts.member) == ("questions.json.gz", len(stored), None)
    assert facts.sha256 == hashlib.sha256(stored).hexdigest()


def test_a_member_of_a_zip_is_named_in_the_path(tmp_path: Path) -> None:
    path = tmp_path / "all.zip"
    path.write_bytes(zipped(**{"val/q.json": TEXT, "train/q.json": b"[]"}))
    source = open_source(path / "val" / "q.json")
    assert source.content == TEXT
    assert (source.facts().name, source.facts().member) == ("all.zip", "val/q.json")


def message_of(path: Path) -> str:
    with pytest.raises(SourceError) as caught:
        read_bytes(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert ": got " in message
    assert ", expected " in message
    return message.removeprefix(str(path))


def test_several_members_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "all.zip"
    path.write_bytes(zipped(**{"a.json": TEXT, "b.json": TEXT}))
    assert message_of(path) == (
        ": got a zip with 2 members ('a.json', 'b.json'), expected one. Name the member: archive.zip/member."
    )
    assert message_of(path / "c.json") == (
        ": got no member 'c.json', expected one of 'a.json', 'b.json'. Check the member's name."
    )


def test_an_empty_zip_has_no_member(tmp_path: Path) -> None:
    path = tmp_path / "none.zip"
    path.write_bytes(zipped())
    assert "a zip with 0 members (none)" in message_of(path)


def test_a_missing_file_suggests_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "questions_val.json").write_bytes(TEXT)
    assert message_of(tmp_path / "questions_vel.json") == (
        ": got no such file, expected a file to read. Check the path; its folder has 'questions_val.json'."
    )
    assert message_of(tmp_path / "no folder" / "x") == (
        ": got no such file, expected a file to read. Check the path."
    )


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert message_of(tmp_path) == ": got a folder, expected a file. Give one of the files inside it."


def test_a_member_of_a_plain_file(tmp_path: Path) -> None:
    (tmp_path / "q.json").write_bytes(TEXT)
    assert "a path inside a file that is no zip archive" in message_of(tmp_path / "q.json" / "member")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (PermissionError(13, "Permission denied"), "got no permission to read it, expected a readable file"),
        (FileNotFoundError(2, "vanished"), "got no such file, expected a file to read"),
        (OSError(5, "Input/output error"), "got Input/output error, expected a readable file"),
    ],
)
def test_the_system_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, expected: str
) -> None:
    path = tmp_path / "q.json"
    path.write_bytes(TEXT)

    def refuse(self: Path) -> bytes:
        raise error

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert expected in message_of(path)


def test_an_empty_file_and_an_empty_archive(tmp_path: Path) -> None:
    path = tmp_path / "q.json"
    path.write_bytes(b"")
    assert message_of(path) == (
        ": got an empty file (0 bytes), expected content. Download or copy it again: it was probably cut."
    )
    path.write_bytes(gzip.compress(b""))
    assert "got nothing after unpacking, expected content" in message_of(path)
    path.write_bytes(b"\xef\xbb\xbf")
    assert "got nothing after unpacking, expected content" in message_of(path)


@pytest.mark.parametrize("pack", [gzip.compress, zst, lambda text: zipped(inside=text)])
def test_every_cut_of_a_packed_file_is_told(tmp_path: Path, pack) -> None:  # type: ignore[no-untyped-def]
    stored = pack(TEXT)
    path = tmp_path / "packed"
    for cut in range(6, len(stored) - 1):
        path.write_bytes(stored[:cut])
        message = message_of(path)
        assert "too early" in message
        assert message.endswith("Download or copy it again: it was probably cut.")


@pytest.mark.parametrize(
    ("pack", "expected"),
    [(gzip.compress, "damaged gzip"), (zst, "damaged Zstandard"), (lambda text: zipped(a=text), "damaged")],
)
def test_a_flipped_byte_is_told(tmp_path: Path, pack, expected: str) -> None:  # type: ignore[no-untyped-def]
    stored = bytearray(pack(bytes(range(256)) * 20))
    for place in range(len(stored) // 3, len(stored) // 3 + 8):
        stored[place] ^= 0xFF
    path = tmp_path / "packed"
    path.write_bytes(stored)
    assert expected in message_of(path)


def test_an_encrypted_member_is_told(tmp_path: Path) -> None:
    stored = bytearray(zipped(secret=TEXT))
    stored[6] |= 1  # the local header's encryption flag
    stored[stored.index(b"PK\x01\x02") + 8] |= 1  # the directory's
    path = tmp_path / "locked.zip"
    path.write_bytes(stored)
    assert "got a zip member that can't be opened" in message_of(path)
    assert "encrypted" in message_of(path)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("value", [[{"question_id": 1, "answer": "yes"}], {1: "yes"}])
def test_pickles_are_refused_with_a_way_out(tmp_path: Path, value: object, protocol: int) -> None:
    path = tmp_path / "predictions.json"
    path.write_bytes(pickle.dumps(value, protocol=protocol))
    message = message_of(path)
    assert "got a Python pickle, expected JSON, CSV or Parquet. Pickles can run code" in message
    assert "json.dump([{'question_id': id, 'answer': answer}, ...], file)" in message


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (zipped(**{"archive/data.pkl": b"x", "archive/version": b"3"}), "a PyTorch pickle"),
        (zipped(**{"[Content_Types].xml": b"x", "xl/workbook.xml": b"x"}), "an Office document"),
        (bz2.compress(TEXT), "a bzip2 file"),
        (b"\x89HDF\r\n\x1a\n" + bytes(20), "an HDF5 file"),
        (b"\x93NUMPY" + bytes(20), "a NumPy array"),
        ("[1]".encode("utf-16"), "UTF-16 text"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "a Git LFS pointer"),
        (b"<!DOCTYPE html><html>", "an HTML page"),
        (gzip.compress(b"<html><head>", mtime=0), "an HTML page"),
    ],
)
def test_other_kinds_are_named(tmp_path: Path, content: bytes, what: str) -> None:
    path = tmp_path / "data.json"
    path.write_bytes(content)
    assert f": got {what}, expected JSON, CSV or Parquet. " in message_of(path)


def test_a_file_that_vanishes_between_two_reads(tmp_path: Path) -> None:
    path = tmp_path / "q.json"
    path.write_bytes(TEXT)
    assert read_bytes(path) == TEXT
    path.unlink()
    assert "got no such file" in message_of(path)
