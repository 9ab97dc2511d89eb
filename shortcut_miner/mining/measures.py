"""Measures of rules: ratios of the four counts, computed once, as Polars expressions.

Names follow mlxtend and arules: ``antecedent_support``, ``support``, ``confidence``, ``lift``.
"""

import polars as pl


def _ratio(top: str, bottom: str) -> pl.Expr:
    return pl.col(top) / pl.col(bottom)


def with_measures(rules: pl.DataFrame) -> pl.DataFrame:
    """Return `rules` with antecedent_support, support, confidence and lift after its counts.

    >>> counts = {"transaction_count": [10], "antecedent_count": [4], "answer_count": [5], "rule_count": [3]}
    >>> with_measures(pl.DataFrame(counts)).select("support", "confidence", "lift").row(0)
    (0.3, 0.75, 1.5)
    """
    expected = pl.col("antecedent_count").cast(pl.Float64) * pl.col("answer_count")
    return rules.with_columns(
        antecedent_support=_ratio("antecedent_count", "transaction_count"),
        support=_ratio("rule_count", "transaction_count"),
        confidence=_ratio("rule_count", "antecedent_count"),
        lift=pl.col("rule_count").cast(pl.Float64) * pl.col("transaction_count") / expected,
    )
