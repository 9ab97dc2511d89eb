import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Write = Callable[[str, Any], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write bytes, text or a JSON value to a file of the given name."""

    def write_file(name: str, content: Any) -> Path:
        path = tmp_path / name
        if isinstance(content, str):
            content = content.encode()
        if not isinstance(content, bytes):
            content = json.dumps(content).encode()
        path.write_bytes(content)
        return path

    return write_file


@pytest.fixture
def question() -> Callable[..., dict[str, Any]]:
    def one(number: int | str, **fields: Any) -> dict[str, Any]:
        return {
            "question_id": number,
            "image_id": int(number) // 1000,
            "question": f"What is {number}?",
        } | fields

    return one


@pytest.fixture
def annotation() -> Callable[..., dict[str, Any]]:
    def one(number: int | str, **fields: Any) -> dict[str, Any]:
        answers = [
            {"answer": answer, "answer_confidence": "yes", "answer_id": place}
            for place, answer in enumerate(("yes", "no", "yes"), 1)
        ]
        return {
            "question_id": number,
            "image_id": int(number) // 1000,
            "question_type": "what is",
            "answer_type": "other",
            "multiple_choice_answer": "yes",
            "answers": answers,
        } | fields

    return one
