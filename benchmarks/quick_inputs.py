"""The inputs of ``python -m benchmarks``: seeded worlds in the rooms' file formats, and models' answers.

    python benchmarks/quick_inputs.py worlds FOLDER --scale 1/32    everything that is built
    python benchmarks/quick_inputs.py answers FOLDER                of a model to the plan in FOLDER/swapmix
    python benchmarks/quick_inputs.py counts FOLDER                 what had to be counted, when all has run

A process of its own for each, since a process passes its peak memory on to those that it starts.
"""

import argparse
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
from bench_rad import QUESTIONS, question_world
from gqa_world import ATTRIBUTES, NAMES, write_gqa_world
from measuring import WORLD_FILES, input_files
from vqa_world import write_vqa_world

MODELS, ACCURACY, STABLE, RESAMPLES = 5, 0.6, 0.99, 1000
DIMENSIONS, TOPICS = 50, 40


def write_worlds(folder: Path, scale: float, seed: int) -> None:
    """Write ``vqa/`` with five models' answers, ``gqa/`` with word vectors, and a table of questions."""
    write_vqa_world(folder / "vqa", scale=scale, seed=seed)
    write_answers(folder / "vqa", seed)
    write_gqa_world(folder / "gqa", scale=scale, seed=seed)
    write_vectors(folder / "gqa" / "vectors.txt", seed)
    question_world(int(QUESTIONS * scale), seed).write_parquet(folder / "questions.parquet")


def write_answers(folder: Path, seed: int) -> None:
    """Write five models' answers to the validation questions: the usual one, or that of another question."""
    drawn = np.random.default_rng(seed)
    records = json.loads((folder / WORLD_FILES["val_annotations"]).read_bytes())["annotations"]
    ids = [record["question_id"] for record in records]
    right = np.array([record["multiple_choice_answer"] for record in records], dtype=object)
    for model in range(MODELS):
        is_right = drawn.random(len(right)) < ACCURACY
        answers = np.where(is_right, right, drawn.permutation(right)).tolist()
        results = [{"question_id": one, "answer": answer} for one, answer in zip(ids, answers, strict=True)]
        (folder / f"model_{model}.json").write_text(json.dumps(results))


def write_vectors(path: Path, seed: int) -> None:
    """Write a vector for each word of GQA's names, near one of a few topics: GloVe's text form."""
    drawn = np.random.default_rng(seed)
    words = sorted({word for name in (*NAMES, *ATTRIBUTES) for word in name.split()})
    centres = drawn.normal(size=(TOPICS, DIMENSIONS))
    vectors = centres[drawn.integers(0, TOPICS, len(words))] + 0.5 * drawn.normal(
        size=(len(words), DIMENSIONS)
    )
    lines = (
        " ".join([word, *(f"{value:.4f}" for value in vector)])
        for word, vector in zip(words, vectors, strict=True)
    )
    path.write_text("\n".join(lines) + "\n")


def write_plan_answers(plan: Path, path: Path, seed: int) -> int:
    """Write a model's answers to a plan's rows, one in a hundred an unusual one; return their number."""
    usual = pl.read_parquet(plan / "questions.parquet", columns=["question_id", "answer"])
    rows = pl.read_parquet(plan / "swaps.parquet", columns=["question_id", "perturbation"])
    is_other = pl.Series(np.random.default_rng(seed).random(len(rows)) < 1 - STABLE)
    answer = pl.when(is_other).then(pl.lit("another answer")).otherwise("answer")
    rows.join(usual, on="question_id", how="left", validate="m:1", maintain_order="left").with_columns(
        answer=answer
    ).write_parquet(path)
    return len(rows)


def counters(folder: Path) -> dict[str, int]:
    """Return how many counters must change at least, by what is run.

    A search changes one for every row of every antecedent found, matching boxes one for every pair of an
    object and a region, a plan one for every row, an interval one for every resample, image and model.
    """
    from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles
    from shortcut_miner.diagnostics.vqa_ce.inputs import read_inputs
    from shortcut_miner.encoding import encode_training, keep_top_answers
    from shortcut_miner.mining.miner import MiningConfig, mine_antecedents

    inputs = read_inputs(VqaCeFiles(**input_files(folder / "vqa")), VqaCeConfig())
    rows = encode_training(keep_top_answers(inputs.train), inputs.labels)
    found = mine_antecedents(rows, MiningConfig())
    graphs = json.loads((folder / "gqa" / "val_sceneGraphs.json").read_bytes())
    claimed = json.loads((folder / "gqa" / "objects" / "gqa_objects_info.json").read_bytes())
    pairs = sum(len(graph["objects"]) * claimed[image]["objectsNum"] for image, graph in graphs.items())
    plans = {"evaluation": "swapmix/swaps.parquet", "training": "training/training_epoch_*.parquet"}
    return {
        "vqa-ce build": sum(int(level.antecedent_count.sum()) for level in found.levels[1:]),
        "vqa-ce score (5 models)": RESAMPLES * MODELS * inputs.val["image_id"].n_unique(),
        "fpvg build": pairs,
        "fpvg score (1 model)": RESAMPLES * len(graphs),
        "swapmix score (1 model)": RESAMPLES * len(graphs),
    } | {f"swapmix build ({plan})": _row_count(folder / pattern) for plan, pattern in plans.items()}


def _row_count(pattern: Path) -> int:
    return pl.scan_parquet(pattern).select(pl.len()).collect().item()


def main() -> None:
    """Write what is asked for; print how many rows the plan has."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["worlds", "answers", "counts"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scale", type=Fraction, default=Fraction(1, 32))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.what == "worlds":
        write_worlds(options.folder, float(options.scale), options.seed)
    elif options.what == "counts":
        print(json.dumps(counters(options.folder)))
    else:
        plan, path = options.folder / "swapmix", options.folder / "plan_answers.parquet"
        print(write_plan_answers(plan, path, options.seed))


if __name__ == "__main__":
    main()
