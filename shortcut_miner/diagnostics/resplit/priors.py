"""What the counts alone answer: the most common answer in training, and the rarest that the test has."""

import polars as pl

PRIOR, INVERSE = "prior", "inverse prior"
_ORDER = ("question_type", "answer")


def prior_answers(questions: pl.DataFrame, asked: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return question_id and answer of both priors for the questions that are asked.

    Parameters
    ----------
    questions : pl.DataFrame
        All questions: question_type, answer and subset.
    asked : pl.DataFrame
        question_id, question_type of those to answer.

    Returns
    -------
    dict of str to pl.DataFrame
        "prior": the most common answer of the type in training; "inverse prior": of the answers that the test
        has for the type, the one that training has least often for it, of these the test's most common one.
        Further ties go to the first by name; a type that a side lacks is answered as all types together.

    Examples
    --------
    >>> questions = pl.DataFrame({"question_type": "is", "answer": ["yes", "yes", "no", "no", "maybe"],
    ...                           "subset": ["train", "train", "train", "test", "test"]})
    >>> asked = pl.DataFrame({"question_id": ["1"], "question_type": ["is"]})
    >>> [table["answer"][0] for table in prior_answers(questions, asked).values()]
    ['yes', 'maybe']
    """
    counts = (
        questions.drop_nulls("answer")
        .group_by(*_ORDER)
        .agg(train=(pl.col("subset") == "train").sum(), test=(pl.col("subset") == "test").sum())
    )
    whole = counts.group_by("answer").agg(pl.col("train", "test").sum())
    return {
        PRIOR: _answered(asked, counts.filter(pl.col("train") > 0), whole, ["train"], [True]),
        INVERSE: _answered(
            asked, counts.filter(pl.col("test") > 0), whole.filter(pl.col("test") > 0), ["train", "test"],
            [False, True],
        ),
    }  # fmt: skip


def _answered(
    asked: pl.DataFrame, counts: pl.DataFrame, whole: pl.DataFrame, by: list[str], descending: list[bool]
) -> pl.DataFrame:
    """Return the first answer of each question's type, in the order of some counts."""
    first = counts.sort([*by, "answer"], descending=[*descending, False]).group_by(
        "question_type", maintain_order=True
    ).agg(pl.col("answer").first())  # fmt: skip
    fallback = whole.sort([*by, "answer"], descending=[*descending, False])["answer"][0]
    return asked.select("question_id", "question_type").join(
        first, on="question_type", how="left", validate="m:1", nulls_equal=True, maintain_order="left"
    ).select("question_id", pl.col("answer").fill_null(fallback))  # fmt: skip
