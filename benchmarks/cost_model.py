"""What a build costs as a function of rows, items a row, distinct items and least count; from measured runs.

    python benchmarks/cost_model.py RESULTS.jsonl --check 10000000 --carry 100000000 1000000000

RESULTS are lines that ``bench_scale.py`` appended. Each stage's seconds, and the bytes on disk, are fitted
as a part that is always the same, plus a part with a power of each of the four variables: least squares of
relative errors over all runs but those of --check rows, which the fit then predicts. Four scales of rows
must remain; a variable that the runs don't vary apart from the others is left out. What is carried to more
rows keeps items a row and support; distinct items grow as they did. Stages done shard by shard are divided
among the machines, the others are not.
"""

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from measuring import markdown_table
from numpy.typing import NDArray
from scale_rows import mean_items
from scale_world import make_world
from scipy.optimize import least_squares

VARIABLES = ("rows", "items a row", "distinct items", "least count")
BY_SHARD = ("mine",)
LEAST_SECONDS = 0.01  # what is quicker is as quick
LARGEST_CONDITION = 60.0  # of the variables, centred and scaled: beyond it their powers mean nothing
POWER_WEIGHT = 0.02  # a power that explains less than this share of a value, an e-fold of its variable, is 0
SCALES = 4

Run = dict[str, Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """A constant part, and a factor times a power of each variable; a power of 0 where one is left out."""

    constant: float
    factor: float  # natural logarithm
    powers: Floats
    worst: float = 0.0  # largest relative error on the runs it was fitted to

    def __call__(self, variables: Floats) -> Any:
        """Return the value at one point, or at several: float64[points, variables] -> float64[points]."""
        return self.constant + np.exp(self.factor + np.log(variables) @ self.powers)


def variables_of(run: Run, items: dict[int, float]) -> list[float]:
    """Return the variables of a run."""
    counts = run["counts"]
    return [run["rows"], items[run["labels"]], counts["distinct_items"], counts["min_count"]]


def told_apart(logs: Floats) -> list[int]:
    """Return which variables the runs vary independently enough, the first ones first."""
    kept: list[int] = []
    for column in range(logs.shape[1]):
        chosen = logs[:, [*kept, column]]
        chosen = chosen - chosen.mean(axis=0)
        spread = np.linalg.norm(chosen, axis=0)
        if spread.all() and np.linalg.cond(chosen / spread) < LARGEST_CONDITION:
            kept.append(column)
    return kept


def fit(variables: Floats, values: Floats) -> Law:
    """Return the law with the least relative errors."""
    kept = told_apart(np.log(variables))
    middle = np.log(variables).mean(axis=0)

    def law_of(parameters: Floats) -> Law:
        powers = np.zeros(variables.shape[1])
        powers[kept] = parameters[2:]
        factor = parameters[1] - middle @ powers
        return Law(constant=parameters[0] * values.min(), factor=factor, powers=powers)

    def errors(parameters: Floats) -> Floats:
        relative = np.log(law_of(parameters)(variables) / values)
        return np.concatenate([relative, POWER_WEIGHT * parameters[2:]])

    start = np.array([0.1, np.log(values).mean(), *(0.5 for _ in kept)])
    lowest = np.array([0.0, -np.inf, *(-np.inf for _ in kept)])
    highest = np.array([1.0, np.inf, *(np.inf for _ in kept)])
    found = law_of(least_squares(errors, start, bounds=(lowest, highest)).x)
    return replace(found, worst=float(np.abs(found(variables) / values - 1).max()))


def figures_of(run: Run, figure: str) -> dict[str, float]:
    """Return a run's seconds by stage, with those around the stages, and bytes."""
    stages = {stage["stage"]: stage[f"{figure}_seconds"] for stage in run["stages"]}
    around = {"start, exit": run[figure] - sum(stages.values())}
    seconds = {name: max(value, LEAST_SECONDS) for name, value in (stages | around).items()}
    return seconds | {"bytes on disk": float(run["disk_bytes"])}


def law_table(laws: dict[str, Law], around: Floats) -> str:
    """Return the laws: their value at one point, and their powers."""
    rows = []
    for name, law in laws.items():
        powers = [f"{power:+.2f}" if power else "" for power in law.powers]
        values = [amount(name, value) for value in (law(around), law.constant)]
        rows.append([name, *values, *powers, f"{law.worst:.0%}"])
    return markdown_table(["", "there", "of it always", *VARIABLES, "worst error of fit"], rows)


def amount(name: str, value: float) -> str:
    """Return seconds, minutes or hours; or bytes where the name says so."""
    if "bytes" in name:
        return f"{value / 1e9:,.2f} GB"
    if value < 120:
        return f"{value:.1f} s"
    return f"{value / 60:.1f} min" if value < 7_200 else f"{value / 3_600:.1f} h"


def check_table(laws: dict[str, Law], run: Run, point: Floats, figures: dict[str, float]) -> str:
    """Return what was predicted of a run that no law was fitted to, and what was measured."""
    predicted = {name: law(point) for name, law in laws.items()}
    rows = [
        [name, amount(name, predicted[name]), amount(name, value), f"{predicted[name] / value - 1:+.0%}"]
        for name, value in figures.items()
    ]
    seconds = [name for name in figures if "bytes" not in name]
    total, measured = (sum(of[name] for name in seconds) for of in (predicted, figures))
    rows.append(["all", amount("", total), amount("", measured), f"{total / measured - 1:+.0%}"])
    return markdown_table([f"{run['rows']:,} rows", "predicted", "measured", "error"], rows)


def carried_table(laws: dict[str, Law], points: list[Floats], machines: list[int]) -> str:
    """Return what the laws say of more rows, on so many machines."""
    names = [name for name in laws if "bytes" not in name]
    rows = [[name, *(amount(name, law(point)) for point in points)] for name, law in laws.items()]
    for count in machines:
        totals = [
            sum(laws[name](point) / (count if name in BY_SHARD else 1) for name in names) for point in points
        ]
        rows.append([f"all, {count} machines" if count > 1 else "all", *(amount("", one) for one in totals)])
    return markdown_table(["", *(f"{point[0]:,.0f} rows" for point in points)], rows)


def carried(rows: int, like: Floats, distinct: Law) -> Floats:
    """Return the variables of so many rows with the items a row and the support of a smaller run."""
    point = like.copy()
    point[[0, 3]] *= rows / like[0]
    point[2] = distinct(point[:1])
    return point


def main() -> None:
    """Print the laws, what they predict, and what they are carried to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path)
    parser.add_argument("--check", type=int, required=True, help="rows of the runs that are predicted")
    parser.add_argument("--carry", type=int, nargs="*", default=[100_000_000, 1_000_000_000])
    parser.add_argument("--machines", type=int, nargs="*", default=[1, 16, 64])
    parser.add_argument("--figure", choices=("wall", "cpu"), default="wall")
    arguments = parser.parse_args()
    runs: list[Run] = [json.loads(line) for line in arguments.results.read_text().splitlines()]
    labels = {run["labels"] for run in runs}
    items = {count: mean_items(make_world(labels_an_image=count)) for count in labels}
    points = np.array([variables_of(run, items) for run in runs])
    figures = [figures_of(run, arguments.figure) for run in runs]
    is_fitted = points[:, 0] != arguments.check
    largest = check_scales(points[:, 0], is_fitted, arguments)
    names = dict.fromkeys(name for found in figures for name in found)
    laws = {}
    for name in names:
        used = [at for at in np.flatnonzero(is_fitted).tolist() if name in figures[at]]
        laws[name] = fit(points[used], np.array([figures[at][name] for at in used]))
    at = int((points[:, 0] == largest).argmax())
    usual = points[at]
    shown = ", ".join(f"{value:,.4g} {name}" for name, value in zip(VARIABLES, usual, strict=True))
    print(f"Seconds ({arguments.figure}) and bytes at {shown}; powers of the four variables:", "", sep="\n")
    print(law_table(laws, usual), "", sep="\n")
    for run, point, found in zip(runs, points, figures, strict=True):
        if run["rows"] == arguments.check:
            print(check_table(laws, run, point, found), "", sep="\n")
    alike = [run["labels"] == runs[at]["labels"] and run["names"] == runs[at]["names"] for run in runs]
    distinct = fit(points[alike, :1], points[alike, 2])
    print(f"Distinct items grow as rows^{distinct.powers[0]:.2f}.", "", sep="\n")
    print(
        carried_table(laws, [carried(rows, usual, distinct) for rows in arguments.carry], arguments.machines)
    )


def check_scales(rows: Floats, is_fitted: NDArray[np.bool_], arguments: argparse.Namespace) -> float:
    """Return the largest scale that is fitted; raise SystemExit where scales are missing."""
    scales = [f"{count:,.0f}" for count in np.unique(rows[is_fitted])]
    if len(scales) < SCALES or is_fitted.all():
        raise SystemExit(
            f"{arguments.results}: got runs of {', '.join(scales)} rows beside those of {arguments.check:,}, "
            f"expected {SCALES} scales to fit and one to check. Run bench_scale.py on more."
        )
    return float(rows[is_fitted].max())


if __name__ == "__main__":
    main()
