"""A seeded world of GQA's size in GQA's file formats: questions, scene graphs, object boxes, predictions.

Balanced validation has 132,062 questions about 10,234 images. Each image gets about 17 annotated objects with
relations, 100 detector rows in 16 HDF5 shards (25 to 100 of them claimed, the others zero), and 13 questions
whose annotations name 1 to 5 of its objects. Written by::

    python benchmarks/gqa_world.py FOLDER [--scale 1] [--seed 0]
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

IMAGES, QUESTIONS_PER_IMAGE, OBJECTS_PER_IMAGE = 10_234, 12.904, 17
ROWS, FEATURES, SHARDS = 100, 4, 16
CONDITIONS = ("all", "relevant", "irrelevant")
NAMES = [f"thing {number}" if number % 5 else f"tall thing {number}" for number in range(1700)]
ATTRIBUTES = [f"colour{number}" for number in range(600)]
RELATIONS = ["to the left of", "to the right of", "on", "wearing", "holding", "near", "behind"]
TYPES = [("query", "attr"), ("verify", "obj"), ("choose", "rel"), ("logical", "obj"), ("compare", "attr")]
ANSWERS = ["yes", "no", "left", "right", *ATTRIBUTES[:300], *NAMES[:700]]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GqaWorld:
    """The files of a world."""

    questions: Path
    scene_graphs: Path
    detections: Path
    detections_info: Path
    predictions: dict[str, Path]


def files_of(folder: Path) -> GqaWorld:
    """Return the files of a world in a folder."""
    return GqaWorld(
        questions=folder / "val_balanced_questions.json",
        scene_graphs=folder / "val_sceneGraphs.json",
        detections=folder / "objects",
        detections_info=folder / "objects" / "gqa_objects_info.json",
        predictions={condition: folder / f"model_{condition}.json" for condition in CONDITIONS},
    )


def write_gqa_world(out: Path, *, scale: float = 1.0, seed: int = 0) -> GqaWorld:
    """Write a world into `out`; `scale` is the share of GQA's images."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "objects").mkdir(exist_ok=True)
    drawn = np.random.default_rng(seed)
    images = max(int(IMAGES * scale), 1)
    ids = [str(2_300_000 + 7 * number) for number in drawn.permutation(images * 3)[:images]]
    sizes = drawn.choice([[500, 375], [640, 480], [375, 500], [1024, 768]], images)
    graphs, boxes, first_object = {}, [], 1_000_000
    for image_id, size in zip(ids, sizes, strict=True):
        count = max(int(drawn.normal(OBJECTS_PER_IMAGE, 6)), 2)
        objects = _boxes(drawn, count, size)
        graphs[image_id] = _graph(drawn, objects, size, first_object)
        boxes.append(objects)
        first_object += count
    world = files_of(out)
    _write(world.scene_graphs, graphs)
    questions = _questions(drawn, graphs)
    _write(world.questions, questions)
    _write_shards(drawn, world, ids, sizes, boxes)
    _write_predictions(drawn, world, questions)
    return world


def _boxes(drawn: np.random.Generator, count: int, size: Floats) -> Floats:
    """Return x, y, w, h inside an image, in whole pixels."""
    sides = np.maximum((drawn.beta(1.2, 4, (count, 2)) * size).astype(int), 4)
    return np.concatenate([(drawn.random((count, 2)) * (size - sides)).astype(int), sides], axis=1)


def _graph(drawn: np.random.Generator, boxes: Floats, size: Floats, first: int) -> dict[str, Any]:
    names, count = drawn.integers(0, len(NAMES), len(boxes)), len(boxes)
    others = drawn.integers(0, count, (count, 3))
    kinds = drawn.integers(0, len(RELATIONS), (count, 3))
    objects = {
        str(first + at): {
            "name": NAMES[names[at]],
            **dict(zip(("x", "y", "w", "h"), map(int, boxes[at]), strict=True)),
            "attributes": [ATTRIBUTES[(names[at] + at) % len(ATTRIBUTES)]] if at % 3 else [],
            "relations": [
                {"object": str(first + int(other)), "name": RELATIONS[kind]}
                for other, kind in zip(others[at], kinds[at], strict=True)
            ],
        }
        for at in range(count)
    }
    return {"width": int(size[0]), "height": int(size[1]), "objects": objects}


def _questions(drawn: np.random.Generator, graphs: dict[str, Any]) -> dict[str, Any]:
    counts = drawn.poisson(QUESTIONS_PER_IMAGE, len(graphs))
    ids = iter(drawn.permutation(int(counts.sum()) * 4))
    questions = {}
    for (image_id, graph), count in zip(graphs.items(), counts, strict=True):
        objects = list(graph["objects"])
        for _ in range(count):
            named = [objects[at] for at in drawn.integers(0, len(objects), drawn.integers(1, 5))]
            questions[f"{int(next(ids)):08d}"] = _question(drawn, image_id, named, graph["objects"])
    return questions


def _question(
    drawn: np.random.Generator, image_id: str, named: list[str], objects: dict[str, Any]
) -> dict[str, Any]:
    structural, semantic = TYPES[drawn.integers(len(TYPES))]
    words = [objects[one]["name"] for one in named]
    answer = ANSWERS[int(len(ANSWERS) * drawn.random() ** 3)]
    program = [
        {"operation": "select", "dependencies": [], "argument": f"{word} ({one})"}
        for word, one in zip(words, named, strict=True)
    ]
    program.append({"operation": "query", "dependencies": [len(program) - 1], "argument": "name"})
    related = [f"{int(number):08d}" for number in drawn.integers(0, 10**7, 6)]
    is_named = drawn.random() > 0.08
    return {
        "semantic": program,
        "entailed": related,
        "equivalent": related[:2],
        "question": f"Is the {' near the '.join(words)} to the left of it?",
        "imageId": image_id,
        "isBalanced": True,
        "groups": {"global": None, "local": f"10q-{words[0]}_color"},
        "answer": answer,
        "semanticStr": "->".join(f"select: {word} ({one})" for word, one in zip(words, named, strict=True)),
        "annotations": {
            "answer": {"0": named[0]} if semantic == "obj" else {},
            "question": {str(2 + 3 * at): one for at, one in enumerate(named)} if is_named else {},
            "fullAnswer": {"1": named[0], "5:7": named[-1]} if is_named else {},
        },
        "types": {"detailed": f"{semantic}{structural}", "semantic": semantic, "structural": structural},
        "fullAnswer": f"The {words[0]} is {answer}.",
    }


def _write_shards(
    drawn: np.random.Generator, world: GqaWorld, ids: list[str], sizes: Floats, boxes: list[Floats]
) -> None:
    import h5py

    info = {}
    for shard, members in enumerate(np.array_split(np.arange(len(ids)), SHARDS)):
        rows = np.zeros((len(members), ROWS, 4), np.float32)
        for place, image in enumerate(members):
            found = _detected(drawn, boxes[image], sizes[image])
            rows[place, : len(found)] = found
            width, height = map(int, sizes[image])
            facts = {"width": width, "height": height, "objectsNum": len(found), "idx": place, "file": shard}
            info[ids[image]] = facts
        with h5py.File(world.detections / f"gqa_objects_{shard}.h5", "w") as file:
            file.create_dataset("bboxes", data=rows)
            features = drawn.random((len(members), ROWS, FEATURES), np.float32)
            file.create_dataset("features", data=features)
    _write(world.detections_info, info)


def _detected(drawn: np.random.Generator, objects: Floats, size: Floats) -> Floats:
    """Return x1, y1, x2, y2: annotated objects found a few times and not exactly, and others."""
    count = int(drawn.integers(25, ROWS + 1))
    near = objects[drawn.integers(0, len(objects), count // 2)].astype(float)
    near += drawn.normal(0, 0.08, near.shape) * np.tile(near[:, 2:], 2)
    both = np.concatenate([near, _boxes(drawn, count - len(near), size)])
    both[:, 2:] = both[:, :2] + np.maximum(both[:, 2:], 2)
    return np.clip(both, 0, np.tile(size, 2))


def _write_predictions(drawn: np.random.Generator, world: GqaWorld, questions: dict[str, Any]) -> None:
    right = np.array([one["answer"] for one in questions.values()], dtype=object)
    other = np.array(ANSWERS, dtype=object)[drawn.integers(0, len(ANSWERS), (4, len(right)))]
    first = np.where(drawn.random(len(right)) < 0.6, right, other[0])
    given = {
        "all": first,
        "relevant": np.where(drawn.random(len(right)) < 0.75, first, other[1]),
        "irrelevant": np.where(drawn.random(len(right)) < 0.6, first, other[2]),
    }
    for condition, answers in given.items():
        order = drawn.permutation(len(right))
        ids = list(questions)
        listed = [{"questionId": ids[at], "prediction": answers[at]} for at in order]
        _write(world.predictions[condition], listed)


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def main() -> None:
    """Write a world and say how large it is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    write_gqa_world(options.folder, scale=options.scale, seed=options.seed)
    for path in sorted(options.folder.rglob("*")):
        if path.is_file():
            print(f"{path.stat().st_size / 1e6:10,.1f} MB  {path.relative_to(options.folder)}")


if __name__ == "__main__":
    main()
