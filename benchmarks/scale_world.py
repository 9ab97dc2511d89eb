"""A seeded world of any number of questions, written row group by row group as one Parquet table.

    python benchmarks/scale_world.py OUT.parquet --rows 10000000 --seed 0

For ``vqa-ce build --table OUT.parquet --split-column split``: a row is a question about an image, with the
image's labels and one answer, 12 distinct words and labels in all; a tenth of the images are validation.
Topics, habits and templates are those of ``vqa_world_model.py``, so answers can be guessed; beside its 17,600
words and labels there are rare names, which grow in number with the square root of the rows. A row group
depends on the seed and its number alone: a table of fewer rows is the beginning of a table of more. Memory
does not depend on the rows.
``scale_rows.py`` gives the same rows as arrays, without texts.
"""

import argparse
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from vqa_world_model import (
    COLORS,
    COUNTS,
    KINDS,
    LABEL_EXPONENT,
    LABEL_SHIFT,
    LABELS,
    QUESTION_TYPES,
    SCENES,
    SUFFIX_WEIGHTS,
    SUFFIXES,
    TAIL_ANSWERS,
    TAIL_EXPONENT,
    TAIL_SHIFT,
    TEXTS,
    TOPIC_ANSWERS,
    TOPIC_LABELS,
    TOPIC_TEMPLATES,
    TOPIC_WORDS,
    TOPICS,
    WEIGHTS,
    WORD_EXPONENT,
    WORD_GROUPS,
    WORD_SHIFT,
    WORDS,
    Habits,
    Vocabulary,
    cdf_of,
    make_habits,
    make_vocabulary,
    zipf_cdf,
)

ROWS_A_GROUP = 1 << 17
QUESTIONS_AN_IMAGE = 4
# Labels drawn for an image at most, of which 5.6 are distinct; rare names for each square root of a row.
LABELS_AN_IMAGE, NAMES_A_ROOT = 9, 8
VAL_SHARE, ABSENT_SHARE, USUAL_SHARE, TAIL_SHARE, NAME_SHARE = 0.1, 0.35, 0.5, 0.5, 0.04
TOPIC_LABEL_SHARE, TOPIC_WORD_SHARE, TOPIC_TEMPLATE_SHARE = 0.6, 0.6, 0.4
LEVELS = 1 << 16

Ints = NDArray[np.integer[Any]]
Table = NDArray[np.int32]

SLOTS = ("{o}", "{p}", "{w}", "{v}")  # an object, another, a content word, another


def quantiles(cdf: NDArray[np.float64]) -> Table:
    """Return the rank at each of LEVELS equally likely levels, so that drawing is one look-up."""
    return np.searchsorted(cdf, (np.arange(LEVELS) + 0.5) / LEVELS, side="right").astype(np.int32)


DRAWS = {
    "topic": quantiles(zipf_cdf(TOPICS, exponent=0.8, shift=4)),
    "label": quantiles(zipf_cdf(LABELS, exponent=LABEL_EXPONENT, shift=LABEL_SHIFT)),
    "topic_label": quantiles(zipf_cdf(TOPIC_LABELS, exponent=1.2, shift=2)),
    "word": quantiles(zipf_cdf(WORDS, exponent=WORD_EXPONENT, shift=WORD_SHIFT)),
    "topic_word": quantiles(zipf_cdf(TOPIC_WORDS, exponent=1.1, shift=1.5)),
    "template": quantiles(cdf_of(WEIGHTS)),
    "topic_template": quantiles(zipf_cdf(TOPIC_TEMPLATES, exponent=1.0, shift=1.0)),
    "suffix": quantiles(cdf_of(SUFFIX_WEIGHTS)),
    "number": quantiles(zipf_cdf(len(COUNTS), exponent=1.7, shift=1.5)),
    "color": quantiles(zipf_cdf(len(COLORS), exponent=0.9, shift=1)),
    "topic_answer": quantiles(zipf_cdf(TOPIC_ANSWERS, exponent=1.3, shift=0.6)),
    "tail": quantiles(zipf_cdf(TAIL_ANSWERS, exponent=TAIL_EXPONENT, shift=TAIL_SHIFT)),
}
GROUP_OF_TEMPLATE = np.array([WORD_GROUPS.get(kind, 0) for kind in KINDS.tolist()])
KIND_NAMES = list(dict.fromkeys(KINDS.tolist()))
KIND_OF_TEMPLATE = np.array([KIND_NAMES.index(kind) for kind in KINDS.tolist()])
SCENE_TEMPLATES = np.flatnonzero(np.isin(KINDS, list(SCENES)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Patterns:
    """The questions' wording: pattern p is ``pieces[starts[p]:starts[p + 1]]``.

    A piece is a number of `literals`, or ``-1 - s`` for slot s of SLOTS.
    """

    texts: list[str]
    starts: Ints
    pieces: Ints
    literals: list[str]


def make_patterns() -> Patterns:
    """Return the wording of every template with every suffix, in this order."""
    texts = [f"{text}{suffix}?".capitalize() for text in TEXTS.tolist() for suffix in SUFFIXES]
    cut = [[piece for piece in re.split(r"(\{.\})", text) if piece] for text in texts]
    literals: dict[str, int] = {}
    pieces = [
        -1 - SLOTS.index(piece) if piece in SLOTS else literals.setdefault(piece, len(literals))
        for piece in (piece for pieces in cut for piece in pieces)
    ]
    starts = np.cumsum([0, *map(len, cut)])
    return Patterns(texts=texts, starts=starts, pieces=np.array(pieces), literals=list(literals))


def name_of(number: int) -> str:
    """Return a rare name, one for each number from 0 on, that is none of the language's words."""
    consonants, vowels = "bdfgklmnprstvz", "aeiou"
    syllables = []
    while number or not syllables:
        number, rest = divmod(number, len(consonants) * len(vowels))
        syllables.append(consonants[rest // len(vowels)] + vowels[rest % len(vowels)])
    return "".join(syllables) + "xq"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What all row groups share."""

    seed: int
    labels_an_image: int
    names_a_root: int
    vocabulary: Vocabulary
    habits: Habits
    patterns: Patterns


def make_world(
    seed: int = 0, labels_an_image: int = LABELS_AN_IMAGE, names_a_root: int = NAMES_A_ROOT
) -> World:
    """Return the world of a seed."""
    rng = np.random.default_rng(seed)
    vocabulary = make_vocabulary(rng)
    habits = make_habits(rng, vocabulary)
    numbers = {name: getattr(habits, name) for name in Habits.__slots__}
    narrow = {name: x.astype(np.int32 if x.dtype.kind == "i" else np.float32) for name, x in numbers.items()}
    return World(
        seed=seed,
        labels_an_image=labels_an_image,
        names_a_root=names_a_root,
        vocabulary=vocabulary,
        habits=Habits(**narrow),
        patterns=make_patterns(),
    )


def name_count(world: World, rows: int) -> int:
    """Return how many rare names there are for so many rows."""
    return int(world.names_a_root * rows**0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """The questions of one row group, as numbers: arrays of length ROWS_A_GROUP.

    `labels` has the labels of each row's image, ascending, -1 behind them: shape (rows, labels an image);
    `count` of them. `word` and `second_word` are numbers of WORDS, and from WORDS on of rare names.
    """

    topic: Ints
    labels: Ints
    count: Ints
    template: Ints
    suffix: Ints
    object: Ints
    other: Ints
    word: Ints
    second_word: Ints
    is_val: NDArray[np.bool_]
    answer: Ints

    @property
    def slots(self) -> tuple[Ints, ...]:
        """What fills each of SLOTS."""
        return self.object, self.other, self.word, self.second_word


def draw(rng: np.random.Generator, name: str, size: int | tuple[int, ...]) -> Table:
    """Return independent ranks from one of the DRAWS."""
    return DRAWS[name][rng.integers(LEVELS, size=size, dtype=np.uint16)]


def chance(rng: np.random.Generator, share: float, size: int | tuple[int, ...]) -> NDArray[np.bool_]:
    """Return True with that probability, to a precision of 1 / LEVELS."""
    return rng.integers(LEVELS, size=size, dtype=np.uint16) < round(share * LEVELS)


def draw_labels(rng: np.random.Generator, world: World, topic: Ints) -> Ints:
    """Return each image's distinct labels, ascending, -1 behind them: shape (images, labels an image)."""
    shape = (len(topic), world.labels_an_image)
    of_topic = world.habits.topic_labels[topic[:, None], draw(rng, "topic_label", shape)]
    labels = np.where(chance(rng, TOPIC_LABEL_SHARE, shape), of_topic, draw(rng, "label", shape))
    found = rng.integers(3, shape[1] + 1, size=len(topic))
    labels[np.arange(shape[1]) >= found[:, None]] = LABELS
    labels.sort(axis=1)
    labels[:, 1:][labels[:, 1:] == labels[:, :-1]] = LABELS
    labels.sort(axis=1)
    return np.where(labels == LABELS, -1, labels)


def draw_templates(rng: np.random.Generator, habits: Habits, topic: Ints) -> Ints:
    """Return a template per row; the topic decides whether a sport, a room or an animal is asked for."""
    typical = habits.topic_templates[topic, draw(rng, "topic_template", len(topic))]
    is_typical = chance(rng, TOPIC_TEMPLATE_SHARE, len(topic))
    template = np.where(is_typical, typical, draw(rng, "template", len(topic)))
    is_scene = np.isin(np.arange(len(TEXTS)), SCENE_TEMPLATES)[template]
    return np.where(is_scene, SCENE_TEMPLATES[topic % len(SCENE_TEMPLATES)], template)


def draw_words(rng: np.random.Generator, habits: Habits, topic: Ints, template: Ints, names: int) -> Ints:
    """Return a content word per row: of its topic and kind of question, of the language, or a rare name."""
    count = len(topic)
    of_topic = habits.topic_words[topic, 4 * draw(rng, "topic_word", count) + GROUP_OF_TEMPLATE[template]]
    word = np.where(chance(rng, TOPIC_WORD_SHARE, count), of_topic, draw(rng, "word", count))
    is_name = np.flatnonzero(chance(rng, NAME_SHARE, count))
    word[is_name] = WORDS + (names * rng.random(len(is_name)) ** 2).astype(np.int64)
    return word


def one_of(rng: np.random.Generator, labels: Ints, count: Ints) -> Ints:
    """Return one of each row's labels, of which there are so many."""
    chosen = rng.integers(LEVELS, size=len(labels), dtype=np.uint16) % count
    return labels[np.arange(len(labels)), chosen]


def draw_answers(rng: np.random.Generator, world: World, row: dict[str, Ints]) -> Ints:
    """Return an answer per row, as topic, object, word and kind of question suggest it."""
    topic, template, thing, labels = (row[name] for name in ("topic", "template", "object", "labels"))
    habits, starts = world.habits, world.vocabulary.starts
    count, kind, known = len(topic), KIND_OF_TEMPLATE[template], row["word"] % WORDS
    is_usual = chance(rng, USUAL_SHARE, count)
    presence = np.where((labels == thing[:, None]).any(axis=1), np.float32(2.2), np.float32(-2.2))
    judgement = habits.topic_logit[topic] + habits.label_logit[thing] + habits.word_logit[known]
    logit = np.where(kind == KIND_NAMES.index("present"), presence, judgement)
    is_no = rng.random(count, np.float32) > 1 / (1 + np.exp(-logit))
    preference = (known * 31 + template * 17) % 24 + draw(rng, "topic_answer", count)
    number = COUNTS.astype(np.int32)[draw(rng, "number", count)]
    answers = {
        "present": is_no,
        "judge": is_no,
        "count": starts["number"] + np.where(is_usual, habits.label_number[thing], number),
        "number": starts["number"] + draw(rng, "number", count),
        "color": starts["color"] + np.where(is_usual, habits.label_color[thing], draw(rng, "color", count)),
        "object": starts["label"] + one_of(rng, labels, row["count"]),
        "open": habits.topic_answers[topic, preference % TOPIC_ANSWERS],
    }
    for scene, names in SCENES.items():
        usual = topic // len(SCENES) % len(names)
        any_name = rng.integers(len(names), size=count, dtype=np.int32)
        answers[scene] = starts[scene] + np.where(is_usual, usual, any_name)
    answer = np.choose(kind, [answers[name] for name in KIND_NAMES])
    is_tail = np.isin(kind, [KIND_NAMES.index("object"), KIND_NAMES.index("open")])
    is_tail &= chance(rng, TAIL_SHARE, count)
    return np.where(is_tail, starts["tail"] + draw(rng, "tail", count), answer)


def make_questions(world: World, group: int) -> Questions:
    """Return the questions of one row group; they depend on the world and the group's number alone."""
    rng = np.random.default_rng([world.seed, group])
    images = ROWS_A_GROUP // QUESTIONS_AN_IMAGE
    topic_of_image = draw(rng, "topic", images)
    labels = np.repeat(draw_labels(rng, world, topic_of_image), QUESTIONS_AN_IMAGE, axis=0)
    count = (labels >= 0).sum(axis=1, dtype=np.uint16)
    topic = np.repeat(topic_of_image, QUESTIONS_AN_IMAGE)
    template = draw_templates(rng, world.habits, topic)
    names = name_count(world, (group + 1) * ROWS_A_GROUP)
    is_absent = (KINDS == "present")[template] & chance(rng, ABSENT_SHARE, len(topic))
    row = {
        "topic": topic,
        "labels": labels,
        "count": count,
        "template": template,
        "object": np.where(is_absent, draw(rng, "label", len(topic)), one_of(rng, labels, count)),
        "word": draw_words(rng, world.habits, topic, template, names),
    }
    return Questions(
        **row,
        suffix=draw(rng, "suffix", len(topic)),
        other=one_of(rng, labels, count),
        second_word=draw_words(rng, world.habits, topic, template, names),
        is_val=np.repeat(chance(rng, VAL_SHARE, images), QUESTIONS_AN_IMAGE),
        answer=draw_answers(rng, world, row),
    )


def texts_of(world: World, questions: Questions) -> pa.StringArray:
    """Return the questions' texts."""
    patterns, vocabulary = world.patterns, world.vocabulary
    pattern = questions.template * len(SUFFIXES) + questions.suffix
    size = np.diff(patterns.starts)[pattern]
    ends = np.cumsum(size)
    rows = np.repeat(np.arange(len(pattern)), size)
    piece = patterns.pieces[np.arange(ends[-1]) + np.repeat(patterns.starts[pattern] - ends + size, size)]
    both = np.concatenate([questions.word, questions.second_word])
    used = np.flatnonzero(np.bincount(both))
    place = np.zeros(used[-1] + 1, np.int32)
    place[used] = np.arange(len(used))
    spelled = [vocabulary.words[i] if i < WORDS else name_of(i - WORDS) for i in used.tolist()]
    strings = pa.array([*patterns.literals, *vocabulary.labels, *spelled])
    first_label = len(patterns.literals)
    first_word = first_label + LABELS
    for slot, values in enumerate(questions.slots):
        at = np.flatnonzero(piece == -1 - slot)
        chosen = values[rows[at]]
        piece[at] = first_label + chosen if slot < 2 else first_word + place[chosen]
    offsets = pa.array(np.concatenate([[0], ends]).astype(np.int32))
    return pc.binary_join(pa.ListArray.from_arrays(offsets, strings.take(pa.array(piece))), "")


def table_of(world: World, group: int) -> pa.Table:
    """Return one row group."""
    vocabulary, questions = world.vocabulary, make_questions(world, group)
    row = np.arange(ROWS_A_GROUP)
    image = group * (ROWS_A_GROUP // QUESTIONS_AN_IMAGE) + row // QUESTIONS_AN_IMAGE
    labels = questions.labels
    ends = np.concatenate([[0], np.cumsum(questions.count)]).astype(np.int32)
    flat = pa.DictionaryArray.from_arrays(pa.array(labels[labels >= 0]), pa.array(vocabulary.labels))
    columns = {
        "question_id": image * 10 + row % QUESTIONS_AN_IMAGE,
        "image_id": image,
        "split": pa.DictionaryArray.from_arrays(questions.is_val.astype(np.int8), ["train", "validation"]),
        "question": texts_of(world, questions),
        "question_type": pa.DictionaryArray.from_arrays(questions.template.astype(np.int32), QUESTION_TYPES),
        "labels": pa.ListArray.from_arrays(pa.array(ends), flat),
        "answer": pa.array(vocabulary.answers).take(pa.array(questions.answer)),
    }
    return pa.table(columns)


def write_world(out: Path, rows: int, world: World) -> None:
    """Write a table of so many rows; the file has its name only when it is complete."""
    unfinished = out.with_name(f".{out.name}.unfinished")
    # The Arrow schema is left out: it would call columns dictionaries, which few tables have.
    with pq.ParquetWriter(
        unfinished,
        table_of(world, 0).schema,
        compression="snappy",
        use_dictionary=["split", "question_type", "labels.list.element", "answer"],
        store_schema=False,
        write_statistics=False,
    ) as writer:
        for group, first in enumerate(range(0, rows, ROWS_A_GROUP)):
            writer.write_table(table_of(world, group).slice(0, rows - first), row_group_size=ROWS_A_GROUP)
    unfinished.replace(out)


def main() -> None:
    """Write a table and say how long it took."""
    parser = argparse.ArgumentParser(description="a table of any number of generated questions")
    parser.add_argument("out", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--labels", type=int, default=LABELS_AN_IMAGE, help="drawn for an image; default: %(default)s"
    )
    parser.add_argument(
        "--names", type=int, default=NAMES_A_ROOT, help="rare names a root of the rows; default: %(default)s"
    )
    arguments = parser.parse_args()
    started = time.perf_counter()
    write_world(arguments.out, arguments.rows, make_world(arguments.seed, arguments.labels, arguments.names))
    took = time.perf_counter() - started
    size = arguments.out.stat().st_size
    print(f"{arguments.out}: {arguments.rows:,} rows, {size / 1e6:,.0f} MB, {took:.1f} s")


if __name__ == "__main__":
    main()
