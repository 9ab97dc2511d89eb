"""How long ``shortcut-miner export`` takes for each format, process start included, without images.

A seeded world of 214,354 validation questions with ten annotators each, as many as VQA v2 has, is split by a
small ``vqa-ce build`` first, untimed. The formats take turns. Target: under 10 s a format.

    python benchmarks/bench_exports.py [--runs 3] [--scale 1]
"""

import argparse
import sys
import tempfile
from pathlib import Path

import polars as pl
from bench_scoring import QUESTIONS, answer_world, question_texts
from measuring import Cost, header, markdown_table, median_cost, megabytes, run_child, seconds

from shortcut_miner.datasets.question_sets import question_sets_of
from shortcut_miner.exports.formats import FORMATS
from shortcut_miner.exports.vqa_json import write
from shortcut_miner.schemas import Questions
from shortcut_miner.sources.images.image_files import Images

PACKAGES = ("polars", "pyarrow", "msgspec")
TRAIN = 20_000
PROGRAM = (sys.executable, "-m", "shortcut_miner")


def write_world(folder: Path, questions: int, seed: int) -> dict[str, Path]:
    """Write the questions and annotations of both splits in VQA's files, and return them by role."""
    table, _ = answer_world(questions + TRAIN, seed)
    texts = question_texts(questions + TRAIN, seed)["question"]
    filled = table.drop("answer_type", "question_type", "subset").with_columns(
        question=texts, answer=pl.col("answers").list.first()
    )
    empty = Questions.create_empty()
    whole = pl.concat([empty, filled], how="diagonal").select(empty.columns)
    splits = {"train": whole.head(TRAIN), "val": whole.tail(questions)}
    sets = question_sets_of(folder, command="bench", title="questions", sets={"world": splits}, read_back="")
    write(sets, Images(), folder)
    return {
        f"{split}_{kind}": folder / f"world_{split}_{kind}.json"
        for split in splits
        for kind in ("questions", "annotations")
    }


def build(folder: Path, files: dict[str, Path]) -> Path:
    """Split the world by words alone, and return the built folder."""
    options = [word for role, file in files.items() for word in (f"--{role.replace('_', '-')}", file)]
    run_child(
        [*PROGRAM, "vqa-ce", "build", *options, "--items", "words", "--out", folder / "built", "--quiet"]
    )
    return folder / "built"


def main() -> None:
    """Print the machine, and a line a format."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    questions = int(QUESTIONS * options.scale)
    costs: dict[str, list[Cost]] = {name: [] for name in FORMATS}
    sizes: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        built = build(folder, write_world(folder, questions, options.seed))
        for run in range(options.runs):
            for name in FORMATS:
                out = folder / f"{name}-{run}"
                costs[name].append(
                    run_child([*PROGRAM, "export", built, "--to", name, "--out", out, "--quiet"])[0]
                )
                sizes[name] = sum(path.stat().st_size for path in out.iterdir())
    print(f"{header(PACKAGES)}\n\n{questions:,} questions, medians of {options.runs}.\n")
    rows = []
    for name, some in costs.items():
        cost = median_cost(some)
        rows.append([name, seconds(cost.wall), seconds(cost.cpu), megabytes(sizes[name])])
    print(markdown_table(["format", "wall", "user + sys", "written"], rows))


if __name__ == "__main__":
    main()
