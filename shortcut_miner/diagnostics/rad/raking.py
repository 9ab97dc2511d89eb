"""Raking: factors for which what is asked under "no" has the margins of what is asked under "yes"."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortcut_miner.diagnostics.rad.fits import DEGREES, Degrees, Floats, Ints

Bools = NDArray[np.bool_]

MOST_ROUNDS = 40
NEAR_ENOUGH = 1e-3  # share of rows that would have to ask for something else


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """What the weights of one type are the product of, beside how often an answer was given.

    Attributes
    ----------
    answers : ndarray of float64
        One for each answer.
    fits : pair of ndarray of float64
        One for each degree of fit to the subject, and to the words.
    nouns : ndarray of float64, nouns x answers
        Of frequent head nouns; the first row is that of all others.
    """

    answers: Floats
    fits: tuple[Floats, Floats]
    nouns: Floats

    def weights(self, counts: Ints, allowed: Bools, degrees: Sequence[Degrees], noun: Ints) -> Floats:
        """Return the weight of each answer for each row: rows x answers."""
        found: Floats = np.where(allowed, counts * self.answers, 0.0)
        for factor, cells in zip(self.fits, degrees, strict=True):
            found *= factor[cells]
        return found * self.nouns[noun]


def balanced_factors(
    own: Ints,
    allowed: Bools,
    degrees: Sequence[Degrees],
    noun: Ints,
    counts: Ints,
    said: tuple[Floats, Floats],
    wanted: Floats | None = None,
) -> Factors:
    """Return factors for which "no" asks for what "yes" asks for.

    Parameters
    ----------
    own : ndarray of int64
        Each row's own answer, as a column number.
    allowed : ndarray of bool, rows x answers
        What each row may be asked with; a row's own answer is none of it.
    degrees : pair of ndarray of int, rows x answers
        See :func:`.fits.degrees_of_fit`.
    noun : ndarray of int64
        Each row's frequent head noun, by its number from 1; 0: another one.
    counts : ndarray of int64
        How often each answer was given.
    said : pair of ndarray of float64
        How often each row says yes, and no.
    wanted : ndarray of float64, optional
        How often each answer is to be asked for, but for a factor; default: as often as "yes" asks for it.

    Notes
    -----
    Raking, or iterative proportional fitting: Deming and Stephan, "On a least squares adjustment of a sampled
    frequency table when the expected marginal totals are known" (Annals of Mathematical Statistics 11, 1940).
    The margins are those of "yes": how often each answer is asked for,
    of all rows and of each noun's, and how often an answer of each degree of fit. Where no such table exists,
    since too much is excluded, it ends near one.

    Examples
    --------
    >>> own = np.array([0, 1] * 60)
    >>> degrees, counts = [np.zeros((120, 2), np.uint8)] * 2, np.array([60, 60])
    >>> allowed, noun = own[:, None] != [0, 1], np.zeros(120, int)
    >>> found = balanced_factors(own, allowed, degrees, noun, counts, (np.ones(120), np.ones(120)))
    >>> found.weights(counts, allowed, degrees, noun)[:2].tolist()
    [[0.0, 60.0], [60.0, 0.0]]
    """
    answers = allowed.shape[1]
    nouns = int(noun.max(initial=0)) + 1
    fits = np.ones(len(DEGREES) + 1), np.ones(len(DEGREES) + 1)
    factors = Factors(np.ones(answers), fits, np.ones((nouns, answers)))
    can = allowed.any(axis=1)
    yes, no = (np.where(can, one, 0.0) for one in said)
    if not (yes.any() and no.any()):
        return factors
    columns = np.arange(answers, dtype=np.int32)
    of_noun = np.where(noun[:, None] > 0, noun[:, None] * answers + columns, 0).astype(np.int32)
    # The answers' own margin comes last: it holds best.
    cells_of: list[NDArray[Any]] = [*degrees, of_noun, np.broadcast_to(columns, allowed.shape)]
    margins: list[tuple[NDArray[Any], Floats, Floats]] = []
    for cells, factor in zip(cells_of, (*fits, factors.nouns.reshape(-1), factors.answers), strict=True):
        asked = np.bincount(cells[np.arange(len(own)), own], yes, minlength=len(factor)).astype(np.float64)
        target = asked if wanted is None or factor is not factors.answers else wanted
        margins.append((cells, factor, target * (no.sum() / target.sum())))
    table = factors.weights(counts, allowed, degrees, noun)
    _rake_rows(table, no)
    for _ in range(MOST_ROUNDS):
        lacking = 0.0
        for cells, factor, target in margins:
            there = np.bincount(cells.ravel(), table.ravel(), minlength=len(target))
            # A margin that nothing allowed can reach is approached step by step.
            step = np.clip(target / np.maximum(there, 1e-12), 0.1, 10)
            if cells is of_noun:
                step[:answers] = 1.0  # other nouns have no margin
            else:
                lacking = max(lacking, np.abs(there - target).sum() / 2 / no.sum())
            factor *= step
            table *= step[cells]
            _rake_rows(table, no)
        if lacking < NEAR_ENOUGH:
            break
    return factors


def _rake_rows(table: Floats, wanted: Floats) -> None:
    sums = table.sum(axis=1)
    table *= np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0)[:, None]


def places_in(weights: Floats, uniform: Floats) -> Ints:
    """Return each row's answer by its number in [0, 1); an answer of weight 0 never, if there is another."""
    ends = np.cumsum(weights, axis=1)
    place = (ends <= (uniform * ends[:, -1])[:, None]).sum(axis=1)
    # Rounding may lead behind the last answer that has a weight.
    last = weights.shape[1] - 1 - np.argmax(weights[:, ::-1] > 0, axis=1)
    found: Ints = np.minimum(place, last)
    return found
