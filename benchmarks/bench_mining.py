"""How fast mining and the superset filter are, next to other miners on the same rows, in one run.

    python benchmarks/bench_mining.py --world DIR      a generated world, and the real subset if it is there
    python benchmarks/bench_mining.py --scale 1/16     generate the world first

Every run of every miner is a process of its own (``mining_peers.py``), in turns. Timed is the search alone:
reading, building the miner's own form of the rows and loading compiled kernels come before. pyfim.arules does
the same job without choosing an answer and without the filter; its rules with the best answer of each
antecedent must equal ours, or the script fails. The others list itemsets: rules would be further work.
"""

import argparse
import json
import statistics
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

from measuring import (
    CHECKOUT,
    ChildError,
    Cost,
    generated_world,
    header,
    markdown_table,
    median_cost,
    megabytes,
    real_folder,
    run_child,
    scale_name,
    seconds,
)

OURS, ORACLE = "shortcut_miner", "pyfim.arules"
PEERS = (ORACLE, "pyfim.eclat", "pyfim.fpgrowth", "pyfim.eclat, only counting")
SLOW_PEER = "mlxtend.fpgrowth"  # on the real subset only: minutes and gigabytes elsewhere
PACKAGES = ("numba", "numpy", "pyfim", "mlxtend")

Miner = tuple[str, int]  # name, threads
Run = dict[str, Any]  # what a run cost and found, as mining_peers.py prints it


def child(job: str, *paths: Path, options: argparse.Namespace, cache: Path, threads: int = 1) -> Run:
    """Run one job of mining_peers.py."""
    script = CHECKOUT / "benchmarks" / "mining_peers.py"
    command = [sys.executable, script, job, *paths, "--threads", str(threads)]
    if job.startswith(("pyfim", "mlxtend")):
        command += ["--memory-limit", str(options.memory_limit)]
    _, printed = run_child(command, {"NUMBA_CACHE_DIR": str(cache)})
    result: Run = json.loads(printed)
    return result


def check_agreement(runs: dict[Miner, list[Run]]) -> str:
    """Raise SystemExit unless every run found the same rules; return what was compared."""
    fingerprints = {
        (run["rules"], run["sha256"]) for these in runs.values() for run in these if "sha256" in run
    }
    if len(fingerprints) != 1:
        found = {name: [run.get("rules") for run in these] for name, these in runs.items()}
        raise SystemExit(f"the rules differ: {found}")
    if not any("sha256" in run for run in runs[ORACLE, 1]):
        raise SystemExit(f"{ORACLE} gave no rules to compare with")
    return f"All {fingerprints.pop()[0]:,} rules with their counts are equal: ours, and {ORACLE}'s best."


def table(runs: dict[Miner, list[Run]], baseline: Miner) -> str:
    """Return the Markdown table of one data set; ratios are to the medians of `baseline`."""
    costs = {
        miner: median_cost(Cost(run["wall"], run["cpu"], run["peak_bytes"]) for run in these)
        for miner, these in runs.items()
        if all("wall" in run for run in these)
    }
    lines = []
    for miner, these in runs.items():
        name, threads = miner
        if miner not in costs:
            lines.append([name, str(threads), "out of memory", *[""] * 6])
            continue
        cost, ours = costs[miner], costs[baseline]
        longest = max(run["wall"] for run in these)
        lines.append(
            [
                name,
                str(threads),
                seconds(cost.wall),
                seconds(longest),
                seconds(cost.cpu),
                megabytes(cost.peak_bytes),
                f"{these[0]['count']:,} {these[0]['counted']}",
                f"{cost.wall / ours.wall:.1f} x",
                f"{cost.cpu / ours.cpu:.1f} x",
            ]
        )
    columns = ["miner", "threads", "wall", "longest", "user + sys", "peak memory", "found"]
    return markdown_table([*columns, "wall, to ours", "user + sys, to ours"], lines)


def bench(title: str, folder: Path, peers: list[str], options: argparse.Namespace, scratch: Path) -> float:
    """Print the comparison on one data set; return the seconds that our kernels' very first call took."""
    rows, cache = scratch / "rows.npz", scratch / "numba"
    size = child("prepare", folder, rows, options=options, cache=cache)
    first_call: float = child(OURS, rows, options=options, cache=cache)["first_call"]
    miners = [*((OURS, threads) for threads in options.threads), *((peer, 1) for peer in peers)]
    runs: dict[Miner, list[Run]] = {miner: [] for miner in miners}
    for _ in range(options.runs):
        for name, threads in miners:
            runs[name, threads].append(child(name, rows, options=options, cache=cache, threads=threads))
    baseline = (OURS, options.threads[-1])
    ours = runs[baseline]
    mine = statistics.median(run["mine_wall"] for run in ours)
    rest = statistics.median(run["wall"] - run["mine_wall"] for run in ours)
    print(
        f"\n### {title}\n\n{size['rows']:,} rows x {size['items_a_row']:.1f} items "
        f"({size['frequent_items']:,} in {size['min_count']} rows or more), medians of {options.runs}.\n"
        f"{check_agreement(runs)} {ours[0]['kept']:,} of them pass the superset filter.\n"
        f"Of our time on {options.threads[-1]} threads, mining is {seconds(mine)}, filter and selection "
        f"{seconds(rest)}.\n\n{table(runs, baseline)}",
        flush=True,
    )
    return first_call


def main() -> None:
    """Print the machine, and one table for each data set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="of our miner; default: 1 2")
    parser.add_argument("--data", type=Path, default=real_folder(), help="folder of the real subset")
    parser.add_argument("--world", type=Path, action="append", default=[], help="folder of a generated world")
    parser.add_argument("--scale", type=Fraction, action="append", default=[], help="world to generate")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=PEERS)
    parser.add_argument("--memory-limit", type=float, default=16, help="of a peer, in GB; default: 16")
    options = parser.parse_args()
    print(header(PACKAGES))
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        peers = list(dict.fromkeys([ORACLE, *options.peers]))
        if options.data is None:
            print("- Real subset: not found, left out (give --data)")
        data = [] if options.data is None else [("Real subset", options.data, [*peers, SLOW_PEER])]
        data += [(f"Generated world, {world.name}", world, peers) for world in options.world]
        for scale in map(float, options.scale):
            world = generated_world(scratch, scale)
            data.append((f"Generated world, scale {scale_name(scale)}", world, peers))
        first_calls = [bench(*one, options=options, scratch=scratch) for one in data]
    if first_calls:
        print(f"\nOur kernels took {seconds(first_calls[0])} to compile, once and for all.")


if __name__ == "__main__":
    try:
        main()
    except ChildError as error:
        raise SystemExit(str(error)) from error
