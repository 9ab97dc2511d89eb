"""What ``vqa-ce build --table`` takes at any number of rows: time, memory of the process tree, disk, stages.

    python benchmarks/bench_scale.py --worlds WORLDS --rows 1000000 10000000 --memory 4GB
    python benchmarks/bench_scale.py --worlds WORLDS --rows 1000000 --shards 1 8 --executor local[2] --runs 3

Tables of ``scale_world.py`` are looked for in --worlds and generated there if missing. Every run is appended
to --results as one line of JSON, which ``cost_model.py`` reads, and the table of all runs of this call is
printed. The command's own options (--memory, --shards, --executor, --backend) are passed on when given; every
combination of --rows, --shards and --executor runs, in turns. What memory means, ``process_tree.py`` says;
disk is the most that lay in the folder of work and output at one time.
"""

import argparse
import dataclasses
import datetime
import itertools
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from measuring import CHECKOUT, ChildError, header, markdown_table, megabytes, run_child, seconds
from process_tree import run_tree

PACKAGES = ("polars", "pyarrow", "numba", "numpy")
PASSED_ON = ("memory", "backend", "min_support", "min_count")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A table: its rows and what else ``scale_world.py`` is told."""

    rows: int
    labels: int
    names: int

    def table(self, worlds: Path) -> Path:
        """Return the table in `worlds`, generated if it is not there."""
        table = worlds / f"scale_{self.rows}_{self.labels}_{self.names}.parquet"
        if not table.exists():
            worlds.mkdir(parents=True, exist_ok=True)
            script = CHECKOUT / "benchmarks" / "scale_world.py"
            size = ["--rows", str(self.rows), "--labels", str(self.labels), "--names", str(self.names)]
            run_child([sys.executable, script, table, *size])
        return table


def build(table: Path, options: list[str], scratch: Path) -> dict[str, Any]:
    """Build into a folder of `scratch`; return what it took, by stage, and what was counted."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        out = Path(folder) / "out"
        command = [sys.executable, "-m", "shortcut_miner", "vqa-ce", "build", "--table", table]
        command += ["--split-column", "split", "--out", out, "--quiet", *options]
        cost = run_tree(command, folder=Path(folder))
        if cost.exit_code != 0:
            raise ChildError(
                f"{' '.join(options)}: exit code {cost.exit_code}: {cost.stderr[-2_000:].strip()}"
            )
        run = json.loads((out / "run.json").read_text())
        manifest = json.loads((out / "manifest.json").read_text())
        taken = dataclasses.asdict(cost)
        del taken["exit_code"], taken["stderr"]
        return {
            **taken,
            "table_bytes": table.stat().st_size,
            "out_bytes": sum(file["size"] for file in manifest["files"].values()),
            "counts": manifest["counts"],
            "stages": run["stages"],
            "threads": run["threads"],
            "limits": run.get("limits", {}),
        }


def options_of(arguments: argparse.Namespace, shards: str | None, executor: str | None) -> list[str]:
    """Return the command's own options."""
    given = {name: getattr(arguments, name) for name in PASSED_ON} | {"shards": shards, "executor": executor}
    return [
        word
        for name, value in given.items()
        if value is not None
        for word in (f"--{name.replace('_', '-')}", str(value))
    ]


def cost_table(runs: list[dict[str, Any]]) -> str:
    """Return what every run took."""
    columns = [
        "rows",
        "options",
        "rules",
        "wall",
        "user + sys",
        "tree memory",
        "one process",
        "disk",
        "output",
    ]
    return markdown_table(
        columns,
        [
            [
                f"{run['rows']:,}",
                f"`{' '.join(run['options'])}`",
                f"{run['counts']['rules']:,}",
                seconds(run["wall"]),
                seconds(run["cpu"]),
                *(
                    megabytes(run[name])
                    for name in ("tree_bytes", "process_bytes", "disk_bytes", "out_bytes")
                ),
            ]
            for run in runs
        ],
    )


def stage_table(runs: list[dict[str, Any]]) -> str:
    """Return wall, user + sys and memory so far of every stage: a column for each run."""
    cells: dict[str, dict[int, str]] = {}
    for at, run in enumerate(runs):
        for stage in run["stages"]:
            times = f"{stage['wall_seconds']:.1f} / {stage['cpu_seconds']:.1f}"
            cells.setdefault(stage["stage"], {})[at] = f"{times} / {stage['peak_bytes'] / 1e6:.0f}"
    return markdown_table(
        ["stage: wall s / user + sys s / peak MB so far", *(f"{run['rows']:,}" for run in runs)],
        [[name, *(found.get(at, "") for at in range(len(runs)))] for name, found in cells.items()],
    )


def parsed() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--worlds", type=Path, default=Path(tempfile.gettempdir()) / "shortcut-miner-worlds")
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--labels", type=int, default=9, help="drawn for an image; default: 9")
    parser.add_argument("--names", type=int, default=8, help="rare names a root of the rows; default: 8")
    parser.add_argument("--memory")
    parser.add_argument("--backend")
    parser.add_argument("--min-support", default="2e-5", help="default: 2e-5")
    parser.add_argument("--min-count", help="in place of --min-support")
    parser.add_argument("--shards", nargs="+", default=[None])
    parser.add_argument("--executor", nargs="+", default=[None])
    parser.add_argument("--runs", type=int, default=1, help="of each, in turns; default: 1")
    parser.add_argument("--results", type=Path, help="file to append a line of JSON to for each run")
    arguments = parser.parse_args()
    if arguments.min_count is not None:
        arguments.min_support = None
    return arguments


def main() -> None:
    """Run everything that is asked for; print the machine, the costs and the stages."""
    arguments = parsed()
    print(header(PACKAGES), flush=True)
    with tempfile.TemporaryDirectory() as folder:  # compiles the kernels, once and for all
        build(World(rows=20_000, labels=9, names=8).table(Path(folder)), ["--min-count", "8"], Path(folder))
    runs = []
    cases = itertools.product(range(arguments.runs), arguments.rows, arguments.shards, arguments.executor)
    for _, rows, shards, executor in cases:
        world = World(rows=rows, labels=arguments.labels, names=arguments.names)
        table = world.table(arguments.worlds)
        options = options_of(arguments, shards, executor)
        started = datetime.datetime.now(datetime.UTC)
        run = {
            **dataclasses.asdict(world),
            "options": options,
            "date": f"{started:%Y-%m-%d %H:%M} UTC",
            "load": os.getloadavg()[0],
            **build(table, options, arguments.worlds),
        }
        runs.append(run)
        if arguments.results is not None:
            with arguments.results.open("a") as file:
                file.write(json.dumps(run) + "\n")
    print("", cost_table(runs), "", stage_table(runs), sep="\n")


if __name__ == "__main__":
    try:
        main()
    except ChildError as error:
        raise SystemExit(str(error)) from error
