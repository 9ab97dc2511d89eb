"""What a search takes of the memory: bounded by max_rules, which by default follows from what is free."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from math import comb
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from cli.commands import CHECKOUT
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner import free_memory
from shortcut_miner.errors import ConfigError
from shortcut_miner.mining import memory
from shortcut_miner.mining.jobs_numba.gathered import Gathered, Part

# Items: 6,195, 368,830, 1,091,058 and 2,676,765 antecedents, all of them rules.
FEW, MANY, MORE, MOST = 20, 55, 72, 90
BLOCKS = 130e6  # what blocks of the table and row groups take, from some number of rules on
# Runs a command or a program, then prints the exit code and the most memory that it took.
MEASURED = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
unit = 1 if sys.platform == "darwin" else 1024
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit)
"""
TABLED = """
import sys
from shortcut_miner import mine_rules
items = int(sys.argv[1])
print(len(mine_rules([[f"label {k:03}" for k in range(items)]] * 12, ["x"] * 12)))
"""
SHORTCUT_MINER = (sys.executable, "-m", "shortcut_miner")


def antecedents(items: int) -> int:
    return sum(comb(items, size) for size in range(1, 5))


def measured(*command: object) -> tuple[int, int]:
    """Return a process's exit code and the bytes that it took at most."""
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT), "NUMBA_NUM_THREADS": "2", "POLARS_MAX_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *map(str, command)],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    code, peak = map(int, done.stdout.split())
    return code, peak


def all_measured(*commands: Sequence[object]) -> list[tuple[int, int]]:
    """Return :func:`measured` of commands that run side by side."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda command: measured(*command), commands))


def labels(items: int) -> list[str]:
    return [f"label {k:03}" for k in range(items)]


def table_of(items: int, folder: Path) -> Path:
    """Write 12 equal rows, so that every antecedent is a rule."""
    path = folder / f"{items}.parquet"
    pl.DataFrame({"labels": [labels(items)] * 12, "answer": ["x"] * 12}).write_parquet(path)
    return path


def mine(table: Path, *options: object) -> tuple[object, ...]:
    out = table.with_suffix("")
    return (*SHORTCUT_MINER, "mine", table, "--objects", "labels", "--out", out, "--quiet", *options)


def vqa_ce_build(items: int, folder: Path) -> tuple[object, ...]:
    files: list[object] = []
    for split, first in (("train", 1000), ("val", 2000)):
        ids = range(first, first + 12)
        questions = [{"question_id": n, "image_id": n, "question": "what"} for n in ids]
        answers = [{"answer": "x", "answer_id": place} for place in range(1, 11)]
        same = {"question_type": "what", "answer_type": "other", "multiple_choice_answer": "x"}
        annotations = [{"question_id": n, "image_id": n, "answers": answers, **same} for n in ids]
        for role, value in (("questions", questions), ("annotations", annotations)):
            path = folder / f"{split}_{role}.json"
            path.write_text(json.dumps({role: value}))
            files += [f"--{split}-{role}", path]
    detections = folder / f"{items}.json"
    found = {"classes": labels(items), "scores": [0.9] * items}
    detections.write_text(json.dumps({str(n): found for n in (*range(1000, 1012), *range(2000, 2012))}))
    options = ("--items", "objects", "--superset-filter", "none", "--dry-run", "--quiet")
    return (*SHORTCUT_MINER, "vqa-ce", "build", *files, "--detections", detections, *options)


def bytes_each(
    few: tuple[int, int], many: tuple[int, int], items: int = MANY, fewer: int = FEW, blocks: float = 0
) -> float:
    """Return what each antecedent costs, from what a run takes more than one with fewer items."""
    assert (few[0], many[0]) == (0, 0)
    return (many[1] - few[1] - blocks) / (antecedents(items) - antecedents(fewer))


class TestEstimates:
    """The constants are no less than what is measured, and no wild guesses."""

    @pytest.mark.slow
    def test_an_antecedent_from_search_to_file(self, tmp_path: Path) -> None:
        few, many = all_measured(*(mine(table_of(items, tmp_path)) for items in (FEW, MORE)))
        found = bytes_each(few, many, MORE, blocks=BLOCKS)
        # A superset filter, of which there is none here, takes up to 80 bytes more.
        assert found <= memory.BYTES_AN_ANTECEDENT < 80 + 2 * found

    def test_a_rule_in_a_table(self) -> None:
        few, many = all_measured(*((sys.executable, "-c", TABLED, items) for items in (FEW, MANY)))
        found = bytes_each(few, many)
        assert found <= memory.BYTES_AN_ANTECEDENT + memory.BYTES_A_TABLED_RULE < 4 * found

    @pytest.mark.slow
    def test_a_rule_with_measures(self, tmp_path: Path) -> None:
        few, many = all_measured(*(vqa_ce_build(items, tmp_path) for items in (MORE, MOST)))
        found = bytes_each(few, many, MOST, MORE)
        assert found <= memory.BYTES_AN_ANTECEDENT + memory.BYTES_A_MEASURED_RULE < 4 * found


def test_the_cap_bounds_the_memory(tmp_path: Path) -> None:
    """Of 6 million antecedents a search that may keep 500,000 holds no more than that."""
    cap = 500_000
    (code, few), (cut_code, peak) = all_measured(
        mine(table_of(FEW, tmp_path)), mine(table_of(110, tmp_path), "--max-rules", cap)
    )
    assert (code, cut_code) == (0, 3)
    # And for each of the two threads a buffer of 2^18 antecedents, 28 bytes each, and a part copied from it.
    assert peak - few < cap * memory.BYTES_AN_ANTECEDENT + 4 * 28 * (1 << 18) + BLOCKS
    kept = pl.scan_parquet(tmp_path / "110" / "rules.parquet").select(pl.len()).collect().item()
    assert kept == 110 + sum(comb(59, size) for size in (2, 3, 4)) <= cap


class TestFreeMemory:
    @pytest.fixture(autouse=True)
    def nothing_but(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
        """Replace the system's files."""
        files: dict[str, str] = {"/proc/meminfo": "MemTotal: 9000 kB\nMemAvailable:    5000 kB\n"}
        monkeypatch.setattr(free_memory, "text_of", lambda path: files.get(str(path), ""))
        return files

    def test_of_the_machine(self, nothing_but: dict[str, str]) -> None:
        assert memory.free_memory() == 5000 * 1024

    def test_where_it_is_not_told(self, nothing_but: dict[str, str]) -> None:
        nothing_but.clear()
        assert memory.free_memory() == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2

    @pytest.mark.parametrize("folder", ["", "/jobs", "/jobs/7"])
    def test_of_control_groups_at_any_height(self, nothing_but: dict[str, str], folder: str) -> None:
        nothing_but["/proc/self/cgroup"] = "0::/jobs/7\n"
        group = f"/sys/fs/cgroup{folder}"
        nothing_but["/sys/fs/cgroup/memory.max"] = "max"
        nothing_but[f"{group}/memory.max"], nothing_but[f"{group}/memory.current"] = "4000", "3500"
        assert memory.free_memory() == 500
        nothing_but[f"{group}/memory.stat"] = "anon 3000\ninactive_file 200\n"
        assert memory.free_memory() == 700

    def test_of_control_groups_of_the_first_version(self, nothing_but: dict[str, str]) -> None:
        nothing_but["/proc/self/cgroup"] = "9:name=systemd:/\n4:cpu,memory:/jobs\n0::/\n"
        group = "/sys/fs/cgroup/memory/jobs"
        nothing_but[f"{group}/memory.limit_in_bytes"] = "4000"
        nothing_but[f"{group}/memory.usage_in_bytes"] = "1000\n"
        assert memory.free_memory() == 3000
        nothing_but[f"{group}/memory.usage_in_bytes"] = "5000\n"
        assert memory.free_memory() == 0

    def test_of_the_address_space(self, nothing_but: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
        nothing_but["/proc/self/status"] = "Name:\tx\nVmSize:\t   1000 kB\n"
        monkeypatch.setattr(resource, "getrlimit", lambda kind: (3_000_000, 9_000_000))
        assert memory.free_memory() == 3_000_000 - 1000 * 1024

    def test_what_fits(self, nothing_but: dict[str, str]) -> None:
        assert memory.fitting_rules() == 5000 * 1024 * 4 // 5 // memory.BYTES_AN_ANTECEDENT
        nothing_but["/proc/meminfo"] = "MemAvailable: 1 kB\n"
        assert memory.fitting_rules() == 10_000

    def test_what_the_budget_does_not_hold_is_told_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(memory, "free_memory", lambda: 10**12)
        monkeypatch.setattr(memory, "held", lambda: 10**9)
        memory.check_fits(2_000_000, 500, 2 * 10**9)
        with pytest.raises(ConfigError) as error:
            memory.check_fits(2_000_001, 500, 2 * 10**9)
        assert str(error.value) == (
            "rules: got 2,000,001, for which about 1.0 GB are needed, expected at most the 1.0 GB that "
            "--memory leaves. Raise --memory, min_count or min_confidence, or choose a superset_filter."
        )

    def test_a_few_fit_in_any_budget(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A process that lives long may hold more than the budget before the run starts."""
        monkeypatch.setattr(memory, "held", lambda: 3 * 10**9)
        memory.check_fits(10_000, 500, 2 * 10**9)
        told = r"^rules: got 10,001, .* at most the 0\.0 GB that --memory leaves"
        with pytest.raises(ConfigError, match=told):
            memory.check_fits(10_001, 500, 2 * 10**9)

    def test_what_does_not_fit_is_told_before_it_is_made(self) -> None:
        memory.check_fits(10_000, 500)
        with pytest.raises(ConfigError) as error:
            memory.check_fits(2_000_000, 500)
        assert str(error.value) == (
            "rules: got 2,000,000, for which about 1.0 GB are needed, expected at most the 0.0 GB of free "
            "memory. Raise min_count or min_confidence, or choose a superset_filter."
        )


def part(first_item: int, size: int) -> Part:
    """Return `size` antecedents of two items below one first item."""
    counts = np.zeros(size, np.int64)
    numbers = counts.astype(np.int32)
    return Part(first_item, np.array([size], np.int32), [[numbers, numbers, counts, counts, numbers]])


@given(st.data())
def test_what_is_gathered_is_the_same_in_any_order_and_never_more_than_fits(data: st.DataObject) -> None:
    sizes: Sequence[Sequence[int]] = data.draw(st.lists(st.lists(st.integers(1, 9), max_size=4), min_size=1))
    room = data.draw(st.integers(0, 60))
    items = iter(range(1000))
    chunks = [[part(next(items), size) for size in chunk] for chunk in sizes]
    gathered = Gathered(len(chunks), room)
    waiting = [chunk for chunk, parts in enumerate(chunks) for _ in parts]
    done = [0] * len(chunks)
    while waiting:
        chunk = waiting.pop(data.draw(st.integers(0, len(waiting) - 1)))
        if gathered.is_open(chunk):
            one = chunks[chunk][done[chunk]]
            is_too_large = len(one) > gathered.left(chunk) and data.draw(st.booleans())
            if is_too_large:
                gathered.skip(chunk)
            else:
                gathered.add(chunk, one)
            done[chunk] += 1
        held = sum(len(one) for parts in gathered._parts for one in parts)
        assert held <= room + 9
    expected, left = [], room
    for one in (one for parts in reversed(chunks) for one in reversed(parts)):
        if len(one) > left:
            break
        expected.insert(0, one.first)
        left -= len(one)
    found = [one.first for one in gathered.whole_first_items() if len(one)]
    assert found == expected
    assert gathered.is_complete == (sum(map(sum, sizes)) <= room)
