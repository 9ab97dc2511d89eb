"""Score: accuracy on the test, on validation questions of the training's kind, and the drop between them.

Beside the models stand two answers that follow from the counts alone: what is most common in training, by
type of question, and what is rarest there of all that the test has. Who gains on the second knows how the
split was made (Teney et al., "On the Value of Out-of-Distribution Testing", NeurIPS 2020).
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from shortcut_miner.datasets import reports
from shortcut_miner.datasets.answers import answer_files, fit_answers, read_models, readings_by_role
from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.datasets.scores import build_record, check_score_target, write_report
from shortcut_miner.diagnostics.resplit.config import ScoreConfig
from shortcut_miner.diagnostics.resplit.outputs import read_folder
from shortcut_miner.diagnostics.resplit.priors import INVERSE, PRIOR, prior_answers
from shortcut_miner.diagnostics.resplit.rule_groups import SHORTCUTS
from shortcut_miner.diagnostics.resplit.split import OOD
from shortcut_miner.errors import ConfigError, SchemaError
from shortcut_miner.options import PathTexts, named_path_lists
from shortcut_miner.scoring.accuracy import score_questions
from shortcut_miner.scoring.bootstrap import ALL, OVERALL, percentile_interval, ratios, resampled_sums
from shortcut_miner.scoring.extraction import extract_all, sentence_warning
from shortcut_miner.scoring.scorers import Choice, choose_scorer, differing_in_form
from shortcut_miner.scoring.tables import PaperColumns
from shortcut_miner.timing import OnStage

COMMAND = "resplit score"
TEST, VAL, DROP = "accuracy_test", "accuracy_val", "drop"
_LEVEL = 0.95
# Accuracies are summed as multiples of this fraction of a percent, which all accuracies of ten answers are.
_STEPS = 7_560_000


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class ScoreReport(reports.ScoreReport):
    """Scores of models on one resplit folder.

    Attributes
    ----------
    scores : pl.DataFrame
        accuracy_test, accuracy_val and drop (val - test) in percent, overall, by answer type, and with
        vqa-vs-like accuracy_test by shortcut (group "ood"): metric, group, subgroup, scorer, model, value, n,
        low, high; n counts questions (of drop those of both sides). Models first, then the two priors.
    """

    def paper_columns(self) -> PaperColumns:
        """Return accuracy on the test overall and by answer type, on validation, and the drop."""
        kinds = self.scores.filter(metric=TEST, group="answer_type")["subgroup"].unique(maintain_order=True)
        by_kind = {f"Test ({kind})": (TEST, "answer_type", kind) for kind in kinds.drop_nulls()}
        whole = {"Test": (TEST, OVERALL, ALL)} | by_kind
        whole |= {"Val": (VAL, OVERALL, ALL), "Drop": (DROP, OVERALL, ALL)}
        there = set(self.scores["metric"])
        return {heading: place for heading, place in whole.items() if place[0] in there}


def score(
    path: Path,
    predictions: Mapping[str, PathTexts],
    config: ScoreConfig | None = None,
    out: Path | None = None,
    *,
    force: bool = False,
    on_stage: OnStage | None = None,
) -> ScoreReport:
    """Score models' predictions on the folder of a build.

    Parameters
    ----------
    path : Path
        What ``resplit build`` wrote.
    predictions : mapping of str to path or sequence of path
        Model -> its file of question_id and answer, one for each question of the test and of validation;
        several files, or those of a folder, are put together.
    config : ScoreConfig, optional
        Options.
    out : Path, optional
        Folder for scores.{parquet,json,md,tex}, scores_long.tex and manifest.json.
    force : bool
        Replace the scores of a run with other options.
    on_stage : callable, optional
        Called with the name of each stage before it starts, and with how much of it is done.

    Raises
    ------
    SourceError, SchemaError
        A file that can't be read; missing, repeated or unknown question ids.
    ConfigError
        No predictions, or a model by the name of a prior.
    """
    config = config or ScoreConfig()
    named = named_path_lists("predictions", predictions)
    _check_names(named)
    folder = read_folder(path)
    files, notes = answer_files(named, config)
    recorded = dataclasses.asdict(config) | {"build": folder.manifest["config"]}
    given = {"folder": path, "predictions": [one for paths in files.values() for one in paths]}
    check_score_target(out, ScoreReport, COMMAND, recorded, given, force=force)
    ids = folder.questions["question_id"]
    read = read_models(files, "predictions", ids, config, on_stage)
    facts = InputFacts.of(readings_by_role(read))
    asked = folder.questions.filter(pl.col("subset") != "train")
    fitted = fit_answers(
        {role: [*parts.values()] for role, parts in read.items()},
        known=ids,
        needed=asked["question_id"],
        options=config,
    )
    asked = asked.filter(~pl.col("question_id").is_in(fitted.left_out.implode()))
    if asked.filter(pl.col("subset") == "test").is_empty():
        raise SchemaError(
            f"{path}: got answers to no question of the test by all models, expected some. Answer them too."
        )
    needed = pl.col("question_id").is_in(asked["question_id"].implode())
    answers = {
        model: table.filter(needed) for model, table in zip(files, fitted.answers.values(), strict=True)
    }
    answers, texts, told = extract_all(answers, config.extract, asked)
    chosen = choose_scorer(asked, config.scorer, path)
    (on_stage or (lambda stage: None))("score")
    everyone = answers | prior_answers(folder.questions, asked)
    scored = _score_each(asked, everyone, chosen.as_option)
    scores = _measured(scored, [*everyone], config)
    report = ScoreReport(
        command=COMMAND,
        scores=scores,
        notes=(*notes, *facts.notes, *fitted.notes, *told, *chosen.notes),
        warnings=(
            *fitted.warnings,
            *chosen.warnings,
            *_knowing(scores, [*answers]),
            *_form_warnings(asked, answers, scored, chosen),
        ),
        extracted_answers=texts,
        dropped={**facts.dropped, **fitted.dropped},
    )
    if out is not None:
        report = write_report(
            out,
            report,
            config=recorded,
            inputs=(*facts.records, build_record(path, folder.manifest)),
            counts={"scored_questions": len(asked), "models": len(files)} | chosen.counts,
            force=force,
        )
    return report


def _check_names(models: Mapping[str, object]) -> None:
    if not models:
        raise ConfigError("predictions: got none, expected at least one. Give --predictions NAME=FILE.")
    taken = [name for name in models if name in (PRIOR, INVERSE)]
    if taken:
        raise ConfigError(
            f"predictions: got the name {taken[0]!r}, expected another: it stands for answers that follow "
            "from the training's counts. Rename the model."
        )


def _score_each(asked: pl.DataFrame, answers: Mapping[str, pl.DataFrame], scorer: str) -> pl.DataFrame:
    """Return each model's accuracy at each question, with its side and shortcuts."""
    kept = [name for name in ("subset", OOD) if name in asked.columns]
    of_question = asked.select("question_id", *kept)
    return pl.concat(
        score_questions(asked, table, scorer=scorer, model=model).join(
            of_question, on="question_id", how="left", validate="m:1", maintain_order="left"
        )
        for model, table in answers.items()
    )


def _measured(scored: pl.DataFrame, models: list[str], config: ScoreConfig) -> pl.DataFrame:
    """Return the scores, all of the same resamples of images."""
    shortcuts = [name for name in SHORTCUTS if OOD in scored.columns]
    rows = scored.with_columns(
        pl.when(pl.col(OOD).list.contains(name)).then(pl.lit(name)).alias(name) for name in shortcuts
    )
    by = ["answer_type", *shortcuts]
    is_test = (rows["subset"] == "test").to_numpy()
    steps = np.rint(rows["accuracy"].to_numpy() * _STEPS)
    series = rows["model"].replace_strict(models, range(len(models)), return_dtype=pl.Int64).to_numpy()
    columns = [steps * is_test, is_test.astype(np.int64), steps * ~is_test, (~is_test).astype(np.int64)]
    sums = resampled_sums(
        rows, columns, series, len(models), by=by, clusters="image_id", resamples=config.resamples,
        seed=config.seed,
    )  # fmt: skip
    cells = sums.subgroups.join(pl.DataFrame({"model": models}), how="cross", maintain_order="left_right")
    (test, tests, val, vals), drawn = sums.totals, sums.resampled
    values = {TEST: ratios(test, tests * _STEPS), VAL: ratios(val, vals * _STEPS)}
    resampled = {TEST: ratios(drawn[0], drawn[1] * _STEPS), VAL: ratios(drawn[2], drawn[3] * _STEPS)}
    counts = {TEST: tests, VAL: vals, DROP: tests + vals}
    for of in (values, resampled):
        of[DROP] = of[VAL] - of[TEST]
    scorer = pl.lit(scored["scorer"][0])
    tables = [
        cells.with_columns(
            metric=pl.lit(metric), scorer=scorer, value=pl.Series(values[metric]).fill_nan(None),
            n=pl.Series(counts[metric].astype(np.uint32)), low=low, high=high,
        ).select("metric", "group", "subgroup", "scorer", "model", "value", "n", "low", "high")
        for metric in (TEST, VAL, DROP)
        for low, high in [percentile_interval(resampled[metric], _LEVEL)]
    ]  # fmt: skip
    is_ood = pl.col("group").is_in(shortcuts)
    told = pl.col("value").is_not_null() & (
        ~is_ood | ((pl.col("metric") == TEST) & pl.col("subgroup").is_not_null())
    )
    named = pl.when(is_ood).then(pl.lit(OOD)).otherwise("group")
    return pl.concat(tables).filter(told).with_columns(group=named)


def _knowing(scores: pl.DataFrame, models: list[str]) -> tuple[str, ...]:
    """Return a warning for each model that is below the prior on validation and above it on the test."""
    whole = scores.filter(group=OVERALL)
    values = {
        (metric, model): value
        for metric, model, value in whole.select("metric", "model", "value").iter_rows()
    }
    told = []
    for model in models:
        places = [(VAL, model), (VAL, PRIOR), (TEST, model), (TEST, PRIOR)]
        if not all(place in values for place in places):
            continue
        on_val, prior_val, on_test, prior_test = (values[place] for place in places)
        if on_val < prior_val and on_test > prior_test:
            told.append(
                f"predictions of {model}: {on_val:.2f} on validation, below the most common answers' "
                f"{prior_val:.2f}, and {on_test:.2f} on the test, above their {prior_test:.2f}: as if it "
                "knew how the split was made. Check how it was chosen and tuned"
            )
    return tuple(told)


def _form_warnings(
    asked: pl.DataFrame, answers: Mapping[str, pl.DataFrame], scored: pl.DataFrame, chosen: Choice
) -> tuple[str, ...]:
    """Return warnings on models that seem to answer in sentences, or lose by the form of their answers."""
    told = []
    for model, table in answers.items():
        given = asked.select("question_id").join(
            table, on="question_id", how="left", validate="1:1", maintain_order="left"
        )
        right = scored.filter(pl.col("model") == model)["accuracy"] > 0
        sentence, form = sentence_warning(asked, given, right), differing_in_form(asked, given, chosen.each)
        told += [f"predictions of {model}: {sentence}"] if sentence else []
        told += (
            [f"predictions of {model}: {form}. --scorer vqa-normalized takes them as right"] if form else []
        )
    return tuple(told)
