"""Rules as the Rules table, and back."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from shortcut_miner.encoding import string_lists
from shortcut_miner.item_lists import numbers_of
from shortcut_miner.mining.evidence.measures import with_measures
from shortcut_miner.mining.rules import RuleArrays, modalities
from shortcut_miner.mining.threads import blocks
from shortcut_miner.schemas import ANTECEDENT, MODALITIES
from shortcut_miner.transactions import KINDS, Vocabulary

_NO_NAMES = pl.Series([], dtype=pl.String)
_NO_ITEM = np.iinfo(np.int32).max
_UNKNOWN = -2


_ROWS_A_BLOCK = 1 << 17


def rules_table(
    rules: RuleArrays, vocabulary: Vocabulary, transaction_count: int, *, first: int = 0
) -> pl.DataFrame:
    """Return the schemas.Rules table of rules that are in rule order already, numbered from `first` on.

    It has antecedent_attributes where the vocabulary has attributes.
    """
    modality = pl.Series(MODALITIES).gather(pl.Series(modalities(rules, vocabulary).astype(np.uint32)))
    table = pl.DataFrame(
        {
            "rule_id": np.arange(first, first + len(rules), dtype=np.uint32),
            **_antecedents(rules.items, vocabulary),
            "answer": vocabulary.answers.gather(pl.Series(rules.answers.astype(np.uint32))),
            "modality": modality,
            "transaction_count": np.full(len(rules), transaction_count, np.uint64),
            "antecedent_count": rules.antecedent_count.astype(np.uint64),
            "answer_count": vocabulary.answer_counts[rules.answers].astype(np.uint64),
            "rule_count": rules.rule_count.astype(np.uint64),
        }
    )
    return table.pipe(with_measures)


def rule_blocks(rules: RuleArrays, vocabulary: Vocabulary, transaction_count: int) -> Iterator[pl.DataFrame]:
    """Give :func:`rules_table` block by block, one block at least; as arrays, rules take far less memory."""
    for first, stop in blocks(max(len(rules), 1), _ROWS_A_BLOCK):
        yield rules_table(rules.take(np.s_[first:stop]), vocabulary, transaction_count, first=first)


def _antecedents(items: npt.NDArray[np.int32], vocabulary: Vocabulary) -> dict[str, pl.Series]:
    """Return a List[String] for each kind of items there is: per rule the names of its items, ascending."""
    kinds = vocabulary.kinds_of(items)
    found, first = {}, 0
    for number, names in enumerate(vocabulary.names.values()):
        chosen = kinds == number
        offsets = np.zeros(len(items) + 1, np.int64)
        np.cumsum(chosen.sum(axis=1), out=offsets[1:])
        found[ANTECEDENT[number]] = string_lists(offsets, items[chosen] - first, names)
        first += len(names)
    return found


def encode_rules(table: pl.DataFrame, vocabulary: Vocabulary) -> RuleArrays:
    """Return a Rules table in a vocabulary's numbers, in the table's own order.

    A rule with an item that the vocabulary lacks can't fire: its antecedent becomes the one item number
    that no row holds. An answer that the vocabulary lacks becomes -1.
    """
    numbers, first = [], 0
    for kind, column in zip(KINDS, ANTECEDENT, strict=True):
        names = vocabulary.names.get(kind, _NO_NAMES)
        if column in table.columns:
            numbers.append(_item_numbers(table[column], names, first))
        first += len(names)
    items = np.concatenate(numbers, axis=1)
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


def _item_numbers(lists: pl.Series, names: pl.Series, first: int) -> npt.NDArray[np.int32]:
    """Return int32[rules, longest list]: item numbers, filled up with the largest int32."""
    lengths = lists.list.len().to_numpy()
    flat = numbers_of(lists.filter(lists.list.len() > 0).explode(), names)
    numbers = np.full((len(lists), int(lengths.max(initial=0))), _NO_ITEM, np.int32)
    numbers[np.arange(numbers.shape[1]) < lengths[:, None]] = np.where(flat >= 0, flat + first, _UNKNOWN)
    return numbers
