"""The demo world as its official counterparts are published, and recipes that name another server."""

import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortcut_miner.demo import DemoWorld
from shortcut_miner.demo.detector import detections
from shortcut_miner.demo.swapmix import word_vectors
from shortcut_miner.recipes.recipe import find_recipe

H5_BOXES = 40


def zipped(members: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


def official_files(world: DemoWorld, folder: Path) -> dict[str, Callable[[], bytes]]:
    """Return how the content of each file is made that the recipes name."""

    def alone(path: Path) -> Callable[[], bytes]:
        return lambda: zipped({path.name: path.read_bytes()})

    return {
        "v2_Questions_Train_mscoco.zip": alone(world.train_questions),
        "v2_Annotations_Train_mscoco.zip": alone(world.train_annotations),
        "v2_Questions_Val_mscoco.zip": alone(world.val_questions),
        "v2_Annotations_Val_mscoco.zip": alone(world.val_annotations),
        "image_to_detection.json": world.detections.read_bytes,
        "annotations_trainval2014.zip": lambda: coco(world),
        "vqacp_v2_test_questions.json": lambda: vqa_cp(world.val_questions, "questions"),
        "vqacp_v2_test_annotations.json": lambda: vqa_cp(world.val_annotations, "annotations"),
        "questions1.2.zip": lambda: gqa_questions(world),
        "sceneGraphs.zip": lambda: zipped(
            {path.name: path.read_bytes() for path in (world.train_scene_graphs, world.val_scene_graphs)}
        ),
        "objectFeatures.zip": lambda: object_features(world, folder),
        "OpenEnded_mscoco_val2014_questions.json.zip": lambda: zipped(
            {"OpenEnded_mscoco_val2014_questions.json": world.val_questions.read_bytes()}
        ),
        "mscoco_val2014_annotations.json.zip": lambda: zipped(
            {"mscoco_val2014_annotations.json": world.val_annotations.read_bytes()}
        ),
        "coco14_promptC_gpt3_VinVLTag_n16_repeat5_47.934998_CLIPImagequestion.json": (
            world.shortcut_predictions.read_bytes
        ),
        "glove.6B.zip": lambda: zipped({"glove.6B.300d.txt": glove(world)}),
    }


def loaded(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def vqa_cp(path: Path, key: str) -> bytes:
    """Return a bare list, without the header of VQA v2's files."""
    return json.dumps([one | {"coco_split": "val2014"} for one in loaded(path)[key]]).encode()


def coco(world: DemoWorld) -> bytes:
    """Return instances of both splits, a box a label."""
    found = loaded(world.detections)
    names = sorted({name for one in found.values() for name in one["classes"]})
    categories = [{"id": at, "name": name, "supercategory": "thing"} for at, name in enumerate(names, 1)]
    members = {}
    for split, questions in (("train", world.train_questions), ("val", world.val_questions)):
        images = sorted({one["image_id"] for one in loaded(questions)["questions"]})
        pairs = [
            (image, name) for image in images for name in found.get(str(image), {"classes": []})["classes"]
        ]
        content = {
            "images": [
                {"id": image, "file_name": f"COCO_{split}2014_{image:012d}.jpg", "width": 640, "height": 480}
                for image in images
            ],
            "annotations": [
                {
                    "id": at,
                    "image_id": image,
                    "category_id": names.index(name) + 1,
                    "bbox": [1.0, 2.0, 30.0, 40.0],
                    "area": 1200.0,
                    "iscrowd": 0,
                    "segmentation": [],
                }
                for at, (image, name) in enumerate(pairs)
            ],
            "categories": categories,
        }
        members[f"annotations/instances_{split}2014.json"] = json.dumps(content).encode()
    return zipped(members | {"annotations/captions_val2014.json": b"{}"})


def gqa_questions(world: DemoWorld) -> bytes:
    """Return training and validation questions: the demo's, of even and odd places, about the same images."""
    asked = list(loaded(world.gqa_questions).items())
    for _, one in asked:
        one |= {"groups": {"global": None, "local": f"10-{one['types']['structural']}"}, "isBalanced": True}
    return zipped(
        {
            "train_balanced_questions.json": json.dumps(dict(asked[::2])).encode(),
            "val_balanced_questions.json": json.dumps(dict(asked[1::2])).encode(),
        }
    )


def glove(world: DemoWorld) -> bytes:
    names = {
        one["name"] for graph in loaded(world.val_scene_graphs).values() for one in graph["objects"].values()
    }
    return word_vectors(sorted(names), 0).encode()


def object_features(world: DemoWorld, folder: Path) -> bytes:
    """Return GQA's object features: two shards and their info JSON, in a folder of the archive."""
    h5py = pytest.importorskip("h5py")
    seen = [*detections(loaded(world.val_scene_graphs), 0)]
    shards: list[list[Any]] = [[], []]
    info = {}
    for at, one in enumerate(seen):
        boxes = [
            [found["box"][side] for side in ("xmin", "ymin", "xmax", "ymax")] for found in one["detections"]
        ]
        rows = shards[at % 2]
        info[one["image_id"]] = {
            "width": one["width"], "height": one["height"],
            "objectsNum": min(len(boxes), H5_BOXES), "idx": len(rows), "file": at % 2,
        }  # fmt: skip
        padded = np.zeros((H5_BOXES, 4), np.float32)
        padded[: min(len(boxes), H5_BOXES)] = np.asarray(boxes, np.float32).reshape(-1, 4)[:H5_BOXES]
        rows.append(padded)
    members = {"objects/gqa_objects_info.json": json.dumps(info).encode()}
    for number, rows in enumerate(shards):
        path = folder / f"gqa_objects_{number}.h5"
        with h5py.File(path, "w") as file:
            file.create_dataset("bboxes", data=np.stack(rows))
            file.create_dataset("features", data=np.zeros((len(rows), H5_BOXES, 2), np.float32))
        members[f"objects/{path.name}"] = path.read_bytes()
    return zipped(members)


def local_recipe(name: str, base: str, path: Path, values: list[float] | None = None) -> Path:
    """Write a recipe that differs from the program's own in addresses, sizes, digests and numbers only.

    The demo world has fewer images than are drawn of COCO's.
    """
    text = find_recipe(name)[1].read_text(encoding="utf-8")
    text = re.sub(r'"https?://[^"]+/([^"/]+)"', rf'"{base}/\1"', text)
    text = re.sub(r"^(?:sha256|size) = .*\n", "", text, flags=re.MULTILINE)
    text = text.replace("image_count = 500", "image_count = 100")
    if values is None:
        text = text[: text.find("[[expected]]")]
    else:
        left = iter(values)
        text = re.sub(r"^value = .*$", lambda _: f"value = {next(left)}", text, flags=re.MULTILINE)
        assert next(left, None) is None
    path.write_text(text, encoding="utf-8")
    return path
