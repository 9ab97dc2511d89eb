"""Which scorer fits a question, and what it gives, against plain counting."""

from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.errors import ConfigError, SchemaError
from shortcut_miner.scoring.accuracy import score_questions
from shortcut_miner.scoring.scorers import choose_scorer, differing_in_form
from shortcut_miner.sources.questions.vqa import read_vqa
from shortcut_miner.text import normalise_answer, strip_answer

SCHEMA = {
    "question_id": pl.String,
    "image_id": pl.String,
    "answer": pl.String,
    "answers": pl.List(pl.String),
    "answer_record_key": pl.List(pl.UInt8),
}


def questions(*lists: list[str] | None, keys: list[list[int] | None] | None = None) -> pl.DataFrame:
    rows = [
        {"question_id": str(at), "image_id": "7", "answer": "yes", "answers": one, "answer_record_key": key}
        for at, (one, key) in enumerate(zip(lists, keys or [None] * len(lists), strict=True))
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


def accuracies(asked: pl.DataFrame, said: list[str], scorer: str = "auto") -> list[float]:
    predictions = asked.select("question_id", answer=pl.Series(said, dtype=pl.String))
    return score_questions(asked, predictions, scorer=scorer)["accuracy"].to_list()


def plain_accuracy(answers: list[str], said: str) -> float:
    """Return the accuracy by the number of answers, as its definition says it."""
    is_raw = len(answers) >= 10 and len({strip_answer(one) for one in answers}) == 1
    form = strip_answer if is_raw else lambda text: normalise_answer(strip_answer(text))
    matches = [form(one) == form(said) for one in answers]
    if len(answers) < 3:
        return 100.0 * any(matches)
    if len(answers) < 10:
        return 100 * min(3, sum(matches)) / 3
    others = [sum(matches) - own for own in matches]
    return 100 * sum(min(3, one) for one in others) / (3 * len(answers))


answer = st.sampled_from(["red", "Red", "red.", "the red", "two", "2", ""])
asked = st.tuples(st.lists(answer, min_size=1, max_size=13), answer)


@given(cases=st.lists(asked, max_size=6))
def test_auto_equals_its_definition(cases: list[tuple[list[str], str]]) -> None:
    found = accuracies(questions(*(answers for answers, _ in cases)), [said for _, said in cases])
    assert found == [plain_accuracy(answers, said) for answers, said in cases]


@pytest.mark.parametrize(
    ("size", "scorer"),
    [(1, "any-answer"), (2, "any-answer"), (3, "three-agree"), (9, "three-agree"), (10, "vqa-official"),
     (12, "vqa-official")],
)  # fmt: skip
def test_the_number_of_answers_decides_and_a_perfect_model_has_100(size: int, scorer: str) -> None:
    table = questions(["yes"] * size)
    assert choose_scorer(table).name == scorer
    assert accuracies(table, ["yes"]) == [100.0]
    assert accuracies(table, ["no"]) == [0.0]


@pytest.mark.parametrize(
    ("key", "scorer"),
    [
        ([0] * 10, "three-agree"),
        ([0] * 8 + [1, 2], "three-agree"),
        ([0] * 7 + [1, 2, 3], "vqa-official"),
        ([0, 0, 1, 2, 3, 4, 5, 6, 7, 8], "vqa-official"),
    ],
)
def test_ids_that_repeat_leave_the_official_accuracy_where_it_can_give_100(
    key: list[int], scorer: str
) -> None:
    table = questions(["yes"] * 10, keys=[key])
    assert choose_scorer(table).name == scorer
    assert accuracies(table, ["yes"]) == [100.0]


def test_few_answers_are_compared_after_normalisation() -> None:
    table = questions(["yes"], ["two dogs", "cat"], ["red", "red", "blue"])
    assert accuracies(table, ["Yes.", "The 2 dogs!", "Red"]) == [100.0, 100.0, pytest.approx(200 / 3)]


def test_what_was_chosen_is_said_with_its_reason() -> None:
    assert choose_scorer(questions(["a"], ["a", "b"])).notes == (
        "scorer any-answer: all 2 questions have 1 or 2 answers by annotators: right is what equals one of "
        "them",
    )
    assert choose_scorer(questions(["a"] * 10)).notes == (
        "scorer vqa-official: all 1 questions have 10 or more answers by annotators",
    )


def test_counts_that_vary_are_scored_by_question_and_told() -> None:
    table = questions(["a"], ["a"] * 5, ["a"] * 10, ["a", "b"])
    chosen = choose_scorer(table)
    assert chosen.each.to_list() == ["any-answer", "three-agree", "vqa-official", "any-answer"]
    assert chosen.name == "vqa-official + three-agree + any-answer"
    assert chosen.as_option == "auto"
    assert chosen.counts == {
        "questions_any-answer": 2,
        "questions_three-agree": 1,
        "questions_vqa-official": 1,
    }
    assert chosen.notes == (
        "scorer by question: vqa-official for 1 with 10 or more answers by annotators; three-agree for 1 "
        "with 3 or more answers by annotators: right is what three of them gave; any-answer for 2 with 1 or "
        "2 answers by annotators: right is what equals one of them",
    )
    predictions = pl.DataFrame({"question_id": table["question_id"], "answer": ["a"] * 4})
    scored = score_questions(table, predictions)
    assert set(scored["scorer"]) == {"vqa-official + three-agree + any-answer"}
    assert scored["accuracy"].to_list() == [100.0] * 4


def test_one_scorer_for_all_is_no_count_of_its_own() -> None:
    chosen = choose_scorer(questions(["a"], ["b"]))
    assert (chosen.as_option, chosen.counts, chosen.warnings) == ("any-answer", {}, ())


@pytest.mark.parametrize(
    ("scorer", "told"),
    [
        (
            "vqa-official",
            "2 x question with 1 answer, 1 x question with 3 answers, expected 4 or more for each",
        ),
        ("vqa-normalized", "2 x question with 1 answer, 1 x question with 3 answers, expected 4 or more for"),
        ("three-agree", "2 x question with 1 answer, expected 3 or more for each"),
    ],
)
def test_a_scorer_that_can_give_no_answer_100_is_refused(scorer: str, told: str) -> None:
    table = questions(["a"], ["a"] * 3, ["b"], ["a"] * 4)
    with pytest.raises(ConfigError) as caught:
        choose_scorer(table, scorer)
    message = str(caught.value)
    assert message.startswith(f"scorer {scorer}: got {told}")
    assert message.endswith("with fewer no answer can score 100. Give --scorer auto.")


@pytest.mark.parametrize(
    ("scorer", "fewest"), [("vqa-official", 4), ("vqa-normalized", 4), ("three-agree", 3), ("any-answer", 1)]
)
def test_the_fewest_answers_are_those_with_which_100_can_be_reached(scorer: str, fewest: int) -> None:
    enough = questions(["a"] * fewest)
    assert choose_scorer(enough, scorer).name == scorer
    assert accuracies(enough, ["a"], scorer) == [100.0]
    if fewest > 1:
        too_few = questions(["a"] * (fewest - 1))
        assert accuracies(too_few, ["a"], scorer)[0] < 100
        with pytest.raises(ConfigError, match=f"expected {fewest} or more"):
            choose_scorer(too_few, scorer)


def test_ten_answers_that_no_id_tells_apart_are_not_left_out_at_once() -> None:
    table = questions(["a"] * 10, ["a"] * 10, keys=[[0] * 10, None])
    assert accuracies(table, ["a", "a"], "vqa-official") == [0.0, 100.0]  # as the official program does
    assert accuracies(table, ["a", "a"]) == [100.0, 100.0]
    assert choose_scorer(table).notes[1] == (
        "questions with 10 or more answers that no id tells apart: 1, scored by three-agree, as the official "
        "program would leave all equal ones out at once"
    )
    assert choose_scorer(table, "vqa-official").warnings == (
        "scorer vqa-official: 1 of 2 questions have answers without an id of their own; like the official "
        "program it leaves all equal ones out at once, so right answers score less. --scorer auto takes each "
        "for another annotator's",
    )
    assert choose_scorer(table, "three-agree").warnings == ()


@pytest.mark.parametrize("scorer", ["auto", "any-answer", "vqa-official"])
def test_without_answers_the_message_names_the_scorer_that_needs_none(scorer: str) -> None:
    table = questions(None, ["a"] * 4, [])
    with pytest.raises(SchemaError) as caught:
        choose_scorer(table, scorer)
    assert str(caught.value) == (
        "questions: got 2 x question without annotators' answers: '0', '2', expected some for each of 3. "
        "Give --scorer exact, which compares with the one right answer, or add the answers."
    )
    assert choose_scorer(table, "exact").name == "exact"
    assert accuracies(table, ["yes", "no", "Yes"], "exact") == [100.0, 0.0, 0.0]


def test_an_unknown_scorer_is_told() -> None:
    with pytest.raises(ConfigError, match="scorer: got 'vqa', expected one of auto, vqa-official, vqa-norma"):
        choose_scorer(questions(["a"]), "vqa")


@pytest.mark.parametrize(("many", "is_told"), [(2, False), (3, True)])
def test_answers_wrong_for_their_form_alone_are_told_when_they_are_many(many: int, is_told: bool) -> None:
    table = questions(*[["yes"] * 10] * 250, *[["yes"] * 9 + ["no"]] * 40, *[["yes"]] * 10)
    said = ["Yes."] * many + ["no"] * (250 - many) + ["Yes"] * 50
    answers = table.select("question_id", answer=pl.Series(said))
    text = differing_in_form(table, answers, choose_scorer(table).each)
    told = (
        "3 of 300 answers differ from what all annotators gave in their form alone ('Yes.', 'yes'), which "
        "the official accuracy takes as wrong"
    )
    assert text == (told if is_told else None)
    wrong = [one == 0 for one in accuracies(table, said, "vqa-official")][:250]
    assert sum(wrong) == 250
    assert sum(accuracies(table, said, "vqa-normalized")[:250]) == 100.0 * many
    assert differing_in_form(table, answers, choose_scorer(table, "any-answer").each) is None


@pytest.mark.real
@pytest.mark.parametrize("size", [1, 3, 5, 10])
def test_real_annotations_cut_to_fewer_annotators(real_data: Path, size: int) -> None:
    files = real_data / "vqa60k"
    table, _, _ = read_vqa(files / "questions_valid.json.gz", files / "annotations_valid.json.gz")
    cut = table.with_columns(pl.col("answers").list.head(size)).with_columns(
        answer_record_key=pl.lit(None, pl.List(pl.UInt8))
    )
    lists = cut["answers"].to_list()
    perfect = [Counter(one).most_common(1)[0][0] for one in lists]
    found = accuracies(cut, perfect)
    assert found == [plain_accuracy(answers, said) for answers, said in zip(lists, perfect, strict=True)]
    if size == 1:
        assert set(found) == {100.0}
    unanimous = [one for one, answers in zip(found, lists, strict=True) if len(set(answers)) == 1]
    assert set(unanimous) == {100.0}
    if size == 10:
        predictions = pl.DataFrame({"question_id": table["question_id"], "answer": perfect})
        auto = score_questions(table, predictions)
        assert auto.equals(score_questions(table, predictions, scorer="vqa-official"))
