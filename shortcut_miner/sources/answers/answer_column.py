"""Which columns of a flat table hold ids and the model's answers: those named, or the only ones that can."""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import polars as pl

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.opening.columns import Column, Needs
from shortcut_miner.sources.opening.flat_tables import FlatTable
from shortcut_miner.sources.opening.reading import RECORD
from shortcut_miner.sources.opening.table_columns import holds_text, read_columns

# In the order of preference.
ID_NAMES = ("question_id", "questionId", "qid", "id")
QUESTION_ID_NAMES = ID_NAMES[:-1]  # an "id" may be that of something else
ANSWER_NAMES = (
    "answer", "prediction", "pred", "response", "output", "generated_text", "pred_ans", "text"
)  # fmt: skip
NEEDS = {"question_id": Column("id", names=ID_NAMES), "answer": Column("text", names=ANSWER_NAMES)}

# Beside one of these a "text" is what a model said; beside others it may be the question.
_SAYS_MODEL = {"prompt", "question", "model", "model_id", "answer_id"}
_ANSWER_WORDS = re.compile("answer|pred|response|output|generat|(?<!con)text")
_ASKED = re.compile("question|image|prompt")
_ABOUT = ("_type", "_id", "_key", "_confidence")  # an answer's type is no answer
_TRUTH = re.compile("^(gt|gold|true|truth|correct|reference|target|label|ground_?truth)(_|$)")
_MAY_BE_TRUTH = ("answer", "text")  # the model's by these names alone is not clear beside a truth
_HUMP = re.compile("(?<=[a-z])(?=[A-Z])")


def are_answers(names: Collection[str]) -> bool:
    """Return whether columns or fields are those of a model's answers.

    Those of answers to swaps, and of questions with all their annotators' answers, are not.

    >>> are_answers(["qid", "response"]), are_answers(["question_id", "image", "text", "label"])
    (True, False)
    """
    names = {*names}
    is_other = "perturbation" in names or {"question", "answers"} <= names
    return not is_other and bool(names & {*ID_NAMES}) and bool(answer_names(names))


def answer_names(names: Collection[str]) -> list[str]:
    """Return which columns are answers by their names, the first ones first."""
    names = {*names}
    is_clear = bool(names & _SAYS_MODEL) or names <= {*ID_NAMES, "text"}
    return [name for name in ANSWER_NAMES if name in names and (name != "text" or is_clear)]


def needs_of(columns: Mapping[str, str], needs: Needs) -> dict[str, Column]:
    """Return what to read: our columns under the names that the user gave, others under their own.

    >>> needs_of({"answer": "response"}, {"answer": Column("text")})["answer"].names
    ('response',)
    """
    return {
        ours: Column(need.kind, names=(columns[ours],)) if ours in columns else need
        for ours, need in needs.items()
    }


def with_answer_names(flat: FlatTable, needs: dict[str, Column]) -> dict[str, Column]:
    """Return `needs` with the answer under those names that a table has for it, texts before others."""
    found = answer_names(flat.columns)
    if flat.types or flat.form.startswith("JSON"):  # elsewhere numbers may be answers as well
        found.sort(key=lambda name: not holds_text(flat, name))
    others = [name for name in ANSWER_NAMES if name not in flat.columns]  # no text that may be a question
    return needs | {"answer": replace(needs["answer"], names=tuple(found or others))}


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
    ``question_answer`` is one), nor is a type, id, key or confidence (``answer_type``), nor ``context``; nor,
    beside what only a model says (``prediction``), the truth (``gt_answer``). In files of text, answers that
    are all numbers have rivals of numbers.
    """
    named = [name for name in flat.columns if name != answer and _sounds_like_an_answer(name)]
    if answer not in _MAY_BE_TRUTH:
        named = [name for name in named if not _TRUTH.search(_small(name))]
    is_any = bool(named) and not (flat.types or flat.form.startswith("JSON")) and not holds_text(flat, answer)
    return [name for name in dict.fromkeys(named) if is_any or holds_text(flat, name)]


def _small(name: str) -> str:
    return _HUMP.sub("_", name).lower()


def _sounds_like_an_answer(name: str) -> bool:
    """Return whether a column's name is that of answers.

    >>> [one for one in ("Response", "answerType", "question_text", "model") if _sounds_like_an_answer(one)]
    ['Response']
    """
    small = _small(name)
    if small.endswith(_ABOUT) or (_ASKED.search(small) and "answer" not in small):
        return False
    return bool(_ANSWER_WORDS.search(small))


# ---- ids ----


def check_one_id(flat: FlatTable, table: pl.DataFrame, taken: str) -> None:
    """Raise SourceError for other columns of ids that say something else than the one that is read.

    Parameters
    ----------
    table : DataFrame
        record and question_id, as read.
    taken : str
        Where the ids are from.
    """
    for name in ID_NAMES:
        if name != taken and flat.columns.count(name) == 1:
            try:
                unnoted = replace(flat, decisions=Counter())
                other, _ = read_columns(unnoted, {"other": Column("id", is_optional=True, names=(name,))})
            except SourceError:
                continue  # values that are no ids
            check_same_ids(flat.path, table, other, (taken, name), flat.label)


def check_same_ids(
    path: str,
    table: pl.DataFrame,
    others: pl.DataFrame,
    places: tuple[str, str],
    label: Callable[[int], str],
) -> None:
    """Raise SourceError if records have two ids that differ, unless the second one only counts questions.

    Parameters
    ----------
    table, others : DataFrame
        record with question_id, and with other.
    places : pair of str
        Where both are from.
    label : callable
        Names a record by its position.
    """
    both = table.select(RECORD, "question_id").join(
        others.select(RECORD, "other"), on=RECORD, how="inner", validate="1:1", maintain_order="left"
    )
    differ = both.filter(pl.col("question_id") != pl.col("other"))
    if differ.is_empty():
        return
    is_one_to_one = both["question_id"].n_unique() == both["other"].n_unique()
    if is_one_to_one and _only_counts(both["other"]):
        return
    at, one, other = differ.row(0)
    ways = " or ".join(f"--columns question_id={place}" for place in places)
    raise SourceError(
        f"{path}, {label(at)}: got the {places[0]} {one!r} and the {places[1]} {other!r}, expected one id of "
        f"a question ({len(differ):,} records have two). Name the right one with {ways}."
    )


def _only_counts(ids: pl.Series) -> bool:
    """Return whether ids are the whole numbers from 0 or 1 on, in any order."""
    found = {*ids}
    return any(found == {str(number) for number in range(first, first + len(found))} for first in (0, 1))
