"""Small FPVG worlds in the real formats."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shortcut_miner.diagnostics.fpvg.answers import ModelRun
from shortcut_miner.diagnostics.fpvg.config import CONDITIONS, FpvgFiles

Box = Sequence[float]


def question(image: str, named: Mapping[str, Any] | None, **fields: Any) -> dict[str, Any]:
    """Return a GQA question whose words name these objects (position -> id)."""
    one = {
        "imageId": image,
        "question": "Is it?",
        "answer": "yes",
        "types": {"structural": "verify", "semantic": "obj", "detailed": "exist"},
    }
    if named is not None:
        one["annotations"] = {"question": dict(named), "answer": {}, "fullAnswer": {}}
    return one | fields


def graph(objects: Mapping[str, Box], size: tuple[int, int] = (100, 100)) -> dict[str, Any]:
    """Return a scene graph with these boxes (corners)."""
    return {
        "width": size[0],
        "height": size[1],
        "objects": {
            name: {
                "name": f"thing {name}",
                "x": box[0],
                "y": box[1],
                "w": box[2] - box[0],
                "h": box[3] - box[1],
            }
            for name, box in objects.items()
        },
    }


def write_world(
    folder: Path,
    questions: Mapping[str, Any],
    graphs: Mapping[str, Any],
    detections: Mapping[str, Sequence[Box]],
) -> FpvgFiles:
    """Write the three files; detections as JSON Lines."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps(
            {
                "image_id": image,
                "detections": [
                    {
                        "score": 0.5,
                        "label": "x",
                        "box": dict(zip(("xmin", "ymin", "xmax", "ymax"), map(float, box), strict=True)),
                    }
                    for box in boxes
                ],
            }
        )
        for image, boxes in detections.items()
    ]
    for name, text in (
        ("questions.json", json.dumps(questions)),
        ("graphs.json", json.dumps(graphs)),
        ("detections.jsonl", "\n".join(lines) + "\n"),
    ):
        (folder / name).write_text(text)
    return FpvgFiles(
        questions=folder / "questions.json",
        scene_graphs=folder / "graphs.json",
        detections=folder / "detections.jsonl",
    )


def write_run(
    folder: Path, answers: Mapping[str, Mapping[str, str]], model: str = "m", seed: str = "", **more: Any
) -> ModelRun:
    """Write condition -> question -> answer as GQA predictions; `more` are further fields per condition."""
    paths = {}
    for condition in CONDITIONS:
        records = [
            {"questionId": name, "prediction": answer}
            | {field: values[condition][name] for field, values in more.items()}
            for name, answer in answers[condition].items()
        ]
        paths[condition] = folder / f"{model}{seed}_{condition}.json"
        paths[condition].write_text(json.dumps(records))
    return ModelRun(
        model=model, seed=seed, all=paths["all"], relevant=paths["relevant"], irrelevant=paths["irrelevant"]
    )
