"""Words of a question, and answers as the official VQA evaluation compares them.

Questions are many and all different, so the tokeniser is a Polars expression. Answers repeat, and two of
their rules (a look-ahead, a limit on replacements) have no Polars expression, so they are normalised in
plain Python once per distinct string (:func:`answer_forms`) and joined back by the caller.
"""

import re

import polars as pl

# What Python's str.split() splits at. The regex crate's \s is Unicode White_Space; Python adds U+001C-1F.
_BLANK = r"\s\x1c-\x1f"
_MARKS = "'.,()!?"
_BASIC_TOKEN = rf"[{_MARKS}]|[^{_BLANK}{_MARKS};:]+"

_PUNCTUATION = frozenset(';/[]"{}()=+\\_-><@`,?!')
_NUMBER_COMMA = re.compile(r"\d,\d")
_LOOSE_PERIOD = re.compile(r"\.(?!\d)")
_PERIODS_DELETED = 32
_ARTICLES = frozenset(("a", "an", "the"))
_NUMBER_WORDS = {"none": "0"} | {
    word: str(number)
    for number, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    )
}

# The contractions that the official evaluation knows, by ending. It repairs words that miss exactly one of
# their apostrophes (oclock, couldnt've). Its entries with a capital I never match, as words arrive in lower
# case; "it's", "i'm" and other spellings that are words without their apostrophe are not in its list.
_CONTRACTED = {
    "": "ma'am o'clock 'twas 'ow's'at y'all",
    "'s": "he how somebody someone that there what when where who why",
    "'d": "he how it someone something there they where who you",
    "'d've": "he it she somebody someone something there they we who you y'all",
    "'ll": "how it somebody someone something they what who why you y'all",
    "'re": "there they what why you",
    "'ve": "could might must not should they we what where who would you",
    "n't": "ai are ca could did does do had has have is might must need ought sha should was were wo would",
    "n't've": "could had might should would",
}


def _missing_one_apostrophe(word: str) -> list[str]:
    return [word[:at] + word[at + 1 :] for at, letter in enumerate(word) if letter == "'"]


_CONTRACTIONS = {
    misspelt: stem + ending
    for ending, stems in _CONTRACTED.items()
    for stem in stems.split()
    for misspelt in _missing_one_apostrophe(stem + ending)
} | {"somebody'd": "somebodyd"}  # its one entry that runs the wrong way


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


def strip_answer(answer: str) -> str:
    r"""Return an answer as the official evaluation reads it: newlines and tabs are blanks, ends stripped.

    >>> strip_answer(" red\tand\nblue ")
    'red and blue'
    """
    return answer.replace("\n", " ").replace("\t", " ").strip()


def without_punctuation(answer: str) -> str:
    r"""Return `answer` without the punctuation that the official evaluation ignores.

    A mark of ``; / [ ] " { } ( ) = + \ _ - > < @ ` , ? !`` is deleted where it touches a blank anywhere in
    `answer`, or where `answer` holds digit-comma-digit anywhere; otherwise it becomes a blank. Then every
    period that no digit follows goes. Marks are looked up in `answer` as given, so their order is no matter.

    Notes
    -----
    The reference passes a flag where its substitution expects a count: only 32 periods go.

    Examples
    --------
    >>> without_punctuation("t-shirt"), without_punctuation("1,000-1,500 kg."), without_punctuation("$2.50")
    ('t shirt', '10001500 kg', '$2.50')
    """
    marks = _PUNCTUATION.intersection(answer)
    if marks:
        has_number_comma = _NUMBER_COMMA.search(answer) is not None
        is_deleted = {
            mark: has_number_comma or f"{mark} " in answer or f" {mark}" in answer for mark in marks
        }
        answer = answer.translate({ord(mark): None if gone else " " for mark, gone in is_deleted.items()})
    return _LOOSE_PERIOD.sub("", answer, count=_PERIODS_DELETED) if "." in answer else answer


def normalise_answer(answer: str) -> str:
    """Return an answer as the official VQA evaluation compares it when annotators disagree.

    Punctuation first (:func:`without_punctuation`), then words: lower case, number words to digits
    (``none`` is 0), no articles, contractions with their apostrophes, single blanks between.

    Examples
    --------
    >>> normalise_answer("The two dogs!"), normalise_answer("Dont know."), normalise_answer("an")
    ('2 dogs', "don't know", '')
    """
    words = (_NUMBER_WORDS.get(word, word) for word in without_punctuation(answer).lower().split())
    return " ".join(_CONTRACTIONS.get(word, word) for word in words if word not in _ARTICLES)


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
