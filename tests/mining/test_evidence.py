"""The measures of rules put together, the verdicts' order, and the halves of a holdout."""

import dataclasses
import math

import numpy as np
import polars as pl
import pytest
from plain import encode_words

from shortcut_miner.encoding import encode_lists
from shortcut_miner.mining.evidence.verdicts import Counts, VerdictConfig, is_held_out, rule_evidence, verdict
from shortcut_miner.mining.filters import dropped_by_subset, select_rules
from shortcut_miner.mining.matcher import index_for, rule_totals
from shortcut_miner.mining.miner import Antecedents, MiningConfig, mine_antecedents
from shortcut_miner.mining.rules import RuleArrays
from shortcut_miner.schemas import VERDICTS
from shortcut_miner.transactions import GroupedRows, Transactions

REAL = {
    "confidence_low": 0.4,
    "confidence_high": 0.6,
    "q_value_by": 0.01,
    "val_antecedent_count": 10,
    "val_confidence": 0.5,
    "prior": 0.2,
    "improvement": 0.1,
    "improvement_log10_p": -3.0,
}


def verdict_of(thresholds: VerdictConfig | None = None, **changes: float | None) -> str | None:
    columns = REAL | changes
    table = pl.DataFrame(
        {name: [value] for name, value in columns.items()},
        schema_overrides={
            "prior": pl.Float64,
            "improvement": pl.Float64,
            "improvement_log10_p": pl.Float64,
            "val_confidence": pl.Float64,
        },
    )
    return table.select(verdict(thresholds or VerdictConfig(), table.columns)).item()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "real"),
        ({"q_value_by": 0.05}, "chance"),
        ({"val_confidence": 0.39}, "unstable"),
        ({"val_confidence": 0.61}, "unstable"),
        ({"val_confidence": 0.39, "val_antecedent_count": 9}, "real"),
        ({"val_confidence": None, "val_antecedent_count": 0}, "real"),
        ({"prior": 0.4}, "prior"),
        ({"prior": None}, "real"),
        ({"improvement": 0.0}, "redundant"),
        ({"improvement": -0.1}, "redundant"),
        ({"improvement_log10_p": math.log10(0.05)}, "redundant"),
        ({"improvement": None, "improvement_log10_p": None}, None),
        # The first that applies wins.
        ({"q_value_by": 1.0, "val_confidence": 0.0, "prior": 1.0, "improvement": 0.0}, "chance"),
        ({"val_confidence": 0.0, "prior": 1.0, "improvement": 0.0}, "unstable"),
        ({"prior": 1.0, "improvement": 0.0}, "prior"),
        ({"q_value_by": 1.0, "improvement": None}, "chance"),
        # A holdout's own test takes the q value's place.
        ({"q_value_by": 1.0, "holdout_p_holm": 0.01}, "real"),
        ({"q_value_by": 0.0, "holdout_p_holm": 0.05}, "chance"),
    ],
    ids=str,
)
def test_verdicts(changes: dict[str, float | None], expected: str | None) -> None:
    assert verdict_of(**changes) == expected


def test_thresholds_decide() -> None:
    strict = VerdictConfig(max_q=0.001, max_improvement_p=0.0001, min_val_count=100)
    assert verdict_of(strict) == "chance"
    assert verdict_of(strict, q_value_by=0.0) == "redundant"
    assert verdict_of(strict, q_value_by=0.0, val_confidence=0.0, improvement_log10_p=-5.0) == "real"
    nothing_is_proof = VerdictConfig(max_improvement_p=0.0)
    assert verdict_of(nothing_is_proof, improvement_log10_p=-1e6) == "redundant"


def test_without_validation_rows_no_rule_is_unstable() -> None:
    columns = {name: value for name, value in REAL.items() if not name.startswith("val_")}
    table = pl.DataFrame({name: [value] for name, value in columns.items()})
    assert table.select(verdict(VerdictConfig(), table.columns)).item() == "real"


def mined(rows: Transactions, config: MiningConfig) -> tuple[Antecedents, RuleArrays]:
    antecedents = mine_antecedents(rows, config)
    masks = dropped_by_subset(antecedents, "immediate", False)
    rules, is_dropped = select_rules(antecedents, masks, 0.3, False)
    return antecedents, rules.take(~is_dropped)


def sport_rows(count: int, seed: int) -> tuple[list[list[str]], list[str], np.ndarray]:
    """Return rows where "what sport" means tennis if there is a racket, and two types of questions."""
    drawn = np.random.default_rng(seed)
    items, answers, types = [], [], []
    for _ in range(count):
        kind = int(drawn.integers(0, 2))
        row = [["what", "sport"], ["is", "it"]][kind]
        row = row + [f"thing {k}" for k in range(6) if drawn.random() < 0.3]
        has_racket = drawn.random() < 0.3
        items.append(row + ["racket"] * has_racket)
        usual = ("tennis" if has_racket else "golf") if kind == 0 else "yes"
        answers.append(usual if drawn.random() < 0.8 else ["golf", "yes", "no"][drawn.integers(0, 3)])
        types.append(kind)
    return items, answers, np.array(types, np.int32)


def measured(threads: int | None = None) -> pl.DataFrame:
    items, answers, types = sport_rows(800, 0)
    training = encode_lists(items, answers)
    others, other_answers, _ = sport_rows(400, 3)
    like = encode_words(others, other_answers)
    number = {word: k for k, word in enumerate(training.vocabulary.words)}
    validation = dataclasses.replace(
        like,
        items=np.concatenate([sorted(number[word] for word in row) for row in others]).astype(np.int32),
        classes=np.array(
            [training.vocabulary.answers.to_list().index(answer) for answer in other_answers], np.int32
        ),
        vocabulary=training.vocabulary,
    )
    config = MiningConfig(min_count=8, max_antecedent=3)
    antecedents, rules = mined(training, config)
    held_out = Counts.matched(
        rule_totals(index_for(rules, validation), [validation], validation.vocabulary.class_count)
    )
    evidence = rule_evidence(
        rules, antecedents, GroupedRows(training, types), config,
        validation=held_out, holdout=held_out, threads=threads,
    )  # fmt: skip
    assert evidence.family.is_exact
    table = evidence.table()
    names = pl.Series([sorted(training.vocabulary.words.gather(row[row >= 0])) for row in rules.items])
    return table.with_columns(
        words=names, answer=training.vocabulary.answers.gather(pl.Series(rules.answers.astype(np.uint32)))
    )


def test_a_shortcut_is_told_from_what_comes_with_it() -> None:
    table = measured()

    def of(*words: str) -> dict[str, object]:
        return table.filter(pl.col("words") == pl.lit(sorted(words), pl.List(pl.String))).row(0, named=True)

    assert (of("sport", "racket")["answer"], of("sport", "racket")["verdict"]) == ("tennis", "real")
    # What everybody says to such questions is no gain over the type.
    assert (of("is")["answer"], of("is")["verdict"]) == ("yes", "prior")
    assert set(table["verdict"].unique()) <= set(VERDICTS)
    assert (table["verdict"] == "redundant").any() and (table["verdict"] == "chance").any()


def test_columns_follow_from_each_other() -> None:
    table = measured()
    checks = table.select(
        shrinkage=pl.col("shrinkage") == pl.col("confidence") - pl.col("val_confidence"),
        holdout=pl.col("holdout_log10_p_value").eq_missing(pl.col("val_log10_p_value")),
        low=pl.col("confidence_low") < pl.col("confidence"),
        q=pl.col("q_value_bh") <= pl.col("q_value_by"),
        p=10 ** pl.col("log10_p_value") <= pl.col("q_value_bh"),
        counts=pl.col("val_antecedent_count") <= pl.col("val_transaction_count"),
        one_modality=pl.col("modality_gain").is_null(),
    )
    for name, column in checks.to_dict(as_series=True).items():
        assert column.drop_nulls().all(), name


@pytest.mark.parametrize("threads", [2, 5])
def test_thread_count_does_not_matter(threads: int) -> None:
    assert measured(threads).equals(measured(1))


def test_a_rule_that_never_fires_elsewhere_has_no_measures_there() -> None:
    training = encode_words([["a"]] * 9 + [["b"]] * 9, ["yes"] * 9 + ["no"] * 9)
    config = MiningConfig(min_count=8, max_antecedent=2)
    antecedents, rules = mined(training, config)
    none = np.zeros(len(rules), np.int64)
    never = Counts(7, np.zeros(2, np.int64), none, none)
    types = np.full(len(training), -1, np.int32)
    rows = GroupedRows(training, types)
    table = rule_evidence(rules, antecedents, rows, config, validation=never).table()
    for name in ("confidence", "confidence_low", "confidence_high", "lift", "certainty", "log10_p_value"):
        assert table[f"val_{name}"].null_count() == len(rules) == 2
    assert table["prior"].null_count() == table["shrinkage"].null_count() == len(rules)
    assert table["val_antecedent_count"].dtype == pl.UInt64


def test_a_cut_search_gives_no_verdict_but_chance() -> None:
    items, answers, types = sport_rows(800, 0)
    training = encode_lists(items, answers)
    config = MiningConfig(min_count=8, max_antecedent=3)
    antecedents, rules = mined(training, config)
    cut = dataclasses.replace(antecedents, is_complete=False)
    table = rule_evidence(rules, cut, GroupedRows(training, types), config).table()
    assert table["improvement"].null_count() == len(rules)
    assert set(table["verdict"].unique()) == {None, "chance", "prior"}


IDS = pl.Series([str(k) for k in range(4_000)])


def test_halves_depend_on_the_image_and_the_seed_only() -> None:
    halves = is_held_out(IDS, 0)
    assert halves.dtype == pl.Boolean
    assert 0.45 < halves.mean() < 0.55
    order = np.random.default_rng(0).permutation(len(IDS))
    assert is_held_out(IDS.gather(order), 0).equals(halves.gather(order))
    assert is_held_out(IDS.head(10), 0).equals(halves.head(10))
    assert is_held_out(pl.concat([IDS, IDS]), 0).equals(pl.concat([halves, halves]))
    assert 0.45 < (is_held_out(IDS, 1) == halves).mean() < 0.55
