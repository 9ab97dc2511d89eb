"""How well answers fit a question's words: how much more often they go with its subject than with all.

What is counted is a table of names (subjects, head nouns, words) x answers, so that a part of the questions
can be judged by what the whole has told.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.diagnostics.rad.word_lists import words

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Degrees = NDArray[np.uint8]

# Where one degree of fit ends and the next begins: from a seventh of what is usual to seven times that. They
# don't follow the data: between a row's own answer and the same answer of others one row makes the
# difference, and a border in between, or at what is usual, would keep them apart.
DEGREES = 2.0 ** (np.arange(-8.5, 9) / 3)
# Rows of all subjects that a subject's own rows are mixed with: most subjects occur once or twice.
STRENGTH = 8.0
NAMED = ("subject", "noun", "word")
_BLOCK = 2**20  # cells that are worked on at once


def head_noun(subject: str) -> str:
    """Return the word that a subject is about: the last one before a preposition, verb or clause.

    >>> head_noun("woman's shirt on the left"), head_noun("people are in the picture"), head_noun("Bus")
    ('shirt', 'people', 'bus')
    """
    found, ends = words_of(subject), words("modifiers", "ends_a_noun_phrase")
    first = next((at for at, word in enumerate(found) if at and word in ends), len(found))
    return found[first - 1] if found else ""


def words_of(subject: str) -> list[str]:
    """Return the words of a subject in small letters.

    >>> words_of("The cat's tail")
    ['the', "cat's", 'tail']
    """
    return re.findall(r"[^\W_]+(?:['\u2019-][^\W_]+)*", subject.lower())


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """How often each answer was given, to all questions of a type and to those with a name in common.

    Attributes
    ----------
    counts : ndarray of int64
        Of each answer.
    names : dict of str to dict of str to int
        "subject", "noun", "word" -> a name's number.
    given : dict of str to csr_array
        The same -> names x answers.
    """

    counts: Ints
    names: dict[str, dict[str, int]]
    given: dict[str, "csr_array"]

    @classmethod
    def of(cls, own: Ints, answers: int, subjects: Sequence[str]) -> "Told":
        """Return what questions tell: their answers, as column numbers, and subjects."""
        names, given = {}, {}
        for kind in NAMED:
            row, name = _named(kind, subjects)
            names[kind] = {text: at for at, text in enumerate(sorted(set(name)))}
            codes = np.array([names[kind][one] for one in name], np.int64)
            given[kind] = _table(codes, own[row], np.ones(len(codes)), (len(names[kind]), answers))
        return cls(np.bincount(own, minlength=answers), names, given)

    @classmethod
    def read(cls, counts: Ints, table: pl.DataFrame) -> "Told":
        """Return what a table tells: measure, name, position, weight."""
        names, given = {}, {}
        for kind in NAMED:
            part = table.filter(pl.col("measure") == kind)
            known = part["name"].unique().sort().to_list()
            names[kind] = {text: at for at, text in enumerate(known)}
            codes = np.array([names[kind][one] for one in part["name"]], np.int64)
            position = part["position"].to_numpy().astype(np.int64)
            given[kind] = _table(codes, position, part["weight"].to_numpy(), (len(known), len(counts)))
        return cls(counts, names, given)

    def written(self) -> pl.DataFrame:
        """Return the table that :meth:`read` reads, sorted."""
        parts = []
        for kind in NAMED:
            cells = self.given[kind].tocoo()
            known = pl.Series("name", list(self.names[kind]), dtype=pl.String)
            parts.append(pl.DataFrame({
                "measure": pl.repeat(kind, cells.nnz, eager=True, dtype=pl.String),
                "name": known.gather(pl.Series(cells.row.astype(np.uint32))),
                "position": cells.col.astype(np.int64), "weight": cells.data.astype(np.float64),
            }))  # fmt: skip
        return pl.concat(parts).sort("measure", "name", "position")

    def lacks(self, subjects: Sequence[str]) -> list[str]:
        """Return the subjects of which nothing was told, or of a word of theirs, each once, sorted."""
        found = set()
        for kind in NAMED:
            row, names = _named(kind, subjects)
            known = self.names[kind]
            found |= {subjects[at] for at, name in zip(row, names, strict=True) if name not in known}
        return sorted(found)


def degrees_of_fit(told: Told, own: Ints, subjects: Sequence[str]) -> tuple[Degrees, ...]:
    """Return in which degree each answer fits each row's subject, and its words, by the other rows.

    Both rows x answers, from 0.
    """
    found = tuple(np.zeros((len(own), len(told.counts)), np.uint8) for _ in range(2))
    step = max(_BLOCK // max(len(told.counts), 1), 1)
    for first in range(0, len(own), step):
        part = slice(first, first + step)
        for table, fit in zip(found, (fit_of_subject, fit_of_words), strict=True):
            told_fit = fit(told, own[part], subjects[part])
            table[part] = np.searchsorted(DEGREES, told_fit.ravel(), side="right").reshape(told_fit.shape)
    return found


def fit_of_subject(told: Told, own: Ints, subjects: Sequence[str]) -> Floats:
    """Return P(answer | subject) / P(answer) for each row and answer, by the other rows.

    A subject's own counts are mixed with those of its head noun, these with those of all.
    """
    share = _others_share(told, own)
    found = share
    for kind in ("noun", "subject"):
        _, name = _named(kind, subjects)
        found = _mixed(*_given(told, kind, name), own, found)
    return found / share


def fit_of_words(told: Told, own: Ints, subjects: Sequence[str]) -> Floats:
    """Return the mean of P(answer | word) / P(answer) over a subject's words, by the other rows."""
    row, name = _named("word", subjects)
    lengths = np.bincount(row, minlength=len(own))
    share = _others_share(told, own)
    fit = np.zeros(share.shape)
    first = np.cumsum(lengths) - lengths
    for k in range(int(lengths.max(initial=0))):  # the k-th word of every row at once
        has = np.flatnonzero(lengths > k)
        given = _given(told, "word", [name[at] for at in first[has] + k])
        fit[has] += _mixed(*given, own[has], share[has]) / share[has]
    return fit / np.maximum(lengths, 1)[:, None]


def _named(kind: str, subjects: Sequence[str]) -> tuple[Ints, list[str]]:
    """Return the names of each subject, and whose they are; of words each once."""
    if kind == "word":
        spoken = [sorted(set(words_of(one))) for one in subjects]
        row = np.repeat(np.arange(len(spoken)), np.array([len(one) for one in spoken], np.int64))
        return row, [one for some in spoken for one in some]
    name = head_noun if kind == "noun" else str.lower
    return np.arange(len(subjects)), [name(one) for one in subjects]


def _table(row: Ints, column: Ints, value: Floats, shape: tuple[int, int]) -> "csr_array":
    """Return a sparse table; what falls into one cell adds up."""
    from scipy.sparse import csr_array

    return csr_array((value, (row, column)), shape=shape)


def _given(told: Told, kind: str, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Return rows x answers: how often each was given to questions with this name; and their sums."""
    codes = np.array([told.names[kind][one] for one in names], np.int64)
    counts: Floats = told.given[kind][codes].toarray()
    return counts, counts.sum(axis=1)


def _others_share(told: Told, own: Ints) -> Floats:
    answers = len(told.counts)
    table = np.broadcast_to(told.counts + 0.5, (len(own), answers)).copy()
    table[np.arange(len(own)), own] -= 1
    shares: Floats = table / (told.counts.sum() - 1 + 0.5 * answers)
    return shares


def _mixed(counts: Floats, rows: Floats, own: Ints, wider: Floats) -> Floats:
    """Return shares among the other rows of a group, mixed with those of a wider one."""
    told = counts + STRENGTH * wider
    told[np.arange(len(own)), own] -= 1
    shares: Floats = told / (rows - 1 + STRENGTH)[:, None]
    return shares
