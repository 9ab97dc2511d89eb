"""The accuracy of one answer, in percent: the scorers of :mod:`shortcut_miner.scoring` for other programs.

Python's standard library and :mod:`shortcut_miner.answer_text` alone: exports write the text of both into
the folders that they make, whose machines may lack everything else.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from shortcut_miner.answer_text import normalise_answer, strip_answer

_MATCHES_FOR_FULL_SCORE = 3
_OFFICIAL_ANSWERS = 10


def question_accuracy(question: Mapping[str, Any], said: str) -> float:
    """Return the accuracy of an answer to a question, by the scorer that fits the question.

    Parameters
    ----------
    question : mapping
        `answers`, a list of all annotators' answers; `answer_record_key`, a number for each of them, equal
        for those that no id tells apart, or None where all are different annotators'; `answer`, the one right
        answer, which counts where there are no `answers`.
    said : str
        The model's.

    Examples
    --------
    >>> question_accuracy({"answers": ["2 dogs"] * 8 + ["dogs"] * 2}, "the dogs!")
    60.0
    >>> question_accuracy({"answers": ["red", "blue"]}, "Red."), question_accuracy({"answer": "red"}, "Red")
    (100.0, 0.0)
    """
    answers = question.get("answers")
    if answers is None or not len(answers):
        return 100.0 if said == question["answer"] else 0.0
    keys = question.get("answer_record_key")
    told_apart = list(range(len(answers))) if keys is None or not len(keys) else list(keys)
    most_alike = max(told_apart.count(key) for key in told_apart)
    if len(answers) < _MATCHES_FOR_FULL_SCORE:
        return 100.0 * (_matches(answers, said) > 0)
    if len(answers) < _OFFICIAL_ANSWERS or most_alike + _MATCHES_FOR_FULL_SCORE > len(answers):
        return 100 * min(_matches(answers, said), _MATCHES_FOR_FULL_SCORE) / _MATCHES_FOR_FULL_SCORE
    return official_accuracy(answers, told_apart, said)


def official_accuracy(answers: Sequence[str], keys: Sequence[int], said: str) -> float:
    """Return the official VQA accuracy: the mean over annotators of min(1, matches among the others / 3).

    Annotators' answers that are all identical are compared as they are (stripped), others after
    normalisation. The others of a record are those that differ from it as a whole, in answer or key.

    Notes
    -----
    Antol et al., "VQA: Visual Question Answering" (ICCV 2015), section 3, as its evaluation program does it.
    """
    given, wanted = [strip_answer(answer) for answer in answers], strip_answer(said)
    if len(set(given)) > 1:
        given, wanted = [normalise_answer(answer) for answer in given], normalise_answer(wanted)
    records = list(zip(given, keys, strict=True))
    thirds = sum(
        min(_MATCHES_FOR_FULL_SCORE, sum(other != record and other[0] == wanted for other in records))
        for record in records
    )
    return 100 * thirds / (_MATCHES_FOR_FULL_SCORE * len(records))


def _matches(answers: Sequence[str], said: str) -> int:
    wanted = normalise_answer(strip_answer(said))
    return sum(normalise_answer(strip_answer(answer)) == wanted for answer in answers)
