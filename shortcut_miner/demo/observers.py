"""Who looks at the demo world, imperfectly: an object detector, ten annotators, two VQA models.

What an observer draws for an image or a question depends on the seed and that id alone; which answers are
plausible errors or habits is read off the whole world.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType

from shortcut_miner.demo.grammar import PEOPLE, YES_NO
from shortcut_miner.demo.images import Image, Question
from shortcut_miner.demo.scenes import PLANTED, SCENES

SCORE_THRESHOLD = 0.5  # a label with at least this score is an item of its image's questions

# The detector: images it never saw, images it found nothing in, and its mistakes elsewhere.
UNKNOWN_IMAGES, BLANK_IMAGES = 0.008, 0.004
MISSED, FAINT, FALSE_ALARM = 0.07, 0.06, 0.3

# The annotators: a question is clear to all of them or contested, and then each may err.
ANNOTATORS = 10
CONTESTED, MISTAKEN, OTHER_WORD, UNSURE = 0.15, 0.2, 0.08, 0.1

# The models: how often each does what it is named for.
LEANS, FOLLOWS_HABIT, SEES_ANYWAY, READS = 0.92, 0.45, 0.75, 0.85

# What the detector calls a thing if not by its name; it can't see the things named after these.
DETECTOR_LABELS = MappingProxyType(
    dict.fromkeys(PEOPLE, "person")
    | dict.fromkeys(("badminton racket", "padel racket"), "tennis racket")
    | {"phone": "cell phone", "ball": "sports ball", "frisbee": "sports ball"}
)
# fmt: off
UNDETECTED = frozenset({
    "balloon", "boat", "briefcase", "building", "court", "ferret", "flag", "floor", "grass", "mirror",
    "newspaper", "parrot", "pillow", "rabbit", "sand", "sign", "snow", "towel", "tree", "wall", "water",
    "window",
})
SYNONYMS = MappingProxyType({
    "baseball bat": ("bat",), "bathroom": ("restroom",), "birthday": ("birthday party",),
    "brown": ("dark brown",), "cat": ("kitten",), "cloudy": ("overcast",), "dog": ("puppy",),
    "fall": ("autumn",), "gray": ("grey",), "green": ("light green",), "living room": ("lounge",),
    "phone": ("cell phone",), "red": ("dark red",), "skiing": ("ski",), "soccer": ("football",),
    "store": ("shop",), "sunny": ("clear",), "tennis": ("playing tennis",),
    "tennis racket": ("racket", "racquet"), "umbrella": ("parasol",), "wood": ("wooden",),
    "yellow": ("bright yellow",),
})
# fmt: on

Detections = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Annotation:
    """Ten annotators' (answer, confidence) pairs and the answer that most of them gave."""

    answers: tuple[tuple[str, str], ...]
    majority: str


def detectable_labels() -> list[str]:
    """Return every label that the detector can give, sorted."""
    names = {thing.name for scene in SCENES for thing in scene.things} - UNDETECTED
    return sorted({DETECTOR_LABELS.get(name, name) for name in names})


def detect(image: Image, labels: Sequence[str], seed: int) -> Detections | None:
    """Return labels with scores, highest first, or None for an image that the detector never saw."""
    rng = Random(f"{seed}/{image.image_id}/detector")
    fate = rng.random()
    if fate < UNKNOWN_IMAGES:
        return None
    if fate < UNKNOWN_IMAGES + BLANK_IMAGES:
        return ()
    found = [
        (DETECTOR_LABELS.get(one.name, one.name), _score(rng))
        for one in image.objects
        if one.name not in UNDETECTED and rng.random() >= MISSED
    ]
    if rng.random() < FALSE_ALARM:
        found.append((rng.choice(labels), round(rng.uniform(0.1, 0.6), 4)))
    return tuple(sorted(found, key=lambda one: (-one[1], one[0])))


def _score(rng: Random) -> float:
    """Return a high score, or now and then one below the threshold."""
    if rng.random() < FAINT:
        return round(rng.uniform(0.1, 0.49), 4)
    return round(math.sqrt(rng.uniform(0.5, 1.0)), 4)


def sure_labels(detections: Detections | None) -> frozenset[str]:
    """Return the labels that reach the score threshold."""
    return frozenset(label for label, score in detections or () if score >= SCORE_THRESHOLD)


def answer_kind(question: Question) -> str:
    """Return what kind of answer a question wants, as in "color", "count" or "sport"."""
    template = question.template
    return template.about[0] if template.ask == "fact" else template.ask


def plausible_answers(questions: Iterable[Question]) -> dict[str, list[str]]:
    """Return the true answers of each kind of question, sorted: what an observer may say in error."""
    answers = defaultdict(set)
    for question in questions:
        answers[answer_kind(question)].add(question.truth)
    return {kind: sorted(found) for kind, found in answers.items()}


def _other_answer(question: Question, plausible: Mapping[str, Sequence[str]], rng: Random) -> str:
    """Return a wrong answer of the right kind; the true one where the kind has no other."""
    pool = YES_NO if question.truth in YES_NO else plausible[answer_kind(question)]
    return rng.choice([answer for answer in pool if answer != question.truth] or [question.truth])


def annotate(question: Question, plausible: Mapping[str, Sequence[str]], seed: int) -> Annotation:
    """Return ten annotators' answers; of equally common ones the majority is the first given."""
    rng = Random(f"{seed}/{question.question_id}/annotators")
    mistaken = MISTAKEN if rng.random() < CONTESTED else 0.0
    answers = []
    for _ in range(ANNOTATORS):
        answer = _other_answer(question, plausible, rng) if rng.random() < mistaken else question.truth
        if rng.random() < OTHER_WORD:
            answer = rng.choice(SYNONYMS.get(answer, (answer,)))
        confidence = rng.choice(("maybe", "no")) if rng.random() < UNSURE else "yes"
        answers.append((answer, confidence))
    majority = Counter(answer for answer, _ in answers).most_common(1)[0][0]
    return Annotation(tuple(answers), majority)


def habitual_answers(questions: Iterable[Question]) -> dict[str, str]:
    """Return the most common true answer of each kind of question: what a lazy model learns."""
    answers = defaultdict(list)
    for question in questions:
        answers[answer_kind(question)].append(question.truth)
    return {kind: Counter(found).most_common(1)[0][0] for kind, found in answers.items()}


def shortcut_model(
    question: Question,
    labels: frozenset[str],
    habits: Mapping[str, str],
    plausible: Mapping[str, Sequence[str]],
    seed: int,
) -> str:
    """Return the answer of a model that leans on planted shortcuts first and on habit second."""
    rng = Random(f"{seed}/{question.question_id}/shortcut model")
    leaning = [one.answer for one in PLANTED if one.fires(question.words, labels)]
    if leaning and rng.random() < LEANS:
        return leaning[0]
    if rng.random() < FOLLOWS_HABIT:
        return habits.get(answer_kind(question), "yes")
    return question.truth if rng.random() < SEES_ANYWAY else _other_answer(question, plausible, rng)


def grounded_model(question: Question, plausible: Mapping[str, Sequence[str]], seed: int) -> str:
    """Return the answer of a model that mostly reads the scene and errs evenly."""
    rng = Random(f"{seed}/{question.question_id}/grounded model")
    return question.truth if rng.random() < READS else _other_answer(question, plausible, rng)
