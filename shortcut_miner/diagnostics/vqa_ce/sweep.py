"""Sweep: the rule classifier's accuracy over minimum counts and confidences, from one search.

This is how the article chooses both (section 3.2). A rule that blocks another has the same answer on more
rows with at least its confidence, so it meets every threshold that the blocked rule meets: one search and
one superset filter at the lowest thresholds serve all of them.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
import polars as pl

from shortcut_miner.diagnostics.vqa_ce import classifier
from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles
from shortcut_miner.diagnostics.vqa_ce.inputs import read_inputs
from shortcut_miner.diagnostics.vqa_ce.shortcuts import OnStage, Shortcuts, find_shortcuts, subsets
from shortcut_miner.encoding import accepted_classes
from shortcut_miner.errors import ConfigError
from shortcut_miner.mining.backends import Backend, resolve_backend
from shortcut_miner.mining.filters import is_confident
from shortcut_miner.mining.matcher import Accepted, index_for, match_totals
from shortcut_miner.scoring.accuracy import score_questions


def sweep(
    files: VqaCeFiles,
    config: VqaCeConfig,
    *,
    min_counts: Sequence[int] = (8, 16, 32, 64),
    min_confidences: Sequence[float] = (0.2, 0.3, 0.5, 0.7, 0.9),
    scorer: str = "vqa-official",
    limit: int | None = None,
    threads: int | None = None,
    backend: str | Backend = "auto",
    on_stage: OnStage | None = None,
) -> pl.DataFrame:
    """Return one row per pair of thresholds.

    Parameters
    ----------
    files, config, limit, threads, backend, on_stage
        As for a build; the config's own min_count and min_confidence play no part.
    min_counts, min_confidences : sequence
        Thresholds to combine.
    scorer : str
        See :func:`shortcut_miner.scoring.accuracy.score_questions`.

    Returns
    -------
    pl.DataFrame
        min_count, min_confidence, rules, classifier_rules, easy, counterexamples, hard, accuracy (percent,
        overall), sorted by min_count and min_confidence.
    """
    _check_thresholds(min_counts, min_confidences)
    chosen = resolve_backend(backend)
    if config.items is None:
        config = dataclasses.replace(config, items="both" if files.detections else "words")
    lowest = dataclasses.replace(
        config, min_count=min(min_counts), min_support=None, min_confidence=min(min_confidences)
    )
    if on_stage is not None:
        on_stage("read")
    inputs = read_inputs(files, lowest, limit)
    found = find_shortcuts(
        inputs.train,
        inputs.val,
        inputs.labels,
        lowest,
        measure=False,
        threads=threads,
        backend=chosen,
        on_stage=on_stage,
    )
    if not found.is_complete:
        raise ConfigError(
            f"max_rules: got more than {config.max_rules:,} antecedents, expected a complete search to "
            "compare thresholds. Raise --max-rules or the lowest --min-counts."
        )
    accepted = Accepted(*accepted_classes(inputs.val, found.training.vocabulary))
    rows = [
        _row(inputs.val, accepted, found, config, count, confidence, scorer, threads, chosen)
        for count in sorted(set(min_counts))
        for confidence in sorted(set(min_confidences))
    ]
    return pl.DataFrame(rows)


def _row(
    val: pl.DataFrame,
    accepted: Accepted,
    found: Shortcuts,
    config: VqaCeConfig,
    min_count: int,
    min_confidence: float,
    scorer: str,
    threads: int | None,
    backend: Backend,
) -> dict[str, float | int]:
    chosen = (found.rules.rule_count >= min_count) & is_confident(
        found.rules.rule_count, found.rules.antecedent_count, min_confidence
    )
    rules = found.rules.take(np.flatnonzero(chosen))
    index = index_for(rules, found.training)
    kept = classifier.kept_rules(match_totals(index, found.training, None, threads, backend))
    predicted, _ = classifier.predict(rules, kept, found.validation, config.vote or "best", backend)
    subset = subsets(match_totals(index, found.validation, accepted, threads, backend))
    answers = found.training.vocabulary.answers.gather(pl.Series(predicted.astype(np.uint32)))
    predictions = pl.DataFrame({"question_id": val["question_id"], "answer": answers})
    scored = score_questions(val, predictions, scorer=scorer)
    return {
        "min_count": min_count,
        "min_confidence": min_confidence,
        "rules": len(rules),
        "classifier_rules": len(kept),
        **{name: int((subset == name).sum()) for name in ("easy", "counterexamples", "hard")},
        "accuracy": float(scored["accuracy"].mean()),  # type: ignore[arg-type]
    }


def _check_thresholds(min_counts: Sequence[int], min_confidences: Sequence[float]) -> None:
    if not min_counts or min(min_counts) < 1:
        raise ConfigError(
            f"min_counts: got {list(min_counts)}, expected whole numbers of 1 or more. Change them."
        )
    if not min_confidences or not all(0 <= value <= 1 for value in min_confidences):
        raise ConfigError(
            f"min_confidences: got {list(min_confidences)}, expected numbers from 0 to 1. Change them."
        )
