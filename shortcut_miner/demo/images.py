"""Images drawn from scenes, and the questions asked about them with their true answers.

Once ids and scenes are dealt, what is drawn for an image depends on the seed and its id alone.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random

from shortcut_miner.demo.grammar import Scene, Template, Thing
from shortcut_miner.demo.scenes import SCENES

SPLITS = ("train", "val")
FIRST_IMAGE_ID, LAST_IMAGE_ID = 1_000, 580_000
IMAGE_SIZES = ((640, 480), (640, 427), (500, 375), (480, 640))
QUESTIONS_PER_IMAGE = (2, 3, 3, 4, 4)
MANY = 3  # more than this is "many"

Box = tuple[int, int, int, int]  # left, top, width, height in pixels


@dataclass(frozen=True, slots=True)
class SceneObject:
    """One object in one image, as the scene graph has it; `holds` is another object's id or ""."""

    object_id: str
    name: str
    box: Box
    color: str
    attributes: tuple[str, ...]
    holds: str


@dataclass(frozen=True, slots=True)
class Image:
    """One image: its scene's facts, drawn, and its objects."""

    image_id: int
    split: str
    width: int
    height: int
    scene: Scene
    facts: Mapping[str, str]
    objects: tuple[SceneObject, ...]

    def named(self, *names: str) -> list[SceneObject]:
        """Return the objects that have one of these names."""
        return [one for one in self.objects if one.name in names]


@dataclass(frozen=True, slots=True)
class Question:
    """One question about one image, and what is true."""

    question_id: int
    image: Image
    template: Template
    text: str
    truth: str

    @property
    def words(self) -> frozenset[str]:
        """The question's tokens; the world's texts hold no punctuation but the question mark."""
        return frozenset(self.text.lower().replace("?", " ?").split())


def draw_images(seed: int) -> list[Image]:
    """Return all images: each scene's declared number per split, in a shuffled order."""
    decks = [[(split, scene) for scene in SCENES for _ in range(getattr(scene, split))] for split in SPLITS]
    for split, deck in zip(SPLITS, decks, strict=True):
        Random(f"{seed}/{split}/deck").shuffle(deck)
    dealt = [card for deck in decks for card in deck]
    image_ids = Random(f"{seed}/image ids").sample(range(FIRST_IMAGE_ID, LAST_IMAGE_ID), len(dealt))
    return [
        _draw_image(image_id, split, scene, Random(f"{seed}/{image_id}/image"))
        for image_id, (split, scene) in zip(image_ids, dealt, strict=True)
    ]


def _draw_image(image_id: int, split: str, scene: Scene, rng: Random) -> Image:
    width, height = rng.choice(IMAGE_SIZES)
    facts = {name: rng.choice(values) for name, values in scene.facts.items()}
    objects: list[SceneObject] = []
    for thing in scene.things:
        objects += _draw_objects(thing, image_id * 1000 + len(objects), (width, height), rng)
    return Image(image_id, split, width, height, scene, facts, _with_holders(objects, scene.things))


def _draw_objects(thing: Thing, first_id: int, size: tuple[int, int], rng: Random) -> list[SceneObject]:
    color = rng.choice(thing.colors) if thing.colors else ""
    attributes = tuple(filter(None, (color, thing.material)))
    return [
        SceneObject(str(first_id + i), thing.name, _draw_box(size, rng), color, attributes, "")
        for i in range(rng.choice(thing.count))
    ]


def _draw_box(size: tuple[int, int], rng: Random) -> Box:
    """Return a box inside the image, each side between a twelfth and a half of the image's."""
    (width, height) = size
    w, h = rng.randint(width // 12, width // 2), rng.randint(height // 12, height // 2)
    return rng.randint(0, width - w), rng.randint(0, height - h), w, h


def _with_holders(objects: list[SceneObject], things: tuple[Thing, ...]) -> tuple[SceneObject, ...]:
    """Return the objects with `holds` set where a thing is declared to be held and both are there."""
    first = {one.name: one.object_id for one in reversed(objects)}
    held = {
        first[thing.held_by]: first[thing.name]
        for thing in things
        if thing.held_by in first and thing.name in first
    }
    return tuple(dataclasses.replace(one, holds=held.get(one.object_id, "")) for one in objects)


def ask_questions(image: Image, seed: int) -> Iterator[Question]:
    """Give two to four of the scene's questions that have an answer in this image, the weighty ones first.

    Sampling without replacement by the keys ``u ** (1 / weight)`` (Efraimidis and Spirakis, 2006).
    """
    rng = Random(f"{seed}/{image.image_id}/questions")
    askable = [
        (rng.random() ** (1 / template.weight), rng.choice(template.texts), template, truth)
        for template in image.scene.questions
        if (truth := true_answer(image, template)) is not None
    ]
    askable.sort(key=lambda one: one[0], reverse=True)
    for i, (_, text, template, truth) in enumerate(askable[: rng.choice(QUESTIONS_PER_IMAGE)]):
        yield Question(image.image_id * 1000 + i, image, template, text, truth)


def true_answer(image: Image, template: Template) -> str | None:
    """Return the answer that the image gives, or None where the question makes no sense."""
    return TRUTHS[template.ask](image, *template.about)


def _yes(condition: bool) -> str:
    return "yes" if condition else "no"


def _fact(image: Image, name: str) -> str | None:
    return image.facts.get(name)


def _fact_is(image: Image, name: str, value: str) -> str | None:
    return _yes(image.facts[name] == value) if name in image.facts else None


def _color(image: Image, name: str) -> str | None:
    return next((one.color for one in image.named(name) if one.color), None)


def _same_color(image: Image, name: str, other: str) -> str | None:
    colors = _color(image, name), _color(image, other)
    return None if None in colors else _yes(colors[0] == colors[1])


def _count(image: Image, *names: str) -> str | None:
    return str(len(image.named(*names)) or "") or None


def _many(image: Image, *names: str) -> str:
    return _yes(len(image.named(*names)) > MANY)


def _exists(image: Image, name: str) -> str:
    return _yes(bool(image.named(name)))


def _held(image: Image, holder: str) -> str | None:
    names = {one.object_id: one.name for one in image.objects}
    return next((names[one.holds] for one in image.named(holder) if one.holds), None)


def _holds(image: Image, holder: str, name: str) -> str | None:
    return _yes(_held(image, holder) == name) if image.named(holder) else None


TRUTHS: Mapping[str, Callable[..., str | None]] = {
    "fact": _fact,
    "fact_is": _fact_is,
    "color": _color,
    "same_color": _same_color,
    "count": _count,
    "many": _many,
    "exists": _exists,
    "held": _held,
    "holds": _holds,
}
