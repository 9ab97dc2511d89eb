"""Small tables of questions."""

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

SCHEMA = {
    "question_id": pl.String,
    "image_id": pl.String,
    "question": pl.String,
    "question_type": pl.String,
    "answer_type": pl.String,
    "answer": pl.String,
    "answers": pl.List(pl.String),
    "answer_record_key": pl.List(pl.UInt8),
    "split": pl.String,
}


def questions(*rows: tuple[Any, ...]) -> pl.DataFrame:
    """Return schemas.Questions of (question, answer) or (question, answer, all annotators' answers)."""
    return pl.DataFrame([record(at, *row) for at, row in enumerate(rows)], schema=SCHEMA)


def record(
    at: int, question: str, answer: str | None, answers: Sequence[str] | None = None
) -> dict[str, Any]:
    return {
        "question_id": str(100 + at),
        "image_id": str(at // 2),
        "question": question,
        "question_type": None,
        "answer_type": "number" if (answer or "").isdigit() else "other",
        "answer": answer,
        "answers": list(answers) if answers is not None else [answer or ""] * 10,
        "answer_record_key": None,
        "split": "val",
    }


def concat(tables: Iterable[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(tables)
