"""Answers as the official VQA evaluation compares them, one at a time.

Python's standard library alone: exports write this file's text into other programs' folders, whose
machines may lack everything else.
"""

import re

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
