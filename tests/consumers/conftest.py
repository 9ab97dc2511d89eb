"""Folders to export, and the programs that read exports, each from its own environment of Python."""

import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from consuming import Built, Consumer

import shortcut_miner as sm
from shortcut_miner.datasets.question_sets import QuestionSets, question_sets_of
from shortcut_miner.demo import write_demo_world

QUESTIONS = 20
ODD_IDS = ("05", "5", "ünïcode", 'a "quoted" one', "a/b", "a\ttab", "[1]", "x, y", "n.a.", "true")
# Texts that programs are known to change, as questions and answers.
ODD = ("05", "1.0", "n/a", "None", "null", "NaN", "yes", "ünïcode", 'a "quoted" one', "a\ttab", "two\nlines")


def consumer(name: str, variable: str) -> Consumer:
    python = os.environ.get(variable)
    if not python:
        pytest.skip(f"no {name}: set {variable} to a Python that has it (.ci/slow makes one)")
    return Consumer(Path(python))


@pytest.fixture(scope="session")
def lmms_eval() -> Consumer:
    return consumer("lmms-eval", "SHORTCUT_MINER_LMMS_EVAL_PYTHON")


@pytest.fixture(scope="session")
def inspect_ai() -> Consumer:
    return consumer("inspect_ai", "SHORTCUT_MINER_INSPECT_AI_PYTHON")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    out = tmp_path_factory.mktemp("built")
    world = write_demo_world(out / "world")
    train = {"train_questions": world.train_questions, "train_annotations": world.train_annotations}
    val = {"val_questions": world.val_questions, "val_annotations": world.val_annotations}
    sm.vqa_ce.build(**train, **val, detections=world.detections, out=out / "vqa-ce")
    sm.rad.build(questions=world.val_questions, annotations=world.val_annotations, out=out / "rad")
    return Built(out / "vqa-ce", out / "rad")


@pytest.fixture
def odd_questions() -> Callable[[Path], QuestionSets]:
    """Return questions whose ids, texts and answers are odd, in two splits: those that say so are right."""
    ids = sorted([*ODD_IDS, *(f"id{number}" for number in range(QUESTIONS - len(ODD_IDS)))])
    texts = [ODD[number % len(ODD)] for number in range(QUESTIONS)]
    table = pl.DataFrame(
        {
            "question_id": ids,
            "image_id": [f"image {number % 7}" for number in range(QUESTIONS)],
            "question": texts,
            "question_type": [None] * QUESTIONS,
            "answer_type": [None] * QUESTIONS,
            # Every third question is answered right by who repeats it, by one annotator more each time.
            "answer": [text if number % 3 else "else" for number, text in enumerate(texts)],
            "answers": [
                [text] * (number % 11) + ["else"] * (10 - number % 11) for number, text in enumerate(texts)
            ],
            "answer_record_key": [None] * QUESTIONS,
            "split": [None] * QUESTIONS,
        },
        schema={
            **dict.fromkeys(("question_id", "image_id", "question", "question_type"), pl.String),
            **dict.fromkeys(("answer_type", "answer"), pl.String),
            "answers": pl.List(pl.String),
            "answer_record_key": pl.List(pl.UInt8),
            "split": pl.String,
        },
    )

    def sets(path: Path) -> QuestionSets:
        return question_sets_of(
            path,
            command="odd build",
            title="odd questions",
            sets={"odd": {"first": table[:8], "second": table[8:]}},
            read_back="odd score {predictions}",
        )

    return sets
