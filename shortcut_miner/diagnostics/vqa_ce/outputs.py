"""Writing a VQA-CE folder: tables, the release's JSON files, manifest and run record."""

import dataclasses
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa

from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles
from shortcut_miner.diagnostics.vqa_ce.inputs import VqaCeInputs
from shortcut_miner.diagnostics.vqa_ce.shortcuts import Shortcuts
from shortcut_miner.encoding import with_item_lists
from shortcut_miner.mining.frames.rules import rules_table
from shortcut_miner.mining.matcher import match_pairs
from shortcut_miner.mining.threads import thread_count
from shortcut_miner.schemas import SUBSETS, VERDICTS, MeasuredRules, Rules, Split, validated
from shortcut_miner.storage import (
    MANIFEST,
    RUN_RECORD,
    Provenance,
    parquet_stream,
    staged_folder,
    write_json,
    write_parquet,
)
from shortcut_miner.timing import StageCost

_HISTOGRAM_BINS = 10


def describe(
    inputs: VqaCeInputs, found: Shortcuts, config: VqaCeConfig, limit: int | None
) -> tuple[Provenance, dict[str, Any]]:
    """Return the provenance of a build, and the article's descriptive figures."""
    subset_counts = {subset: int((found.subset == subset).sum()) for subset in SUBSETS}
    modality = _modalities(found)
    rows = len(found.training)
    counts = {
        "train_questions": len(inputs.train),
        "train_rows": rows,
        "train_images": inputs.train["image_id"].n_unique(),
        "val_questions": len(inputs.val),
        "val_images": inputs.val["image_id"].n_unique(),
        "answers": len(found.training.vocabulary.answers),
        "distinct_items": found.training.vocabulary.item_count,
        "frequent_items": _frequent_items(found),
        "min_count": found.min_count,
        "antecedents": found.antecedent_count,
        "rules_before_superset_filter": found.confident_count,
        "rules": len(found.rules),
        **{f"rules_{name}": int((modality == name).sum()) for name in ("words", "objects", "multimodal")},
        "classifier_rules": len(found.kept),
        **subset_counts,
    }
    if found.family is not None:
        counts["searched_antecedents"] = found.family.antecedent_count
        counts["searched_answers"] = found.family.answer_count
    held_out = 0 if found.holdout is None else len(found.holdout)
    if held_out:
        counts["holdout_rows"] = held_out
    too_rare = f"training rows whose answer is not among the top {config.top_answers:,}"
    dropped = dict(inputs.dropped) | {too_rare: len(inputs.train) - held_out - rows}
    if inputs.labels is not None:
        for split, table in (("training", inputs.train), ("validation", inputs.val)):
            known = table["image_id"].is_in(inputs.labels["image_id"].unique().implode())
            counts[f"{split}_questions_without_detections"] = int((~known).sum())
    if limit is not None:
        counts["limit"] = limit
    provenance = Provenance(
        command="vqa-ce build",
        config=dataclasses.asdict(config),
        inputs=inputs.records,
        counts=counts,
        dropped={reason: count for reason, count in dropped.items() if count},
    )
    return provenance, _figures(found, modality)


def _modalities(found: Shortcuts) -> np.ndarray[Any, np.dtype[np.str_]]:
    """Return each rule's modality."""
    first_object = len(found.training.vocabulary.words)
    has_word = ((found.rules.items >= 0) & (found.rules.items < first_object)).any(axis=1)
    has_object = (found.rules.items >= first_object).any(axis=1)
    return np.where(has_word & has_object, "multimodal", np.where(has_object, "objects", "words"))


def _frequent_items(found: Shortcuts) -> int:
    rows = np.bincount(found.training.items, minlength=1)
    return int((rows >= found.min_count).sum())


def _figures(found: Shortcuts, modality: np.ndarray[Any, np.dtype[np.str_]]) -> dict[str, Any]:
    """Return what the article's Figures 4 and 5 show, and the support both ways."""
    best = found.val_totals.row_best
    best_modality = modality[best[best >= 0]]
    fired = found.val_totals.rule_fired
    val_confidence = found.val_totals.rule_right[fired > 0] / fired[fired > 0]
    train_confidence = found.rules.rule_count / found.rules.antecedent_count
    rows = len(found.training)
    verdicts = {} if found.measures is None else dict(found.measures["verdict"].value_counts().iter_rows())
    return {
        "verdicts": {name: verdicts[name] for name in VERDICTS if name in verdicts},
        "searched_family": None
        if found.family is None
        else dataclasses.asdict(found.family) | {"size": found.family.size},
        "min_count": found.min_count,
        "min_support": found.min_count / rows,
        "is_complete": found.is_complete,
        "default_answer": found.training.vocabulary.answers[-1] if rows else None,
        "most_confident_rule_modality_share": {
            name: float((best_modality == name).mean()) if len(best_modality) else None
            for name in ("words", "objects", "multimodal")
        },
        "confidence_histogram": {
            "edges": [edge / _HISTOGRAM_BINS for edge in range(_HISTOGRAM_BINS + 1)],
            "train": np.histogram(train_confidence, _HISTOGRAM_BINS, (0, 1))[0].tolist(),
            "val": np.histogram(val_confidence, _HISTOGRAM_BINS, (0, 1))[0].tolist(),
        },
    }


def write(
    out: Path,
    inputs: VqaCeInputs,
    found: Shortcuts,
    config: VqaCeConfig,
    provenance: Provenance,
    figures: dict[str, Any],
) -> None:
    """Write the whole folder; every file gets its final name only when all are complete.

    Raises
    ------
    ConfigError, SourceError
        See :func:`shortcut_miner.storage.staged_folder`.
    """
    rules, split, predictions = _tables(inputs, found)
    with staged_folder(out) as folder:
        write_parquet(rules, folder / "rules.parquet", provenance)
        write_parquet(split.sort("question_id"), folder / "split.parquet", provenance)
        write_parquet(predictions.sort("question_id"), folder / "rule_predictions.parquet", provenance)
        questions = with_item_lists(inputs.val, found.validation).sort("question_id")
        write_parquet(_with_unknown_objects(questions, inputs), folder / "questions.parquet", provenance)
        if config.keep_dropped:
            dropped = rules_table(found.dropped_rules, found.training.vocabulary, len(found.training))
            dropped = dropped.with_columns(dropped_by=pl.lit(f"superset_filter {config.superset_filter}"))
            write_parquet(dropped, folder / "dropped_rules.parquet", provenance)
        if config.keep_matches:
            _write_matches(folder / "matches.parquet", inputs, found, provenance)
        for subset in SUBSETS:
            ids = split.filter(pl.col("subset") == subset)["question_id"]
            (folder / f"{subset}.json").write_bytes(msgspec.json.encode(_release_ids(ids)))
        results = zip(_release_ids(predictions["question_id"]), predictions["answer"].to_list(), strict=True)
        released = [{"question_id": question_id, "answer": answer} for question_id, answer in results]
        (folder / "rules_predictions.json").write_bytes(msgspec.json.encode(released))
        write_json(provenance.for_manifest() | {"figures": figures}, folder / MANIFEST)


def _tables(inputs: VqaCeInputs, found: Shortcuts) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return the rules, split and rule prediction tables; the latter two in input order."""
    totals, vocabulary = found.val_totals, found.training.vocabulary
    in_classifier = np.zeros(len(found.rules), np.bool_)
    in_classifier[found.kept] = True
    rules = rules_table(found.rules, vocabulary, len(found.training)).with_columns(
        val_antecedent_count=pl.Series(totals.rule_fired.astype(np.uint64)),
        val_rule_count=pl.Series(totals.rule_right.astype(np.uint64)),
        in_classifier=pl.Series(in_classifier),
    )
    val_confidence = pl.when(pl.col("val_antecedent_count") > 0).then(
        pl.col("val_rule_count") / pl.col("val_antecedent_count")
    )
    rules = rules.with_columns(val_confidence=val_confidence)
    schema: type[Rules] = Rules
    if found.measures is not None:
        rules, schema = rules.with_columns(found.measures.get_columns()), MeasuredRules
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
    predictions = pl.DataFrame(
        {
            "question_id": inputs.val["question_id"],
            "answer": vocabulary.answers.gather(pl.Series(found.predicted.astype(np.uint32))),
            "rule_id": _rule_ids(found.predicted_by),
        }
    )
    return validated(rules, schema, "rules"), validated(split, Split, "split"), predictions


def _rule_ids(positions: np.ndarray[Any, np.dtype[np.int64]]) -> pl.Series:
    """Return positions as UInt32 rule ids, -1 as null."""
    ids = pl.Series(positions)
    return ids.set(ids < 0, None).cast(pl.UInt32)


def _with_unknown_objects(questions: pl.DataFrame, inputs: VqaCeInputs) -> pl.DataFrame:
    """Return `questions` with null objects where nothing is known about the image."""
    if inputs.labels is None:
        return questions.with_columns(objects=pl.lit(None, pl.List(pl.String)))
    known = pl.col("image_id").is_in(inputs.labels["image_id"].unique().implode())
    return questions.with_columns(objects=pl.when(known).then("objects"))


def _release_ids(ids: pl.Series) -> list[int | str]:
    """Return ids as the release writes them: numbers where they are numbers."""
    if ids.str.contains(r"^(0|[1-9][0-9]{0,17})$").all():
        return ids.cast(pl.Int64).to_list()
    return ids.to_list()


def _write_matches(path: Path, inputs: VqaCeInputs, found: Shortcuts, provenance: Provenance) -> None:
    """Write (question_id, rule_id) for every rule that fires, block by block, in input order."""
    schema = pa.schema([("question_id", pa.large_string()), ("rule_id", pa.uint32())])
    ids = inputs.val["question_id"]
    with parquet_stream(path, schema, provenance) as write_rows:
        for first, offsets, pairs in match_pairs(found.rules, found.validation, found.val_totals.row_fired):
            rows = first + np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
            block = pl.DataFrame(
                {"question_id": ids.gather(pl.Series(rows)), "rule_id": pairs.astype(np.uint32)}
            )
            write_rows(block)


def write_run_record(
    out: Path, files: VqaCeFiles, costs: list[StageCost], inputs: VqaCeInputs, threads: int | None
) -> None:
    """Write ``run.json``: paths, threads and costs, which don't change the result."""
    record = {
        "out": str(out.resolve()),
        "files": {role: str(path.resolve()) for role, path in dataclasses.asdict(files).items() if path},
        "backend": "numba",
        "threads": threads or thread_count(),
        "stages": [dataclasses.asdict(cost) for cost in costs],
        "notes": list(inputs.notes),
        "warnings": list(inputs.warnings),
    }
    with staged_folder(out) as folder:
        write_json(record, folder / RUN_RECORD)
