"""How lmms-eval asks these questions, and how their answers are scored.

The task files name these functions. Beside the standard library it needs Pillow, where questions have images.
"""

import io
from collections.abc import Mapping, Sequence
from typing import Any

from shortcut_miner.exports.official_accuracy import question_accuracy


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """Return the question's image in a list, which is empty where the question has none."""
    if doc["image"] is None:
        return []
    from PIL import Image

    is_packed = isinstance(doc["image"], Mapping)
    with Image.open(io.BytesIO(doc["image"]["bytes"]) if is_packed else doc["image"]) as image:
        return [image.convert("RGB")]


def doc_to_text(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """Return the question between what the task file puts before and after it."""
    around = lmms_eval_specific_kwargs or {}
    return f"{around.get('pre_prompt', '')}{doc['question']}{around.get('post_prompt', '')}"


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """Return the answer that is right, or the first of them; for the eye alone."""
    answers = doc.get("answers")
    if doc.get("answer") is None:
        return answers[0] if answers is not None and len(answers) else ""
    return str(doc["answer"])


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """Return the accuracy of the model's answer in percent, and the answer with its question's id."""
    said = results[0].strip()
    return {
        "accuracy": question_accuracy(doc, said),
        "submission": {"question_id": doc["question_id"], "answer": said},
    }
