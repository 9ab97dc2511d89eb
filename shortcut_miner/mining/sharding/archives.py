"""Arrays with their facts in one file of the work folder, which is whole or not there."""

import contextlib
import json
import os
import threading
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shortcut_miner.drafts import drafted
from shortcut_miner.row_arrays import NPZ_ERRORS

FACTS = "facts"
ERRORS = NPZ_ERRORS  # the archive keeps a checksum of each member


def write_archive(path: Path, facts: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write arrays and a JSON object of facts; the file gets its name when it is whole."""
    told = np.frombuffer(json.dumps(facts, sort_keys=True).encode(), np.uint8)
    members: dict[str, Any] = {FACTS: told, **arrays}
    # Two machines may write the same file at a time: each gives the name to a whole one.
    writer = f".{os.uname().nodename}.{os.getpid()}.{threading.get_ident()}"
    with drafted(path, writer) as draft, draft.open("wb") as file:
        np.savez(file, **members)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Mapping[str, npt.NDArray[Any]]]:
    """Give a file's arrays by name, each read when it is asked for; or raise one of ERRORS."""
    # NumPy leaves a file open that is no archive.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        yield archive


def read_facts(path: Path) -> dict[str, Any]:
    """Return the facts of a file, or raise one of ERRORS."""
    with opened(path) as archive:
        facts = json.loads(archive[FACTS].tobytes())
    if not isinstance(facts, dict):
        raise ValueError("facts of another shape than they were written in")
    return facts


def is_whole(path: Path) -> bool:
    """Return whether every byte of a file's arrays is as it was written."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    except ERRORS:
        return False
