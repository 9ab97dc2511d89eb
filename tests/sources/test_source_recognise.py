import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.answers.predictions import read_predictions
from shortcut_miner.sources.images.labels import read_labels
from shortcut_miner.sources.questions.vqa import read_vqa, read_vqa_annotations, read_vqa_questions
from shortcut_miner.sources.recognise import recognise

Write = Callable[[str, Any], Path]

KINDS = {
    "VQA questions JSON": ({"questions": [{}, {}], "info": 1}, {"questions": 2}, True),
    "VQA annotations JSON": ({"annotations": [{}]}, {"annotations": 1}, True),
    "image-to-detection JSON": ({"1": None, "2": {"classes": []}}, {"images": 2}, True),
    "COCO instances JSON": (
        {"images": [1, 2], "annotations": [], "categories": [1]},
        {"images": 2, "annotations": 0, "categories": 1},
        True,
    ),
    "VQA results JSON": ([{}, {"question_id": 1, "answer": "x"}], {"answers": 2}, True),
    "COCO results JSON": ([{"image_id": 1, "category_id": 1, "score": 1}], {"detections": 1}, True),
    "GQA questions JSON": ({"1": {"question": "?", "imageId": "n1"}}, {"questions": 1}, True),
    "predictions JSONL": ('{"question_id": 1, "answer": "x"}\n' * 3, {"answers": 3}, True),
    "predictions CSV": ("answer,question_id\nx,1\n", {"answers": 1}, True),
    "JSON Lines with the keys 'a'": ('{"a": 1}\n{"b": 1}', {"lines": 2}, False),
    "a text table with the columns 'a', 'b'": ("a\tb\n1\t2\n", {"rows": 1}, False),
    "a JSON list of records with 'sent'": ([{"sent": 1}], {"records": 1}, False),
    "an empty JSON object": ({}, {}, False),
    "text that starts with 'hello'": ("hello", {}, False),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_are_told_by_content(write: Write, kind: str) -> None:
    content, counts, is_known = KINDS[kind]
    found = recognise(write("file.xyz", content))
    assert (found.kind, found.counts, found.is_known, found.packing) == (kind, counts, is_known, ())


def test_packing_facts_and_notes(write: Write) -> None:
    body = b'{"questions": [NaN]}'
    found = recognise(write("q.json", gzip.compress(body)))
    assert (found.packing, found.file.name) == (("gzip",), "q.json")
    assert found.notes == ("NaN or infinite numbers read as null: 1",)


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        (["question_id", "answer"], "predictions Parquet"),
        (["image_id", "label"], "labels Parquet"),
        (["x"], "a Parquet table with the columns 'x'"),
    ],
)
def test_parquet(tmp_path: Path, columns: list[str], kind: str) -> None:
    path = tmp_path / "table"
    pl.DataFrame({name: ["a", "b"] for name in columns}).write_parquet(path)
    found = recognise(path)
    assert found.kind == kind
    assert list(found.counts.values()) == [2]


def test_what_can_not_be_read_is_an_error(tmp_path: Path, write: Write) -> None:
    with pytest.raises(SourceError, match="got a folder"):
        recognise(tmp_path)
    with pytest.raises(SourceError, match="ends at byte 8 inside a value"):
        recognise(write("cut.json", '{"a": [1'))


# ---- no input makes a reader fail in another way than with a SourceError ----

QUESTIONS = {"questions": [{"question_id": n, "image_id": 1, "question": "Is it?"} for n in range(3)]}
ANNOTATIONS = {
    "annotations": [
        {
            "question_id": n,
            "image_id": 1,
            "multiple_choice_answer": "yes",
            "answers": [{"answer": "yes", "answer_id": 1}, {"answer": "no"}],
        }
        for n in range(3)
    ]
}
SEEDS = [
    json.dumps(value).encode()
    for value in (
        QUESTIONS,
        ANNOTATIONS,
        QUESTIONS | ANNOTATIONS,
        {"1": {"classes": ["a"], "scores": [0.5]}, "2": {"classes": [], "scores": []}},
        {
            "images": [{"id": 1}],
            "annotations": [{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}],
            "categories": [{"id": 1, "name": "a"}],
        },
        [{"question_id": 1, "answer": "yes"}, {"question_id": 2, "answer": "no"}],
    )
] + [
    b'{"question_id": 1, "answer": "x"}\n{"question_id": 2, "answer": "y"}\n',
    b'question_id,answer\n1,"x"\n2,y\n',
]
TOKENS = [
    *(b"null", b"NaN", b"-Infinity", b'"\\ud800"', b"[]", b"{}", b'""', b"1e999", b"true", b"1.5", b"-1"),
    *(
        b"\xff",
        b"\x00",
        b"\r\n",
        b'"',
        b",",
        b"}",
        b"]",
        b"\xef\xbb\xbf",
        b"\xe2\x80\xa8",
        b"PAR1",
        b"\x1f\x8b",
    ),
]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    content = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(content)))
        until = draw(st.integers(at, min(len(content), at + 12)))
        content = content[:at] + draw(st.sampled_from([b"", *TOKENS])) + content[until:]
    return gzip.compress(content) if draw(st.booleans()) else content


@given(content=damaged(), on_bad_row=st.sampled_from(["error", "skip"]))
def test_damaged_files_are_read_or_refused(write: Write, content: bytes, on_bad_row: Any) -> None:
    path = write("damaged", content)
    for read in (read_vqa_questions, read_vqa_annotations, read_labels, read_predictions):
        try:
            reading = read(path, on_bad_row=on_bad_row)  # type: ignore[operator]
            assert not reading.table.is_empty()
            assert on_bad_row == "skip" or not reading.dropped
        except SourceError as error:
            assert ", expected " in str(error)
    for call in (lambda: recognise(path), lambda: read_vqa(path, path, on_bad_row=on_bad_row)):
        try:
            call()
        except SourceError as error:
            assert ", expected " in str(error)


def test_neighbours_may_be_taken_for_soft_labels(write: Write) -> None:
    found = recognise(write("obj_matching.json", {"dog": {"cat": 0.5, "cow": 1}}))
    assert found.kind == "soft labels JSON"
    assert found.goes_to.endswith(
        "; or, if its keys are classes (obj_matching.json), to swapmix build --similar-classes"
    )
    listed = recognise(write("soft.json", [{"question_id": 1, "label": {"red": 1}}]))
    assert "swapmix" not in listed.goes_to
