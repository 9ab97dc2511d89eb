"""Word vectors: GloVe or word2vec text, word2vec binary, npz, Parquet, or a spaCy pipeline.

Only the words asked for are kept, so files of several gigabytes need little memory.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.columnar import PARQUET_MAGIC
from shortcut_miner.errors import BackendError, SourceError, examples, missing_library
from shortcut_miner.sources.opening.columns import Column
from shortcut_miner.sources.opening.files import FileFacts, Version, facts_of_all, file_facts
from shortcut_miner.sources.opening.flat_tables import FlatTable, open_columns
from shortcut_miner.sources.opening.kinds import wrong_kind
from shortcut_miner.sources.opening.npz import npz_names, read_npz
from shortcut_miner.sources.opening.streams import Stream, open_stream, start_of
from shortcut_miner.sources.opening.table_columns import read_kept
from shortcut_miner.sources.recognise import shape_of_file
from shortcut_miner.sources.vector_formats import (
    GLOVE,
    NPZ,
    SPACY,
    VECTORS,
    VECTORS_PARQUET,
    WORD2VEC_TEXT,
    WORDS,
    header_of,
    vectors_kind,
)

Vectors = NDArray[np.float64]

_CHUNK = 1 << 22
_MAX_WORD = 2000  # bytes; a longer one means that the file is no word2vec binary


@dataclass(frozen=True, slots=True, kw_only=True)
class Embeddings:
    """Vectors of the words that were asked for and found.

    Attributes
    ----------
    words : list of str
        Each once: of a word that the file repeats, the first.
    vectors : ndarray of float64, words x dimensions
    kind : str
        The format.
    file : FileFacts
        What was read.
    notes : tuple of str
        What was decided, in words.
    """

    words: list[str]
    vectors: Vectors
    kind: str
    file: FileFacts
    notes: tuple[str, ...] = ()


def read_embeddings(source: str | os.PathLike[str], wanted: Collection[str]) -> Embeddings:
    """Return the vectors of some words.

    Parameters
    ----------
    source : path-like or str
        A file (plain, .gz, .zst or a zip's member), a spaCy pipeline's folder, or the name of an installed
        pipeline. Formats are told apart by content. npz: an array of words and one of vectors; Parquet: a
        column ``word`` and a column ``vector`` of lists.
    wanted : collection of str
        Words to keep; names of several words too, if the file has them.

    Raises
    ------
    SourceError
        The file can't be read or is of no such format; a vector is of another length than the others, or
        has a value that is no number.
    BackendError
        A spaCy pipeline is named, but spaCy or the pipeline is not installed.
    """
    path = Path(source)
    if path.is_dir() or not _is_path(path):
        return _read_spacy(str(source), wanted)
    if path.is_file() and npz_names(path):
        return _read_npz(path, wanted)
    if start_of(path).startswith(PARQUET_MAGIC):
        return _read_parquet(path, wanted)
    with open_stream(path, keep_workbooks=True) as stream:
        return _read_text_or_binary(stream, wanted)


def words_of(names: Iterable[str]) -> set[str]:
    """Return everything under which the vectors of `names` are looked up: see :func:`name_vectors`.

    >>> sorted(words_of(["fire hydrant"]))
    ['fire', 'fire hydrant', 'fire_hydrant', 'hydrant']
    """
    return {word for name in names for word in (name, name.replace(" ", "_"), *name.split())}


def name_vectors(embeddings: Embeddings, names: Iterable[str]) -> tuple[Vectors, list[str | None]]:
    """Return one vector per name, and how it was found.

    A name is looked up as it is, then with ``_`` for blanks, then as the mean of its words, if all are there.

    Returns
    -------
    vectors : ndarray of float64, names x dimensions
        NaN for names that were not found.
    found : list of str or None
        "exact", "underscores", "mean of words", or None.

    Examples
    --------
    >>> facts = FileFacts(name="v.txt", size=1, sha256="")
    >>> two = Embeddings(words=["cat", "a_b", "c"], vectors=np.eye(3), kind=GLOVE, file=facts)
    >>> name_vectors(two, ["cat", "a b", "cat c", "cat d"])[1]
    ['exact', 'underscores', 'mean of words', None]
    """
    place = {word: at for at, word in enumerate(embeddings.words)}
    listed = list(names)
    vectors = np.full((len(listed), embeddings.vectors.shape[1]), np.nan)
    found: list[str | None] = []
    for row, name in enumerate(listed):
        joined = name.replace(" ", "_")
        parts = [place.get(word, -1) for word in name.split()]
        if name in place:
            vectors[row], how = embeddings.vectors[place[name]], "exact"
        elif joined in place:
            vectors[row], how = embeddings.vectors[place[joined]], "underscores"
        elif parts and min(parts) >= 0:
            vectors[row], how = embeddings.vectors[parts].mean(axis=0), "mean of words"
        else:
            how = None
        found.append(how)
    return vectors, found


def _is_path(path: Path) -> bool:
    """Return whether a path exists, as a file or as a zip's member; else it may name a pipeline."""
    is_there = path.exists() or any(parent.is_file() for parent in path.parents)
    return is_there or bool(path.suffix) or len(path.parts) > 1


def _read_text_or_binary(stream: Stream, wanted: Collection[str]) -> Embeddings:
    start = stream.start()
    kind = vectors_kind(start)
    if kind is None:
        expected = "word vectors: a word and its numbers a line, a word2vec header, npz or Parquet"
        raise wrong_kind(stream.path, shape_of_file(stream.path), expected)
    if kind == GLOVE:
        size = len(start.partition(b"\n")[0].rstrip(b"\r ").split(b" ")) - 1
        return _collect(stream, _text_rows(stream, size, wanted), size, kind, wanted)
    count, size = header_of(start) or (0, 0)
    stream.content.readline()
    is_text = kind == WORD2VEC_TEXT
    rows = _text_rows(stream, size, wanted, 1) if is_text else _binary_rows(stream, count, size, wanted)
    return _collect(stream, rows, size, kind, wanted)


Rows = Iterator[tuple[str, Vectors]]


def _text_rows(stream: Stream, size: int, wanted: Collection[str], before: int = 0) -> Rows:
    first_parts = {word.split(" ")[0].encode() for word in wanted}
    for number, line in stream.lines():
        if line.partition(b" ")[0] not in first_parts:
            continue
        *word, rest = line.rstrip(b" ").split(b" ", line.rstrip(b" ").count(b" ") - size + 1)
        fields = rest.split(b" ")
        where = f"{stream.path}: line {number + before:,}"
        if len(fields) != size or not word:
            raise SourceError(
                f"{where}: got {len(line.split()) - 1} numbers, expected {size} as in the first line. "
                "Download or copy it again, or remove the line."
            )
        try:
            yield b" ".join(word).decode(), np.array(fields, dtype="S").astype(np.float64)
        except (ValueError, UnicodeDecodeError) as error:
            raise SourceError(
                f"{where}: got {line[:40]!r}..., expected a word and {size} numbers. Correct the line."
            ) from error


def _binary_rows(stream: Stream, count: int, size: int, wanted: Collection[str]) -> Rows:
    known = {word.encode(): word for word in wanted}
    buffer, at = b"", 0
    for row in range(count):
        while (blank := buffer.find(b" ", at)) < 0 or len(buffer) < blank + 1 + 4 * size:
            more = stream.content.read(_CHUNK)
            if not more or (blank < 0 and len(buffer) - at > _MAX_WORD):
                raise SourceError(
                    f"{stream.path}: got {row:,} whole vectors, expected {count:,} as its header says. "
                    "Download or copy it again: it was probably cut, or is of another format."
                )
            buffer, at = buffer[at:] + more, 0
        word = buffer[at:blank].strip(b"\n")
        if word in known:
            yield known[word], np.frombuffer(buffer, "<f4", size, blank + 1).astype(np.float64)
        at = blank + 1 + 4 * size


def _collect(stream: Stream, rows: Rows, size: int, kind: str, wanted: Collection[str]) -> Embeddings:
    return _embeddings(rows, size, kind, wanted, stream.path, stream.facts)


def _embeddings(
    rows: Iterable[tuple[str, Vectors]],
    size: int,
    kind: str,
    wanted: Collection[str],
    shown: str,
    facts: Callable[[], FileFacts],
) -> Embeddings:
    asked, kept, repeated = set(wanted), dict[str, Vectors](), 0
    for word, vector in rows:
        if word in asked:
            repeated += word in kept
            kept.setdefault(word, vector)
    vectors = np.array(list(kept.values()), np.float64).reshape(len(kept), size)
    broken = [word for word, vector in kept.items() if not np.isfinite(vector).all()]
    if broken:
        raise SourceError(
            f"{shown}: got NaN or infinite numbers in the vectors of {examples(broken)}, expected numbers. "
            "Remove these words."
        )
    notes = [f"{kind}: {len(kept):,} of {len(asked):,} words looked for, {size} dimensions"]
    if repeated:
        notes.append(f"words that the file repeats: {repeated:,}; the first vector counts")
    return Embeddings(words=list(kept), vectors=vectors, kind=kind, file=facts(), notes=tuple(notes))


def _read_npz(path: Path, wanted: Collection[str]) -> Embeddings:
    version = Version.of(path)
    arrays = read_npz(path, (*WORDS, *VECTORS))
    words = next((arrays[name] for name in WORDS if name in arrays), None)
    vectors = next((arrays[name] for name in VECTORS if name in arrays), None)
    if words is None or vectors is None:
        raise SourceError(
            f"{path}: got an npz file with {examples(npz_names(path))}, expected words and vectors. "
            "Name them so."
        )
    is_text, are_numbers = words.dtype.kind in "US", vectors.dtype.kind in "fiu"
    if not (is_text and are_numbers and words.ndim == 1 and vectors.ndim == 2 and len(words) == len(vectors)):
        raise SourceError(
            f"{path}: got words of shape {words.shape} ({words.dtype}) and vectors of shape {vectors.shape} "
            f"({vectors.dtype}), expected texts and one row of numbers for each. Save both again."
        )
    try:
        listed = [word.decode() if isinstance(word, bytes) else str(word) for word in words.tolist()]
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{path}: got words that are no UTF-8 ({error}), expected text. Save them as "
            "np.array(words, dtype=str)."
        ) from error
    rows = zip(listed, vectors.astype(np.float64), strict=True)
    read = _embeddings(rows, vectors.shape[1], NPZ, wanted, str(path), lambda: file_facts(path))
    version.check(str(path))
    return read


def _read_parquet(path: Path, wanted: Collection[str]) -> Embeddings:
    with open_stream(path) as stream:
        flat = open_columns(stream.content.read() if stream.packing else path, str(path))
        return _parquet_vectors(flat, stream.facts, wanted)


def _parquet_vectors(flat: FlatTable, facts: Callable[[], FileFacts], wanted: Collection[str]) -> Embeddings:
    word = next((name for name in WORDS if flat.types.get(name) == pl.String), None)
    vector = next((name for name in VECTORS if isinstance(flat.types.get(name), pl.List | pl.Array)), None)
    if word is None or vector is None:
        if (shape := shape_of_file(flat.path)).goes_to:
            raise wrong_kind(flat.path, shape, "word vectors: words, and lists of numbers")
        raise SourceError(
            f"{flat.path}: got a Parquet table with the columns {examples(flat.columns, limit=20)}, "
            "expected word (text) and vector (lists of numbers). Rename or convert its columns."
        )
    needs = {"word": Column("text", names=(word,)), "vector": Column("any", names=(vector,))}
    is_wanted, numbers = pl.col("word").is_in(list(wanted)), pl.List(pl.Float64)
    table = read_kept(
        flat, needs, lambda piece: piece.filter(is_wanted).cast({"vector": numbers}),
        "word (text) and vector (lists of numbers)",
    )  # fmt: skip
    lengths = table["vector"].list.len().unique().to_list()
    if len(lengths) > 1 or table["vector"].null_count() or table["vector"].explode().null_count():
        raise SourceError(
            f"{flat.path}: got vectors of {examples(sorted(map(str, lengths)))} numbers, some missing, "
            "expected one length "
            "and no nulls. Correct the table."
        )
    rows = ((one, np.array(vector)) for one, vector in table.iter_rows())
    return _embeddings(rows, lengths[0] if lengths else 0, VECTORS_PARQUET, wanted, flat.path, facts)


def _read_spacy(name: str, wanted: Collection[str]) -> Embeddings:
    try:
        import spacy
    except ImportError as error:
        wanted_by = f"embeddings {name!r}, which is no file"
        raise missing_library(wanted_by, "spaCy", "rad", "check the path") from error
    try:
        pipeline = spacy.load(name)
    except (OSError, ValueError) as error:
        raise BackendError(
            f"embeddings: got {name!r}, expected a file, or the name or folder of an installed spaCy "
            "pipeline. "
            f"Check the path, or python -m spacy download {Path(name).name}."
        ) from error
    vocabulary = pipeline.vocab
    if not len(vocabulary.vectors):
        raise SourceError(
            f"embeddings: got the spaCy pipeline {name}, which has no word vectors, expected one with them. "
            "Take a medium or large one, such as en_core_web_md."
        )
    rows = (
        (word, np.asarray(vocabulary[word].vector)) for word in sorted(wanted) if vocabulary[word].has_vector
    )
    size = int(vocabulary.vectors_length)
    return _embeddings(rows, size, SPACY, wanted, name, lambda: _pipeline_facts(pipeline.path))


def _pipeline_facts(folder: Path) -> FileFacts:
    files = [path for path in sorted((folder / "vocab").glob("*")) if path.is_file()]
    return facts_of_all(folder.name, [file_facts(path) for path in files])
