"""Rules as arrays, their order, and the Rules table.

A rule's number is its place in the rule order: confidence descending, antecedent_count descending, fewer
items first, then words, objects and answer ascending. Confidences compare as fractions.
"""

import dataclasses
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import polars as pl

from shortcut_miner.encoding import Vocabulary, numbers_of, string_lists
from shortcut_miner.mining.evidence.measures import with_measures

Indices = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True, slots=True)
class RuleArrays:
    """Rules in the numbers of a vocabulary.

    Attributes
    ----------
    items : int32[rules, longest antecedent]
        Item numbers, ascending (so words before objects), filled up with -1.
    answers : int32[rules]
        Class number.
    antecedent_count, rule_count : int64[rules]
        Training rows with the antecedent, and with antecedent and answer.
    """

    items: npt.NDArray[np.int32]
    answers: npt.NDArray[np.int32]
    antecedent_count: npt.NDArray[np.int64]
    rule_count: npt.NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of rules."""
        return len(self.answers)

    def take(self, which: Indices | npt.NDArray[np.bool_]) -> "RuleArrays":
        """Return the rules at these positions (or where a mask is true)."""
        return RuleArrays(
            self.items[which], self.answers[which], self.antecedent_count[which], self.rule_count[which]
        )


def rule_order(rules: RuleArrays, vocabulary: Vocabulary) -> Indices:
    """Return int64[rules]: positions that put the rules in rule order."""
    width = rules.items.shape[1]
    lengths = (rules.items >= 0).sum(axis=1)
    # Within equal lengths an antecedent whose word list ends earlier comes first: objects sort below words.
    words, objects = len(vocabulary.words), len(vocabulary.objects)
    code = np.where(rules.items >= words, rules.items - words, rules.items + objects)
    code[rules.items < 0] = -1
    keys: list[npt.NDArray[np.generic]] = [rules.answers]
    keys += [code[:, k] for k in range(width - 1, -1, -1)]
    keys += [lengths, -rules.antecedent_count, -(rules.rule_count / np.maximum(rules.antecedent_count, 1))]
    return _repair_close_confidences(rules, np.lexsort(keys))


def _repair_close_confidences(rules: RuleArrays, order: Indices) -> Indices:
    """Return `order` with runs of equal float confidence but different fractions put right.

    Division rounds monotonically, so floats can only merge neighbours, and below 2^26 not even that.
    """
    if not len(order) or rules.antecedent_count.max() < 1 << 26:
        return order
    top, bottom = rules.rule_count[order], rules.antecedent_count[order]
    confidence = top / bottom
    starts = np.flatnonzero(np.concatenate(([True], confidence[1:] != confidence[:-1])))
    for first, stop in zip(starts, [*starts[1:], len(order)], strict=True):
        divisor = np.gcd(top[first:stop], bottom[first:stop])
        if (
            stop - first > 1
            and len({*zip(top[first:stop] // divisor, bottom[first:stop] // divisor, strict=True)}) > 1
        ):
            run = sorted(range(first, stop), key=lambda k: -Fraction(int(top[k]), int(bottom[k])))
            order[first:stop] = order[run]
    return order


def rules_table(rules: RuleArrays, vocabulary: Vocabulary, transaction_count: int) -> pl.DataFrame:
    """Return the schemas.Rules table of rules that are in rule order already."""
    words = len(vocabulary.words)
    is_word = (rules.items >= 0) & (rules.items < words)
    is_object = rules.items >= words
    table = pl.DataFrame(
        {
            "rule_id": np.arange(len(rules), dtype=np.uint32),
            "antecedent_words": _names(rules.items, is_word, 0, vocabulary.words),
            "antecedent_objects": _names(rules.items, is_object, words, vocabulary.objects),
            "answer": vocabulary.answers.gather(pl.Series(rules.answers.astype(np.uint32))),
            "transaction_count": np.full(len(rules), transaction_count, np.uint64),
            "antecedent_count": rules.antecedent_count.astype(np.uint64),
            "answer_count": vocabulary.answer_counts[rules.answers].astype(np.uint64),
            "rule_count": rules.rule_count.astype(np.uint64),
        }
    )
    has_words = pl.col("antecedent_words").list.len() > 0
    has_objects = pl.col("antecedent_objects").list.len() > 0
    modality = (
        pl.when(has_words & has_objects).then(pl.lit("multimodal"))
        .when(has_objects).then(pl.lit("objects"))
        .otherwise(pl.lit("words"))
    )  # fmt: skip
    return table.insert_column(4, table.select(modality=modality).to_series()).pipe(with_measures)


def _names(
    items: npt.NDArray[np.int32], chosen: npt.NDArray[np.bool_], first: int, names: pl.Series
) -> pl.Series:
    """Return List[String]: per rule the names of its chosen items, ascending."""
    offsets = np.zeros(len(items) + 1, np.int64)
    np.cumsum(chosen.sum(axis=1), out=offsets[1:])
    return string_lists(offsets, items[chosen] - first, names)


def encode_rules(table: pl.DataFrame, vocabulary: Vocabulary) -> RuleArrays:
    """Return a Rules table in a vocabulary's numbers, in the table's own order.

    A rule with an item that the vocabulary lacks can't fire: its antecedent becomes the one item number
    that no row holds. An answer that the vocabulary lacks becomes -1.
    """
    words = _item_numbers(table["antecedent_words"], vocabulary.words, 0)
    objects = _item_numbers(table["antecedent_objects"], vocabulary.objects, len(vocabulary.words))
    items = np.concatenate((words, objects), axis=1)
    unknown = (items == _UNKNOWN).any(axis=1)
    items[unknown] = _NO_ITEM
    items[unknown, :1] = vocabulary.item_count
    items.sort(axis=1)
    items[items == _NO_ITEM] = -1
    longest = int((items >= 0).sum(axis=1).max(initial=0))
    return RuleArrays(
        items=np.ascontiguousarray(items[:, :longest]),
        answers=numbers_of(table["answer"], vocabulary.answers),
        antecedent_count=table["antecedent_count"].cast(pl.Int64).to_numpy(),
        rule_count=table["rule_count"].cast(pl.Int64).to_numpy(),
    )


_NO_ITEM = np.iinfo(np.int32).max
_UNKNOWN = -2


def _item_numbers(lists: pl.Series, names: pl.Series, first: int) -> npt.NDArray[np.int32]:
    """Return int32[rules, longest list]: item numbers, filled up with the largest int32."""
    lengths = lists.list.len().to_numpy()
    flat = numbers_of(lists.filter(lists.list.len() > 0).explode(), names)
    numbers = np.full((len(lists), int(lengths.max(initial=0))), _NO_ITEM, np.int32)
    numbers[np.arange(numbers.shape[1]) < lengths[:, None]] = np.where(flat >= 0, flat + first, _UNKNOWN)
    return numbers
