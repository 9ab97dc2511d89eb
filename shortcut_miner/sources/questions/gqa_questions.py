"""GQA questions JSON, one file: {id: {question, imageId, answer, types, annotations}}."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
import polars as pl

from shortcut_miner.options import OnBadRow
from shortcut_miner.sources.images.image_ids import canonical_image_ids
from shortcut_miner.sources.opening import json_text
from shortcut_miner.sources.opening.files import Source
from shortcut_miner.sources.opening.ids import AnyId, id_problems, with_whole_ids
from shortcut_miner.sources.opening.json_records import (
    Chunk,
    decode_chunks,
    paused_gc,
    record_columns,
    repeated_keys,
)
from shortcut_miner.sources.opening.json_text import OddError, Top, fields_of
from shortcut_miner.sources.opening.kinds import Content
from shortcut_miner.sources.opening.list_columns import list_column
from shortcut_miner.sources.opening.reading import RECORD, Problem, Reading, find_problems, finished, is_blank

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


# Our columns -> the file's fields.
_TEXTS = {
    "question_id": "", "image_id": "imageId", "question": "question", "answer": "answer",
    "full_answer": "fullAnswer", "structural": "types.structural", "semantic": "types.semantic",
    "detailed": "types.detailed",
}  # fmt: skip
_MAPS = {
    "relevant_question": "question",
    "relevant_answer": "answer",
    "relevant_full_answer": "fullAnswer",
}


class _Step(msgspec.Struct, gc=False):
    argument: str


class _QuestionWithProgram(_Question, gc=False):
    semantic: list[_Step] | None = None


class _Groups(msgspec.Struct, gc=False, rename={"global_": "global"}):
    global_: str | None = None
    local: str | None = None


class _GroupedQuestion(_Question, gc=False, kw_only=True):
    groups: _Groups
    answer: str
    isBalanced: bool | None = None  # noqa: N815


_NO_ANNOTATIONS, _NO_TYPES = _Annotations(), _Types()
_NO_IDS: dict[str, str] = {}
# At the end of an argument, such as "snow (823324)"; "cat (-)" names none, and "not(brown)" is a value.
_OBJECTS = re.compile(r"\s\(([^()]+)\)$")
_NO_OBJECT = "-"
PROGRAM = "relevant_program"


def is_gqa_questions(top: Top) -> bool:
    """Return whether this is a GQA questions JSON."""
    first = next(iter(top.values()), None) if isinstance(top, dict) else None
    return first is not None and fields_of(first).keys() >= {"question", "imageId"}


def read_plain(content: Content, on_bad_row: OnBadRow) -> Reading | None:
    """Return all questions of a large file that nothing is odd about; None of any other file."""
    if not json_text.is_worth_walking(content.source.content):
        return None
    from shortcut_miner.sources.opening.json_walks import Walked, walked

    def table(walk: Walked) -> pl.DataFrame:
        lists = {ours: walk.lists(f"annotations.{theirs}") for ours, theirs in _MAPS.items()}
        return _with_nulls({ours: walk.texts(theirs) for ours, theirs in _TEXTS.items()} | lists)

    try:
        whole = pl.concat([table(walk) for walk in walked(content.source.content, _Question)])
    except OddError:
        return None
    names = whole["question_id"]
    if names.n_unique() < len(names):
        return None
    return _reading(content.source, whole.with_row_index(RECORD), [], names, on_bad_row)


def read_questions(content: Content, on_bad_row: OnBadRow, limit: int | None = None) -> Reading:
    """Return the questions of an opened file; see :func:`.gqa.read_gqa_questions`."""
    return _read(content, on_bad_row, limit, _Question, _table)


def read_questions_with_programs(content: Content, on_bad_row: OnBadRow, limit: int | None = None) -> Reading:
    """Return the same with the objects that each question's program names."""
    return _read(content, on_bad_row, limit, _QuestionWithProgram, _table_with_programs)


def read_grouped_questions(content: Content, on_bad_row: OnBadRow, limit: int | None = None) -> Reading:
    """Return the same with each question's groups, and whether GQA's balanced set has it (null: not said).

    A question without an answer, or without the object that names its groups, is a bad row.
    """
    return _read(content, on_bad_row, limit, _GroupedQuestion, _grouped_table)


def _read(
    content: Content,
    on_bad_row: OnBadRow,
    limit: int | None,
    record_type: type[_Question],
    table_of: Callable[[Chunk[Any], Sequence[str]], pl.DataFrame],
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
    return _reading(source, pl.concat(frames), problems, names, on_bad_row, content.json.notes)


def _reading(
    source: Source,
    table: pl.DataFrame,
    problems: list[Problem],
    names: Sequence[str] | pl.Series,
    on_bad_row: OnBadRow,
    notes: tuple[str, ...] = (),
) -> Reading:
    """Return the questions that have no problem; `names` are all records' ids as the file writes them."""
    table, id_notes = with_whole_ids(table, "question_id")
    problems += id_problems(table, "question_id", "question id")
    ids, image_notes = canonical_image_ids(table["image_id"])
    table = table.with_columns(image_id=ids)
    problems += id_problems(table, "image_id", "imageId")
    problems += find_problems(table, is_blank("question"), "question", "text that is not blank")
    columns = [name for name in (RECORD, *COLUMNS, PROGRAM, *GROUP_COLUMNS) if name in table.columns]
    return finished(
        source, GQA_QUESTIONS, table.select(columns), problems,
        what="questions", total=len(names), on_bad_row=on_bad_row,
        label=lambda record: f"question {names[record]!r}", notes=notes + id_notes + image_notes,
    )  # fmt: skip


def _table(chunk: Chunk[Any], names: Sequence[str]) -> pl.DataFrame:
    types = [one or _NO_TYPES for one in map(attrgetter("types"), chunk.records)]
    maps = [one or _NO_ANNOTATIONS for one in map(attrgetter("annotations"), chunk.records)]
    columns = record_columns(chunk, _Question, "imageId", "question", "answer", "fullAnswer") | {
        "question_id": _texts([names[position] for position in chunk.positions]),
        "structural": _texts([*map(attrgetter("structural"), types)]),
        "semantic": _texts([*map(attrgetter("semantic"), types)]),
        "detailed": _texts([*map(attrgetter("detailed"), types)]),
        **{ours: _ids_column([*map(attrgetter(theirs), maps)]) for ours, theirs in _MAPS.items()},
    }
    columns["image_id"], columns["full_answer"] = columns.pop("imageId"), columns.pop("fullAnswer")
    return _with_nulls(columns)


def _with_nulls(columns: Mapping[str, pl.Series]) -> pl.DataFrame:
    """Return the columns of a table with those that GQA has not."""
    return pl.DataFrame(columns).with_columns(
        question_type="structural",
        answer_type=pl.lit(None, pl.String),
        answers=pl.lit(None, pl.List(pl.String)),
        answer_record_key=pl.lit(None, pl.List(pl.UInt8)),
        split=pl.lit(None, pl.String),
    )


def _table_with_programs(chunk: Chunk[_QuestionWithProgram], names: Sequence[str]) -> pl.DataFrame:
    return _table(chunk, names).with_columns(_program_objects(chunk.records))


def _program_objects(records: Sequence[_QuestionWithProgram]) -> pl.Series:
    """Return the ids of the objects that programs name, each once; null where there is no program."""
    programs = [record.semantic for record in records]
    named = [
        None if program is None else dict.fromkeys(one for step in program for one in _ids_in(step.argument))
        for program in programs
    ]
    ids = [None if one is None else {name: name for name in one} for one in named]
    return _ids_column(ids).alias(PROGRAM)


def _ids_in(argument: str) -> list[str]:
    """Return the object ids in a step's argument.

    >>> _ids_in("person,in,s (823320)"), _ids_in("chair (12,34)"), _ids_in("cat (-)"), _ids_in("not(brown)")
    (['823320'], ['12', '34'], [], [])
    """
    found = _OBJECTS.search(argument.rstrip())
    ids = [] if found is None else [one.strip() for one in found[1].split(",")]
    return [one for one in ids if one and one != _NO_OBJECT]


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
