"""The search needs NumPy alone up to its kernels: a worker or a GPU machine may have nothing else."""

import ast
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from plain import skewed_rows
from strategies import encode

import shortcut_miner
from shortcut_miner.mining.antecedents import SearchConfig
from shortcut_miner.mining.matcher import match_pairs, match_totals
from shortcut_miner.mining.search import search_rules
from shortcut_miner.transactions import Transactions

MINING = Path(shortcut_miner.__file__).parent / "mining"
MODULES = [
    "shortcut_miner.transactions",
    *(f"shortcut_miner.mining.{path.stem}" for path in sorted(MINING.glob("[!_]*.py"))),
]
BLOCK = "import sys\nfor name in {names!r}:\n    sys.modules[name] = None\n"
JOB = """
import pickle
from shortcut_miner.mining.antecedents import SearchConfig
from shortcut_miner.mining.matcher import match_pairs, match_totals
from shortcut_miner.mining.search import search_rules

rows = pickle.load(sys.stdin.buffer)
found = search_rules(rows, SearchConfig(min_count=3, min_confidence=0.4, superset_filter="immediate"))
totals = match_totals(found.rules, rows)
pairs = [pairs for *_, pairs in match_pairs(found.rules, rows)]
pickle.dump((found.backend, found.rules, totals, pairs), sys.stdout.buffer)
"""


def run(code: str, *blocked: str, given: bytes = b"") -> bytes:
    command = [sys.executable, "-c", BLOCK.format(names=blocked) + code]
    done = subprocess.run(command, input=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_importing_the_search_loads_numpy_alone() -> None:
    assert {"search", "backends", "miner", "matcher", "filters", "rules", "threads"} <= {
        name.rpartition(".")[2] for name in MODULES
    }
    code = f"import importlib\nfor name in {MODULES!r}:\n    importlib.import_module(name)\n"
    run(code, "polars", "pyarrow", "numba", "scipy", "pandas", "dataframely")


@pytest.fixture(scope="module")
def transactions() -> Transactions:
    return encode(skewed_rows(150, 14, seed=2))


def test_rows_travel_without_names(transactions: Transactions) -> None:
    like, bare = transactions.vocabulary, transactions.without_names().vocabulary
    assert (bare.item_count, bare.class_count) == (like.item_count, like.class_count)
    assert bare.first_items.tolist() == like.first_items.tolist()
    assert bare.answer_counts is like.answer_counts
    assert b"polars" in pickle.dumps(transactions)
    assert b"polars" not in pickle.dumps(transactions.without_names())


def test_mining_and_matching_without_polars(transactions: Transactions) -> None:
    given = pickle.dumps(transactions.without_names())
    name, rules, totals, pairs = pickle.loads(run(JOB, "polars", "pyarrow", given=given))
    found = search_rules(
        transactions, SearchConfig(min_count=3, min_confidence=0.4, superset_filter="immediate")
    )
    assert name == found.backend
    assert len(rules) > 100
    for left, right in ((rules, found.rules), (totals, match_totals(found.rules, transactions))):
        for field in type(left).__slots__:
            np.testing.assert_array_equal(getattr(left, field), getattr(right, field), err_msg=field)
    expected = [pairs for *_, pairs in match_pairs(found.rules, transactions)]
    assert [part.tolist() for part in pairs] == [part.tolist() for part in expected]


def test_only_jobs_shards_and_statistics_call_kernels() -> None:
    callers = {
        str(path.relative_to(MINING))
        for path in MINING.rglob("*.py")
        if "kernels_" not in path.parent.name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and ".kernels_" in (node.module or "")
    }
    assert {path for path in callers if not path.startswith("jobs_")} == {
        "evidence/family.py",
        "evidence/significance.py",
        # Rows are counted and cut for shards on the host, whichever backend mines them.
        "sharding/counting.py",
        "sharding/plans.py",
        "sharding/suffixes.py",
    }
