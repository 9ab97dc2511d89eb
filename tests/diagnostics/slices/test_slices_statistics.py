"""p values, their corrections and DivExplorer's statistics, against SciPy on the rows themselves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shortcut_miner.diagnostics.slices.config import Correction, Direction
from shortcut_miner.diagnostics.slices.mined import mine_slices
from shortcut_miner.diagnostics.slices.significance import (
    beta_statistic,
    holm,
    p_values,
    q_values,
    welch_statistic,
)
from shortcut_miner.encoding import encode_lists

sides = st.lists(st.integers(-100, 100), min_size=1, max_size=30)
ALTERNATIVES = {"worse": "greater", "better": "less", "both": "two-sided"}


def sums(values: list[int]) -> tuple[int, int, int]:
    return len(values), sum(values), sum(one * one for one in values)


def p_of(inside: list[int], outside: list[int], direction: Direction, *, is_wrong: bool = False) -> float:
    slices = tuple(np.array([one], np.int64) for one in sums(inside))
    whole = sums(inside + outside)
    return float(p_values(slices, whole, direction, is_wrong=is_wrong)[0])  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:Precision loss")  # SciPy's sides that don't vary
@given(sides, sides, st.sampled_from(["worse", "better", "both"]))
def test_weighted_outcomes_are_tested_by_welch(
    inside: list[int], outside: list[int], direction: Direction
) -> None:
    found = p_of(inside, outside, direction)
    varies = len({*inside}) > 1 or len({*outside}) > 1
    if len(inside) < 2 or len(outside) < 2 or not varies:
        assert np.isnan(found)
        return
    told = stats.ttest_ind(inside, outside, equal_var=False, alternative=ALTERNATIVES[direction])
    assert found == pytest.approx(told.pvalue, rel=1e-9, abs=1e-300)


@pytest.mark.filterwarnings("ignore:Precision loss")
def test_a_side_that_does_not_vary() -> None:
    assert p_of([5, 5, 5], [1, 2, 3], "worse") == pytest.approx(
        stats.ttest_ind([5, 5, 5], [1, 2, 3], equal_var=False, alternative="greater").pvalue
    )
    assert np.isnan(p_of([5, 5, 5], [1, 1, 1], "worse"))
    assert np.isnan(p_of([5], [1, 2, 3], "worse"))


@given(st.lists(st.integers(0, 1), min_size=1, max_size=30), st.lists(st.integers(0, 1), max_size=30))
def test_wrong_rows_are_tested_by_fisher(inside: list[int], outside: list[int]) -> None:
    table = [[sum(inside), len(inside) - sum(inside)], [sum(outside), len(outside) - sum(outside)]]
    for direction in ("worse", "better"):
        told = stats.fisher_exact(table, alternative=ALTERNATIVES[direction]).pvalue
        assert p_of(inside, outside, direction, is_wrong=True) == pytest.approx(told, rel=1e-9)  # type: ignore[arg-type]


def test_many_rows_keep_their_digits() -> None:
    """A variance of 1/4 about a mean of 100 million: sums of squares in floats would lose it."""
    inside = (np.array([10**6]), np.array([100 * 10**6 + 1]), np.array([10**4 * 10**6 + 201]))
    whole = (3 * 10**6, 300 * 10**6 + 1, 10**4 * 3 * 10**6 + 201)
    found = p_values(inside, whole, "worse", is_wrong=False)
    assert found[0] == pytest.approx(stats.norm.sf(1), rel=1e-5)  # one row of a million is 1 more


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_corrections(p: list[float]) -> None:
    by, bh, family = q_values(np.array(p), "by"), q_values(np.array(p), "bh"), holm(np.array(p))
    assert (by >= bh).all()
    assert (family >= bh - 1e-12).all()
    assert (bh >= np.array(p) - 1e-12).all()
    ordered = sorted(p)
    naive, raised = {}, 0.0
    for rank, one in enumerate(ordered):
        raised = max(raised, min(1.0, one * (len(p) - rank)))
        naive[one] = max(raised, naive.get(one, 0.0))
    for one, found in zip(p, family.tolist(), strict=True):
        assert found <= naive[one] + 1e-12
        assert found >= min(1.0, one) - 1e-12


def test_holm_of_what_has_no_p() -> None:
    assert holm(np.array([np.nan, 0.01, 0.02])).tolist() == pytest.approx([np.nan, 0.03, 0.04], nan_ok=True)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 1)), min_size=2, max_size=40))
def test_divexplorers_statistics(rows: list[tuple[bool, int]]) -> None:
    inside, every = [one for held, one in rows if held], [one for _, one in rows]
    if not inside:
        return
    count, total, square = (np.array(pair) for pair in zip(sums(every), sums(inside), strict=True))
    whole, own = (stats.beta(1 + sum(one), 1 + len(one) - sum(one)) for one in (every, inside))
    expected = abs(own.mean() - whole.mean()) / np.sqrt(own.var() + whole.var())
    assert beta_statistic(count, total)[1] == pytest.approx(expected, rel=1e-9)
    spread = np.var(inside) / len(inside) + np.var(every) / len(every)
    found = welch_statistic((count, total, square))[1]
    if spread == 0:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(abs(np.mean(inside) - np.mean(every)) / np.sqrt(spread), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["worse", "both"])
@pytest.mark.parametrize(("is_wrong", "rows", "correction"), [(True, 300, "bh"), (False, 1000, "by")])
def test_shuffled_outcomes_give_no_slices(
    direction: Direction, is_wrong: bool, rows: int, correction: Correction
) -> None:
    """The chance that anything is significant stays at the level, and so does a single p.

    Fisher's exact test holds for slices of 15 rows and the sharper correction, Welch's for the defaults:
    the room's README.md says how far it goes.
    """
    random = np.random.default_rng(7)
    items = [[f"{name}{random.integers(0, 4)}" for name in "abcdef"] for _ in range(rows)]
    encoded = encode_lists(items, [""] * rows)
    outcome = random.integers(0, 2, rows) if is_wrong else random.choice([0, 30, 60, 90, 100], rows)
    shuffles, hits, small = 1000, 0, np.zeros(24, np.int64)
    for _ in range(shuffles):
        shuffled = random.permutation(outcome).astype(np.int64)
        found = mine_slices(encoded, shuffled, min_count=15 if is_wrong else 30, max_length=3, threads=1)
        sums = found.count, found.total, found.square
        whole = (int(sums[0][0]), int(sums[1][0]), int(sums[2][0]))
        p = p_values((sums[0][1:], sums[1][1:], sums[2][1:]), whole, direction, is_wrong=is_wrong)
        hits += bool((q_values(p, correction) <= 0.05).any())
        small += p[found.length[1:] == 1] <= 0.05
    level = 0.05 + 3 * np.sqrt(0.05 * 0.95 / shuffles)
    assert hits / shuffles <= level
    assert small.mean() / shuffles <= level
