"""Small questions and rules for the tests of pairs, and plain-Python twins of what the room does."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import polars as pl

from shortcut_miner.diagnostics.pairs.pairing import REASONS
from shortcut_miner.schemas import KeptRules, SplitQuestions

WORDS = ("is", "red", "cat", "dog")
OBJECTS = ("cat", "dog", "car")
ANSWERS = ("yes", "no", "2")


@dataclass(frozen=True)
class Row:
    """A question: id, image, words of its text, type, annotators' answers (the first is the majority's)."""

    question_id: str
    image_id: str
    words: tuple[str, ...]
    kind: str | None
    answers: tuple[str, ...]
    objects: tuple[str, ...] | None

    @property
    def answer(self) -> str:
        return self.answers[0]


@dataclass(frozen=True)
class Rule:
    words: tuple[str, ...]
    objects: tuple[str, ...]
    answer: str

    def fires(self, row: Row) -> bool:
        return {*self.words} <= {*row.words} and {*self.objects} <= {*(row.objects or ())}


def questions_of(rows: Sequence[Row]) -> pl.DataFrame:
    schema = SplitQuestions.create_empty().schema
    records: list[dict[str, Any]] = [
        {
            "question_id": row.question_id,
            "image_id": row.image_id,
            "question": " ".join(row.words),
            "question_type": row.kind,
            "answer": row.answer,
            "answers": list(row.answers),
            "words": sorted({*row.words}),
            "objects": None if row.objects is None else sorted({*row.objects}),
        }
        for row in rows
    ]
    return pl.DataFrame(records, schema=dict(schema))


def rules_of(rules: Sequence[Rule]) -> pl.DataFrame:
    records = [
        {
            "rule_id": 3 * at,
            "antecedent_words": sorted({*rule.words}),
            "antecedent_objects": sorted({*rule.objects}),
            "answer": rule.answer,
            "modality": "multimodal" if rule.words and rule.objects else "words" if rule.words else "objects",
            **dict.fromkeys(("transaction_count", "antecedent_count", "answer_count", "rule_count"), 9),
            **dict.fromkeys(("antecedent_support", "support", "confidence", "lift"), 1.0),
            "in_classifier": True,
        }
        for at, rule in enumerate(rules)
    ]
    return pl.DataFrame(records, schema=dict(KeptRules.create_empty().schema))


# ---- twins ----


def by_id(rows: Sequence[Row]) -> list[Row]:
    are_numbers = all(row.question_id.isdigit() for row in rows)
    return sorted(rows, key=lambda row: (int(row.question_id) if are_numbers else 0, row.question_id))


def exclude(one: Row, other: Row) -> bool:
    return (
        one.image_id != other.image_id and one.answer not in other.answers and other.answer not in one.answers
    )


def likeness(one: Collection[str] | None, other: Collection[str] | None) -> Fraction:
    if one is None or other is None or not {*one} | {*other}:
        return Fraction(0)
    return Fraction(len({*one} & {*other}), len({*one} | {*other}))


def same(match: str, one: Row, other: Row) -> bool:
    if match == "antecedent":
        return True
    if match == "question":
        return one.words == other.words
    return one.kind is not None and one.kind == other.kind


def rule_pairs(
    rows: Sequence[Row], rules: Sequence[Rule], match: str, per_rule: int, *, reuse: bool
) -> tuple[list[tuple[int, str, str]], dict[str, int]]:
    """Return (rule, agree, counter), and why other rows are in no pair, by the words of the card."""
    ordered, used, pairs = by_id(rows), set[str](), list[tuple[int, str, str]]()
    nearest: dict[str, int] = {}
    for at, rule in enumerate(rules):
        agree = [row for row in ordered if rule.fires(row) and row.answer == rule.answer]
        counter = [row for row in ordered if rule.fires(row) and rule.answer not in row.answers]
        if not (agree and counter):
            continue
        for p in agree:
            reason = _reason(p, counter, match)
            if p.question_id in used and not reuse:
                continue
            if sum(one == at for one, *_ in pairs) == per_rule:
                nearest[p.question_id] = REASONS.index("cap")
                continue
            fitting = [n for n in counter if same(match, p, n) and exclude(p, n)]
            fitting = [n for n in fitting if reuse or n.question_id not in used]
            if not fitting:
                nearest[p.question_id] = max(nearest.get(p.question_id, 0), reason)
                continue
            best = min(
                fitting,
                key=lambda n: (
                    -likeness(p.words, n.words), -likeness(p.objects, n.objects), ordered.index(n),
                ),
            )  # fmt: skip
            pairs.append((at, p.question_id, best.question_id))
            used |= {p.question_id, best.question_id}
    left = [reason for question_id, reason in nearest.items() if question_id not in used]
    return pairs, {name: left.count(at) for at, name in enumerate(REASONS) if at in left}


def _reason(p: Row, others: Sequence[Row], match: str) -> int:
    partners = [n for n in others if same(match, p, n)]
    elsewhere = [n for n in partners if n.image_id != p.image_id]
    if not elsewhere:
        return REASONS.index("same image" if partners else "no partner")
    return REASONS.index("used" if any(exclude(p, n) for n in elsewhere) else "answers overlap")


def text_pairs(rows: Sequence[Row], *, reuse: bool) -> tuple[list[tuple[str, str]], dict[str, int]]:
    """Return the pairs of one text, and why other rows are in none."""
    ordered, used, pairs = by_id(rows), set[str](), list[tuple[str, str]]()
    for at, i in enumerate(ordered):
        if i.question_id in used and not reuse:
            continue
        for j in ordered[at + 1 :]:
            if j.words == i.words and exclude(i, j) and (reuse or j.question_id not in used):
                pairs.append((i.question_id, j.question_id))
                used |= {i.question_id, j.question_id}
                break
    left = [
        _reason(row, [one for one in ordered if one != row], "question")
        for row in ordered
        if row.question_id not in used
    ]
    return pairs, {name: left.count(at) for at, name in enumerate(REASONS) if at in left}


def quadruples(
    rows: Sequence[Row], allowed: Collection[frozenset[str]] | None = None
) -> list[tuple[str, str, str, str]]:
    """Return groups as ids of (question 0, image 0), (0, 1), (1, 0), (1, 1), by trying all."""

    def is_pair(yes: Row, no: Row) -> bool:
        return (
            (yes.answer, no.answer) == ("yes", "no")
            and yes.words == no.words
            and exclude(yes, no)
            and (allowed is None or frozenset((yes.question_id, no.question_id)) in allowed)
        )

    ordered, used, groups = by_id(rows), set[str](), list[tuple[str, str, str, str]]()
    pairs = [(yes, no) for yes in ordered for no in ordered if is_pair(yes, no)]
    crossed = [
        (a, b, c, d)
        for a, b in pairs
        for c, d in pairs
        if a.words != c.words and a.image_id == d.image_id and b.image_id == c.image_id
    ]
    for a, b, c, d in crossed:
        ids = [one.question_id for one in (a, b, d, c)]
        if not used & {*ids}:
            groups.append((ids[0], ids[1], ids[2], ids[3]))
            used |= {*ids}
    return groups


def answers_of(rows: Sequence[Row], said: Mapping[str, str]) -> pl.DataFrame:
    return pl.DataFrame(
        [(row.question_id, said[row.question_id]) for row in rows],
        schema={"question_id": pl.String, "answer": pl.String},
        orient="row",
    )
