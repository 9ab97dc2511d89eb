"""Questions ready for the method: rows to mine, and questions that are encoded block by block."""

import dataclasses
from collections.abc import Iterator

import numpy as np
import polars as pl

from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig
from shortcut_miner.diagnostics.vqa_ce.questions import cluster_column, has_known_objects
from shortcut_miner.encoding import (
    accepted_classes,
    encode_rows,
    encode_training,
    keep_top_answers,
)
from shortcut_miner.errors import SourceError
from shortcut_miner.frame_blocks import Frames, HeldFrames
from shortcut_miner.item_lists import ImageObjects, numbers_of
from shortcut_miner.mining.evidence.verdicts import is_held_out
from shortcut_miner.mining.matches import Accepted
from shortcut_miner.row_files import RowFiles
from shortcut_miner.transactions import GroupedRows, Transactions, Vocabulary


@dataclasses.dataclass(frozen=True, slots=True)
class QuestionBlock:
    """Some questions, and their rows in the vocabulary of the training rows.

    Attributes
    ----------
    questions : pl.DataFrame
        As :func:`shortcut_miner.diagnostics.vqa_ce.inputs.read_inputs` gives them.
    rows : Transactions
        A row a question.
    accepted : Accepted
        All annotators' answers.
    has_objects : Boolean per question, or None
        Whether its objects are known; None if objects are no items.
    """

    questions: pl.DataFrame
    rows: Transactions
    accepted: Accepted
    has_objects: pl.Series | None


@dataclasses.dataclass(frozen=True, slots=True)
class EncodedQuestions:
    """Questions that were not mined; a block of them is encoded when it is asked for."""

    questions: Frames
    images: ImageObjects | None
    vocabulary: Vocabulary
    config: VqaCeConfig

    def __len__(self) -> int:
        """Return the number of questions."""
        return len(self.questions)

    def blocks(self) -> Iterator[QuestionBlock]:
        """Give the questions in order, one block at least; again from the start at each call."""
        return map(self._encoded, self.questions.blocks())

    def whole(self) -> QuestionBlock:
        """Return all questions as one block."""
        return self._encoded(pl.concat(self.questions.blocks()))

    def _encoded(self, questions: pl.DataFrame) -> QuestionBlock:
        rows = encode_rows(questions, self.images, self.vocabulary, tokenizer=self.config.tokenizer)
        labelled = None if self.images is None else self.images.images.categories
        return QuestionBlock(
            questions,
            rows,
            Accepted(*accepted_classes(questions, self.vocabulary)),
            has_known_objects(questions, labelled, self.config),
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The questions of both splits, as the method takes them.

    Attributes
    ----------
    training : GroupedRows or RowFiles
        Encoded rows with one of the top answers, in memory or in files, grouped by question type.
    validation : EncodedQuestions
        Those to split.
    holdout : EncodedQuestions or None
        In holdout mode, the training questions that are not mined.
    """

    training: GroupedRows | RowFiles
    validation: EncodedQuestions
    holdout: EncodedQuestions | None = None

    @property
    def mined_rows(self) -> Transactions | RowFiles:
        """The training rows without their groups."""
        return self.training.rows if isinstance(self.training, GroupedRows) else self.training


def prepare_frames(
    train: pl.DataFrame, val: pl.DataFrame, labels: pl.DataFrame | None, config: VqaCeConfig
) -> Prepared:
    """Return questions that are in memory, ready for the method.

    Parameters
    ----------
    train, val : pl.DataFrame
        schemas.Questions, perhaps with labels and attributes (see :mod:`shortcut_miner.encoding`) and group,
        which stands for the image in holdout mode; the order of `train` decides ties at the top-answers cut.
    labels : pl.DataFrame or None
        schemas.Labels of both; None only with ``config.items = "words"`` or where questions have their own.
    config : VqaCeConfig
        Options.

    Raises
    ------
    SourceError
        No training row is left.
    """
    held_out = is_held_out(train[cluster_column(train)], config.seed) if config.holdout else None
    images = image_objects(labels, config)
    training = _encode_training(train if held_out is None else train.filter(~held_out), images, config)

    def encoded(questions: pl.DataFrame) -> EncodedQuestions:
        return EncodedQuestions(HeldFrames([questions]), images, training.vocabulary, config)

    return Prepared(
        training=training,
        validation=encoded(val),
        holdout=None if held_out is None else encoded(train.filter(held_out)),
    )


def image_objects(labels: pl.DataFrame | None, config: VqaCeConfig) -> ImageObjects | None:
    """Return the objects of each image with labels; None if there are none, or if objects are no items."""
    if labels is None or config.items == "words":
        return None
    return ImageObjects(labels, config.score_threshold)


def _encode_training(train: pl.DataFrame, images: ImageObjects | None, config: VqaCeConfig) -> GroupedRows:
    """Return the rows with one of the top answers, grouped by question type."""
    kept = keep_top_answers(train, config.top_answers, config.answer_ties)
    if kept.is_empty():
        raise no_answers(len(train))
    training = encode_training(
        kept,
        images,
        items=config.items or "both",
        tokenizer=config.tokenizer,
    )
    if "question_type" not in kept.columns:
        return GroupedRows(training, np.full(len(kept), -1, np.int32))
    types = kept["question_type"]
    return GroupedRows(training, numbers_of(types, types.drop_nulls().unique().sort()))


def no_answers(rows: int) -> SourceError:
    """Return the error about so many training questions, none of which has an answer."""
    return SourceError(
        f"training questions: got {rows:,} rows, none with an answer, expected some to mine from. "
        "Check the training files."
    )
