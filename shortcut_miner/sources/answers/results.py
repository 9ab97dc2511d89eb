"""Models' answers in flat tables, lists of records, and {id: answer}, and VLMEvalKit's result tables."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.answers.answer_column import (
    NEEDS,
    are_answers,
    check_columns,
    needs_of,
    with_answer_names,
)
from shortcut_miner.sources.answers.answer_rows import AnswerRows, Asked, answer_rows
from shortcut_miner.sources.opening.columns import Column
from shortcut_miner.sources.opening.flat_tables import FlatTable, records_table
from shortcut_miner.sources.opening.json_records import keyed_records, repeated_keys
from shortcut_miner.sources.opening.json_text import (
    LOOKED_AT,
    ParsedJson,
    Top,
    fields_of,
    records_of,
    records_under,
)
from shortcut_miner.sources.opening.kinds import Content, Counts, length_of

RESULTS, GQA_PREDICTIONS = "VQA results JSON", "GQA predictions JSON"
LISTED, BY_ID = "predictions JSON in an object", "predictions JSON by question id"
PREDICTIONS_XLSX = "predictions xlsx"
PREDICTIONS_JSONL, PREDICTIONS_CSV = "predictions JSONL", "predictions CSV"
PREDICTIONS_PARQUET, PREDICTIONS_ARROW = "predictions Parquet", "predictions Arrow"
VLMEVALKIT_JSON, VLMEVALKIT_TSV = "VLMEvalKit results JSON", "VLMEvalKit results TSV"
VLMEVALKIT_XLSX = "VLMEvalKit results xlsx"
VLMEVALKIT_COLUMNS = ("index", "prediction")
GQA_FIELDS = ("questionId", "prediction")
LIST_KEYS = ("results", "predictions", "annotations", "data")  # of an object around the records
_KEYS = re.compile(rb'"\s*+:')  # at least as many as there are
_TEXT = (b'"', b"n")  # how a text or null starts


# ---- how they are told ----


def are_predictions(lines: Sequence[tuple[int, bytes]]) -> bool:
    """Return whether lines are records of answers; some of the first ones may lack theirs."""
    return any(are_answers(fields_of(line)) for _, line in lines[:LOOKED_AT])


def is_answer_list(top: Top) -> bool:
    """Return whether this is a list of records of answers; some of the first ones may lack theirs."""
    return isinstance(top, list) and any(are_answers(fields_of(record)) for record in top[:LOOKED_AT])


def has_answer_list(top: Top) -> bool:
    """Return whether this is an object with a list of records of answers."""
    return isinstance(top, dict) and bool(_listed_under(top))


def _listed_under(top: dict[str, msgspec.Raw]) -> list[str]:
    return [key for key in LIST_KEYS if key in top and is_answer_list(records_of(top[key]))]


def listed_count(top: dict[str, msgspec.Raw]) -> Counts:
    """Return how many records the first list of answers has."""
    return {"answers": length_of(top[_listed_under(top)[0]])}


def are_by_id(top: Top) -> bool:
    """Return whether this is {id: answer}: each key has a digit, and the values are texts.

    >>> are_by_id({"12": msgspec.Raw(b'"yes"')}), are_by_id({"version": msgspec.Raw(b'"1.0"')})
    (True, False)
    """
    if not isinstance(top, dict) or not top:
        return False
    first = [*top.items()][:LOOKED_AT]
    starts = {bytes(raw)[:1] for _, raw in first}
    return b'"' in starts and starts <= {*_TEXT} and all(any(map(str.isdigit, key)) for key, _ in first)


# ---- reading ----


def answer_table(content: Content) -> FlatTable:
    """Return the records of a file: its rows, lines or list, or the list inside its object.

    Raises
    ------
    SourceError
        The object has several lists that may be the answers.
    """
    if content.forms[-1] != "JSON" or content.is_lines or isinstance(content.json.top, list):
        return content.table
    top, source = content.json.top, content.source
    keys = _listed_under(top)
    if len(keys) > 1:
        raise SourceError(
            f"{source.path}: got lists of answers under {examples(keys)}, expected one. "
            "Keep the list of the model's answers."
        )
    if keys:
        records = records_under(source, top, keys[0])
        return records_table(source.path, ParsedJson(records, content.json.notes))
    return content.table


def read_results(content: Content, asked: Asked) -> AnswerRows:
    """Return the answers of a table or list of records with an id and an answer, whatever their names.

    Raises
    ------
    SourceError
        A column that the user names and the file lacks; or another column may be the model's, such as
        ``response``: then `answer` may be the right answer, and scoring it would give 100. See
        :func:`.answer_column.rival_columns`.
    """
    named = {ours: theirs for ours, theirs in asked.columns.items() if ours in NEEDS}
    table = answer_table(content)
    needs = needs_of(named, NEEDS if "answer" in named else with_answer_names(table, NEEDS))
    check_columns(table, needs, named)
    taken = {ours: table.names(needs)[ours] for ours in NEEDS}
    notes = tuple(
        f"{ours}: column {theirs}" for ours, theirs in taken.items() if ours in named or theirs != ours
    )
    return answer_rows(table, needs, notes)


def read_by_id(content: Content, asked: Asked) -> AnswerRows:
    """Return the answers of {id: answer}."""
    top: Any = content.json.top
    names = [*top]
    raws = keyed_records(top, *NEEDS)
    table = FlatTable(
        path=content.source.path, form="JSON", columns=[*NEEDS], total=len(raws), content=raws,
        label=lambda record: f"question {names[record]!r}", repairs=content.json.notes,
    )  # fmt: skip
    rows = answer_rows(table, {name: Column(need.kind) for name, need in NEEDS.items()})
    text = content.source.content
    rows.problems.extend(repeated_keys(text, names, len(_KEYS.findall(text)), "question_id"))
    return rows


def read_gqa_predictions(content: Content, asked: Asked) -> AnswerRows:
    """Return the answers of a list of records with questionId and prediction."""
    one, answer = GQA_FIELDS
    needs = {"question_id": Column("id", names=(one,)), "answer": Column("text", names=(answer,))}
    return answer_rows(content.table, needs)


def read_vlmevalkit(content: Content, asked: Asked) -> AnswerRows:
    """Return the answers of VLMEvalKit's results: TSV (or CSV), xlsx or a JSON list of records."""
    table = content.table
    is_named = "question_id" in table.columns
    one, why = ("question_id", "") if is_named else ("index", ", as there is no column question_id")
    needs = {"question_id": Column("id", names=(one,)), "answer": Column("text", names=("prediction",))}
    notes = (f"question ids: column {one}{why}", "answers: column prediction")
    return answer_rows(table, needs, notes)
