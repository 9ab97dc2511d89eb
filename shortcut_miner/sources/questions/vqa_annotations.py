"""VQA v1/v2 annotations JSON: majority answer, every annotator's answer, question and answer type."""

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.options import OnBadRow
from shortcut_miner.sources.images.coco import COCO_KEYS
from shortcut_miner.sources.images.image_ids import canonical_image_ids
from shortcut_miner.sources.opening.ids import AnyId, with_whole_ids
from shortcut_miner.sources.opening.json_records import (
    Chunk,
    decode_chunks,
    decoding_problem,
    paused_gc,
    record_columns,
)
from shortcut_miner.sources.opening.json_text import DECODE_ERRORS, Raws, Top
from shortcut_miner.sources.opening.kinds import Content, Counts, length_of
from shortcut_miner.sources.opening.nested import MAX_RECORD_KINDS, NoListError, numbered_records
from shortcut_miner.sources.opening.reading import Problem, Reading, finished
from shortcut_miner.sources.questions.vqa_questions import repeated_or_no_ids, vqa_records

ANNOTATIONS = "VQA annotations JSON"
_TEXTS = ("question_id", "image_id", "question_type", "answer_type", "multiple_choice_answer")


class _Answer(msgspec.Struct, gc=False):
    answer: str
    answer_id: int | str | float | None = None


class _Annotation(msgspec.Struct, gc=False):
    question_id: AnyId
    image_id: AnyId
    multiple_choice_answer: str
    question_type: str | None = None
    answer_type: str | None = None
    answers: list[_Answer] | None = None


def is_vqa_annotations(top: Top) -> bool:
    """Return whether this is a VQA annotations JSON, not one of COCO's."""
    return isinstance(top, dict) and "annotations" in top and not COCO_KEYS & top.keys()


def count_annotations(top: dict[str, msgspec.Raw]) -> Counts:
    """Return how many annotations it has."""
    return {"annotations": length_of(top["annotations"])}


def read_annotations(content: Content, on_bad_row: OnBadRow) -> Reading:
    """Return the annotations of an opened file; see :func:`.vqa.read_vqa_annotations`."""
    raws, notes = vqa_records(content, "annotations")
    table, problems = _decode(raws)
    table, id_notes = with_whole_ids(table, "question_id", "image_id")
    problems += repeated_or_no_ids(table)
    image_ids, image_notes = canonical_image_ids(table["image_id"])
    reading = finished(
        content.source, ANNOTATIONS, table.with_columns(image_id=image_ids), problems,
        what="annotations", total=len(raws), on_bad_row=on_bad_row,
    )  # fmt: skip
    return replace(reading, notes=notes + id_notes + image_notes + _answer_notes(reading.table))


def _decode(raws: Raws) -> tuple[pl.DataFrame, list[Problem]]:
    frames, problems = [], []
    with paused_gc():
        for chunk in decode_chunks(raws, _Annotation):
            rows = chunk.records
            lists = [row.answers or [] for row in rows]
            offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
            flat = [one.answer for one_list in lists for one in one_list]
            keys, key_problems = _answer_record_keys(chunk, raws, lists, offsets)
            texts = record_columns(chunk, _Annotation, *_TEXTS)
            lists_of_all = {"answers": _answers_column(rows, flat), "answer_record_key": keys}
            frames.append(pl.DataFrame(texts | lists_of_all).rename({_TEXTS[-1]: "answer"}))
            problems += chunk.problems + key_problems
    return pl.concat(frames), problems


def _answers_column(rows: Sequence[_Annotation], flat: list[str]) -> pl.Series:
    """Return List[String]; from the flat list where all have as many answers: four times faster."""
    given = [row.answers for row in rows]
    lists = [one_list for one_list in given if one_list is not None]
    widths = set(map(len, lists))
    if len(lists) == len(given) and len(widths) == 1 and flat:
        return pl.Series(flat, dtype=pl.String).reshape((len(rows), widths.pop())).arr.to_list()
    nested = [None if one_list is None else [one.answer for one in one_list] for one_list in given]
    return pl.Series(nested, dtype=pl.List(pl.String))


def _answer_record_keys(
    chunk: Chunk[_Annotation], raws: Raws, lists: Sequence[list[_Answer]], offsets: NDArray[np.int64]
) -> tuple[pl.Series, list[Problem]]:
    """Return each question's answer records numbered by their fields but `answer`; null if all differ.

    The official metric takes two records for the same annotator's if they are equal as a whole.
    """
    keys: list[list[int] | None] = [None] * len(lists)
    problems = []
    for row in _rows_to_number(lists, offsets):
        position = chunk.positions[row]
        try:
            keys[row] = numbered_records(msgspec.json.decode(raws[position])["answers"])
        except DECODE_ERRORS as error:  # in a field that only this key reads
            problems.append(decoding_problem(position, "answers", raws[position], error))
        except NoListError as error:
            problems.append(Problem((position,), "answers", str(error), f"at most {MAX_RECORD_KINDS} kinds"))
    return pl.Series(keys, dtype=pl.List(pl.UInt8)), problems


def _rows_to_number(lists: Sequence[list[_Answer]], offsets: NDArray[np.int64]) -> list[int]:
    """Return the rows whose answer ids are missing or repeat; ids that rise are seen to differ at once."""
    flat = [one.answer_id for one_list in lists for one in one_list]
    try:
        is_rising = np.diff(np.array(flat, dtype=np.int64)) > 0
        is_rising[offsets[1:-1][(offsets[1:-1] > 0) & (offsets[1:-1] < len(flat))] - 1] = True
        doubtful = np.unique(np.searchsorted(offsets, np.flatnonzero(~is_rising), side="right") - 1).tolist()
    except (TypeError, ValueError, OverflowError):  # an id is missing, text, or larger than int64
        doubtful = range(len(lists))
    return [row for row in doubtful if not _differ([one.answer_id for one in lists[row]])]


def _differ(ids: list[int | str | float | None]) -> bool:
    distinct = set(ids)
    return len(distinct) == len(ids) and None not in distinct


def _answer_notes(table: pl.DataFrame) -> tuple[str, ...]:
    counts = {
        "empty majority answers kept": int((table["answer"] == "").sum()),
        "annotations without a list of answers": table["answers"].null_count(),
    }
    return tuple(f"{what}: {count:,}" for what, count in counts.items() if count)
