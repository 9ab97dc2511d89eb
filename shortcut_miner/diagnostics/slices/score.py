"""Score: what other models do in the slices of a build, with intervals over images."""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shortcut_miner.datasets import reports
from shortcut_miner.datasets.scores import build_record, check_score_target, write_report
from shortcut_miner.diagnostics.slices.answers import outcomes, read_accuracies
from shortcut_miner.diagnostics.slices.config import Outcome, ScoreConfig
from shortcut_miner.diagnostics.slices.inputs import ACCURACY
from shortcut_miner.diagnostics.slices.mined import RowBits
from shortcut_miner.diagnostics.slices.outputs import SlicesFolder, read_folder, to_read
from shortcut_miner.encoding import build_vocabulary, encode_item_lists
from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.mining.frames.rules import encode_rules
from shortcut_miner.options import PathTexts, check_baseline, named_path_lists
from shortcut_miner.scoring.intervals import compare, summarise
from shortcut_miner.scoring.least_difference import least_difference_note
from shortcut_miner.scoring.tables import PaperColumns
from shortcut_miner.timing import OnStage

COMMAND = "slices score"
METRICS: Mapping[Outcome, str] = {"wrong": "error_rate", "error": "error", "regression": "accuracy_lost"}
SLICE = "slice"  # the group of slices to read first
MOST_SLICES = 20  # of them


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class ScoreReport(reports.ScoreReport):
    """What models do in slices.

    Attributes
    ----------
    scores : pl.DataFrame
        metric (error_rate, error or accuracy_lost, in percent), group ("overall", or "slice" for those to
        read first), subgroup (a slice's name), scorer, model, value, n, low, high.
    slice_scores : pl.DataFrame
        slice_id, model, count, outcome_sum, mean, divergence, and mean_built, that of the build: a row a
        slice and model.
    differences : pl.DataFrame or None
        With a baseline: each other model's scores minus the baseline's, with intervals on the same resamples.
    """

    slice_scores: pl.DataFrame
    differences: pl.DataFrame | None = None

    def paper_columns(self) -> PaperColumns:
        """Return the mean outcome of all rows."""
        (metric,) = self.scores["metric"].unique()
        return {str(metric).replace("_", " ").capitalize(): (metric, "overall", "all")}


def score(
    path: Path,
    predictions: Mapping[str, PathTexts],
    config: ScoreConfig | None = None,
    out: Path | None = None,
    *,
    force: bool = False,
    on_stage: OnStage | None = None,
) -> ScoreReport:
    """Score models on the slices of a build.

    Parameters
    ----------
    path : Path
        What ``slices build`` wrote.
    predictions : mapping of str to Path or sequence of Path
        Model -> its answers.
    config : ScoreConfig, optional
        Options.
    out : Path, optional
        Folder for scores.{parquet,json,md,tex}, scores_long.tex, slice_scores.parquet and manifest.json.
    force : bool
        Replace the scores of a run with other options.
    on_stage : callable, optional
        Called with the name of each stage before it starts.

    Raises
    ------
    SourceError, SchemaError
        A file that can't be read; missing, repeated or unknown question ids; a build of a table, whose rows
        nobody can answer.
    ConfigError
        No models, or a baseline that is none of them.
    """
    config = config or ScoreConfig()
    models = named_path_lists("predictions", predictions)
    if not models:
        raise ConfigError("predictions: got no models, expected one at least. Give NAME=FILE.")
    check_baseline(config.baseline, models)
    folder = read_folder(path)
    recorded = dataclasses.asdict(config) | {"build": folder.manifest["config"]}
    inputs: dict[str, Any] = {
        "predictions": [one for several in models.values() for one in several],
        "folder": path,
    }
    check_score_target(out, ScoreReport, COMMAND, recorded, inputs, force=force)
    if ACCURACY not in folder.questions.columns:
        raise SourceError(
            f"{path}: got slices of a table with outcomes, expected those of questions, which models answer. "
            "Build slices of a table with this model's outcomes."
        )
    questions, build = folder.questions, folder.manifest["config"]
    ids = questions["question_id"]
    scorer = config.scorer or build["scorer"]
    found = read_accuracies(questions, ids, models, config, scorer, on_stage)
    if on_stage is not None:
        on_stage("score")
    scored = {model: _outcomes(folder, table, build["correct_at"]) for model, table in found.tables.items()}
    scores, differences = _summaries(folder, scored, config)
    images = questions.select("question_id", "image_id")
    told = pl.concat(
        table.select("question_id", "accuracy", model=pl.lit(model)).join(
            images, on="question_id", how="left", validate="1:1", maintain_order="left"
        )
        for model, table in found.tables.items()
    )
    report = ScoreReport(
        command=COMMAND,
        scores=scores,
        slice_scores=_slice_scores(folder, scored),
        differences=differences,
        notes=(*found.facts.notes, *least_difference_note(told, config.baseline)),
        warnings=found.facts.warnings,
        dropped=found.facts.dropped,
        extracted_answers=found.texts,
    )
    if out is not None:
        report = write_report(
            out,
            report,
            config=recorded,
            inputs=(*found.facts.records, build_record(path, folder.manifest)),
            counts={"questions": len(next(iter(scored.values()))), "models": len(models)},
            force=force,
        )
    return report


def _outcomes(folder: SlicesFolder, table: pl.DataFrame, correct_at: float) -> pl.DataFrame:
    """Return the build's rows that a model answers with its own outcome in place of the build's."""
    own = table.select("question_id", "scorer", own_accuracy="accuracy")
    rows = folder.questions.join(own, on="question_id", how="inner", validate="1:1", maintain_order="left")
    if folder.outcome == "regression":
        found = outcomes(rows[ACCURACY], "regression", correct_at, rows["own_accuracy"])
    else:
        found = outcomes(rows["own_accuracy"], folder.outcome, correct_at)
    return rows.with_columns(outcome=pl.Series(found))


def _summaries(
    folder: SlicesFolder, scored: Mapping[str, pl.DataFrame], config: ScoreConfig
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Return each model's mean outcome over all rows and in the slices to read first; and differences."""
    first = to_read(folder.slices, folder.cover.head(MOST_SLICES))
    metric = METRICS[folder.outcome]
    values = pl.concat(
        table.select(
            "question_id", "image_id", "scorer",
            *(pl.when(is_in(one)).then(pl.lit(one["name"])).alias(f"{SLICE} {one['slice_id']}")
              for one in first.iter_rows(named=True)),
            model=pl.lit(model), **{metric: pl.col("outcome") * (100 / folder.scale)},
        )
        for model, table in scored.items()
    )  # fmt: skip
    by = [f"{SLICE} {one}" for one in first["slice_id"]]
    options: dict[str, Any] = {
        "by": by, "metric": metric, "resamples": config.resamples, "seed": config.seed,
    }  # fmt: skip
    scores = _of_slices(summarise(values, **options))
    if config.baseline is None or len(scored) < 2:
        return scores, None
    return scores, _of_slices(compare(values, baseline=config.baseline, **options))


def _of_slices(table: pl.DataFrame) -> pl.DataFrame:
    """Return a summary without the rows outside of each slice; the group of a slice is "slice"."""
    is_slice = pl.col("group").str.starts_with(f"{SLICE} ")
    inside = table.filter(~is_slice | pl.col("subgroup").is_not_null())
    return inside.with_columns(group=pl.when(is_slice).then(pl.lit(SLICE)).otherwise("group"))


def is_in(row: Mapping[str, Any]) -> pl.Expr:
    """Return whether questions are in a slice, given as a row of schemas.Slices."""
    kinds: tuple[tuple[str, Sequence[str]], ...] = tuple(
        (kind, row[kind]) for kind in ("words", "objects", "attributes")
    )
    holds = [pl.col(kind).list.contains(item) for kind, items in kinds for item in items]
    return reduce(and_, holds).fill_null(False)


def _slice_scores(folder: SlicesFolder, scored: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return every slice's rows and mean outcome for each model, and that of the build."""
    slices = folder.slices
    parts = []
    for model, table in scored.items():
        rows = table.with_columns(answer=pl.lit(""))
        vocabulary = build_vocabulary(
            rows["words"], rows["objects"], rows["answer"], attributes=rows["attributes"]
        )
        lists = encode_rules(_as_rules(slices), vocabulary).items
        encoded, words = encode_item_lists(rows, vocabulary), RowBits.of(rows["outcome"].to_numpy())
        bits = words.bits_of(encoded, np.arange(vocabulary.item_count, dtype=np.int32))
        sums, whole = words.sums(lists, bits), rows["outcome"]
        found = slices.select("slice_id", mean_built="mean").with_columns(
            model=pl.lit(model), count=pl.Series(sums[:, 0].astype(np.uint64)),
            outcome_sum=pl.Series(sums[:, 1]),
        )  # fmt: skip
        mean = pl.col("outcome_sum") / (pl.col("count").cast(pl.Int64) * folder.scale)
        overall = int(whole.sum()) / (len(whole) * folder.scale)
        parts.append(
            found.with_columns(mean=pl.when(pl.col("count") > 0).then(mean)).select(
                "slice_id", "model", "count", "outcome_sum", "mean",
                (pl.col("mean") - overall).alias("divergence"), "mean_built",
            )
        )  # fmt: skip
    return pl.concat(parts).sort("slice_id", "model")


def _as_rules(slices: pl.DataFrame) -> pl.DataFrame:
    """Return slices as rules are encoded."""
    named = {f"antecedent_{kind}": kind for kind in ("words", "objects", "attributes")}
    return slices.select(
        **named, answer=pl.lit(""), antecedent_count="count", rule_count=pl.lit(0, pl.UInt64)
    )
