"""Whether labels can be guessed from text: brute force for the prior, and what a leak looks like."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.errors import ConfigError, SchemaError
from shortcut_miner.scoring.leak import STRENGTH, Prior, _AnswerCounts, _present_grams, leak_check

PRIOR = Prior(context="original_question", given="original_answer", asked="substituted_answer")


def asked_rows(count: int, *, leaks: bool) -> pl.DataFrame:
    """Return questions about buses (mostly red) and skies (mostly blue); without a leak, half are right."""
    drawn = np.random.default_rng(0)
    rows = []
    for at in range(count):
        subject = ("bus", "sky")[at % 2]
        usual, other = ("red", "blue") if subject == "bus" else ("blue", "red")
        given_answer = usual if drawn.random() < 0.9 else other
        is_yes = drawn.random() < 0.5
        asked = given_answer if is_yes else {"red": "blue", "blue": "red"}[given_answer]
        if not leaks:  # the answer asked for is a coin, and so is whether it is right
            asked = ("red", "blue")[int(drawn.random() < 0.5)]
            given_answer = asked if is_yes else {"red": "blue", "blue": "red"}[asked]
        question, augmented = f"What color is the {subject}?", f"Is the {subject} {asked}?"
        rows.append((str(at), question, given_answer, asked, augmented, "yes" if is_yes else "no"))
    columns = ["image_id", PRIOR.context, PRIOR.given, PRIOR.asked, "question", "answer"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def test_a_leak_is_found_and_none_is_not() -> None:
    (leaking,) = leak_check(asked_rows(2000, leaks=True), prior=PRIOR).rows(named=True)
    assert leaking["rows"] == 2000
    assert 88 < leaking["accuracy"] < 92
    (fair,) = leak_check(asked_rows(2000, leaks=False), prior=PRIOR).rows(named=True)
    assert 46 < fair["accuracy"] < 54
    assert 50 <= fair["majority"] < 53


def test_groups_are_judged_each_on_its_own_whatever_the_order() -> None:
    table = pl.concat([
        asked_rows(400, leaks=True).with_columns(kind=pl.lit("b")),
        asked_rows(300, leaks=False).with_columns(kind=pl.lit("a")),
    ])  # fmt: skip
    found = leak_check(table, by="kind", prior=PRIOR)
    assert found.select("group", "rows").rows() == [("a", 300), ("b", 400)]
    assert leak_check(table.sample(fraction=1, shuffle=True, seed=1), by="kind", prior=PRIOR).equals(found)
    alone = leak_check(table.filter(kind="b"), prior=PRIOR)
    assert alone["accuracy"][0] == found["accuracy"][1]


def test_the_same_image_never_helps() -> None:
    """Every image has its own word, which tells the label: no other image knows it."""
    words = [f"w{at // 4}" for at in range(400)]
    labels = [("yes", "no")[(at // 4) % 2] for at in range(400)]
    table = pl.DataFrame(
        {"question": words, "answer": labels, "image_id": [str(at // 4) for at in range(400)]}
    )
    assert leak_check(table)["accuracy"][0] <= 60
    known = table.with_columns(image_id=pl.Series([str(at % 4) for at in range(400)]))
    assert leak_check(known)["accuracy"][0] == 100


def test_what_can_not_be_judged() -> None:
    table = pl.DataFrame({"question": ["a", "b"], "answer": ["yes", "no"], "image_id": ["1", "1"]})
    assert leak_check(table).rows() == [("all", 2, None, 50.0)]
    same = pl.DataFrame({"question": ["a"] * 50, "answer": "yes", "image_id": [str(at) for at in range(50)]})
    assert leak_check(same).rows() == [("all", 50, 100.0, 100.0)]
    other = same.with_columns(question="image_id", answer=pl.Series(["no"] * 2 + ["yes"] * 48))
    assert leak_check(other).rows() == [("all", 50, 96.0, 96.0)]


def test_bad_rows_are_told() -> None:
    table = pl.DataFrame({"question": ["a", None], "image_id": ["1", "2"]})
    with pytest.raises(SchemaError, match=r"1 x null in column question"):
        leak_check(table)
    with pytest.raises(SchemaError, match=r"no column answer"):
        leak_check(table)
    with pytest.raises(ConfigError, match="folds: got 1, expected 2 to 100"):
        leak_check(table, folds=1)


WORDS = st.lists(st.sampled_from(["bus", "sky", "cat"]), min_size=1, max_size=3).map(" ".join)
ANSWERS = st.sampled_from(["red", "blue", "green"])


@given(st.lists(st.tuples(WORDS, ANSWERS, ANSWERS, st.integers(0, 2)), min_size=2, max_size=12))
def test_the_prior_counts_other_folds(rows: list[tuple[str, str, str, int]]) -> None:
    texts, own, asked, fold = (list(one) for one in zip(*rows, strict=True))
    grams = _present_grams(pl.Series(texts))
    counts = _AnswerCounts.of(grams, pl.Series(own), pl.Series(asked), np.array(fold, np.int64), 3)
    found = counts.features(0, 3)
    has = [set(grams[at].indices.tolist()) for at in range(len(rows))]
    names = sorted({*own, *asked})
    for at in range(len(rows)):
        told = [one for one in range(len(rows)) if fold[one] not in (0, fold[at])]
        if fold[at] == 0:
            told = [one for one in range(len(rows)) if fold[one] != 0]
        share = (sum(own[one] == asked[at] for one in told) + 0.5) / (len(told) + 0.5 * len(names))
        ratios = []
        for gram in has[at]:
            alone = sum(gram in has[one] for one in told)
            both = sum(gram in has[one] and own[one] == asked[at] for one in told)
            ratios.append(math.log((both + STRENGTH * share) / (alone + STRENGTH) / share))
        mean = sum(ratios) / max(len(ratios), 1)
        assert found[at, 0] == pytest.approx(mean, abs=1e-9)
        assert found[at, 2] == pytest.approx(max([0, *ratios]), abs=1e-9)
        assert found[at, 3] == pytest.approx(min([0, *ratios]), abs=1e-9)
        assert found[at, 4] == pytest.approx(math.log(share), abs=1e-9)
