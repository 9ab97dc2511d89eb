"""What a score adds to FPVG itself: probabilities, importances, several runs, two lists of questions."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from shortcut_miner.diagnostics.fpvg import faithfulness
from shortcut_miner.diagnostics.fpvg.answers import ModelRun, RunAnswers
from shortcut_miner.diagnostics.fpvg.config import ScoreConfig
from shortcut_miner.diagnostics.fpvg.outputs import FpvgFolder
from shortcut_miner.errors import ConfigError
from shortcut_miner.scoring.intervals import summarise
from shortcut_miner.sources.answers.predictions import one_a_question
from shortcut_miner.sources.opening.ids import with_zeros_back
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.sources.questions.values import Kind, read_question_values, values_reader

_IMPORTANCE: dict[str, Kind] = {"question_id": "id", "region_index": "index", "importance": "number"}
_LEFT_OUT: dict[str, Kind] = {"question_id": "id", "region_index": "index", "probability": "number"}
_MATCHES = faithfulness.MATCHES


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


@dataclasses.dataclass(frozen=True, slots=True)
class Extras:
    """What one kind of further values gives: scores, values of single questions, and quadrants."""

    scores: Sequence[pl.DataFrame] = ()
    per_question: Sequence[pl.DataFrame] = ()
    quadrants: pl.DataFrame | None = None


def changes(work: Work, grounding: pl.DataFrame) -> Extras:
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
        return Extras()
    table, config = pl.concat(tables), work.config
    pair = (config.suff_threshold, config.comp_threshold)
    return Extras(
        [_by_grounding(table, faithfulness.CHANGES, work)],
        [table.select("question_id", "model", *faithfulness.CHANGES)],
        faithfulness.quadrants(table, pair),
    )


def run_and_method(name: str, runs: Sequence[str]) -> tuple[str, str]:
    """Return the run whose importances a name stands for, and the method; "" where it names none.

    >>> run_and_method("m:gradcam", ["m"]), run_and_method("m:a", ["m:a"])
    (('m', 'gradcam'), ('m:a', ''))
    """
    run, _, method = (name, "", "") if name in runs else name.rpartition(":")
    return run, method


def read_importances(files: Mapping[str, Path], known: pl.Series, config: ScoreConfig) -> dict[str, Reading]:
    """Return question_id, region_index and importance of each file; `known` are the questions' ids.

    A file that has a probability in place of an importance was answered with that region left out.
    """
    found = {}
    for name, file in files.items():
        skip = config.on_bad_row
        left_out = values_reader(file, _LEFT_OUT, "probability", what="probabilities", on_bad_row=skip)
        given = values_reader(file, _IMPORTANCE, "importance", what="importances", on_bad_row=skip)
        if given is None and left_out is not None:
            found[name] = with_zeros_back(left_out(), known)
            continue
        read = read_question_values(file, _IMPORTANCE, what="importances", on_bad_row=skip)
        found[name] = with_zeros_back(read, known)
    return found


def ranking(work: Work, grounding: pl.DataFrame, importances: Mapping[str, Reading]) -> Extras:
    """Return the ranking match, and the mass on relevant regions, of the runs with importances, by method."""
    runs = [one.run.name for one in work.runs]
    by_method = dict[str, list[pl.DataFrame]]()
    lists = work.folder.regions.filter("is_evaluable")
    for name, given in importances.items():
        run, method = run_and_method(name, runs)
        importance = _importance(work, run, given)
        values = faithfulness.ranking_match(lists, importance).join(
            faithfulness.relevant_mass(lists, importance), on="question_id", how="left", validate="1:1",
            maintain_order="left",
        )  # fmt: skip
        of_run = grounding.filter(pl.col("model") == run).join(
            values, on="question_id", how="inner", validate="1:1", maintain_order="left"
        )
        by_method.setdefault(method, []).append(of_run)
    scores, each = [], []
    for method, tables in by_method.items():
        names = {one: f"{one}_by_{method}" if method else one for one in (*_MATCHES, faithfulness.MASS)}
        table = pl.concat(tables).with_columns(scorer=pl.lit(work.scorer)).rename(names)
        each.append(table.select("question_id", "model", *names.values()))
        known = {metric: table.drop_nulls(metric) for metric in names.values()}
        scores += [_by_grounding(rows, [metric], work) for metric, rows in known.items() if len(rows)]
    return Extras(scores, each)


def _importance(work: Work, run: str, given: Reading) -> pl.DataFrame:
    """Return a run's importances; of regions that were left out, what the answer's probability lost."""
    if "importance" in given.table.columns:
        return given.table
    answered = next(one for one in work.runs if one.run.name == run)
    if not answered.probabilities:
        raise ConfigError(
            f"importance: got probabilities without a region in {given.file.name}, and none with all regions "
            f"of {run}, expected both. Give answers with a column probability, or importances."
        )
    whole, _ = one_a_question(answered.probabilities["all"].table, work.config)
    joined = given.table.join(
        whole.select("question_id", whole="probability"), on="question_id", how="inner", validate="m:1"
    )
    return joined.with_columns(importance=pl.col("whole") - pl.col("probability"))


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
