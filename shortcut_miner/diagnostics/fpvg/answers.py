"""A model's answers under the three conditions, beside the right ones, for the questions to evaluate."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from shortcut_miner.diagnostics.fpvg.config import CONDITIONS
from shortcut_miner.errors import ConfigError, examples
from shortcut_miner.options import AnswerOptions, named_columns
from shortcut_miner.sources.answers.predictions import read_answers
from shortcut_miner.sources.opening.ids import with_zeros_back
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.sources.questions.values import Kind, values_reader
from shortcut_miner.text import answer_forms

_PROBABILITY: dict[str, Kind] = {"question_id": "id", "probability": "number"}


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
    """One run as read: per condition the answers, and the probability of the *all* answer where given."""

    run: ModelRun
    readings: Mapping[str, Reading]
    probabilities: Mapping[str, Reading] = dataclasses.field(default_factory=dict)

    @property
    def files(self) -> dict[str, Reading]:
        """The answers by role."""
        return {self.role(condition): reading for condition, reading in self.readings.items()}

    def role(self, condition: str) -> str:
        """Return what the file of a condition is called in records and messages."""
        return f"{condition} predictions of {self.run.name}"


def read_run(run: ModelRun, known: pl.Series, options: AnswerOptions) -> RunAnswers:
    """Read the three files of a run; probabilities only if all three have them.

    `known` are the ids of the build's questions.

    Raises
    ------
    SourceError
        A file that can't be read, has rows that don't fit, or lost leading zeros so that ids aren't clear.
    """
    names = named_columns(options.columns, options.answer_columns)
    answers = {
        condition: with_zeros_back(read_answers(run.file(condition), options), known)
        for condition in CONDITIONS
    }
    readers = {
        condition: values_reader(
            run.file(condition), _PROBABILITY, "probability", names=names, what="probabilities",
            on_bad_row=options.on_bad_row,
        )
        for condition in CONDITIONS
    }  # fmt: skip
    present = {condition: read for condition, read in readers.items() if read is not None}
    if len(present) < len(readers):
        return RunAnswers(run, answers)
    probabilities = {condition: with_zeros_back(read(), known) for condition, read in present.items()}
    return RunAnswers(run, answers, probabilities)


def joined_answers(
    questions: pl.DataFrame, answered: RunAnswers, answers: Mapping[str, pl.DataFrame]
) -> pl.DataFrame:
    """Return question_id, image_id, answer, and the answer under each condition, null where there is none.

    `answers` are tables by the run's roles.
    """
    table = questions.select("question_id", "image_id", "answer")
    for condition in answered.readings:
        given = answers[answered.role(condition)].select("question_id", pl.col("answer").alias(condition))
        table = table.join(given, on="question_id", how="left", validate="1:1", maintain_order="left")
    return table


def normalised(table: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return the table with its answers as VQA's evaluation compares them; null stays null."""
    forms = answer_forms(pl.concat(table[name].rename("answer") for name in columns))
    return table.with_columns(
        pl.col(name).replace_strict(
            forms["answer"], forms["normalised"], default=None, return_dtype=pl.String
        )
        for name in columns
    )
