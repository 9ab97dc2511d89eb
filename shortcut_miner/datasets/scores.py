"""Writing what a score command found."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from shortcut_miner.datasets.folders import write_manifest, write_tables
from shortcut_miner.datasets.reports import ScoreReport
from shortcut_miner.scoring.extraction import changed_count
from shortcut_miner.scoring.tables import write_scores
from shortcut_miner.storage import InputRecord, Provenance, staged_folder


def write_report(
    out: Path,
    report: ScoreReport,
    *,
    config: Mapping[str, Any],
    inputs: Sequence[InputRecord],
    counts: Mapping[str, int],
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

    Raises
    ------
    ConfigError, SourceError
        See :func:`shortcut_miner.storage.staged_folder`.
    """
    provenance = Provenance(
        command=report.command,
        config=config,
        inputs=inputs,
        counts={**counts, **_changed(report.extracted_answers)},
        dropped=report.dropped,
    )
    with staged_folder(out) as folder:
        write_tables(folder, provenance, report.tables)
        intervals = bool(config.get("tex_intervals"))
        write_scores(folder, report.scores, report.paper_columns(), tex_intervals=intervals)
        write_manifest(folder, provenance)


def _changed(extracted: pl.DataFrame | None) -> dict[str, int]:
    """Return how many answers an extraction changed, by their name in the manifest."""
    return {} if extracted is None else {"answers_changed": changed_count(extracted)[0]}
