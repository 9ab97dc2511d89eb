"""Score: the article's table for any number of models, and which shortcuts each model exploits.

Accuracy overall and per subset (Dancette et al., ICCV 2021, Table 3), with intervals by bootstrap over
images, or a table's groups; and per rule how often a model gives the rule's answer where the rule fires
(section 4.3).
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl

from shortcut_miner.datasets import reports
from shortcut_miner.datasets.answers import (
    FittedAnswers,
    answer_files,
    fit_answers,
    read_models,
    readings_by_role,
)
from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.datasets.scores import build_record, check_score_target, write_report
from shortcut_miner.diagnostics.vqa_ce import classifier
from shortcut_miner.diagnostics.vqa_ce.config import ScoreConfig
from shortcut_miner.diagnostics.vqa_ce.encoded import EncodedFolder, encode_folder
from shortcut_miner.diagnostics.vqa_ce.exploited import exploited_shortcuts
from shortcut_miner.diagnostics.vqa_ce.outputs import VqaCeFolder, read_folder
from shortcut_miner.diagnostics.vqa_ce.questions import cluster_column
from shortcut_miner.errors import ConfigError
from shortcut_miner.options import PathTexts, Scorer, check_baseline, named_path_lists
from shortcut_miner.scoring.accuracy import score_questions
from shortcut_miner.scoring.extraction import extract_all, sentence_warning
from shortcut_miner.scoring.intervals import compare, summarise
from shortcut_miner.scoring.least_difference import least_difference_note
from shortcut_miner.scoring.scorers import Choice, choose_scorer, differing_in_form
from shortcut_miner.scoring.tables import PaperColumns
from shortcut_miner.sources.answers.soft_labels import read_soft_labels
from shortcut_miner.sources.opening.ids import with_zeros_back
from shortcut_miner.timing import OnStage, in_parts

COMMAND = "vqa-ce score"
GROUPS = ("subset", "answer_type", "question_type")
CLASSIFIERS = {"rules (best)": "best", "rules (weighted)": "weighted"}


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class ScoreReport(reports.ScoreReport):
    """Scores of models on one VQA-CE folder.

    Attributes
    ----------
    scores : pl.DataFrame
        Accuracy in percent per model: overall, per subset, answer type and question type, with n and a
        95% interval (see :func:`shortcut_miner.scoring.intervals.summarise`).
    differences : pl.DataFrame or None
        Paired differences to the baseline, if one was named.
    exploited_shortcuts : pl.DataFrame
        One row a model and rule, most exploited first (see :func:`exploited_shortcuts`).
    notes : tuple of str
        What was decided while reading.
    """

    differences: pl.DataFrame | None
    exploited_shortcuts: pl.DataFrame

    @property
    def exploited(self) -> pl.DataFrame:
        """The exploited shortcuts, by their former name."""
        return self.exploited_shortcuts

    def paper_table(self) -> pl.DataFrame:
        """Return the article's table: a row a model, columns Overall, Counterexamples, Easy and Hard."""
        shown = self.scores.filter(pl.col("group").is_in(["overall", "subset"]))
        wide = shown.pivot("subgroup", index="model", values="value")
        order = [name for name in ("all", "counterexamples", "easy", "hard") if name in wide.columns]
        return wide.select("model", *order).rename({"all": "overall"})

    def paper_columns(self) -> PaperColumns:
        """Return the article's columns (Table 3): Overall, Counterexamples and Easy."""
        return {
            "Overall": ("accuracy", "overall", "all"),
            "Counterexamples": ("accuracy", "subset", "counterexamples"),
            "Easy": ("accuracy", "subset", "easy"),
        }


def score(
    path: Path,
    predictions: Mapping[str, PathTexts],
    config: ScoreConfig,
    out: Path | None = None,
    *,
    soft_labels: Path | None = None,
    force: bool = False,
    on_stage: OnStage | None = None,
) -> ScoreReport:
    """Score models' predictions on the folder of a build.

    Parameters
    ----------
    path : Path
        What ``vqa-ce build`` wrote.
    predictions : mapping of str to path or sequence of path
        Model name -> its file of question_id and answer, one for each evaluated question; several files, or
        those of a folder, are put together. What else there may be is `config`'s to say.
    config : ScoreConfig
        Options.
    out : Path, optional
        Folder for scores.parquet, exploited_shortcuts.parquet, scores.{json,md,tex}, scores_long.tex
        and manifest.json.
    soft_labels : Path, optional
        Weights of each question's answers, for the scorer "soft-labels" (see
        :func:`shortcut_miner.sources.answers.soft_labels.read_soft_labels`).
    force : bool
        Replace the scores of a run with other options.
    on_stage : callable, optional
        Called with the name of each stage before it starts, and with how much of it is done.

    Raises
    ------
    SourceError, SchemaError
        A file that can't be read; missing, repeated or unknown question ids.
    ConfigError
        No predictions, a name that stands for something else, or soft labels with another scorer.
    """
    _check_names(predictions, config)
    scorer = _scorer(config, soft_labels)
    folder = read_folder(path)
    recorded = dataclasses.asdict(config) | {"scorer": scorer, "build": folder.manifest["config"]}
    files, file_notes = answer_files(named_path_lists("predictions", predictions), config)
    read = {
        "folder": path,
        "predictions": [one for paths in files.values() for one in paths],
        "soft_labels": soft_labels or (),
    }
    check_score_target(out, ScoreReport, COMMAND, recorded, read, force=force)
    fitted, weights, facts = _read(folder, files, config, soft_labels, on_stage)
    covered = _coverage_notes(folder, fitted.left_out)
    is_answered = ~pl.col("question_id").is_in(fitted.left_out.implode())
    folder = dataclasses.replace(folder, questions=folder.questions.filter(is_answered))
    answers = {
        name: table.filter(is_answered) for name, table in zip(files, fitted.answers.values(), strict=True)
    }
    chosen = choose_scorer(folder.questions, scorer, folder.path)
    config = dataclasses.replace(config, scorer=cast(Scorer, chosen.as_option))
    answers, texts, told = extract_all(answers, config.extract, folder.questions)
    everyone = answers | _classifier_answers(folder, encode_folder(folder))
    scored = _score_each(folder, everyone, scorer, weights, on_stage)
    clusters = cluster_column(folder.questions)
    options: dict[str, Any] = {"by": GROUPS, "clusters": clusters}
    options |= {"resamples": config.resamples, "seed": config.seed}
    if clusters != "image_id" and config.resamples:
        told += (f"intervals by bootstrap over groups: {folder.questions[clusters].n_unique():,}",)
    tell = on_stage or (lambda stage: None)
    tell("resample")
    report = ScoreReport(
        command=COMMAND,
        scores=_in_order(summarise(scored, **options), list(everyone)),
        differences=compare(scored, baseline=config.baseline, **options) if config.baseline else None,
        exploited_shortcuts=exploited_shortcuts(folder, answers, config),
        notes=file_notes
        + facts.notes
        + fitted.notes
        + covered
        + told
        + chosen.notes
        + least_difference_note(scored, config.baseline),
        warnings=fitted.warnings
        + _baseline_warnings(answers, everyone)
        + chosen.warnings
        + _form_warnings(folder.questions, answers, chosen)
        + _sentence_warnings(folder.questions, answers, scored),
        extracted_answers=texts,
        dropped={**facts.dropped, **fitted.dropped},
    )
    if out is not None:
        report = write_report(
            out,
            report,
            config=recorded | {"scorer": config.scorer},
            inputs=(*facts.records, build_record(path, folder.manifest)),
            counts={"questions": len(folder.questions), "rules": len(folder.rules), "models": len(files)}
            | chosen.counts,
            force=force,
        )
    return report


def _read(
    folder: VqaCeFolder,
    files: Mapping[str, Sequence[Path]],
    config: ScoreConfig,
    soft_labels: Path | None,
    on_stage: OnStage | None,
) -> tuple[FittedAnswers, pl.DataFrame | None, InputFacts]:
    """Return the answers that fit the folder's questions, the weights if there are any, and their record."""
    ids = folder.questions["question_id"]
    models = read_models(files, "predictions", ids, config, on_stage)
    readings, weights = readings_by_role(models), None
    if soft_labels is not None:
        weighted = with_zeros_back(read_soft_labels(soft_labels, on_bad_row=config.on_bad_row), ids)
        readings["soft labels"], weights = weighted, weighted.table
    facts = InputFacts.of(readings)
    parts = {role: [*some.values()] for role, some in models.items()}
    return fit_answers(parts, known=ids, needed=ids, options=config), weights, facts


def _score_each(
    folder: VqaCeFolder,
    answers: Mapping[str, pl.DataFrame],
    scorer: Scorer,
    weights: pl.DataFrame | None,
    on_stage: OnStage | None,
) -> pl.DataFrame:
    """Return each model's accuracy at each question, with the question's subset and group."""
    questions = folder.questions
    clusters = {cluster_column(questions)} - {"image_id"}  # scores have the image already
    added = questions.select("question_id", *clusters).join(
        folder.split.select("question_id", "subset"), on="question_id", how="left", validate="1:1",
        maintain_order="left",
    )  # fmt: skip
    return pl.concat(
        score_questions(questions, table, scorer=scorer, model=name, soft_labels=weights).join(
            added, on="question_id", how="left", validate="1:1", maintain_order="left"
        )
        for name, table in in_parts([*answers.items()], "score", on_stage, "models")
    )


def _classifier_answers(folder: VqaCeFolder, encoded: EncodedFolder) -> dict[str, pl.DataFrame]:
    """Return the rule classifier's answers by both votes, as a baseline."""
    kept = np.flatnonzero(folder.rules["in_classifier"].to_numpy())
    rules = classifier.RuleClassifier.of(encoded.rules, kept, encoded.rows)
    answers = {}
    for name, vote in CLASSIFIERS.items():
        classes, rule = classifier.predict(rules, encoded.rows, vote)  # type: ignore[arg-type]
        given = encoded.vocabulary.answers.gather(pl.Series(np.maximum(classes, 0).astype(np.uint32)))
        given = given.set(pl.Series(rule < 0), folder.default_answer)
        answers[name] = pl.DataFrame({"question_id": folder.questions["question_id"], "answer": given})
    return answers


def _baseline_warnings(
    answers: Mapping[str, pl.DataFrame], everyone: Mapping[str, pl.DataFrame]
) -> tuple[str, ...]:
    """Return a warning for each model that answers as the rule classifier does, question by question."""
    columns = ["question_id", "answer"]
    return tuple(
        f"predictions of {model} and the answers of {name}: got the same answers, expected different ones. "
        "Check that the file is the model's."
        for model, table in answers.items()
        for name in CLASSIFIERS
        if table.select(columns).sort(columns).equals(everyone[name].select(columns).sort(columns))
    )


def _in_order(scores: pl.DataFrame, models: list[str]) -> pl.DataFrame:
    """Return scores with models as the user named them, groups and subgroups as they came."""
    numbered = scores.with_row_index("row").with_columns(
        place=pl.col("row").min().over("group", "subgroup"),
        rank=pl.col("model").replace_strict(models, range(len(models))),
    )
    return numbered.sort("place", "rank").drop("row", "place", "rank")


def _scorer(config: ScoreConfig, soft_labels: Path | None) -> Scorer:
    """Return the scorer that was asked for; with "auto" that of soft labels if there are any."""
    scorer: Scorer = "soft-labels" if config.scorer == "auto" and soft_labels is not None else config.scorer
    if (scorer == "soft-labels") != (soft_labels is not None):
        got = "no soft labels" if soft_labels is None else "soft labels"
        raise ConfigError(
            f"scorer {scorer}: got {got}, expected soft labels for the scorer soft-labels and for no other. "
            "Give --soft-labels FILE with --scorer soft-labels, or leave both out."
        )
    return scorer


def _sentence_warnings(
    questions: pl.DataFrame, answers: Mapping[str, pl.DataFrame], scored: pl.DataFrame
) -> tuple[str, ...]:
    """Return a warning for each model that seems to answer in sentences."""
    found = {}
    for model, table in answers.items():
        judged = scored.filter(pl.col("model") == model).select(
            "question_id", is_right=pl.col("accuracy") > 0
        )
        given = judged.join(table, on="question_id", how="left", validate="1:1", maintain_order="left")
        asked = given.select("question_id").join(
            questions, on="question_id", how="left", validate="1:1", maintain_order="left"
        )
        found[model] = sentence_warning(asked, given, given["is_right"])
    return tuple(f"predictions of {model}: {text}" for model, text in found.items() if text)


def _form_warnings(
    questions: pl.DataFrame, answers: Mapping[str, pl.DataFrame], chosen: Choice
) -> tuple[str, ...]:
    """Return a warning for each model that loses by the form of its answers."""
    found = {model: differing_in_form(questions, table, chosen.each) for model, table in answers.items()}
    return tuple(
        f"predictions of {model}: {text}. --scorer vqa-normalized takes them as right"
        for model, text in found.items()
        if text
    )


def _coverage_notes(folder: VqaCeFolder, left_out: pl.Series) -> tuple[str, ...]:
    """Return a note on the subsets that scores are of, where questions are left out."""
    if left_out.is_empty():
        return ()
    is_scored = ~pl.col("question_id").is_in(left_out.implode())
    counts = folder.split.group_by("subset").agg(total=pl.len(), scored=is_scored.sum()).sort("subset")
    kept = counts.filter(pl.col("scored") > 0)
    named = [
        subset if scored == total else f"{subset} in part ({scored:,} of {total:,})"
        for subset, total, scored in kept.select("subset", "total", "scored").iter_rows()
    ]
    is_one = len(named) == 1 and kept["scored"][0] == kept["total"][0]
    what = f"the subset {named[0]} alone" if is_one else ", ".join(named)
    total = counts["total"].sum()
    return (f"scores cover {what}: {kept['scored'].sum():,} of {total:,} questions",)


def _check_names(predictions: Mapping[str, PathTexts], config: ScoreConfig) -> None:
    if not predictions:
        raise ConfigError("predictions: got none, expected at least one. Give --predictions NAME=FILE.")
    taken = [name for name in predictions if name in CLASSIFIERS]
    if taken:
        raise ConfigError(
            f"predictions: got the name {taken[0]!r}, expected another: it stands for the rule classifier. "
            "Rename the model."
        )
    check_baseline(config.baseline, (*predictions, *CLASSIFIERS))
