"""Images with objects, and everything the room does with them in plain Python."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

World = dict[str, list[str]]  # image -> objects, in order


def write_objects(path: Path, world: Mapping[str, Sequence[str] | None]) -> Path:
    lines = [json.dumps({"image": image, "objects": names}) for image, names in world.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_questions(path: Path, rows: Sequence[tuple[Any, str, str, str]]) -> Path:
    names = ("question_id", "image", "text", "label")
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def answers(path: Path, said: Mapping[Any, str]) -> Path:
    lines = [json.dumps({"question_id": one, "answer": text}) for one, text in said.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def frequency(world: World, name: str) -> int:
    return sum(name in names for names in world.values())


def together(world: World, first: str, second: str) -> int:
    return sum(first in names and second in names for names in world.values())


def first_met(world: World, name: str, beside: str | None = None) -> int:
    """Return where a name is met first, walking the images in order: all, or those that have another name."""
    walked = [
        other
        for names in world.values()
        if beside is None or beside in names
        for other in names
        if other != beside
    ]
    return walked.index(name)


def popular(world: World, allowed: Sequence[str], ties: str) -> str:
    def key(name: str) -> tuple[int, Any]:
        return -frequency(world, name), first_met(world, name) if ties == "first" else name

    return min(allowed, key=key)


def adversarial(world: World, present: str, allowed: Sequence[str], ties: str) -> str | None:
    """Return the allowed name that stands beside an object most often; None if none ever does."""
    beside = [name for name in allowed if together(world, present, name)]

    def key(name: str) -> tuple[int, Any]:
        return -together(world, present, name), first_met(world, name, present) if ties == "first" else name

    return min(beside, key=key, default=None)
