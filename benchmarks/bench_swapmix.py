"""How fast SwapMix plans are drawn, written and scored at the size of GQA's balanced validation set.

A seeded world of 132,062 questions on 10,234 images, about 16 objects an image, 1,703 class names and 617
attributes with long tails, 36 regions an image. Targets on two cores at k = 10: more than a million plan rows
a second under 3 GB, and 20 million predictions scored in under 30 s. Every job is a process of its own; what
it prints is the median of its runs.

    PYTHONPATH=. python benchmarks/bench_swapmix.py [--runs 3] [--scale 1] [--threads 2]
"""

import argparse
import dataclasses
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl
from loader_rates import BARE, item_rates, write_features
from measuring import header, markdown_table, megabytes, peak_bytes, seconds

from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.swapmix import outputs
from shortcut_miner.diagnostics.swapmix.config import ScoreConfig, SwapMixConfig, SwapMixFiles
from shortcut_miner.diagnostics.swapmix.dataset import SwapDataset
from shortcut_miner.diagnostics.swapmix.inputs import SwapMixInputs
from shortcut_miner.diagnostics.swapmix.prepared import prepare_plan
from shortcut_miner.diagnostics.swapmix.score import score
from shortcut_miner.publishing import staged_folder
from shortcut_miner.schemas import Questions
from shortcut_miner.sources.embeddings import GLOVE, Embeddings
from shortcut_miner.sources.opening.files import FileFacts

QUESTIONS, IMAGES, CLASSES, ATTRIBUTES, REGIONS = 132_062, 10_234, 1_703, 617, 36
LOADER_SCALE, LOADER_REGIONS, LOADED = 0.025, 100, 3_000  # 255 images: 0.2 GB of features
SCORED_SHARE = 0.51  # of the questions: about 20 million rows
TOPICS, DIMENSIONS, EPOCHS = 120, 300, 4
BUILD_TARGET, SCORE_TARGET = "1M rows/s, 3 GB", "30 s"


def zipf(rng: np.random.Generator, size: int, count: int) -> Any:
    """Return draws from 0..count-1 whose frequency falls as 1 / (rank + 8)."""
    weights = 1 / (np.arange(count) + 8.0)
    return np.searchsorted(np.cumsum(weights) / weights.sum(), rng.random(size)).astype(np.int64)


def world(scale: float, seed: int, regions: int = REGIONS) -> SwapMixInputs:
    """Return the tables of a GQA-like world, with so many regions an image."""
    rng = np.random.default_rng(seed)
    images, questions = max(int(IMAGES * scale), 20), max(int(QUESTIONS * scale), 100)
    image_ids = np.array([str(2_300_000 + number) for number in range(images)])
    counts = rng.integers(6, 28, images)
    total = int(counts.sum())
    image = np.repeat(np.arange(images), counts)
    corner, size = rng.uniform(0, 300, (total, 2)), rng.uniform(20, 200, (total, 2))
    attributes = [
        [f"attribute {one}" for one in row[:length]]
        for row, length in zip(
            zipf(rng, total * 3, ATTRIBUTES).reshape(-1, 3).tolist(),
            rng.integers(0, 4, total).tolist(),
            strict=True,
        )
    ]
    objects = pl.DataFrame(
        {
            "image_id": image_ids[image],
            "object_id": np.array([str(1_000_000 + number) for number in range(total)]),
            "name": np.array([f"class {number}" for number in range(CLASSES)])[zipf(rng, total, CLASSES)],
            **dict(zip(("x1", "y1"), corner.T, strict=True)),
            **dict(zip(("x2", "y2"), (corner + size).T, strict=True)),
            "attributes": pl.Series(attributes, dtype=pl.List(pl.String)),
        }
    )
    first = np.cumsum(counts) - counts
    asked = rng.integers(0, images, questions)
    relevant = first[asked] + rng.integers(0, 1 << 30, questions) % counts[asked]
    ids = objects["object_id"].to_numpy()
    table = pl.DataFrame(
        {
            "question_id": np.array([f"{number:08d}" for number in range(questions)]),
            "image_id": image_ids[asked],
            "question": "What is it?",
            "answer": np.array([f"answer {number}" for number in range(1_800)])[zipf(rng, questions, 1_800)],
            "relevant_objects": [[one] for one in ids[relevant].tolist()],
        }
    )
    table = pl.concat([Questions.create_empty(), table], how="diagonal")
    return _inputs(table, objects, _regions(rng, image_ids, corner, size, first, counts, regions), rng)


def _regions(
    rng: np.random.Generator, image_ids: Any, corner: Any, size: Any, first: Any, counts: Any, regions: int
) -> pl.DataFrame:
    """Return regions near the objects of their image."""
    images = len(image_ids)
    image = np.repeat(np.arange(images), regions)
    near = first[image] + rng.integers(0, 1 << 30, len(image)) % counts[image]
    low = corner[near] + rng.normal(0, 8, (len(image), 2))
    boxes = np.concatenate([low, low + size[near]], axis=1).astype(np.float32)
    return pl.DataFrame(
        {
            "image_id": image_ids[image],
            "region_index": np.tile(np.arange(regions, dtype=np.uint32), images),
            "is_padding": np.zeros(len(image), np.bool_),
            **dict(zip(("x1", "y1", "x2", "y2"), boxes.T, strict=True)),
        }
    ).with_columns(
        label=pl.lit("class", pl.String),
        score=pl.lit(None, pl.Float64),
        attributes=pl.lit(None, pl.List(pl.String)),
    )


def _inputs(
    questions: pl.DataFrame, objects: pl.DataFrame, regions: pl.DataFrame, rng: np.random.Generator
) -> SwapMixInputs:
    words = [f"class {number}" for number in range(CLASSES)] + [f"attribute {n}" for n in range(ATTRIBUTES)]
    centres = rng.normal(size=(TOPICS, DIMENSIONS))
    vectors = centres[rng.integers(0, TOPICS, len(words))] + 0.8 * rng.normal(size=(len(words), DIMENSIONS))
    facts = FileFacts(name="generated", size=0, sha256="")
    return SwapMixInputs(
        questions=questions,
        objects=objects,
        images=objects["image_id"].unique(),
        donor_objects=None,
        regions=regions,
        donor_regions=None,
        detected=regions["image_id"].unique(),
        similar=None,
        embeddings=Embeddings(words=words, vectors=vectors, kind=GLOVE, file=facts),
        facts=InputFacts(),
        sizes=regions.select(pl.col("image_id").unique(), width=pl.lit(600.0), height=pl.lit(600.0)),
    )


def without_detector(inputs: SwapMixInputs) -> SwapMixInputs:
    """Return the inputs of a perfect-sight plan."""
    return dataclasses.replace(inputs, regions=None, detected=None)


def build_once(inputs: SwapMixInputs, config: SwapMixConfig, out: Path, threads: int) -> dict[str, float]:
    """Draw and write one plan; return rows, and seconds of both stages."""
    files = SwapMixFiles(questions=out, scene_graphs=out)
    start = time.perf_counter()
    ready = prepare_plan(inputs, config, files)
    drawn, used = time.perf_counter(), time.process_time()
    with staged_folder(out) as folder:
        done = outputs.draw_plan(folder, inputs, ready, config, None, threads)
    wall, cpu = time.perf_counter() - drawn, time.process_time() - used
    return {"rows": done.provenance.counts["rows"], "prepare": drawn - start, "draw": wall, "cpu": cpu}


def build_job(options: argparse.Namespace, out: Path) -> dict[str, Any]:
    """Return what building one kind of plan costs; a first small run, which compiles, does not count."""
    config = SwapMixConfig(plan=options.plan, k=options.k, epochs=EPOCHS)
    worlds = [world(0.002, options.seed), world(options.scale, options.seed)]
    if options.plan == "perfect-sight":
        worlds = [without_detector(inputs) for inputs in worlds]
    build_once(worlds[0], config, out, options.threads)
    runs = [build_once(worlds[1], config, out, options.threads) for _ in range(options.runs)]
    size = sum(file.stat().st_size for file in out.glob("*.parquet"))
    medians = {name: median(run[name] for run in runs) for name in runs[0]}
    return medians | {"rows": int(runs[0]["rows"]), "bytes": size, "peak": peak_bytes()}


def write_predictions(folder: Path, path: Path, seed: int) -> int:
    """Write a model's answers to a plan's rows as Parquet: mostly right, sometimes another answer."""
    rng = np.random.default_rng(seed)
    answers = pl.scan_parquet(folder / "questions.parquet").select("question_id", "answer")
    plan = pl.scan_parquet(folder / "swaps.parquet").select("question_id", "perturbation")
    rows = int(plan.select(pl.len()).collect().item())
    is_other = pl.Series(rng.random(rows) < 0.01)
    plan.join(answers, on="question_id", how="left", maintain_order="left").with_columns(
        answer=pl.when(is_other).then(pl.lit("another answer")).otherwise("answer")
    ).collect().write_parquet(path)
    return rows


def score_job(options: argparse.Namespace, out: Path) -> dict[str, Any]:
    """Return what scoring one model costs, its file and the plan read each time."""
    predictions = out.parent / "predictions.parquet"
    walls, cpus = [], []
    for _ in range(options.runs + 1):
        start, used = time.perf_counter(), time.process_time()
        score(out, {"model": predictions}, ScoreConfig())
        walls.append(time.perf_counter() - start)
        cpus.append(time.process_time() - used)
    return {"draw": median(walls[1:]), "cpu": median(cpus[1:]), "peak": peak_bytes()}


def predict_job(options: argparse.Namespace, out: Path) -> dict[str, Any]:
    """Write the predictions that the score job reads."""
    return {"rows": write_predictions(out, out.parent / "predictions.parquet", options.seed)}


def loader_job(options: argparse.Namespace, out: Path) -> dict[str, Any]:
    """Return items a second of processor time of bare h5py and of SwapDataset, of 100 x 2048 features.

    The first questions' items in order, and as many in a random order.
    """
    inputs = world(LOADER_SCALE, options.seed, LOADER_REGIONS)
    build_once(inputs, SwapMixConfig(k=options.k), out, options.threads)
    images = pl.read_parquet(out / "boxes.parquet")["image_id"].unique(maintain_order=True).to_list()
    path = write_features(out.parent, images)
    loader = SwapDataset(out, path, info=path.with_name("features_info.json"))
    plan = pl.read_parquet(out / "swaps.parquet", columns=["image_id"])["image_id"]
    row_of = {name: row for row, name in enumerate(images)}
    mixed = np.random.default_rng(options.seed).permutation(len(loader))[:LOADED].tolist()
    rates = {}
    for name, items in (("in order", list(range(LOADED))), ("at random", mixed)):
        rows = [row_of[plan[at]] for at in items]
        found = item_rates(path, images, rows, {name: lambda at, items=items: loader[items[at]]})
        rates[name] = found[name] / found[BARE]
        rates[f"{name}, items a second"] = found[name]
    return rates


JOBS = {"loader": loader_job, "build": build_job, "predict": predict_job, "score": score_job}


def child(job: str, options: argparse.Namespace, out: Path, **changed: object) -> dict[str, Any]:
    """Run one job in a process of its own, so that its peak memory is its own."""
    given = vars(options) | changed | {"job": job, "out": out}
    words = [text for name, value in given.items() if value is not None for text in (f"--{name}", str(value))]
    done = subprocess.run([sys.executable, __file__, *words], check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def parsed() -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--plan", default="evaluation", help=argparse.SUPPRESS)
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def line(job: str, target: str, cost: dict[str, Any]) -> list[str]:
    """Return one line of the table."""
    return [
        job,
        f"{cost['rows']:,}",
        target,
        seconds(cost["prepare"]) if "prepare" in cost else "",
        seconds(cost["draw"]),
        f"{cost['rows'] / cost['draw'] / 1e6:.2f}M",
        seconds(cost["cpu"]),
        megabytes(cost["peak"]),
        f"{cost['bytes'] / cost['rows']:.1f}" if "bytes" in cost else "",
    ]


def main() -> None:
    """Print the machine and one line per job."""
    options = parsed()
    if options.job:
        print(json.dumps(JOBS[options.job](options, options.out)))
        return
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for plan in ("evaluation", "training", "perfect-sight"):
            cost = child("build", options, Path(scratch) / plan, plan=plan)
            target = "" if plan == "training" else BUILD_TARGET  # its rows are few and all different
            rows.append(line(f"{plan}, k = {options.k}", target, cost))
        scored = Path(scratch) / "scored"
        child("build", options, scored, scale=SCORED_SHARE * options.scale, runs=1)
        predicted = child("predict", options, scored)
        loaded = child("loader", options, Path(scratch) / "loaded")
        rows.append(line("score one model", SCORE_TARGET, predicted | child("score", options, scored)))
    print(header(["numpy", "numba", "polars", "pyarrow"]))
    print(f"\n{options.threads} threads, medians of {options.runs} runs\n")
    titles = [
        "job",
        "rows",
        "target",
        "prepare",
        "time",
        "rows/s",
        "processor time",
        "peak memory",
        "bytes/row",
    ]
    print(markdown_table(titles, rows))
    for name, rate in loaded.items():
        print(f"SwapDataset, {name}: {rate:,.2f}" + ("" if "second" in name else " of h5py (target 0.7)"))


if __name__ == "__main__":
    main()
