"""What a build costs as a function of rows, items a row, distinct items and least count; from measured runs.

    python benchmarks/cost_model.py RESULTS.jsonl --check 10000000 --carry 100000000 1000000000

RESULTS are lines that ``bench_scale.py`` appended, of runs with one --memory. How many antecedents there
are is a power of each of the four variables: least squares in logarithms. A stage's seconds, and the bytes
on disk, are then a sum of parts, none negative: one that is always the same, one for every item of every
row, one for every antecedent, one for every row of every antecedent (antecedents times least count); for
the stage that mines also one for every item that is read again for another shard (items squared by memory).
Their factors have the least squares of relative errors over all runs but those of --check rows, which they
then predict.

What is carried to more rows keeps items a row, support, memory, and the antecedents of the largest run:
there are hardly more of the same support in more rows. The stage that mines is divided among the machines,
the others are not.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from measuring import markdown_table
from numpy.typing import NDArray
from scale_rows import mean_items
from scale_world import make_world
from scipy.optimize import nnls

VARIABLES = ("rows", "items a row", "distinct items", "least count")
MINE, DISK = "mine", "bytes on disk"
PARTS = ("always", "items", "antecedents", "their rows", "items read again")
SCALES = 4

Run = dict[str, Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """A factor times a power of each variable."""

    factor: float  # natural logarithm
    powers: Floats

    def __call__(self, variables: Floats) -> Any:
        """Return the value at points: float64[..., variables] -> float64[...]."""
        return np.exp(self.factor + np.log(variables) @ self.powers)


def fit_power(variables: Floats, values: Floats) -> Power:
    """Return the law that is closest in logarithms."""
    columns = np.column_stack([np.ones(len(variables)), np.log(variables)])
    found = np.linalg.lstsq(columns, np.log(values), rcond=None)[0]
    return Power(factor=float(found[0]), powers=found[1:])


def parts_of(variables: Floats, antecedents: Floats, memory: float) -> Floats:
    """Return what the parts of a cost are proportional to: float64[points, PARTS]."""
    items = variables[:, 0] * variables[:, 1]
    return np.column_stack(
        [np.ones(len(items)), items, antecedents, antecedents * variables[:, 3], items**2 / memory]
    )


def fit_sum(name: str, parts: Floats, values: Floats) -> Floats:
    """Return the factor of each part, none negative."""
    used = slice(None) if name == MINE else slice(0, -1)
    factors = np.zeros(len(PARTS))
    factors[used] = nnls(parts[:, used] / values[:, None], np.ones(len(values)))[0]
    return factors


def variables_of(run: Run, items: dict[int, float]) -> list[float]:
    """Return the variables of a run."""
    counts = run["counts"]
    return [run["rows"], items[run["labels"]], counts["distinct_items"], counts["min_count"]]


def figures_of(run: Run, figure: str) -> dict[str, float]:
    """Return a run's seconds by stage, with those around the stages, and the bytes on disk."""
    stages = {stage["stage"]: stage[f"{figure}_seconds"] for stage in run["stages"]}
    return stages | {"start, exit": run[figure] - sum(stages.values()), DISK: float(run["disk_bytes"])}


def memory_of(runs: list[Run]) -> float:
    """Return the --memory that all runs had, in GB; raise SystemExit where they had none or several."""
    told = {" ".join(run["options"]).partition("--memory ")[2].partition("GB")[0] for run in runs}
    if len(told) != 1 or not (memory := told.pop()).replace(".", "").isdecimal():
        raise SystemExit("results: got runs of several --memory or none, expected one for all, such as 4GB.")
    return float(memory)


def amount(name: str, value: float) -> str:
    """Return seconds, minutes or hours; GB for what lies on disk."""
    if name == DISK:
        return f"{value / 1e9:,.2f} GB"
    if value < 120:
        return f"{value:.1f} s"
    return f"{value / 60:.1f} min" if value < 7_200 else f"{value / 3_600:.1f} h"


def parts_table(factors: dict[str, Floats], parts: Floats) -> str:
    """Return what each part comes to at one point."""
    rows = [
        [name, *(amount(name, value) if value else "" for value in of * parts), amount(name, of @ parts)]
        for name, of in factors.items()
    ]
    return markdown_table(["", *PARTS, "sum"], rows)


def check_table(factors: dict[str, Floats], parts: Floats, measured: dict[str, float], title: str) -> str:
    """Return what was predicted of a run that nothing was fitted to, and what was measured."""
    predicted = {name: float(factors[name] @ parts) for name in measured}
    predicted["all"], measured = total_of(predicted), measured | {"all": total_of(measured)}
    rows = [
        [name, amount(name, predicted[name]), amount(name, value), f"{predicted[name] / value - 1:+.0%}"]
        for name, value in measured.items()
    ]
    return markdown_table([title, "predicted", "measured", "error"], rows)


def total_of(values: dict[str, float]) -> float:
    """Return the seconds of all stages."""
    return sum(value for name, value in values.items() if name != DISK)


def carried_table(factors: dict[str, Floats], parts: Floats, rows: list[int], machines: list[int]) -> str:
    """Return what the model says of more rows, on so many machines."""
    values = [{name: float(of @ part) for name, of in factors.items()} for part in parts]
    lines = [[name, *(amount(name, one[name]) for one in values)] for name in factors]
    for count in machines:
        shared = [total_of(one) - one[MINE] * (1 - 1 / count) for one in values]
        lines.append([f"all, {count} machine{'s' * (count > 1)}", *(amount("", one) for one in shared)])
    return markdown_table(["", *(f"{count:,} rows" for count in rows)], lines)


def check_scales(rows: Floats, is_fitted: NDArray[np.bool_], arguments: argparse.Namespace) -> None:
    """Raise SystemExit unless there are enough scales to fit, and one to check."""
    scales = [f"{count:,.0f}" for count in np.unique(rows[is_fitted])]
    if len(scales) < SCALES or is_fitted.all():
        raise SystemExit(
            f"{arguments.results}: got runs of {', '.join(scales)} rows beside those of {arguments.check:,}, "
            f"expected {SCALES} scales to fit and one to check. Run bench_scale.py on more."
        )


def main() -> None:
    """Print the model, what it predicts, and what it is carried to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path)
    parser.add_argument("--check", type=int, required=True, help="rows of the runs that are predicted")
    parser.add_argument("--carry", type=int, nargs="*", default=[100_000_000, 1_000_000_000])
    parser.add_argument("--machines", type=int, nargs="*", default=[1, 16, 64])
    parser.add_argument("--carry-memory", type=float, help="GB of each of them; default: as measured")
    parser.add_argument("--figure", choices=("wall", "cpu"), default="wall")
    arguments = parser.parse_args()
    runs: list[Run] = [json.loads(line) for line in arguments.results.read_text().splitlines()]
    memory, labels = memory_of(runs), {run["labels"] for run in runs}
    items = {count: mean_items(make_world(labels_an_image=count)) for count in labels}
    points = np.array([variables_of(run, items) for run in runs])
    found = np.array([run["counts"]["antecedents"] for run in runs])
    fitted = points[:, 0] != arguments.check
    check_scales(points[:, 0], fitted, arguments)
    antecedents = fit_power(points[fitted], found[fitted])
    parts = parts_of(points, found, memory)
    figures = [figures_of(run, arguments.figure) for run in runs]
    factors = {
        name: fit_sum(name, parts[fitted], np.array([one[name] for one in figures])[fitted])
        for name in figures[0]
    }
    powers = ", ".join(f"{name}^{one:.2f}" for name, one in zip(VARIABLES, antecedents.powers, strict=True))
    print(f"Antecedents: {np.exp(antecedents.factor):.3g} * {powers}.", "", sep="\n")
    usual = int(np.flatnonzero(fitted)[points[fitted, 0].argmax()])
    shown = ", ".join(f"{value:,.4g} {name}" for name, value in zip(VARIABLES, points[usual], strict=True))
    print(f"Seconds ({arguments.figure}) at {shown}:", "", parts_table(factors, parts[usual]), "", sep="\n")
    for at in np.flatnonzero(~fitted).tolist():
        expected = parts_of(points[at : at + 1], antecedents(points[at : at + 1]), memory)[0]
        print(check_table(factors, expected, figures[at], f"{arguments.check:,} rows"), "", sep="\n")
    largest = int(points[:, 0].argmax())
    further = np.repeat(points[largest : largest + 1], len(arguments.carry), axis=0)
    further[:, [0, 3]] *= (np.array(arguments.carry) / further[:, 0])[:, None]
    many = parts_of(further, np.full(len(further), found[largest]), arguments.carry_memory or memory)
    print(f"With {arguments.carry_memory or memory:g} GB a machine:", "", sep="\n")
    print(carried_table(factors, many, arguments.carry, arguments.machines))


if __name__ == "__main__":
    main()
