"""How a model's answers change under the swaps of a plan, per question and per swapped class."""

import dataclasses

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.diagnostics.swapmix.config import ScoreConfig
from shortcut_miner.scoring.intervals import summarise

Flags = NDArray[np.bool_]
Counts = NDArray[np.uint32]
CLASS, ATTRIBUTE = 1, 2
NEVER = np.iinfo(np.uint32).max  # no swap's index
NO_SWAP = np.iinfo(np.int32).min  # no model's answer
TYPES = ("structural", "semantic")
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
    is_correct : ndarray of bool
        The original answer is right.
    swaps, flips : ndarray of uint32, 2 x questions
        Class swaps and attribute swaps, and how many of them change the answer.
    flip_k : ndarray of uint32, 2 x questions
        The least index (within its object) of a class swap and of an attribute swap that changes the answer;
        `NEVER` if none does. So with the first k swaps alone it changes if this is at most k.
    fail_k : ndarray of uint32
        The same of a swap under which the answer is not right.
    classes : pl.DataFrame
        from_class, kind, swap_count, flip_count, flip_share, question_count, flipped_question_count: over
        the swaps of originally correct questions.
    """

    is_correct: Flags
    swaps: Counts
    flips: Counts
    flip_k: Counts
    fail_k: Counts
    classes: pl.DataFrame

    def figures(self, k: int = NEVER - 1) -> dict[str, tuple[Flags, Flags]]:
        """Return the metrics with the first k swaps of each kind and object: whose share, and of which.

        Accuracies are over all questions, reliances over those answered correctly without a swap.
        """
        everyone = np.ones(len(self.is_correct), np.bool_)
        of_class, of_attribute = self.flip_k <= k
        stays = self.fail_k > k
        return {
            "accuracy": (self.is_correct, everyone),
            "object_reliance": (of_class, self.is_correct),
            "attribute_reliance": (of_attribute, self.is_correct),
            "context_reliance": (of_class | of_attribute, self.is_correct),
            "effective_accuracy": (self.is_correct & stays, everyone),
            "effective_accuracy_perturbations_only": (stays, everyone),
        }


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
    kinds = [shape.kind == kind for kind in (CLASS, ATTRIBUTE)]
    return Verdicts(
        is_correct=is_correct,
        swaps=np.stack([_count(counts & kind, shape.first) for kind in kinds]),
        flips=np.stack([_count(changes & kind, shape.first) for kind in kinds]),
        flip_k=np.stack([_least(shape.index, changes & kind, shape.first) for kind in kinds]),
        fail_k=_least(shape.index, fails, shape.first),
        classes=_class_flips(shape, question, counts & is_correct[question], changes),
    )


def _count(flags: Flags, first: NDArray[np.int64]) -> Counts:
    """Return how many of each question's rows are true; every question has a row."""
    found: Counts = np.zeros(0, np.uint32)
    return np.add.reduceat(flags, first, dtype=np.uint32) if len(first) else found


def _least(index: Counts, flags: Flags, first: NDArray[np.int64]) -> Counts:
    """Return the least index of each question's true rows, `NEVER` where none is true."""
    chosen: Counts = np.where(flags, index, np.uint32(NEVER))
    return np.minimum.reduceat(chosen, first) if len(first) else chosen


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
    """Return the metrics in percent, with n and 95% intervals by bootstrap over images, also by type.

    See :meth:`Verdicts.figures`; types are the columns of `TYPES` that the questions have.
    """
    types = types_of(shape)
    parts = []
    for metric, (value, is_asked) in verdicts.figures().items():
        scored = shape.questions.select(
            "image_id", *types, pl.lit(model).alias("model"), pl.Series(metric, 100.0 * value)
        ).filter(pl.Series(is_asked))
        if len(scored):
            parts.append(
                summarise(
                    scored, metric=metric, by=types, resamples=config.resamples, seed=config.seed
                ).filter(pl.col("subgroup").is_not_null())
            )
    return pl.concat(parts)


def types_of(shape: PlanShape) -> list[str]:
    """Return the columns that say of which type questions are, where some are known."""
    return [name for name in TYPES if name in shape.questions.columns and shape.questions[name].count()]
