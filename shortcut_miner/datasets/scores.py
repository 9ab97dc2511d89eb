"""Writing what a score command found."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shortcut_miner.datasets.folders import write_manifest, write_tables
from shortcut_miner.datasets.reports import ScoreReport
from shortcut_miner.publishing import Inputs, check_target, staged_folder
from shortcut_miner.scoring.tables import write_scores
from shortcut_miner.storage import InputRecord, Provenance

_NO_TABLES = ("command", "notes")


def check_score_target(
    out: Path | None,
    kind: type[ScoreReport],
    command: str,
    config: Mapping[str, Any],
    inputs: Inputs,
    *,
    force: bool,
) -> None:
    """Raise now, not after the work, if scores can't be written into `out`; nothing without one.

    Parameters
    ----------
    out : Path or None
        The folder.
    kind : type
        The room's report, whose fields are the tables to write.
    command, config, inputs, force
        See :func:`shortcut_miner.publishing.check_target`.
    """
    if out is None:
        return
    tables = [field.name for field in dataclasses.fields(kind) if field.name not in _NO_TABLES]
    names = [f"{name}.parquet" for name in tables] + [f"scores.{form}" for form in ("json", "md", "tex")]
    check_target(out, command=command, config=config, names=names, inputs=inputs, force=force)


def write_report(
    out: Path,
    report: ScoreReport,
    *,
    config: Mapping[str, Any],
    inputs: Sequence[InputRecord],
    counts: Mapping[str, int],
    force: bool = False,
) -> None:
    """Write every table of a report, the scores as JSON, Markdown and LaTeX too, and the manifest.

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
    provenance = Provenance(command=report.command, config=config, inputs=inputs, counts=counts, dropped={})
    with staged_folder(out, force=force) as folder:
        write_tables(folder, provenance, report.tables)
        write_scores(folder, report.scores)
        write_manifest(folder, provenance)
