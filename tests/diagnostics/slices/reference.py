"""Slices in plain Python: rows are pairs of a set of items and an outcome, all else follows from them."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

Row = tuple[frozenset[str], int]
Slice = frozenset[str]


def mine(rows: Sequence[Row], min_count: int, max_length: int) -> dict[Slice, tuple[int, int, int]]:
    """Return the rows, sum and sum of squares of every slice with enough rows; the empty one among them."""
    found: dict[Slice, tuple[int, int, int]] = {frozenset(): _sums(outcome for _, outcome in rows)}
    held: dict[Slice, list[int]] = {}
    for items, outcome in rows:
        for length in range(1, max_length + 1):
            for chosen in itertools.combinations(sorted(items), length):
                held.setdefault(frozenset(chosen), []).append(outcome)
    return found | {one: _sums(outcomes) for one, outcomes in held.items() if len(outcomes) >= min_count}


def _sums(outcomes: Iterable[int]) -> tuple[int, int, int]:
    listed = list(outcomes)
    return len(listed), sum(listed), sum(one * one for one in listed)


def divergence(found: Mapping[Slice, tuple[int, int, int]], one: Slice, scale: int) -> Fraction:
    """Return the mean of a slice minus that of all rows."""
    (count, total, _), (rows, whole, _) = found[one], found[frozenset()]
    return Fraction(total, count * scale) - Fraction(whole, rows * scale)


def is_redundant(
    found: Mapping[Slice, tuple[int, int, int]], one: Slice, epsilon: Fraction, scale: int
) -> bool:
    """Return whether some item can go and hardly changes the divergence."""
    own = divergence(found, one, scale)
    return any(abs(own - divergence(found, one - {item}, scale)) <= epsilon for item in one)


def shapley(found: Mapping[Slice, tuple[int, int, int]], one: Slice, scale: int) -> dict[str, Fraction]:
    """Return what each item brings, averaged over all orders in which items can be added."""
    shares = dict.fromkeys(one, Fraction(0))
    orders = list(itertools.permutations(sorted(one)))
    for order in orders:
        for place, item in enumerate(order):
            before = frozenset(order[:place])
            gain = divergence(found, before | {item}, scale) - divergence(found, before, scale)
            shares[item] += gain / len(orders)
    return shares


def global_divergence(
    found: Mapping[Slice, tuple[int, int, int]], column_of: Mapping[str, str], scale: int
) -> dict[str, Fraction]:
    """Return what each item of a column brings over all slices of such items."""
    singles = [item for one in found if len(one) == 1 for item in one if item in column_of]
    columns = {column_of[item] for item in singles}
    values = {name: sum(column_of[item] == name for item in singles) for name in columns}
    totals = dict.fromkeys(singles, Fraction(0))
    for one in found:
        if not one or not all(item in column_of for item in one):
            continue
        size = len(one) - 1
        orders = Fraction(
            math.factorial(size) * math.factorial(len(columns) - size - 1), math.factorial(len(columns))
        )
        weight = orders / math.prod(values[column_of[item]] for item in one)
        for item in one:
            rest = one - {item}
            totals[item] += weight * (divergence(found, one, scale) - divergence(found, rest, scale))
    return totals


def at_least(wrong: int, count: int, all_wrong: int, rows: int) -> Fraction:
    """Return how likely `count` rows drawn of all hold `wrong` wrong ones or more."""
    ways = sum(
        math.comb(all_wrong, k) * math.comb(rows - all_wrong, count - k)
        for k in range(max(wrong, 0), min(count, all_wrong) + 1)
    )
    return Fraction(ways, math.comb(rows, count))


def adjusted(p: Sequence[float], factor: float) -> list[float]:
    """Return q values: the least p * tests * factor / rank of those that are no smaller."""
    order = sorted(range(len(p)), key=lambda at: p[at])
    q, least = [0.0] * len(p), 1.0
    for rank in range(len(p), 0, -1):
        at = order[rank - 1]
        least = min(least, p[at] * len(p) * factor / rank)
        q[at] = least
    return q


def cover(
    rows: Sequence[Row], candidates: Mapping[Slice, tuple[Fraction, Sequence[object]]]
) -> list[tuple[Slice, int]]:
    """Return the slices to read first, with what each adds; candidates have divergence and place by items."""
    left, found = list(range(len(rows))), []
    while True:
        gains = {one: sum(max(rows[at][1], 0) for at in left if one <= rows[at][0]) for one in candidates}
        if not gains or not max(gains.values()):
            return found
        best = min(gains, key=lambda one: (-gains[one], -candidates[one][0], len(one), candidates[one][1]))
        found.append((best, gains[best]))
        left = [at for at in left if not best <= rows[at][0]]
