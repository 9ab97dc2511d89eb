"""What cutting a search into shards costs, at VQA v2's size: user + sys over the single search's.

    python benchmarks/bench_sharding.py --runs 3                   the search alone
    python benchmarks/bench_sharding.py --runs 3 --builds WORLDS   a whole `vqa-ce build` from JSON

The rows are those of ``scale_rows.py``. "single" mines them in one piece. Shards are mined one after
another by one process, from rows in memory or, as a build in bounded memory has them, from files that are
read again for every shard; what each found is written, and put together in the end. ``local[N]`` are
processes, which get the rows by files. Each run is a process of its own, and cases take turns; kernels are
loaded before the clock starts, but for the workers of ``local[N]``, whose start is part of the cost. All
must find the same, to the last count, or write the same bytes. Worlds are looked for in WORLDS as
world_SCALE, and generated there if missing.
"""

import argparse
import hashlib
import json
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measuring import (
    Cost,
    generated_world,
    header,
    input_options,
    markdown_table,
    median_cost,
    megabytes,
    run_child,
    seconds,
)

PACKAGES = ("numba", "numpy", "pyarrow")
CASES = ("single", "1", "2", "8", "64", "8 files", "64 files", "local[2]")
EXECUTOR_SHARDS = 8


def write_rows(folder: Path, rows: int) -> None:
    """Write the rows to files, equal ones merged."""
    from scale_rows import world_transactions

    from shortcut_miner.row_files import RowWriter

    made = world_transactions(rows)
    with RowWriter(folder, made.vocabulary) as writer:
        for block in made.blocks():
            writer.append(block)


def search(case: str, folder: Path, min_count: int, threads: int | None) -> dict[str, Any]:
    """Search once; return what it took and what was found."""
    import resource

    from shortcut_miner.mining.antecedents import MiningConfig
    from shortcut_miner.mining.miner import mine_antecedents
    from shortcut_miner.mining.sharding.distribution import Distribution
    from shortcut_miner.mining.sharding.run import mine_in_shards
    from shortcut_miner.row_files import open_row_files

    rows = open_row_files(folder)
    whole = in_memory(rows)
    config = MiningConfig(min_count=min_count)
    few = next(iter(whole.blocks())).without_names()
    warm = MiningConfig(min_count=len(few), max_antecedent=2)
    mine_antecedents(few, warm, backend="numba", threads=1)
    mine_in_shards(few, warm, Distribution(shards=2), backend="numba", threads=1)
    if case.startswith("local"):
        distribution = Distribution(executor=case, shards=EXECUTOR_SHARDS)
    else:
        distribution = Distribution(shards=None if case == "single" else int(case.split()[0]))
    children = resource.RUSAGE_CHILDREN
    wall, cpu = time.perf_counter(), time.process_time()
    if case == "single":
        found = mine_antecedents(whole, config, backend="numba", threads=threads)
    else:
        held = rows if case.endswith("files") else whole
        found = mine_in_shards(held, config, distribution, backend="numba", threads=threads)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    usage = resource.getrusage(children)
    digest = hashlib.sha256(found.item_names.tobytes())
    for level in found.levels:
        for values in level:
            digest.update(values.tobytes())
    return {
        "wall": wall,
        "cpu": cpu + usage.ru_utime + usage.ru_stime,
        "antecedents": sum(len(level.items) for level in found.levels[1:]),
        "digest": digest.hexdigest(),
        "rows": len(rows),
        "items": rows.item_total / len(rows),
    }


def in_memory(rows: Any) -> Any:
    """Return rows of files as arrays, in an order that knows nothing of classes, as questions have."""
    import numpy as np

    from shortcut_miner.mining.sharding.counting import rows_at
    from shortcut_miner.transactions import Transactions

    blocks = list(rows.blocks())
    lengths = np.concatenate([np.diff(block.offsets) for block in blocks])
    fields = ("items", "classes", "weights")
    arrays = (np.concatenate([getattr(block, name) for block in blocks]) for name in fields)
    by_class = Transactions(np.concatenate([[0], np.cumsum(lengths)]), *arrays, rows.vocabulary)
    return rows_at(by_class, np.random.default_rng(0).permutation(len(rows)), rows.vocabulary)


def compare(arguments: argparse.Namespace) -> None:
    """Run all cases in turns; print what each takes over the single search."""
    print(header(PACKAGES), flush=True)
    found: dict[str, list[dict[str, Any]]] = {case: [] for case in arguments.cases}
    memory: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as scratch:
        run_child([sys.executable, __file__, "--write", scratch, "--rows", str(arguments.rows)])
        for _ in range(arguments.runs):
            for case in arguments.cases:
                options = ["--search", case, scratch, "--min-count", str(arguments.min_count)]
                threads = ["--threads", str(arguments.threads)] * (arguments.threads is not None)
                cost, out = run_child([sys.executable, __file__, *options, *threads])
                found[case].append(json.loads(out))
                memory[case] = max(memory.get(case, 0), cost.peak_bytes)
    told = {(run["digest"], run["antecedents"]) for runs in found.values() for run in runs}
    if len(told) > 1:
        raise SystemExit(f"not all found the same: {sorted(told)}")
    first = found[arguments.cases[0]][0]
    print(
        f"- {first['rows']:,} rows of {first['items']:.1f} items, {first['antecedents']:,} antecedents, ",
        end="",
    )
    print(f"medians of {arguments.runs}; all found the same\n")
    medians = {
        case: [statistics.median(run[name] for run in runs) for name in ("wall", "cpu")]
        for case, runs in found.items()
    }
    base = medians[arguments.cases[0]][1]
    rows = [
        [case_name(case), seconds(wall), seconds(cpu), f"{cpu / base - 1:+.0%}", megabytes(memory[case])]
        for case, (wall, cpu) in medians.items()
    ]
    print(markdown_table(["search", "wall", "user + sys", "over the first", "peak of the process"], rows))


def compare_builds(arguments: argparse.Namespace) -> None:
    """Run whole builds in turns, in one piece, in shards and by processes; print what each costs."""
    print(header((*PACKAGES, "polars")), flush=True)
    folder = generated_world(arguments.builds.resolve(), arguments.scale)
    cases = {
        "in one piece": [],
        "`--shards 8`": ["--shards", "8"],
        '`--executor "local[2]"`': ["--executor", "local[2]"],
        '`--executor "local[2]" --shards 2`': ["--executor", "local[2]", "--shards", "2"],
    }
    costs: dict[str, list[Cost]] = {name: [] for name in cases}
    told: set[str] = set()
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(arguments.runs):
            for place, (name, options) in enumerate(cases.items()):
                out = Path(scratch) / f"{number}-{place}"
                command = [sys.executable, "-m", "shortcut_miner", "vqa-ce", "build", *input_options(folder)]
                costs[name].append(run_child([*command, *options, "--out", out, "--quiet"])[0])
                told.add(hashlib.sha256((out / "manifest.json").read_bytes()).hexdigest())
                shutil.rmtree(out)
    if len(told) > 1:
        raise SystemExit("the builds differ")
    medians = {name: median_cost(found) for name, found in costs.items()}
    base = medians["in one piece"]
    rows = [
        [name, seconds(one.wall), seconds(one.cpu), f"{one.cpu / base.cpu - 1:+.0%}",
         f"{one.wall / base.wall - 1:+.0%}"]
        for name, one in medians.items()
    ]  # fmt: skip
    print(f"- `vqa-ce build`, world of scale {arguments.scale:g}, medians of {arguments.runs}; same bytes\n")
    print(markdown_table(["build", "wall", "user + sys", "CPU over the first", "wall over the first"], rows))


def case_name(case: str) -> str:
    """Return a case in words."""
    if case == "single":
        return case
    if case.startswith("local"):
        return f"{EXECUTOR_SHARDS} shards, `{case}`"
    count, _, files = case.partition(" ")
    return f"{count} shard{'s' * (count != '1')}{', rows in files' * bool(files)}"


def main() -> None:
    """Compare; or do the part of a child process."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=434_500, help="before the cut to 3,000 answers")
    parser.add_argument("--min-count", type=int, default=8)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--cases", nargs="+", default=list(CASES), help="the first is what others are compared to"
    )
    parser.add_argument("--builds", type=Path, help="folder of worlds: whole builds, not the search alone")
    parser.add_argument("--scale", type=float, default=1, help="of the world that is built")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--search", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.write is not None:
        write_rows(arguments.write, arguments.rows)
    elif arguments.search is not None:
        case, folder = arguments.search
        print(json.dumps(search(case, Path(folder), arguments.min_count, arguments.threads)))
    elif arguments.builds is not None:
        compare_builds(arguments)
    else:
        compare(arguments)


if __name__ == "__main__":
    main()
