"""Digests of rows: whatever their order, in any parts, and other ones for other rows."""

import random
from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.content_digest import RowSums, row_sums

COLUMNS = {
    "id": pl.String,
    "text": pl.String,
    "list": pl.List(pl.String),
    "numbers": pl.List(pl.UInt8),
    "value": pl.Float64,
    "flag": pl.Boolean,
    "whole": pl.Int32,
    "nested": pl.List(pl.List(pl.String)),
    "nothing": pl.Null,
}
TEXTS = st.text("ab\0é", max_size=20)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "id": TEXTS,
    "text": st.none() | TEXTS,
    "list": st.none() | st.lists(st.none() | TEXTS, max_size=3),
    "numbers": st.none() | st.lists(st.none() | st.integers(0, 255), max_size=3),
    "value": st.none() | st.floats(allow_nan=False),
    "flag": st.none() | st.booleans(),
    "whole": st.none() | st.integers(-(2**31), 2**31 - 1),
    "nested": st.none() | st.lists(st.none() | st.lists(TEXTS, max_size=2), max_size=2),
    "nothing": st.none(),
}
ROWS = st.lists(st.tuples(*VALUES.values()), max_size=8)
MASK = (1 << 64) - 1


def table(rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


# ---- the same in plain Python ----


def take(states: tuple[int, int], words: tuple[int, int]) -> tuple[int, int]:
    one = (states[0] ^ words[0]) * 0x9E3779B97F4A7C15 & MASK
    two = (states[1] + words[1]) * 0xB7E151628AED2A6B & MASK
    return one ^ one >> 32, two ^ two >> 29


def take_value(states: tuple[int, int], value: Any) -> tuple[int, int]:
    if value is None:
        return take(states, (MASK, MASK))
    if isinstance(value, str):
        stored = value.encode()
        states = take(states, (len(stored),) * 2)
        for at in range(0, len(stored), 8):
            states = take(states, (int.from_bytes(stored[at : at + 8], "little"),) * 2)
        return states
    if isinstance(value, list):
        states = take(states, (len(value),) * 2)
        for one in value:
            states = take(states, take_value((0, 0), one))
        return states
    bits = pl.Series([value]).cast(pl.Float64).to_numpy().view("u8")[0] if isinstance(value, float) else value
    return take(take(states, (1, 1)), (int(bits) & MASK,) * 2)


def final(state: int) -> int:
    state = (state ^ state >> 33) * 0xFF51AFD7ED558CCD & MASK
    state = (state ^ state >> 33) * 0xC4CEB9FE1A85EC53 & MASK
    return state ^ state >> 33


def reference(rows: Sequence[tuple[Any, ...]]) -> tuple[int, int]:
    sums = [0, 0]
    for row in rows:
        states = (0, 0)
        for value in row:
            states = take_value(states, value)
        sums[0] += final(states[0])
        sums[1] += final(states[1] ^ 0x243F6A8885A308D3)
    return sums[0] & MASK, sums[1] & MASK


@given(rows=ROWS)
def test_sums_are_those_of_the_definition(rows: list[tuple[Any, ...]]) -> None:
    assert row_sums(table(rows)).sums == reference(rows)


@given(rows=ROWS, cut=st.integers(0, 8), seed=st.integers(0, 99))
def test_neither_order_nor_parts_matter(rows: list[tuple[Any, ...]], cut: int, seed: int) -> None:
    shuffled = random.Random(seed).sample(rows, len(rows))
    whole = table(shuffled)
    # Slices, and rows behind others that were filtered out, are stored in other ways.
    parts = [whole[:cut], pl.concat([whole[cut:], whole[:cut]]).head(len(whole[cut:]))]
    filtered = [part.filter(pl.Series([True] * len(part), dtype=pl.Boolean)) for part in parts]
    assert (row_sums(filtered[0]) + row_sums(parts[1])).sha256() == row_sums(table(rows)).sha256()


@given(rows=ROWS, other=ROWS)
def test_other_rows_have_another_digest(rows: list[tuple[Any, ...]], other: list[tuple[Any, ...]]) -> None:
    ours, theirs = (sorted(one, key=repr) for one in (rows, other))
    is_same = [repr(row) for row in ours] == [repr(row) for row in theirs]
    assert (row_sums(table(rows)).sha256() == row_sums(table(other)).sha256()) == is_same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": ["x"]}, {"b": ["x"]}),
        ({"a": [1]}, {"a": [1.0]}),
        ({"a": [["x", "y"]]}, {"a": [["xy"]]}),
        ({"a": ["x"], "b": [""]}, {"a": [""], "b": ["x"]}),
        ({"a": [None]}, {"a": [""]}),
        ({"a": ["x", "x"]}, {"a": ["x"]}),
        ({"a": ["x\0"]}, {"a": ["x"]}),
        ({"a": ["x", "y"], "b": ["y", "x"]}, {"a": ["x", "y"], "b": ["x", "y"]}),
    ],
)
def test_what_looks_alike_is_told_apart(one: dict[str, Any], other: dict[str, Any]) -> None:
    tables = [pl.DataFrame(columns) for columns in (one, other)]
    assert row_sums(tables[0]).sha256() != row_sums(tables[1]).sha256()


def test_the_digest_stays_what_it_is() -> None:
    frame = pl.DataFrame({"question_id": ["1", "2"], "answers": [["yes", None], None], "score": [0.5, None]})
    assert row_sums(frame).sha256() == "3ed5e5e73dc14f9d195c5fdd7fc7761e81c86ae88c84240fd135bd5effda3632"


def test_parts_of_different_tables_do_not_add_up() -> None:
    with pytest.raises(ValueError, match=r"parts of one table: got the columns \(\('a', 'Int64'\),\)"):
        row_sums(pl.DataFrame({"a": [1]})) + RowSums((("a", "String"),), 0, (0, 0))


def test_a_column_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match="expected texts, numbers, or lists of these"):
        row_sums(pl.DataFrame({"a": [{"b": 1}]}))
