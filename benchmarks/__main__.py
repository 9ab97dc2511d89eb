"""Every room's commands in one run, with ratios to the stored run and the limits that machines set.

    python -m benchmarks --quick               at 1/32 of the full size: about two minutes
    python -m benchmarks --scale 1 --runs 1    at full size

Every run is a process of its own, start and exit included, and the figures take turns. A first turn, which
compiles kernels and fills caches, does not count. ``--out FOLDER`` gets quick.json and quick.md.

Beside each figure stands a limit: its input's bytes at the speed at which this memory is copied, and one
nanosecond for every counter that has to change, on as many threads as there are.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path

# Run as ``python -m benchmarks``: the scripts beside this one import each other by their bare names.
sys.path.insert(0, str(Path(__file__).parent))

from measuring import (
    CHECKOUT,
    ChildError,
    Cost,
    header,
    input_options,
    markdown_table,
    median_cost,
    megabytes,
    run_child,
    scale_name,
    seconds,
)

PACKAGES = ("polars", "numba", "numpy", "pyarrow", "spacy", "pyfim")
STORED = Path(__file__).with_name("quick.json")
PROGRAM = (sys.executable, "-m", "shortcut_miner")
PLAIN, INPUTS = (CHECKOUT / "benchmarks" / name for name in ("plain_pipeline.py", "quick_inputs.py"))
QUICK, RUNS, MODELS, UPDATE = Fraction(1, 32), 2, 5, 1e-9
YARDSTICK = "plain Python + pyfim"  # the same work in every version: what it takes tells the machine's speed
COPY = """
import time
source, target, times = bytes(1 << 28), memoryview(bytearray(1 << 28)), []
for _ in range(5):
    start = time.perf_counter()
    target[:] = source
    times.append(time.perf_counter() - start)
print(len(source) / min(times))
"""


@dataclass(frozen=True, slots=True)
class Job:
    """What one line of the table runs, and the files that it has to read."""

    name: str
    command: tuple[str | Path, ...]
    reads: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """What a job took: medians, and the longest wall time; bytes read, and counters that had to change."""

    wall: float
    longest: float
    cpu: float
    peak_bytes: int
    bytes_read: int
    updates: int

    def limit(self, memory_speed: float, threads: int) -> float:
        """Return the seconds that the machine needs at least."""
        return self.bytes_read / memory_speed + self.updates * UPDATE / threads


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A run of everything: its size, machine and versions, and the figures by name."""

    scale: str
    runs: int
    about: list[str]
    memory_speed: float
    threads: int
    figures: dict[str, Figure]


def jobs(folder: Path) -> list[Job]:
    """Return what is run on the worlds of a folder, in an order in which each finds what it needs."""
    return [Job("--help", (*PROGRAM, "--help")), *vqa_jobs(folder), *gqa_jobs(folder)]


def vqa_jobs(folder: Path) -> list[Job]:
    """Return what is run on questions in VQA's form."""
    vqa, table, built, scores = (folder / name for name in ("vqa", "questions.parquet", "vqa-ce", "a"))
    models = [vqa / f"model_{at}.json" for at in range(MODELS)]
    named = [word for at, path in enumerate(models) for word in ("--predictions", f"m{at}={path}")]
    plain = (sys.executable, PLAIN, *input_options(vqa), "--out", folder)
    return [
        Job(YARDSTICK, plain, (vqa,)),
        ours("vqa-ce build", *input_options(vqa), out=built, reads=[vqa]),
        ours("vqa-ce score (5 models)", built, *named, out=scores, reads=[*models, built]),
        ours("export (huggingface)", built, "--to", "huggingface", out=folder / "b", reads=[built]),
        ours("report", built, "--scores", scores, out=folder / "report.html", reads=[built, scores]),
        ours("rad build", "--questions", table, out=folder / "rad", reads=[table]),
    ]


def gqa_jobs(folder: Path) -> list[Job]:
    """Return what is run on questions and scene graphs in GQA's form."""
    gqa, fpvg, swapmix, answers = (
        folder / name for name in ("gqa", "fpvg", "swapmix", "plan_answers.parquet")
    )
    conditions = {name: gqa / f"model_{name}.json" for name in ("all", "relevant", "irrelevant")}
    three = [word for name, path in conditions.items() for word in (f"--{name}", f"m={path}")]
    questions = ["--questions", gqa / "val_balanced_questions.json"]
    regions = [*questions, "--scene-graphs", gqa / "val_sceneGraphs.json", "--detections", gqa / "objects"]
    swaps = [*regions, "--embeddings", gqa / "vectors.txt"]
    epochs, model = ["--plan", "training", "--epochs", "4"], ["--predictions", f"m={answers}"]
    return [
        ours("fpvg build", *regions, out=fpvg, reads=[gqa]),
        ours("fpvg score (1 model)", fpvg, *three, out=folder / "c", reads=[*conditions.values(), fpvg]),
        ours("swapmix build (evaluation)", *swaps, out=swapmix, reads=[gqa]),
        ours("swapmix build (training)", *swaps, *epochs, out=folder / "training", reads=[gqa]),
        Job("swapmix answers", (sys.executable, INPUTS, "answers", folder)),
        ours("swapmix score (1 model)", swapmix, *model, out=folder / "d", reads=[answers, swapmix]),
    ]


def ours(name: str, *words: str | Path, out: Path, reads: Iterable[Path]) -> Job:
    """Return a job that a command of ours does; what stands in brackets tells it from others."""
    command = (*PROGRAM, *name.partition(" (")[0].split(), *words, "--out", out, "--quiet")
    return Job(name, command, tuple(reads))


def run_jobs(listed: list[Job], runs: int) -> dict[str, list[Cost]]:
    """Return what each run of each job cost; the first turn does not count."""
    costs: dict[str, list[Cost]] = {job.name: [] for job in listed}
    for turn in range(runs + 1):
        for job in listed:
            cost, _ = run_child(job.command)
            if turn:
                costs[job.name].append(cost)
    return costs


def figures_of(listed: list[Job], costs: dict[str, list[Cost]], counts: dict[str, int]) -> dict[str, Figure]:
    """Return the figures by name, without those that only prepare others."""
    return {
        job.name: Figure(
            **asdict(median_cost(costs[job.name])),
            longest=max(cost.wall for cost in costs[job.name]),
            bytes_read=sum(map(size_of, job.reads)),
            updates=counts.get(job.name, 0),
        )
        for job in listed
        if job.name == "--help" or job.reads
    }


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of all files of a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def result_table(result: Result, stored: dict[str, Figure]) -> str:
    """Return the table: figures, limits, and ratios to the stored run."""
    rows = []
    for name, one in result.figures.items():
        limit, old = one.limit(result.memory_speed, result.threads), stored.get(name)
        rows.append(
            [
                name,
                *map(seconds, (one.wall, one.longest, one.cpu)),
                megabytes(one.peak_bytes),
                megabytes(one.bytes_read) if one.bytes_read else "",
                f"{one.updates / 1e6:,.1f}M" if one.updates else "",
                f"{1000 * limit:.1f} ms" if limit else "",
                f"{one.wall / limit:,.0f} x" if limit else "",
                *([ratio(one.wall, old.wall), ratio(one.cpu, old.cpu)] if old else ["", ""]),
            ]
        )
    figures = ["what", "wall", "longest", "user + sys", "peak memory"]
    limits = ["reads", "updates", "limit", "wall, to limit"]
    return markdown_table([*figures, *limits, "wall, to stored", "user + sys, to stored"], rows)


def ratio(new: float, old: float) -> str:
    """Return how much of the old time the new one is."""
    return f"{new / old:.2f}"


def summary(figures: dict[str, Figure], stored: dict[str, Figure]) -> str:
    """Return the mean ratio to the stored run, and what is left when the machine's speed is taken out."""
    both = [name for name in figures if name in stored and name != YARDSTICK]
    if not both or YARDSTICK not in stored:
        return "Nothing stored to compare with."
    ratios = [figures[name].cpu / stored[name].cpu for name in both]
    machine = figures[YARDSTICK].cpu / stored[YARDSTICK].cpu
    mean = statistics.geometric_mean(ratios)
    return (
        f"User + sys, to the stored run: {mean:.2f} on average (geometric mean of {len(both)}); "
        f"{YARDSTICK}, the yardstick, {machine:.2f}. Without the machine's speed: {mean / machine:.2f}."
    )


def read_stored(path: Path, scale: str) -> dict[str, Figure]:
    """Return the figures of an earlier run; none of another scale."""
    if not path.is_file():
        return {}
    told = json.loads(path.read_text())
    if told["scale"] != scale:
        return {}
    return {name: Figure(**figure) for name, figure in told["figures"].items()}


def measured(scale: Fraction, runs: int) -> Result:
    """Write the worlds, run everything, and return what it took."""
    about = header(PACKAGES).splitlines()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        run_child([sys.executable, INPUTS, "worlds", folder, "--scale", str(scale)])
        listed = jobs(folder)
        costs = run_jobs(listed, runs)
        counts = json.loads(run_child([sys.executable, INPUTS, "counts", folder])[1])
        speed = float(run_child([sys.executable, "-c", COPY])[1])
        return Result(
            scale=str(scale),
            runs=runs,
            about=about,
            memory_speed=speed,
            threads=processors(),
            figures=figures_of(listed, costs, counts),
        )


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def markdown(result: Result, stored: dict[str, Figure]) -> str:
    """Return all that a person is told."""
    return "\n\n".join(
        [
            "\n".join(result.about),
            f"Scale {scale_name(float(Fraction(result.scale)))}, medians of {result.runs}. "
            f"Memory is copied at {result.memory_speed / 1e9:.1f} GB/s; a counter changes in "
            f"{UPDATE * 1e9:.0f} ns on each of {result.threads} threads.",
            result_table(result, stored),
            summary(result.figures, stored),
        ]
    )


def main() -> None:
    """Run everything, print the tables, and write them where that is asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help=f"the same as --scale {QUICK} --runs {RUNS}")
    parser.add_argument("--scale", type=Fraction, default=QUICK, help="1 is VQA v2's and GQA's size")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"that count; default: {RUNS}")
    parser.add_argument(
        "--against", type=Path, default=STORED, help=f"an earlier run; default: {STORED.name}"
    )
    parser.add_argument("--out", type=Path, help="folder for quick.json and quick.md")
    options = parser.parse_args()
    result = measured(*((QUICK, RUNS) if options.quick else (options.scale, options.runs)))
    text = markdown(result, read_stored(options.against, result.scale))
    print(text)
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "quick.json").write_text(json.dumps(asdict(result), indent=2) + "\n")
        (options.out / "quick.md").write_text(text + "\n")


if __name__ == "__main__":
    try:
        main()
    except ChildError as error:
        raise SystemExit(str(error)) from error
