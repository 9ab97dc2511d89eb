"""Large files matched against how a record is written: what decoding their records gives, or nothing."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from sources.vqa_records import ANSWERS, PLAIN, READERS, records, written

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.images import image_labels
from shortcut_miner.sources.opening import alike_records, json_text
from shortcut_miner.sources.opening.alike_layouts import MOST_LAYOUTS
from shortcut_miner.sources.questions import vqa_annotations, vqa_questions

RECORDS = {
    "questions": vqa_questions._Question,
    "annotations": vqa_annotations._PlainAnnotation,
    "labels": image_labels._Detections,
}


def plain(kind: str, count: int = 3, **fields: Any) -> list[str]:
    """Return texts of records; numbers in place of ids that are to differ."""
    numbered = ({} if kind == "labels" else {"question_id": 100 + at} for at in range(count))
    return [json.dumps(PLAIN[kind] | one | fields) for one in numbered]


def is_matched(kind: str, content: bytes) -> bool:
    """Return whether a file is matched to its end."""
    try:
        alike_records.read_alike(content, RECORDS[kind], None if kind == "labels" else kind)
    except json_text.OddError:
        return False
    return True


def outcome(kind: str, path: Path, *, is_worth: bool, on_bad_row: Any) -> tuple[pl.DataFrame | None, Any]:
    """Return the table and the notes, or the message, of a file that is matched or decoded."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(json_text, "is_worth_walking", lambda _: is_worth)
        try:
            reading = READERS[kind][1](path, on_bad_row=on_bad_row)
        except SourceError as error:
            return None, str(error)
    return reading.table, (reading.kind, reading.notes, reading.dropped, reading.file)


def check_file(kind: str, content: bytes | str, folder: Path) -> None:
    """Check that a file gives the same, matched or decoded."""
    path = folder / "file.json"
    path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
    for on_bad_row in ("error", "skip"):
        (fast, told), (slow, expected) = (
            outcome(kind, path, is_worth=is_worth, on_bad_row=on_bad_row) for is_worth in (True, False)
        )
        assert told == expected
        if slow is not None:
            assert_frame_equal(fast, slow)


@pytest.mark.parametrize("kind", READERS)
@given(data=st.data())
def test_any_records_give_what_decoding_them_gives(kind, data, tmp_path_factory):
    drawn = data.draw(records(kind))
    check_file(kind, written(kind, drawn), tmp_path_factory.mktemp("drawn"))


@pytest.mark.parametrize("kind", READERS)
@given(data=st.data())
def test_damaged_files_are_told_as_decoding_them_tells(kind, data, tmp_path_factory):
    content = bytearray(written(kind, plain(kind)).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content)))
        end = data.draw(st.sampled_from([at, at + 1, at + 5]))
        content[at:end] = data.draw(
            st.sampled_from([b"", b'"', b"\\", b"{", b"}", b"[", b"]", b",", b"0", b" ", b"\xff", b"-", b"."])
        )
    content = content[: data.draw(st.integers(1, len(content)) | st.just(len(content)))]
    check_file(kind, bytes(content) or b" ", tmp_path_factory.mktemp("damaged"))


@st.composite
def spaced(draw: st.DrawFn, kind: str) -> str:
    """Draw a file of records of several programs: fields in any order, any blanks, and further fields."""
    blank = st.sampled_from(["", " ", "\n  "])
    listed = []
    for text in plain(kind, draw(st.integers(2, 6))):
        value: dict[str, Any] = json.loads(text)
        value |= draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "number": st.integers() | st.floats(allow_nan=False, allow_infinity=False),
                    "word": st.none() | st.booleans() | st.text(),
                    "list": st.lists(st.integers(0, 9) | st.text(max_size=3), max_size=3),
                    "object": st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
                },
            )
        )
        names = draw(st.permutations(sorted(value)))
        separators = (draw(blank) + "," + draw(blank), ":" + draw(blank))
        indent = draw(st.sampled_from([None, None, 1]))
        listed.append(json.dumps({name: value[name] for name in names}, separators=separators, indent=indent))
    return written(kind, [draw(blank) + one + draw(blank) for one in listed])


@pytest.mark.parametrize("kind", READERS)
@given(data=st.data())
def test_records_written_by_several_programs(kind, data, tmp_path_factory):
    check_file(kind, data.draw(spaced(kind)), tmp_path_factory.mktemp("spaced"))


ANNOTATION = '{"question_id": 91, "image_id": 9, "multiple_choice_answer": "a", '
FINE = {
    "questions": [
        '{"image_id": 9, "question": "a", "question_id": "n-91", "split": null}',
        '{ "split" : "val", "question_id":0 ,"question" : "\\u00e9\\ud83d\\ude00\\"\\/", "image_id" : 12 }',
        '{"image_id": 9, "question": "' + "é" * 50 + '", "question_id": 123456789012345}',
        '{"image_id": 9, "question": "a", "question_id": 91, "x": {"y": {"z": -5E+3}}, "w": [{}, {}]}',
        '{"image_id": 9, "question": "a", "question_id": 91, "x": [1, null, true, false, 1e400, "\\u0061"]}',
        '{"image_id": 9, "question": "a", "question_id": 91, "x": [], "y": "\\u0061"}',
    ],
    "annotations": [
        '{"question_id": 91, "image_id": 9, "multiple_choice_answer": ""}',
        ANNOTATION + '"answers": []}',
        ANNOTATION + '"answers": null, "answer_type": null, "question_type": "a text of some length"}',
        ANNOTATION + '"answers": [ {"answer_id": 0, "answer": "b"} , {"answer_id": 12, "answer": ""} ]}',
        ANNOTATION + '"answers": [{"answer_id": 7, "answer": "b", "more": {"a": "b"}}]}',
    ],
    "labels": [
        '{"classes": [], "scores": []}',
        '{"scores": [1e-3, 0], "classes": ["a", "\\u00e9"]}',
        '{"scores": [0.1234567890123456789, 0.5, 1.0], "classes": ["a", "b", "c"], "size": [1, 2]}',
    ],
}  # fmt: skip
ODD = {
    "questions": [
        '{"image_id": 9, "question": "a", "question_id": 91.0}',
        '{"image_id": 9, "question": "a", "question_id": -1}',
        '{"image_id": 9, "question": "a", "question_id": 1234567890123456}',
        '{"image_id": 9, "question": "a"}',
        '{"image_id": 9, "question": null, "question_id": 91}',
        '{"image_id": 9, "question": "\\ud83d", "question_id": 91}',
        '{"image_id": 9, "question": "a", "question_id": 91, "question_id": 92}',
        '{"image_id": 9, "question": "a", "question_id": 91, "\\u0061": 92}',
        '{"image_id": 9, "question": "a", "question_id": 91, "x": {"y": 1, "y": 2}}',
        '{"image_id": 9, "question": "a", "question_id": 91, "x": [[1]]}',
        '{"image_id": 9, "question": "a", "question_id": 91, "x": [{"a": 1}, {"b": 1}]}',
        '{"image_id": 9, "question": "a", "question_id": 91, "split": 7}',
        '{"image_id": 9, "question": ["a"], "question_id": 91}',
        *(f'{{"image_id": 9, "question": "a", "question_id": 91, "x": {value}}}' for value in (
            "01", "1.", ".5", "-", "+1", "1e", "1e+", "nul", "True", '"\t"', '"\\x"', '"\\u12g4"', "'a'",
            "[1,]", "[,1]", "[1 2]", "{,}", "NaN", '{"a"}', '{"a":}', '{"a":1,}', "{1:2}", "[}", "{]", "",
        )),
        "null", "7", "[]", "{}",
    ],
    "annotations": [
        '{"question_id": 91, "image_id": 9, "multiple_choice_answer": null, "answers": []}',
        ANNOTATION + '"answers": [{"answer_id": 2, "answer": "b"}, {"answer_id": 2, "answer": "b"}]}',
        ANNOTATION + '"answers": [{"answer_id": "1", "answer": "b"}]}',
        ANNOTATION + '"answers": [{"answer_id": 1.5, "answer": "b"}]}',
        ANNOTATION + '"answers": [{"answer_id": 1, "answer": null}]}',
        ANNOTATION + '"answers": [{"answer": "b"}]}',
        ANNOTATION + '"answers": [null]}',
        ANNOTATION + '"answers": ["a"]}',
        ANNOTATION + '"answers": "a"}',
        ANNOTATION + '"answers": {"answer_id": 1, "answer": "b"}}',
        ANNOTATION + '"answers": [{"answer_id": 1, "answer": "b", "x": [1]}]}',
    ],
    "labels": [
        '{"classes": ["a"]}',
        '{"classes": [null], "scores": [1]}',
        '{"classes": ["a"], "scores": ["1"]}',
        '{"classes": ["a"], "scores": [1e400]}',
        '{"classes": "a", "scores": [1]}',
        '{"classes": [["a"]], "scores": [1]}',
    ],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "record"), [(kind, one) for kind, fine in FINE.items() for one in fine])
@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_plain_record_is_matched(kind, record, place, tmp_path):
    listed = plain(kind)
    listed.insert(place, record)
    assert is_matched(kind, written(kind, listed).encode())
    check_file(kind, written(kind, listed), tmp_path)


@pytest.mark.parametrize(("kind", "record"), [(kind, one) for kind, odd in ODD.items() for one in odd])
@pytest.mark.parametrize("place", [0, 3])
def test_an_odd_record_is_left_to_the_decoder(kind, record, place, tmp_path):
    listed = plain(kind)
    listed.insert(place, record)
    assert not is_matched(kind, written(kind, listed).encode())
    check_file(kind, written(kind, listed), tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        "[%s]",
        " [ %s , %s ] ",
        '{"questions": [%s]}',
        '\n{"questions" : [ %s\n] }\n',
        "[]",
        "{}",
        "{",
        "[",
        " ",
        '{"questions": [%s], "questions": [%s]}',
        '{"questions": [%s], "questions": 1}',
        '{"questions": []}',
        '{"info": {"questions": [%s]}, "questions": []}',
        '{"info": {"questions": [%s]}}',
        '{"info": {"questions": [%s]}, "\\u0071uestions": []}',
        '{"info": "questions", "questions": [%s]}',
        '{"questions": [%s], "x": 1, "x": 2}',
        '{"questions": [%s]} x',
        '{"questions": [%s]',
        '{"questions": [%s',
        '{"questions": [%s] "x": 1}',
        '{"questions": [%s],}',
        '{"questions": [%s %s]}',
        '{"questions": [%s,]}',
        '{"x": NaN, "questions": [%s]}',
        '{"annotations": [%s], "questions": [%s]}',
        '{"questions": [%s}}',
        '{"questions": {"a": %s}}',
        '{"questions": [%s]}\n{"questions": [%s]}',
        '{"x": "\\ud800", "questions": [%s]}',
        "%s\n%s",
        "[%s] []",
        '{"questions": "[%s]"}',
        "\v[%s]",
        "\ufeff[%s]",
    ],
)
def test_what_is_around_the_records(content, tmp_path):
    for record in plain("questions", 40):
        content = content.replace("%s", record, 1)
    check_file("questions", content, tmp_path)


@pytest.mark.parametrize("read", ["questions", "annotations", "labels"])
@pytest.mark.parametrize("kind", ["questions", "annotations", "labels"])
def test_a_file_of_another_kind_is_told_as_it_was(read, kind, tmp_path):
    check_file(read, written(kind, plain(kind, 30)), tmp_path)
    check_file(read, "[" + ",".join(plain(kind, 30)) + "]", tmp_path)


@pytest.mark.parametrize(
    "name", ["annotations", "image_id", "1.0", "a", "COCO_val2014_000000000042.jpg", "n0"]
)
def test_names_of_images_by_which_a_file_would_be_another(name, tmp_path):
    named = {f"n{at}": PLAIN["labels"] for at in range(30)} | {name: PLAIN["labels"]}
    check_file("labels", json.dumps(named), tmp_path)
    check_file("labels", json.dumps(named | {"images": PLAIN["labels"], "label": PLAIN["labels"]}), tmp_path)
    check_file("labels", json.dumps(named).replace('"n1":', f'"{name}":'), tmp_path)


@pytest.mark.parametrize("text", [b'"\xff"', b'"\xed\xa0\x80"', b'"\xc0\xaf"', b'"\xc3"'])
@pytest.mark.parametrize("field", ["question", "more"])
def test_text_that_is_no_unicode_is_left_to_the_decoder(text, field, tmp_path):
    content = written("questions", plain("questions", **{field: "HERE"})).encode().replace(b'"HERE"', text)
    assert not is_matched("questions", content)
    check_file("questions", content, tmp_path)


@pytest.mark.parametrize("text", [b'"\xff"', b'"a\tb"', b'"\\u0061"', b'""'])
def test_keys_of_any_bytes(text, tmp_path):
    content = written("questions", plain("questions", more={"HERE": 1}, HERE=1)).encode()
    check_file("questions", content.replace(b'"HERE"', text), tmp_path)


@pytest.mark.parametrize("kind", READERS)
def test_the_last_records_are_matched_apart(kind, tmp_path, monkeypatch):
    listed = [text.replace("dog", "a long name of a dog") for text in plain(kind, 40)]
    for at in (10, 39):
        escaped = listed[at].replace('"What', '"\\u0057hat').replace('"cat"', '"\\u0063at with a long name"')
        listed[at] = escaped.replace("0.75", "0.7500000000000000000")
    content = written(kind, listed)
    for tail in (600, 1500):
        monkeypatch.setattr(alike_records, "_TAIL", tail)
        assert is_matched(kind, content.encode())
        check_file(kind, content, tmp_path)


@pytest.mark.parametrize(("name", "room"), [("_MOST_TEXT", 20), ("_MOST_NOTES", 1)])
def test_a_file_without_room_is_left_to_the_decoder(name, room, tmp_path, monkeypatch):
    text = "\\u0061 long question type" if name == "_MOST_NOTES" else "a long type of some answers"
    content = written("annotations", plain("annotations", question_type="HERE", answer_type="HERE"))
    content = content.replace("HERE", text)
    assert is_matched("annotations", content.encode())
    monkeypatch.setattr(alike_records, name, room)
    assert not is_matched("annotations", content.encode())
    check_file("annotations", content, tmp_path)


def test_a_process_that_gets_no_room_leaves_a_file_to_the_decoder(tmp_path, monkeypatch):
    def refused(*_: Any) -> Any:
        raise MemoryError

    content = written("questions", plain("questions"))
    with monkeypatch.context() as patched:
        patched.setattr(alike_records.np, "empty", refused)
        assert not is_matched("questions", content.encode())


@pytest.mark.parametrize("kind", READERS)
def test_the_shortest_records_have_room(kind, tmp_path):
    shortest = {
        "questions": '{"question_id":%d,"image_id":1,"question":"a"}',
        "annotations": '{"question_id":%d,"image_id":1,"answers":[' + '{"answer":"","answer_id":1}' + "]}",
        "labels": '{"classes":["a","b"],"scores":[1,%d]}',
    }[kind]
    content = written(kind, [shortest % (at % 10 if kind != "labels" else 0) for at in range(10)])
    assert is_matched(kind, content.encode())
    check_file(kind, content, tmp_path)


@pytest.mark.parametrize("count", [MOST_LAYOUTS, MOST_LAYOUTS + 1])
def test_so_many_ways_of_writing_are_learned(count, tmp_path):
    listed = [
        json.dumps({"question_id": at, "image_id": 9, "question": "a", f"more{at % count}": 1})
        for at in range(2 * count)
    ]
    content = written("questions", listed)
    assert is_matched("questions", content.encode()) == (count == MOST_LAYOUTS)
    check_file("questions", content, tmp_path)


def test_the_lists_of_answers_keep_their_lengths(tmp_path):
    counts = [3, 0, 1, 2, 3, 0]
    listed = [
        json.dumps(PLAIN["annotations"] | {"question_id": at, "answers": ANSWERS[:count]})
        for at, count in enumerate(counts)
    ]
    content = written("annotations", listed)
    table = alike_records.read_alike(content.encode(), RECORDS["annotations"], "annotations").table
    assert table["answers.answer"].list.len().to_list() == counts
    check_file("annotations", content, tmp_path)


@pytest.mark.parametrize("kind", READERS)
def test_small_files_load_no_kernels(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(alike_records, "read_alike", lambda *_: pytest.fail("matched"))
    path = tmp_path / "file.json"
    path.write_text(written(kind, plain(kind)))
    READERS[kind][1](path)
