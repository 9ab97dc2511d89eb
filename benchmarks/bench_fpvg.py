"""How long FPVG takes at the size of GQA's balanced validation set, and against plain Python.

A seeded world in GQA's formats (``gqa_world.py``): 132,000 questions about 10,234 images with 100 detector
rows each. Targets on two cores: build under 8 s and 1.5 GB, score under 2 s. The plain loop is the method of
the released script, a pair of boxes at a time, on the first questions; both read nothing and write nothing.

    python benchmarks/bench_fpvg.py [--runs 5] [--scale 1] [--slice 20000] [--world FOLDER]
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import polars as pl
from gqa_world import GqaWorld, files_of
from loader_rates import BARE, item_rates, write_features

from shortcut_miner.diagnostics.fpvg.answers import ModelRun
from shortcut_miner.diagnostics.fpvg.build import build
from shortcut_miner.diagnostics.fpvg.config import CONDITIONS, FpvgConfig, FpvgFiles, ScoreConfig
from shortcut_miner.diagnostics.fpvg.dataset import FpvgDataset
from shortcut_miner.diagnostics.fpvg.inputs import FpvgInputs, read_inputs
from shortcut_miner.diagnostics.fpvg.lists import region_lists
from shortcut_miner.diagnostics.fpvg.outputs import nested
from shortcut_miner.diagnostics.fpvg.score import score


def plain_lists(inputs: FpvgInputs) -> dict[str, dict[str, dict[str, list[int]]]]:
    """Return both nested lists with Python loops over pairs, as the released script computes them."""
    objects = {
        (image, name): corners
        for image, name, *corners in inputs.objects.select("image_id", "object_id", *SIDES).iter_rows()
    }
    regions: dict[str, list[tuple[float, ...]]] = {}
    for image, *corners in inputs.regions.select("image_id", *SIDES).iter_rows():
        regions.setdefault(image, []).append(tuple(corners))
    counts = dict(inputs.detected_images.select("image_id", "region_count").iter_rows())
    named: dict[str, dict[str, list[str]]] = {}
    maps = ("relevant_question", "relevant_answer", "relevant_full_answer")
    for image, question, *lists in inputs.questions.select("image_id", "question_id", *maps).iter_rows():
        ids = sorted({one for given in lists for one in given or ()})
        if ids and image in counts:
            named.setdefault(image, {})[question] = ids
    found: dict[str, dict[str, dict[str, list[int]]]] = {"relevant": {}, "irrelevant": {}}
    for image, questions in named.items():
        matches: dict[str, tuple[set[int], set[int]]] = {}
        for one in {one for ids in questions.values() for one in ids}:
            matches[one] = _of_object(regions[image], objects[image, one])
        for question, ids in questions.items():
            relevant = set().union(*(matches[one][0] for one in ids))
            covered = set().union(*(matches[one][1] for one in ids))
            found["relevant"].setdefault(image, {})[question] = sorted(relevant)
            found["irrelevant"].setdefault(image, {})[question] = sorted(set(range(counts[image])) - covered)
    return found


SIDES = ("x1", "y1", "x2", "y2")


def _of_object(regions: list[tuple[float, ...]], ref: Any) -> tuple[set[int], set[int]]:
    """Return the regions with IoU above 0.5, and those whose overlap exceeds 0.25."""
    matched, covered = set(), set()
    for index, region in enumerate(regions):
        if sum(region) == 0:
            continue
        hyp = [int(side) for side in region]
        if hyp[0] >= hyp[2] or hyp[1] >= hyp[3]:
            continue
        left, top = max(hyp[0], ref[0]), max(hyp[1], ref[1])
        right, bottom = min(hyp[2], ref[2]), min(hyp[3], ref[3])
        if right < left or bottom < top:
            continue
        shared = int(right - left) * int(bottom - top)
        area = (hyp[2] - hyp[0]) * (hyp[3] - hyp[1])
        if shared / (area + int(ref[2] - ref[0]) * int(ref[3] - ref[1]) - shared) > 0.5:
            matched.add(index)
        if shared / area > 0.25:
            covered.add(index)
    return matched, covered


def median_seconds(job: Callable[[], object], runs: int) -> tuple[float, float]:
    """Return the median and the longest wall time of `runs` runs, after one that does not count."""
    job()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return statistics.median(times), max(times)


def main() -> None:
    """Print the machine, the size of the world, and one line per job."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--slice", type=int, default=20_000)
    parser.add_argument("--world", type=Path, help="folder for the world; a temporary one by default")
    options = parser.parse_args()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    python = f"Python {sys.version.split()[0]}, Polars {pl.__version__}"
    print(f"{machine}; {python}, NumPy {np.__version__}, h5py {h5py.__version__}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.world or Path(temporary)
        generator = [sys.executable, str(Path(__file__).with_name("gqa_world.py")), str(folder / "world")]
        scale = ["--scale", str(options.scale), "--seed", str(options.seed)]
        # In a process of its own: a process passes its peak memory on to those that it starts.
        subprocess.run([*generator, *scale], check=True, capture_output=True)
        run_jobs(files_of(folder / "world"), folder, options.runs, options.slice)


def run_jobs(world: GqaWorld, folder: Path, runs: int, size: int) -> None:
    """Time build and score, then both methods on the first `size` questions."""
    files = FpvgFiles(questions=world.questions, scene_graphs=world.scene_graphs, detections=world.detections)
    model = ModelRun(
        model="m",
        all=world.predictions["all"],
        relevant=world.predictions["relevant"],
        irrelevant=world.predictions["irrelevant"],
    )
    built = folder / "built"
    peaks: list[float] = []
    from_start = median_seconds(lambda: peaks.append(command(files, built)), runs)
    counts = build(files, FpvgConfig(), built).counts
    print(
        f"{counts['questions']:,} questions, {counts['images']:,} images, "
        f"{counts['annotated_objects']:,} objects, {counts['regions']:,} regions; "
        f"{counts['evaluable']:,} evaluable; {runs} runs\n"
    )
    print("| what | target | median | longest |\n| --- | ---: | ---: | ---: |")
    print(f"| the command fpvg build, start to end | 8 s | {from_start[0]:.2f} s | {from_start[1]:.2f} s |")
    line("build", "", lambda: build(files, FpvgConfig(), built), runs)
    line("of it: read", "", lambda: read_inputs(files, FpvgConfig()), runs)
    inputs = read_inputs(files, FpvgConfig())
    line("of it: match", "", lambda: region_lists(inputs, FpvgConfig()), runs)
    line(
        "score, 1 model, 1,000 resamples",
        "2 s",
        lambda: score(built, [model], ScoreConfig(), folder / "s"),
        runs,
    )
    few = read_inputs(files, FpvgConfig(preset="code"), size)
    config = FpvgConfig(preset="code")
    plain = line(f"plain Python, {size:,} questions", "", lambda: plain_lists(few), max(runs // 2, 1))
    ours = line(f"match, {size:,} questions", "", lambda: region_lists(few, config), runs)
    rates = loader_rates(built, folder)
    lists = region_lists(few, config)
    are_equal = plain_lists(few) == {name: nested(lists, name) for name in ("relevant", "irrelevant")}
    print(f"\npeak memory of the command {statistics.median(peaks) / 1e6:,.0f} MB")
    print(f"match is {plain / ours:,.0f} times as fast as the loop")
    for name, rate in rates.items():
        print(f"{name}: {rate:,.0f} questions a second of processor time, {rate / rates[BARE]:.2f} of h5py's")
    print("(target 0.7)")
    print(f"their lists are {'equal' if are_equal else 'DIFFERENT'}")


def loader_rates(built: Path, folder: Path, images: int = 256) -> dict[str, float]:
    """Return questions a second of bare h5py and of FpvgDataset by condition, of 100 x 2048 features."""
    boxes = pl.read_parquet(built / "boxes.parquet", columns=["image_id"]).unique(maintain_order=True)
    chosen = boxes["image_id"].head(images)
    asked = pl.read_parquet(built / "regions.parquet").filter(
        "is_evaluable", pl.col("image_id").is_in(chosen.implode())
    )
    path = write_features(folder, chosen.to_list())
    ids = asked["question_id"].to_list()
    row_of = {name: row for row, name in enumerate(chosen.to_list())}
    loaders = {
        condition: FpvgDataset(
            built, path, info=folder / "features_info.json", question_ids=ids, condition=condition
        )
        for condition in CONDITIONS
    }
    items = {f"FpvgDataset, {name}": loader.__getitem__ for name, loader in loaders.items()}
    return item_rates(path, chosen.to_list(), [row_of[one] for one in asked["image_id"]], items)


def command(files: FpvgFiles, out: Path) -> float:
    """Build in a process of its own and return its peak memory in bytes."""
    options = (
        f"--{name.replace('_', '-')}={path}"
        for name, given in asdict(files).items()
        for path in (given if isinstance(given, tuple) else (given,))
        if path
    )
    done = subprocess.run(
        [sys.executable, "-m", "shortcut_miner", "fpvg", "build", *options, f"--out={out}", "--format=json"],
        capture_output=True,
        check=True,
    )
    return max(stage["peak_bytes"] for stage in json.loads(done.stdout)["stages"])


def line(what: str, target: str, job: Callable[[], object], runs: int) -> float:
    """Print one row of the table and return the median."""
    median, longest = median_seconds(job, runs)
    print(f"| {what} | {target} | {median:.2f} s | {longest:.2f} s |", flush=True)
    return median


if __name__ == "__main__":
    main()
