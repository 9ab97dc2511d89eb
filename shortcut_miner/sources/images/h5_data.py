"""Data sets of HDF5 files: opened with one set of words for what goes wrong, and none of their parts missing.

HDF5 reads zeros where a virtual data set's source file is missing, and nothing tells them from padding. Needs
the extra ``gqa`` (h5py).
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from shortcut_miner.errors import SourceError, examples, missing_library, reason_of

H5_MAGIC = b"\x89HDF\r\n\x1a\n"
_UNLIMITED = 1 << 62  # no place in an array
_DEEPEST = 8  # virtual data sets of virtual data sets


def load_h5py() -> ModuleType:
    """Return the h5py library; raise BackendError where it is not installed."""
    try:
        import h5py
    except ImportError as error:
        raise missing_library("HDF5 files", "h5py", "gqa") from error
    return h5py  # type: ignore[no-any-return]


@contextlib.contextmanager
def h5_errors(path: Path) -> Iterator[None]:
    """Turn what reading HDF5 can raise into SourceErrors that name the file."""
    try:
        yield
    except (OSError, RuntimeError, LookupError, ValueError, TypeError) as error:
        raise SourceError(
            f"{path}: got an HDF5 file that can't be read ({reason_of(error)}), expected a complete one. "
            "Download or copy it again: it was probably cut."
        ) from error


def data_set(file: Any, name: str, path: Path) -> Any:
    """Return a data set of an open file, or None where the file has none of this name.

    Raises
    ------
    SourceError
        Another file that holds it, or a part of it, is missing or too short.
    """
    lacking = _missing_link(file, name, path)
    if not lacking:
        if name not in file:
            return None
        lacking = _missing_parts(file[name], path)
    if lacking:
        files = list(dict.fromkeys(lacking))
        raise SourceError(
            f"{path}: got a data set {name!r} that lies in other files, of which these are missing or too "
            f"short: {examples(files)}; expected all of them, as zeros would be read in their place. "
            f"Put them beside {path.name}."
        )
    return file[name]


def _missing_link(file: Any, name: str, path: Path) -> list[str]:
    """Return the file that a link leads to, if it is not there."""
    link = file.get(name, getlink=True)
    target = getattr(link, "filename", None)
    return [target] if target is not None and _found(target, path) is None else []


def _missing_parts(data: Any, path: Path, depth: int = 0) -> list[str]:
    """Return the files of a virtual or external data set that are missing or too short."""
    if getattr(data, "is_virtual", False) and depth < _DEEPEST:
        return [name for part in data.virtual_sources() for name in _missing_source(data, part, path, depth)]
    lacking = []
    for name, offset, size in getattr(data, "external", None) or ():
        found = _found(name, path)
        # The last part may be as long as it likes.
        needed = offset + min(size, data.nbytes)
        if found is None or found.stat().st_size < needed:
            lacking.append(name)
    return lacking


def _missing_source(data: Any, part: Any, path: Path, depth: int) -> list[str]:
    """Return what one source of a virtual data set lacks; %b numbers files from 0."""
    name, inner = (text.replace("%b", "0").replace("%%", "%") for text in (part.file_name, part.dset_name))
    if name == ".":
        source = data.file.get(inner)
        return _missing_parts(source, path, depth + 1) if _holds(source, part, data) else [path.name]
    found = _found(name, path)
    if found is None:
        return [name]
    with h5_errors(found), load_h5py().File(found, "r") as file:
        source = file.get(inner)
        return _missing_parts(source, found, depth + 1) if _holds(source, part, data) else [name]


def _holds(source: Any, part: Any, data: Any) -> bool:
    """Return whether a source is a data set that reaches as far as its part is taken from it."""
    shape: tuple[int, ...] | None = getattr(source, "shape", None)
    if shape is None:
        return False
    if part.src_space.get_select_type() == load_h5py().h5s.SEL_ALL:
        points = part.vspace.get_select_npoints()
        return bool(points > data.size or source.size >= points)  # more than all is an unlimited part
    _, last = part.src_space.get_select_bounds()
    return len(shape) == len(last) and all(
        size > at for size, at in zip(shape, last, strict=True) if at < _UNLIMITED
    )


def _found(name: str, path: Path) -> Path | None:
    """Return where HDF5 finds a file that another one names."""
    prefix = os.environ.get("HDF5_VDS_PREFIX", "")
    places = (Path(prefix) / name, path.parent / name, Path(name), path.parent / Path(name).name)
    return next((place for place in places if place.is_file()), None)
