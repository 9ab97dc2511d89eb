"""Hypothesis strategies for small transaction tables, skewed towards what breaks miners."""

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import polars as pl
from hypothesis import settings
from hypothesis import strategies as st
from reference import ATTRIBUTE, OBJECT, WORD, Item, Row, count_answers

from shortcut_miner.transactions import Transactions, Vocabulary

# Of inputs that the core of the search, and what is said of its rules, is compared with brute force on.
MANY = settings(max_examples=max(100, settings().max_examples))

NO_IDS = {"nan", "inf", "infinity", "none", "null", "<na>", "nat"}
ANSWERS = ("no", "yes", "2", "10", "a dog")


class Table(NamedTuple):
    """Rows and their weights."""

    rows: list[Row]
    weights: list[int]


def item_pool(size: int, kinds: int = 2) -> list[Item]:
    """Return items of each kind in turn; names are of several kinds, and short ones sort before long ones."""
    return [((WORD, OBJECT, ATTRIBUTE)[k % kinds], f"item {k // kinds}") for k in range(size)]


def names_of(items: Iterable[Item], kind: int) -> list[str]:
    """Return the names of the items of one kind, ascending."""
    return sorted(name for one, name in items if one == kind)


def has_attributes(rows: Iterable[Row]) -> bool:
    return any(kind == ATTRIBUTE for row in rows for kind, _ in row.items)


@st.composite
def tables(
    draw: st.DrawFn,
    *,
    min_rows: int = 0,
    max_rows: int = 24,
    max_items: int = 8,
    max_answers: int = len(ANSWERS),
    max_weight: int = 1,
) -> Table:
    """Draw rows of skewed items: some in every row, some in most, some rare; duplicate and empty rows.

    Words and objects, and in every other table attributes.
    """
    pool = item_pool(draw(st.integers(1, max_items)), draw(st.sampled_from([2, 3])))
    # How many tenths of the rows hold the item: 10 = an item in every row.
    tenths = draw(st.lists(st.integers(0, 10), min_size=len(pool), max_size=len(pool)))
    answers = ANSWERS[: draw(st.integers(1, max_answers))]
    count = draw(st.integers(min_rows, max_rows))
    rows: list[Row] = []
    for _ in range(count):
        kind = draw(st.sampled_from(["new", "new", "new", "repeat", "empty"]))
        if kind == "repeat" and rows:
            items = draw(st.sampled_from(rows)).items
        elif kind == "empty":
            items = frozenset(item for item, share in zip(pool, tenths, strict=True) if share == 10)
        else:
            dice = draw(st.lists(st.integers(0, 9), min_size=len(pool), max_size=len(pool)))
            items = frozenset(
                item for item, share, die in zip(pool, tenths, dice, strict=True) if die < share
            )
        rows.append(Row(items, draw(st.sampled_from(answers))))
    weights = [draw(st.integers(1, max_weight)) for _ in rows]
    return Table(rows, weights)


def vocabulary(table: Table) -> Vocabulary:
    """Return the vocabulary of a table, by plain Python."""
    items = set().union(*(row.items for row in table.rows))
    counts = count_answers(table.rows, table.weights)
    answers = sorted(counts, key=lambda answer: (counts[answer], answer))
    words, objects, attributes = (
        pl.Series("item", names_of(items, kind), dtype=pl.String) for kind in (WORD, OBJECT, ATTRIBUTE)
    )
    return Vocabulary(
        words=words,
        objects=objects,
        answers=pl.Series("answer", answers, dtype=pl.String),
        answer_counts=np.array([counts[answer] for answer in answers], np.int64),
        attributes=attributes if has_attributes(table.rows) else None,
    )


def kinds_of(like: Vocabulary) -> list[tuple[int, pl.Series]]:
    """Return the kinds of items with their names, in the order of their numbers."""
    kinds = ((WORD, like.words), (OBJECT, like.objects), (ATTRIBUTE, like.attributes))
    return [(kind, names) for kind, names in kinds if names is not None]


def items_of(like: Vocabulary) -> list[Item]:
    """Return the items of a vocabulary, each at the place that is its number."""
    return [(kind, name) for kind, names in kinds_of(like) for name in names]


def encode(table: Table, like: Vocabulary | None = None) -> Transactions:
    """Return the miner's view of a table; `like` gives the numbers of another table's vocabulary.

    Items that `like` lacks are left out, answers that it lacks become -1.
    """
    like = like or vocabulary(table)
    number = {item: k for k, item in enumerate(items_of(like))}
    class_number = {answer: k for k, answer in enumerate(like.answers)}
    rows = [sorted(number[item] for item in row.items if item in number) for row in table.rows]
    return Transactions(
        offsets=np.cumsum([0, *map(len, rows)], dtype=np.int64),
        items=np.array([item for row in rows for item in row], np.int32),
        classes=np.array([class_number.get(row.answer, -1) for row in table.rows], np.int32),
        weights=np.array(table.weights, np.int64),
        vocabulary=like,
    )


def item_of(number: int, like: Vocabulary) -> Item:
    """Return the item behind a vocabulary number."""
    for kind, names in kinds_of(like):
        if number < len(names):
            return kind, names[number]
        number -= len(names)
    raise IndexError(number)


def is_id(text: str) -> bool:
    """Return whether a text stays what it is as an id: it isn't blank, no float and no missing value."""
    is_float = re.fullmatch(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", text) and not re.fullmatch(r"-?\d+", text)
    return bool(text.strip()) and not is_float and text.strip("-+ ").lower() not in NO_IDS
