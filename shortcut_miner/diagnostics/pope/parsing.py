"""Yes or no out of a model's answer, by POPE's rule, by RePOPE's, or by the first word alone."""

import re

import polars as pl

from shortcut_miner.diagnostics.pope.config import Parser

_NO_WORDS = ("No", "not", "no")
_FIRST_WORD = re.compile(r"^\W*(\w+)")


def parse_answer(text: str, parser: Parser = "pope") -> str | None:
    """Return "yes", "no", or None for an answer that is neither.

    Parameters
    ----------
    text : str
        What the model said.
    parser : {"pope", "repope", "strict"}
        POPE's program: of the text before the first full stop, without commas, some word between blanks is
        No, no or not: no; anything else is yes. RePOPE's: a "yes" anywhere, in any case, is yes; else a "no"
        is no. Strict: the first word is yes or no, in any case.

    Examples
    --------
    >>> [parse_answer("NO, there isn't.", parser) for parser in ("pope", "repope", "strict")]
    ['yes', 'no', 'no']
    """
    if parser == "pope":
        words = text.split(".")[0].replace(",", "").split(" ")
        return "no" if any(word in words for word in _NO_WORDS) else "yes"
    lowered = text.lower()
    if parser == "repope":
        return "yes" if "yes" in lowered else "no" if "no" in lowered else None
    found = _FIRST_WORD.match(lowered)
    return found[1] if found and found[1] in ("yes", "no") else None


def parsed(answers: pl.Series, parser: Parser) -> pl.Series:
    """Return what each answer says, "yes", "no" or null."""
    distinct = answers.unique()
    said = pl.Series([parse_answer(one, parser) for one in distinct], dtype=pl.String)
    return answers.replace_strict(distinct, said, return_dtype=pl.String)
