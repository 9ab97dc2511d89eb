"""Score: how often models are right on both questions of a pair, and how often they follow its shortcut.

Intervals are by bootstrap over images: pairs join images, so what is resampled are the connected ones.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import polars as pl

from shortcut_miner.datasets import reports
from shortcut_miner.datasets.answers import (
    answer_files,
    fit_answers,
    nothing_left,
    read_models,
    readings_by_role,
)
from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.datasets.scores import build_record, check_score_target, write_report
from shortcut_miner.diagnostics.pairs.config import ScoreConfig
from shortcut_miner.diagnostics.pairs.groups import MEMBERS
from shortcut_miner.diagnostics.pairs.groups import METRICS as GROUP_METRICS
from shortcut_miner.diagnostics.pairs.judged import (
    CLUSTER,
    PAIR_METRICS,
    RULE_METRICS,
    clusters_of,
    component_note,
    judge_groups,
    judge_pairs,
)
from shortcut_miner.diagnostics.pairs.outputs import SIDES, PairsFolder, read_folder
from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.options import PathTexts, SweepScorer, check_baseline, named_path_lists
from shortcut_miner.schemas import antecedent_columns
from shortcut_miner.scoring.accuracy import score_questions
from shortcut_miner.scoring.extraction import extract_all, sentence_warning
from shortcut_miner.scoring.intervals import ALL, OVERALL, compare, summarise
from shortcut_miner.scoring.least_difference import least_difference_note
from shortcut_miner.scoring.scorers import Choice, choose_scorer, differing_in_form
from shortcut_miner.scoring.tables import PaperColumns
from shortcut_miner.timing import OnStage

COMMAND = "pairs score"
CHANCE = "pair_accuracy_by_chance"
GROUPS = ("modality", "answer_type")
_HEADINGS = {
    "Accuracy": "accuracy",
    "Both": "pair_accuracy",
    "Agree": "agree_accuracy",
    "Counter": "counter_accuracy",
    "Shortcut": "shortcut_rate",
}


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class ScoreReport(reports.ScoreReport):
    """Scores of models on one pairs folder.

    Attributes
    ----------
    scores : pl.DataFrame
        Per model, in percent: accuracy (right answers of two a pair), pair_accuracy (both right), one,
        neither; where pairs have a rule agree_accuracy, counter_accuracy, gap and shortcut_rate; flip_rate
        (two answers); pair_accuracy_by_chance, without interval; of groups q_acc, i_acc, acc and g_acc.
        Overall, by the rules' modality and by answer type; see
        :func:`shortcut_miner.scoring.intervals.summarise`.
    differences : pl.DataFrame or None
        Paired differences to the baseline, if one was named.
    shortcuts : pl.DataFrame or None
        Of pairs with rules: model, rule_id, antecedent, answer, pairs, and of these how many are right on the
        side that agrees, on the other one, on both, and how many times the rule's answer is given to both.
    """

    differences: pl.DataFrame | None = None
    shortcuts: pl.DataFrame | None = None

    def paper_columns(self) -> PaperColumns:
        """Return accuracies on both sides of the pairs, and how often the shortcut is followed."""
        there = set(self.scores["metric"])
        return {head: (name, OVERALL, ALL) for head, name in _HEADINGS.items() if name in there}


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
        What ``pairs build`` wrote.
    predictions : mapping of str to path or sequence of path
        Model -> its file of question_id and answer, one for each question in a pair or group; several files,
        or those of a folder, are put together.
    config : ScoreConfig, optional
        Options.
    out : Path, optional
        Folder for scores.{parquet,json,md,tex}, scores_long.tex, shortcuts.parquet and manifest.json.
    force : bool
        Replace the scores of a run with other options.
    on_stage : callable, optional
        Called with the name of each stage before it starts, and with how much of it is done.

    Raises
    ------
    SourceError, SchemaError
        A file that can't be read; missing, repeated or unknown question ids; a folder without pairs.
    ConfigError
        No predictions, or a baseline that is no model.
    """
    config = config or ScoreConfig()
    named = named_path_lists("predictions", predictions)
    _check_models(named, config.baseline)
    folder = read_folder(path)
    if folder.pairs.is_empty():
        raise SourceError(
            f"{path}: got a folder without pairs, expected some. Build it so that it has some: match less, "
            "take all rules, or more questions."
        )
    files, notes = answer_files(named, config)
    recorded = dataclasses.asdict(config) | {"build": folder.manifest["config"]}
    given = {"folder": path, "predictions": [one for paths in files.values() for one in paths]}
    check_score_target(out, ScoreReport, COMMAND, recorded, given, force=force)
    ids = folder.questions["question_id"]
    read = read_models(files, "predictions", ids, config, on_stage)
    facts = InputFacts.of(readings_by_role(read))
    fitted = fit_answers(
        {role: [*parts.values()] for role, parts in read.items()},
        known=ids,
        needed=folder.asked()["question_id"],
        options=config,
    )
    folder = _answered(folder, fitted.left_out, fitted.lacking)
    asked = folder.asked()
    needed = pl.col("question_id").is_in(asked["question_id"].implode())
    answers = {
        model: table.filter(needed) for model, table in zip(files, fitted.answers.values(), strict=True)
    }
    answers, texts, told = extract_all(answers, config.extract, asked)
    chosen = choose_scorer(asked, config.scorer, path)
    (on_stage or (lambda stage: None))("score")
    report = _scored(folder, answers, dataclasses.replace(config, scorer=cast(SweepScorer, chosen.as_option)))
    joined, is_one = component_note(clusters_of(folder)) if config.resamples else ("", None)
    told = (*told, *chosen.notes, *_truth_notes(asked, config), *([joined] if joined else []))
    warnings = (*fitted.warnings, *chosen.warnings, *_model_warnings(asked, answers, chosen))
    report = dataclasses.replace(
        report,
        notes=(*notes, *facts.notes, *fitted.notes, *told, *report.notes),
        warnings=(*warnings, *([is_one] if is_one else [])),
        extracted_answers=texts,
        dropped={**facts.dropped, **fitted.dropped},
    )
    if out is not None:
        report = write_report(
            out,
            report,
            config=recorded,
            inputs=(*facts.records, build_record(path, folder.manifest)),
            counts={"pairs": len(folder.pairs), "models": len(files)} | chosen.counts,
            force=force,
        )
    return report


def _check_models(models: Mapping[str, object], baseline: str | None) -> None:
    if not models:
        raise ConfigError("predictions: got none, expected at least one. Give --predictions NAME=FILE.")
    check_baseline(baseline, models)


def _answered(
    folder: PairsFolder, left_out: pl.Series, lacking: Mapping[str, tuple[int, int]]
) -> PairsFolder:
    """Return the pairs and groups all of whose questions all models answer."""

    def kept(table: pl.DataFrame, members: tuple[str, ...]) -> pl.DataFrame:
        return table.filter(~pl.any_horizontal(pl.col(members).is_in(left_out.implode())))

    pairs = kept(folder.pairs, SIDES)
    if pairs.is_empty():
        raise nothing_left(lacking, "pair that all models answer on both sides")
    groups = None if folder.groups is None else kept(folder.groups, MEMBERS)
    return dataclasses.replace(folder, pairs=pairs, groups=groups)


def _scored(folder: PairsFolder, answers: Mapping[str, pl.DataFrame], config: ScoreConfig) -> ScoreReport:
    judged, groups = judge_pairs(folder, answers, config, config.scorer), judge_groups(folder, answers)
    judged = judged.with_columns(scorer=pl.lit(config.scorer))
    has_rules = judged["rule_id"].null_count() == 0
    by = GROUPS if has_rules else GROUPS[1:]
    metrics = (*PAIR_METRICS, *(RULE_METRICS if has_rules else ()), "flip_rate")
    options: dict[str, Any] = {"clusters": CLUSTER, "resamples": config.resamples, "seed": config.seed}
    parts = [summarise(judged, by=by, metric=metric, **options) for metric in metrics]
    parts.insert(2, _by_chance(judged, by))
    of_groups = [] if groups is None else GROUP_METRICS
    parts += [summarise(cast(pl.DataFrame, groups), metric=metric, **options) for metric in of_groups]
    models = list(answers)
    differences = None
    if config.baseline is not None and len(models) > 1:
        options |= {"baseline": config.baseline}
        told = [compare(judged, by=by, metric=one, key="pair_id", **options) for one in metrics]
        told += [
            compare(cast(pl.DataFrame, groups), metric=one, key="group_id", **options) for one in of_groups
        ]
        differences = _in_order(pl.concat(told), models)
    of_pairs = judged.select(
        "model", question_id=pl.col("pair_id").cast(pl.String), image_id=pl.col(CLUSTER).cast(pl.String),
        accuracy="pair_accuracy",
    )  # fmt: skip
    return ScoreReport(
        command=COMMAND,
        scores=_in_order(pl.concat(parts), models),
        differences=differences,
        notes=least_difference_note(of_pairs, config.baseline, "pair accuracy"),
        shortcuts=_shortcuts(folder, judged, models) if has_rules else None,
    )


def _by_chance(judged: pl.DataFrame, by: tuple[str, ...]) -> pl.DataFrame:
    """Return what pair_accuracy would be if the two questions had nothing to do with each other."""
    agree, counter = (
        summarise(judged, by=by, metric=f"{side}_accuracy", clusters=CLUSTER, resamples=0)
        for side in ("agree", "counter")
    )
    return agree.with_columns(metric=pl.lit(CHANCE), value=agree["value"] * counter["value"] / 100)


def _in_order(scores: pl.DataFrame, models: list[str]) -> pl.DataFrame:
    """Return scores with models as the user named them, all else as it came."""
    numbered = scores.with_row_index("row").with_columns(
        place=pl.col("row").min().over("metric", "group", "subgroup"),
        rank=pl.col("model").replace_strict(models, range(len(models))),
    )
    return numbered.sort("place", "rank").drop("row", "place", "rank")


def _shortcuts(folder: PairsFolder, judged: pl.DataFrame, models: list[str]) -> pl.DataFrame:
    """Return what each model does on the pairs of each rule, the most followed rules first."""
    assert folder.rules is not None
    right = {
        "agree_right": "agree_accuracy",
        "counter_right": "counter_accuracy",
        "both_right": "pair_accuracy",
    }
    counts = judged.group_by("model", "rule_id").agg(
        pairs=pl.len(),
        **{name: (pl.col(metric) == 100).sum().cast(pl.UInt32) for name, metric in right.items()},
        shortcuts=(pl.col("shortcut_rate") == 100).sum().cast(pl.UInt32),
    )
    rules = folder.rules.select("rule_id", *antecedent_columns(folder.rules), "answer")
    rank = pl.col("model").replace_strict(models, range(len(models)))
    return (
        counts.join(rules, on="rule_id", how="left", validate="m:1")
        .sort(rank, "shortcuts", "pairs", "rule_id", descending=[False, True, False, False])
        .select("model", *rules.columns, *counts.columns[2:])
    )


def _truth_notes(asked: pl.DataFrame, config: ScoreConfig) -> tuple[str, ...]:
    """Return a note if the majority answer itself does not count as right somewhere."""
    truth = asked.select("question_id", "answer")
    scored = score_questions(asked, truth, scorer=config.scorer)
    low = int((scored["accuracy"] < config.correct_at).sum())
    return (f"questions whose majority answer scores below {config.correct_at:g}: {low:,}",) if low else ()


def _model_warnings(
    asked: pl.DataFrame, answers: Mapping[str, pl.DataFrame], chosen: Choice
) -> tuple[str, ...]:
    """Return warnings on models that seem to answer in sentences, or lose by the form of their answers."""
    told = []
    for model, table in answers.items():
        given = asked.select("question_id").join(
            table, on="question_id", how="left", validate="1:1", maintain_order="left"
        )
        right = score_questions(asked, given, scorer=chosen.as_option)["accuracy"] > 0
        for text, more in (
            (sentence_warning(asked, given, right), ""),
            (
                differing_in_form(asked, given, chosen.each),
                ". --scorer vqa-normalized takes them as right",
            ),
        ):
            told += [f"predictions of {model}: {text}{more}"] if text else []
    return tuple(told)
