"""Forms beyond the paper's: twenty questions checked by hand, why others give nothing, hostile ones."""

import inflect
import polars as pl
import pytest
from diagnostics.rad.tables import questions
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.diagnostics.rad import how_many, sources
from shortcut_miner.diagnostics.rad.augment import augment_questions
from shortcut_miner.diagnostics.rad.config import FORMS, PAPER_FORMS, RadConfig
from shortcut_miner.diagnostics.rad.further_forms import parse_forms
from shortcut_miner.diagnostics.rad.how_many import Counted, parse_how_many
from shortcut_miner.diagnostics.rad.language import load_tagger, written_number
from shortcut_miner.diagnostics.rad.sources import Sources, find_sources
from shortcut_miner.diagnostics.rad.surfaces import with_surfaces

# Question, answer, form, its "yes", VQA's question type.
WORLD = [
    ("How many red buses are there?", "3", "modified", "Are there three red buses?", "are there"),
    ("How many teddy bears are on the bed?", "1", "modified",
     "Is there one teddy bear on the bed?", "is there"),
    ("How many stop signs can you see?", "2", "modified", "Are there two stop signs visible?", "are there"),
    ("How many red and white poles?", "0", "modified", "Are there zero red and white poles?", "are there"),
    ("How many different fruits are in the bowl?", "4", "modified",
     "Are there four different fruits in the bowl?", "are there"),
    ("How many legs does the animal have?", "4", "does-have", "Does the animal have four legs?", "does the"),
    ("How many balls does this dog have in its mouth?", "1", "does-have",
     "Does this dog have one ball in its mouth?", "does this"),
    ("How many slices of pizza do the men have left?", "2", "does-have",
     "Do the men have two slices of pizza left?", "do"),
    ("How many white stripes does each shoe have?", "3", "does-have",
     "Does each shoe have three white stripes?", "none of the above"),
    ("How many people have a hat?", "1", "have", "Is there one person with a hat?", "is there"),
    ("How many people in this photo have long hair?", "5", "have",
     "Are there five people in this photo with long hair?", "are there"),
    ("How many young men wear glasses?", "1", "have", "Is there one young man wearing glasses?", "is there"),
    ("How many dogs are there?", "two", "number-words", "Are there two dogs?", "are there"),
    ("How many dogs are there?", "just 1", "number-words", "Is there one dog?", "is there"),
    ("How many cats do you see?", "twenty-two", "number-words", "Are there 22 cats visible?", "are there"),
    ("What type of animal is this?", "elephant", "what-type", "Is this animal an elephant?", "is this"),
    ("What sort of sign is that?", "stop", "what-type", "Is that a stop sign?", "is that a"),
    ("What kind of food is that?", "pizza", "what-type", "Is that food pizza?", "is"),
    ("What kind of plane is this?", "emirates", "answer-subject", "Is this an emirates plane?", "is this"),
    ("What color are the cups?", "blue", "color-are", "Is the color of the cups blue?", "is the"),
]  # fmt: skip


def found(forms: str, *rows: tuple[str, str]) -> Sources:
    return find_sources(questions(*rows), RadConfig(forms=forms))


def test_the_world() -> None:
    eligible = found("all", *(row[:2] for row in WORLD)).eligible.sort(pl.col("question_id").cast(pl.Int64))
    made = with_surfaces(eligible.with_columns(substitute="substance"), "grammar", mends_slips=True)
    assert made.select("question", "answer", "form", "augmented", "question_type").rows() == WORLD


def test_the_paper_has_none_of_them() -> None:
    rows = found("paper", *(row[:2] for row in WORLD)).eligible
    assert rows["question"].to_list() == ["What kind of plane is this?"]


@pytest.mark.parametrize("form", [form for form in FORMS if form not in PAPER_FORMS])
def test_a_form_alone(form: str) -> None:
    """Each form is chosen by itself; numbers in words need the question's own form beside it."""
    chosen = {"number-words": "are-there,number-words"}.get(form, form)
    eligible = found(chosen, *(row[:2] for row in WORLD)).eligible.filter(pl.col("form") == form)
    expected = {question for question, answer, own, *_ in WORLD if own == form}
    if form == "number-words":
        expected.remove("How many cats do you see?")
    assert set(eligible["question"]) == expected


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("How many of the dogs are red?", how_many.NOT_A_NOUN),
        ("How many have sprinkles?", how_many.NOT_A_NOUN),
        ("How many are men?", how_many.NOT_A_NOUN),
        ("How many more cups does he need?", how_many.NOT_A_NOUN),
        ("How many red bus are there?", how_many.SINGULAR),
        ("How many lamp post are there?", how_many.SINGULAR),
        ("How many red umbrellas are blue?", how_many.NOT_A_MODIFIER),
        ("How many calories does the donuts have?", how_many.OTHER_VERB),
        ("How many legs do the boy have?", how_many.OTHER_VERB),
        ("How many dogs do you have?", how_many.OTHER_VERB),
        ("How many dogs does the man who runs have?", how_many.OTHER_VERB),
        ("How many stops does the bus have to make?", how_many.NOT_A_MODIFIER),
        ("How many legs does the dog have and is it red?", how_many.NOT_A_MODIFIER),
        ("How many oranges have been peeled?", how_many.NOT_A_MODIFIER),
        ("How many zebras have crossed the line?", how_many.NOT_A_MODIFIER),
        ("How many people have on dresses?", how_many.NOT_A_MODIFIER),
        ("How many people have to stand?", how_many.NOT_A_MODIFIER),
        ("How many floors have the bus?", how_many.NOT_A_MODIFIER),
        ("How many men wearing hats have beards?", how_many.OTHER_VERB),
    ],
)
def test_why_a_question_gives_nothing(question: str, reason: str) -> None:
    (doc,) = load_tagger().tag([question])
    assert parse_forms(doc, FORMS) == Counted(reason)


@pytest.mark.parametrize(
    "question",
    [
        "How many different animals are there?",
        "How many glasses have something in them?",
        "How many surfers have the same board?",
        "How many giraffes have their heads up?",
        "How many total straws are there?",
    ],
)
def test_what_fits_no_single_one(question: str) -> None:
    assert found("all", (question, "1")).skipped["reason"].to_list() == [sources.NO_SINGULAR]
    assert len(found("all", (question, "2")).eligible) == 1


def test_slips_are_mended_with_further_forms_only() -> None:
    rows = [
        ("How many lamp post are there?", "2"),
        ("What color is the boy wearing?", "orange"),
        ("What kind of animal is this?", "it's a cow"),
        ("What kind of animals is this?", "cow"),
    ]
    assert len(found("paper", *rows).eligible) == 4
    assert found(",".join((*PAPER_FORMS, "seen")), *rows).skipped["reason"].to_list() == [
        how_many.SINGULAR,
        sources.NO_NOUN_PHRASE,
        sources.NO_KIND,
        sources.PLURAL_SUBJECT,
    ]


def test_a_no_asks_for_no_property_of_a_kind() -> None:
    kinds = ["cow", "dog", "horse"] * 20 + ["brown", "wild"] * 5
    table = questions(*(("What type of animal is this?", kind) for kind in kinds))
    made = augment_questions(table, RadConfig(forms="all")).augmentations.filter(pl.col("answer") == "no")
    asked = {own: set(part["substituted_answer"]) for (own,), part in made.group_by("original_answer")}
    assert len(asked) == 5
    assert all(asked[kind] <= {"cow", "dog", "horse"} - {kind} for kind in ("cow", "dog", "horse"))
    assert "cow" in asked["brown"] | asked["wild"]


WORDS = st.sampled_from(
    ["red", "buses", "legs", "people", "two", "stop", "teddy", "is", "are", "does", "do", "have", "has",
     "wear", "the", "a", "of", "in", "it", "which", "and", "there", "can", "you", "see", "seen", "be", ",",
     "-", "'", '"', "different", "wearing", "how", "many", "none", "'s"]
)  # fmt: skip


@given(st.lists(WORDS, max_size=9))
def test_any_words_end_in_a_form_or_a_reason(drawn: list[str]) -> None:
    (doc,) = load_tagger().tag([f"How many {' '.join(drawn)}?"])
    for forms in (FORMS, ("have",), ("modified", "seen")):
        one = parse_forms(doc, forms)
        assert (one.reason is None) == (one.form is not None) == (one.plural is not None)
        assert one.form is None or one.form in (*PAPER_FORMS, *forms)
        assert (one.opening is not None) == (one.form == "does-have")
        asked = f"{one.opening or ''} {one.plural or ''} {one.singular or ''}"
        assert "?" not in asked
    assert parse_forms(doc, PAPER_FORMS) == without_seen(parse_how_many(doc))


def without_seen(one: Counted) -> Counted:
    return Counted(how_many.OTHER_VERB) if one.form == "seen" else one


def test_numbers_in_words_by_another_library() -> None:
    engine = inflect.engine()
    for number in range(100):
        text = str(engine.number_to_words(number))
        assert written_number(text, "How many dogs") == str(number)
        assert written_number(f"there are {text.upper()} dogs.", "How many dogs") == str(number)
        assert written_number(f"{text} cats", "How many dogs") is None


@pytest.mark.parametrize(
    "text",
    ["", "-1", "1.5", "2-3", "one or two", "half", "two hundred", "dozens", "1st", "many, at least 20"],
)
def test_what_is_no_one_number(text: str) -> None:
    assert written_number(text, "How many dogs are there") is None


def test_digits_of_other_scripts() -> None:
    assert written_number("\u0662 dogs", "How many dogs are there") == "2"
