"""Answers in the logs of inspect_ai: .eval archives, and JSON logs."""

from collections.abc import Mapping
from typing import Any

import msgspec
import polars as pl

from shortcut_miner.sources.answers.answer_column import QUESTION_ID_NAMES
from shortcut_miner.sources.answers.answer_rows import AnswerRows, Asked
from shortcut_miner.sources.answers.nested_records import (
    Leaf,
    Path,
    getter,
    named_path,
    nested_ids,
    record_type,
)
from shortcut_miner.sources.answers.samples import without_nan
from shortcut_miner.sources.opening.containers import zip_contents
from shortcut_miner.sources.opening.flat_tables import FlatTable, records_table
from shortcut_miner.sources.opening.ids import AnyId
from shortcut_miner.sources.opening.json_records import decode_all, without
from shortcut_miner.sources.opening.json_text import (
    LOOKED_AT,
    ParsedJson,
    Raws,
    Top,
    excerpt,
    fields_of,
    records_under,
)
from shortcut_miner.sources.opening.kinds import Content, Counts, length_of
from shortcut_miner.sources.opening.reading import Problem
from shortcut_miner.sources.opening.repeated_fields import nested_twice
from shortcut_miner.sources.opening.table_columns import check_has_rows

INSPECT_EVAL, INSPECT_JSON = "inspect_ai log", "inspect_ai log JSON"
_LOG_FIELDS = {"eval", "samples", "status"}
_COMPLETION, _CHOICES, _ERROR = ("output", "completion"), ("output", "choices"), ("error",)
_NULL = b"null"


class _Part(msgspec.Struct, gc=False):
    type: str = ""
    text: str = ""


class _Message(msgspec.Struct, gc=False):
    content: str | list[_Part] = ""


class _Choice(msgspec.Struct, gc=False):
    message: _Message


def is_log(top: Top) -> bool:
    """Return whether this is the JSON of a log with its samples."""
    return isinstance(top, dict) and top.keys() >= _LOG_FIELDS and "task" in fields_of(top["eval"])


def log_counts(top: Mapping[str, msgspec.Raw]) -> Counts:
    """Return how many samples a JSON log has."""
    return {"answers": length_of(top["samples"])}


def read_log(content: Content, asked: Asked) -> AnswerRows:
    """Return the answers of a log's samples.

    The answer is the ``output.completion``, or else the text of its first choice; white space stays. The id
    is a sample's ``metadata.question_id`` or alike, else its ``id``. A sample that failed has no answer;
    those of several epochs answer a question several times.

    Raises
    ------
    SourceError
        The log has no samples, or samples with two ids that differ.
    """
    table, status = _samples(content)
    check_has_rows(table, "samples")
    raws = [without_nan(bytes(raw)) for raw in table.content]
    paths = _id_paths(raws, asked)
    leaves = [Leaf(path, AnyId, is_optional=path != paths[0]) for path in paths]
    said: list[Path] = [_COMPLETION, _CHOICES]
    if name := asked.columns.get("answer"):
        said = [named_path(name)]
    types: dict[Path, Any] = {_CHOICES: list[_Choice]}
    leaves += [Leaf(path, types.get(path, str), is_optional=True) for path in said]
    leaves += [Leaf(_ERROR, msgspec.Raw, is_optional=True)]
    rows = decode_all(raws, record_type(leaves))
    rows = without(rows, nested_twice(raws, rows.positions, [leaf.path for leaf in leaves]))
    ids, problems, id_notes = nested_ids(table.path, rows, paths, table.label)
    answers, silent = list[str | None](), list[Problem]()
    error_of, values_of = getter(_ERROR), [getter(path) for path in said]
    for position, record in zip(rows.positions, rows.records, strict=True):
        error = error_of(record)
        answer = _text_of(*(value_of(record) for value_of in values_of))
        if error is not None and bytes(error) != _NULL:
            message = fields_of(error).get("message", error)
            answer = None
            silent.append(Problem((position,), "error", excerpt(message), "a sample that did not fail"))
        elif answer is None:
            silent.append(Problem((position,), ".".join(said[0]), "no answer", "text"))
        answers.append(answer)
    found = ids.with_columns(answer=pl.Series(answers, dtype=pl.String)).drop_nulls("answer")
    notes = (
        f"question ids: {'.'.join(paths[0])}",
        f"answers: {'.'.join(said[0])}",
        *id_notes,
        *((f"the run's status: {status}",) if status != "success" else ()),
    )
    return AnswerRows(found, [*rows.problems, *silent, *problems], table.total, table.label, notes)


def _samples(content: Content) -> tuple[FlatTable, str]:
    """Return the samples of a log as a table of records, and how the run ended."""
    source = content.source
    if content.forms == ("eval",):
        headers = zip_contents(source.path, source.content, "header.json".__eq__)
        status = fields_of(headers.get("header.json", b"")).get("status", b'"started"')
        return content.table, _plain(status)
    top: Any = content.json.top
    records = records_under(source, top, "samples")
    return records_table(source.path, ParsedJson(records, content.json.notes)), _plain(top["status"])


def _plain(raw: bytes | msgspec.Raw) -> str:
    return excerpt(raw).strip('"')


def _id_paths(raws: Raws, asked: Asked) -> list[Path]:
    if name := asked.columns.get("question_id"):
        return [named_path(name)]
    looked_at = [fields_of(fields_of(raw).get("metadata", b"")) for raw in raws[:LOOKED_AT]]
    names = [name for name in QUESTION_ID_NAMES if any(name in fields for fields in looked_at)]
    return [*(("metadata", name) for name in names), ("id",)]


def _text_of(completion: str | None, choices: list[_Choice] | None = None) -> str | None:
    """Return what a sample's output says; None if it says nothing, as an empty text is an answer too."""
    if completion or choices is None:
        return completion
    if not choices:
        return None
    content = choices[0].message.content
    if isinstance(content, str):
        return content
    return "\n".join(part.text for part in content if part.type == "text")
