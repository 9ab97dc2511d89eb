"""A boxed object detector that looks at the demo world: object detection JSONL from scene graphs.

What it draws for an image depends on the seed and the image's id alone.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

DETECTIONS_FILE = "val_objects.jsonl"

# How often it misses an object, how far a side is off (share of the object's), and its false alarms.
MISSED, OFF, FALSE_ALARMS = 0.12, 0.08, 4
UNKNOWN_IMAGES, BLANK_IMAGES = 0.01, 0.005


def write_detections(scene_graphs: Path, out: Path, *, seed: int = 0) -> Path:
    """Write the detections of every image in a scene graphs file, one line an image, and return the path.

    Parameters
    ----------
    scene_graphs : Path
        GQA scene graphs JSON.
    out : Path
        Folder for the file.
    seed : int
        The same seed gives the same bytes.
    """
    graphs = json.loads(scene_graphs.read_text(encoding="utf-8"))
    lines = (json.dumps(line, separators=(",", ":")) for line in detections(graphs, seed))
    path = out / DETECTIONS_FILE
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def detections(graphs: Mapping[str, Any], seed: int) -> Iterator[dict[str, Any]]:
    """Give {image_id, width, height, detections}, highest score first; nothing for an image it never saw."""
    names = sorted({one["name"] for graph in graphs.values() for one in graph["objects"].values()})
    for image_id, graph in graphs.items():
        rng = Random(f"{seed}/{image_id}/boxes")
        fate = rng.random()
        if fate < UNKNOWN_IMAGES:
            continue
        is_blank = fate < UNKNOWN_IMAGES + BLANK_IMAGES
        found = [] if is_blank else list(_detections_of(graph, names, rng))
        found.sort(key=lambda one: (-one["score"], one["label"], sorted(one["box"].items())))
        size = {"width": graph["width"], "height": graph["height"]}
        yield {"image_id": image_id, **size, "detections": found}


def _detections_of(graph: Mapping[str, Any], names: list[str], rng: Random) -> Iterator[dict[str, Any]]:
    width, height = graph["width"], graph["height"]
    for one in graph["objects"].values():
        if rng.random() < MISSED:
            continue
        x, y, w, h = one["x"], one["y"], one["w"], one["h"]
        sides = [
            value + rng.uniform(-OFF, OFF) * length
            for value, length in ((x, w), (y, h), (x + w, w), (y + h, h))
        ]
        yield _detection(one["name"], rng.uniform(0.5, 1), sides, (width, height))
    for _ in range(rng.randint(1, FALSE_ALARMS)):
        w, h = rng.uniform(0.1, 0.4) * width, rng.uniform(0.1, 0.4) * height
        x, y = rng.uniform(0, width - w), rng.uniform(0, height - h)
        yield _detection(rng.choice(names), rng.uniform(0.1, 0.6), [x, y, x + w, y + h], (width, height))


def _detection(label: str, score: float, sides: list[float], size: tuple[int, int]) -> dict[str, Any]:
    """Return one detection with whole pixels inside the image, as the pipelines give them."""
    limits = (*size, *size)
    inside = [round(min(max(value, 0), limit)) for value, limit in zip(sides, limits, strict=True)]
    box = dict(zip(("xmin", "ymin", "xmax", "ymax"), inside, strict=True))
    return {"score": round(score, 4), "label": label, "box": box}
