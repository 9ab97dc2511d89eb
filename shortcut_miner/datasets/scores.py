"""Writing what a score command found."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from shortcut_miner.datasets.cards import CARD
from shortcut_miner.datasets.folders import describe, write_manifest, write_tables
from shortcut_miner.datasets.reports import ScoreReport
from shortcut_miner.publishing import Inputs, check_target, staged_folder
from shortcut_miner.scoring.extraction import changed_count
from shortcut_miner.scoring.tables import write_scores
from shortcut_miner.storage import InputRecord, Provenance

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


def _changed(extracted: pl.DataFrame | None) -> dict[str, int]:
    """Return how many answers an extraction changed, by their name in the manifest."""
    return {} if extracted is None else {"answers_changed": changed_count(extracted)[0]}
