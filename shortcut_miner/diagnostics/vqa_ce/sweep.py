"""Sweep: the rule classifier's accuracy over minimum counts and confidences, from one search.

This is how the article chooses both (section 3.2). A rule that blocks another has the same answer on more
rows with at least its confidence, so it meets every threshold that the blocked rule meets: one search and
one superset filter at the lowest thresholds serve all of them.
"""

import dataclasses
from collections.abc import Sequence
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import get_args

import numpy as np
import polars as pl

from shortcut_miner.datasets import reports
from shortcut_miner.datasets.folders import Run, options_of, publish, write_manifest, write_tables
from shortcut_miner.diagnostics.vqa_ce import classifier
from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles
from shortcut_miner.diagnostics.vqa_ce.inputs import VqaCeInputs, read_inputs
from shortcut_miner.diagnostics.vqa_ce.judged import subsets
from shortcut_miner.diagnostics.vqa_ce.prepared import QuestionBlock
from shortcut_miner.diagnostics.vqa_ce.shortcuts import Shortcuts, find_shortcuts
from shortcut_miner.diagnostics.vqa_ce.tables import open_tables, with_own_splits
from shortcut_miner.errors import ConfigError
from shortcut_miner.mining.backends import Backend, resolve_backend
from shortcut_miner.mining.filters import is_confident
from shortcut_miner.mining.matcher import index_for, match_totals
from shortcut_miner.mining.threads import thread_count
from shortcut_miner.options import SweepScorer, option_name, reject
from shortcut_miner.scoring.accuracy import score_questions
from shortcut_miner.scoring.scorers import choose_scorer
from shortcut_miner.storage import Provenance
from shortcut_miner.timing import OnStage, timed

COMMAND = "vqa-ce sweep"
# What a sweep has several of -> the option that names them.
_REPLACED = {"min_count": "min_counts", "min_support": "min_counts", "min_confidence": "min_confidences"}


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class SweepReport(reports.BuildReport):
    """What ``vqa-ce sweep`` found."""

    @property
    def sweep(self) -> pl.DataFrame:
        """One row per pair of thresholds, sorted by them.

        Columns min_count, min_confidence, rules, classifier_rules, easy, counterexamples, hard, accuracy
        (percent, overall).
        """
        return self._table("sweep")

    def __repr__(self) -> str:
        """Return what other builds say, and the table."""
        with reports.shown_whole():
            return f"{super().__repr__()}\n{self.sweep}"

    def _repr_html_(self) -> str:
        with reports.shown_whole():
            return f"{super()._repr_html_()}{self.sweep._repr_html_()}"


def sweep(
    files: VqaCeFiles,
    config: VqaCeConfig,
    out: Path | None = None,
    *,
    min_counts: Sequence[int] = (8, 16, 32, 64),
    min_confidences: Sequence[float] = (0.2, 0.3, 0.5, 0.7, 0.9),
    scorer: SweepScorer = "auto",
    limit: int | None = None,
    threads: int | None = None,
    backend: str | Backend = "auto",
    force: bool = False,
    on_stage: OnStage | None = None,
) -> SweepReport:
    """Return one row per pair of thresholds.

    Parameters
    ----------
    files, config, out, limit, threads, backend, force, on_stage
        As for a build; the config's own min_count, min_support and min_confidence must be left alone.
    min_counts, min_confidences : sequence
        Thresholds to combine.
    scorer : str
        See :func:`shortcut_miner.scoring.accuracy.score_questions`.

    Raises
    ------
    SourceError, ConfigError
        As a build; thresholds without meaning, or a search that ``max_rules`` cuts.
    """
    _check_options(config, min_counts, min_confidences, scorer)
    chosen = resolve_backend(backend)
    files = with_own_splits(files, config)
    opened = open_tables(files, config)
    config = config.for_files(files, has_labels=opened is not None and opened.has_labels)
    lowest = dataclasses.replace(
        config, min_count=min(min_counts), min_support=None, min_confidence=min(min_confidences)
    )
    run = Run(
        files=files, backend=chosen.name, threads=threads or thread_count(), on_stage=on_stage, force=force
    )
    compared = {"min_counts": [*min_counts], "min_confidences": [*min_confidences], "scorer": scorer}
    options = {name: value for name, value in options_of(config, limit).items() if name not in _REPLACED}
    options |= compared
    run.check_out(out, COMMAND, options, ("sweep.parquet",))
    with timed(run.costs, "read", on_stage):
        inputs = read_inputs(files, lowest, limit, opened)
    tables = ", ".join(str(path) for path in files.val_table or files.table or ())
    judged = choose_scorer(inputs.val, scorer, files.val_annotations or files.val_questions or tables)
    found = _complete_search(inputs, lowest, run, chosen)
    with timed(run.costs, "compare", on_stage):
        val = found.validation.whole()
        table = pl.DataFrame(
            _row(val, found, config, count, confidence, scorer, threads, chosen)
            for count in sorted(set(min_counts))
            for confidence in sorted(set(min_confidences))
        )
    provenance = Provenance(
        command=COMMAND,
        config=options | {"scorer": judged.as_option},
        inputs=inputs.facts.records,
        counts={"thresholds": len(table)},
        dropped=inputs.facts.dropped,
    )
    facts = dataclasses.replace(
        inputs.facts,
        notes=inputs.facts.notes + judged.notes,
        warnings=inputs.facts.warnings + judged.warnings,
    )
    if out is not None:
        write = partial(_write, table=table, provenance=provenance)
        publish(out, run, write, notes=facts.notes, warnings=facts.warnings)
    return SweepReport.of(
        run,
        facts,
        provenance,
        out=out,
        figures={},
        words={"thresholds": f"{len(table):,} pairs compared"},
        tables={"sweep": lambda: table},
    )


def _complete_search(inputs: VqaCeInputs, config: VqaCeConfig, run: Run, backend: Backend) -> Shortcuts:
    """Return all shortcuts; raise ConfigError if the cap on rules ends the search."""
    found = find_shortcuts(
        inputs.train, inputs.val, inputs.labels, config,
        measure=False, threads=run.threads, backend=backend, costs=run.costs, on_stage=run.on_stage,
    )  # fmt: skip
    if not found.is_complete:
        raise ConfigError(
            f"max_rules: got more than {found.max_rules:,} antecedents, expected a complete search to "
            "compare thresholds. Raise --max-rules or the lowest --min-counts."
        )
    return found


def _write(folder: Path, table: pl.DataFrame, provenance: Provenance) -> None:
    write_tables(folder, provenance, {"sweep": table})
    write_manifest(folder, provenance)


def _row(
    val: QuestionBlock,
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
    kept = classifier.kept_rules(index, found.training, threads, backend)
    answering = classifier.RuleClassifier.of(rules, kept, found.training)
    predicted, _ = classifier.predict(answering, val.rows, config.vote or "best", threads, backend)
    subset = subsets(match_totals(index, val.rows, val.accepted, threads, backend=backend))
    answers = found.training.vocabulary.answers.gather(pl.Series(predicted.astype(np.uint32)))
    predictions = pl.DataFrame({"question_id": val.questions["question_id"], "answer": answers})
    scored = score_questions(val.questions, predictions, scorer=scorer)
    return {
        "min_count": min_count,
        "min_confidence": min_confidence,
        "rules": len(rules),
        "classifier_rules": len(kept),
        **{name: int((subset == name).sum()) for name in ("easy", "counterexamples", "hard")},
        "accuracy": float(scored["accuracy"].mean()),  # type: ignore[arg-type]
    }


def _check_options(
    config: VqaCeConfig, min_counts: Sequence[int], min_confidences: Sequence[float], scorer: str
) -> None:
    for name, replaced_by in _REPLACED.items():
        if getattr(config, name) != getattr(VqaCeConfig(), name):
            raise ConfigError(
                f"{option_name(name)}: got one threshold, expected several. "
                f"Give {option_name(replaced_by)} in a sweep."
            )
    if scorer not in get_args(SweepScorer):
        reject("scorer", scorer, f"one of {', '.join(get_args(SweepScorer))}")
    is_whole = isinstance(min_counts, Sequence) and all(isinstance(one, Integral) for one in min_counts)
    if not is_whole or not min_counts or min(min_counts) < 1:
        raise ConfigError(f"min_counts: got {min_counts}, expected whole numbers of 1 or more. Change them.")
    is_number = isinstance(min_confidences, Sequence) and all(
        isinstance(one, Real) for one in min_confidences
    )
    if not is_number or not min_confidences or not all(0 <= one <= 1 for one in min_confidences):
        raise ConfigError(
            f"min_confidences: got {min_confidences}, expected numbers from 0 to 1. Change them."
        )
