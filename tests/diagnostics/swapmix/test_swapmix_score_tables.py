"""Figures beside the metrics, on 20 questions whose every number is counted by hand; and brute force.

The paper's definitions (section 3.2): with k swaps of each kind and object, a model relies on context where a
right answer changes under any of them; effective accuracy asks for right answers under all of them.

Questions 00 to 09 are of the type "query", 10 to 19 of "verify"; each has one object with two class swaps
(perturbations 1 and 2) and two attribute swaps (3 and 4). The model is wrong without a swap on 16 to 19.
It changes its answer
    on 00 to 03 under the first class swap,
    on 04 and 05 under the second class swap,
    on 02 and 06 under the first attribute swap,
    on 10 under the second attribute swap,
    on 16 under the first class swap, to the right answer; on 17 to another wrong one.
"""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from diagnostics.swapmix.test_swapmix_score import by_brute_force
from diagnostics.swapmix.worlds import Tiny, draw_plan, worlds
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.diagnostics.swapmix.config import ScoreConfig, SwapMixConfig
from shortcut_miner.diagnostics.swapmix.metrics import NO_SWAP, PlanShape, Verdicts, judge, summary
from shortcut_miner.diagnostics.swapmix.score_tables import CURVED, curve, differences, per_question
from shortcut_miner.errors import ConfigError

QUESTIONS, ROWS = 20, 5
RIGHT, WRONG, OTHER = 1, 2, 3
PLAIN = ScoreConfig(resamples=0)


def shape_of_20() -> PlanShape:
    return PlanShape(
        questions=pl.DataFrame(
            {
                "question_id": [f"{at:02d}" for at in range(QUESTIONS)],
                "image_id": [f"i{at % 7}" for at in range(QUESTIONS)],
                "answer": ["yes"] * QUESTIONS,
                "structural": ["query"] * 10 + ["verify"] * 10,
                "semantic": ["obj", None] * 10,
            }
        ),
        first=np.arange(QUESTIONS) * ROWS,
        kind=np.tile([0, 1, 1, 2, 2], QUESTIONS).astype(np.uint8),
        index=np.tile([0, 1, 2, 1, 2], QUESTIONS).astype(np.uint32),
        is_padding=np.tile([False, False, True, False, False], QUESTIONS),
        from_class=np.tile([-1, 0, 0, 0, 0], QUESTIONS).astype(np.int32),
        classes=["dog"],
    )


def answers_of_20() -> Any:
    given = np.full((QUESTIONS, ROWS), RIGHT, np.int32)
    given[16:] = WRONG
    given[[0, 1, 2, 3], 1] = WRONG
    given[[4, 5], 2] = WRONG
    given[[2, 6], 3] = OTHER
    given[10, 4] = OTHER
    given[16, 1], given[17, 1] = RIGHT, OTHER
    return given


def steady() -> Any:
    """Return answers of a model that is right on 00 to 17, and that one swap alone changes: 17's first."""
    given = np.full((QUESTIONS, ROWS), RIGHT, np.int32)
    given[18:] = WRONG
    given[17, 1] = WRONG
    return given


def judged(given: Any, config: ScoreConfig = PLAIN) -> Verdicts:
    return judge(shape_of_20(), given.ravel(), np.full(QUESTIONS, RIGHT, np.int32), config)


def test_single_questions() -> None:
    table = per_question(shape_of_20(), {"m": judged(answers_of_20())})
    assert table.columns == [
        "question_id", "image_id", "structural", "semantic", "model", "is_correct",
        "class_swaps", "class_flips", "class_flip_k",
        "attribute_swaps", "attribute_flips", "attribute_flip_k", "fail_k", "stays_correct",
    ]  # fmt: skip
    rows = {row[0]: row[5:] for row in table.rows()}
    assert len(rows) == QUESTIONS
    assert rows["00"] == (True, 2, 1, 1, 2, 0, None, 1, False)
    assert rows["02"] == (True, 2, 1, 1, 2, 1, 1, 1, False)
    assert rows["04"] == (True, 2, 1, 2, 2, 0, None, 2, False)
    assert rows["10"] == (True, 2, 0, None, 2, 1, 2, 2, False)
    assert rows["11"] == (True, 2, 0, None, 2, 0, None, None, True)
    # Right under its first class swap alone: the other three are not.
    assert rows["16"] == (False, 2, 1, 1, 2, 0, None, 1, False)
    assert rows["19"] == (False, 2, 0, None, 2, 0, None, 1, False)


def test_single_questions_without_padding_or_missing_swaps() -> None:
    given = answers_of_20()
    given[0, 1] = NO_SWAP
    table = per_question(shape_of_20(), {"m": judged(given, ScoreConfig(exclude_padding=True, resamples=0))})
    rows = {row[0]: row[5:] for row in table.rows()}
    assert rows["00"] == (True, 0, 0, None, 2, 0, None, None, True)
    assert rows["04"] == (True, 1, 0, None, 2, 0, None, None, True)


def test_the_curve_is_counted_by_hand() -> None:
    """16 of 20 are right. k = 1: class 00-03, attribute 02, 06; k = 2: also 04, 05 and 10."""
    table = curve(shape_of_20(), {"m": judged(answers_of_20())}, PLAIN)
    assert table.select("metric", "k", "value", "n").rows() == [
        ("object_reliance", 1, 100 * 4 / 16, 16), ("object_reliance", 2, 100 * 6 / 16, 16),
        ("attribute_reliance", 1, 100 * 2 / 16, 16), ("attribute_reliance", 2, 100 * 3 / 16, 16),
        ("context_reliance", 1, 100 * 5 / 16, 16), ("context_reliance", 2, 100 * 8 / 16, 16),
        ("effective_accuracy", 1, 100 * 11 / 20, 20), ("effective_accuracy", 2, 100 * 8 / 20, 20),
    ]  # fmt: skip
    short = curve(shape_of_20(), {"m": judged(answers_of_20())}, ScoreConfig(k=1, resamples=0))
    assert short["k"].unique().to_list() == [1]
    padded = ScoreConfig(exclude_padding=True, resamples=0)
    apart = curve(shape_of_20(), {"m": judged(answers_of_20(), padded)}, padded)
    assert apart.filter(metric="object_reliance")["value"].to_list() == [25.0, 25.0]


def test_figures_by_type_are_counted_by_hand() -> None:
    scores = summary(shape_of_20(), judged(answers_of_20()), "m", PLAIN)
    found = {
        (metric, subgroup): (value, n)
        for metric, subgroup, value, n in scores.filter(group="structural")
        .select("metric", "subgroup", "value", "n")
        .rows()
    }
    assert found["accuracy", "query"] == (100.0, 10)
    assert found["accuracy", "verify"] == (60.0, 10)
    assert found["object_reliance", "query"] == (60.0, 10)  # 00 to 05
    assert found["object_reliance", "verify"] == (0.0, 6)
    assert found["attribute_reliance", "query"] == (20.0, 10)  # 02, 06
    assert found["attribute_reliance", "verify"] == (pytest.approx(100 / 6), 6)  # 10
    assert found["context_reliance", "query"] == (70.0, 10)
    assert found["effective_accuracy", "query"] == (30.0, 10)  # 07, 08, 09
    assert found["effective_accuracy", "verify"] == (50.0, 10)  # 11 to 15
    of_types = scores.filter(group="semantic")["subgroup"].unique().to_list()
    assert of_types == ["obj"]  # not known of every second one
    assert scores.filter(metric="accuracy", group="semantic")["n"].to_list() == [10]


def test_differences_are_counted_by_hand() -> None:
    """The steady model is right on 18; one of these changes. Reliance: 8 of 16, and 1 of 18."""
    models = {"m": judged(answers_of_20()), "steady": judged(steady())}
    config = ScoreConfig(baseline="steady", resamples=0)
    table = differences(shape_of_20(), models, config)
    assert table is not None
    assert table.columns == [
        "metric", "group", "subgroup", "scorer", "model", "baseline", "value", "n", "low", "high",
    ]  # fmt: skip
    overall = dict(table.filter(group="overall").select("metric", "value").iter_rows())
    assert overall == {
        "accuracy_difference": pytest.approx(100 * (16 - 18) / 20),
        "object_reliance_difference": pytest.approx(100 * (6 / 16 - 1 / 18)),
        "attribute_reliance_difference": pytest.approx(100 * 3 / 16),
        "context_reliance_difference": pytest.approx(100 * (8 / 16 - 1 / 18)),
        "effective_accuracy_difference": pytest.approx(100 * (8 - 17) / 20),
        "effective_accuracy_perturbations_only_difference": pytest.approx(100 * (8 - 17) / 20),
    }
    query = table.filter(subgroup="query", metric="context_reliance_difference").row(0, named=True)
    assert (query["value"], query["n"]) == (pytest.approx(70.0), 10)
    assert differences(shape_of_20(), {"m": models["m"]}, config) is None
    assert differences(shape_of_20(), models, PLAIN) is None


def test_paired_intervals_are_those_of_the_same_resamples() -> None:
    """Redone by hand: images are drawn with the scores' own generator, both shares made anew on each draw."""
    models = {"m": judged(answers_of_20()), "steady": judged(steady())}
    config = ScoreConfig(baseline="steady", resamples=50, seed=3)
    table = differences(shape_of_20(), models, config)
    assert table is not None
    row = table.filter(group="overall", metric="context_reliance_difference").row(0, named=True)
    images = np.arange(QUESTIONS) % 7
    generator = np.random.default_rng(3)
    values = []
    for _ in range(2):  # 25 resamples at once
        drawn = generator.integers(0, 7, size=(25, 7))
        for chosen in drawn:
            rows = np.concatenate([np.flatnonzero(images == one) for one in chosen])
            shares = []
            for one in models.values():
                changes, is_right = one.figures()["context_reliance"]
                shares.append((changes & is_right)[rows].sum() / is_right[rows].sum())
            values.append(100 * (shares[0] - shares[1]))
    assert row["low"] == pytest.approx(np.quantile(values, 0.025))
    assert row["high"] == pytest.approx(np.quantile(values, 0.975))


@given(worlds(), st.integers(0, 1000), st.booleans())
def test_the_curve_and_the_types_equal_brute_force(world: Tiny, seed: int, exclude_padding: bool) -> None:
    """Each step is what the metrics of that k are, counted row by row; and so is each type."""
    plan, shape = plan_and_shape(world)
    if plan.is_empty():
        return
    rng = np.random.default_rng(seed)
    said = rng.choice(["yes", "no"], len(plan), p=[0.8, 0.2]).tolist()
    answers = dict(zip(plan.select("question_id", "perturbation").iter_rows(), said, strict=True))
    right = dict(shape.questions.select("question_id", "answer").iter_rows())
    config = ScoreConfig(exclude_padding=exclude_padding, resamples=0)
    numbers = np.array([one == "yes" for one in said], np.int32)
    found = judge(shape, numbers, np.ones(len(shape.first), np.int32), config)
    steps = curve(shape, {"m": found}, config)
    for k in steps["k"].unique():
        expected = by_brute_force(plan, right, answers, ScoreConfig(k=k, exclude_padding=exclude_padding))
        at_k = dict(steps.filter(k=k).select("metric", pl.col("value") / 100).iter_rows())
        assert at_k == pytest.approx({name: expected[name] for name in CURVED if name in expected})
    scores = summary(shape, found, "m", config).filter(group="structural")
    for (one,), _ in shape.questions.group_by("structural"):
        ids = shape.questions.filter(structural=one)["question_id"]
        part = plan.filter(pl.col("question_id").is_in(ids.implode()))
        expected = by_brute_force(part, right, answers, config)
        of_type = dict(scores.filter(subgroup=one).select("metric", pl.col("value") / 100).iter_rows())
        assert of_type == pytest.approx(expected)
    check_single(plan, right, answers, config, per_question(shape, {"m": found}))


def plan_and_shape(world: Tiny) -> tuple[pl.DataFrame, PlanShape]:
    tables = draw_plan(world.inputs(), SwapMixConfig(k=3))
    plan = tables["swaps.parquet"]
    planned = tables["questions.parquet"].filter(pl.col("row_count").is_not_null())
    types = [("query", "verify")[at % 2] for at in range(len(planned))]
    lengths = planned["row_count"].to_numpy().astype(np.int64)
    kinds = {"original": 0, "class": 1, "attribute": 2}
    return plan, PlanShape(
        questions=planned.select("question_id", "image_id", "answer", structural=pl.Series(types)),
        first=np.cumsum(lengths) - lengths,
        kind=plan["kind"].replace_strict(kinds, return_dtype=pl.UInt8).to_numpy(),
        index=plan["swap_index"].fill_null(0).to_numpy(),
        is_padding=plan["is_padding"].to_numpy(),
        from_class=np.full(len(plan), -1, np.int32),
        classes=[],
    )


def check_single(
    plan: pl.DataFrame, right: dict[str, str], said: dict[Any, str], config: ScoreConfig, found: pl.DataFrame
) -> None:
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in plan.iter_rows(named=True):
        rows.setdefault(row["question_id"], []).append(row)
    for one in found.iter_rows(named=True):
        name = one["question_id"]
        swaps = [row for row in rows[name][1:] if not (config.exclude_padding and row["is_padding"])]
        fails = [row["swap_index"] for row in swaps if said[name, row["perturbation"]] != right[name]]
        assert one["fail_k"] == min(fails, default=None)
        assert one["stays_correct"] == (not fails)
        for kind in ("class", "attribute"):
            of_kind = [row for row in swaps if row["kind"] == kind]
            flips = [row["swap_index"] for row in of_kind if said[name, row["perturbation"]] != said[name, 0]]
            assert one[f"{kind}_swaps"] == len(of_kind)
            assert one[f"{kind}_flips"] == len(flips)
            assert one[f"{kind}_flip_k"] == min(flips, default=None)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from shortcut_miner.demo import write_demo_world
    from shortcut_miner.demo.swapmix import run_swapmix

    out = tmp_path_factory.mktemp("demo")
    run_swapmix(write_demo_world(out / "world"), out)
    return out


def test_every_step_is_the_score_of_its_k(demo: Path) -> None:
    """With its interval: the resamples are the same."""
    from shortcut_miner.diagnostics.swapmix.score import score

    models = {
        name: demo / "swapmix-answers" / f"{name}.parquet" for name in ("shortcut_model", "grounded_model")
    }
    report = score(demo / "swapmix", models, ScoreConfig(curve=True, resamples=100), demo / "scores")
    assert report.curve is not None
    assert report.curve.equals(pl.read_parquet(demo / "scores" / "curve.parquet"))
    columns = ["metric", "model", "value", "n", "low", "high"]
    for k in (1, 4):
        whole = score(demo / "swapmix", models, ScoreConfig(k=k, resamples=100)).scores
        expected = whole.filter(pl.col("group") == "overall", pl.col("metric").is_in(CURVED)).select(columns)
        found = report.curve.filter(k=k).select(columns)
        assert sorted(found.select("metric", "model", "n").rows()) == sorted(
            expected.select("metric", "model", "n").rows()
        )
        both = found.join(expected, on=["metric", "model"], validate="1:1")
        for name in ("value", "low", "high"):
            assert both[name].to_list() == pytest.approx(both[f"{name}_right"].to_list())
    assert report.curve["k"].is_sorted() is False
    assert report.curve.filter(metric="context_reliance")["k"].is_sorted()


def test_what_cannot_be_told_is_refused(demo: Path) -> None:
    from shortcut_miner.diagnostics.swapmix.score import score

    shape = shape_of_20()
    unknown = PlanShape(
        **{name: getattr(shape, name) for name in PlanShape.__dataclass_fields__} | {"index": shape.index * 0}
    )
    with pytest.raises(ConfigError, match="curve: got it with results that don't say which swaps these are"):
        curve(unknown, {}, PLAIN)
    given = {"m": demo / "swapmix-answers" / "grounded_model.parquet"}
    with pytest.raises(ConfigError, match="baseline: got 'x', expected one of m"):
        score(demo / "swapmix", given, ScoreConfig(baseline="x"))
