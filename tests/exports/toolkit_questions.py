"""Questions for exporters: what breaks formats, as a folder would offer it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import strategies as st

from shortcut_miner.datasets.question_sets import QuestionSets, question_sets_of
from shortcut_miner.schemas import Questions

EXACT = ("question_id", "image_id", "question", "answer", "answers")
TEXTS = (
    "yes", "no", "n/a", "NA", "None", "null", "nan", "", " ", "1.0", "007", "true", "a\tb", "a\nb",
    "a\r\nb\r", 'say "hi"', "it's", "\\n", "é", "中文 é", "😀", "\u2028", "\x00\x1f\x7f", "</script>",
    "[1]", "{}", "A,B", "=1+1",
)  # fmt: skip
texts = st.sampled_from(TEXTS) | st.text(st.characters(exclude_categories=("Cs",)), max_size=8)


def questions_table(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return rows with the columns of Questions; an answer alone is the list of answers."""
    columns = Questions.create_empty().schema
    return pl.DataFrame([{name: row.get(name) for name in columns} for row in rows], schema=columns)


def question_sets(sets: Mapping[str, Mapping[str, pl.DataFrame]]) -> QuestionSets:
    return question_sets_of(
        Path("FOLDER"),
        command="vqa-ce build",
        title="VQA-CE subsets",
        sets=sets,
        read_back="vqa-ce score FOLDER --predictions {predictions}",
    )


def of_rows(rows: Sequence[Mapping[str, Any]]) -> QuestionSets:
    """Return one set, "vqa-ce", with one split, "hard"."""
    return question_sets({"vqa-ce": {"hard": questions_table(rows)}})


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
    return question_sets({"vqa-ce": parts})
