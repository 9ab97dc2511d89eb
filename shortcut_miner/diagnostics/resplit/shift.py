"""How far the answers of two sides of a split are from each other, by type of question."""

import math

import polars as pl

NO_TYPE = "(none)"


def shift_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Return how answers shift from training to test, a row a type of question.

    Parameters
    ----------
    rows : pl.DataFrame
        question_type, answer String; is_test Boolean: the others, validation too, are of the training's kind.

    Returns
    -------
    pl.DataFrame
        question_type ("(none)" where it is not known), train_count, test_count, js_bits, total_variation
        (null where a side has no row), top_answer of all rows and its share on each side, top_train_share and
        top_test_share. Sorted by question_type.

    Examples
    --------
    >>> rows = pl.DataFrame({"question_type": "is", "answer": ["yes", "yes", "no"],
    ...                      "is_test": [False, True, True]})
    >>> shift_table(rows).select("train_count", "test_count", pl.col("js_bits").round(4), "top_answer").rows()
    [(1, 2, 0.3113, 'yes')]
    """
    counted = (
        rows.with_columns(pl.col("question_type").fill_null(NO_TYPE))
        .group_by("question_type", "answer")
        .agg(train=(~pl.col("is_test")).sum().cast(pl.Int64), test=pl.col("is_test").sum().cast(pl.Int64))
        .sort("question_type", "answer")
    )
    found = [
        {"question_type": kind, **_shift(of_kind)}
        for (kind,), of_kind in counted.group_by("question_type", maintain_order=True)
    ]
    return pl.DataFrame(found, schema=_SCHEMA)


_SCHEMA = {
    "question_type": pl.String,
    "train_count": pl.UInt32,
    "test_count": pl.UInt32,
    "js_bits": pl.Float64,
    "total_variation": pl.Float64,
    "top_answer": pl.String,
    "top_train_share": pl.Float64,
    "top_test_share": pl.Float64,
}


def _shift(counts: pl.DataFrame) -> dict[str, object]:
    answers, train, test = (counts[name].to_list() for name in ("answer", "train", "test"))
    top = max(range(len(answers)), key=lambda at: (train[at] + test[at], -at))
    js_bits, total_variation = distances(train, test)
    return {
        "train_count": sum(train),
        "test_count": sum(test),
        "js_bits": js_bits,
        "total_variation": total_variation,
        "top_answer": answers[top],
        "top_train_share": train[top] / sum(train) if sum(train) else None,
        "top_test_share": test[top] / sum(test) if sum(test) else None,
    }


def overall_shift(rows: pl.DataFrame) -> dict[str, float | None]:
    """Return js_bits and total_variation of all answers, whatever the type of question."""
    counts = rows.group_by("answer").agg(train=(~pl.col("is_test")).sum(), test=pl.col("is_test").sum())
    ordered = counts.sort("answer")
    js_bits, total_variation = distances(ordered["train"].to_list(), ordered["test"].to_list())
    return {"js_bits": js_bits, "total_variation": total_variation}


def distances(train: list[int], test: list[int]) -> tuple[float | None, float | None]:
    """Return the Jensen-Shannon divergence (base 2) and the total variation of two lists of counts.

    None where a side has no count.

    >>> distances([1, 0], [0, 3]), distances([1, 1], [2, 2]), distances([1], [0])
    ((1.0, 1.0), (0.0, 0.0), (None, None))
    """
    rows = sum(train), sum(test)
    if not all(rows):
        return None, None
    shares = [(a / rows[0], b / rows[1]) for a, b in zip(train, test, strict=True)]
    terms = [one * math.log2(2 * one / (a + b)) / 2 for a, b in shares for one in (a, b) if one]
    return math.fsum(terms), math.fsum(abs(a - b) for a, b in shares) / 2
