"""A table of times, printed: the GPU, transfers included, beside numba on two threads and on all."""

import os
import statistics
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gpu.parity import assert_same_antecedents, assert_same_arrays

from shortcut_miner.mining.antecedents import MiningConfig
from shortcut_miner.mining.backends import Backend, resolve_backend
from shortcut_miner.mining.filters import select_rules
from shortcut_miner.mining.jobs_cupy.device import cuda_device
from shortcut_miner.mining.matches import MatchTotals
from shortcut_miner.mining.threads import thread_count
from shortcut_miner.mining.trie import index_rules
from shortcut_miner.row_arrays import load_rows
from shortcut_miner.transactions import Transactions

pytestmark = pytest.mark.gpu

CONFIG, MIN_CONFIDENCE = MiningConfig(min_count=8, max_antecedent=4, max_rules=1 << 30), 0.3
# After one run that counts for nothing. Numba's runs take minutes in all where there are many.
RUNS, NUMBA_RUNS = 5, 1

Job = Callable[[Backend, int | None], Any]


def machine() -> list[str]:
    """Return lines about the card, the driver, the processors and the versions."""
    runtime = import_module("cupy").cuda.runtime
    driver = runtime.driverGetVersion()
    lines = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    processor = lines[0].partition(": ")[2] if lines else "unknown"
    nvidia = Path("/proc/driver/nvidia/version")
    module = nvidia.read_text().splitlines()[0] if nvidia.is_file() else "unknown"
    return [
        f"card: {cuda_device().name}; driver for CUDA {driver // 1000}.{driver % 1000 // 10}, {module}",
        f"processors: {thread_count()} of {os.cpu_count()}, {processor}",
        "versions: " + ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba")),
        f"cupy {import_module('cupy').__version__}, CUDA runtime {runtime.runtimeGetVersion()}",
    ]


def timed(job: Job, backend: Backend, threads: int | None, runs: int) -> tuple[float, Any]:
    """Return the median seconds of some runs after one more, and what the last gave."""
    seconds = []
    for _ in range(runs + 1):
        started = time.perf_counter()
        result = job(backend, threads)  # results are arrays of the host: the device has done all by then
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds[1:]), result


def jobs_on(rows: Transactions) -> tuple[dict[str, Job], str]:
    """Return the jobs of a search on these rows, each from numba's results of those before, and its size."""
    numba = resolve_backend("numba")
    mined = numba.mine_antecedents(rows, CONFIG, None)
    dropped = numba.dropped_by_subset(mined, "immediate", False, None)
    rules, is_dropped = select_rules(mined, dropped, MIN_CONFIDENCE, empty_rule=False)
    rules = rules.take(~is_dropped)
    index = index_rules(rules, rows.item_frequency)
    random = np.random.default_rng(0)
    table = random.integers(0, 1 << 30, (rows.vocabulary.class_count + 1, 66))
    column = random.integers(0, 66, len(rows)).astype(np.int32)
    jobs: dict[str, Job] = {
        "mine": lambda backend, threads: backend.mine_antecedents(rows, CONFIG, threads),
        "filter immediate": lambda backend, threads: backend.dropped_by_subset(
            mined, "immediate", False, threads
        ),
        "filter all": lambda backend, threads: backend.dropped_by_subset(mined, "all", False, threads),
        "match": lambda backend, threads: backend.match_totals(index, rows, None, threads),
        "row sums": lambda backend, threads: backend.sum_where_fired(
            index, rows, table, rules.answers, column, threads
        ),
    }
    fired = int(numba.match_totals(index, rows, None, None).row_fired.sum())
    size = (
        f"{len(rows):,} rows x {len(rows.items) / len(rows):.1f} items, {mined.count:,} antecedents, "
        f"{len(rules):,} rules, {fired:,} times fired"
    )
    return jobs, size


def assert_same(job: str, result: Any, expected: Any) -> None:
    if job == "mine":
        assert_same_antecedents(result, expected)
    elif job == "match":
        names = MatchTotals.__slots__
        assert_same_arrays(*([getattr(one, name) for name in names] for one in (result, expected)), job)
    elif job == "row sums":
        assert_same_arrays([result], [expected], job)
    else:
        assert_same_arrays(result, expected, job)


def test_times(inputs: list[Path], cupy_backend: Backend, capsys: pytest.CaptureFixture[str]) -> None:
    numba = resolve_backend("numba")
    with capsys.disabled():
        tell("", *machine())
        for path in inputs:
            rows = load_rows(path)
            jobs, size = jobs_on(rows)
            tell("", f"{path.stem}: {size}", "")
            tell("| job | numba, 2 threads | numba, all | cupy | 2 threads / cupy | all / cupy |")
            tell("|---|---|---|---|---|---|")
            for name, job in jobs.items():
                two, expected = timed(job, numba, 2, NUMBA_RUNS)
                every, _ = timed(job, numba, None, NUMBA_RUNS)
                cupy, result = timed(job, cupy_backend, None, RUNS)
                assert_same(name, result, expected)
                times = " | ".join(f"{seconds:.3f} s" for seconds in (two, every, cupy))
                tell(f"| {name} | {times} | {two / cupy:.1f} x | {every / cupy:.1f} x |")


def tell(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()
