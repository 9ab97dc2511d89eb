"""Matching, sums over rows and superset filters on a device equal numba's; the device is this machine."""

import dataclasses
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda_host.host import host_device
from gpu.parity import assert_backends_agree, assert_same_arrays, assert_same_matches
from gpu.rows import hard_rows, random_rows
from hypothesis import given
from hypothesis import strategies as st
from reference import Rule
from strategies import Table, encode, tables
from test_matcher import accept, as_arrays, assert_same, rule_lists

from shortcut_miner.errors import BackendError
from shortcut_miner.mining import jobs_cupy, jobs_numba
from shortcut_miner.mining.antecedents import MiningConfig
from shortcut_miner.mining.backends import Backend
from shortcut_miner.mining.jobs_cupy import filter as filter_jobs
from shortcut_miner.mining.jobs_cupy import match as match_jobs
from shortcut_miner.mining.jobs_cupy import mine as mine_jobs
from shortcut_miner.mining.jobs_cupy import plans, tries
from shortcut_miner.mining.jobs_cupy import row_sums as row_sums_jobs
from shortcut_miner.mining.jobs_cupy.device import Device
from shortcut_miner.mining.matcher import RuleIndex, index_rules
from shortcut_miner.options import SupersetFilter
from shortcut_miner.transactions import Transactions

NUMBA = jobs_numba.BACKEND
HARD = hard_rows()
# What a device has where a part holds a few first items, and a block a few rows.
LITTLE, VERY_LITTLE = 20_000, 1


def backend_on(device: Device) -> Backend:
    """Return the backend of the device's jobs."""

    def sums(index: Any, rows: Any, table: Any, line: Any, column: Any, threads: Any) -> Any:
        return row_sums_jobs.sums_on(device, index, rows, table, line, column)

    return dataclasses.replace(
        jobs_cupy.BACKEND,
        mine_antecedents=lambda rows, config, threads: mine_jobs.mine_on(device, rows, config),
        mine_first_items=lambda rows, order, first, stop, config, threads: mine_jobs.mine_first_items_on(
            device, rows, order, first, stop, config
        ),
        dropped_by_subset=lambda mined, which, empty, threads: filter_jobs.dropped_on(
            device, mined, which, empty
        ),
        match_totals=lambda index, rows, accepted, threads, summands=None: match_jobs.totals_on(
            device, index, rows, accepted, summands
        ),
        match_pairs=partial(match_jobs.pairs_on, device),
        sum_where_fired=sums,
    )


def index_of(rules: list[Rule], rows: Transactions) -> RuleIndex:
    return index_rules(as_arrays(rules, rows), rows.item_frequency)


# ---- any rules ----


@given(data=st.data(), table=tables(), rules=rule_lists())
def test_any_rules_on_any_rows(data: st.DataObject, table: Table, rules: list[Rule]) -> None:
    rows = encode(table)
    index = index_of(rules, rows)
    device = host_device(data.draw(st.sampled_from([1 << 32, LITTLE, VERY_LITTLE])))
    assert_same_matches(backend_on(device), NUMBA, index, rows)
    answers = st.lists(st.sampled_from(["no", "yes", "2", "never"]), max_size=4)
    accepted = accept([data.draw(answers) for _ in table.rows], rows)
    totals = match_jobs.totals_on(device, index, rows, accepted)
    assert_same(totals, NUMBA.match_totals(index, rows, accepted, 1))


@given(table=tables(max_weight=5), rules=rule_lists(), seed=st.integers(0, 9))
def test_sums_wrap_around_as_numba_does(table: Table, rules: list[Rule], seed: int) -> None:
    rows = encode(table)
    index = index_of(rules, rows)
    random = np.random.default_rng(seed)
    values = random.integers(-(1 << 62), 1 << 62, (3, 4))
    line, column = (
        random.integers(0, high, len(of)).astype(np.int32) for high, of in ((3, index), (4, rows))
    )
    found = row_sums_jobs.sums_on(host_device(), index, rows, values, line, column)
    assert_same_arrays([found], [NUMBA.sum_where_fired(index, rows, values, line, column, 1)], "sums")


# ---- a whole search ----


@given(
    table=tables(min_rows=1, max_rows=40, max_weight=3),
    min_count=st.integers(1, 4),
    longest=st.integers(1, 8),
    which=st.sampled_from(["immediate", "all"]),
    empty=st.booleans(),
    free_bytes=st.sampled_from([1 << 32, LITTLE, VERY_LITTLE]),
)
def test_filters(
    table: Table, min_count: int, longest: int, which: SupersetFilter, empty: bool, free_bytes: int
) -> None:
    config = MiningConfig(min_count=min_count, max_antecedent=longest)
    mined = NUMBA.mine_antecedents(encode(table), config, 1)
    found = filter_jobs.dropped_on(host_device(free_bytes), mined, which, empty)
    assert_same_arrays(found, NUMBA.dropped_by_subset(mined, which, empty, 1), which)


@pytest.mark.parametrize("hard", HARD)
def test_hard_rows(hard: str) -> None:
    config = MiningConfig(min_count=2, max_antecedent=2 if hard.startswith("300") else 3)
    found = assert_backends_agree(backend_on(host_device()), NUMBA, HARD[hard], config)
    assert found > 0 or hard.startswith("no ")


@pytest.mark.parametrize(
    "device",
    [
        pytest.param({"descending": True, "atomics_a_turn": 3}, id="threads in another order"),
        pytest.param({"free_bytes": 2_000_000}, id="little memory"),
    ],
)
def test_a_search_on_such_a_device(device: dict[str, Any]) -> None:
    rows = random_rows(3, 300, 24, 4, max_weight=3)
    found = assert_backends_agree(backend_on(host_device(**device)), NUMBA, rows, MiningConfig(min_count=4))
    assert found > 3000


def test_threads_stride_over_what_a_grid_does_not_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "MOST_BLOCKS", 2)
    rows = random_rows(4, 400, 20, 3)
    found = assert_backends_agree(backend_on(host_device()), NUMBA, rows, MiningConfig(min_count=6))
    assert found > 2 * plans.BLOCK_SIZE


# ---- memory ----


def test_little_memory_means_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = random_rows(5, 200, 20, 3)
    mined = NUMBA.mine_antecedents(rows, MiningConfig(min_count=4), 1)
    nodes = np.diff(tries.first_bounds([(level.items, level.starts) for level in mined.levels])).sum(axis=0)
    placed: list[int] = []
    place = filter_jobs._place

    def noted(device: Device, levels: Any, ranges: Any) -> Any:
        placed.append(sum(stop - first for first, stop in ranges))
        return place(device, levels, ranges)

    monkeypatch.setattr(filter_jobs, "_place", noted)
    expected = NUMBA.dropped_by_subset(mined, "all", True, 1)
    assert_same_arrays(filter_jobs.dropped_on(host_device(), mined, "all", True), expected, "all at once")
    assert placed == [mined.count + 1]
    placed.clear()
    room = int(nodes.max()) * 2 * (tries.BYTES_A_NODE + filter_jobs._BYTES_A_COUNT)
    device = host_device(int(room / plans.SHARE) + 2)
    assert_same_arrays(filter_jobs.dropped_on(device, mined, "all", True), expected, "in parts")
    assert len(placed) > 10
    assert max(placed) <= nodes.max() + 1


def running_out(device: Device, times: int) -> tuple[Device, list[str]]:
    """Return the device with a memory that runs out at the first launches, and the list of all launches."""
    launches: list[str] = []

    def launch(source: str, kernel: str, *rest: Any) -> None:
        launches.append(kernel)
        if len(launches) <= times:
            raise MemoryError
        device.launch(source, kernel, *rest)

    return dataclasses.replace(device, launch=launch), launches


def test_smaller_parts_where_memory_runs_out() -> None:
    rows = random_rows(6, 100, 12, 3)
    mined = NUMBA.mine_antecedents(rows, MiningConfig(min_count=4), 1)
    device, launches = running_out(host_device(), 3)
    found = filter_jobs.dropped_on(device, mined, "immediate", False)
    assert_same_arrays(found, NUMBA.dropped_by_subset(mined, "immediate", False, 1), "dropped")
    assert len(launches) == 4


def test_memory_that_is_never_enough() -> None:
    rows = random_rows(6, 100, 12, 3)
    mined = NUMBA.mine_antecedents(rows, MiningConfig(min_count=4), 1)
    device, launches = running_out(host_device(), 1000)
    with pytest.raises(BackendError) as error:
        filter_jobs.dropped_on(device, mined, "immediate", False)
    assert str(error.value) == (
        "backend cupy: got 3.4 GB of free memory on host, expected more: the superset filter fails even in "
        "small parts. Free memory there, raise min_count, or choose numba."
    )
    assert 5 < len(launches) < 20


# ---- plans ----


def test_ranges_cover_all_nodes_once() -> None:
    mined = NUMBA.mine_antecedents(random_rows(7, 200, 16, 3), MiningConfig(min_count=3), 1)
    levels = [(level.items, level.starts) for level in mined.levels]
    nodes = np.diff(tries.first_bounds(levels)).sum(axis=0)
    assert nodes.sum() == mined.count
    parts = tries.fitting_ranges(nodes * 10, nodes, int(nodes.max()) * 10)
    assert len(parts) > 3
    seen = [np.zeros(len(items), np.int64) for items, _ in levels]
    for part in parts:
        ranges = tries.node_ranges(levels, *part)
        assert sum(stop - first for first, stop in ranges[1:]) <= nodes.max()
        for count, (first, stop) in zip(seen, ranges, strict=True):
            count[first:stop] += 1
    assert [set(count.tolist()) for count in seen] == [{len(parts)}, {1}, {1}, {1}, {1}]


def test_a_part_s_nodes_fit_in_32_bits() -> None:
    nodes = np.array([1 << 30, 1 << 30, 1 << 30])
    assert tries.fitting_ranges(nodes, nodes, 1 << 60) == [(0, 1), (1, 2), (2, 3)]
    with pytest.raises(
        BackendError, match=r"got 4,294,967,296 antecedents with one first item, expected at most"
    ):
        tries.fitting_ranges(nodes * 4, nodes * 4, 1 << 60)


@pytest.mark.real
def test_a_slice_of_the_real_subset(real_data: Path) -> None:
    from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles
    from shortcut_miner.diagnostics.vqa_ce.inputs import read_inputs
    from shortcut_miner.encoding import encode_training

    folder = real_data / "vqa60k"
    roles = {
        "train_questions": "questions_train", "train_annotations": "annotations_train",
        "val_questions": "questions_valid", "val_annotations": "annotations_valid",
        "detections": "image_to_detection",
    }  # fmt: skip
    files = VqaCeFiles(**{role: folder / f"{name}.json.gz" for role, name in roles.items()})
    inputs = read_inputs(files, VqaCeConfig(items="both"), limit=1500)
    rows = encode_training(inputs.train, inputs.labels)
    found = assert_backends_agree(backend_on(host_device()), NUMBA, rows, MiningConfig(min_count=8))
    assert found > 300
