"""The answer in a model's sentence, against plain Python, and the warning about sentences."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.errors import ConfigError
from shortcut_miner.options import AnswerOptions
from shortcut_miner.scoring.extraction import (
    changed_count,
    extract,
    extract_all,
    extraction_for,
    extraction_note,
    sentence_warning,
)
from shortcut_miner.text import normalise_answer


def table(*texts: str | None) -> pl.DataFrame:
    ids = [str(at) for at in range(len(texts))]
    return pl.DataFrame(
        {"question_id": ids, "answer": texts}, schema=dict.fromkeys(("question_id", "answer"), pl.String)
    )


def found(how: str, *texts: str | None, questions: pl.DataFrame | None = None) -> list[str | None]:
    given = table(*texts)
    return extract(given, extraction_for(how, given if questions is None else questions))["answer"].to_list()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("yes", "yes"),
        ("Yes.", "Yes"),
        ("\n\n  red \nbecause it is", "red"),
        ("red\r\nblue", "red"),
        ('"2.5"', "2.5"),
        ("**no**", "no"),
        ("```\nno\n```", "no"),
        (" \n ", " \n "),
        ("...", "..."),
        ("", ""),
        (None, None),
    ],
)
def test_the_first_line(text: str | None, expected: str | None) -> None:
    assert found("first-line", text) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The answer is yes.", "yes"),
        ("The answer is: 'No'!\n", "No"),
        ("It costs $2.50", "$2.50"),
        ("a t-shirt (red)", "red"),
        ("red", "red"),
        (" ?! ", " ?! "),
        ("", ""),
        (None, None),
    ],
)
def test_the_last_word(text: str | None, expected: str | None) -> None:
    assert found("last-word", text) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Answer: yes.", "yes"),
        ("First answer: no.\nFinal ANSWER:  two dogs \nbye", "two dogs"),
        ("Answer:\n\n red", "red"),
        ("**Answer:**\n**red**", "red"),
        ('Answer: ...\n\n"two dogs"', "two dogs"),
        ("Answer: yes\n**Answer:**", "yes"),
        ("Answer: ...", "Answer: ..."),
        ("Answer: yes\nAnswer:", "yes"),
        ("Answer: yes. answer: Answer:", "yes"),
        ("Answer:", "Answer:"),
        ("no mark here", "no mark here"),
        (None, None),
    ],
)
def test_what_follows_a_mark(text: str | None, expected: str | None) -> None:
    assert found("after:Answer:", text) == [expected]


def test_a_mark_is_text_and_no_pattern() -> None:
    assert found("after:(.*)", "so (.*) red", "so it is red") == ["red", "so it is red"]
    assert found("after:answer is", "The answer is: yes") == ["yes"]


def test_a_mark_is_no_part_of_a_word() -> None:
    assert found("after:is", "The answer is tennis.", "It is this one.") == ["tennis", "this one"]
    assert found("after:答案是", "答案是红色") == ["红色"]


QUESTIONS = pl.DataFrame(
    {
        "question_id": ["0", "1", "2", "3", "4"],
        "question_type": ["color", "color", "how many", None, "color"],
        "answer": ["red", "dark blue", "2", "Yes", "Dark blue"],
        "answers": [["red", "Maroon"], ["dark blue", "blue"], ["2", "two"], None, ["bus"]],
    }
)


@pytest.mark.parametrize(
    ("at", "text", "expected"),
    [
        (0, "The answer is red.", "red"),
        (0, "It looks maroon to me", "Maroon"),  # one annotator's answer, as given
        (1, "It looks maroon to me", "It looks maroon to me"),  # another question's annotator
        (0, "A dark blue, almost red bus", "Dark blue"),  # the longest, right or not
        (1, "A dark blue, almost red bus", "dark blue"),  # red is right for one question alone
        (4, "A red bus", "bus"),
        (1, "blue", "blue"),
        (0, "blueish reddish", "blueish reddish"),  # whole words
        (2, "There are two dogs", "2"),
        (2, "There are 2 red dogs", "2"),  # a colour is no answer to how many
        (0, "**Red**: yes", "red"),
        (3, "Well, yes! It is.", "Yes"),
        (3, "Answer:Yes", "Answer:Yes"),
        (0, "", ""),
        (0, None, None),
    ],
)
def test_choices(at: int, text: str | None, expected: str | None) -> None:
    given = pl.DataFrame({"question_id": [str(at)], "answer": [text]}, schema_overrides={"answer": pl.String})
    assert extract(given, extraction_for("choices", QUESTIONS))["answer"].to_list() == [expected]


def test_of_equally_long_choices_the_first_counts() -> None:
    asked = table("cat", "dog", "cat", "dog")
    assert found("choices", "dog or cat", "cat, dog", questions=asked) == ["dog", "cat"]


def test_rows_keep_their_order_and_both_texts_are_there() -> None:
    given = table("It is a dog.", "cat", None, "nothing")[[2, 0, 3, 1]]
    extracted = extract(given, extraction_for("choices", table("dog", "cat", "cow", "cow")))
    assert extracted.to_dict(as_series=False) == {
        "question_id": ["2", "0", "3", "1"],
        "answer": [None, "dog", "nothing", "cat"],
        "raw_answer": [None, "It is a dog.", "nothing", "cat"],
    }
    assert changed_count(extracted) == (1, 3)
    assert extraction_note(extracted, "choices") == (
        "extract choices: 1 of 3 answers changed, the others stay as they are"
    )
    counted = extracted.with_columns(count=pl.Series([5, 4, 3, 2]))
    assert changed_count(counted) == (4, 9)


def plain_choice(text: str, accepted: list[str], classes: list[str]) -> str:
    """Return what choices finds, by trying every span of words."""
    words = normalise_answer(text).split()
    forms: dict[str, str] = {}
    for choice in [*accepted, *classes]:
        forms.setdefault(normalise_answer(choice), choice)
    spans = [
        (-len(" ".join(words[start:end])), start, " ".join(words[start:end]))
        for start in range(len(words))
        for end in range(start + 1, len(words) + 1)
        if " ".join(words[start:end]) in forms
    ]
    return forms[min(spans)[2]] if spans else text


word = st.sampled_from(["red", "blue", "dog", "two", "2", "the", "no"])
phrase = st.lists(word, min_size=1, max_size=3).map(" ".join)
sentence = st.lists(word, max_size=7).map(" ".join)


@given(
    asked=st.lists(st.tuples(phrase, st.lists(phrase, max_size=3), sentence), min_size=1, max_size=4),
)
def test_choices_equal_trying_every_span(asked: list[tuple[str, list[str], str]]) -> None:
    ids = [str(at) for at in range(len(asked))]
    columns = {
        "question_id": ids,
        "answer": [one for one, _, _ in asked],
        "answers": [one for _, one, _ in asked],
    }
    questions = pl.DataFrame(columns, schema_overrides={"answers": pl.List(pl.String)})
    right = [normalise_answer(one) for one, _, _ in asked]
    classes = sorted(one for one, _, _ in asked if right.count(normalise_answer(one)) > 1)
    said = [text for _, _, text in asked]
    expected = [plain_choice(text, [*answers, right], classes) for right, answers, text in asked]
    assert found("choices", *said, questions=questions) == expected


def test_models_are_extracted_side_by_side() -> None:
    models = {"m": table("It is red.", "blue")[[1, 0]], "n": table("red", "blue")}
    answers, texts, notes = extract_all(models, "last-word", table("red", "blue"))
    assert answers["m"].to_dict(as_series=False) == {"question_id": ["1", "0"], "answer": ["blue", "red"]}
    assert texts is not None
    assert texts.rows() == [
        ("m", "0", "It is red.", "red"),
        ("m", "1", "blue", "blue"),
        ("n", "0", "red", "red"),
        ("n", "1", "blue", "blue"),
    ]
    assert notes == (
        "m: extract last-word: 1 of 2 answers changed, the others stay as they are",
        "n: extract last-word: 0 of 2 answers changed, the others stay as they are",
    )
    assert extract_all(models, None, table("red", "blue")) == (models, None, ())


@pytest.mark.parametrize("value", ["last", "", "after:", "after:  ", "choices ", 3])
def test_an_unknown_way_is_told(value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        AnswerOptions(extract=value)
    assert str(caught.value) == (
        f"extract: got {value!r}, expected one of first-line, last-word, choices, or after:TEXT with a text. "
        "Change --extract."
    )


# ---- the warning ----


def warning(longer: int, right: int, total: int = 100) -> str | None:
    said = table(*["it is red"] * longer, *["red"] * (total - longer))
    asked = pl.DataFrame(
        {"answers": [["red", "dark red"]] * total, "answer": ["red"] * total},
        schema={"answers": pl.List(pl.String), "answer": pl.String},
    )
    is_right = pl.Series([True] * right + [False] * (total - right), dtype=pl.Boolean)
    return sentence_warning(asked, said, is_right)


def test_sentences_are_told() -> None:
    assert warning(longer=51, right=9) == (
        "51 of 100 answers have more words than any accepted answer to their question, as in 'it is red', "
        "and 9 are right. If the answer is part of them, take it out with --extract first-line, last-word, "
        "choices or after:TEXT"
    )


@pytest.mark.parametrize(("longer", "right", "total"), [(50, 9, 100), (51, 10, 100), (0, 0, 0)])
def test_short_answers_and_right_ones_are_no_sentences(longer: int, right: int, total: int) -> None:
    assert warning(longer, right, total) is None


def test_an_answer_as_long_as_an_accepted_one_is_none() -> None:
    asked = pl.DataFrame({"answers": [["red", "it is red"], None], "answer": [None, "it is red"]})
    wrong = pl.Series([False, False])
    assert sentence_warning(asked, table("it is blue", "he is blue"), wrong) is None
    assert sentence_warning(asked, table("it is so blue", "he is so blue"), wrong) is not None
    unknown = pl.DataFrame({"answer": pl.Series([None, None], dtype=pl.String)})
    assert sentence_warning(unknown, table("it is so blue", "he is so blue"), wrong) is None
