"""Hugging Face's ClassLabel: numbers with names beside, in every place where `datasets` writes the names."""

import json
from pathlib import Path
from typing import Any

import datasets
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.answers.predictions import read_predictions
from shortcut_miner.sources.opening.class_labels import classes_in_features, named_values
from shortcut_miner.sources.questions.table_folders import files_of_table
from shortcut_miner.sources.questions.table_rows import OWN_COLUMNS, Wanted
from shortcut_miner.sources.questions.tables import column_names, open_question_table, read_question_tables

datasets.disable_progress_bars()
NAMES = ["entailment", "neutral", "contradiction"]
ROWS = {"text": ["a", "b", "c", "d"], "label": [2, 0, 1, -1], "tags": [[1], [], [1, 0], [0]]}
FEATURES = datasets.Features(
    text=datasets.Value("string"),
    label=datasets.ClassLabel(names=NAMES),
    tags=datasets.List(datasets.ClassLabel(names=["u", "v"])),
)
NAMED = ["contradiction", "entailment", "neutral"]
NOTE = "label, numbers of classes read as their names"


def dataset() -> datasets.Dataset:
    return datasets.Dataset.from_dict(ROWS, features=FEATURES)


def read(place: Path, **options: Any) -> Any:
    found = files_of_table([place], "training")
    wanted = Wanted(names=column_names("question=text,answer=label", OWN_COLUMNS), is_own=True)
    tables = list(map(open_question_table, found.paths, found.classes))
    return read_question_tables(tables, wanted, on_bad_row="skip", **options)


def with_card(folder: Path, name: str, info: object) -> Path:
    configs = [{"config_name": "default", "data_files": name}]
    header = yaml.safe_dump({"configs": configs, "dataset_info": info})
    (folder / "README.md").write_text(f"---\n{header}---\n# A set\n")
    return folder


def test_names_stand_in_the_metadata_of_parquet_and_arrow(tmp_path: Path) -> None:
    dataset().to_parquet(tmp_path / "rows.parquet")
    dataset().save_to_disk(tmp_path / "saved")
    for place in (tmp_path / "rows.parquet", tmp_path / "saved", *(tmp_path / "saved").glob("*.arrow")):
        reading = read(place)
        assert reading.table["answer"].to_list() == NAMED
        assert reading.dropped == {"answer: expected an answer, or a list of answers": 1}
        assert f"{NOTE}: 4" in reading.notes


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("place", ["card", "cards", "record"])
def test_names_stand_beside_files_that_do_not_have_them(tmp_path: Path, form: str, place: str) -> None:
    plain = pl.DataFrame({name: ROWS[name] for name in ("text", "label")})
    {"parquet": plain.write_parquet, "csv": plain.write_csv, "jsonl": plain.write_ndjson}[form](
        tmp_path / f"rows.{form}"
    )
    info = dataset().info._to_yaml_dict()
    if place == "record":
        (tmp_path / "dataset_info.json").write_text(json.dumps({"features": FEATURES.to_dict()}))
    else:
        others = {"config_name": "other", "features": [{"name": "label", "dtype": "int64"}]}
        with_card(
            tmp_path,
            f"rows.{form}",
            [others, {"config_name": "default", **info}] if place == "cards" else info,
        )
    assert read(tmp_path).table["answer"].to_list() == NAMED


def test_lists_of_classes_are_lists_of_names(tmp_path: Path) -> None:
    dataset().to_parquet(tmp_path / "rows.parquet")
    wanted = Wanted(names=column_names("question=text,answer=text,labels=tags", OWN_COLUMNS), is_own=True)
    reading = read_question_tables([open_question_table(tmp_path / "rows.parquet")], wanted)
    assert reading.table["labels"].to_list() == [["v"], [], ["v", "u"], ["u"]]
    assert named_values([[1], [], None], ["u", "v"], "x") == ([["v"], [], None], 1)


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_a_number_without_a_class_is_an_error(tmp_path: Path, form: str) -> None:
    rows = pl.DataFrame({"text": ["a", "b"], "label": [7, 0]})
    {"parquet": rows.write_parquet, "csv": rows.write_csv, "jsonl": rows.write_ndjson}[form](
        tmp_path / f"rows.{form}"
    )
    with pytest.raises(SourceError) as error:
        read(with_card(tmp_path, f"rows.{form}", dataset().info._to_yaml_dict()))
    assert str(error.value) == (
        f"{tmp_path}/rows.{form}, column label: got 1 values that are no class ('7'), expected 0 to 2, or "
        "one of 'entailment', 'neutral', 'contradiction'. Correct them, or the names of the classes in the "
        "dataset's features."
    )


def test_predictions_have_names_too(tmp_path: Path) -> None:
    features = datasets.Features(question_id=datasets.Value("string"), answer=FEATURES["label"])
    rows = {"question_id": ["1", "2"], "answer": [1, 0]}
    datasets.Dataset.from_dict(rows, features=features).to_parquet(tmp_path / "p.parquet")
    assert read_predictions(tmp_path / "p.parquet").table["answer"].to_list() == ["neutral", "entailment"]


@given(
    st.lists(st.sampled_from(["0", "1", "2", "3", "-1", "a", "b"]), min_size=1, unique=True),
    st.data(),
)
def test_every_form_names_as_datasets_does(names: list[str], data: st.DataObject) -> None:
    feature = datasets.ClassLabel(names=names)
    numbers = data.draw(st.lists(st.none() | st.integers(-1, len(names) - 1), min_size=1))
    expected = [None if one is None or one < 0 else feature.int2str(one) for one in numbers]
    assert named_values(numbers, names, "x")[0] == expected
    texts = data.draw(st.lists(st.sampled_from(names)))
    assert named_values(texts, names, "x")[0] == texts == feature.int2str(feature.str2int(texts))


@pytest.mark.parametrize(
    "features",
    [
        None, [], {}, "label", [1], {"a": None}, {"a": {"_type": "ClassLabel"}},
        [{"name": "a", "dtype": "int64"}], {"a": {"_type": "ClassLabel", "names": [1]}},
        [{"name": "a", "dtype": {"class_label": {"names": {"5": "x"}}}}],
    ],
)  # fmt: skip
def test_features_without_classes_have_none(features: object) -> None:
    assert classes_in_features(features) == {}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"info": 1}', '{"info": {"features": 3}}', "null"])
def test_metadata_of_others_is_left_alone(tmp_path: Path, text: str) -> None:
    table = pa.table({"text": ["a"], "label": [0]}).replace_schema_metadata({"huggingface": text})
    pq.write_table(table, tmp_path / "rows.parquet")
    assert read(tmp_path / "rows.parquet").table["answer"].to_list() == ["0"]
