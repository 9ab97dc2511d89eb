"""Colours, numbers, articles, singulars and what-kind surfaces."""

import subprocess
import sys

import pytest
import spacy
from diagnostics.rad.tables import questions
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.diagnostics.rad import language
from shortcut_miner.diagnostics.rad.augment import augment_questions
from shortcut_miner.diagnostics.rad.colors import are_compatible, color_set, mentioned_colors
from shortcut_miner.diagnostics.rad.language import (
    ANY_NUMBER,
    load_tagger,
    mentioned_numbers,
    number_word,
    singular_noun,
    with_article,
)
from shortcut_miner.diagnostics.rad.what_kind import what_kind_surface
from shortcut_miner.diagnostics.rad.word_lists import word_list
from shortcut_miner.errors import BackendError

NAMES = sorted({*word_list("colors")["basic"], *word_list("colors")["named"]})


@pytest.mark.parametrize(
    "answer", ["clear", "rainbow", "multicolored", "calico", "no phone", "sign", "", "and", "dark"]
)
def test_what_is_no_color(answer: str) -> None:
    assert color_set(answer) is None


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        ("grey", {"gray"}),
        ("red, white, blue", {"red", "white", "blue"}),
        ("black & white", {"black", "white"}),
        ("light blue/dark green", {"blue", "green"}),
        ("Black and White", {"black", "white"}),
        ("blue-green", {"blue", "green"}),
    ],
)
def test_what_is_a_color(answer: str, names: set[str]) -> None:
    assert color_set(answer) == names == mentioned_colors(answer)


@given(
    st.frozensets(st.sampled_from(NAMES), min_size=1, max_size=4),
    st.sampled_from([", ", "/", " & ", " and ", " "]),
)
def test_joined_colors_are_read_back(names: frozenset[str], joint: str) -> None:
    assert color_set(joint.join(sorted(names))) == names


@given(*[st.frozensets(st.sampled_from(NAMES), min_size=1, max_size=3)] * 2)
def test_containment_and_nearness_go_both_ways(one: frozenset[str], other: frozenset[str]) -> None:
    if len(one) != len(other):
        assert are_compatible(one, other) == are_compatible(other, one)
    assert are_compatible(one, one | other)
    assert are_compatible(one, other, count_near=False) == (one <= other or other <= one)


@given(st.integers(0, 10_000))
def test_numbers_are_read_back(number: int) -> None:
    assert mentioned_numbers(number_word(number)) == ((number, number),)
    assert mentioned_numbers(f"{number}+") == ((number, ANY_NUMBER),)


def test_vague_numbers() -> None:
    assert mentioned_numbers("lots") == ((10, ANY_NUMBER),)
    assert mentioned_numbers("less than 4") == ((0, 4),)
    assert mentioned_numbers("cat") == ()


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        ("benches", "bench"), ("buses", "bus"), ("busses", "bus"), ("feet", "foot"), ("glasses", "glass"),
        ("people", "person"), ("women", "woman"), ("children", "child"), ("knives", "knife"), ("ox", "ox"),
        ("mice", "mouse"), ("geese", "goose"), ("teeth", "tooth"), ("sheep", "sheep"), ("fish", "fish"),
        ("skis", "ski"), ("potatoes", "potato"), ("cherries", "cherry"), ("vase", "vase"), ("bus", "bus"),
        ("TVs", "TV"), ("pants", None), ("scissors", None), ("species", "species"), ("firemen", "fireman"),
        ("boxes", "box"), ("toothbrushes", "toothbrush"), ("shelves", "shelf"), ("oxen", "ox"),
        ("dresses", "dress"), ("zebras", "zebra"), ("dice", "die"), ("Series", "Series"), ("kiwis", "kiwi"),
        ("leaves", "leaf"), ("pairs", "pair"), ("People", "Person"), ("lens", "lens"), ("hippos", "hippo"),
    ],
)  # fmt: skip
def test_singulars(plural: str, singular: str | None) -> None:
    assert singular_noun(plural) == singular


@pytest.mark.parametrize(
    "phrase",
    [
        "an hour", "a unicorn", "a one-way sign", "an elephant", "a european", "an honest man", "a uniform",
        "an 8", "an 11", "a 12", "an SUV", "an x-ray", "a ufo", "an umbrella", "a yogurt", "an owl",
    ],
)  # fmt: skip
def test_articles_go_by_sound(phrase: str) -> None:
    assert with_article(phrase.split(maxsplit=1)[1]) == phrase


@pytest.mark.parametrize(
    ("subject", "answer", "question"),
    [
        ("animal", "elephant", "Is this animal an elephant?"),
        ("event", "skiing", "Is this a skiing event?"),
        ("floor", "wood", "Is this a wood floor?"),
        ("food", "breakfast", "Is this food breakfast?"),
        ("sport", "skateboarding", "Is this sport skateboarding?"),
        ("truck", "garbage truck", "Is this a garbage truck?"),
        ("room", "kitchen", "Is this room a kitchen?"),
        ("chair", "kitchen", "Is this a kitchen chair?"),
        ("sandwich", "ham", "Is this a ham sandwich?"),
        ("food", "chinese food", "Is this chinese food?"),
        ("fencing", "metal", "Is this metal fencing?"),
        ("sign", "one way", "Is this a one way sign?"),
        ("body of water", "ocean", "Is this body of water an ocean?"),
        ("body of water", "outdoor", "Is this an outdoor body of water?"),
        ("train", "passenger", "Is this a passenger train?"),
        ("bear", "black", "Is this a black bear?"),
        ("fruit", "apples", "Is this fruit apples?"),
        ("animal", "a cat", "Is this animal a cat?"),
    ],
)
def test_what_kind_surfaces(subject: str, answer: str, question: str) -> None:
    assert what_kind_surface(subject, answer, "grammar")[0] == question
    assert what_kind_surface(subject, answer, "literal")[0] == f"Is this {subject} {answer}?"


def test_a_missing_model_names_both_commands() -> None:
    with pytest.raises(BackendError) as caught:
        load_tagger("no_such_model")
    assert "pip install 'shortcut-miner[rad]'" in str(caught.value)
    assert "python -m spacy download en_core_web_sm" in str(caught.value)
    assert str(caught.value).startswith("spacy_model no_such_model: got no such package, expected")


TAGGED = [
    "How many people's kites are in the sky?", "How many TVs do you see on the left?", "What is he gonna do?",
    "How many \x1c dogs  are\tthere?", "How many of the 3 men aren't wearing hats, and why?", "?", "",
]  # fmt: skip


def test_words_are_tagged_as_by_the_whole_pipeline() -> None:
    tagger = load_tagger()
    assert tagger.ruler is not None
    whole = spacy.load(tagger.name, exclude=["parser", "ner", "lemmatizer"])
    by_whole, by_tagger = (
        [[(token.text, token.tag_, token.pos_) for token in doc] for doc in docs]
        for docs in (whole.pipe(TAGGED), tagger.tag(TAGGED))
    )
    assert by_tagger == by_whole


@pytest.mark.parametrize(
    ("pattern", "is_taken_out"),
    [
        ([{"LOWER": "kite"}], True),
        ([{"DEP": "expl"}, {"LOWER": "kite"}], True),
        ([{"LOWER": "the"}, {"LOWER": "kite"}], False),
        ([{"LOWER": "kite", "IS_SENT_START": True}], False),
    ],
)
def test_a_ruler_that_looks_at_more_than_a_word_stays(pattern: list[dict], is_taken_out: bool) -> None:
    pipeline = spacy.blank("en")
    pipeline.add_pipe("attribute_ruler").add([pattern], {"POS": "NOUN"}, index=len(pattern) - 1)
    assert (language._ruler_of_words(pipeline) is not None) == is_taken_out
    assert pipeline.pipe_names == ([] if is_taken_out else ["attribute_ruler"])


def test_inflect_is_taken_without_its_type_checks_and_those_of_others_stay() -> None:
    code = (
        "import typeguard; decorator = typeguard.typechecked\n"
        "from shortcut_miner.diagnostics.rad.language import singular_noun\n"
        "assert singular_noun('benches') == 'bench' and typeguard.typechecked is decorator\n"
        "import inflect; print(*inflect.engine.plural_noun.__code__.co_names)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "partition_word" in done.stdout
    assert "typeguard" not in done.stdout


@pytest.mark.parametrize("package", ["spacy", "threadpoolctl", "inflect"])
def test_a_missing_library_names_the_extra(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    load_tagger.cache_clear()
    language._inflect.cache_clear()
    singular_noun.cache_clear()
    with pytest.raises(BackendError, match=f"got no {'spaCy' if package == 'spacy' else package}, expected"):
        singular_noun("dogs") if package == "inflect" else load_tagger()


def test_colors_need_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("spacy", "inflect"):
        monkeypatch.setitem(sys.modules, package, None)
    load_tagger.cache_clear()
    language._inflect.cache_clear()
    table = questions(*[("What color is the bus?", one) for one in ("red", "blue")] * 5)
    assert len(augment_questions(table).augmentations) == 10
