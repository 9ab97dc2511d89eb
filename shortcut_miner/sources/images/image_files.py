"""Where the images of questions are: in a folder, by a pattern of paths or addresses, or nowhere."""

import dataclasses
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple
from urllib.parse import quote

import polars as pl

from shortcut_miner.errors import ConfigError, SourceError, examples, reason_of
from shortcut_miner.sources.images.image_ids import canonical_image_id
from shortcut_miner.timing import OnStage

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff")
_PLACE = re.compile(r"\{image_id(?::0?(\d{1,2})d)?\}")
_LOOKED_AT = 64  # bytes
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class Picture(NamedTuple):
    """The content of an image's file, and its name without folders."""

    name: str
    content: bytes


class Place(NamedTuple):
    """Where an image lies among others: the file, and which part of it."""

    file: Path
    part: int


ReadPacked = Callable[[Iterable[tuple[str, Place]]], Iterator[tuple[str, Picture]]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    """Images by id.

    Attributes
    ----------
    kind : {"none", "files", "addresses", "packed"}
        "none": nothing was said of images. "files": absolute paths of files that are there. "addresses": what
        a pattern gives for each id, never looked up. "packed": they lie together in files of their own.
    places : mapping of str to str
        image_id -> path or address; an image that was not found is missing.
    packed : mapping of str to Place
        image_id -> where a packed image lies.
    read_packed : callable, optional
        How packed images are read.
    on_stage : callable, optional
        Told how far one is who reads them all, which can take long.
    """

    kind: Literal["none", "files", "addresses", "packed"] = "none"
    places: Mapping[str, str] = dataclasses.field(default_factory=dict)
    packed: Mapping[str, Place] = dataclasses.field(default_factory=dict, repr=False)
    read_packed: ReadPacked | None = dataclasses.field(default=None, compare=False, repr=False)
    on_stage: OnStage | None = dataclasses.field(default=None, compare=False, repr=False)

    @property
    def count(self) -> int:
        """How many images have a place."""
        return len(self.packed or self.places)

    @property
    def are_content(self) -> bool:
        """Whether their content can be had here."""
        return self.kind in ("files", "packed")

    def known(self) -> list[str]:
        """Return the ids of the images that have a place."""
        return [*(self.packed or self.places)]

    def pictures(self, ids: Iterable[str]) -> dict[str, Picture]:
        """Return the content of some images, each once; those that have no place are missing.

        Raises
        ------
        SourceError
            One can't be read.
        """
        wanted = dict.fromkeys(ids)
        if self.read_packed is not None:
            return dict(self.read_packed((one, self.packed[one]) for one in wanted if one in self.packed))
        paths = {one: Path(self.places[one]) for one in wanted if one in self.places}
        return {one: Picture(path.name, read_image(path)) for one, path in paths.items()}

    def size(self, ids: Iterable[str]) -> int:
        """Return the bytes of some images that are files; of packed ones no more than their files have."""
        if self.packed:
            return sum(place.stat().st_size for place in {self.packed[one].file for one in ids})
        return sum(Path(self.places[one]).stat().st_size for one in ids)

    def place(self) -> pl.Expr:
        """Return where each row's image is, by image_id; null where it was not found."""
        return pl.col("image_id").replace_strict(dict(self.places), default=None, return_dtype=pl.String)

    def file(self) -> pl.Expr:
        """Return the path of each row's image, by image_id; null where there is no file."""
        return self.place() if self.kind == "files" else pl.lit(None, pl.String)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What looking for images came to.

    Attributes
    ----------
    images : Images
        Those that were found.
    missing : tuple of str
        Ids of those that were not, in the order asked; empty where nothing was said of images.
    broken : mapping of str to str
        Of these, the ids that have a file which is no image: id -> the file.
    notes : tuple of str
        What was decided.
    """

    images: Images
    missing: tuple[str, ...] = ()
    broken: Mapping[str, str] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()


def find_images(given: str | None, ids: Sequence[str]) -> Found:
    """Return where images are.

    Parameters
    ----------
    given : str or None
        A folder, which is looked through with all folders in it; or a pattern with {image_id} (with leading
        zeros: {image_id:012d}), of paths or, with a scheme such as https://, of addresses.
    ids : sequence of str
        The images, each once.

    Raises
    ------
    ConfigError
        No folder and no pattern, or ids that are no numbers where the pattern wants numbers.
    """
    if given is None:
        note = "no --images: questions are exported with the ids of their images alone"
        return Found(images=Images(), notes=(note,))
    is_folder = bool(given.strip()) and Path(given).is_dir()  # an empty text is no place, and "." as a path
    if "{" in given and not is_folder:
        return _by_pattern(given, ids)
    if not is_folder:
        raise ConfigError(
            f"--images {given or repr(given)}: got no such folder, expected one, or a pattern such as "
            "images/COCO_val2014_{image_id:012d}.jpg. Correct it."
        )
    return _in_folder(Path(given), ids)


def read_image(path: Path) -> bytes:
    """Return the content of an image's file.

    Raises
    ------
    SourceError
        It can't be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceError(
            f"{path}: got {reason_of(error)}, expected an image that can be read. "
            "Check the file and its permissions, or correct --images."
        ) from error


# ---- a pattern ----


def _by_pattern(pattern: str, ids: Sequence[str]) -> Found:
    _check_pattern(pattern, ids)
    if _ADDRESS.match(pattern):
        return Found(
            images=Images(kind="addresses", places={one: _filled(pattern, quote(one)) for one in ids})
        )
    # No id may lead out of the folder that the pattern names.
    root = Path(_PLACE.split(pattern)[0] + "_").parent.absolute()
    candidates = {one: os.path.normpath(Path(_filled(pattern, one)).absolute()) for one in ids}
    places = {
        one: path
        for one, path in candidates.items()
        if Path(path).is_relative_to(os.path.normpath(root)) and _is_file(path)
    }
    return _found(ids, places)


def _check_pattern(pattern: str, ids: Sequence[str]) -> None:
    rest = _PLACE.sub("", pattern)
    if rest == pattern or "{" in rest or "}" in rest:
        raise ConfigError(
            f"--images {pattern}: got a pattern with other places than {{image_id}} or {{image_id:012d}}, "
            "expected one of these. Correct it."
        )
    has_number = any(width for width in _PLACE.findall(pattern))
    odd = [one for one in ids if not (one.isascii() and one.isdigit())] if has_number else []
    if odd:
        raise ConfigError(
            f"--images {pattern}: got ids of images that are no numbers ({examples(odd)}), expected numbers "
            "for zeros before them. Write {image_id} there."
        )


def _filled(pattern: str, image_id: str) -> str:
    return _PLACE.sub(lambda place: image_id.zfill(int(place[1])) if place[1] else image_id, pattern)


def _is_file(path: str) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):  # a name that is too long, or with a NUL
        return False


# ---- a folder ----


def _in_folder(folder: Path, ids: Sequence[str]) -> Found:
    """Match files by path, by name, and by what their names are as ids of images, in this order.

    An id never becomes part of a path here.
    """
    wanted: dict[str, list[str]] = {}
    for one in ids:
        for key in dict.fromkeys((one, canonical_image_id(one))):
            wanted.setdefault(key, []).append(one)
    found: dict[str, tuple[int, str]] = {}
    several: dict[str, None] = {}
    for name in sorted(_files_below(folder)):
        for rank, key in enumerate(_keys(name)):
            for one in wanted.get(key, ()):
                older = found.get(one)
                if older is not None and older[1] != name and older[0] == rank:
                    several[one] = None
                if older is None or rank < older[0]:
                    found[one] = (rank, name)
                    several.pop(one, None)
    base = folder.absolute()
    places = {one: str(base / name) for one, (_, name) in found.items()}
    notes: tuple[str, ...] = ()
    if several:
        shown = ", ".join(f"{one}: {found[one][1]}" for one in list(several)[:3])
        notes = (f"images with several files, the first by name is taken: {len(several):,} ({shown})",)
    return _found(ids, places, notes)


def _keys(name: str) -> tuple[str, ...]:
    """Return what a file may be called by questions, the most exact first.

    >>> _keys("val2014/COCO_val2014_000000000042.jpg")[-1]
    '42'
    """
    path = PurePosixPath(name)
    stem = path.stem
    return (name, str(path.with_suffix("")), path.name, stem, canonical_image_id(stem))


def _files_below(folder: Path) -> Iterator[str]:
    """Give the images below a folder by their paths in it; a folder is looked at once."""
    seen = set()
    for place, inner, names in os.walk(folder, followlinks=True):
        status = Path(place).stat()
        if (status.st_dev, status.st_ino) in seen:
            inner.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        inner.sort()
        below = Path(place).relative_to(folder).as_posix()
        prefix = "" if below == "." else f"{below}/"
        for name in names:
            if name.lower().endswith(SUFFIXES):
                yield prefix + name


# ---- files ----


def _found(ids: Sequence[str], places: Mapping[str, str], notes: tuple[str, ...] = ()) -> Found:
    """Return the files that are images, and which ids have none."""
    is_image = {path: _is_image(path) for path in set(places.values())}
    good = {one: path for one, path in places.items() if is_image[path]}
    return Found(
        images=Images(kind="files", places=good),
        missing=tuple(one for one in ids if one not in good),
        broken={one: places[one] for one in ids if one in places and one not in good},
        notes=notes,
    )


def _is_image(path: str) -> bool:
    """Return whether a file may be an image: formats have a zero byte early, texts and empty files have none.

    A page that says "not found" or a pointer to a file elsewhere is often called .jpg.
    """
    if not _is_file(path):  # of a pipe nothing may ever come
        return False
    try:
        with Path(path).open("rb") as file:
            return b"\0" in file.read(_LOOKED_AT)
    except OSError:
        return False
