import gzip
import json
import re
import unicodedata
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shortcut_miner.text import (
    answer_forms,
    basic_english,
    normalise_answer,
    strip_answer,
    without_punctuation,
)

GOLDEN = Path(__file__).parent / "golden" / "vqa_accuracy"

REPLACEMENTS = (
    ("'", " '  "),
    ('"', ""),
    (".", " . "),
    ("<br />", " "),
    (",", " , "),
    ("(", " ( "),
    (")", " ) "),
    ("!", " ! "),
    ("?", " ? "),
    (";", " "),
    (":", " "),
)


def plain_basic_english(question: str) -> list[str]:
    text = question.lower()
    for old, new in REPLACEMENTS:
        text = text.replace(old, new)
    return re.sub(r"\s+", " ", text).split()


def tokens(questions: list[str | None]) -> list[list[str] | None]:
    table = pl.DataFrame({"question": questions}, schema={"question": pl.String})
    return table.select(basic_english(pl.col("question"))).to_series().to_list()


# Polars carries Unicode 17; letters unassigned in this Python's tables may gain a lower case there.
assigned = st.characters(exclude_categories=["Cs", "Cn"])
token_parts = st.sampled_from(
    [*"'\".,()!?;: Aß\x1c\x1f\x85\u2028\u200bΣİ\u0345", "<br />", '<b"r />', "<BR />"]
)
answer_parts = st.sampled_from([*";/[]\"{}()=+\\_-><@`,?!.%'", *"  \t\n3٣aA½", "1,0", "the", "<=5."])


@given(st.lists(st.one_of(token_parts, assigned)).map("".join))
@example("ὈΔΥΣΣΕΎΣ ΣΑΣ. İstanbul?")
@example('<b"r />x<br <br />/>')
def test_tokens_equal_the_chain_of_replacements(question: str) -> None:
    assert tokens([question]) == [plain_basic_english(question)]


@pytest.mark.sample(1)
@pytest.mark.parametrize("pattern", ["{}", "A{}Σ", "AΣ{}", "AΣ{}A", "x{}y"])
def test_every_assigned_code_point_is_treated_as_python_does(pattern: str) -> None:
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    questions = [pattern.format(one) for one in characters if unicodedata.category(one) != "Cn"]
    assert tokens(questions) == [plain_basic_english(one) for one in questions]


def test_null_stays_null_and_blank_becomes_empty() -> None:
    assert tokens([None, "", ' "" ', "<br />"]) == [None, [], [], []]


@pytest.mark.real
@pytest.mark.parametrize("part", ["train", "valid"])
def test_tokens_of_all_real_questions(real_data: Path, part: str) -> None:
    with gzip.open(real_data / "vqa60k" / f"questions_{part}.json.gz") as file:
        questions = [record["question"] for record in json.load(file)["questions"]]
    assert len(questions) == {"train": 48_061, "valid": 8_977}[part]
    assert tokens(questions) == [plain_basic_english(question) for question in questions]


def plain_without_punctuation(answer: str) -> str:
    text = answer
    for mark in (*";/[]", '"', *"{}()=+\\_-><@`,?!"):
        touches_blank = mark + " " in answer or " " + mark in answer
        is_deleted = touches_blank or re.search(r"\d,\d", answer) is not None
        text = text.replace(mark, "" if is_deleted else " ")
    kept, deleted = "", 0
    for at, letter in enumerate(text):
        if letter == "." and not re.match(r"\d", text[at + 1 :]) and deleted < 32:
            deleted += 1
        else:
            kept += letter
    return kept


@given(st.lists(st.one_of(answer_parts, assigned)).map("".join))
@example("." * 40)
@example("3." * 40)
def test_punctuation_equals_one_replacement_after_another(answer: str) -> None:
    assert without_punctuation(answer) == plain_without_punctuation(answer)


def test_normalisation_table_of_the_official_program() -> None:
    cases = json.loads((GOLDEN / "normalisation_table.json").read_text(encoding="utf-8"))
    assert len(cases) == 365
    for case in cases:
        assert without_punctuation(case["in"]) == case["after_punctuation"]
        assert normalise_answer(case["in"]) == case["after_digit_article"]


@pytest.mark.parametrize(
    ("given_answer", "normalised"),
    [
        ("couldnt've", "couldn't've"),
        ("couldn'tve", "couldn't've"),
        ("couldntve", "couldntve"),
        ("yall'd've", "y'all'd've"),
        ("y'alld've", "y'all'd've"),
        ("y'all'dve", "y'all'd've"),
        ("ow's'at", "'ow's'at"),
        ("somebody'd", "somebodyd"),
        ("oclock", "o'clock"),
        ("maam", "ma'am"),
        ("Im", "im"),
        ("shed", "shed"),
        ("were", "were"),
        ("its", "its"),
        ("NONE", "0"),
    ],
)
def test_contractions_and_number_words(given_answer: str, normalised: str) -> None:
    assert normalise_answer(given_answer) == normalised


def test_an_article_that_a_contraction_or_number_hides_stays() -> None:
    assert normalise_answer("an ant the theme a") == "ant theme"


def test_stripping_keeps_inner_blanks() -> None:
    assert strip_answer("\u00a0 a\t\nb \r\n") == "a  b"


def test_forms_are_of_distinct_answers_and_normalise_the_stripped_one() -> None:
    forms = answer_forms(pl.Series(["yes ,", None, "\nyes,", "yes ,"], dtype=pl.String)).sort("answer")
    # "yes ," touches a blank, "yes," does not, so the comma of the second becomes a blank, which words drop.
    assert forms.rows() == [("\nyes,", "yes,", "yes"), ("yes ,", "yes ,", "yes")]


def test_forms_of_nothing() -> None:
    assert answer_forms(pl.Series([], dtype=pl.String)).schema == dict.fromkeys(
        ("answer", "stripped", "normalised"), pl.String
    )
