"""A seeded imitation of VQA v2 at any scale, written in the official JSON formats.

Nobody may ship VQA v2 inside a repository, and random rows mine nothing. This world keeps what decides
the miner's work: a hidden topic per image draws its objects, the content words of its questions and their
answers, so words and objects predict answers; words, labels and answers have long tails.

    python benchmarks/vqa_world.py OUT --scale 1 --seed 0
"""

import argparse
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

TRAIN_QUESTIONS, VAL_QUESTIONS = 443_757, 214_354
TRAIN_IMAGES, VAL_IMAGES = 82_783, 40_504
LABELS, WORDS, TAIL_ANSWERS = 1_600, 16_000, 48_000
TOPICS, TOPIC_LABELS, TOPIC_WORDS, TOPIC_ANSWERS = 160, 60, 200, 80
BOXES = 22
CHUNK = 20_000  # records serialised at once: bounds memory

# Calibrated on scale 1: the numbers are in benchmarks/README.md.
LABEL_EXPONENT, LABEL_SHIFT, WORD_EXPONENT, WORD_SHIFT = 1.05, 3.0, 1.3, 20.0
TOPIC_LABEL_SHARE, TOPIC_WORD_SHARE, ABSENT_SHARE, USUAL_SHARE = 0.55, 0.5, 0.35, 0.5
STRONG_BOXES, STRONG_SPREAD = 9.9, 2.6
LABEL_LOGIT, WORD_LOGIT = 0.5, 1.0
TAIL_SHARE, TAIL_EXPONENT, TAIL_SHIFT = 0.36, 1.0, 50.0

NOUNS = (
    "man woman shirt tree sky wall window building grass table hair sign water head people ground fence "
    "person pants light chair car leg hat door boy floor hand plate road jacket street girl sidewalk cloud "
    "snow shoe leaf roof mountain field bench bag dog cat horse train bus truck bike motorcycle plane boat "
    "kite ball bat racket helmet skateboard surfboard skier umbrella phone laptop keyboard mouse screen "
    "clock book lamp bed pillow couch curtain carpet sink toilet mirror towel oven stove fridge cabinet "
    "counter pizza sandwich cake donut banana apple carrot broccoli bowl cup glass bottle fork knife spoon "
    "sheep cow elephant giraffe zebra bear bird vase flower rock wave beach tower bridge flag player"
).split()
COLORS = (
    "white,black,blue,red,brown,green,yellow,gray,black and white,orange,pink,silver,tan,red and white,purple,"
    "blue and white,gold,beige,brown and white,maroon,green and yellow,red and blue,turquoise,cream"
).split(",")
SCENES = {
    "sport": "tennis,baseball,skiing,surfing,soccer,skateboarding,snowboarding,frisbee,basketball".split(","),
    "room": "kitchen,bathroom,living room,bedroom,dining room,office,hallway,garage,attic".split(","),
    "animal": "cow,sheep,horse,cat,dog,bird,elephant,giraffe,zebra,bear,goat,duck".split(","),
}
ONSETS = "b br c ch d dr f fl g gr h j k l m n p pl qu r s sh sl st t tr v w z".split()
NUCLEI = "a e i o u ai ea ee oa oo".split()
CODAS = "b ck d g l ll m n nd nt p r rn sh st t x".split()

# (weight, kind, question_type, text). {o}: an object, {p}: another one, {w}, {v}: content words.
TEMPLATES = (
    (40, "present", "is there a", "is there a {o}"),
    (14, "present", "are there any", "are there any {o}s"),
    (14, "present", "can you", "can you see the {o}"),
    (10, "present", "are there", "are there {w} {o}s"),
    (8, "present", "is there", "is there {w} on the {o}"),
    (50, "judge", "is the", "is the {o} {w}"),
    (28, "judge", "is this a", "is this a {w} {v}"),
    (22, "judge", "is this", "is this {w}"),
    (20, "judge", "are the", "are the {o}s {w}"),
    (16, "judge", "is the man", "is the man {w} the {o}"),
    (14, "judge", "is it", "is it {w}"),
    (14, "judge", "does the", "does the {o} have a {w}"),
    (12, "judge", "are these", "are these {o}s {w}"),
    (12, "judge", "is", "is the {o}'s {v} {w}"),
    (12, "judge", "does this", "does this look like a {w}"),
    (10, "judge", "are they", "are they {w} the {v}"),
    (10, "judge", "is the woman", "is the woman wearing a {w}"),
    (8, "judge", "do", "do you think the {o} is {w}"),
    (8, "judge", "is the person", "is the person {w} a {o}"),
    (8, "judge", "is he", "is he {w} or {v}"),
    (4, "judge", "was", "was this taken during {w}"),
    (3, "judge", "could", "could this {o} be {w}"),
    (60, "count", "how many", "how many {o}s are there"),
    (14, "count", "how many", "how many {w} {o}s are visible"),
    (12, "count", "how many people are", "how many people are {w}"),
    (10, "count", "how many people are in", "how many people are in the {o}"),
    (8, "number", "what number is", "what number is on the {o}"),
    (5, "number", "what time", "what time is it"),
    (5, "number", "what", "what year was this {v} taken"),
    (56, "color", "what color is the", "what color is the {o}"),
    (16, "color", "what color are the", "what color are the {o}s"),
    (8, "color", "what color", "what color {o} is {w}"),
    (8, "color", "what is the color of the", "what is the color of the {o}"),
    (7, "color", "what color is", "what color is the man's {o}"),
    (10, "sport", "what sport is", "what sport is this"),
    (10, "room", "what room is", "what room is this"),
    (10, "animal", "what animal is", "what animal is {w}"),
    (24, "object", "what is the", "what is the {w} on the {o}"),
    (20, "object", "what is on the", "what is on the {o}"),
    (18, "object", "what is in the", "what is in the {o}"),
    (14, "object", "what is the man", "what is the man holding"),
    (12, "object", "what is the woman", "what is the woman {w}"),
    (10, "object", "what is this", "what is this {w}"),
    (10, "object", "what are the", "what are the {o}s near"),
    (26, "open", "what", "what {w} is the {o}"),
    (22, "open", "what kind of", "what kind of {w} is this"),
    (18, "open", "what type of", "what type of {o} is {w}"),
    (18, "open", "what is", "what is {w} the {o}"),
    (14, "open", "where is the", "where is the {o}"),
    (10, "open", "what does the", "what does the {o} say"),
    (10, "open", "none of the above", "the {o} is {w} by what"),
    (10, "open", "which", "which {w} is {v}"),
    (9, "open", "why", "why is the {o} {w}"),
    (8, "open", "how", "how is the {w} {v}"),
    (8, "open", "who is", "who is {w} the {o}"),
    (6, "open", "what brand", "what brand is the {o}"),
    (4, "open", "where are the", "where are the {o}s"),
)
SUFFIXES = ("", " in the picture", " in this photo", " in the {p}", " on the {p}", " with the {p}", " {v}")
SUFFIX_WEIGHTS = (0.82, 0.04, 0.03, 0.03, 0.03, 0.03, 0.02)
COUNTS = (2, 1, 3, 4, 0, *range(5, 200))
KINDS = tuple(kind for _, kind, _, _ in TEMPLATES)
OPEN_KINDS = ("object", "open")
ANSWER_TYPES = {"present": "yes/no", "judge": "yes/no", "count": "number", "number": "number"}
CONFIDENCES, CONFIDENCE_WEIGHTS = ("yes", "maybe", "no"), (0.81, 0.165, 0.025)
INFO = {
    "description": "A generated imitation of VQA v2.0.",
    "url": "http://visualqa.org",
    "version": "2.0",
    "year": 2017,
    "contributor": "benchmarks/vqa_world.py",
    "date_created": "2017-04-26 17:07:13",
}
LICENSE = {
    "url": "http://creativecommons.org/licenses/by/4.0/",
    "name": "Creative Commons Attribution 4.0 International License",
}
# Share of VQA questions on which 1, 2, ... 10 annotators give the majority answer.
AGREEMENT = (0.02, 0.07, 0.08, 0.08, 0.09, 0.10, 0.10, 0.11, 0.16, 0.19)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Names behind the ids, and where each family of answers starts among the answers."""

    labels: list[str]
    words: list[str]
    answers: list[str]
    starts: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """What goes with what. Topic arrays have shape (TOPICS, preferences), best preference first."""

    topic_labels: Ints
    topic_words: Ints
    topic_answers: Ints
    label_number: Ints  # the usual count of a label
    label_color: Ints  # its usual colour
    label_logit: Floats  # how much it speaks for "yes"
    word_logit: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    """Detected images: arrays of length n, or (n, BOXES) for `labels` and `scores`."""

    ids: Ints
    topic: Ints
    strong: Ints  # the first boxes, with a score of at least 0.5
    boxes: Ints  # boxes in all
    labels: Ints
    scores: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """Questions in file order as ids: arrays of length n."""

    image: Ints
    question_id: Ints
    template: Ints
    suffix: Ints
    object: Ints  # {o}
    other: Ints  # {p}
    word: Ints  # {w}
    second_word: Ints  # {v}


def pseudo_words(rng: np.random.Generator, count: int, taken: Iterable[str] = ()) -> list[str]:
    """`count` distinct pronounceable words of two or three syllables, none of them in `taken`."""
    seen = dict.fromkeys(taken)
    known = len(seen)
    while len(seen) < known + count:
        size = (2 * count, 3)
        parts = [np.array(x)[rng.integers(len(x), size=size)] for x in (ONSETS, NUCLEI)]
        long, coda = rng.random(2 * count) < 0.4, np.array(CODAS)[rng.integers(len(CODAS), size=2 * count)]
        for onset, nucleus, is_long, end in zip(*parts, long, coda, strict=True):
            syllables = 3 if is_long else 2
            seen.setdefault("".join(map("".join, zip(onset[:syllables], nucleus[:syllables], strict=True))) + end)
    return list(seen)[known : known + count]


def make_vocabulary(rng: np.random.Generator) -> Vocabulary:
    """The names of labels, words and answers, each most popular first."""
    simple = NOUNS + pseudo_words(rng, LABELS - len(NOUNS), NOUNS)
    # Every fifth rare label has two words, as "tennis racket" has.
    heads = rng.integers(len(NOUNS), size=LABELS)
    labels = [x if i < len(NOUNS) or i % 5 else f"{x} {NOUNS[heads[i]]}" for i, x in enumerate(simple)]
    words = pseudo_words(rng, WORDS, simple)
    pairs = rng.integers(WORDS, size=(TAIL_ANSWERS, 2)).tolist()
    phrases = dict.fromkeys([*words[: TAIL_ANSWERS // 4], *(f"{words[i]} {words[j]}" for i, j in pairs)])
    tail = rng.permutation(list(phrases)[:TAIL_ANSWERS]).tolist()
    families = {
        "yes": ["yes", "no"],
        "number": [str(i) for i in range(200)],
        "color": COLORS,
        "label": labels,
        **SCENES,
        "tail": tail,
    }
    starts = np.cumsum([0, *map(len, families.values())])[:-1].tolist()
    answers = [name for names in families.values() for name in names]
    return Vocabulary(labels=labels, words=words, answers=answers, starts=dict(zip(families, starts, strict=True)))


def zipf_cdf(count: int, *, exponent: float, shift: float) -> Floats:
    """The cumulative Zipf-Mandelbrot distribution over ranks 0 .. count - 1."""
    return cdf_of((np.arange(count) + shift) ** -exponent)


def cdf_of(weights: Iterable[float]) -> Floats:
    """The cumulative distribution of unnormalised weights."""
    cdf = np.cumsum(np.fromiter(weights, np.float64))
    return cdf / cdf[-1]


def draw(rng: np.random.Generator, cdf: Floats, size: int | tuple[int, ...]) -> Ints:
    """Independent ranks from a cumulative distribution."""
    return np.searchsorted(cdf, rng.random(size), side="right").clip(max=len(cdf) - 1)


def favourites(rng: np.random.Generator, weights: Floats, count: int) -> Ints:
    """For each topic, `count` distinct ids drawn by weight, as (TOPICS, count)."""
    keys = np.log(weights) + rng.gumbel(size=(TOPICS, len(weights)))
    return np.argsort(-keys, axis=1)[:, :count]


def make_habits(rng: np.random.Generator, vocabulary: Vocabulary) -> Habits:
    """The world's regularities, which make rules worth finding."""
    ranks = np.arange(len(vocabulary.answers) - vocabulary.starts["label"])
    return Habits(
        topic_labels=favourites(rng, (np.arange(LABELS) + 20.0) ** -0.5, TOPIC_LABELS),
        topic_words=favourites(rng, (np.arange(WORDS) + 50.0) ** -0.9, TOPIC_WORDS),
        topic_answers=vocabulary.starts["label"] + favourites(rng, (ranks + 50.0) ** -0.9, TOPIC_ANSWERS),
        label_number=1 + draw(rng, cdf_of((3.0, 4.0, 2.0, 1.0, 0.6, 0.6, 0.4, 0.4)), LABELS),
        label_color=draw(rng, zipf_cdf(len(COLORS), exponent=0.9, shift=1), LABELS),
        label_logit=rng.normal(0.0, LABEL_LOGIT, LABELS),
        word_logit=rng.normal(0.2, WORD_LOGIT, WORDS),
    )


def make_images(rng: np.random.Generator, habits: Habits, ids: Ints) -> Images:
    """Images with a topic each and the boxes that a detector reports on them."""
    shape = (len(ids), BOXES)
    topic = draw(rng, zipf_cdf(TOPICS, exponent=0.7, shift=4), len(ids))
    anywhere = draw(rng, zipf_cdf(LABELS, exponent=LABEL_EXPONENT, shift=LABEL_SHIFT), shape)
    preference = draw(rng, zipf_cdf(TOPIC_LABELS, exponent=0.8, shift=3), shape)
    of_topic = habits.topic_labels[topic[:, None], preference]
    strong = rng.normal(STRONG_BOXES, STRONG_SPREAD, len(ids)).round().astype(np.int64).clip(2, BOXES - 5)
    is_strong = np.arange(BOXES) < strong[:, None]
    scores = np.where(is_strong, 0.5, 0.2) + np.where(is_strong, 0.4999, 0.2999) * rng.random(shape)
    return Images(
        ids=ids,
        topic=topic,
        strong=strong,
        boxes=strong + rng.integers(0, 6, len(ids)),
        labels=np.where(rng.random(shape) < TOPIC_LABEL_SHARE, of_topic, anywhere),
        scores=scores.round(4),
    )


def draw_words(rng: np.random.Generator, habits: Habits, topic: Ints) -> Ints:
    """A content word for each question: the topic's, or any."""
    anywhere = draw(rng, zipf_cdf(WORDS, exponent=WORD_EXPONENT, shift=WORD_SHIFT), len(topic))
    of_topic = habits.topic_words[topic, draw(rng, zipf_cdf(TOPIC_WORDS, exponent=0.9, shift=2), len(topic))]
    return np.where(rng.random(len(topic)) < TOPIC_WORD_SHARE, of_topic, anywhere)


def draw_templates(rng: np.random.Generator, topic: Ints) -> Ints:
    """A template for each question; what sport, room or animal it is follows from the topic."""
    template = draw(rng, cdf_of([weight for weight, *_ in TEMPLATES]), len(topic))
    scenes = np.array([KINDS.index(kind) for kind in SCENES])
    return np.where(np.isin(template, scenes), scenes[topic % len(scenes)], template)


def make_questions(rng: np.random.Generator, habits: Habits, images: Images, chosen: slice, count: int) -> Questions:
    """`count` shuffled questions about the chosen images, at least three on each where they suffice."""
    first, size = chosen.start, chosen.stop - chosen.start
    least = min(3, count // size)
    each = least + np.bincount(rng.integers(size, size=count - least * size), minlength=size)
    order = rng.permutation(count)
    image = np.repeat(np.arange(first, first + size), each)[order]
    nth = (np.arange(count) - np.repeat(np.cumsum(each) - each, each))[order]
    topic, strong = images.topic[image], images.strong[image]
    template = draw_templates(rng, topic)
    seen = images.labels[image, rng.integers(strong)]
    absent = images.labels[rng.permutation(image), 0]
    is_absent = np.isin(template, np.flatnonzero(np.array(KINDS) == "present")) & (rng.random(count) < ABSENT_SHARE)
    return Questions(
        image=image,
        question_id=images.ids[image] * 1000 + nth,
        template=template,
        suffix=draw(rng, cdf_of(SUFFIX_WEIGHTS), count),
        object=np.where(is_absent, absent, seen),
        other=images.labels[image, rng.integers(strong)],
        word=draw_words(rng, habits, topic),
        second_word=draw_words(rng, habits, topic),
    )


def draw_answers(
    rng: np.random.Generator, habits: Habits, starts: dict[str, int], images: Images, questions: Questions
) -> Ints:
    """One annotator's answer id to each question, as its kind of question suggests."""
    count, topic = len(questions.image), images.topic[questions.image]
    kinds = np.array(KINDS)[questions.template]
    is_usual = rng.random(count) < USUAL_SHARE
    strong = images.labels[questions.image, : images.strong.min()]
    is_present = (strong == questions.object[:, None]).any(axis=1)
    logit = np.where(
        kinds == "present",
        np.where(is_present, 2.2, -2.2),
        habits.label_logit[questions.object] + habits.word_logit[questions.word],
    )
    yes = (rng.random(count) > 1 / (1 + np.exp(-logit))).astype(np.int64)
    number = np.array(COUNTS)[draw(rng, zipf_cdf(len(COUNTS), exponent=1.7, shift=1.5), count)]
    color = draw(rng, zipf_cdf(len(COLORS), exponent=0.9, shift=1), count)
    turn = (questions.word * 31 + questions.template * 17) % 24  # the word and the question choose among the topic's
    preference = (turn + draw(rng, zipf_cdf(TOPIC_ANSWERS, exponent=1.3, shift=0.6), count)) % TOPIC_ANSWERS
    options = {
        "present": yes,
        "judge": yes,
        "count": starts["number"] + np.where(is_usual, habits.label_number[questions.object], number),
        "number": starts["number"] + draw(rng, zipf_cdf(200, exponent=0.8, shift=2), count),
        "color": starts["color"] + np.where(is_usual, habits.label_color[questions.object], color),
        "object": starts["label"] + images.labels[questions.image, rng.integers(images.strong[questions.image])],
        "open": habits.topic_answers[topic, preference],
    }
    for kind, names in SCENES.items():
        usual = topic // len(SCENES) % len(names)
        options[kind] = starts[kind] + np.where(is_usual, usual, rng.integers(len(names), size=count))
    answer = np.select([kinds == kind for kind in options], list(options.values()))
    tail = starts["tail"] + draw(rng, zipf_cdf(TAIL_ANSWERS, exponent=TAIL_EXPONENT, shift=TAIL_SHIFT), count)
    return np.where(np.isin(kinds, OPEN_KINDS) & (rng.random(count) < TAIL_SHARE), tail, answer)


def draw_votes(rng: np.random.Generator, answer: Ints, alternatives: Ints) -> Ints:
    """Ten annotators' answer ids, (n, 10): `answer` is at least as frequent as any other in its row."""
    count = len(answer)
    agreeing = 1 + draw(rng, cdf_of(AGREEMENT), count)
    other = np.take_along_axis(alternatives, rng.integers(alternatives.shape[1], size=(count, 10)), axis=1)
    votes = np.where(np.arange(10) < agreeing[:, None], answer[:, None], other)
    frequency = (votes[:, :, None] == votes[:, None, :]).sum(axis=2)
    # The first vote is the majority's; what would outvote it joins it.
    votes = np.where(frequency > frequency[:, :1], answer[:, None], votes)
    return rng.permuted(votes, axis=1)


def question_texts(vocabulary: Vocabulary, questions: Questions, rows: slice) -> list[str]:
    """The questions' texts."""
    patterns = [[f"{text}{suffix}?".capitalize() for suffix in SUFFIXES] for *_, text in TEMPLATES]
    labels, words = vocabulary.labels, vocabulary.words
    nouns = (questions.object, questions.other)
    slots = columns(rows, questions.template, questions.suffix, *nouns, questions.word, questions.second_word)
    return [patterns[t][s].format(o=labels[o], p=labels[p], w=words[w], v=words[v]) for t, s, o, p, w, v in slots]


def columns(rows: slice, *arrays: NDArray[np.generic]) -> Iterator[tuple]:
    """The arrays' rows as tuples of Python values."""
    return zip(*(array[rows].tolist() for array in arrays), strict=True)


def chunks(count: int) -> Iterator[slice]:
    """Slices of CHUNK rows that cover `count`."""
    return (slice(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK))


def detection_chunks(vocabulary: Vocabulary, images: Images) -> Iterator[dict[str, dict]]:
    """Members of the detections file."""
    names = np.array(vocabulary.labels, dtype=object)
    for rows in chunks(len(images.ids)):
        boxes = zip(names[images.labels[rows]].tolist(), columns(rows, images.ids, images.boxes, images.scores))
        yield {str(i): {"classes": labels[:n], "scores": scores[:n]} for labels, (i, n, scores) in boxes}


def question_chunks(vocabulary: Vocabulary, images: Images, questions: Questions) -> Iterator[list[dict]]:
    """Records of the questions file."""
    image_id = images.ids[questions.image]
    for rows in chunks(len(image_id)):
        texts = question_texts(vocabulary, questions, rows)
        keys = columns(rows, image_id, questions.question_id)
        yield [
            {"image_id": image, "question": text, "question_id": key}
            for text, (image, key) in zip(texts, keys, strict=True)
        ]


def annotation_chunks(
    rng: np.random.Generator, vocabulary: Vocabulary, habits: Habits, images: Images, questions: Questions
) -> Iterator[list[dict]]:
    """Records of the annotations file, in the order of the questions."""
    names, starts, image_id = vocabulary.answers, vocabulary.starts, images.ids[questions.image]
    answer, *others = (draw_answers(rng, habits, starts, images, questions) for _ in range(3))
    synonym = np.where(answer < starts["label"], others[0], starts["tail"] + answer * 7919 % TAIL_ANSWERS)
    is_binary = answer < starts["number"]
    alternatives = np.stack([np.where(is_binary, 1 - answer, x) for x in (*others, synonym)], axis=1)
    for rows in chunks(len(answer)):
        votes = draw_votes(rng, answer[rows], alternatives[rows])
        surety = draw(rng, cdf_of(CONFIDENCE_WEIGHTS), votes.shape)
        keys = columns(rows, questions.template, answer, image_id, questions.question_id)
        yield [
            {
                "question_type": TEMPLATES[t][2],
                "multiple_choice_answer": names[a],
                "answers": [
                    {"answer": names[v], "answer_confidence": CONFIDENCES[c], "answer_id": n}
                    for n, v, c in zip(range(1, 11), vs, cs, strict=True)
                ],
                "image_id": i,
                "answer_type": ANSWER_TYPES.get(KINDS[t], "other"),
                "question_id": q,
            }
            for (t, a, i, q), vs, cs in zip(keys, votes.tolist(), surety.tolist(), strict=True)
        ]


def write_json(path: Path, header: dict[str, object], key: str, parts: Iterable[list[dict] | dict]) -> None:
    """Write `header` with one more member, `key`, a list joined from chunks; with an empty header, their union."""
    with path.open("wb") as file:
        file.write(orjson.dumps(header)[:-1] + f',"{key}":['.encode() if header else b"{")
        for i, part in enumerate(parts):
            file.write(b"," * (i > 0) + orjson.dumps(part)[1:-1])
        file.write(b"]}" if header else b"}")


def write_split(
    out: Path, rng: np.random.Generator, world: tuple[Vocabulary, Habits, Images], questions: Questions, split: str
) -> None:
    """Write the questions file and the annotations file of one split."""
    vocabulary, habits, images = world
    header = {"info": INFO, "task_type": "Open-Ended", "data_type": "mscoco", "license": LICENSE, "data_subtype": split}
    write_json(
        out / f"v2_OpenEnded_mscoco_{split}_questions.json",
        header,
        "questions",
        question_chunks(vocabulary, images, questions),
    )
    write_json(
        out / f"v2_mscoco_{split}_annotations.json",
        header,
        "annotations",
        annotation_chunks(rng, vocabulary, habits, images, questions),
    )


def write_vqa_world(out: Path, *, scale: float = 1.0, seed: int = 0) -> None:
    """Write five files: questions and annotations of train2014 and val2014, and `image_to_detection.json`.

    Parameters
    ----------
    out
        Folder to write into; made if missing.
    scale
        Multiplies the numbers of questions and images. Vocabularies stay.
    seed
        The same seed and scale give the same bytes with the same NumPy.
    """
    out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    vocabulary = make_vocabulary(rng)
    habits = make_habits(rng, vocabulary)
    train, val = (max(1, round(scale * n)) for n in (TRAIN_IMAGES, VAL_IMAGES))
    ids = 1 + rng.choice(max(581_929, 2 * (train + val)), size=train + val, replace=False)
    images = make_images(rng, habits, ids)
    write_json(out / "image_to_detection.json", {}, "", detection_chunks(vocabulary, images))
    for split, chosen, full in (
        ("train2014", slice(0, train), TRAIN_QUESTIONS),
        ("val2014", slice(train, train + val), VAL_QUESTIONS),
    ):
        questions = make_questions(rng, habits, images, chosen, max(1, round(scale * full)))
        write_split(out, rng, (vocabulary, habits, images), questions, split)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    started = time.perf_counter()
    write_vqa_world(options.out, scale=options.scale, seed=options.seed)
    print(f"{options.out}: scale {options.scale:g}, seed {options.seed}, {time.perf_counter() - started:.1f} s")  # noqa: T201
