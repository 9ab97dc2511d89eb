"""What the rows say about each rule: measures on training and held-out rows, and a verdict in one word.

Ratios are Polars expressions over counts. What needs more is in
:mod:`~shortcut_miner.mining.evidence.significance`,
:mod:`~shortcut_miner.mining.evidence.family`, :mod:`~shortcut_miner.mining.evidence.subsets` and
:mod:`~shortcut_miner.mining.evidence.row_sums`.
"""

import dataclasses
import math
from collections.abc import Collection
from typing import Self

import numpy as np
import numpy.typing as npt
import polars as pl

from shortcut_miner.keyed_draws import id_keys
from shortcut_miner.mining.antecedents import Antecedents, MiningConfig
from shortcut_miner.mining.arrays import Ints
from shortcut_miner.mining.backends import Backend
from shortcut_miner.mining.evidence.family import SearchedFamily, searched_family
from shortcut_miner.mining.evidence.measures import with_further_measures, with_measures
from shortcut_miner.mining.evidence.row_sums import prior_confidence
from shortcut_miner.mining.evidence.significance import family_q, fisher_log10_p, holm_p
from shortcut_miner.mining.evidence.subsets import best_subsets
from shortcut_miner.mining.matches import MatchTotals
from shortcut_miner.mining.rules import MULTIMODAL, RuleArrays, modalities
from shortcut_miner.mining.trie import RuleIndex
from shortcut_miner.transactions import Transactions

Floats = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class VerdictConfig:
    """Thresholds of the verdicts; see :func:`verdict`.

    Attributes
    ----------
    max_q : float
        From this q value on (Holm's p in holdout mode), a rule may be chance.
    max_improvement_p : float
        From this p value on, what a rule gains over its best subset may be chance.
    min_val_count : int
        Fewest validation rows with the antecedent for a rule to be called unstable.
    """

    max_q: float = 0.05
    max_improvement_p: float = 0.05
    min_val_count: int = 10


@dataclasses.dataclass(frozen=True, slots=True)
class Counts:
    """The four counts of rules on some rows.

    Attributes
    ----------
    transaction_count, antecedent_count, answer_count, rule_count : int64[rules]
        Rows; rows with the antecedent; rows with the answer; rows with both.
    """

    transaction_count: Ints
    antecedent_count: Ints
    answer_count: Ints
    rule_count: Ints

    @classmethod
    def matched(cls, rules: RuleArrays, rows: Transactions, totals: MatchTotals) -> Self:
        """Return the counts of `rules` on other rows, from what matching them found."""
        classes = rows.classes[rows.classes >= 0]
        answers = np.bincount(classes, minlength=rows.vocabulary.class_count)[rules.answers]
        return cls(np.full(len(rules), len(rows)), totals.rule_fired, answers, totals.rule_right)

    @classmethod
    def mined(cls, rules: RuleArrays, rows: Transactions) -> Self:
        """Return the counts of `rules` on the rows that they were mined from."""
        counts = rows.vocabulary.answer_counts
        total = np.full(len(rules), rows.transaction_count)
        return cls(total, rules.antecedent_count, counts[rules.answers], rules.rule_count)


def rule_measures(
    rules: RuleArrays,
    antecedents: Antecedents,
    training: Transactions,
    mining: MiningConfig,
    *,
    groups: npt.NDArray[np.int32],
    validation: Counts | None = None,
    holdout: Counts | None = None,
    thresholds: VerdictConfig | None = None,
    index: RuleIndex | None = None,
    threads: int | None = None,
    backend: str | Backend = "auto",
) -> tuple[pl.DataFrame, SearchedFamily]:
    """Return the further measures of rules, one row a rule, and the family that was searched for them.

    Parameters
    ----------
    rules : RuleArrays
        Rules with their antecedents' best answers.
    antecedents : Antecedents
        Everything mined from `training` with `mining`.
    training : Transactions
        The rows mined.
    mining : MiningConfig
        min_count and max_antecedent define the searched family.
    groups : int32[rows]
        Question type of each training row, as a number; -1 = not known.
    validation, holdout : Counts, optional
        Counts of the same rules on rows that were not mined.
    thresholds : VerdictConfig, optional
        For the verdicts.
    index : RuleIndex, optional
        The rules, indexed already.
    threads : int, optional
        Default: see :func:`shortcut_miner.mining.threads.thread_count`.
    backend : str or Backend
        See :func:`shortcut_miner.mining.backends.resolve_backend`.

    Returns
    -------
    pl.DataFrame
        On the training rows: the four counts and the measures of
        :func:`~shortcut_miner.mining.evidence.measures.with_measures` and
        :func:`~shortcut_miner.mining.evidence.measures.with_further_measures`; log10_p_value of Fisher's
        one-sided test; q_value_bh, q_value_by over the searched family; improvement, the confidence minus
        that of the best proper subset, the empty one included, with the same answer, and improvement_log10_p,
        Fisher's test among that subset's rows; modality_gain, the confidence minus that of the best subset
        with one kind of items (null for rules of one modality); prior (see
        :func:`~shortcut_miner.mining.evidence.row_sums.prior_confidence`). What is not known is null.
        On validation and holdout rows the same counts, measures and p values, with the prefix ``val_`` or
        ``holdout_``; shrinkage, confidence minus val_confidence; holdout_p_holm, the p values after Holm.
        Last, verdict (see :func:`verdict`).
    SearchedFamily
        Its size is what the q values correct for.
    """
    family = searched_family(training, mining.min_count, mining.max_antecedent, threads)
    log10_p = _fisher(Counts.mined(rules, training), threads)
    prior = prior_confidence(rules, training, groups, index=index, threads=threads, backend=backend)
    table = _with_tests(Counts.mined(rules, training), log10_p).with_columns(
        q_value_bh=pl.Series(family_q(log10_p, family.size, "bh")),
        q_value_by=pl.Series(family_q(log10_p, family.size, "by")),
        **_against_subsets(rules, antecedents, training, threads, backend),
        prior=pl.Series(prior).fill_nan(None),
    )
    for prefix, counts in (("val_", validation), ("holdout_", holdout)):
        if counts is None:
            continue
        log10_p = _fisher(counts, threads)
        held_out = _with_tests(counts, log10_p).drop("antecedent_support", "support")
        table = table.hstack(held_out.select(pl.all().name.prefix(prefix)))
        if prefix == "val_":
            table = table.with_columns(shrinkage=pl.col("confidence") - pl.col("val_confidence"))
        else:
            table = table.with_columns(holdout_p_holm=pl.Series(holm_p(log10_p)))
    return table.with_columns(verdict=verdict(thresholds or VerdictConfig(), table.columns)), family


def _fisher(counts: Counts, threads: int | None) -> Floats:
    return fisher_log10_p(
        counts.rule_count, counts.antecedent_count, counts.answer_count, counts.transaction_count, threads
    )


def _with_tests(counts: Counts, log10_p: Floats) -> pl.DataFrame:
    """Return counts with their measures and log10_p_value; null where the rule never fires."""
    columns = {name: getattr(counts, name).astype(np.uint64) for name in Counts.__slots__}
    fires = pl.col("antecedent_count") > 0
    return (
        pl.DataFrame(columns)
        .pipe(with_measures)
        .pipe(with_further_measures)
        .with_columns(
            pl.col("confidence", "lift").fill_nan(None),
            log10_p_value=pl.when(fires).then(pl.Series(log10_p)),
        )
    )


def _against_subsets(
    rules: RuleArrays,
    antecedents: Antecedents,
    training: Transactions,
    threads: int | None,
    backend: str | Backend,
) -> dict[str, pl.Series]:
    """Return improvement, improvement_log10_p and modality_gain."""
    names = ("improvement", "improvement_log10_p", "modality_gain")
    best = best_subsets(rules, antecedents, training, threads, backend)
    if best is None:
        return {name: pl.Series(np.full(len(rules), np.nan)).fill_nan(None) for name in names}
    confidence = rules.rule_count / np.maximum(rules.antecedent_count, 1)
    log10_p = fisher_log10_p(
        rules.rule_count, rules.antecedent_count, best.rule_count, best.antecedent_count, threads
    )
    is_mixed = modalities(rules, training.vocabulary) == MULTIMODAL
    has_subset = best.antecedent_count > 0
    with np.errstate(invalid="ignore"):
        gain = confidence - best.rule_count / best.antecedent_count
        single = confidence - best.single_rule_count / best.single_antecedent_count
    values = (
        np.where(has_subset, gain, np.nan),
        np.where(has_subset, log10_p, np.nan),
        np.where(is_mixed, single, np.nan),
    )
    return {name: pl.Series(value).fill_nan(None) for name, value in zip(names, values, strict=True)}


def verdict(thresholds: VerdictConfig, columns: Collection[str]) -> pl.Expr:
    """Return what to think of a rule, the first of these that applies.

    ``chance``: its q value over the searched family (Benjamini and Yekutieli) is ``max_q`` or more; with a
    holdout, its p value there after Holm instead.
    ``unstable``: it fires on ``min_val_count`` validation rows or more, and its confidence there lies outside
    the 95% interval of the training rows.
    ``prior``: the question types of its rows alone would give a confidence that reaches that interval.
    ``redundant``: its best subset is as confident, or the improvement over it has a p value of
    ``max_improvement_p`` or more; it is not *productive* (Webb, 2007).
    ``real``: none of these. Null if the subsets are not known because the search was cut short.

    Parameters
    ----------
    thresholds : VerdictConfig
        Where each verdict begins.
    columns : collection of str
        Those at hand: validation and holdout columns may be missing.
    """
    low, high = pl.col("confidence_low"), pl.col("confidence_high")
    is_chance = pl.col("holdout_p_holm" if "holdout_p_holm" in columns else "q_value_by") >= thresholds.max_q
    is_unstable = pl.lit(False)
    if "val_confidence" in columns:
        is_outside = (pl.col("val_confidence") < low) | (pl.col("val_confidence") > high)
        is_unstable = (pl.col("val_antecedent_count") >= thresholds.min_val_count) & is_outside
    largest = math.log10(thresholds.max_improvement_p) if thresholds.max_improvement_p > 0 else -math.inf
    is_redundant = (pl.col("improvement") <= 0) | (pl.col("improvement_log10_p") >= largest)
    return (
        pl.when(is_chance).then(pl.lit("chance"))
        .when(is_unstable).then(pl.lit("unstable"))
        .when(pl.col("prior") >= low).then(pl.lit("prior"))
        .when(is_redundant).then(pl.lit("redundant"))
        .when(pl.col("improvement").is_not_null()).then(pl.lit("real"))
    )  # fmt: skip


def is_held_out(groups: pl.Series, seed: int) -> pl.Series:
    """Return Boolean per row: whether its image, or other group of rows, is in the half that is not mined.

    Each group goes to a half by a keyed hash of its id, so neither the order of rows nor the other groups
    matter; the halves are about equal.
    """
    return pl.Series((id_keys(groups, seed, "holdout") & np.uint64(1)).astype(np.bool_))
