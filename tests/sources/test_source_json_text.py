import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.opening.files import open_source
from shortcut_miner.sources.opening.json_text import parse_json, records_under

Write = Callable[[str, Any], Path]


def message_of(path: Path) -> str:
    with pytest.raises(SourceError) as caught:
        parse_json(open_source(path))
    message = str(caught.value)
    assert message.startswith(f"{path}: got ")
    assert ", expected " in message
    return message.removeprefix(f"{path}: ")


def test_an_object_and_a_list_are_split(write: Write) -> None:
    top = parse_json(open_source(write("a", b' {"a": [1, 2], "b": {"c": null}} '))).top
    assert {key: bytes(value) for key, value in top.items()} == {"a": b"[1, 2]", "b": b'{"c": null}'}
    top = parse_json(open_source(write("a", b"\r\n[1,\r\n {}]\r\n"))).top
    assert [bytes(value) for value in top] == [b"1", b"{}"]


def test_every_cut_of_a_json_text_is_told(write: Write) -> None:
    text = '{"info": {"year": 2017}, "questions": [{"question_id": 1, "question": "caf\\u00e9 ?"}]}'
    for cut in range(1, len(text)):
        assert message_of(write("cut.json", text[:cut])) == (
            f"got JSON that ends at byte {cut} inside a value, expected its end. "
            "Download or copy it again: it was probably cut."
        )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            '{"questions": []}{"questions": []}',
            'got more text after the JSON value, at byte 17 ({"questions": []}), '
            "expected one value. Remove it.",
        ),
        (
            '[{"a": 1}]\n[{"a": 2}]',
            'got more text after the JSON value, at byte 11 ([{"a": 2}]), expected one value. Remove it.',
        ),
        (
            '{"a": [1, 2,]}',
            "got broken JSON at byte 12 (trailing comma in array: ]}), expected valid JSON. Correct it.",
        ),
        (
            "{'a': 1}",
            "got broken JSON at byte 1 (object keys must be strings: 'a': 1}), "
            "expected valid JSON. Correct it.",
        ),
        (
            '{"a": "x\ny"}',
            'got broken JSON at byte 8 (invalid character: y"}), expected valid JSON. Correct it.',
        ),
        (
            "question_id,answer",
            "got text that starts with 'question_id,answer', expected JSON. "
            "Check that this is the right file.",
        ),
        (
            "null",
            "got text that starts with 'null', expected JSON. Check that this is the right file.",
        ),
        (" \n\t ", "got nothing but blanks, expected JSON. Download or copy it again."),
        (
            '{"a": ' + "[" * 100_000,
            "got JSON nested too deeply, expected flat records. Check that this is the right file.",
        ),
        (
            b'{"\xff": 1}',
            "got a key that is no UTF-8, expected UTF-8 text. Save the file as UTF-8.",
        ),
        (
            r'{"a": 1, "k\udc00": 2}',
            r'got the key "k\udc00" with half a surrogate pair at byte 9, '
            "expected Unicode text. Correct the key.",
        ),
    ],
)  # fmt: skip
def test_broken_text_is_explained(write: Write, content: str | bytes, expected: str) -> None:
    assert message_of(write("broken.json", content)) == expected


def test_tokens_that_are_no_json_are_read_as_null_and_noted(write: Write) -> None:
    text = r"""{"NaN": [NaN, -Infinity, Infinity, "NaN, Infinity \" NaN", "\ud83d\ude00", "\\ud800"],
        "lone": ["\ud800", "x\udc00y", "\ud800\ud800", "\"\ud800"]}"""
    parsed = parse_json(open_source(write("a", text)))
    assert parsed.notes == (
        "NaN or infinite numbers read as null: 3",
        "texts with a lone surrogate read as null: 4",
    )
    values = {key: json.loads(bytes(value)) for key, value in parsed.top.items()}
    assert values["NaN"] == [None, None, None, 'NaN, Infinity " NaN', "\U0001f600", "\\ud800"]
    assert values["lone"] == [None] * 4


def test_a_file_cut_after_a_nan_is_still_called_cut(write: Write) -> None:
    assert "ends at byte 14 inside a value" in message_of(write("a", '{"a": [NaN, 1'))


def test_a_list_that_is_there_twice(write: Write) -> None:
    records = json.dumps([{"question_id": number} for number in range(20)])
    path = write("twice.json", f'{{"questions": {records}, "questions": {records}}}')
    source = open_source(path)
    top = parse_json(source).top
    assert isinstance(top, dict)
    with pytest.raises(SourceError) as caught:
        records_under(source, top, "questions")
    assert str(caught.value) == (
        f"{path}: got the key 'questions' more than once, expected one list. Join the lists into one."
    )


def test_a_pretty_printed_file_has_its_keys_once(write: Write) -> None:
    path = write("a", json.dumps({"questions": ["questions"], "info": {"questions": 1}}, indent=40))
    source = open_source(path)
    top = parse_json(source).top
    assert isinstance(top, dict)
    assert [msgspec.json.decode(raw) for raw in records_under(source, top, "questions")] == ["questions"]


@pytest.mark.parametrize(
    "content",
    [
        b"[NaN, " + b"N" * 200_000,
        b"[NaN, " + b'"' + b'a\\"' * 100_000,
        b"[NaN, " + b'"\\u00e9' * 50_001,
        b"[NaN, " + b'"\\ud83d\\ude00" : , ' * 50_000 + b'"\\',
        b"[NaN, " + b"-" * 100_000 + b"I" * 100_000,
    ],
)
def test_no_broken_text_takes_long(write: Write, content: bytes) -> None:
    # Each would take minutes if a scan started anew at every byte.
    assert "got " in message_of(write("broken.json", content))
