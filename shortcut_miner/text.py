"""Words of a question, and answers as the official VQA evaluation compares them.

Questions are many and all different, so the tokeniser is a Polars expression. Answers repeat, and two of
their rules (a look-ahead, a limit on replacements) have no Polars expression, so they are normalised in
plain Python once per distinct string (:func:`answer_forms`) and joined back by the caller.
"""

import polars as pl

from shortcut_miner.answer_text import normalise_answer, strip_answer, without_punctuation

__all__ = [
    "answer_forms",
    "basic_english",
    "normalise_answer",
    "strip_answer",
    "without_punctuation",
]

# What Python's str.split() splits at. The regex crate's \s is Unicode White_Space; Python adds U+001C-1F.
_BLANK = r"\s\x1c-\x1f"
_MARKS = "'.,()!?"
_BASIC_TOKEN = rf"[{_MARKS}]|[^{_BLANK}{_MARKS};:]+"


def basic_english(question: pl.Expr) -> pl.Expr:
    r"""Return the tokens of torchtext's ``basic_english`` tokeniser, in order, with repeats.

    Lower-cased; each of ``' . , ( ) ! ?`` is a token; ``"`` vanishes without separating; ``;``, ``:``,
    ``<br />`` and Unicode white space separate. Equal to the reference's chain of replacements followed by
    ``str.split()``: every mark ends up between blanks, so the tokens can be picked out in one pass.
    Letters that are newer than the running Python's Unicode tables are lower-cased by Polars' newer ones.

    Parameters
    ----------
    question : pl.Expr
        String.

    Returns
    -------
    pl.Expr
        List[String]; empty for a blank question, null for null.

    Notes
    -----
    The tokeniser of VQA-CE's released code (Dancette et al., ICCV 2021).

    Examples
    --------
    >>> table = pl.DataFrame({"question": ['What is the man\'s "job"?', " "]})
    >>> table.select(basic_english(pl.col("question"))).to_series().to_list()
    [['what', 'is', 'the', 'man', "'", 's', 'job', '?'], []]
    """
    return (
        question.str.to_lowercase()
        .str.replace_all('"', "", literal=True)
        .str.replace_all("<br />", " ", literal=True)
        .str.extract_all(_BASIC_TOKEN)
    )


def answer_forms(answers: pl.Series) -> pl.DataFrame:
    r"""Return each distinct answer with its two comparable forms.

    Parameters
    ----------
    answers : pl.Series
        String, any length, repeats welcome; nulls are left out.

    Returns
    -------
    pl.DataFrame
        answer String (distinct, in no particular order), stripped String (:func:`strip_answer`),
        normalised String (:func:`normalise_answer` of the stripped form).

    Examples
    --------
    >>> answer_forms(pl.Series(["Two dogs\n", "Two dogs\n"])).row(0)
    ('Two dogs\n', 'Two dogs', '2 dogs')
    """
    distinct = answers.drop_nulls().unique()
    stripped = [strip_answer(answer) for answer in distinct]
    normalised = [normalise_answer(answer) for answer in stripped]
    columns = {"answer": distinct, "stripped": stripped, "normalised": normalised}
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
