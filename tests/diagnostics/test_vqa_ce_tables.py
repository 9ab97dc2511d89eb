"""vqa-ce build on anybody's tables: the same rows give the same split in every form; cuts; groups."""

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import datasets
import polars as pl
import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as st

import shortcut_miner as sm
from shortcut_miner.diagnostics.vqa_ce.build import build
from shortcut_miner.diagnostics.vqa_ce.config import COLUMNS, VqaCeConfig, VqaCeFiles
from shortcut_miner.diagnostics.vqa_ce.inputs import VqaCeInputs, read_inputs
from shortcut_miner.errors import ConfigError, ShortcutMinerError, SourceError
from shortcut_miner.repeating import repeat
from shortcut_miner.sources.questions.table_rows import OWN_COLUMNS

datasets.disable_progress_bars()
Rows = list[dict[str, Any]]
FORMS = ("parquet", "arrow", "csv", "tsv", "jsonl", "json", "xlsx")
EASY = {"easy": 4_761, "counterexamples": 3_169, "hard": 1_047}


# ---- the same rows in every form ----


def write_rows(rows: Rows, path: Path) -> Path:
    """Write rows in the form that the ending of the path says; in text lists are JSON, nulls empty."""
    form = path.suffix[1:]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    if form == "parquet":
        frame.write_parquet(path)
    elif form == "arrow":
        frame.write_ipc(path)
    elif form in ("json", "jsonl"):
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        path.write_text(f"[{','.join(lines)}]" if form == "json" else "\n".join(lines) + "\n")
    else:
        cells = [[as_cell(one) for one in row.values()] for row in rows]
        write_cells([[*rows[0]], *cells], path, form)
    return path


def write_cells(cells: list[list[str]], path: Path, form: str) -> None:
    if form == "xlsx":
        with xlsxwriter.Workbook(path) as book:
            sheet = book.add_worksheet()
            for row, values in enumerate(cells):
                for column, value in enumerate(values):
                    sheet.write_string(row, column, value)
        return
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter="\t" if form == "tsv" else ",").writerows(cells)


def as_cell(value: Any) -> str:
    if value is None:
        return ""
    return json.dumps(value) if isinstance(value, list) else str(value)


def write_vqa(parts: Mapping[str, Rows], folder: Path) -> VqaCeFiles:
    """Write rows as VQA's two files a split, and detections."""
    found: dict[str, Any] = {}
    for split, rows in parts.items():
        questions = [{name: row[name] for name in ("question_id", "image_id", "question")} for row in rows]
        annotations = [
            {name: row[name] for name in ("question_id", "image_id", "question_type", "answer_type")}
            | {"multiple_choice_answer": row["answer"]}
            | {"answers": [{"answer": one, "answer_id": at} for at, one in enumerate(row["answers"], 1)]}
            for row in rows
        ]
        for name, listed in (("questions", questions), ("annotations", annotations)):
            found[f"{split}_{name}"] = folder / f"{split}_{name}.json"
            found[f"{split}_{name}"].write_text(json.dumps({name: listed}))
    labels = {
        row["image_id"]: row["labels"] for rows in parts.values() for row in rows if row["labels"] is not None
    }
    detections = folder / "detections.json"
    detections.write_text(
        json.dumps({image: {"classes": one, "scores": [0.9] * len(one)} for image, one in labels.items()})
    )
    return VqaCeFiles(**found, detections=(detections,) if labels else None)


def write_hugging_face(parts: Mapping[str, Rows], folder: Path) -> VqaCeFiles:
    tables = {
        name: datasets.Dataset(pl.DataFrame(rows, schema=SCHEMA).to_arrow()) for name, rows in parts.items()
    }
    datasets.DatasetDict({"train": tables["train"], "validation": tables["val"]}).save_to_disk(folder / "hf")
    return VqaCeFiles(table=(folder / "hf",))


TEXT = st.sampled_from(
    ["a", "b c", "it's", 'say "x"', "tab\there", "line\nbreak", "é", "n/a", "null", "1.0", "|"]
)
WORD = st.sampled_from(["red", "yes", "no", "None", "2", "n/a", "null", 'a "b"', "x, y", "é"])
SCHEMA = {
    "question_id": pl.String, "image_id": pl.String, "question": pl.String, "question_type": pl.String,
    "answer_type": pl.String, "answer": pl.String,
    "answers": pl.List(pl.String), "labels": pl.List(pl.String),
}  # fmt: skip


@st.composite
def row_lists(draw: st.DrawFn) -> dict[str, Rows]:
    """Draw training and validation rows; questions of one image have the same labels."""
    images = [f"i{at}" for at in range(draw(st.integers(1, 4)))]
    labels = {image: draw(st.none() | st.lists(WORD, max_size=3, unique=True)) for image in images}
    parts: dict[str, Rows] = {}
    for split, size in (("train", 8), ("val", 5)):
        parts[split] = []
        for at in range(draw(st.integers(1, size))):
            image, answers = draw(st.sampled_from(images)), draw(st.lists(WORD, min_size=1, max_size=3))
            parts[split].append(
                {
                    "question_id": f"{split}{at}",
                    "image_id": image,
                    "question": " ".join(draw(st.lists(TEXT, min_size=1, max_size=3))),
                    "question_type": draw(st.none() | TEXT),
                    "answer_type": draw(st.none() | st.just("other")),
                    "answer": draw(st.sampled_from(answers)),
                    "answers": answers,
                    "labels": labels[image],
                }
            )
    return parts


@given(parts=row_lists(), items=st.sampled_from(["both", "words"]))
@settings(max_examples=6)
def test_the_same_rows_give_the_same_split_in_every_form(
    tmp_path_factory: pytest.TempPathFactory, parts: dict[str, Rows], items: Any
) -> None:
    folder = tmp_path_factory.mktemp("forms")
    files = {form: write_tables(parts, folder, form) for form in FORMS}
    files["hugging face"] = write_hugging_face(parts, folder)
    files["vqa"] = write_vqa(parts, folder)
    config = VqaCeConfig(items="words" if files["vqa"].detections is None else items, min_count=1)
    built = {form: build(one, config, None) for form, one in files.items()}
    expected = built.pop("vqa")
    for form, one in built.items():
        for name in ("rules", "split"):
            table, wanted = getattr(one, name), getattr(expected, name)
            assert table.schema == wanted.schema, form
            assert table.equals(wanted), form


def write_tables(parts: Mapping[str, Rows], folder: Path, form: str) -> VqaCeFiles:
    paths = {name: write_rows(rows, folder / f"{name}.{form}") for name, rows in parts.items()}
    return VqaCeFiles(table=(paths["train"],), val_table=(paths["val"],))


def frames_of(inputs: VqaCeInputs, min_score: float = 0.5) -> dict[str, pl.DataFrame]:
    """Return the questions read from VQA's files as tables with the labels of their images."""
    assert inputs.labels is not None
    certain = inputs.labels.filter(pl.col("score").fill_null(1.0) >= min_score)
    listed = certain.group_by("image_id", maintain_order=True).agg(labels="label")
    known = inputs.labels["image_id"].unique().implode()
    return {
        name: table.join(listed, on="image_id", how="left", maintain_order="left")
        .with_columns(labels=pl.when(pl.col("image_id").is_in(known)).then(pl.col("labels").fill_null([])))
        .drop("answer_record_key", "split")
        for name, table in (("train", inputs.train), ("val", inputs.val))
    }


@pytest.mark.sample(1)
@pytest.mark.real
@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_the_real_subset_as_tables_has_the_golden_counts(
    form: str, real_files: VqaCeFiles, tmp_path: Path
) -> None:
    parts = {
        name: frame.to_dicts()
        for name, frame in frames_of(read_inputs(real_files, VqaCeConfig(items="both"))).items()
    }
    report = build(write_tables(parts, tmp_path, form), VqaCeConfig(), None)
    assert dict(report.split["subset"].value_counts().iter_rows()) == EASY
    assert len(report.rules) == 20_178


# ---- cuts ----


@pytest.fixture(scope="module")
def spam(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of a table of texts with one label each, their users and genres."""
    rows = [
        {"text": f"win {word} now", "gold": label, "user": f"u{at % 20}", "genre": "mail" if at % 3 else ""}
        for at in range(60)
        for word, label in (("cash", "spam"), ("love", "ham"))
    ]
    return write_rows(rows, tmp_path_factory.mktemp("spam") / "spam.csv")


NAMES = "question=text,answer=gold"


def ids_of(path: Path, **options: Any) -> set[str]:
    inputs = read_inputs(VqaCeFiles(table=(path,)), VqaCeConfig(items="words", **options))
    assert {*inputs.train["group"]}.isdisjoint({*inputs.val["group"]})
    return {*inputs.val["group"]}


def test_a_share_takes_whole_groups_whatever_the_order_of_rows(spam: Path, tmp_path: Path) -> None:
    options = {"columns": f"{NAMES},group=user", "val_share": 0.3}
    groups = ids_of(spam, **options)
    lines = spam.read_text().splitlines()
    (tmp_path / "turned.csv").write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    assert ids_of(tmp_path / "turned.csv", **options) == groups
    # A group's side does not depend on the other groups.
    (tmp_path / "part.csv").write_text("\n".join(lines[:21]) + "\n")
    assert ids_of(tmp_path / "part.csv", **options) == groups & {f"u{at}" for at in range(10)}
    assert ids_of(spam, **options, seed=1) != groups
    assert groups < ids_of(spam, **options | {"val_share": 0.9})


def test_the_share_that_was_reached_is_told(spam: Path) -> None:
    report = sm.vqa_ce.build(table=spam, columns=f"{NAMES},group=user", val_share=0.3, min_count=3)
    counts = report.counts
    rows, groups = counts["val_questions"], counts["val_groups"]
    assert f"--val-share 0.3: {rows} of 120 rows ({rows / 120:.1%}), {groups} of 20 groups" in report.notes
    assert counts["train_questions"] + rows == 120
    assert "train_images" not in counts
    assert f"{rows} questions in {groups} groups" in str(report)


def test_a_share_that_leaves_one_side_empty_is_told(spam: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"val_share: got no validation rows with 1e-09 of 120 groups and seed 0"
    ):
        sm.vqa_ce.build(table=spam, columns=NAMES, val_share=1e-9)


def test_a_column_says_which_rows_are_split(tmp_path: Path) -> None:
    splits = ["train", "dev", "train", "test", "Train"]
    rows = [{"question": "Q", "answer": "a", "part": part} for part in splits]
    path = write_rows(rows[:4], tmp_path / "t.csv")
    files, config = VqaCeFiles(table=(path,)), VqaCeConfig(items="words", split_column="part")
    inputs = read_inputs(files, config)
    assert inputs.train["question_id"].to_list() == ["1", "3"]
    assert inputs.val["question_id"].to_list() == ["2"]
    assert (
        "--split-column part: mined from 'train', split 'dev'; rows left out: 1 of 'test'"
        in inputs.facts.notes
    )
    assert len(read_inputs(files, config, limit=1).train) == 1
    write_rows(rows, path)
    with pytest.raises(
        SourceError, match=r"got the splits 'Train', 'dev', 'test', 'train', expected one for train"
    ):
        read_inputs(files, config)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, r"table: got nothing that says which rows are split, .* Give --val-table, --spl"),
        ({"val_share": 0.5, "split_column": "s"}, r"split_column and val_share: got 's' and 0.5, expected"),
        ({"val_share": 0.5, "val_table": "t.csv"}, r"val_table and val_share: got both, expected only one"),
        ({"val_share": 1.0}, r"val_share: got 1.0, expected a number above 0, below 1"),
        ({"item_columns": "a,,b"}, r"item_columns: got 'a,,b', expected different names of columns"),
        ({"item_columns": "a=b"}, r"item_columns: got 'a=b', expected"),
        ({"columns": "words=x"}, r"columns: got 'words=x', expected NAME=COLUMN with NAME .*labels, group\."),
        ({"columns": "labels=x", "detections": "d.json", "val_share": 0.5}, "columns, detections: got"),
        ({"items": "both", "val_share": 0.5, "columns": NAMES}, "items: got both .*, or a column of labels"),
    ],
)  # fmt: skip
def test_options_without_meaning_are_told(spam: Path, options: dict[str, Any], told: str) -> None:
    with pytest.raises(ShortcutMinerError, match=told):
        sm.vqa_ce.build(table=spam, **options)


def test_all_columns_that_are_read_can_be_named() -> None:
    assert COLUMNS == OWN_COLUMNS


def test_options_of_tables_need_a_table(world_files: VqaCeFiles) -> None:
    with pytest.raises(
        ConfigError, match=r"columns, val_share: got options of a table without one, expected --t"
    ):
        build(world_files, VqaCeConfig(columns="answer=x", val_share=0.2), None)
    with pytest.raises(ConfigError, match=r"^train_questions, val_questions: missing, .* or --table\.$"):
        sm.vqa_ce.build()
    with pytest.raises(ConfigError, match=r"^table: missing, expected .* Give --table\.$"):
        sm.vqa_ce.build(val_table="x.csv")


def test_a_folder_with_splits_is_not_cut(tmp_path: Path) -> None:
    for split in ("train", "validation"):
        write_rows([{"question": "Q", "answer": "a"}], tmp_path / f"{split}.csv")
    with pytest.raises(
        ConfigError, match=r"table: got a folder with splits of its own .* and a cut, expected one"
    ):
        sm.vqa_ce.build(table=tmp_path, val_share=0.5)
    report = sm.vqa_ce.build(table=tmp_path, min_count=1)
    assert report.split["question_id"].to_list() == ["2"]  # numbered through both


# ---- what a build of a table is good for ----


@pytest.fixture(scope="module")
def built(spam: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("built") / "out"
    sm.vqa_ce.build(
        table=spam, columns=f"{NAMES},group=user", item_columns="genre", val_share=0.4, min_count=3,
        holdout=True, out=out,
    )  # fmt: skip
    return out


def test_scores_have_intervals_over_groups(built: Path, tmp_path: Path) -> None:
    questions = pl.read_parquet(built / "questions.parquet")
    path = write_rows(
        [{"question_id": one, "answer": "ham"} for one in questions["question_id"]], tmp_path / "p.jsonl"
    )
    report = sm.vqa_ce.score(built, {"m": path}, resamples=100, baseline="m")
    groups = questions["group"].n_unique()
    assert f"intervals by bootstrap over groups: {groups}" in report.notes
    overall = report.scores.filter(group="overall", model="m").row(0, named=True)
    # Each user wrote as much of both: every resample of users has the same accuracy, one of texts has not.
    assert (overall["value"], overall["low"], overall["high"]) == (50.0, 50.0, 50.0)


def test_explain_and_repeat_work_on_tables(built: Path) -> None:
    some = pl.read_parquet(built / "questions.parquet")["question_id"][0]
    assert "rules fire" in str(sm.vqa_ce.explain(built, some))
    assert repeat(built).agrees


def test_halves_of_a_holdout_keep_groups_together(spam: Path) -> None:
    options = {"columns": f"{NAMES},group=user", "val_share": 0.4, "min_count": 3}
    report = sm.vqa_ce.build(table=spam, holdout=True, **options)
    counts = report.counts
    assert counts["train_rows"] % 6 == counts["holdout_rows"] % 6 == 0  # each user wrote six texts


def test_a_folder_of_tables_can_be_built_again_from_elsewhere(tmp_path: Path) -> None:
    rows = [{"question": f"Q {at % 3}", "answer": f"{at % 3}"} for at in range(30)]
    (tmp_path / "data").mkdir()
    for name, part in (("train-0", rows[:10]), ("train-1", rows[10:20]), ("test", rows[20:])):
        write_rows(part, tmp_path / "data" / f"{name}.csv")
    out = tmp_path / "out"
    sm.vqa_ce.build(table=tmp_path / "data", min_count=2, out=out)
    assert repeat(out).agrees
    roles = [one["role"] for one in json.loads((out / "manifest.json").read_text())["inputs"]]
    assert roles == ["table", "table", "val_table"]
    (tmp_path / "data").rename(tmp_path / "moved")
    assert repeat(out, data_dir=tmp_path / "moved").agrees


def test_labels_are_left_alone_where_detections_are_given(tmp_path: Path) -> None:
    rows = [{"image_id": "1", "question": "Q", "answer": "a", "labels": ["own"]}]
    table = write_rows(rows, tmp_path / "t.jsonl")
    (tmp_path / "d.json").write_text(json.dumps({"1": {"classes": ["seen"], "scores": [0.9]}}))
    both = {"table": table, "val_table": table, "min_count": 1}
    report = sm.vqa_ce.build(**both, detections=tmp_path / "d.json")
    assert report.questions["objects"].to_list() == [["seen"]]
    assert sm.vqa_ce.build(**both).questions["objects"].to_list() == [["own"]]
    assert sm.vqa_ce.build(**both, items="words").questions["objects"].to_list() == [None]
    assert "column labels: left alone, objects are those of --detections" in report.notes


def test_images_in_both_tables_are_told_and_answers_in_one_only_are_a_warning(tmp_path: Path) -> None:
    rows = {"question": ["Why?"] * 3, "image_id": ["1", "2", "3"], "answer": ["a", "b", "a"]}
    pl.DataFrame(rows).write_csv(tmp_path / "train.csv")
    others = {"question": ["Why?"] * 2, "image_id": ["3", "4"], "answer": ["a", "d"]}
    pl.DataFrame(others).write_csv(tmp_path / "val.csv")
    files = VqaCeFiles(table=(tmp_path / "train.csv",), val_table=(tmp_path / "val.csv",))
    facts = read_inputs(files, VqaCeConfig(items="words")).facts
    assert "images in both splits: 1 of 2 of the validation questions" in facts.notes
    assert facts.warnings == ()
    pl.DataFrame(others | {"answer": ["1.0", "d"]}).write_csv(tmp_path / "val.csv")
    assert read_inputs(files, VqaCeConfig(items="words")).facts.warnings == (
        "validation answers: got '1.0', 'd', none of them an answer of a training question ('a', 'b'), "
        "expected some in both: no rule can be right. Check the columns.",
    )
    pl.DataFrame(others).drop("image_id").write_csv(tmp_path / "val.csv")
    pl.DataFrame(rows).drop("image_id").write_csv(tmp_path / "train.csv")
    assert not [
        note for note in read_inputs(files, VqaCeConfig(items="words")).facts.notes if "both splits" in note
    ]


@pytest.mark.parametrize(("columns", "item"), [(None, "answer"), ("answer=gold", "gold"), (None, "answers")])
def test_answers_are_no_items(tmp_path: Path, columns: str | None, item: str) -> None:
    rows = {"question": ["Why?"], "answer": ["a"], "gold": ["b"], "answers": ["c"]}
    pl.DataFrame(rows).write_csv(tmp_path / "t.csv")
    files = VqaCeFiles(table=(tmp_path / "t.csv",))
    config = VqaCeConfig(columns=columns, item_columns=item, val_share=0.5, items="words")
    what = "answers" if item == "answers" else "answer"
    with pytest.raises(ConfigError) as error:
        read_inputs(files, config)
    assert str(error.value) == (
        f"item_columns: got {item}, which is the column of the {what}, expected others: an answer that is an "
        "item tells itself. Leave it out."
    )


def test_a_column_is_named_once() -> None:
    with pytest.raises(ConfigError) as error:
        VqaCeConfig(columns="answer=a, answer=b")
    assert str(error.value) == "columns: got answer twice (a and b), expected it once. Change --columns."
