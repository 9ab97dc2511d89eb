"""How long the measures of all rules take: tests, q values over the searched family, subsets, priors.

    python benchmarks/bench_measures.py --world DIR      a generated world, and the real subset if it is there
    python benchmarks/bench_measures.py --scale 1/16     generate the world first

Rules are mined once from the files, untimed; then everything behind the further columns of rules.parquet is
computed anew in every run. Target: 10 s for the 1.2M rules of VQA v2 on two cores, all parts together.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from measuring import (
    generated_world,
    header,
    input_files,
    markdown_table,
    megabytes,
    peak_bytes,
    real_folder,
    scale_name,
    seconds,
)

from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles
from shortcut_miner.diagnostics.vqa_ce.inputs import read_inputs
from shortcut_miner.encoding import (
    encode_rows,
    encode_training,
    keep_top_answers,
)
from shortcut_miner.item_lists import numbers_of
from shortcut_miner.mining.evidence.family import searched_family
from shortcut_miner.mining.evidence.row_sums import prior_confidence
from shortcut_miner.mining.evidence.significance import family_q, fisher_log10_p
from shortcut_miner.mining.evidence.subsets import best_subsets
from shortcut_miner.mining.evidence.verdicts import Counts, rule_evidence
from shortcut_miner.mining.filters import dropped_by_subset, select_rules
from shortcut_miner.mining.matcher import index_for, rule_totals
from shortcut_miner.mining.miner import MiningConfig, mine_antecedents
from shortcut_miner.transactions import GroupedRows

PACKAGES = ("numba", "numpy", "polars")


def jobs(folder: Path, threads: int | None) -> tuple[str, list[tuple[str, Callable[[], Any]]]]:
    """Return a description of the data, and what is timed: all of it first, then its parts."""
    inputs = read_inputs(VqaCeFiles(**input_files(folder)), VqaCeConfig(items="both"))
    train = keep_top_answers(inputs.train)
    training = encode_training(train, inputs.labels)
    validation = encode_rows(inputs.val, inputs.labels, training.vocabulary)
    types = numbers_of(train["question_type"], train["question_type"].drop_nulls().unique().sort())
    grouped, mining = GroupedRows(training, types), MiningConfig()
    antecedents = mine_antecedents(training, mining, threads)
    masks = dropped_by_subset(antecedents, "immediate", False, threads)
    rules, is_dropped = select_rules(antecedents, masks, 0.3, False)
    rules = rules.take(~is_dropped)
    index = index_for(rules, training)
    held_out = Counts.matched(rule_totals(index, [validation], validation.vocabulary.class_count, threads))
    counts = Counts.mined(rules, training)
    log10_p = counts.fisher_log10_p(rules.answers, threads)
    searched = (training, mining.min_count, mining.max_antecedent, threads)
    family = searched_family(*searched)
    description = (
        f"{len(rules):,} rules from {len(training):,} rows; the family searched has "
        f"{family.antecedent_count:,} antecedents x {family.answer_count:,} answers"
    )
    return description, [
        (
            "all measures and verdicts",
            lambda: rule_evidence(
                rules, antecedents, grouped, mining, validation=held_out, index=index, threads=threads
            ).table(),
        ),
        ("- counting the family", lambda: searched_family(*searched)),
        ("- best subsets", lambda: best_subsets(rules, antecedents, training, threads)),
        ("- priors", lambda: prior_confidence(rules, grouped, index=index, threads=threads)),
        ("- Fisher's test, once", lambda: counts.fisher_log10_p(rules.answers, threads)),
        ("- q values, once", lambda: family_q(log10_p, family.size, "by")),
    ]  # fmt: skip


def timed(job: Callable[[], Any], runs: int) -> tuple[float, float]:
    """Return the medians of wall and processor time, after a run that does not count."""
    job()
    walls, processor = [], []
    for _ in range(runs):
        start, before = time.perf_counter(), time.process_time()
        job()
        walls.append(time.perf_counter() - start)
        processor.append(time.process_time() - before)
    return statistics.median(walls), statistics.median(processor)


def check_fisher() -> str:
    """Return how fast the test is where it is slowest: counts near the mean of large tables."""
    total = np.full(10_000, 10_000_000)
    rows = np.linspace(4_000_000, 5_000_000, len(total)).astype(np.int64)
    right = rows // 2 + 1
    wall, _ = timed(lambda: fisher_log10_p(right, rows, total // 2, total), 3)
    return f"Fisher's test near the mean of tables of 10^7 rows: {wall / len(total) * 1e6:.1f} us each"


def main() -> None:
    """Print the header, then a table for each data set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--world", type=Path, help="folder that vqa_world.py wrote")
    parser.add_argument("--scale", type=Fraction, default=Fraction(1, 16), help="of a world to generate")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    print(header(PACKAGES) + "\n")
    with tempfile.TemporaryDirectory() as scratch:
        world = options.world or generated_world(Path(scratch), float(options.scale))
        name = world.name if options.world else f"world of scale {scale_name(float(options.scale))}"
        for title, folder in (("real subset", real_folder()), (name, world)):
            if folder is None:
                continue
            description, parts = jobs(folder, options.threads)
            before = peak_bytes()
            rows = [(what, *map(seconds, timed(job, options.runs))) for what, job in parts]
            print(f"{title}: {description}\n")
            print(markdown_table(["what", "wall", "user + sys"], rows))
            print(f"\nPeak memory {megabytes(before)} before, {megabytes(peak_bytes())} after.\n")
    print(check_fisher())


if __name__ == "__main__":
    main()
