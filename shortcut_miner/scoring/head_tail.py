"""Head and tail of groups: how evenly answers are given, which groups are uneven, and what is rare there.

A group's entropy is that of its answers' shares over the logarithm of how many answers it has: 1 where all
are given alike (Kervadec et al., CVPR 2021, section 3). Sums are exact until their one rounding, so that
neither row order nor names of answers change a digit. An answer is rare, or tail, that is given less often
than (1 + alpha) times its group's mean answer: with c rows of n, and k answers, c < (1 + alpha) n / k,
compared as fractions, 1 + alpha being the decimal that was written.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import polars as pl


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


def factor(alpha: float) -> Fraction:
    """Return 1 + alpha, alpha being the decimal that Python writes.

    >>> factor(0.2), factor(-0.7)
    (Fraction(6, 5), Fraction(3, 10))
    """
    return 1 + Fraction(repr(float(alpha)))


def rarity(count: int, row_count: int, answer_count: int) -> Fraction:
    """Return an answer's rows over the mean of its group's answers: below :func:`factor` it is tail.

    >>> rarity(6, 10, 2), rarity(6, 10, 2) < factor(0.2)
    (Fraction(6, 5), False)
    """
    return Fraction(count * answer_count, row_count)


def is_rare(sized: pl.DataFrame, alpha: float) -> pl.Series:
    """Return whether :func:`rarity` of each row's count, row_count and answer_count is below :func:`factor`.

    Null where one of them is null.

    >>> table = pl.DataFrame({"count": [5, 6, None], "row_count": 10, "answer_count": 2})
    >>> is_rare(table, 0.2).to_list()
    [True, False, None]
    """
    key = ["count", "row_count", "answer_count"]
    sizes, least = sized.select(key).drop_nulls().unique(maintain_order=True), factor(alpha)
    judged = sizes.with_columns(
        is_rare=pl.Series([rarity(*row) < least for row in sizes.rows()], dtype=pl.Boolean)
    )
    joined = sized.select(key).join(judged, on=key, how="left", validate="m:1", maintain_order="left")
    return joined["is_rare"]


def judge_groups(
    counts: pl.DataFrame, epsilon: float = 0.0, entropy_cut: Literal["mean-std", "none"] = "mean-std"
) -> tuple[pl.DataFrame, Cut]:
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
        group, row_count and answer_count UInt64, entropy Float64, is_kept; sorted by group.
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
