"""Question sets as they are released, each read to one table; hostile variants; the majority."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortcut_miner import schemas
from shortcut_miner.cli.inspect import find_out
from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.sources.questions.answer_lists import majority
from shortcut_miner.sources.questions.question_sets import read_question_set, read_questions
from shortcut_miner.sources.questions.tables import column_names
from shortcut_miner.sources.recognise import recognise

Write = Callable[[str, Any], Path]
COLUMNS = schemas.Questions.column_names()
GIVEN = ["red", "blue", "blue", "red", "tan"]  # two are most frequent: the first given counts


def records(answers: list[str], **more: Any) -> list[dict[str, Any]]:
    """Return answer records as VizWiz has them, without ids."""
    return [{"answer_confidence": "yes", "answer": one} | more for one in answers]


def numbered(answers: list[str]) -> list[dict[str, Any]]:
    return [{"answer_id": n, **one} for n, one in enumerate(records(answers), 1)]


def lines(listed: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(one) + "\n" for one in listed)


def visdial(dialogs: list[dict[str, Any]]) -> dict[str, Any]:
    texts = {"questions": ["is it sunny", "any people"], "answers": ["no", "yes", "2"]}
    return {"version": "1.0", "split": "val2018", "data": texts | {"dialogs": dialogs}}


AOKVQA = {
    "split": "val", "image_id": 500, "question_id": "22jbM6", "question": "What sport?",
    "choices": ["a", "red", "b", "c"], "correct_choice_idx": 1, "direct_answers": GIVEN,
    "difficult_direct_answer": False, "rationales": ["x"],
}  # fmt: skip
TEXTVQA = {
    "question": "What sport?", "image_id": "003a8ae2ef43b901", "image_classes": ["Poster"],
    "image_width": 10, "answers": GIVEN, "question_tokens": ["x"], "question_id": 34602, "set_name": "val",
}  # fmt: skip
VIZWIZ = {
    "image": "VizWiz_val_00000000.jpg", "question": "What sport?", "answers": records(GIVEN),
    "answer_type": "other", "answerable": 1,
}  # fmt: skip
VQA_X = {
    "question": "What sport?", "image_id": "500", "image_name": "COCO_val2014_000000000500.jpg",
    "explanation": ["because"], "answers": numbered(GIVEN),
}  # fmt: skip
LXMERT = {
    "answer_type": "other", "img_id": "COCO_val2014_000000000500", "question_id": 500000,
    "label": {"tan": 0.3, "red": 1, "blue": 1.0, "grey": 0}, "question_type": "what", "sent": "What sport?",
}  # fmt: skip
POPE = {"question_id": 1, "image": "COCO_val2014_000000310196.jpg", "text": "Is it?", "label": "no"}
DIALOG = {
    "image_id": 378466, "caption": "a man",
    "dialog": [{"question": 1, "answer": 2, "answer_options": [2, 0], "gt_index": 0},
               {"question": 0, "answer_options": [2, 0], "gt_index": 1}],
}  # fmt: skip
TIE = "answer, the annotators' most frequent one: 1; of several the first in the file: 1"

# Name -> kind, content, rows as far as they aren't null, notes.
SHAPES: dict[str, tuple[str, Any, list[dict[str, Any]], tuple[str, ...]]] = {
    "A-OKVQA": (
        "A-OKVQA JSON", [AOKVQA],
        [{"question_id": "22jbM6", "image_id": "500", "question": "What sport?", "answer": "red",
          "answers": GIVEN, "split": "val"}],
        (TIE,),
    ),
    "TextVQA": (
        "TextVQA JSON", {"dataset_type": "val", "dataset_name": "textvqa", "data": [TEXTVQA]},
        [{"question_id": "34602", "image_id": "003a8ae2ef43b901", "question": "What sport?",
          "answer": "red", "answers": GIVEN, "split": "val"}],
        (TIE,),
    ),
    "VizWiz": (
        "VizWiz JSON", [VIZWIZ],
        [{"question_id": "VizWiz_val_00000000.jpg", "image_id": "VizWiz_val_00000000.jpg",
          "question": "What sport?", "answer_type": "other", "answer": "red", "answers": GIVEN,
          "answer_record_key": [0] * 5}],
        (TIE,),
    ),
    "VQA-X": (
        "VQA-X JSON", {"262148002": VQA_X},
        [{"question_id": "262148002", "image_id": "500", "question": "What sport?", "answer": "red",
          "answers": GIVEN}],
        (TIE,),
    ),
    "LXMERT": (
        "LXMERT questions JSON", [LXMERT, LXMERT | {"question_id": "007", "label": {}}],
        [{"question_id": "500000", "image_id": "500", "question": "What sport?", "question_type": "what",
          "answer_type": "other", "answer": "red", "answers": ["tan", "red", "blue"]},
         {"question_id": "007", "image_id": "500", "question": "What sport?", "question_type": "what",
          "answer_type": "other"}],
        ("COCO image names shortened to their numbers: 1 of 1 images",
         "answer, the label of most weight: 1; of several the first in the file: 1",
         "questions without an answer, as their label is empty: 1"),
    ),
    "POPE": (
        "POPE questions JSONL", lines([POPE, POPE | {"question_id": 2, "label": "yes"}]),
        [{"question_id": "1", "image_id": "310196", "question": "Is it?", "answer": "no"},
         {"question_id": "2", "image_id": "310196", "question": "Is it?", "answer": "yes"}],
        ("COCO image names shortened to their numbers: 1 of 1 images",),
    ),
    "VisDial": (
        "VisDial JSON", visdial([DIALOG, {"image_id": 7, "dialog": []}, DIALOG | {"image_id": 8}]),
        [{"question_id": f"{image}_{at}", "image_id": f"{image}", "question": question, "answer": answer}
         for image in (378466, 8)
         for at, question, answer in ((1, "any people", "2"), (2, "is it sunny", "no"))],
        (),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_a_released_set_is_read_to_one_table(write: Write, name: str) -> None:
    kind, content, rows, notes = SHAPES[name]
    path = write("set.json", content)
    reading = read_question_set(path)
    expected = pl.DataFrame([dict.fromkeys(COLUMNS) | one for one in rows], schema=reading.table.schema)
    assert reading.table.equals(expected, null_equal=True)
    schemas.validated(reading.table, schemas.Questions, name)
    assert (reading.kind, reading.notes, reading.dropped) == (kind, notes, {})
    table, readings = read_questions(path, None)
    assert table.equals(reading.table)
    assert {role: (one.kind, one.file) for role, one in readings.items()} == {
        "questions": (kind, reading.file)
    }


@pytest.mark.parametrize("name", SHAPES)
def test_inspect_and_the_readers_agree(write: Write, name: str) -> None:
    kind, content, rows, notes = SHAPES[name]
    finding = find_out(write("set.json", content), 5)
    assert (finding.kind, finding.notes, finding.problems) == (kind, notes, ())
    assert finding.counts["rows read"] == len(rows)
    assert "vqa-ce build --train-questions" in finding.goes_to
    assert "rad build --questions" in finding.goes_to


@pytest.mark.parametrize("name", SHAPES)
def test_annotations_of_a_set_with_answers_are_told(write: Write, name: str) -> None:
    kind, content, *_ = SHAPES[name]
    path, more = write("set.json", content), write("a.json", {"annotations": []})
    with pytest.raises(ConfigError) as caught:
        read_questions(path, more, roles=("val_questions", "val_annotations"))
    assert str(caught.value) == (
        f"val_annotations: got {more} for {path}, expected none: it is {kind}, which holds the answers to "
        "its questions. Leave out --val-annotations."
    )


@pytest.mark.parametrize("name", [*SHAPES, "VQA", "GQA folder"])
def test_columns_of_a_set_are_refused(write: Write, name: str, tmp_path: Path) -> None:
    path = tmp_path if name == "GQA folder" else write("set.json", SHAPES.get(name, ("", {}))[1])
    more = write("a.json", {"annotations": []}) if name == "VQA" else None
    with pytest.raises(ConfigError) as caught:
        read_questions(path, more, column_names("question=text,answer=answer"))
    assert str(caught.value) == (
        f"columns: got question=text for {path}, expected none: it is of a released set, whose fields are "
        "known. Leave out --columns, or give a table."
    )


@pytest.mark.parametrize("name", SHAPES)
def test_the_first_questions_alone(write: Write, name: str) -> None:
    path = write("set.json", SHAPES[name][1])
    table = read_question_set(path).table
    assert read_question_set(path, limit=1).table.equals(table.head(1))
    with pytest.raises(ConfigError, match="limit: got 0, expected at least 1"):
        read_questions(path, None, limit=0)


def test_one_record_twice_is_one_id_too_many(write: Write) -> None:
    for name, told in (
        ("A-OKVQA", "question_id: got '22jbM6' 2 times"),
        ("VizWiz", "image: got 'VizWiz_val_00000000.jpg' 2 times"),
        ("LXMERT", "question_id: got '500000' 2 times"),
    ):
        path = write("set.json", [SHAPES[name][1][0], SHAPES[name][1][0]])
        with pytest.raises(SourceError, match=rf"record 0 and record 1, {told}, expected an id that occurs"):
            read_question_set(path)


def test_a_key_twice_in_one_object(write: Write) -> None:
    one = json.dumps(VQA_X)
    path = write("set.json", f'{{"7": {one}, "8": {one}, "7": {one}}}')
    with pytest.raises(SourceError, match="question '7', question id: got 2 entries, expected an id that"):
        read_question_set(path)
    assert read_question_set(path, on_bad_row="skip").table["question_id"].to_list() == ["8"]


@pytest.mark.parametrize("key", ["dialogs", "questions", "answers"])
def test_a_list_of_visdial_that_is_there_twice(write: Write, key: str) -> None:
    data = visdial([DIALOG] * 9)["data"] | {"questions": [f"q{n}?" for n in range(90)]}
    data["answers"] = [f"a{n}" for n in range(90)]
    text = json.dumps({"split": "val", "data": data})
    path = write("set.json", text.replace('"data": {', f'"data": {{"{key}": {json.dumps(data[key])}, '))
    with pytest.raises(
        SourceError, match=f"got the keys '{key}' more than once in an object, expected each once"
    ):
        read_question_set(path)


@pytest.mark.parametrize("between", [",\n", "\n,", "\n\n,"])
def test_lines_that_end_with_a_record_do_not_make_an_object_a_table(write: Write, between: str) -> None:
    one = json.dumps(VQA_X)
    path = write("set.json", f'{{"7": {one}{between}"8": {one}}}')
    assert read_questions(path, None)[0]["question_id"].to_list() == ["7", "8"]


@pytest.mark.parametrize("name", ["question", "text"])
def test_one_line_is_a_table_of_one_row(write: Write, name: str) -> None:
    path = write("one.jsonl", json.dumps({"question_id": 1, name: "Why?", "answer": "so"}))
    table, _ = read_questions(path, None, column_names(f"question={name}"))
    assert table.select("question_id", "question", "answer").rows() == [("1", "Why?", "so")]
    path = write("none.json", {"more": 1})
    with pytest.raises(SourceError, match=r"got a JSON object with the keys 'more' .*, or a table"):
        read_questions(path, None, column_names(f"question={name}"))


# ---- test questions, and records that don't fit ----


@pytest.mark.parametrize(
    ("content", "held_in"),
    [
        ([{name: AOKVQA[name] for name in AOKVQA if name != "direct_answers"}], "direct_answers"),
        ({"data": [{name: TEXTVQA[name] for name in TEXTVQA if name != "answers"}]}, "answers"),
        ([{"image": "VizWiz_test_00000000.jpg", "question": "Why?"}], "answers"),
        ([{name: LXMERT[name] for name in LXMERT if name != "label"}], "label"),
        (visdial([{"image_id": 7, "dialog": [{"question": 1, "answer_options": [1, 2]}]}]), "answer"),
    ],
)
def test_test_questions_have_no_answers(write: Write, content: Any, held_in: str) -> None:
    path = write("test.json", content)
    kind = recognise(path).kind
    expected = (
        f"{path}: got {kind} without answers (no record has any in {held_in}), expected them. "
        "Give the training or validation questions: test questions are released without."
    )
    for read in (read_question_set, lambda one: read_questions(one, None)):
        with pytest.raises(SourceError) as caught:
            read(path)
        assert str(caught.value) == expected
    finding = find_out(path, 5)
    assert (finding.kind, finding.problems) == (kind, (expected,))


BAD: dict[str, tuple[str, list[tuple[dict[str, Any], str]]]] = {
    "A-OKVQA": ("22jbM6", [
        ({"question_id": " "}, "question_id: got ' ', expected an id"),
        ({"question_id": 1.5}, "question_id: got 1.5, expected a whole number or text"),
        ({"image_id": None}, "image_id: got null, expected a whole number or text"),
        ({"question": None}, "question: got null, expected text"),
        ({"question": " \t"}, r"question: got ' \\t', expected text that is not blank"),
        ({"direct_answers": []}, r"direct_answers: got \[\], expected an answer"),
        ({"direct_answers": None}, "direct_answers: got null, expected an answer"),
        ({"direct_answers": "red"}, 'direct_answers: got "red", expected a list'),
        ({"direct_answers": ["red", None]}, r"direct_answers\[1\]: got null, expected text"),
    ]),
    "VizWiz": ("VizWiz_val_00000000.jpg", [
        ({"image": None}, "image: got null, expected a whole number or text"),
        ({"image": ""}, "image: got '', expected an id"),
        ({"answers": []}, r"answers: got \[\], expected an answer"),
        ({"answers": [{"answer_confidence": "no"}]}, r"answers\[0\].answer: got no such field, expected"),
    ]),
    "LXMERT": ("500000", [
        ({"img_id": ""}, "img_id: got '', expected an id"),
        ({"sent": ""}, "sent: got '', expected text that is not blank"),
        ({"label": {"red": -1}}, "label: got {'red': -1.0}, expected weights of at least 0"),
        ({"label": {"red": "1"}}, r"label\[...\]: got text, expected a number"),
    ]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "change", "told"), [(name, *one) for name, (_, bad) in BAD.items() for one in bad]
)
def test_a_bad_record_is_named_or_skipped(write: Write, name: str, change: dict[str, Any], told: str) -> None:
    good = SHAPES[name][1][0]
    broken = {"question_id": "other", "image": "VizWiz_other.jpg"} | change
    path = write("set.json", [good, good | broken])
    with pytest.raises(SourceError, match=rf"got 1 bad of 2 questions, .*\n  - record 1, {told}"):
        read_question_set(path)
    reading = read_question_set(path, on_bad_row="skip")
    assert reading.table["question_id"].to_list() == [BAD[name][0]]
    assert sum(reading.dropped.values()) == 1


def test_all_problems_of_a_file_are_told_at_once(write: Write) -> None:
    path = write("pope.json", lines([POPE, POPE | {"text": ""}, POPE | {"question_id": 3, "label": None}]))
    with pytest.raises(SourceError) as caught:
        read_question_set(path)
    assert str(caught.value) == (
        f"{path}: got 3 bad of 3 questions, expected none. Fix them.\n"
        "  - line 1 and line 2, question_id: got '1' 2 times, expected an id that occurs once\n"
        "  - line 2, text: got '', expected text that is not blank\n"
        "  - line 3, label: got null, expected text"
    )


def test_rounds_that_point_nowhere_are_named(write: Write) -> None:
    bad = [{"question": 2, "answer": 0}, {"question": 0, "answer": -1}, {"question": 0}]
    dialogs = [{"image_id": 7, "dialog": "?"}, DIALOG, {"image_id": 8, "dialog": bad}]
    path = write("v.json", visdial(dialogs))
    with pytest.raises(SourceError) as caught:
        read_question_set(path)
    assert str(caught.value).splitlines()[1:] == [
        '  - dialog 0, dialog: got "?", expected a list',
        "  - dialog 2, round 1, question: got 2, expected an index of data.questions, which has 2",
        "  - dialog 2, round 2, answer: got -1, expected an index of data.answers, which has 3",
        "  - dialog 2, round 2, answer: got null, expected an answer",
        "  - dialog 2, round 3, answer: got null, expected an answer",
    ]
    reading = read_question_set(path, on_bad_row="skip")
    assert reading.table["question_id"].to_list() == ["378466_1", "378466_2"]
    assert sum(reading.dropped.values()) == 4
    content = visdial([DIALOG])
    content["data"]["answers"][1] = None
    with pytest.raises(SourceError, match=r"data.answers: got values that are no text \(Expected `str`"):
        read_question_set(write("w.json", content))


# ---- VQA's two files without a majority answer, and as bare lists ----


def test_okvqa_and_tdiuc_give_the_most_frequent_answer(write: Write) -> None:
    asked = [{"question_id": n, "image_id": 7, "question": "Why?"} for n in (1, 2)]
    given = {1: [one | {"raw_answer": "reds"} for one in numbered(GIVEN)], 2: numbered(["4"])}
    told = [
        {"question_id": n, "image_id": 7, "question_type": "four", "ans_source": "vqa", "answers": listed}
        for n, listed in given.items()
    ]
    paths = write("q.json", {"questions": asked}), write("a.json", {"annotations": told})
    table, readings = read_questions(*paths)
    assert table.select("answer", "answers", "question_type").rows() == [
        ("red", GIVEN, "four"), ("4", ["4"], "four"),
    ]  # fmt: skip
    note = "answer, the annotators' most frequent one: 2; of several the first in the file: 1"
    assert readings["annotations"].notes == (note,)
    told[1]["answers"] = []
    with pytest.raises(SourceError, match=r"record 1, answers: got \[\], expected at least one answer, or"):
        read_questions(paths[0], write("a.json", {"annotations": told}))
    told[0]["multiple_choice_answer"] = "red"
    with pytest.raises(SourceError, match="record 1, multiple_choice_answer: got no such field, expected te"):
        read_questions(paths[0], write("a.json", {"annotations": told}))


def test_vqa_cp_is_read_as_the_same_records_under_their_keys(
    write: Write, question: Callable[..., Any], annotation: Callable[..., Any]
) -> None:
    asked = [question(n, coco_split="val2014") for n in (1001, 1002)]
    told = [annotation(n, coco_split="val2014") for n in (1002, 1001)]
    bare = write("q.json", asked), write("a.json", told)
    keyed = write("kq.json", {"questions": asked}), write("ka.json", {"annotations": told})
    table, readings = read_questions(*bare)
    assert table.equals(read_questions(*keyed)[0])
    assert [one.kind for one in readings.values()] == ["VQA questions JSON", "VQA annotations JSON"]
    for path, kept in ((bare[0], "questions"), (bare[1], "annotations")):
        finding = find_out(path, 5)
        assert (finding.counts, finding.problems) == ({kept: 2, "rows read": 2}, ())
    with pytest.raises(ConfigError, match=r"annotations: got none for .*q\.json, expected the answers to"):
        read_questions(bare[0], None)


def test_a_list_of_questions_with_another_field_is_a_table(
    write: Write, question: Callable[..., Any]
) -> None:
    path = write("q.json", [question(1, gold="so")])
    table, readings = read_questions(path, None, column_names("answer=gold"))
    assert table["answer"].to_list() == ["so"]
    assert readings["questions"].kind == "questions JSON"


def test_a_folder_of_gqa_files_is_one_set(tmp_path: Path) -> None:
    folder = tmp_path / "questions"
    folder.mkdir()
    for name, answer in (("2", "no"), ("1", "yes")):
        content = {f"0{name}": {"question": "Why?", "imageId": "n7", "answer": answer}}
        (folder / f"{name}.json").write_text(json.dumps(content))
    table, readings = read_questions(folder, None)
    assert table.select("question_id", "answer").rows() == [("01", "yes"), ("02", "no")]
    assert readings["questions"].kind == "GQA questions JSON"


def test_other_files_are_sent_where_they_belong(write: Write) -> None:
    path = write("a.json", {"annotations": []})
    with pytest.raises(SourceError) as caught:
        read_questions(path, None)
    assert "expected one of VQA questions JSON, A-OKVQA JSON, VizWiz JSON, TextVQA JSON" in str(caught.value)
    assert "Give it to vqa-ce build --train-annotations" in str(caught.value)


# ---- any texts ----

TEXTS = st.sampled_from(
    ["n/a", "null", "None", "1.0", "yes", "", 'a "b"', "a\tb\nc", "é\u2028", "a|b", "[x]"]
)
ROWS = st.lists(
    st.tuples(TEXTS.filter(bool), st.lists(TEXTS, min_size=1, max_size=4)), min_size=1, max_size=4
)
Row = tuple[str, list[str]]


def written(name: str, rows: list[Row]) -> Any:
    """Return a set's content; where it has one answer a question, the first."""
    asked = [{"question_id": at, "image_id": 7, "question": text} for at, (text, _) in enumerate(rows)]
    if name == "VisDial":
        rounds = [{"question": at, "answer": at} for at in range(len(rows))]
        held = {"questions": [text for text, _ in rows], "answers": [given[0] for _, given in rows]}
        return {"data": held | {"dialogs": [{"image_id": 7, "dialog": rounds}]}}
    if name == "POPE":
        return lines(
            [
                POPE | {"question_id": at, "text": text, "label": given[0]}
                for at, (text, given) in enumerate(rows)
            ]
        )
    if name == "LXMERT":
        return [
            LXMERT | {"question_id": at, "sent": text, "label": dict.fromkeys(given, 1)}
            for at, (text, given) in enumerate(rows)
        ]
    if name == "VizWiz":
        return [
            VIZWIZ | {"image": f"{at}.jpg", "question": text, "answers": records(given)}
            for at, (text, given) in enumerate(rows)
        ]
    lists = [given for _, given in rows]
    if name == "A-OKVQA":
        return [AOKVQA | one | {"direct_answers": given} for one, given in zip(asked, lists, strict=True)]
    if name == "TextVQA":
        return {"data": [one | {"answers": given} for one, given in zip(asked, lists, strict=True)]}
    return {
        str(at): VQA_X | {"question": text, "answers": numbered(given)}
        for at, (text, given) in enumerate(rows)
    }


@pytest.mark.parametrize("name", SHAPES)
@given(rows=ROWS)
@settings(max_examples=25)
def test_any_texts_survive(write: Write, name: str, rows: list[Row]) -> None:
    table = read_question_set(write("set.json", written(name, rows))).table
    has_one = name in ("POPE", "VisDial")
    expected = []
    for text, answers in rows:
        counts = dict.fromkeys(answers, 1) if name == "LXMERT" else Counter(answers)
        most = answers[0] if has_one else max(counts, key=lambda one: counts[one])
        listed = None if has_one else list(counts) if name == "LXMERT" else answers
        expected.append((text, most, listed))
    assert table.select("question", "answer", "answers").rows() == expected


# ---- the majority ----


@given(st.lists(st.none() | st.lists(st.sampled_from(["", "a", "A", "b", "é"]), max_size=6), max_size=6))
def test_the_majority_is_what_counting_gives(lists: list[list[str] | None]) -> None:
    expected = []
    for one in lists:
        counts = Counter(one or ()).most_common()
        most = [text for text, count in counts if count == counts[0][1]]
        expected.append((most[0] if most else None, len(most) > 1))
    assert majority(pl.Series(lists, dtype=pl.List(pl.String))).rows() == expected
