"""2 x 2 groups: two yes/no questions about two images, whose answers are crossed; and their metrics.

A model that ignores the image, or the question, can't be right on all four (Li et al., NaturalBench, 2024).
"""

import re
from collections.abc import Collection

import numpy as np
import polars as pl

from shortcut_miner.diagnostics.pairs.rows import Rows

METRICS = ("q_acc", "i_acc", "acc", "g_acc")
MEMBERS = ("question_id_00", "question_id_01", "question_id_10", "question_id_11")
TRUTH = (1, 0, 0, 1)
_VALUES = {"yes": 1, "a": 1, "no": 0, "b": 0}
_WORDS, _LETTERS = (re.compile(rf"\b({one})\b", re.IGNORECASE) for one in ("yes|no", "a|b"))

Group = tuple[int, int, int, int]
Lists = dict[int, dict[int, list[int]]]


def find_groups(rows: Rows, given: Collection[tuple[int, int]] | None = None) -> list[Group]:
    """Return groups as positions of rows: question 0 about image 0 and 1, question 1 about image 0 and 1.

    Question 0 is right with yes about image 0 and with no about image 1, question 1 the other way round. The
    two questions of one text exclude each other's answers, as those of a pair. Greedy in the order of ids: of
    all groups the one whose first yes, then whose first no, then whose other two come first; each question is
    in one group at most.

    Parameters
    ----------
    rows : Rows
        Questions.
    given : collection of (int, int), optional
        Pairs that groups are made of; by default any two questions may be one.
    """
    answers = rows.questions["answer"].to_list()
    known = None if given is None else {frozenset(pair) for pair in given}

    def is_pair(one: int, other: int) -> bool:
        return rows.exclude(one, other) and (known is None or frozenset((one, other)) in known)

    yes_about, no_about = (_by_image(rows, answers, answer) for answer in ("yes", "no"))
    no_of_text: dict[int, list[int]] = {}
    for row, answer in enumerate(answers):
        if answer == "no":
            no_of_text.setdefault(int(rows.text[row]), []).append(row)
    used: set[int] = set()
    groups = []
    for a in (row for row, answer in enumerate(answers) if answer == "yes"):
        crossing = no_about.get(int(rows.image[a]), {})
        if a in used or not crossing:
            continue
        for b in no_of_text.get(int(rows.text[a]), ()):
            if b in used or not is_pair(a, b):
                continue
            others = (
                (c, d)
                for text, no_rows in crossing.items()
                if text != rows.text[a]
                for c in yes_about.get(int(rows.image[b]), {}).get(text, ())
                for d in no_rows
                if c not in used and d not in used and is_pair(c, d)
            )
            best = min(others, default=None)
            if best is not None:
                groups.append((a, b, best[1], best[0]))
                used |= {a, b, *best}
                break
    return groups


def _by_image(rows: Rows, answers: list[str], answer: str) -> Lists:
    """Return image -> text -> the rows with this answer, ascending."""
    found: Lists = {}
    for row, said in enumerate(answers):
        if said == answer:
            found.setdefault(int(rows.image[row]), {}).setdefault(int(rows.text[row]), []).append(row)
    return found


def parse_answer(text: str) -> int:
    """Return 1 for yes, 0 for no: the first of these words, in any case; -1 if there is none.

    Where neither is there, A stands for yes and B for no; "a" may be an article elsewhere.

    >>> [parse_answer(text) for text in ("Yes.", "A man? no, not yes", "(B)", "Nobody knows")]
    [1, 0, 0, -1]
    """
    found = _WORDS.search(text) or _LETTERS.search(text)
    return -1 if found is None else _VALUES[found[0].lower()]


def group_scores(said: np.ndarray) -> pl.DataFrame:
    """Return each group's metrics in percent.

    Parameters
    ----------
    said : int array, groups x 4
        What :func:`parse_answer` makes of the answers, in the order of `MEMBERS`.

    Returns
    -------
    pl.DataFrame
        q_acc: of the two questions those that are right about both images; i_acc: of the two images those
        with both questions right; acc: of the four answers the right ones; g_acc: 100 where all are right.

    Examples
    --------
    >>> group_scores(np.array([[1, 0, 1, 1]])).rows()
    [(50.0, 50.0, 75.0, 0.0)]
    """
    right = (said == np.array(TRUTH)).reshape(-1, 2, 2)  # groups x questions x images
    return pl.DataFrame(
        {
            "q_acc": 100.0 * right.all(axis=2).mean(axis=1),
            "i_acc": 100.0 * right.all(axis=1).mean(axis=1),
            "acc": 100.0 * right.mean(axis=(1, 2)),
            "g_acc": 100.0 * right.all(axis=(1, 2)),
        }
    )
