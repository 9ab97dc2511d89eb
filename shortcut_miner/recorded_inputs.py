"""The inputs that a manifest records, and how to know them again: by size and SHA-256, whatever the name."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.journal import digest_of
from shortcut_miner.sources.opening.files import find_file
from shortcut_miner.storage import MANIFEST

Record = Mapping[str, Any]  # of one file, in a manifest's inputs
_TOLD = {"role": str, "name": str, "size": int, "sha256": str}


def recorded_inputs(folder: Path, manifest: Mapping[str, Any]) -> list[Record]:
    """Return a manifest's inputs; SourceError unless role, name, size and digest of each are told."""
    inputs = manifest.get("inputs", [])
    for one in inputs:
        is_dict = isinstance(one, dict)
        if not is_dict or not all(isinstance(one.get(name), kind) for name, kind in _TOLD.items()):
            raise SourceError(
                f"{folder / MANIFEST}: got an input {one!r}, expected its {', '.join(_TOLD)}. "
                "Take the manifest as it was written."
            )
    return list(inputs)


def by_role(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return inputs by role, several where files were put together."""
    found: dict[str, list[Record]] = {}
    for one in records:
        found.setdefault(one["role"], []).append(one)
    return found


def is_recorded(path: Path, recorded: Record) -> bool:
    """Return whether a file, or the archive that a member is in, has the recorded size and digest."""
    file, _ = find_file(path)
    digest = digest_of(file.resolve()) if file.exists() else None
    return digest is not None and (digest.size, digest.sha256) == (recorded["size"], recorded["sha256"])


def places_below(data: Path) -> list[tuple[Path, int]]:
    """Return the files and folders below a folder with their sizes."""
    if not data.is_dir():
        raise ConfigError(f"--data-dir {data}: got no such folder, expected one with the inputs. Correct it.")
    return [(path, path.stat().st_size) for path in sorted(data.rglob("*")) if path.exists()]
