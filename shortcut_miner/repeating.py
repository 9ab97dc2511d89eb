"""Building a folder again from its own record, to see whether the bytes agree.

What a folder was built with is in its manifest: the options, and each input's size and SHA-256. Where the
inputs lay is in ``run.json``; they are also found, by size and digest, in a folder of data.
"""

import dataclasses
import inspect
import re
import tempfile
from collections.abc import Container, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from shortcut_miner.builders import Builder, builders
from shortcut_miner.errors import ConfigError, SourceError, examples, problem_list
from shortcut_miner.journal import digest_of, finish_interrupted, is_plain_name
from shortcut_miner.options import PathText, as_path, as_path_if_given, option_name
from shortcut_miner.publishing import check_target
from shortcut_miner.recorded_inputs import Record, by_role, is_recorded, places_below, recorded_inputs
from shortcut_miner.sources.opening.files import find_file
from shortcut_miner.storage import MANIFEST, RUN_RECORD, read_json_file
from shortcut_miner.version import __version__

_BY_NAME = " of "  # between an option and a name, as in "predictions of m"
_NUMBERED_FILE = re.compile(r" \(\d+\)$")


@dataclasses.dataclass(frozen=True, slots=True)
class Repetition:
    """What came of building a folder again.

    Attributes
    ----------
    folder : Path
        The folder that was repeated.
    command : str
        What built it, such as "rad build".
    inputs : dict of str to str or list of str
        The files that were read, by role; a list where several were put together.
    out : Path or None
        What was built; None if it was thrown away, or nothing was built.
    files : dict of str to str
        Each file of either folder, but for the run record: "same", "differs", "only there" or "only here".
    notes : tuple of str
        What explains a difference.
    """

    folder: Path
    command: str
    inputs: dict[str, str | list[str]]
    out: Path | None
    files: dict[str, str]
    notes: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether all bytes agree."""
        return set(self.files.values()) <= {"same"}

    @property
    def differing(self) -> dict[str, str]:
        """The files that are not the same in both folders."""
        return {name: found for name, found in self.files.items() if found != "same"}


def repeat(
    folder: PathText,
    *,
    data_dir: PathText | None = None,
    out: PathText | None = None,
    dry_run: bool = False,
) -> Repetition:
    """Build a folder again and compare all bytes but ``run.json``'s.

    Parameters
    ----------
    folder : path
        What a ``build`` or ``vqa-ce sweep`` wrote. It is never changed.
    data_dir : path, optional
        Folder whose files, and those of its folders, are searched by size and SHA-256 for the inputs that are
        no longer where ``run.json`` says.
    out : path, optional
        New folder for what is built; thrown away without it.
    dry_run : bool
        Only find the inputs, and check whether `out` could be written.

    Raises
    ------
    SourceError
        Not such a folder, or inputs that are not found.
    ConfigError
        `out` is `folder`, or can't be written.
    """
    path, new = as_path("folder", folder), as_path_if_given("out", out)
    data = as_path_if_given("data_dir", data_dir)
    if new is not None and new.exists() and path.exists() and new.samefile(path):
        raise ConfigError(f"--out {new}: got the folder to repeat, expected a new one. Choose another --out.")
    manifest, build = _read(path)
    with tempfile.TemporaryDirectory(prefix="shortcut-miner-repeat-") as temporary:
        roles = inspect.signature(build).parameters
        inputs = _find_inputs(path, manifest, roles, data, Path(temporary))
        options = _options(manifest["config"], build)
        found = {role: _shown(one) for role, one in inputs.items()}
        if dry_run:
            names = (RUN_RECORD, *_listed(manifest))
            check_target(new, command=manifest["command"], config=options, names=names, inputs=inputs)
            return Repetition(path, manifest["command"], found, None, {}, ())
        target = Path(temporary) / "out" if new is None else new
        try:
            build(**_by_argument(inputs, roles), **options, out=target)
        except ConfigError as error:
            if str(error).startswith("--out"):
                raise
            raise SourceError(
                f"{path / MANIFEST}: got options that {manifest['command']} refuses, expected those that it "
                f"ran with. Its own words: {error}"
            ) from error
        files = _compared(path, target, manifest)
        notes = _explained(manifest, read_json_file(target / MANIFEST))
    return Repetition(path, manifest["command"], found, new, files, notes)


def _read(path: Path) -> tuple[dict[str, Any], Builder]:
    known = builders()
    finish_interrupted(path)
    if not (path / MANIFEST).is_file():
        got = "no such folder" if not path.exists() else f"no {MANIFEST} in it"
        raise SourceError(
            f"{path}: got {got}, expected a folder that one of {examples(known, 9)} wrote. Give it."
        )
    manifest = read_json_file(path / MANIFEST)
    command = manifest.get("command") if isinstance(manifest, dict) else None
    if command not in known:
        raise SourceError(
            f"{path}: got the output of {command!r}, expected that of one of {examples(known, 9)}: of other "
            "commands the inputs are not recorded. Run the command itself again."
        )
    if not (isinstance(manifest.get("config"), dict) and isinstance(manifest.get("inputs"), list)):
        raise SourceError(
            f"{path / MANIFEST}: got no config or no inputs, expected what {command} wrote. Run it again."
        )
    return manifest, known[command]


def _shown(found: Any) -> Any:
    if isinstance(found, list):
        return [_shown(one) for one in found]
    return found if isinstance(found, str) else str(found.resolve())


def _options(config: Mapping[str, Any], build: Builder) -> dict[str, Any]:
    """Return a manifest's options as arguments of the function that builds."""
    known = inspect.signature(build).parameters
    strange = [name for name in config if name not in known]
    if strange:
        raise SourceError(
            f"{MANIFEST}: got the options {examples(strange)}, expected those of version {__version__}. "
            "Use the version that built the folder."
        )
    return dict(config)


# ---- the inputs ----


def _find_inputs(
    folder: Path, manifest: Mapping[str, Any], roles: Container[str], data: Path | None, temporary: Path
) -> dict[str, Any]:
    """Return the files to read by role, or raise SourceError with all that are missing."""
    run = folder / RUN_RECORD
    record = read_json_file(run) if run.is_file() else {}
    given = record.get("files") if isinstance(record, dict) else None
    paths = _places(given) if isinstance(given, dict) else {}
    recorded = by_role(recorded_inputs(folder, manifest))
    there = places_below(data) if data is not None else []
    found: dict[str, Any] = {}
    problems = []
    for role in [one for one in recorded if one not in paths]:
        first = _NUMBERED_FILE.sub("", role)
        if first != role and first in recorded:  # a further file of what is given by name
            recorded[first] += recorded.pop(role)
    asked = [one for one in {**recorded, **paths} if one in roles or _BY_NAME in one]
    for number, role in enumerate(asked):
        pairs = _paired(recorded.get(role, []), paths.get(role, []))
        places = [_find_one(*pair, there, temporary / f"{number}-{at}") for at, pair in enumerate(pairs)]
        lost = [pair for pair, place in zip(pairs, places, strict=True) if place is None]
        problems += [_missing(role, *pair) for pair in lost]
        found[role] = places[0] if len(places) == 1 else places
    if problems:
        where = "where they were" if data is None else f"where they were, or in {data}"
        title = f"{folder}: got no file for {len(problems)} of its inputs, expected them {where}. "
        raise SourceError(problem_list(title + "Name a folder that has them by --data-dir.", problems))
    return found


def _by_argument(inputs: Mapping[str, Any], roles: Container[str]) -> dict[str, Any]:
    """Return inputs as the arguments of a build: "predictions of m" is the m of its predictions."""
    arguments: dict[str, Any] = {}
    for role, found in inputs.items():
        argument, _, name = role.partition(_BY_NAME)
        if role in roles:
            arguments[role] = found
        elif argument in roles:
            arguments.setdefault(argument, {})[name] = found
    return arguments


def _paired(records: Sequence[Record], paths: Sequence[Path]) -> list[tuple[Record | None, Path | None]]:
    """Return what is recorded of each file that an input consists of, and where it was."""
    if len(records) > len(paths) == 1 and paths[0].is_dir():
        return [(None, paths[0])]  # a folder of them: the comparison tells whether it is as it was
    return [*zip_longest(records, paths if len(paths) >= len(records) else [])]


def _places(given: Mapping[str, Any]) -> dict[str, list[Path]]:
    """Return the paths of a run record by role, without what is none."""
    several = {role: one if isinstance(one, list) else [one] for role, one in given.items()}
    return {
        role: [Path(one) for one in some]
        for role, some in several.items()
        if some and all(isinstance(one, str) for one in some)
    }


def _find_one(
    recorded: Record | None, path: Path | None, there: Sequence[tuple[Path, int]], links: Path
) -> str | Path | None:
    """Return an input: where it was, else a file of its digest."""
    if recorded is None:  # named, but not read, or read beside another file
        known = path is not None and (path.exists() or not path.is_absolute())
        return path if known else _of_name(path, there)
    if path is not None and not path.is_absolute():
        return str(path)  # no file: the name of a pipeline
    if path is not None and is_recorded(path, recorded):
        return path
    name, _, member = recorded["name"].partition("/")
    for file, size in there:
        if size == recorded["size"] and is_recorded(file, recorded):
            if file.name != name and is_plain_name(name.removeprefix(".")):
                links.mkdir()  # its name is part of the record: give it back
                (links / name).symlink_to(file.resolve())
                file = links / name
            return file / member if member else file
    # Several files are recorded as one, whose digest is that of their listing: the comparison tells.
    places = [path, *(one for one, _ in there if one.name == name)]
    return next((one for one in places if one and one.exists() and not _is_alone(one, recorded)), None)


def _is_alone(path: Path, recorded: Record) -> bool:
    """Return whether the record can be of this file by itself: of several, the sizes are added up."""
    file, _ = find_file(path)
    return file.is_file() and file.stat().st_size >= recorded["size"]


def _of_name(path: Path | None, there: Sequence[tuple[Path, int]]) -> Path | None:
    return next((one for one, _ in there if path is not None and one.name == path.name), None)


def _missing(role: str, recorded: Record | None, path: Path | None) -> str:
    if recorded is None:
        return f"{option_name(role)} {path}: no such file"
    told = (
        f"{option_name(role)} {recorded['name']} ({recorded['size']:,} bytes, SHA-256 {recorded['sha256']})"
    )
    is_there = path is not None and find_file(path)[0].exists()
    return f"{told}: {path} was changed since" if is_there else f"{told}: {path or 'not known where it was'}"


# ---- the comparison ----


def _compared(folder: Path, new: Path, manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return for each file of two folders' manifests whether both have it, with the same bytes."""
    names = {*_listed(manifest), *read_json_file(new / MANIFEST)["files"]}
    files = {}
    for name in (*sorted(names - {MANIFEST}), MANIFEST):
        there, here = digest_of(folder / name), digest_of(new / name)
        if there is None or here is None:
            files[name] = "only here" if there is None else "only there"
        else:
            files[name] = "same" if there == here else "differs"
    return files


def _listed(manifest: Mapping[str, Any]) -> list[str]:
    """Return the names of the files that a manifest lists."""
    listed = manifest.get("files")
    return [name for name in listed if is_plain_name(name)] if isinstance(listed, dict | list) else []


def _explained(older: Mapping[str, Any], newer: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what explains a difference: another version, or other inputs."""
    notes = []
    if older.get("version") != newer["version"]:
        notes.append(
            f"built by version {older.get('version')}, repeated by {newer['version']}: every table and the "
            "manifest name the version"
        )
    before, after = (by_role(each["inputs"]) for each in (older, newer))
    changed = [role for role in {**before, **after} if before.get(role) != after.get(role)]
    if changed:
        notes.append(f"the inputs are not the same: {', '.join(changed)}")
    return tuple(notes)
