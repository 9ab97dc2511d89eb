"""Measures of the four counts: definitions by plain fractions, peers, and the ends of every range."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.mining.evidence import measures
from shortcut_miner.mining.evidence.measures import (
    FURTHER_MEASURES,
    MEASURES,
    RULE_MEASURES,
    binomial_excess_p,
    false_discovery_q,
    wilson_interval,
    with_further_measures,
    with_measures,
)
from shortcut_miner.schemas import MeasuredRules, Rules

COUNTS = ("transaction_count", "antecedent_count", "answer_count", "rule_count")


@st.composite
def four_counts(draw: st.DrawFn, most: int = 3_000_000_000) -> tuple[int, int, int, int]:
    total = draw(st.integers(1, most))
    rows, answers = draw(st.integers(1, total)), draw(st.integers(1, total))
    return total, rows, answers, draw(st.integers(max(0, rows + answers - total), min(rows, answers)))


def measured(*counts: int) -> dict[str, float]:
    columns = {name: [count] for name, count in zip(COUNTS, counts, strict=True)}
    table = pl.DataFrame(columns, schema=dict.fromkeys(COUNTS, pl.UInt64))
    return table.pipe(with_measures).pipe(with_further_measures).row(0, named=True)


@given(four_counts())
def test_leverage_and_certainty(counts: tuple[int, int, int, int]) -> None:
    total, rows, answers, right = counts
    got = measured(*counts)
    confidence, share = Fraction(right, rows), Fraction(answers, total)
    assert got["confidence"] == float(confidence)
    assert got["leverage"] == pytest.approx(float(Fraction(right, total) - Fraction(rows, total) * share))
    if confidence == share:
        certainty = Fraction(0)
    elif confidence > share:
        certainty = (confidence - share) / (1 - share)
    else:
        certainty = (confidence - share) / share
    assert got["certainty"] == pytest.approx(float(certainty), rel=1e-12)
    assert -1 <= got["certainty"] <= 1


def test_products_beyond_2_53_still_tell_equal_from_nearly_equal() -> None:
    size = 3_000_000_000
    assert measured(size, size - 1, size, size - 1)["leverage"] == 0
    assert measured(size, size - 1, size - 1, size - 2)["leverage"] < 0
    assert measured(size, size - 1, size - 1, size - 1)["leverage"] > 0


def test_measures_are_columns_of_the_tables() -> None:
    assert {*RULE_MEASURES} <= Rules.create_empty().schema.keys()
    known = MeasuredRules.create_empty().schema.keys()
    assert {*FURTHER_MEASURES} | {f"val_{name}" for name in FURTHER_MEASURES} <= known
    table = pl.DataFrame([(10, 4, 5, 3)], schema=COUNTS, orient="row")
    every = table.pipe(with_measures).pipe(with_further_measures)
    assert every.columns == [*COUNTS, *RULE_MEASURES, *FURTHER_MEASURES]
    assert every.select(*RULE_MEASURES, *FURTHER_MEASURES).equals(
        table.select(**{name: MEASURES[name] for name in (*RULE_MEASURES, *FURTHER_MEASURES)})
    )


@given(four_counts(most=1000))
def test_measures_of_the_export(counts: tuple[int, int, int, int]) -> None:
    total, rows, answers, right = counts
    table = pl.DataFrame([counts], schema=dict.fromkeys(COUNTS, pl.UInt64), orient="row")
    got = table.select(**MEASURES).row(0, named=True)
    excess = Fraction(right * total - rows * answers)
    largest = max(right * (total - rows), rows * (answers - right))
    expected = {
        "answer_support": Fraction(answers, total),
        "jaccard": Fraction(right, rows + answers - right),
        "kulczynski": (Fraction(right, rows) + Fraction(right, answers)) / 2,
        "conviction": math.inf
        if right == rows
        else Fraction((total - answers) * rows, total * (rows - right)),
        "zhangs_metric": excess / largest if largest else 0,
        "mlxtend_leverage": excess / total**2,
        "mlxtend_certainty": excess / (rows * (total - answers)) if answers < total else 0,
        "representativity": 1,
    }
    assert {name: got[name] for name in expected} == {
        name: pytest.approx(float(value), rel=1e-12) for name, value in expected.items()
    }
    if excess >= 0:
        assert got["mlxtend_certainty"] == pytest.approx(got["certainty"], rel=1e-12)


def test_mlxtend_has_the_same_measures() -> None:
    mlxtend = pytest.importorskip("mlxtend.frequent_patterns")
    pandas = pytest.importorskip("pandas")
    rows = np.random.default_rng(0).random((200, 4)) < [0.3, 0.5, 0.6, 0.4]
    rows[:, 3] |= rows[:, 0]  # the first item goes with the last
    onehot = pandas.DataFrame(rows, columns=list("abcd"))
    itemsets = mlxtend.fpgrowth(onehot, min_support=0.01, use_colnames=True)
    rules = mlxtend.association_rules(itemsets, metric="support", min_threshold=0.0)
    checked = 0
    for rule in rules[rules["consequents"] == {"d"}].to_dict("records"):
        with_antecedent = rows[:, ["abcd".index(item) for item in rule["antecedents"]]].all(axis=1)
        right = int((with_antecedent & rows[:, 3]).sum())
        got = measured(len(rows), int(with_antecedent.sum()), int(rows[:, 3].sum()), right)
        assert got["antecedent_support"] == pytest.approx(rule["antecedent support"])
        for name in ("support", "confidence", "lift", "leverage"):
            assert got[name] == pytest.approx(rule[name])
        if got["leverage"] > 0:
            assert got["certainty"] == pytest.approx(rule["certainty"])
            checked += 1
    assert checked >= 4


@given(st.integers(1, 10**7), st.data())
def test_wilson_interval(trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, trials))
    low, high = wilson_interval(pl.lit(successes), pl.lit(trials))
    got = pl.select(low=low, high=high).row(0)
    # The ends are the shares p with (successes / trials - p)^2 = z^2 p (1 - p) / trials.
    with localcontext() as context:
        context.prec = 40
        square = Decimal("1.959963984540054") ** 2
        n, k = Decimal(trials), Decimal(successes)
        root = (square * (square + 4 * k * (n - k) / n)).sqrt()
        ends = [float((2 * k + square + sign * root) / (2 * (n + square))) for sign in (-1, 1)]
    assert got == pytest.approx(ends, rel=1e-9, abs=1e-15)
    assert 0 <= got[0] <= successes / trials <= got[1] <= 1


def test_wilson_interval_at_the_ends() -> None:
    for trials in range(1, 200):
        low, high = wilson_interval(pl.lit(0), pl.lit(trials))
        assert pl.select(low.alias("low")).item() == 0.0
        low, high = wilson_interval(pl.lit(trials), pl.lit(trials))
        assert pl.select(high.alias("high")).item() == 1.0


def test_what_has_no_rows_is_null() -> None:
    got = measured(10, 0, 4, 0)
    assert [got[name] for name in ("confidence_low", "confidence_high", "certainty")] == [None] * 3
    assert got["leverage"] == 0


def test_every_row_has_the_answer() -> None:
    got = measured(10, 4, 10, 4)
    assert (got["certainty"], got["leverage"], got["confidence_high"]) == (0.0, 0.0, 1.0)


def test_binomial_excess_p() -> None:
    successes, trials, rate = np.array([0, 3, 5]), np.array([5, 5, 5]), np.array([0.2, 0.2, 0.5])
    expected = [
        sum(math.comb(5, k) * p**k * (1 - p) ** (5 - k) for k in range(least, 6))
        for least, p in zip(successes.tolist(), rate.tolist(), strict=True)
    ]
    np.testing.assert_allclose(binomial_excess_p(successes, trials, rate), expected)


@pytest.mark.parametrize("method", ["bh", "by"])
def test_false_discovery_q(method: str) -> None:
    p_values = np.array([0.03, 0.001, 0.2, 0.03])
    factor = 1 + 1 / 2 + 1 / 3 + 1 / 4 if method == "by" else 1
    expected = np.minimum(np.array([0.04, 0.004, 0.2, 0.04]) * factor, 1)
    np.testing.assert_allclose(false_discovery_q(p_values, method), expected)
    assert false_discovery_q(np.empty(0), method).shape == (0,)


def test_a_measure_of_nothing_is_null(monkeypatch: pytest.MonkeyPatch) -> None:
    row_answers = pl.col("antecedent_count").cast(pl.Float64) * pl.col("answer_count")
    changed = {**MEASURES, "leverage": pl.col("rule_count") / row_answers.sqrt()}
    monkeypatch.setattr(measures, "MEASURES", changed)
    counts = {
        "transaction_count": 9,
        "antecedent_count": [4, 2],
        "answer_count": [0, 2],
        "rule_count": [0, 2],
    }
    assert with_further_measures(pl.DataFrame(counts))["leverage"].to_list() == [None, 1.0]
