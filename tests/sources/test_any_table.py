"""Any table through every reader that takes tables: what comes out equals what went in, or it is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from sources.any_table import (
    FORMS,
    ID_COLUMNS,
    LIST_COLUMNS,
    REFUSED,
    TEXT,
    TYPED,
    as_cell,
    columns,
    expected_id,
    expected_texts,
    given_value,
    write_table,
)

from shortcut_miner.diagnostics.rad.pairs import read_pairs
from shortcut_miner.errors import ShortcutMinerError, SourceError
from shortcut_miner.sources.answers.predictions import read_predictions
from shortcut_miner.sources.answers.soft_labels import read_soft_labels
from shortcut_miner.sources.images.labels import read_labels
from shortcut_miner.sources.images.regions import read_regions
from shortcut_miner.sources.item_tables import Columns, read_table
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.sources.questions.question_sets import read_question_set
from shortcut_miner.sources.questions.tables import read_question_table
from shortcut_miner.sources.questions.values import read_id_list, read_question_values
from shortcut_miner.sources.recognise import all_formats

SLOW = [HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much, HealthCheck.too_slow]
_ANSWERS = st.sampled_from(["red", "eggs, ham", "it's", 'a "b"', "[unknown]", "(none)", "2"])
quick = settings(max_examples=15, suppress_health_check=SLOW)


class Case(NamedTuple):
    """A reader: the id's column in the file and in the result, the other columns, and the forms it reads."""

    read: Callable[[Path], Reading]
    given: str
    found: str
    others: dict[str, Any]
    forms: tuple[str, ...] = FORMS
    is_unique: bool = True  # an id twice is refused


def _ids(path: Path) -> Reading:
    return read_id_list(path)[1]


def _values(path: Path) -> Reading:
    return read_question_values(path, {"question_id": "id", "importance": "number"})


BOX = dict.fromkeys(("x1", "y1"), 1.0) | dict.fromkeys(("x2", "y2"), 5.0)
ANSWER = {"answer": "x"}
# Formats of the table of formats, by name, and readers of tables whose columns are named freely.
FORMATS = {
    "regions Parquet": Case(read_regions, "image_id", "image_id", BOX, ("Parquet",), False),
    "labels Parquet": Case(read_labels, "image_id", "image_id", {"label": "cat"}, ("Parquet",), False),
    "labels Arrow": Case(read_labels, "image_id", "image_id", {"label": "cat"}, ("Arrow",), False),
    "labels CSV": Case(read_labels, "image_id", "image_id", {"label": "cat"}, ("CSV", "TSV"), False),
    "labels xlsx": Case(read_labels, "image_id", "image_id", {"label": "cat"}, ("xlsx",), False),
    "labels JSON": Case(read_labels, "image_id", "image_id", {"label": "cat"}, ("JSON",), False),
    "labels JSONL": Case(read_labels, "image_id", "image_id", {"labels": [["cat"]] * 4}, ("JSONL",)),
    "GQA predictions JSON": Case(
        read_predictions, "questionId", "question_id", {"prediction": "x"}, ("JSON",)
    ),
    "VLMEvalKit results JSON": Case(read_predictions, "index", "question_id", {"prediction": "x"}, ("JSON",)),
    "VQA results JSON": Case(read_predictions, "question_id", "question_id", ANSWER, ("JSON",)),
    "predictions JSONL": Case(read_predictions, "question_id", "question_id", ANSWER, ("JSONL",)),
    "VLMEvalKit results TSV": Case(
        read_predictions, "index", "question_id", {"prediction": "x"}, ("CSV", "TSV")
    ),
    "VLMEvalKit results xlsx": Case(read_predictions, "index", "question_id", {"prediction": "x"}, ("xlsx",)),
    "predictions CSV": Case(read_predictions, "question_id", "question_id", ANSWER, ("CSV", "TSV")),
    "predictions Parquet": Case(read_predictions, "question_id", "question_id", ANSWER, ("Parquet",)),
    "predictions xlsx": Case(read_predictions, "question_id", "question_id", ANSWER, ("xlsx",)),
    "predictions Arrow": Case(read_predictions, "question_id", "question_id", ANSWER, ("Arrow",)),
    "POPE questions JSONL": Case(
        read_question_set,
        "question_id",
        "question_id",
        {"image": "7", "text": "Is it?", "label": "yes"},
        ("JSONL",),
    ),
    "soft labels Parquet": Case(
        read_soft_labels, "question_id", "question_id", ANSWER | {"weight": 1.0}, ("Parquet",)
    ),
}
FREE = {
    "questions": Case(read_question_table, "question_id", "question_id", ANSWER | {"question": "Why?"}),
    "images": Case(
        read_question_table, "image_id", "image_id",
        ANSWER | {"question": "Why?", "question_id": ["q0", "q1", "q2", "q3"]},
        FORMS, False,
    ),
    "values": Case(_values, "question_id", "question_id", {"importance": 0.5}, FORMS, False),
    "ids": Case(_ids, "question_id", "question_id", {"more": "x"}),
    "pairs": Case(
        read_pairs, "original_id", "original_id", {"augmented_id": ["a", "b", "c", "d"]}, FORMS, False
    ),
}  # fmt: skip
# Objects of their own, no flat records: their ids are tested beside their readers.
NO_TABLES = {"lmms-eval samples JSONL", "lm-eval samples JSONL"}
CASES = [(name, form) for name, case in (FORMATS | FREE).items() for form in case.forms]


def test_every_format_that_is_a_table_is_here() -> None:
    tables = {one.kind for one in all_formats() if one.form in ("Parquet", "Arrow", "CSV", "JSONL", "xlsx")}
    assert tables - NO_TABLES <= FORMATS.keys()


@pytest.mark.sample(16)
@pytest.mark.parametrize(("name", "form"), CASES)
@given(drawn=columns(ID_COLUMNS))
@example(drawn=("text", pl.Series([" "])))
@quick
def test_ids_come_out_as_they_went_in(
    tmp_path: Path, name: str, form: str, drawn: tuple[str, pl.Series]
) -> None:
    case, (kind, ids) = (FORMATS | FREE)[name], drawn
    path = tmp_path / f"{name}.{form}".replace(" ", "_")
    size = len(ids)
    others = {
        column: pl.Series(value[:size] if isinstance(value, list) else [value] * size)
        for column, value in case.others.items()
    }
    assume(write_table(path, form, {case.given: ids, **others}))
    limit = 2.0**24 if kind == "short float" and form in TYPED else 2.0**53
    is_nested = kind in ("list", "struct", "date", "binary", "bool")
    values = [given_value(one, form, ids.dtype) for one in ids.to_list()]
    expected = [expected_id(one, limit=limit) for one in values]
    is_null = [one is None or (isinstance(one, str) and not one.strip()) for one in values]
    if form in TYPED and is_nested:
        expected = [REFUSED]
    if name == "images":  # a question without an image is its own
        expected = [f"q{at}" if null and not (form in TYPED and is_nested) else one
                    for at, (one, null) in enumerate(zip(expected, is_null, strict=False))]  # fmt: skip
    is_refused = REFUSED in expected or (case.is_unique and len({*expected}) < len(expected))
    try:
        found = case.read(path).table[case.found].to_list()
    except ShortcutMinerError as error:
        assert is_refused, error
        assert str(error).startswith(f"{path}: got ")
    else:
        assert not is_refused, (ids, found)
        assert found == ([*dict.fromkeys(expected)] if name == "regions Parquet" else expected)


def _questions(path: Path) -> Reading:
    return read_question_table(path)


def _items(path: Path) -> Reading:
    named = Columns(words=None, objects="answers", answer="answer", separator=",")
    return read_table(path, named, skip_bad_rows=False, limit=None)


@pytest.mark.parametrize("form", FORMS)
@given(drawn=columns(LIST_COLUMNS), as_json=st.booleans())
@quick
def test_lists_come_out_as_they_went_in(
    tmp_path: Path, form: str, drawn: tuple[str, pl.Series], as_json: bool
) -> None:
    kind, lists = drawn
    for read, column in ((_questions, "answers"), (_items, "objects")):
        path = tmp_path / f"{column}.{form}"
        size = len(lists)
        table = {
            "question_id": pl.Series([f"q{at}" for at in range(size)]),
            "question": pl.Series(["Why?"] * size),
            "answer": pl.Series(["x"] * size),
            "answers": lists,
        }
        write_table(path, form, table, as_json=as_json)
        expected = [expected_texts(one) for one in lists.to_list()]
        if column == "objects" and form in TEXT and not any(one is not None for one in expected):
            expected = [[]] * size  # empty text, which is split
        is_refused = REFUSED in expected
        if form in TYPED and kind in ("records without answer", "lists of lists", "truths", "map"):
            is_refused = True
        try:
            found = read(path).table[column].to_list()
        except SourceError as error:
            # Objects of an image are no annotators' records.
            assert is_refused or (column == "objects" and "record" in kind), error
            assert str(error).startswith(f"{path}: got ")
        else:
            assert not is_refused, (lists, found)
            assert found == expected


@pytest.mark.parametrize("form", FORMS)
@given(
    answers=st.lists(st.sampled_from(["[unknown]", "{}", "nan", "None", "1.0", "['a']", "a|b"]), min_size=1)
)
@quick
def test_texts_that_are_no_lists_stay_what_they_are(tmp_path: Path, form: str, answers: list[str]) -> None:
    path = tmp_path / f"t.{form}"
    ids = pl.Series([f"q{at}" for at in range(len(answers))])
    text = pl.Series(answers)
    write_table(path, form, {"question_id": ids, "question": text, "answer": text, "question_type": text})
    table = read_question_table(path).table
    assert table["answer"].to_list() == table["question_type"].to_list() == answers
    assume({*answers} != {"['a']"})  # answers that are all lists of one text are unpacked
    write_table(path, form, {"question_id": ids, "answer": text})
    assert read_predictions(path).table["answer"].to_list() == answers


@pytest.mark.parametrize("form", FORMS)
@given(
    answers=st.lists(st.none() | st.lists(_ANSWERS, max_size=2) | _ANSWERS, min_size=1, max_size=4),
    as_json=st.booleans(),
)
@quick
def test_answers_are_unpacked_if_all_are_lists_of_one_text(
    tmp_path: Path, form: str, answers: list[Any], as_json: bool
) -> None:
    path = tmp_path / f"t.{form}"
    cells = ["" if one is None else as_cell(one, as_json=as_json) for one in answers]
    ids = [f"q{at}" for at in range(len(answers))]
    write_table(path, form, {"question_id": pl.Series(ids), "answer": pl.Series(cells)})
    given = [one for one in answers if one is not None]
    if any(isinstance(one, str) for one in given):
        expected = cells
    elif any(len(one) != 1 for one in given):
        with pytest.raises(SourceError, match=rf"got lists written as text in all {len(given)} answers"):
            read_predictions(path)
        return
    else:
        expected = ["" if one is None else one[0] for one in answers]
    reading = read_predictions(path)
    assert reading.table["answer"].to_list() == expected
    note = f"answer, lists written as text, unpacked: {len(given)}"
    assert (note in reading.notes) == (bool(given) and expected != cells)
