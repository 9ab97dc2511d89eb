"""A build against published numbers: by how much it misses each, and whether that is more than is allowed."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.recipes.recipe import Expected, ScoreCell


@dataclasses.dataclass(frozen=True, slots=True)
class Check:
    """A published number beside what came out."""

    expected: Expected
    got: float

    @property
    def difference(self) -> float:
        """How much more came out."""
        return self.got - self.expected.value

    @property
    def is_met(self) -> bool:
        """Whether the difference is within the tolerance."""
        return abs(self.difference) <= self.expected.tolerance * abs(self.expected.value)

    def in_words(self) -> str:
        """Return both numbers, by how much they differ, and how much is allowed.

        >>> Check(Expected(value=200, tolerance=0.01, reason="ties", count="rows"), 203).in_words()
        '203, expected 200: 3 more (+1.50%), allowed are 1%'
        """
        allowed = f"allowed are {100 * self.expected.tolerance:g}%"
        text = f"{number_text(self.got)}, expected {number_text(self.expected.value)}"
        if not self.difference:
            return text
        way = "more" if self.difference > 0 else "fewer"
        share = f" ({self.difference / self.expected.value:+.2%})" if self.expected.value else ""
        return f"{text}: {number_text(abs(self.difference))} {way}{share}, {allowed}"


def number_text(value: float) -> str:
    """Return a count, or a number with two decimals.

    >>> number_text(63298), number_text(42.26)
    ('63,298', '42.26')
    """
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


def check_all(
    expected: Sequence[Expected],
    counts: Mapping[str, Any],
    figures: Mapping[str, Any],
    scores: pl.DataFrame | None,
) -> tuple[Check, ...]:
    """Return each published number beside a build's counts, figures and scores.

    Raises
    ------
    SourceError
        The build has no number of some name.
    """
    return tuple(Check(one, _number_of(one, counts, figures, scores)) for one in expected)


def _number_of(
    one: Expected, counts: Mapping[str, Any], figures: Mapping[str, Any], scores: pl.DataFrame | None
) -> float:
    if one.score is not None and scores is not None:
        return _score(one.score, scores)
    there = counts if one.count is not None else figures
    value = there.get(one.name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        numbers = [name for name, found in there.items() if isinstance(found, int | float)]
        raise SourceError(
            f"recipe, expected {one.name}: got no such number of this build, expected one of "
            f"{examples(numbers, 40)}. Correct the recipe."
        )
    return value


def _score(cell: ScoreCell, scores: pl.DataFrame) -> float:
    names = ("metric", "group", "subgroup", "model")
    values = scores.filter(*(pl.col(name) == getattr(cell, name) for name in names))["value"]
    if len(values) != 1 or values[0] is None:
        raise SourceError(
            f"recipe, expected score {', '.join(getattr(cell, name) for name in names)}: got {len(values)} "
            "such scores, expected one. Correct the recipe."
        )
    return float(values[0])
