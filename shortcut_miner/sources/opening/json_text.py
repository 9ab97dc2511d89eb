"""The top level of a JSON file as undecoded slices, and words for text that is no JSON."""

import codecs
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from shortcut_miner.errors import SourceError, visible
from shortcut_miner.sources.opening.files import Source

MAX_SHOWN = 60
LOOKED_AT = 20  # records looked at to tell a format: the first ones may be broken
_FIRST_BYTES = 1 << 16
# Bytes of text that are decoded while kernels load: where numba is loaded, and where it is not.
_AS_LONG_AS_KERNELS, _AS_LONG_AS_NUMBA = 1 << 22, 1 << 24
_DECODED = 1 << 20  # bytes at once
_BETWEEN = re.compile(r"[\s,]*")
_DISGUISED = re.compile(rb"\\u00(?:3\d|[46][1-9a-fA-F]|[57][\daA]|5[fF])")  # a letter, a digit or _
DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

Raws = Sequence[bytes | msgspec.Raw]
Top = dict[str, msgspec.Raw] | list[msgspec.Raw]


class OddError(Exception):
    """Something in the text of a large file that no column is made for."""


def is_worth_walking(content: bytes) -> bool:
    """Return whether kernels, compiled before, are loaded and read a text in less time than it is decoded."""
    return len(content) >= (_AS_LONG_AS_KERNELS if "numba" in sys.modules else _AS_LONG_AS_NUMBA)


@dataclass(frozen=True, slots=True)
class ParsedJson:
    """The undecoded top level of a JSON file and notes on what had to be replaced to read it."""

    top: Top
    notes: tuple[str, ...]


def parse_json(source: Source) -> ParsedJson:
    """Split a file's JSON object or array into undecoded slices; checks the syntax of the whole file.

    Tokens that Python's json module writes but JSON lacks (NaN, Infinity, text with a lone surrogate)
    are read as null and noted; a field that needs a value then fails with its record's number.

    Raises
    ------
    SourceError
        The text is no JSON object or array, with the byte where it breaks and what that means.
    """
    try:
        return ParsedJson(_split_top(source.content), ())
    except DECODE_ERRORS as error:
        repaired, notes = _with_nulls(source)
        if not notes:
            raise SourceError(f"{source.path}: {_explain(source.content, error)}") from error
    try:
        return ParsedJson(_split_top(repaired), notes)
    except DECODE_ERRORS as error:
        raise SourceError(f"{source.path}: {_explain(repaired, error)}") from error


def records_under(source: Source, fields: Mapping[str, msgspec.Raw], key: str) -> list[msgspec.Raw]:
    """Return the undecoded records of the list that an object of a file has under a key.

    Raises
    ------
    SourceError
        It is no list, or the file has it twice.
    """
    check_no_key_twice(source, fields, key)
    try:
        return msgspec.json.decode(fields[key], type=list[msgspec.Raw])
    except msgspec.ValidationError as error:
        raise SourceError(
            f"{source.path}: got {excerpt(fields[key])} under {key!r}, expected a list of records. "
            "Check that this is the right file."
        ) from error


def records_of(raw: msgspec.Raw) -> list[msgspec.Raw]:
    """Return the undecoded records of a list; [] when it is none.

    >>> len(records_of(msgspec.Raw(b"[1, 2]"))), records_of(msgspec.Raw(b"{}"))
    (2, [])
    """
    try:
        return msgspec.json.decode(raw, type=list[msgspec.Raw])
    except msgspec.ValidationError:
        return []


def first_records(raw: msgspec.Raw, count: int = LOOKED_AT) -> list[msgspec.Raw]:
    """Return the first of :func:`records_of`; of a long list without splitting all of it.

    >>> [bytes(one) for one in first_records(msgspec.Raw(b'[{"a": 1}, "]", 3]'), 2)]
    [b'{"a": 1}', b'"]"']
    """
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(bytes(memoryview(raw)[:_FIRST_BYTES]))
        first: list[msgspec.Raw] = []
        at = _BETWEEN.match(text, text.index("[", 0, 1) + 1).end()  # type: ignore[union-attr]
        while len(first) < count and text[at] != "]":
            _, end = json.JSONDecoder().raw_decode(text, at)
            first.append(msgspec.Raw(text[at:end].encode()))
            at = _BETWEEN.match(text, end).end()  # type: ignore[union-attr]
    except (ValueError, IndexError, RecursionError):  # no list, or too few records in the first bytes
        return records_of(raw)[:count]
    return first


def split_lines(source: Source) -> list[tuple[int, bytes]]:
    """Return the lines of a JSON Lines file that aren't blank, with their numbers from 1."""
    lines = enumerate(source.content.split(b"\n"), 1)
    return [(number, line) for number, line in lines if line and not line.isspace()]


def check_no_key_twice(source: Source, fields: Mapping[str, msgspec.Raw], key: str) -> None:
    """Raise SourceError if a list is there twice: decoding keeps only the last one.

    Only where kept values and bare keys don't explain all bytes, and the key seems to be there again, are the
    file's keys looked at. A file that had to be repaired is judged by how much was lost.
    """
    content = source.content
    unexplained = len(content) - sum(memoryview(value).nbytes for value in fields.values())
    if unexplained <= _keys_size(fields):
        return
    is_again = content.count(f'"{key}"'.encode()) > 1
    is_lost = is_again and unexplained > 100 * (len(fields) + 1)
    if is_lost or ((is_again or has_disguised(content)) and key in keys_twice(content)):
        raise SourceError(
            f"{source.path}: got the key {key!r} more than once, expected one list. Join the lists into one."
        )


def is_utf8(content: bytes) -> bool:
    """Return whether bytes are UTF-8, without a copy of all as text."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for begin in range(0, len(content), _DECODED):
            decoder.decode(content[begin : begin + _DECODED], final=begin + _DECODED >= len(content))
    except UnicodeDecodeError:
        return False
    return True


def has_disguised(text: bytes) -> bool:
    r"""Return whether a plain letter is written as an escape: then no key is found by its letters.

    Programs escape other characters.

    >>> [has_disguised(text) for text in (rb'{"\u0061": 1}', rb'{"a": "\u00e9"}', rb'{"a": "it\u0027s"}')]
    [True, False, False]
    """
    return b"\\u00" in text and _DISGUISED.search(text) is not None


def keys_twice(raw: bytes | msgspec.Raw) -> dict[str, int]:
    """Return the keys that an undecoded object has more than once, and how often; of inner objects none.

    >>> keys_twice(b'{"a": 1, "b": {"c": 1, "c": 2}, "a": 1}')
    {'a': 2}
    """
    try:
        compact = msgspec.json.format(bytes(raw), indent=-1)
        fields = msgspec.json.decode(compact, type=dict[str, msgspec.Raw])
    except DECODE_ERRORS:
        return {}
    size = _keys_size(fields) + sum(memoryview(value).nbytes for value in fields.values())
    if size == len(compact) or not fields:
        return {}
    pairs: list[str] = []

    def keep_keys(found: list[tuple[str, object]]) -> None:
        pairs[:] = [name for name, _ in found]  # the outermost object comes last

    try:
        json.loads(compact, object_pairs_hook=keep_keys)
    except (ValueError, RecursionError):
        return {}
    return {name: count for name, count in Counter(pairs).items() if count > 1}


def _keys_size(fields: Mapping[str, msgspec.Raw]) -> int:
    """Return the bytes of an object without blanks and escapes, but for its values."""
    return 1 + sum(len(name.encode()) + 4 for name in fields)


def first_bytes(content: bytes, length: int = 1) -> bytes:
    """Return the first bytes after leading blanks."""
    return content[:4096].lstrip()[:length]


def fields_of(raw: bytes | msgspec.Raw) -> dict[str, msgspec.Raw]:
    """Return a record's undecoded fields; {} when it is no valid JSON object."""
    try:
        return msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    except DECODE_ERRORS:
        return {}


def decoding_error(raw: bytes | msgspec.Raw) -> str:
    """Return the decoder's words for what is no valid JSON object.

    >>> decoding_error(b"[1]")
    'Expected `object`, got `array`'
    """
    try:
        msgspec.json.decode(raw, type=dict[str, Any])
    except DECODE_ERRORS as error:
        return str(error)
    raise AssertionError(f"a valid object: {excerpt(raw)}")


def excerpt(raw: bytes | msgspec.Raw) -> str:
    """Return the start of an undecoded value, short enough for one line of a message.

    >>> excerpt(b'[1,  2]'), len(excerpt(b"x" * 1000))
    ('[1, 2]', 63)
    """
    text = bytes(raw)
    shown = visible(b" ".join(text[:MAX_SHOWN].split()).decode("utf-8", "backslashreplace"))
    return shown + ("..." if len(text) > MAX_SHOWN else "")


def _split_top(content: bytes) -> Top:
    if first_bytes(content) == b"[":
        return msgspec.json.decode(content, type=list[msgspec.Raw])
    return msgspec.json.decode(content, type=dict[str, msgspec.Raw])


_UNUSUAL = re.compile(rb"NaN|Infinity|\\u[dD][89a-fA-F]")
# A match runs over a thousand usual tokens (numbers, texts without \u) or up to the next doubtful one. No
# input makes it slow: every alternative starts and goes on in one way only. (Possessive groups would say
# so, but fail in Python before 3.11.5.)
_DOUBTFUL = re.compile(
    rb"""(?:[^"NI\-]++ | N(?!aN) | I(?!nfinity) | -(?!Infinity)
        | "[^"\\]*+(?:\\[^u][^"\\]*+)*"            # a text without \u
        | "[^"\\]*+(?:\\.[^"\\]*+)*\\?\Z            # a text that never ends
        ){0,1000}
        (?: (?P<number>-?Infinity | NaN) | (?P<text>"[^"\\]*+(?:\\.[^"\\]*+)*")(?P<colon>\s*+:)? )?""",
    re.DOTALL | re.VERBOSE,
)


def _with_nulls(source: Source) -> tuple[bytes, tuple[str, ...]]:
    """Replace values that are no JSON by null; the notes count them."""
    content = source.content
    if not _UNUSUAL.search(content):
        return content, ()
    pieces, end = [], 0
    numbers = texts = 0
    for match in _DOUBTFUL.finditer(content):
        if match["number"]:
            numbers += 1
        elif match["text"] and _is_broken(match["text"]):
            if match["colon"]:
                raise SourceError(
                    f"{source.path}: got the key {excerpt(match['text'])} with half a surrogate pair at byte "
                    f"{match.start('text'):,}, expected Unicode text. Correct the key."
                )
            texts += 1
        else:
            continue
        start = match.start("number" if match["number"] else "text")
        pieces += [content[end:start], b"null"]
        end = match.end()
    counts = {"NaN or infinite numbers": numbers, "texts with a lone surrogate": texts}
    notes = tuple(f"{what} read as null: {count:,}" for what, count in counts.items() if count)
    return b"".join([*pieces, content[end:]]), notes


def _is_broken(text: bytes) -> bool:
    try:
        msgspec.json.decode(text, type=str)
    except DECODE_ERRORS as error:
        return not is_no_utf8(error)  # other bytes than UTF-8 are named with their record
    return False


def is_no_utf8(error: Exception) -> bool:
    """Return whether a decoder met bytes that are no UTF-8: msgspec has an error of its own from 0.23 on."""
    return isinstance(error, UnicodeDecodeError) or str(error).startswith("Invalid UTF-8")


_BYTE = re.compile(r"\(byte (\d+)\)")
_RIGHT_FILE = "Check that this is the right file."


def _explain(content: bytes, error: Exception) -> str:
    """Return `got ..., expected .... What to do.` for text that is no JSON object or array."""
    message = str(error)
    if not content.strip():
        return "got nothing but blanks, expected JSON. Download or copy it again."
    if first_bytes(content) not in (b"{", b"["):
        return (
            f"got text that starts with {excerpt(first_bytes(content, 30))!r}, expected JSON. {_RIGHT_FILE}"
        )
    if isinstance(error, RecursionError):
        return f"got JSON nested too deeply, expected flat records. {_RIGHT_FILE}"
    if is_no_utf8(error):
        return "got a key that is no UTF-8, expected UTF-8 text. Save the file as UTF-8."
    if "truncated" in message:
        return (
            f"got JSON that ends at byte {len(content):,} inside a value, expected its end. "
            "Download or copy it again: it was probably cut."
        )
    found = _BYTE.search(message)
    is_more = "trailing characters" in message
    at = (int(found[1]) if found else 0) - is_more  # there the decoder has gone one byte on
    near = excerpt(content[at : at + 30])
    if is_more:
        return f"got more text after the JSON value, at byte {at:,} ({near}), expected one value. Remove it."
    reason = _BYTE.sub("", message).removeprefix("JSON is malformed: ").strip()
    return f"got broken JSON at byte {at:,} ({reason}: {near}), expected valid JSON. Correct it."
