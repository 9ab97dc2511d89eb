"""Typed decoding of large JSON record lists in chunks: bounded memory, every problem named.

Chunks of undecoded records (see :mod:`shortcut_miner.sources.opening.json_text`) are decoded into typed
structs. Only a chunk that fails is looked at record by record, and only a record that fails field by field.
"""

import contextlib
import gc
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Generic, TypeVar, get_args

import msgspec
import polars as pl

from shortcut_miner.sources.opening.ids import ID_EXPECTED, AnyId, id_column, is_no_id
from shortcut_miner.sources.opening.json_text import (
    DECODE_ERRORS,
    Raws,
    excerpt,
    has_disguised,
    is_no_utf8,
)
from shortcut_miner.sources.opening.reading import RECORD, Problem, bad_records
from shortcut_miner.sources.opening.repeated_fields import repeated_fields

CHUNK_RECORDS = 20_000
_DTYPES: dict[Any, Any] = {
    **dict.fromkeys((str, str | None), pl.String),
    **dict.fromkeys((float, float | None), pl.Float64),
}
Record = TypeVar("Record", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Chunk(Generic[Record]):
    """Decoded records with their positions in the file, and the problems of those that failed."""

    positions: Sequence[int]
    records: list[Record]
    problems: list[Problem]


@contextlib.contextmanager
def paused_gc() -> Iterator[None]:
    """Keep the cycle collector from walking millions of fresh objects that hold no cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def decode_chunks(raws: Raws, record_type: type[Record], first: int = 0) -> Iterator[Chunk[Record]]:
    """Decode records chunk by chunk; a record that fails gives problems instead of a struct.

    Parameters
    ----------
    raws : sequence of undecoded records
    record_type : a msgspec.Struct
    first : int
        Position that the first record has among all records of its file.
    """
    decoder = msgspec.json.Decoder(list[record_type])  # type: ignore[valid-type]
    names = [field.encode_name for field in msgspec.structs.fields(record_type)]
    for start in range(0, len(raws), CHUNK_RECORDS):
        chunk = raws[start : start + CHUNK_RECORDS]
        content = b"[" + b",".join(chunk) + b"]"
        try:
            records = decoder.decode(content)
        except DECODE_ERRORS:
            records = []
        # A line of a JSON Lines file may hold two records: then the counts differ.
        if len(records) == len(chunk):
            decoded = Chunk(range(first + start, first + start + len(chunk)), records, [])
        else:
            decoded = _decode_one_by_one(chunk, first + start, record_type)
        yield without(decoded, repeated_fields(chunk, content, names, first + start))


def decode_all(raws: Raws, record_type: type[Record], first: int = 0) -> Chunk[Record]:
    """Decode records of which there are few, or small ones, as one chunk."""
    with paused_gc():
        chunks = list(decode_chunks(raws, record_type, first))
        return Chunk(
            [position for chunk in chunks for position in chunk.positions],
            [record for chunk in chunks for record in chunk.records],
            [problem for chunk in chunks for problem in chunk.problems],
        )


def record_columns(chunk: Chunk[Record], record_type: type[Record], *fields: str) -> dict[str, pl.Series]:
    """Return the working column `record` and some fields as columns; all fields if none is named.

    Fields of the type AnyId become text: 42 and "42" one id, leading zeros survive; for floats see
    :mod:`.ids`.
    """
    types = {field.name: field.type for field in msgspec.structs.fields(record_type)}
    columns = {RECORD: pl.Series(chunk.positions, dtype=pl.UInt32)}
    for name in fields or types:
        values = list(map(attrgetter(name), chunk.records))
        is_id = types[name] == AnyId
        columns[name] = id_column(values) if is_id else pl.Series(values, dtype=_DTYPES[types[name]])
    return columns


def repeated_keys(
    content: bytes, names: Sequence[str], entries: int, field: str, expected: str = "an id that occurs once"
) -> list[Problem]:
    """Return a problem for each key that a JSON object has twice: decoding keeps only the last entry.

    Parameters
    ----------
    content : bytes
        The JSON text.
    names : sequence of str
        The object's distinct keys.
    entries : int
        How many entries the text seems to have, counted cheaply, rather too many than too few; only a surplus
        is looked at with a slow parser.
    field, expected : str
        Words of the problems.
    """
    if entries <= len(names) and not has_disguised(content):
        return []
    pairs: list[tuple[str, Any]] = []

    def keep_pairs(found: list[tuple[str, Any]]) -> None:
        pairs[:] = found  # the outermost object comes last

    try:
        json.loads(content, object_pairs_hook=keep_pairs)
    except (ValueError, RecursionError):  # bytes that are no UTF-8: their record is told by its decoder
        return []
    places = {name: place for place, name in enumerate(names)}
    return [
        Problem((places[name],), field, f"{count} entries", expected)
        for name, count in Counter(name for name, _ in pairs).items()
        if count > 1
    ]


def keyed_records(top: Mapping[str, msgspec.Raw], key: str, value: str) -> list[bytes]:
    """Return the entries of a JSON object as undecoded records of two fields.

    >>> keyed_records({"7": msgspec.Raw(b'"yes"')}, "question_id", "answer")
    [b'{"question_id":"7","answer":"yes"}']
    """
    between = b"," + msgspec.json.encode(value) + b":"
    start = b"{" + msgspec.json.encode(key) + b":"
    return [b"".join((start, msgspec.json.encode(name), between, raw, b"}")) for name, raw in top.items()]


def without(chunk: Chunk[Record], problems: list[Problem]) -> Chunk[Record]:
    """Return a chunk without the records that have further problems, and with these."""
    if not problems:
        return chunk
    bad = set(bad_records(problems))
    kept = [pair for pair in zip(chunk.positions, chunk.records, strict=True) if pair[0] not in bad]
    return Chunk([at for at, _ in kept], [record for _, record in kept], chunk.problems + problems)


def _decode_one_by_one(raws: Raws, start: int, record_type: type[Record]) -> Chunk[Record]:
    decoder = msgspec.json.Decoder(record_type)
    positions, records, problems = [], [], []
    for position, raw in enumerate(raws, start):
        try:
            records.append(decoder.decode(raw))
            positions.append(position)
        except DECODE_ERRORS as error:
            found = _field_problems(position, raw, record_type)
            problems.extend(found or [decoding_problem(position, "record", raw, error)])
    return Chunk(positions, records, problems)


def _field_problems(position: int, raw: bytes | msgspec.Raw, record_type: type[Record]) -> list[Problem]:
    """Decode one record's fields separately, so that all its problems are found, not only the first."""
    try:
        values = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    except DECODE_ERRORS:
        return []
    problems = []
    for field in msgspec.structs.fields(record_type):
        name = field.encode_name
        if name not in values:
            if field.required:
                problems.append(Problem((position,), name, "no such field", _annotation_in_words(field.type)))
            continue
        try:
            value = msgspec.json.decode(values[name], type=field.type)
            if field.type in (AnyId, AnyId | None) and is_no_id(value):
                problems.append(Problem((position,), name, excerpt(values[name]), ID_EXPECTED))
        except DECODE_ERRORS as error:
            problems.append(decoding_problem(position, name, values[name], error))
    return problems


_MESSAGE = re.compile(r"(?P<text>.*?)(?: - at `\$(?P<path>.*)`)?$", re.DOTALL)
_TYPE_ERROR = re.compile(r"Expected `(?P<expected>.+?)`, got `(?P<got>.+?)`$")
_LENGTH_ERROR = re.compile(r"Expected `(?P<expected>.+?)` of length (?P<length>\d+)")
_MISSING_ERROR = re.compile(r"Object missing required field `(?P<name>.+?)`$")
_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "list": "a list",
    "object": "an object",
}


def decoding_problem(position: int, field: str, raw: bytes | msgspec.Raw, error: Exception) -> Problem:
    """Return a decoder's error in our words; a nested path is told by the decoder's message."""
    if is_no_utf8(error):
        return Problem((position,), field, f"bytes that are no UTF-8 ({excerpt(raw)})", "UTF-8 text")
    if isinstance(error, RecursionError):
        return Problem((position,), field, "values nested too deeply", "a flat record")
    parts = _MESSAGE.match(str(error))
    text, path = (parts["text"], parts["path"] or "") if parts else (str(error), "")
    if match := _TYPE_ERROR.match(text):
        got = _WORDS.get(match["got"], match["got"]) if path else excerpt(raw)
        names = match["expected"].split(" | ")
        expected = _types_in_words(names) if path else _field_in_words(names)
        return Problem((position,), field + path, got, expected)
    if match := _LENGTH_ERROR.match(text):
        expected = f"{_types_in_words([match['expected']])} of length {match['length']}"
        return Problem((position,), field + path, excerpt(raw), expected)
    if match := _MISSING_ERROR.match(text):
        return Problem((position,), f"{field}{path}.{match['name']}", "no such field", "a value")
    return Problem((position,), field + path, f"{excerpt(raw)} ({text.lower()})", "a valid value")


_UNIONS = {
    frozenset(("int", "float", "str")): ID_EXPECTED,
    frozenset(("bool", "int", "float", "str")): "text or numbers",
}


def _field_in_words(names: Sequence[str]) -> str:
    return _UNIONS.get(frozenset(names) - {"null", "NoneType"}) or _types_in_words(names)


def _types_in_words(names: Sequence[str]) -> str:
    return " or ".join(_WORDS.get(name, name) for name in names if name not in ("null", "NoneType"))


def _annotation_in_words(annotation: Any) -> str:
    if isinstance(annotation, type):
        is_record = issubclass(annotation, msgspec.Struct)
        return _types_in_words(["object" if is_record else annotation.__name__])
    names = [getattr(one, "__name__", "list") for one in get_args(annotation)]
    is_union = not hasattr(annotation, "__origin__")
    return _field_in_words(names) if is_union else "a list"
