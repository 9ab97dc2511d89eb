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

from shortcut_miner.datasets.answers import FittedAnswers, answer_files, fit_answers, readings_by_role
from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.datasets.scores import build_record, check_score_target, write_report
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
    run_and_method,
)
from shortcut_miner.diagnostics.fpvg.metric import CODES, category_masks, codes, outcome_counts
from shortcut_miner.diagnostics.fpvg.outputs import FpvgFolder, read_folder
from shortcut_miner.diagnostics.fpvg.per_question import flips, per_question
from shortcut_miner.diagnostics.fpvg.report import ScoreReport
from shortcut_miner.diagnostics.fpvg.scored import full_set_scores, scores_of
from shortcut_miner.errors import ConfigError, SchemaError, examples
from shortcut_miner.scoring.extraction import extract_all, sentence_warning
from shortcut_miner.sources.opening.ids import with_zeros_back
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.sources.questions.values import read_id_list
from shortcut_miner.timing import OnStage, in_parts

COMMAND = "fpvg score"
GROUPS = ("structural", "semantic")
_SINGLE = ["question_id", "model"]


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
        Model, or MODEL:METHOD -> file with question_id, region_index and importance, or in place of that the
        probability of the answer given with all regions when that region is left out.
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
    id_lists, importance = id_lists or {}, importance or {}
    _check_runs(runs, importance)
    tell("read")
    folder = read_folder(path)
    runs, file_notes = _with_files(runs, config)
    recorded = dataclasses.asdict(config) | {"build": folder.manifest["config"]}
    read: dict[str, Any] = {name: [file for run in runs for file in run.files(name)] for name in CONDITIONS}
    read |= {"folder": path, "ids": [*id_lists.values()], "importance": [*importance.values()]}
    check_score_target(out, ScoreReport, COMMAND, recorded, read, force=force)
    given = _read(folder, runs, id_lists, importance, config, on_stage)
    tell("score")
    answers, texts, told = _answers(folder, given.readings, given.fitted.answers, config)
    work = Work(folder, given.readings, answers, config)
    of_lists, categories, outcomes, quadrants, singles = zip(
        *(
            _score_list(work, name if id_lists else None, ids, given.importances)
            for name, ids in given.lists.items()
        ),
        strict=True,
    )
    scores = pl.concat([*of_lists, full_set_scores(work.answers, work.scorer, config)])
    in_quadrants = [one for one in quadrants if one is not None]
    report = ScoreReport(
        command=COMMAND,
        scores=scores,
        categories=pl.concat(categories).unique(maintain_order=True),
        outcomes=pl.concat(outcomes),
        seeds=over_seeds(scores, runs),
        drops=drops_between(scores, list(given.lists)) if len(given.lists) == 2 else None,
        quadrants=pl.concat(in_quadrants) if in_quadrants else None,
        per_question=pl.concat(singles, how="diagonal").unique(_SINGLE, maintain_order=True),
        flips=flips(dict(zip(given.lists if id_lists else [None], categories, strict=True))),
        notes=file_notes + given.notes + told,
        warnings=given.fitted.warnings + _sentence_warnings(answers),
        extracted_answers=texts,
        dropped={**given.facts.dropped, **_unfit_probabilities(given.readings), **given.fitted.dropped},
    )
    if out is not None:
        tell("write")
        counts = {
            "questions": len(folder.questions),
            "evaluated": report.categories["question_id"].n_unique(),
            "runs": len(runs),
        }
        records = (*given.facts.records, build_record(path, folder.manifest))
        report = write_report(out, report, config=recorded, inputs=records, counts=counts, force=force)
    return report


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """What the files say.

    Attributes
    ----------
    readings : sequence of RunAnswers
        Of each run.
    importances : mapping of str to Reading
        By run.
    lists : mapping of str to pl.Series
        The ids to evaluate by list, of questions that no run leaves out.
    fitted : FittedAnswers
        The runs' answers.
    facts : InputFacts
        Of all files.
    notes : tuple of str
        What was decided.
    """

    readings: Sequence[RunAnswers]
    importances: Mapping[str, Reading]
    lists: Mapping[str, pl.Series]
    fitted: FittedAnswers
    facts: InputFacts
    notes: tuple[str, ...]


def _read(
    folder: FpvgFolder,
    runs: Sequence[ModelRun],
    id_lists: Mapping[str, Path],
    importance: Mapping[str, Path],
    config: ScoreConfig,
    on_stage: OnStage | None,
) -> _Given:
    known = folder.questions["question_id"]
    readings = [read_run(run, known, config) for run in in_parts(runs, "read predictions", on_stage, "runs")]
    importances = read_importances(importance, known, config)
    lists, list_readings, notes = _question_lists(folder, id_lists, config)
    models = {role: parts for one in readings for role, parts in one.models.items()}
    facts = InputFacts.of(
        readings_by_role(models)
        | {f"ids {name}": reading for name, reading in list_readings.items()}
        | {f"importance of {name}": reading for name, reading in importances.items()}
    )
    fitted = fit_answers(
        {role: [*parts.values()] for role, parts in models.items()},
        known=known,
        needed=pl.concat(lists.values()).unique(maintain_order=True),
        options=config,
    )
    left_out = fitted.left_out.implode()
    return _Given(
        readings=readings,
        importances=importances,
        lists={name: _not_empty(ids.filter(~ids.is_in(left_out)), name) for name, ids in lists.items()},
        fitted=fitted,
        facts=facts,
        notes=notes + facts.notes + fitted.notes,
    )


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
    strange = [name for name in importance if run_and_method(name, names)[0] not in names]
    if strange:
        raise ConfigError(
            f"importance: got {examples(strange)}, expected one of {', '.join(names)}, "
            "with :METHOD after it or not. Use a run's name."
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
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, pl.DataFrame | None, pl.DataFrame]:
    """Return scores, categories, outcomes, quadrants and single questions of one list of questions."""
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
    changed, ranked = changes(work, grounding), ranking(work, grounding, importances)
    table = pl.concat([*scores, *changed.scores, *ranked.scores])
    if name is not None:
        is_overall = pl.col("group") == "overall"
        in_list = (
            pl.when(is_overall).then(pl.lit(name)).otherwise(pl.format("{} in {}", "group", pl.lit(name)))
        )
        table = table.with_columns(group=in_list)
    found = pl.concat(categories)
    singles = per_question(found, [*changed.per_question, *ranked.per_question])
    return table, found, pl.concat(outcomes), changed.quadrants, singles


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
