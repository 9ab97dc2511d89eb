import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from strategies import is_id

from shortcut_miner import schemas
from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.sources.opening import json_records
from shortcut_miner.sources.questions.vqa import read_vqa, read_vqa_annotations, read_vqa_questions

Write = Callable[[str, Any], Path]
Make = Callable[..., dict[str, Any]]


def message_of(call: Callable[[], object]) -> str:
    with pytest.raises(SourceError) as caught:
        call()
    return str(caught.value)


# ---- what is read ----


def test_questions_in_file_order(write: Write, question: Make) -> None:
    records = [question(9001, split="val"), question(1002), question(5003, image_id="5")]
    reading = read_vqa_questions(write("q.json", {"info": {}, "questions": records}))
    expected = pl.DataFrame(
        {
            "question_id": ["9001", "1002", "5003"],
            "image_id": ["9", "1", "5"],
            "question": ["What is 9001?", "What is 1002?", "What is 5003?"],
            "split": ["val", None, None],
        }
    )
    assert_frame_equal(reading.table, expected)
    assert reading.kind == "VQA questions JSON"
    assert reading.file.name == "q.json"
    assert (reading.dropped, reading.notes) == ({}, ())


def test_header_keys_are_not_needed(write: Write, question: Make) -> None:
    reading = read_vqa_questions(write("q.json", {"questions": [question(1)]}))
    assert (reading.table["question_id"].to_list(), reading.notes) == (["1"], ())


def test_annotations_keep_every_answer_in_order(write: Write, annotation: Make) -> None:
    records = [annotation(7001), annotation(7002, answers=None), annotation(7003, answers=[])]
    del records[1]["answers"], records[2]["question_type"]
    reading = read_vqa_annotations(write("a.json", {"info": {}, "annotations": records}))
    assert reading.table.to_dicts() == [
        {
            "question_id": "7001",
            "image_id": "7",
            "question_type": "what is",
            "answer_type": "other",
            "answer": "yes",
            "answers": ["yes", "no", "yes"],
            "answer_record_key": None,
        },
        {
            "question_id": "7002",
            "image_id": "7",
            "question_type": "what is",
            "answer_type": "other",
            "answer": "yes",
            "answers": None,
            "answer_record_key": None,
        },
        {
            "question_id": "7003",
            "image_id": "7",
            "question_type": None,
            "answer_type": "other",
            "answer": "yes",
            "answers": [],
            "answer_record_key": None,
        },
    ]
    assert reading.table.schema["answers"] == pl.List(pl.String)
    assert reading.table.schema["answer_record_key"] == pl.List(pl.UInt8)
    assert reading.notes == ("annotations without a list of answers: 1",)


def test_questions_and_annotations_join_by_id_whatever_their_order(
    write: Write, question: Make, annotation: Make
) -> None:
    numbers = [5001, 1001, 3001]
    questions = write("q.json", {"questions": [question(number) for number in numbers]})
    marked = [annotation(number, multiple_choice_answer=f"answer {number}") for number in sorted(numbers)]
    table, asked, answered = read_vqa(questions, write("a.json", {"annotations": marked}))
    assert table["question_id"].to_list() == ["5001", "1001", "3001"]
    assert table["answer"].to_list() == ["answer 5001", "answer 1001", "answer 3001"]
    assert table.columns == list(schemas.Questions.columns())
    schemas.validated(table, schemas.Questions, "joined")
    assert (asked.kind, answered.kind) == ("VQA questions JSON", "VQA annotations JSON")


def test_one_file_may_hold_both(write: Write, question: Make, annotation: Make) -> None:
    path = write("both.json", {"questions": [question(1)], "annotations": [annotation(1)]})
    table, _, _ = read_vqa(path, path)
    assert table.height == 1


@pytest.mark.parametrize("number", [0, -7, 2**63, 10**30])
def test_ids_as_numbers_and_as_text_are_one_id(
    write: Write, question: Make, annotation: Make, number: int
) -> None:
    questions = write("q.json", {"questions": [question(number, image_id=number)]})
    annotations = write("a.json", {"annotations": [annotation(str(number), image_id=str(number))]})
    table, _, _ = read_vqa(questions, annotations)
    assert table.select("question_id", "image_id").row(0) == (str(number), str(number))


def test_leading_zeros_of_text_ids_survive(write: Write, question: Make) -> None:
    records = [question(1, question_id="007", image_id="n007"), question(2, question_id=7)]
    table = read_vqa_questions(write("q.json", {"questions": records})).table
    assert table["question_id"].to_list() == ["007", "7"]


def test_coco_image_names_become_numbers_on_both_sides(
    write: Write, question: Make, annotation: Make
) -> None:
    named = question(1, image_id="COCO_val2014_000000000042.jpg")
    questions = write("q.json", {"info": {}, "questions": [named]})
    annotations = write("a.json", {"info": {}, "annotations": [annotation(1, image_id=42)]})
    table, asked, answered = read_vqa(questions, annotations)
    assert table["image_id"].to_list() == ["42"]
    assert asked.notes == ("COCO image names shortened to their numbers: 1 of 1 images",)
    assert answered.notes == ()


def test_byte_order_mark_crlf_and_unicode_line_separators(write: Write, question: Make) -> None:
    text = "caf\u00e9\u2028is\u2029this\x85\u00a0?"
    body = json.dumps({"questions": [question(1, question=text)]}, ensure_ascii=False, indent=1)
    path = write("q.json", b"\xef\xbb\xbf" + body.replace("\n", "\r\n").encode())
    assert read_vqa_questions(path).table["question"].to_list() == [text]


def test_limit_keeps_the_first_questions_and_their_annotations(
    write: Write, question: Make, annotation: Make
) -> None:
    records = [question(3), question(1), question(2, question=None)]
    questions = write("q.json", {"questions": records})
    annotations = write("a.json", {"annotations": [annotation(number) for number in (1, 2, 3)]})
    table, asked, answered = read_vqa(questions, annotations, limit=2)
    assert table["question_id"].to_list() == ["3", "1"]
    assert asked.table.height == 2
    assert (asked.dropped, answered.dropped) == ({}, {})


def test_options_are_checked_before_files_are_opened() -> None:
    with pytest.raises(ConfigError, match="limit: got 0, expected at least 1"):
        read_vqa("nowhere", "nowhere", limit=0)
    with pytest.raises(ConfigError, match="on_bad_row: got 'ignore', expected 'error' or 'skip'"):
        read_vqa_annotations("nowhere", on_bad_row="ignore")  # type: ignore[arg-type]


# ---- the key of answer records ----

RECORD_KEYS = {
    "rising ids": ([{"answer_id": 1}, {"answer_id": 2}], None),
    "falling ids": ([{"answer_id": 2}, {"answer_id": 1}], None),
    "ids of other types": ([{"answer_id": "1"}, {"answer_id": 1}], None),
    "fractions that differ": ([{"answer_id": 1.2}, {"answer_id": 1.7}], None),
    "huge ids": ([{"answer_id": 2**70}, {"answer_id": 2**70 + 1}], None),
    "no ids": ([{}, {}, {}], [0, 0, 0]),
    "null ids": ([{"answer_id": None}, {"answer_id": None}], [0, 0]),
    "null is not absent": ([{"answer_id": None}, {}], None),
    "ids that repeat": ([{"answer_id": 1}, {"answer_id": 2}, {"answer_id": 1}], [0, 1, 0]),
    "numbers equal as Python's": ([{"answer_id": 1}, {"answer_id": 1.0}], [0, 0]),
    "other fields tell them apart": (
        [{"answer_confidence": "yes"}, {"answer_confidence": "no"}, {"answer_confidence": "yes"}],
        [0, 1, 0],
    ),
    "other fields tell all apart": ([{"answer_confidence": "yes"}, {"answer_confidence": "no"}], None),
    "nested fields": ([{"by": {"worker": [1]}}, {"by": {"worker": [1]}}, {"by": 1}], [0, 0, 1]),
    "one record": ([{}], None),
    "no record": ([], None),
    "256 kinds": ([{"n": n} for n in range(256)] + [{"n": 0}], [*range(256), 0]),
    "300 kinds, all distinct": ([{"n": n} for n in range(300)], None),
}


@pytest.mark.parametrize("case", RECORD_KEYS)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_answer_record_key(write: Write, annotation: Make, case: str, place: int) -> None:
    fields, expected = RECORD_KEYS[case]
    records = [annotation(number) for number in (1, 2)]
    answers = [{"answer": "same"} | others for others in fields]
    records.insert(place, annotation(3, answers=answers))
    table = read_vqa_annotations(write("a.json", {"annotations": records})).table
    keys = dict(zip(table["question_id"], table["answer_record_key"].to_list(), strict=True))
    assert keys == {"1": None, "2": None, "3": expected}


def test_answers_themselves_are_no_part_of_the_key(write: Write, annotation: Make) -> None:
    answers = [{"answer": "a"}, {"answer": "b"}]
    table = read_vqa_annotations(write("a.json", {"annotations": [annotation(1, answers=answers)]})).table
    assert table["answer_record_key"].to_list() == [[0, 0]]


def test_more_kinds_of_records_than_the_key_can_number(write: Write, annotation: Make) -> None:
    answers = [{"answer": "x", "n": n} for n in [*range(257), 0]]
    path = write("a.json", {"annotations": [annotation(1), annotation(2, answers=answers)]})
    assert message_of(lambda: read_vqa_annotations(path)).endswith(
        "  - record 1, answers: got 257 kinds of answer records, some of them twice, "
        "expected at most 256 kinds"
    )


# ---- what is refused ----


def test_all_bad_questions_are_told_at_once(write: Write, question: Make) -> None:
    records = [
        question(0),
        question(1, question=None),
        question(2, question=" \t"),
        question(3, question=""),
        question(4, question=5),
        question(5, question_id=5.5),
        question(6, question_id=True),
        question(7, question_id=None, image_id=[7], question=["x"]),
        question(8, question_id=" "),
        question(9, image_id=""),
        question(10, split=1),
        question(0, image_id=3),
        {"question": "Which?"},
        "What?",
        question(14),
    ]
    path = write("q.json", {"questions": records})
    assert message_of(lambda: read_vqa_questions(path)) == "\n".join(
        [
            f"{path}: got 14 bad of 15 questions, expected none. "
            "Fix them, or skip them with --on-bad-row skip.",
            "  - record 0 and record 11, question_id: got '0' 2 times, expected an id that occurs once",
            "  - record 1, question: got null, expected text",
            "  - record 2, question: got ' \\t', expected text that is not blank",
            "  - record 3, question: got '', expected text that is not blank",
            "  - record 4, question: got 5, expected text",
            "  - record 5, question_id: got 5.5, expected a whole number or text",
            "  - record 6, question_id: got true, expected a whole number or text",
            "  - record 7, question_id: got null, expected a whole number or text",
            "  - record 7, image_id: got [7], expected a whole number or text",
            '  - record 7, question: got ["x"], expected text',
            "  - record 8, question_id: got ' ', expected an id",
            "  - record 9, image_id: got '', expected an id",
            "  - record 10, split: got 1, expected text",
            "  - record 12, question_id: got no such field, expected a whole number or text",
            "  - record 12, image_id: got no such field, expected a whole number or text",
            '  - record 13, record: got "What?", expected an object',
        ]
    )


def test_bad_questions_are_skipped_on_request_and_counted_by_reason(write: Write, question: Make) -> None:
    records = [
        question(1),
        question(2, question=None),
        question(3, question=7),
        question(4, question=" "),
        question(5),
        question(5),
        question(6, question_id=None, question=None),
    ]
    reading = read_vqa_questions(write("q.json", {"questions": records}), on_bad_row="skip")
    assert reading.table["question_id"].to_list() == ["1"]
    assert reading.dropped == {
        "question: expected text": 2,
        "question: expected text that is not blank": 1,
        "question_id: expected an id that occurs once": 2,
        "question_id: expected a whole number or text": 1,
    }


def test_a_file_of_only_bad_questions_is_an_error_even_when_skipping(write: Write, question: Make) -> None:
    path = write("q.json", {"questions": [question(1, question=None)]})
    assert message_of(lambda: read_vqa_questions(path, on_bad_row="skip")) == (
        f"{path}: got 1 bad of 1 questions, expected none. Fix them.\n"
        "  - record 0, question: got null, expected text"
    )


def test_a_long_list_of_problems_is_cut(write: Write, question: Make) -> None:
    path = write("q.json", {"questions": [question(n, question=None) for n in range(1000)]})
    message = message_of(lambda: read_vqa_questions(path))
    assert message.startswith(f"{path}: got 1,000 bad of 1,000 questions")
    assert message.endswith("  ... and 980 more")


def test_all_bad_annotations_are_told_at_once(write: Write, annotation: Make) -> None:
    no_majority = annotation(4)
    del no_majority["multiple_choice_answer"]
    records = [
        annotation(0),
        annotation(1, multiple_choice_answer=None),
        annotation(2, multiple_choice_answer=2),
        annotation(3, answers=[{"answer": "yes"}, {"answer": 3}, {"answer": None}]),
        no_majority,
        annotation(5, answers="yes"),
        annotation(6, answers=[{"answer_id": 1}]),
        annotation(7, answers=["yes"]),
        annotation(8, answer_type={"a": 1}),
        annotation(9, answers=[{"answer": "yes", "answer_id": [1]}]),
    ]
    path = write("a.json", {"annotations": records})
    assert message_of(lambda: read_vqa_annotations(path)).splitlines()[1:] == [
        "  - record 1, multiple_choice_answer: got null, expected text",
        "  - record 2, multiple_choice_answer: got 2, expected text",
        "  - record 3, answers[1].answer: got a whole number, expected text",
        "  - record 4, multiple_choice_answer: got no such field, expected text",
        '  - record 5, answers: got "yes", expected a list',
        "  - record 6, answers[0].answer: got no such field, expected a value",
        "  - record 7, answers[0]: got text, expected an object",
        '  - record 8, answer_type: got {"a": 1}, expected text',
        "  - record 9, answers[0].answer_id: got a list, expected a whole number or a number or text",
    ]
    reading = read_vqa_annotations(path, on_bad_row="skip")
    assert reading.table["question_id"].to_list() == ["0"]
    assert reading.dropped["answers[].answer: expected text"] == 1
    assert sum(reading.dropped.values()) == 9


def test_empty_answers_are_kept_and_noted(write: Write, annotation: Make) -> None:
    records = [annotation(1, multiple_choice_answer=""), annotation(2)]
    reading = read_vqa_annotations(write("a.json", {"info": {}, "annotations": records}))
    assert reading.table["answer"].to_list() == ["", "yes"]
    assert reading.notes == ("empty majority answers kept: 1",)


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        (b"NaN", "question: got null, expected text"),
        (rb'"\ud800"', "question: got null, expected text"),
        (b'"caf\xe9"', r'question: got bytes that are no UTF-8 ("caf\xe9"), expected UTF-8 text'),
        (b"1e999", "question: got 1e999 (number out of range), expected a valid value"),
        (b"[" * 500 + b"]" * 500, "question: got " + "[" * 60 + "..., expected text"),
    ],
)
def test_values_that_are_no_json_or_no_unicode_name_their_record(
    write: Write, field: bytes, expected: str
) -> None:
    good = b'{"question_id": 1, "image_id": 1, "question": "What?"}'
    bad = b'{"question_id": 2, "image_id": 1, "question": ' + field + b"}"
    path = write("q.json", b'{"questions": [' + good + b"," + bad + b"]}")
    assert message_of(lambda: read_vqa_questions(path)).endswith(f"\n  - record 1, {expected}")
    assert read_vqa_questions(path, on_bad_row="skip").table["question_id"].to_list() == ["1"]


def test_an_id_of_five_thousand_digits_names_its_record(write: Write) -> None:
    digits = "1" + "0" * 5000
    path = write(
        "q.json", f'{{"questions": [{{"question_id": {digits}, "image_id": 1, "question": "What?"}}]}}'
    )
    expected = (
        f"record 0, question_id: got {digits[:60]}... (integer value out of range), expected a valid value"
    )
    assert message_of(lambda: read_vqa_questions(path)).endswith(expected)


def test_bad_records_are_numbered_over_chunks(
    write: Write, question: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_records, "CHUNK_RECORDS", 3)
    records = [question(number, question=None if number in (4, 9) else "What?") for number in range(11)]
    path = write("q.json", {"questions": records})
    assert message_of(lambda: read_vqa_questions(path)).splitlines()[1:] == [
        "  - record 4, question: got null, expected text",
        "  - record 9, question: got null, expected text",
    ]
    kept = read_vqa_questions(path, on_bad_row="skip").table["question_id"].to_list()
    assert kept == [str(number) for number in range(11) if number not in (4, 9)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"questions": []}, "got 0 questions, expected at least one. Check that this is the right file."),
        ({"questions": {"1": 2}}, "got {\"1\": 2} under 'questions', expected a list of records."),
        ({"annotations": [1, 2]}, "got VQA annotations JSON (2 annotations), expected VQA questions JSON."),
        (
            [{"question_id": 1, "answer": "x"}],
            "got VQA results JSON (1 answers), expected VQA questions JSON.",
        ),
        ({}, "got an empty JSON object, expected VQA questions JSON."),
        ([], "got an empty JSON list, expected VQA questions JSON."),
        (
            {"a": 1, "b": 2},
            "got a JSON object with the keys 'a', 'b' (2 keys), expected VQA questions JSON.",
        ),
    ],
)
def test_another_format_is_named(write: Write, content: object, expected: str) -> None:
    path = write("q.json", content)
    assert message_of(lambda: read_vqa_questions(path)).startswith(f"{path}: {expected}")


def test_coco_instances_are_no_annotations(write: Write) -> None:
    path = write("a.json", {"images": [], "annotations": [], "categories": []})
    assert "got COCO instances JSON" in message_of(lambda: read_vqa_annotations(path))


# ---- joins that don't fit ----


def test_all_ids_that_do_not_match_are_told(write: Write, question: Make, annotation: Make) -> None:
    questions = write("q.json", {"questions": [question(n) for n in (1, 2, 3, 4)]})
    marked = [annotation(1), annotation(2, image_id=99), annotation(5), annotation(6)]
    annotations = write("a.json", {"annotations": marked})
    assert message_of(lambda: read_vqa(questions, annotations)) == "\n".join(
        [
            f"{questions} and {annotations}: got question_ids that don't match, expected one annotation for "
            "each question, about the same image. Check that both files belong to the same split, or leave "
            "such rows out with --on-bad-row skip.",
            "  - 2 x question without annotation: question_id '3', '4'",
            "  - 1 x annotation for another image than its question's: question_id '2'",
            "  - 2 x annotation without question: question_id '5', '6'",
        ]
    )
    table, asked, answered = read_vqa(questions, annotations, on_bad_row="skip")
    assert table["question_id"].to_list() == ["1"]
    assert asked.dropped == {
        "question without annotation": 2,
        "annotation for another image than its question's": 1,
    }
    assert answered.dropped == {"annotation without question": 2}


def test_two_splits_share_no_id_even_when_skipping(write: Write, question: Make, annotation: Make) -> None:
    questions = write("q.json", {"questions": [question(1)]})
    annotations = write("a.json", {"annotations": [annotation(2)]})
    for on_bad_row in ("error", "skip"):
        message = message_of(lambda rule=on_bad_row: read_vqa(questions, annotations, on_bad_row=rule))
        assert "1 x question without annotation: question_id '1'" in message


@pytest.mark.parametrize("twice", ["questions", "annotations"])
def test_a_repeated_id_is_an_error_in_either_file(
    write: Write, question: Make, annotation: Make, twice: str
) -> None:
    numbers = {"questions": [1, 2], "annotations": [1, 2]}
    numbers[twice] = [1, 2, 1]
    questions = write("q.json", {"questions": [question(n) for n in numbers["questions"]]})
    annotations = write("a.json", {"annotations": [annotation(n) for n in numbers["annotations"]]})
    message = message_of(lambda: read_vqa(questions, annotations))
    assert "record 0 and record 2, question_id: got '1' 2 times, expected an id that occurs once" in message
    table, asked, answered = read_vqa(questions, annotations, on_bad_row="skip")
    assert table["question_id"].to_list() == ["2"]
    lost = {"questions": asked, "annotations": answered}[twice].dropped
    assert lost["question_id: expected an id that occurs once"] == 2


def test_ids_42_and_text_42_in_one_file_are_a_repetition(write: Write, question: Make) -> None:
    path = write("q.json", {"questions": [question(42), question("42", image_id=1)]})
    assert "question_id: got '42' 2 times" in message_of(lambda: read_vqa_questions(path))


# ---- any valid file ----

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
FILLED = TEXTS.filter(str.strip)
IDS = st.one_of(
    st.integers(-(2**70), 2**70), FILLED.filter(lambda text: is_id(text) and not text.strip().isdigit())
)


@st.composite
def vqa_files(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    ids = draw(st.lists(IDS, min_size=1, max_size=8, unique_by=str))
    images = [draw(st.integers(0, 10**6)) for _ in ids]
    questions = [
        {"question_id": number, "image_id": image, "question": draw(FILLED)}
        for number, image in zip(ids, images, strict=True)
    ]
    annotations = [
        {
            "question_id": number,
            "image_id": image,
            "question_type": draw(st.none() | TEXTS),
            "answer_type": draw(st.none() | TEXTS),
            "multiple_choice_answer": draw(TEXTS),
            "answers": [
                {"answer": answer, "answer_id": place}
                for place, answer in enumerate(draw(st.lists(TEXTS, max_size=12)))
            ],
        }
        for number, image in zip(ids, images, strict=True)
    ]
    return questions, draw(st.permutations(annotations))


@given(files=vqa_files(), is_ascii=st.booleans(), indent=st.sampled_from([None, 2]), packed=st.booleans())
def test_what_is_written_is_read_back(
    write: Write,
    files: tuple[list[dict[str, Any]], list[dict[str, Any]]],
    is_ascii: bool,
    indent: int | None,
    packed: bool,
) -> None:
    questions, annotations = files
    paths = []
    for key, records in (("questions", questions), ("annotations", annotations)):
        body = json.dumps({key: records, "info": {}}, ensure_ascii=is_ascii, indent=indent).encode()
        paths.append(write(key, gzip.compress(body) if packed else body))
    table, _, _ = read_vqa(*paths)
    by_id = {str(one["question_id"]): one for one in annotations}
    assert table.rows() == [
        (
            str(one["question_id"]),
            str(one["image_id"]),
            one["question"],
            by_id[str(one["question_id"])]["question_type"],
            by_id[str(one["question_id"])]["answer_type"],
            by_id[str(one["question_id"])]["multiple_choice_answer"],
            [answer["answer"] for answer in by_id[str(one["question_id"])]["answers"]],
            None,
            None,
        )
        for one in questions
    ]


# ---- real files ----


@pytest.mark.real
@pytest.mark.parametrize(("split", "rows"), [("train", 48_061), ("valid", 8_977)])
def test_real_files(real_data: Path, split: str, rows: int) -> None:
    folder = real_data / "vqa60k"
    table, asked, answered = read_vqa(
        folder / f"questions_{split}.json.gz", folder / f"annotations_{split}.json.gz"
    )
    schemas.validated(table, schemas.Questions, "real")
    assert table.height == rows
    assert table["answer_record_key"].null_count() == rows
    assert table["answers"].list.len().unique().to_list() == [10]
    assert table["split"].unique().to_list() == [split]
    assert (asked.dropped, answered.dropped) == ({}, {})
    raw = json.loads(gzip.decompress((folder / f"annotations_{split}.json.gz").read_bytes()))["annotations"]
    by_id = {str(one["question_id"]): one for one in raw}
    assert table["image_id"].to_list() == [str(by_id[one]["image_id"]) for one in table["question_id"]]
    for question_id, answer, answers in table.select("question_id", "answer", "answers").rows()[::97]:
        assert answer == by_id[question_id]["multiple_choice_answer"]
        assert answers == [one["answer"] for one in by_id[question_id]["answers"]]
