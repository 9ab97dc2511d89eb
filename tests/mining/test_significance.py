"""Fisher's test against exact arithmetic and scipy, corrections against definitions, the family counted."""

import math
from collections.abc import Iterable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain import encode_words
from reference import WORD, Row, count_itemsets, word_rows
from scipy.stats import false_discovery_control, hypergeom
from strategies import MANY, Table, encode, tables

from shortcut_miner.mining.evidence import family as family_module
from shortcut_miner.mining.evidence import significance as significance_module
from shortcut_miner.mining.evidence.family import searched_family
from shortcut_miner.mining.evidence.significance import family_q, fisher_log10_p, holm_p

Counts = tuple[int, int, int, int]  # rule, antecedent, answer, transactions


def log10_p(tables: Iterable[Counts], threads: int | None = None) -> np.ndarray:
    return fisher_log10_p(*np.array(list(tables), np.int64).reshape(-1, 4).T.copy(), threads)


def exact_p(rule: int, antecedent: int, answer: int, total: int) -> Fraction:
    ways = sum(
        math.comb(answer, k) * math.comb(total - answer, antecedent - k)
        for k in range(rule, min(antecedent, answer) + 1)
    )
    return Fraction(ways, math.comb(total, antecedent))


def least(antecedent: int, answer: int, total: int) -> int:
    return max(0, antecedent + answer - total)


@st.composite
def small_counts(draw: st.DrawFn) -> Counts:
    total = draw(st.integers(0, 80))
    antecedent, answer = draw(st.integers(0, total)), draw(st.integers(0, total))
    low = least(antecedent, answer, total)
    return draw(st.integers(low, min(antecedent, answer))), antecedent, answer, total


@given(st.lists(small_counts(), min_size=1, max_size=20))
def test_fisher_equals_exact_fractions(drawn: list[Counts]) -> None:
    expected = [float(exact_p(*counts)) for counts in drawn]
    np.testing.assert_allclose(10 ** log10_p(drawn), expected, rtol=1e-11)


def test_fisher_equals_scipy() -> None:
    drawn = np.random.default_rng(0)
    total = drawn.integers(1, 60_000, 400)
    antecedent, answer = (np.maximum(1, (total * drawn.random(400) ** 3).astype(np.int64)) for _ in range(2))
    rule = hypergeom.rvs(total, answer, antecedent, random_state=drawn)
    rule = np.minimum(rule + drawn.integers(0, 80, 400), np.minimum(antecedent, answer))
    got = fisher_log10_p(rule, antecedent, answer, total)
    expected = hypergeom.logsf(rule - 1, total, answer, antecedent)
    assert (got < -3).sum() > 50
    # logsf subtracts log-gamma values of up to 60,000 ln 60,000: at best nine digits are left.
    np.testing.assert_allclose(got * math.log(10), expected, atol=2e-8)


BERNOULLI = [Fraction(1, 6), Fraction(-1, 30), Fraction(1, 42), Fraction(-1, 30), Fraction(5, 66)]
PI = Decimal("3.14159265358979323846264338327950288419716939937510582")


@cache
def log_factorial(n: int) -> Decimal:
    """Return log n! to some 40 digits, by its product or Stirling's series."""
    if n < 20_000:
        return Decimal(math.factorial(n)).ln()
    series = sum(
        Decimal(b.numerator) / Decimal(b.denominator * 2 * i * (2 * i - 1)) / Decimal(n) ** (2 * i - 1)
        for i, b in enumerate(BERNOULLI, 1)
    )
    return n * Decimal(n).ln() - n + (2 * PI * n).ln() / 2 + series


def precise_log_p(rule: int, antecedent: int, answer: int, total: int) -> Decimal:
    """Return log P(X >= rule) to some 30 digits; terms end when they are negligible past the mode."""
    margins = (antecedent, total - antecedent, answer, total - answer)
    cells = (rule, antecedent - rule, answer - rule, total - antecedent - answer + rule)
    point = (
        sum(map(log_factorial, margins), Decimal(0))
        - log_factorial(total)
        - sum(map(log_factorial, cells), Decimal(0))
    )
    term = tail = Decimal(1)
    k = rule
    while term > tail.scaleb(-30) or (k + 1) * (total + 2) < (antecedent + 1) * (answer + 1):
        ratio = Decimal((antecedent - k) * (answer - k)) / ((k + 1) * (total - antecedent - answer + k + 1))
        term *= ratio
        k += 1
        tail += term
    return point + tail.ln()


@pytest.mark.parametrize("latest", [1, 2, 1021])
def test_fisher_of_tables_that_come_again(latest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Tables that differ in one count, some with the same place among the latest ones, in any order.
    tables = [(1, 4, 5, 20), (2, 4, 5, 20), (1, 5, 5, 20), (1, 4, 6, 20), (1, 4, 5, 21), (1, 3, 36, 99)]
    tables *= 50
    np.random.default_rng(2).shuffle(tables)
    alone = np.concatenate([log10_p([table]) for table in tables])
    monkeypatch.setattr(significance_module, "_LATEST", latest)
    assert log10_p(tables).tolist() == alone.tolist()


LARGE = [
    (3_000, 10_000, 2_500_000, 10_000_000),
    (2_500_790, 5_000_000, 5_000_000, 10_000_000),
    (2_499_500, 5_000_000, 5_000_000, 10_000_000),
    (5_000_000, 5_000_000, 5_000_000, 10_000_000),
    (9_999_998, 9_999_999, 9_999_999, 10_000_000),
    (8, 8, 8, 10_000_000),
    (8, 9_999_999, 8, 10_000_000),
    (8, 20, 40, 413_000),
    (120_000, 160_000, 240_000, 397_084),
    (1, 3_000, 3_000, 9_999_991),
    (2, 3_000, 3_000, 9_999_991),
]


@pytest.mark.parametrize("counts", LARGE, ids=str)
def test_fisher_at_ten_million_rows(counts: Counts) -> None:
    with localcontext() as context:
        context.prec = 50
        expected = precise_log_p(*counts)
        got = Decimal(float(log10_p([counts])[0])) * Decimal(10).ln()
        relative_error = abs((got - expected).exp() - 1)
    assert relative_error < 1e-7  # promised: 1e-6; the float of log10 p itself allows 1e-9


def test_fisher_at_ten_million_rows_at_random() -> None:
    drawn = np.random.default_rng(1)
    tables = []
    for _ in range(40):
        total = int(10 ** drawn.uniform(5, 7))
        antecedent, answer = (int(10 ** drawn.uniform(1, math.log10(total))) for _ in range(2))
        rule = hypergeom.rvs(total, answer, antecedent, random_state=drawn) + drawn.integers(0, 50)
        tables.append((int(min(rule, antecedent, answer)), antecedent, answer, total))
    with localcontext() as context:
        context.prec = 50
        for counts, got in zip(tables, log10_p(tables), strict=True):
            error = Decimal(float(got)) * Decimal(10).ln() - precise_log_p(*counts)
            assert abs(error.exp() - 1) < 1e-7


def test_p_is_one_where_no_fewer_rows_are_possible() -> None:
    impossible_to_miss = [
        (0, 0, 0, 0),
        (0, 0, 5, 9),
        (0, 5, 0, 9),
        (5, 9, 5, 9),
        (9, 9, 9, 9),
        (4, 7, 6, 9),
        (0, 3, 4, 9),
    ]
    got = log10_p(impossible_to_miss)
    assert got.tolist() == [0.0] * len(impossible_to_miss)
    assert not np.signbit(got).any()


def test_without_tables() -> None:
    assert log10_p([]).shape == (0,)


@pytest.mark.parametrize("threads", [2, 5])
def test_fisher_is_the_same_for_any_threads(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shortcut_miner.mining.evidence.significance._TESTS_A_TASK", 7)
    assert log10_p(LARGE * 5, threads).tobytes() == log10_p(LARGE * 5, 1).tobytes()


def plain_q(p_values: list[float], size: int, harmonic: float) -> list[float]:
    """Return the definition: the least size * t / #{p <= t} over thresholds t from p on."""
    everything = p_values + [1.0] * (size - len(p_values))
    at = {t: size * harmonic * t / sum(p <= t for p in everything) for t in set(everything)}
    return [min(1.0, *(q for t, q in at.items() if t >= p)) for p in p_values]


P_VALUES = st.lists(
    st.sampled_from([1e-12, 1e-5, 0.001, 0.002, 0.01, 0.3, 1.0]) | st.floats(1e-9, 1), max_size=12
)


@given(P_VALUES, st.sampled_from([0, 1, 30, 2_000]))
def test_family_q_counts_unlisted_members_with_p_one(p_values: list[float], others: int) -> None:
    size = len(p_values) + others
    harmonic = sum(1 / k for k in range(1, size + 1))
    logs = np.log10(np.array(p_values))
    np.testing.assert_allclose(family_q(logs, size, "bh"), plain_q(p_values, size, 1.0), rtol=1e-9)
    np.testing.assert_allclose(family_q(logs, size, "by"), plain_q(p_values, size, harmonic), rtol=1e-9)


@given(P_VALUES.filter(len))
def test_family_q_equals_scipy_when_all_are_listed(p_values: list[float]) -> None:
    for method in ("bh", "by"):
        expected = false_discovery_control(np.array(p_values), method=method)
        got = family_q(np.log10(p_values), len(p_values), method)
        np.testing.assert_allclose(got, expected, rtol=1e-9)


def test_unlisted_members_with_small_p_could_only_lower_q() -> None:
    listed, unlisted = np.log10([1e-6, 1e-4, 0.02]), np.log10([1e-5, 1e-3, 0.5])
    for method in ("bh", "by"):
        alone = family_q(listed, 100, method)
        together = family_q(np.concatenate((listed, unlisted)), 100, method)[:3]
        assert (together <= alone).all() and (together < alone).any()


def test_q_values_of_unimaginably_small_p_do_not_break() -> None:
    got = family_q(np.array([-2e6, -400.0, -3.0]), 10**12, "by")
    assert got.tolist() == [0.0, 0.0, 1.0]


@given(P_VALUES)
def test_holm(p_values: list[float]) -> None:
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    expected = [0.0] * len(p_values)
    running = 0.0
    for rank, k in enumerate(order):
        running = max(running, p_values[k] * (len(p_values) - rank))
        expected[k] = min(1.0, running)
    np.testing.assert_allclose(holm_p(np.log10(np.array(p_values))), expected, rtol=1e-9)


@MANY
@given(tables(max_rows=40, max_weight=3), st.integers(1, 5), st.integers(1, 5))
def test_the_family_is_counted(table: Table, min_count: int, max_antecedent: int) -> None:
    training = encode(table)
    itemsets = count_itemsets(table.rows, max_antecedent, table.weights)
    got = searched_family(training, min_count, max_antecedent)
    frequent = [items for items, found in itemsets.items() if items and found.antecedent_count >= min_count]
    assert got.is_exact
    assert got.antecedent_count == len(frequent)
    assert got.answer_count == (training.vocabulary.answer_counts >= min_count).sum()
    assert got.size == got.antecedent_count * got.answer_count


def dense_rows(count: int = 300, items: int = 40) -> list[list[str]]:
    present = np.random.default_rng(5).random((count, items)) < np.linspace(0.05, 0.9, items)
    return [[f"item {k:02}" for k in np.flatnonzero(row)] for row in present]


def test_the_family_in_rows_of_many_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    # Three items a row of 40: nodes with many and few candidates, and rows that come in several chunks.
    rows = dense_rows(120)
    training = encode_words(rows, ["yes"] * len(rows))
    want = sum(found.antecedent_count >= 20 for items, found in count_itemsets_of(rows, 3).items() if items)
    monkeypatch.setattr(family_module, "_CHUNKS", 3)
    for threads in (1, 4):
        assert searched_family(training, 20, 3, threads).antecedent_count == want


def test_the_family_with_hundreds_of_candidates() -> None:
    left, right = ([f"item {k}" for k in span] for span in (range(280), range(150, 420)))
    training = encode_words([left, right] * 6, ["yes"] * 12)
    # Subsets of the 280 items, or of the 270, but those of the 130 in common only once.
    want = sum(math.comb(280, k) + math.comb(270, k) - math.comb(130, k) for k in (1, 2, 3))
    assert searched_family(training, 6, 3).antecedent_count == want


@pytest.mark.parametrize("max_antecedent", [2, 3, 4, 6])
def test_the_family_in_rows_of_many_weights(max_antecedent: int) -> None:
    # Hundreds of rows of each binary digit: several words of 64 rows that count 1, 2, 4 and 8 each.
    rows = word_rows(dense_rows(400, items=11), ["yes"] * 400)
    table = Table(rows, np.random.default_rng(6).integers(1, 14, 400).tolist())
    itemsets = count_itemsets(table.rows, max_antecedent, table.weights)
    for min_count in (2, 90, 500):
        want = sum(found.antecedent_count >= min_count for items, found in itemsets.items() if items)
        assert searched_family(encode(table), min_count, max_antecedent).antecedent_count == want


@pytest.mark.parametrize("max_antecedent", [2, 3, 4])
def test_the_family_in_rows_of_few_of_many_items(max_antecedent: int) -> None:
    # Pairs are rare beside the rows of an item: they are counted row by row.
    drawn = np.random.default_rng(7)
    items = [[f"item {k}" for k in drawn.choice(60, 5, replace=False)] for _ in range(1500)]
    table = Table(word_rows(items, ["yes"] * 1500), drawn.integers(1, 4, 1500).tolist())
    itemsets = count_itemsets(table.rows, max_antecedent, table.weights)
    for min_count in (3, 25):
        want = sum(found.antecedent_count >= min_count for items, found in itemsets.items() if items)
        assert searched_family(encode(table), min_count, max_antecedent).antecedent_count == want


def count_itemsets_of(rows: list[list[str]], longest: int) -> dict[frozenset[tuple[int, str]], object]:
    table = Table([Row(frozenset((WORD, name) for name in row), "yes") for row in rows], [1] * len(rows))
    return count_itemsets(table.rows, longest)


@pytest.mark.parametrize("max_antecedent", [1, 2, 3, 4, 8])
def test_the_bound_is_one(max_antecedent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    training = encode_words(dense_rows(items=14), ["yes", "no", "2"] * 100)
    exact = searched_family(training, 10, max_antecedent)
    monkeypatch.setattr(family_module, "_MOST_MEETINGS", 0)
    bound = searched_family(training, 10, max_antecedent)
    assert exact.is_exact and not bound.is_exact
    assert exact.antecedent_count <= bound.antecedent_count
    assert exact.answer_count == bound.answer_count


def test_rows_too_long_to_count_are_bounded_at_once() -> None:
    row = [f"item {k}" for k in range(300)]
    training = encode_words([row] * 8, ["yes"] * 8)
    got = searched_family(training, 8, 8)
    assert not got.is_exact
    assert got.antecedent_count == sum(math.comb(300, k) for k in range(1, 9))


def test_an_empty_family() -> None:
    training = encode_words([["a"], ["b"]], ["yes", "no"])
    assert searched_family(training, 2, 4).size == 0
