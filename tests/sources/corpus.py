"""A small file of every format, what it is, and the readers of all families."""

import base64
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sources.logs import eval_log, json_log, sample

from shortcut_miner.sources.answers.predictions import read_predictions
from shortcut_miner.sources.answers.soft_labels import read_soft_labels
from shortcut_miner.sources.embeddings import read_embeddings
from shortcut_miner.sources.images.labels import read_labels
from shortcut_miner.sources.images.regions import read_regions
from shortcut_miner.sources.images.scene_graphs import read_scene_graphs
from shortcut_miner.sources.item_tables import Columns, read_table
from shortcut_miner.sources.questions.gqa import read_gqa_questions
from shortcut_miner.sources.questions.question_sets import read_question_set
from shortcut_miner.sources.questions.tables import read_question_table
from shortcut_miner.sources.questions.vqa import read_vqa_annotations, read_vqa_questions

try:
    import h5py
except ImportError:
    h5py = None

Read = Callable[[Path], Any]


def in_base64(*values: float, dtype: str = "<f4") -> str:
    return base64.b64encode(np.array(values, dtype).tobytes()).decode()


def parquet(**columns: list[Any]) -> bytes:
    packed = io.BytesIO()
    pl.DataFrame(columns).write_parquet(packed)
    return packed.getvalue()


def arrow(**columns: list[Any]) -> bytes:
    packed = io.BytesIO()
    pl.DataFrame(columns).write_ipc(packed)
    return packed.getvalue()


def xlsx(**columns: list[Any]) -> bytes:
    packed = io.BytesIO()
    pl.DataFrame(columns).write_excel(packed)
    return packed.getvalue()


def npz(**arrays: Any) -> bytes:
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    return packed.getvalue()


def lines(*records: Any) -> bytes:
    return "".join(f"{json.dumps(one)}\n" for one in records).encode()


_BOX = {"x": 1, "y": 2, "w": 3, "h": 4}
_ANSWERS: dict[str, list[Any]] = {"question_id": [1, 2], "answer": ["red", "no"]}
_RECORDS = [{"question_id": 1, "answer": "red"}, {"question_id": 2, "answer": "no"}]
_SAMPLES = [{"doc_id": n, "doc": {"question_id": n}, "filtered_resps": ["no"]} for n in (1, 2)]
_BOXES: dict[str, list[Any]] = {"image_id": ["7"], "x1": [1.0], "y1": [1.0], "x2": [2.0], "y2": [2.0]}
_CORNERS = {"xmin": 1, "ymin": 2, "xmax": 3, "ymax": 4}
_LXMERT = [
    "7",
    "40",
    "30",
    in_base64(0, dtype="<i8"),
    in_base64(0.5),
    in_base64(0, dtype="<i8"),
    in_base64(0.5),
    "1",
]
_ASKED = {"question_id": 1, "image_id": 7, "question": "Why?"}
_ONE_ANSWER = [{"answer": "red", "answer_confidence": "yes"}]
_OPEN_IMAGES = "ImageID,LabelName,Confidence,XMin,XMax,YMin,YMax"

# Family -> kind -> content.
CORPUS: dict[str, dict[str, bytes]] = {
    "questions": {
        "VQA questions JSON": lines(
            {"questions": [{"question_id": n, "image_id": 7, "question": "Why?"} for n in (1, 2)]}
        ),
    },
    "sets": {
        "A-OKVQA JSON": lines([_ASKED | {"choices": ["red", "no"], "direct_answers": ["red"] * 10}]),
        "TextVQA JSON": lines({"dataset_name": "textvqa", "data": [_ASKED | {"answers": ["red"] * 10}]}),
        "VizWiz JSON": lines(
            [{"image": "VizWiz_val_7.jpg", "question": "Why?", "answers": _ONE_ANSWER, "answerable": 1}]
        ),
        "VQA-X JSON": lines({"1": {"question": "Why?", "image_id": "7", "answers": _ONE_ANSWER}}),
        "POPE questions JSONL": lines(
            *({"question_id": n, "image": "COCO_7.jpg", "text": "Is it?", "label": "yes"} for n in (1, 2))
        ),
        "VisDial JSON": lines(
            {
                "version": "1.0",
                "data": {
                    "questions": ["why"],
                    "answers": ["red"],
                    "dialogs": [{"image_id": 7, "dialog": [{"question": 0, "answer": 0}]}],
                },
            }
        ),
        "LXMERT questions JSON": lines(
            [{"question_id": 1, "img_id": "7", "sent": "Why?", "label": {"red": 1}}]
        ),
    },
    "annotations": {
        "VQA annotations JSON": lines(
            {"annotations": [{"question_id": 1, "image_id": 7, "multiple_choice_answer": "red"}]}
        ),
    },
    "gqa": {
        "GQA questions JSON": lines({"01": {"question": "Why?", "imageId": "7", "answer": "red"}}),
    },
    "regions": {
        "bottom-up-attention TSV": f"7\t40\t30\t1\t{in_base64(1, 2, 3, 4)}\t{in_base64(0)}\n".encode(),
        "LXMERT TSV": "\t".join([*_LXMERT, in_base64(1, 2, 3, 4), in_base64(0) + "\n"]).encode(),
        "VinVL TSV": b'7\t[{"class": "dog", "conf": 0.9, "rect": [1, 2, 3, 4]}]\n',
        "object detection JSONL": lines(
            *({"image_id": n, "detections": [{"box": _CORNERS, "label": "dog", "score": 1}]} for n in (7, 8))
        ),
        "COCO results JSON": lines(
            [{"image_id": 7, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 0.5}]
        ),
        "Open Images boxes CSV": f"{_OPEN_IMAGES}\n7,/m/1,0.5,0.1,0.2,0.1,0.2\n".encode(),
        "regions Parquet": parquet(**_BOXES),
    },
    "labels": {
        "image-to-detection JSON": lines({"7": {"classes": ["dog"], "scores": [0.5]}}),
        "COCO instances JSON": lines(
            {
                "images": [{"id": 7}],
                "annotations": [{"image_id": 7, "category_id": 1}],
                "categories": [{"id": 1, "name": "dog"}],
            }
        ),
        "labels Parquet": parquet(image_id=["7"], label=["dog"]),
        "labels Arrow": arrow(image_id=["7"], labels=[["dog"]]),
        "labels xlsx": xlsx(image_id=["7"], label=["dog"]),
        "labels CSV": b"image_id,label,score\n7,dog,0.5\n",
        "labels JSONL": lines(*({"image_id": n, "labels": ["dog"], "scores": [0.5]} for n in (7, 8))),
        "labels JSON": lines([{"image_id": 7, "label": "dog"}]),
    },
    "scene graphs": {
        "GQA scene graphs JSON": lines(
            {"7": {"width": 40, "height": 30, "objects": {"1": {"name": "dog"} | _BOX}}}
        ),
        "Visual Genome objects JSON": lines(
            [{"image_id": 7, "objects": [{"object_id": 1, "names": ["dog"]} | _BOX]}]
        ),
    },
    "predictions": {
        "GQA predictions JSON": lines([{"questionId": "1", "prediction": "red"}]),
        "VLMEvalKit results JSON": lines([{"index": 1, "prediction": "red"}]),
        "VQA results JSON": lines(_RECORDS),
        "predictions JSON in an object": lines({"results": _RECORDS}),
        "predictions JSON by question id": lines({"1": "red", "2": "no"}),
        "lmms-eval samples JSONL": lines(*_SAMPLES),
        "lm-eval samples JSONL": lines(*(one | {"prompt_hash": "0f"} for one in _SAMPLES)),
        "inspect_ai log": eval_log([sample(1), sample(2)]),
        "inspect_ai log JSON": json_log([sample(1), sample(2)]),
        "predictions JSONL": lines(*_RECORDS),
        "VLMEvalKit results TSV": b"index\tprediction\n1\tred\n",
        "VLMEvalKit results xlsx": xlsx(index=[1], prediction=["red"]),
        "predictions CSV": b"question_id,answer\n1,red\n",
        "predictions xlsx": xlsx(**_ANSWERS),
        "predictions Parquet": parquet(**_ANSWERS),
        "predictions Arrow": arrow(**_ANSWERS),
    },
    "soft labels": {
        "soft labels JSON": lines([{"question_id": 1, "label": {"red": 1}}]),
        "soft labels Parquet": parquet(**_ANSWERS, weight=[1.0, 0.3]),
    },
    "word vectors": {
        "GloVe text": b"dog 0.1 0.2 0.3 0.4 0.5\ncat 1 2 3 4 5\n",
        "word2vec text": b"2 5\ndog 0.1 0.2 0.3 0.4 0.5\ncat 1 2 3 4 5\n",
        "word2vec binary": b"1 2\ndog " + np.array([1.5, 2.5], "<f4").tobytes(),
        "npz word vectors": npz(words=np.array(["dog"]), vectors=np.ones((1, 2))),
    },
}  # fmt: skip
_INFO = lines({"7": {"objectsNum": 1, "index": 0, "width": 40, "height": 30}})
if h5py is not None:
    with io.BytesIO() as packed:
        with h5py.File(packed, "w") as made:
            made["bboxes"] = np.array([[[1, 2, 3, 4]]], "<f4")
        CORPUS["regions"]["GQA objects HDF5"] = packed.getvalue()
QUESTIONS_GO_TO = "vqa-ce build --train-questions or --val-questions, or to rad build --questions"
# Kinds that a second family reads too.
READ_TWICE = {("soft labels", "LXMERT questions JSON")}
MINE = "mine, with the names of its columns"
# Tables of other columns -> content and what takes them.
TABLES: dict[str, tuple[bytes, str]] = {
    "a text table with the columns 'items', 'answer'": (b"items,answer\ndog,red\n", MINE),
    "a Parquet table with the columns 'items', 'answer'": (parquet(items=["dog"], answer=["red"]), MINE),
    "an Arrow table with the columns 'items', 'answer'": (arrow(items=["dog"], answer=["red"]), MINE),
    "an .xlsx file with the columns 'items', 'answer'": (xlsx(items=["dog"], answer=["red"]), MINE),
    "JSON Lines with the keys 'items', 'answer'": (lines({"items": ["dog"], "answer": "red"}), MINE),
    "a JSON list of records with 'items', 'answer'": (lines([{"items": ["dog"], "answer": "red"}]), MINE),
    "a text table with the columns 'original_id', 'augmented_id'": (
        b"original_id,augmented_id\n1,2\n", "rad score --pairs",
    ),
    "a text table with the columns 'question_id', 'perturbation', 'answer'": (
        b"question_id,perturbation,answer\n1,0,red\n", "swapmix score --predictions",
    ),
    "a Parquet table with the columns 'class', 'neighbour', 'cosine'": (
        parquet(**{"class": ["dog"], "neighbour": ["cat"], "cosine": [0.5]}),
        "swapmix build --similar-classes",
    ),
    "a Parquet table with the columns 'question_id', 'question', 'answer', 'answers'": (
        parquet(question_id=[1], question=["Why?"], answer=["red"], answers=[["red"]]),
        QUESTIONS_GO_TO,
    ),
}  # fmt: skip
_RUN = {"ans": 1, "changes": ["dog"], "pred": [[1, 2]]}
_SIGHT = {"changes": ["cat"], "prediction": {"0": {"pred": [[1]]}}, "relevant_questions": ["01"]}
# Files that readers of the corpus don't take, as they have another one -> content, kind and what takes it.
OF_OTHERS: dict[str, tuple[bytes, str, str]] = {
    "pairs": (b"[[1, 2], [3, 4]]", "complementary pairs JSON", "pairs build --pairs"),
    "HDF5 rows": (_INFO, "GQA objects info JSON", "fpvg or swapmix build --detections-info"),
    "questions": (
        lines({"7": {"01": {"question": "Why?", "annotations": {"1": "dog"}}}}),
        "restructured GQA questions JSON", "swapmix build --questions",
    ),
    "results": (
        lines({"6": {}, "7": {"01": _RUN}}),
        "SwapMix results JSON", "swapmix score --class-results or --attribute-results",
    ),
    "results with perfect sight": (
        lines({"7": {"1": _SIGHT, "answers": {"01": 1}}}),
        "SwapMix results JSON", "swapmix score --class-results or --attribute-results",
    ),
}  # fmt: skip
# Files of public projects that no command reads.
NOT_READ = {
    "Oscar feature TSV": f"7\t2\t{in_base64(*range(20))}\n".encode(),
    "text with 3 values in its first line and other numbers in others": b"milk,bread,eggs\nmilk\n",
}
_ITEMS = Columns(words=None, objects="items", answer="answer", separator=",")


def readers(folder: Path) -> dict[str, Read]:
    """Return the reader of each family; second files lie in the folder."""
    info = folder / "categories.json"
    info.write_text('{"1": "dog"}')
    sizes = pl.DataFrame({"image_id": ["7"], "width": [40.0], "height": [30.0]})

    h5_info = folder / "objects_info.json"
    h5_info.write_bytes(_INFO)
    second = {b"[": info, b"\x89": h5_info}

    def regions(path: Path) -> Any:
        return read_regions(path, sizes=sizes, info=second.get(path.read_bytes()[:1]))

    def labels(path: Path) -> Any:
        is_coco = path.read_bytes().startswith(b'[{"image_id": 7, "category_id"')
        return read_labels(path, info=info if is_coco else None)

    return {
        "questions": read_vqa_questions,
        "sets": read_question_set,
        "annotations": read_vqa_annotations,
        "gqa": read_gqa_questions,
        "regions": regions,
        "labels": labels,
        "scene graphs": read_scene_graphs,
        "predictions": read_predictions,
        "soft labels": read_soft_labels,
        "word vectors": lambda path: read_embeddings(path, ["dog"]),
    }


def table_readers() -> dict[str, Read]:
    """Return the readers of tables of freely named columns."""
    return {
        MINE: lambda path: read_table(path, _ITEMS, skip_bad_rows=False, limit=None),
        QUESTIONS_GO_TO: read_question_table,
    }
