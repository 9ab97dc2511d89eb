"""A model's answers under the three conditions, beside the right ones, for the questions to evaluate."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from shortcut_miner.diagnostics.fpvg.config import CONDITIONS
from shortcut_miner.errors import ConfigError, SchemaError, examples, problem_list
from shortcut_miner.sources.answers.predictions import read_predictions
from shortcut_miner.sources.opening.ids import with_zeros_back
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.text import answer_forms


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ModelRun:
    """One model's three prediction files; several runs of one model differ by `seed`.

    Attributes
    ----------
    model : str
        Its name.
    all, relevant, irrelevant : Path
        Its answers when it sees all regions, the relevant ones only, the irrelevant ones only.
    seed : str
        Which run of the model; empty if there is only one.
    """

    model: str
    all: Path
    relevant: Path
    irrelevant: Path
    seed: str = ""

    @property
    def name(self) -> str:
        """The model's name with its seed."""
        return f"{self.model}@{self.seed}" if self.seed else self.model

    def file(self, condition: str) -> Path:
        """Return the file of one condition."""
        return {"all": self.all, "relevant": self.relevant, "irrelevant": self.irrelevant}[condition]


def runs_of(
    all: Mapping[str, Path], relevant: Mapping[str, Path], irrelevant: Mapping[str, Path]
) -> list[ModelRun]:
    """Return the runs that files by name make; a name is MODEL, or MODEL@SEED for several runs of a model.

    Raises
    ------
    ConfigError
        The three have different names.
    """
    for option, named in (("--relevant", relevant), ("--irrelevant", irrelevant)):
        if set(named) != set(all):
            raise ConfigError(
                f"{option}: got the names {examples(named)}, expected {examples(all)}, as in --all. "
                "Give three files of each model."
            )
    runs = []
    for name, file in all.items():
        model, _, seed = name.partition("@")
        runs.append(
            ModelRun(model=model, seed=seed, all=file, relevant=relevant[name], irrelevant=irrelevant[name])
        )
    return runs


@dataclasses.dataclass(frozen=True, slots=True)
class RunAnswers:
    """One run as read: per condition the reading, and the probability of the *all* answer where given."""

    run: ModelRun
    readings: Mapping[str, Reading]


def read_run(run: ModelRun, known: pl.Series) -> RunAnswers:
    """Read the three files of a run; `known` are the ids of the build's questions.

    Raises
    ------
    SourceError
        A file that can't be read, has an id twice, or lost leading zeros so that ids aren't clear.
    """
    files = {name: read_predictions(run.file(name)) for name in CONDITIONS}
    return RunAnswers(run, {name: with_zeros_back(reading, known) for name, reading in files.items()})


def joined_answers(questions: pl.DataFrame, answered: RunAnswers) -> pl.DataFrame:
    """Return question_id, image_id, answer, and the answer under each condition, null where there is none."""
    table = questions.select("question_id", "image_id", "answer")
    for condition, reading in answered.readings.items():
        given = reading.table.select("question_id", pl.col("answer").alias(condition))
        table = table.join(given, on="question_id", how="left", validate="1:1", maintain_order="left")
    return table


def check_ids(questions: pl.DataFrame, evaluated: pl.Series, answered: RunAnswers) -> tuple[str, ...]:
    """Raise if a run lacks an evaluated question; return notes on answers to others.

    Parameters
    ----------
    questions : pl.DataFrame
        All questions of the build.
    evaluated : pl.Series
        Ids of those that the metric needs.
    answered : RunAnswers
        The run.

    Raises
    ------
    SchemaError
        Questions without an answer under some condition: by condition, with counts and examples.
    """
    problems, notes = [], []
    known = questions["question_id"]
    for condition, reading in answered.readings.items():
        given = reading.table["question_id"]
        strangers = given.filter(~given.is_in(known.implode()))
        needed = evaluated.filter(~evaluated.is_in(given.implode()))
        if len(needed):
            problems.append(f"{condition}: no answer to {len(needed):,} questions ({examples(needed)})")
        if len(strangers):
            notes.append(
                f"{answered.run.name}, {condition}: answers to {len(strangers):,} other questions left out"
            )
    if problems:
        title = (
            f"predictions of {answered.run.name}: got ids that don't fit, expected an answer to each of the "
            f"{len(evaluated):,} evaluated questions under each condition. Correct the files."
        )
        raise SchemaError(problem_list(title, problems))
    return tuple(notes)


def normalised(table: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return the table with its answers as VQA's evaluation compares them; null stays null."""
    forms = answer_forms(pl.concat(table[name].rename("answer") for name in columns))
    return table.with_columns(
        pl.col(name).replace_strict(
            forms["answer"], forms["normalised"], default=None, return_dtype=pl.String
        )
        for name in columns
    )
