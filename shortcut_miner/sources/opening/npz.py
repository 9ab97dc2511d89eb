"""Arrays of an .npz file, which is a zip archive of .npy files; arrays of Python objects are refused."""

import warnings
import zipfile
from collections.abc import Collection
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shortcut_miner.errors import SourceError, shortened
from shortcut_miner.sources.opening.containers import zip_errors, zip_names
from shortcut_miner.sources.opening.limits import allowance

Arrays = dict[str, NDArray[np.generic]]
_SUFFIX = ".npy"


def npz_names(path: Path) -> list[str]:
    """Return the names of a file's arrays; none of what is no .npz file."""
    with path.open("rb") as stored:
        names = zip_names(stored)
    return [name.removesuffix(_SUFFIX) for name in names if all(one.endswith(_SUFFIX) for one in names)]


def read_npz(path: Path, names: Collection[str]) -> Arrays:
    """Return those of a file's arrays that have one of some names.

    Raises
    ------
    SourceError
        The archive or an array is damaged, or holds Python objects.
    """
    with zip_errors(str(path)), zipfile.ZipFile(path) as archive:
        members = [name for name in archive.namelist() if name.removesuffix(_SUFFIX) in names]
        sizes = [archive.getinfo(name).file_size for name in members]
        allowance(str(path), path.stat().st_size, is_held=True).check(sum(sizes))
        return {name.removesuffix(_SUFFIX): _array(path, archive, name) for name in members}


def _array(path: Path, archive: zipfile.ZipFile, name: str) -> NDArray[np.generic]:
    with archive.open(name) as member, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of arrays that Python 2 wrote
        try:
            array: NDArray[np.generic] = np.lib.format.read_array(member, allow_pickle=False)
        # A damaged header is parsed as Python: it may fail in any way, or ask for any amount of memory.
        except Exception as error:
            raise SourceError(
                f"{path}: got an array {name!r} that can't be read ({shortened(str(error), 200)}), expected "
                "a plain array. Save texts as np.array(words, dtype=str), or copy the file again."
            ) from error
    return array
