"""Writing what a score command found, and of which build."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from shortcut_miner.datasets.cards import CARD
from shortcut_miner.datasets.folders import (
    BUILD_ROLE,
    changed_inputs,
    describe,
    told_apart_by,
    write_manifest,
    write_tables,
)
from shortcut_miner.datasets.reports import ScoreReport
from shortcut_miner.errors import SourceError
from shortcut_miner.journal import digest_of
from shortcut_miner.publishing import Inputs, check_target, staged_folder
from shortcut_miner.scoring.extraction import changed_count
from shortcut_miner.scoring.tables import write_scores
from shortcut_miner.storage import MANIFEST, InputRecord, Provenance, read_json_file

Report = TypeVar("Report", bound=ScoreReport)

_NO_TABLES = ("command", "notes", "warnings", "dropped")
_SCORES = ("scores.json", "scores.md", "scores.tex", "scores_long.tex")


def check_score_target(
    out: Path | None,
    kind: type[ScoreReport],
    command: str,
    config: Mapping[str, Any],
    inputs: Inputs,
    *,
    force: bool,
) -> None:
    """Raise now, not after the work, if scores can't be written into `out`.

    Parameters
    ----------
    out : Path or None
        The folder; without one, that of a dry run is checked, if there is any.
    kind : type
        The room's report, whose fields are the tables to write.
    command, config, inputs, force
        See :func:`shortcut_miner.publishing.check_target`.
    """
    tables = [field.name for field in dataclasses.fields(kind) if field.name not in _NO_TABLES]
    names = [*(f"{name}.parquet" for name in tables), *_SCORES, CARD]
    check_target(out, command=command, config=config, names=names, inputs=inputs, force=force)


def build_record(folder: Path, manifest: Mapping[str, Any]) -> InputRecord:
    """Return the manifest's entry of the build that was scored: size and digests of its own manifest.

    Parameters
    ----------
    folder : Path
        The build's.
    manifest : mapping
        As it was when the build was read.

    Raises
    ------
    SourceError
        It is another one by now.
    """
    path = folder / MANIFEST
    digest = digest_of(path.resolve())
    if digest is None or read_json_file(path) != manifest:
        raise SourceError(
            f"{path}: got a manifest of another build than was read: the folder was built again since, "
            "expected it as it was then. Score it again."
        )
    return InputRecord(
        role=BUILD_ROLE,
        name=f"{folder.resolve().name}/{MANIFEST}",
        size=digest.size,
        sha256=digest.sha256,
        content_sha256=build_sha256(manifest),
    )


def build_sha256(manifest: Mapping[str, Any]) -> str:
    """Return the SHA-256 of what tells a build from others, whatever the order of rows in its inputs."""
    return hashlib.sha256(json.dumps(told_apart_by(manifest), sort_keys=True).encode()).hexdigest()


def scored_build(manifest: Mapping[str, Any]) -> str | None:
    """Return the :func:`build_sha256` that scores record; None if they don't, as those of older versions."""
    found = (one.get("content_sha256") for one in manifest["inputs"] if one.get("role") == BUILD_ROLE)
    return next(found, None)


def write_report(
    out: Path,
    report: Report,
    *,
    config: Mapping[str, Any],
    inputs: Sequence[InputRecord],
    counts: Mapping[str, int],
    force: bool = False,
) -> Report:
    """Write every table of a report, the scores as JSON, Markdown and LaTeX too, and the manifest.

    Returns the report, with a note if scores of other inputs, such as another build, are replaced.

    The option tex_intervals of `config` says whether scores.tex has intervals.

    Parameters
    ----------
    out : Path
        The folder.
    report : ScoreReport
        What was found.
    config, inputs, counts
        As in :class:`shortcut_miner.storage.Provenance`.
    force : bool
        Replace the scores of a run with other options.

    Raises
    ------
    ConfigError, SourceError
        See :func:`shortcut_miner.publishing.staged_folder`.
    """
    provenance = Provenance(
        command=report.command,
        config=config,
        inputs=inputs,
        counts={**counts, **_changed(report.extracted_answers)},
        dropped=report.dropped,
    )
    with staged_folder(out, force=force) as folder:
        write_tables(folder, provenance, report.tables)
        intervals = bool(config.get("tex_intervals"))
        write_scores(folder, report.scores, report.paper_columns(), tex_intervals=intervals)
        write_manifest(folder, provenance)
        describe(folder)
        replaced = tuple(changed_inputs(out, folder))
    return dataclasses.replace(report, notes=report.notes + replaced)


def _changed(extracted: pl.DataFrame | None) -> dict[str, int]:
    """Return how many answers an extraction changed, by their name in the manifest."""
    return {} if extracted is None else {"answers_changed": changed_count(extracted)[0]}
