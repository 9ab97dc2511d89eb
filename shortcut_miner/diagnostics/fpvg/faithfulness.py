"""What probabilities and importances add: sufficiency, comprehensiveness, and the match of rankings.

Reich et al. (2023), section 4 (equations 7 and 8, Figures 3 and 4) and appendix D.2.
"""

import polars as pl

CHANGES = ("sufficiency", "comprehensiveness")
MATCHES = ("match_relevant", "match_irrelevant")
MASS = "mass_relevant"
THRESHOLDS = (0.01, 0.2, 0.4)
GROUNDING = "grounding"


def with_changes(probabilities: pl.DataFrame) -> pl.DataFrame:
    """Return sufficiency and comprehensiveness of each question.

    Parameters
    ----------
    probabilities : pl.DataFrame
        all, relevant, irrelevant: the probability of the answer given under *all*, in each condition.

    Returns
    -------
    pl.DataFrame
        The table with sufficiency (what the answer loses with the relevant regions alone: low is good) and
        comprehensiveness (what it loses without them: high is good), Float64.

    Examples
    --------
    >>> table = pl.DataFrame({"all": [0.9], "relevant": [0.8], "irrelevant": [0.2]})
    >>> with_changes(table).select(pl.col("sufficiency", "comprehensiveness").round(3)).rows()
    [(0.1, 0.7)]
    """
    return probabilities.with_columns(
        sufficiency=pl.col("all") - pl.col("relevant"),
        comprehensiveness=pl.col("all") - pl.col("irrelevant"),
    )


def quadrants(changes: pl.DataFrame, pair: tuple[float, float] | None = None) -> pl.DataFrame:
    """Return how FPVG+ and FPVG- fall into the quadrants of sufficiency and comprehensiveness.

    Parameters
    ----------
    changes : pl.DataFrame
        model, grounding, sufficiency, comprehensiveness.
    pair : (float, float), optional
        Thresholds of sufficiency and of comprehensiveness, beside those that are the same for both.

    Returns
    -------
    pl.DataFrame
        model, threshold (null for the pair), suff_threshold, comp_threshold, grounding,
        is_sufficient (sufficiency below its threshold), is_comprehensive (comprehensiveness above its own),
        count, share (percent of the model's questions with that grounding).
    """
    parts = []
    for threshold in (*THRESHOLDS, *(() if pair is None else (None,))):
        low, high = (threshold, threshold) if threshold is not None else pair or (0.0, 0.0)
        placed = changes.select(
            "model",
            pl.lit(threshold, pl.Float64).alias("threshold"),
            pl.lit(low, pl.Float64).alias("suff_threshold"),
            pl.lit(high, pl.Float64).alias("comp_threshold"),
            GROUNDING,
            is_sufficient=pl.col("sufficiency") < low,
            is_comprehensive=pl.col("comprehensiveness") > high,
        )
        parts.append(placed.group_by(placed.columns, maintain_order=True).agg(count=pl.len()))
    table = pl.concat(parts)
    share = 100 * pl.col("count") / pl.col("count").sum().over("model", "threshold", GROUNDING)
    order = ["model", "threshold", GROUNDING, "is_sufficient", "is_comprehensive"]
    descending = [False, False, True, True, True]
    return table.with_columns(share=share).sort(order, descending=descending, nulls_last=True)


def ranking_match(lists: pl.DataFrame, importance: pl.DataFrame) -> pl.DataFrame:
    """Return how well an importance ranking of regions agrees with the region lists.

    Parameters
    ----------
    lists : pl.DataFrame
        question_id, relevant, irrelevant List[UInt32].
    importance : pl.DataFrame
        question_id, region_index, importance; a row a region.

    Returns
    -------
    pl.DataFrame
        question_id, match_relevant, match_irrelevant (percent): of the N most important regions, the share
        that is in the list, where N is the length of the list. Questions without importances are left out.
        Equally important regions are ranked by their number.

    Examples
    --------
    >>> lists = pl.DataFrame({"question_id": ["q"], "relevant": [[0, 1]], "irrelevant": [[2]]})
    >>> importance = pl.DataFrame(
    ...     {"question_id": ["q"] * 3, "region_index": [0, 1, 2], "importance": [0.5, 0.1, 0.9]})
    >>> ranking_match(lists, importance).rows()
    [('q', 50.0, 100.0)]
    """
    rank = pl.int_range(pl.len()).over("question_id")
    ranked = (
        importance.select("question_id", pl.col("region_index").cast(pl.UInt32), "importance")
        .sort("question_id", "importance", "region_index", descending=[False, True, False])
        .with_columns(rank=rank)
    )
    result = lists.select("question_id").join(
        ranked.select("question_id").unique(), on="question_id", how="semi", maintain_order="left"
    )
    for condition in ("relevant", "irrelevant"):
        matched = _matched(lists, ranked, condition)
        result = result.join(matched, on="question_id", how="left", validate="1:1", maintain_order="left")
    return result


def relevant_mass(lists: pl.DataFrame, importance: pl.DataFrame) -> pl.DataFrame:
    """Return which part of a question's importance lies on its relevant regions.

    Parameters
    ----------
    lists, importance
        As for :func:`ranking_match`; importances that are attention are 0 or more.

    Returns
    -------
    pl.DataFrame
        question_id, mass_relevant (percent of the sum over all regions that are given). Questions with a
        negative importance, or with none above 0, have no mass and are left out.

    Examples
    --------
    >>> lists = pl.DataFrame({"question_id": ["q"], "relevant": [[0, 1]], "irrelevant": [[2]]})
    >>> importance = pl.DataFrame(
    ...     {"question_id": ["q"] * 3, "region_index": [0, 1, 2], "importance": [0.5, 0.1, 0.2]})
    >>> relevant_mass(lists, importance).select("question_id", pl.col("mass_relevant").round(6)).rows()
    [('q', 75.0)]
    """
    listed = lists.select("question_id", region_index="relevant").explode("region_index")
    marked = importance.with_columns(pl.col("region_index").cast(pl.UInt32)).join(
        listed.with_columns(is_relevant=True), on=["question_id", "region_index"], how="left", validate="1:1"
    )
    own = pl.col("importance").filter(pl.col("is_relevant").fill_null(value=False)).sum()
    sums = marked.group_by("question_id").agg(
        total=pl.col("importance").sum(), least=pl.col("importance").min(), own=own
    )
    has_mass = (pl.col("total") > 0) & (pl.col("least") >= 0)
    return (
        lists.select("question_id")
        .join(sums.filter(has_mass), on="question_id", how="inner", validate="1:1", maintain_order="left")
        .select("question_id", mass_relevant=100 * pl.col("own") / pl.col("total"))
    )


def _matched(lists: pl.DataFrame, ranked: pl.DataFrame, condition: str) -> pl.DataFrame:
    """Return question_id and the share of the list's regions among as many most important ones."""
    listed = lists.select("question_id", pl.col(condition).list.len().alias("size"), condition)
    regions = listed.explode(condition).rename({condition: "region_index"})
    placed = regions.join(ranked, on=["question_id", "region_index"], how="left", validate="1:1")
    is_top = (pl.col("rank") < pl.col("size")).fill_null(value=False)
    return placed.group_by("question_id").agg((100 * is_top.mean()).alias(f"match_{condition}"))
