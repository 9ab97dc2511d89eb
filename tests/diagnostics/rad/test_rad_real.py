"""The 57,038 real questions: counts against the paper, and what must hold for each row."""

import math

import polars as pl
import pytest

from shortcut_miner.diagnostics.rad.augment import Augmented, augment_questions
from shortcut_miner.diagnostics.rad.colors import are_compatible, color_set
from shortcut_miner.diagnostics.rad.config import FORMS, PAPER_FORMS, RadConfig
from shortcut_miner.diagnostics.rad.pools import NO_OTHER_ANSWER, answer_pools, draw_answers
from shortcut_miner.diagnostics.rad.sources import find_sources
from shortcut_miner.text import normalise_answer

pytestmark = pytest.mark.real

OPENINGS = {"colors": 2_414, "how-many": 15_998, "what-kind": 279}
AUGMENTATIONS = {"colors": 2_383, "how-many": 12_120, "what-kind": 275}


def count_by_type(frame: pl.DataFrame) -> dict[str, int]:
    return dict(frame.drop_nulls("augmentation")["augmentation"].value_counts().rows())


def test_every_question_ends_in_a_row_or_a_reason(
    real_questions: pl.DataFrame, real_augmented: Augmented
) -> None:
    made, skipped = real_augmented.augmentations, real_augmented.skipped
    assert len(real_questions) == 57_038
    ended = pl.concat([made["question_id"], skipped["question_id"]])
    assert ended.n_unique() == len(ended) == len(real_questions)
    assert skipped["reason"].null_count() == 0


def test_counts_by_type(real_augmented: Augmented) -> None:
    made = count_by_type(real_augmented.augmentations)
    skipped = count_by_type(real_augmented.skipped)
    assert made == AUGMENTATIONS
    assert {kind: made[kind] + skipped[kind] for kind in made} == OPENINGS
    assert real_augmented.skipped.filter(pl.col("reason") == NO_OTHER_ANSWER).height == 1


def test_shares_are_those_of_the_specification(real_augmented: Augmented) -> None:
    shares = {kind: round(100 * count / 57_038, 1) for kind, count in AUGMENTATIONS.items()}
    assert shares == {"colors": 4.2, "how-many": 21.2, "what-kind": 0.5}


def test_yes_and_no_are_even(real_questions: pl.DataFrame) -> None:
    eligible = find_sources(real_questions.gather_every(5), RadConfig()).eligible
    assert eligible["augmentation"].n_unique() == len(AUGMENTATIONS)
    pools = answer_pools(eligible)
    for seed in range(5):
        drawn = draw_answers(eligible, pools, RadConfig(seed=seed)).rows
        for _, rows in drawn.group_by("augmentation"):
            yes = (rows["drawn_answer"] == "yes").sum()
            assert abs(yes - len(rows) / 2) <= 3 * math.sqrt(len(rows)) / 2


def test_every_text_is_well_formed(real_augmented: Augmented) -> None:
    texts = real_augmented.augmentations["question"]
    assert (texts.str.count_matches(r"\?") == 1).all()
    assert texts.str.ends_with("?").all()
    assert not texts.str.contains(r"\s\s|\s\?|\A\s|\.\?").any()
    assert texts.str.contains(r"^(Is the color of the|Are there|Is there one|Is this) ?").all()


def test_agreement_follows_the_number(real_augmented: Augmented) -> None:
    rows = real_augmented.augmentations.filter(pl.col("augmentation") == "how-many")
    is_one = rows["substituted_answer"] == "1"
    assert (rows["question"].str.starts_with("Is there one ") == is_one).all()
    assert (rows["question"].str.starts_with("Are there ") == ~is_one).all()
    first_word = rows.filter(is_one)["question"].str.extract(r"^Is there one (\w+)").unique()
    assert set(first_word.filter(first_word.str.contains(r"([^su]s|people|men|feet|mice|children)$"))) == {
        "species",
        "tennis",
    }


def test_a_no_never_asks_with_an_answer_somebody_gave(
    real_questions: pl.DataFrame, real_augmented: Augmented
) -> None:
    no = real_augmented.augmentations.filter(pl.col("answer") == "no")
    no = no.join(
        real_questions.select("question_id", "answers"), on="question_id", how="left", validate="1:1"
    )
    for row in no.iter_rows(named=True):
        asked = normalise_answer(row["substituted_answer"])
        assert asked not in {normalise_answer(one) for one in (row["original_answer"], *row["answers"])}
        if row["augmentation"] == "colors":
            own = color_set(row["substituted_answer"]) or frozenset()
            for said in (row["original_answer"], *row["answers"]):
                others = color_set(said)
                assert others is None or not are_compatible(own, others)


def test_a_yes_asks_with_the_answer_itself(real_augmented: Augmented) -> None:
    yes = real_augmented.augmentations.filter(pl.col("answer") == "yes")
    assert (yes["substituted_answer"] == yes["original_answer"].str.strip_chars()).all()


def test_without_the_annotators_a_no_may_ask_with_their_answers(real_questions: pl.DataFrame) -> None:
    sample = real_questions.filter(pl.col("question").str.starts_with("What color is the"))
    made = augment_questions(sample, RadConfig(exclude_annotators=False)).augmentations
    no = made.filter(pl.col("answer") == "no").join(
        sample.select("question_id", "answers"), on="question_id", how="left", validate="1:1"
    )
    assert no.filter(pl.col("substituted_answer").is_in("answers")).height > 0
    assert (no["substituted_answer"] != no["original_answer"]).all()


def test_what_further_forms_gain(real_questions: pl.DataFrame, real_augmented: Augmented) -> None:
    made = augment_questions(real_questions, RadConfig(forms="all")).augmentations
    counts = dict(made["form"].value_counts().rows())
    gained = {form: counts.get(form) for form in FORMS if form not in PAPER_FORMS}
    assert gained == {
        "seen": 912, "modified": 940, "does-have": 375, "have": 156, "number-words": None,
        "color-are": 487, "what-type": 220,
    }  # fmt: skip
    assert not set(real_augmented.augmentations["form"]) & set(gained)
