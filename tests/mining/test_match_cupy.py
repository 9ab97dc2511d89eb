"""Matching, sums over rows and superset filters on a device, run by the host, against numba's results."""

import numpy as np
from cuda_host.host import host_device
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Table, encode, tables
from test_matcher import accept, as_arrays, assert_same, rule_lists

from shortcut_miner.mining import jobs_numba
from shortcut_miner.mining.antecedents import MiningConfig
from shortcut_miner.mining.jobs_cupy import filter as filter_jobs
from shortcut_miner.mining.jobs_cupy import match as match_jobs
from shortcut_miner.mining.jobs_cupy import row_sums as row_sums_jobs
from shortcut_miner.mining.jobs_cupy.device import Device
from shortcut_miner.mining.matcher import Accepted, RuleIndex, index_rules
from shortcut_miner.transactions import Transactions

NUMBA = jobs_numba.BACKEND


def index_of(rules, rows: Transactions) -> RuleIndex:
    return index_rules(as_arrays(rules, rows), rows.item_frequency)


def assert_matches(device: Device, index: RuleIndex, rows: Transactions, accepted: Accepted | None) -> None:
    totals = match_jobs.totals_on(device, index, rows, accepted)
    assert_same(totals, NUMBA.match_totals(index, rows, accepted, 1))
    blocks = list(match_jobs.pairs_on(device, index, rows))
    expected = list(NUMBA.match_pairs(index, rows, None))
    assert len(blocks) == len(expected)
    for (first, offsets, pairs), (other_first, other_offsets, other_pairs) in zip(
        blocks, expected, strict=True
    ):
        assert first == other_first
        np.testing.assert_array_equal(offsets, other_offsets)
        np.testing.assert_array_equal(pairs, other_pairs)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), table=tables(), rules=rule_lists())
def test_matching(data: st.DataObject, table: Table, rules) -> None:
    rows = encode(table)
    answers = st.lists(st.sampled_from(["no", "yes", "2", "never"]), max_size=4)
    accepted = data.draw(st.none() | st.just(accept([data.draw(answers) for _ in table.rows], rows)))
    assert_matches(host_device(), index_of(rules, rows), rows, accepted)


@settings(max_examples=80, deadline=None)
@given(table=tables(max_weight=5), rules=rule_lists(), seed=st.integers(0, 9))
def test_sums(table: Table, rules, seed: int) -> None:
    rows = encode(table)
    index = index_of(rules, rows)
    random = np.random.default_rng(seed)
    values = random.integers(-(1 << 62), 1 << 62, (3, 4))
    line = random.integers(0, 3, len(index)).astype(np.int32)
    column = random.integers(0, 4, len(rows)).astype(np.int32)
    found = row_sums_jobs.sums_on(host_device(), index, rows, values, line, column)
    np.testing.assert_array_equal(found, NUMBA.sum_where_fired(index, rows, values, line, column, 1))


@settings(max_examples=80, deadline=None)
@given(
    table=tables(min_rows=1, max_rows=40, max_weight=3),
    min_count=st.integers(1, 4),
    longest=st.integers(1, 6),
    which=st.sampled_from(["immediate", "all", "none"]),
    empty=st.booleans(),
)
def test_filter(table: Table, min_count: int, longest: int, which, empty: bool) -> None:
    rows = encode(table)
    mined = NUMBA.mine_antecedents(rows, MiningConfig(min_count=min_count, max_antecedent=longest), 1)
    found = filter_jobs.dropped_on(host_device(), mined, which, empty)
    expected = NUMBA.dropped_by_subset(mined, which, empty, 1)
    assert [mask.tolist() for mask in found] == [mask.tolist() for mask in expected]
