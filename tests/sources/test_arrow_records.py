"""Records parsed by Arrow: the columns that decoding them gives, or none."""

import json
from typing import Any

import msgspec
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from sources.vqa_records import PLAIN, READERS, records, written

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.images import image_labels
from shortcut_miner.sources.opening import arrow_records
from shortcut_miner.sources.questions import vqa_annotations, vqa_questions


def outcome(kind: str, path: Any, *, is_fast: bool) -> tuple[pl.DataFrame | None, Any]:
    """Return the table and the notes, or the message, of a file read with or without Arrow."""
    module, read = READERS[kind]

    def never(raws: Any, record_type: Any) -> Any:
        return [(0, raws, None)]

    with pytest.MonkeyPatch.context() as patched:
        if not is_fast:
            patched.setattr(module, "arrow_chunks", never)
        try:
            reading = read(path)
        except SourceError as error:
            return None, str(error)
    return reading.table, (reading.notes, reading.dropped)


def check_same(kind: str, path: Any) -> None:
    (fast, told), (slow, expected) = (outcome(kind, path, is_fast=is_fast) for is_fast in (True, False))
    assert told == expected
    if slow is not None:
        assert_frame_equal(fast, slow)


def parsed(kind: str, record: str) -> bool:
    """Return whether Arrow takes a plain record followed by this one."""
    record_type = {
        "questions": vqa_questions._Question,
        "annotations": vqa_annotations._Annotation,
        "labels": image_labels._Detections,
    }[kind]
    raws = [msgspec.Raw(json.dumps(PLAIN[kind]).encode()), msgspec.Raw(record.encode())]
    ((_, _, table),) = arrow_records.arrow_chunks(raws, record_type)
    return table is not None


@pytest.mark.parametrize("kind", READERS)
@given(data=st.data())
def test_any_records_give_what_decoding_them_gives(kind, data, tmp_path_factory):
    path = tmp_path_factory.mktemp("drawn") / "file.json"
    path.write_bytes(written(kind, data.draw(records(kind))).encode("utf-8", "surrogatepass"))
    check_same(kind, path)


ODD = {
    "questions": [
        '{"image_id":9,"question":"a","question_id":"91"}',
        '{"image_id":9,"question":"a","question_id":91.0}',
        '{"image_id":9,"question":"a","question_id":9223372036854775808}',
        '{"image_id":9,"question":"a","question_id":null}',
        '{"image_id":9,"question":"a"}',
        '{"image_id":9,"question":null,"question_id":91}',
        '{"image_id":9,"question":"a","question_id":91,"more":1}',
        '{"image_id":9,"question":"a","question_id":91,"question_id":92}',
        '{"image_id":9,"question":"a","question_id":91,"split":7}',
        '[1]',
        'null',
        '7',
    ],
    "annotations": [
        '{"question_id":91,"image_id":9,"multiple_choice_answer":null,"answers":null}',
        '{"question_id":91,"image_id":9,"answers":null}',
        '{"question_id":91,"image_id":9,"multiple_choice_answer":"a","answers":[null]}',
        '{"question_id":91,"image_id":9,"multiple_choice_answer":"a","answers":[{"answer":null}]}',
        '{"question_id":91,"image_id":9,"multiple_choice_answer":"a","answers":[{"answer":"a","answer":"b"}]}',
        '{"question_id":91,"image_id":9,"multiple_choice_answer":"a","answers":["a"]}',
        '{"question_id":91,"image_id":9,"multiple_choice_answer":"a","answers":"a"}',
    ],
    "labels": ['{"classes":["a"]}', '{"classes":[null],"scores":[1]}', '{"classes":["a"],"scores":["1"]}'],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "record"), [(kind, one) for kind, odd in ODD.items() for one in odd])
def test_an_odd_record_is_left_to_the_decoder(kind, record, tmp_path):
    assert not parsed(kind, record)
    path = tmp_path / "file.json"
    path.write_text(written(kind, [json.dumps(PLAIN[kind]), record]))
    check_same(kind, path)


FINE = {
    "questions": [
        '{ "split" : null, "question_id":-0 ,"question" : "\\u00e9\\ud83d\\ude00\\u0000", "image_id" : 12 }',
        '{"image_id":9,"question":"é","question_id":9223372036854775807,"split":"val"}',
        '{"image_id":9,\n"question":"a",\r\n"question_id":91}',
    ],
    "annotations": [
        '{"question_id":91,"image_id":9,"multiple_choice_answer":"","answers":[]}',
        '{"question_id":91,"image_id":9,"multiple_choice_answer":"","answer_type":null}',
    ],
    "labels": ['{"classes":[],"scores":[]}', '{"scores":[1e-3,0],"classes":["a","b"]}'],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "record"), [(kind, one) for kind, fine in FINE.items() for one in fine])
def test_a_plain_record_is_parsed_by_arrow(kind, record, tmp_path):
    assert parsed(kind, record)
    path = tmp_path / "file.json"
    path.write_text(written(kind, [json.dumps(PLAIN[kind]), record]))
    check_same(kind, path)


@pytest.mark.parametrize(
    "text", [b'"\xff"', b'"\\ud800"', b'"\\udc00"', b'"\xed\xa0\x80"', b'"a\x01"', b'"\xc0\xaf"']
)
def test_text_that_is_no_unicode_is_left_to_the_decoder(text, tmp_path):
    path = tmp_path / "questions.json"
    path.write_bytes(b'{"questions":[{"question_id":1,"image_id":2,"question":%s}]}' % text)
    check_same("questions", path)


def test_a_chunk_with_an_odd_record_leaves_the_others_to_arrow(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_records, "CHUNK_RECORDS", 2)
    listed = [json.dumps(PLAIN["annotations"] | {"question_id": at}) for at in range(5)]
    listed[3] = json.dumps(PLAIN["annotations"] | {"question_id": "3"})
    path = tmp_path / "annotations.json"
    path.write_text(written("annotations", listed))
    raws = [msgspec.Raw(one.encode()) for one in listed]
    found = [
        table is not None for _, _, table in arrow_records.arrow_chunks(raws, vqa_annotations._Annotation)
    ]
    assert found == [True, False, True]
    check_same("annotations", path)


def test_answer_records_that_may_be_equal_are_compared(tmp_path):
    twice = [{"answer": "a", "answer_confidence": "yes", "answer_id": 1}] * 2
    path = tmp_path / "annotations.json"
    path.write_text(
        written(
            "annotations",
            [json.dumps(PLAIN["annotations"] | {"question_id": at, "answers": twice}) for at in (1, 2)],
        )
    )
    check_same("annotations", path)
    table, _ = outcome("annotations", path, is_fast=True)
    assert table is not None
    assert table["answer_record_key"].to_list() == [[0, 0]] * 2


def test_a_set_without_majority_answers_is_parsed_by_arrow(tmp_path):
    record = {name: value for name, value in PLAIN["annotations"].items() if name != "multiple_choice_answer"}
    listed = [json.dumps(record | {"question_id": at, "raw": at / 2}) for at in range(3)]
    raws = [msgspec.Raw(one.encode()) for one in listed]
    ((_, _, table),) = arrow_records.arrow_chunks(raws, vqa_annotations._Annotation)
    assert table is not None
    path = tmp_path / "annotations.json"
    path.write_text(written("annotations", listed))
    check_same("annotations", path)
