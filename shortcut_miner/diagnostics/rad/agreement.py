"""How many annotators agree with an answer."""

import polars as pl

from shortcut_miner.text import answer_forms


def agreement(rows: pl.DataFrame, answer: str) -> pl.Series:
    """Return the share of each row's annotators who gave an answer, after VQA normalisation.

    Parameters
    ----------
    rows : pl.DataFrame
        answers (List[String], of all annotators) and the column `answer`.
    answer : str
        Name of a column of texts.

    Returns
    -------
    pl.Series
        Float64, from 0 to 1; null where no annotators are known.

    Examples
    --------
    >>> rows = pl.DataFrame({"answers": [["2", "two", "3", "4"], []], "asked": ["2", "2"]})
    >>> agreement(rows, "asked").to_list()
    [0.5, None]
    """
    numbered = rows.select("answers", asked=pl.col(answer)).with_row_index("row")
    said = numbered.select("row", "asked", said="answers").explode("said", empty_as_null=True)
    said = said.drop_nulls("said")
    texts = pl.concat([said["said"].rename("answer"), said["asked"].rename("answer")]).drop_nulls()
    forms = answer_forms(texts).select("answer", "normalised")
    for name in ("said", "asked"):
        renamed = forms.rename({"answer": name, "normalised": f"{name}_form"})
        said = said.join(renamed, on=name, how="left", validate="m:1", maintain_order="left")
    shares = said.group_by("row").agg(share=(pl.col("said_form") == pl.col("asked_form")).mean())
    joined = numbered.select("row").join(shares, on="row", how="left", validate="1:1", maintain_order="left")
    return joined["share"]


def soft_targets(drawn: pl.DataFrame) -> pl.Series:
    """Return how right "yes" is: the share of annotators who gave the answer asked for.

    Parameters
    ----------
    drawn : pl.DataFrame
        answers, substitute, drawn_answer.

    Returns
    -------
    pl.Series
        Float64; 1 for yes and 0 for no where no annotators are known.
    """
    label = (drawn["drawn_answer"] == "yes").cast(pl.Float64)
    return agreement(drawn, "substitute").fill_null(label)
