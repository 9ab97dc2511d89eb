"""DivExplorer's, SliceLine's and our own published numbers on 8,977 real questions."""

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shortcut_miner as sm
from shortcut_miner.diagnostics.slices.outputs import BuildReport

pytestmark = pytest.mark.real
ITEMS: dict[str, Any] = {
    "outcome_column": "wrong", "columns": "question=words,labels=objects", "item_columns": "answer_type",
    "min_count": 180,
}  # fmt: skip
COLUMNS = "answer_type,question_type,word_count,object_count,person"


@pytest.fixture(scope="module")
def golden(real_data: Path) -> Path:
    return real_data.parent / "golden" / "slices"


@pytest.fixture(scope="module")
def table(golden: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = pl.read_csv(golden / "table.csv.gz", infer_schema_length=None)
    path = tmp_path_factory.mktemp("golden") / "table.csv"
    rows.with_columns(
        wrong=(pl.col("accuracy_rules") < 50).cast(pl.Int64), error=100 - pl.col("accuracy_rules")
    ).write_csv(path)
    return path


def of_columns(table: Path, outcome: str, epsilon: float = 0.05) -> BuildReport:
    return sm.slices.build(
        table=table, outcome_column=outcome, item_columns=COLUMNS, items="none", min_support=0.02,
        max_length=5, epsilon=epsilon,
    )  # fmt: skip


@pytest.fixture(scope="module")
def wrong(table: Path) -> BuildReport:
    return of_columns(table, "wrong")


@pytest.fixture(scope="module")
def error(table: Path) -> BuildReport:
    return of_columns(table, "error")


@pytest.fixture(scope="module")
def of_items(table: Path) -> BuildReport:
    return sm.slices.build(table=table, **ITEMS)


def sorted_name(name: str) -> str:
    return " & ".join(sorted(name.split(" & ")))


def rows_of(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def by_items(report: BuildReport) -> dict[str, dict[str, Any]]:
    named = {}
    for row in report.slices.iter_rows(named=True):
        items = [
            *row["attributes"],
            *(f"o:{one}" for one in row["objects"]),
            *(f"w:{one}" for one in row["words"]),
        ]
        named[" & ".join(sorted(items))] = row
    return named


def test_divexplorers_patterns(golden: Path, wrong: BuildReport, error: BuildReport) -> None:
    expected = {
        " & ".join(sorted(row["k"].split(" & "))): row for row in rows_of(golden / "divexplorer_table.csv.gz")
    }
    whole = expected.pop("")
    assert len(expected) == 255
    assert (wrong.counts["rows"], wrong.counts["outcome_total"]) == (
        int(whole["count"]),
        int(whole["wrong_count"]),
    )
    assert error.counts["outcome_total"] == 587_370
    ours, errors = by_items(wrong), by_items(error)
    assert ours.keys() == errors.keys() == expected.keys()
    differing = [
        name
        for name, row in expected.items()
        if (ours[name]["count"], ours[name]["outcome_sum"]) != (int(row["count"]), int(row["wrong_count"]))
    ]
    assert differing == []
    for name, row in expected.items():
        for found, theirs, column in (
            (ours[name]["mean"], "wrong", 1), (ours[name]["divergence"], "wrong_div", 1),
            (ours[name]["t_beta"], "wrong_t", 1), (errors[name]["mean"], "error", 1),
            (errors[name]["divergence"], "error_div", 1), (errors[name]["t_welch"], "error_t", 1),
        ):  # fmt: skip
            assert found == pytest.approx(float(row[theirs]), rel=1e-9, abs=1e-10), (name, column)
    assert wrong.slices["t_welch"].null_count() == error.slices["t_beta"].null_count() == 255


@pytest.mark.parametrize(("epsilon", "kept"), [(0.01, 115), (0.05, 20)])
def test_divexplorers_redundant_patterns(golden: Path, table: Path, epsilon: float, kept: int) -> None:
    rows = rows_of(golden / "divexplorer_table.csv.gz")
    theirs = {sorted_name(row["k"]) for row in rows if row[f"kept_{epsilon:.2f}"] == "1"}
    report = of_columns(table, "wrong", epsilon)
    ours = {name for name, row in by_items(report).items() if not row["is_redundant"]}
    assert len(theirs) == kept  # the empty one among them
    assert ours ^ (theirs - {""}) == set()


def test_divexplorers_shapley_values(golden: Path, wrong: BuildReport) -> None:
    expected = json.loads((golden / "divexplorer.json").read_text(encoding="utf-8"))
    found = by_items(wrong)
    for one in expected["shapley"]:
        row = found[sorted_name(one["slice"])]
        shares = dict(zip(row["attributes"], row["item_shares"], strict=True))
        assert shares == pytest.approx(one["items"], rel=1e-9, abs=1e-12)
        assert row["divergence"] == pytest.approx(one["divergence"], rel=1e-12)
    items = dict(wrong.items.select("item", "global_divergence").iter_rows())
    assert items == pytest.approx(expected["global_shapley"], rel=1e-9, abs=1e-12)


def test_our_own_numbers_of_words_objects_and_columns(
    golden: Path, of_items: BuildReport, table: Path
) -> None:
    expected = {sorted_name(row["slice"]): row for row in rows_of(golden / "items_table.csv.gz")}
    told = json.loads((golden / "items.json").read_text(encoding="utf-8"))
    found = by_items(of_items)
    assert found.keys() == expected.keys()
    assert (len(found), of_items.counts["items"]) == (told["slices"], told["items"]) == (1418, 87)
    other = sm.slices.build(table=table, **ITEMS, correction="bh")
    hochberg = by_items(other)
    for name, row in expected.items():
        ours = found[name]
        assert (ours["count"], ours["outcome_sum"]) == (int(row["count"]), int(row["wrong_count"]))
        assert ours["is_redundant"] == (row["is_redundant_0.05"] == "True"), name
        assert ours["divergence"] == pytest.approx(float(row["divergence"]), abs=1e-9)
        assert ours["p_value"] == pytest.approx(float(row["p_worse"]), rel=1e-8)
        assert ours["q_value"] == pytest.approx(float(row["q_by"]), rel=1e-8)
        assert hochberg[name]["q_value"] == pytest.approx(float(row["q_bh"]), rel=1e-8)
    lengths = of_items.slices.group_by("length").len().sort("length")["len"].to_list()
    assert dict(zip("1234", lengths, strict=True)) == told["by_length"]
    surely = of_items.slices.filter(pl.col("q_value") <= 0.05, pl.col("divergence") > 0)
    assert len(surely) == told["worse_q_by_0.05"]
    assert len(surely.filter(~pl.col("is_redundant"))) == told["and_not_redundant_0.05"]
    assert (
        found["answer_type=number & w:what"]["outcome_sum"],
        found["answer_type=number & w:what"]["count"],
    ) == (379, 381)
    assert (found["o:clock & w:what"]["outcome_sum"], found["o:clock & w:what"]["count"]) == (210, 215)


def test_slicelines_scores(golden: Path, wrong: BuildReport) -> None:
    found = by_items(wrong)
    told = json.loads((golden / "sliceline.json").read_text(encoding="utf-8"))
    for one in told["slices"]:
        row = found[sorted_name(one["slice"])]
        assert (row["count"], row["outcome_sum"]) == (one["slice_size"], one["sum_slice_error"])
        assert row["sliceline_score"] == pytest.approx(one["slice_score"], rel=1e-9)
    at_most_four = wrong.slices.filter(pl.col("length") <= told["max_l"], pl.col("sliceline_score") > 0)
    assert len(at_most_four) == len(told["slices"]) == 4
