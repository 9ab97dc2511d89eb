"""The balanced draw: "no" asks what "yes" asks, as often, and what fits the subject as well.

The paper's rule gives the label away. "Yes" asks the answer that this subject has, "no" one from a pool of
all answers: whoever knows which answers go with which words tells them apart without the image. Here the "no"
answers of a type are drawn so that, in expectation, each answer is asked for as often under "no" as under
"yes", and so is each degree to which an answer fits the question's words.
"""

import re
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.diagnostics.rad.word_lists import words

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Where one degree of fit ends and the next begins: from a seventh of what is usual to seven times that. They
# don't follow the data: between a row's own answer and the same answer of others one row makes the
# difference, and a border in between, or at what is usual, would keep them apart.
DEGREES = 2.0 ** (np.arange(-8.5, 9) / 3)
# Rows of all subjects that a subject's own rows are mixed with: most subjects occur once or twice.
STRENGTH = 8.0
MOST_ROUNDS = 100
NEAR_ENOUGH = 1e-3  # share of rows that would have to ask for something else


def head_noun(subject: str) -> str:
    """Return the word that a subject is about: the last one before a preposition, verb or clause.

    >>> head_noun("woman's shirt on the left"), head_noun("people are in the picture"), head_noun("Bus")
    ('shirt', 'people', 'bus')
    """
    found, ends = _words(subject), words("modifiers", "ends_a_noun_phrase")
    first = next((at for at, word in enumerate(found) if at and word in ends), len(found))
    return found[first - 1] if found else ""


def _words(subject: str) -> list[str]:
    return re.findall(r"[^\W_]+(?:['\u2019-][^\W_]+)*", subject.lower())


def balanced_weights(own: Ints, allowed: Bools, subjects: Sequence[str]) -> Floats:
    """Return with which probability each row's "no" asks for each answer.

    Parameters
    ----------
    own : ndarray of int64
        Each row's own answer, as a column number.
    allowed : ndarray of bool, rows x answers
        What each row may be asked with; a row's own answer is none of it.
    subjects : sequence of str
        What each question is about.

    Returns
    -------
    ndarray of float64, rows x answers
        Rows sum to 1, or to 0 where nothing is allowed. Depends on the order of rows in last digits only.

    Notes
    -----
    Raking, or iterative proportional fitting: Deming and Stephan, "On a least squares adjustment of a sampled
    frequency table when the expected marginal totals are known" (Annals of Mathematical Statistics 11, 1940).
    The margins are those of "yes": how often each answer is given, and how many rows have an answer of each
    degree of fit (see :func:`fit_of_subject` and :func:`fit_of_words`). Where no such table exists, since too
    much is excluded, it ends near one.

    Examples
    --------
    >>> own = np.array([0, 1] * 60)
    >>> balanced_weights(own, own[:, None] != np.arange(2), ["bus"] * 120)[:2].tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    can = allowed.any(axis=1)
    if not can.any():
        return np.zeros(allowed.shape)
    table: Floats = np.where(allowed, np.bincount(own, minlength=allowed.shape[1]), 0.0)
    margins = [degrees_of(fit(own, allowed.shape[1], subjects)) for fit in (fit_of_subject, fit_of_words)]
    margins.append(np.broadcast_to(np.arange(allowed.shape[1]), allowed.shape))
    wanted = [np.bincount(cells[np.arange(len(own)), own][can], minlength=int(cells.max()) + 1)
              for cells in margins]  # fmt: skip
    _rake_rows(table)
    for _ in range(MOST_ROUNDS):
        lacking = 0.0
        for cells, target in zip(margins, wanted, strict=True):
            there = np.bincount(cells.ravel(), table.ravel(), minlength=len(target))
            lacking = max(lacking, np.abs(there - target).sum() / 2 / can.sum())
            # A margin that nothing allowed can reach is approached step by step.
            table *= np.clip(target / np.maximum(there, 1e-12), 0.1, 10)[cells]
            _rake_rows(table)
        if lacking < NEAR_ENOUGH:
            break
    return table


def _rake_rows(table: Floats) -> None:
    sums = table.sum(axis=1, keepdims=True)
    np.divide(table, sums, out=table, where=sums > 0)


def degrees_of(fit: Floats) -> Ints:
    """Return fit in degrees, from 0."""
    return np.searchsorted(DEGREES, fit.ravel(), side="right").reshape(fit.shape)


def fit_of_subject(own: Ints, answers: int, subjects: Sequence[str]) -> Floats:
    """Return P(answer | subject) / P(answer) for each row and answer, by the other rows.

    A subject's own counts are mixed with those of its head noun, these with those of all.
    """
    share = _others_share(own, answers)
    told = share
    for names in ([head_noun(one) for one in subjects], [one.lower() for one in subjects]):
        _, group = np.unique(np.array(names, dtype=object).astype(str), return_inverse=True)
        counts = _counts(group, own, int(group.max(initial=0)) + 1, answers)
        told = _mixed(counts[group], own, counts.sum(axis=1)[group], told)
    return told / share


def fit_of_words(own: Ints, answers: int, subjects: Sequence[str]) -> Floats:
    """Return the mean of P(answer | word) / P(answer) over a subject's words, by the other rows."""
    spoken = [sorted(set(_words(one))) for one in subjects]
    lengths = np.array([len(one) for one in spoken], np.int64)
    row = np.repeat(np.arange(len(spoken)), lengths)
    _, word = np.unique(np.array([one for some in spoken for one in some], dtype=str), return_inverse=True)
    counts = _counts(word, own[row], int(word.max(initial=-1)) + 1, answers)
    alone = counts.sum(axis=1)
    share = _others_share(own, answers)
    fit = np.zeros((len(own), answers))
    first = np.cumsum(lengths) - lengths
    for k in range(int(lengths.max(initial=0))):  # the k-th word of every row at once
        has = np.flatnonzero(lengths > k)
        at = word[first[has] + k]
        fit[has] += _mixed(counts[at], own[has], alone[at], share[has]) / share[has]
    return fit / np.maximum(lengths, 1)[:, None]


def _others_share(own: Ints, answers: int) -> Floats:
    counts = np.bincount(own, minlength=answers).astype(np.float64)
    table = np.broadcast_to(counts + 0.5, (len(own), answers)).copy()
    table[np.arange(len(own)), own] -= 1
    shares: Floats = table / (len(own) - 1 + 0.5 * answers)
    return shares


def _counts(group: Ints, own: Ints, groups: int, answers: int) -> Floats:
    cells = np.bincount(group * answers + own, minlength=groups * answers)
    return cells.reshape(groups, answers).astype(np.float64)


def _mixed(counts: Floats, own: Ints, rows: Floats, wider: Floats) -> Floats:
    """Return shares among the other rows of a group, mixed with those of a wider one."""
    told = counts + STRENGTH * wider
    told[np.arange(len(own)), own] -= 1
    shares: Floats = told / (rows - 1 + STRENGTH)[:, None]
    return shares


def places_in(weights: Floats, uniform: Floats) -> Ints:
    """Return each row's answer by its number in [0, 1); an answer of weight 0 never, if there is another."""
    ends = np.cumsum(weights, axis=1)
    place = (ends <= (uniform * ends[:, -1])[:, None]).sum(axis=1)
    # Rounding may lead behind the last answer that has a weight.
    last = weights.shape[1] - 1 - np.argmax(weights[:, ::-1] > 0, axis=1)
    found: Ints = np.minimum(place, last)
    return found


def balanced_positions(
    rows: pl.DataFrame, pools: pl.DataFrame, excluded: pl.DataFrame, uniform: Floats
) -> Ints:
    """Return the position in the pools of each row's "no" answer.

    Parameters
    ----------
    rows : pl.DataFrame
        row (its number), question_id, augmentation, pool, subject, substance.
    pools : pl.DataFrame
        augmentation, pool, substitute, position: the answers of exactly these rows.
    excluded : pl.DataFrame
        row, position: what rows must not be asked with.
    uniform : ndarray of float64
        A number in [0, 1) for each row.
    """
    found = np.zeros(len(rows), np.int64)
    for (kind,), part in rows.sort("question_id").group_by("augmentation", maintain_order=True):
        answers = pools.filter(pl.col("augmentation") == kind)
        first = int(answers["position"][0])
        own = part.select("pool", substitute="substance").join(
            answers, on=["pool", "substitute"], how="left", validate="m:1", maintain_order="left"
        )["position"].to_numpy().astype(np.int64) - first  # fmt: skip
        at = part["row"].to_numpy().astype(np.int64)
        allowed = part["pool"].to_numpy()[:, None] == answers["pool"].to_numpy()[None, :]
        lost = excluded.filter(pl.col("row").is_in(part["row"].implode()))
        place_of = np.zeros(len(rows), np.int64)
        place_of[at] = np.arange(len(at))
        allowed[place_of[lost["row"].to_numpy()], lost["position"].to_numpy().astype(np.int64) - first] = (
            False
        )
        weights = balanced_weights(own, allowed, part["subject"].to_list())
        found[at] = first + places_in(weights, uniform[at])
    return found
