"""Head and tail: an answer is tail that is given less often than (1 + alpha) times its group's mean answer.

With c rows of n, and k answers in the group, c < (1 + alpha) n / k; equality is head. Compared as fractions,
1 + alpha being the decimal that was written, so that no rounding moves an answer (Kervadec et al., CVPR 2021,
section 3, and the released scripts).
"""

from bisect import bisect_right

import polars as pl

from shortcut_miner.scoring.head_tail import factor, rarity

HEAD, TAIL = "head", "tail"
# The released scripts' alphas, downwards: a tail each.
SWEEP = (
    9.0, 7.0, 5.0, 3.6, 2.8, 2.2, 1.8, 1.4, 1.0, 0.8, 0.4, 0.3, 0.2, 0.1, 0.0,
    -0.1, -0.2, -0.3, -0.4, -0.5, -0.6, -0.7,
)  # fmt: skip


_UPWARDS = sorted(SWEEP)
_FACTORS = [factor(alpha) for alpha in _UPWARDS]


def split_questions(
    questions: pl.DataFrame, counts: pl.DataFrame, groups: pl.DataFrame, alpha: float
) -> pl.DataFrame:
    """Return each question's subset, and the least alpha of the sweep at which it is tail.

    Parameters
    ----------
    questions : pl.DataFrame
        question_id, group, answer.
    counts, groups : pl.DataFrame
        As of :mod:`shortcut_miner.scoring.head_tail`.
    alpha : float
        Above -1.

    Returns
    -------
    pl.DataFrame
        :class:`.schemas.OodSplit`, sorted by question_id; subset and tail_alpha are null in groups that
        aren't kept.
    """
    sized = counts.join(groups, on="group", how="left", validate="m:1", maintain_order="left")
    key = ["count", "row_count", "answer_count"]
    sizes = sized.filter("is_kept").select(key).unique(maintain_order=True)
    rare = [rarity(*row) for row in sizes.rows()]
    at = [bisect_right(_FACTORS, one) for one in rare]
    judged = sizes.with_columns(
        subset=pl.Series([TAIL if one < factor(alpha) else HEAD for one in rare], dtype=pl.String),
        tail_alpha=pl.Series(
            [_UPWARDS[place] if place < len(_UPWARDS) else None for place in at], dtype=pl.Float64
        ),
        is_kept=True,
    )
    answers = sized.join(judged, on=[*key, "is_kept"], how="left", validate="m:1", maintain_order="left")
    known = answers.select(
        "group", "answer", "subset", "tail_alpha", answer_share=pl.col("count") / pl.col("row_count")
    )
    split = questions.join(known, on=["group", "answer"], how="left", validate="m:1", maintain_order="left")
    return split.select("question_id", "subset", "group", "answer_share", "tail_alpha").sort("question_id")


def tail_sizes(split: pl.DataFrame) -> dict[str, int]:
    """Return how many questions are tail at each alpha of the sweep."""
    found = split["tail_alpha"].drop_nulls()
    return {f"{alpha:g}": int((found <= alpha).sum()) for alpha in SWEEP}
