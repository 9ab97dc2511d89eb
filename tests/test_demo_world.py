import json
import os
import subprocess
import sys
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from shortcut_miner.demo import DemoWorld, write_demo_world
from shortcut_miner.errors import ConfigError

MIN_COUNT = 8
SEEDS = (0, 7)


class Row(NamedTuple):
    words: frozenset[str]
    labels: frozenset[str]
    answer: str
    answers: list[str]


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", params=SEEDS)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> DemoWorld:
    return write_demo_world(tmp_path_factory.mktemp("demo"), seed=request.param)


def question_files(world: DemoWorld) -> list[tuple[str, Any, Any]]:
    return [
        ("train", load(world.train_questions), load(world.train_annotations)),
        ("val", load(world.val_questions), load(world.val_annotations)),
    ]


def rows(world: DemoWorld, split: str) -> dict[str, Row]:
    """Rows as the VQA-CE reference sees them: basic_english words and labels with score >= 0.5."""
    detections = load(world.detections)
    texts, annotations = next(files[1:] for files in question_files(world) if files[0] == split)
    answers = {one["question_id"]: one for one in annotations["annotations"]}
    result = {}
    for one in texts["questions"]:
        found = detections.get(str(one["image_id"]), {"classes": [], "scores": []})
        labels = [name for name, score in zip(found["classes"], found["scores"], strict=True) if score >= 0.5]
        annotation = answers[one["question_id"]]
        result[str(one["question_id"])] = Row(
            frozenset(one["question"].lower().replace("?", " ? ").split()),
            frozenset(labels),
            annotation["multiple_choice_answer"],
            [answer["answer"] for answer in annotation["answers"]],
        )
    return result


def test_vqa_files_have_the_official_keys(world: DemoWorld) -> None:
    info = ["description", "url", "version", "year", "contributor", "date_created"]
    answer_keys = ["answer", "answer_confidence", "answer_id"]
    for split, questions, annotations in question_files(world):
        assert list(questions) == ["info", "task_type", "data_type", "license", "data_subtype", "questions"]
        assert list(annotations) == ["info", "license", "data_subtype", "annotations", "data_type"]
        for file in (questions, annotations):
            assert (file["data_type"], file["data_subtype"]) == ("mscoco", f"{split}2014")
            assert list(file["info"]) == info
            assert list(file["license"]) == ["url", "name"]
        assert questions["task_type"] == "Open-Ended"
        assert {tuple(one) for one in questions["questions"]} == {("image_id", "question", "question_id")}
        assert {tuple(sorted(one)) for one in annotations["annotations"]} == {
            ("answer_type", "answers", "image_id", "multiple_choice_answer", "question_id", "question_type")
        }
        assert all(list(a) == answer_keys for one in annotations["annotations"] for a in one["answers"])


def test_sizes_are_those_of_a_small_world(world: DemoWorld) -> None:
    (_, train, _), (_, val, _) = question_files(world)
    assert 3_800 < len(train["questions"]) < 4_300
    assert 1_500 < len(val["questions"]) < 1_800
    assert len(load(world.train_scene_graphs)) == 1_271
    assert len(load(world.val_scene_graphs)) == 531
    assert len(load(world.gqa_questions)) == 531


def test_questions_and_annotations_join_one_to_one(world: DemoWorld) -> None:
    seen: set[int] = set()
    for _, questions, annotations in question_files(world):
        asked = {one["question_id"]: one["image_id"] for one in questions["questions"]}
        answered = {one["question_id"]: one["image_id"] for one in annotations["annotations"]}
        assert asked == answered
        assert len(asked) == len(questions["questions"]) == len(annotations["annotations"])
        texts = [(one["image_id"], one["question"]) for one in questions["questions"]]
        assert len(set(texts)) == len(texts)
        assert not seen & set(asked.values())
        seen |= set(asked.values())


def test_annotations_are_ten_answers_with_their_majority(world: DemoWorld) -> None:
    synonyms_or_errors = 0
    for _, questions, annotations in question_files(world):
        texts = {one["question_id"]: one["question"].lower() for one in questions["questions"]}
        for one in annotations["annotations"]:
            given = [answer["answer"] for answer in one["answers"]]
            assert [answer["answer_id"] for answer in one["answers"]] == list(range(1, 11))
            assert {answer["answer_confidence"] for answer in one["answers"]} <= {"yes", "maybe", "no"}
            majority = one["multiple_choice_answer"]
            assert given.count(majority) == max(Counter(given).values())
            assert (one["answer_type"] == "yes/no") == (majority in ("yes", "no"))
            assert (one["answer_type"] == "number") == majority.isdigit()
            assert texts[one["question_id"]].startswith(one["question_type"])
            synonyms_or_errors += len(set(given)) > 1
    assert synonyms_or_errors > 500


def test_detections_are_imperfect_and_about_these_images(world: DemoWorld) -> None:
    detections = load(world.detections)
    images = load(world.train_scene_graphs) | load(world.val_scene_graphs)
    assert 0 < len(images.keys() - detections.keys()) < 40
    assert detections.keys() <= images.keys()
    assert any(one["classes"] == [] for one in detections.values())
    for one in detections.values():
        assert list(one) == ["classes", "scores"]
        assert len(one["classes"]) == len(one["scores"])
        assert all(0 < score <= 1 for score in one["scores"])
    faint = sum(score < 0.5 for one in detections.values() for score in one["scores"])
    assert faint > 100
    named = {name for one in detections.values() for name in one["classes"]}
    assert "person" in named
    assert not named & {"man", "badminton racket", "rabbit", "wall"}


def test_scene_graphs_are_closed_and_inside_their_images(world: DemoWorld) -> None:
    for split, questions, _ in question_files(world):
        graphs = load(world.train_scene_graphs if split == "train" else world.val_scene_graphs)
        assert {str(one["image_id"]) for one in questions["questions"]} <= graphs.keys()
        for graph in graphs.values():
            assert graph["location"] in ("indoors", "outdoors")
            for one in graph["objects"].values():
                assert sorted(one) == ["attributes", "h", "name", "relations", "w", "x", "y"]
                assert min(one["x"], one["y"]) >= 0
                assert min(one["w"], one["h"]) > 0
                assert one["x"] + one["w"] <= graph["width"]
                assert one["y"] + one["h"] <= graph["height"]
                assert {relation["object"] for relation in one["relations"]} <= graph["objects"].keys()


def test_gqa_questions_name_objects_by_word_position(world: DemoWorld) -> None:
    graphs = load(world.val_scene_graphs)
    positions = 0
    for question_id, one in load(world.gqa_questions).items():
        assert sorted(one) == [
            "annotations", "answer", "entailed", "equivalent", "fullAnswer", "groups", "imageId",
            "isBalanced", "question", "semantic", "semanticStr", "types",
        ]  # fmt: skip
        assert len(question_id) == 8
        assert question_id.startswith("0")
        objects = graphs[one["imageId"]]["objects"]
        for key, named in one["annotations"].items():
            words = one[key].lower().replace(",", "").rstrip(".?").split()
            for position, object_id in named.items():
                start, _, end = position.partition(":")
                phrase = words[int(start) : int(end or int(start) + 1)]
                assert " ".join(phrase) == objects[object_id]["name"]
                positions += 1
    assert positions > 500
    kinds = Counter(one["types"]["semantic"] for one in load(world.gqa_questions).values())
    assert set(kinds) == {"attr", "global", "obj", "rel"}


def test_gqa_color_answers_are_the_objects_attributes(world: DemoWorld) -> None:
    graphs = load(world.val_scene_graphs)
    colors = [one for one in load(world.gqa_questions).values() if one["groups"]["global"] == "color"]
    for one in colors:
        (object_id,) = one["annotations"]["question"].values()
        assert one["answer"] in graphs[one["imageId"]]["objects"][object_id]["attributes"]
    assert colors


def test_counts_are_answered_from_the_scene(world: DemoWorld) -> None:
    graphs = load(world.val_scene_graphs)
    _, questions, annotations = question_files(world)[1]
    answers = {one["question_id"]: one["multiple_choice_answer"] for one in annotations["annotations"]}
    counted = [one for one in questions["questions"] if one["question"].startswith("How many giraffes")]
    agreeing = 0
    for one in counted:
        objects = graphs[str(one["image_id"])]["objects"].values()
        agreeing += answers[one["question_id"]] == str(sum(thing["name"] == "giraffe" for thing in objects))
    assert agreeing >= 0.95 * len(counted) > 10


def test_planted_rules_are_frequent_confident_and_survive_both_superset_filters(world: DemoWorld) -> None:
    train = rows(world, "train").values()

    def best(items: frozenset[tuple[str, str]]) -> tuple[str, int, int]:
        words = {name for kind, name in items if kind == "word"}
        labels = {name for kind, name in items if kind == "object"}
        answers = Counter(row.answer for row in train if words <= row.words and labels <= row.labels)
        answer, rule_count = answers.most_common(1)[0]
        return answer, rule_count, sum(answers.values())

    assert len(world.shortcuts) == 11
    for one in world.shortcuts:
        items = frozenset([("word", w) for w in one.words] + [("object", name) for name in one.objects])
        answer, rule_count, count = best(items)
        assert answer == one.answer
        assert count >= 20
        assert rule_count >= 0.9 * count
        assert rule_count >= MIN_COUNT
        for size in range(1, len(items)):
            for subset in map(frozenset, combinations(sorted(items), size)):
                smaller_answer, smaller_rule_count, smaller_count = best(subset)
                explains = smaller_rule_count * count >= rule_count * smaller_count
                assert not (smaller_answer == one.answer and explains), (one, subset)


def test_planted_counterexamples_are_where_the_rule_fires_and_nobody_agrees(world: DemoWorld) -> None:
    val = rows(world, "val")
    for one in world.shortcuts:
        expected = [
            question_id
            for question_id, row in val.items()
            if set(one.words) <= row.words
            and set(one.objects) <= row.labels
            and one.answer not in row.answers
        ]
        assert list(one.counterexamples) == expected
        assert len(expected) >= 5


def test_models_differ_where_the_shortcuts_fail(world: DemoWorld) -> None:
    val = rows(world, "val")
    says = {}
    accuracy = {}
    for model, path in (("leaning", world.shortcut_predictions), ("reading", world.grounded_predictions)):
        records = load(path)
        assert {tuple(one) for one in records} == {("question_id", "answer")}
        says[model] = {str(one["question_id"]): one["answer"] for one in records}
        assert len(records) == len(says[model])
        assert says[model].keys() == val.keys()
        accuracy[model] = sum(min(1, val[i].answers.count(says[model][i]) / 3) for i in val) / len(val)
    assert 0.5 < accuracy["leaning"] < 0.65 < 0.8 < accuracy["reading"] < 0.95
    pairs = [(i, one.answer) for one in world.shortcuts for i in one.counterexamples]
    fooled = {m: sum(says[m][i] == answer for i, answer in pairs) / len(pairs) for m in says}
    assert fooled["reading"] < 0.2 < 0.8 < fooled["leaning"]


def file_bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_same_seed_gives_the_same_bytes_whatever_the_hash_seed(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from shortcut_miner.demo import write_demo_world; "
        "assert not {'numba', 'cupy', 'spacy'} & set(sys.modules); "
        "print(write_demo_world(pathlib.Path(sys.argv[1]), seed=3).shortcuts)"
    )
    printed = []
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / hash_seed)],
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        printed.append(done.stdout)
    first, second = file_bytes(tmp_path / "1"), file_bytes(tmp_path / "2")
    assert printed[0] == printed[1]
    assert len(first) == 11  # the files and their manifest
    assert first == second


def test_another_seed_gives_another_world_in_place_of_the_first(tmp_path: Path) -> None:
    write_demo_world(tmp_path, seed=0)
    first = file_bytes(tmp_path)
    with pytest.raises(ConfigError, match=r"that demo wrote with other options \(seed 0, now 1\)"):
        write_demo_world(tmp_path, seed=1)
    assert file_bytes(tmp_path) == first
    write_demo_world(tmp_path, seed=1, force=True)
    second = file_bytes(tmp_path)
    assert first.keys() == second.keys()
    assert all(first[name] != second[name] for name in first)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    with pytest.raises(ConfigError, match="expected a folder"):
        write_demo_world(tmp_path / "taken")
