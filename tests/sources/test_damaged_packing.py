"""Zip members, npz arrays and workbooks that are damaged, or made to ask for more memory than there is."""

import io
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.answers.predictions import read_predictions
from shortcut_miner.sources.embeddings import read_embeddings
from shortcut_miner.sources.opening.npz import npz_names, read_npz
from shortcut_miner.sources.recognise import recognise

RESULTS = b'[{"question_id": 1, "answer": "red"}]'


def zipped(compression: int, content: bytes = RESULTS, name: str = "r.json") -> bytearray:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as archive:
        archive.writestr(name, content)
    return bytearray(packed.getvalue())


def refused(path: Path) -> str:
    with pytest.raises(SourceError) as caught:
        read_predictions(path)
    with pytest.raises(SourceError) as again:
        recognise(path)
    assert str(again.value) == str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, zipfile.ZIP_DEFLATED])
def test_members_of_any_compression_are_read_or_refused(compression: int, tmp_path: Path) -> None:
    path = tmp_path / "r.zip"
    path.write_bytes(whole := zipped(compression))
    assert read_predictions(path).table.rows() == [("1", "red")]
    assert recognise(path).packing == ("zip",)
    start = whole.index(b"r.json") + len("r.json") + (9 if compression == zipfile.ZIP_LZMA else 4)
    whole[start : start + 8] = b"\xa5" * 8
    path.write_bytes(whole)
    assert refused(path).startswith(f"{path}: got a zip file that is damaged or ends too early (")


def test_encrypted_and_unknown_members_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.zip"
    encrypted = zipped(zipfile.ZIP_STORED)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        encrypted[encrypted.index(signature) + offset] |= 1
    path.write_bytes(encrypted)
    assert "got a zip member that can't be opened (" in refused(path)
    unknown = zipped(zipfile.ZIP_STORED)
    for signature, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        unknown[unknown.index(signature) + offset] = 77
    path.write_bytes(unknown)
    assert "got a zip member that can't be opened (That compression method is not supported)" in refused(path)


# ---- npz ----


def vectors_file(path: Path, words: np.ndarray, vectors: np.ndarray) -> Path:
    np.savez(path, words=words, vectors=vectors, allow_pickle=True)
    return path


def test_arrays_are_read_by_name(tmp_path: Path) -> None:
    path = vectors_file(tmp_path / "v.npz", np.array(["dog"]), np.ones((1, 2)))
    assert {"words", "vectors"} <= {*npz_names(path)}
    assert read_npz(path, ["words"])["words"].tolist() == ["dog"]
    path.write_bytes(b"PK\x03\x04" + b"x" * 50)
    assert npz_names(path) == []


@pytest.mark.parametrize(
    ("words", "vectors", "told"),
    [
        (np.array(["a"], object), np.ones((1, 2)), "got an array 'words.npy' that can't be read (Object"),
        (np.array(["a"]), np.ones(2), "got words of shape (1,) (<U1) and vectors of shape (2,) (float64)"),
        (np.array("a"), np.ones((1, 2)), "got words of shape () (<U1)"),
        (np.array([b"\xff"]), np.ones((1, 2)), "got words that are no UTF-8"),
        (np.array(["a"]), np.ones((1, 2), complex), "vectors of shape (1, 2) (complex128)"),
    ],
)
def test_arrays_that_are_no_vectors_are_refused(
    words: np.ndarray, vectors: np.ndarray, told: str, tmp_path: Path
) -> None:
    path = vectors_file(tmp_path / "v.npz", words, vectors)
    with pytest.raises(SourceError) as caught:
        read_embeddings(path, ["a"])
    assert str(caught.value).startswith(f"{path}: got ")
    assert told in str(caught.value)


@pytest.mark.parametrize("shape", ["(99999999999999, 99)", "(-1,)", "(1, 2", "'x'", "(1,) * 9"])
def test_headers_are_not_believed(shape: str, tmp_path: Path) -> None:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    path = tmp_path / "v.npz"
    path.write_bytes(zipped(zipfile.ZIP_STORED, array, "vectors.npy"))
    with pytest.raises(SourceError, match=r"v.npz: got an array 'vectors.npy' that can't be read \("):
        read_embeddings(path, ["a"])


def test_other_arrays_are_named(tmp_path: Path) -> None:
    path = tmp_path / "answers.npz"
    np.savez(path, question_id=np.array([1]), answer=np.array(["red"]))
    assert refused(path) == (
        f"{path}: got an npz file with the arrays 'question_id', 'answer', expected JSON, CSV or Parquet. "
        "Give word vectors to swapmix build --embeddings; write other arrays as Parquet, a column each."
    )


# ---- workbooks ----


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("A99999999999", "got a cell 'A99999999999', expected none beyond 'XFD1048576'"),
        ("XFE1", "got a cell 'XFE1', expected none beyond 'XFD1048576'"),
        ("XFD1048576", "got cells as far as row 1,048,576 and column 16,384, expected at most"),
    ],
)
def test_far_cells_are_refused_before_memory_is_asked_for(cell: str, told: str, tmp_path: Path) -> None:
    packed = io.BytesIO()
    pl.DataFrame({"question_id": [1], "answer": ["red"]}).write_excel(packed)
    path = tmp_path / "r.xlsx"
    with zipfile.ZipFile(packed) as whole, zipfile.ZipFile(path, "w") as moved:
        for name in whole.namelist():
            content = whole.read(name)
            if name.startswith("xl/worksheets/sheet"):
                assert content.count(b'r="B2"') == 1
                content = content.replace(b'r="B2"', f'r="{cell}"'.encode())
            moved.writestr(name, content)
    assert refused(path).startswith(f"{path}, xl/worksheets/sheet1.xml: {told}")
