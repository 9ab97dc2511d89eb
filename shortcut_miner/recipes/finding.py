"""What a folder of data already has of a recipe's sources: by digest where it is known, else by name.

Archives may have been unpacked: then their members are looked for in place of the archive.
"""

import dataclasses
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from shortcut_miner.errors import ConfigError, SourceError, examples
from shortcut_miner.journal import Digest, digest_of
from shortcut_miner.recipes.lock import Pin, Pins, described, expected_digest, pinned
from shortcut_miner.recipes.recipe import Recipe, Source, folder_of

_PACKED = ("", ".gz", ".zst")


@dataclasses.dataclass(frozen=True, slots=True)
class Shelf:
    """The files below a folder, hidden ones aside, and the digests of those that were asked for."""

    folder: Path
    files: tuple[Path, ...]
    _digests: dict[Path, Digest | None] = dataclasses.field(default_factory=dict)

    def digest(self, path: Path) -> Digest | None:
        """Return a file's digest, worked out once; links are followed."""
        if path not in self._digests:
            self._digests[path] = digest_of(path.resolve())
        return self._digests[path]

    def of_name(self, name: str) -> list[Path]:
        """Return the files of a name, that of the folder itself first."""
        found = [path for path in self.files if path.name == name]
        return sorted(found, key=lambda path: (len(path.parts), path))

    def of_content(self, name: str, size: int | None, sha256: str) -> Path | None:
        """Return a file of this content, those of this name first; without the size, of this suffix alone."""
        named = self.of_name(name)
        others = [path for path in self.files if path.name != name]
        suffix = Path(name).suffix
        for path in (*named, *others):
            is_like = path.suffix == suffix if size is None else path.stat().st_size == size
            digest = self.digest(path) if is_like else None
            if digest is not None and digest.sha256 == sha256:
                return path
        return None


def shelf_of(folder: Path) -> Shelf:
    """Return the files below a folder; none if it does not exist yet."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"--data-dir {folder}: got a file, expected a folder. Correct it.")
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    shown = (
        path for path in files if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
    return Shelf(folder, tuple(shown))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Where a source lies.

    Attributes
    ----------
    name : str
        The source.
    paths : dict of str to Path
        Each input that is made of it, and where it is.
    file : Path or None
        The source itself, to be unpacked if the recipe says so; None where its members lie by themselves.
    pins : dict of str to Pin
        What the lock file is to say of it.
    """

    name: str
    paths: dict[str, Path]
    file: Path | None = None
    pins: dict[str, Pin] = dataclasses.field(default_factory=dict)


def find_source(recipe: Recipe, name: str, shelf: Shelf, pins: Pins) -> Found | None:
    """Return where a source lies in a folder; None if it is to be downloaded.

    Raises
    ------
    SourceError
        A file of its name with another content, or several that can't be told apart.
    """
    source = recipe.sources[name]
    size, sha256 = expected_digest(name, source, pins)
    if sha256 is not None:
        path = shelf.of_content(name, size, sha256)
    else:
        path = _only(shelf, name, shelf.of_name(name))
    if path is not None:
        digest = shelf.digest(path)
        assert digest is not None  # it was found by it, or is a file
        if sha256 is None:
            check_trust(name, source, path, digest, pins)
        return held(recipe, name, path, digest)
    if members := _members(recipe, name, source, shelf, pins):
        return members
    in_the_way = shelf.folder / name
    if in_the_way in shelf.files:
        raise SourceError(
            f"{in_the_way}: got {_digest_text(shelf.digest(in_the_way))}, expected {described(size, sha256)}"
            f"{_who_says(source)}. Move it away to download it again, or give another --data-dir."
        )
    return None


def held(recipe: Recipe, name: str, path: Path, digest: Digest) -> Found:
    """Return a source that is there as a whole: the paths of the inputs in it, and what to pin."""
    source = recipe.sources[name]
    inputs = {one: path / one.partition("/")[2] if "/" in one else path for one in recipe.paths_of(name)}
    return Found(name=name, paths=inputs, file=path, pins={source.urls[0]: Pin(name, digest)})


def check_trust(name: str, source: Source, path: Path, digest: Digest, pins: Pins) -> None:
    """Raise SourceError for a file whose size is wrong, or that is another address's of its name."""
    if source.size not in (None, digest.size):
        raise SourceError(
            f"{path}: got {digest.size:,} bytes, expected {source.size:,}{_who_says(source)}. "
            "Move it away to download it again, or give another --data-dir."
        )
    others = [url for url, pin in pins.items() if pin.name == name and pin.digest == digest]
    if others:
        raise SourceError(
            f"{path}: got what {others[0]} gave, expected what {source.urls[0]} gives. Give another "
            "--data-dir for this recipe."
        )


def _who_says(source: Source) -> str:
    return "" if source.checked else " (which nobody checked yet)"


def _digest_text(digest: Digest | None) -> str:
    return "no regular file" if digest is None else described(digest.size, digest.sha256)


def _only(shelf: Shelf, name: str, paths: list[Path]) -> Path | None:
    """Return the first of some files, if all have the same content."""
    if len(paths) > 1 and len({shelf.digest(path) for path in paths}) > 1:
        listed = examples([str(path) for path in paths])
        raise SourceError(
            f"{shelf.folder}: got files of the name {name} that differ ({listed}), expected one, as its "
            "content is not known yet. Move the others away."
        )
    return paths[0] if paths else None


def _members(recipe: Recipe, name: str, source: Source, shelf: Shelf, pins: Pins) -> Found | None:
    """Return where all inputs of an archive lie unpacked; None if one is missing."""
    paths: dict[str, Path] = {}
    known: dict[str, Pin] = {}
    for one in recipe.paths_of(name):
        member = one.partition("/")[2]
        if not member:
            path = next(_folders(shelf, name, source), None)
        else:
            path, digest = _member(shelf, source, member, pins)
            if digest is not None:
                known[f"{source.urls[0]}#{member}"] = Pin(PurePosixPath(member).name, digest)
        if path is None:
            return None
        paths[one] = path
    return Found(name=name, paths=paths, pins=known)


def _member(shelf: Shelf, source: Source, member: str, pins: Pins) -> tuple[Path | None, Digest | None]:
    name, pin = PurePosixPath(member).name, pinned(source, pins, member)
    if pin is not None:
        path = shelf.of_content(name, pin.size, pin.sha256)
        return path, pin
    for suffix in _PACKED:
        if path := _only(shelf, name + suffix, shelf.of_name(name + suffix)):
            return path, shelf.digest(path)
    return None, None


def _folders(shelf: Shelf, name: str, source: Source) -> Iterator[Path]:
    """Give the folders that have files of all of the patterns that a source unpacks."""
    patterns = [PurePosixPath(pattern).name for pattern in source.unpack]
    own = shelf.folder / folder_of(name)
    folders = {path.parent for path in shelf.files}
    for folder in sorted(folders, key=lambda one: (one != own, one)):
        names = [path.name for path in shelf.files if path.parent == folder]
        if patterns and all(any(fnmatch(one, pattern) for one in names) for pattern in patterns):
            yield folder
