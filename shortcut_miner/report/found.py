"""What a report is about: built folders, each with the scores that belong to it."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from shortcut_miner import rooms
from shortcut_miner.datasets.folders import BuiltFolder, open_folder
from shortcut_miner.datasets.scores import build_sha256, scored_build
from shortcut_miner.errors import SourceError, examples
from shortcut_miner.storage import MANIFEST, read_json_file

MOST_RULES = 20_000
MINE = "mine"  # rules of any table, which have a page as rooms have


@dataclasses.dataclass(frozen=True, slots=True)
class FoundRoom:
    """A room's build, its scores, or both.

    Attributes
    ----------
    name : str
        Of the room in :mod:`shortcut_miner.rooms`, such as "vqa_ce"; or "mine".
    place : str
        The build's folder among several; "" where the report is about one.
    build : BuiltFolder or None
        None where there are scores alone.
    scores : tuple of BuiltFolder
        Of that build.
    most_rules : int
        How many rules its page may hold.
    """

    name: str
    place: str
    build: BuiltFolder | None
    scores: tuple[BuiltFolder, ...]
    most_rules: int = MOST_RULES

    @property
    def first(self) -> BuiltFolder:
        """The build, or the first scores where there is none."""
        return self.folders[0]

    @property
    def folders(self) -> tuple[BuiltFolder, ...]:
        """The build, where there is one, and the scores."""
        return self.scores if self.build is None else (self.build, *self.scores)


def find_rooms(folder: Path, scores: Sequence[Path] = (), most_rules: int = MOST_RULES) -> list[FoundRoom]:
    """Return the rooms that a folder holds: itself, or the folders in it.

    Parameters
    ----------
    folder : Path
        What a ``build`` or ``score`` wrote, or a folder of such folders.
    scores : sequence of Path
        Further folders that ``score`` wrote.
    most_rules : int
        How many rules the page of a room may hold.

    Returns
    -------
    list of FoundRoom
        In the order of the rooms, builds of a room by name. Scores go to the build that they record (those of
        older versions to one of its options); where there are several, to the one whose name theirs begins
        with.

    Raises
    ------
    SourceError
        No such folder, or none of a room; scores of another build.
    """
    is_one = (folder / MANIFEST).is_file() or not folder.is_dir()
    paths = [folder] if is_one else sorted(path for path in folder.iterdir() if (path / MANIFEST).is_file())
    found = [one for path in paths if (is_one or _is_ours(path)) and _room(one := open_folder(path))]
    if not found:
        got = f"what {open_folder(folder).command!r} wrote" if is_one else "no folder of a room in it"
        raise SourceError(f"{folder}: got {got}, expected {_expected()}. Give such a folder.")
    given = [open_folder(path) for path in scores]
    if wrong := [str(one.path) for one in given if not _is_score(one)]:
        raise SourceError(
            f"--scores: got {examples(wrong)}, expected folders that a score command wrote. Correct --scores."
        )
    together = _put_together(found, given, is_one=is_one)
    return [dataclasses.replace(room, most_rules=most_rules) for room in together]


def _expected() -> str:
    names = ", ".join(name.replace("_", "-") for name in rooms.NAMES)
    return f"what build or score of {names}, or mine, wrote, or a folder of such folders"


def _room(folder: BuiltFolder) -> str | None:
    """Return the room of a folder, or :data:`MINE`; None for what neither room nor ``mine`` wrote."""
    if folder.command == MINE:
        return MINE
    name, _, work = folder.command.partition(" ")
    room = name.replace("-", "_")
    return room if room in rooms.NAMES and work in ("build", "score") else None


def _is_ours(path: Path) -> bool:
    """Return whether a folder's manifest is one of ours; other programs call files manifest.json too."""
    manifest = read_json_file(path / MANIFEST)
    return isinstance(manifest, dict) and manifest.get("package") == "shortcut_miner"


def _is_score(folder: BuiltFolder) -> bool:
    return _room(folder) is not None and folder.command.endswith(" score")


def _put_together(
    found: Sequence[BuiltFolder], given: Sequence[BuiltFolder], *, is_one: bool
) -> list[FoundRoom]:
    builds = [one for one in found if not _is_score(one)]
    assigned: dict[Path, list[BuiltFolder]] = {one.path: [] for one in builds}
    alone: list[BuiltFolder] = []
    for one in (one for one in found if _is_score(one)):
        build = _build_of(one, builds)
        (alone if build is None else assigned[build.path]).append(one)
    for one in given:
        build = _build_of(one, builds)
        if build is None:
            raise SourceError(
                f"{one.path}: got scores of another build than any here, expected those of "
                f"{examples([str(each.path) for each in builds]) if builds else 'a build'}. Score it again, "
                "or leave --scores out."
            )
        if one.path.resolve() not in {each.path.resolve() for each in assigned[build.path]}:
            assigned[build.path].append(one)
    parts: list[tuple[BuiltFolder, BuiltFolder | None, tuple[BuiltFolder, ...]]] = [
        (one, one, tuple(assigned[one.path])) for one in builds
    ]
    parts += [(one, None, (one,)) for one in alone]
    order = {name: position for position, name in enumerate((*rooms.NAMES, MINE))}
    parts.sort(key=lambda part: (order[str(_room(part[0]))], part[0].path.name))
    return [
        FoundRoom(str(_room(first)), "" if is_one else first.path.name, build, of_build)
        for first, build, of_build in parts
    ]


def _build_of(scores: BuiltFolder, builds: Sequence[BuiltFolder]) -> BuiltFolder | None:
    """Return the build that scores are of, None if it is not there.

    They record which one; those of older versions record its options alone.
    """
    of, asked = scored_build(scores.manifest), scores.manifest["config"].get("build")
    same = [
        one
        for one in builds
        if _room(one) == _room(scores)
        and (one.manifest["config"] == asked if of is None else build_sha256(one.manifest) == of)
    ]
    begins = [one for one in same if scores.path.name.startswith(one.path.name)]
    return max(begins or same[:1], key=lambda one: len(one.path.name), default=None)
