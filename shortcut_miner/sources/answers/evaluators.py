"""Answers in the files of two evaluators: lmms-eval's samples and VLMEvalKit's result tables."""

import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import polars as pl

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.opening.columns import Column
from shortcut_miner.sources.opening.flat_tables import FlatTable, check_has_rows, read_columns
from shortcut_miner.sources.opening.ids import AnyId, find_floats, id_column, with_whole_ids
from shortcut_miner.sources.opening.json_records import decode_all
from shortcut_miner.sources.opening.json_text import LOOKED_AT, Raws, fields_of
from shortcut_miner.sources.opening.kinds import Content
from shortcut_miner.sources.opening.reading import RECORD, Problem

LMMS_EVAL_SAMPLES = "lmms-eval samples JSONL"
VLMEVALKIT_JSON, VLMEVALKIT_TSV = "VLMEvalKit results JSON", "VLMEvalKit results TSV"
VLMEVALKIT_XLSX = "VLMEvalKit results xlsx"
VLMEVALKIT_COLUMNS = ("index", "prediction")
ID_FIELDS = ("question_id", "questionId", "id")  # of a question, in the order of preference
_METRIC_ID_FIELDS = ID_FIELDS[:2]
_RECORD_FIELDS = {"doc", "arguments", "input", "resps", "filtered_resps"}  # no metrics
_SAMPLE_FIELDS = frozenset({"doc_id", "filtered_resps"})

_Responses = str | list[str | list[str]]


@dataclass(frozen=True, slots=True)
class AnswerRows:
    """Rows of a file of answers before their ids are checked.

    Attributes
    ----------
    table : DataFrame
        record, question_id, answer.
    problems : list of Problem
        What is wrong with records, whether they are in `table` or not.
    total : int
        Records in the file.
    label : callable
        Names a record by its position.
    notes : tuple of str
        What was decided.
    """

    table: pl.DataFrame
    problems: list[Problem]
    total: int
    label: Callable[[int], str]
    notes: tuple[str, ...] = ()


# ---- lmms-eval ----


def are_samples(lines: Sequence[tuple[int, bytes]]) -> bool:
    """Return whether lines are samples of lmms-eval; their metrics may be NaN, which is no JSON."""
    return any(_is_sample(line) for _, line in lines[:LOOKED_AT])


def _is_sample(line: bytes) -> bool:
    fields = fields_of(line)
    return fields.keys() >= _SAMPLE_FIELDS or (
        not fields and all(f'"{name}"'.encode() in line for name in _SAMPLE_FIELDS)
    )


def read_samples(content: Content, allow_doc_id: bool) -> AnswerRows:
    """Return the answers of lmms-eval's ``*_samples_*.jsonl`` (written with ``--log_samples``).

    The answer is the response after the task's filters (``filtered_resps``), white space around it
    removed. The id is the question's in ``doc``, or the one that a metric repeats (some versions leave
    ``doc`` out); the number of the document only if that is allowed.

    Raises
    ------
    SourceError
        The samples have no question id.
    """
    lines = content.lines
    raws = [_without_nan(line) for _, line in lines]
    path = _id_path(content.source.path, raws, allow_doc_id)
    rows = decode_all(raws, _sample_type(path))
    records: list[Any] = rows.records
    problems, positions, ids, answers = list(rows.problems), [], [], []
    for position, record in zip(rows.positions, records, strict=True):
        answer = _first_text(record.responses)
        if answer is None:
            problems.append(_no_answer(position, record.responses))
            continue
        positions.append(position)
        ids.append(record.one if len(path) == 1 else record.holder.one)
        answers.append(answer.strip())
    table = pl.DataFrame(
        {
            RECORD: pl.Series(positions, dtype=pl.UInt32),
            "question_id": id_column(ids),
            "answer": pl.Series(answers, dtype=pl.String),
        }
    )
    table, id_notes = with_whole_ids(table, "question_id")
    problems += find_floats(table, "question_id", ".".join(path))
    repaired = sum(raw is not line for raw, (_, line) in zip(raws, lines, strict=True))
    notes = (
        f"question ids: {'.'.join(path)}",
        "answers: filtered_resps without the white space around them",
        *id_notes,
        *((f"lines with NaN or infinite numbers read as null: {repaired:,}",) if repaired else ()),
    )
    return AnswerRows(table, problems, len(raws), lambda record: f"line {lines[record][0]}", notes)


def _id_path(shown: str, raws: Raws, allow_doc_id: bool) -> tuple[str, ...]:
    """Return where the samples hold the question's id: ("doc", "question_id") or alike, or ("doc_id",)."""
    looked_at = [fields_of(raw) for raw in raws[:LOOKED_AT]]
    doc_fields = {name for fields in looked_at if "doc" in fields for name in fields_of(fields["doc"])}
    for name in ID_FIELDS:
        if name in doc_fields:
            return "doc", name
    for fields in looked_at:
        metrics = {name: fields_of(raw) for name, raw in fields.items() if name not in _RECORD_FIELDS}
        for metric, inner in metrics.items():
            for name in _METRIC_ID_FIELDS:
                if name in inner and metric.isprintable() and not set(metric) & set('"\\'):
                    return metric, name
    if allow_doc_id:
        return ("doc_id",)
    found = f"a doc with {examples(sorted(doc_fields), limit=20)}" if doc_fields else "no doc"
    wanted = ", ".join(f"doc.{name}" for name in ID_FIELDS)
    raise SourceError(
        f"{shown}: got {LMMS_EVAL_SAMPLES} with {found} and no metric with a question_id, "
        f"expected one of {wanted}. Let the task's process_results return the question_id, or, if the ids "
        "are the numbers of the documents, read it with read_predictions(..., allow_doc_id=True)."
    )


def _sample_type(path: Sequence[str]) -> Any:
    """Return a struct of `responses` and the id at `path`: `one`, or `holder.one`."""
    responses = ("responses", _Responses)
    names = {"responses": "filtered_resps"}
    one = ("one", AnyId)
    if len(path) == 1:
        return msgspec.defstruct("Sample", [one, responses], rename=names | {"one": path[0]}, gc=False)
    holder = msgspec.defstruct("object", [one], rename={"one": path[1]}, gc=False)
    return msgspec.defstruct(
        "Sample", [("holder", holder), responses], rename=names | {"holder": path[0]}, gc=False
    )


def _first_text(responses: _Responses) -> str | None:
    """Return the one response ("text", ["text"] or [["text", ...]]); None where there is none, or several.

    Several are the choices of a multiple-choice task with their likelihoods: none of them is the answer.
    """
    if isinstance(responses, str):
        return responses
    if len(responses) != 1:
        return None
    only = responses[0]
    return only if isinstance(only, str) else next(iter(only), None)


def _no_answer(position: int, responses: _Responses) -> Problem:
    got = f"{len(responses)} responses" if len(responses) > 1 else "no response"
    return Problem((position,), "filtered_resps", got, "one response")


def _without_nan(line: bytes) -> bytes:
    """Return a line with null for NaN and Infinity, which Python writes into metrics; others as they are."""
    if (b"NaN" not in line and b"Infinity" not in line) or fields_of(line):
        return line
    with contextlib.suppress(ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        return msgspec.json.encode(json.loads(line, parse_constant=lambda _: None))
    return line


# ---- VLMEvalKit ----


def read_vlmevalkit(content: Content, allow_doc_id: bool) -> AnswerRows:
    """Return the answers of VLMEvalKit's results: TSV (or CSV), xlsx or a JSON list of records."""
    table = content.table
    is_named = "question_id" in table.columns
    one, why = ("question_id", "") if is_named else ("index", ", as there is no column question_id")
    needs = {"question_id": Column("id", names=(one,)), "answer": Column("text", names=("prediction",))}
    notes = (f"question ids: column {one}{why}", "answers: column prediction")
    return answer_rows(table, needs, notes)


def answer_rows(table: FlatTable, needs: dict[str, Column], notes: tuple[str, ...] = ()) -> AnswerRows:
    """Return the answers of a flat table; `needs` says where question_id and answer are."""
    check_has_rows(table, "predictions")
    rows = read_columns(table, needs, by_record=True)
    return AnswerRows(*rows, table.total, table.label, table.notes + notes)
