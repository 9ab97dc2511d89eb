"""Builds and scores from files: what is refused, in which words, what is left out, what holdouts do."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shortcut_miner as sm
from shortcut_miner.diagnostics.slices.outputs import BuildReport
from shortcut_miner.errors import ConfigError, SchemaError, ShortcutMinerError, SourceError
from shortcut_miner.exports.questions import read_question_sets
from shortcut_miner.schemas import SliceCover, SlicedQuestions, SliceItems, Slices, validated

ROWS = 240
KINDS = ("wh", "yes/no", "number")


def table_rows() -> list[dict[str, Any]]:
    """Rows of which those about clocks at night go wrong, and a few others."""
    draw = random.Random(0)
    rows = []
    for at in range(ROWS):
        kind, time = KINDS[at % 3], ("day", "night")[at // 3 % 2]
        thing = ("clock", "dog", "cup", None)[at // 6 % 4]
        wrong = (thing == "clock" and time == "night") or draw.random() < 0.2
        rows.append(
            {"id": at, "image": at // 2, "kind": kind, "time": time, "thing": thing, "wrong": int(wrong)}
        )
    return rows


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    pl.DataFrame(table_rows()).write_csv(path)
    return path


OPTIONS: dict[str, Any] = {"outcome_column": "wrong", "item_columns": "kind,time,thing", "min_count": 10}


def of_table(path: Path, **options: Any) -> BuildReport:
    return sm.slices.build(table=path, **OPTIONS | options)


def written(tmp_path: Path, rows: list[dict[str, Any]], name: str = "other.csv") -> Path:
    path = tmp_path / name
    frame = pl.DataFrame(rows)
    if path.suffix == ".csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path)
    return path


# ---- tables ----


def test_what_was_planted_is_found_and_said(table: Path) -> None:
    report = of_table(table)
    validated(report.slices, Slices, "slices")
    validated(report.items, SliceItems, "items")
    validated(report.cover, SliceCover, "cover")
    validated(report.questions, SlicedQuestions, "questions")
    worst = report.slices.row(0, named=True)
    assert worst["attributes"] == ["thing=clock", "time=night"]
    assert (worst["mean"], worst["is_redundant"]) == (1.0, False)
    assert report.cover["new_outcome"][0] >= worst["outcome_sum"]
    kept = len(report.slices.filter(pl.col("q_value") <= 0.05, ~pl.col("is_redundant")))
    assert report.words["slices"].endswith(f"(q <= 0.05), {kept} of them not redundant")
    assert report.counts["questions"] == report.counts["rows"] == ROWS
    assert set(report.questions["question"]) == {""}


@pytest.mark.parametrize("name", ["other.csv", "other.parquet"])
@pytest.mark.parametrize("form", [bool, str, float])
def test_outcomes_of_every_form(
    table: Path, tmp_path: Path, name: str, form: Callable[[int], object]
) -> None:
    rows = [row | {"wrong": form(row["wrong"])} for row in table_rows()]
    report = of_table(written(tmp_path, rows, name))
    assert report.figures["outcome"] == "wrong"
    assert report.slices.equals(of_table(table).slices)


def test_larger_outcomes_are_hundredths(table: Path, tmp_path: Path) -> None:
    report = of_table(written(tmp_path, [row | {"wrong": 100 * row["wrong"]} for row in table_rows()]))
    same = ["attributes", "count", "mean", "divergence", "share", "is_redundant"]
    assert report.figures["outcome"] == "error"
    assert report.slices.select(same).equals(of_table(table).slices.select(same))


def test_ids_images_words_and_labels_of_a_table(tmp_path: Path) -> None:
    rows = [row | {"text": f"Is it {row['time']}?", "labels": row["thing"] or ""} for row in table_rows()]
    report = of_table(
        written(tmp_path, rows), columns="question_id=id,image_id=image,question=text", item_columns="kind"
    )
    assert report.counts["images"] == ROWS // 2
    assert report.questions["question_id"].to_list() == sorted(str(at) for at in range(ROWS))
    both = report.slices.filter(pl.col("words").list.len() == 1, pl.col("objects").list.len() == 1)
    first = both.row(0, named=True)
    assert (first["words"], first["objects"]) == (["night"], ["clock"])


@pytest.mark.parametrize(
    ("change", "options", "told"),
    [
        (
            lambda at, row: row | {"wrong": 101} if at == 3 else row,
            {},
            "rows.csv: got 1 bad of 240 rows, expected none. Fix them, or skip them with --on-bad-row skip.\n"
            "  - line 5, wrong: got '101', expected a whole number from 0 to 100",
        ),
        (
            lambda at, row: row | {"wrong": ("NaN", "0.5", "", "x")[at]} if at < 4 else row,
            {},
            "rows.csv: got 4 bad of 240 rows, expected none. Fix them, or skip them with --on-bad-row skip.\n"
            "  - line 2, wrong: got 'NaN', expected a whole number from 0 to 100\n"
            "  - line 3, wrong: got '0.5', expected a whole number from 0 to 100\n"
            "  - line 4, wrong: got nothing, expected a whole number from 0 to 100\n"
            "  - line 5, wrong: got 'x', expected a whole number from 0 to 100",
        ),
        (
            lambda at, row: row | {"wrong": 30} if at == 0 else row,
            {"outcome": "wrong"},
            "rows.csv: got 1 bad of 240 rows, expected none. Fix them, or skip them with --on-bad-row skip.\n"
            "  - line 2, wrong: got '30', expected true or false, or 0 or 1",
        ),
        (
            lambda at, row: row | {"kind": at},
            {},
            "item_columns: got 'kind' of rows.csv, which has numbers, expected text: each number would be an "
            "item. Bin them first.",
        ),
        (
            lambda at, row: row | {"kind": f"k{at}"},
            {},
            "item_columns: got 'kind', which has 240 values in 240 rows, like an id, expected at "
            "most half as "
            "many values as rows. Change --item-columns.",
        ),
        (
            lambda at, row: row,
            {"item_columns": "kind,colour", "outcome_column": "loss"},
            "rows.csv: got no column 'loss', 'colour', expected some of 'id', 'image', 'kind', "
            "'time', 'thing', "
            "'wrong'. Name them by --outcome-column and --item-columns.",
        ),
        (
            lambda at, row: row,
            {"item_columns": "kind,wrong"},
            "item_columns: got 'wrong', expected others than the outcome, outcome and question_id, image_id, "
            "question, labels: these are no items. Leave it out, or rename the column.",
        ),
        (
            lambda at, row: row,
            {"item_columns": "a=b"},
            "item_columns: got 'a=b', expected different names of columns with commas between, without =. "
            "Change --item-columns.",
        ),
        (
            lambda at, row: row | {"id": at // 2},
            {"columns": "question_id=id"},
            "rows.csv: got 240 bad of 240 rows, expected none. Fix them.",
        ),
        (
            lambda at, row: row,
            {"columns": "question=text,labels=tags"},
            "rows.csv: got no column 'text', 'tags', expected some of ",
        ),
        (
            lambda at, row: row,
            {"item_columns": None},
            "rows.csv: got no column 'answer_type', 'question_type', expected some of ",
        ),
        (
            lambda at, row: row,
            {"holdout": 0.0001},
            "holdout: got all of 240 images on one side, expected some on both. Change --holdout or "
            "--seed, or "
            "give more images.",
        ),
        (
            lambda at, row: row,
            {"items": "objects"},
            "items: got objects without detections, expected labels for the images. Give --detections or a "
            "column of labels, or use --items words.",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_table_is_told(
    change: Callable[[int, dict[str, Any]], dict[str, Any]],
    options: dict[str, Any],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    text = pl.DataFrame(
        [{name: None if value is None else str(value) for name, value in change(*pair).items()}
         for pair in enumerate(table_rows())]
    )  # fmt: skip
    text.write_csv(tmp_path / "rows.csv", quote_style="never")
    with pytest.raises(ShortcutMinerError) as error:
        of_table(Path("rows.csv"), **options)
    assert str(error.value).startswith(told)


@pytest.mark.parametrize(("content", "told"), [("[]", "0 rows"), ("{}", "rows without columns")])
def test_a_table_without_rows_or_columns(content: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text(content)
    with pytest.raises(SourceError, match=f"got {told}, expected "):
        of_table(tmp_path / "rows.json")


def test_default_columns_of_a_table_are_those_that_are_there(tmp_path: Path) -> None:
    rows = [row | {"text": f"Is it {row['time']}?", "answer_type": row["thing"]} for row in table_rows()]
    path = written(tmp_path, rows)
    named = {"columns": "question=text", "item_columns": None}
    assert of_table(path, **named).slices.equals(
        of_table(path, **named | {"item_columns": "answer_type"}).slices
    )
    path = written(tmp_path, [{"text": row["text"], "wrong": row["wrong"]} for row in rows])
    assert {*of_table(path, **named).items["kind"]} == {"words"}


def test_bad_rows_can_be_skipped(tmp_path: Path, table: Path) -> None:
    rows = [*table_rows(), table_rows()[0] | {"wrong": 7000}]
    report = of_table(written(tmp_path, rows), on_bad_row="skip")
    assert not report.is_complete
    assert report.dropped == {"table: wrong: expected a whole number from 0 to 100": 1}
    assert report.slices.equals(of_table(table).slices)


@pytest.mark.parametrize(("outcome", "reason"), [(0, "no row is wrong"), (1, "every row is wrong")])
def test_nothing_to_find(tmp_path: Path, outcome: int, reason: str) -> None:
    report = of_table(
        written(tmp_path, [row | {"wrong": outcome} for row in table_rows()]), out=tmp_path / "out"
    )
    assert report.words["slices"] == f"none: {reason}"
    for table, schema in ((report.slices, Slices), (report.items, SliceItems), (report.cover, SliceCover)):
        assert validated(table, schema, "table").is_empty()
    assert sm.verify(tmp_path / "out").agrees


def test_columns_without_a_value_and_of_truth(tmp_path: Path) -> None:
    rows = [row | {"kind": None, "time": row["time"] == "day"} for row in table_rows()]
    for name in ("other.jsonl", "other.csv", "other.parquet"):
        path = tmp_path / name
        frame = pl.DataFrame(rows)
        frame.write_ndjson(path) if name.endswith("jsonl") else written(tmp_path, rows, name)
        with pytest.raises(ConfigError, match="got 'kind', which has no value in any row"):
            of_table(path)
        report = of_table(path, item_columns="time,thing")
        assert {"time=true", "time=false", "thing=dog"} <= {*report.items["item"]}


def test_other_reasons_to_find_nothing(table: Path, tmp_path: Path) -> None:
    assert of_table(table, min_count=500).words["slices"] == "none: no item is in 500 rows or more"
    path = written(tmp_path, [row | {"wrong": 30} for row in table_rows()])
    assert of_table(path).words["slices"] == "none: all rows have the error 0.3"


# ---- questions and answers ----


@pytest.fixture
def asked(tmp_path: Path) -> dict[str, Any]:
    """Questions as a table, and two models' answers: the second one fails at clocks."""
    rows = [
        {
            "question_id": f"q{row['id']:03}", "image_id": f"i{row['image']}", "answer": "yes",
            "question": f"Is the {row['thing'] or 'sky'} {row['time']}?", "answer_type": row["kind"],
        }
        for row in table_rows()
    ]  # fmt: skip
    questions = written(tmp_path, rows, "questions.csv")
    answers = {}
    for model in ("old", "new"):
        said = [
            {"question_id": row["question_id"],
             "answer": "no" if model == "new" and "clock" in row["question"] else "yes"}
            for row in rows
        ]  # fmt: skip
        answers[model] = tmp_path / f"{model}.json"
        answers[model].write_text(json.dumps(said))
    return {"questions": questions, "predictions": answers}


def test_where_the_newer_model_got_worse(asked: dict[str, Any]) -> None:
    report = sm.slices.build(**asked, min_count=10)
    assert report.figures["models"] == ["old", "new"]
    assert report.words["outcome"] == "accuracy lost from old to new: 25.0 points"
    worst = report.slices.row(0, named=True)
    assert (worst["words"], worst["mean"], worst["mean_b"]) == (["clock"], 1.0, 1.0)
    assert report.questions["accuracy"].to_list() == [100.0] * ROWS
    swapped = sm.slices.build(**asked, min_count=10, baseline="new")
    assert swapped.figures["models"] == ["new", "old"]
    key = ["words", "objects", "attributes"]
    both = report.slices.join(swapped.slices, on=key, validate="1:1")
    assert len(both) == len(report.slices) == len(swapped.slices)
    assert (both["outcome_sum"] == -both["outcome_sum_right"]).all()


def test_the_other_model_beside(asked: dict[str, Any]) -> None:
    report = sm.slices.build(**asked, min_count=10, outcome="wrong", baseline="new")
    assert report.words["outcome"] == "wrong answers of new, beside old: 25.0%"
    assert set(report.slices["mean_b"]) == {0.0}


def test_options_that_do_not_go_together(asked: dict[str, Any], table: Path, tmp_path: Path) -> None:
    one = {"questions": asked["questions"], "predictions": {"old": asked["predictions"]["old"]}}
    three = asked | {"predictions": asked["predictions"] | {"third": asked["predictions"]["old"]}}
    for given, told in (
        ({},
         "slices build: got no rows, expected one of a built folder, --questions and --table. "
         "Give one of"),
        (one | {"table": table}, "slices build: got questions and table, expected one of"),
        ({"questions": asked["questions"]},
         "predictions: missing, expected NAME=FILE of a model's "
         "answers. Give"),
        ({"table": table},
         "outcome_column: missing, expected the column that holds the outcome. "
         "Give --outcome-c"),
        ({"table": table, "outcome_column": "wrong", "baseline": "m"},
         "baseline: got a value with a table, expected none. Leave --baseline out."),
        (one | {"outcome_column": "x"},
         "outcome_column: got a value with questions, expected none. "
         "Leave --outcome-column out."),
        (one | {"outcome": "regression"},
         "outcome: got regression with one model, expected two: it "
         "is how much"),
        (one | {"baseline": "x"}, "baseline: got 'x', expected one of old. Name one of them."),
        (three,
         "predictions: got 3 models ('old', 'new', 'third'), expected one, or two to "
         "compare. Leave the"),
        (one | {"detections_info": table},
         f"detections_info: got {table} without detections, "
         f"expected both."),
        (one | {"item_columns": "colour"},
         "item_columns: got 'colour', expected some of "
         "question_type, answer_type"),
        (one | {"item_columns": "question_type"},
         "item_columns: got 'question_type', which has no "
         "value in any row"),
    ):  # fmt: skip
        with pytest.raises(ConfigError) as error:
            sm.slices.build(**given)
        assert str(error.value).startswith(told)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"min_count": 0}, "min_count: got 0, expected a whole number of 1 or more"),
        ({"min_count": 5, "min_support": 0.1}, "min_count and min_support: got 5 and 0.1, expected only one"),
        ({"min_support": 0.0}, "min_support: got 0.0, expected a number above 0, at most 1"),
        ({"max_length": 9}, "max_length: got 9, expected a whole number from 1 to 8"),
        ({"epsilon": -0.1}, "epsilon: got -0.1, expected a number from 0 to 1"),
        ({"holdout": 1.0}, "holdout: got 1.0, expected a number from 0, below 1"),
        ({"alpha": 0}, "alpha: got 0, expected a number above 0, at most 1"),
        ({"direction": "up"}, "direction: got 'up', expected one of worse, better, both"),
        ({"outcome_column": 7}, "outcome_column: got 7, expected a text"),
        ({"columns": "answer"}, "columns: got 'answer', expected NAME=COLUMN with NAME one of "),
    ],
)
def test_options_out_of_range(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as error:
        sm.slices.SlicesConfig(**options)
    assert str(error.value).startswith(told)


def test_missing_answers(asked: dict[str, Any], tmp_path: Path) -> None:
    said = json.loads(asked["predictions"]["old"].read_text())
    (tmp_path / "few.json").write_text(json.dumps(said[10:]))
    given = asked | {"predictions": asked["predictions"] | {"old": tmp_path / "few.json"}}
    with pytest.raises(
        SchemaError, match=r"predictions of old \(few.json\): 10 x question without a prediction"
    ):
        sm.slices.build(**given)
    report = sm.slices.build(**given, on_missing="skip", min_count=10)
    assert (report.is_complete, report.counts["questions"]) == (False, ROWS - 10)


def test_a_limit_keeps_the_first_questions(asked: dict[str, Any]) -> None:
    report = sm.slices.build(**asked, limit=60, min_count=5)
    assert report.questions["question_id"].to_list() == [f"q{at:03}" for at in range(60)]


# ---- holdouts ----


def test_a_holdout_keeps_images_together_and_tests_what_was_selected(tmp_path: Path, table: Path) -> None:
    report = of_table(table, columns="image_id=image,question_id=id", holdout=0.4, seed=3)
    sides = report.questions.group_by("image_id").agg(pl.col("is_held_out").n_unique())
    assert set(sides["is_held_out"]) == {1}
    held = report.questions.filter("is_held_out")
    assert 0.2 * ROWS < len(held) == report.figures["held_out"] < 0.6 * ROWS
    assert report.counts["rows"] == ROWS - len(held)
    selected = report.slices.filter(pl.col("q_value") <= 0.05, ~pl.col("is_redundant"))
    tested = report.slices.filter(pl.col("holdout_p").is_not_null())
    assert tested["slice_id"].to_list() == selected["slice_id"].to_list() != []
    for row in tested.iter_rows(named=True):
        inside = held.filter(
            pl.all_horizontal([pl.col("attributes").list.contains(one) for one in row["attributes"]])
        )
        assert row["holdout_count"] == len(inside)
        assert row["holdout_mean"] == pytest.approx(inside["outcome"].mean())
        divergence = inside["outcome"].mean() - held["outcome"].mean()  # type: ignore[operator]
        assert row["holdout_divergence"] == pytest.approx(divergence)
    assert report.words["on held-out rows"] == f"1 of {len(tested)} are so again (Holm's p <= 0.05)"
    pl.read_csv(table).sample(fraction=1, shuffle=True, seed=1).write_csv(tmp_path / "shuffled.csv")
    again = of_table(tmp_path / "shuffled.csv", columns="image_id=image,question_id=id", holdout=0.4, seed=3)
    assert again.slices.equals(report.slices)
    assert again.questions.equals(report.questions)


# ---- built folders and scores ----


def test_any_built_folder_has_rows(asked: dict[str, Any], tmp_path: Path) -> None:
    sm.slices.build(**asked, min_count=10, out=tmp_path / "first")
    answers = {"new": asked["predictions"]["new"]}
    report = sm.slices.build(tmp_path / "first", predictions=answers, min_count=10, out=tmp_path / "second")
    direct = sm.slices.build(questions=asked["questions"], predictions=answers, min_count=10)
    assert report.slices.equals(direct.slices)
    assert sm.repeat(tmp_path / "second").agrees
    manifest = json.loads((tmp_path / "second" / "manifest.json").read_text())
    assert [one["role"] for one in manifest["inputs"]] == ["predictions of new", "folder"]


def test_scores_in_slices(asked: dict[str, Any], tmp_path: Path) -> None:
    new = {"new": asked["predictions"]["new"]}
    report = sm.slices.build(
        questions=asked["questions"], predictions=new, min_count=10, out=tmp_path / "out"
    )
    both = {"old": asked["predictions"]["old"]} | new
    scored = sm.slices.score(tmp_path / "out", both, resamples=10, baseline="old")
    told = {
        (group, subgroup, model): (value, n)
        for group, subgroup, model, value, n in scored.scores.select(
            "group", "subgroup", "model", "value", "n"
        ).iter_rows()
    }
    assert told == {
        ("overall", "all", "new"): (25.0, ROWS), ("overall", "all", "old"): (0.0, ROWS),
        ("slice", "word=clock", "new"): (100.0, 60), ("slice", "word=clock", "old"): (0.0, 60),
    }  # fmt: skip
    assert scored.differences is not None
    assert scored.differences["value"].to_list() == [25.0, 100.0]
    of_new = scored.slice_scores.filter(model="new")
    assert of_new["mean"].to_list() == report.slices["mean"].to_list() == of_new["mean_built"].to_list()
    assert of_new["count"].to_list() == report.slices["count"].to_list()
    assert of_new["divergence"].to_list() == pytest.approx(report.slices["divergence"].to_list())
    assert set(scored.slice_scores.filter(model="old")["mean"]) == {0.0}


def test_scores_of_a_regression_are_against_its_older_model(asked: dict[str, Any], tmp_path: Path) -> None:
    sm.slices.build(**asked, min_count=10, out=tmp_path / "out")
    scored = sm.slices.score(tmp_path / "out", asked["predictions"], resamples=0)
    overall = scored.scores.filter(group="overall").select("metric", "model", "value").rows()
    assert overall == [("accuracy_lost", "new", 25.0), ("accuracy_lost", "old", 0.0)]


def test_scores_that_can_not_be(asked: dict[str, Any], table: Path, tmp_path: Path) -> None:
    of_table(table, out=tmp_path / "table")
    with pytest.raises(
        SourceError, match="table: got slices of a table with outcomes, expected those of quest"
    ):
        sm.slices.score(tmp_path / "table", asked["predictions"])
    with pytest.raises(SourceError, match="Build slices of questions"):
        sm.export(tmp_path / "table", "vqa-json", out=tmp_path / "exported")
    with pytest.raises(ConfigError, match="predictions: got no models, expected one at least"):
        sm.slices.score(tmp_path / "table", {})
    with pytest.raises(ConfigError, match="baseline: got 'x', expected one of old, new"):
        sm.slices.score(tmp_path / "table", asked["predictions"], baseline="x")


def test_questions_of_slices_are_offered(asked: dict[str, Any], tmp_path: Path) -> None:
    new = {"new": asked["predictions"]["new"]}
    sm.slices.build(questions=asked["questions"], predictions=new, min_count=10, out=tmp_path / "out")
    sets = read_question_sets(tmp_path / "out").sets["slices"]
    assert {name: len(rows) for name, rows in sets.items()} == {"in_slices": 60, "elsewhere": ROWS - 60}
