import pytest

from shortcut_miner.diagnostics.rad import how_many
from shortcut_miner.diagnostics.rad.how_many import Counted, parse_how_many
from shortcut_miner.diagnostics.rad.language import load_tagger


def parsed(question: str) -> Counted:
    (doc,) = load_tagger().tag([question])
    return parse_how_many(doc)


@pytest.mark.parametrize(
    ("question", "form", "plural", "singular"),
    [
        ("How many people are wearing hats?", "are", "people wearing hats", "person wearing hats"),
        ("How many slices of pizza are there?", "are-there", "slices of pizza", "slice of pizza"),
        ("How many people are there in view?", "are-there", "people in view", "person in view"),
        ("How many giraffes?", "bare", "giraffes", "giraffe"),
        ("How many traffic lights are visible?", "are", "traffic lights visible", "traffic light visible"),
        ("How many people on the beach?", "no-verb", "people on the beach", "person on the beach"),
        ("How many sheep are in the field?", "are", "sheep in the field", "sheep in the field"),
        ("How many men's ties are there?", "are-there", "men's ties", "men's tie"),
        ("How many zebras are near each other?", "are", "zebras near each other", None),
        ("How many scissors are there?", "are-there", "scissors", None),
        ("How many people are in the picture that are wearing hats?", "are",
         "people in the picture that are wearing hats", None),
        ("How many cats and dogs are in the picture?", "are", "cats and dogs in the picture", None),
        ("How many people can be seen on the left?", "seen", "people visible on the left",
         "person visible on the left"),
        ("How many slices of pizza do you see?", "seen", "slices of pizza visible", "slice of pizza visible"),
        ("How many sheep can you see?", "seen", "sheep visible", "sheep visible"),
        ("How many chairs are close to it?", "are", "chairs close to it", "chair close to it"),
    ],
)  # fmt: skip
def test_what_a_question_gives(question: str, form: str, plural: str, singular: str | None) -> None:
    assert parsed(question) == Counted(None, form, plural, singular)


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("How many of the people are sitting?", how_many.NOT_A_NOUN),
        ("How many red cars are there?", how_many.NOT_A_NOUN),
        ("How many?", how_many.NOT_A_NOUN),
        ("How many people do you know?", how_many.OTHER_VERB),
        ("How many people can be helped?", how_many.OTHER_VERB),
        ("How many people that wear hats can be seen?", how_many.OTHER_VERB),
        ("How many elephant do you see?", how_many.SINGULAR),
        ("How many people do you see and are they happy?", how_many.NOT_A_MODIFIER),
        ("How many people have hats?", how_many.OTHER_VERB),
        ("How many people is there?", how_many.OTHER_VERB),
        ("How many people that are sitting are wearing hats?", how_many.RELATIVE),
        ("How many umbrellas are blue?", how_many.NOT_A_MODIFIER),
        ("How many animals are these?", how_many.NOT_A_MODIFIER),
        ("How many horses are they riding?", how_many.NOT_A_MODIFIER),
        ("How many dogs are?", how_many.NOT_A_MODIFIER),
        ("How many people are in the picture and are they happy?", how_many.SECOND_CLAUSE),
    ],
)
def test_why_a_question_gives_nothing(question: str, reason: str) -> None:
    assert parsed(question) == Counted(reason)
