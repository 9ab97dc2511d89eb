"""A model's answers to the perturbations of a plan: Parquet, CSV, JSONL or a JSON list."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.diagnostics.swapmix.metrics import PlanShape
from shortcut_miner.errors import SchemaError, SourceError, examples, problem_list
from shortcut_miner.sources.opening.columns import Column
from shortcut_miner.sources.opening.files import FileFacts, open_source
from shortcut_miner.sources.opening.flat_tables import FlatTable, open_table, read_blocks
from shortcut_miner.sources.opening.reading import RECORD, settle
from shortcut_miner.sources.recognise import check_no_other_kind
from shortcut_miner.text import answer_forms

COLUMNS = {"question_id": Column("id"), "perturbation": Column("whole"), "answer": Column("text")}
_ROWS_AT_ONCE = 1 << 20
_NONE = -1


@dataclasses.dataclass(frozen=True, slots=True)
class PlanAnswers:
    """A model's answers as numbers, one a row of the plan.

    Attributes
    ----------
    answers : ndarray of int32
        Of each row; equal answers have equal numbers.
    right : ndarray of int32
        Of each question's right answer; -1 if the model never gives it.
    file : FileFacts
        What was read.
    notes : tuple of str
        What was decided, in words.
    """

    answers: NDArray[np.int32]
    right: NDArray[np.int32]
    file: FileFacts
    notes: tuple[str, ...]


@dataclasses.dataclass(slots=True)
class _Numbers:
    """Numbers given to answers, after normalisation if asked for."""

    normalise: bool
    given: dict[str, int] = dataclasses.field(default_factory=dict)
    known: dict[str, int] = dataclasses.field(default_factory=dict)

    def of(self, answers: pl.Series) -> NDArray[np.int32]:
        """Return the number of each answer; new answers get new numbers."""
        distinct = answers.unique()
        fresh = [one for one in distinct.to_list() if one not in self.known]
        if fresh:
            forms = _normalised(fresh) if self.normalise else fresh
            for one, form in zip(fresh, forms, strict=True):
                self.known[one] = self.given.setdefault(form, len(self.given))
        numbers = pl.Series([self.known[one] for one in distinct.to_list()], dtype=pl.Int32)
        return answers.replace_strict(distinct, numbers, return_dtype=pl.Int32).to_numpy()


def _normalised(answers: list[str]) -> list[str]:
    forms = answer_forms(pl.Series("answer", answers))
    return list(pl.Series(answers).replace_strict(forms["answer"], forms["normalised"]).to_list())


def read_plan_answers(
    path: Path, shape: PlanShape, excluded: set[str], *, normalise: bool = False
) -> PlanAnswers:
    """Return a model's answers to every row of a plan.

    Parameters
    ----------
    path : Path
        A flat table (Parquet, CSV, JSONL, a JSON list, ...) of question_id, perturbation and answer, in any
        order.
    shape : PlanShape
        The plan.
    excluded : set of str
        Questions of the build that are not in the plan: answers to them are left out.
    normalise : bool
        Compare answers after VQA normalisation.

    Raises
    ------
    SourceError
        The file can't be read, is of another format, or has a null.
    SchemaError
        Perturbations without an answer, with two, or that the plan lacks: the message names questions.
    """
    source = open_source(path, keep_workbooks=True)
    numbers = _Numbers(normalise)
    right = numbers.of(shape.questions["answer"])
    answers = np.full(len(shape.kind), _NONE, np.int32)
    places = shape.questions.select("question_id").with_row_index("place")
    lengths = shape.lengths()
    unknown: list[str] = []
    rows = left_out = 0
    flat = open_table(source)
    if flat.missing(COLUMNS):
        check_no_other_kind(source, COLUMNS)
    for block in _blocks(flat):
        joined = block.join(places, on="question_id", how="left", validate="m:1", maintain_order="left")
        place = joined["place"].cast(pl.Int64).fill_null(_NONE).to_numpy()
        perturbation = joined["perturbation"].cast(pl.Int64).to_numpy()
        is_there = (place >= 0) & (perturbation >= 0) & (perturbation < lengths[place])
        if not is_there.all():
            strange = joined.filter(pl.Series(~is_there))
            is_excluded = strange["question_id"].is_in(list(excluded))
            left_out += int(is_excluded.sum())
            unknown += _named(strange.filter(~is_excluded))
        taken = is_there.nonzero()[0]
        rows += len(taken)
        answers[shape.first[place[taken]] + perturbation[taken]] = numbers.of(joined["answer"])[taken]
    _check_whole(path, shape, answers, rows, unknown)
    notes = (f"answers to questions that the plan leaves out: {left_out:,}",) if left_out else ()
    return PlanAnswers(answers, right, source.facts(), flat.notes + notes)


def _named(rows: pl.DataFrame) -> list[str]:
    shown = zip(rows["question_id"].to_list(), rows["perturbation"].to_list(), strict=True)
    return [f"{question} ({perturbation})" for question, perturbation in shown]


def _check_whole(
    path: Path, shape: PlanShape, answers: NDArray[np.int32], rows: int, unknown: list[str]
) -> None:
    """Raise SchemaError for all that is missing, too much or there twice."""
    is_missing = answers == _NONE
    missing = int(is_missing.sum())
    problems = []
    if missing:
        per_question = np.add.reduceat(is_missing, shape.first)
        named = shape.questions["question_id"].filter(pl.Series(per_question > 0)).to_list()
        problems.append(
            f"{missing:,} perturbations of {len(named):,} questions without an answer: {examples(named)}"
        )
    if rows > len(answers) - missing:
        problems.append(f"{rows - len(answers) + missing:,} answers to a perturbation that has one already")
    if unknown:
        problems.append(
            f"{len(unknown):,} answers to what the plan lacks, question (perturbation): {examples(unknown)}"
        )
    if problems:
        title = (
            f"{path}: got answers that don't fit the plan, expected one for each of its "
            f"{len(answers):,} rows. "
            "Answer every row of swaps.parquet once, perturbation 0 (no swap) too."
        )
        raise SchemaError(problem_list(title, problems))


def _blocks(flat: FlatTable) -> Iterator[pl.DataFrame]:
    """Give the answers of a file in blocks; tens of millions of rows must not be there at once."""
    if missing := flat.missing(COLUMNS):
        raise SourceError(
            f"{flat.path}: got a table without {examples(missing)} (it has "
            f"{examples(flat.columns, limit=20)}), expected {', '.join(COLUMNS)}. Rename its columns."
        )
    for block, problems in read_blocks(flat, COLUMNS, _ROWS_AT_ONCE):
        settle(flat.path, "answers", problems, flat.total, "error", flat.label)
        nulls = {name: count for name in COLUMNS if (count := block[name].null_count())}
        if nulls:
            told = ", ".join(f"{count:,} in {name}" for name, count in nulls.items())
            raise SourceError(
                f"{flat.path}: got values that are missing or no whole numbers ({told}), expected none. "
                "Correct them."
            )
        yield block.drop(RECORD)
