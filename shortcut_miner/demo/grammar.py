"""What a demo world is made of: things in scenes, question templates about them, planted shortcuts.

Only shapes and short constructors live here; the world's content is data in :mod:`.scenes`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

PEOPLE = ("man", "woman", "boy", "girl")
YES_NO = ("yes", "no")
# A planted question is asked about most images of its scene, the others about some of them.
PLANTED_WEIGHT = 8.0


@dataclass(frozen=True, slots=True)
class Thing:
    """A kind of object that a scene holds.

    Attributes
    ----------
    name : str
        Its name in scene graphs and answers.
    colors : tuple of str
        One is drawn per image (bananas of one bowl share theirs); empty: no colour.
    count : tuple of int
        How many there are, one number drawn; a number given twice is twice as likely.
    held_by : str
        Name of the thing whose first object holds the first of these, or "".
    material : str
        A further attribute, or "".
    """

    name: str
    colors: tuple[str, ...] = ()
    count: tuple[int, ...] = (1,)
    held_by: str = ""
    material: str = ""


@dataclass(frozen=True, slots=True)
class Template:
    """One question in several wordings, and how its true answer is read off the image.

    Attributes
    ----------
    texts : tuple of str
        Wordings; one is drawn.
    ask : str
        A key of :data:`shortcut_miner.demo.images.TRUTHS`.
    about : tuple of str
        What that function needs: names of things, or a fact (and the value asked for).
    weight : float
        How readily this question is asked, compared to the scene's others.
    """

    texts: tuple[str, ...]
    ask: str
    about: tuple[str, ...]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Scene:
    """A type of image, in fixed numbers per split: exceptions are scenes rare in training.

    Attributes
    ----------
    name : str
        For people.
    train, val : int
        Images of this scene in the two splits.
    location : str
        "indoors" or "outdoors".
    facts : mapping of str to tuple of str
        What is true of the image as a whole, one value drawn for each.
    things : tuple of Thing
        What may be seen.
    questions : tuple of Template
        What may be asked.
    """

    name: str
    train: int
    val: int
    location: str
    things: tuple[Thing, ...]
    questions: tuple[Template, ...]
    facts: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A rule that holds for nearly all training questions and fails for planted validation ones."""

    words: tuple[str, ...]
    objects: tuple[str, ...]
    answer: str

    def fires(self, words: frozenset[str], labels: frozenset[str]) -> bool:
        """Return whether a question's words and its image's labels hold the whole antecedent."""
        return words.issuperset(self.words) and labels.issuperset(self.objects)


def with_article(name: str) -> str:
    """Return the name after "a" or "an"; the world's names follow their spelling."""
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def fact(name: str, *texts: str, weight: float = 1.0) -> Template:
    """Return a question answered by a fact of the image."""
    return Template(texts, "fact", (name,), weight)


def fact_is(name: str, value: str, *texts: str) -> Template:
    """Return a yes/no question for one value of a fact."""
    return Template(texts, "fact_is", (name, value))


def color(name: str, weight: float = 1.0) -> Template:
    """Return a question for the colour of a thing."""
    return Template((f"What color is the {name}?",), "color", (name,), weight)


def same_color(name: str, other: str) -> Template:
    """Return a yes/no question comparing two things' colours."""
    return Template((f"Is the {name} the same color as the {other}?",), "same_color", (name, other))


def count(plural: str, *names: str, weight: float = 1.0) -> Template:
    """Return a question for the number of things with any of these names."""
    texts = (f"How many {plural} are there?", f"How many {plural} are in the picture?")
    return Template(texts, "count", names, weight)


def many(plural: str, *names: str) -> Template:
    """Return a yes/no question for more than a few things."""
    return Template((f"Can you see many {plural}?",), "many", names)


def exists(name: str, *texts: str, weight: float = 1.0) -> Template:
    """Return a yes/no question for the presence of a thing."""
    texts = texts or (f"Is there {with_article(name)} in the picture?", f"Is there {with_article(name)}?")
    return Template(texts, "exists", (name,), weight)


def holding(holder: str, weight: float = 1.0) -> Template:
    """Return a question for what somebody holds."""
    return Template((f"What is the {holder} holding?",), "held", (holder,), weight)


def holds(holder: str, name: str) -> Template:
    """Return a yes/no question for whether somebody holds this."""
    return Template((f"Is the {holder} holding {with_article(name)}?",), "holds", (holder, name))
