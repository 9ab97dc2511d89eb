"""Which two questions make a pair: one that a rule answers right, and one that it answers wrong.

Without rules any two questions of one text do whose answers exclude each other. Both ways are greedy: a
question takes the best partner that is left, in a fixed order; more pairs may be possible.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.datasets.rule_folders import firing_rules
from shortcut_miner.diagnostics.pairs.config import PairsConfig
from shortcut_miner.diagnostics.pairs.rows import Ints, Rows
from shortcut_miner.keyed_draws import id_keys

Flags = NDArray[np.bool_]

# Why a question is in no pair; of several the last one, which came nearest to a pair.
REASONS = ("no partner", "same image", "answers overlap", "used", "cap")
_NO_PARTNER, _SAME_IMAGE, _OVERLAP, _USED, _CAP = range(len(REASONS))


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """Pairs as positions in :class:`Rows`.

    Attributes
    ----------
    pairs : list of (int, int, int)
        Rule (its position, -1 without rules), the row that it answers right and the one that it answers
        wrong; in the order in which they were found.
    unpaired : mapping of str to int
        Rows that could have been the first of a pair and are in none, by reason.
    eligible : pl.DataFrame
        With rules: rule_at, agree_count, counter_count UInt32, of those that have rows on both sides.
    """

    pairs: list[tuple[int, int, int]]
    unpaired: Mapping[str, int]
    eligible: pl.DataFrame | None = None


def find_pairs(rows: Rows, rules: pl.DataFrame | None, config: PairsConfig) -> Found:
    """Return the pairs that the rules give, or without rules those of one text."""
    return _text_pairs(rows, config) if rules is None else _rule_pairs(rows, rules, config)


# ---- by rules ----


def eligible_rows(rows: Rows, rules: pl.DataFrame) -> pl.DataFrame:
    """Return rule_at, row Int64, is_agree: the rows of each rule that has some on both sides, in order.

    The rule fires on all of them. It agrees where the majority gave its answer; it is countered where no
    annotator did; other rows are not listed.
    """
    answers = rules.select("rule_id", rule_answer="answer", rule_at=pl.int_range(pl.len()))
    said = rows.questions.select("answer", row=pl.int_range(pl.len(), dtype=pl.UInt32))
    given = rows.questions.select("answers", row=pl.int_range(pl.len(), dtype=pl.UInt32)).explode("answers")
    fired = (
        firing_rules(rules, rows.questions)
        .join(answers, on="rule_id", how="inner", validate="m:1")
        .join(said, on="row", how="inner", validate="m:1")
        .with_columns(is_agree=pl.col("answer") == pl.col("rule_answer"))
    )
    agree = fired.filter("is_agree")
    counter = fired.filter(~pl.col("is_agree")).join(
        given, left_on=["row", "rule_answer"], right_on=["row", "answers"], how="anti"
    )
    listed = pl.concat([agree, counter]).select("rule_at", pl.col("row").cast(pl.Int64), "is_agree")
    has_both = pl.col("is_agree").any().over("rule_at") & ~pl.col("is_agree").all().over("rule_at")
    return listed.filter(has_both).sort("rule_at", "row")


def _rule_pairs(rows: Rows, rules: pl.DataFrame, config: PairsConfig) -> Found:
    eligible = eligible_rows(rows, rules)
    keys = {
        "question": rows.text,
        "question_type": rows.question_type,
        "antecedent": np.zeros_like(rows.text),
    }
    search = _Search(rows, keys[config.match], config)
    pairs: list[tuple[int, int, int]] = []
    for rule, agree, counter in _by_rule(eligible):
        pairs += [(rule, *pair) for pair in search.pairs_of_rule(search.in_order(agree), counter)]
    counts = eligible.group_by("rule_at", maintain_order=True).agg(
        agree_count=pl.col("is_agree").sum().cast(pl.UInt32),
        counter_count=(~pl.col("is_agree")).sum().cast(pl.UInt32),
    )
    could = np.zeros(len(rows), np.bool_)
    could[eligible.filter("is_agree")["row"].to_numpy()] = True
    return Found(pairs, search.unpaired(could), counts)


def _by_rule(eligible: pl.DataFrame) -> Iterator[tuple[int, Ints, Ints]]:
    """Give each rule's position, and its rows on both sides, ascending."""
    rule, row = eligible["rule_at"].to_numpy(), eligible["row"].to_numpy()
    is_agree = eligible["is_agree"].to_numpy()
    starts = np.flatnonzero(np.diff(rule, prepend=-1))
    for first, end in zip(starts.tolist(), [*starts[1:].tolist(), len(rule)], strict=False):
        of_rule, agrees = row[first:end], is_agree[first:end]
        yield int(rule[first]), of_rule[agrees], of_rule[~agrees]


class _Search:
    """The greedy search for partners, and what it has used so far."""

    def __init__(self, rows: Rows, key: Ints, config: PairsConfig) -> None:
        self._rows, self._key, self._config = rows, key, config
        self._is_used = np.zeros(len(rows), np.bool_)
        self._reason = np.full(len(rows), _NO_PARTNER, np.int8)
        seed = config.seed
        drawn = None if seed is None else id_keys(rows.questions["question_id"], seed, "pairs")
        self._rank = np.argsort(np.argsort(drawn, kind="stable")) if drawn is not None else None

    def in_order(self, agree: Ints) -> Ints:
        """Return rows in the order in which they look for a partner."""
        return agree if self._rank is None else agree[np.argsort(self._rank[agree])]

    def pairs_of_rule(self, agree: Ints, counter: Ints) -> list[tuple[int, int]]:
        """Return the pairs of one rule, given its rows on both sides."""
        pairs: list[tuple[int, int]] = []
        by_key = _grouped(self._key, counter)
        left = {key: some[~self._is_used[some]] for key, some in by_key.items()}
        for at, p in enumerate(agree.tolist()):
            if self._is_used[p] and not self._config.reuse:
                continue
            if len(pairs) == self._config.per_rule:
                rest = agree[at:]
                self._reason[rest] = _CAP
                break
            key = int(self._key[p])
            if key not in by_key:
                continue
            n = self._partner(p, by_key[key] if self._config.reuse else left[key])
            if n is None:
                self._say_why(p, by_key[key])
                continue
            pairs.append((p, n))
            self._is_used[[p, n]] = True
            left[key] = left[key][left[key] != n]
        return pairs

    def unpaired(self, could: Flags) -> dict[str, int]:
        """Return how many of the rows that could have been in a pair are in none, by reason."""
        counts = np.bincount(self._reason[could & ~self._is_used], minlength=len(REASONS)).tolist()
        return {reason: count for reason, count in zip(REASONS, counts, strict=True) if count}

    def _partner(self, p: int, counter: Ints) -> int | None:
        """Return the row most like `p`, by words, then by objects, then the first; None if none fits."""
        fitting = counter[self._is_elsewhere(p, counter) & self._is_excluded(p, counter)]
        if not len(fitting):
            return None
        for sets in (self._rows.words, self._rows.objects):
            likeness = sets.similarity(p, fitting)
            fitting = fitting[likeness == likeness.max()]
        return int(fitting[0])

    def _say_why(self, p: int, counter: Ints) -> None:
        if self._reason[p] >= _USED:
            return
        elsewhere = counter[self._is_elsewhere(p, counter)]
        if not len(elsewhere):
            reason = _SAME_IMAGE
        else:
            reason = _USED if self._is_excluded(p, elsewhere).any() else _OVERLAP
        self._reason[p] = max(self._reason[p], reason)

    def _is_elsewhere(self, p: int, others: Ints) -> Flags:
        is_other: Flags = self._rows.image[others] != self._rows.image[p]
        return is_other

    def _is_excluded(self, p: int, others: Ints) -> Flags:
        """Return whether the others' majority answers are in none of the row's; theirs exclude its own."""
        is_accepted: Flags = np.isin(self._rows.answer[others], list(self._rows.accepted[p]))
        return ~is_accepted


def _grouped(key: Ints, rows: Ints) -> dict[int, Ints]:
    """Return the rows of each key, ascending; a key that is not known (-1) has none."""
    keys = key[rows]
    order = np.argsort(keys, kind="stable")
    values, starts = np.unique(keys[order], return_index=True)
    parts = np.split(rows[order], starts)[1:]
    return {int(value): part for value, part in zip(values, parts, strict=True) if value >= 0}


# ---- by text ----


def _text_pairs(rows: Rows, config: PairsConfig) -> Found:
    """Return the pairs of one text: in the order of ids each row takes the first later one that fits."""
    pairs: list[tuple[int, int, int]] = []
    is_used = np.zeros(len(rows), np.bool_)
    texts = _grouped(rows.text, np.arange(len(rows)))
    for some in texts.values():
        of_text = some.tolist()
        for at, i in enumerate(of_text):
            if is_used[i] and not config.reuse:
                continue
            later = (j for j in of_text[at + 1 :] if config.reuse or not is_used[j])
            j = next((j for j in later if rows.exclude(i, j)), None)
            if j is not None:
                pairs.append((-1, i, j))
                is_used[[i, j]] = True
    counts = dict.fromkeys(REASONS, 0)
    for i in np.flatnonzero(~is_used).tolist():
        counts[REASONS[_why_alone(rows, i, texts[int(rows.text[i])].tolist())]] += 1
    unpaired = {reason: count for reason, count in counts.items() if count}
    return Found(sorted(pairs), unpaired)


def _why_alone(rows: Rows, i: int, of_text: Sequence[int]) -> int:
    others = [j for j in of_text if j != i]
    elsewhere = [j for j in others if rows.image[j] != rows.image[i]]
    if not elsewhere:
        return _SAME_IMAGE if others else _NO_PARTNER
    return _USED if any(rows.exclude(i, j) for j in elsewhere) else _OVERLAP
