"""The balanced draw: its margins, by brute force where they are told; what does not change it."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from diagnostics.rad.tables import questions
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from shortcut_miner.diagnostics.rad import balanced, fits
from shortcut_miner.diagnostics.rad.augment import Augmented, augment_questions
from shortcut_miner.diagnostics.rad.config import RadConfig
from shortcut_miner.diagnostics.rad.fits import Told, degrees_of_fit, fit_of_subject, fit_of_words, head_noun
from shortcut_miner.diagnostics.rad.outputs import find_leak
from shortcut_miner.diagnostics.rad.pools import draw_answers
from shortcut_miner.diagnostics.rad.raking import balanced_factors, places_in
from shortcut_miner.diagnostics.rad.sources import find_sources
from shortcut_miner.errors import SchemaError

SUBJECTS = st.sampled_from(["bus", "Bus on the left", "red bus", "cat", "cat's tail", "sky"])
ROWS = st.lists(st.tuples(SUBJECTS, st.integers(0, 3)), min_size=2, max_size=14)


def columns(rows: list[tuple[str, int]]) -> tuple[list[str], np.ndarray]:
    return [subject for subject, _ in rows], np.array([answer for _, answer in rows], np.int64)


@given(ROWS)
def test_fit_of_a_subject_by_brute_force(rows: list[tuple[str, int]]) -> None:
    subjects, own = columns(rows)
    found = fit_of_subject(Told.of(own, 4, subjects), own, subjects)
    for at, (subject, _) in enumerate(rows):
        others = [row for place, row in enumerate(rows) if place != at]
        for answer in range(4):
            share = (sum(one == answer for _, one in others) + 0.5) / (len(others) + 2)
            told = share
            for same in (
                [one for text, one in others if head_noun(text) == head_noun(subject)],
                [one for text, one in others if text.lower() == subject.lower()],
            ):
                told = (same.count(answer) + fits.STRENGTH * told) / (len(same) + fits.STRENGTH)
            assert found[at, answer] == pytest.approx(told / share)


@given(ROWS)
def test_fit_of_words_by_brute_force(rows: list[tuple[str, int]]) -> None:
    subjects, own = columns(rows)
    found = fit_of_words(Told.of(own, 4, subjects), own, subjects)
    for at, (subject, _) in enumerate(rows):
        others = [row for place, row in enumerate(rows) if place != at]
        words = set(subject.lower().split())
        for answer in range(4):
            share = (sum(one == answer for _, one in others) + 0.5) / (len(others) + 2)
            told = 0.0
            for word in words:
                same = [one for text, one in others if word in text.lower().split()]
                told += (same.count(answer) + fits.STRENGTH * share) / (len(same) + fits.STRENGTH)
            assert found[at, answer] == pytest.approx(told / share / len(words))


def weights_of(
    own: np.ndarray, allowed: np.ndarray, subjects: list[str], *, by_noun: bool = False
) -> np.ndarray:
    """Return the shares with which each row asks for each answer."""
    told = Told.of(own, allowed.shape[1], subjects)
    degrees = degrees_of_fit(told, own, subjects)
    said = np.ones(len(own)), np.ones(len(own))
    noun = np.array([1 + told.names["noun"][head_noun(one)] for one in subjects]) if by_noun else 0 * own
    factors = balanced_factors(own, allowed, degrees, noun, told.counts, said)
    found = factors.weights(told.counts, allowed, degrees, noun)
    sums = found.sum(axis=1, keepdims=True)
    return np.divide(found, sums, out=np.zeros_like(found), where=sums > 0)


@given(ROWS)
def test_what_is_written_is_read(rows: list[tuple[str, int]]) -> None:
    subjects, own = columns(rows)
    told = Told.of(own, 4, subjects)
    read = Told.read(told.counts, told.written().sample(fraction=1, shuffle=True, seed=1))
    for one, other in zip(
        degrees_of_fit(told, own, subjects), degrees_of_fit(read, own, subjects), strict=True
    ):
        assert (one == other).all()
    assert told.lacks([*subjects, "nobody's hat"]) == ["nobody's hat"]


@given(ROWS, st.data())
def test_weights_are_shares_of_what_is_allowed(rows: list[tuple[str, int]], data: st.DataObject) -> None:
    subjects, own = columns(rows)
    allowed = own[:, None] != np.arange(4)
    lost = data.draw(st.sets(st.tuples(st.integers(0, len(rows) - 1), st.integers(0, 3)), max_size=6))
    for row, answer in lost:
        allowed[row, answer] = False
    weights = weights_of(own, allowed & (np.bincount(own, minlength=4) > 0), subjects)
    assert not weights[~allowed].any()
    sums = weights.sum(axis=1)
    can = (allowed & (np.bincount(own, minlength=4) > 0)).any(axis=1)
    assert sums == pytest.approx(can.astype(float))


@given(st.integers(0, 10_000), st.booleans())
def test_no_asks_what_yes_asks_where_that_can_be(seed: int, is_skewed: bool) -> None:
    """Both margins hold: how often each answer is asked for, and how well it fits."""
    drawn = np.random.default_rng(seed)
    subjects = drawn.choice(["bus", "cat", "sky"], 300).tolist()
    shares = [0.4, 0.3, 0.2, 0.1] if is_skewed else [0.25] * 4
    own = drawn.choice(4, 300, p=shares).astype(np.int64)
    allowed = own[:, None] != np.arange(4)
    weights = weights_of(own, allowed, subjects)
    of_pool = allowed * np.bincount(own, minlength=4)
    of_pool = of_pool / of_pool.sum(axis=1, keepdims=True)
    assert answers_amiss(weights, own) < answers_amiss(of_pool, own) / 2 + 1
    _, degrees = degrees_of_fit(Told.of(own, 4, subjects), own, subjects)
    assert degrees_amiss(weights, own, degrees) <= degrees_amiss(of_pool, own, degrees) + 1


def test_twenty_questions_about_two_nouns() -> None:
    """Each noun's answers are asked for as often under "no": a red bus is asked for blue, never for white."""
    subjects, own = ["bus"] * 10 + ["cat"] * 10, np.array([0, 1] * 5 + [2, 3] * 5)
    weights = weights_of(own, own[:, None] != np.arange(4), subjects, by_noun=True)
    other = np.where(own % 2 == 0, own + 1, own - 1)
    assert weights[np.arange(20), other] == pytest.approx(np.ones(20), abs=0.02)


@given(st.integers(0, 10_000))
def test_no_asks_within_a_noun_what_yes_asks(seed: int) -> None:
    """Each noun's answers are nearer to "yes" than without that margin, and than by the paper's pool."""
    drawn = np.random.default_rng(seed)
    subjects = drawn.choice(["bus", "cat", "sky"], 300)
    shares = {"bus": [0.4, 0.3, 0.2, 0.1], "cat": [0.1, 0.2, 0.3, 0.4], "sky": [0.25] * 4}
    own = np.array([drawn.choice(4, p=shares[one]) for one in subjects])
    allowed = own[:, None] != np.arange(4)
    of_pool = allowed * np.bincount(own, minlength=4)
    tables = [
        weights_of(own, allowed, subjects.tolist(), by_noun=True),
        weights_of(own, allowed, subjects.tolist()),
        of_pool / of_pool.sum(axis=1, keepdims=True),
    ]
    amiss = [
        sum(answers_amiss(one[subjects == noun], own[subjects == noun]) for noun in shares) for one in tables
    ]
    assert amiss[0] <= min(amiss[1:]) + 1
    assert amiss[0] < 60


def answers_amiss(weights: np.ndarray, own: np.ndarray) -> float:
    """Return how many rows would have to ask something else for "no" to ask what "yes" asks."""
    return float(np.abs(weights.sum(axis=0) - np.bincount(own, minlength=weights.shape[1])).sum() / 2)


def degrees_amiss(weights: np.ndarray, own: np.ndarray, degrees: np.ndarray) -> float:
    count = degrees.max() + 1
    asked = np.bincount(degrees.ravel(), weights.ravel(), minlength=count)
    return float(np.abs(asked - np.bincount(degrees[np.arange(len(own)), own], minlength=count)).sum() / 2)


def test_places() -> None:
    weights = np.array([[0.0, 0.5, 0.0, 0.5, 0.0]] * 4)
    uniform = np.array([0.0, 0.49, 0.5, 1 - 2**-53])
    assert places_in(weights, uniform).tolist() == [1, 1, 3, 3]


def skewed() -> pl.DataFrame:
    usual = {"banana": "yellow", "grass": "green", "sky": "blue", "snow": "white", "rose": "red"}
    drawn = np.random.default_rng(7)
    rows = []
    for at in range(1500):
        subject = list(usual)[at % 5]
        answer = usual[subject] if drawn.random() < 0.25 else str(drawn.choice(list(usual.values())))
        rows.append((f"What color is the {subject}?", answer))
    return questions(*rows)


@pytest.fixture(scope="module")
def made() -> Augmented:
    return augment_questions(skewed(), RadConfig(draw="balanced"))


def test_every_question_asks_what_it_may(made: Augmented) -> None:
    rows = made.augmentations
    assert len(rows) == 1500
    is_same = rows["substituted_answer"] == rows["original_answer"]
    assert ((rows["answer"] == "yes") == is_same).all()


def test_no_leak_is_left(made: Augmented) -> None:
    paper = find_leak(augment_questions(skewed()).augmentations)["accuracy"][0]
    assert paper > 59
    assert 45 < find_leak(made.augmentations)["accuracy"][0] < 54
    counts = Counter(made.augmentations.select("substituted_answer", "answer").iter_rows())
    for color in ("yellow", "green", "blue", "white", "red"):
        yes, no = counts[color, "yes"], counts[color, "no"]
        assert abs(yes - no) < 5 * np.sqrt(yes + no)


def test_order_changes_nothing_and_the_seed_does(made: Augmented) -> None:
    shuffled = skewed().sample(fraction=1, shuffle=True, seed=3)
    again = augment_questions(shuffled, RadConfig(draw="balanced")).augmentations
    assert_frame_equal(again, made.augmentations)
    other = augment_questions(skewed(), RadConfig(draw="balanced", seed=1)).augmentations
    assert not other.equals(made.augmentations)


def test_as_many_say_yes_as_no(made: Augmented) -> None:
    assert (made.augmentations["answer"] == "yes").sum() == 750
    paper = augment_questions(skewed()).augmentations
    # The coin is the paper's but for its border.
    assert (made.augmentations["answer"] == paper["answer"]).mean() > 0.95


def test_shards_draw_what_the_whole_draws(made: Augmented) -> None:
    config = RadConfig(draw="balanced")
    parts = [
        augment_questions(skewed()[at::3], config, pools=made.pools, balance=made.balance).augmentations
        for at in range(3)
    ]
    assert_frame_equal(pl.concat(parts).sort("question_id"), made.augmentations)


def test_factors_found_on_a_part_of_the_rows(made: Augmented, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balanced, "MOST_CELLS", 500 * 5)
    part = augment_questions(skewed(), RadConfig(draw="balanced"))
    assert (part.augmentations["substituted_answer"] == made.augmentations["substituted_answer"]).mean() > 0.9
    assert not part.augmentations.equals(made.augmentations)


def test_a_balance_of_other_questions_is_refused(made: Augmented) -> None:
    config, balance = RadConfig(draw="balanced"), made.balance
    assert balance is not None
    other = questions(*[("What color is the tram?", "red"), ("What color is the sky?", "blue")])
    eligible = find_sources(other, config).eligible
    with pytest.raises(
        SchemaError, match="balance: got nothing of 1 subjects: 'tram', expected what a build on"
    ):
        draw_answers(eligible, made.pools, config, balance)
    with pytest.raises(SchemaError, match="balance: got 1 answers that the pools lack: 'red'"):
        draw_answers(eligible, made.pools.filter(pl.col("substitute") != "red"), config, balance)
    several = RadConfig(draw="balanced", per_question=2)
    with pytest.raises(SchemaError, match="got 1 draws of a question and not 2"):
        draw_answers(find_sources(skewed(), config).eligible, made.pools, several, balance)
    for broken, told in (
        (balance.filter(pl.col("measure") != "noun"), "balance: got nothing of 5 subjects: 'banana'"),
        (balance.filter(pl.col("measure") != "word"), "balance: got nothing of 5 subjects: 'banana'"),
        (balance.filter(pl.col("measure") != "answer"), "got answers that are not those of the pools"),
        (balance.filter(pl.col("measure") != "coin"), "got 0 draws of a question and not 1"),
        (balance.filter(pl.col("name") != "3"), "got other degrees of fit"),
        (balance.with_columns(pl.col("name").replace("3", "three")), "got other degrees of fit"),
        (balance.with_columns(pl.col("substitute").replace("red", "rot")), "that are not those of the pools"),
        (balance.clear(), "got 0 draws of a question and not 1"),
        (balance.drop("weight"), "column weight: got no such column, expected Float64"),
        (pl.concat([balance, balance[:1]]), "a row twice"),
        (balance.with_columns(weight=-pl.col("weight")), "weights that are no numbers from 0 on"),
        (
            balance.with_columns(pl.col("weight").replace(balance["weight"][0], float("nan"))),
            "weights that are no",
        ),
    ):
        with pytest.raises(SchemaError, match=told):
            draw_answers(find_sources(skewed(), config).eligible, made.pools, config, broken)


@pytest.mark.real
def test_real_questions_leave_little_to_guess(real_questions: pl.DataFrame) -> None:
    made = augment_questions(real_questions, RadConfig(draw="balanced"))
    leak = {name: accuracy for name, rows, accuracy, _ in find_leak(made.augmentations).rows() if rows > 500}
    assert leak.keys() == {"colors", "how-many"}
    assert max(leak.values()) <= 52
