"""Writing a VQA-CE folder block by block: no table is in memory as a whole."""

import contextlib
import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from shortcut_miner.datasets.folders import write_blocks, write_manifest
from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig
from shortcut_miner.diagnostics.vqa_ce.outputs import DROPPED_RULES, MATCHES, RELEASED_PREDICTIONS
from shortcut_miner.diagnostics.vqa_ce.shortcuts import Shortcuts
from shortcut_miner.mining.frames.rules import rule_blocks
from shortcut_miner.mining.matcher import index_for, match_pairs
from shortcut_miner.schemas import SUBSETS, MeasuredRules, Rules, Split, validated
from shortcut_miner.storage import Provenance, parquet_stream

Blocks = Callable[[], Iterator[pl.DataFrame]]

_OF_SPLIT = (
    "subset", "matching_rule_count", "correct_rule_count", "best_rule_id", "best_correct_rule_id",
)  # fmt: skip
_OF_CLASSIFIER = ("predicted", "predicted_by")


def blocks_of(found: Shortcuts, config: VqaCeConfig) -> dict[str, Blocks]:
    """Return how the blocks of each table of a build are made, one block at least, by name."""
    made: dict[str, Blocks] = {"rules": lambda: _rules(found)}
    made |= {name: partial(_by_id, found, take) for name, take in _OF_ROWS.items()}
    if config.keep_dropped:
        made[DROPPED_RULES] = lambda: _dropped_rules(found, config)
    if config.keep_matches:
        made[MATCHES] = lambda: _matches(found)
    return made


def write(
    folder: Path, found: Shortcuts, config: VqaCeConfig, provenance: Provenance, figures: dict[str, Any]
) -> None:
    """Write the tables, the release's files and the manifest into a folder."""
    with ThreadPoolExecutor(1) as pool:
        others = pool.submit(_write_others, folder, found, config, provenance)
        _write_rows(folder, found, provenance)
        _write_released(folder, found)
        others.result()
    write_manifest(folder, provenance, figures)


def _write_others(folder: Path, found: Shortcuts, config: VqaCeConfig, provenance: Provenance) -> None:
    """Write the tables that have no row a question, one after another."""
    for name, blocks in blocks_of(found, config).items():
        if name not in _OF_ROWS:
            write_blocks(folder, provenance, name, _ahead(blocks()))


def _ahead(blocks: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Give blocks, of which the next is made in a thread of its own meanwhile."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, blocks, None)
        while (block := coming.result()) is not None:
            coming = pool.submit(next, blocks, None)
            yield block


# ---- tables of rules ----


def _rules(found: Shortcuts) -> Iterator[pl.DataFrame]:
    totals, evidence = found.judged.totals, found.evidence
    in_classifier = np.zeros(len(found.rules), np.bool_)
    in_classifier[found.kept] = True
    first = 0
    for block in rule_blocks(found.rules, found.training.vocabulary, found.training.transaction_count):
        place = slice(first, first + len(block))
        rules = block.with_columns(
            val_antecedent_count=pl.Series(totals.fired[place].astype(np.uint64)),
            val_rule_count=pl.Series(totals.right[place].astype(np.uint64)),
            in_classifier=pl.Series(in_classifier[place]),
        )
        yield _with_measures(rules, None if evidence is None else evidence.table(place.start, place.stop))
        first = place.stop


def _with_measures(rules: pl.DataFrame, measures: pl.DataFrame | None) -> pl.DataFrame:
    val_confidence = pl.when(pl.col("val_antecedent_count") > 0).then(
        pl.col("val_rule_count") / pl.col("val_antecedent_count")
    )
    rules = rules.with_columns(val_confidence=val_confidence)
    if measures is None:
        return validated(rules, Rules, "rules")
    return validated(rules.with_columns(measures.get_columns()), MeasuredRules, "rules")


def _dropped_rules(found: Shortcuts, config: VqaCeConfig) -> Iterator[pl.DataFrame]:
    dropped_by = pl.lit(f"superset_filter {config.superset_filter}")
    rows = found.training.transaction_count
    for block in rule_blocks(found.dropped_rules, found.training.vocabulary, rows):
        yield block.with_columns(dropped_by=dropped_by)


# ---- tables of questions ----


def _split(judged: pl.DataFrame) -> pl.DataFrame:
    return validated(judged.select("question_id", *_OF_SPLIT), Split, "split")


def _predictions(judged: pl.DataFrame) -> pl.DataFrame:
    return judged.select("question_id", answer="predicted", rule_id="predicted_by")


def _questions(judged: pl.DataFrame) -> pl.DataFrame:
    return judged.drop(*_OF_SPLIT, *_OF_CLASSIFIER)


_OF_ROWS = {"split": _split, "rule_predictions": _predictions, "questions": _questions}


def _by_id(found: Shortcuts, take: Callable[[pl.DataFrame], pl.DataFrame]) -> Iterator[pl.DataFrame]:
    return map(take, found.judged.questions.sorted_blocks("question_id"))


def _write_rows(folder: Path, found: Shortcuts, provenance: Provenance) -> None:
    """Write the tables that have a row a question, which are sorted once."""
    with contextlib.ExitStack() as stack:
        appends = {
            name: stack.enter_context(parquet_stream(folder / f"{name}.parquet", provenance))
            for name in _OF_ROWS
        }
        for judged in found.judged.questions.sorted_blocks("question_id"):
            for name, take in _OF_ROWS.items():
                appends[name](take(judged))


def _matches(found: Shortcuts) -> Iterator[pl.DataFrame]:
    """Give (question_id, rule_id) for every rule that fires, in input order."""
    yield pl.DataFrame(schema={"question_id": pl.String, "rule_id": pl.UInt32})
    index = index_for(found.rules, found.training)
    counted = (judged["matching_rule_count"] for judged in found.judged.questions.blocks())
    counts = itertools.chain.from_iterable(counted)  # its blocks are cut elsewhere
    for block in found.validation.blocks():
        ids = block.questions["question_id"]
        fired = np.fromiter(itertools.islice(counts, len(ids)), np.int64, len(ids))
        for first, offsets, pairs in match_pairs(index, block.rows, fired, found.backend):
            rows = first + np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
            columns = {"question_id": ids.gather(pl.Series(rows)), "rule_id": pairs.astype(np.uint32)}
            yield pl.DataFrame(columns)


# ---- files of the release ----


def _write_released(folder: Path, found: Shortcuts) -> None:
    """Write the ids of each subset and the rule classifier's answers, in input order."""
    judged = found.judged
    with contextlib.ExitStack() as stack:
        lists = {
            name: stack.enter_context(_json_list(folder / file))
            for name, file in {**{one: f"{one}.json" for one in SUBSETS}, "": RELEASED_PREDICTIONS}.items()
        }
        for block in judged.questions.blocks():
            for subset in SUBSETS:
                chosen = block.filter(pl.col("subset") == subset)["question_id"]
                lists[subset](_released(chosen, are_numbers=subset in judged.with_numbers))
            ids = _released(block["question_id"], are_numbers={*SUBSETS} <= judged.with_numbers)
            answers = zip(ids, block["predicted"].to_list(), strict=True)
            lists[""]([{"question_id": question_id, "answer": answer} for question_id, answer in answers])


def _released(ids: pl.Series, *, are_numbers: bool) -> list[Any]:
    return (ids.cast(pl.Int64) if are_numbers else ids).to_list()


@contextlib.contextmanager
def _json_list(path: Path) -> Iterator[Callable[[list[Any]], None]]:
    """Give a function that appends to a JSON list, which ends with the context."""
    with path.open("wb") as file:
        between = b"["

        def append(values: list[Any]) -> None:
            nonlocal between
            if values:
                file.write(between + msgspec.json.encode(values)[1:-1])
                between = b","

        yield append
        file.write(b"]" if between == b"," else b"[]")
