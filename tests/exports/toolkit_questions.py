"""Questions for the exporters of toolkits: rows by hand, and drawn ones of several splits."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from exports.cases import several, texts
from hypothesis import strategies as st

from shortcut_miner.datasets.question_sets import QuestionSets
from shortcut_miner.schemas import Questions

EXACT = ("question_id", "image_id", "question", "answer", "answers")


def questions_table(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return rows with the columns of Questions; an answer alone is the list of answers."""
    columns = Questions.create_empty().schema
    return pl.DataFrame([{name: row.get(name) for name in columns} for row in rows], schema=columns)


def of_rows(rows: Sequence[Mapping[str, Any]]) -> QuestionSets:
    """Return one set, "vqa-ce", with one split, "hard"."""
    return several({"vqa-ce": {"hard": questions_table(rows)}})


@st.composite
def drawn_sets(draw: st.DrawFn, ids: st.SearchStrategy[str] | None = None) -> QuestionSets:
    """Draw two splits of questions, of which some have no answers."""
    ids = st.integers(0, 10**9).map(str) if ids is None else ids
    names = draw(st.lists(ids, min_size=2, max_size=8, unique=True))
    rows = [
        {
            "question_id": name,
            "image_id": draw(st.sampled_from(["7", "42", "0123"])),
            "question": draw(texts),
            "question_type": draw(st.sampled_from([None, "is the", "none of the above"])),
            "answer": draw(texts),
            "answers": draw(st.lists(texts, min_size=1, max_size=12)),
        }
        | draw(st.sampled_from([{}, {}, {"answer": None, "answers": None}]))
        for name in names
    ]
    half = len(rows) // 2
    parts = {"counterexamples": questions_table(rows[:half]), "hard": questions_table(rows[half:])}
    return several({"vqa-ce": parts})
