"""What is opened as a stream is opened as the whole is: the same bytes, facts and words."""

import gzip
import hashlib
import io
import zipfile
from pathlib import Path

import pytest
import zstandard
from sources.test_source_files import PACKED, TEXT, zipped, zst

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.opening import containers
from shortcut_miner.sources.opening.files import open_source
from shortcut_miner.sources.opening.streams import file_lines, open_stream, start_of


def read_stream(path: Path) -> bytes:
    with open_stream(path) as stream:
        return stream.content.read()


def told(path: Path) -> tuple[str, str]:
    """Return what the whole and the stream say of a file that can't be read."""
    messages = []
    for read in (open_source, read_stream):
        with pytest.raises(SourceError) as caught:
            read(path)
        messages.append(str(caught.value))
    return messages[0], messages[1]


@pytest.mark.parametrize("packed_bytes", [1, 7, 1 << 16])
@pytest.mark.parametrize("packing", PACKED)
def test_both_give_the_same_content_and_facts(
    tmp_path: Path, packing: str, packed_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containers, "_PACKED_BYTES", packed_bytes)
    stored, layers = PACKED[packing]
    path = tmp_path / "data"
    path.write_bytes(stored)
    source = open_source(path)
    with open_stream(path) as stream:
        assert stream.start() == TEXT
        assert stream.content.read() == source.content == TEXT
        assert stream.packing == source.packing == layers
        assert stream.facts() == source.facts()
    assert start_of(path) == TEXT
    assert list(file_lines(path)) == TEXT.splitlines()


@pytest.mark.parametrize("pack", [lambda text: gzip.compress(text, mtime=0), zst])
def test_every_member_and_frame_is_read(tmp_path: Path, pack) -> None:  # type: ignore[no-untyped-def]
    pieces = [b"%d\n" % number * 50_000 for number in range(7)]
    path = tmp_path / "many"
    path.write_bytes(b"".join(map(pack, pieces)))
    assert open_source(path).content == read_stream(path) == b"".join(pieces)
    path.write_bytes(b"".join(map(pack, pieces))[:-3])
    assert all("ends too early" in message for message in told(path))


def test_zeros_after_a_gzip_file_are_padding(tmp_path: Path) -> None:
    path = tmp_path / "padded"
    path.write_bytes(gzip.compress(TEXT, mtime=0) + bytes(1000))
    assert open_source(path).content == read_stream(path) == TEXT
    path.write_bytes(gzip.compress(TEXT, mtime=0) + b"garbage")
    assert all("got a damaged gzip file" in message for message in told(path))


@pytest.mark.parametrize("pack", [gzip.compress, zst, lambda text: zipped(inside=text)])
def test_every_cut_is_told_in_the_same_words(tmp_path: Path, pack) -> None:  # type: ignore[no-untyped-def]
    stored = pack(TEXT)
    path = tmp_path / "packed"
    for cut in range(6, len(stored) - 1):
        path.write_bytes(stored[:cut])
        whole, stream = told(path)
        assert whole == stream
        assert "too early" in whole


@pytest.mark.parametrize(
    "content",
    [
        b"",
        gzip.compress(b"", mtime=0),
        b"\xef\xbb\xbf",
        b"\x80\x04]q\x00.",
        b"<!DOCTYPE html>",
        b"\x89HDF\r\n\x1a\n",
        zipped(),
        zipped(a=b"1", b=b"2"),
        zipped(**{"archive/data.pkl": b"x"}),
        zipped(**{"[Content_Types].xml": b"x", "xl/workbook.xml": b"x"}),
        zst(bytes(range(256)) * 20)[:40] + bytes(8) + zst(bytes(range(256)) * 20)[48:],
    ],
)
def test_what_is_not_read_is_told_in_the_same_words(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "data.json"
    path.write_bytes(content)
    whole, stream = told(path)
    assert whole == stream


def test_paths_are_told_in_the_same_words(tmp_path: Path) -> None:
    (tmp_path / "questions_val.json").write_bytes(TEXT)
    (tmp_path / "all.zip").write_bytes(zipped(a=TEXT, b=TEXT))
    for name in ("questions_vel.json", "", "questions_val.json/member", "all.zip/c"):
        whole, stream = told(tmp_path / name)
        assert whole == stream


def test_a_zip_inside_gzip_and_zstd(tmp_path: Path) -> None:
    path = tmp_path / "inner"
    path.write_bytes(zstandard.compress(gzip.compress(zipped(x=TEXT))))
    with open_stream(path) as stream:
        assert stream.content.read() == open_source(path).content == TEXT
        assert stream.packing == ("zstd", "gzip", "zip")
        assert stream.facts().member == "x"


def test_layers_are_not_removed_without_end(tmp_path: Path) -> None:
    path = tmp_path / "deep"
    deep = TEXT
    for _ in range(6):
        deep = gzip.compress(deep, mtime=0)
    path.write_bytes(deep)
    assert open_source(path).packing == ("gzip",) * 4
    assert open_source(path).content == read_stream(path)
    assert gzip.decompress(gzip.decompress(read_stream(path))) == TEXT


def test_a_workbook_is_kept_or_refused(tmp_path: Path) -> None:
    book = zipped(**{"[Content_Types].xml": b"x", "xl/workbook.xml": b"x"})
    path = tmp_path / "book.xlsx"
    path.write_bytes(book)
    source = open_source(path, keep_workbooks=True)
    assert (source.content, source.packing, source.member) == (book, (), None)
    assert source.facts().sha256 == hashlib.sha256(book).hexdigest()
    with pytest.raises(SourceError, match="got an Office document"):
        open_source(path / "xl" / "workbook.xml", keep_workbooks=True)
    path.write_bytes(gzip.compress(book))
    assert open_source(path, keep_workbooks=True).content == book


def test_a_member_is_read_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "all.zip"
    large = b"0123456789" * 300_000
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/large", large)
        archive.writestr("b", b"x")
    path.write_bytes(buffer.getvalue())
    with open_stream(path / "a" / "large") as stream:
        assert stream.start() == large[: 1 << 16]
        assert stream.content.read(5) == b"01234"
        assert stream.content.read() == large[5:]
        assert stream.facts().member == "a/large"
