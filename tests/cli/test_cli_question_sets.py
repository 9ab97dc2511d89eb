"""`vqa-ce build` and `rad build` on question sets as they are released: the same data gives the same sets."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cli.commands import Ran, RunCli, options, tiny_world, write_world

Rows = list[dict[str, Any]]
WORDS = ("--min-count", 2, "--items", "words")


def vqa_world() -> dict[str, Any]:
    """Return the tiny world's questions and annotations, with questions that RAD augments: two colours."""
    world = tiny_world()
    del world["detections"]
    for split in ("train", "val"):
        for one in world[f"{split}_questions"]["questions"]:
            one["question"] = one["question"].replace("color is it", "color is the bus")
        for one in world[f"{split}_annotations"]["annotations"]:
            if one["question_id"] % 6 == 0:
                one["multiple_choice_answer"] = "blue"
                one["answers"] = [given | {"answer": "blue"} for given in one["answers"]]
    return world


def rows_of(world: dict[str, Any], split: str) -> Rows:
    """Return the questions of a split with their answers."""
    told = {one["question_id"]: one for one in world[f"{split}_annotations"]["annotations"]}
    return [one | told[one["question_id"]] for one in world[f"{split}_questions"]["questions"]]


def renamed(rows: Rows, *kept: str, **names: str) -> Rows:
    return [
        {name: one[name] for name in kept} | {new: one[old] for new, old in names.items()} for one in rows
    ]


def texts(one: dict[str, Any]) -> list[str]:
    return [given["answer"] for given in one["answers"]]


def aokvqa(rows: Rows) -> Any:
    asked = renamed(rows, "question_id", "image_id", "question")
    more = {"choices": ["a", "b"], "correct_choice_idx": 0, "difficult_direct_answer": False}
    return [one | more | {"direct_answers": texts(full)} for one, full in zip(asked, rows, strict=True)]


def textvqa(rows: Rows) -> Any:
    asked = renamed(rows, "question_id", "image_id", "question")
    return {"data": [one | {"answers": texts(full)} for one, full in zip(asked, rows, strict=True)]}


def vizwiz(rows: Rows) -> Any:
    names = [f"VizWiz_{one['question_id']}.jpg" for one in rows]
    asked = renamed(rows, "question", "answers", "answer_type")
    return [{"image": name, "answerable": 1} | one for name, one in zip(names, asked, strict=True)]


def vqa_x(rows: Rows) -> Any:
    asked = renamed(rows, "question", "image_id", "answers")
    return {str(full["question_id"]): one for one, full in zip(asked, rows, strict=True)}


def lxmert(rows: Rows) -> Any:
    asked = renamed(rows, "question_id", img_id="image_id", sent="question")
    return [
        one | {"label": {full["multiple_choice_answer"]: 1}} for one, full in zip(asked, rows, strict=True)
    ]


def pope(rows: Rows) -> Any:
    listed = renamed(rows, "question_id", image="image_id", text="question", label="multiple_choice_answer")
    return "".join(json.dumps(one) + "\n" for one in listed).encode()


def gqa(rows: Rows) -> Any:
    asked = renamed(rows, "question", imageId="image_id", answer="multiple_choice_answer")
    return {str(full["question_id"]): one for one, full in zip(asked, rows, strict=True)}


def visdial(rows: Rows) -> Any:
    questions = sorted({one["question"] for one in rows})
    answers = sorted({one["multiple_choice_answer"] for one in rows})
    dialogs: dict[int, Rows] = {}
    for one in rows:
        place = {
            "question": questions.index(one["question"]),
            "answer": answers.index(one["multiple_choice_answer"]),
        }
        dialogs.setdefault(one["image_id"], []).append(place)
    listed = [{"image_id": image, "dialog": rounds} for image, rounds in dialogs.items()]
    return {"data": {"questions": questions, "answers": answers, "dialogs": listed}}


def table(rows: Rows) -> Any:
    return renamed(rows, "question_id", "image_id", "question", answer="multiple_choice_answer")


ALONE: dict[str, Callable[[Rows], Any]] = {
    "A-OKVQA": aokvqa, "TextVQA": textvqa, "VizWiz": vizwiz, "VQA-X": vqa_x, "LXMERT": lxmert,
    "POPE": pope, "GQA": gqa, "VisDial": visdial, "table": table,
}  # fmt: skip
OTHER_IDS = ("VizWiz", "VisDial")  # made of the image


def bare_lists(world: dict[str, Any]) -> dict[str, Any]:
    """Return VQA-CP's form of a world."""
    return {role: listed[role.split("_")[1]] for role, listed in world.items()}


def without_majority(world: dict[str, Any]) -> dict[str, Any]:
    """Return OK-VQA's form of a world."""
    for split in ("train", "val"):
        for one in world[f"{split}_annotations"]["annotations"]:
            del one["multiple_choice_answer"]
            one["answers"] = [given | {"raw_answer": "x"} for given in one["answers"]]
    return world


TWO_FILES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "VQA-CP": bare_lists, "OK-VQA": without_majority,
}  # fmt: skip


def world_as(name: str) -> dict[str, Any]:
    """Return the words of the tiny world, as a set is released."""
    world = vqa_world()
    if name in TWO_FILES:
        return TWO_FILES[name](world)
    return {f"{split}_questions": ALONE[name](rows_of(world, split)) for split in ("train", "val")}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the folders of both builds of the world as VQA's files."""
    from shortcut_miner.cli.run import run

    out = tmp_path_factory.mktemp("vqa")
    files = write_world(vqa_world(), out / "in")
    build = ["vqa-ce", "build", *options(files), *map(str, WORDS), "--out", str(out / "ce"), "--quiet"]
    assert run(build) == 0
    asked = ["--questions", str(files["train_questions"]), "--annotations", str(files["train_annotations"])]
    assert run(["rad", "build", *asked, "--out", str(out / "rad"), "--quiet"]) == 0
    return out / "ce", out / "rad"


@pytest.mark.parametrize("name", [*ALONE, *TWO_FILES])
def test_a_released_set_gets_the_split_and_the_rules_of_its_rows(
    name: str, expected: tuple[Path, Path], run_cli: RunCli, tmp_path: Path
) -> None:
    files = write_world(world_as(name), tmp_path / "in")
    out = tmp_path / "out"
    ran = run_cli("vqa-ce", "build", *options(files), *WORDS, "--out", out)
    assert ran.code == 0, ran.err
    # Most sets have no question types, by which the prior is counted.
    rules, wanted = (pl.read_parquet(folder / "rules.parquet").drop("prior") for folder in (out, expected[0]))
    assert len(rules)
    assert rules.equals(wanted)
    split, wanted = (pl.read_parquet(folder / "split.parquet") for folder in (out, expected[0]))
    if name in OTHER_IDS:
        split, wanted = (one.drop("question_id").sort(pl.all()) for one in (split, wanted))
    assert split.equals(wanted)


@pytest.mark.parametrize("name", [*ALONE, *TWO_FILES])
def test_a_released_set_is_augmented_as_its_rows(
    name: str, expected: tuple[Path, Path], run_cli: RunCli, tmp_path: Path
) -> None:
    files = write_world(world_as(name), tmp_path / "in")
    asked = options({role.removeprefix("train_"): path for role, path in files.items() if "train" in role})
    out = tmp_path / "out"
    ran = run_cli("rad", "build", *asked, "--out", out)
    assert ran.code == 0, ran.err
    made, wanted = (pl.read_parquet(folder / "augmentations.parquet") for folder in (out, expected[1]))
    if name in OTHER_IDS:  # draws depend on the id
        made, wanted = (one.group_by("augmentation").len().sort(pl.all()) for one in (made, wanted))
    assert len(made)
    assert made.equals(wanted)


def test_training_and_validation_may_come_in_different_forms(
    expected: tuple[Path, Path], run_cli: RunCli, tmp_path: Path
) -> None:
    train = {role: one for role, one in world_as("OK-VQA").items() if "train" in role}
    files = write_world(train | {"val_questions": world_as("table")["val_questions"]}, tmp_path / "in")
    out = tmp_path / "out"
    assert run_cli("vqa-ce", "build", *options(files), *WORDS, "--out", out).code == 0
    for name in ("rules.parquet", "split.parquet"):
        found, wanted = (pl.read_parquet(folder / name) for folder in (out, expected[0]))
        assert found.equals(wanted)


def refused(ran: Ran) -> str:
    assert (ran.code, ran.out) == (2, "")
    return ran.err


def test_annotations_too_many_or_too_few_are_told_with_their_option(run_cli: RunCli, tmp_path: Path) -> None:
    files = write_world(world_as("TextVQA"), tmp_path / "set")
    vqa = write_world(vqa_world(), tmp_path / "vqa")
    ran = run_cli(
        "vqa-ce", "build", *options(files), *WORDS, "--dry-run", "--val-annotations", vqa["val_annotations"]
    )
    assert "it is TextVQA JSON, which holds the answers" in refused(ran)
    assert "Leave out --val-annotations." in ran.err
    bare = {role: path for role, path in vqa.items() if role in ("train_questions", "val_questions")}
    ran = run_cli("vqa-ce", "build", *options(bare), *WORDS, "--dry-run")
    assert "Give --train-annotations, or" in refused(ran)
    ran = run_cli(
        "rad", "build", "--dry-run",
        "--questions", files["val_questions"], "--annotations", vqa["val_annotations"],
    )  # fmt: skip
    assert "Leave out --annotations." in refused(ran)


def test_bad_questions_of_a_set_are_counted_when_skipped(run_cli: RunCli, tmp_path: Path) -> None:
    world = world_as("A-OKVQA")
    world["val_questions"][0]["direct_answers"] = []
    files = write_world(world, tmp_path / "in")
    build = ("vqa-ce", "build", *options(files), *WORDS)
    assert "record 0, direct_answers: got [], expected an answer" in refused(run_cli(*build, "--dry-run"))
    ran = run_cli(*build, "--on-bad-row", "skip", "--out", tmp_path / "out")
    assert ran.code == 3
    dropped = json.loads((tmp_path / "out" / "manifest.json").read_text())["dropped"]
    assert dropped == {"val_questions: direct_answers: expected an answer": 1}


def test_questions_without_an_answer_are_in_the_split_but_teach_nothing(
    run_cli: RunCli, tmp_path: Path
) -> None:
    """LXMERT leaves out answers that its vocabulary lacks: an empty label is no answer, and no fault."""
    world = world_as("LXMERT")
    for role in ("train_questions", "val_questions"):
        world[role][0]["label"] = {}
    files = write_world(world, tmp_path / "in")
    out = tmp_path / "out"
    ran = run_cli("vqa-ce", "build", *options(files), *WORDS, "--out", out)
    assert ran.code == 0, ran.err
    note = "train_questions, val_questions: questions without an answer, as their label is empty: 1"
    assert f"note: {note}" in ran.err.splitlines()
    unanswered = str(world["val_questions"][0]["question_id"])
    split = pl.read_parquet(out / "split.parquet").filter(pl.col("question_id") == unanswered)
    assert split.select("subset", "correct_rule_count").rows() == [("counterexamples", 0)]
