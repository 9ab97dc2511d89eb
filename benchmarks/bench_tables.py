"""Whether tables are read as fast as VQA's JSON files: the same rows in every form, side by side.

A generated world of VQA v2's size (``vqa_world.py``) is written as Parquet, Arrow, CSV, JSON Lines and a
folder of Parquet shards, with the labels of each question's image in the row. Each form is then read as
``vqa-ce build`` reads it, in a process of its own; forms take turns. The target is to be as fast as JSON, or
faster.

    python benchmarks/bench_tables.py --scale 1 --runs 3
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from measuring import (
    Cost,
    generated_world,
    header,
    input_files,
    markdown_table,
    megabytes,
    run_child,
    scale_name,
    seconds,
)

FORMS = ("JSON", "Parquet", "Arrow", "CSV", "JSON Lines", "Parquet shards")
ENDINGS = {"Parquet": "parquet", "Arrow": "arrow", "CSV": "csv", "JSON Lines": "jsonl"}
SHARDS = 8


def main() -> None:
    """Write the forms, read each several times, and print Markdown."""
    parser = argparse.ArgumentParser(description="reading tables beside reading JSON")
    parser.add_argument("--scale", type=float, default=1.0, help="1 is VQA v2's size")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--worlds", type=Path, default=Path(tempfile.gettempdir()) / "shortcut-miner-worlds")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--read", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.write is not None:
        write_forms(arguments.write)
    elif arguments.read is not None:
        print(json.dumps(read_form(arguments.read[0], Path(arguments.read[1]))))
    else:
        compare(generated_world(arguments.worlds, arguments.scale), arguments.scale, arguments.runs)


def compare(world: Path, scale: float, runs: int) -> None:
    """Read all forms in turns and print what each took."""
    if not (world / "tables").is_dir():
        run_child([sys.executable, __file__, "--write", world])
    found: dict[str, list[tuple[float, Cost]]] = {form: [] for form in FORMS}
    contents = set()
    for _ in range(runs):
        for form in FORMS:
            cost, out = run_child([sys.executable, __file__, "--read", form, world])
            told = json.loads(out)
            contents.add((told["train"], told["val"], told["items"]))
            found[form].append((told["seconds"], cost))
    if len(contents) > 1:
        raise SystemExit(f"the forms hold different rows: {sorted(contents)}")
    train, val, items = contents.pop()
    print(header(["polars", "pyarrow", "msgspec"]))
    print(
        f"- Scale {scale_name(scale)}: {train:,} training and {val:,} validation questions, {items:,} items"
    )
    print()
    rows = [
        (
            form,
            megabytes(sum(one.stat().st_size for one in files_of(form, world))),
            seconds(statistics.median(took for took, _ in costs)),
            seconds(max(took for took, _ in costs)),
            seconds(statistics.median(cost.cpu for _, cost in costs)),
            megabytes(statistics.median(cost.peak_bytes for _, cost in costs)),
        )
        for form, costs in found.items()
    ]
    print(markdown_table(("form", "size", "median", "longest", "processor", "peak memory"), rows))


def files_of(form: str, world: Path) -> list[Path]:
    """Return the files of a form, those of both splits."""
    if form == "JSON":
        return [*input_files(world).values()]
    if form in ENDINGS:
        return [world / "tables" / f"{split}.{ENDINGS[form]}" for split in ("train", "val")]
    return sorted((world / "tables" / "shards").rglob("*.parquet"))


def write_forms(world: Path) -> None:
    """Write the questions of a world in every form."""
    import polars as pl

    from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles
    from shortcut_miner.diagnostics.vqa_ce.inputs import read_inputs

    inputs = read_inputs(VqaCeFiles(**input_files(world)), VqaCeConfig(items="both"))
    certain = inputs.labels.filter(pl.col("score").fill_null(1.0) >= 0.5)
    listed = certain.group_by("image_id").agg(labels=pl.col("label").unique().sort())
    out = Path(tempfile.mkdtemp(dir=world))
    (out / "shards" / "data").mkdir(parents=True)
    for split, questions in (("train", inputs.train), ("val", inputs.val)):
        table = questions.join(listed, on="image_id", how="left", maintain_order="left").drop(
            "answer_record_key", "split"
        )
        table = table.with_columns(pl.col("labels").fill_null([]))
        table.write_parquet(out / f"{split}.parquet")
        table.write_ipc(out / f"{split}.arrow")
        table.write_ndjson(out / f"{split}.jsonl")
        as_text = [pl.Series(name, [json.dumps(one) for one in table[name].to_list()]) for name in LISTS]
        table.with_columns(as_text).write_csv(out / f"{split}.csv")
        width = -(-len(table) // SHARDS)
        for at in range(SHARDS):
            name = f"{split}-{at:05}-of-{SHARDS:05}.parquet"
            table[at * width : (at + 1) * width].write_parquet(out / "shards" / "data" / name)
    out.chmod(0o755)
    out.rename(world / "tables")


LISTS = ("answers", "labels")


def read_form(form: str, world: Path) -> dict[str, float]:
    """Return how long reading took, without imports, and how much was read."""
    from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles
    from shortcut_miner.diagnostics.vqa_ce.inputs import read_inputs
    from shortcut_miner.encoding import encode_training

    if form == "JSON":
        files = VqaCeFiles(**input_files(world))
    elif form in ENDINGS:
        train, val = files_of(form, world)
        files = VqaCeFiles(table=(train,), val_table=(val,))
    else:
        folder = world / "tables" / "shards"
        files = VqaCeFiles(table=(folder,), val_table=(folder,))
    started = time.perf_counter()
    inputs = read_inputs(files, VqaCeConfig(items="both"))
    took = time.perf_counter() - started
    items = len(encode_training(inputs.train, inputs.labels).items)
    return {"seconds": took, "train": len(inputs.train), "val": len(inputs.val), "items": items}


if __name__ == "__main__":
    main()
