"""A world of 41 images with expected questions, texts with their answers, and counts of published files."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from diagnostics.pope.worlds import answers, write_objects, write_questions

import shortcut_miner as sm
from shortcut_miner.diagnostics.pope.parsing import parse_answer

GOLDEN = Path(__file__).parents[2] / "golden" / "pope"


def load(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_bytes())


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Any:
    world = {one["image"]: one["objects"] for one in load("world")["world"]}
    assert len(world) == 41
    file = write_objects(tmp_path_factory.mktemp("pope") / "objects.jsonl", world)
    return sm.pope.build(objects=file, image_count=30, preset="code")


def test_the_images_of_the_world(report: Any) -> None:
    expected = load("world")["expected"]
    assert report.questions["image"].unique().sort().to_list() == sorted(expected["images"])
    assert report.counts["eligible_images"] == 30
    assert report.dropped == {
        "image with too few objects": len(expected["dropped_fewer_than_3"]),
        "image that lacks too few names": len(expected["dropped_no_absent"]),
    }
    assert report.counts["objects"] == len(expected["frequency_rank"]) == 14


@pytest.mark.parametrize("strategy", ["popular", "adversarial"])
def test_absent_objects(report: Any, strategy: str) -> None:
    expected = load("world")["expected"]
    absent = report.questions.filter(strategy=strategy, answer="no").sort("number")
    found = absent.select("image", "paired_object", "object").rows()
    differing = [one for one, other in zip(found, expected[strategy], strict=True) if [*one] != other]
    assert (len(found), differing) == (90, [])
    assert absent["is_fallback"].sum() == expected["adversarial_fallbacks"] == 0


def test_parsers() -> None:
    texts = load("answer_parsing")
    assert len(texts) == 19
    for parser in ("pope", "repope"):
        assert [parse_answer(one["text"], parser) for one in texts] == [one[parser] for one in texts]


def test_the_numbers(tmp_path: Path) -> None:
    golden = load("metric")
    words = {1: "yes", 0: "no"}
    rows = [
        (at, f"i{at}", "Is there a dog in the image?", words[one]) for at, one in enumerate(golden["label"])
    ]
    said = {at: words[one] for at, one in enumerate(golden["predicted"])}
    report = sm.pope.score(
        predictions={"m": answers(tmp_path / "m.jsonl", said)},
        questions={"random": write_questions(tmp_path / "q.json", rows)},
        resamples=0,
    )
    counts = report.counts.row(0, named=True)
    assert {name: counts[name] for name in ("tp", "fp", "fn", "tn")} == {
        name: golden[name] for name in ("tp", "fp", "fn", "tn")
    }
    values = dict(report.scores.filter(group="strategy").select("metric", "value").rows())
    for name in ("accuracy", "precision", "recall", "f1", "yes_ratio"):
        assert values[name] == pytest.approx(100 * golden[name], abs=1e-12)


@pytest.mark.parametrize("strategy", ["random", "popular", "adversarial"])
def test_what_repope_does_to_popes_files(strategy: str, tmp_path: Path) -> None:
    """Files of the published sizes: which labels change and which questions leave is counted as published."""
    published = load("repope_counts")[strategy]
    half = published["pope"] // 2
    rows = [
        (at, f"i{at}", "Is there a dog in the image?", "yes" if at < half else "no") for at in range(2 * half)
    ]
    gone = {*range(published["yes_removed"]), *range(half, half + published["no_removed"])}
    kept = [row for row in rows if row[0] not in gone]
    changed, to_no, to_yes = [], published["yes_to_no"], published["no_to_yes"]
    for number, image, text, label in kept:
        if label == "yes" and to_no:
            to_no, label = to_no - 1, "no"
        elif label == "no" and to_yes:
            to_yes, label = to_yes - 1, "yes"
        changed.append((number, image, text, label))
    assert len(changed) == published["repope"]
    report = sm.pope.score(
        predictions={"m": answers(tmp_path / "m.jsonl", {row[0]: "yes" for row in rows})},
        questions={strategy: write_questions(tmp_path / "q.json", rows)},
        relabel=write_questions(tmp_path / "r.json", changed),
        resamples=0,
    )
    assert report.notes == (
        f"relabelled: {published['repope']:,} of 3,000 questions are kept; {published['yes_to_no']:,} become "
        f"no, {published['no_to_yes']:,} become yes",
    )
    assert report.relabelled is not None
    told = report.relabelled.filter(group="strategy", metric="precision")
    assert told["labels"].to_list() == ["original", "kept", "relabelled"]
    yes = published["repope_yes"], published["repope"]
    assert told["value"].to_list()[::2] == [50.0, pytest.approx(100 * yes[0] / yes[1])]


@pytest.mark.real
def test_cocos_most_frequent_objects_are_what_pope_asks_for(real_data: Path) -> None:
    """POPE's files and these labels are of other images: the names that popularity brings are the same."""
    file = real_data / "vqa60k" / "image_to_detection.json.gz"
    report = sm.pope.build(objects=file)
    assert (report.counts["images"], report.counts["questions"]) == (500, 9000)
    assert report.counts["eligible_images"] == 18489
    released = load("coco_negative_object_counts")
    absent = report.questions.filter(strategy="popular", answer="no")["object"].value_counts(sort=True)
    asked = absent["object"].to_list()
    assert len({*asked[:5]} & {*list(released["popular"])[:5]}) >= 4
    random = report.questions.filter(strategy="random", answer="no")["object"].value_counts()
    assert (len(random), len(released["random"])) == (76, 79)
    assert random["count"].max() < 40
    assert report.questions.filter(pl.col("doubt").is_not_null()).height == report.counts["doubtful_no"]
