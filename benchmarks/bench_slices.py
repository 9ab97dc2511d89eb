"""How long the search for slices takes, next to other programs on the same rows.

    python benchmarks/bench_slices.py                          ours alone
    python benchmarks/bench_slices.py --peers PYTHON           and what that interpreter has installed

Rows are the validation questions of the real subset, each wrong where its answer is not the commonest one of
its question type; without the subset as many are drawn. Ours is timed as the search alone, on encoded rows,
and as all that ``slices build`` does between reading and writing: tokenising, search, redundancy, Shapley
values, p and q, the list to read. Others are timed in slices_peers.py. Processor seconds are user + sys.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from measuring import header, markdown_table, real_folder, seconds
from slices_peers import COLUMNS, ITEMS, timed

from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.slices.config import SlicesConfig
from shortcut_miner.diagnostics.slices.found import find_slices
from shortcut_miner.diagnostics.slices.inputs import SlicesInputs, attributes_of
from shortcut_miner.diagnostics.slices.mined import mine_slices
from shortcut_miner.encoding import encode_training
from shortcut_miner.sources.images.labels import read_labels
from shortcut_miner.sources.questions.question_sets import read_questions

PACKAGES = ("numba", "numpy", "polars", "scipy")
FIVE = ("answer_type", "question_type", "word_count", "object_count", "person")
DRAWN, MIN_COUNT = 8977, 180


def real_rows(folder: Path) -> pl.DataFrame:
    """Return the validation questions with their images' labels."""
    rows, _ = read_questions(folder / "questions_valid.json.gz", folder / "annotations_valid.json.gz")
    labels = read_labels(folder / "image_to_detection.json.gz").table
    listed = labels.group_by("image_id").agg(labels=pl.col("label").drop_nulls().unique().sort())
    return rows.join(listed, on="image_id", how="left", maintain_order="left")


def drawn_rows(count: int) -> pl.DataFrame:
    """Return made-up questions of about the same words, objects and types."""
    draw = random.Random(0)
    words = [f"w{at}" for at in range(2000)]
    things = [f"thing{at}" for at in range(80)]
    rows = [
        {
            "question_id": str(at), "image_id": str(at),
            "question": " ".join(words[int(2000 ** draw.random()) - 1] for _ in range(7)),
            "question_type": f"type {int(60 ** draw.random())}",
            "answer_type": draw.choice(("yes/no", "number", "other")),
            "answer": str(int(300 ** draw.random())),
            "labels": sorted({things[int(80 ** draw.random()) - 1] for _ in range(3)}),
        }
        for at in range(count)
    ]  # fmt: skip
    nothing = {"answers": pl.List(pl.String), "answer_record_key": pl.List(pl.UInt8), "split": pl.String}
    return pl.DataFrame(rows).with_columns(pl.lit(None, dtype).alias(name) for name, dtype in nothing.items())


def with_columns(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with five columns of text and an outcome."""
    length, objects = pl.col("question").str.count_matches(r"\S+") + 1, pl.col("labels").list.len()
    commonest = pl.col("answer").mode().sort().first().over("question_type")
    return rows.with_columns(
        word_count=pl.when(length <= 6).then(pl.lit("<=6")).when(length <= 8).then(pl.lit("7-8"))
        .otherwise(pl.lit(">=9")),
        object_count=pl.when(objects <= 1).then(pl.lit("1")).when(objects <= 3).then(pl.lit("2-3"))
        .when(objects > 3).then(pl.lit(">=4")),
        person=pl.col("labels").list.contains("person").replace_strict({True: "yes", False: "no"}),
        outcome=(pl.col("answer") != commonest).fill_null(True).cast(pl.Int64),
    )  # fmt: skip


def as_inputs(rows: pl.DataFrame, columns: tuple[str, ...]) -> SlicesInputs:
    """Return rows as a build has read them."""
    return SlicesInputs(
        rows=rows.with_columns(attributes_of(columns)), labels=None, outcome="wrong", models=(),
        columns=columns, facts=InputFacts(),
    )  # fmt: skip


def write_rows(rows: pl.DataFrame, folder: Path) -> None:
    """Write the columns, and one column of 0 and 1 for each of the frequent items, for other programs."""
    columns = rows.select(*FIVE, wrong="outcome", error=100 * pl.col("outcome"))
    columns.write_csv(folder / "columns.csv")
    encoded = encode_training(as_inputs(rows, ("answer_type",)).rows.with_columns(answer=pl.lit("")))
    frequent = np.flatnonzero(encoded.item_frequency >= MIN_COUNT)
    one_hot = np.zeros((len(rows), encoded.vocabulary.item_count), np.int8)
    one_hot[np.repeat(np.arange(len(rows)), np.diff(encoded.offsets)), encoded.items] = 1
    named = {f"i{item}": one_hot[:, item] for item in frequent.tolist()}
    pl.DataFrame(named).with_columns(wrong=rows["outcome"]).write_csv(folder / "items.csv")


def ours(rows: pl.DataFrame, runs: int, label: str = "") -> list[tuple[str, str, int, float, float]]:
    """Return what our search takes, alone and with all that follows it."""
    given = (
        (COLUMNS, FIVE, SlicesConfig(items="none", min_support=0.02, max_length=5)),
        (ITEMS, ("answer_type",), SlicesConfig(min_count=MIN_COUNT * len(rows) // DRAWN)),
    )
    told: list[tuple[str, str, int, float, float]] = []
    for job, columns, config in given:
        inputs = as_inputs(rows, columns)
        table = inputs.rows.with_columns(answer=pl.lit(""))
        if config.items == "none":
            table = table.with_columns(question=pl.lit(""), labels=pl.lit([], pl.List(pl.String)))
        encoded, outcome = encode_training(table), rows["outcome"].to_numpy()
        least, length = config.least_count(len(rows)), config.max_length

        search = partial(mine_slices, encoded, outcome, min_count=least, max_length=length)
        search()
        found, *cost = timed(search, runs)
        told.append((job, f"ours, the search{label}", len(found) - 1, *cost))
        whole, *cost = timed(partial(find_slices, inputs, config), runs)
        told.append((job, f"ours, with p, q, redundancy, Shapley values{label}", len(whole.slices), *cost))
    return told


def peers(python: str, folder: Path, runs: int) -> list[tuple[str, str, int, float, float]]:
    """Return what other programs take; none of those that the interpreter lacks."""
    script = Path(__file__).with_name("slices_peers.py")
    done = subprocess.run(
        [python, script, folder, "--runs", str(runs)], capture_output=True, text=True, check=False
    )
    for line in done.stderr.splitlines():
        if "not installed" in line or done.returncode or ": " in line[:40]:
            print(f"- {line}")
    last = done.stdout.strip().splitlines()[-1:] or ["[]"]
    return [tuple(one) for one in json.loads(last[0])]


def main() -> None:
    """Print the header, and a table of all programs a job."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", help="an interpreter that has pandas and other programs")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--times", type=int, default=100, help="rows of the last lines, as a multiple")
    options = parser.parse_args()
    folder = real_folder()
    rows = with_columns(drawn_rows(DRAWN) if folder is None else real_rows(folder))
    print(header(PACKAGES), f"\n\n{len(rows):,} {'drawn' if folder is None else 'real'} rows.\n")
    told = ours(rows, options.runs)
    if options.peers:
        with tempfile.TemporaryDirectory() as place:
            write_rows(rows, Path(place))
            told += peers(options.peers, Path(place), options.runs)
    told += ours(pl.concat([rows] * options.times), 1, f", {options.times}x the rows")
    base = {
        job: cpu
        for job, name, _, _, cpu in reversed(told)
        if name.startswith("ours, with") and "x the" not in name
    }
    lines = [
        (job, name, f"{found:,}", seconds(wall), f"{cpu:.3f} s", f"{cpu / base[job]:.1f} x")
        for job, name, found, wall, cpu in sorted(told, key=lambda one: one[0], reverse=True)
    ]
    print(markdown_table(("job", "program", "slices", "wall", "user + sys", "to ours with p, q, ..."), lines))


if __name__ == "__main__":
    sys.exit(main())
