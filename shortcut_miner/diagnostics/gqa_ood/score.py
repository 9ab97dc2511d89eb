"""Score: accuracy on frequent and on rare answers, their distance, and accuracy over alpha.

An answer is right if it equals the question's, character by character, as in the released scripts; scored are
the questions of GQA's balanced set (Kervadec et al., CVPR 2021, section 4).
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from shortcut_miner.datasets import reports
from shortcut_miner.datasets.answers import answer_files, fit_answers, read_models, readings_by_role
from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.datasets.scores import build_record, check_score_target, write_report
from shortcut_miner.diagnostics.gqa_ood.config import ScoreConfig
from shortcut_miner.diagnostics.gqa_ood.measured import measured, swept
from shortcut_miner.diagnostics.gqa_ood.outputs import GqaOodFolder, read_folder
from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.options import PathTexts, check_baseline, named_path_lists
from shortcut_miner.scoring.cell_tables import in_order
from shortcut_miner.scoring.extraction import extract_all, sentence_warning
from shortcut_miner.scoring.intervals import ALL, OVERALL
from shortcut_miner.scoring.least_difference import least_difference_note
from shortcut_miner.scoring.tables import PaperColumns
from shortcut_miner.timing import OnStage

COMMAND = "gqa-ood score"
_JUDGED = ("question_id", "image_id", "structural", "semantic", "subset", "tail_alpha")


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class ScoreReport(reports.ScoreReport):
    """Scores of models on one GQA-OOD folder.

    Attributes
    ----------
    scores : pl.DataFrame
        metric (acc_all, acc_head, acc_tail, and delta, all in percent), group ("overall", "structural",
        "semantic"), subgroup, scorer, model, value, n, low, high; a share of nothing is null.
    sweep : pl.DataFrame
        model, alpha, n, value, low, high: accuracy on the tail at each alpha.
    differences : pl.DataFrame or None
        With a baseline: each other model's numbers minus the baseline's, on the same resamples.
    """

    sweep: pl.DataFrame
    differences: pl.DataFrame | None = None

    def paper_columns(self) -> PaperColumns:
        """Return the article's columns (Table 1)."""
        headings = {"Acc-all": "acc_all", "Acc-tail": "acc_tail", "Acc-head": "acc_head", "Delta": "delta"}
        return {heading: (metric, OVERALL, ALL) for heading, metric in headings.items()}


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
        What ``gqa-ood build`` wrote.
    predictions : mapping of str to path or sequence of path
        Model -> its file of question_id and answer, one for each question of head and tail; several files, or
        those of a folder, are put together.
    config : ScoreConfig, optional
        Options.
    out : Path, optional
        Folder for scores.{parquet,json,md,tex}, scores_long.tex, sweep.parquet and manifest.json.
    force : bool
        Replace the scores of a run with other options.
    on_stage : callable, optional
        Called with the name of each stage before it starts, and with how much of it is done.

    Raises
    ------
    SourceError, SchemaError
        A file that can't be read; missing, repeated or unknown question ids; a build without head and tail.
    ConfigError
        No predictions, or a baseline that is no model.
    """
    config = config or ScoreConfig()
    named = named_path_lists("predictions", predictions)
    _check_models(named, config.baseline)
    folder = read_folder(path)
    asked = _asked(folder)
    files, file_notes = answer_files(named, config)
    recorded = dataclasses.asdict(config) | {"build": folder.manifest["config"]}
    read = {"folder": path, "predictions": [one for several in files.values() for one in several]}
    check_score_target(out, ScoreReport, COMMAND, recorded, read, force=force)
    known = folder.questions["question_id"]
    models = read_models(files, "predictions", known, config, on_stage)
    facts = InputFacts.of(readings_by_role(models))
    fitted = fit_answers(
        {role: [*parts.values()] for role, parts in models.items()},
        known=known,
        needed=asked["question_id"],
        options=config,
    )
    asked = asked.filter(~pl.col("question_id").is_in(fitted.left_out.implode()))
    given = dict(zip(files, fitted.answers.values(), strict=True))
    answers, texts, told = extract_all(given, config.extract, folder.questions)
    tell = on_stage or (lambda stage: None)
    tell("score")
    judged = pl.concat(_judged(asked, table, model) for model, table in answers.items())
    draws = {"resamples": config.resamples, "seed": config.seed}
    scores, differences = measured(judged, baseline=config.baseline, **draws)
    least = least_difference_note(judged.with_columns(accuracy=100.0 * pl.col("right")), config.baseline)
    report = ScoreReport(
        command=COMMAND,
        scores=in_order(scores, list(answers)),
        sweep=in_order(swept(judged, **draws), list(answers)),
        differences=differences,
        notes=(*file_notes, *facts.notes, *fitted.notes, *told, *least),
        warnings=(*fitted.warnings, *_sentence_warnings(asked, answers, judged)),
        extracted_answers=texts,
        dropped={**facts.dropped, **fitted.dropped},
    )
    if out is not None:
        report = write_report(
            out,
            report,
            config=recorded,
            inputs=(*facts.records, build_record(path, folder.manifest)),
            counts={"scored_questions": len(asked), "models": len(files)},
            force=force,
        )
    return report


def _asked(folder: GqaOodFolder) -> pl.DataFrame:
    asked = folder.asked()
    if asked.is_empty():
        raise SourceError(
            f"{folder.path}: got no question in head or tail that GQA's balanced set has, expected at least "
            "one. Build it from more questions, or with gqa-ood build --entropy-cut none."
        )
    return asked


def _check_models(predictions: Mapping[str, object], baseline: str | None) -> None:
    if not predictions:
        raise ConfigError("predictions: got none, expected at least one. Give --predictions NAME=FILE.")
    check_baseline(baseline, predictions)


def _judged(asked: pl.DataFrame, answers: pl.DataFrame, model: str) -> pl.DataFrame:
    """Return the questions with whether a model's answer equals theirs."""
    given = answers.select("question_id", given="answer")
    both = asked.join(given, on="question_id", how="left", validate="1:1", maintain_order="left")
    return both.select(*_JUDGED, right=pl.col("answer") == pl.col("given"), model=pl.lit(model))


def _sentence_warnings(
    asked: pl.DataFrame, answers: Mapping[str, pl.DataFrame], judged: pl.DataFrame
) -> list[str]:
    """Return a warning for each model that seems to answer in sentences."""
    told = []
    for model, table in answers.items():
        given = asked.select("question_id").join(
            table, on="question_id", how="left", validate="1:1", maintain_order="left"
        )
        text = sentence_warning(asked, given, judged.filter(pl.col("model") == model)["right"])
        told += [f"predictions of {model}: {text}"] if text else []
    return told
