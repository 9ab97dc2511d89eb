"""Writing what ``fpvg score`` found."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shortcut_miner.diagnostics.fpvg.answers import RunAnswers
from shortcut_miner.diagnostics.fpvg.config import ScoreConfig
from shortcut_miner.diagnostics.fpvg.folder import FpvgFolder
from shortcut_miner.scoring.tables import as_dict, as_latex, as_markdown
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.storage import (
    MANIFEST,
    InputRecord,
    Provenance,
    staged_folder,
    table_sha256,
    write_json,
    write_parquet,
)

if TYPE_CHECKING:
    from shortcut_miner.diagnostics.fpvg.score import ScoreReport

_TABLES = ("scores", "categories", "outcomes", "seeds", "drops", "quadrants")


def write(
    out: Path,
    report: "ScoreReport",
    folder: FpvgFolder,
    runs: Sequence[RunAnswers],
    id_lists: Mapping[str, Reading],
    config: ScoreConfig,
) -> None:
    """Write a table for everything in the report, and the scores as JSON, Markdown and LaTeX.

    Raises
    ------
    ConfigError, SourceError
        See :func:`shortcut_miner.storage.staged_folder`.
    """
    inputs = [
        _record(f"{condition} predictions of {answered.run.name}", reading)
        for answered in runs
        for condition, reading in answered.readings.items()
    ]
    inputs += [_record(f"ids {name}", reading) for name, reading in id_lists.items()]
    provenance = Provenance(
        command="fpvg score",
        config=dataclasses.asdict(config) | {"build": folder.manifest["config"]},
        inputs=inputs,
        counts={
            "questions": len(folder.questions),
            "evaluated": report.categories["question_id"].n_unique(),
            "runs": len(runs),
        },
        dropped={},
    )
    with staged_folder(out) as staging:
        for name in _TABLES:
            table = getattr(report, name)
            if table is not None:
                write_parquet(table, staging / f"{name}.parquet", provenance)
        write_json(as_dict(report.scores), staging / "scores.json")
        (staging / "scores.md").write_text(as_markdown(report.scores) + "\n", encoding="utf-8")
        (staging / "scores.tex").write_text(as_latex(report.scores) + "\n", encoding="utf-8")
        write_json(provenance.for_manifest(), staging / MANIFEST)


def _record(role: str, reading: Reading) -> InputRecord:
    return InputRecord(
        role=role,
        name=reading.file.name,
        size=reading.file.size,
        sha256=reading.file.sha256,
        content_sha256=table_sha256(reading.table, "question_id"),
    )
