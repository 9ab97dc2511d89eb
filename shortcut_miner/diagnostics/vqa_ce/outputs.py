"""What a VQA-CE folder holds: tables and the release's JSON files; and reading it back."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa

from shortcut_miner.datasets import reports
from shortcut_miner.datasets.folders import (
    open_folder,
    release_ids,
    write_blocks,
    write_manifest,
    write_tables,
)
from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig
from shortcut_miner.diagnostics.vqa_ce.inputs import VqaCeInputs, has_known_objects
from shortcut_miner.diagnostics.vqa_ce.shortcuts import Shortcuts
from shortcut_miner.encoding import with_item_lists
from shortcut_miner.mining.frames.rules import rule_blocks
from shortcut_miner.mining.matcher import match_pairs
from shortcut_miner.schemas import (
    SUBSETS,
    MeasuredRules,
    Rules,
    Split,
    SplitQuestions,
    validated,
)
from shortcut_miner.storage import Provenance, parquet_stream

COMMAND = "vqa-ce build"
DEFAULT_ANSWER = "default_answer"
_MATCHES, _DROPPED_RULES = "matches", "dropped_rules"
_RELEASED_PREDICTIONS = "rules_predictions.json"


def file_names(config: VqaCeConfig) -> list[str]:
    """Return what a build writes beside its records."""
    kept = [_DROPPED_RULES] * config.keep_dropped + [_MATCHES] * config.keep_matches
    tables = [f"{name}.parquet" for name in ("rules", "split", "rule_predictions", "questions", *kept)]
    return [*tables, *(f"{subset}.json" for subset in SUBSETS), _RELEASED_PREDICTIONS]


def make_tables(
    inputs: VqaCeInputs, found: Shortcuts, config: VqaCeConfig
) -> dict[str, Callable[[], pl.DataFrame]]:
    """Return how each table of a build is made, by name."""
    made: dict[str, Callable[[], pl.DataFrame]] = {
        "rules": lambda: pl.concat(_rule_blocks(found)),
        "split": partial(_split, inputs, found),
        "rule_predictions": partial(_predictions, inputs, found),
        "questions": partial(_questions, inputs, found, config),
    }
    if config.keep_dropped:
        made[_DROPPED_RULES] = lambda: pl.concat(_dropped_blocks(found, config))
    if config.keep_matches:
        made[_MATCHES] = lambda: pl.concat([_NO_MATCHES, *_matches(inputs, found)])
    return made


def write(
    folder: Path,
    inputs: VqaCeInputs,
    found: Shortcuts,
    config: VqaCeConfig,
    tables: Mapping[str, Callable[[], pl.DataFrame]],
    provenance: Provenance,
    figures: dict[str, Any],
) -> None:
    """Write the tables, the release's files and the manifest into a folder."""
    # As tables these would take many times the memory of what they are made of.
    by_blocks = {"rules": _rule_blocks(found), _DROPPED_RULES: _dropped_blocks(found, config)}
    whole = {name: make() for name, make in tables.items() if name not in (*by_blocks, _MATCHES)}
    write_tables(folder, provenance, whole)
    for name, blocks in by_blocks.items():
        if name in tables:
            write_blocks(folder, provenance, name, blocks)
    if _MATCHES in tables:  # too many to hold all of them
        schema = pa.schema([("question_id", pa.large_string()), ("rule_id", pa.uint32())])
        with parquet_stream(folder / f"{_MATCHES}.parquet", schema, provenance) as write_rows:
            for block in _matches(inputs, found):
                write_rows(block)
    ids = inputs.val["question_id"]
    for subset in SUBSETS:
        chosen = ids.filter(found.subset == subset)
        (folder / f"{subset}.json").write_bytes(msgspec.json.encode(release_ids(chosen)))
    answers = found.training.vocabulary.answers.gather(pl.Series(found.predicted.astype(np.uint32)))
    results = zip(release_ids(ids), answers.to_list(), strict=True)
    released = [{"question_id": question_id, "answer": answer} for question_id, answer in results]
    (folder / _RELEASED_PREDICTIONS).write_bytes(msgspec.json.encode(released))
    write_manifest(folder, provenance, figures)


def _rule_blocks(found: Shortcuts) -> Iterator[pl.DataFrame]:
    """Give the table of rules block by block, one block at least."""
    totals = found.val_totals
    in_classifier = np.zeros(len(found.rules), np.bool_)
    in_classifier[found.kept] = True
    first = 0
    for block in rule_blocks(found.rules, found.training.vocabulary, len(found.training)):
        place = slice(first, first + len(block))
        rules = block.with_columns(
            val_antecedent_count=pl.Series(totals.rule_fired[place].astype(np.uint64)),
            val_rule_count=pl.Series(totals.rule_right[place].astype(np.uint64)),
            in_classifier=pl.Series(in_classifier[place]),
        )
        evidence = found.evidence
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


def _dropped_blocks(found: Shortcuts, config: VqaCeConfig) -> Iterator[pl.DataFrame]:
    """Give the table of dropped rules block by block, one block at least."""
    dropped_by = pl.lit(f"superset_filter {config.superset_filter}")
    for block in rule_blocks(found.dropped_rules, found.training.vocabulary, len(found.training)):
        yield block.with_columns(dropped_by=dropped_by)


def _split(inputs: VqaCeInputs, found: Shortcuts) -> pl.DataFrame:
    totals = found.val_totals
    split = pl.DataFrame(
        {
            "question_id": inputs.val["question_id"],
            "subset": found.subset,
            "matching_rule_count": totals.row_fired.astype(np.uint32),
            "correct_rule_count": totals.row_right.astype(np.uint32),
            "best_rule_id": _rule_ids(totals.row_best),
            "best_correct_rule_id": _rule_ids(totals.row_best_right),
        }
    )
    return validated(split, Split, "split").sort("question_id")


def _predictions(inputs: VqaCeInputs, found: Shortcuts) -> pl.DataFrame:
    answers = found.training.vocabulary.answers
    return pl.DataFrame(
        {
            "question_id": inputs.val["question_id"],
            "answer": answers.gather(pl.Series(found.predicted.astype(np.uint32))),
            "rule_id": _rule_ids(found.predicted_by),
        }
    ).sort("question_id")


def _questions(inputs: VqaCeInputs, found: Shortcuts, config: VqaCeConfig) -> pl.DataFrame:
    """Return the evaluated questions with their items; objects are null where nothing is known of them."""
    has_known = has_known_objects(inputs.val, inputs.labels, config)
    known = pl.lit(False) if has_known is None else has_known
    listed = with_item_lists(inputs.val, found.validation).drop("labels", strict=False)
    return listed.with_columns(objects=pl.when(known).then("objects")).sort("question_id")


def _rule_ids(positions: np.ndarray[Any, np.dtype[np.int64]]) -> pl.Series:
    """Return positions as UInt32 rule ids, -1 as null."""
    ids = pl.Series(positions)
    return ids.set(ids < 0, None).cast(pl.UInt32)


_NO_MATCHES = pl.DataFrame(schema={"question_id": pl.String, "rule_id": pl.UInt32})


def _matches(inputs: VqaCeInputs, found: Shortcuts) -> Iterator[pl.DataFrame]:
    """Give (question_id, rule_id) for every rule that fires, block by block, in input order."""
    ids = inputs.val["question_id"]
    for first, offsets, pairs in match_pairs(found.rules, found.validation, found.val_totals.row_fired):
        rows = first + np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        columns = {"question_id": ids.gather(pl.Series(rows)), "rule_id": pairs.astype(np.uint32)}
        yield pl.DataFrame(columns)


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class BuildReport(reports.BuildReport):
    """What ``vqa-ce build`` did."""

    @property
    def rules(self) -> pl.DataFrame:
        """schemas.MeasuredRules in rule order, with ``in_classifier``."""
        return self._table("rules")

    @property
    def split(self) -> pl.DataFrame:
        """schemas.Split, sorted by question_id."""
        return self._table("split")

    @property
    def questions(self) -> pl.DataFrame:
        """schemas.SplitQuestions: the evaluated questions, sorted by question_id."""
        return self._table("questions")

    @property
    def rule_predictions(self) -> pl.DataFrame:
        """question_id, answer, rule_id (null: no kept rule fires): the rule classifier's answers."""
        return self._table("rule_predictions")

    @property
    def dropped_rules(self) -> pl.DataFrame:
        """schemas.Rules that the superset filter dropped; with ``keep_dropped``."""
        return self._table("dropped_rules")

    @property
    def matches(self) -> pl.DataFrame:
        """question_id, rule_id for every rule that fires; with ``keep_matches``."""
        return self._table("matches")


@dataclasses.dataclass(frozen=True, slots=True)
class VqaCeFolder:
    """What ``vqa-ce build`` wrote.

    Attributes
    ----------
    path : Path
        The folder.
    questions : pl.DataFrame
        schemas.SplitQuestions: those that were evaluated.
    rules : pl.DataFrame
        schemas.Rules in rule order, with validation counts and ``in_classifier``.
    split : pl.DataFrame
        schemas.Split; rows as in `questions`.
    manifest : dict
        Provenance, counts and figures.
    """

    path: Path
    questions: pl.DataFrame
    rules: pl.DataFrame
    split: pl.DataFrame
    manifest: dict[str, Any]

    @property
    def default_answer(self) -> str:
        """The most common training answer, which the rule classifier gives when no rule fires."""
        return str(self.manifest["figures"][DEFAULT_ANSWER])


def read_folder(path: Path) -> VqaCeFolder:
    """Return the tables of a VQA-CE folder.

    Raises
    ------
    SourceError
        Not such a folder, a missing or damaged file, or files of two different builds.
    """
    folder = open_folder(path, COMMAND, figures=(DEFAULT_ANSWER,))
    return VqaCeFolder(
        path=path,
        questions=folder.table("questions", SplitQuestions),
        rules=folder.table("rules", Rules),
        split=folder.table("split", Split),
        manifest=folder.manifest,
    )
