"""How long a person waits for help, and for ``import shortcut_miner``, before any work begins.

    python benchmarks/bench_startup.py

Every run is a process of its own, start and exit of Python included, and the jobs take turns. What is above
the empty program is ours.
"""

import argparse
import sys

from measuring import ChildError, Cost, header, markdown_table, median_cost, megabytes, run_child

PACKAGES = ("cyclopts", "rich", "polars", "numba")
JOBS = {
    'python -c ""': ["-c", ""],
    "import shortcut_miner": ["-c", "import shortcut_miner"],
    "shortcut-miner --help": ["-m", "shortcut_miner", "--help"],
    "shortcut-miner vqa-ce build --help": ["-m", "shortcut_miner", "vqa-ce", "build", "--help"],
    "shortcut_miner.mine_rules, loaded": ["-c", "from shortcut_miner import mine_rules"],
}


def main() -> None:
    """Print the machine, and a row for each job."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=15, help="of each job; default: 15")
    options = parser.parse_args()
    print(header(PACKAGES))
    costs: dict[str, list[Cost]] = {job: [] for job in JOBS}
    for turn in range(options.runs + 1):
        for job, arguments in JOBS.items():
            cost, _ = run_child([sys.executable, *arguments])
            if turn:  # the first turn fills caches: files, byte code
                costs[job].append(cost)
    rows = []
    for job, these in costs.items():
        median, longest = median_cost(these), max(cost.wall for cost in these)
        times = [f"{1000 * value:.0f} ms" for value in (median.wall, longest, median.cpu)]
        rows.append([f"`{job}`", *times, megabytes(median.peak_bytes)])
    columns = ["job", "wall", "longest", "user + sys", "peak memory"]
    print(f"\nMedians of {options.runs} runs.\n\n{markdown_table(columns, rows)}")


if __name__ == "__main__":
    try:
        main()
    except ChildError as error:
        raise SystemExit(str(error)) from error
