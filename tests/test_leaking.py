"""What text, objects' names and rules tell of a folder's answers: worlds in which each tells what it must."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shortcut_miner as sm
from shortcut_miner.cli.run import run
from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.exports.questions import read_question_sets
from shortcut_miner.scoring.leak import MOST_ANSWERS, leak_check

ROWS = 1600
OBJECTS = ("cat", "dog", "bus", "car", "cup")
WORDS = ("red", "blue", "green", "white", "black")


def world(folder: Path, *, mixed: bool = False, **more: Any) -> Path:
    """Build 1,600 questions: a word of the question tells one half of the answer, an object the other half.

    Of `mixed` ones a part has another answer, so that no rule is right there.
    """
    rows = []
    for at in range(ROWS):
        word, name = WORDS[at % 5], OBJECTS[at // 5 % 5]
        rows.append(
            {
                "question_id": str(at),
                "image_id": str(1000 + at),
                "question": f"Which {word} one is here?",
                "labels": [name, "wall"],
                "answer": f"other {at % 11}" if mixed and at % 7 == 0 else f"{word} {name}",
            }
        )
    pl.DataFrame(rows).write_parquet(folder / "table.parquet")
    sm.vqa_ce.build(table=folder / "table.parquet", val_share=0.5, out=folder / "built", min_count=2, **more)
    return folder / "built"


def test_each_knows_its_half_and_both_know_all(tmp_path: Path) -> None:
    built = world(tmp_path)
    (row,) = sm.check_leaks(built).leaks.filter(subset="easy").rows(named=True)
    assert (row["set"], row["answer_count"]) == ("vqa-ce", 25)
    assert row["row_count"] > 700
    assert row["text_and_objects"] == row["rules"] == 100
    assert row["rule_rows"] == row["row_count"]
    assert row["majority"] < 10
    # Where a word or an object is known, five answers are left.
    assert 8 < row["text"] < 35
    assert 8 < row["objects"] < 35


def test_all_subsets_of_a_set_come_together_and_alone(tmp_path: Path) -> None:
    built = world(tmp_path, mixed=True)
    table = sm.check_leaks(built).leaks
    sizes = dict(table.select("subset", "row_count").iter_rows())
    assert next(iter(sizes)) == "all"
    assert sizes.pop("all") == sum(sizes.values()) > 700
    splits = next(iter(read_question_sets(built).sets.values()))
    assert sizes == {name: len(rows) for name, rows in splits.items()}


def test_detections_stand_for_objects_of_questions(tmp_path: Path) -> None:
    """Detections that tell the whole answer; a VQA-CE folder of other questions answers none of these."""
    built = world(tmp_path, items="words")
    assert sm.check_leaks(built).leaks["objects"].null_count() == 1
    names = [f"{WORDS[at % 5]} {OBJECTS[at // 5 % 5]}" for at in range(ROWS)]
    told = {str(1000 + at): {"classes": [name], "scores": [1]} for at, name in enumerate(names)}
    (tmp_path / "detections.json").write_text(json.dumps(told))
    table = sm.check_leaks(built, detections=tmp_path / "detections.json").leaks
    assert table["objects"].to_list() == [100.0]


def test_the_rules_of_another_folder(tmp_path: Path) -> None:
    """Of its validation questions alone, right where the answers are equal."""
    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    second.mkdir()
    built, other = world(first), world(second, seed=1)
    table = sm.check_leaks(built, rules=other).leaks
    answers = pl.read_parquet(other / "rule_predictions.parquet")
    questions = pl.read_parquet(built / "questions.parquet").join(
        answers.rename({"answer": "predicted"}), on="question_id"
    )
    assert 0 < len(questions) < 800
    whole = table.row(0, named=True)
    assert whole["rule_rows"] == len(questions)
    right = (questions["predicted"] == questions["answer"]).sum()
    assert whole["rules"] == round(100 * right / len(questions), 1)


def test_what_is_written_is_what_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    built = world(tmp_path)
    words = ["leak-check", str(built), "--out", str(tmp_path / "leaks")]
    assert run(words) == 0
    out = capfd.readouterr().out
    assert out.split("\n")[0].split()[:4] == ["set", "subset", "row_count", "answer_count"]
    assert "text_and_objects" in out
    report = sm.check_leaks(built)
    assert pl.read_parquet(tmp_path / "leaks" / "leaks.parquet").equals(report.leaks)
    assert run(["verify", str(tmp_path / "leaks")]) == 0
    capfd.readouterr()
    assert run([*words[:2], "--format", "json"]) == 0
    assert json.loads(capfd.readouterr().out)["leaks"] == json.loads(json.dumps(report.leaks.to_dicts()))


def test_what_is_refused(tmp_path: Path) -> None:
    built = world(tmp_path)
    with pytest.raises(ConfigError, match=r"^folds: got 1, expected 2 to 100\."):
        sm.check_leaks(built, folds=1)
    with pytest.raises(ConfigError, match=r"^detections_info: got x without detections, expected both\."):
        sm.check_leaks(built, detections_info="x")
    with pytest.raises(SourceError, match="expected a folder that"):
        sm.check_leaks(tmp_path / "nowhere")
    with pytest.raises(SourceError, match="got no such folder, expected a folder that vqa-ce build wrote"):
        sm.check_leaks(built, rules=tmp_path / "nowhere")
    with pytest.raises(ConfigError, match=r"^folds: got 1000000000000, expected 2 to 100\."):
        sm.check_leaks(built, folds=10**12)
    (tmp_path / "others.json").write_text(json.dumps({"x": {"classes": ["cat"], "scores": [1]}}))
    with pytest.raises(SourceError, match=r"others\.json: got nothing about the images of"):
        sm.check_leaks(built, detections=tmp_path / "others.json")
    other = pl.read_parquet(tmp_path / "table.parquet").with_columns(question_id="x" + pl.col("question_id"))
    other.write_parquet(tmp_path / "other.parquet")
    sm.vqa_ce.build(table=tmp_path / "other.parquet", val_share=0.5, out=tmp_path / "other", min_count=2)
    with pytest.raises(SourceError, match="other: got nothing about the questions of"):
        sm.check_leaks(built, rules=tmp_path / "other")


@pytest.mark.filterwarnings("error")
def test_rows_with_an_answer_each_are_no_regression() -> None:
    rows = [(f"{at}", f"What is w{at % 3}?", f"a{at}") for at in range(30)]
    table = pl.DataFrame(rows, schema=["image_id", "question", "answer"], orient="row")
    assert leak_check(table)["accuracy"].to_list() == [0.0]


def test_drawn_images_of_one_question_are_in_one_fold(tmp_path: Path) -> None:
    """Each question's word tells its answer, and only the other image of the same question has it."""
    rows = pl.DataFrame(
        {
            "image_id": [str(at // 2) for at in range(200)],
            "question": [f"What is w{at // 2}?" for at in range(200)],
            "answer": [f"a{at // 2 % 7}" for at in range(200)],
        }
    )
    (row,) = leak_check(rows).rows(named=True)
    assert row["accuracy"] < 30


# ---- many answers, and objects, in the classifier itself ----


def test_rare_answers_are_not_tried() -> None:
    """The hundred most frequent answers are told by their word; the others can't be guessed."""
    sizes = [30] * 100 + [10] * 20
    rows = [(f"{at}", f"w{kind}", f"a{kind:03d}") for kind, size in enumerate(sizes) for at in range(size)]
    table = pl.DataFrame(rows, schema=["image_id", "question", "answer"], orient="row")
    (row,) = leak_check(table).rows(named=True)
    assert MOST_ANSWERS == 100
    assert row["accuracy"] == round(100 * 3000 / 3200, 1)


def test_objects_alone_and_beside_text() -> None:
    table = pl.DataFrame(
        {
            "image_id": [str(at) for at in range(400)],
            "question": [f"is it {at % 2}?" for at in range(400)],
            "objects": [(["dog"], ["dog"], ["cat", "cat"], None)[at % 4] for at in range(400)],
            "answer": ["yes" if at % 4 == 2 else "no" for at in range(400)],
        }
    )
    assert leak_check(table, text=None, objects="objects")["accuracy"].to_list() == [100.0]
    assert leak_check(table, objects="objects")["accuracy"].to_list() == [100.0]
    assert leak_check(table)["accuracy"].to_list() == [75.0]
    shuffled = table.sample(fraction=1, shuffle=True, seed=1)
    assert leak_check(shuffled, objects="objects").equals(leak_check(table, objects="objects"))


def test_nothing_to_guess_from_is_refused() -> None:
    table = pl.DataFrame({"image_id": ["1"], "question": ["a"], "answer": ["b"]})
    with pytest.raises(ConfigError, match=r"^text, objects: got neither"):
        leak_check(table, text=None)


def test_no_name_is_known() -> None:
    table = pl.DataFrame(
        {"image_id": ["1", "2", "3"], "objects": [[], None, []], "answer": ["b", "b", "c"]},
        schema_overrides={"objects": pl.List(pl.String)},
    )
    (row,) = leak_check(table, text=None, objects="objects").rows(named=True)
    assert row["majority"] == 66.7
