"""The search, what slices say of each other, and the list to read, against plain Python."""

import itertools
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from diagnostics.slices import reference
from diagnostics.slices.reference import Row, Slice
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.slices import lattice, mined
from shortcut_miner.diagnostics.slices.config import SlicesConfig
from shortcut_miner.diagnostics.slices.found import Found, find_slices
from shortcut_miner.diagnostics.slices.inputs import SlicesInputs
from shortcut_miner.diagnostics.slices.mined import Mined, RowBits, mine_slices
from shortcut_miner.diagnostics.slices.significance import q_values
from shortcut_miner.encoding import encode_lists
from shortcut_miner.errors import ConfigError
from shortcut_miner.schemas import Questions, SliceCover, SlicedQuestions, SliceItems, Slices, validated
from shortcut_miner.transactions import Transactions

WORDS = ("a", "b", "c", "d")
VALUES = {"colour": ("red", "blue"), "size": ("1", "2", "3")}
outcomes = st.sampled_from([0, 0, 1, 30, 90, 100, -40, -100])
words = st.sets(st.sampled_from(WORDS)).map(frozenset)
row_lists = st.lists(st.tuples(words, outcomes), min_size=1, max_size=90)


@st.composite
def rows_of_columns(draw: st.DrawFn, low: int = -100, high: int = 100) -> list[Row]:
    """Rows of words and at most one value of each column."""
    count = draw(st.integers(1, 70))
    rows = []
    for _ in range(count):
        items = set(draw(words))
        for name, values in VALUES.items():
            if value := draw(st.sampled_from((None, *values))):
                items.add(f"{name}={value}")
        rows.append((frozenset(items), draw(st.integers(low, high))))
    return rows


def encoded(rows: list[Row]) -> tuple[Transactions, np.ndarray]:
    lists = encode_lists([sorted(items) for items, _ in rows], [""] * len(rows))
    return lists, np.array([outcome for _, outcome in rows], np.int64)


def names_of(found: Mined, rows: Transactions) -> list[Slice]:
    names = rows.vocabulary.words.to_list()
    return [frozenset(names[item] for item in one if item >= 0) for one in found.item_lists()]


def sums_of(found: Mined, rows: Transactions) -> dict[Slice, tuple[int, int, int]]:
    sums = zip(found.count.tolist(), found.total.tolist(), found.square.tolist(), strict=True)
    listed = names_of(found, rows)
    assert len({*listed}) == len(listed)
    return dict(zip(listed, sums, strict=True))


# ---- the search ----


@given(row_lists, st.integers(1, 6), st.integers(1, 4), st.integers(1, 3))
def test_every_slice_with_its_sums(rows: list[Row], min_count: int, max_length: int, threads: int) -> None:
    lists, outcome = encoded(rows)
    found = mine_slices(lists, outcome, min_count=min_count, max_length=max_length, threads=threads)
    assert sums_of(found, lists) == reference.mine(rows, min_count, max_length)


@pytest.mark.parametrize("max_length", range(1, 9))
def test_all_lengths(max_length: int) -> None:
    rows = [(frozenset("abcdefgh"), 1), (frozenset("abcdefg"), 0), (frozenset("bdfh"), 100)] * 3
    lists, outcome = encoded(rows)
    found = mine_slices(lists, outcome, min_count=3, max_length=max_length)
    assert sums_of(found, lists) == reference.mine(rows, 3, max_length)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [(frozenset(), 1)],
        [(frozenset("ab"), 1)],
        [(frozenset("ab"), 7)] * 200,
        [(frozenset("a"), one) for one in range(-100, 101)],
        [(frozenset(str(one) for one in range(300)), 1), (frozenset("a"), 0)],
    ],
    ids=["no row", "no item", "one row", "equal rows", "all outcomes", "a long row"],
)
def test_odd_rows(rows: list[Row]) -> None:
    lists, outcome = encoded(rows)
    found = mine_slices(lists, outcome, min_count=1, max_length=2)
    assert sums_of(found, lists) == reference.mine(rows, 1, 2)


def test_a_first_item_that_does_not_fit_is_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(frozenset(chosen), at % 3) for at, chosen in enumerate(itertools.combinations("abcdefghij", 6))]
    lists, outcome = encoded(rows)
    expected = sums_of(mine_slices(lists, outcome, min_count=1, max_length=4), lists)
    monkeypatch.setattr(mined, "_FIRST_ROOM", 1)
    for threads in (1, 4):
        found = mine_slices(lists, outcome, min_count=1, max_length=4, threads=threads)
        assert sums_of(found, lists) == expected == reference.mine(rows, 1, 4)


def test_more_slices_than_a_table_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    lists, outcome = encoded([(frozenset("abcdefgh"), 1)] * 4)
    monkeypatch.setattr(mined, "MOST_SLICES", 20)
    with pytest.raises(ConfigError) as told:
        mine_slices(lists, outcome, min_count=4, max_length=3)
    assert str(told.value) == (
        "min_count: got 4, which gives more than 20 slices of at most 3 items, expected fewer. "
        "Raise --min-count, or lower --max-length."
    )


@given(rows_of_columns(), st.integers(1, 3))
def test_slices_counted_again(rows: list[Row], min_count: int) -> None:
    lists, outcome = encoded(rows)
    found = mine_slices(lists, outcome, min_count=min_count, max_length=3)
    words = RowBits.of(outcome)
    again = words.sums(*words.lines_of(lists, found.item_lists()))
    assert again.tolist() == np.stack([found.count, found.total, found.square], axis=1).tolist()


# ---- what slices say of each other ----


@given(rows_of_columns(), st.integers(1, 4), st.sampled_from([0.0, 0.01, 0.05, 0.1, 0.25]))
def test_redundant_and_shared_exactly(rows: list[Row], min_count: int, epsilon: float) -> None:
    lists, outcome = encoded(rows)
    found = mine_slices(lists, outcome, min_count=min_count, max_length=4)
    expected, names = reference.mine(rows, min_count, 4), names_of(found, lists)
    without = lattice.immediate_subsets(found)
    for one, subsets in zip(names, without.tolist(), strict=True):
        assert {names[at] for at in subsets if at >= 0} == {one - {item} for item in one}
    redundant = lattice.is_redundant(found, without, epsilon, 100)
    divergence = lattice.divergences(found, 100)
    shares = lattice.item_shares(found, without, divergence)
    listed = lists.vocabulary.words.to_list()
    for at, one in enumerate(names):
        assert redundant[at] == reference.is_redundant(expected, one, Fraction(str(epsilon)), 100)
        assert divergence[at] == pytest.approx(float(reference.divergence(expected, one, 100)), abs=1e-12)
        items = [listed[item] for item in found.item_lists()[at] if item >= 0]
        exact = reference.shapley(expected, one, 100)
        assert shares[at, : len(items)] == pytest.approx([float(exact[item]) for item in items], abs=1e-12)
        assert sum(exact.values()) == reference.divergence(expected, one, 100)


@given(rows_of_columns(), st.integers(1, 3))
def test_global_divergence(rows: list[Row], min_count: int) -> None:
    lists, outcome = encoded(rows)
    found = mine_slices(lists, outcome, min_count=min_count, max_length=4)
    without, divergence = lattice.immediate_subsets(found), lattice.divergences(found, 100)
    names = [lists.vocabulary.words[int(item)] for item in found.items]
    column_of = {item: item.partition("=")[0] for item in names if "=" in item}
    place = {name: at for at, name in enumerate(VALUES)}
    columns = np.array([place[column_of[one]] if one in column_of else -1 for one in names], np.int64)
    ours = lattice.global_divergence(found, without, divergence, columns)
    exact = reference.global_divergence(reference.mine(rows, min_count, 4), column_of, 100)
    told = {name: value for name, value in zip(names, ours.tolist(), strict=True) if not math.isnan(value)}
    assert told == pytest.approx({name: float(value) for name, value in exact.items()}, abs=1e-12)


def test_products_beyond_64_bits_are_exact() -> None:
    """Just as far from all rows as is redundant, and one row further, of rows that nobody could hold."""
    many = 3 * 10**12
    found = Mined(
        parent=np.array([0, 0, 0]), last=np.array([-1, 0, 1]), length=np.array([0, 1, 1]),
        count=np.array([2 * many, many, many]),
        total=many // 2 + np.array([many // 2, many // 20, many // 20 + 1]),
        square=np.zeros(3, np.int64), items=np.array([0, 1], np.int32),
    )  # fmt: skip
    without = lattice.immediate_subsets(found)
    assert lattice.is_redundant(found, without, 0.05, 1).tolist() == [False, True, False]
    assert lattice.divergences(found, 1).tolist() == pytest.approx([0, 0.05, 0.05])


# ---- whole tables ----


def inputs_of(rows: list[Row], outcome: str = "regression") -> SlicesInputs:
    """Return rows whose words are their items without "=", the others being of columns."""
    schema = Questions.create_empty().schema
    given = pl.DataFrame(
        {
            "question_id": [f"q{at}" for at in range(len(rows))],
            "image_id": [f"i{at}" for at in range(len(rows))],
            "question": [" ".join(sorted(one for one in items if "=" not in one)) for items, _ in rows],
            "attributes": [sorted(one for one in items if "=" in one) for items, _ in rows],
            "outcome": [outcome for _, outcome in rows],
        },
        schema_overrides={"attributes": pl.List(pl.String), "outcome": pl.Int64},
    )
    missing = [pl.lit(None, schema[name]).alias(name) for name in schema if name not in given.columns]
    return SlicesInputs(
        rows=given.with_columns(missing), labels=None, outcome=outcome, models=(),  # type: ignore[arg-type]
        columns=tuple(VALUES), facts=InputFacts(),
    )  # fmt: skip


def by_name(slices: pl.DataFrame) -> dict[Slice, dict[str, object]]:
    return {
        frozenset((*row["words"], *row["objects"], *row["attributes"])): row
        for row in slices.iter_rows(named=True)
    }


def checked(found: Found) -> Found:
    validated(found.slices, Slices, "slices")
    validated(found.items, SliceItems, "items")
    validated(found.cover, SliceCover, "cover")
    validated(found.questions, SlicedQuestions, "questions")
    return found


@given(
    rows_of_columns(low=0, high=1),
    st.sampled_from(["worse", "better", "both"]),
    st.sampled_from(["by", "bh"]),
)
def test_p_and_q_of_wrong_rows(rows: list[Row], direction: str, correction: str) -> None:
    options: Any = {"direction": direction, "correction": correction}
    config = SlicesConfig(min_count=2, max_length=3, **options)
    found = checked(find_slices(inputs_of(rows, "wrong"), config))
    all_wrong = sum(outcome for _, outcome in rows)
    if all_wrong in (0, len(rows)):
        assert found.slices.is_empty()
        assert found.figures["nothing_found"] == ("every row is wrong" if all_wrong else "no row is wrong")
        return
    expected = reference.mine(rows, 2, 3)
    del expected[frozenset()]
    ours = by_name(found.slices)
    assert ours.keys() == expected.keys()
    p = {}
    for one, (count, wrong, _) in expected.items():
        worse = reference.at_least(wrong, count, all_wrong, len(rows))
        better = reference.at_least(count - wrong, count, len(rows) - all_wrong, len(rows))
        p[one] = float({"worse": worse, "better": better, "both": min(1, 2 * min(worse, better))}[direction])
        assert ours[one]["p_value"] == pytest.approx(p[one], rel=1e-9)
    factor = sum(1 / k for k in range(1, len(p) + 1)) if correction == "by" else 1.0
    q = dict(zip(p, reference.adjusted([*p.values()], factor), strict=True))
    for one, row in ours.items():
        assert row["q_value"] == pytest.approx(q[one], rel=1e-9)
        assert row["q_value"] >= row["p_value"] * (1 - 1e-12)  # type: ignore[operator]
    ranked = found.slices.sort("p_value")["q_value"].to_list()
    assert ranked == sorted(ranked)


@given(rows_of_columns(low=0, high=1))
def test_the_list_to_read(rows: list[Row]) -> None:
    config = SlicesConfig(min_count=2, max_length=3, max_q=1.0, epsilon=0.02)
    found = checked(find_slices(inputs_of(rows, "wrong"), config))
    candidates: Mapping[Slice, tuple[Fraction, tuple[object, ...]]] = {
        one: (Fraction(row["divergence"]), (row["words"], row["objects"], row["attributes"]))  # type: ignore[arg-type]
        for one, row in by_name(found.slices).items()
        if not row["is_redundant"] and row["divergence"] > 0  # type: ignore[operator]
    }
    expected = reference.cover(rows, candidates)
    named = {row["slice_id"]: one for one, row in by_name(found.slices).items()}
    ours = [(named[one], gain) for one, gain in found.cover.select("slice_id", "new_outcome").iter_rows()]
    assert ours == expected
    total = sum(outcome for _, outcome in rows)
    explained = np.cumsum([gain for _, gain in expected]) / max(total, 1)
    assert found.cover["explained"].to_list() == pytest.approx(explained.tolist())


@given(rows_of_columns(), st.randoms(use_true_random=False))
def test_order_and_names_of_rows_change_nothing(rows: list[Row], random: "object") -> None:
    config = SlicesConfig(min_count=2, max_length=3)
    first = checked(find_slices(inputs_of(rows), config))
    shuffled = rows.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    second = find_slices(inputs_of(shuffled), config)
    assert first.slices.equals(second.slices)
    assert first.items.equals(second.items)
    assert first.cover.equals(second.cover)


@given(rows_of_columns())
def test_twice_the_rows(rows: list[Row]) -> None:
    once = find_slices(inputs_of(rows), SlicesConfig(min_count=2, max_length=3))
    twice = find_slices(inputs_of(rows * 2), SlicesConfig(min_count=4, max_length=3))
    key = ["words", "objects", "attributes"]
    same = [*key, "mean", "divergence", "share", "is_redundant", "length"]
    assert once.slices.select(same).equals(twice.slices.select(same))
    assert (once.slices["count"] * 2).to_list() == twice.slices["count"].to_list()


@given(rows_of_columns())
def test_swapped_models_negate_a_regression(rows: list[Row]) -> None:
    config = SlicesConfig(min_count=2, max_length=3)
    ours = by_name(find_slices(inputs_of(rows), config).slices)
    theirs = by_name(find_slices(inputs_of([(items, -one) for items, one in rows]), config).slices)
    assert ours.keys() == theirs.keys()
    for one, row in ours.items():
        assert row["outcome_sum"] == -theirs[one]["outcome_sum"]  # type: ignore[operator]
        assert row["divergence"] == -theirs[one]["divergence"]  # type: ignore[operator]
        assert row["is_redundant"] == theirs[one]["is_redundant"]


@given(rows_of_columns())
def test_counts_fall_and_the_values_of_a_column_add_up(rows: list[Row]) -> None:
    found = find_slices(inputs_of(rows), SlicesConfig(min_count=1, max_length=3))
    ours = by_name(found.slices)
    for one, row in ours.items():
        for item in one if len(one) > 1 else ():
            assert ours[one - {item}]["count"] >= row["count"]  # type: ignore[operator]
    for name, values in VALUES.items():
        of_values = [frozenset({f"{name}={value}"}) for value in values]
        sums = [ours[one]["outcome_sum"] for one in of_values if one in ours]
        known = [outcome for items, outcome in rows if any(item.startswith(f"{name}=") for item in items)]
        if ours:
            assert sum(sums) == sum(known)  # type: ignore[arg-type]


def test_all_rows_as_a_slice_have_no_divergence() -> None:
    rows = [(frozenset({"colour=red"}), at % 2) for at in range(40)]
    (row,) = find_slices(inputs_of(rows, "wrong"), SlicesConfig(min_count=5)).slices.iter_rows(named=True)
    assert (row["divergence"], row["mean"], row["p_value"], row["is_redundant"]) == (0, 0.5, 1, True)


def test_q_values_without_tests() -> None:
    assert len(q_values(np.empty(0), "by")) == 0
    assert q_values(np.array([np.nan, 0.01]), "bh").tolist() == pytest.approx([np.nan, 0.02], nan_ok=True)


def test_columns_without_slices_of_them() -> None:
    rows = [(frozenset("ab" if at % 2 else "a"), at % 2) for at in range(20)]
    found = checked(find_slices(inputs_of(rows, "wrong"), SlicesConfig(min_count=2)))
    assert found.items["global_divergence"].null_count() == len(found.items) == 2
