import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.errors import ConfigError, SchemaError
from shortcut_miner.scoring import bootstrap
from shortcut_miner.scoring.intervals import compare, summarise

CHECKOUT = Path(__file__).resolve().parents[1]
LEVELS = [0.0, 30.0, 60.0, 90.0, 100.0, 100 / 3, 66.7]


def score_table(images: int, rows: int, models: Sequence[str] = ("m",), seed: int = 0) -> pl.DataFrame:
    """Return scores with an effect of the image, equal questions for every model."""
    drawn = np.random.default_rng(seed)
    image = drawn.integers(0, images, rows)
    effect = drawn.normal(0, 0.3, images)[image]
    shared = {
        "question_id": [str(at) for at in range(rows)],
        "image_id": image.astype(str),
        "answer_type": drawn.choice(["yes/no", "number", "other"], rows),
        "subset": pl.Series(drawn.choice(["easy", "hard"], rows)).replace("hard", None),
        "scorer": ["vqa-official"] * rows,
    }
    parts = []
    for at, model in enumerate(models):
        chance = np.clip(0.5 + effect + 0.05 * at + drawn.normal(0, 0.2, rows), 0, 0.999)
        accuracy = np.array(LEVELS)[(chance * len(LEVELS)).astype(int)]
        parts.append(pl.DataFrame({**shared, "model": [model] * rows, "accuracy": accuracy}))
    return pl.concat(parts)


def plain_resampled_means(
    rows: list[tuple[str, float]], clusters: list[str], resamples: int, seed: int
) -> list[float]:
    """Return the mean of each resample that draws a row; `rows` are (cluster, value)."""
    drawn = np.random.default_rng(seed).integers(0, len(clusters), size=(resamples, len(clusters)))
    means = []
    for resample in drawn:
        values = [value for at in resample for cluster, value in rows if cluster == clusters[at]]
        if values:
            means.append(sum(values) / len(values))
    return means


def interval(row: dict[str, Any]) -> list[float]:
    return [row["low"], row["high"]]


def test_summary_equals_a_bootstrap_that_draws_images_one_by_one() -> None:
    scored = score_table(images=7, rows=40, models=("a", "b"))
    summary = summarise(scored, by=["answer_type", "subset"], resamples=60, seed=3)
    assert summary.height == 2 * (1 + 3 + 2)
    clusters = sorted(scored["image_id"].unique())
    for row in summary.iter_rows(named=True):
        kept = scored.filter(pl.col("model") == row["model"])
        if row["group"] != "overall":
            kept = kept.filter(pl.col(row["group"]).eq_missing(pl.lit(row["subgroup"])))
        rows = kept.select("image_id", "accuracy").rows()
        means = plain_resampled_means(rows, clusters, 60, 3)
        assert row["n"] == len(rows)
        assert row["value"] == pytest.approx(kept["accuracy"].mean(), abs=1e-7)
        assert interval(row) == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=1e-7)


def test_comparison_equals_a_bootstrap_of_the_differences() -> None:
    scored = score_table(images=7, rows=40, models=("a", "b", "c"))
    result = compare(scored, baseline="b", by=["answer_type"], resamples=60, seed=3)
    assert result.height == 2 * (1 + 3)
    clusters = sorted(scored["image_id"].unique())
    wide = scored.pivot("model", index=["question_id", "image_id", "answer_type"], values="accuracy")
    for row in result.iter_rows(named=True):
        kept = wide if row["group"] == "overall" else wide.filter(answer_type=row["subgroup"])
        rows = kept.select("image_id", pl.col(row["model"]) - pl.col("b")).rows()
        means = plain_resampled_means(rows, clusters, 60, 3)
        assert (row["n"], row["baseline"]) == (len(rows), "b")
        assert row["value"] == pytest.approx(np.mean([value for _, value in rows]), abs=1e-7)
        assert interval(row) == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=1e-7)


def test_all_pairs_are_compared_without_a_baseline() -> None:
    result = compare(score_table(5, 20, ("c", "a", "b")), resamples=10)
    assert result.select("model", "baseline").rows() == [("b", "a"), ("c", "a"), ("c", "b")]
    assert result["metric"].unique().to_list() == ["accuracy_difference"]


def test_order_and_columns_of_the_summary() -> None:
    summary = summarise(score_table(5, 60, ("b", "a")), by=["subset", "answer_type"], resamples=10)
    assert summary.columns == [
        *("metric", "group", "subgroup", "scorer", "model", "value", "n", "low", "high")
    ]
    assert summary.select("group", "subgroup", "model").rows() == [
        (group, subgroup, model)
        for group, subgroup in [
            *(("overall", "all"), ("subset", "easy"), ("subset", None)),
            *(("answer_type", "number"), ("answer_type", "other"), ("answer_type", "yes/no")),
        ]
        for model in ("a", "b")
    ]


@given(st.permutations(range(40)), st.integers(0, 2**40))
def test_row_order_changes_no_digit(order: list[int], seed: int) -> None:
    scored = score_table(6, 20, ("a", "b"))
    options: dict[str, Any] = {"by": ["answer_type"], "resamples": 30, "seed": seed}
    assert summarise(scored[order], **options).equals(summarise(scored, **options))
    assert compare(scored[order], **options).equals(compare(scored, **options))


def test_block_size_changes_no_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    scored = score_table(50, 300, ("a", "b"))
    expected = summarise(scored, by=["answer_type"], resamples=101)
    monkeypatch.setattr(bootstrap, "_BLOCK", 7)
    assert summarise(scored, by=["answer_type"], resamples=101).equals(expected)


def test_seed_changes_the_intervals_only() -> None:
    scored = score_table(50, 300)
    first, second = (summarise(scored, seed=seed) for seed in (0, 1))
    assert first.drop("low", "high").equals(second.drop("low", "high"))
    assert not first.equals(second)


@pytest.mark.slow
def test_threads_and_hash_seeds_change_no_byte() -> None:
    program = (
        "import sys; sys.path.insert(0, 'tests'); from test_intervals import *; import hashlib;"
        "scored = score_table(500, 40_000, ('a', 'b', 'c'));"
        "tables = summarise(scored, by=['answer_type', 'subset']), compare(scored, by=['answer_type']);"
        "print(*(hashlib.sha256(table.write_csv().encode()).hexdigest() for table in tables))"
    )
    outputs = set()
    for threads, hash_seed in (("1", "0"), ("2", "1"), ("5", "2")):
        environment = {"POLARS_MAX_THREADS": threads, "OMP_NUM_THREADS": threads, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            env=environment,
            cwd=CHECKOUT,
            check=True,
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1


def test_means_are_exact_for_thirds_over_ten_annotators() -> None:
    shares = [Fraction(100 * thirds, 3 * n) for n in range(1, 11) for thirds in range(3 * n + 1)]
    scored = pl.DataFrame({"image_id": ["1"] * len(shares), "accuracy": [float(share) for share in shares]})
    assert summarise(scored, resamples=1)["value"].item() == float(sum(shares) / len(shares))


def test_booleans_other_metrics_and_other_clusters() -> None:
    scored = pl.DataFrame({"scene": [1, 2, 2, 3], "is_correct": [True, False, True, True]})
    (row,) = summarise(scored, metric="is_correct", clusters="scene", resamples=50).iter_rows(named=True)
    assert (row["metric"], row["model"], row["scorer"], row["value"], row["n"]) == (
        "is_correct",
        None,
        None,
        0.75,
        4,
    )
    assert 0 <= row["low"] < row["high"] <= 1


def test_a_subgroup_that_few_resamples_draw_has_the_interval_of_those() -> None:
    scored = pl.DataFrame(
        {"image_id": ["1", "2", "3"], "kind": ["a", "b", "b"], "accuracy": [30.0, 60.0, 90.0]}
    )
    row = summarise(scored, by=["kind"]).row(by_predicate=pl.col("subgroup") == "a", named=True)
    assert (row["value"], row["low"], row["high"]) == (30.0, 30.0, 30.0)


def test_without_resamples_intervals_are_null() -> None:
    summary = summarise(score_table(5, 20), resamples=0)
    assert summary.select("low", "high").rows() == [(None, None)]
    assert summary.schema["low"] == pl.Float64


def test_a_subgroup_that_no_resample_draws_has_a_null_interval() -> None:
    scored = pl.DataFrame({"image_id": ["1", "2"], "accuracy": [0.0, 100.0]}).with_columns(kind="image_id")
    drawn = np.random.default_rng(0).integers(0, 2, size=(1, 2))
    absent = {"1", "2"} - {str(1 + at) for at in drawn[0]}
    assert absent  # with this seed one of the two images isn't drawn
    summary = summarise(scored, by=["kind"], resamples=1, seed=0).filter(pl.col("subgroup").is_in(absent))
    assert summary.select("low", "high").rows() == [(None, None)]


def test_no_rows_give_no_summary() -> None:
    empty = score_table(5, 20).clear()
    assert summarise(empty, by=["answer_type"]).height == 0


def test_wrong_options_and_columns() -> None:
    scored = score_table(5, 20, ("a", "b"))
    with pytest.raises(ConfigError, match="resamples: got -1, expected 0 or more"):
        summarise(scored, resamples=-1)
    with pytest.raises(ConfigError, match="level: got 95, expected a number between 0 and 1"):
        summarise(scored, level=95)
    with pytest.raises(SchemaError, match=r"(?s)no column kind.*column scorer of type String"):
        summarise(scored, by=["kind"], metric="scorer")
    with pytest.raises(ConfigError, match="baseline: got 'x', expected one of the models a, b"):
        compare(scored, baseline="x")
    with pytest.raises(ConfigError, match="models: got 1, expected two or more"):
        compare(scored.filter(model="a"))


def test_values_and_clusters_that_are_not_known() -> None:
    scored = pl.DataFrame({"image_id": ["1", None, "2"], "accuracy": [None, 1.0, float("nan")]})
    with pytest.raises(SchemaError) as caught:
        summarise(scored)
    assert str(caught.value) == (
        "scores: got the problems below, expected a value and a cluster in every row. Correct them.\n"
        "  - 1 x image_id that is null\n"
        "  - 2 x accuracy that is null or not finite"
    )


def test_models_that_cannot_be_paired() -> None:
    scored = score_table(5, 4, ("a", "b"))
    with pytest.raises(SchemaError) as caught:
        compare(pl.concat([scored[1:], scored[2:3]]))
    assert str(caught.value).splitlines()[1:] == [
        "  - 1 x question_id scored twice for one model: '2'",
        "  - 1 x question_id not scored for every model: '0'",
    ]
    moved = scored.with_columns(
        answer_type=pl.when((pl.col("model") == "b") & (pl.col("question_id") == "0"))
        .then(pl.lit("new"))
        .otherwise("answer_type")
    )
    with pytest.raises(SchemaError, match="2 x subgroup with other rows in the baseline, by 'answer_type'"):
        compare(moved, by=["answer_type"], resamples=5)


@pytest.mark.slow
def test_intervals_over_images_cover_the_true_mean_and_those_over_questions_do_not() -> None:
    """600 worlds of 150 images whose true mean is 50; nominal coverage is 0.95."""
    worlds, images, questions = 600, 150, 6
    covered = {"image_id": 0, "question_id": 0}
    for world in range(worlds):
        drawn = np.random.default_rng([7, world])
        chance = np.repeat(drawn.beta(1, 1, images), questions)
        scored = pl.DataFrame(
            {
                "question_id": np.arange(images * questions).astype(str),
                "image_id": np.repeat(np.arange(images), questions).astype(str),
                "accuracy": 100.0 * (drawn.random(images * questions) < chance),
            }
        )
        for clusters in covered:
            row = summarise(scored, clusters=clusters, resamples=400, seed=world).row(0, named=True)
            covered[clusters] += row["low"] <= 50 <= row["high"]
    # Four standard errors of a proportion of 0.95 over 600 worlds are 0.036.
    assert abs(covered["image_id"] / worlds - 0.95) < 0.036
    assert covered["question_id"] / worlds < 0.90
