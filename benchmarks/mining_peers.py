"""One mining job in one process: our search and filter, or a peer's nearest equivalent, on the same rows.

``bench_mining.py`` starts it: ``prepare FOLDER ROWS`` reads a data set and saves its training rows, any other
job loads these, builds its own form of them untimed, runs once and prints a JSON object.
"""

import argparse
import contextlib
import gc
import hashlib
import json
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from measuring import input_files, peak_bytes
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Job = tuple[Callable[[], Any], Callable[[Any], dict[str, Any]]]  # what is timed; what it found

MIN_COUNT, MAX_ANTECEDENT, MIN_CONFIDENCE = 8, 4, 0.3


@dataclass(frozen=True, slots=True)
class Rows:
    """Training rows as CSR arrays: item numbers, one class a row; see shortcut_miner.encoding."""

    offsets: Ints
    items: NDArray[np.int32]
    classes: NDArray[np.int32]
    item_count: int
    class_count: int

    def lists(self) -> list[tuple[int, ...]]:
        """Return each row as a tuple of its items and its answer, numbered on from the items."""
        items, answers = self.items.tolist(), (self.classes + self.item_count).tolist()
        bounds = self.offsets.tolist()
        return [
            (*items[first:stop], answer)
            for first, stop, answer in zip(bounds, bounds[1:], answers, strict=False)
        ]


def prepare(folder: Path, path: Path) -> dict[str, Any]:
    """Save the training rows of a data set; return their size."""
    from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles
    from shortcut_miner.diagnostics.vqa_ce.inputs import read_inputs
    from shortcut_miner.encoding import encode_training, keep_top_answers

    inputs = read_inputs(VqaCeFiles(**input_files(folder)), VqaCeConfig(items="both"))
    rows = encode_training(keep_top_answers(inputs.train), inputs.labels)
    with path.open("wb") as file:
        np.savez(
            file,
            offsets=rows.offsets,
            items=rows.items,
            classes=rows.classes,
            item_count=rows.vocabulary.item_count,
            class_count=len(rows.vocabulary.answers),
        )
    frequent = int((np.bincount(rows.items) >= MIN_COUNT).sum())
    return {
        "rows": len(rows),
        "items_a_row": len(rows.items) / len(rows),
        "frequent_items": frequent,
        "min_count": MIN_COUNT,
    }


def load_rows(path: Path) -> Rows:
    """Return what :func:`prepare` saved."""
    saved = np.load(path)
    return Rows(
        saved["offsets"],
        saved["items"],
        saved["classes"],
        int(saved["item_count"]),
        int(saved["class_count"]),
    )


def shortcut_miner(rows: Rows, threads: int) -> Job:
    """Return our job: antecedents, superset filter, confident rules. Compiled kernels are loaded here."""
    import polars as pl

    from shortcut_miner.mining.filters import dropped_by_subset, select_rules
    from shortcut_miner.mining.miner import MiningConfig, mine_antecedents
    from shortcut_miner.transactions import Transactions, Vocabulary

    vocabulary = Vocabulary(
        words=pl.Series([f"{number:07}" for number in range(rows.item_count)]),
        objects=pl.Series([], dtype=pl.String),
        answers=pl.Series([f"{number:07}" for number in range(rows.class_count)]),
        answer_counts=np.bincount(rows.classes, minlength=rows.class_count),
    )
    config = MiningConfig(min_count=MIN_COUNT, max_antecedent=MAX_ANTECEDENT)

    def transactions(count: int) -> Transactions:
        offsets = rows.offsets[: count + 1]
        return Transactions(
            offsets, rows.items[: offsets[-1]], rows.classes[:count], np.ones(count, np.int64), vocabulary
        )

    def job(data: Transactions) -> tuple[Any, ...]:
        start = time.perf_counter()
        antecedents = mine_antecedents(data, config, threads)
        mined = time.perf_counter() - start
        dropped = dropped_by_subset(antecedents, "immediate", False, threads)
        return mined, antecedents.count, *select_rules(antecedents, dropped, MIN_CONFIDENCE, False)

    start = time.perf_counter()
    job(transactions(min(1_000, len(rows.classes))))
    first = time.perf_counter() - start
    everything = transactions(len(rows.classes))

    def found(result: tuple[Any, ...]) -> dict[str, Any]:
        mined, antecedents, rules, is_dropped = result
        return {
            "first_call": first,
            "mine_wall": mined,
            "count": antecedents,
            "counted": "antecedents",
            "kept": int((~is_dropped).sum()),
            **fingerprint(rules.items, rules.answers, rules.antecedent_count, rules.rule_count),
        }

    return lambda: job(everything), found


def pyfim_arules(rows: Rows, threads: int) -> Job:
    """Return the one peer that does this very job: rules with answers as heads, all answers of each body."""
    import fim

    lists = rows.lists()
    heads = dict.fromkeys(range(rows.item_count, rows.item_count + rows.class_count), "c")
    appear = {None: "a", **heads}

    def job() -> list[Any]:
        return fim.arules(
            lists,
            supp=-MIN_COUNT,
            conf=100 * MIN_CONFIDENCE,
            zmin=2,
            zmax=MAX_ANTECEDENT + 1,
            mode="o",
            report="aC",
            appear=appear,
        )

    return job, lambda mined: {
        "count": len(mined),
        "counted": "rules",
        **best_answers(mined, rows.item_count),
    }


def best_answers(mined: list[tuple[int, tuple[int, ...], int, float]], item_count: int) -> dict[str, Any]:
    """Return the fingerprint of each body's best answer: most rows, then the rarer, then the smaller."""
    sizes = np.fromiter((len(rule[1]) for rule in mined), np.int64, len(mined))
    items = np.full((len(mined), MAX_ANTECEDENT), np.iinfo(np.int64).max)
    flat = np.fromiter(chain.from_iterable(rule[1] for rule in mined), np.int64, sizes.sum())
    items[np.arange(MAX_ANTECEDENT) < sizes[:, None]] = flat
    items.sort(axis=1)
    items[items == np.iinfo(np.int64).max] = -1
    answers = np.fromiter((rule[0] - item_count for rule in mined), np.int64, len(mined))
    rule_count = np.fromiter((rule[2] for rule in mined), np.int64, len(mined))
    percent = np.fromiter((rule[3] for rule in mined), np.float64, len(mined))
    antecedent_count = np.rint(100 * rule_count / percent).astype(np.int64)
    # Class numbers ascend by how common an answer is, then by name.
    order = np.lexsort((answers, -rule_count, *items.T[::-1]))
    items = items[order]
    is_first = np.ones(len(mined), np.bool_)
    is_first[1:] = (items[1:] != items[:-1]).any(axis=1)
    best = order[is_first]
    return fingerprint(items[is_first], answers[best], antecedent_count[best], rule_count[best])


def fingerprint(items: Any, answers: Any, antecedent_count: Any, rule_count: Any) -> dict[str, Any]:
    """Return the number of rules, and a hash of all of them with their counts, whatever their order."""
    table = np.column_stack([items, answers, antecedent_count, rule_count]).astype(np.int64)
    table = table[np.lexsort(table.T[::-1])]
    return {"rules": len(table), "sha256": hashlib.sha256(np.ascontiguousarray(table)).hexdigest()}


def pyfim_itemsets(algorithm: str, report: str) -> Callable[[Rows, int], Job]:
    """Return a peer that lists (or, with ``report="#"``, counts) all itemsets, answers being items too."""

    def peer(rows: Rows, threads: int) -> Job:
        import fim

        lists = rows.lists()
        search = getattr(fim, algorithm)

        def found(mined: Any) -> dict[str, Any]:
            return itemsets(sum(mined.values()) if report == "#" else len(mined))

        return lambda: search(
            lists, target="s", supp=-MIN_COUNT, zmin=1, zmax=MAX_ANTECEDENT + 1, report=report
        ), found

    return peer


def mlxtend_fpgrowth(rows: Rows, threads: int) -> Job:
    """Return mlxtend's FP-growth: all itemsets, from the dense one-hot frame of its tutorial."""
    import pandas as pd
    from mlxtend.frequent_patterns import fpgrowth

    count = len(rows.classes)
    onehot = np.zeros((count, rows.item_count + rows.class_count), np.bool_)
    onehot[np.repeat(np.arange(count), np.diff(rows.offsets)), rows.items] = True
    onehot[np.arange(count), rows.item_count + rows.classes] = True
    frame = pd.DataFrame(onehot)
    # Half a row lower: a share as a float may round past the count it stands for.
    share = (MIN_COUNT - 0.5) / count
    return (
        lambda: fpgrowth(frame, min_support=share, max_len=MAX_ANTECEDENT + 1),
        lambda mined: itemsets(len(mined)),
    )


def itemsets(count: float) -> dict[str, Any]:
    """Return what a peer without rules found."""
    return {"count": int(count), "counted": "itemsets"}


PEERS: dict[str, Callable[[Rows, int], Job]] = {
    "shortcut_miner": shortcut_miner,
    "pyfim.arules": pyfim_arules,
    "pyfim.eclat": pyfim_itemsets("eclat", "a"),
    "pyfim.fpgrowth": pyfim_itemsets("fpgrowth", "a"),
    "pyfim.eclat, only counting": pyfim_itemsets("eclat", "#"),
    "mlxtend.fpgrowth": mlxtend_fpgrowth,
}


def measure(peer: str, rows: Rows, threads: int) -> dict[str, Any]:
    """Return what one run of a peer costs and finds.

    No garbage is collected meanwhile: millions of new tuples would set the collector off in vain.
    """
    job, found = PEERS[peer](rows, threads)
    gc.collect()
    gc.disable()
    before, start = time.process_time(), time.perf_counter()
    result = job()
    wall, cpu, peak = time.perf_counter() - start, time.process_time() - before, peak_bytes()
    return {"wall": wall, "cpu": cpu, "peak_bytes": peak} | found(result)


def main() -> None:
    """Do one job and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("job", choices=["prepare", *PEERS])
    parser.add_argument("paths", type=Path, nargs="+")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--memory-limit", type=float, help="GB of address space")
    options = parser.parse_args()
    if options.memory_limit:
        limit = int(options.memory_limit * 1e9)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    if options.job == "prepare":
        print(json.dumps(prepare(*options.paths)))
        return
    with contextlib.suppress(MemoryError):
        print(json.dumps(measure(options.job, load_rows(*options.paths), options.threads)))
        return
    print(json.dumps({"out_of_memory": True}))


if __name__ == "__main__":
    main()
