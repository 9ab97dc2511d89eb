"""Ids: whole floats are integers in every reader, other floats are refused, lost leading zeros come back."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.answers.predictions import read_predictions
from shortcut_miner.sources.answers.soft_labels import read_soft_labels
from shortcut_miner.sources.images.image_ids import check_image_join
from shortcut_miner.sources.images.labels import read_labels
from shortcut_miner.sources.images.regions import read_regions
from shortcut_miner.sources.images.scene_graphs import read_scene_graphs
from shortcut_miner.sources.opening.ids import with_zeros_back, zeros_back
from shortcut_miner.sources.questions.gqa import read_gqa_questions
from shortcut_miner.sources.questions.values import read_id_list
from shortcut_miner.sources.questions.vqa import read_vqa, read_vqa_annotations, read_vqa_questions

Write = Callable[[str, Any], Path]
Make = Callable[..., dict[str, Any]]

BOX = {"x": 0, "y": 0, "w": 4, "h": 4}
CORNERS = {"xmin": 0, "ymin": 0, "xmax": 4, "ymax": 4}
NOTE = "question_id, floats read as whole numbers: 1"


def _graph(key: Any) -> dict[str, Any]:
    return {str(key): {"width": 9, "height": 9, "objects": {"1": {"name": "cat", **BOX}}}}


def _genome(image: Any, one: Any = 1) -> list[dict[str, Any]]:
    return [{"image_id": image, "objects": [{"object_id": one, "names": ["cat"], **BOX}]}]


def _coco(image: Any, category: Any = 1) -> dict[str, Any]:
    return {
        "images": [{"id": image}],
        "categories": [{"id": category, "name": "cat"}],
        "annotations": [{"image_id": image, "category_id": category}],
    }


def _lines(*records: Any) -> str:
    return "".join(json.dumps(one) + "\n" for one in records)


# What a file with an id holds, its reader, the column it comes out in.
READERS: dict[str, tuple[Callable[[Any], Any], Callable[[Path], Any], str]] = {
    "VQA questions": (
        lambda one: {"questions": [{"question_id": one, "image_id": "n", "question": "Why?"}]},
        read_vqa_questions, "question_id",
    ),
    "VQA questions, image": (
        lambda one: {"questions": [{"question_id": "n", "image_id": one, "question": "Why?"}]},
        read_vqa_questions, "image_id",
    ),
    "VQA annotations": (
        lambda one: {"annotations": [{"question_id": one, "image_id": "n", "multiple_choice_answer": "x"}]},
        read_vqa_annotations, "question_id",
    ),
    "GQA questions": (
        lambda one: {str(one): {"question": "Why?", "imageId": "n"}}, read_gqa_questions, "question_id",
    ),
    "GQA questions, image": (
        lambda one: {"n": {"question": "Why?", "imageId": one}}, read_gqa_questions, "image_id",
    ),
    "GQA scene graphs": (_graph, read_scene_graphs, "image_id"),
    "Visual Genome": (_genome, read_scene_graphs, "image_id"),
    "Visual Genome, object": (lambda one: _genome(5, one), read_scene_graphs, "object_id"),
    "COCO instances": (_coco, read_labels, "image_id"),
    "image-to-detection": (
        lambda one: {str(one): {"classes": ["cat"], "scores": [0.5]}}, read_labels, "image_id",
    ),
    "object detection JSONL": (
        lambda one: _lines({"image_id": one, "detections": [{"label": "cat", "box": CORNERS}]}),
        read_regions, "image_id",
    ),
    "lmms-eval samples": (
        lambda one: _lines({"doc_id": 0, "doc": {"question_id": one}, "filtered_resps": ["x"]}),
        read_predictions, "question_id",
    ),
    "VQA results": (lambda one: [{"question_id": one, "answer": "x"}], read_predictions, "question_id"),
    "soft labels list": (
        lambda one: [{"question_id": one, "label": {"x": 1}}], read_soft_labels, "question_id",
    ),
    "soft labels object": (lambda one: {str(one): {"x": 1}}, read_soft_labels, "question_id"),
    "list of ids": (lambda one: [one, "n"], lambda path: read_id_list(path)[1], "question_id"),
    "ids as keys": (lambda one: {str(one): 1}, lambda path: read_id_list(path)[1], "question_id"),
    "ids as lines": (lambda one: f"{one}\nn\n", lambda path: read_id_list(path)[1], "question_id"),
}  # fmt: skip


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    ("given", "found"), [(1000.0, "1000"), (1e15, "1000000000000000"), ("1000.0", "1000"), ("007", "007")]
)
def test_whole_floats_are_integers_and_told(write: Write, name: str, given: Any, found: str) -> None:
    content, read, column = READERS[name]
    reading = read(write("f", content(given)))
    assert reading.table[column][0] == found
    assert (f"{column}, floats read as whole numbers: 1" in reading.notes) == (found != given)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("given", [1000.5, 2.0**53, 1e17, "12.5", "nan", "None"])
def test_other_floats_are_no_ids(write: Write, name: str, given: Any) -> None:
    content, read, _ = READERS[name]
    path = write("f", content(given))
    with pytest.raises(SourceError) as error:
        read(path)
    message = str(error.value)
    assert message.startswith(f"{path}: got ")
    assert str(given) in message
    assert "a whole number or text" in message or "expected text or whole numbers" in message


def test_coco_results_and_their_categories(write: Write) -> None:
    result = {"image_id": 7.0, "category_id": 3.0, "bbox": [0, 0, 4, 4], "score": 0.5}
    info = write("c.json", [{"id": 3.0, "name": "cat"}])
    reading = read_regions(write("r.json", [result]), info=info, images=["7"])
    assert reading.table.select("image_id", "label").rows() == [("7", "cat")]
    assert "image_id, floats read as whole numbers: 1" in reading.notes
    with pytest.raises(SourceError, match=r"record 0, image_id: got 7\.5, expected a whole number or text"):
        read_regions(write("r.json", [result | {"image_id": 7.5}]), info=info, images=["7"])


def test_regions_of_wanted_images_alone(tmp_path: Path, write: Write) -> None:
    boxes = pl.DataFrame({"x1": [0.0, 0.0], "y1": 0.0, "x2": 4.0, "y2": 4.0})
    for ids in ([7.0, 8.0], ["7.0", "8.0"]):
        boxes.with_columns(image_id=pl.Series(ids)).write_parquet(tmp_path / "r")
        reading = read_regions(tmp_path / "r", images=["7"])
        assert reading.table["image_id"].to_list() == ["7"]
        assert "image_id, floats read as whole numbers: 1" in reading.notes
    boxes.with_columns(image_id=pl.Series([7.0, 8.5])).write_parquet(tmp_path / "r")
    with pytest.raises(SourceError, match=r"8\.5.* in the column image_id, expected whole numbers"):
        read_regions(tmp_path / "r", images=["7"])
    lines = _lines({"image_id": 7.0, "detections": []}, {"image_id": 8, "detections": []})
    assert read_regions(write("r.jsonl", lines), images=["7"]).images["image_id"].to_list() == ["7"]


def test_a_float_and_an_integer_are_one_id(write: Write, question: Make, annotation: Make) -> None:
    questions = write("q.json", {"questions": [question(1, question_id=1000.0, image_id=1.0)]})
    annotations = write("a.json", {"annotations": [annotation(1, question_id="1000", image_id="1")]})
    table, reading, _ = read_vqa(questions, annotations)
    assert table.select("question_id", "image_id").rows() == [("1000", "1")]
    assert {NOTE, "image_id, floats read as whole numbers: 1"} <= {*reading.notes}
    both = write("q.json", {"questions": [question(1000), question(1, question_id=1000.0)]})
    with pytest.raises(SourceError, match="question_id: got '1000' 2 times, expected an id that occurs once"):
        read_vqa_questions(both)


# ---- leading zeros ----


@pytest.mark.parametrize(
    ("given", "known", "found"),
    [
        (["2930152", "17"], ["02930152", "17"], ["02930152", "17"]),  # the predictions lost them
        (["02930152", "17"], ["2930152", "17"], ["2930152", "17"]),  # the questions lost them
        (["0", "5"], ["00", "05"], ["00", "05"]),
        (["7", "x7", "9"], ["007", "0x7", "9"], ["007", "x7", "9"]),  # text has no zeros to lose
        (["007", "8"], ["007", "08"], ["007", "8"]),  # one that kept its zeros: none were lost
        (["7", "7"], ["07"], ["07", "07"]),
        (["7", "8"], ["07", "9"], ["07", "8"]),
        ([], ["07"], []),
    ],
)
def test_lost_zeros_come_back(given: Sequence[str], known: Sequence[str], found: Sequence[str]) -> None:
    ids, pairs = zeros_back(pl.Series(given, dtype=pl.String), pl.Series(known), "f")
    assert ids.to_list() == found
    assert pairs.rows() == [
        *dict.fromkeys(pair for pair in zip(given, found, strict=True) if pair[0] != pair[1])
    ]


@pytest.mark.parametrize(
    ("given", "known"),
    [(["7"], ["07", "007"]), (["7", "8"], ["7", "007", "08"]), (["07", "007", "08"], ["7", "8"])],
)
def test_lost_zeros_that_may_be_of_several_ids_are_refused(given: list[str], known: list[str]) -> None:
    with pytest.raises(SourceError) as error:
        zeros_back(pl.Series(given), pl.Series(known), "answers.csv")
    assert str(error.value).startswith(
        "answers.csv: got ids that lost leading zeros and may be one of several ("
    )
    assert str(error.value).endswith("expected the ids as they were. Write ids as text.")


@given(known=st.lists(st.text("079", min_size=1, max_size=4), unique=True, max_size=8), data=st.data())
def test_numbers_find_their_ids_or_are_refused(known: list[str], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(known), unique=True)) if known else []
    given = [str(int(one)) for one in chosen]
    try:
        ids, _ = zeros_back(pl.Series(given, dtype=pl.String), pl.Series(known, dtype=pl.String), "f")
    except SourceError:
        assert any(sum(int(one) == int(other) for other in known) > 1 for one in chosen)
        return
    clear = [one for one in chosen if sum(int(one) == int(other) for other in known) == 1]
    found = dict(zip(chosen, ids.to_list(), strict=True))
    assert all(found[one] == one for one in clear)


def test_a_note_says_which_ids_changed(write: Write) -> None:
    path = write("p.csv", "question_id,answer\n2930152,yes\n17,no\n")
    reading = with_zeros_back(read_predictions(path), pl.Series(["02930152", "17"]))
    assert reading.table["question_id"].to_list() == ["02930152", "17"]
    assert reading.notes == ("ids joined that had lost leading zeros: 1 (2930152 is 02930152)",)


def test_annotations_that_lost_zeros(write: Write, question: Make, annotation: Make) -> None:
    questions = write("q.json", {"questions": [question(1, question_id="01")]})
    annotations = write("a.json", {"annotations": [annotation(1, image_id=0)]})
    table, _, reading = read_vqa(questions, annotations)
    assert table["question_id"].to_list() == ["01"]
    assert "ids joined that had lost leading zeros: 1 (1 is 01)" in reading.notes


def test_images_that_lost_zeros_are_named() -> None:
    with pytest.raises(SourceError, match="One of them lost leading zeros: write its image ids as text"):
        check_image_join(pl.Series(["007"]), pl.Series(["7"]))
