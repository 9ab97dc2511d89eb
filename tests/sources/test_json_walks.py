"""Large GQA files read in one walk: what decoding their records gives, or nothing."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.images import scene_graph_rows
from shortcut_miner.sources.images.scene_graphs import read_scene_graphs
from shortcut_miner.sources.opening import json_text, json_walks
from shortcut_miner.sources.questions import gqa_questions
from shortcut_miner.sources.questions.gqa import read_gqa_questions

READERS = {"questions": read_gqa_questions, "graphs": read_scene_graphs}
RECORDS = {"questions": gqa_questions._Question, "graphs": scene_graph_rows._Graph}
BOX = {"name": "cat", "x": 1, "y": 2.5, "w": 10, "h": 20, "attributes": ["red", "big"], "relations": []}
PLAIN: dict[str, dict[str, Any]] = {
    "questions": {
        "semantic": [{"operation": "select", "dependencies": [0], "argument": "cat (10)"}],
        "imageId": "n7",
        "question": "Is it red?",
        "isBalanced": True,
        "groups": {"global": None},
        "answer": "yes",
        "annotations": {"question": {"1": "10", "2:4": "11"}, "answer": {}, "fullAnswer": {"0": "10"}},
        "types": {"structural": "verify", "semantic": "attr", "detailed": "verifyAttr"},
        "fullAnswer": "Yes, it is.",
    },
    "graphs": {"width": 100, "height": 50, "objects": {"10": BOX, "11": {**BOX, "attributes": []}}},
}


def written(texts: Mapping[str, str]) -> bytes:
    """Return a file of records, each a text of JSON."""
    pairs = [f"{json.dumps(name)}: {text}" for name, text in texts.items()]
    return ("{" + ", ".join(pairs) + "}").encode("utf-8", "surrogatepass")


def plain(kind: str, count: int = 3) -> dict[str, str]:
    return {f"{at:04d}": json.dumps(PLAIN[kind]) for at in range(count)}


def is_walked(kind: str, content: bytes) -> bool:
    """Return whether a walk takes a file."""
    try:
        return all(len(walk) for walk in json_walks.walked(content, RECORDS[kind]))
    except json_text.OddError:
        return False


def outcome(kind: str, path: Path, *, is_worth: bool, on_bad_row: Any = "error") -> tuple[Any, Any]:
    """Return the tables and the notes, or the message, of a file read with or without a walk."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(json_text, "is_worth_walking", lambda _: is_worth)
        try:
            reading = READERS[kind](path, on_bad_row=on_bad_row)
        except SourceError as error:
            return None, str(error)
    tables = [reading.table, getattr(reading, "images", pl.DataFrame())]
    return tables, (reading.kind, reading.notes, reading.dropped, reading.file)


def check_same(kind: str, path: Path) -> None:
    for on_bad_row in ("error", "skip"):
        (fast, told), (slow, expected) = (
            outcome(kind, path, is_worth=is_worth, on_bad_row=on_bad_row) for is_worth in (True, False)
        )
        assert told == expected
        for one, other in zip(fast or (), slow or (), strict=True):
            assert_frame_equal(one, other)


def check_file(kind: str, content: bytes, folder: Path) -> None:
    path = folder / "file.json"
    path.write_bytes(content)
    check_same(kind, path)


texts = st.text(max_size=8) | st.sampled_from(
    ["", " ", "é", "\x00", "\\", '"', "\n", "😀", '"imageId":', "\ud800"]
)
numbers = st.integers() | st.floats() | st.sampled_from([0, -0.0, 1e22, 2**53 + 1, 10**15, 10**400, 0.1])
scalars = st.none() | st.booleans() | numbers | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
MAPS = st.dictionaries(texts, texts | scalars, max_size=2) | st.none() | values
FIELDS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "questions": {
        "imageId": texts | st.integers(-3, 3) | values,
        "question": texts | values,
        "answer": texts | st.none(),
        "fullAnswer": texts | values,
        "types": st.fixed_dictionaries({}, optional={"structural": texts, "detailed": values, "x": values}),
        "annotations": st.fixed_dictionaries({}, optional={"question": MAPS, "answer": MAPS, "more": values}),
        "semantic": values,
    },
    "graphs": {
        "width": numbers | values,
        "height": st.integers(1, 9),
        "objects": st.dictionaries(
            texts,
            st.fixed_dictionaries(
                {"name": texts, "x": numbers, "y": numbers | st.integers(0, 9), "w": numbers, "h": numbers},
                optional={"attributes": st.lists(texts, max_size=2) | values, "more": values, "z": values},
            ),
            max_size=3,
        ),
        "location": values,
    },
}


@st.composite
def objects(draw: st.DrawFn, value: dict[str, Any]) -> str:
    """Draw how an object is written: with blanks and escapes of any kind, and sometimes a key twice."""
    pairs = [
        json.dumps(name) + draw(st.sampled_from([":", ": ", " :\t"])) + draw(written_values(one))
        for name, one in value.items()
    ]
    if pairs and draw(st.integers(0, 9)) == 0:
        pairs.append(draw(st.sampled_from(pairs)))
    between = draw(st.sampled_from([",", ", ", ",\n ", "\r,"]))
    return draw(st.sampled_from(["{", "{ "])) + between.join(pairs) + "}"


@st.composite
def written_values(draw: st.DrawFn, value: Any) -> str:
    if isinstance(value, dict):
        return draw(objects(value))
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


@st.composite
def files(draw: st.DrawFn, kind: str) -> bytes:
    """Draw a file of plain records, some with other values or fields."""
    listed = {}
    for at in range(draw(st.integers(1, 4))):
        record = dict(PLAIN[kind])
        for name in draw(st.sets(st.sampled_from(sorted(FIELDS[kind])), max_size=3)):
            record[name] = draw(FIELDS[kind][name])
        for name in draw(st.sets(st.sampled_from(sorted(record)), max_size=1)):
            record.pop(name) if draw(st.booleans()) else None
        listed[draw(st.sampled_from(["", "0", "1.0", "n"])) + str(at)] = draw(objects(record))
    return written(listed)


@pytest.mark.parametrize("kind", READERS)
@given(data=st.data())
def test_any_records_give_what_decoding_them_gives(kind, data, tmp_path_factory):
    check_file(kind, data.draw(files(kind)), tmp_path_factory.mktemp("drawn"))


@pytest.mark.parametrize("kind", READERS)
@given(data=st.data())
def test_damaged_files_are_told_as_decoding_them_tells(kind, data, tmp_path_factory):
    content = bytearray(written(plain(kind, 2)))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content)))
        end = data.draw(st.sampled_from([at, at + 1, at + 5]))
        content[at:end] = data.draw(
            st.sampled_from([b"", b'"', b"\\", b"{", b"}", b",", b"0", b" ", b"\xff"])
        )
    content = content[: data.draw(st.integers(1, len(content)) | st.just(len(content)))]
    check_file(kind, bytes(content) or b" ", tmp_path_factory.mktemp("damaged"))


FINE = {
    "questions": [
        '{"imageId": 7, "question": "a"}',
        '{"question": "\\u00e9 \\"\\\\\\/\\b\\f\\n\\r\\t", "imageId": "\\u0030", "types": null}',
        '{ "question" : "é😀" ,\n"imageId":"7","x":[[],{},[{"a":{}},-0.5E+3,true,false,null,"\\u12Ab"]]}',
        '{"imageId": "7", "question": "a", "annotations": {"answer": null}, "types": {"semantic": null}}',
    ],
    "graphs": [
        '{"objects": {}}',
        '{"objects": {"1": {"name": "\\u00e9", "x": 0.1, "y": -3, "w": 1e3, "h": 123456789012345678901}}}',
        '{"height": 2.5, "objects": {"1": {"name": "", "x": 0, "y": 0, "w": 1, "h": 1, "attributes": null}}}',
        '{"width": null, "objects": {}}',
    ],
}  # fmt: skip
ODD = {
    "questions": [
        '{"imageId": 1.0, "question": "a"}',
        '{"imageId": -1, "question": "a"}',
        '{"imageId": 1234567890123456, "question": "a"}',
        '{"imageId": "1"}',
        '{"imageId": "1", "question": null}',
        '{"imageId": "1", "question": "\\ud83d\\ude00"}',
        '{"imageId": "1", "question": "a", "question": "b"}',
        '{"imageId": "1", "question": "a", "\\u0061": "b"}',
        '{"imageId": "1", "question": "a", "types": {"semantic": 1}}',
        '{"imageId": "1", "question": "a", "types": []}',
        '{"imageId": "1", "question": "a", "annotations": {"answer": {"0": null}}}',
        '{"imageId": "1", "question": "a", "annotations": {"answer": ["0"]}}',
        '{"imageId": "1", "question": "a", "x": {"y": [{"z": 1, "z": 2}]}}',
        '{"imageId": "1", "question": "a", "x": ' + "[" * 80 + "]" * 80 + "}",
        '{"imageId": "1", "question": "a", "x": {' + ",".join(f'"{at}":0' for at in range(9000)) + "}}",
        *(f'{{"imageId": "1", "question": "a", "x": {value}}}' for value in (
            "01", "1.", ".5", "-", "+1", "1e", "1e+", "nul", "True", '"\t"', '"\\x"', '"\\u12g4"', "'a'",
            "[1,]", "[,1]", "[1 2]", "{,}", "NaN", '{"a"}', '{"a":}', '{"a":1,}', "{1:2}", "[}", "{]", "",
        )),
        "null", "7", "[]", "{}",
    ],
    "graphs": [
        '{"width": 1}',
        '{"objects": null}',
        '{"objects": {"1": null}}',
        '{"objects": {"1": {"name": "a", "x": 0, "y": 0, "w": 1}}}',
        '{"objects": {"1": {"name": "a", "x": "0", "y": 0, "w": 1, "h": 1}}}',
        '{"objects": {"1": {"name": "a", "x": 0, "x": 0, "y": 0, "w": 1, "h": 1}}}',
        '{"objects": {"1": {"name": "a", "x": 0, "y": 0, "w": 1, "h": 1, "attributes": [null]}}}',
        '{"objects": {"1": {"name": "a", "x": 0, "y": 0, "w": 1, "h": 1, "attributes": "red"}}}',
    ],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "record"), [(kind, one) for kind, fine in FINE.items() for one in fine])
def test_a_plain_record_is_walked(kind, record, tmp_path):
    content = written(plain(kind) | {"9": record})
    assert is_walked(kind, content)
    check_file(kind, content, tmp_path)


@pytest.mark.parametrize(("kind", "record"), [(kind, one) for kind, odd in ODD.items() for one in odd])
def test_an_odd_record_is_left_to_the_decoder(kind, record, tmp_path):
    content = written(plain(kind) | {"9": record})
    assert not is_walked(kind, content)
    check_file(kind, content, tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"{}", b"{", b"[]", b" ", b'{"a": 1}', b'{"a": {}} ', b'{"0": %s}}', b'{"0": %s} x', b'{"0": %s',
     b'{"0": %s,}', b'{"0": %s "1": %s}', b'{"0": %s, "0": %s}', b'{"\\u0030": %s}', b'{"0": %s}\n{"1": %s}'],
)  # fmt: skip
def test_other_files_are_left_to_the_decoder(content, tmp_path):
    record = json.dumps(PLAIN["questions"]).encode()
    check_file("questions", content.replace(b"%s", record), tmp_path)


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize(
    "before", [b"\v", b"\f", b" \n\f", b"\0", b"\xc2\xa0", b"\xef\xbb\xbf", b"x", b" " * 5000 + b"\v"]
)
def test_what_is_no_blank_of_json_is_left_to_the_decoder(kind, before, tmp_path):
    content = before + written(plain(kind))
    assert not is_walked(kind, content)
    check_file(kind, content, tmp_path)


@pytest.mark.parametrize("number", ["1e400", "-1e309", "1" + "0" * 309, "-1" + "0" * 400 + ".5"])
@pytest.mark.parametrize("side", ["y", "w"])
def test_a_number_too_large_for_a_float_is_told_as_the_decoder_tells(number, side, tmp_path):
    box = json.dumps(BOX | {side: "HERE"}).replace('"HERE"', number)
    content = written(plain("graphs") | {"9": f'{{"width": 1, "height": 1, "objects": {{"1": {box}}}}}'})
    check_file("graphs", content, tmp_path)


@pytest.mark.parametrize("text", [b'"\xff"', b'"\xed\xa0\x80"', b'"\xc0\xaf"', b'"\xc3"'])
@pytest.mark.parametrize("field", ["question", "semantic"])
def test_text_that_is_no_unicode_is_left_to_the_decoder(text, field, tmp_path):
    content = written({"1": json.dumps(PLAIN["questions"] | {field: "HERE"})}).replace(b'"HERE"', text)
    assert not is_walked("questions", content)
    check_file("questions", content, tmp_path)


@pytest.mark.parametrize("kind", READERS)
def test_records_are_walked_a_few_at_a_time(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(json_walks, "_ROWS", 5)
    content = written(plain(kind, 12))
    assert [len(walk) for walk in json_walks.walked(content, RECORDS[kind])] == [2] * 6
    check_file(kind, content, tmp_path)
    monkeypatch.setattr(json_walks, "_ROWS", 1)  # not enough for one record
    assert not is_walked(kind, content)
    check_file(kind, content, tmp_path)


@pytest.mark.parametrize("kind", READERS)
def test_small_files_load_no_kernels(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(json_walks, "walked", lambda content, record_type: pytest.fail("walked"))
    path = tmp_path / "file.json"
    path.write_bytes(written(plain(kind)))
    READERS[kind](path)
