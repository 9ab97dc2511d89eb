"""The search on a device equals numba's, array for array; the device is this machine (see cuda_host)."""

import numpy as np
from cuda_host.host import host_device
from hypothesis import given, settings
from hypothesis import strategies as st
from plain import same_levels
from strategies import Table, encode, tables

from shortcut_miner.mining.antecedents import MiningConfig
from shortcut_miner.mining.jobs_cupy.mine import mine_on
from shortcut_miner.mining.miner import mine_antecedents


def assert_same(left, right):
    assert same_levels(left, right)
    assert left.is_complete == right.is_complete
    np.testing.assert_array_equal(left.item_names, right.item_names)


@settings(max_examples=100)
@given(table=tables(max_weight=4), min_count=st.integers(1, 9), max_antecedent=st.integers(1, 5))
def test_random(table: Table, min_count: int, max_antecedent: int) -> None:
    t = encode(table)
    config = MiningConfig(min_count=min_count, max_antecedent=max_antecedent)
    assert_same(mine_on(host_device(), t, config), mine_antecedents(t, config, 1, "numba"))
