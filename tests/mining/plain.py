"""What the miner's arrays say, in the reference's plain values."""

from collections.abc import Iterable

import numpy as np
import polars as pl
from reference import ATTRIBUTE, OBJECT, WORD, Antecedent, Found, Row, Rule
from strategies import Table, encode, item_of

from shortcut_miner.mining.miner import Antecedents
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.schemas import Rules
from shortcut_miner.transactions import Transactions, Vocabulary


def itemset(numbers: Iterable[int], vocabulary: Vocabulary) -> Antecedent:
    return frozenset(item_of(int(number), vocabulary) for number in numbers if number >= 0)


def antecedents_of_size(antecedents: Antecedents, size: int) -> np.ndarray:
    """Return int32[antecedents, size]: vocabulary items of all antecedents of one length."""
    which = np.arange(len(antecedents.levels[size].items), dtype=np.int64)
    return antecedents.item_names[antecedents.paths(size, which)]


def found_in(antecedents: Antecedents, vocabulary: Vocabulary) -> dict[Antecedent, Found]:
    """Return what was mined, without the empty antecedent; an antecedent found twice is an error."""
    found: dict[Antecedent, Found] = {}
    for size, level in enumerate(antecedents.levels[1:], 1):
        for k, items in enumerate(antecedents_of_size(antecedents, size)):
            antecedent = itemset(items, vocabulary)
            assert antecedent not in found
            found[antecedent] = Found(
                vocabulary.answers[int(level.best_class[k])],
                int(level.antecedent_count[k]),
                int(level.rule_count[k]),
            )
    return found


def plain_rules(rules: RuleArrays, vocabulary: Vocabulary) -> list[Rule]:
    """Return rules in the order given."""
    return [
        Rule(itemset(items, vocabulary), vocabulary.answers[int(answer)], int(rows), int(right))
        for items, answer, rows, right in zip(
            rules.items, rules.answers, rules.antecedent_count, rules.rule_count, strict=True
        )
    ]


def table_rules(table: pl.DataFrame) -> list[Rule]:
    """Return the rules of a Rules table in the order given."""
    return [
        Rule(
            frozenset(
                {(WORD, word) for word in row["antecedent_words"]}
                | {(OBJECT, label) for label in row["antecedent_objects"]}
                | {(ATTRIBUTE, name) for name in row.get("antecedent_attributes", ())}
            ),
            row["answer"],
            row["antecedent_count"],
            row["rule_count"],
        )
        for row in table.iter_rows(named=True)
    ]


def rules_schema(*, attributes: bool) -> dict[str, pl.DataType]:
    """Return the columns of schemas.Rules, with antecedent_attributes beside the objects if asked for."""
    columns = [*Rules.create_empty().schema.items()]
    place = [name for name, _ in columns].index("antecedent_objects") + 1
    further = [("antecedent_attributes", pl.List(pl.String))] if attributes else []
    return dict([*columns[:place], *further, *columns[place:]])


def rules_frame(
    rules: list[Rule],
    answer_counts: dict[str, int],
    transaction_count: int,
    *,
    attributes: bool | None = None,
) -> pl.DataFrame:
    """Return a schemas.Rules table of rules, without help from the package.

    It has antecedent_attributes as `attributes` says, by default if some rule has one.
    """
    rows = [
        {
            "rule_id": number,
            "antecedent_words": rule.words,
            "antecedent_objects": rule.objects,
            "antecedent_attributes": rule.attributes,
            "answer": rule.answer,
            "modality": modality(rule),
            "transaction_count": transaction_count,
            "antecedent_count": rule.antecedent_count,
            "answer_count": answer_counts.get(rule.answer, 0),
            "rule_count": rule.rule_count,
            "antecedent_support": rule.antecedent_count / transaction_count,
            "support": rule.rule_count / transaction_count,
            "confidence": rule.rule_count / rule.antecedent_count,
            "lift": 0.0,
        }
        for number, rule in enumerate(rules)
    ]
    attributes = any(rule.attributes for rule in rules) if attributes is None else attributes
    schema = rules_schema(attributes=attributes)
    return pl.DataFrame([{name: row[name] for name in schema} for row in rows], schema=schema)


def modality(rule: Rule) -> str:
    found = [kind for kind in ("words", "objects", "attributes") if getattr(rule, kind)]
    return "multimodal" if len(found) > 1 else (found or ["words"])[0]


def encode_words(transactions: Iterable[Iterable[str]], answers: Iterable[str | None]) -> Transactions:
    """Return transactions whose items are all words."""
    rows = [
        Row(frozenset((WORD, name) for name in items), answer)
        for items, answer in zip(transactions, answers, strict=True)
    ]
    return encode(Table(rows, [1] * len(rows)))


def same_levels(left: Antecedents, right: Antecedents) -> bool:
    """Say whether two results are equal, array by array and type by type."""
    return len(left.levels) == len(right.levels) and all(
        a.dtype == b.dtype and np.array_equal(a, b)
        for one, other in zip(left.levels, right.levels, strict=True)
        for a, b in zip(one, other, strict=True)
    )


def skewed_rows(rows: int, items: int, seed: int, answers: int = 4) -> Table:
    """Return rows of which item k is in about 1 / (k + 1)**0.5 of all; answers depend on the items."""
    random = np.random.default_rng(seed)
    holds = random.random((rows, items)) < 0.9 / np.sqrt(np.arange(1, items + 1))
    answer = (holds[:, :5].sum(axis=1) + random.integers(0, 2, rows)) % answers
    return Table(
        [
            Row(frozenset((WORD, f"w{k}") for k in np.flatnonzero(held)), f"a{number}")
            for held, number in zip(holds, answer, strict=True)
        ],
        [1] * rows,
    )
