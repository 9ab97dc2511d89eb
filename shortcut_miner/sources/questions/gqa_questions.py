"""GQA questions JSON, one file: {id: {question, imageId, answer, types, annotations}}."""

from collections.abc import Callable, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
import polars as pl

from shortcut_miner.options import OnBadRow
from shortcut_miner.sources.images.image_ids import canonical_image_ids
from shortcut_miner.sources.opening.ids import AnyId, id_problems, with_whole_ids
from shortcut_miner.sources.opening.json_records import (
    Chunk,
    decode_chunks,
    paused_gc,
    record_columns,
    repeated_keys,
)
from shortcut_miner.sources.opening.json_text import Top, fields_of
from shortcut_miner.sources.opening.kinds import Content
from shortcut_miner.sources.opening.list_columns import list_column
from shortcut_miner.sources.opening.reading import RECORD, Reading, find_problems, finished, is_blank

GQA_QUESTIONS = "GQA questions JSON"
COLUMNS = (
    "question_id", "image_id", "question", "question_type", "answer_type", "answer", "answers",
    "answer_record_key", "split", "structural", "semantic", "detailed", "full_answer", "relevant_question",
    "relevant_answer", "relevant_full_answer",
)  # fmt: skip
GROUP_COLUMNS = ("group_global", "group_local", "is_balanced")


class _Annotations(msgspec.Struct, gc=False):
    question: dict[str, str] | None = None
    answer: dict[str, str] | None = None
    fullAnswer: dict[str, str] | None = None  # noqa: N815  # the file's name


class _Types(msgspec.Struct, gc=False):
    structural: str | None = None
    semantic: str | None = None
    detailed: str | None = None


class _Question(msgspec.Struct, gc=False):
    imageId: AnyId  # noqa: N815
    question: str
    answer: str | None = None
    fullAnswer: str | None = None  # noqa: N815
    annotations: _Annotations | None = None
    types: _Types | None = None


class _Groups(msgspec.Struct, gc=False, rename={"global_": "global"}):
    global_: str | None = None
    local: str | None = None


class _GroupedQuestion(_Question, gc=False, kw_only=True):
    groups: _Groups
    answer: str
    isBalanced: bool | None = None  # noqa: N815


_NO_ANNOTATIONS, _NO_TYPES = _Annotations(), _Types()
_NO_IDS: dict[str, str] = {}


def is_gqa_questions(top: Top) -> bool:
    """Return whether this is a GQA questions JSON."""
    first = next(iter(top.values()), None) if isinstance(top, dict) else None
    return first is not None and fields_of(first).keys() >= {"question", "imageId"}


def read_questions(content: Content, on_bad_row: OnBadRow, limit: int | None = None) -> Reading:
    """Return the questions of an opened file; see :func:`.gqa.read_gqa_questions`."""
    return _read(content, on_bad_row, limit, _Question, _table, COLUMNS)


def read_grouped_questions(content: Content, on_bad_row: OnBadRow, limit: int | None = None) -> Reading:
    """Return the same with each question's groups, and whether GQA's balanced set has it (null: not said).

    A question without an answer, or without the object that names its groups, is a bad row.
    """
    return _read(content, on_bad_row, limit, _GroupedQuestion, _grouped_table, (*COLUMNS, *GROUP_COLUMNS))


def _read(
    content: Content,
    on_bad_row: OnBadRow,
    limit: int | None,
    record_type: type[_Question],
    table_of: Callable[[Chunk[Any], Sequence[str]], pl.DataFrame],
    columns: Sequence[str],
) -> Reading:
    source, top = content.source, content.json.top
    assert isinstance(top, dict)
    # Every question has this key.
    repeated = repeated_keys(source.content, list(top), source.content.count(b'"imageId"'), "question id")
    names, raws = list(top)[:limit], list(top.values())[:limit]
    frames, problems = [], [one for one in repeated if one.records[0] < len(names)]
    with paused_gc():
        for chunk in decode_chunks(raws, record_type):
            frames.append(table_of(chunk, names))
            problems += chunk.problems
    table = pl.concat(frames)
    table, id_notes = with_whole_ids(table, "question_id")
    problems += id_problems(table, "question_id", "question id")
    ids, notes = canonical_image_ids(table["image_id"])
    table = table.with_columns(image_id=ids)
    problems += id_problems(table, "image_id", "imageId")
    problems += find_problems(table, is_blank("question"), "question", "text that is not blank")
    return finished(
        source, GQA_QUESTIONS, table.select(RECORD, *columns), problems,
        what="questions", total=len(names), on_bad_row=on_bad_row,
        label=lambda record: f"question {names[record]!r}", notes=content.json.notes + id_notes + notes,
    )  # fmt: skip


def _table(chunk: Chunk[Any], names: Sequence[str]) -> pl.DataFrame:
    types = [one or _NO_TYPES for one in map(attrgetter("types"), chunk.records)]
    maps = [one or _NO_ANNOTATIONS for one in map(attrgetter("annotations"), chunk.records)]
    columns = record_columns(chunk, _Question, "imageId", "question", "answer", "fullAnswer") | {
        "question_id": _texts([names[position] for position in chunk.positions]),
        "structural": _texts([*map(attrgetter("structural"), types)]),
        "semantic": _texts([*map(attrgetter("semantic"), types)]),
        "detailed": _texts([*map(attrgetter("detailed"), types)]),
        "relevant_question": _ids_column([*map(attrgetter("question"), maps)]),
        "relevant_answer": _ids_column([*map(attrgetter("answer"), maps)]),
        "relevant_full_answer": _ids_column([*map(attrgetter("fullAnswer"), maps)]),
    }
    table = pl.DataFrame(columns).rename({"imageId": "image_id", "fullAnswer": "full_answer"})
    return table.with_columns(
        question_type="structural",
        answer_type=pl.lit(None, pl.String),
        answers=pl.lit(None, pl.List(pl.String)),
        answer_record_key=pl.lit(None, pl.List(pl.UInt8)),
        split=pl.lit(None, pl.String),
    )


def _grouped_table(chunk: Chunk[_GroupedQuestion], names: Sequence[str]) -> pl.DataFrame:
    groups = [*map(attrgetter("groups"), chunk.records)]
    return _table(chunk, names).with_columns(
        group_global=_texts([*map(attrgetter("global_"), groups)]),
        group_local=_texts([*map(attrgetter("local"), groups)]),
        is_balanced=pl.Series([*map(attrgetter("isBalanced"), chunk.records)], dtype=pl.Boolean),
    )


def _texts(values: Sequence[str | None]) -> pl.Series:
    return pl.Series(values, dtype=pl.String)


def _ids_column(maps: Sequence[dict[str, str] | None]) -> pl.Series:
    """Return the object ids of each map as List[String]; null where there is no map."""
    given = [_NO_IDS if one is None else one for one in maps]
    flat = pl.Series([*chain.from_iterable(map(dict.values, given))], dtype=pl.String)
    lengths = np.fromiter(map(len, given), np.int64, len(given))
    return list_column(flat, lengths, [one is None for one in maps] if None in maps else None)
