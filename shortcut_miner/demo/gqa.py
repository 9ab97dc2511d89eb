"""Scene graphs and a few questions in GQA's formats, from the demo world's images.

Formats: Hudson and Manning, "GQA: A New Dataset for Real-World Visual Reasoning" (CVPR 2019). A question's
``annotations`` map word positions ("4", or "5:7" for words 5 and 6) to the id of the object they name.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from shortcut_miner.demo.images import Image, SceneObject

MAY_BE_ABSENT = ("dog", "car", "chair", "umbrella")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """A question before it has an id."""

    question: str
    answer: str
    full_answer: str
    program: tuple[tuple[str, str, tuple[int, ...]], ...]  # operation, argument, dependencies
    types: tuple[str, str, str]  # structural, semantic, detailed
    groups: tuple[str | None, str]  # global, local
    named: dict[str, SceneObject]  # words of the texts -> the object they name


def scene_graph(image: Image) -> dict[str, Any]:
    """Return one image's scene graph as in GQA's ``*_sceneGraphs.json``."""
    graph: dict[str, Any] = {"width": image.width, "height": image.height, "location": image.scene.location}
    if "weather" in image.facts:
        graph["weather"] = image.facts["weather"]
    graph["objects"] = {one.object_id: _graph_object(one, image) for one in image.objects}
    return graph


def _graph_object(one: SceneObject, image: Image) -> dict[str, Any]:
    x, y, w, h = one.box
    relations = [{"name": "holding", "object": one.holds}] if one.holds else []
    right = next((other for other in image.objects if _middle(other) > _middle(one)), None)
    if right:
        relations.append({"name": "to the left of", "object": right.object_id})
    place = {"x": x, "y": y, "w": w, "h": h}
    return {"name": one.name, **place, "attributes": list(one.attributes), "relations": relations}


def _middle(one: SceneObject) -> int:
    """Return twice the x of a box's middle, so that it stays an integer."""
    return 2 * one.box[0] + one.box[2]


def gqa_questions(images: Iterable[Image], seed: int) -> dict[str, dict[str, Any]]:
    """Return one question an image as in GQA's ``*_questions.json``, keyed by ids like "00000421"."""
    drawn = ((Random(f"{seed}/{image.image_id}/gqa").choice(list(_drafts(image))), image) for image in images)
    return {f"{i:08d}": _record(draft, f"{i:08d}", image) for i, (draft, image) in enumerate(drawn)}


def _drafts(image: Image) -> Iterator[_Draft]:
    """Give every question that the image allows; objects whose name occurs twice are left alone."""
    often = Counter(one.name for one in image.objects)
    unique = {one.object_id: one for one in image.objects if often[one.name] == 1}
    for one in unique.values():
        if one.color:
            yield _color_draft(one)
        yield _exist_draft(one.name, one)
        if one.holds in unique:
            yield _held_draft(one, unique[one.holds])
    yield from (_exist_draft(name, None) for name in MAY_BE_ABSENT if name not in often)
    for fact in ("room", "weather"):
        if fact in image.facts:
            yield _global_draft(fact, image.facts[fact])


def _color_draft(one: SceneObject) -> _Draft:
    return _Draft(
        question=f"What is the color of the {one.name}?",
        answer=one.color,
        full_answer=f"The color of the {one.name} is {one.color}.",
        program=(("select", f"{one.name} ({one.object_id})", ()), ("query", "color", (0,))),
        types=("query", "attr", "directOf"),
        groups=("color", f"10q-{one.name}_color"),
        named={one.name: one},
    )


def _exist_draft(name: str, one: SceneObject | None) -> _Draft:
    """Return the question for a name that one object has, or none (then it names no object)."""
    return _Draft(
        question=f"Do you see the {name} there?",
        answer="yes" if one else "no",
        full_answer=f"Yes, you see the {name}." if one else f"No, there is no {name}.",
        program=(("select", f"{name} ({one.object_id if one else '-'})", ()), ("exist", "?", (0,))),
        types=("verify", "obj", "exist"),
        groups=(None, f"03-{name}"),
        named={name: one} if one else {},
    )


def _held_draft(holder: SceneObject, held: SceneObject) -> _Draft:
    select = "select", f"{holder.name} ({holder.object_id})", ()
    relate = "relate", f"_,holding,o ({held.object_id})", (0,)
    return _Draft(
        question=f"What is the {holder.name} holding?",
        answer=held.name,
        full_answer=f"The {holder.name} is holding the {held.name}.",
        program=(select, relate, ("query", "name", (1,))),
        types=("query", "rel", "relO"),
        groups=(None, f"14-{holder.name}_holding,o"),
        named={holder.name: holder, held.name: held},
    )


def _global_draft(fact: str, answer: str) -> _Draft:
    return _Draft(
        question=f"Which {fact} is it?",
        answer=answer,
        full_answer=f"It is {answer}.",
        program=(("select", "scene", ()), ("query", fact, (0,))),
        types=("query", "global", fact),
        groups=(fact, f"02q-{fact}"),
        named={},
    )


def _record(draft: _Draft, question_id: str, image: Image) -> dict[str, Any]:
    program = [
        {"operation": operation, "dependencies": list(dependencies), "argument": argument}
        for operation, argument, dependencies in draft.program
    ]
    texts = {"answer": draft.answer, "fullAnswer": draft.full_answer, "question": draft.question}
    return {
        "annotations": {key: _word_positions(text, draft.named) for key, text in texts.items()},
        "answer": draft.answer,
        "entailed": [],
        "equivalent": [question_id],
        "fullAnswer": draft.full_answer,
        "groups": {"global": draft.groups[0], "local": draft.groups[1]},
        "imageId": str(image.image_id),
        "isBalanced": True,
        "question": draft.question,
        "semantic": program,
        "semanticStr": "->".join(map(_step_text, program)),
        "types": dict(zip(("structural", "semantic", "detailed"), draft.types, strict=True)),
    }


def _step_text(step: dict[str, Any]) -> str:
    dependencies = f" {step['dependencies']}" if step["dependencies"] else ""
    return f"{step['operation']}: {step['argument']}{dependencies}"


def _word_positions(text: str, named: dict[str, SceneObject]) -> dict[str, str]:
    """Return word position (or "start:end", end exclusive) -> id of the object named there.

    >>> pole = SceneObject("7", "ski pole", (0, 0, 1, 1), "", (), "")
    >>> _word_positions("The man is holding the ski pole.", {"ski pole": pole})
    {'5:7': '7'}
    """
    words = text.lower().rstrip(".?").replace(",", "").split()
    positions = {}
    for name, one in named.items():
        length = len(name.split())
        for start in range(len(words) - length + 1):
            if words[start : start + length] == name.split():
                positions[f"{start}:{start + length}" if length > 1 else str(start)] = one.object_id
    return positions
