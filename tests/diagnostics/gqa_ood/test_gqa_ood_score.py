"""Accuracies, delta and sweep against plain Python, and whose answers are needed."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from diagnostics.gqa_ood.worlds import subset, write_rows
from hypothesis import given
from hypothesis import strategies as st

import shortcut_miner as sm
from shortcut_miner.diagnostics.gqa_ood.measured import measured, swept
from shortcut_miner.diagnostics.gqa_ood.subsets import SWEEP
from shortcut_miner.errors import ConfigError, SchemaError

ROWS = [(f"q{at}", "g", "a" if at < 7 else "b") for at in range(10)]
Judged = list[tuple[str, str, bool, str | None, float | None]]


@st.composite
def judged(draw: st.DrawFn) -> pl.DataFrame:
    """Return two models' judged answers to the same questions."""
    questions = draw(
        st.lists(
            st.tuples(
                st.sampled_from(["i1", "i2", "i3"]),
                st.sampled_from(["head", "tail"]),
                st.sampled_from(["query", "verify", None]),
                st.sampled_from([None, *SWEEP]),
            ),
            min_size=1,
            max_size=12,
        )
    )
    rights = draw(st.lists(st.booleans(), min_size=2 * len(questions), max_size=2 * len(questions)))
    rows = [
        (f"q{at}", image, side, kind, alpha, rights[at + len(questions) * (model == "n")], model)
        for model in ("m", "n")
        for at, (image, side, kind, alpha) in enumerate(questions)
    ]
    names = ["question_id", "image_id", "subset", "structural", "tail_alpha", "right", "model"]
    schema = dict(zip(names, [pl.String] * 4 + [pl.Float64, pl.Boolean, pl.String], strict=True))
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(semantic=pl.lit(None, pl.String))


def share(rows: list[dict[str, Any]]) -> float | None:
    return 100 * sum(row["right"] for row in rows) / len(rows) if rows else None


def expected(rows: list[dict[str, Any]]) -> dict[str, float | None]:
    head, tail = (share([row for row in rows if row["subset"] == side]) for side in ("head", "tail"))
    delta = 100 * (head - tail) / tail if head is not None and tail else None
    return {"acc_all": share(rows), "acc_head": head, "acc_tail": tail, "delta": delta}


@given(judged())
def test_numbers_of_each_model_and_type(table: pl.DataFrame) -> None:
    scores, differences = measured(table, baseline="n", resamples=4, seed=1)
    kinds = {kind for kind in table["structural"] if kind is not None}
    cells = [("overall", "all"), *(("structural", kind) for kind in sorted(kinds))]
    assert scores.select("metric", "group", "subgroup", "model").rows() == [
        (metric, *cell, model)
        for metric in ("acc_all", "acc_head", "acc_tail", "delta")
        for cell in cells
        for model in ("m", "n")
    ]
    assert differences is not None
    others = {
        row[:3]: row[3] for row in differences.select("metric", "group", "subgroup", "value").iter_rows()
    }
    values: dict[tuple[str, ...], float | None] = {}
    for row in scores.iter_rows(named=True):
        rows = table.filter(model=row["model"])
        rows = rows if row["group"] == "overall" else rows.filter(structural=row["subgroup"])
        value = expected(rows.to_dicts())[row["metric"]]
        assert row["value"] == (None if value is None else pytest.approx(value, abs=1e-9))
        part = {"acc_head": "head", "acc_tail": "tail"}.get(row["metric"])
        assert row["n"] == len(rows.filter(subset=part) if part else rows)
        values[row["metric"], row["group"], row["subgroup"], row["model"]] = row["value"]
    for (metric, group, subgroup), value in others.items():
        name = metric.removesuffix("_difference")
        first, second = (values[name, group, subgroup, model] for model in ("m", "n"))
        known = first is not None and second is not None
        assert value == (pytest.approx(first - second, abs=1e-9) if known else None)


@given(judged())
def test_all_is_the_weighted_mean_of_head_and_tail(table: pl.DataFrame) -> None:
    scores, _ = measured(table, resamples=0, seed=0)
    overall = scores.filter(group="overall", model="m")
    found = {
        metric: (value or 0.0) * n for metric, value, n in overall.select("metric", "value", "n").iter_rows()
    }
    assert found["acc_all"] == pytest.approx(found["acc_head"] + found["acc_tail"], abs=1e-6)
    assert scores["low"].null_count() == len(scores)


@given(judged())
def test_the_sweep(table: pl.DataFrame) -> None:
    found = swept(table, resamples=3, seed=0)
    assert found.select("model", "alpha").rows() == [
        (model, alpha) for model in ("m", "n") for alpha in sorted(SWEEP)
    ]
    for row in found.iter_rows(named=True):
        tail = [
            one
            for one in table.filter(model=row["model"]).to_dicts()
            if one["tail_alpha"] is not None and one["tail_alpha"] <= row["alpha"]
        ]
        value = share(tail)
        assert row["n"] == len(tail)
        assert row["value"] == (None if value is None else pytest.approx(value, abs=1e-9))


# ---- files ----


def built(tmp_path: Path, **columns: Any) -> Path:
    file = write_rows(tmp_path / "t.parquet", ROWS, **columns)
    sm.gqa_ood.build(questions=file, group="kind", out=tmp_path / "out")
    return tmp_path / "out"


def answers(tmp_path: Path, name: str, **given_answers: str) -> Path:
    path = tmp_path / f"{name}.parquet"
    table = pl.DataFrame({"question_id": [*given_answers], "answer": [*given_answers.values()]})
    table.write_parquet(path)
    return path


def always(answer: str) -> dict[str, str]:
    return {row[0]: answer for row in ROWS}


def overall(report: Any, model: str = "m") -> dict[str, float | None]:
    table = report.scores.filter(group="overall", model=model)
    return dict(table.select("metric", "value").rows())


def test_answers_must_be_equal_letter_by_letter(tmp_path: Path) -> None:
    folder = built(tmp_path)
    exact = answers(tmp_path, "m", **{row[0]: row[2] for row in ROWS})
    other = answers(tmp_path, "n", **{row[0]: row[2].upper() for row in ROWS})
    report = sm.gqa_ood.score(folder, {"m": exact, "n": other}, resamples=0)
    assert overall(report) == {"acc_all": 100.0, "acc_head": 100.0, "acc_tail": 100.0, "delta": 0.0}
    assert overall(report, "n") == {"acc_all": 0.0, "acc_head": 0.0, "acc_tail": 0.0, "delta": None}


def test_who_guesses_by_the_group(tmp_path: Path) -> None:
    report = sm.gqa_ood.score(
        built(tmp_path), {"m": answers(tmp_path, "m", **always("a"))}, out=tmp_path / "s"
    )
    assert overall(report) == {"acc_all": 70.0, "acc_head": 100.0, "acc_tail": 0.0, "delta": None}
    assert [subset(ROWS, row, "0.2") for row in ROWS] == ["head"] * 7 + ["tail"] * 3
    assert "--" in (tmp_path / "s" / "scores.tex").read_text().splitlines()[4]
    sweep = pl.read_parquet(tmp_path / "s" / "sweep.parquet")
    assert sweep.columns == ["model", "alpha", "n", "value", "low", "high"]


def test_questions_outside_gqas_balanced_set_are_neither_asked_nor_scored(tmp_path: Path) -> None:
    folder = built(tmp_path, is_balanced=[False, *[True] * 9])
    given_answers = {one: "a" for one in always("a") if one != "q0"}
    report = sm.gqa_ood.score(folder, {"m": answers(tmp_path, "m", **given_answers)}, resamples=0)
    assert report.scores.filter(group="overall")["n"].to_list() == [9, 6, 3, 9]
    assert report.is_complete


def test_missing_answers_are_named(tmp_path: Path) -> None:
    folder = built(tmp_path)
    few = {one: "a" for one in always("a") if one not in ("q3", "q9")}
    path = answers(tmp_path, "m", **few)
    with pytest.raises(SchemaError, match="2 x question without a prediction: 'q3', 'q9'"):
        sm.gqa_ood.score(folder, {"m": path})
    report = sm.gqa_ood.score(folder, {"m": path}, on_missing="skip", resamples=0)
    assert (report.is_complete, report.scores["n"][0]) == (False, 8)


def test_models_that_can_not_be_compared(tmp_path: Path) -> None:
    folder = built(tmp_path)
    path = answers(tmp_path, "m", **always("a"))
    with pytest.raises(
        ConfigError, match=r"predictions: got none, expected at least one\. Give --predictions"
    ):
        sm.gqa_ood.score(folder, {})
    with pytest.raises(ConfigError, match=r"baseline: got 'x', expected one of m\. Name one of them\."):
        sm.gqa_ood.score(folder, {"m": path}, baseline="x")
    assert sm.gqa_ood.score(folder, {"m": path}, baseline="m", resamples=0).differences is None


def test_models_stand_as_they_were_named(tmp_path: Path) -> None:
    folder = built(tmp_path)
    paths = {name: answers(tmp_path, name, **always(name)) for name in ("b", "a")}
    report = sm.gqa_ood.score(folder, paths, baseline="a", resamples=5)
    assert report.scores["model"].to_list()[:2] == ["b", "a"]
    assert report.sweep["model"].unique(maintain_order=True).to_list() == ["b", "a"]
    assert report.differences is not None
    rows = report.differences.filter(group="overall").select("metric", "value").rows()
    assert rows == [
        ("acc_all_difference", -40.0),
        ("acc_head_difference", -100.0),
        ("acc_tail_difference", 100.0),
        ("delta_difference", None),
    ]
