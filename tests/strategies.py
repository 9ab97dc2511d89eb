"""Hypothesis strategies for small transaction tables, skewed towards what breaks miners."""

import re
from typing import NamedTuple

import numpy as np
import polars as pl
from hypothesis import strategies as st
from reference import OBJECT, WORD, Item, Row, count_answers

from shortcut_miner.transactions import Transactions, Vocabulary

NO_IDS = {"nan", "inf", "infinity", "none", "null", "<na>", "nat"}
ANSWERS = ("no", "yes", "2", "10", "a dog")


class Table(NamedTuple):
    """Rows and their weights."""

    rows: list[Row]
    weights: list[int]


def item_pool(size: int) -> list[Item]:
    """Return words and objects in turn; some names are both, and short ones sort before long ones."""
    return [(WORD if k % 2 == 0 else OBJECT, f"item {k // 2}") for k in range(size)]


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
    """Draw rows of skewed items: some in every row, some in most, some rare; duplicate and empty rows."""
    pool = item_pool(draw(st.integers(1, max_items)))
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
    return Vocabulary(
        words=pl.Series("item", sorted(name for kind, name in items if kind == WORD), dtype=pl.String),
        objects=pl.Series("item", sorted(name for kind, name in items if kind == OBJECT), dtype=pl.String),
        answers=pl.Series("answer", answers, dtype=pl.String),
        answer_counts=np.array([counts[answer] for answer in answers], np.int64),
    )


def encode(table: Table, like: Vocabulary | None = None) -> Transactions:
    """Return the miner's view of a table; `like` gives the numbers of another table's vocabulary.

    Items that `like` lacks are left out, answers that it lacks become -1.
    """
    like = like or vocabulary(table)
    names = [(WORD, name) for name in like.words] + [(OBJECT, name) for name in like.objects]
    number = {item: k for k, item in enumerate(names)}
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
    words = len(like.words)
    return (WORD, like.words[number]) if number < words else (OBJECT, like.objects[number - words])


def is_id(text: str) -> bool:
    """Return whether a text stays what it is as an id: it isn't blank, no float and no missing value."""
    is_float = re.fullmatch(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", text) and not re.fullmatch(r"-?\d+", text)
    return bool(text.strip()) and not is_float and text.strip("-+ ").lower() not in NO_IDS
