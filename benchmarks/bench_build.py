"""How long ``vqa-ce build`` takes from JSON to all outputs, process start included.

    python benchmarks/bench_build.py --worlds DIR      real subset, then worlds of scale 1/16, 1/4 and 1
    python benchmarks/bench_build.py --scales 4        another size

On the real subset and the worlds of --plain-scales, ``plain_pipeline.py`` does the job too, in turns with
ours, and must give the same three id lists, or the script fails. Worlds are looked for in --worlds as
world_SCALE and generated there if missing. Kernels are compiled by a first build, printed on its own.
"""

import argparse
import json
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
    input_options,
    markdown_table,
    median_cost,
    megabytes,
    real_folder,
    run_child,
    scale_name,
    seconds,
)

PACKAGES = ("polars", "numba", "numpy", "msgspec", "pyfim")
SUBSETS = ("easy", "counterexamples", "hard")

Dataset = tuple[str, Path, int, bool]  # title, folder, runs, whether the plain pipeline runs too
Stages = dict[str, dict[str, Any]]  # run.json's, by name


def build(folder: Path, out: Path, cache: Path) -> Cost:
    """Build a data set into `out`; return the cost of the whole process."""
    command = [sys.executable, "-m", "shortcut_miner", "vqa-ce", "build", *input_options(folder)]
    return run_child([*command, "--out", out, "--quiet"], {"NUMBA_CACHE_DIR": str(cache)})[0]


def build_plainly(folder: Path, out: Path) -> Cost:
    """Do the same with plain_pipeline.py."""
    out.mkdir(exist_ok=True)
    script = CHECKOUT / "benchmarks" / "plain_pipeline.py"
    return run_child([sys.executable, script, *input_options(folder), "--out", out])[0]


def check_same_split(title: str, ours: Path, plain: Path) -> str:
    """Raise SystemExit unless both wrote the same id lists; return the sizes of these."""
    sizes = []
    for subset in SUBSETS:
        our_ids, plain_ids = (json.loads((out / f"{subset}.json").read_text()) for out in (ours, plain))
        if our_ids != plain_ids:
            raise SystemExit(f"{title}: {subset}.json differs: {len(our_ids):,} and {len(plain_ids):,} ids")
        sizes.append(f"{len(our_ids):,} {subset}")
    return f"{title}: the same id lists from both, {', '.join(sizes)}."


def stages_of(out: Path, cost: Cost) -> Stages:
    """Return the stages of a build, and as the last one what the process spent around them."""
    stages = {stage["stage"]: stage for stage in json.loads((out / "run.json").read_text())["stages"]}
    wall, cpu = (sum(stage[key] for stage in stages.values()) for key in ("wall_seconds", "cpu_seconds"))
    around = {
        "wall_seconds": cost.wall - wall,
        "cpu_seconds": cost.cpu - cpu,
        "peak_bytes": cost.peak_bytes,
    }
    return stages | {"start, exit": around}


def bench(data: Dataset, scratch: Path) -> tuple[list[list[str]], Stages, str]:
    """Return rows for the table of costs, the stages of the median build, and what was checked."""
    title, folder, runs, is_compared = data
    out, plain = scratch / "ours", scratch / "plain"
    ours: list[tuple[Cost, Stages]] = []
    plain_costs: list[Cost] = []
    for _ in range(runs):
        cost = build(folder, out, scratch / "numba")
        ours.append((cost, stages_of(out, cost)))
        if is_compared:
            plain_costs.append(build_plainly(folder, plain))
    ours.sort(key=lambda run: run[0].wall)
    rows = [cost_row(title, "vqa-ce build", [cost for cost, _ in ours])]
    checked = ""
    if is_compared:
        rows.append(cost_row(title, "plain Python + pyfim", plain_costs))
        theirs, our = median_cost(plain_costs), median_cost(cost for cost, _ in ours)
        checked = (
            f"{check_same_split(title, out, plain)} Plain Python takes {theirs.wall / our.wall:.1f} x "
            f"our wall time and {theirs.cpu / our.cpu:.1f} x our user + sys."
        )
    return rows, ours[len(ours) // 2][1], checked


def cost_row(title: str, what: str, costs: list[Cost]) -> list[str]:
    """Return one row of the table of costs."""
    median = median_cost(costs)
    longest = max(cost.wall for cost in costs)
    times = [seconds(value) for value in (median.wall, longest, median.cpu)]
    return [title, what, str(len(costs)), *times, megabytes(median.peak_bytes)]


def stage_table(stages: dict[str, Stages]) -> str:
    """Return the table of stages by data set."""
    names = list(next(iter(stages.values())))
    cells = {
        (title, name): f"{stage['wall_seconds']:.2f} / {stage['cpu_seconds']:.2f} / "
        f"{stage['peak_bytes'] / 1e6:.0f}"
        for title, these in stages.items()
        for name, stage in these.items()
    }
    return markdown_table(
        ["stage: wall s / user + sys s / peak MB so far", *stages],
        [[name, *(cells.get((title, name), "") for title in stages)] for name in names],
    )


def datasets(options: argparse.Namespace, worlds: Path) -> list[Dataset]:
    """Return what to build, smallest first; generates missing worlds."""
    found: list[Dataset] = []
    if options.data is None:
        print("- Real subset: not found, left out (give --data)")
    else:
        found.append(("real subset", options.data, options.runs, True))
    for scale in options.scales:
        world = generated_world(worlds, float(scale))
        runs = options.world_runs
        found.append((f"scale {scale_name(float(scale))}", world, runs, scale in options.plain_scales))
    if not found:
        raise SystemExit("nothing to build: give --data or --scales")
    return found


def main() -> None:
    """Print the machine, the costs by data set, the stages, and what was checked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5, help="on the real subset; default: 5")
    parser.add_argument("--world-runs", type=int, default=1, help="on each world; default: 1")
    parser.add_argument("--data", type=Path, default=real_folder(), help="folder of the real subset")
    parser.add_argument("--worlds", type=Path, help="folder of generated worlds; default: a temporary one")
    sizes = [Fraction(1, 16), Fraction(1, 4), Fraction(1)]
    parser.add_argument("--scales", type=Fraction, nargs="*", default=sizes, help="default: 1/16 1/4 1")
    parser.add_argument("--plain-scales", type=Fraction, nargs="*", default=sizes[:1], help="default: 1/16")
    options = parser.parse_args()
    print(header(PACKAGES))
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        found = datasets(options, options.worlds or scratch)
        first = build(found[0][1], scratch / "ours", scratch / "numba")
        print(
            f"- First build of all ({found[0][0]}), kernels compiled: {seconds(first.wall)}, "
            f"user + sys {seconds(first.cpu)}"
        )
        rows: list[list[str]] = []
        stages: dict[str, Stages] = {}
        notes: list[str] = []
        for data in found:
            these, stages[data[0]], checked = bench(data, scratch)
            rows += these
            notes += [f"\n{checked}"] * bool(checked)
    columns = ["data", "program", "runs", "wall", "longest", "user + sys", "peak memory"]
    print("", markdown_table(columns, rows), *notes, "", stage_table(stages), sep="\n")


if __name__ == "__main__":
    try:
        main()
    except ChildError as error:
        raise SystemExit(str(error)) from error
