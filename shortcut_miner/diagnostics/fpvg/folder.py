"""Reading an FPVG folder back: everything that score and others need is in it."""

import dataclasses
from pathlib import Path
from typing import Any

import polars as pl

from shortcut_miner.diagnostics.fpvg.outputs import COMMAND
from shortcut_miner.errors import SourceError
from shortcut_miner.storage import MANIFEST, read_json_file, read_provenance

_TABLES = ("questions", "regions")


@dataclasses.dataclass(frozen=True, slots=True)
class FpvgFolder:
    """What ``fpvg build`` wrote.

    Attributes
    ----------
    path : Path
        The folder.
    questions : pl.DataFrame
        schemas.GqaQuestions.
    regions : pl.DataFrame
        The region lists (see :func:`shortcut_miner.diagnostics.fpvg.lists.region_lists`); rows as in
        `questions`.
    manifest : dict
        Provenance, counts and figures.
    """

    path: Path
    questions: pl.DataFrame
    regions: pl.DataFrame
    manifest: dict[str, Any]


def read_folder(path: Path) -> FpvgFolder:
    """Return the tables of an FPVG folder.

    Raises
    ------
    SourceError
        Not such a folder, a missing or damaged file, or files of two different builds.
    """
    if not (path / MANIFEST).is_file():
        what = (
            "a file" if path.is_file() else "no such folder" if not path.exists() else f"no {MANIFEST} in it"
        )
        raise SourceError(f"{path}: got {what}, expected a folder that {COMMAND} wrote. Give that folder.")
    manifest = read_json_file(path / MANIFEST)
    if manifest.get("command") != COMMAND:
        raise SourceError(
            f"{path}: got the output of {manifest.get('command')!r}, expected that of {COMMAND}. "
            f"Give the folder of a {COMMAND}."
        )
    tables = {name: _read_table(path / f"{name}.parquet", manifest) for name in _TABLES}
    return FpvgFolder(path, tables["questions"], tables["regions"], manifest)


def _read_table(path: Path, manifest: dict[str, Any]) -> pl.DataFrame:
    try:
        provenance = read_provenance(path)
        table = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise SourceError(
            f"{path}: got {error}, expected a table that {COMMAND} wrote. Run the build again."
        ) from error
    if any(provenance.get(key) != manifest.get(key) for key in ("version", "config", "counts")):
        raise SourceError(
            f"{path}: got a table of another build than {MANIFEST} describes, expected files of one build. "
            "The last build was interrupted while it replaced an older one: run it again."
        )
    return table
