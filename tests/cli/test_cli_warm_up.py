"""``warm-up``: after it nothing is compiled any more."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli.commands import CHECKOUT


def warm_up(cache: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "shortcut_miner", "warm-up", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)


@pytest.mark.slow
def test_every_kernel_is_compiled_and_none_twice(tmp_path: Path) -> None:
    first = warm_up(tmp_path, "--format", "json")
    assert first.returncode == 0, first.stderr
    told = json.loads(first.stdout)
    assert told["compiled"] > 20
    assert Path(told["folder"]) == tmp_path
    assert _missing(tmp_path) == 0
    again = warm_up(tmp_path)
    assert again.returncode == 0, again.stderr
    assert again.stdout.splitlines()[0].split() == ["compiled", "nothing:", "all", "kernels", "are", "there"]
    assert "compiling" not in again.stderr


def _missing(cache: Path) -> int:
    """Return how many kernels a cache lacks, as a process that uses it sees."""
    code = "from shortcut_miner.cli.kernels import *; print(kernels_to_compile(*EVERYTHING))"
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return int(done.stdout)
