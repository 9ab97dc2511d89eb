"""Answers in the samples that lmms-eval and lm-eval log."""

import contextlib
import json
import math
from collections.abc import Iterable, Sequence

import msgspec
import polars as pl

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.answers.answer_column import ID_NAMES, QUESTION_ID_NAMES
from shortcut_miner.sources.answers.answer_rows import AnswerRows, Asked
from shortcut_miner.sources.answers.nested_records import (
    Leaf,
    Path,
    getter,
    is_decodable,
    named_path,
    nested_ids,
    record_type,
)
from shortcut_miner.sources.opening.ids import AnyId
from shortcut_miner.sources.opening.json_records import decode_all, without
from shortcut_miner.sources.opening.json_text import DECODE_ERRORS, LOOKED_AT, Raws, fields_of
from shortcut_miner.sources.opening.kinds import Content
from shortcut_miner.sources.opening.reading import Problem
from shortcut_miner.sources.opening.repeated_fields import (
    keys_inside_twice,
    nested_twice,
    twice_inside,
)

LMMS_EVAL_SAMPLES, LM_EVAL_SAMPLES = "lmms-eval samples JSONL", "lm-eval samples JSONL"
_RECORD_FIELDS = {"doc", "arguments", "input", "resps", "filtered_resps"}  # no metrics
_SAMPLE_FIELDS = frozenset({"doc_id", "filtered_resps"})
_LM_EVAL_FIELDS = _SAMPLE_FIELDS | {"prompt_hash"}

_Responses = str | list[str | list[str]]
_FILTER, _ARGUMENTS = ("filter",), ("arguments",)


class _Choice(msgspec.Struct, gc=False):
    context: str = msgspec.field(name="arg_0")
    text: str = msgspec.field(name="arg_1")


_CHOICES = msgspec.json.Decoder(dict[str, _Choice])


def are_samples(lines: Sequence[tuple[int, bytes]]) -> bool:
    """Return whether lines are samples of lmms-eval; their metrics may be NaN, which is no JSON."""
    return any(_has_fields(line, _SAMPLE_FIELDS) for _, line in lines[:LOOKED_AT])


def are_lm_eval_samples(lines: Sequence[tuple[int, bytes]]) -> bool:
    """Return whether lines are samples of lm-eval: they have a hash of the prompt."""
    return any(_has_fields(line, _LM_EVAL_FIELDS) for _, line in lines[:LOOKED_AT])


def _has_fields(line: bytes, names: Iterable[str]) -> bool:
    if not all(f'"{name}"'.encode() in line for name in names):  # before a long line is decoded
        return False
    fields = fields_of(line)
    return not fields or fields.keys() >= {*names}


def read_samples(content: Content, asked: Asked) -> AnswerRows:
    """Return the answers of the samples that lmms-eval or lm-eval logs (``--log_samples``).

    The answer is the response after the task's filters (``filtered_resps``), white space around it
    removed; where a sample has the likelihoods of choices and their texts (lm-eval's ``arguments``), the
    likeliest choice, of equal ones the first. The id is the question's in ``doc``, or the one that a metric
    repeats (lmms-eval leaves ``doc`` out); the number of the document only if that is allowed, or named.

    Raises
    ------
    SourceError
        The samples have no question id, two that differ, or the responses of several filters.
    """
    lines, shown = content.lines, content.source.path

    def label(record: int) -> str:
        return f"line {lines[record][0]}"

    raws = [without_nan(line) for _, line in lines]
    paths = _id_paths(shown, raws, asked)
    said = named_path(asked.columns.get("answer", "filtered_resps"))
    leaves = [Leaf(path, AnyId, is_optional=path != paths[0]) for path in paths]
    leaves += [Leaf(said, _Responses), Leaf(_FILTER, str, is_optional=True)]
    leaves += [Leaf(_ARGUMENTS, msgspec.Raw, is_optional=True)]
    rows = decode_all(raws, record_type(leaves))
    rows = without(rows, nested_twice(raws, rows.positions, [leaf.path for leaf in leaves]))
    _check_one_filter(shown, [*map(getter(_FILTER), rows.records)])
    table, problems, id_notes = nested_ids(shown, rows, paths, label)
    answers, silent, choices = list[str | None](), list[Problem](), 0
    of_record = zip(
        rows.positions, *(map(getter(path), rows.records) for path in (said, _ARGUMENTS)), strict=True
    )
    for position, responses, arguments in of_record:
        answer = _first_text(responses)
        if answer is None and (answer := _likeliest(responses, arguments)) is not None:
            choices += 1
            if arguments is not None and (twice := keys_inside_twice(arguments)):
                silent.append(twice_inside(position, "arguments", twice))
        if answer is None:
            silent.append(_no_answer(position, ".".join(said), responses))
        answers.append(None if answer is None else answer.strip())
    table = table.with_columns(answer=pl.Series(answers, dtype=pl.String)).drop_nulls("answer")
    repaired = sum(raw is not line for raw, (_, line) in zip(raws, lines, strict=True))
    notes = (
        f"question ids: {'.'.join(paths[0])}",
        f"answers: {'.'.join(said)} without the white space around them",
        *id_notes,
        *((f"answers that are the likeliest of several choices: {choices:,}",) if choices else ()),
        *((f"lines with NaN or infinite numbers read as null: {repaired:,}",) if repaired else ()),
    )
    return AnswerRows(table, [*rows.problems, *silent, *problems], len(raws), label, notes)


def _id_paths(shown: str, raws: Raws, asked: Asked) -> list[Path]:
    """Return where the samples hold the question's id, such as doc.question_id, the best place first."""
    if name := asked.columns.get("question_id"):
        return [named_path(name)]
    looked_at = [fields_of(raw) for raw in raws[:LOOKED_AT]]
    doc_fields = {name for fields in looked_at if "doc" in fields for name in fields_of(fields["doc"])}
    if names := [name for name in ID_NAMES if name in doc_fields]:
        return [("doc", name) for name in names]
    for fields in looked_at:
        metrics = {name: fields_of(raw) for name, raw in fields.items() if name not in _RECORD_FIELDS}
        for metric, inner in metrics.items():
            names = [name for name in QUESTION_ID_NAMES if name in inner]
            if names and is_decodable(metric):
                return [(metric, name) for name in names]
    if asked.allow_doc_id:
        return [("doc_id",)]
    found = f"a doc with {examples(sorted(doc_fields), limit=20)}" if doc_fields else "no doc"
    wanted = ", ".join(f"doc.{name}" for name in ID_NAMES)
    first = f"question_id=doc.{min(doc_fields)}" if doc_fields else "question_id=FIELD"
    raise SourceError(
        f"{shown}: got samples with {found} and no metric with a question_id, expected one of {wanted}. Name "
        f"the field of the ids, as in --columns {first}; if the ids are the numbers of the documents, with "
        "--columns question_id=doc_id; or let the task's process_results return the question_id."
    )


def _check_one_filter(shown: str, filters: Sequence[str | None]) -> None:
    """Raise SourceError for samples that log each document once a filter."""
    names = {one for one in filters if one is not None}
    if len(names) > 1:
        raise SourceError(
            f"{shown}: got the answers of {len(names)} filters ({examples(sorted(names))}), expected those "
            "of one. Keep the lines of one filter."
        )


def _first_text(responses: _Responses) -> str | None:
    """Return the one response ("text", ["text"] or [["text", ...]]); None where there is none, or several.

    Several are the choices of a multiple-choice task with their likelihoods: none of them is the answer. Nor
    is a likelihood alone.
    """
    if isinstance(responses, str):
        return responses
    if len(responses) != 1:
        return None
    only = responses[0]
    if isinstance(only, str) or _logarithm(only) is not None:
        return only if isinstance(only, str) else None
    return next(iter(only), None)


def _likeliest(responses: _Responses, arguments: msgspec.Raw | None) -> str | None:
    """Return the text of the likeliest choice; None where texts or likelihoods lack.

    Choices are continuations of one context: ``arguments`` is {gen_args_0: {arg_0: context, arg_1: choice},
    ...}, and each response is the likelihood's logarithm with "True" or "False".
    """
    if arguments is None or isinstance(responses, str):
        return None
    try:
        given = _CHOICES.decode(arguments)
    except DECODE_ERRORS:
        return None
    choices = [given.get(f"gen_args_{at}") for at in range(len(given))]
    texts = [one.text for one in choices if one is not None]
    contexts = {one.context for one in choices if one is not None}
    is_choice = len({*texts}) == len(texts) == len(responses) > 1  # one alone is the right answer's
    if not is_choice or len(contexts) != 1:
        return None
    numbers = [_logarithm(one) for one in responses]
    if any(number is None for number in numbers):
        return None
    return max(zip(numbers, texts, strict=True), key=lambda pair: pair[0] or 0.0)[1]


def _logarithm(response: str | list[str]) -> float | None:
    if isinstance(response, str) or len(response) != 2 or response[1] not in ("True", "False"):
        return None
    try:
        number = float(response[0])
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _no_answer(position: int, field: str, responses: _Responses) -> Problem:
    is_likelihood = len(responses) == 1 and len(responses[0]) > 0
    got = f"{len(responses)} responses" if len(responses) > 1 else "no response"
    got = "a likelihood" if is_likelihood else got
    return Problem((position,), field, got, "one response")


def without_nan(line: bytes) -> bytes:
    """Return a line with null for NaN and Infinity, which Python writes into metrics; others as they are."""
    if (b"NaN" not in line and b"Infinity" not in line) or fields_of(line):
        return line
    with contextlib.suppress(ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        return msgspec.json.encode(json.loads(line, parse_constant=lambda _: None))
    return line
