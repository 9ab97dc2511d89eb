"""What the imitation of VQA v2 in ``vqa_world.py`` consists of, and how it is drawn.

Independent random rows mine nothing. This world keeps what decides a miner's work: a hidden topic per image
draws its objects, the questions asked about it, their content words and their answers, so words and objects
predict answers; words, labels and answers have long tails.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LABELS, WORDS, TAIL_ANSWERS = 1_600, 16_000, 90_000
BOXES = 22

# Calibrated so that scale 1 keeps 400K rows of 15.7 items, 7,400 of them frequent, with 4.8M antecedents,
# 3.2M of them confident. Steeper heads and fewer topics give more; stronger habits, more confident ones.
LABEL_EXPONENT, LABEL_SHIFT, WORD_EXPONENT, WORD_SHIFT = 1.15, 1.8, 1.5, 12.0
TAIL_SHARE, TAIL_EXPONENT, TAIL_SHIFT = 0.54, 1.25, 170.0
TOPICS, TOPIC_LABELS, TOPIC_WORDS, TOPIC_ANSWERS, TOPIC_TEMPLATES = 90, 45, 30, 80, 12
TOPIC_LABEL_SHARE, TOPIC_WORD_SHARE, TOPIC_TEMPLATE_SHARE = 0.63, 0.63, 0.4
TOPIC_LOGIT, LABEL_LOGIT, WORD_LOGIT = 0.6, 0.6, 1.5
STRONG_BOXES, STRONG_SPREAD, ABSENT_SHARE, USUAL_SHARE = 11.0, 4.0, 0.35, 0.5

NAMES = {
    "noun": "man,woman,shirt,tree,sky,wall,window,building,grass,table,hair,sign,water,head,people,ground,"
    "fence,person,pants,light,chair,car,leg,hat,door,boy,floor,hand,plate,road,jacket,street,girl,cloud,snow,"
    "shoe,leaf,roof,mountain,field,bench,bag,dog,cat,horse,train,bus,truck,bike,plane,boat,kite,ball,bat,"
    "racket,helmet,skateboard,surfboard,umbrella,phone,laptop,keyboard,clock,book,lamp,bed,pillow,couch,sink,"
    "toilet,mirror,oven,pizza,cake,banana,bowl,cup,glass,fork,sheep,cow,elephant,giraffe,bear,bird,vase,wave",
    "color": "white,black,blue,red,brown,green,yellow,gray,black and white,orange,pink,silver,tan,purple,"
    "gold,red and white,blue and white,beige,brown and white,maroon,green and yellow,red and blue,turquoise",
    "sport": "tennis,baseball,skiing,surfing,soccer,skateboarding,snowboarding,frisbee,basketball",
    "room": "kitchen,bathroom,living room,bedroom,dining room,office,hallway,garage,attic",
    "animal": "cow,sheep,horse,cat,dog,bird,elephant,giraffe,zebra,bear,goat,duck",
    "onset": "b,br,c,ch,d,dr,f,fl,g,gr,h,j,k,l,m,n,p,pl,qu,r,s,sh,sl,st,t,tr,v,w,z",
    "nucleus": "a,e,i,o,u,ai,ea,ee,oa,oo",
    "coda": "b,ck,d,g,l,ll,m,n,nd,nt,p,r,rn,sh,st,t,x",
}
NOUNS, COLORS = (NAMES[family].split(",") for family in ("noun", "color"))
SCENES = {family: NAMES[family].split(",") for family in ("sport", "room", "animal")}
SYLLABLE = [np.array(NAMES[part].split(",")) for part in ("onset", "nucleus", "coda")]
COUNTS = np.array([2, 1, 3, 4, 0, *range(5, 200)])  # most usual first

# Kind: "weight question type|rest of the question". {o}: an object, {p}: another, {w}, {v}: content words.
QUESTIONS = {
    "present": "44 is there a| {o}; 14 are there any| {o}s; 14 can you| see the {o}; 10 are there| {w} {o}s; "
    "8 is there| {w} on the {o}",
    "judge": "50 is the| {o} {w}; 28 is this a| {w} {v}; 22 is this| {w}; 20 are the| {o}s {w}; "
    "16 is the man| {w} the {o}; 14 is it| {w}; 14 does the| {o} have a {w}; 12 are these| {o}s {w}; "
    "12 is| the {o}'s {v} {w}; 12 does this| look like a {w}; 10 are they| {w} the {v}; "
    "8 is he| {w} or {v}; 10 is the woman| wearing a {w}; 8 do| you think the {o} is {w}; "
    "8 is the person| {w} a {o}; 4 was| this taken during {w}; 3 could| this {o} be {w}",
    "count": "60 how many| {o}s are there; 14 how many| {w} {o}s are visible; 12 how many people are| {w}; "
    "10 how many people are in| the {o}",
    "number": "8 what number is| on the {o}; 5 what time| is it; 5 what| year was this {v} taken",
    "color": "56 what color is the| {o}; 16 what color are the| {o}s; 8 what color| {o} is {w}; "
    "8 what is the color of the| {o}; 7 what color is| the man's {o}",
    "sport": "10 what sport is| this",
    "room": "10 what room is| this",
    "animal": "10 what animal is| {w}",
    "object": "24 what is the| {w} on the {o}; 20 what is on the| {o}; 18 what is in the| {o}; "
    "14 what is the man| holding; 12 what is the woman| {w}; "
    "10 what is this| {w}; 10 what are the| {o}s near",
    "open": "32 what| {w} is the {o}; 30 what kind of| {w} is this; 18 what type of| {o} is {w}; "
    "18 what is| {w} the {o}; 14 where is the| {o}; 10 what does the| {o} say; 10 which| {w} is {v}; "
    "10 none of the above|the {o} is {w} by what; 9 why| is the {o} {w}; 8 how| is the {w} {v}; "
    "8 who is| {w} the {o}; 6 what brand| is the {o}; 4 where are the| {o}s",
}
SUFFIXES = ("", " in the picture", " in this photo", " in the {p}", " on the {p}", " with the {p}", " {v}")
SUFFIX_WEIGHTS = (0.82, 0.04, 0.03, 0.03, 0.03, 0.03, 0.02)
WORD_GROUPS = {"judge": 1, "count": 2, "color": 2, "open": 3}  # kinds that share content words; others: 0
# Weight of 1, 2, ... 10 annotators meaning the majority answer; those who would outvote it join it.
AGREEMENT = (0.02, 0.07, 0.08, 0.08, 0.09, 0.10, 0.10, 0.11, 0.16, 0.19)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Names behind the ids, most popular first, and where each family of answers starts."""

    labels: list[str]
    words: list[str]
    answers: list[str]
    starts: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """What goes with what. Topic arrays have shape (TOPICS, preferences), best first."""

    topic_labels: Ints
    topic_words: Ints  # of four word groups in turn
    topic_answers: Ints
    topic_templates: Ints
    topic_logit: Floats  # how much it speaks for "yes"
    label_logit: Floats
    word_logit: Floats
    label_number: Ints  # the usual count of a label
    label_color: Ints  # its usual colour


@dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    """Images with detections: arrays of length n; `labels` and `scores` of shape (n, BOXES)."""

    ids: Ints
    topic: Ints
    strong: Ints  # the first so many boxes have a score of at least 0.5
    boxes: Ints
    labels: Ints
    scores: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Everything that questions are asked about."""

    vocabulary: Vocabulary
    habits: Habits
    images: Images


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


def parse_templates() -> Iterator[tuple[float, str, str, str]]:
    """Yield weight, kind, question type and text of each template in QUESTIONS."""
    for kind, texts in QUESTIONS.items():
        for entry in texts.split("; "):
            weight, _, text = entry.partition(" ")
            question_type, _, rest = text.partition("|")
            head = "" if question_type == "none of the above" else question_type
            yield float(weight), kind, question_type, head + rest


WEIGHTS, KINDS, QUESTION_TYPES, TEXTS = (np.array(x) for x in zip(*parse_templates(), strict=True))


def cdf_of(weights: Iterable[float]) -> Floats:
    """Return the cumulative distribution of unnormalised weights."""
    total = np.cumsum(np.fromiter(weights, np.float64))
    cdf: Floats = total / total[-1]
    return cdf


def zipf_cdf(count: int, *, exponent: float, shift: float) -> Floats:
    """Return the cumulative Zipf-Mandelbrot distribution over ranks 0 .. count - 1."""
    return cdf_of((np.arange(count) + shift) ** -exponent)


def draw(rng: np.random.Generator, cdf: Floats, size: int | tuple[int, ...]) -> Ints:
    """Return independent ranks from a cumulative distribution."""
    return np.searchsorted(cdf, rng.random(size), side="right")


def favourites(rng: np.random.Generator, weights: NDArray[np.floating], count: int) -> Ints:
    """Return `count` distinct ids for each topic, drawn by weight: shape (TOPICS, count)."""
    keys = np.log(weights) + rng.gumbel(size=(TOPICS, len(weights)))
    return np.argsort(-keys, axis=1)[:, :count]


def pseudo_words(rng: np.random.Generator, count: int, taken: list[str]) -> list[str]:
    """Return `count` distinct pronounceable words of two or three syllables, none of them in `taken`."""
    seen = dict.fromkeys(taken)
    while len(seen) < len(taken) + count:
        onsets, nuclei, codas = (part[rng.integers(len(part), size=(2 * count, 3))] for part in SYLLABLE)
        syllables = np.char.add(onsets, nuclei)
        thirds = np.where(rng.random(2 * count) < 0.4, syllables[:, 2], "")
        parts = (syllables[:, 0], syllables[:, 1], thirds, codas[:, 0])
        seen |= dict.fromkeys(map("".join, zip(*(part.tolist() for part in parts), strict=True)))
    return list(seen)[len(taken) : len(taken) + count]


def make_vocabulary(rng: np.random.Generator) -> Vocabulary:
    """Return the names of labels, words and answers."""
    simple = NOUNS + pseudo_words(rng, LABELS - len(NOUNS), NOUNS)
    # Every fifth rare label has two words, as "tennis racket" has.
    heads = rng.integers(len(NOUNS), size=LABELS)
    labels = [x if i < len(NOUNS) or i % 5 else f"{x} {NOUNS[heads[i]]}" for i, x in enumerate(simple)]
    words = pseudo_words(rng, WORDS, simple)
    pairs = rng.integers(WORDS, size=(TAIL_ANSWERS, 2)).tolist()
    phrases = dict.fromkeys([*words[: WORDS // 2], *(f"{words[i]} {words[j]}" for i, j in pairs)])
    families = {
        "binary": ["yes", "no"],
        "number": [str(i) for i in range(len(COUNTS))],
        "color": COLORS,
        **SCENES,
        "label": labels,
        "tail": rng.permutation(list(phrases)[:TAIL_ANSWERS]).tolist(),
    }
    starts = np.cumsum([0, *map(len, families.values())])[:-1].tolist()
    answers = [name for names in families.values() for name in names]
    return Vocabulary(
        labels=labels, words=words, answers=answers, starts=dict(zip(families, starts, strict=True))
    )


def make_habits(rng: np.random.Generator, vocabulary: Vocabulary) -> Habits:
    """Return the world's regularities, which make rules worth finding."""
    answers = favourites(rng, (np.arange(20_000) + 50.0) ** -0.9, TOPIC_ANSWERS)
    return Habits(
        topic_labels=favourites(rng, (np.arange(LABELS) + 20.0) ** -0.5, TOPIC_LABELS),
        topic_words=favourites(rng, (np.arange(WORDS) + 50.0) ** -0.9, 4 * TOPIC_WORDS),
        topic_answers=vocabulary.starts["label"] + answers,
        topic_templates=favourites(rng, WEIGHTS, TOPIC_TEMPLATES),
        topic_logit=rng.normal(0.25, TOPIC_LOGIT, TOPICS),
        label_logit=rng.normal(0.0, LABEL_LOGIT, LABELS),
        word_logit=rng.normal(0.0, WORD_LOGIT, WORDS),
        label_number=1 + draw(rng, cdf_of((3.0, 4.0, 2.0, 1.0, 0.6, 0.6, 0.4, 0.4)), LABELS),
        label_color=draw(rng, zipf_cdf(len(COLORS), exponent=0.9, shift=1), LABELS),
    )


def make_images(rng: np.random.Generator, habits: Habits, ids: Ints) -> Images:
    """Return images with a topic each and the boxes that a detector reports on them."""
    shape = (len(ids), BOXES)
    topic = draw(rng, zipf_cdf(TOPICS, exponent=0.8, shift=4), len(ids))
    anywhere = draw(rng, zipf_cdf(LABELS, exponent=LABEL_EXPONENT, shift=LABEL_SHIFT), shape)
    preference = draw(rng, zipf_cdf(TOPIC_LABELS, exponent=1.2, shift=2), shape)
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


def draw_words(rng: np.random.Generator, habits: Habits, topic: Ints, template: Ints) -> Ints:
    """Return a content word per question: any, or one that goes with the topic and the kind of question."""
    group = np.array([WORD_GROUPS.get(kind, 0) for kind in KINDS.tolist()])[template]
    anywhere = draw(rng, zipf_cdf(WORDS, exponent=WORD_EXPONENT, shift=WORD_SHIFT), len(topic))
    preference = draw(rng, zipf_cdf(TOPIC_WORDS, exponent=1.1, shift=1.5), len(topic))
    of_topic = habits.topic_words[topic, 4 * preference + group]
    return np.where(rng.random(len(topic)) < TOPIC_WORD_SHARE, of_topic, anywhere)


def draw_templates(rng: np.random.Generator, habits: Habits, topic: Ints) -> Ints:
    """Return a template per question; the topic decides whether a sport, a room or an animal is asked for."""
    template = draw(rng, cdf_of(WEIGHTS), len(topic))
    preference = draw(rng, zipf_cdf(TOPIC_TEMPLATES, exponent=1.0, shift=1.0), len(topic))
    is_typical = rng.random(len(topic)) < TOPIC_TEMPLATE_SHARE
    template = np.where(is_typical, habits.topic_templates[topic, preference], template)
    scenes = np.flatnonzero(np.isin(KINDS, list(SCENES)))
    return np.where(np.isin(template, scenes), scenes[topic % len(scenes)], template)


def make_questions(rng: np.random.Generator, world: World, chosen: range, count: int) -> Questions:
    """Return `count` shuffled questions about the chosen images, three or more on each if they suffice."""
    images, habits, size = world.images, world.habits, len(chosen)
    least = min(3, count // size)
    each = least + np.bincount(rng.integers(size, size=count - least * size), minlength=size)
    order = rng.permutation(count)
    image = np.repeat(np.array(chosen), each)[order]
    nth = (np.arange(count) - np.repeat(np.cumsum(each) - each, each))[order]
    topic, strong = images.topic[image], images.strong[image]
    template = draw_templates(rng, habits, topic)
    seen = images.labels[image, rng.integers(strong)]
    elsewhere = images.labels[rng.permutation(image), 0]
    is_absent = (KINDS[template] == "present") & (rng.random(count) < ABSENT_SHARE)
    return Questions(
        image=image,
        question_id=images.ids[image] * 1000 + nth,
        template=template,
        suffix=draw(rng, cdf_of(SUFFIX_WEIGHTS), count),
        object=np.where(is_absent, elsewhere, seen),
        other=images.labels[image, rng.integers(strong)],
        word=draw_words(rng, habits, topic, template),
        second_word=draw_words(rng, habits, topic, template),
    )


def draw_binary(rng: np.random.Generator, world: World, questions: Questions) -> Ints:
    """Return 0 for "yes" and 1 for "no", as presence or judgement suggests."""
    images, habits, image = world.images, world.habits, questions.image
    is_strong = np.arange(BOXES) < images.strong[image, None]
    is_present = (is_strong & (images.labels[image] == questions.object[:, None])).any(axis=1)
    judgement = (
        habits.topic_logit[images.topic[image]]
        + habits.label_logit[questions.object]
        + habits.word_logit[questions.word]
    )
    presence = np.where(is_present, 2.2, -2.2)
    logit = np.where(KINDS[questions.template] == "present", presence, judgement)
    return (rng.random(len(image)) > 1 / (1 + np.exp(-logit))).astype(np.int64)


def draw_answers(rng: np.random.Generator, world: World, questions: Questions) -> Ints:
    """Return one annotator's answer id to each question."""
    habits, images, starts = world.habits, world.images, world.vocabulary.starts
    image, count = questions.image, len(questions.image)
    topic, kinds = images.topic[image], KINDS[questions.template]
    is_usual = rng.random(count) < USUAL_SHARE
    number = COUNTS[draw(rng, zipf_cdf(len(COUNTS), exponent=1.7, shift=1.5), count)]
    color = draw(rng, zipf_cdf(len(COLORS), exponent=0.9, shift=1), count)
    # The word and the question choose among the topic's answers.
    turn = (questions.word * 31 + questions.template * 17) % 24
    preference = turn + draw(rng, zipf_cdf(TOPIC_ANSWERS, exponent=1.3, shift=0.6), count)
    answers = {
        "present": draw_binary(rng, world, questions),
        "count": starts["number"] + np.where(is_usual, habits.label_number[questions.object], number),
        "number": starts["number"] + draw(rng, zipf_cdf(len(COUNTS), exponent=0.8, shift=2), count),
        "color": starts["color"] + np.where(is_usual, habits.label_color[questions.object], color),
        "object": starts["label"] + images.labels[image, rng.integers(images.strong[image])],
        "open": habits.topic_answers[topic, preference % TOPIC_ANSWERS],
    }
    answers["judge"] = answers["present"]
    for kind, names in SCENES.items():
        usual = topic // len(SCENES) % len(names)
        answers[kind] = starts[kind] + np.where(is_usual, usual, rng.integers(len(names), size=count))
    answer = np.select([kinds == kind for kind in answers], list(answers.values()))
    is_tail = np.isin(kinds, ("object", "open")) & (rng.random(count) < TAIL_SHARE)
    tail = draw(rng, zipf_cdf(TAIL_ANSWERS, exponent=TAIL_EXPONENT, shift=TAIL_SHIFT), count)
    return np.where(is_tail, starts["tail"] + tail, answer)


def draw_votes(rng: np.random.Generator, answer: Ints, alternatives: Ints) -> Ints:
    """Return ten annotators' answer ids, (n, 10): none is more frequent in its row than `answer`."""
    count = len(answer)
    agreeing = 1 + draw(rng, cdf_of(AGREEMENT), count)
    choice = rng.integers(alternatives.shape[1], size=(count, 10))
    other = np.take_along_axis(alternatives, choice, axis=1)
    votes = np.where(np.arange(10) < agreeing[:, None], answer[:, None], other)
    frequency = (votes[:, :, None] == votes[:, None, :]).sum(axis=2)
    votes = np.where(frequency > frequency[:, :1], answer[:, None], votes)
    return rng.permuted(votes, axis=1)
