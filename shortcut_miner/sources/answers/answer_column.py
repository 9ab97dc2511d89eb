"""Which column of a flat table holds the model's answers: the one named, or the only one that can."""

import difflib
import re
from collections.abc import Mapping, Sequence

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.opening.columns import Column, Needs
from shortcut_miner.sources.opening.flat_tables import FlatTable, holds_text

_ANSWER_WORDS = re.compile("answer|pred|response|output|generat|(?<!con)text")
_ASKED = re.compile("question|image|prompt")
_ABOUT = ("_type", "_id", "_key", "_confidence")  # an answer's type is no answer
_HUMP = re.compile("(?<=[a-z])(?=[A-Z])")


def needs_of(columns: Mapping[str, str], needs: Needs) -> dict[str, Column]:
    """Return what to read: our columns under the names that the user gave, others under their own.

    >>> needs_of({"answer": "response"}, {"answer": Column("text")})["answer"].names
    ('response',)
    """
    return {
        ours: Column(need.kind, names=(columns[ours],)) if ours in columns else need
        for ours, need in needs.items()
    }


def check_columns(flat: FlatTable, needs: Needs, columns: Mapping[str, str]) -> None:
    """Raise SourceError if a table lacks a column, or does not tell the model's answers from others.

    Parameters
    ----------
    needs : mapping of str to Column
        What is read; ``answer`` among it.
    columns : mapping of str to str
        Our column -> the file's, for those that the user named.
    """
    names = flat.names(needs)
    missing = [ours for ours, name in names.items() if name is None and not needs[ours].is_optional]
    if missing:
        told = [f"{(needs[ours].names or (ours,))[0]!r} (the {ours} of each row)" for ours in missing]
        near = [
            one
            for ours in missing
            for one in difflib.get_close_matches((needs[ours].names or (ours,))[0], flat.columns, n=1)
        ]
        hint = f"; it has {examples(dict.fromkeys(near))}" if near else ""
        raise SourceError(
            f"{flat.path}: got a table with the columns {examples(flat.columns, limit=20) or 'none'}, "
            f"expected {', '.join(told)} too{hint}. Name its columns with --columns, such as "
            f"--columns {missing[0]}=NAME."
        )
    answer = names["answer"]
    rivals = [] if "answer" in columns or answer is None else rival_columns(flat, answer)
    if rivals:
        choices = " or ".join(f"--columns answer={one}" for one in (rivals[0], answer))
        raise SourceError(
            f"{flat.path}: got {answer!r} beside {examples(rivals)}, expected one column that can be the "
            f"model's answer: the other may be the right one. Name the model's with {choices}."
        )


def rival_columns(flat: FlatTable, answer: str) -> Sequence[str]:
    """Return the other text columns that could be a model's answers, by their names.

    They are those whose name contains answer, pred, response, output, text or generat, whatever the case.
    What belongs to a question, image or prompt is none unless it is an answer (``question_text`` is none,
    ``question_answer`` is one), nor is a type, id, key or confidence (``answer_type``), nor ``context``.
    """
    named = (name for name in flat.columns if name != answer and _sounds_like_an_answer(name))
    return [name for name in dict.fromkeys(named) if holds_text(flat, name)]


def _sounds_like_an_answer(name: str) -> bool:
    """Return whether a column's name is that of answers.

    >>> [one for one in ("Response", "answerType", "question_text", "model") if _sounds_like_an_answer(one)]
    ['Response']
    """
    small = _HUMP.sub("_", name).lower()
    if small.endswith(_ABOUT) or (_ASKED.search(small) and "answer" not in small):
        return False
    return bool(_ANSWER_WORDS.search(small))
