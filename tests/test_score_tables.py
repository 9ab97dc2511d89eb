import json
import math

import polars as pl
import pytest

from shortcut_miner.errors import SchemaError
from shortcut_miner.scoring.intervals import compare, summarise
from shortcut_miner.scoring.tables import as_dict, as_latex, as_markdown

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
