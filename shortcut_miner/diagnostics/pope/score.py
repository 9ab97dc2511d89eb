"""Score: how well models say whether an object is there, by strategy and object, under other labels too.

Li et al., EMNLP 2023, section 4; Neuhaus and Hein, "RePOPE" (2025) for other labels of the same questions.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
from shortcut_miner.diagnostics.pope.config import ScoreConfig, strategy_of
from shortcut_miner.diagnostics.pope.measured import counted, judged_answers, measured
from shortcut_miner.diagnostics.pope.outputs import read_folder, strategies_of
from shortcut_miner.diagnostics.pope.parsing import parsed
from shortcut_miner.diagnostics.pope.questions import asked_in_files, read_labels_again
from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.options import PathTexts, check_baseline, named_path_lists
from shortcut_miner.publishing import Inputs
from shortcut_miner.scoring.cell_tables import in_order
from shortcut_miner.scoring.extraction import extract_all
from shortcut_miner.scoring.least_difference import least_difference_note
from shortcut_miner.scoring.tables import PaperColumns
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.timing import OnStage

COMMAND = "pope score"
ORIGINAL, KEPT, RELABELLED = "original", "kept", "relabelled"


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class ScoreReport(reports.ScoreReport):
    """Scores of models on polling questions.

    Attributes
    ----------
    scores : pl.DataFrame
        metric (accuracy, precision, recall, f1, yes_ratio, paired, and overall mean_f1; in percent), group
        ("overall", "strategy", "object"), subgroup, scorer (the parser), model, value, n, low, high.
    counts : pl.DataFrame
        model, strategy, tp, fp, tn, fn, unparsed, pairs, both_right.
    differences : pl.DataFrame or None
        With a baseline: each other model's numbers minus the baseline's, on the same resamples.
    relabelled : pl.DataFrame or None
        With other labels: labels ("original": all questions; "kept": those that have another label, by the
        original ones; "relabelled": the same by the others), then the columns of scores.
    """

    counts: pl.DataFrame
    differences: pl.DataFrame | None = None
    relabelled: pl.DataFrame | None = None

    def paper_columns(self) -> PaperColumns:
        """Return the article's columns for each strategy: accuracy, precision, recall, F1, yes."""
        names = {"Acc": "accuracy", "P": "precision", "R": "recall", "F1": "f1", "Yes": "yes_ratio"}
        strategies = self.counts["strategy"].unique(maintain_order=True)
        return {
            f"{strategy} {heading}": (metric, "strategy", strategy)
            for strategy in strategies
            for heading, metric in names.items()
        }

    def paper_table(self) -> pl.DataFrame:
        """Return the numbers of each strategy: a row a strategy and model, a column a metric."""
        shown = self.scores.filter(pl.col("group") == "strategy")
        return shown.pivot("metric", index=["subgroup", "model"], values="value", maintain_order=True)


@dataclasses.dataclass(frozen=True, slots=True)
class _Asked:
    """The questions of a score: of a build's folder or of files."""

    table: pl.DataFrame
    readings: dict[str, Reading]
    folder: Path | None
    manifest: dict[str, Any] | None

    @property
    def build(self) -> dict[str, Any]:
        """The build's options, if there is one."""
        return {} if self.manifest is None else {"build": self.manifest["config"]}

    @property
    def strategies(self) -> tuple[str, ...]:
        """What they are told apart by."""
        return strategies_of(self.table)


def score(
    path: Path | None,
    predictions: Mapping[str, PathTexts],
    config: ScoreConfig | None = None,
    out: Path | None = None,
    *,
    questions: Mapping[str, PathTexts] | None = None,
    relabel: Sequence[Path] = (),
    force: bool = False,
    on_stage: OnStage | None = None,
) -> ScoreReport:
    """Score models' answers to polling questions.

    Parameters
    ----------
    path : Path or None
        What ``pope build`` wrote; None with `questions`.
    predictions : mapping of str to path or sequence of path
        Model -> its file of question_id and answer, with ids such as random_1; or MODEL:STRATEGY -> its file
        with the ids of that strategy's file. Several files, or those of a folder, are put together.
    config : ScoreConfig, optional
        Options.
    out : Path, optional
        Folder for scores.{parquet,json,md,tex}, scores_long.tex, counts.parquet and manifest.json.
    questions : mapping of str to path or sequence of path, optional
        Strategy -> POPE's file of its questions, in place of a folder.
    relabel : sequence of Path
        Files of other labels (image, text, label), such as RePOPE's.
    force : bool
        Replace the scores of a run with other options.
    on_stage : callable, optional
        Called with the name of each stage before it starts, and with how much of it is done.

    Raises
    ------
    SourceError, SchemaError
        A file that can't be read; missing, repeated or unknown question ids; labels of no question.
    ConfigError
        No predictions, a baseline that is no model, a folder and questions, or neither.
    """
    config = config or ScoreConfig()
    named = named_path_lists("predictions", predictions)
    asked = _asked(path, questions, config)
    models = _models(named, config.baseline, asked.strategies)
    files, file_notes = answer_files(named, config)
    recorded = dataclasses.asdict(config) | asked.build
    read = _inputs(path, files, questions, relabel)
    check_score_target(out, ScoreReport, COMMAND, recorded, read, force=force)
    fitted, answer_readings = _read_answers(files, asked, config, on_stage)
    again, label_readings = read_labels_again(relabel, config.on_bad_row) if relabel else (None, {})
    facts = InputFacts.of({**asked.readings, **answer_readings, **label_readings})
    table = asked.table.filter(~pl.col("question_id").is_in(fitted.left_out.implode()))
    answers, texts, told = extract_all(
        dict(zip(models, fitted.answers.values(), strict=True)), config.extract, table
    )
    tell = on_stage or (lambda stage: None)
    tell("score")
    said = {
        model: one.select("question_id", said=parsed(one["answer"], config.parser))
        for model, one in answers.items()
    }
    judged = _judged(table, said)
    scores, differences = _measured(judged, config, [*said], asked.strategies)
    counts = counted(judged, asked.strategies, [*said])
    relabelled, label_notes = (None, ()) if again is None else _relabelled(table, again, said, config, scores)
    is_right = (pl.col("tp") + pl.col("tn")).cast(pl.Float64)
    least = least_difference_note(
        judged.with_columns(subset="strategy", accuracy=100 * is_right), config.baseline
    )
    report = ScoreReport(
        command=COMMAND,
        scores=scores,
        counts=counts,
        differences=differences,
        relabelled=relabelled,
        notes=(*file_notes, *facts.notes, *fitted.notes, *told, *label_notes, *least),
        warnings=(*facts.warnings, *fitted.warnings, *_answer_warnings(counts, config)),
        extracted_answers=texts,
        dropped={**facts.dropped, **fitted.dropped},
    )
    if out is not None:
        of_build = () if path is None or asked.manifest is None else (build_record(path, asked.manifest),)
        report = write_report(
            out,
            report,
            config=recorded,
            inputs=(*facts.records, *of_build),
            counts={"scored_questions": len(table), "models": len(models)},
            force=force,
        )
    return report


def _inputs(
    path: Path | None,
    files: Mapping[str, Sequence[Path]],
    questions: Mapping[str, PathTexts] | None,
    relabel: Sequence[Path],
) -> Inputs:
    """Return what is read, by role."""
    asked = named_path_lists("questions", questions or {})
    given: dict[str, Path | Sequence[Path]] = {
        "predictions": [one for several in files.values() for one in several],
        "questions": [one for several in asked.values() for one in several],
        "relabel": [*relabel],
    }
    return given if path is None else {"folder": path, **given}


def _asked(path: Path | None, questions: Mapping[str, PathTexts] | None, config: ScoreConfig) -> _Asked:
    if (path is None) == (not questions):
        got = "neither a folder nor --questions" if path is None else "a folder and --questions"
        raise ConfigError(
            f"pope score: got {got}, expected what pope build wrote, or --questions STRATEGY=FILE. "
            "Give one of them."
        )
    if path is not None:
        folder = read_folder(path)
        return _Asked(folder.questions, {}, path, folder.manifest)
    table, readings = asked_in_files(named_path_lists("questions", questions or {}), config.on_bad_row)
    return _Asked(table, readings, None, None)


def _models(named: Mapping[str, object], baseline: str | None, strategies: tuple[str, ...]) -> list[str]:
    if not named:
        raise ConfigError("predictions: got none, expected at least one. Give --predictions NAME=FILE.")
    models = [*dict.fromkeys(strategy_of(name, strategies)[0] for name in named)]
    check_baseline(baseline, models)
    return models


def _read_answers(
    files: Mapping[str, Sequence[Path]], asked: _Asked, config: ScoreConfig, on_stage: OnStage | None
) -> tuple[FittedAnswers, dict[str, Reading]]:
    """Return each model's answers to the questions by their whole ids, and the readings by role."""
    known = asked.table["question_id"]
    alone = asked.strategies[0] if len(asked.strategies) == 1 else None
    by_strategy: dict[str | None, dict[str, Sequence[Path]]] = {}
    for name, paths in files.items():
        by_strategy.setdefault(strategy_of(name, asked.strategies)[1] or alone, {})[name] = paths
    models_of = {name: strategy_of(name, asked.strategies)[0] for name in files}
    parts: dict[str, list[Reading]] = {f"predictions of {model}": [] for model in models_of.values()}
    readings: dict[str, Reading] = {}
    for strategy, several in by_strategy.items():
        short = known if strategy is None else known.str.strip_prefix(f"{strategy}_")
        models = read_models(several, "predictions", short, config, on_stage)
        readings |= readings_by_role(models)
        if strategy is None:
            _check_whole_ids(models, asked)
        for name, found in zip(several, models.values(), strict=True):
            parts[f"predictions of {models_of[name]}"] += [
                one if strategy is None else _with_whole_ids(one, strategy, known) for one in found.values()
            ]
    return fit_answers(parts, known=known, needed=known, options=config), readings


def _check_whole_ids(models: Mapping[str, Mapping[str, Reading]], asked: _Asked) -> None:
    """Raise ConfigError for answers by the ids of one strategy's file, which may be any strategy's."""
    known, first = asked.table["question_id"], asked.strategies[0]
    short = known.str.extract(r"_([^_]*)$")
    for role, found in models.items():
        ids = pl.concat([one.table["question_id"] for one in found.values()])
        if len(ids) and not ids.is_in(known.implode()).any() and ids.is_in(short.implode()).any():
            option = f"--predictions {role.removeprefix('predictions of ')}:{first}=FILE"
            raise ConfigError(
                f"{role}: got ids such as {ids[0]!r}, expected ids such as {known[0]!r}, as the questions "
                f"are of several strategies. Give a file for each, as in {option}."
            )


def _with_whole_ids(reading: Reading, strategy: str, known: pl.Series) -> Reading:
    """Return the answers to one strategy's questions by ids such as random_1."""
    is_whole = pl.col("question_id").is_in(known.implode())
    whole = (
        pl.when(is_whole).then("question_id").otherwise(pl.format("{}_{}", pl.lit(strategy), "question_id"))
    )
    return dataclasses.replace(reading, table=reading.table.with_columns(question_id=whole))


def _judged(table: pl.DataFrame, said: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(judged_answers(table, one, model) for model, one in said.items())


def _measured(
    judged: pl.DataFrame, config: ScoreConfig, models: list[str], strategies: tuple[str, ...]
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    scores, differences = measured(
        judged, config.parser, baseline=config.baseline, resamples=config.resamples, seed=config.seed
    )
    ordered = _by_strategy(in_order(scores, models), strategies)
    if differences is not None:
        differences = _by_strategy(in_order(differences, models), strategies)
    return ordered, differences


def _by_strategy(table: pl.DataFrame, strategies: tuple[str, ...]) -> pl.DataFrame:
    """Return a table with the strategies in the article's order, and all else as it came."""
    place = pl.when(pl.col("group") == "strategy").then(
        pl.col("subgroup").replace_strict(strategies, range(len(strategies)), default=0)
    )
    first = table.with_row_index("row").with_columns(
        block=pl.col("row").min().over("metric", "group"), place=place.fill_null(0)
    )
    return first.sort("block", "place", "row").drop("row", "block", "place")


def _relabelled(
    table: pl.DataFrame,
    again: pl.DataFrame,
    said: Mapping[str, pl.DataFrame],
    config: ScoreConfig,
    scores: pl.DataFrame,
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return the scores under the original labels, on the kept questions, and under the other labels."""
    kept = table.join(again, on=["image_id", "question"], how="inner", validate="m:1", maintain_order="left")
    if kept.is_empty():
        raise SourceError(
            f"relabel: got none of the {len(table):,} questions among {len(again):,} labels, expected other "
            "labels of the same images and texts. Check that the files belong together."
        )
    moved = kept.with_columns(answer="relabelled")
    strategies = strategies_of(table)
    found = {ORIGINAL: scores}
    for name, rows in ((KEPT, kept), (RELABELLED, moved)):
        found[name], _ = _measured(_judged(rows.drop("relabelled"), said), config, [*said], strategies)
    changed = kept.filter(pl.col("answer") != pl.col("relabelled"))
    to_no = int((changed["answer"] == "yes").sum())
    note = (
        f"relabelled: {len(kept):,} of {len(table):,} questions are kept; {to_no:,} become no, "
        f"{len(changed) - to_no:,} become yes"
    )
    tables = [one.select(pl.lit(name).alias("labels"), pl.all()) for name, one in found.items()]
    return pl.concat(tables), (note,)


def _answer_warnings(counts: pl.DataFrame, config: ScoreConfig) -> list[str]:
    """Return a warning for each model with answers that are neither yes nor no."""
    unparsed = counts.group_by("model", maintain_order=True).agg(pl.col("unparsed").sum())
    return [
        f"predictions of {model}: {count:,} answers are neither yes nor no by the parser {config.parser}, "
        "and are in no count"
        for model, count in unparsed.iter_rows()
        if count
    ]
