"""The method: rules mined from training questions, and what they do to validation questions.

Dancette et al., "Beyond Question-Based Biases" (ICCV 2021), sections 3 and 4, without files.
"""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import polars as pl

from shortcut_miner.diagnostics.vqa_ce import classifier
from shortcut_miner.diagnostics.vqa_ce.config import DEFAULT_MIN_COUNT, VqaCeConfig
from shortcut_miner.diagnostics.vqa_ce.judged import Judged, judge_questions
from shortcut_miner.diagnostics.vqa_ce.prepared import EncodedQuestions, Prepared, prepare_frames
from shortcut_miner.frame_blocks import FrameSpool, HeldFrames
from shortcut_miner.mining.antecedents import SearchConfig
from shortcut_miner.mining.backends import Backend, resolve_backend
from shortcut_miner.mining.evidence.row_sums import Priors
from shortcut_miner.mining.evidence.verdicts import Counts, Evidence, VerdictConfig, rule_evidence
from shortcut_miner.mining.matcher import RuleIndex, index_for, rule_totals
from shortcut_miner.mining.memory import BYTES_A_MEASURED_RULE, check_fits
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.mining.search import search_rules
from shortcut_miner.mining.sharding.distribution import Distribution
from shortcut_miner.row_files import RowFiles
from shortcut_miner.timing import OnStage, StageCost, timed
from shortcut_miner.transactions import GroupedRows


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Shortcuts:
    """Everything the method finds.

    Attributes
    ----------
    training, validation, holdout
        See :class:`shortcut_miner.diagnostics.vqa_ce.prepared.Prepared`.
    rules : RuleArrays
        The surviving rules in rule order; positions are rule ids.
    dropped_rules : RuleArrays
        Confident rules that the superset filter dropped, in rule order.
    kept : int64[]
        Positions of the rule classifier's rules.
    judged : Judged
        The validation questions, split and answered.
    min_count : int
        Least rule_count that was used.
    antecedent_count, confident_count : int
        Antecedents mined, and rules confident enough before the superset filter.
    max_rules : int
        The cap on antecedents that held: the config's, or what fitted in memory.
    is_complete : bool
        False if the cap ended the search.
    evidence : Evidence or None
        What the rows say about each rule; None if not wanted.
    backend : str
        Name of the backend that searched and matched.
    """

    training: GroupedRows | RowFiles
    validation: EncodedQuestions
    holdout: EncodedQuestions | None
    rules: RuleArrays
    dropped_rules: RuleArrays
    kept: npt.NDArray[np.int64]
    judged: Judged
    min_count: int
    antecedent_count: int
    confident_count: int
    max_rules: int
    is_complete: bool
    evidence: Evidence | None
    backend: str


def least_count(config: VqaCeConfig, rows: int) -> int:
    """Return the least rule_count for `rows` training rows.

    ``floor-float32`` is what the released program's miner does with a share; ``ceil`` is what the share says.

    >>> published = {"min_support": 2e-5}
    >>> least_count(VqaCeConfig(**published), 413_000)
    8
    >>> least_count(VqaCeConfig(preset="paper", **published), 413_000)
    9
    """
    if config.min_support is None:
        return DEFAULT_MIN_COUNT if config.min_count is None else config.min_count
    if config.support_rounding == "floor-float32":
        return max(1, int(np.floor(np.float32(config.min_support) * np.float32(rows))))
    return max(1, math.ceil(Fraction(repr(config.min_support)) * rows))


def find_shortcuts(
    train: pl.DataFrame,
    val: pl.DataFrame,
    labels: pl.DataFrame | None,
    config: VqaCeConfig,
    *,
    measure: bool = True,
    threads: int | None = None,
    backend: str | Backend = "auto",
    costs: list[StageCost] | None = None,
    on_stage: OnStage | None = None,
) -> Shortcuts:
    """Return the rules mined from `train` and the split of `val`, all of it in memory.

    Parameters
    ----------
    train, val, labels, config
        See :func:`shortcut_miner.diagnostics.vqa_ce.prepared.prepare_frames`.
    measure, threads, backend, costs, on_stage
        See :func:`find_in`.

    Raises
    ------
    SourceError
        No training row is left.
    ConfigError
        More rules than can be measured in the free memory.
    """
    costs = [] if costs is None else costs
    with timed(costs, "encode", on_stage):
        prepared = prepare_frames(train, val, labels, config)
    return find_in(
        prepared, config, HeldFrames(),
        measure=measure, threads=threads, backend=resolve_backend(backend), costs=costs, on_stage=on_stage,
    )  # fmt: skip


def find_in(
    prepared: Prepared,
    config: VqaCeConfig,
    spool: FrameSpool,
    *,
    measure: bool = True,
    distribution: Distribution | None = None,
    threads: int | None,
    backend: Backend,
    costs: list[StageCost],
    on_stage: OnStage | None,
    counts: dict[str, int] | None = None,
    warnings: list[str] | None = None,
) -> Shortcuts:
    """Return the rules of prepared training rows and the split of the validation questions.

    Parameters
    ----------
    prepared : Prepared
        Questions of both splits.
    config : VqaCeConfig
        Options.
    spool : FrameSpool
        Empty; takes the validation questions with what the rules make of them.
    measure : bool
        Whether to compute the rules' further measures and verdicts.
    distribution : Distribution, optional
        Where and in how many shards to mine, and in how much memory.
    threads : int, optional
        Default: all processors, or ``NUMBA_NUM_THREADS``.
    backend : Backend
        See :func:`shortcut_miner.mining.backends.resolve_backend`.
    costs : list of StageCost
        Filled with each stage's cost.
    on_stage : callable, optional
        Told each stage's name before it starts.
    counts, warnings
        See :func:`shortcut_miner.mining.search.search_rules`.

    Raises
    ------
    ConfigError
        More rules than can be measured in the memory that is left.
    """
    training = prepared.training
    mining = _search_config(config, training.transaction_count)
    found = search_rules(
        prepared.mined_rows, mining, keep_dropped=config.keep_dropped, allow_incomplete=True,
        distribution=distribution, threads=threads, backend=backend, costs=costs, on_stage=on_stage,
        counts=counts, warnings=warnings,
    )  # fmt: skip
    rules = found.rules
    with timed(costs, "classify", on_stage):
        index = index_for(rules, training)
        priors = Priors(rules, training) if measure else None
        kept = classifier.kept_rules(index, training, threads, backend, priors)
        answering = classifier.RuleClassifier.of(rules, kept, training)
    with timed(costs, "match", on_stage):
        vote = config.vote or "best"
        judged = judge_questions(index, answering, prepared.validation, spool, vote, threads, backend)
    evidence = None
    if measure:
        check_fits(len(rules), BYTES_A_MEASURED_RULE, distribution.memory if distribution else None)
        with timed(costs, "measure", on_stage):
            evidence = rule_evidence(
                rules, found.antecedents, training, mining,
                validation=Counts.matched(judged.totals),
                holdout=_held_out_counts(index, prepared.holdout, threads, backend),
                thresholds=thresholds(config), index=index, priors=priors, threads=threads, backend=backend,
            )  # fmt: skip
    return Shortcuts(
        training=training,
        validation=prepared.validation,
        holdout=prepared.holdout,
        rules=rules,
        dropped_rules=found.dropped_rules,
        kept=kept,
        judged=judged,
        min_count=mining.min_count,
        antecedent_count=found.antecedents.count,
        confident_count=found.confident_count,
        max_rules=found.max_rules,
        is_complete=found.is_complete,
        evidence=evidence,
        backend=backend.name,
    )


def _held_out_counts(
    index: RuleIndex, questions: EncodedQuestions | None, threads: int | None, backend: Backend
) -> Counts | None:
    if questions is None:
        return None
    blocks = (block.rows for block in questions.blocks())
    return Counts.matched(rule_totals(index, blocks, questions.vocabulary.class_count, threads, backend))


def _search_config(config: VqaCeConfig, rows: int) -> SearchConfig:
    return SearchConfig(
        min_count=least_count(config, rows),
        max_antecedent=config.max_antecedent,
        max_rules=config.max_rules,
        min_confidence=config.min_confidence,
        superset_filter=config.superset_filter or "none",
        empty_rule=bool(config.empty_rule),
    )


def thresholds(config: VqaCeConfig) -> VerdictConfig:
    """Return where the verdicts begin."""
    return VerdictConfig(
        max_q=config.max_q, max_improvement_p=config.max_improvement_p, min_val_count=config.min_val_count
    )
