"""Which format word vectors have, by the first bytes of their file."""

import re

import numpy as np

GLOVE, WORD2VEC_TEXT, WORD2VEC_BINARY = "GloVe text", "word2vec text", "word2vec binary"
NPZ, VECTORS_PARQUET, SPACY = "npz word vectors", "Parquet word vectors", "spaCy pipeline"
WORDS = ("words", "word", "names", "name", "class", "labels", "vocab", "tokens")
VECTORS = ("vectors", "vector", "embeddings", "embedding", "matrix", "weights")
VECTORS_GO_TO = "swapmix build --embeddings"
# Columns of tables that are read by their names -> what takes them.
TABLES = (
    ({"class", "neighbour", "cosine"}, "swapmix build --similar-classes"),
    ({"word", "vector"}, VECTORS_GO_TO),
)
_HEADER = re.compile(rb"\s*(\d+) +(\d+)\s*\Z")


def header_of(start: bytes) -> tuple[int, int] | None:
    """Return the words and dimensions that a word2vec file's first line says; None if it has no such line.

    >>> header_of(b"3000000 300"), header_of(b"the 0.1 0.2")
    ((3000000, 300), None)
    """
    header = _HEADER.match(start.partition(b"\n")[0])
    return (int(header[1]), int(header[2])) if header else None


def vectors_kind(start: bytes, least: int = 1) -> str | None:
    r"""Return which text or binary format a file's first bytes have; None if it is none of them.

    Parameters
    ----------
    start : bytes
    least : int
        Fewest numbers that make a line of text a word with its vector.

    Examples
    --------
    >>> vectors_kind(b"the 0.1 0.2"), vectors_kind(b"2 2\nthe 0.1 0.2\n"), vectors_kind(b"the cat")
    ('GloVe text', 'word2vec text', None)
    """
    first, _, rest = start.partition(b"\n")
    if header := header_of(start):
        fields = rest.partition(b"\n")[0].strip().split(b" ")
        is_text = len(fields) > header[1] and _are_numbers(fields[-header[1] :])
        return WORD2VEC_TEXT if is_text else WORD2VEC_BINARY
    fields = first.rstrip(b"\r ").split(b" ")[1:]
    return GLOVE if len(fields) >= least and _are_numbers(fields) else None


def _are_numbers(fields: list[bytes]) -> bool:
    try:
        np.array(fields, dtype="S").astype(np.float64)
    except ValueError:
        return False
    return bool(fields)
