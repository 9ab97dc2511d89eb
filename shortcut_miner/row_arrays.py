"""Rows as one file of arrays (``.npz``), without the names behind the numbers, for which NumPy is enough.

For machines that only search: a worker, or one with a GPU.
"""

import os
import tokenize
import zipfile
import zlib
from pathlib import Path

import numpy as np

from shortcut_miner.drafts import drafted
from shortcut_miner.errors import SourceError, reason_of
from shortcut_miner.transactions import KINDS, Transactions, Vocabulary

# What reading a damaged or foreign .npz file raises: of its archive, and of the headers of its arrays, which
# NumPy reads as Python and believes; a member that is no array is given as bytes.
NPZ_ERRORS = (
    OSError, EOFError, ValueError, LookupError, TypeError, OverflowError, MemoryError, RuntimeError,
    AttributeError, SyntaxError, tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
_ARRAYS = {"offsets": np.int64, "items": np.int32, "classes": np.int32, "weights": np.int64}


def save_rows(rows: Transactions, path: Path) -> None:
    """Write rows to a file; it gets its name when it is complete."""
    sizes = [len(rows.vocabulary.names.get(kind, ())) for kind in KINDS]
    with drafted(path, f".{os.getpid()}") as draft, draft.open("wb") as file:
        np.savez_compressed(
            file,
            **{name: getattr(rows, name) for name in _ARRAYS},
            kinds=np.array(sizes, np.int64),
            answer_counts=rows.vocabulary.answer_counts,
        )


def load_rows(path: Path) -> Transactions:
    """Return the rows of a file, with ranges in place of names.

    Raises
    ------
    SourceError
        The file is not one of :func:`save_rows`, or can't be read.
    """
    try:
        with np.load(path) as saved:
            arrays = {name: saved[name].astype(dtype, copy=False) for name, dtype in _ARRAYS.items()}
            sizes = dict(zip(KINDS, saved["kinds"].tolist(), strict=True))
            answer_counts = saved["answer_counts"]
    except NPZ_ERRORS as error:
        raise SourceError(
            f"{path}: got no rows ({reason_of(error)}), expected a file that save_rows wrote. Write it again."
        ) from error
    known = {kind: size for kind, size in sizes.items() if size}
    return Transactions(**arrays, vocabulary=Vocabulary.of_sizes(known, answer_counts))
