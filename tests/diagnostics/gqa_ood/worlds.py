"""Small sets of grouped questions, and everything the room says of them in plain Python."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

Row = tuple[str, str, str]  # question_id, group, answer


def gqa_record(answer: str | None, group: str | None, **more: Any) -> dict[str, Any]:
    return {
        "imageId": "n1",
        "question": "What is it?",
        "answer": answer,
        "groups": {"global": None, "local": group},
        "types": {"structural": "query", "semantic": "obj", "detailed": "x"},
        **more,
    }


def write_gqa(path: Path, records: dict[str, Any]) -> Path:
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


def write_rows(path: Path, rows: Sequence[Row], **columns: Sequence[Any]) -> Path:
    ids, groups, answers = zip(*rows, strict=True)
    table = pl.DataFrame({"question_id": ids, "kind": groups, "answer": answers, **columns})
    table.write_parquet(path)
    return path


def entropy(answers: Sequence[str], epsilon: float) -> float:
    counts = Counter(answers)
    if len(counts) == 1:
        return 1.0
    shares = [count / len(answers) for count in counts.values()]
    return -sum(share * math.log(share + epsilon) for share in shares) / math.log(len(counts))


def entropies(rows: Sequence[Row], epsilon: float = 0.0) -> dict[str, float]:
    groups: dict[str, list[str]] = {}
    for _, group, answer in rows:
        groups.setdefault(group, []).append(answer)
    return {group: entropy(answers, epsilon) for group, answers in groups.items()}


def subset(rows: Sequence[Row], row: Row, alpha: str) -> str:
    """Return the side of one row: c k < (1 + alpha) n, in decimals."""
    answers = [answer for _, group, answer in rows if group == row[1]]
    count, total, kinds = answers.count(row[2]), len(answers), len(set(answers))
    return "tail" if Decimal(count * kinds) < (1 + Decimal(alpha)) * total else "head"
