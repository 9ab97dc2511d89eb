"""Is a set big enough: formulas against published and recomputed numbers, searches against brute force."""

import json
import math
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.errors import ConfigError
from shortcut_miner.scoring.paired_tests import chi_squared_p, exact_p, holm, midp
from shortcut_miner.scoring.power import (
    exact_power,
    minimal_detectable,
    required_rows,
    required_rows_exact,
    required_rows_simple,
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
