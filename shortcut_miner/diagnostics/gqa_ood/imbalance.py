"""How evenly a group's answers are given, and which groups are uneven enough to have a tail.

A group's entropy is that of its answers' shares over the logarithm of how many answers it has: 1 where all
are given alike (Kervadec et al., CVPR 2021, section 3). Sums are exact until their one rounding, so that
neither row order nor names of answers change a digit.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import polars as pl

from shortcut_miner.diagnostics.gqa_ood.config import EntropyCut


@dataclass(frozen=True, slots=True)
class Cut:
    """The groups' entropies as a whole: mean, population standard deviation, and how many are kept."""

    mean: float
    std: float

    @property
    def threshold(self) -> float:
        """The largest entropy of a kept group."""
        return self.mean - self.std


def answer_counts(questions: pl.DataFrame) -> pl.DataFrame:
    """Return group, answer and count, a row an answer of a group, sorted by both."""
    return questions.group_by("group", "answer").agg(count=pl.len().cast(pl.Int64)).sort("group", "answer")


def judge_groups(counts: pl.DataFrame, epsilon: float, entropy_cut: EntropyCut) -> tuple[pl.DataFrame, Cut]:
    """Return the groups with their entropies, and whether each is kept.

    Parameters
    ----------
    counts : pl.DataFrame
        As of :func:`answer_counts`, with at least one row.
    epsilon : float
        Added to each share within the logarithm.
    entropy_cut : {"mean-std", "none"}
        Keep the groups with entropy <= mean - standard deviation over groups, each counted once; or all.

    Returns
    -------
    groups : pl.DataFrame
        The columns of :class:`.schemas.OodGroups`, sorted by group.
    cut : Cut
    """
    groups = (
        counts.group_by("group")
        .agg(row_count=pl.col("count").sum(), answer_count=pl.len(), counts=pl.col("count").sort())
        .sort("group")
    )
    entropies = [normalised_entropy(one, epsilon) for one in groups["counts"].to_list()]
    kept, cut = cut_at_mean_minus_std(entropies)
    return groups.select(
        "group",
        pl.col("row_count", "answer_count").cast(pl.UInt64),
        entropy=pl.Series(entropies, dtype=pl.Float64),
        is_kept=pl.Series(kept if entropy_cut == "mean-std" else [True] * len(entropies)),
    ), cut


def normalised_entropy(counts: Sequence[int], epsilon: float = 0.0) -> float:
    """Return the entropy of answers given so often, over the logarithm of their number; 1 for one answer.

    >>> normalised_entropy([5]), normalised_entropy([7, 7, 7]), round(normalised_entropy([9, 1]), 4)
    (1.0, 1.0, 0.469)
    """
    if len(counts) == 1 or (epsilon == 0 and min(counts) == max(counts)):
        return 1.0
    total = sum(counts)
    shares = [count / total for count in counts]
    return -math.fsum(share * math.log(share + epsilon) for share in shares) / math.log(len(counts))


def cut_at_mean_minus_std(values: Sequence[float]) -> tuple[list[bool], Cut]:
    """Return whether each value is at most the mean minus the population standard deviation.

    value <= mean - std is decided without rounding, as mean - value >= 0 and (mean - value)^2 >= variance:
    of two values the lower one is always at the threshold, and equal ones all are.

    >>> cut_at_mean_minus_std([0.9, 0.3])[0], cut_at_mean_minus_std([0.1, 0.1, 0.1])[0]
    ([False, True], [True, True, True])
    """
    exact, count = [Fraction(value) for value in values], len(values)
    total = sum(exact, Fraction(0))
    spread = count * sum((value * value for value in exact), Fraction(0)) - total * total
    below = [total - count * value for value in exact]
    kept = [one >= 0 and one * one >= spread for one in below]
    return kept, Cut(float(total / count), math.sqrt(spread / count**2))
