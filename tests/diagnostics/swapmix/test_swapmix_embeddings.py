import gzip
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.diagnostics.swapmix.neighbours import (
    encode_similar,
    given_neighbours,
    nearest_neighbours,
    read_similar_classes,
)
from shortcut_miner.errors import BackendError, ShortcutMinerError, SourceError
from shortcut_miner.sources.embeddings import Embeddings, name_vectors, read_embeddings, words_of
from shortcut_miner.sources.opening.files import FileFacts
from shortcut_miner.sources.vector_formats import (
    GLOVE,
    NPZ,
    SPACY,
    VECTORS_PARQUET,
    WORD2VEC_BINARY,
    WORD2VEC_TEXT,
)

WORDS = ("cat", "fire_hydrant", "tennis", "racket", "...", "dog")
VECTORS = np.random.default_rng(0).normal(size=(len(WORDS), 4)).astype(np.float32)
NAMES = ["cat", "dog", "fire hydrant", "tennis racket", "unknown thing"]


def text_lines() -> list[str]:
    return [f"{word} {' '.join(map(repr, row.tolist()))}" for word, row in zip(WORDS, VECTORS, strict=True)]


def write(kind: str, folder: Path) -> Path:
    path = folder / "vectors.bin"
    header = f"{len(WORDS)} 4\n"
    if kind == GLOVE:
        path.write_text("\n".join(text_lines()) + "\n")
    elif kind == WORD2VEC_TEXT:
        path.write_text(header + "\n".join(text_lines()) + "\n")
    elif kind == WORD2VEC_BINARY:
        rows = (word.encode() + b" " + row.tobytes() for word, row in zip(WORDS, VECTORS, strict=True))
        path.write_bytes(header.encode() + b"\n".join(rows))
    elif kind == NPZ:
        with path.open("wb") as file:
            np.savez(file, words=np.array(WORDS), vectors=VECTORS)
    else:
        pl.DataFrame({"word": WORDS, "vector": VECTORS.astype(np.float64).tolist()}).write_parquet(path)
    return path


@pytest.mark.parametrize("kind", [GLOVE, WORD2VEC_TEXT, WORD2VEC_BINARY, NPZ, VECTORS_PARQUET])
@pytest.mark.parametrize("is_packed", [False, True])
def test_every_format_gives_the_same_vectors(kind: str, is_packed: bool, tmp_path: Path) -> None:
    path = write(kind, tmp_path)
    if is_packed and kind != NPZ:
        path.write_bytes(gzip.compress(path.read_bytes()))
    found = read_embeddings(path, words_of(NAMES))
    assert found.kind == kind
    assert sorted(found.words) == ["cat", "dog", "fire_hydrant", "racket", "tennis"]
    vectors, how = name_vectors(found, NAMES)
    assert how == ["exact", "exact", "underscores", "mean of words", None]
    assert np.allclose(vectors[0], VECTORS[0])
    assert np.allclose(vectors[3], VECTORS[[2, 3]].astype(np.float64).mean(axis=0))
    assert np.isnan(vectors[4]).all()
    assert found.notes[0] == f"{kind}: 5 of {len(words_of(NAMES))} words looked for, 4 dimensions"


def test_spacy_pipeline(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("en")
    for word, vector in zip(WORDS, VECTORS, strict=True):
        pipeline.vocab.set_vector(word, vector)
    pipeline.to_disk(tmp_path / "pipeline")
    found = read_embeddings(tmp_path / "pipeline", words_of(NAMES))
    assert found.kind == SPACY
    assert name_vectors(found, NAMES)[1] == ["exact", "exact", "underscores", "mean of words", None]
    assert np.allclose(name_vectors(found, ["dog"])[0], VECTORS[5])
    spacy.blank("en").to_disk(tmp_path / "bare")
    with pytest.raises(SourceError, match="which has no word vectors"):
        read_embeddings(tmp_path / "bare", ["cat"])


def test_words_with_blanks_and_repeated_words(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text("cat 1 2\nfire hydrant 3 4\ncat 5 6\n. . . 7 8\n")
    found = read_embeddings(path, ["cat", "fire hydrant"])
    assert dict(zip(found.words, found.vectors.tolist(), strict=True)) == {
        "cat": [1.0, 2.0],
        "fire hydrant": [3.0, 4.0],
    }
    assert found.notes[1] == "words that the file repeats: 1; the first vector counts"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"cat 1 2\ndog 1\n", "line 2: got 1 numbers, expected 2"),
        (b"cat 1 2\ndog 1 x\n", "line 2: got b'dog 1 x'..., expected a word and 2 numbers"),
        (b"cat 1 2\ndog 1 nan\n", "got NaN or infinite numbers in the vectors of 'dog'"),
        (b"hello there\n", "expected word vectors"),
        (
            b"3 2\ncat \x00\x00\x80\x3f\x00\x00\x80\x3f\n",
            "got 1 whole vectors, expected 3 as its header says",
        ),
        (b"", "got an empty file"),
    ],
)
def test_broken_files_are_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_bytes(content)
    with pytest.raises(SourceError) as caught:
        read_embeddings(path, ["cat", "dog"])
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_text_inside_a_zip(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "glove.zip", "w") as archive:
        archive.writestr("glove.2d.txt", "cat 1 2\n")
        archive.writestr("glove.3d.txt", "cat 1 2 3\n")
    found = read_embeddings(tmp_path / "glove.zip" / "glove.3d.txt", ["cat"])
    assert found.vectors.tolist() == [[1.0, 2.0, 3.0]]
    assert found.file.member == "glove.3d.txt"
    with pytest.raises(SourceError, match="got a zip with 2 members"):
        read_embeddings(tmp_path / "glove.zip", ["cat"])


def test_what_is_no_embedding_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="expected a file, or the name or folder of an installed"):
        read_embeddings("no_such_pipeline", ["cat"])
    with pytest.raises(SourceError, match="no such file"):
        read_embeddings(tmp_path / "missing.txt", ["cat"])
    np.savez(tmp_path / "a.npz", words=np.array(WORDS), vectors=VECTORS[:2])
    np.savez(tmp_path / "b.npz", words=np.array(WORDS, dtype=object), vectors=VECTORS)
    np.savez(tmp_path / "c.npz", words=np.array(WORDS), other=VECTORS)
    for name, message in (
        ("a", "expected texts and one row of numbers for each"),
        ("b", "expected a plain array"),
        ("c", "expected words and vectors"),
    ):
        with pytest.raises(SourceError, match=message):
            read_embeddings(tmp_path / f"{name}.npz", ["cat"])
    pl.DataFrame({"word": ["a", "b"], "vector": [[1.0], [1.0, 2.0]]}).write_parquet(tmp_path / "d")
    with pytest.raises(SourceError, match="expected one length"):
        read_embeddings(tmp_path / "d", ["a", "b"])


def embeddings(vectors: Any) -> Embeddings:
    words = [f"n{number}" for number in range(len(vectors))]
    facts = FileFacts(name="v", size=1, sha256="")
    return Embeddings(words=words, vectors=np.array(vectors, np.float64), kind=GLOVE, file=facts)


@given(
    st.lists(st.tuples(*[st.integers(-2, 2)] * 3), min_size=1, max_size=8),
    st.sampled_from([-1.0, 0.0, 0.5, 0.9]),
)
def test_neighbours_equal_brute_force(vectors: list[tuple[int, ...]], least: float) -> None:
    found = nearest_neighbours(pl.Series([f"n{n}" for n in range(len(vectors))]), embeddings(vectors), least)
    expected = []
    for one, left in enumerate(vectors):
        near = []
        for other, right in enumerate(vectors):
            norms = np.linalg.norm(left) * np.linalg.norm(right)
            if one != other and norms > 0:
                cosine = round(float(np.dot(left, right) / norms), 6)
                near += [(-cosine, f"n{other}")] if cosine >= least else []
        expected += [(f"n{one}", other, -negative) for negative, other in sorted(near)]
    assert [row[:2] for row in found.table.rows()] == [row[:2] for row in expected]
    assert found.table["cosine"].to_list() == pytest.approx([row[2] for row in expected], abs=1e-9)
    zeros = tuple(f"n{n}" for n, vector in enumerate(vectors) if not any(vector))
    assert found.without_vector == zeros


def test_given_neighbours(tmp_path: Path) -> None:
    path = tmp_path / "obj_matching.json"
    path.write_text('{"a": {"c": 0.6, "b": 0.6, "a": 1.0, "z": 0.9}, "b": {"a": 0.4}}')
    table = read_similar_classes(path).table
    names = pl.Series(["a", "b", "c"])
    found = given_neighbours(names, table, 0.5)
    assert found.table.rows() == [("a", "b", 0.6), ("a", "c", 0.6)]
    assert found.without_vector == ("c",)
    similar = encode_similar(names, found)
    assert (similar.start.tolist(), similar.ids.tolist()) == ([0, 2, 2, 2], [1, 2])
    found.table.write_parquet(tmp_path / "similar_classes.parquet")
    again = read_similar_classes(tmp_path / "similar_classes.parquet").table
    assert given_neighbours(names, again, 0.5).table.equals(found.table)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "got an empty JSON list, expected a Parquet table with class"),
        ('{"a": ["b"]}', "'a' with other values"),
        ('{"a": {"b": 2}}', "'a' with other values"),
        ('{"a": {"b": 0.5}', "expected its end"),
    ],
)
def test_other_neighbours_are_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "near.json"
    path.write_text(text)
    with pytest.raises(ShortcutMinerError, match=message):
        read_similar_classes(path)


def test_repeated_and_missing_neighbours_are_refused(tmp_path: Path) -> None:
    rows = {"class": ["a", "a"], "neighbour": ["b", "b"], "cosine": [0.5, 0.6]}
    pl.DataFrame(rows).write_parquet(tmp_path / "twice")
    with pytest.raises(SourceError, match="got neighbours of 'a' twice"):
        read_similar_classes(tmp_path / "twice")
    pl.DataFrame(rows | {"cosine": [0.5, 1.5]}).write_parquet(tmp_path / "far")
    with pytest.raises(SourceError, match=r"row 1, cosine: got 1\.5"):
        read_similar_classes(tmp_path / "far")


def test_blanks_at_the_end_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text("dog 0.5 0.25 \ncat 1 2 \n")
    found = read_embeddings(path, ["dog", "cat"])
    assert (found.words, found.vectors.tolist()) == (["dog", "cat"], [[0.5, 0.25], [1.0, 2.0]])
