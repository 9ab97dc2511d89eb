"""Plain-Python brute force of the whole VQA-CE job: slow, obvious, and without numpy.

Every twin of the miner, the filters, the matcher and the votes is compared with this module. A row is a
set of items with one answer; an item is ``(WORD, "dog")``, ``(OBJECT, "dog")`` or ``(ATTRIBUTE, "pet=dog")``,
so that items sort with words first. Ratios are Fractions throughout.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

WORD, OBJECT, ATTRIBUTE = 0, 1, 2

Item = tuple[int, str]
Antecedent = frozenset[Item]


class Row(NamedTuple):
    items: frozenset[Item]
    answer: str | None


class Found(NamedTuple):
    """The best answer of one antecedent."""

    answer: str
    antecedent_count: int
    rule_count: int

    @property
    def confidence(self) -> Fraction:
        return Fraction(self.rule_count, self.antecedent_count)


class Rule(NamedTuple):
    antecedent: Antecedent
    answer: str
    antecedent_count: int
    rule_count: int

    @property
    def confidence(self) -> Fraction:
        return Fraction(self.rule_count, self.antecedent_count)

    @property
    def words(self) -> list[str]:
        return self.names(WORD)

    @property
    def objects(self) -> list[str]:
        return self.names(OBJECT)

    @property
    def attributes(self) -> list[str]:
        return self.names(ATTRIBUTE)

    def names(self, kind: int) -> list[str]:
        return sorted(name for one, name in self.antecedent if one == kind)


def word_rows(transactions: Iterable[Iterable[str]], answers: Iterable[str | None]) -> list[Row]:
    """Return rows whose items are all words."""
    return [
        Row(frozenset((WORD, name) for name in items), answer)
        for items, answer in zip(transactions, answers, strict=True)
    ]


def count_answers(rows: Sequence[Row], weights: Sequence[int] | None = None) -> Counter[str]:
    """Return how many (original) rows have each answer; rows without an answer count nowhere."""
    counts: Counter[str] = Counter()
    for row, weight in zip(rows, weights or [1] * len(rows), strict=True):
        if row.answer is not None:
            counts[row.answer] += weight
    return counts


def most_common_answer(answer_counts: Mapping[str, int]) -> str:
    """Return the answer to give when nothing is known: the commonest, then the lexicographically smaller."""
    return min(answer_counts, key=lambda answer: (-answer_counts[answer], answer))


def best_answer(counts: Mapping[str, int], answer_counts: Mapping[str, int]) -> str:
    """Return the most frequent answer of one antecedent; ties: rarer overall, then lexicographic."""
    return min(counts, key=lambda answer: (-counts[answer], answer_counts[answer], answer))


def mine(
    rows: Sequence[Row], min_count: int, max_antecedent: int, weights: Sequence[int] | None = None
) -> dict[Antecedent, Found]:
    """Return every antecedent of 1..max_antecedent items that has an answer in `min_count` rows."""
    everything = count_itemsets(rows, max_antecedent, weights)
    return {
        antecedent: found
        for antecedent, found in everything.items()
        if antecedent and found.rule_count >= min_count
    }


def count_itemsets(
    rows: Sequence[Row], max_antecedent: int, weights: Sequence[int] | None = None
) -> dict[Antecedent, Found]:
    """Return the best answer of every itemset of up to `max_antecedent` items, the empty one included."""
    counts: defaultdict[Antecedent, Counter[str]] = defaultdict(Counter)
    for row, weight in zip(rows, weights or [1] * len(rows), strict=True):
        if row.answer is None:
            continue
        for size in range(max_antecedent + 1):
            for itemset in combinations(sorted(row.items), size):
                counts[frozenset(itemset)][row.answer] += weight
    answer_counts = count_answers(rows, weights)
    return {
        itemset: Found(
            answer := best_answer(of_itemset, answer_counts), of_itemset.total(), of_itemset[answer]
        )
        for itemset, of_itemset in counts.items()
    }


def is_confident(rule_count: int, antecedent_count: int, min_confidence: float) -> bool:
    """Compare with the decimal number as written: 0.3 is 3/10, not the float nearest to it."""
    return Fraction(rule_count, antecedent_count) >= Fraction(str(min_confidence))


def subsets(antecedent: Antecedent, superset_filter: str) -> Iterator[Antecedent]:
    """Yield the proper subsets that can block an antecedent."""
    sizes = {
        "none": range(0),
        "immediate": range(len(antecedent) - 1, len(antecedent)),
        "all": range(len(antecedent)),
    }[superset_filter]
    for size in sizes:
        if size >= 0:
            yield from map(frozenset, combinations(sorted(antecedent), size))


def drop_supersets(
    found: Mapping[Antecedent, Found], superset_filter: str, empty: Found | None = None
) -> set[Antecedent]:
    """Return the antecedents that a subset blocks: same best answer, at least the same confidence.

    Subsets block whether they survive themselves or not. `empty` is the empty antecedent, if it is a rule.
    """
    blocking = dict(found) if empty is None else {**found, frozenset(): empty}
    return {
        antecedent
        for antecedent, rule in found.items()
        if any(
            subset in blocking
            and blocking[subset].answer == rule.answer
            and blocking[subset].confidence >= rule.confidence
            for subset in subsets(antecedent, superset_filter)
        )
    }


def rule_key(rule: Rule) -> tuple[Fraction, int, int, list[str], list[str], list[str], str]:
    """Return the sort key of the rule order."""
    return (
        -rule.confidence,
        -rule.antecedent_count,
        len(rule.antecedent),
        rule.words,
        rule.objects,
        rule.attributes,
        rule.answer,
    )


def build_rules(
    rows: Sequence[Row],
    *,
    min_count: int = 8,
    max_antecedent: int = 4,
    min_confidence: float = 0.3,
    superset_filter: str = "immediate",
    empty_rule: bool = False,
    weights: Sequence[int] | None = None,
) -> list[Rule]:
    """Return the surviving rules in rule order."""
    found = mine(rows, min_count, max_antecedent, weights)
    empty = count_itemsets(rows, 0, weights).get(frozenset()) if empty_rule else None
    for antecedent in drop_supersets(found, superset_filter, empty):
        del found[antecedent]
    if empty is not None:
        found[frozenset()] = empty
    rules = [
        Rule(antecedent, *rule)
        for antecedent, rule in found.items()
        if is_confident(rule.rule_count, rule.antecedent_count, min_confidence)
    ]
    return sorted(rules, key=rule_key)


def match(rules: Sequence[Rule], rows: Sequence[Row]) -> list[list[int]]:
    """Return, per row, the positions of the rules that fire on it, ascending."""
    return [[k for k, rule in enumerate(rules) if rule.antecedent <= row.items] for row in rows]


def right(rules: Sequence[Rule], fired: Iterable[int], accepted: Iterable[str]) -> list[int]:
    """Return those of the fired rules whose answer is accepted."""
    return [k for k in fired if rules[k].answer in set(accepted)]


def first(positions: Sequence[int]) -> int | None:
    """Return the best of some rules, given as ascending positions in rule order."""
    return positions[0] if positions else None


def subset_of(rules: Sequence[Rule], fired: Sequence[int], accepted: Iterable[str]) -> str:
    """Return the VQA-CE subset of one row, given the rules that fire on it and all annotators' answers."""
    if not fired:
        return "hard"
    return "easy" if right(rules, fired, accepted) else "counterexamples"


def split(rules: Sequence[Rule], rows: Sequence[Row], accepted: Sequence[Iterable[str]]) -> list[str]:
    """Return the VQA-CE subset of every row."""
    return [
        subset_of(rules, fired, answers) for fired, answers in zip(match(rules, rows), accepted, strict=True)
    ]


def classifier(rules: Sequence[Rule], training_rows: Sequence[Row]) -> list[int]:
    """Return the kept set: the best correct rule of each training row, as ascending positions."""
    kept = set()
    for row, fired in zip(training_rows, match(rules, training_rows), strict=True):
        correct = [k for k in fired if rules[k].answer == row.answer]
        kept.update(correct[:1])
    return sorted(kept)


def vote_best(
    rules: Sequence[Rule], kept: Iterable[int], items: frozenset[Item], fallback: str
) -> tuple[str, int | None]:
    """Return (answer, rule) of the best kept rule that fires; (fallback, None) if none does."""
    fired = [k for k in sorted(kept) if rules[k].antecedent <= items]
    return (rules[fired[0]].answer, fired[0]) if fired else (fallback, None)


def vote_weighted(
    rules: Sequence[Rule],
    kept: Iterable[int],
    items: frozenset[Item],
    fallback: str,
    answer_counts: Mapping[str, int],
) -> str:
    """Return the answer with the largest sum of confidences over the kept rules that fire.

    Sums are exact; ties go to the larger answer_count, then to the lexicographically smaller answer.
    """
    sums: defaultdict[str, Fraction] = defaultdict(Fraction)
    for k in kept:
        if rules[k].antecedent <= items:
            sums[rules[k].answer] += rules[k].confidence
    if not sums:
        return fallback
    return min(sums, key=lambda answer: (-sums[answer], -answer_counts[answer], answer))


def predict(rules: Sequence[Rule], training_rows: Sequence[Row], rows: Sequence[Row], vote: str) -> list[str]:
    """Return the rule classifier's answer to every row."""
    kept = classifier(rules, training_rows)
    answer_counts = count_answers(training_rows)
    fallback = most_common_answer(answer_counts)
    if vote == "best":
        return [vote_best(rules, kept, row.items, fallback)[0] for row in rows]
    return [vote_weighted(rules, kept, row.items, fallback, answer_counts) for row in rows]
