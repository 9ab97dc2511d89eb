"""Checking a folder against its own manifest: digests of files, counts of tables, and digests of inputs.

Nothing is built again (:mod:`shortcut_miner.repeating` does that): what was written is read, and compared
with what the manifest says of it.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Literal

import polars as pl

from shortcut_miner import rooms
from shortcut_miner.columnar import COLUMNAR_ERRORS, look_at_columns, read_frame
from shortcut_miner.datasets.folders import BuiltFolder, is_same_build, open_folder
from shortcut_miner.errors import SourceError
from shortcut_miner.journal import Digest, as_digest, digest_of, is_plain_name
from shortcut_miner.options import PathText, as_path, as_path_if_given
from shortcut_miner.recorded_inputs import Record, is_recorded, places_below, recorded_inputs
from shortcut_miner.sources.opening.files import facts_of_all, file_facts, system_errors
from shortcut_miner.storage import MANIFEST, PROVENANCE_ERRORS, UNLISTED, read_provenance
from shortcut_miner.timing import OnStage, in_parts

FileState = Literal["same", "changed", "missing", "of another run"]
InputState = Literal["same", "changed", "not found", "not looked for"]
Counted = Mapping[str, Mapping[str, pl.Expr]]

# What ``mine`` and ``merge`` count; a room says it of its own tables.
_MINED: Counted = {"rules": {"rules": pl.len(), "rows": pl.col("transaction_count").first()}}


@dataclasses.dataclass(frozen=True, slots=True)
class Verification:
    """What a folder holds, beside what its manifest says.

    Attributes
    ----------
    folder : Path
        The folder.
    command : str
        What wrote it.
    files : dict of str to str
        Each file in the manifest: "same"; "changed"; "missing", also where a link or a folder has its name;
        "of another run", a table whose own record says something else than the manifest.
    counts : dict of str to (int, int or None)
        Each count in the manifest, and what the tables give for it; None where it does not follow from them.
    inputs : list of (str, str, str)
        Role and name of each input, and whether the folder of data has it: "same", "changed" (what has its
        name has other content), "not found", or, without such a folder, "not looked for".
    others : tuple of str
        Visible files and folders that the manifest does not list, but for run.json and leak.json.
    """

    folder: Path
    command: str
    files: dict[str, FileState]
    counts: dict[str, tuple[int, int | None]]
    inputs: list[tuple[str, str, InputState]]
    others: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether nothing differs from what the manifest says; inputs that were not found can't."""
        return not (
            set(self.files.values()) - {"same"}
            or any(found not in (None, said) for said, found in self.counts.values())
            or any(state == "changed" for *_, state in self.inputs)
        )

    @property
    def is_complete(self) -> bool:
        """Whether every input that was looked for was found."""
        return all(state != "not found" for *_, state in self.inputs)


def verify(
    folder: PathText, *, data_dir: PathText | None = None, on_stage: OnStage | None = None
) -> Verification:
    """Compare a folder with its manifest.

    Parameters
    ----------
    folder : path
        What any command wrote; it is not changed, but for a run that was stopped while its files got their
        names: that is finished first.
    data_dir : path, optional
        Folder whose files, and those of its folders, are searched for the inputs, by size and SHA-256.
    on_stage : callable, optional
        Told what is compared, and how many MB of how many.

    Raises
    ------
    SourceError
        Not such a folder, a manifest that lists no digests, or a file that can't be read.
    ConfigError
        `data_dir` is no folder.

    Examples
    --------
    >>> verify("nowhere")
    Traceback (most recent call last):
    shortcut_miner.errors.SourceError: nowhere: got no such folder, expected a folder that a ...
    """
    path, data = as_path("folder", folder), as_path_if_given("data_dir", data_dir)
    built = open_folder(path)
    listed = _listed(built)
    inputs = recorded_inputs(path, built.manifest)
    places = None if data is None else places_below(data)
    sizes = [digest.size for digest in listed.values()]
    parts = in_parts([*listed.items()], "files", on_stage, "MB", sizes=sizes)
    files = {name: _file_state(built, name, digest) for name, digest in parts}
    sought = in_parts(inputs, "inputs", on_stage, "MB", sizes=[one["size"] for one in inputs])
    return Verification(
        folder=path,
        command=built.command,
        files=files,
        counts=_counts(built, [name for name, state in files.items() if state == "same"]),
        inputs=[(one["role"], one["name"], _input_state(one, places)) for one in sought],
        others=tuple(
            sorted(
                one.name
                for one in path.iterdir()
                if one.name not in (*listed, MANIFEST, *UNLISTED) and not one.name.startswith(".")
            )
        ),
    )


# ---- files ----


def _listed(built: BuiltFolder) -> dict[str, Digest]:
    """Return the digests in a folder's manifest."""
    files = built.manifest.get("files")
    if isinstance(files, list):
        raise SourceError(
            f"{built.path / MANIFEST}: got no digests of files, as version {built.manifest.get('version')} "
            "wrote it, expected one of each. Run the command again, into another folder."
        )
    found: dict[str, Digest] = {}
    try:
        for name, value in files.items() if isinstance(files, dict) else [("files", files)]:
            digest = as_digest(value)
            if digest is None or not is_plain_name(name):
                raise ValueError(f"no digest of a file of this folder for {name!r}")
            found[name] = digest
    except (ValueError, LookupError, TypeError) as error:
        raise SourceError(
            f"{built.path / MANIFEST}: got {error}, expected files as {built.command} wrote them. "
            "Take the manifest as it was written, or run the command again."
        ) from error
    return found


def _file_state(built: BuiltFolder, name: str, listed: Digest) -> FileState:
    path = built.path / name
    with system_errors(str(path), path):
        digest = digest_of(path)
    if digest is None:
        return "missing"
    if digest != listed:
        return "changed"
    if path.suffix != ".parquet":
        return "same"
    try:
        said = read_provenance(path)
    except PROVENANCE_ERRORS:  # a stranger's table, whose digest somebody put into the manifest
        return "of another run"
    # Tables for other people's programs say nothing of themselves.
    return "same" if not said or is_same_build(said, built.manifest) else "of another run"


# ---- counts ----


def _counts(built: BuiltFolder, whole: Sequence[str]) -> dict[str, tuple[int, int | None]]:
    """Return each count of the manifest with what the tables give, of those that are as they were written."""
    said = built.manifest["counts"]
    found: dict[str, int] = {}
    for table, expressions in _counted(built.command).items():
        wanted = {name: one for name, one in expressions.items() if name in said}
        if f"{table}.parquet" in whole and wanted:
            found |= _count(built.path / f"{table}.parquet", wanted)
    return {name: (count, found.get(name)) for name, count in said.items()}


def _counted(command: str) -> Counted:
    room = command.split(" ")[0].replace("-", "_")
    if room not in rooms.NAMES:
        return _MINED if command == "mine" else {}
    counted: Counted = import_module(f"shortcut_miner.diagnostics.{room}.outputs").COUNTED
    return counted


def _count(path: Path, expressions: Mapping[str, pl.Expr]) -> dict[str, int]:
    """Return counts of one table, without those whose column it lacks."""
    try:
        columns = look_at_columns(path).names
        wanted = {
            name: one for name, one in expressions.items() if set(one.meta.root_names()) <= set(columns)
        }
        needed = {column for one in wanted.values() for column in one.meta.root_names()}
        frame = read_frame(path, sorted(needed) or columns[:1])
        row = frame.select(**wanted).row(0, named=True)
    except COLUMNAR_ERRORS:  # columns of other types than ours
        return {}
    return {name: count for name, count in row.items() if count is not None}


# ---- inputs ----


def _input_state(recorded: Record, places: Sequence[tuple[Path, int]] | None) -> InputState:
    """Return whether one of these files is the input, or one of the folders the files that it was."""
    if places is None:
        return "not looked for"
    if any(size == recorded["size"] and is_recorded(place, recorded) for place, size in places):
        return "same"
    if any(place.is_dir() and _is_all_of(place, recorded) for place, _ in places):
        return "same"
    name, file = recorded["name"], recorded["name"].partition("/")[0]
    is_named = any(file == place.name or place.as_posix().endswith(f"/{name}") for place, _ in places)
    return "changed" if is_named else "not found"


def _is_all_of(folder: Path, recorded: Record) -> bool:
    """Return whether several files that are recorded as one are those of a folder."""
    files = [one for one in sorted(folder.iterdir()) if one.is_file()]
    if sum(one.stat().st_size for one in files) != recorded["size"]:
        return False
    together = facts_of_all(folder.name, [file_facts(one) for one in files])
    return together.sha256 == str(recorded["sha256"])
