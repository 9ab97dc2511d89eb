"""Sets of questions that hold their own answers: what their readers share.

A set is told by a :class:`SetShape`: the fields of its records, where they are, and what the answers are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import polars as pl

from shortcut_miner.errors import SourceError
from shortcut_miner.options import OnBadRow
from shortcut_miner.schemas import Questions
from shortcut_miner.sources.images.image_ids import canonical_image_ids
from shortcut_miner.sources.opening.ids import id_problems, with_whole_ids
from shortcut_miner.sources.opening.json_records import Chunk, decode_chunks, paused_gc, record_columns
from shortcut_miner.sources.opening.json_text import Raws
from shortcut_miner.sources.opening.kinds import Content
from shortcut_miner.sources.opening.reading import (
    RECORD,
    Problem,
    Reading,
    find_duplicates,
    find_problems,
    finished,
    is_blank,
)
from shortcut_miner.sources.questions.answer_lists import MOST_FREQUENT, choice_notes, majority

_TEXTS = ("question_id", "image_id", "question", "question_type", "answer_type", "answer", "split")
_COLUMNS: dict[str, Any] = dict.fromkeys(_TEXTS, pl.String) | {
    "answers": pl.List(pl.String),
    "answer_record_key": pl.List(pl.UInt8),
    "is_tie": pl.Boolean,
}
Columns = tuple[dict[str, pl.Series], list[Problem]]


@dataclass(frozen=True, slots=True)
class Records:
    """Undecoded records of a file.

    Attributes
    ----------
    raws : sequence of undecoded records
    names : sequence of str, optional
        The question ids, where they are keys and no fields of the records.
    label : callable
        Names a record by its position.
    problems : list of Problem
        What is wrong with them.
    """

    raws: Raws
    names: Sequence[str] | None = None
    label: Callable[[int], str] = "record {}".format
    problems: list[Problem] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetShape:
    """What a released set looks like.

    Attributes
    ----------
    kind : str
        Its name.
    record : type
        A msgspec Struct whose fields are columns of schemas.Questions, and those that `answers` reads; a
        field of another name in the file has it as its encoded name. Without question_id the image's id is
        the question's.
    records : callable
        Where the records are.
    answers : callable, optional
        Returns columns of decoded records, and problems: answers, answer_record_key, or answer and is_tie.
        Without `answer`, it is the most frequent of answers.
    held_in : str
        The file's field that holds the answers.
    id_field : str
        What its question ids are from, as messages name it.
    rule : str
        How the answer was chosen, for the note; "" if a record has one only.
    may_lack : bool
        Whether a record without an answer is one that nothing is known of, and no fault.
    """

    kind: str
    record: type[msgspec.Struct]
    records: Callable[[Content], Records]
    answers: Callable[[Chunk[Any], Raws], Columns] | None = None
    held_in: str
    id_field: str = "question_id"
    rule: str = MOST_FREQUENT
    may_lack: bool = False

    @property
    def fields(self) -> dict[str, str]:
        """Our columns -> the file's fields."""
        return {one.name: one.encode_name for one in msgspec.structs.fields(self.record)}


def read_set(shape: SetShape, content: Content, on_bad_row: OnBadRow, limit: int | None = None) -> Reading:
    """Return the questions of an opened file of some shape; see :func:`.question_sets.read_question_set`."""
    records = shape.records(content)
    raws = records.raws[:limit]
    texts = [name for name in shape.fields if name in _TEXTS]
    frames, problems = [], [one for one in records.problems if one.records[0] < len(raws)]
    with paused_gc():
        for chunk in decode_chunks(raws, shape.record):
            columns = record_columns(chunk, shape.record, *texts)
            if records.names is not None:
                names = [records.names[position] for position in chunk.positions]
                columns["question_id"] = pl.Series(names, dtype=pl.String)
            answers, found = shape.answers(chunk, raws) if shape.answers else ({}, [])
            frames.append(pl.DataFrame(columns | answers))
            problems += chunk.problems + found
    table = pl.concat(frames)
    if "question_id" not in table.columns:
        table = table.with_columns(question_id="image_id")
    return settled_set(
        shape, content, table, problems, total=len(raws), on_bad_row=on_bad_row, label=records.label
    )


def settled_set(
    shape: SetShape,
    content: Content,
    table: pl.DataFrame,
    problems: Sequence[Problem],
    *,
    total: int,
    on_bad_row: OnBadRow,
    label: Callable[[int], str],
    notes: tuple[str, ...] = (),
) -> Reading:
    """Return decoded records as a schemas.Questions, each with an answer and whole ids that occur once.

    Raises
    ------
    SourceError
        Records that don't fit, or a file without any answer.
    """
    path = content.source.path
    table, id_notes = with_whole_ids(table, "question_id", "image_id")
    if "answer" not in table.columns:
        table = table.with_columns(majority(table["answers"]))
    if len(table) and not table["answer"].count():
        raise SourceError(
            f"{path}: got {shape.kind} without answers (no record has any in {shape.held_in}), expected "
            "them. Give the training or validation questions: test questions are released without."
        )
    problems = [*problems, *_problems_of(shape, table), *_unanswered(shape, table)]
    image_ids, image_notes = canonical_image_ids(table["image_id"])
    missing = [pl.lit(None, kind).alias(name) for name, kind in _COLUMNS.items() if name not in table.columns]
    table = table.with_columns(*missing, image_id=image_ids)
    columns = Questions.column_names()
    reading = finished(
        content.source, shape.kind, table.select(RECORD, *columns, "is_tie"), problems,
        what="questions", total=total, on_bad_row=on_bad_row, label=label,
    )  # fmt: skip
    json_notes = content.json.notes if content.forms[-1] == "JSON" and not content.is_lines else ()
    told = json_notes + notes + id_notes + image_notes + _answer_notes(shape, reading.table)
    return replace(reading, table=reading.table.select(columns), notes=told)


def _problems_of(shape: SetShape, table: pl.DataFrame) -> list[Problem]:
    """Return what is no id, question ids that repeat, and blank questions, under the file's names."""
    question_id, image, question = shape.id_field, shape.fields["image_id"], shape.fields["question"]
    return [
        *(() if question_id == image else id_problems(table, "question_id", question_id)),
        *id_problems(table, "image_id", image),
        *find_duplicates(table, "question_id", question_id),
        *find_problems(table, is_blank("question"), "question", "text that is not blank", question),
    ]


def _unanswered(shape: SetShape, table: pl.DataFrame) -> list[Problem]:
    if shape.may_lack:
        return []
    column = "answers" if "answers" in table.columns else "answer"
    return find_problems(table, pl.col("answer").is_null(), column, "an answer", shape.held_in)


def _answer_notes(shape: SetShape, table: pl.DataFrame) -> tuple[str, ...]:
    counts = {
        f"questions without an answer, as their {shape.held_in} is empty": table["answer"].null_count(),
        "empty answers kept": int((table["answer"] == "").sum()),
    }
    told = tuple(f"{what}: {count:,}" for what, count in counts.items() if count)
    return (choice_notes(table, shape.rule) if shape.rule else ()) + told
