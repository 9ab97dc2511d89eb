import functools
import json
import math
from pathlib import Path

import polars as pl
import pytest

from shortcut_miner.errors import SchemaError
from shortcut_miner.scoring.intervals import compare, summarise
from shortcut_miner.scoring.tables import (
    as_dict,
    as_latex,
    as_markdown,
    as_paper_latex,
    pivoted,
    value_text,
    write_scores,
)

SCORED = pl.DataFrame(
    {
        "question_id": ["1", "2", "3"] * 2,
        "image_id": ["1", "2", "3"] * 2,
        "answer_type": ["yes/no", "other", None] * 2,
        "scorer": ["vqa-official"] * 6,
        "model": ["base_1"] * 3 + ["50% | {x}"] * 3,
        "accuracy": [30.0, 60.0, 90.0, 0.0, 100.0, 30.0],
    }
)


def test_markdown_has_a_row_per_subgroup_and_a_column_per_model() -> None:
    assert as_markdown(summarise(SCORED, by=["answer_type"], resamples=0), digits=1).splitlines() == [
        r"| metric | group | subgroup | n | 50% \| {x} | base_1 |",
        "| --- | --- | --- | ---: | ---: | ---: |",
        "| accuracy (vqa-official) | overall | all | 3 | 43.3 | 60.0 |",
        "| accuracy (vqa-official) | answer_type | other | 1 | 100.0 | 60.0 |",
        "| accuracy (vqa-official) | answer_type | yes/no | 1 | 0.0 | 30.0 |",
        "| accuracy (vqa-official) | answer_type | (not known) | 1 | 30.0 | 90.0 |",
    ]


def test_latex_escapes_names_and_sets_numbers_in_mathematics() -> None:
    difference = compare(SCORED, baseline="base_1", resamples=200)
    (low, high) = difference.select("low", "high").row(0)
    assert as_latex(difference).splitlines() == [
        r"\begin{tabular}{lllrr}",
        r"\toprule",
        r"metric & group & subgroup & n & 50\% \textbar{} \{x\} - base\_1 \\",
        r"\midrule",
        rf"accuracy\_difference (vqa-official) & overall & all & 3 & $-16.67$ [${low:.2f}$, ${high:.2f}$] \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_names_cannot_break_a_table() -> None:
    odd = SCORED.with_columns(model=pl.lit("a\\b\n|<i>*`~^&$#_"), question_id=pl.int_range(6).cast(pl.String))
    summary = summarise(odd, resamples=0)
    assert r"| a\\b \|\<i>\*\`~^&$#_ |" in as_markdown(summary)
    escaped = r"a\textbackslash{}b \textbar{}\textless{}i\textgreater{}*`"
    escaped += r"\textasciitilde{}\textasciicircum{}\&\$\#\_"
    assert rf"& {escaped} \\" in as_latex(summary)


def test_rows_of_one_model_only_leave_the_other_empty() -> None:
    scored = pl.concat([SCORED[:3], SCORED[4:]])
    lines = as_markdown(summarise(scored, by=["answer_type"], resamples=0)).splitlines()
    assert lines[2].endswith("| 2 / 3 | 65.00 | 60.00 |")
    assert lines[4].endswith("| yes/no | 1 |  | 30.00 |")


def test_dictionary_is_ready_for_json() -> None:
    result = as_dict(summarise(SCORED, by=["answer_type"]))
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    cell = result["accuracy"]["answer_type"]["(not known)"]["base_1"]
    assert cell == {"scorer": "vqa-official", "value": 90.0, "n": 1, "low": 90.0, "high": 90.0}
    difference = as_dict(compare(SCORED, baseline="base_1", resamples=0))
    cell = difference["accuracy_difference"]["overall"]["all"]["50% | {x} - base_1"]
    assert math.isclose(cell["value"], -50 / 3)
    assert cell["low"] is None


def test_two_values_of_one_name_are_refused() -> None:
    summary = summarise(SCORED, resamples=0)
    for table in (as_dict, as_markdown, as_latex):
        with pytest.raises(SchemaError, match=r"got two values for 'accuracy.*', 'overall', 'all', "):
            table(pl.concat([summary, summary]))


# Two metrics; the second model lacks a subgroup, and has another n in one.
SUMMARY = pl.DataFrame(
    [
        ("fpvg_plus", "overall", "all", "m2", 10.0, 1200, 2.346, 20.0),
        ("fpvg_plus", "overall", "all", "m1", 77.5, 1200, 65.0, 90.125),
        ("fpvg_plus", "type", "", "m2", 1.5, 3, None, None),
        ("fpvg_plus", "type", None, "m2", 2.5, 3, None, None),
        ("fpvg_plus", "type", None, "m1", 3.5, 4, None, None),
        ("good_correct", "overall", "all", "m1", 65.0, 1200, 50.0, 80.0),
    ],
    schema=["metric", "group", "subgroup", "model", "value", "n", "low", "high"],
    orient="row",
).with_columns(scorer=pl.lit("exact"))


def test_a_row_for_each_n_and_a_column_for_each_model() -> None:
    cell = functools.partial(value_text, interval_digits=2)
    assert pivoted(SUMMARY, ("metric", "group", "subgroup", "n"), cell) == (
        ["m2", "m1"],
        [
            ["fpvg_plus", "overall", "all", 1200, "10.00 [2.35, 20.00]", "77.50 [65.00, 90.12]"],
            ["fpvg_plus", "type", "(not known)", 3, "1.50", ""],
            ["fpvg_plus", "type", "(not known)", 3, "2.50", ""],
            ["fpvg_plus", "type", "(not known)", 4, "", "3.50"],
            ["good_correct", "overall", "all", 1200, "", "65.00 [50.00, 80.00]"],
        ],
    )


def test_rows_by_fewer_columns_have_the_counts_in_their_cells() -> None:
    def cell(row: dict[str, object]) -> str:
        return "none" if row["value"] is None else f"{value_text(row)} of {row['n']:,}"

    overall = SUMMARY.filter(group="overall").with_columns(pl.col("value").replace(10.0, None))
    assert pivoted(overall, ["metric"], cell) == (
        ["m2", "m1"],
        [
            ["fpvg_plus", "none", "77.50 [65.0, 90.1] of 1,200"],
            ["good_correct", "", "65.00 [50.0, 80.0] of 1,200"],
        ],
    )
    # A subgroup that is named like the overall row stands apart from it.
    by_type = SUMMARY.filter(metric="fpvg_plus").with_columns(pl.col("subgroup").replace("", "all"))
    assert [row[0] for row in pivoted(by_type, ["subgroup"], cell)[1]] == ["all", "all", "(not known)"]


def test_columns_of_differences_name_both_models() -> None:
    difference = compare(SCORED, baseline="base_1", resamples=0)
    assert pivoted(difference, ["subgroup", "n"], value_text) == (
        ["50% | {x} - base_1"],
        [["all", 3, "-16.67"]],
    )


def test_no_rows_give_no_table() -> None:
    assert pivoted(SUMMARY.clear(), ["metric"], value_text) == ([], [])
    with pytest.raises(SchemaError, match=r"got two values for 3, 'fpvg_plus', 'type', '', 'm2'"):
        pivoted(pl.concat([SUMMARY[2:3]] * 2), ["n"], value_text)


PAPER = {
    "Overall": ("accuracy", "overall", "all"),
    "Yes/no": ("accuracy", "answer_type", "yes/no"),
    "Hard": ("accuracy", "subset", "hard"),
}


def test_the_papers_table_has_a_row_a_model_and_escaped_names() -> None:
    lines = as_paper_latex(summarise(SCORED, by=["answer_type"], resamples=0), PAPER).splitlines()
    assert lines == [
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r"Model & Overall & Yes/no & Hard \\",
        r"\midrule",
        r"50\% \textbar{} \{x\} & $43.33$ & $0.00$ & -- \\",
        r"base\_1 & $60.00$ & $30.00$ & -- \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_intervals_stand_in_the_papers_table_only_on_request() -> None:
    columns = {"Both & all": ("fpvg_plus", "overall", "all")}
    assert as_paper_latex(SUMMARY, columns).splitlines()[2:6] == [
        r"Model & Both \& all \\", r"\midrule", r"m2 & $10.00$ \\", r"m1 & $77.50$ \\",
    ]  # fmt: skip
    assert as_paper_latex(SUMMARY, columns, intervals=True, digits=1).splitlines()[4:6] == [
        r"m2 & $10.0$ [$2.3$, $20.0$] \\",
        r"m1 & $77.5$ [$65.0$, $90.1$] \\",
    ]


@pytest.mark.parametrize("intervals", [False, True])
def test_written_scores_are_the_four_tables(tmp_path: Path, intervals: bool) -> None:
    summary = summarise(SCORED, by=["answer_type"], resamples=10)
    write_scores(tmp_path, summary, PAPER, tex_intervals=intervals)
    names = ["scores.json", "scores.md", "scores.tex", "scores_long.tex"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert json.loads((tmp_path / "scores.json").read_text("utf-8")) == as_dict(summary)
    assert (tmp_path / "scores.md").read_text("utf-8") == as_markdown(summary) + "\n"
    assert (tmp_path / "scores_long.tex").read_text("utf-8") == as_latex(summary) + "\n"
    short = as_paper_latex(summary, PAPER, intervals=intervals)
    assert (tmp_path / "scores.tex").read_text("utf-8") == short + "\n"


def test_a_value_that_is_missing_is_null_in_json_and_an_empty_cell_elsewhere(tmp_path: Path) -> None:
    is_missing = (pl.col("group") == "type") & ((pl.col("model") == "m2") | (pl.col("subgroup") == ""))
    missing = SUMMARY.with_columns(value=pl.when(is_missing).then(None).otherwise("value"))
    write_scores(tmp_path, missing, {"Type": ("fpvg_plus", "type", "")})
    scores = json.loads((tmp_path / "scores.json").read_text("utf-8"))["fpvg_plus"]["type"]
    assert scores[""]["m2"] == {"scorer": "exact", "value": None, "n": 3, "low": None, "high": None}
    assert (tmp_path / "scores.md").read_text("utf-8").splitlines()[3:] == [
        "| fpvg_plus (exact) | type | (not known) | 4 |  | 3.50 |",
        "| good_correct (exact) | overall | all | 1200 |  | 65.00 [50.00, 80.00] |",
    ]
    assert r"fpvg\_plus (exact) & type & (not known) & 4 &  & $3.50$ \\" in (
        tmp_path / "scores_long.tex"
    ).read_text("utf-8")
    assert r"m1 & -- \\" in (tmp_path / "scores.tex").read_text("utf-8").splitlines()
