"""Every function of the search is compiled once: a second set of types makes the first run wait longer."""

import json
import os
import subprocess
import sys
from pathlib import Path

from cli.commands import CHECKOUT

# Mines rows with an empty cache; prints how often each compiled function was compiled.
SEARCH = """
import json, sys
from numba.core.dispatcher import Dispatcher
from shortcut_miner import mine_rules
labels = [[f"label {k}" for k in range(8) if (row >> k) % 3] for row in range(256)]
assert len(mine_rules(labels, [f"answer {row % 3}" for row in range(256)], superset_filter="immediate"))
kernels = "shortcut_miner.mining.kernels_numba."
modules = [module for name, module in sys.modules.items() if name.startswith(kernels)]
found = {f for module in modules for f in vars(module).values() if isinstance(f, Dispatcher)}
print(json.dumps({f"{f.py_func.__module__}.{f.py_func.__name__}": len(f.signatures) for f in found}))
"""


def test_each_function_is_compiled_for_one_signature(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT), "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", SEARCH], env=env, capture_output=True, text=True, check=True)
    times = json.loads(done.stdout)
    assert {name: count for name, count in times.items() if count > 1} == {}
    names = {name.removeprefix("shortcut_miner.mining.kernels_numba.") for name in times if times[name]}
    assert names >= {"mine.mine_first_items", "bits.search_bits", "filter.drop_immediate", "rows.add_items"}
