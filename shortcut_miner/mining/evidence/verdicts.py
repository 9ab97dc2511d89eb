"""What the rows say about each rule: measures on training and held-out rows, and a verdict in one word.

Ratios are Polars expressions over counts. What needs more is in
:mod:`~shortcut_miner.mining.evidence.significance`,
:mod:`~shortcut_miner.mining.evidence.family`, :mod:`~shortcut_miner.mining.evidence.subsets` and
:mod:`~shortcut_miner.mining.evidence.row_sums`.
"""

import dataclasses
import math
from collections import Counter
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Self

import numpy as np
import numpy.typing as npt
import polars as pl

from shortcut_miner.keyed_draws import id_keys
from shortcut_miner.mining.antecedents import Antecedents, MiningConfig
from shortcut_miner.mining.arrays import Ints, Numbers
from shortcut_miner.mining.backends import Backend
from shortcut_miner.mining.evidence.family import SearchedFamily, searched_family
from shortcut_miner.mining.evidence.measures import with_further_measures, with_measures
from shortcut_miner.mining.evidence.row_sums import Priors, prior_confidence
from shortcut_miner.mining.evidence.significance import family_q, fisher_log10_p, holm_p
from shortcut_miner.mining.evidence.subsets import best_subsets
from shortcut_miner.mining.matches import RuleTotals
from shortcut_miner.mining.rules import MULTIMODAL, RuleArrays, modalities
from shortcut_miner.mining.threads import blocks, thread_count
from shortcut_miner.mining.trie import RuleIndex, index_for
from shortcut_miner.transactions import GroupedBlocks, RowBlocks

Floats = npt.NDArray[np.float64]

_RULES_A_BLOCK = 1 << 17


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
    """What the four counts of rules on some rows follow from.

    Attributes
    ----------
    transaction_count : int
        Rows.
    class_rows : int64[classes]
        Rows of each class.
    antecedent_count, rule_count : int64[rules]
        Rows with the antecedent; with antecedent and answer.
    """

    transaction_count: int
    class_rows: Ints
    antecedent_count: Ints
    rule_count: Ints

    @classmethod
    def matched(cls, totals: RuleTotals) -> Self:
        """Return the counts on rows that were not mined, from what matching them added up to."""
        return cls(totals.row_count, totals.class_rows[:-1], totals.fired, totals.right)

    @classmethod
    def mined(cls, rules: RuleArrays, rows: RowBlocks) -> Self:
        """Return the counts of `rules` on the rows that they were mined from."""
        class_rows = rows.vocabulary.answer_counts
        return cls(rows.transaction_count, class_rows, rules.antecedent_count, rules.rule_count)

    def fisher_log10_p(self, answers: Numbers, threads: int | None) -> Floats:
        """Return log10 of Fisher's one-sided p of rules with these answers."""
        rows = self.class_rows[answers]
        return fisher_log10_p(self.rule_count, self.antecedent_count, rows, self.transaction_count, threads)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the rows say about each rule, as arrays; as a table, rules take many times the memory.

    Attributes
    ----------
    rules : RuleArrays
        The rules.
    family : SearchedFamily
        Its size is what the q values correct for.
    thresholds : VerdictConfig
        For the verdicts.
    counts : mapping of str to (Counts, float64[rules])
        Counts and log10 of Fisher's p on the rows mined (""), and where there are such rows, on validation
        ("val_") and holdout rows ("holdout_").
    columns : mapping of str to float64[rules]
        Further columns of :meth:`table`, NaN = not known.
    """

    rules: RuleArrays
    family: SearchedFamily
    thresholds: VerdictConfig
    counts: Mapping[str, tuple[Counts, Floats]]
    columns: Mapping[str, Floats]

    def table(self, first: int = 0, stop: int | None = None) -> pl.DataFrame:
        """Return the further measures of the rules first..stop-1 (default: all), one row a rule.

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
        """
        return self._lazy(slice(first, stop)).collect()

    def verdict_counts(self, threads: int | None = None) -> dict[str | None, int]:
        """Return how many rules have each verdict; each thread looks at a block of them at a time."""
        found: Counter[str | None] = Counter()
        with ThreadPoolExecutor(threads or thread_count()) as pool:
            for counts in pool.map(self._count_verdicts, blocks(len(self.rules), _RULES_A_BLOCK)):
                found.update(counts)
        return dict(found)

    def _count_verdicts(self, part: tuple[int, int]) -> dict[str | None, int]:
        verdicts = self._lazy(slice(*part)).select("verdict").collect()["verdict"]
        return dict(verdicts.value_counts().iter_rows())

    def _lazy(self, place: slice) -> pl.LazyFrame:
        tables = {
            prefix: _with_tests(counts, log10_p, self.rules.answers[place], place)
            for prefix, (counts, log10_p) in self.counts.items()
        }
        columns = {name: pl.Series(values[place]).fill_nan(None) for name, values in self.columns.items()}
        of_holdout = {name: columns.pop(name) for name in [*columns] if name.startswith("holdout_")}
        table = tables.pop("").with_columns(**columns)
        for prefix, held_out in tables.items():
            named = held_out.drop("antecedent_support", "support").select(pl.all().name.prefix(prefix))
            table = pl.concat([table, named], how="horizontal")
            if prefix == "val_":
                table = table.with_columns(shrinkage=pl.col("confidence") - pl.col("val_confidence"))
        table = table.with_columns(**of_holdout)
        return table.with_columns(verdict=verdict(self.thresholds, table.collect_schema().names()))


def rule_evidence(
    rules: RuleArrays,
    antecedents: Antecedents,
    training: GroupedBlocks,
    mining: MiningConfig,
    *,
    validation: Counts | None = None,
    holdout: Counts | None = None,
    thresholds: VerdictConfig | None = None,
    index: RuleIndex | None = None,
    priors: Priors | None = None,
    threads: int | None = None,
    backend: str | Backend = "auto",
) -> Evidence:
    """Return what the rows say about each rule.

    It takes memory for the rules and for one block of rows, and for the rows' frequent items if the family is
    counted exactly (see :func:`~shortcut_miner.mining.evidence.family.searched_family`).

    Parameters
    ----------
    rules : RuleArrays
        Rules with their antecedents' best answers.
    antecedents : Antecedents
        Everything mined from `training` with `mining`.
    training : GroupedBlocks
        The rows mined, and the question type of each, as a number; -1 = not known.
    mining : MiningConfig
        min_count and max_antecedent define the searched family.
    validation, holdout : Counts, optional
        Counts of the same rules on rows that were not mined.
    thresholds : VerdictConfig, optional
        For the verdicts.
    index : RuleIndex, optional
        The rules, indexed already.
    priors : Priors, optional
        Of the rules, all rows added already.
    threads : int, optional
        Default: see :func:`shortcut_miner.mining.threads.thread_count`.
    backend : str or Backend
        See :func:`shortcut_miner.mining.backends.resolve_backend`.
    """
    family = searched_family(training, mining.min_count, mining.max_antecedent, threads)
    on_rows = {"": Counts.mined(rules, training), "val_": validation, "holdout_": holdout}
    counts = {
        prefix: (found, found.fisher_log10_p(rules.answers, threads))
        for prefix, found in on_rows.items()
        if found is not None
    }
    log10_p = counts[""][1]
    order = np.argsort(log10_p)
    columns = {
        "q_value_bh": family_q(log10_p, family.size, "bh", order),
        "q_value_by": family_q(log10_p, family.size, "by", order),
        **_against_subsets(rules, antecedents, training, threads, backend),
        "prior": (
            prior_confidence(rules, training, index=index, threads=threads, backend=backend)
            if priors is None
            else priors.confidence(index_for(index or rules, training), threads, backend)
        ),
    }
    if holdout is not None:
        columns["holdout_p_holm"] = holm_p(counts["holdout_"][1])
    return Evidence(
        rules=rules,
        family=family,
        thresholds=thresholds or VerdictConfig(),
        counts=counts,
        columns=columns,
    )


def _with_tests(counts: Counts, log10_p: Floats, answers: Numbers, place: slice) -> pl.LazyFrame:
    """Return counts with their measures and log10_p_value; null where the rule never fires."""
    columns = {
        "transaction_count": np.full(len(answers), counts.transaction_count),
        "antecedent_count": counts.antecedent_count[place],
        "answer_count": counts.class_rows[answers],
        "rule_count": counts.rule_count[place],
    }
    fires = pl.col("antecedent_count") > 0
    return (
        pl.LazyFrame({name: column.astype(np.uint64) for name, column in columns.items()})
        .pipe(with_measures)
        .pipe(with_further_measures)
        .with_columns(
            pl.col("confidence", "lift").fill_nan(None),
            log10_p_value=pl.when(fires).then(pl.Series(log10_p[place])),
        )
    )


def _against_subsets(
    rules: RuleArrays,
    antecedents: Antecedents,
    training: RowBlocks,
    threads: int | None,
    backend: str | Backend,
) -> dict[str, Floats]:
    """Return improvement, improvement_log10_p and modality_gain; NaN = not known."""
    names = ("improvement", "improvement_log10_p", "modality_gain")
    best = best_subsets(rules, antecedents, training, threads, backend)
    if best is None:
        return dict.fromkeys(names, np.full(len(rules), np.nan))
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
    return dict(zip(names, values, strict=True))


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
