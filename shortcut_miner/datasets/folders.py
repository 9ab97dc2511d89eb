"""Built folders on disk: written as a whole, and read back only where all files belong together."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shortcut_miner.columnar import read_frame, read_through
from shortcut_miner.datasets.cards import CARD, write_table_card
from shortcut_miner.errors import SourceError, reason_of
from shortcut_miner.journal import as_digest, digest_of, finish_interrupted
from shortcut_miner.publishing import check_target, staged_folder
from shortcut_miner.schemas import validated
from shortcut_miner.storage import (
    MANIFEST,
    PROVENANCE_ERRORS,
    RUN_RECORD,
    Provenance,
    checked_provenance,
    parquet_stream,
    read_json_file,
    read_provenance,
    write_json,
    write_parquet,
)
from shortcut_miner.timing import OnStage, StageCost, timed

if TYPE_CHECKING:
    import dataframely as dy
    from _typeshed import DataclassInstance

# An id that released files have as a number, where all others are numbers too.
NUMBER = r"^(0|[1-9][0-9]{0,17})$"
BUILD_ROLE = "folder"  # of a build's manifest, among the inputs of what was made of the build
_SAME_BUILD = ("version", "command", "config", "counts")


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """What one run costs and says, which changes no result.

    Attributes
    ----------
    files : dataclass
        The inputs: a field a role, None if there is no such file.
    backend : str
        What computed: a mining backend's name, or the library.
    threads : int
        How many it was given; those of Polars' pool where a room doesn't choose.
    costs : list of StageCost
        By stage, as far as the run has come.
    notes : list of str
        What was decided beside the reading of files.
    on_stage : callable or None
        Told each stage's name before it starts.
    force : bool
        Whether the files of a run with other options may be replaced.
    limits : dict of str to int
        What this machine set, such as the most antecedents that fit in its memory.
    executor : str or None
        Where parts of the work ran, if not in this process.
    """

    files: "DataclassInstance"
    backend: str = "polars"
    threads: int = dataclasses.field(default_factory=pl.thread_pool_size)
    costs: list[StageCost] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)
    on_stage: OnStage | None = None
    force: bool = False
    limits: dict[str, int] = dataclasses.field(default_factory=dict)
    executor: str | None = None

    def check_out(
        self, out: Path | None, command: str, config: Mapping[str, Any], names: Iterable[str]
    ) -> None:
        """Raise now, not after the work, if the run can't write its files into `out`.

        Parameters
        ----------
        out : Path or None
            The folder; without one, that of a dry run is checked, if there is any.
        command, config
            As the manifest is going to have them.
        names : iterable of str
            See :func:`shortcut_miner.publishing.check_target`.
        """
        check_target(
            out,
            command=command,
            config=config,
            names=(RUN_RECORD, CARD, *names),
            inputs=_given(self.files),
            force=self.force,
        )


def options_of(config: "DataclassInstance", limit: int | None) -> dict[str, Any]:
    """Return what a manifest records as the options of a run: a config's fields, and the limit."""
    return dataclasses.asdict(config) | {"limit": limit}


def publish(
    out: Path,
    run: Run,
    write: Callable[[Path], None],
    *,
    notes: Iterable[str] = (),
    warnings: Iterable[str] = (),
    stage: str = "write",
) -> None:
    """Write a built folder; every file gets its final name only when all are complete, the manifest last.

    Parameters
    ----------
    out : Path
        The folder.
    run : Run
        Goes into ``run.json``; the cost of writing is added to it, and a note if an older run is replaced
        that had other inputs.
    write : callable
        Writes tables and manifest into the folder that it is given; README.md follows, see :func:`describe`.
    notes, warnings : iterable of str
        Go into ``run.json``.
    stage : str
        What writing is called among the costs.

    Raises
    ------
    ConfigError, SourceError
        See :func:`shortcut_miner.publishing.staged_folder`.
    """
    files = _given(run.files)
    with staged_folder(out, inputs=files, force=run.force) as folder:
        with timed(run.costs, stage, run.on_stage):
            write(folder)
            describe(folder)
        run.notes.extend(changed_inputs(out, folder))
        record = {
            "out": str(out.resolve()),
            "files": {role: _resolved(path) for role, path in files.items()},
            "backend": run.backend,
            "threads": run.threads,
            **({} if run.executor is None else {"executor": run.executor}),
            "limits": run.limits,
            "stages": [dataclasses.asdict(cost) for cost in run.costs],
            "notes": list(dict.fromkeys([*notes, *run.notes])),
            "warnings": list(dict.fromkeys(warnings)),
        }
        write_json(record, folder / RUN_RECORD)


def describe(folder: Path) -> None:
    """Write README.md beside the tables of a folder whose manifest is written, if it has none yet."""
    if not (folder / CARD).exists():
        manifest = read_json_file(folder / MANIFEST)
        write_table_card(folder, manifest["command"], manifest["version"])


def _given(files: "DataclassInstance") -> dict[str, Any]:
    """Return the files by role; of files by name, such as models' answers, each has a role of its own."""
    given = {role: path for role, path in dataclasses.asdict(files).items() if path is not None}
    return {
        one: path
        for role, paths in given.items()
        for one, path in (
            {f"{role} of {name}": path for name, path in paths.items()}
            if isinstance(paths, Mapping)
            else {role: paths}
        ).items()
    }


def _resolved(path: object) -> str | list[str]:
    """Return a path that holds in every folder, several as a list; other text, such as a pipeline, as it is.

    A single one of what may be several is no list.
    """
    if isinstance(path, tuple):
        texts = [_resolved_path(one) for one in path]
        return texts if len(texts) > 1 else texts[0]
    return _resolved_path(path)


def _resolved_path(path: object) -> str:
    is_path = isinstance(path, Path) or Path(str(path)).exists()
    return str(Path(str(path)).resolve() if is_path else path)


def changed_inputs(out: Path, staging: Path) -> Iterator[str]:
    """Give a note if the run that is replaced had other inputs."""
    if not (out / MANIFEST).is_file():
        return
    older, newer = (
        {(one["role"], one["sha256"]) for one in read_json_file(folder / MANIFEST)["inputs"]}
        for folder in (out, staging)
    )
    changed = {role for role, _ in older ^ newer}
    if BUILD_ROLE not in {role for role, _ in older}:  # scores of an older version don't say of which build
        changed.discard(BUILD_ROLE)
    if changed:
        yield f"{out}: replaces a run on other inputs ({', '.join(sorted(changed))})"


def write_tables(folder: Path, provenance: Provenance, tables: Mapping[str, pl.DataFrame | None]) -> None:
    """Write each table that is there under its name, with the provenance."""
    for name, table in tables.items():
        if table is not None:
            write_parquet(table, folder / f"{name}.parquet", provenance)


def write_blocks(folder: Path, provenance: Provenance, name: str, blocks: Iterator[pl.DataFrame]) -> None:
    """Write one table that is given block by block, at least one, and is never in memory as a whole."""
    with parquet_stream(folder / f"{name}.parquet", provenance) as append:
        for block in blocks:
            append(block)


def write_manifest(folder: Path, provenance: Provenance, figures: Mapping[str, Any] | None = None) -> None:
    """Write the manifest of a folder, with figures if there are any."""
    more = {} if figures is None else {"figures": figures}
    write_json(provenance.for_manifest() | more, folder / MANIFEST)


def release_ids(ids: pl.Series) -> list[int | str]:
    """Return ids as released files have them: numbers where all are numbers.

    >>> release_ids(pl.Series(["12", "7"])), release_ids(pl.Series(["012", "7"]))
    ([12, 7], ['012', '7'])
    """
    return (ids.cast(pl.Int64) if ids.str.contains(NUMBER).all() else ids).to_list()


@dataclasses.dataclass(frozen=True, slots=True)
class BuiltFolder:
    """A folder that a build wrote, as far as its manifest says.

    Attributes
    ----------
    path : Path
        The folder.
    command : str
        What wrote it, such as "vqa-ce build".
    manifest : dict
        Provenance, counts and figures.
    """

    path: Path
    command: str
    manifest: dict[str, Any]

    def has(self, name: str) -> bool:
        """Return whether the folder has a table of this name."""
        return (self.path / f"{name}.parquet").is_file()

    def check(self, name: str) -> Path:
        """Return the file of a table that is of the same build as the manifest.

        Raises
        ------
        SourceError
            It is missing or damaged, of another build, or written again since the manifest was read.
        """
        finish_interrupted(self.path)
        path = self.path / f"{name}.parquet"
        with _told(path, self.command):
            found = read_provenance(path)
            is_listed = not found and self._lists(path)
        if is_listed or is_same_build(found, self.manifest):
            return path
        if is_same_build(found, read_json_file(self.path / MANIFEST)):
            raise SourceError(
                f"{path}: got a table of another build than was read: the folder was built again since, "
                "expected it as it was then. Read the folder anew, or build into another one."
            )
        raise SourceError(
            f"{path}: got a table of another build than {MANIFEST} describes, expected files of one build. "
            "Was it copied here from another folder? If not, the last build was interrupted: run it again."
        )

    def _lists(self, path: Path) -> bool:
        """Return whether the manifest has the digest of a file; an export's tables say nothing themselves."""
        files = self.manifest.get("files")
        listed = as_digest(files.get(path.name)) if isinstance(files, dict) else None
        return listed is not None and digest_of(path) == listed

    def table(self, name: str, schema: "type[dy.Schema] | None" = None) -> pl.DataFrame:
        """Return a table of the same build as the manifest.

        Raises
        ------
        SourceError
            It is missing or damaged, or of another build.
        SchemaError
            It breaks the schema.
        """
        path = self.check(name)
        with _told(path, self.command):
            table = read_frame(path)
        return table if schema is None else validated(table, schema, str(path))

    def row_count(self, name: str) -> int:
        """Return how many rows a table has, after reading all of it; raises as :meth:`table`."""
        path = self.check(name)
        with _told(path, self.command):
            return read_through(path).total


def read_written_table(path: Path, schema: "type[dy.Schema]") -> pl.DataFrame:
    """Return one of our tables by its file: of the build beside it, if a manifest there speaks for it.

    Raises
    ------
    SourceError, SchemaError
        As for :meth:`BuiltFolder.table`.
    """
    finish_interrupted(path.parent)
    beside = path.parent / MANIFEST
    manifest = read_json_file(beside) if beside.is_file() else None
    if isinstance(manifest, dict) and path.name in (manifest.get("files") or ()):
        BuiltFolder(path.parent, str(manifest.get("command")), manifest).check(path.stem)
    with _told(path, "shortcut-miner"):
        table = read_frame(path)
    return validated(table, schema, str(path))


def open_folder(path: Path, *commands: str, figures: Iterable[str] = ()) -> BuiltFolder:
    """Return a folder that one of `commands` wrote (any, without them), whose manifest has these figures.

    Raises
    ------
    SourceError
        Not such a folder, a damaged manifest, or an interrupted run that can't be finished here.
    """
    finish_interrupted(path)
    writers = " or ".join(commands) or "a command"
    if not (path / MANIFEST).is_file():
        there = "no such folder" if not path.exists() else f"no {MANIFEST} in it"
        got = "a file" if path.is_file() else there
        raise SourceError(f"{path}: got {got}, expected a folder that {writers} wrote. Give that folder.")
    manifest = read_json_file(path / MANIFEST)
    written_by = manifest.get("command") if isinstance(manifest, dict) else None
    if not isinstance(written_by, str):
        raise SourceError(
            f"{path / MANIFEST}: got no command that wrote it, expected what {writers} wrote. Give a folder "
            "as it was written, or run the build again."
        )
    if commands and written_by not in commands:
        raise SourceError(
            f"{path}: got the output of {written_by!r}, expected that of {writers}. "
            f"Give the folder of a {writers}."
        )
    try:
        checked_provenance(manifest)
    except ValueError as error:
        raise SourceError(
            f"{path / MANIFEST}: got {error}, expected what {written_by} wrote. Run the build again."
        ) from error
    if not all(isinstance(manifest.get(name), dict) for name in ("config", "counts")):
        raise SourceError(
            f"{path / MANIFEST}: got no config or no counts, expected what {written_by} wrote. "
            "Run the build again."
        )
    there = manifest.get("figures")
    missing = [name for name in figures if not isinstance(there, dict) or name not in there]
    if missing:
        raise SourceError(
            f"{path / MANIFEST}: got no {' and no '.join(missing)} among its figures, expected what "
            f"{written_by} wrote. Run the build again."
        )
    return BuiltFolder(path, written_by, manifest)


def is_same_build(provenance: Mapping[str, Any], manifest: Mapping[str, Any]) -> bool:
    """Return whether a table is of the build that a manifest describes: by what did it, how, and of what."""
    return told_apart_by(provenance) == told_apart_by(manifest)


def told_apart_by(build: Mapping[str, Any]) -> list[Any]:
    """Return what tells one build from another, whatever the order of rows in their inputs."""
    inputs = build.get("inputs")
    contents = [one.get("content_sha256") for one in inputs] if isinstance(inputs, list) else inputs
    return [build.get(name) for name in _SAME_BUILD] + [contents]


@contextlib.contextmanager
def _told(path: Path, command: str) -> Iterator[None]:
    """Turn what reading one of our own tables can raise into a SourceError that names it."""
    try:
        yield
    except PROVENANCE_ERRORS as error:
        raise SourceError(
            f"{path}: got {_reason(path, error)}, expected a table that {command} wrote. Run the build again."
        ) from error


def _reason(path: Path, error: BaseException) -> str:
    """Return what went wrong, in short."""
    return reason_of(error) if path.exists() else "no such file"
