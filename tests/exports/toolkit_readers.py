"""What each toolkit's files hold, read as the toolkit reads them, a function a toolkit."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from shortcut_miner.exports.exporter import Exporter
from shortcut_miner.exports.lavis import EXPORTER as LAVIS
from shortcut_miner.exports.lxmert import EXPORTER as LXMERT
from shortcut_miner.exports.mmf import EXPORTER as MMF
from shortcut_miner.exports.vlmevalkit import EXPORTER as VLMEVALKIT

Rows = Iterator[dict[str, Any]]


def read_json(path: Path) -> Any:
    """Return JSON that any encoding of ASCII reads."""
    return json.loads(path.read_text(encoding="ascii"))


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return JSON lines as MMF loads them."""
    with path.open(encoding="ascii") as file:
        return [json.loads(line.strip("\n")) for line in file.readlines()]


def read_tsv(path: Path) -> pd.DataFrame:
    """Return a TSV as VLMEvalKit loads it."""
    return pd.read_csv(path, sep="\t")


def _row(
    question_id: object, image_id: object, question: str, answer: str | None, answers: Any
) -> dict[str, Any]:
    return {
        "question_id": str(question_id),
        "image_id": str(image_id),
        "question": question,
        "answer": answer,
        "answers": answers,
    }


def lxmert(folder: Path, split: str) -> Rows:
    for one in read_json(folder / f"vqa-ce_{split}.json"):
        yield _row(one["question_id"], one["img_id"], one["sent"], one.get("answer"), one.get("answers"))


def lavis(folder: Path, split: str) -> Rows:
    for one in read_json(folder / f"vqa-ce_{split}.json"):
        gold, answers = one.get("multiple_choice_answer"), one.get("answer")
        yield _row(one["question_id"], one["image"], one["question"], gold, answers)


def mmf(folder: Path, split: str) -> Rows:
    for one in read_lines(folder / f"vqa-ce_{split}.jsonl"):
        gold, answers = one.get("answer"), one.get("answers")
        yield _row(one["question_id"], one["image_id"], one["question_str"], gold, answers)


def vlmevalkit(folder: Path, split: str) -> Rows:
    table = read_tsv(folder / "vqa_ce_openended.tsv")
    for one in table[table["split"] == split].to_dict("records"):
        record = json.loads(one["record"])
        answers = None if pd.isna(one["answers"]) else json.loads(one["answers"])
        question_id = one["question_id"].removeprefix("q")
        yield _row(question_id, record["image_id"], record["question"], record.get("answer"), answers)


TOOLKITS: list[tuple[Exporter, Callable[[Path, str], Rows]]] = [
    (LXMERT, lxmert),
    (LAVIS, lavis),
    (MMF, mmf),
    (VLMEVALKIT, vlmevalkit),
]
