"""The GPU gives what numba gives: ``pytest -m gpu tests/gpu -s``, with NumPy, numba, CuPy and pytest."""

import dataclasses
from pathlib import Path

import pytest
from gpu.parity import assert_backends_agree
from gpu.rows import hard_rows, random_rows

from shortcut_miner.mining.antecedents import MiningConfig
from shortcut_miner.mining.backends import Backend, resolve_backend
from shortcut_miner.mining.jobs_cupy import filter as filter_jobs
from shortcut_miner.mining.jobs_cupy import match as match_jobs
from shortcut_miner.mining.jobs_cupy import mine as mine_jobs
from shortcut_miner.mining.jobs_cupy import plans
from shortcut_miner.mining.jobs_cupy.device import cuda_device
from shortcut_miner.row_arrays import load_rows

pytestmark = pytest.mark.gpu

HARD = hard_rows()
# Rows, items, classes, longest antecedent.
RANDOM = [(200, 12, 3, 4), (3_000, 40, 5, 5), (30_000, 30, 6, 3), (200_000, 24, 4, 3)]


@pytest.mark.parametrize("hard", HARD)
def test_hard_rows(hard: str, cupy_backend: Backend) -> None:
    config = MiningConfig(min_count=2, max_antecedent=2 if hard.startswith("300") else 4)
    found = assert_backends_agree(cupy_backend, resolve_backend("numba"), HARD[hard], config)
    assert found > 0 or hard.startswith("no ")


@pytest.mark.parametrize(("rows", "items", "classes", "longest"), RANDOM)
@pytest.mark.parametrize("max_weight", [1, 5])
def test_random_rows(
    rows: int, items: int, classes: int, longest: int, max_weight: int, cupy_backend: Backend
) -> None:
    transactions = random_rows(rows, rows, items, classes, max_weight=max_weight)
    config = MiningConfig(min_count=max(5, rows // 200), max_antecedent=longest)
    assert assert_backends_agree(cupy_backend, resolve_backend("numba"), transactions, config) > 100


def test_threads_stride_over_what_a_grid_does_not_cover(
    cupy_backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "MOST_BLOCKS", 3)
    rows = random_rows(9, 5_000, 30, 4)
    config = MiningConfig(min_count=20, max_antecedent=3)
    assert assert_backends_agree(cupy_backend, resolve_backend("numba"), rows, config) > 1000


@pytest.mark.parametrize("free_bytes", [40_000_000, 4_000_000])
def test_little_memory(free_bytes: int, cupy_backend: Backend) -> None:
    device = dataclasses.replace(cuda_device(), free_bytes=lambda: free_bytes)
    backend = dataclasses.replace(
        cupy_backend,
        mine_antecedents=lambda rows, config, threads: mine_jobs.mine_on(device, rows, config),
        dropped_by_subset=lambda mined, which, empty, threads: filter_jobs.dropped_on(
            device, mined, which, empty
        ),
        match_totals=lambda index, rows, answers, threads, summands=None: match_jobs.totals_on(
            device, index, rows, answers, summands
        ),
        match_pairs=lambda index, rows, fired: match_jobs.pairs_on(device, index, rows, fired),
    )
    rows = random_rows(8, 1_000, 30, 5)
    config = MiningConfig(min_count=6)
    assert assert_backends_agree(backend, resolve_backend("numba"), rows, config) > 10_000


def test_rows_of_files(inputs: list[Path], cupy_backend: Backend) -> None:
    smallest = min(inputs, key=lambda path: path.stat().st_size)
    found = assert_backends_agree(
        cupy_backend, resolve_backend("numba"), load_rows(smallest), MiningConfig(min_count=8)
    )
    assert found > 1000
