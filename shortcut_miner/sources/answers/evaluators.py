"""Answers in the files of two evaluators: lmms-eval's samples and VLMEvalKit's result tables."""

import contextlib
import hashlib
import io
import json
import os
import struct
import zipfile
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec
import polars as pl

from shortcut_miner.errors import BackendError, SourceError, examples
from shortcut_miner.sources.opening.files import Source
from shortcut_miner.sources.opening.json_records import decode_all, id_column, positions_column, text_column
from shortcut_miner.sources.opening.json_text import Raws, fields_of, split_lines
from shortcut_miner.sources.opening.kinds import (
    LMMS_EVAL_SAMPLES,
    LOOKED_AT,
    VLMEVALKIT_XLSX,
    Shape,
    check_not_empty,
    table_shape,
    wrong_kind,
)
from shortcut_miner.sources.opening.reading import RECORD, Problem

ID_FIELDS = ("question_id", "questionId", "id")  # of a question, in the order of preference
_METRIC_ID_FIELDS = ID_FIELDS[:2]
_RECORD_FIELDS = {"doc", "arguments", "input", "resps", "filtered_resps"}  # no metrics
_WORKBOOK_PART = "xl/workbook.xml"
_ZIP = b"PK\x03\x04"
_SHEET_HEADER_ROWS = 1
_FLOAT_ID = r"^(-?\d+)\.0+$"

_Responses = str | list[str | list[str]]


@dataclass(frozen=True, slots=True)
class AnswerRows:
    """Rows of a file of answers before their ids are checked.

    Attributes
    ----------
    kind : str
        The format.
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

    kind: str
    table: pl.DataFrame
    problems: list[Problem]
    total: int
    label: Callable[[int], str]
    notes: tuple[str, ...] = ()


# ---- lmms-eval ----


def read_samples(source: Source, *, allow_doc_id: bool) -> AnswerRows:
    """Return the answers of lmms-eval's ``*_samples_*.jsonl`` (written with ``--log_samples``).

    The answer is the response after the task's filters (``filtered_resps``), white space around it
    removed. The id is the question's in ``doc``, or the one that a metric repeats (some versions leave
    ``doc`` out); the number of the document only if that is allowed.

    Raises
    ------
    SourceError
        The samples have no question id.
    """
    lines = split_lines(source)
    raws = [_without_nan(line) for _, line in lines]
    path = _id_path(source, raws, allow_doc_id)
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
            RECORD: positions_column(positions),
            "question_id": id_column(ids),
            "answer": text_column(answers),
        }
    )
    repaired = sum(raw is not line for raw, (_, line) in zip(raws, lines, strict=True))
    notes = (
        f"question ids: {'.'.join(path)}",
        "answers: filtered_resps without the white space around them",
        *((f"lines with NaN or infinite numbers read as null: {repaired:,}",) if repaired else ()),
    )
    return AnswerRows(
        LMMS_EVAL_SAMPLES, table, problems, len(raws), lambda record: f"line {lines[record][0]}", notes
    )


def _id_path(source: Source, raws: Raws, allow_doc_id: bool) -> tuple[str, ...]:
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
        f"{source.path}: got {LMMS_EVAL_SAMPLES} with {found} and no metric with a question_id, "
        f"expected one of {wanted}. Let the task's process_results return the question_id, or, if the ids "
        "are the numbers of the documents, read it with read_predictions(..., allow_doc_id=True)."
    )


def _sample_type(path: Sequence[str]) -> Any:
    """Return a struct of `responses` and the id at `path`: `one`, or `holder.one`."""
    responses = ("responses", _Responses)
    names = {"responses": "filtered_resps"}
    one = ("one", int | str)
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


def vlmevalkit_columns(names: Sequence[str]) -> tuple[str, str, tuple[str, ...]]:
    """Return the columns of the ids and of the model's answers in a VLMEvalKit table, and notes on them."""
    is_named = "question_id" in names
    one = "question_id" if is_named else "index"
    why = "" if is_named else ", as there is no column question_id"
    return one, "prediction", (f"question ids: column {one}{why}", "answers: column prediction")


def open_workbook(path: str | os.PathLike[str]) -> Source | None:
    """Return an .xlsx file as it is stored, or None for anything else, which open_source then explains."""
    file = Path(path)
    try:
        # A pipe must not be opened twice.
        content = file.read_bytes() if file.is_file() and _has_workbook(file) else None
    except OSError:
        content = None
    if content is None:
        return None
    digest: Future[str] = Future()
    digest.set_result(hashlib.sha256(content).hexdigest())
    return Source(
        path=str(path),
        content=content,
        packing=(),
        name=file.name,
        size=len(content),
        member=None,
        digest=digest,
    )


def is_workbook(content: bytes) -> bool:
    """Return whether these are the bytes of an .xlsx file."""
    return content.startswith(_ZIP) and _has_workbook(io.BytesIO(content))


def _has_workbook(file: Path | IO[bytes]) -> bool:
    try:
        with zipfile.ZipFile(file) as archive:
            return _WORKBOOK_PART in archive.namelist()
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile, struct.error):
        return False


def read_workbook(source: Source) -> pl.DataFrame:
    """Return the first sheet of an .xlsx file as text columns with the working column `record`.

    Numbers are written without a needless ``.0``, empty cells are null, and texts such as "n/a" or "null"
    stay what they are. Rows without any value are left out; `record` counts them too.

    Raises
    ------
    BackendError
        fastexcel is not installed.
    SourceError
        The file is damaged.
    """
    try:
        import fastexcel
    except ImportError as error:
        raise BackendError(
            f"{source.path}: got an .xlsx file but no fastexcel, expected it to be installed. "
            "Run pip install 'shortcut-miner[evaluators]', or save the table as TSV."
        ) from error
    try:
        sheet = pl.read_excel(
            io.BytesIO(source.content),
            engine="calamine",
            read_options={"dtypes": "string"},
            drop_empty_rows=False,
            raise_if_empty=False,
        )
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0].removeprefix("calamine error: ")
        raise SourceError(
            f"{source.path}: got a damaged .xlsx file ({reason}), expected a complete one. "
            "Download or copy it again: it was probably cut."
        ) from error
    if RECORD in sheet.columns:
        sheet = sheet.drop(RECORD)
    return sheet.with_row_index(RECORD).filter(~pl.all_horizontal(pl.exclude(RECORD).is_null()))


def workbook_shape(sheet: pl.DataFrame) -> Shape:
    """Tell what the first sheet of an .xlsx file holds."""
    header = [name for name in sheet.columns if name != RECORD]
    if table_shape(header, len(sheet)):
        return Shape(VLMEVALKIT_XLSX, {"answers": len(sheet)})
    if not header:
        return Shape("an .xlsx file whose first sheet is empty", is_known=False)
    columns = examples(header, limit=20)
    return Shape(f"an .xlsx file with the columns {columns}", {"rows": len(sheet)}, is_known=False)


def read_workbook_answers(source: Source, expected: str) -> AnswerRows:
    """Return the answers of a VLMEvalKit .xlsx file; an empty cell is an empty answer."""
    sheet = read_workbook(source)
    shape = workbook_shape(sheet)
    if shape.kind != VLMEVALKIT_XLSX:
        raise wrong_kind(source, shape, expected)
    check_not_empty(source, sheet.rows(), "predictions")
    one, answer, notes = vlmevalkit_columns(sheet.columns)
    table = sheet.select(
        RECORD,
        question_id=pl.col(one).fill_null("").str.replace(_FLOAT_ID, "$1"),
        answer=pl.col(answer).fill_null(""),
    )
    first = 1 + _SHEET_HEADER_ROWS
    return AnswerRows(VLMEVALKIT_XLSX, table, [], len(sheet), lambda record: f"row {record + first}", notes)
