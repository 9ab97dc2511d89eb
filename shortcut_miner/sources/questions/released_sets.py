"""Released sets whose one file holds questions and answers: their records, how they are told, the answer.

Where annotators gave several answers, the most frequent one is a question's answer; of several such ones the
first in the file's order.
"""

from typing import Any

import msgspec
import polars as pl

from shortcut_miner.sources.opening.ids import AnyId
from shortcut_miner.sources.opening.json_records import Chunk, repeated_keys
from shortcut_miner.sources.opening.json_text import (
    LOOKED_AT,
    Raws,
    Top,
    fields_of,
    records_of,
)
from shortcut_miner.sources.opening.kinds import Content, Counts, length_of, with_fields
from shortcut_miner.sources.opening.list_columns import text_lists
from shortcut_miner.sources.opening.reading import Problem, shown_value
from shortcut_miner.sources.opening.repeated_fields import inner_keys_twice
from shortcut_miner.sources.questions.answer_lists import AnswerRecord, record_lists
from shortcut_miner.sources.questions.set_records import Columns, Records, SetShape
from shortcut_miner.sources.questions.vqa_questions import listed_records


def _list(content: Content) -> Records:
    top = content.json.top
    assert isinstance(top, list)
    return Records(top)


def _texts(chunk: Chunk[Any], raws: Raws) -> Columns:
    return {"answers": text_lists([row.answers for row in chunk.records])}, []


# ---- A-OKVQA: a list; the answers are the direct ones, whichever choice is the right one ----


class _Aokvqa(msgspec.Struct, gc=False, rename={"answers": "direct_answers"}):
    question_id: AnyId
    image_id: AnyId
    question: str
    split: str | None = None
    answers: list[str] | None = None


A_OKVQA = SetShape(
    kind="A-OKVQA JSON", record=_Aokvqa, records=_list, answers=_texts, held_in="direct_answers"
)


def is_aokvqa(top: Top) -> bool:
    """Return whether this is A-OKVQA's JSON list; its test questions have no direct_answers."""
    own = ("direct_answers", "difficult_direct_answer")
    return any(with_fields("question_id", "choices", name)(top) for name in own)


# ---- TextVQA: {"data": [...]} ----


class _TextVqa(msgspec.Struct, gc=False, rename={"split": "set_name"}):
    question_id: AnyId
    image_id: AnyId
    question: str
    split: str | None = None
    answers: list[str] | None = None


def is_textvqa(top: Top) -> bool:
    """Return whether this is TextVQA's JSON: a list under `data`."""
    if not isinstance(top, dict) or "data" not in top:
        return False
    return with_fields("question_id", "image_id", "question")(records_of(top["data"]))


def count_textvqa(top: dict[str, msgspec.Raw]) -> Counts:
    """Return how many questions it has."""
    return {"questions": length_of(top["data"])}


def _under_data(content: Content) -> Records:
    return Records(listed_records(content, "data")[0])


TEXTVQA = SetShape(
    kind="TextVQA JSON", record=_TextVqa, records=_under_data, answers=_texts, held_in="answers"
)

# ---- VizWiz: a list without question ids; the image's name is the id, as in VizWiz's own tools ----


class _VizWiz(msgspec.Struct, gc=False, rename={"image_id": "image"}):
    image_id: AnyId
    question: str
    answer_type: str | None = None
    answers: list[AnswerRecord] | None = None


def is_vizwiz(top: Top) -> bool:
    """Return whether this is VizWiz's JSON list; its test questions have nothing but an image."""
    if not isinstance(top, list):
        return False
    first = [fields_of(record) for record in top[:LOOKED_AT]]
    return any(
        one.keys() >= {"image", "question"}
        and "question_id" not in one
        and ("answerable" in one or b"VizWiz" in bytes(one["image"]))
        for one in first
    )


VIZWIZ = SetShape(
    kind="VizWiz JSON", record=_VizWiz, records=_list, answers=record_lists,
    held_in="answers", id_field="image",
)  # fmt: skip

# ---- VQA-X: {question_id: {...}} ----


class _VqaX(msgspec.Struct, gc=False):
    image_id: AnyId
    question: str
    question_type: str | None = None
    answer_type: str | None = None
    answers: list[AnswerRecord] | None = None


def is_vqa_x(top: Top) -> bool:
    """Return whether this is VQA-X's JSON object."""
    first = list(top.values())[:LOOKED_AT] if isinstance(top, dict) else []
    return any(fields_of(record).keys() >= {"question", "image_id", "answers"} for record in first)


def _by_id(content: Content) -> Records:
    top, text = content.json.top, content.source.content
    assert isinstance(top, dict)
    names = list(top)
    repeated = repeated_keys(text, names, text.count(b'"question"'), "question id")
    return Records(list(top.values()), names, lambda record: f"question {names[record]!r}", repeated)


VQA_X = SetShape(
    kind="VQA-X JSON", record=_VqaX, records=_by_id, answers=record_lists,
    held_in="answers", id_field="question id",
)  # fmt: skip

# ---- LXMERT: a list; the answer is the heaviest label ----


class _Lxmert(msgspec.Struct, gc=False, rename={"image_id": "img_id", "question": "sent"}):
    question_id: AnyId
    image_id: AnyId
    question: str
    question_type: str | None = None
    answer_type: str | None = None
    label: dict[str, float] | None = None


is_lxmert = with_fields("question_id", "img_id", "sent")


def _labels(chunk: Chunk[Any], raws: Raws) -> Columns:
    """Return the heaviest label of each record, and all that weigh anything; no label: nothing is known."""
    labels: list[dict[str, float]] = [row.label or {} for row in chunk.records]
    weights = [[*one.values()] for one in labels]
    heaviest = [max(one, default=0.0) for one in weights]
    listed = [
        [text for text, weight in one.items() if weight > 0] or None if top > 0 else None
        for one, top in zip(labels, heaviest, strict=True)
    ]
    chosen = [
        next(text for text, weight in one.items() if weight == top) if top > 0 else None
        for one, top in zip(labels, heaviest, strict=True)
    ]
    ties = [top > 0 and one.count(top) > 1 for one, top in zip(weights, heaviest, strict=True)]
    problems = [
        Problem((position,), "label", shown_value(label), "weights of at least 0")
        for position, label, one in zip(chunk.positions, labels, weights, strict=True)
        if min(one, default=0.0) < 0
    ]
    problems += inner_keys_twice(raws, chunk.positions, labels, "label")
    columns = {
        "answer": pl.Series(chosen, dtype=pl.String),
        "answers": text_lists(listed),
        "is_tie": pl.Series(ties, dtype=pl.Boolean),
    }
    return columns, problems


LXMERT = SetShape(
    kind="LXMERT questions JSON", record=_Lxmert, records=_list, answers=_labels,
    held_in="label", rule="the label of most weight", may_lack=True,
)  # fmt: skip

# ---- POPE: JSON Lines, whose ids start at 1 in each file ----


class _Pope(msgspec.Struct, gc=False, rename={"image_id": "image", "question": "text", "answer": "label"}):
    question_id: AnyId
    image_id: AnyId
    question: str
    answer: str


def is_pope(lines: list[tuple[int, bytes]]) -> bool:
    """Return whether lines are POPE's questions."""
    needed = {"question_id", "image", "text", "label"}
    return any(fields_of(line).keys() >= needed for _, line in lines[:LOOKED_AT])


def _lines(content: Content) -> Records:
    lines = content.lines
    return Records([line for _, line in lines], label=lambda record: f"line {lines[record][0]}")


POPE = SetShape(kind="POPE questions JSONL", record=_Pope, records=_lines, held_in="label", rule="")
