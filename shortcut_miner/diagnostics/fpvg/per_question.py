"""What scores say of single questions, and of two runs on the same ones.

Reich et al. (2023), Figures 3 to 6, count questions; what they leave to define is defined on the card.
"""

from collections.abc import Mapping, Sequence
from itertools import permutations

import polars as pl

_KEY = ("question_id", "model")


def per_question(categories: pl.DataFrame, values: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return one row a question and run with all that is known of it.

    Parameters
    ----------
    categories : pl.DataFrame
        question_id, model, category.
    values : sequence of pl.DataFrame
        question_id, model and further columns; not of every question.

    Returns
    -------
    pl.DataFrame
        question_id, model, category and these columns, null where they are not known.
    """
    table = categories
    for one in values:
        table = table.join(one, on=_KEY, how="left", validate="1:1", maintain_order="left")
    return table


def flips(categories: Mapping[str | None, pl.DataFrame]) -> pl.DataFrame | None:
    """Return how many questions that are in FPVG+ under one run are in FPVG- under another.

    Parameters
    ----------
    categories : mapping of str or None to pl.DataFrame
        List of questions -> question_id, model, category.

    Returns
    -------
    pl.DataFrame or None
        list, first, second (runs), plus (questions in FPVG+ under the first), flipped (those of them that
        are in FPVG- under the second), share (percent of `plus`; null where that is 0). None of one run.

    Examples
    --------
    >>> rows = {"question_id": ["q"] * 2, "model": ["a", "b"], "category": ["good_wrong", "bad_wrong"]}
    >>> flips({None: pl.DataFrame(rows)}).rows()
    [(None, 'a', 'b', 1, 1, 100.0), (None, 'b', 'a', 0, 0, None)]
    """
    rows = []
    for name, table in categories.items():
        is_good = table.select("question_id", "model", good=pl.col("category").str.starts_with("good"))
        wide = is_good.pivot("model", index="question_id", values="good", maintain_order=True)
        for first, second in permutations(wide.columns[1:], 2):
            plus = int(wide[first].sum())
            flipped = int((wide[first] & ~wide[second]).sum())
            rows.append((name, first, second, plus, flipped, 100 * flipped / plus if plus else None))
    schema = {
        **dict.fromkeys(("list", "first", "second"), pl.String),
        **dict.fromkeys(("plus", "flipped"), pl.UInt32),
        "share": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row") if rows else None
