"""What batches of questions add up to: what is counted and said of both splits as if all were in memory."""

import contextlib
import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig
from shortcut_miner.diagnostics.vqa_ce.inputs import QUESTION_KEYS, no_answers_text, shared_text
from shortcut_miner.diagnostics.vqa_ce.questions import has_known_objects
from shortcut_miner.sources.images.image_ids import Lost
from shortcut_miner.spools import Append, distinct_rows, key_buckets

SIDES = ("train", "val")
_VALUE, _SIDE, _IS_USED = "value", "side", "is used"
_EMPTY = pl.Series([], dtype=pl.String)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ToTally:
    """What is to be counted.

    Attributes
    ----------
    columns : mapping of str to str
        Column whose distinct values are counted -> what it holds, such as "images".
    may_share : bool
        Whether both sides may have the same question.
    labelled : pl.Series or None
        The images of a file of detections.
    config : VqaCeConfig
        Options.
    """

    columns: Mapping[str, str]
    may_share: bool
    labelled: pl.Series | None
    config: VqaCeConfig


@dataclasses.dataclass(frozen=True, slots=True)
class Distinct:
    """Distinct values of a column.

    Attributes
    ----------
    used, found : mapping of str to int
        Of each side's questions; of these and those that a limit left out.
    shared : int
        In questions of both sides.
    """

    used: Mapping[str, int]
    found: Mapping[str, int]
    shared: int


class QuestionTallies:
    """Adds up batches of questions of both sides.

    Attributes
    ----------
    rows, found : Counter of str
        Questions that are used; these and those that a limit left out.
    without_detections : Counter of str
        Questions whose objects are not known.
    lost : dict of str to Lost
        Questions whose image the detections lack.
    """

    def __init__(self, folder: Path, asked: ToTally, stack: contextlib.ExitStack, memory: int) -> None:
        self.rows: Counter[str] = Counter()
        self.found: Counter[str] = Counter()
        self.without_detections: Counter[str] = Counter()
        self.lost = {side: Lost(0, 0, _EMPTY) for side in SIDES}
        self._folder, self._asked = folder, asked
        self._answers = dict.fromkeys(SIDES, _EMPTY)
        self._have_answer_in_common = False
        self._values: dict[str, Append] = {}
        memory //= len(asked.columns) + 1
        for column in asked.columns:
            place = key_buckets(self._of(column), _VALUE, memory=memory, is_distinct=True)
            self._values[column] = stack.enter_context(place)
        if asked.may_share:
            place = key_buckets(self._of(_SIDE), QUESTION_KEYS[0], memory=memory)
            self._questions = stack.enter_context(place)

    def add(self, side: str, rows: pl.DataFrame, left_out: pl.DataFrame) -> None:
        """Add questions of a side, and those that a limit leaves out."""
        self.rows[side] += len(rows)
        self.found[side] += len(rows) + len(left_out)
        for column, append in self._values.items():
            for is_used, values in ((True, rows[column]), (False, left_out[column])):
                distinct = pl.DataFrame({_VALUE: values.unique()})
                append(distinct.with_columns(pl.lit(side).alias(_SIDE), pl.lit(is_used).alias(_IS_USED)))
        if rows.is_empty():
            return
        if self._asked.may_share:
            self._questions(rows.select(*QUESTION_KEYS, pl.lit(side).alias(_SIDE)))
        is_known = has_known_objects(rows, self._asked.labelled, self._asked.config)
        if is_known is not None:
            self.without_detections[side] += int((~is_known).sum())
        if self._asked.labelled is not None:
            self.lost[side] += Lost.of(rows["image_id"], self._asked.labelled)
        self._add_answers(side, rows)

    def _add_answers(self, side: str, rows: pl.DataFrame) -> None:
        if self._have_answer_in_common:
            return
        new = pl.concat([rows["answer"], rows["answers"].explode(empty_as_null=False)]).drop_nulls()
        self._answers[side] = pl.concat([self._answers[side], new]).unique()
        ours, theirs = self._answers.values()
        self._have_answer_in_common = bool(theirs.is_in(ours.implode()).any())

    # ---- once all are added, and the files are closed ----

    def distinct(self, column: str) -> Distinct:
        """Return how many distinct values a column has."""
        used: Counter[str] = Counter()
        found: Counter[str] = Counter()
        shared = 0
        for values in distinct_rows(self._of(column)):
            found.update(values.select(_VALUE, _SIDE).unique()[_SIDE].to_list())
            of_used = values.filter(_IS_USED)
            used.update(of_used[_SIDE].to_list())
            shared += len(of_used) - of_used[_VALUE].n_unique()
        return Distinct(used, found, shared)

    def warnings(self) -> Iterator[str | None]:
        """Give what may be wrong with the questions of both sides."""
        yield shared_text(self._shared_questions(), self.rows["val"])
        ours, theirs = self._answers.values()
        yield None if self._have_answer_in_common else no_answers_text(ours, theirs)

    def _shared_questions(self) -> int:
        """Return how many validation questions are training questions too."""
        if not self._asked.may_share:
            return 0
        shared = 0
        for rows in distinct_rows(self._of(_SIDE)):
            train, val = (rows.filter(pl.col(_SIDE) == side) for side in SIDES)
            shared += len(val.join(train, on=QUESTION_KEYS, how="semi"))
        return shared

    def _of(self, name: str) -> Path:
        return self._folder / f"tally-{name}"
