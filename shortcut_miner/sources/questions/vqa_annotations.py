"""VQA annotations JSON: majority answer, every annotator's answer, question and answer type.

VQA v1/v2, and what is released in their shape: VQA-CP (a bare list of the same records), OK-VQA and TDIUC
(without the majority answer: the most frequent one is taken, of several the one given first).
"""

from collections.abc import Sequence, Set
from dataclasses import replace

import msgspec
import polars as pl
import pyarrow as pa
from msgspec import UNSET, UnsetType

from shortcut_miner.columnar import arrow_series
from shortcut_miner.options import OnBadRow
from shortcut_miner.sources.images.coco import COCO_KEYS
from shortcut_miner.sources.images.image_ids import canonical_image_ids
from shortcut_miner.sources.opening.arrow_records import arrow_chunks, arrow_columns
from shortcut_miner.sources.opening.files import Source
from shortcut_miner.sources.opening.ids import AnyId, Rising, with_whole_ids
from shortcut_miner.sources.opening.json_records import decode_chunks, paused_gc, record_columns
from shortcut_miner.sources.opening.json_text import LOOKED_AT, Raws, Top, fields_of, first_records
from shortcut_miner.sources.opening.kinds import Content, Counts, Format, alike_records
from shortcut_miner.sources.opening.reading import RECORD, Problem, Reading, find_problems, finished
from shortcut_miner.sources.questions.answer_lists import (
    MOST_FREQUENT,
    AnswerRecord,
    arrow_lists,
    choice_notes,
    majority,
    record_lists,
)
from shortcut_miner.sources.questions.vqa_questions import count_records, listed_records, repeated_or_no_ids

ANNOTATIONS = "VQA annotations JSON"
_TEXTS = ("question_id", "image_id", "question_type", "answer_type")
_MAJORITY = "multiple_choice_answer"


class _Annotation(msgspec.Struct, gc=False):
    question_id: AnyId
    image_id: AnyId
    multiple_choice_answer: str | UnsetType = UNSET
    question_type: str | None = None
    answer_type: str | None = None
    answers: list[AnswerRecord] | None = None


class _PlainAnswer(msgspec.Struct, gc=False):
    answer: str
    answer_id: Rising


class _PlainAnnotation(_Annotation, gc=False):
    answers: list[_PlainAnswer] | None = None  # type: ignore[assignment]


def is_vqa_annotations(top: Top) -> bool:
    """Return whether this is a VQA annotations JSON, not one of COCO's, or a bare list of annotations."""
    if isinstance(top, dict):
        return "annotations" in top and not COCO_KEYS & top.keys() and not _are_answers(top["annotations"])
    return any(_is_annotation(fields_of(record).keys()) for record in top[:LOOKED_AT])


def _are_answers(listed: msgspec.Raw) -> bool:
    """Return whether the records of a list are a model's answers: nothing of an annotation but the id."""
    records = [fields_of(record).keys() for record in first_records(listed)]
    return any(fields >= {"question_id", "answer"} for fields in records) and not any(
        fields & {_MAJORITY, "answers", "image_id"} for fields in records
    )


def _is_annotation(fields: Set[str]) -> bool:
    is_answered = fields & {_MAJORITY, "answers"}
    return bool(is_answered) and fields >= {"question_id", "image_id"} and "question" not in fields


def count_annotations(top: Top) -> Counts:
    """Return how many annotations it has."""
    return count_records(top, "annotations")


def read_annotations(content: Content, on_bad_row: OnBadRow) -> Reading:
    """Return the annotations of an opened file; see :func:`.vqa.read_vqa_annotations`."""
    raws, notes = listed_records(content, "annotations")
    return _reading(content.source, *_decode(raws), len(raws), on_bad_row, notes)


def read_plain(content: Content, formats: Sequence[Format], on_bad_row: OnBadRow) -> Reading | None:
    """Return all annotations of a large file that nothing is odd about; None of any other file."""
    records = alike_records(content, _PlainAnnotation, "annotations", ANNOTATIONS, formats)
    if records is None:
        return None
    table = records.with_row_index(RECORD).select(
        RECORD,
        *_TEXTS,
        pl.col(_MAJORITY).alias("answer"),
        pl.col("answers.answer").alias("answers"),
        pl.lit(None, pl.List(pl.UInt8)).alias("answer_record_key"),
    )
    return _reading(content.source, table, [], len(records), on_bad_row)


def _reading(
    source: Source,
    table: pl.DataFrame,
    problems: list[Problem],
    total: int,
    on_bad_row: OnBadRow,
    notes: tuple[str, ...] = (),
) -> Reading:
    table, id_notes = with_whole_ids(table, "question_id", "image_id")
    problems += repeated_or_no_ids(table)
    table, answer_problems = _with_majority(table)
    image_ids, image_notes = canonical_image_ids(table["image_id"])
    reading = finished(
        source, ANNOTATIONS, table.with_columns(image_id=image_ids), problems + answer_problems,
        what="annotations", total=total, on_bad_row=on_bad_row,
    )  # fmt: skip
    notes += id_notes + image_notes + _answer_notes(reading.table)
    if "is_tie" not in reading.table.columns:
        return replace(reading, notes=notes)
    notes += choice_notes(reading.table, MOST_FREQUENT)
    return replace(reading, table=reading.table.drop("is_tie"), notes=notes)


def _decode(raws: Raws) -> tuple[pl.DataFrame, list[Problem]]:
    frames, problems = [], []
    with paused_gc():
        for first, some, table in arrow_chunks(raws, _Annotation):
            if table is not None and (columns := _arrow_columns(first, table)):
                frames.append(pl.DataFrame(columns))
                continue
            for chunk in decode_chunks(some, _Annotation, first):
                listed, key_problems = record_lists(chunk, raws)
                named = [row.multiple_choice_answer for row in chunk.records]
                answers = pl.Series([None if one is UNSET else one for one in named], dtype=pl.String)
                columns = record_columns(chunk, _Annotation, *_TEXTS) | {"answer": answers} | listed
                frames.append(pl.DataFrame(columns))
                problems += chunk.problems + key_problems
    return pl.concat(frames), problems


def _arrow_columns(first: int, table: pa.Table) -> dict[str, pl.Series]:
    """Return the columns of annotations that are Arrow already; {} if answer records need to be compared."""
    listed = arrow_lists(table["answers"])
    if not listed:
        return {}
    is_named = _MAJORITY in table.column_names
    answers = (
        arrow_series(table[_MAJORITY])
        if is_named
        else pl.repeat(None, table.num_rows, dtype=pl.String, eager=True)
    )
    return arrow_columns(first, table, _Annotation, *_TEXTS) | {"answer": answers} | listed


def _with_majority(table: pl.DataFrame) -> tuple[pl.DataFrame, list[Problem]]:
    """Return the table with a majority answer in each row, and what has none; `is_tie` if they were counted.

    A set whose records all lack the field (OK-VQA, TDIUC) never had it; elsewhere it was lost.
    """
    if table["answer"].count():
        is_lost = pl.col("answer").is_null()
        lost = table.lazy().filter(is_lost).select(RECORD).collect()[RECORD]
        return table, [Problem((one,), _MAJORITY, "no such field", "text") for one in lost]
    table = table.with_columns(majority(table["answers"]))
    expected = f"at least one answer, or {_MAJORITY}"
    return table, find_problems(table, pl.col("answer").is_null(), "answers", expected)


def _answer_notes(table: pl.DataFrame) -> tuple[str, ...]:
    counts = {
        "empty majority answers kept": int((table["answer"] == "").sum()),
        "annotations without a list of answers": table["answers"].null_count(),
    }
    return tuple(f"{what}: {count:,}" for what, count in counts.items() if count)
