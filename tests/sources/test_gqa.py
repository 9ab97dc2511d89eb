import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shortcut_miner.errors import SourceError
from shortcut_miner.schemas import GqaQuestions, Images, SceneObjects, validated
from shortcut_miner.sources.images.scene_graphs import read_scene_graphs
from shortcut_miner.sources.questions.gqa import read_gqa_questions

Write = Callable[[str, Any], Path]


def question(**fields: Any) -> dict[str, Any]:
    return {
        "imageId": "n7",
        "question": "Is it red?",
        "answer": "yes",
        "fullAnswer": "Yes, it is.",
        "annotations": {"question": {"1": "10", "2:4": "11,12"}, "answer": {}, "fullAnswer": {"0": "10"}},
        "types": {"structural": "verify", "semantic": "attr", "detailed": "verifyAttr"},
        "semantic": [],
    } | fields


def graph(**fields: Any) -> dict[str, Any]:
    box = {"name": "cat", "x": 1, "y": 2.5, "w": 10, "h": 20, "attributes": ["red"], "relations": []}
    return {"width": 100, "height": 50, "objects": {"10": box}} | fields


def test_questions_keep_ids_types_and_maps(write: Write) -> None:
    reading = read_gqa_questions(write("q.json", {"0042": question(), "42": question(annotations={})}))
    table = validated(reading.table, GqaQuestions, "questions")
    assert reading.kind == "GQA questions JSON"
    assert table["question_id"].to_list() == ["0042", "42"]
    assert table.row(0, named=True) | {} == {
        "question_id": "0042",
        "image_id": "n7",
        "question": "Is it red?",
        "question_type": "verify",
        "answer_type": None,
        "answer": "yes",
        "answers": None,
        "answer_record_key": None,
        "split": None,
        "structural": "verify",
        "semantic": "attr",
        "detailed": "verifyAttr",
        "full_answer": "Yes, it is.",
        "relevant_question": ["10", "11,12"],
        "relevant_answer": [],
        "relevant_full_answer": ["10"],
    }
    assert table["relevant_question"][1] is None


def test_objects_that_programs_name(write: Write) -> None:
    arguments = ["snow (10)", "person,in,s (11,12)", "cat (-)", "not(brown)", "name", "snow (10) ", "a (b) c"]
    steps = [{"operation": "select", "dependencies": [], "argument": one} for one in arguments]
    path = write("q.json", {"1": question(semantic=steps), "2": question(), "3": question(semantic=None)})
    table = read_gqa_questions(path, programs=True).table
    assert table["relevant_program"].to_list() == [["10", "11", "12"], [], None]
    plain = read_gqa_questions(path).table
    assert plain.equals(table.drop("relevant_program"))
    bad = write("bad.json", {"1": question(), "2": question(semantic=[{"argument": 7}])})
    assert len(read_gqa_questions(bad).table) == 2  # nobody asks
    with pytest.raises(SourceError, match=r"question '2'.*semantic"):
        read_gqa_questions(bad, programs=True)
    skipped = read_gqa_questions(bad, programs=True, on_bad_row="skip")
    assert (skipped.table["question_id"].to_list(), sum(skipped.dropped.values())) == (["1"], 1)


def test_a_test_split_without_answers(write: Write) -> None:
    table = read_gqa_questions(write("q.json", {"1": {"imageId": 7, "question": "What?"}})).table
    assert table.select("image_id", "answer", "structural", "relevant_answer").row(0) == (
        "7",
        None,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (
            {"annotations": {"question": {"2": 337}}},
            "question '2', annotations.question[...]: got a whole number, expected text",
        ),
        ({"annotations": []}, "question '2', annotations: got [], expected object"),
        ({"imageId": None}, "question '2', imageId: got null, expected a whole number or text"),
        ({"question": " "}, "question '2', question: got ' ', expected text that is not blank"),
        ({"answer": 3}, "question '2', answer: got 3, expected text"),
    ],
)
def test_a_bad_question_is_named_or_skipped(write: Write, fields: dict[str, Any], told: str) -> None:
    path = write("q.json", {"1": question(), "2": question(**fields)})
    with pytest.raises(SourceError, match=r"got 1 bad of 2 questions") as error:
        read_gqa_questions(path)
    assert told.split(": got")[0] in str(error.value)
    assert told.split("expected")[0].split("got ")[1][:6] in str(error.value)
    reading = read_gqa_questions(path, on_bad_row="skip")
    assert reading.table["question_id"].to_list() == ["1"]
    assert sum(reading.dropped.values()) == 1


def test_an_id_twice_in_one_file(write: Write) -> None:
    one = json.dumps(question())
    path = write("q.json", f'{{"1": {one}, "2": {one}, "1": {one}}}')
    with pytest.raises(SourceError, match=r"question '1', question id: got 2 entries"):
        read_gqa_questions(path)
    assert read_gqa_questions(path, on_bad_row="skip").table["question_id"].to_list() == ["2"]


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    folder = tmp_path / "train_all_questions"
    folder.mkdir()
    for number, ids in ((1, "cd"), (0, "ab")):
        content = json.dumps({name: question() for name in ids}).encode()
        (folder / f"train_all_questions_{number}.json.gz").write_bytes(gzip.compress(content))
    (folder / "readme.txt").write_text("hello")
    reading = read_gqa_questions(folder)
    assert reading.table["question_id"].to_list() == ["a", "b", "c", "d"]
    assert reading.file.name == "train_all_questions"
    assert reading.notes == ("files of another format left out: 'readme.txt'",)
    assert read_gqa_questions(folder, limit=3).table["question_id"].to_list() == ["a", "b", "c"]
    assert read_gqa_questions(folder, limit=2).table["question_id"].to_list() == ["a", "b"]


def test_an_id_in_two_files_of_a_folder(tmp_path: Path) -> None:
    for number, ids in ((0, "ab"), (1, "bc")):
        (tmp_path / f"{number}.json").write_text(json.dumps({name: question() for name in ids}))
    with pytest.raises(SourceError, match=r"got 1 question ids in several files \('b'\)"):
        read_gqa_questions(tmp_path)
    reading = read_gqa_questions(tmp_path, on_bad_row="skip")
    assert reading.table["question_id"].to_list() == ["a", "c"]
    assert reading.dropped == {"question id: expected in one file only": 2}


def test_a_folder_without_questions(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(SourceError, match=r"got a folder without GQA questions JSON \(it has 'x.json'\)"):
        read_gqa_questions(tmp_path)


def test_another_format_is_refused(write: Write) -> None:
    with pytest.raises(SourceError, match=r"expected GQA questions JSON"):
        read_gqa_questions(write("x.json", {"questions": []}))
    with pytest.raises(SourceError, match=r"expected GQA scene graphs JSON"):
        read_scene_graphs(write("x.json", {"1": question()}))
    with pytest.raises(SourceError, match=r"expected GQA scene graphs JSON"):
        read_scene_graphs(write("y.json", [{"sent": 1}]))


# ---- scene graphs ----


def test_scene_graphs_give_objects_and_images(write: Write) -> None:
    reading = read_scene_graphs(write("s.json", {"7": graph(), "8": graph(objects={}, width=None)}))
    objects = validated(reading.table, SceneObjects, "objects")
    images = validated(reading.images, Images, "images")
    assert objects.rows() == [("7", "10", "cat", 1.0, 2.5, 11.0, 22.5, ["red"])]
    assert images.rows() == [("7", 100.0, 50.0, None), ("8", None, 50.0, None)]


def test_visual_genome_objects_and_attributes(write: Write) -> None:
    one = {"object_id": 10, "names": ["cat", "pet"], "x": 1, "y": 2, "w": 3, "h": 4}
    objects = read_scene_graphs(write("o.json", [{"image_id": 7, "objects": [one], "image_url": ""}]))
    assert objects.table.rows() == [("7", "10", "cat", 1.0, 2.0, 4.0, 6.0, [])]
    one["attributes"] = ["red"]
    attributes = read_scene_graphs(write("a.json", [{"image_id": 7, "attributes": [one]}]))
    assert attributes.table["attributes"].to_list() == [["red"]]
    assert attributes.kind == "Visual Genome objects JSON"


@pytest.mark.parametrize(
    "box", [{"x": "1"}, {"x": float("nan")}, {"w": None}, {"name": " "}, {"name": 3}, {"x": 1e400}]
)
def test_an_image_with_a_bad_object_is_named_or_skipped(write: Write, box: dict[str, Any]) -> None:
    bad = graph()
    bad["objects"]["10"] |= box
    path = write("s.json", json.dumps({"7": graph(), "8": bad}).replace("Infinity", "1e400"))
    with pytest.raises(SourceError, match=r"got 1 bad of 2 images.*\n.*image '8'"):
        read_scene_graphs(path)
    reading = read_scene_graphs(path, on_bad_row="skip")
    assert reading.table["image_id"].to_list() == reading.images["image_id"].to_list() == ["7"]
    assert sum(reading.dropped.values()) == 1


def test_objects_of_negative_size_are_noted(write: Write) -> None:
    bad = graph()
    bad["objects"]["10"]["w"] = -3
    notes = read_scene_graphs(write("s.json", {"7": bad})).notes
    assert notes == ("objects with a negative width or height: 1 of 1",)


@pytest.mark.real
def test_real_samples(real_data: Path) -> None:
    questions = read_gqa_questions(real_data / "gqa" / "gqa_ood_val_tail_questions.json").table
    assert len(questions) == 1_358
    assert questions["structural"].null_count() == 0
    graphs = read_scene_graphs(real_data / "gqa" / "scene_graphs_4.json")
    assert (len(graphs.table), len(graphs.images)) == (59, 4)


@pytest.mark.real
def test_golden_world(real_data: Path) -> None:
    world = real_data.parent / "golden" / "fpvg" / "world"
    table = read_gqa_questions(world / "val_balanced_questions.json.gz").table
    assert len(table) == 2_012
    assert table.select((pl.col("question_id").str.starts_with("0")).sum()).item() == 997
    assert read_gqa_questions(world).table.equals(table)
    graphs = read_scene_graphs(world / "val_sceneGraphs.json.gz")
    assert (len(graphs.images), len(graphs.table)) == (200, 2_200)


def test_an_empty_archive_beside_the_questions_is_left_out(tmp_path: Path) -> None:
    import zipfile

    (tmp_path / "q.json").write_text('{"1": {"imageId": "a", "question": "Why?"}}')
    zipfile.ZipFile(tmp_path / "e.zip", "w").close()
    assert read_gqa_questions(tmp_path).notes == ("files of another format left out: 'e.zip'",)
