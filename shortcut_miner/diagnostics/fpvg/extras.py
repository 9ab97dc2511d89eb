"""What a score adds to FPVG itself: probabilities, importances, several runs, two lists of questions."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from shortcut_miner.diagnostics.fpvg import faithfulness
from shortcut_miner.diagnostics.fpvg.answers import ModelRun, RunAnswers
from shortcut_miner.diagnostics.fpvg.config import ScoreConfig
from shortcut_miner.diagnostics.fpvg.outputs import FpvgFolder
from shortcut_miner.scoring.intervals import summarise
from shortcut_miner.sources.answers.predictions import one_a_question
from shortcut_miner.sources.opening.ids import with_zeros_back
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.sources.questions.values import Kind, read_question_values

_IMPORTANCE: dict[str, Kind] = {"question_id": "id", "region_index": "index", "importance": "number"}


@dataclasses.dataclass(frozen=True, slots=True)
class Work:
    """What scoring one list of questions needs; `answers` are the joined answers of each run by its name."""

    folder: FpvgFolder
    runs: Sequence[RunAnswers]
    answers: Mapping[str, pl.DataFrame]
    config: ScoreConfig

    @property
    def scorer(self) -> str:
        """How answers are compared."""
        return "vqa-normalized" if self.config.normalize else "exact"


def changes(work: Work, grounding: pl.DataFrame) -> tuple[list[pl.DataFrame], pl.DataFrame | None]:
    """Return sufficiency and comprehensiveness of the runs whose three files have probabilities."""
    tables = []
    for answered in work.runs:
        if not answered.probabilities:
            continue
        table = grounding.filter(pl.col("model") == answered.run.name)
        for condition, reading in answered.probabilities.items():
            given, _ = one_a_question(reading.table, work.config)
            table = table.join(
                given.rename({"probability": condition}), on="question_id", how="inner",
                validate="1:1", maintain_order="left",
            )  # fmt: skip
        tables.append(faithfulness.with_changes(table).with_columns(scorer=pl.lit(work.scorer)))
    if not sum(map(len, tables)):
        return [], None
    table = pl.concat(tables)
    return [_by_grounding(table, faithfulness.CHANGES, work)], faithfulness.quadrants(table)


def read_importances(files: Mapping[str, Path], known: pl.Series, config: ScoreConfig) -> dict[str, Reading]:
    """Return question_id, region_index and importance of each run's file; `known` are the questions' ids."""
    return {
        name: with_zeros_back(
            read_question_values(file, _IMPORTANCE, what="importances", on_bad_row=config.on_bad_row), known
        )
        for name, file in files.items()
    }


def ranking(work: Work, grounding: pl.DataFrame, importances: Mapping[str, Reading]) -> list[pl.DataFrame]:
    """Return the ranking match of the runs with importances."""
    tables = []
    for name, given in importances.items():
        matches = faithfulness.ranking_match(work.folder.regions.filter("is_evaluable"), given.table)
        tables.append(
            grounding.filter(pl.col("model") == name).join(
                matches, on="question_id", how="inner", validate="1:1", maintain_order="left"
            )
        )
    if not tables or not sum(map(len, tables)):
        return []
    matched = pl.concat(tables).with_columns(scorer=pl.lit(work.scorer))
    return [_by_grounding(matched, faithfulness.MATCHES, work)]


def _by_grounding(values: pl.DataFrame, metrics: Sequence[str], work: Work) -> pl.DataFrame:
    """Return the mean of each metric, overall and inside FPVG+ and FPVG-, with intervals."""
    by, config = [faithfulness.GROUNDING], work.config
    return pl.concat(
        summarise(values, by=by, metric=metric, resamples=config.resamples, seed=config.seed)
        for metric in metrics
    )


def over_seeds(scores: pl.DataFrame, runs: Sequence[ModelRun]) -> pl.DataFrame | None:
    """Return median and largest deviation over the runs of each model that has several."""
    models = {run.name: run.model for run in runs if run.seed}
    if not models:
        return None
    keys = ["base", "metric", "group", "subgroup"]
    named = scores.filter(pl.col("model").is_in(list(models))).with_columns(
        base=pl.col("model").replace_strict(models)
    )
    middle = pl.col("value").median()
    return (
        named.group_by(keys, maintain_order=True)
        .agg(runs=pl.len(), median=middle, largest_deviation=(pl.col("value") - middle).abs().max())
        .rename({"base": "model"})
    )


def drops_between(scores: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return each overall figure on the first list, on the second, and the drop between them."""
    first, second = names
    sides = [
        scores.filter(pl.col("group") == name, pl.col("subgroup") == "all").select(
            "model", "metric", pl.col("value").alias(f"value_{side}")
        )
        for side, name in (("first", first), ("second", second))
    ]
    paired = sides[0].join(
        sides[1], on=["model", "metric"], how="inner", validate="1:1", maintain_order="left"
    )
    return paired.select(
        "model",
        "metric",
        pl.lit(first).alias("first"),
        pl.lit(second).alias("second"),
        "value_first",
        "value_second",
        drop=pl.col("value_first") - pl.col("value_second"),
    )
