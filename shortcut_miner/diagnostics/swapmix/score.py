"""Score: how much models lean on irrelevant context (sections 3.2 and 4, Tables 1-3)."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from shortcut_miner.datasets import reports
from shortcut_miner.datasets.inputs import file_record
from shortcut_miner.datasets.scores import write_report
from shortcut_miner.diagnostics.swapmix.answers import PlanAnswers, read_plan_answers
from shortcut_miner.diagnostics.swapmix.config import ScoreConfig
from shortcut_miner.diagnostics.swapmix.metrics import METRICS, PlanShape, judge, summary
from shortcut_miner.diagnostics.swapmix.outputs import read_folder
from shortcut_miner.diagnostics.swapmix.results import read_results
from shortcut_miner.diagnostics.swapmix.shape import read_shape
from shortcut_miner.errors import ConfigError
from shortcut_miner.scoring.extraction import sentence_warning
from shortcut_miner.scoring.tables import PaperColumns
from shortcut_miner.sources.opening.files import FileFacts

COMMAND = "swapmix score"


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class ScoreReport(reports.ScoreReport):
    """Scores of models on one plan.

    Attributes
    ----------
    scores : pl.DataFrame
        Metrics in percent per model, with n and a 95% interval (see
        :func:`shortcut_miner.scoring.intervals.summarise`): accuracy, object_reliance (class swaps),
        attribute_reliance, context_reliance, effective_accuracy, and as the paper's formula reads
        literally, effective_accuracy_perturbations_only.
    class_flips : pl.DataFrame
        model, from_class, kind, and how often swaps of such objects flip a right answer.
    notes : tuple of str
        What was decided while reading.
    """

    class_flips: pl.DataFrame

    @property
    def classes(self) -> pl.DataFrame:
        """The flips per class, by their former name."""
        return self.class_flips

    def paper_table(self) -> pl.DataFrame:
        """Return a row a model, a column a metric."""
        wide = self.scores.pivot("metric", index="model", values="value")
        return wide.select("model", *(name for name in METRICS if name in wide.columns))

    def paper_columns(self) -> PaperColumns:
        """Return accuracy, the reliances and effective accuracy."""
        return {
            metric.replace("_", " ").capitalize(): (metric, "overall", "all")
            for metric in METRICS
            if metric != "effective_accuracy_perturbations_only"
        }


def score_any(
    folder: Path | None,
    predictions: Mapping[str, Path],
    class_results: Path | None,
    attribute_results: Path | None,
    config: ScoreConfig,
    out: Path | None = None,
) -> ScoreReport:
    """Score predictions on a plan (:func:`score`), or released result files (:func:`score_results`).

    Raises
    ------
    ConfigError
        Neither a folder with predictions nor both result files, or some of each.
    """
    if folder is not None and predictions and class_results is None and attribute_results is None:
        return score(folder, predictions, config, out)
    if class_results is not None and attribute_results is not None and folder is None and not predictions:
        return score_results(class_results, attribute_results, config, out)
    raise ConfigError(
        "swapmix score: got neither a folder with --predictions nor both --class-results and "
        "--attribute-results (or some of each), expected one of the two. See: shortcut-miner swapmix "
        "score --help"
    )


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
        Folder for scores.parquet, class_flips.parquet, scores.{json,md,tex}, scores_long.tex and
        manifest.json.

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
    scores, classes, notes, warnings, texts, files = [], [], [], [], [], {}
    for model, file in predictions.items():
        given = read_plan_answers(file, shape, excluded, normalise=config.normalize, extract=config.extract)
        verdicts = judge(shape, given.answers, given.right, config)
        scores.append(summary(shape, verdicts, model, config))
        classes.append(verdicts.classes.select(pl.lit(model).alias("model"), pl.all()))
        notes += [f"{model}: {note}" for note in given.notes]
        warnings += _sentence_warnings(model, given, shape)
        texts += [] if given.texts is None else [given.texts.select(pl.lit(model).alias("model"), pl.all())]
        files[f"predictions of {model}"] = given.file
    report = ScoreReport(
        command=COMMAND,
        scores=pl.concat(scores),
        class_flips=pl.concat(classes),
        notes=tuple(notes),
        warnings=tuple(warnings),
        extracted_answers=pl.concat(texts) if texts else None,
    )
    if out is not None:
        built = {"build": folder.manifest["config"]}
        _write(out, report, files, shape, dataclasses.asdict(config) | built)
    return report


def _sentence_warnings(model: str, given: PlanAnswers, shape: PlanShape) -> list[str]:
    """Return a warning if a model seems to answer in sentences, judged by its answers without a swap."""
    original = given.answers[shape.first]
    said, right = (pl.DataFrame({"answer": given.names.gather(one)}) for one in (original, given.right))
    text = sentence_warning(right, said, pl.Series(original == given.right))
    return [f"predictions of {model}: {text}"] if text else []


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
    if config.extract is not None:
        raise ConfigError(
            "extract: got it with result files, whose answers are numbers, expected texts. Leave it out, or "
            "score predictions on a build."
        )
    found = read_results(class_results, attribute_results)
    if config.exclude_padding or (config.k is not None and not found.shape.classes):
        option = "exclude_padding" if config.exclude_padding else "k"
        raise ConfigError(
            f"{option}: got it with results that don't say which swaps these are, expected a plan. "
            "Leave it out, or score predictions on a build."
        )
    verdicts = judge(found.shape, found.answers, found.right, config)
    classes = verdicts.classes.select(pl.lit(model).alias("model"), pl.all())
    scores = summary(found.shape, verdicts, model, config)
    report = ScoreReport(command=COMMAND, scores=scores, class_flips=classes, notes=found.notes)
    if out is not None:
        _write(out, report, found.files, found.shape, dataclasses.asdict(config))
    return report


def _write(
    out: Path,
    report: ScoreReport,
    files: Mapping[str, FileFacts],
    shape: PlanShape,
    config: dict[str, Any],
) -> None:
    counts = {
        "questions": len(shape.questions),
        "rows": len(shape.kind),
        "models": report.scores["model"].n_unique(),
    }
    # Tens of millions of rows: the digest is of the file's bytes alone.
    inputs = [file_record(role, file) for role, file in files.items()]
    write_report(out, report, config=config, inputs=inputs, counts=counts)
