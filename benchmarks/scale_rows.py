"""The questions of ``scale_world.py`` as rows of item numbers, to measure a search alone; needs no Polars.

rows = world_transactions(434_500)  # VQA v2's size: 397,000 rows of 14 items
"""

import re

import numpy as np
from scale_world import (
    LABELS,
    ROWS_A_GROUP,
    SLOTS,
    SUFFIXES,
    WORDS,
    Ints,
    Questions,
    Table,
    World,
    make_questions,
    make_world,
    name_count,
)

from shortcut_miner.transactions import Transactions, Vocabulary

NOTHING = np.iinfo(np.int32).max


def world_transactions(
    rows: int, *, labels_an_image: int = 13, top_answers: int = 3_000, seed: int = 0
) -> Transactions:
    """Return the items and answers of so many training rows, with ranges in place of names.

    As in ``vqa-ce build``, rows whose answer is not among the most common ones are left out. An object's name
    in a question is one word, whatever it is in the text.
    """
    world = make_world(seed, labels_an_image)
    wording, slots = wording_of(world)
    word_count = wording.max() + 1 + LABELS + WORDS + name_count(world, 2 * (rows + ROWS_A_GROUP))
    items, answers, left = [], [], rows
    for group in range(2 * (rows // ROWS_A_GROUP + 1)):
        questions = make_questions(world, group)
        training = np.flatnonzero(~questions.is_val)[:left]
        items.append(items_of(wording, slots, questions, int(word_count))[training])
        answers.append(questions.answer[training])
        left -= len(training)
    return as_transactions(np.concatenate(items), np.concatenate(answers), int(word_count), top_answers)


def as_transactions(items: Table, answers: Ints, word_count: int, top_answers: int) -> Transactions:
    """Return rows of ascending items, with repetitions and NOTHING behind them, as transactions."""
    count = np.bincount(answers)
    rank = np.lexsort((np.arange(len(count)), count))[-top_answers:]
    rank = rank[count[rank] > 0]
    class_of = np.full(len(count), -1, np.int32)
    class_of[rank] = np.arange(len(rank))
    is_trained = class_of[answers] >= 0
    items, classes = items[is_trained], class_of[answers[is_trained]]
    is_item = items < NOTHING
    is_item[:, 1:] &= items[:, 1:] != items[:, :-1]
    return Transactions(
        np.concatenate([[0], np.cumsum(is_item.sum(axis=1))]),
        items[is_item],
        classes,
        np.ones(len(classes), np.int64),
        Vocabulary(range(word_count), range(LABELS), range(len(rank)), np.bincount(classes)),  # type: ignore
    )


def wording_of(world: World) -> tuple[Table, Ints]:
    """Return the words of each pattern itself, padded with -1, and which SLOTS it has: (patterns, ...)."""
    texts = world.patterns.texts
    numbers: dict[str, int] = {}
    listed = [
        {
            numbers.setdefault(word, len(numbers))
            for word in re.findall(r"[\w']+|\?", re.sub(r"\{.\}s?", "", text))
        }
        for text in texts
    ]
    wording = np.full((len(texts), max(map(len, listed))), -1, np.int32)
    for row, words in zip(wording, listed, strict=True):
        row[: len(words)] = list(words)
    return wording, np.array([[slot in text for slot in SLOTS] for text in texts])


def items_of(wording: Table, has_slot: Ints, questions: Questions, word_count: int) -> Table:
    """Return each row's items, ascending, with repetitions and NOTHING behind them."""
    pattern = questions.template * len(SUFFIXES) + questions.suffix
    first_label = wording.max() + 1
    firsts = (first_label, first_label, first_label + LABELS, first_label + LABELS)
    filled = zip(firsts, questions.slots, has_slot[pattern].T, strict=True)
    slots = [np.where(is_there, first + values, NOTHING) for first, values, is_there in filled]
    words, labels = wording[pattern], questions.labels
    items = np.column_stack(
        [
            np.where(words < 0, NOTHING, words),
            *slots,
            np.where(labels < 0, NOTHING, word_count + labels),
        ]
    ).astype(np.int32)
    items.sort(axis=1)
    return items


def mean_items(world: World) -> float:
    """Return the mean number of distinct items of a question."""
    items = items_of(*wording_of(world), make_questions(world, 0), 1 << 24)
    is_new = items[:, 1:] != items[:, :-1]
    return 1 + float((is_new & (items[:, 1:] < NOTHING)).sum() / len(items))
