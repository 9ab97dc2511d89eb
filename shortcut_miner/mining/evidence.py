"""What the rows say about each rule: measures on training and held-out rows, and a verdict in one word.

Ratios are Polars expressions over counts; tests and searches are in :mod:`shortcut_miner.mining.significance`,
:mod:`~shortcut_miner.mining.family` and :mod:`~shortcut_miner.mining.subsets`.
"""

import dataclasses
import hashlib
import math
from typing import Self

import numpy as np
import numpy.typing as npt
import polars as pl

from shortcut_miner.encoding import Transactions
from shortcut_miner.mining.family import SearchedFamily, searched_family
from shortcut_miner.mining.matcher import MatchTotals, RuleIndex
from shortcut_miner.mining.measures import with_count_measures
from shortcut_miner.mining.miner import Antecedents, MiningConfig
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.mining.significance import family_q, fisher_log10_p, holm_p
from shortcut_miner.mining.subsets import best_subsets, prior_confidence

Ints = npt.NDArray[np.int64]


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
        answers = np.bincount(classes, minlength=len(rows.vocabulary.answers))[rules.answers]
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

    Returns
    -------
    pl.DataFrame
        On the training rows: confidence_low, confidence_high, leverage, certainty (see
        :func:`shortcut_miner.mining.measures.with_further_measures`); log10_p_value of Fisher's one-sided
        test; q_value_bh, q_value_by over the searched family; improvement, the confidence minus that of the
        best proper subset, the empty one included, with the same answer (null if not known), and
        improvement_log10_p, Fisher's test among that subset's rows; modality_gain, the confidence minus that
        of the best subset with words only or objects only (null for rules of one modality); prior (see
        :func:`shortcut_miner.mining.subsets.prior_confidence`, null if not known).
        On validation and holdout rows, with the prefix ``val_`` or ``holdout_``: the four counts,
        confidence, confidence_low, confidence_high, lift, leverage, certainty, log10_p_value.
        shrinkage, confidence minus val_confidence; holdout_p_holm, the holdout's p values after Holm.
        verdict (see :func:`verdict`).
    SearchedFamily
        Its size is what the q values correct for.
    """
    counts = Counts.mined(rules, training)
    family = searched_family(training, mining.min_count, mining.max_antecedent, threads)
    log10_p = _fisher(counts, threads)
    table = _counted(counts).with_columns(
        log10_p_value=log10_p,
        q_value_bh=family_q(log10_p, family.size, "bh"),
        q_value_by=family_q(log10_p, family.size, "by"),
        **_subset_measures(rules, antecedents, training, threads),
        prior=pl.Series(prior_confidence(rules, training, groups, index=index, threads=threads)).fill_nan(None),
    )
    table = table.drop(_COUNTED_ALREADY)
    for prefix, others in (("val_", validation), ("holdout_", holdout)):
        if others is not None:
            held = _counted(others).with_columns(log10_p_value=_fisher(others, threads))
            table = table.hstack(held.select(pl.all().name.prefix(prefix)))
    ...


def is_held_out(image_ids: pl.Series, seed: int) -> pl.Series:
    """Return Boolean per row: whether the image is in the half that is not mined.

    Each image goes to a half by a keyed hash of its id, so neither the order of rows nor the other images
    matter; the halves are about equal.
    """
    images = image_ids.unique()
    key = b"holdout %d" % seed
    halves = [hashlib.blake2b(image.encode(), digest_size=1, key=key).digest()[0] & 1 for image in images]
    return image_ids.replace_strict(images, pl.Series(halves, dtype=pl.UInt8), return_dtype=pl.UInt8).cast(pl.Boolean)
