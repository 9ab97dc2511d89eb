"""A model's answers under the three conditions, beside the right ones, for the questions to evaluate."""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from shortcut_miner.datasets.answers import read_models, with_known_ids
from shortcut_miner.diagnostics.fpvg.config import CONDITIONS, CONTROL
from shortcut_miner.errors import ConfigError, SourceError, examples
from shortcut_miner.options import AnswerOptions, PathTexts, as_path_tuple, named_columns
from shortcut_miner.sources.answers.predictions import one_a_question
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.sources.questions.values import Kind, values_reader
from shortcut_miner.text import answer_forms

# Of the images that ``fpvg images`` draws.
_IMAGE_ID = rf"(?s)^(?<question>.+)#(?<condition>{'|'.join((*CONDITIONS, CONTROL))})$"
_PROBABILITY: dict[str, Kind] = {"question_id": "id", "probability": "number"}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ModelRun:
    """One model's three prediction files; several runs of one model differ by `seed`.

    Attributes
    ----------
    model : str
        Its name.
    all, relevant, irrelevant : path or sequence of path
        Its answers when it sees all regions, the relevant ones only, the irrelevant ones only; several files
        are put together.
    seed : str
        Which run of the model; empty if there is only one.
    """

    model: str
    all: PathTexts
    relevant: PathTexts
    irrelevant: PathTexts
    seed: str = ""

    @property
    def name(self) -> str:
        """The model's name with its seed."""
        return f"{self.model}@{self.seed}" if self.seed else self.model

    def files(self, condition: str) -> tuple[Path, ...]:
        """Return the files of one condition."""
        return as_path_tuple(condition, getattr(self, condition))


def runs_of(
    all: Mapping[str, PathTexts], relevant: Mapping[str, PathTexts], irrelevant: Mapping[str, PathTexts]
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
    """One run as read: per condition the answers, and the probability of the *all* answer where given.

    Attributes
    ----------
    run : ModelRun
    models : mapping of str to mapping of str to Reading
        Role of the condition -> role of each file -> its answers.
    probabilities : mapping of str to Reading
        By condition, its files put together.
    """

    run: ModelRun
    models: Mapping[str, Mapping[str, Reading]]
    probabilities: Mapping[str, Reading] = dataclasses.field(default_factory=dict)

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
    models = dict[str, dict[str, Reading]]()
    for condition in CONDITIONS:
        read = read_models({run.name: run.files(condition)}, f"{condition} predictions", known, options)
        models |= {
            role: {name: of_condition(one, condition, known) for name, one in parts.items()}
            for role, parts in read.items()
        }
    readers = {
        condition: [
            values_reader(
                file, _PROBABILITY, "probability", names=names, what="probabilities",
                on_bad_row=options.on_bad_row,
            )
            for file in run.files(condition)
        ]
        for condition in CONDITIONS
    }  # fmt: skip
    present = {condition: [one for one in of_files if one] for condition, of_files in readers.items()}
    if any(len(present[condition]) < len(of_files) for condition, of_files in readers.items()):
        return RunAnswers(run, models)
    probabilities = {
        condition: _joined(
            [of_condition(with_known_ids(read(), known), condition, known) for read in of_files], options
        )
        for condition, of_files in present.items()
    }
    return RunAnswers(run, models, probabilities)


def of_condition(reading: Reading, condition: str, known: pl.Series) -> Reading:
    """Return the answers to one condition's images, whose ids are a question's with the condition after it.

    A file whose ids are the questions' own stays as it is. So do answers to images of the control alone: they
    take the place of the condition that the user gives them for.

    Raises
    ------
    SourceError
        The file answers images of other conditions alone.
    """
    ids = reading.table["question_id"]
    parts = ids.str.extract_groups(_IMAGE_ID).struct.unnest()
    conditions = set(parts["condition"].to_list())
    if not len(ids) or None in conditions or ids.is_in(known.implode()).all():
        return reading
    chosen = condition if condition in conditions else CONTROL
    if chosen not in conditions or (chosen == CONTROL and len(conditions) > 1):
        others = examples(sorted(conditions))
        raise SourceError(
            f"{reading.file.name}: got answers to images of other conditions ({others}), expected some of "
            f"{condition!r}. Give the file of that condition."
        )
    table = reading.table.with_columns(question_id=parts["question"]).filter(parts["condition"] == chosen)
    note = f"answers to images of {chosen!r}: {len(table):,} of {len(ids):,}"
    return dataclasses.replace(reading, table=table, notes=(*reading.notes, note))


def _joined(parts: Sequence[Reading], options: AnswerOptions) -> Reading:
    """Return the rows of several files as one reading; of several to a question the one to keep."""
    first, *others = parts
    if not others:
        return first
    dropped: Counter[str] = Counter()
    for part in parts:
        dropped.update(part.dropped)
    return dataclasses.replace(
        first,
        table=one_a_question(pl.concat([part.table for part in parts]), options)[0],
        dropped=dict(dropped),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        parts=tuple(parts),
    )


def joined_answers(
    questions: pl.DataFrame, answered: RunAnswers, answers: Mapping[str, pl.DataFrame]
) -> pl.DataFrame:
    """Return question_id, image_id, answer, and the answer under each condition, null where there is none.

    `answers` are tables by the run's roles.
    """
    table = questions.select("question_id", "image_id", "answer")
    for condition in CONDITIONS:
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
