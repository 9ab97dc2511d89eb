"""Score: how much models lean on irrelevant context (sections 3.2 and 4, Tables 1-3)."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from shortcut_miner.diagnostics.swapmix.answers import read_plan_answers
from shortcut_miner.diagnostics.swapmix.config import ScoreConfig
from shortcut_miner.diagnostics.swapmix.folder import read_folder, read_shape
from shortcut_miner.diagnostics.swapmix.metrics import METRICS, judge, summary
from shortcut_miner.diagnostics.swapmix.results import read_results
from shortcut_miner.errors import ConfigError
from shortcut_miner.scoring.tables import as_dict, as_latex, as_markdown
from shortcut_miner.sources.opening.files import FileFacts
from shortcut_miner.storage import (
    MANIFEST,
    InputRecord,
    Provenance,
    staged_folder,
    write_json,
    write_parquet,
)


@dataclasses.dataclass(frozen=True, slots=True)
class ScoreReport:
    """Scores of models on one plan.

    Attributes
    ----------
    scores : pl.DataFrame
        Metrics in percent per model, with n and a 95% interval (see
        :func:`shortcut_miner.scoring.intervals.summarise`): accuracy, object_reliance (class swaps),
        attribute_reliance, context_reliance, effective_accuracy, and as the paper's formula reads
        literally, effective_accuracy_perturbations_only.
    classes : pl.DataFrame
        model, from_class, kind, and how often swaps of such objects flip a right answer.
    notes : tuple of str
        What was decided while reading.
    """

    scores: pl.DataFrame
    classes: pl.DataFrame
    notes: tuple[str, ...]

    def paper_table(self) -> pl.DataFrame:
        """Return a row a model, a column a metric."""
        wide = self.scores.pivot("metric", index="model", values="value")
        return wide.select("model", *(name for name in METRICS if name in wide.columns))


def score(
    path: Path, predictions: Mapping[str, Path], config: ScoreConfig, out: Path | None = None
) -> ScoreReport:
    """Score models' answers to the rows of a plan.

    Parameters
    ----------
    path : Path
        What ``swapmix build`` wrote.
    predictions : mapping of str to Path
        Model name -> file of question_id, perturbation and answer, one for each row of the plan.
    config : ScoreConfig
        Options.
    out : Path, optional
        Folder for scores.parquet, class_flips.parquet, scores.{json,md,tex} and manifest.json.

    Raises
    ------
    SourceError, SchemaError
        A file that can't be read; perturbations without an answer, with two, or unknown.
    ConfigError
        No predictions.
    """
    if not predictions:
        raise ConfigError("predictions: got none, expected at least one. Give --predictions NAME=FILE.")
    folder = read_folder(path)
    shape = read_shape(folder)
    excluded = folder.excluded()
    scores, classes, notes, files = [], [], [], {}
    for model, file in predictions.items():
        given = read_plan_answers(file, shape, excluded, normalise=config.normalize)
        verdicts = judge(shape, given.answers, given.right, config)
        scores.append(summary(shape, verdicts, model, config))
        classes.append(verdicts.classes.select(pl.lit(model).alias("model"), pl.all()))
        notes += [f"{model}: {note}" for note in given.notes]
        files[f"predictions of {model}"] = given.file
    report = ScoreReport(pl.concat(scores), pl.concat(classes), tuple(notes))
    if out is not None:
        counts = {"questions": len(shape.questions), "rows": len(shape.kind), "models": len(predictions)}
        built = {"build": folder.manifest["config"]}
        _write(out, report, files, counts, dataclasses.asdict(config) | built)
    return report


def score_results(
    class_results: Path,
    attribute_results: Path,
    config: ScoreConfig,
    out: Path | None = None,
    *,
    model: str = "model",
) -> ScoreReport:
    """Score the result files that the released evaluation scripts write.

    Parameters
    ----------
    class_results, attribute_results : Path
        JSON of the class (object) run and of the attribute run of one model.
    config, out
        As for :func:`score`.
    model : str
        Name for the tables.

    Raises
    ------
    SourceError
        A file can't be read or is of another layout.
    SchemaError
        The two files are of other questions, or a question has too few answers.
    ConfigError
        ``k`` or ``exclude_padding`` for results that don't say which swap is which.
    """
    found = read_results(class_results, attribute_results)
    if config.exclude_padding or (config.k is not None and not found.shape.classes):
        option = "exclude_padding" if config.exclude_padding else "k"
        raise ConfigError(
            f"{option}: got it with results that don't say which swaps these are, expected a plan. "
            "Leave it out, or score predictions on a build."
        )
    verdicts = judge(found.shape, found.answers, found.right, config)
    classes = verdicts.classes.select(pl.lit(model).alias("model"), pl.all())
    report = ScoreReport(summary(found.shape, verdicts, model, config), classes, found.notes)
    if out is not None:
        counts = {"questions": len(found.shape.questions), "rows": len(found.shape.kind), "models": 1}
        _write(out, report, dict(found.files), counts, dataclasses.asdict(config))
    return report


def _write(
    out: Path,
    report: ScoreReport,
    files: Mapping[str, FileFacts],
    counts: dict[str, int],
    config: dict[str, Any],
) -> None:
    inputs = [
        # Tens of millions of rows: the digest is of the file's bytes alone.
        InputRecord(role=role, name=one.name, size=one.size, sha256=one.sha256, content_sha256=one.sha256)
        for role, one in files.items()
    ]
    provenance = Provenance(command="swapmix score", config=config, inputs=inputs, counts=counts, dropped={})
    with staged_folder(out) as staging:
        write_parquet(report.scores, staging / "scores.parquet", provenance)
        write_parquet(report.classes, staging / "class_flips.parquet", provenance)
        write_json(as_dict(report.scores), staging / "scores.json")
        (staging / "scores.md").write_text(as_markdown(report.scores) + "\n", encoding="utf-8")
        (staging / "scores.tex").write_text(as_latex(report.scores) + "\n", encoding="utf-8")
        write_json(provenance.for_manifest(), staging / MANIFEST)
