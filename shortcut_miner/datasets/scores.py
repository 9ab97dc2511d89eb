"""Writing what a score command found."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shortcut_miner.datasets.folders import write_manifest, write_tables
from shortcut_miner.datasets.reports import ScoreReport
from shortcut_miner.scoring.tables import as_dict, as_latex, as_markdown
from shortcut_miner.storage import InputRecord, Provenance, staged_folder, write_json


def write_report(
    out: Path,
    report: ScoreReport,
    *,
    config: Mapping[str, Any],
    inputs: Sequence[InputRecord],
    counts: Mapping[str, int],
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

    Raises
    ------
    ConfigError, SourceError
        See :func:`shortcut_miner.storage.staged_folder`.
    """
    provenance = Provenance(command=report.command, config=config, inputs=inputs, counts=counts, dropped={})
    known = report.scores.drop_nulls("value")  # a cell without a value is empty in tables
    with staged_folder(out) as folder:
        write_tables(folder, provenance, report.tables)
        write_json(as_dict(report.scores), folder / "scores.json")
        (folder / "scores.md").write_text(as_markdown(known) + "\n", encoding="utf-8")
        (folder / "scores.tex").write_text(as_latex(known) + "\n", encoding="utf-8")
        write_manifest(folder, provenance)
