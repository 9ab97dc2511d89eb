"""Is a set big enough: formulas against published and recomputed numbers, searches against brute force."""

import json
import math
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.errors import ConfigError
from shortcut_miner.scoring.paired_power import PowerConfig, paired_power
from shortcut_miner.scoring.paired_tests import chi_squared_p, exact_p, holm, midp
from shortcut_miner.scoring.power import (
    asymptotic_power,
    design_effect,
    exact_power,
    minimal_detectable,
    required_rows,
    required_rows_exact,
    required_rows_simple,
    resampled_power,
)

GOLDEN = Path(__file__).parents[2] / "shared" / "golden" / "power" / "expected.json"


def plain_p(only_a: int, only_b: int) -> Fraction:
    """Return the exact test's p-value by adding up fractions."""
    rows, fewer = only_a + only_b, min(only_a, only_b)
    tail = sum(Fraction(comb(rows, count), 2**rows) for count in range(fewer + 1))
    return min(Fraction(1), 2 * tail)


def plain_power(rows: int, only_a: Fraction, only_b: Fraction, alpha: Fraction) -> float:
    """Return the chance of a rejection by going through all outcomes."""
    both = 1 - only_a - only_b
    total = Fraction(0)
    for a in range(rows + 1):
        for b in range(rows + 1 - a):
            if a + b and plain_p(a, b) <= alpha:
                ways = comb(rows, a) * comb(rows - a, b)
                total += ways * only_a**a * only_b**b * both ** (rows - a - b)
    return float(total)


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_exact_test_is_the_sum_of_its_terms(only_a: int, only_b: int) -> None:
    assert exact_p(only_a, only_b) == pytest.approx(float(plain_p(only_a, only_b)), rel=1e-9)
    assert exact_p(only_a, only_b) == exact_p(only_b, only_a)
    half = midp(only_a, only_b)
    assert (half is None) == (only_a + only_b == 0)
    assert half is None or half <= exact_p(only_a, only_b)


@given(
    st.integers(1, 12),
    st.integers(0, 10),
    st.integers(0, 10),
    st.sampled_from([Fraction(1, 20), Fraction(1, 10), Fraction(1, 4)]),
)
def test_power_is_the_sum_over_all_outcomes(rows: int, a: int, b: int, alpha: Fraction) -> None:
    only_a, only_b = Fraction(a, 20), Fraction(b, 20)
    expected = plain_power(rows, only_a, only_b, alpha)
    found = exact_power(rows, float(only_a), float(only_b), alpha=float(alpha))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("shares", [(0.15, 0.05), (0.3, 0.1), (0.5, 0.1), (1.0, 0.0), (0.6, 0.4)])
def test_the_fewest_rows_are_those_that_counting_finds(shares: tuple[float, float]) -> None:
    """Power is saw-toothed: at the answer and the next 50 sizes it is enough, and at no fewer rows so."""
    run, rows = 0, 0
    while run <= 50:
        rows += 1
        run = run + 1 if exact_power(rows, *shares) >= 0.8 else 0
    assert required_rows_exact(*shares) == rows - 50


@given(st.floats(0.01, 0.5), st.floats(0.0, 0.5), st.integers(1, 10**6))
def test_formulas_go_the_way_they_must(only_a: float, only_b: float, rows: int) -> None:
    needed = required_rows(only_a, only_b)
    assert needed == required_rows(only_b, only_a)
    assert (needed is None) == (only_a == only_b)
    discordant = only_a + only_b
    if needed is not None and needed < 1e12:
        least = minimal_detectable(math.ceil(needed), discordant)
        assert least is not None
        assert least <= abs(only_a - only_b) + 1e-9
        stricter = required_rows(only_a, only_b, power=0.9)
        assert stricter is not None
        assert stricter > needed
    least = minimal_detectable(rows, discordant)
    more = minimal_detectable(2 * rows, discordant)
    assert least is None or (more is not None and more <= least)


def test_a_level_holds_where_models_are_alike() -> None:
    assert all(exact_power(rows, 0.1, 0.1) <= 0.05 for rows in range(1, 400, 7))
    assert exact_power(100, 0.0, 0.0) == 0.0


@pytest.mark.parametrize(
    ("job", "told"),
    [
        (lambda: required_rows(-0.1, 0.1), r"only_a: got -0\.1, expected a share from 0 to 1\. Correct it\."),
        (lambda: required_rows(0.7, 0.6), r"got shares of 0\.7 and 0\.6, expected a sum of at most 1"),
        (lambda: required_rows(0.2, 0.1, alpha=1.0), r"alpha: got 1\.0, expected a number between 0 and 1"),
        (lambda: required_rows(0.2, 0.1, power=0.0), r"power: got 0\.0, expected a number between 0 and 1"),
        (lambda: exact_power(0, 0.2, 0.1), r"rows: got 0, expected 1 or more"),
        (lambda: minimal_detectable(10, float("nan")), r"only_a: got nan, expected a share"),
    ],
)
def test_what_has_no_meaning_is_refused(job: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        job()


@given(st.lists(st.floats(0, 1), max_size=8))
def test_adjusted_p_values_by_their_definition(p_values: list[float]) -> None:
    """Each is the largest, over those no larger, of p times the number of those at least as large."""
    order = sorted(range(len(p_values)), key=lambda at: (p_values[at], at))
    expected = [0.0] * len(p_values)
    for place, at in enumerate(order):
        steps = [(len(order) - k) * p_values[order[k]] for k in range(place + 1)]
        expected[at] = min(1.0, max(steps))
    assert holm(p_values) == pytest.approx(expected)


@pytest.mark.real
def test_published_and_recomputed_numbers() -> None:
    told = json.loads(GOLDEN.read_text())
    for case in told["formula_cases"]:
        shares = case["p10"], case["p01"]
        assert required_rows(*shares) == pytest.approx(case["n_connor"], rel=1e-9)
        assert required_rows_simple(*shares) == pytest.approx(case["n_simple"], rel=1e-9)
        if case["exact_power_at_ceil"] is not None:
            found = exact_power(case["n_connor_ceil"], *shares)
            assert found == pytest.approx(case["exact_power_at_ceil"], abs=1e-10)
    for case in told["exact_power"]:
        found = exact_power(case["n"], case["p10"], case["p01"])
        assert found == pytest.approx(case["power"], abs=1e-10)
    for case in told["minimal_detectable"]:
        least = minimal_detectable(case["n"], case["discordant"])
        assert least == (case["difference"] and pytest.approx(case["difference"], abs=1e-9))
    for case in told["mcnemar_cases"]:
        pair = case["n10"], case["n01"]
        assert exact_p(*pair) == pytest.approx(case["exact_p"], rel=1e-9)
        assert midp(*pair) == (case["midp"] and pytest.approx(case["midp"], rel=1e-9))
    for case in told["real"]:
        pair = case["n10"], case["n01"]
        assert exact_p(*pair) == pytest.approx(case["exact_p"], rel=1e-6)
        corrected = chi_squared_p(*pair, is_corrected=True)
        assert corrected == pytest.approx(case["chi2_cc"], rel=1e-6)


def test_subsets_of_two_models_are_counted_by_hand() -> None:
    """Six questions of two images; a is right on five of them, b on three: only_a 3, only_b 1."""
    a, b = [100, 60, 50, 0, 90, 100], [100, 40, 0, 100, 100, 49]
    questions = {
        "question_id": list("123456"),
        "subset": ["hard"] * 2 + ["easy"] * 4,
        "image_id": ["x", "x", "y", "y", "x", "y"],
    }
    scored = pl.concat(
        pl.DataFrame(questions).with_columns(
            model=pl.lit(model), accuracy=pl.Series(accuracy, dtype=pl.Float64)
        )
        for model, accuracy in (("a", a), ("b", b))
    )
    table = paired_power(scored, [("a", "b")], PowerConfig(effect=0.1))
    shown = table.select("subset", "row_count", "image_count", "only_a", "only_b", "p_value", "verdict")
    assert shown.rows() == [
        ("all", 6, 2, 3, 1, 0.625, "too small"),
        ("hard", 2, 1, 1, 0, 1.0, "too small"),
        ("easy", 4, 2, 2, 1, 1.0, "too small"),
    ]
    # Differences 0 1 0 of x and 1 -1 1 of y, each three rows of mean 1/3: centred, both add up to 0.
    assert table["design_effect"][0] == pytest.approx(0.0, abs=1e-12)
    assert table["p_adjusted"].to_list() == [1.0, 1.0, 1.0]
    swapped = paired_power(scored, [("b", "a")], PowerConfig(effect=0.1))
    same = ["p_value", "power", "required_rows", "minimal_detectable", "design_effect"]
    assert swapped.select(same).equals(table.select(same))
    assert swapped["difference"].to_list() == [-value for value in table["difference"]]


def test_rows_doubled_inside_their_images_double_the_design_effect() -> None:
    drawn = np.random.default_rng(3)
    differences, image = drawn.integers(-1, 2, 40).astype(float), drawn.integers(0, 12, 40)
    once = design_effect(differences, image)
    twice = design_effect(np.tile(differences, 2), np.tile(image, 2))
    assert once is not None
    assert twice == pytest.approx(2 * once)


def test_resampled_power_follows_the_formula_and_the_effect() -> None:
    """Images of one question each, who differ on one in five: as independent rows, of which Connor speaks."""
    drawn = np.random.default_rng(0)
    totals = drawn.choice([-1.0, 0.0, 1.0], 800, p=[0.1, 0.8, 0.1])
    found = [
        resampled_power(totals, np.ones(800), effect=effect, images=800, seed=0, resamples=1000)
        for effect in (0.0, 0.03, 0.06)
    ]
    assert found == [
        resampled_power(totals, np.ones(800), effect=effect, images=800, seed=0, resamples=1000)
        for effect in (0.0, 0.03, 0.06)
    ]
    share = float((totals != 0).mean())
    for (power, low, high), effect in zip(found, (0.0, 0.03, 0.06), strict=True):
        expected = asymptotic_power(800, (share + effect) / 2, (share - effect) / 2)
        expected = max(expected, 0.05)  # the formula leaves out rejections in the other direction
        assert power == pytest.approx(expected, abs=0.04)
        assert low < power < high


@pytest.mark.real
def test_real_models_have_the_golden_counts_and_design_effect() -> None:
    told = json.loads(GOLDEN.read_text())
    rows = pl.read_csv(
        GOLDEN.parents[1] / "slices" / "table.csv.gz",
        schema_overrides={"question_id": pl.String, "image_id": pl.String},
    )
    scored = pl.concat(
        rows.select("question_id", "image_id", subset=pl.lit("val"), model=pl.lit(model), accuracy=column)
        for model, column in (("p1", "accuracy_p1"), ("p2", "accuracy_p2"), ("rules", "accuracy_rules"))
    ).with_columns(pl.col("accuracy").cast(pl.Float64))
    pairs = [tuple(case["pair"].split(" vs ")) for case in told["real"]]
    table = paired_power(scored, pairs, PowerConfig(method="connor"))
    assert table.select("row_count", "only_a", "only_b").rows() == [
        (case["n"], case["n10"], case["n01"]) for case in told["real"]
    ]
    assert table["image_count"][0] == told["design_effect_p1_p2"]["images"]
    assert table["design_effect"][0] == pytest.approx(told["design_effect_p1_p2"]["deff"], rel=1e-9)
