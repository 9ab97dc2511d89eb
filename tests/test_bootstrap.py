"""Sums on resamples against drawing one by one, and intervals against quantiles of what is there."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from shortcut_miner.scoring.bootstrap import (
    numbered,
    percentile_interval,
    ratios,
    resampled_sums,
    subgroups_of,
)

text = st.sampled_from(["10", "9", "b", ""])
rows = st.lists(st.tuples(text, st.none() | text, st.integers(0, 2), st.integers(-5, 5)), min_size=1)


@given(rows, st.integers(0, 30), st.integers(0, 2**40), st.sampled_from([1, 3, 2**30 + 1, 2**44]))
def test_sums_equal_those_of_clusters_drawn_one_by_one(
    table: list[tuple[str, str | None, int, int]], resamples: int, seed: int, step: int
) -> None:
    schema = {"image": pl.String, "kind": pl.String, "series": pl.Int64, "value": pl.Int64}
    frame = pl.DataFrame(table, schema=schema, orient="row")
    whole = frame["value"].to_numpy()
    sums = resampled_sums(
        frame, [whole, np.ones(len(frame)), whole**2 * 7, whole * step], frame["series"].to_numpy(), 3,
        by=["kind"], clusters="image", resamples=resamples, seed=seed,
    )  # fmt: skip

    def columns(values: list[int]) -> list[int]:
        return [sum(values), len(values), 7 * sum(value**2 for value in values), sum(values) * step]

    kinds = sorted({kind for _, kind, _, _ in table if kind is not None})
    kinds += [None] if any(kind is None for _, kind, _, _ in table) else []
    assert sums.subgroups.rows() == [("overall", "all"), *(("kind", kind) for kind in kinds)]
    images = sorted({image for image, *_ in table})
    drawn = np.random.default_rng(seed).integers(0, len(images), size=(resamples, len(images)))
    for place, (group, subgroup) in enumerate(sums.subgroups.rows()):
        for series in range(3):
            kept = [
                (image, value)
                for image, kind, of_series, value in table
                if of_series == series and (group == "overall" or kind == subgroup)
            ]
            cell = place * 3 + series
            assert sums.totals[:, cell].tolist() == columns([value for _, value in kept])
            for at, clusters in enumerate(drawn):
                values = [value for one in clusters for image, value in kept if image == images[one]]
                assert sums.resampled[:, cell, at].tolist() == columns(values)


def test_resampled_counts_are_weighted_sums() -> None:
    drawn = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"image": [f"{one:02d}" for one in drawn.integers(0, 9, 50)], "kind": ["a", "b"] * 25}
    )
    codes = drawn.integers(0, 4, (2, 50))

    def counts(runs: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """Return runs x subgroups x codes x resamples; a series is a run and a code."""
        series = (6 * np.arange(runs)[:, None] + codes[:runs]).ravel()
        sums = resampled_sums(
            pl.concat([frame] * runs), [np.ones(len(series))], series, 6 * runs,
            by=["kind"], clusters="image", resamples=60, seed=3,
        )  # fmt: skip
        return sums.resampled.reshape(3, runs, 6, 60).swapaxes(0, 1)

    found = counts(2)
    assert found.shape == (2, 3, 6, 60)
    assert found[:, 0].sum(axis=1).min() > 0
    np.testing.assert_array_equal(found[:, 0], found[:, 1] + found[:, 2])
    again = counts(1)
    np.testing.assert_array_equal(found[:1], again)


def test_subgroups_of_numbers_are_sorted_as_text() -> None:
    table, codes = subgroups_of(
        pl.DataFrame({"n": [10, 9, None], "flag": [True, False, True]}), ["n", "flag"]
    )
    assert table.rows() == [
        *(("overall", "all"), ("n", "10"), ("n", "9"), ("n", None), ("flag", "false"), ("flag", "true"))
    ]
    assert codes.tolist() == [[0, 0, 0], [1, 2, 3], [5, 4, 5]]


def test_numbers_of_no_values() -> None:
    values, codes = numbered(pl.Series([], dtype=pl.Int64))
    assert (values.to_list(), codes.tolist()) == ([], [])
    values, codes = numbered(pl.Series([None, None], dtype=pl.String))
    assert (values.to_list(), codes.tolist()) == ([None], [0, 0])


finite = st.floats(-1e6, 1e6) | st.just(np.nan)


@given(arrays.arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(0, 60)), elements=finite))
@pytest.mark.parametrize("level", [0.95, 0.5])
def test_ends_are_quantiles_of_the_values_that_are_there(
    level: float, values: np.ndarray[tuple[int, int], np.dtype[np.float64]]
) -> None:
    ends = [(1 - level) / 2, 1 - (1 - level) / 2]
    low, high = percentile_interval(values, level)
    assert (low.name, high.name) == ("low", "high")
    for row, found in zip(values, zip(low, high, strict=True), strict=True):
        known = row[~np.isnan(row)]
        # To the last digit: whether a row stands among whole ones must not show.
        assert found == (tuple(np.quantile(known, ends)) if len(known) else (None, None))


def test_nothing_over_nothing_is_no_number() -> None:
    found = ratios(np.array([1, 0, 3]), np.array([2, 0, 4]))
    np.testing.assert_array_equal(found, [0.5, np.nan, 0.75])
