"""A seeded imitation of VQA v2 at any scale, written in the official JSON formats.

VQA v2 itself can't be shipped. ``vqa_world_model.py`` says what this one keeps of it.

    python benchmarks/vqa_world.py OUT --scale 1 --seed 0
"""

import argparse
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from vqa_world_model import (
    KINDS,
    QUESTION_TYPES,
    SUFFIXES,
    TAIL_ANSWERS,
    TEXTS,
    Questions,
    World,
    cdf_of,
    draw,
    draw_answers,
    draw_votes,
    make_habits,
    make_images,
    make_questions,
    make_vocabulary,
)

TRAIN_QUESTIONS, VAL_QUESTIONS = 443_757, 214_354
TRAIN_IMAGES, VAL_IMAGES = 82_783, 40_504
CHUNK = 20_000  # records held as Python objects at once

ANSWER_TYPES = {"present": "yes/no", "judge": "yes/no", "count": "number", "number": "number"}
CONFIDENCES, CONFIDENCE_WEIGHTS = ("yes", "maybe", "no"), (0.81, 0.165, 0.025)
INFO = {
    "description": "A generated imitation of VQA v2.0.",
    "url": "http://visualqa.org",
    "version": "2.0",
    "year": 2017,
    "contributor": "benchmarks/vqa_world.py",
    "date_created": "2017-04-26 17:07:13",
}
LICENSE = {
    "url": "http://creativecommons.org/publicdomain/zero/1.0/",
    "name": "CC0 1.0 Universal",
}


def columns(rows: slice, *arrays: NDArray[Any]) -> Iterator[tuple[Any, ...]]:
    """Return the arrays' chosen rows as tuples of Python values."""
    return zip(*(array[rows].tolist() for array in arrays), strict=True)


def chunks(count: int) -> Iterator[slice]:
    """Return slices of CHUNK rows that cover `count`."""
    return (slice(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK))


def detection_chunks(world: World) -> Iterator[dict[str, Any]]:
    """Yield members of the detections file."""
    images, names = world.images, np.array(world.vocabulary.labels, dtype=object)
    for rows in chunks(len(images.ids)):
        boxes = columns(rows, images.ids, images.boxes, images.labels, images.scores)
        yield {str(i): {"classes": names[x[:n]].tolist(), "scores": scores[:n]} for i, n, x, scores in boxes}


def question_chunks(world: World, questions: Questions) -> Iterator[list[dict[str, Any]]]:
    """Yield records of the questions file."""
    patterns = [[f"{text}{suffix}?".capitalize() for suffix in SUFFIXES] for text in TEXTS.tolist()]
    labels, words = world.vocabulary.labels, world.vocabulary.words
    image_id = world.images.ids[questions.image]
    slots = (questions.object, questions.other, questions.word, questions.second_word)
    for rows in chunks(len(image_id)):
        yield [
            {
                "image_id": i,
                "question": patterns[t][s].format(o=labels[o], p=labels[p], w=words[w], v=words[v]),
                "question_id": q,
            }
            for i, q, t, s, o, p, w, v in columns(
                rows, image_id, questions.question_id, questions.template, questions.suffix, *slots
            )
        ]


def annotation_chunks(
    rng: np.random.Generator, world: World, questions: Questions
) -> Iterator[list[dict[str, Any]]]:
    """Yield records of the annotations file, in the order of the questions."""
    names, starts = world.vocabulary.answers, world.vocabulary.starts
    kinds, question_types = KINDS.tolist(), QUESTION_TYPES.tolist()
    image_id = world.images.ids[questions.image]
    answer, *others = (draw_answers(rng, world, questions) for _ in range(3))
    synonym = np.where(answer < starts["label"], others[0], starts["tail"] + answer * 7919 % TAIL_ANSWERS)
    is_open = answer >= starts["number"]
    alternatives = np.stack([np.where(is_open, x, 1 - answer) for x in (*others, synonym)], axis=1)
    for rows in chunks(len(answer)):
        votes = draw_votes(rng, answer[rows], alternatives[rows])
        sure = draw(rng, cdf_of(CONFIDENCE_WEIGHTS), votes.shape)
        keys = columns(rows, questions.template, answer, image_id, questions.question_id)
        yield [
            {
                "question_type": question_types[t],
                "multiple_choice_answer": names[a],
                "answers": [
                    {"answer": names[v], "answer_confidence": CONFIDENCES[c], "answer_id": n}
                    for n, v, c in zip(range(1, 11), vs, cs, strict=True)
                ],
                "image_id": i,
                "answer_type": ANSWER_TYPES.get(kinds[t], "other"),
                "question_id": q,
            }
            for (t, a, i, q), vs, cs in zip(keys, votes.tolist(), sure.tolist(), strict=True)
        ]


def write_json(path: Path, opening: bytes, parts: Iterable[Any], closing: bytes) -> None:
    """Write one JSON list or object whose members come in chunks, between `opening` and `closing`."""
    with path.open("wb") as file:
        file.write(opening)
        for i, part in enumerate(parts):
            file.write(b"," * (i > 0) + msgspec.json.encode(part)[1:-1])
        file.write(closing)


def write_split(out: Path, rng: np.random.Generator, world: World, questions: Questions, split: str) -> None:
    """Write the questions file and the annotations file of one split."""
    header = {"info": INFO, "license": LICENSE, "data_type": "mscoco", "data_subtype": split}
    # As in the official files, only the questions say which task they are.
    opening = msgspec.json.encode(header | {"task_type": "Open-Ended"})[:-1] + b',"questions":['
    path = out / f"v2_OpenEnded_mscoco_{split}_questions.json"
    write_json(path, opening, question_chunks(world, questions), b"]}")
    opening = msgspec.json.encode(header)[:-1] + b',"annotations":['
    path = out / f"v2_mscoco_{split}_annotations.json"
    write_json(path, opening, annotation_chunks(rng, world, questions), b"]}")


def write_vqa_world(out: Path, *, scale: float = 1.0, seed: int = 0) -> None:
    """Write questions and annotations of train2014 and val2014, and `image_to_detection.json`.

    Parameters
    ----------
    out
        Folder to write into; made if missing.
    scale
        Multiplies the numbers of questions and images. Vocabularies and habits stay.
    seed
        The same seed and scale give the same bytes, for one NumPy version.
    """
    out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    vocabulary = make_vocabulary(rng)
    habits = make_habits(rng, vocabulary)
    train, val = (max(1, round(scale * n)) for n in (TRAIN_IMAGES, VAL_IMAGES))
    ids = 1 + rng.choice(max(581_929, 2 * (train + val)), size=train + val, replace=False)
    world = World(vocabulary=vocabulary, habits=habits, images=make_images(rng, habits, ids))
    write_json(out / "image_to_detection.json", b"{", detection_chunks(world), b"}")
    for split, chosen, full in (
        ("train2014", range(train), TRAIN_QUESTIONS),
        ("val2014", range(train, train + val), VAL_QUESTIONS),
    ):
        questions = make_questions(rng, world, chosen, max(1, round(scale * full)))
        write_split(out, rng, world, questions, split)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write an imitation of VQA v2.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    started = time.perf_counter()
    write_vqa_world(options.out, scale=options.scale, seed=options.seed)
    seconds = time.perf_counter() - started
    print(f"{options.out}: scale {options.scale:g}, seed {options.seed}, {seconds:.1f} s")
