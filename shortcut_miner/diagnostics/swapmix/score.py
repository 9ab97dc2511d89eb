"""Score: how much models lean on irrelevant context (sections 3.2 and 4, Tables 1-3)."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.datasets import reports
from shortcut_miner.datasets.answers import nothing_left
from shortcut_miner.datasets.inputs import file_record, same_answers_warnings
from shortcut_miner.datasets.scores import build_record, check_score_target, write_report
from shortcut_miner.diagnostics.swapmix.answers import PlanAnswers, read_plan_answers
from shortcut_miner.diagnostics.swapmix.config import ScoreConfig, check_k
from shortcut_miner.diagnostics.swapmix.metrics import (
    METRICS,
    NO_SWAP,
    Flags,
    PlanShape,
    counted_rows,
    judge,
    summary,
)
from shortcut_miner.diagnostics.swapmix.plan_folder import read_folder
from shortcut_miner.diagnostics.swapmix.results import read_results
from shortcut_miner.diagnostics.swapmix.score_tables import curve, differences, per_question
from shortcut_miner.diagnostics.swapmix.shape import read_shape
from shortcut_miner.errors import ConfigError
from shortcut_miner.options import PathTexts, named_path_lists, reject
from shortcut_miner.scoring.bootstrap import OVERALL
from shortcut_miner.scoring.extraction import sentence_warning
from shortcut_miner.scoring.least_difference import least_difference_note
from shortcut_miner.scoring.tables import PaperColumns
from shortcut_miner.sources.opening.files import FileFacts
from shortcut_miner.storage import InputRecord
from shortcut_miner.timing import OnStage, in_parts

COMMAND = "swapmix score"
Answers = NDArray[np.int32]


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
    per_question : pl.DataFrame
        A row a question and model; see :func:`shortcut_miner.diagnostics.swapmix.score_tables.per_question`.
    curve : pl.DataFrame or None
        With the option curve: the figures by k; see
        :func:`shortcut_miner.diagnostics.swapmix.score_tables.curve`.
    differences : pl.DataFrame or None
        With a baseline: each other model's figures minus the baseline's, on the same resamples.
    notes : tuple of str
        What was decided while reading.
    """

    class_flips: pl.DataFrame
    per_question: pl.DataFrame
    curve: pl.DataFrame | None = None
    differences: pl.DataFrame | None = None

    @property
    def classes(self) -> pl.DataFrame:
        """The flips per class, by their former name."""
        return self.class_flips

    def paper_table(self) -> pl.DataFrame:
        """Return a row a model, a column a metric."""
        overall = self.scores.filter(pl.col("group") == OVERALL)
        wide = overall.pivot("metric", index="model", values="value")
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
    predictions: Mapping[str, PathTexts],
    class_results: Path | None,
    attribute_results: Path | None,
    config: ScoreConfig,
    out: Path | None = None,
    *,
    force: bool = False,
    on_stage: OnStage | None = None,
) -> ScoreReport:
    """Score predictions on a plan (:func:`score`), or released result files (:func:`score_results`).

    Raises
    ------
    ConfigError
        Neither a folder with predictions nor both result files, or some of each.
    """
    of_plan = {"a folder": folder, "--predictions": predictions or None}
    of_results = {"--class-results": class_results, "--attribute-results": attribute_results}
    if folder is not None and predictions and class_results is None and attribute_results is None:
        return score(folder, predictions, config, out, force=force, on_stage=on_stage)
    if class_results is not None and attribute_results is not None and folder is None and not predictions:
        return score_results(class_results, attribute_results, config, out, force=force)
    given = [name for name, value in (of_plan | of_results).items() if value is not None]
    if {*given} & {*of_plan} and {*given} & {*of_results}:
        advice = "Leave one or the other out"
    elif not given:
        advice = "Give one or the other"
    else:
        wanted = of_plan if given[0] in of_plan else of_results
        (missing,) = {*wanted} - {*given}
        advice = f"Give {missing} too"
    got = f"{given[0]} alone" if len(given) == 1 else " and ".join(given) or "nothing"
    raise ConfigError(
        f"swapmix score: got {got}, expected a folder that swapmix build wrote "
        f"with --predictions, or --class-results with --attribute-results. {advice}."
    )


def score(
    path: Path,
    predictions: Mapping[str, PathTexts],
    config: ScoreConfig,
    out: Path | None = None,
    *,
    force: bool = False,
    on_stage: OnStage | None = None,
) -> ScoreReport:
    """Score models' answers to the rows of a plan.

    Parameters
    ----------
    path : Path
        What ``swapmix build`` wrote.
    predictions : mapping of str to path or sequence of path
        Model name -> its file of question_id, perturbation and answer, one for each row of the plan; several
        files are put together.
    config : ScoreConfig
        Options.
    out : Path, optional
        Folder for scores.parquet and what else :class:`ScoreReport` holds, scores.{json,md,tex},
        scores_long.tex and manifest.json.
    force : bool
        Replace the scores of a run with other options.
    on_stage : callable, optional
        Called with the name of each stage before it starts, and with how much of it is done.

    Raises
    ------
    SourceError, SchemaError
        A file that can't be read; perturbations without an answer, with two, or unknown.
    ConfigError
        No predictions.
    """
    if not predictions:
        raise ConfigError("predictions: got none, expected at least one. Give --predictions NAME=FILE.")
    check_baseline(config, predictions)
    folder = read_folder(path)
    built = folder.manifest["config"]
    check_k(config.k, int(built["k"]))
    recorded = dataclasses.asdict(config) | {"k": config.k or built["k"], "build": built}
    paths = named_path_lists("predictions", predictions)
    read = {"folder": path, "predictions": [one for several in paths.values() for one in several]}
    check_score_target(out, ScoreReport, COMMAND, recorded, read, force=force)
    shape, excluded = read_shape(folder), folder.excluded()
    given = {
        model: read_plan_answers(several, shape, excluded, config)
        for model, several in in_parts([*paths.items()], "read predictions", on_stage, "models")
    }
    is_whole = _answered(shape, given, config)
    kept, numbers = shape, {model: (one.answers, one.right) for model, one in given.items()}
    if not is_whole.all():
        rows = np.repeat(is_whole, shape.lengths())
        numbers = {model: (answers[rows], right[is_whole]) for model, (answers, right) in numbers.items()}
        kept = shape.where(is_whole)
    tell = on_stage or (lambda stage: None)
    tell("score")
    judged = _judged(kept, numbers, config)
    files = {
        f"predictions of {model}" + (f" ({at})" if at else ""): file
        for model, one in given.items()
        for at, file in enumerate(one.files)
    }
    report = dataclasses.replace(
        judged,
        notes=(*_notes(given, is_whole), *judged.notes),
        warnings=same_answers_warnings({role: one.sha256 for role, one in files.items()})
        + judged.warnings
        + _sentence_warnings(given, shape, is_whole),
        extracted_answers=_texts(given),
        dropped={
            f"predictions of {model}: {reason}": count
            for model, one in given.items()
            for reason, count in one.dropped.items()
        },
    )
    if out is not None:
        records = [*_records(files), build_record(path, folder.manifest)]
        report = _write(out, report, records, kept, recorded, force=force)
    return report


def check_baseline(config: ScoreConfig, models: Iterable[str]) -> None:
    """Raise ConfigError for a baseline that is no model."""
    if config.baseline is not None and config.baseline not in models:
        reject("baseline", config.baseline, f"one of {', '.join(models)}")


def _answered(shape: PlanShape, given: Mapping[str, PlanAnswers], config: ScoreConfig) -> Flags:
    """Return which questions are scored: with ``on_missing="skip"``, those that every model answers wholly.

    Raises
    ------
    SchemaError
        There are none.
    """
    is_whole, is_read = np.ones(len(shape.first), np.bool_), counted_rows(shape, config)
    lacking = {}
    for model, one in given.items() if config.on_missing == "skip" else ():
        is_short = np.logical_or.reduceat((one.answers == NO_SWAP) & is_read, shape.first)
        lacking[f"predictions of {model} ({', '.join(file.name for file in one.files)})"] = (
            int(is_short.sum()),
            len(is_short),
        )
        is_whole &= ~is_short
    if not is_whole.any():
        raise nothing_left(lacking, "question whose swaps all models answer")
    return is_whole


def _notes(given: Mapping[str, PlanAnswers], is_whole: Flags) -> tuple[str, ...]:
    notes = [f"predictions of {model}: {note}" for model, one in given.items() for note in one.notes]
    if not is_whole.all():
        notes.append(
            f"questions left out for all models, as some give no answer to a swap: "
            f"{int((~is_whole).sum()):,} of {len(is_whole):,}"
        )
    return tuple(notes)


def _texts(given: Mapping[str, PlanAnswers]) -> pl.DataFrame | None:
    """Return all models' texts with the answers taken out of them, if any were."""
    texts = {model: one.texts for model, one in given.items() if one.texts is not None}
    named = [table.select(pl.lit(model).alias("model"), pl.all()) for model, table in texts.items()]
    return pl.concat(named) if named else None


def _sentence_warnings(
    given: Mapping[str, PlanAnswers], shape: PlanShape, is_whole: Flags
) -> tuple[str, ...]:
    """Return a warning for each model that seems to answer in sentences, by its answers without a swap."""
    found = {}
    for model, one in given.items():
        original, wanted = (numbers[is_whole] for numbers in (one.answers[shape.first], one.right))
        said, right = (pl.DataFrame({"answer": one.names.gather(numbers)}) for numbers in (original, wanted))
        found[model] = sentence_warning(right, said, pl.Series(original == wanted))
    return tuple(f"predictions of {model}: {text}" for model, text in found.items() if text)


def _judged(
    shape: PlanShape, answers: Mapping[str, tuple[Answers, Answers]], config: ScoreConfig
) -> ScoreReport:
    """Return the scores of models from the numbers of their answers and of the right ones."""
    scores, classes, warnings = [], [], []
    judged = {model: judge(shape, given, right, config) for model, (given, right) in answers.items()}
    for model, verdicts in judged.items():
        given = answers[model][0]
        scores.append(summary(shape, verdicts, model, config))
        classes.append(verdicts.classes.select(pl.lit(model).alias("model"), pl.all()))
        swaps = int(((shape.kind > 0) & (given != NO_SWAP)).sum())
        if swaps and not verdicts.flips.any():
            warnings.append(
                f"{model}: got the same answer with each of {swaps:,} swaps as without one, expected some "
                "change. Check that the model saw the swaps."
            )
    rows = per_question(shape, judged)
    without_swap = rows.with_columns(accuracy=100.0 * pl.col("is_correct"))
    return ScoreReport(
        command=COMMAND,
        scores=pl.concat(scores),
        class_flips=pl.concat(classes),
        per_question=rows,
        notes=least_difference_note(without_swap, config.baseline, "accuracy without a swap"),
        curve=curve(shape, judged, config) if config.curve else None,
        differences=differences(shape, judged, config),
        warnings=tuple(warnings),
    )


def score_results(
    class_results: Path,
    attribute_results: Path,
    config: ScoreConfig,
    out: Path | None = None,
    *,
    model: str = "model",
    force: bool = False,
) -> ScoreReport:
    """Score the result files that the released evaluation scripts write.

    Parameters
    ----------
    class_results, attribute_results : Path
        JSON of the class (object) run and of the attribute run of one model.
    config, out, force
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
    if config.columns is not None:
        reject("columns", config.columns, "none with result files, which have no columns")
    check_baseline(config, (model,))
    if config.extract is not None:
        reject("extract", config.extract, "none with result files, whose answers are numbers")
    read = {"class_results": class_results, "attribute_results": attribute_results}
    check_score_target(out, ScoreReport, COMMAND, dataclasses.asdict(config), read, force=force)
    found = read_results(class_results, attribute_results, config.on_missing)
    if config.exclude_padding or (config.k is not None and not found.shape.classes):
        option = "exclude_padding" if config.exclude_padding else "k"
        raise ConfigError(
            f"{option}: got it with results that don't say which swaps these are, expected a plan. "
            "Leave it out, or score predictions on a build."
        )
    check_k(config.k, int(found.shape.index.max(initial=0)))
    judged = _judged(found.shape, {model: (found.answers, found.right)}, config)
    report = dataclasses.replace(
        judged,
        notes=found.notes,
        warnings=same_answers_warnings({role: one.sha256 for role, one in found.files.items()})
        + judged.warnings,
        dropped=found.dropped,
    )
    if out is not None:
        records = _records(found.files)
        report = _write(out, report, records, found.shape, dataclasses.asdict(config), force=force)
    return report


def _write(
    out: Path,
    report: ScoreReport,
    records: Sequence[InputRecord],
    shape: PlanShape,
    config: dict[str, Any],
    *,
    force: bool,
) -> ScoreReport:
    counts = {
        "questions": len(shape.questions),
        "rows": len(shape.kind),
        "models": report.scores["model"].n_unique(),
    }
    return write_report(out, report, config=config, inputs=records, counts=counts, force=force)


def _records(files: Mapping[str, FileFacts]) -> list[InputRecord]:
    """Return the manifest's entries: tens of millions of rows, so the digest is of the files' bytes alone."""
    return [file_record(role, file) for role, file in files.items()]
