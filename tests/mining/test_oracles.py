"""Two programs of other people on the same rows: mlxtend (Python) and pyfim's arules (C)."""

import gzip
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference
from plain import encode_words, found_in
from reference import WORD, Antecedent, Found

from shortcut_miner.mining.miner import MiningConfig, mine_antecedents

Transactions = list[list[str]]


def skewed(rows: int, items: int, seed: int) -> tuple[Transactions, list[str]]:
    random = np.random.default_rng(seed)
    holds = random.random((rows, items)) < 0.8 / np.sqrt(np.arange(1, items + 1))
    transactions = [[f"w{k}" for k in np.flatnonzero(held)] for held in holds]
    answers = [f"answer: {number}" for number in (holds[:, :6].sum(axis=1) + random.integers(0, 2, rows)) % 5]
    return transactions, answers


def ours(transactions: Transactions, answers: list[str], min_count: int, max_antecedent: int) -> Any:
    encoded = encode_words(transactions, answers)
    mined = mine_antecedents(encoded, MiningConfig(min_count=min_count, max_antecedent=max_antecedent))
    return found_in(mined, encoded.vocabulary)


def best_answers(
    rules: list[tuple[Antecedent, str, int, int]], answers: list[str]
) -> dict[Antecedent, Found]:
    """Return the best rule of every antecedent from (antecedent, answer, antecedent_count, rule_count)."""
    by_antecedent: defaultdict[Antecedent, Counter[str]] = defaultdict(Counter)
    totals: dict[Antecedent, int] = {}
    for antecedent, answer, antecedent_count, rule_count in rules:
        by_antecedent[antecedent][answer] = rule_count
        totals[antecedent] = antecedent_count
    answer_counts = Counter(answers)
    return {
        antecedent: Found(
            answer := reference.best_answer(counts, answer_counts), totals[antecedent], counts[answer]
        )
        for antecedent, counts in by_antecedent.items()
    }


def arules(transactions: Transactions, answers: list[str], min_count: int, max_antecedent: int) -> Any:
    fim = pytest.importorskip("fim")
    rows = [(*items, answer) for items, answer in zip(transactions, answers, strict=True)]
    heads = {None: "a", **dict.fromkeys(answers, "c")}
    found = fim.arules(
        rows, supp=-min_count, conf=0, zmin=2, zmax=max_antecedent + 1, report="ab", mode="o", appear=heads
    )
    return best_answers(
        [(frozenset((WORD, name) for name in body), head, rows, right) for head, body, right, rows in found],
        answers,
    )


def mlxtend(transactions: Transactions, answers: list[str], min_count: int, max_antecedent: int) -> Any:
    pandas = pytest.importorskip("pandas")
    patterns = pytest.importorskip("mlxtend.frequent_patterns")
    columns = sorted({*answers}.union(*transactions))
    onehot = pandas.DataFrame(
        [
            [name == answer or name in items for name in columns]
            for items, answer in zip(map(set, transactions), answers, strict=True)
        ],
        columns=columns,
    )
    least = (min_count - 0.5) / len(answers)
    itemsets = patterns.fpgrowth(onehot, min_support=least, use_colnames=True, max_len=max_antecedent + 1)
    found = patterns.association_rules(itemsets, metric="support", min_threshold=0.0)
    classes = {*answers}
    return best_answers(
        [
            (
                frozenset((WORD, name) for name in antecedent),
                answer,
                round(antecedent_support * len(answers)),
                round(support * len(answers)),
            )
            for antecedent, consequent, antecedent_support, support in zip(
                found["antecedents"],
                found["consequents"],
                found["antecedent support"],
                found["support"],
                strict=True,
            )
            for answer in consequent
            if len(consequent) == 1 and answer in classes and not antecedent & classes
        ],
        answers,
    )


@pytest.mark.parametrize(("min_count", "max_antecedent"), [(3, 3), (8, 4), (12, 5)])
@pytest.mark.parametrize("oracle", [mlxtend, arules])
def test_same_rules_as(oracle: Any, min_count: int, max_antecedent: int) -> None:
    transactions, answers = skewed(rows=400, items=16, seed=min_count)
    expected = oracle(transactions, answers, min_count, max_antecedent)
    assert len(expected) > 100
    assert ours(transactions, answers, min_count, max_antecedent) == expected


def test_same_rules_as_arules_on_more_rows() -> None:
    transactions, answers = skewed(rows=20_000, items=60, seed=1)
    expected = arules(transactions, answers, 80, 4)
    assert len(expected) > 5_000
    assert ours(transactions, answers, 80, 4) == expected


@pytest.mark.real
def test_same_rules_as_arules_on_mushrooms(real_data: Path) -> None:
    lines = (real_data / "itemsets" / "mushroom.dat").read_text().splitlines()
    # Item 1 or 2 says whether the mushroom can be eaten; several items are in every row.
    rows = [line.split() for line in lines]
    transactions, answers = [row[1:] for row in rows], [f"answer: {row[0]}" for row in rows]
    expected = arules(transactions, answers, 1000, 4)
    assert len(expected) > 3_000
    assert ours(transactions, answers, 1000, 4) == expected


@pytest.mark.real
def test_same_rules_as_arules_on_retail_baskets(real_data: Path) -> None:
    with gzip.open(real_data / "itemsets" / "retail.dat.gz", "rt") as file:
        rows = [line.split() for line in file][:30_000]
    transactions = [row[1:] for row in rows]
    answers = [f"answer: {int(row[0]) % 7}" for row in rows]
    expected = arules(transactions, answers, 8, 4)
    assert len(expected) > 1_000
    assert ours(transactions, answers, 8, 4) == expected
