"""How long scoring and its intervals take at the size of VQA v2's validation set.

A seeded world of 214,354 questions on 40,504 images with ten annotators each: answers with a long tail,
misspellings and punctuation, five models. Two targets on two cores: official accuracy under 5 s a model;
1,000 resamples of five models with several groups under 10 s.

    python benchmarks/bench_scoring.py [--runs 5] [--scale 1]
"""

import argparse
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import polars as pl
import scipy

from shortcut_miner.scoring.accuracy import score_questions
from shortcut_miner.scoring.intervals import compare, summarise
from shortcut_miner.text import basic_english

QUESTIONS, IMAGES, ANNOTATORS, MODELS = 214_354, 40_504, 10, 5
TRAIN_QUESTIONS = 443_757
ANSWERS = 200_000
GROUPS = {"answer_type": 3, "question_type": 65, "subset": 3}


def answer_world(questions: int, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return questions with their groups, and the answers of five models."""
    drawn = np.random.default_rng(seed)
    words = np.array([f"answer {at}" for at in range(ANSWERS)], dtype=object)
    words[1::3] += "."
    words[2::7] = [f"The t-{word}, two" for word in words[2::7]]
    # Frequencies fall as 1 / rank; three in five annotators give the question's usual answer.
    usual, other = (
        np.exp(drawn.random(shape) * np.log(ANSWERS)).astype(np.int64)
        for shape in (questions, (questions, ANNOTATORS + MODELS))
    )
    agrees = drawn.random(other.shape) < 0.6
    said = words[np.where(agrees, usual[:, None], other)]
    ids = pl.Series("question_id", np.arange(questions)).cast(pl.String)
    table = pl.DataFrame(
        {
            "question_id": ids,
            "image_id": pl.Series(drawn.integers(0, IMAGES, questions)).cast(pl.String),
            "answers": said[:, :ANNOTATORS].tolist(),
            **{
                group: pl.Series(drawn.integers(0, size, questions)).cast(pl.String)
                for group, size in GROUPS.items()
            },
        }
    ).with_columns(answer_record_key=pl.lit(None, pl.List(pl.UInt8)))
    models = {f"model {at}": said[:, ANNOTATORS + at].tolist() for at in range(MODELS)}
    return table, pl.DataFrame({"question_id": ids, **models})


def question_texts(questions: int, seed: int) -> pl.DataFrame:
    """Return questions of 4 to 9 words, about as long as those of VQA v2."""
    drawn = np.random.default_rng(seed)
    words = np.array([f"word{at}" for at in range(16_000)], dtype=object)
    texts = [
        f"What's the {' '.join(words[drawn.integers(0, len(words), size)])}?"
        for size in drawn.integers(1, 7, questions)
    ]
    return pl.DataFrame({"question": texts})


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
    options = parser.parse_args()
    questions, answers = answer_world(int(QUESTIONS * options.scale), options.seed)
    texts = question_texts(int(TRAIN_QUESTIONS * options.scale), options.seed)
    groups = list(GROUPS)

    def scores(model: str) -> pl.DataFrame:
        predictions = answers.select("question_id", pl.col(model).alias("answer"))
        scored = score_questions(questions, predictions, model=model)
        return scored.with_columns(questions[group] for group in groups)

    scored = pl.concat([scores(f"model {at}") for at in range(MODELS)])
    jobs: list[tuple[str, str, Callable[[], object]]] = [
        (
            "basic_english, every training question",
            "1 s",
            lambda: texts.select(basic_english(pl.col("question"))),
        ),
        ("vqa-official, 1 model", "5 s", lambda: scores("model 0")),
        ("summarise, 5 models, overall", "10 s", lambda: summarise(scored)),
        ("summarise, 5 models, 3 groupings", "10 s", lambda: summarise(scored, by=groups)),
        (
            "compare with a baseline, 3 groupings",
            "10 s",
            lambda: compare(scored, baseline="model 0", by=groups),
        ),
        ("compare all pairs, 3 groupings", "10 s", lambda: compare(scored, by=groups)),
    ]
    distinct = questions["answers"].explode().n_unique()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    python = f"Python {sys.version.split()[0]}, Polars {pl.__version__}"
    print(f"{machine}; {python}, NumPy {np.__version__}, SciPy {scipy.__version__}")
    print(
        f"{len(questions):,} questions x {ANNOTATORS} answers ({distinct:,} distinct), {len(texts):,} texts, "
        f"1,000 resamples, {options.runs} runs\n"
    )
    print("| what | target | median | longest |\n| --- | ---: | ---: | ---: |")
    for what, target, job in jobs:
        median, longest = median_seconds(job, options.runs)
        print(f"| {what} | {target} | {median:.2f} s | {longest:.2f} s |")


if __name__ == "__main__":
    main()
