"""How long RAD takes at the size of VQA v2's training and validation sets.

A table of 650,000 questions whose openings are as frequent as VQA v2's. By default a seeded world of plain
English nouns; with --questions and --annotations, files of one's own, --copies times under other ids.
The target on two cores is under 2 minutes for reading, tagging (spaCy), drawing and writing together.

    python benchmarks/bench_rad.py [--runs 3] [--scale 1] [--draw balanced]
        [--questions F F --annotations F F --copies 1]
"""

import argparse
import importlib.metadata
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from shortcut_miner.diagnostics.rad.build import build
from shortcut_miner.diagnostics.rad.config import RadConfig, RadFiles
from shortcut_miner.sources.questions.vqa import read_vqa

QUESTIONS, IMAGES, ANNOTATORS = 650_000, 120_000, 10
# Shares of all questions by opening, as in VQA v2: colour, how many, what kind, yes/no; the rest is other.
SHARES = {"color": 0.062, "count": 0.11, "kind": 0.008, "yes/no": 0.38}
COLORS = ("white", "black", "blue", "red", "brown", "green", "gray", "yellow", "black and white", "clear")
KINDS = ("giraffe", "pizza", "kitchen", "wooden", "passenger", "skiing", "bulldog", "unknown")
NOUNS = (
    "people", "dogs", "cats", "zebras", "giraffes", "cars", "buses", "benches", "chairs", "windows", "birds",
    "boats", "kites", "plates", "glasses", "lights", "signs", "trees", "umbrellas", "horses", "sheep",
    "women", "children",
)  # fmt: skip
VERBS = ("sitting", "standing", "visible", "shown", "red", "flying", "wearing hats")
PLACES = (
    "table",
    "street",
    "beach",
    "bed",
    "wall",
    "train",
    "grass",
    "water",
    "roof",
    "left",
    "shelf",
    "boat",
)


def question_world(size: int, seed: int) -> pl.DataFrame:
    """Return a seeded table of questions with answers, about a quarter of them distinct."""
    drawn = np.random.default_rng(seed)
    kinds = drawn.choice([*SHARES, "other"], size, p=[*SHARES.values(), 1 - sum(SHARES.values())])
    picks = np.floor(drawn.random((size, 5)) ** 2 * 1000).astype(np.int64)
    texts, answers = [], []
    for kind, (a, b, c, d, e) in zip(kinds.tolist(), picks.tolist(), strict=True):
        noun, verb, place = NOUNS[a % len(NOUNS)], VERBS[b % len(VERBS)], PLACES[c % len(PLACES)]
        place = f"{place} in row {d % 100}" if d > 100 else place
        text, answer = {
            "color": (f"What color is the {noun} near the {place}?", COLORS[e % len(COLORS)]),
            "count": (f"How many {noun} are {verb} on the {place}?", str(e % 23)),
            "kind": (f"What kind of {noun} is this?", KINDS[e % len(KINDS)]),
            "yes/no": (f"Is the {noun} on the {place}?", ("yes", "no")[e % 2]),
            "other": (f"What is on the {place} near the {noun}?", noun),
        }[kind]
        texts.append(text)
        answers.append(answer)
    return pl.DataFrame(
        {
            "question_id": pl.Series(range(size)).cast(pl.String),
            "image_id": pl.Series(drawn.integers(0, IMAGES, size)).cast(pl.String),
            "question": texts,
            "answer_type": pl.Series(kinds.tolist()).replace_strict(
                {"yes/no": "yes/no", "count": "number"}, default="other"
            ),
            "answer": answers,
        }
    ).with_columns(answers=pl.concat_list(*["answer"] * ANNOTATORS))


def given_files(questions: list[Path], annotations: list[Path], folder: Path, copies: int) -> Path:
    """Return one table of several VQA files, or of copies of them that differ in ids."""
    tables = [read_vqa(*pair)[0] for pair in zip(questions, annotations, strict=True)]
    whole = pl.concat(tables).unique("question_id", maintain_order=True)
    ids = ("question_id", "image_id")
    several = [
        whole.with_columns(pl.format("{}-{}", one, pl.lit(str(at))).alias(one) for one in ids)
        for at in range(copies)
    ]
    pl.concat(several).write_parquet(folder / "questions.parquet")
    return folder / "questions.parquet"


def main() -> None:
    """Print the machine, the size of the table, and the median time of each stage."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--questions", type=Path, nargs="*", default=[])
    parser.add_argument("--annotations", type=Path, nargs="*", default=[])
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--draw", choices=("paper", "balanced"), default="paper")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        path = folder / "questions.parquet"
        if options.questions:
            given_files(options.questions, options.annotations, folder, options.copies)
        else:
            question_world(int(QUESTIONS * options.scale), options.seed).write_parquet(path)
        stages: dict[str, list[float]] = {}
        for _ in range(options.runs):
            started = time.perf_counter()
            report = build(RadFiles(questions=path), RadConfig(draw=options.draw), folder / "rad")
            for cost in report.costs:
                stages.setdefault(cost.stage, []).append(cost.wall_seconds)
            stages.setdefault("all", []).append(time.perf_counter() - started)
        body = pl.read_parquet(path, columns=["question"]).unique()
        asked = body.filter(pl.col("question").str.contains(r"(?i)^\s*how\s+many\s")).height
    versions = {name: importlib.metadata.version(name) for name in ("polars", "spacy", "inflect")}
    machine = f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    print(
        f"{machine}; Python {sys.version.split()[0]}, " + ", ".join(f"{k} {v}" for k, v in versions.items())
    )
    print(
        f"{report.counts['questions']:,} questions, {asked:,} distinct to tag, "
        f"{report.counts['augmentations']:,} augmentations, peak memory "
        f"{max(cost.peak_bytes for cost in report.costs) / 2**30:.1f} GiB, {options.runs} runs\n"
    )
    print("| stage | target | median | longest |\n| --- | ---: | ---: | ---: |")
    for stage, times in stages.items():
        target = "120 s" if stage == "all" else ""
        print(f"| {stage} | {target} | {statistics.median(times):.2f} s | {max(times):.2f} s |")


if __name__ == "__main__":
    main()
