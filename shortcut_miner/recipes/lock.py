"""Trust on first use: what an address gave when it was first used, and must give from then on.

A recipe without a digest takes what comes; when the build with it has succeeded, size and SHA-256 of each
file are written into the lock file. Who has it gets the same bytes from then on, or is told of a change.
"""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path

from shortcut_miner.drafts import drafted
from shortcut_miner.errors import ConfigError, OutputError, SourceError
from shortcut_miner.journal import Digest, as_digest, is_plain_name, locked, sync
from shortcut_miner.recipes.recipe import Source
from shortcut_miner.single_files import can_be_made
from shortcut_miner.storage import read_json_file, write_json

LOCK_NAME = "shortcut-miner-lock.json"
_FORMAT = "shortcut_miner recipe lock"


@dataclasses.dataclass(frozen=True, slots=True)
class Pin:
    """What an address gave: the file's name, and what tells its content."""

    name: str
    digest: Digest


Pins = Mapping[str, Pin]  # by address; a member that was found by itself: the address, "#" and its path


def read_lock(path: Path) -> dict[str, Pin]:
    """Return the pins of a lock file; none where there is no such file.

    Raises
    ------
    SourceError
        It is no lock file, or a damaged one.
    """
    if not os.path.lexists(path):
        return {}
    content = read_json_file(path)
    try:
        if content["format"] != _FORMAT:
            raise ValueError
        pins = {url: _as_pin(one) for url, one in content["files"].items()}
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise SourceError(
            f"{path}: got something else, expected the lock file of recipes. Give another --lock, or move it "
            "away."
        ) from error
    return pins


def _as_pin(value: Mapping[str, object]) -> Pin:
    name, digest = value["name"], as_digest(value)
    if not is_plain_name(name) or digest is None:
        raise ValueError
    return Pin(str(name), digest)


def add_to_lock(path: Path, pins: Pins) -> None:
    """Add pins to a lock file, whose own stay; it is replaced in one step.

    Raises
    ------
    OutputError
        It can't be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.parent):  # what another run adds meanwhile stays
            merged = {**pins, **read_lock(path)}
            files = {url: {"name": one.name, **dataclasses.asdict(one.digest)} for url, one in merged.items()}
            with drafted(path) as draft:
                write_json({"format": _FORMAT, "files": files}, draft)
                sync(draft)
    except OSError as error:
        raise OutputError(
            f"{path}: got {error.strerror or error} while writing, expected a file that can be written. "
            "Give another --lock."
        ) from error


def check_lock_place(path: Path) -> None:
    """Raise ConfigError now, not after hours of work, if a lock file can't be written there."""
    if not can_be_made(path):
        raise ConfigError(
            f"--lock {path}: got a folder that can't be written, expected one that can: what was used is "
            "written there. Give another --lock."
        )


def pinned(source: Source, pins: Pins, member: str = "") -> Digest | None:
    """Return what one of a source's addresses gave; of a member that was found by itself, what it was."""
    suffix = f"#{member}" if member else ""
    return next((pins[url + suffix].digest for url in source.urls if url + suffix in pins), None)


def expected_digest(name: str, source: Source, pins: Pins) -> tuple[int | None, str | None]:
    """Return the size and SHA-256 that a source must have, as far as they are known.

    Raises
    ------
    SourceError
        The recipe and the lock file contradict each other.
    """
    pin = pinned(source, pins)
    if pin is None:
        return source.size, source.sha256
    if source.sha256 not in (None, pin.sha256) or source.size not in (None, pin.size):
        raise SourceError(
            f"{name}: got {described(source.size, source.sha256)} in the recipe and "
            f"{described(pin.size, pin.sha256)} in the lock file, expected the same. "
            f"Find out which is right, and correct the recipe or take {source.urls[0]} out of the lock file."
        )
    return pin.size, pin.sha256


def described(size: int | None, sha256: str | None) -> str:
    """Return a size and a digest in words.

    >>> described(1200, None), described(None, "ab12")
    ('1,200 bytes', 'SHA-256 ab12')
    """
    parts = ([] if size is None else [f"{size:,} bytes"]) + ([] if sha256 is None else [f"SHA-256 {sha256}"])
    return ", ".join(parts) or "nothing"
