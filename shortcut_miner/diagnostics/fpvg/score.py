"""Score: FPVG of any number of models on the questions of a build, or on lists of them.

Reich et al. (2023), sections 3 to 5. Shares and accuracies are in percent, with intervals by bootstrap over
images.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shortcut_miner.datasets.answers import answer_files, fit_answers, readings_by_role
from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.datasets.scores import check_score_target, write_report
from shortcut_miner.diagnostics.fpvg.answers import (
    ModelRun,
    RunAnswers,
    joined_answers,
    normalised,
    read_run,
)
from shortcut_miner.diagnostics.fpvg.config import CONDITIONS, ScoreConfig
from shortcut_miner.diagnostics.fpvg.extras import (
    Work,
    changes,
    drops_between,
    over_seeds,
    ranking,
    read_importances,
)
from shortcut_miner.diagnostics.fpvg.metric import CODES, category_masks, codes, outcome_counts
from shortcut_miner.diagnostics.fpvg.outputs import FpvgFolder, read_folder
from shortcut_miner.diagnostics.fpvg.report import ScoreReport
from shortcut_miner.diagnostics.fpvg.scored import full_set_scores, scores_of
from shortcut_miner.errors import ConfigError, SchemaError, examples
from shortcut_miner.scoring.extraction import extract_all, sentence_warning
from shortcut_miner.sources.opening.ids import with_zeros_back
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.sources.questions.values import read_id_list
from shortcut_miner.timing import OnStage

COMMAND = "fpvg score"
GROUPS = ("structural", "semantic")


def score(
    path: Path,
    runs: Sequence[ModelRun],
    config: ScoreConfig,
    out: Path | None = None,
    *,
    id_lists: Mapping[str, Path] | None = None,
    importance: Mapping[str, Path] | None = None,
    force: bool = False,
    on_stage: OnStage | None = None,
) -> ScoreReport:
    """Score models' answers under the three conditions.

    Parameters
    ----------
    path : Path
        What ``fpvg build`` wrote.
    runs : sequence of ModelRun
        Models with their three files; several runs of a model differ by their seed.
    config : ScoreConfig
        Options.
    out : Path, optional
        Folder for scores.parquet and what else :class:`ScoreReport` holds, scores.{json,md,tex},
        scores_long.tex and manifest.json.
    id_lists : mapping of str to Path, optional
        Name -> list of question ids to evaluate in place of the build's evaluable questions. Questions that
        are not evaluable are left out, unless ``trust_ids``.
    importance : mapping of str to Path, optional
        Model -> file with question_id, region_index and importance.
    force : bool
        Replace the scores of a run with other options.
    on_stage : callable, optional
        Called with the name of each stage before it starts.

    Raises
    ------
    SourceError, SchemaError
        A file that can't be read; missing, repeated or changed question ids.
    ConfigError
        No runs, a run twice, or importances of a model without a run.
    """
    tell = on_stage or (lambda stage: None)
    _check_runs(runs, importance or {})
    tell("read")
    folder = read_folder(path)
    runs, file_notes = _with_files(runs, config)
    recorded = dataclasses.asdict(config) | {"build": folder.manifest["config"]}
    read: dict[str, Any] = {name: [file for run in runs for file in run.files(name)] for name in CONDITIONS}
    read |= {
        "folder": path,
        "ids": [*(id_lists or {}).values()],
        "importance": [*(importance or {}).values()],
    }
    check_score_target(out, ScoreReport, COMMAND, recorded, read, force=force)
    known = folder.questions["question_id"]
    readings = [read_run(run, known, config) for run in runs]
    importances = read_importances(importance or {}, known, config)
    lists, list_readings, notes = _question_lists(folder, id_lists or {}, config)
    given = {role: parts for one in readings for role, parts in one.models.items()}
    facts = InputFacts.of(
        readings_by_role(given)
        | {f"ids {name}": reading for name, reading in list_readings.items()}
        | {f"importance of {name}": reading for name, reading in importances.items()}
    )
    fitted = fit_answers(
        {role: [*parts.values()] for role, parts in given.items()},
        known=folder.questions["question_id"],
        needed=pl.concat(lists.values()).unique(maintain_order=True),
        options=config,
    )
    lists = {
        name: _not_empty(ids.filter(~ids.is_in(fitted.left_out.implode())), name)
        for name, ids in lists.items()
    }
    tell("score")
    answers, texts, told = _answers(folder, readings, fitted.answers, config)
    work = Work(folder, readings, answers, config)
    parts, categories, outcomes, quadrant_parts = [], [], [], []
    for name, ids in lists.items():
        scored = _score_list(work, name if id_lists else None, ids, importances)
        parts.append(scored[0])
        categories.append(scored[1])
        outcomes.append(scored[2])
        quadrant_parts += [scored[3]] if scored[3] is not None else []
    parts.append(full_set_scores(work.answers, work.scorer, config))
    scores = pl.concat(parts)
    report = ScoreReport(
        command=COMMAND,
        scores=scores,
        categories=pl.concat(categories).unique(maintain_order=True),
        outcomes=pl.concat(outcomes),
        seeds=over_seeds(scores, runs),
        drops=drops_between(scores, list(lists)) if len(lists) == 2 else None,
        quadrants=pl.concat(quadrant_parts) if quadrant_parts else None,
        notes=file_notes + notes + facts.notes + fitted.notes + told,
        warnings=fitted.warnings + _sentence_warnings(answers),
        extracted_answers=texts,
        dropped={**facts.dropped, **_unfit_probabilities(readings), **fitted.dropped},
    )
    if out is not None:
        tell("write")
        write_report(
            out,
            report,
            config=recorded,
            inputs=facts.records,
            counts={
                "questions": len(folder.questions),
                "evaluated": report.categories["question_id"].n_unique(),
                "runs": len(runs),
            },
            force=force,
        )
    return report


def _with_files(runs: Sequence[ModelRun], config: ScoreConfig) -> tuple[list[ModelRun], tuple[str, ...]]:
    """Return runs with the files of their folders, and notes on these."""
    found, notes = [], dict[str, None]()
    for run in runs:
        files, told = answer_files({name: run.files(name) for name in CONDITIONS}, config)
        found.append(ModelRun(model=run.model, seed=run.seed, **files))
        notes |= dict.fromkeys(f"{run.name}, {note}" for note in told)
    return found, tuple(notes)


def _check_runs(runs: Sequence[ModelRun], importance: Mapping[str, Path]) -> None:
    if not runs:
        raise ConfigError(
            "predictions: got none, expected three files of at least one model. Give --all, --relevant and "
            "--irrelevant NAME=FILE."
        )
    names = [run.name for run in runs]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ConfigError(
            f"predictions: got {examples(repeated)} more than once, expected one run a name. "
            "Give several runs of a model as NAME@SEED."
        )
    strange = [name for name in importance if name not in names]
    if strange:
        raise ConfigError(
            f"importance: got {examples(strange)}, expected one of {', '.join(names)}. Use a run's name."
        )


def _question_lists(
    folder: FpvgFolder, id_lists: Mapping[str, Path], config: ScoreConfig
) -> tuple[dict[str, pl.Series], dict[str, Reading], tuple[str, ...]]:
    """Return the ids to evaluate by list name, their readings, and notes."""
    evaluable = folder.regions.filter("is_evaluable")["question_id"]
    if not id_lists:
        return {"evaluable": _not_empty(evaluable, "the build")}, {}, ()
    lists, readings, notes = {}, {}, []
    known = folder.questions["question_id"]
    for name, path in id_lists.items():
        _, reading = read_id_list(path)
        readings[name] = reading = with_zeros_back(reading, known)
        notes += [f"{name}: {note}" for note in reading.notes]
        ids = reading.table["question_id"]
        unknown = ids.filter(~ids.is_in(known.implode()))
        if len(unknown):
            raise SchemaError(
                f"{path}: got {len(unknown):,} ids that the build lacks ({examples(unknown)}), expected ids "
                "of its questions. Build on all the questions, or correct the list."
            )
        kept = ids if config.trust_ids else ids.filter(ids.is_in(evaluable.implode()))
        if len(kept) < len(ids):
            notes.append(
                f"{name}: {len(ids) - len(kept):,} of {len(ids):,} listed questions are not evaluable and "
                "left out"
            )
        lists[name] = _not_empty(kept, str(path))
    return lists, readings, tuple(notes)


def _not_empty(ids: pl.Series, what: str) -> pl.Series:
    if not len(ids):
        raise SchemaError(
            f"{what}: got no evaluable question, expected at least one. Check the build's exclusions."
        )
    return ids


def _unfit_probabilities(readings: Sequence[RunAnswers]) -> dict[str, int]:
    """Return how many rows of files were skipped for their probability alone, by run and condition."""
    return {
        f"{condition} probabilities of {one.run.name}: {reason}": count
        for one in readings
        for condition, reading in one.probabilities.items()
        for reason, count in reading.dropped.items()
        if reason.startswith("probability")
    }


def _answers(
    folder: FpvgFolder,
    readings: Sequence[RunAnswers],
    answers: Mapping[str, pl.DataFrame],
    config: ScoreConfig,
) -> tuple[dict[str, pl.DataFrame], pl.DataFrame | None, tuple[str, ...]]:
    """Return per run the answers to all questions that have a right one; both texts, and notes."""
    questions = folder.questions.filter(pl.col("answer").is_not_null())
    tables = {one.run.name: joined_answers(questions, one, answers) for one in readings}
    texts, notes = [], []
    for condition in CONDITIONS if config.extract is not None else ():
        given = {run: table.select("question_id", answer=condition) for run, table in tables.items()}
        found, both, told = extract_all(given, config.extract, questions.select("question_id", "answer"))
        tables = {
            run: table.with_columns(found[run]["answer"].alias(condition)) for run, table in tables.items()
        }
        texts += [] if both is None else [both.with_columns(condition=pl.lit(condition))]
        notes += [f"{condition} predictions of {note}" for note in told]
    if config.normalize:
        tables = {run: normalised(table, ["answer", *CONDITIONS]) for run, table in tables.items()}
    columns = ["model", "condition", "question_id", "raw_answer", "answer"]
    both_texts = pl.concat(texts).select(columns).drop_nulls("raw_answer") if texts else None
    return tables, both_texts, tuple(notes)


def _sentence_warnings(answers: Mapping[str, pl.DataFrame]) -> tuple[str, ...]:
    """Return a warning for each run that seems to answer in sentences, by its answers with all regions."""
    found = {}
    for run, table in answers.items():
        given = table.drop_nulls("all")
        is_right = given["all"] == given["answer"]
        found[run] = sentence_warning(given.select("answer"), given.select(answer="all"), is_right)
    return tuple(f"predictions of {run}: {text}" for run, text in found.items() if text)


def _score_list(
    work: Work, name: str | None, ids: pl.Series, importances: Mapping[str, Reading]
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, pl.DataFrame | None]:
    """Return scores, categories, outcomes and quadrants of one list of questions."""
    questions = work.folder.questions.filter(pl.col("question_id").is_in(ids.implode()))
    _check_answers(questions)
    of_run, categories, outcomes = {}, [], []
    for run, table in work.answers.items():
        evaluated = questions.select("question_id", *GROUPS).join(
            table, on="question_id", how="left", validate="1:1", maintain_order="left"
        )
        of_run[run] = (evaluated, codes(evaluated))
        categories.append(_categories(run, *of_run[run]))
        outcomes.append(_outcomes(name, run, evaluated))
    grounding = _grounding(pl.concat(categories), questions)
    scores = [scores_of(of_run, GROUPS, work.scorer, work.config)]
    more, quadrant_table = changes(work, grounding)
    table = pl.concat([*scores, *more, *ranking(work, grounding, importances)])
    if name is not None:
        is_overall = pl.col("group") == "overall"
        in_list = (
            pl.when(is_overall).then(pl.lit(name)).otherwise(pl.format("{} in {}", "group", pl.lit(name)))
        )
        table = table.with_columns(group=in_list)
    return table, pl.concat(categories), pl.concat(outcomes), quadrant_table


def _check_answers(questions: pl.DataFrame) -> None:
    unknown = questions.filter(pl.col("answer").is_null())["question_id"]
    if len(unknown):
        raise SchemaError(
            f"questions: got {len(unknown):,} to evaluate without an answer ({examples(unknown)}), expected "
            "the right answer of each. Build on a split with answers."
        )


def _outcomes(name: str | None, run: str, evaluated: pl.DataFrame) -> pl.DataFrame:
    counted = outcome_counts(evaluated)
    columns = {"list": name, "model": run, "outcome": list(counted), "count": list(counted.values())}
    return pl.DataFrame(columns, schema_overrides={"list": pl.String, "count": pl.UInt32})


def _grounding(categories: pl.DataFrame, questions: pl.DataFrame) -> pl.DataFrame:
    """Return question_id, model, image_id and grounding ("plus" or "minus")."""
    is_good = pl.col("category").str.starts_with("good")
    named = categories.select(
        "question_id", "model", grounding=pl.when(is_good).then(pl.lit("plus")).otherwise(pl.lit("minus"))
    )
    images = questions.select("question_id", "image_id")
    return named.join(images, on="question_id", how="left", validate="m:1", maintain_order="left")


def _categories(
    run: str, evaluated: pl.DataFrame, code: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> pl.DataFrame:
    names = np.empty(CODES, dtype=object)
    for name, mask in category_masks().items():
        names[mask] = name
    return pl.DataFrame(
        {
            "question_id": evaluated["question_id"],
            "model": pl.repeat(run, len(evaluated), eager=True),
            "category": pl.Series(names[code].tolist(), dtype=pl.String),
        }
    )
