"""Writing the demo world: VQA v2, detect-shortcuts, GQA and VQA result files, the same bytes for a seed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shortcut_miner.demo.folders import demo_folder
from shortcut_miner.demo.gqa import gqa_questions, scene_graph
from shortcut_miner.demo.grammar import YES_NO, Shortcut
from shortcut_miner.demo.images import SPLITS, Image, Question, ask_questions, draw_images
from shortcut_miner.demo.observers import (
    Annotation,
    Detections,
    annotate,
    detect,
    detectable_labels,
    grounded_model,
    habitual_answers,
    plausible_answers,
    shortcut_model,
    sure_labels,
)
from shortcut_miner.demo.scenes import PLANTED
from shortcut_miner.options import PathText, as_path

INFO = {
    "description": "A synthetic world with planted shortcuts, drawn by shortcut_miner.demo.",
    "url": "",
    "version": "1.0",
    "year": 2025,
    "contributor": "shortcut_miner",
    "date_created": "2025-01-01 00:00:00",
}
LICENSE = {"url": "https://opensource.org/license/mit", "name": "MIT License"}

# VQA v2's question types that occur here; the longest opening that fits is a question's type.
QUESTION_TYPES = (
    "are there", "can you", "how", "how many", "how many people are", "how many people are in", "is it",
    "is the", "is the man", "is there", "is there a", "is this", "is this a", "was", "what", "what animal is",
    "what color is the", "what does the", "what is", "what is the", "what is the man", "what is the woman",
    "what kind of", "what room is", "what sport is", "which",
)  # fmt: skip

FILE_NAMES = {
    "train_questions": "v2_OpenEnded_mscoco_train2014_questions.json",
    "train_annotations": "v2_mscoco_train2014_annotations.json",
    "val_questions": "v2_OpenEnded_mscoco_val2014_questions.json",
    "val_annotations": "v2_mscoco_val2014_annotations.json",
    "detections": "image_to_detection.json",
    "train_scene_graphs": "train_sceneGraphs.json",
    "val_scene_graphs": "val_sceneGraphs.json",
    "gqa_questions": "val_balanced_questions.json",
    "shortcut_predictions": "shortcut_model_results.json",
    "grounded_predictions": "grounded_model_results.json",
}


@dataclass(frozen=True, slots=True)
class PlantedShortcut:
    """A planted rule, and the validation questions where it fires and no annotator gave its answer."""

    words: tuple[str, ...]
    objects: tuple[str, ...]
    answer: str
    counterexamples: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoWorld:
    """The files of a demo world, named as the commands' options are, and what was planted in it."""

    train_questions: Path
    train_annotations: Path
    val_questions: Path
    val_annotations: Path
    detections: Path
    train_scene_graphs: Path
    val_scene_graphs: Path
    gqa_questions: Path
    shortcut_predictions: Path
    grounded_predictions: Path
    shortcuts: tuple[PlantedShortcut, ...]


def write_demo_world(out: PathText, *, seed: int = 0, force: bool = False) -> DemoWorld:
    """Write the demo world's ten files into `out` and return their paths and the planted facts.

    Parameters
    ----------
    out : str or Path
        Folder, made if it does not exist; files of an earlier demo world are replaced.
    seed : int
        The same seed gives the same bytes.
    force : bool
        Replace a world of another seed.

    Raises
    ------
    ConfigError
        `out` is a file or can't be written, or has files that are not the demo's.
    """
    folder = as_path("out", out)
    drawn = _draw(seed)
    with demo_folder(folder, seed, force=force) as staging:
        for role, content in _contents(drawn).items():
            # dumps, not dump: only the former runs in C.
            text = json.dumps(content, separators=(",", ":"))
            (staging / FILE_NAMES[role]).write_text(text + "\n", encoding="utf-8")
    paths = {role: folder / name for role, name in FILE_NAMES.items()}
    return DemoWorld(**paths, shortcuts=tuple(_planted(one, drawn) for one in PLANTED))


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Everything drawn for a seed, before it takes a file format."""

    seed: int
    images: list[Image]
    questions: list[Question]
    annotations: dict[int, Annotation]  # by question id
    detections: dict[int, Detections | None]  # by image id

    def of_split(self, split: str) -> list[Question]:
        return [one for one in self.questions if one.image.split == split]

    def labels(self, question: Question) -> frozenset[str]:
        return sure_labels(self.detections[question.image.image_id])


def _draw(seed: int) -> _Drawn:
    images = draw_images(seed)
    questions = [question for image in images for question in ask_questions(image, seed)]
    plausible, labels = plausible_answers(questions), detectable_labels()
    return _Drawn(
        seed,
        images,
        questions,
        {one.question_id: annotate(one, plausible, seed) for one in questions},
        {image.image_id: detect(image, labels, seed) for image in images},
    )


def _contents(drawn: _Drawn) -> dict[str, object]:
    """Return the JSON value of each file, by the field of :class:`DemoWorld` that names it."""
    contents: dict[str, object] = {}
    for split in SPLITS:
        questions = drawn.of_split(split)
        images = [image for image in drawn.images if image.split == split]
        contents[f"{split}_questions"] = _questions_file(questions, split)
        contents[f"{split}_annotations"] = _annotations_file(questions, drawn.annotations, split)
        contents[f"{split}_scene_graphs"] = {str(image.image_id): scene_graph(image) for image in images}
    contents["detections"] = {
        str(image_id): {"classes": [label for label, _ in found], "scores": [score for _, score in found]}
        for image_id, found in drawn.detections.items()
        if found is not None
    }
    contents["gqa_questions"] = gqa_questions(images, drawn.seed)
    return contents | _predictions(drawn)


def _questions_file(questions: Sequence[Question], split: str) -> dict[str, Any]:
    return {
        "info": INFO,
        "task_type": "Open-Ended",
        "data_type": "mscoco",
        "license": LICENSE,
        "data_subtype": f"{split}2014",
        "questions": [
            {"image_id": one.image.image_id, "question": one.text, "question_id": one.question_id}
            for one in questions
        ],
    }


def _annotations_file(
    questions: Sequence[Question], annotations: Mapping[int, Annotation], split: str
) -> dict[str, Any]:
    return {
        "info": INFO,
        "license": LICENSE,
        "data_subtype": f"{split}2014",
        "annotations": [_annotation_record(one, annotations[one.question_id]) for one in questions],
        "data_type": "mscoco",
    }


def _annotation_record(question: Question, annotation: Annotation) -> dict[str, Any]:
    return {
        "question_type": question_type(question.text),
        "multiple_choice_answer": annotation.majority,
        "answers": [
            {"answer": answer, "answer_confidence": confidence, "answer_id": i}
            for i, (answer, confidence) in enumerate(annotation.answers, start=1)
        ],
        "image_id": question.image.image_id,
        "answer_type": answer_type(annotation.majority),
        "question_id": question.question_id,
    }


def question_type(text: str) -> str:
    """Return VQA's type of a question: the longest listed opening.

    >>> question_type("How many people are there?")
    'how many people are'
    """
    fitting = [one for one in QUESTION_TYPES if f"{text.lower()} ".startswith(f"{one} ")]
    return max(fitting, key=len, default="none of the above")


def answer_type(answer: str) -> str:
    """Return VQA's type of an answer.

    >>> answer_type("2")
    'number'
    """
    if answer in YES_NO:
        return "yes/no"
    return "number" if answer.isdigit() else "other"


def _predictions(drawn: _Drawn) -> dict[str, object]:
    """Return both models' answers to the validation questions in VQA's result format."""
    train, val = drawn.of_split("train"), drawn.of_split("val")
    habits, plausible = habitual_answers(train), plausible_answers(drawn.questions)
    leaning = ((one, shortcut_model(one, drawn.labels(one), habits, plausible, drawn.seed)) for one in val)
    reading = ((one, grounded_model(one, plausible, drawn.seed)) for one in val)
    return {
        role: [{"question_id": one.question_id, "answer": answer} for one, answer in answered]
        for role, answered in (("shortcut_predictions", leaning), ("grounded_predictions", reading))
    }


def _planted(shortcut: Shortcut, drawn: _Drawn) -> PlantedShortcut:
    counterexamples = tuple(
        str(one.question_id)
        for one in drawn.of_split("val")
        if shortcut.fires(one.words, drawn.labels(one))
        and all(answer != shortcut.answer for answer, _ in drawn.annotations[one.question_id].answers)
    )
    return PlantedShortcut(shortcut.words, shortcut.objects, shortcut.answer, counterexamples)
