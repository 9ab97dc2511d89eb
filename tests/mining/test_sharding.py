"""Sharded mining: array for array what the single search finds."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from plain import skewed_rows
from strategies import Table, encode, tables

from shortcut_miner.mining.antecedents import Antecedents, MiningConfig
from shortcut_miner.mining.miner import mine_antecedents
from shortcut_miner.mining.sharding.run import Distribution, mine_in_shards
from shortcut_miner.transactions import Transactions

SHARDS = (1, 2, 7, 64)


def assert_same(found: Antecedents, single: Antecedents) -> None:
    assert found.is_complete == single.is_complete
    for name, (ours, theirs) in enumerate(
        zip(
            [found.item_names, *(field for level in found.levels for field in level)],
            [single.item_names, *(field for level in single.levels for field in level)],
            strict=True,
        )
    ):
        assert ours.dtype == theirs.dtype, name
        np.testing.assert_array_equal(ours, theirs, strict=True, err_msg=str(name))


def assert_shards_make_no_difference(
    rows: Transactions, config: MiningConfig, shards: tuple[int, ...] = SHARDS
) -> None:
    single = mine_antecedents(rows, config, 1)
    for count in shards:
        assert_same(mine_in_shards(rows, config, Distribution(shards=count), threads=1), single)


@settings(max_examples=60)
@given(table=tables(max_weight=3), min_count=st.integers(1, 4), max_antecedent=st.integers(1, 5))
def test_drawn_rows(table: Table, min_count: int, max_antecedent: int) -> None:
    config = MiningConfig(min_count=min_count, max_antecedent=max_antecedent, max_rules=10**6)
    assert_shards_make_no_difference(encode(table), config)


@settings(max_examples=80)
@given(table=tables(max_weight=3), min_count=st.integers(1, 3), max_rules=st.integers(1, 60))
def test_a_cut_at_max_rules(table: Table, min_count: int, max_rules: int) -> None:
    assert_shards_make_no_difference(encode(table), MiningConfig(min_count=min_count, max_rules=max_rules))


def test_a_cut_of_many_rules() -> None:
    rows = encode(skewed_rows(400, 40, seed=3))
    for max_rules in (50, 1000, 3000):
        assert_shards_make_no_difference(rows, MiningConfig(min_count=2, max_rules=max_rules))
