"""How a model's answers change under the swaps of a plan, per question and per swapped class."""

import dataclasses

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.diagnostics.swapmix.config import ScoreConfig
from shortcut_miner.scoring.intervals import summarise

Flags = NDArray[np.bool_]
CLASS, ATTRIBUTE = 1, 2
NO_SWAP = np.iinfo(np.int32).min  # no model's answer
METRICS = (
    "accuracy",
    "object_reliance",
    "attribute_reliance",
    "context_reliance",
    "effective_accuracy",
    "effective_accuracy_perturbations_only",
)


@dataclasses.dataclass(frozen=True, slots=True)
class PlanShape:
    """The rows of a plan, question by question, the original first.

    Attributes
    ----------
    questions : pl.DataFrame
        question_id, image_id, answer.
    first : ndarray of int64
        The first row of each question.
    kind : ndarray of uint8
        0 for the original, `CLASS`, `ATTRIBUTE`.
    index : ndarray of uint32
        Number of a swap within its object and kind, from 1; 0 if not known.
    is_padding : ndarray of bool
        Whether a swap is to a random class or attribute.
    from_class : ndarray of int32
        Position of the swapped object's class in `classes`, -1 for none.
    classes : list of str
        Names of classes.
    """

    questions: pl.DataFrame
    first: NDArray[np.int64]
    kind: NDArray[np.uint8]
    index: NDArray[np.uint32]
    is_padding: Flags
    from_class: NDArray[np.int32]
    classes: list[str]

    def lengths(self) -> NDArray[np.int64]:
        """Return how many rows each question has."""
        return np.diff(np.append(self.first, len(self.kind)))

    def where(self, is_kept: Flags) -> "PlanShape":
        """Return the rows of some questions, by a flag a question."""
        rows = np.repeat(is_kept, self.lengths())
        lengths = self.lengths()[is_kept]
        return PlanShape(
            questions=self.questions.filter(pl.Series(is_kept)),
            first=np.cumsum(lengths) - lengths,
            kind=self.kind[rows],
            index=self.index[rows],
            is_padding=self.is_padding[rows],
            from_class=self.from_class[rows],
            classes=self.classes,
        )

    def question_of_rows(self) -> NDArray[np.int64]:
        """Return the question of each row."""
        return np.repeat(np.arange(len(self.first)), self.lengths())


@dataclasses.dataclass(frozen=True, slots=True)
class Verdicts:
    """What became of each question, as flags; and of each swapped class.

    Attributes
    ----------
    is_correct, flips_class, flips_attribute : ndarray of bool
        The original answer is right; it changes under some class or some attribute swap.
    stays_correct : ndarray of bool
        The answer is right under every swap (of none: yes).
    classes : pl.DataFrame
        from_class, kind, swap_count, flip_count, flip_share, question_count, flipped_question_count: over
        the swaps of originally correct questions.
    """

    is_correct: Flags
    flips_class: Flags
    flips_attribute: Flags
    stays_correct: Flags
    classes: pl.DataFrame


def counted_rows(shape: PlanShape, config: ScoreConfig) -> Flags:
    """Return which rows are read: the originals, and the swaps that `config` counts."""
    is_read: Flags = np.ones(len(shape.kind), np.bool_)
    if config.k is not None:
        is_read &= shape.index <= config.k
    if config.exclude_padding:
        is_read &= ~shape.is_padding
    is_read |= shape.kind == 0
    return is_read


def judge(
    shape: PlanShape, answers: NDArray[np.int32], right: NDArray[np.int32], config: ScoreConfig
) -> Verdicts:
    """Return what became of each question under the swaps that `config` counts.

    Parameters
    ----------
    answers : ndarray of int32
        A number for the answer of each row; equal answers have equal numbers; `NO_SWAP` for a swap that
        counts as not made.
    right : ndarray of int32
        The number of each question's right answer, -1 if it is nobody's answer.
    """
    question = shape.question_of_rows()
    original = answers[shape.first]
    is_correct = original == right
    counts = counted_rows(shape, config) & (shape.kind > 0) & (answers != NO_SWAP)
    changes = counts & (answers != original[question])
    fails = counts & (answers != right[question])
    flips = [_any_row(changes & (shape.kind == kind), shape.first) for kind in (CLASS, ATTRIBUTE)]
    counts &= is_correct[question]
    return Verdicts(
        is_correct=is_correct,
        flips_class=flips[0],
        flips_attribute=flips[1],
        stays_correct=~_any_row(fails, shape.first),
        classes=_class_flips(shape, question, counts, changes),
    )


def _any_row(flags: Flags, first: NDArray[np.int64]) -> Flags:
    """Return per question whether any of its rows is true; every question has a row."""
    found: Flags = np.logical_or.reduceat(flags, first) if len(first) else np.zeros(0, np.bool_)
    return found


def _class_flips(
    shape: PlanShape, question: NDArray[np.int64], counts: Flags, changes: Flags
) -> pl.DataFrame:
    schema = {
        "from_class": pl.String, "kind": pl.String, "swap_count": pl.UInt32, "flip_count": pl.UInt32,
        "flip_share": pl.Float64, "question_count": pl.UInt32, "flipped_question_count": pl.UInt32,
    }  # fmt: skip
    if not shape.classes:
        return pl.DataFrame(schema=schema)
    size = len(shape.classes)
    is_counted = counts & (shape.from_class >= 0)
    cell = (shape.kind[is_counted].astype(np.int64) - 1) * size + shape.from_class[is_counted]
    flips = changes[is_counted]
    of_question = question[is_counted]
    swap_count, flip_count = (np.bincount(cells, minlength=2 * size) for cells in (cell, cell[flips]))
    asked, flipped = (
        _distinct_questions(cells, asked_by, 2 * size)
        for cells, asked_by in ((cell, of_question), (cell[flips], of_question[flips]))
    )
    table = pl.DataFrame(
        {
            "from_class": shape.classes * 2,
            "kind": ["class"] * size + ["attribute"] * size,
            "swap_count": swap_count.astype(np.uint32),
            "flip_count": flip_count.astype(np.uint32),
            "flip_share": flip_count / np.maximum(swap_count, 1),
            "question_count": asked.astype(np.uint32),
            "flipped_question_count": flipped.astype(np.uint32),
        }
    )
    return table.filter(pl.col("swap_count") > 0).sort(
        "kind", "flip_share", "swap_count", "from_class", descending=[True, True, True, False]
    )


def _distinct_questions(
    cells: NDArray[np.int64], questions: NDArray[np.int64], size: int
) -> NDArray[np.int64]:
    """Return how many different questions each cell has; rows come question by question."""
    if not len(cells):
        return np.zeros(size, np.int64)
    # Sorted by cell, and stably by question: a new pair starts where either changes.
    order = np.argsort(cells, kind="stable")
    cells, questions = cells[order], questions[order]
    is_new = np.append(True, (cells[1:] != cells[:-1]) | (questions[1:] != questions[:-1]))
    return np.bincount(cells[is_new], minlength=size)


def summary(shape: PlanShape, verdicts: Verdicts, model: str, config: ScoreConfig) -> pl.DataFrame:
    """Return the metrics in percent, with n and 95% intervals by bootstrap over images.

    Accuracies are over all questions, reliances over those answered correctly without a swap.
    """
    changes = verdicts.flips_class | verdicts.flips_attribute
    everyone = np.ones(len(changes), np.bool_)
    values: dict[str, tuple[Flags, Flags]] = {
        "accuracy": (verdicts.is_correct, everyone),
        "object_reliance": (verdicts.flips_class, verdicts.is_correct),
        "attribute_reliance": (verdicts.flips_attribute, verdicts.is_correct),
        "context_reliance": (changes, verdicts.is_correct),
        "effective_accuracy": (verdicts.is_correct & verdicts.stays_correct, everyone),
        "effective_accuracy_perturbations_only": (verdicts.stays_correct, everyone),
    }
    parts = []
    for metric in METRICS:
        value, is_asked = values[metric]
        scored = shape.questions.select(
            "image_id", pl.lit(model).alias("model"), pl.Series(metric, 100.0 * value)
        ).filter(pl.Series(is_asked))
        if len(scored):
            parts.append(summarise(scored, metric=metric, resamples=config.resamples, seed=config.seed))
    return pl.concat(parts)
