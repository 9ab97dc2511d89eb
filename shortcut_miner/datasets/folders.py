"""Built folders on disk: written as a whole, and read back only where all files belong together."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shortcut_miner.errors import SourceError
from shortcut_miner.schemas import validated
from shortcut_miner.storage import (
    MANIFEST,
    RUN_RECORD,
    Provenance,
    parquet_stream,
    read_json_file,
    read_provenance,
    staged_folder,
    write_json,
    write_parquet,
)
from shortcut_miner.timing import OnStage, StageCost, timed

if TYPE_CHECKING:
    import dataframely as dy
    from _typeshed import DataclassInstance

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
    on_stage : callable or None
        Told each stage's name before it starts.
    limits : dict of str to int
        What this machine set, such as the most antecedents that fit in its memory.
    """

    files: "DataclassInstance"
    backend: str = "polars"
    threads: int = dataclasses.field(default_factory=pl.thread_pool_size)
    costs: list[StageCost] = dataclasses.field(default_factory=list)
    on_stage: OnStage | None = None
    limits: dict[str, int] = dataclasses.field(default_factory=dict)


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
        Goes into ``run.json``; the cost of writing is added to it.
    write : callable
        Writes tables and manifest into the folder that it is given.
    notes, warnings : iterable of str
        Go into ``run.json``.
    stage : str
        What writing is called among the costs.

    Raises
    ------
    ConfigError, SourceError
        See :func:`shortcut_miner.storage.staged_folder`.
    """
    with staged_folder(out) as folder:
        with timed(run.costs, stage, run.on_stage):
            write(folder)
        record = {
            "out": str(out.resolve()),
            "files": {role: _resolved(path) for role, path in _given(run.files).items()},
            "backend": run.backend,
            "threads": run.threads,
            "limits": run.limits,
            "stages": [dataclasses.asdict(cost) for cost in run.costs],
            "notes": list(notes),
            "warnings": list(warnings),
        }
        write_json(record, folder / RUN_RECORD)


def _given(files: "DataclassInstance") -> dict[str, Any]:
    return {role: path for role, path in dataclasses.asdict(files).items() if path is not None}


def _resolved(path: object) -> str:
    return str(path.resolve() if isinstance(path, Path) else path)


def write_tables(folder: Path, provenance: Provenance, tables: Mapping[str, pl.DataFrame | None]) -> None:
    """Write each table that is there under its name, with the provenance."""
    for name, table in tables.items():
        if table is not None:
            write_parquet(table, folder / f"{name}.parquet", provenance)


def write_blocks(folder: Path, provenance: Provenance, name: str, blocks: Iterator[pl.DataFrame]) -> None:
    """Write one table that is given block by block, at least one, and is never in memory as a whole."""
    block = next(blocks)
    schema = block.clear().to_arrow(compat_level=pl.CompatLevel.oldest()).schema
    with parquet_stream(folder / f"{name}.parquet", schema, provenance) as write_rows:
        write_rows(block)
        for block in blocks:
            write_rows(block)


def write_manifest(folder: Path, provenance: Provenance, figures: Mapping[str, Any] | None = None) -> None:
    """Write the manifest of a folder, with figures if there are any."""
    more = {} if figures is None else {"figures": figures}
    write_json(provenance.for_manifest() | more, folder / MANIFEST)


def release_ids(ids: pl.Series) -> list[int | str]:
    """Return ids as released files have them: numbers where all are numbers.

    >>> release_ids(pl.Series(["12", "7"])), release_ids(pl.Series(["012", "7"]))
    ([12, 7], ['012', '7'])
    """
    is_number = ids.str.contains(r"^(0|[1-9][0-9]{0,17})$").all()
    return (ids.cast(pl.Int64) if is_number else ids).to_list()


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
            It is missing or damaged, or of another build.
        """
        path = self.path / f"{name}.parquet"
        check_build(path, self.command, self.manifest)
        return path

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
            table = pl.read_parquet(path)
        return table if schema is None else validated(table, schema, str(path))


def open_folder(path: Path, command: str, *, figures: Iterable[str] = ()) -> BuiltFolder:
    """Return a folder that `command` wrote, whose manifest has these figures.

    Raises
    ------
    SourceError
        Not such a folder, or a damaged manifest.
    """
    if not (path / MANIFEST).is_file():
        there = "no such folder" if not path.exists() else f"no {MANIFEST} in it"
        got = "a file" if path.is_file() else there
        raise SourceError(f"{path}: got {got}, expected a folder that {command} wrote. Give that folder.")
    manifest = read_json_file(path / MANIFEST)
    written_by = manifest.get("command") if isinstance(manifest, dict) else None
    if written_by != command:
        raise SourceError(
            f"{path}: got the output of {written_by!r}, expected that of {command}. "
            f"Give the folder of a {command}."
        )
    if not all(isinstance(manifest.get(name), dict) for name in ("config", "counts")):
        raise SourceError(
            f"{path / MANIFEST}: got no config or no counts, expected what {command} wrote. "
            "Run the build again."
        )
    there = manifest.get("figures")
    missing = [name for name in figures if not isinstance(there, dict) or name not in there]
    if missing:
        raise SourceError(
            f"{path / MANIFEST}: got no {' and no '.join(missing)} among its figures, expected what "
            f"{command} wrote. Run the build again."
        )
    return BuiltFolder(path, command, manifest)


def check_build(path: Path, command: str, manifest: Mapping[str, Any]) -> None:
    """Raise SourceError unless a table is readable and of the build that `manifest` describes."""
    with _told(path, command):
        provenance = read_provenance(path)
    if not is_same_build(provenance, manifest):
        raise SourceError(
            f"{path}: got a table of another build than {MANIFEST} describes, expected files of one build. "
            "The last build was interrupted while it replaced an older one: run it again."
        )


def is_same_build(provenance: Mapping[str, Any], manifest: Mapping[str, Any]) -> bool:
    """Return whether a table is of the build that a manifest describes: by what did it, how, and of what."""
    return _told_apart_by(provenance) == _told_apart_by(manifest)


def _told_apart_by(build: Mapping[str, Any]) -> list[Any]:
    inputs = build.get("inputs")
    contents = [one.get("content_sha256") for one in inputs] if isinstance(inputs, list) else inputs
    return [build.get(name) for name in _SAME_BUILD] + [contents]


@contextlib.contextmanager
def _told(path: Path, command: str) -> Iterator[None]:
    """Turn what reading one of our own tables can raise into a SourceError that names it."""
    try:
        yield
    except (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise SourceError(
            f"{path}: got {error}, expected a table that {command} wrote. Run the build again."
        ) from error
