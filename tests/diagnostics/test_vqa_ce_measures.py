"""Measures and verdicts of whole builds: shuffled answers, holdout, and what the folder says about them."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shortcut_miner.diagnostics.vqa_ce.build import build
from shortcut_miner.diagnostics.vqa_ce.config import VqaCeConfig, VqaCeFiles
from shortcut_miner.diagnostics.vqa_ce.inputs import VqaCeInputs, read_inputs
from shortcut_miner.diagnostics.vqa_ce.shortcuts import Shortcuts, find_shortcuts
from shortcut_miner.errors import ConfigError
from shortcut_miner.schemas import VERDICTS, MeasuredRules

CONFIG = VqaCeConfig(items="both", answer_ties="lexicographic")


@pytest.fixture(scope="module")
def inputs(world_files: VqaCeFiles) -> VqaCeInputs:
    return read_inputs(world_files, CONFIG)


def found_in(inputs: VqaCeInputs, config: VqaCeConfig = CONFIG, threads: int | None = None) -> Shortcuts:
    return find_shortcuts(inputs.train, inputs.val, inputs.labels, config, threads=threads)


def measures_of(found: Shortcuts) -> pl.DataFrame:
    assert found.evidence is not None
    return found.evidence.table()


def shuffled(inputs: VqaCeInputs, seed: int) -> VqaCeInputs:
    """Return the inputs with the answers of the training rows shuffled over all of them."""
    order = np.random.default_rng(seed).permutation(len(inputs.train))
    answers = inputs.train.select("answer", "answers")[order]
    return dataclasses.replace(inputs, train=inputs.train.with_columns(answers.get_columns()))


def shares_under_shuffling(inputs: VqaCeInputs, config: VqaCeConfig, seeds: range) -> pl.DataFrame:
    """Return, per shuffle, the shares of rules with a small p, and with a verdict other than chance."""
    parts = []
    for seed in seeds:
        measures = measures_of(found_in(shuffled(inputs, seed), config))
        parts.append(
            measures.select(
                small_p=(10 ** pl.col("log10_p_value") < 0.05).mean(),
                believed=(pl.col("verdict") != "chance").mean(),
                rules=pl.len(),
            )
        )
    return pl.concat(parts)


@pytest.mark.parametrize("holdout", [False, True])
def test_shuffled_answers_are_chance(inputs: VqaCeInputs, holdout: bool) -> None:
    config = dataclasses.replace(CONFIG, holdout=holdout)
    shares = shares_under_shuffling(inputs, config, range(20))
    assert shares["rules"].min() > 50
    # Without a correction a third of what the search picks would be believed.
    assert shares["small_p"].mean() > 0.2
    assert shares["believed"].mean() <= config.max_q
    # Nothing true can be found, so believing anything is an error: it may happen in 5% of the shuffles.
    assert (shares["believed"] > 0).sum() <= 3
    assert (measures_of(found_in(inputs, config))["verdict"] != "chance").mean() > 0.5


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("holdout", [False, True])
def test_shuffled_answers_are_chance_at_real_size(real_files: VqaCeFiles, holdout: bool) -> None:
    config = VqaCeConfig(items="both", holdout=holdout)
    shares = shares_under_shuffling(read_inputs(real_files, config), config, range(6))
    assert shares["small_p"].mean() > 0.5
    assert shares["believed"].mean() <= config.max_q
    assert (shares["believed"] > 0).sum() <= 1


@pytest.mark.real
def test_the_real_subsets_family_and_verdicts(real_files: VqaCeFiles) -> None:
    config = VqaCeConfig(items="both")
    found = found_in(read_inputs(real_files, config), config)
    assert found.evidence is not None
    # A search for itemsets with all rows in one class finds as many.
    assert (found.evidence.family.antecedent_count, found.evidence.family.answer_count) == (384_918, 397)
    assert found.evidence.family.is_exact
    verdicts = dict(measures_of(found)["verdict"].value_counts().iter_rows())
    assert verdicts == {
        "chance": 14_266,
        "unstable": 1_116,
        "prior": 1_302,
        "redundant": 2_397,
        "real": 1_097,
    }


def test_a_holdout_mines_one_half_and_tests_on_the_other(inputs: VqaCeInputs) -> None:
    found = found_in(inputs, dataclasses.replace(CONFIG, holdout=True))
    assert found.holdout is not None
    assert len(found.training) + len(found.holdout) == len(inputs.train)  # the demo's answers are all common
    assert 0.4 < len(found.holdout) / len(inputs.train) < 0.6
    measures = measures_of(found)
    assert measures["transaction_count"].unique().to_list() == [len(found.training)]
    assert measures["holdout_transaction_count"].unique().to_list() == [len(found.holdout)]
    fires = measures.filter(pl.col("holdout_antecedent_count") > 0)
    assert (10 ** fires["holdout_log10_p_value"] <= fires["holdout_p_holm"] * (1 + 1e-12)).all()
    assert (measures.filter(pl.col("holdout_p_holm") >= 0.05)["verdict"] == "chance").all()
    # No image is in both halves.
    plain = found_in(inputs)
    assert plain.holdout is None and len(plain.training) > len(found.training)


def test_a_holdout_does_not_depend_on_row_order(inputs: VqaCeInputs) -> None:
    config = dataclasses.replace(CONFIG, holdout=True, seed=4)
    order = np.random.default_rng(0).permutation(len(inputs.train))
    moved = dataclasses.replace(inputs, train=inputs.train[order])
    measures = measures_of(found_in(inputs, config))
    assert measures_of(found_in(moved, config)).equals(measures)
    other = measures_of(found_in(inputs, dataclasses.replace(config, seed=5)))
    assert not other["holdout_rule_count"].equals(measures["holdout_rule_count"])


@pytest.mark.parametrize("threads", [2, 5])
def test_thread_count_does_not_matter(inputs: VqaCeInputs, threads: int) -> None:
    assert measures_of(found_in(inputs, threads=threads)).equals(measures_of(found_in(inputs, threads=1)))


def test_the_folder_says_what_was_searched(world_files: VqaCeFiles, tmp_path: Path) -> None:
    config = dataclasses.replace(CONFIG, holdout=True, max_q=0.01)
    report = build(world_files, config, tmp_path)
    assert "measure" in [cost.stage for cost in report.costs]
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    rules = pl.read_parquet(tmp_path / "rules.parquet")
    MeasuredRules.validate(rules)
    assert manifest["config"]["holdout"] and manifest["config"]["max_q"] == 0.01
    family = manifest["figures"]["searched_family"]
    assert family["size"] == family["antecedent_count"] * family["answer_count"]
    assert manifest["counts"]["searched_antecedents"] == family["antecedent_count"]
    counts = manifest["counts"]
    assert counts["holdout_rows"] + counts["train_rows"] == counts["train_questions"]
    assert manifest["dropped"] == {}
    assert manifest["figures"]["verdicts"] == {
        name: count for name in VERDICTS if (count := int((rules["verdict"] == name).sum()))
    }
    first_measure = rules.columns.index("confidence_low")
    assert rules.columns[: rules.columns.index("lift") + 1] == [*list(rules.columns)[:13]]
    assert first_measure > rules.columns.index("val_confidence")


def test_the_empty_rule_is_chance(inputs: VqaCeInputs) -> None:
    found = found_in(inputs, dataclasses.replace(CONFIG, empty_rule=True, min_confidence=0.1))
    is_empty = pl.Series((found.rules.items < 0).all(axis=1))
    (empty,) = measures_of(found).filter(is_empty).iter_rows(named=True)
    assert (empty["log10_p_value"], empty["q_value_by"], empty["verdict"]) == (0.0, 1.0, "chance")
    assert empty["improvement"] is None
    assert empty["prior"] == pytest.approx(empty["confidence"])


def test_a_cut_search_leaves_verdicts_open(inputs: VqaCeInputs) -> None:
    found = found_in(inputs, dataclasses.replace(CONFIG, max_rules=2_000))
    assert not found.is_complete
    measures = measures_of(found)
    assert measures["improvement"].null_count() == len(measures)
    assert "real" not in measures["verdict"]


@pytest.mark.parametrize(
    "option", [{"max_q": 1.5}, {"max_improvement_p": -0.1}, {"min_val_count": 0}, {"seed": -1}], ids=str
)
def test_thresholds_are_checked(option: dict[str, float]) -> None:
    name = next(iter(option))
    with pytest.raises(ConfigError, match=f"^{name}: got .* Change --{name.replace('_', '-')}"):
        VqaCeConfig(**option)  # type: ignore[arg-type]
