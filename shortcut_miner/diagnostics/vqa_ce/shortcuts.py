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
from shortcut_miner.encoding import (
    accepted_classes,
    encode_rows,
    encode_training,
    keep_top_answers,
    numbers_of,
)
from shortcut_miner.errors import SourceError
from shortcut_miner.mining.antecedents import SearchConfig
from shortcut_miner.mining.backends import Backend, resolve_backend
from shortcut_miner.mining.evidence.verdicts import (
    Counts,
    Evidence,
    VerdictConfig,
    is_held_out,
    rule_evidence,
)
from shortcut_miner.mining.matcher import (
    Accepted,
    MatchTotals,
    RuleTotals,
    index_for,
    match_totals,
    rule_totals,
)
from shortcut_miner.mining.memory import BYTES_A_MEASURED_RULE, check_fits
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.mining.search import search_rules
from shortcut_miner.sources.questions.table_rows import GROUP
from shortcut_miner.timing import OnStage, StageCost, timed
from shortcut_miner.transactions import GroupedRows, Transactions


@dataclasses.dataclass(frozen=True, slots=True)
class Shortcuts:
    """Everything the method finds.

    Attributes
    ----------
    training, validation : Transactions
        Encoded rows; training rows have one of the top answers.
    holdout : Transactions or None
        In holdout mode, the training rows that are not mined; `training` then has the others.
    rules : RuleArrays
        The surviving rules in rule order; positions are rule ids.
    dropped_rules : RuleArrays
        Confident rules that the superset filter dropped, in rule order.
    val_totals : MatchTotals
        The surviving rules on validation rows (right: any annotator's answer).
    subset : String per validation row
        "hard", "easy" or "counterexamples".
    kept : int64[]
        Positions of the rule classifier's rules.
    predicted : int32[validation rows]
        The classifier's answers, as class numbers.
    predicted_by : int64[validation rows]
        Positions of the rules behind them; -1 where none fires.
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

    training: Transactions
    validation: Transactions
    holdout: Transactions | None
    rules: RuleArrays
    dropped_rules: RuleArrays
    val_totals: MatchTotals
    subset: pl.Series
    kept: npt.NDArray[np.int64]
    predicted: npt.NDArray[np.int32]
    predicted_by: npt.NDArray[np.int64]
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
    """Return the rules mined from `train` and the split of `val`.

    Parameters
    ----------
    train, val : pl.DataFrame
        schemas.Questions, perhaps with labels and attributes (see :mod:`shortcut_miner.encoding`) and group,
        which stands for the image in holdout mode; the order of `train` decides ties at the top-answers cut.
    labels : pl.DataFrame or None
        schemas.Labels of both; None only with ``config.items = "words"`` or where questions have their own.
    config : VqaCeConfig
        Options.
    measure : bool
        Whether to compute the rules' further measures and verdicts.
    threads : int, optional
        Default: all processors, or ``NUMBA_NUM_THREADS``.
    backend : str or Backend
        See :func:`shortcut_miner.mining.backends.resolve_backend`.
    costs : list of StageCost, optional
        Filled with each stage's cost.
    on_stage : callable, optional
        Told each stage's name before it starts.

    Raises
    ------
    SourceError
        No training row is left.
    ConfigError
        More rules than can be measured in the free memory.
    """
    costs = [] if costs is None else costs
    with timed(costs, "encode", on_stage):
        mined, held_out = _halves(train, config)
        training, types = _encode_training(mined, labels, config)
        validation = _encode_others(val, labels, training, config)
        holdout = None if held_out is None else _encode_others(held_out, labels, training, config)
        accepted = Accepted(*accepted_classes(val, training.vocabulary))
    chosen = resolve_backend(backend)
    mining = SearchConfig(
        min_count=least_count(config, len(training)),
        max_antecedent=config.max_antecedent,
        max_rules=config.max_rules,
        min_confidence=config.min_confidence,
        superset_filter=config.superset_filter or "none",
        empty_rule=bool(config.empty_rule),
    )
    found = search_rules(
        training,
        mining,
        keep_dropped=config.keep_dropped,
        allow_incomplete=True,
        threads=threads,
        backend=chosen,
        costs=costs,
        on_stage=on_stage,
    )
    rules = found.rules
    with timed(costs, "match", on_stage):
        index = index_for(rules, training)
        val_totals = match_totals(index, validation, accepted, threads, chosen)
        kept = classifier.kept_rules(index, training, threads, chosen)
    with timed(costs, "classify", on_stage):
        answering = classifier.RuleClassifier.of(rules, kept, training)
        vote = config.vote or "best"
        predicted, predicted_by = classifier.predict(answering, validation, vote, threads, chosen)
    evidence = None
    if measure:
        check_fits(len(rules), BYTES_A_MEASURED_RULE)
        with timed(costs, "measure", on_stage):
            on_validation = RuleTotals.of_no_rows(len(rules), training.vocabulary.class_count)
            on_validation.add(validation, val_totals)
            on_holdout = None if holdout is None else rule_totals(index, holdout, threads, chosen)
            evidence = rule_evidence(
                rules,
                found.antecedents,
                GroupedRows(training, types),
                mining,
                validation=Counts.matched(on_validation),
                holdout=None if on_holdout is None else Counts.matched(on_holdout),
                thresholds=thresholds(config),
                index=index,
                threads=threads,
                backend=chosen,
            )
    return Shortcuts(
        training=training,
        validation=validation,
        holdout=holdout,
        rules=rules,
        dropped_rules=found.dropped_rules,
        val_totals=val_totals,
        subset=subsets(val_totals),
        kept=kept,
        predicted=predicted,
        predicted_by=predicted_by,
        min_count=mining.min_count,
        antecedent_count=found.antecedents.count,
        confident_count=found.confident_count,
        max_rules=found.max_rules,
        is_complete=found.is_complete,
        evidence=evidence,
        backend=chosen.name,
    )


def subsets(totals: MatchTotals) -> pl.Series:
    """Return each row's subset: no rule fires: hard; a firing rule is right: easy; else counterexamples."""
    fired, right = pl.Series(totals.row_fired), pl.Series(totals.row_right)
    subset = pl.when(fired == 0).then(pl.lit("hard")).when(right > 0).then(pl.lit("easy"))
    return pl.select(subset=subset.otherwise(pl.lit("counterexamples"))).to_series()


def _halves(train: pl.DataFrame, config: VqaCeConfig) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Return the questions to mine, and those that a holdout keeps for testing."""
    if not config.holdout:
        return train, None
    held_out = is_held_out(train[cluster_column(train)], config.seed)
    return train.filter(~held_out), train.filter(held_out)


def cluster_column(questions: pl.DataFrame) -> str:
    """Return the column whose values' questions stay together: a table's groups, else images."""
    return GROUP if GROUP in questions.columns else "image_id"


def _encode_training(
    train: pl.DataFrame, labels: pl.DataFrame | None, config: VqaCeConfig
) -> tuple[Transactions, npt.NDArray[np.int32]]:
    """Return the rows with one of the top answers, and each one's question type as a number (-1: unknown)."""
    kept = keep_top_answers(train, config.top_answers, config.answer_ties)
    if kept.is_empty():
        raise SourceError(
            f"training questions: got {len(train):,} rows, none with an answer, expected some to mine from. "
            "Check the training files."
        )
    training = encode_training(
        kept,
        labels,
        items=config.items or "both",
        tokenizer=config.tokenizer,
        score_threshold=config.score_threshold,
    )
    if "question_type" not in kept.columns:
        return training, np.full(len(kept), -1, np.int32)
    types = kept["question_type"]
    return training, numbers_of(types, types.drop_nulls().unique().sort())


def _encode_others(
    rows: pl.DataFrame, labels: pl.DataFrame | None, training: Transactions, config: VqaCeConfig
) -> Transactions:
    return encode_rows(
        rows,
        labels,
        training.vocabulary,
        tokenizer=config.tokenizer,
        score_threshold=config.score_threshold,
    )


def thresholds(config: VqaCeConfig) -> VerdictConfig:
    """Return where the verdicts begin."""
    return VerdictConfig(
        max_q=config.max_q, max_improvement_p=config.max_improvement_p, min_val_count=config.min_val_count
    )
