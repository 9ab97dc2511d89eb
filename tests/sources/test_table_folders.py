"""Tables in several files: which files a folder gives, and what is asked where it isn't clear."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import polars as pl
import pytest

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.opening import table_columns
from shortcut_miner.sources.questions.table_folders import (
    files_of_table,
    has_own_splits,
    split_for,
    splits_of,
)
from shortcut_miner.sources.questions.tables import (
    OWN_COLUMNS,
    Wanted,
    column_names,
    open_question_table,
    read_question_tables,
)

Fill = Callable[..., Path]
ROWS = {"question": ["Why?", "Who?"], "answer": ["so", "me"]}


@pytest.fixture
def fill(tmp_path: Path) -> Fill:
    """Return a function that makes a folder of empty files, with a card if there is one."""

    def make(*names: str, card: str | None = None) -> Path:
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).touch()
        if card is not None:
            (tmp_path / "README.md").write_text(f"---\n{card}\n---\n# Data\n")
        return tmp_path

    return make


def names_of(folder: Path) -> dict[str, list[str]]:
    return {
        split: [str(one.relative_to(folder)) for one in files] for split, files in splits_of(folder).items()
    }


def test_shards_are_one_table_in_the_order_of_their_names(fill: Fill) -> None:
    folder = fill("b.csv", "a.csv.gz", "c/d.csv", "notes.txt", ".hidden.csv", "pictures/1.jpg")
    assert names_of(folder) == {"": ["a.csv.gz", "b.csv", "c/d.csv"]}
    found = files_of_table([folder], "training")
    assert ([one.name for one in found.paths], found.notes) == (
        ["a.csv.gz", "b.csv", "d.csv"],
        (f"{folder.name}: 3 files",),
    )


def test_names_of_files_and_folders_tell_splits(fill: Fill) -> None:
    folder = fill(
        "data/train-00001-of-00002.parquet", "data/train-00000-of-00002.parquet", "val/part.parquet",
        "test_v2.parquet",
    )  # fmt: skip
    assert names_of(folder) == {
        "train": ["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet"],
        "test": ["test_v2.parquet"],
        "val": ["val/part.parquet"],
    }
    assert [one.name for one in files_of_table([folder], "validation").paths] == ["part.parquet"]
    assert has_own_splits([folder])
    assert not has_own_splits([folder, folder]) and not has_own_splits([folder / "test_v2.parquet"])


def test_a_card_names_the_files_of_its_default_configuration(fill: Fill) -> None:
    card = """configs:
- config_name: other
  data_files: x/*.csv
- config_name: main
  default: true
  data_files:
  - split: train
    path: ["m/a*.csv", m/b.csv]
  - split: validation
    path: m/v.csv"""
    folder = fill("m/b.csv", "m/a2.csv", "m/a1.csv", "m/v.csv", "x/1.csv", card=card)
    assert names_of(folder) == {"train": ["m/a1.csv", "m/a2.csv", "m/b.csv"], "validation": ["m/v.csv"]}


def test_a_card_without_configurations_leaves_it_to_names(fill: Fill) -> None:
    assert names_of(fill("train.csv", card="license: mit")) == {"train": ["train.csv"]}
    inner = "configs:\n- config_name: default\n  data_dir: inner"
    assert names_of(fill("inner/dev.csv", "inner/train.csv", card=inner)) == {
        "dev": ["inner/dev.csv"],
        "train": ["inner/train.csv"],
    }


@pytest.mark.parametrize("make", ["saved dictionary", "saved", "parquet"])
def test_what_datasets_writes_is_read(make: str, tmp_path: Path) -> None:
    table = datasets.Dataset.from_dict(ROWS)
    if make == "saved dictionary":
        datasets.DatasetDict({"train": table, "test": table}).save_to_disk(tmp_path)
        assert list(splits_of(tmp_path)) == ["train", "test"]
    elif make == "saved":
        table.save_to_disk(tmp_path, num_shards=2)
        assert [len(files) for files in splits_of(tmp_path).values()] == [2]
    else:
        (tmp_path / "data").mkdir()
        table.to_parquet(tmp_path / "data" / "train-00000-of-00001.parquet")
        table.to_parquet(tmp_path / "data" / "validation-00000-of-00001.parquet")
        assert list(splits_of(tmp_path)) == ["train", "validation"]
    files = [open_question_table(one) for one in files_of_table([tmp_path], "training").paths]
    wanted = Wanted(names=column_names(None, OWN_COLUMNS), is_own=True)
    assert read_question_tables(files, wanted).table["answer"].to_list() == ["so", "me"]


def test_pictures_beside_questions_are_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    image = [{"bytes": b"\xff" * 1000, "path": "1.jpg"}] * 2
    pl.DataFrame({**ROWS, "image": image}).write_parquet(path)
    asked: list[Any] = []

    def read(content: Any, columns: Any = None) -> pl.DataFrame:
        asked.append((content, columns))
        return flat_tables_read(content, columns)

    flat_tables_read = table_columns.read_frame
    monkeypatch.setattr(table_columns, "read_frame", read)
    wanted = Wanted(names=column_names(None, OWN_COLUMNS), is_own=True)
    assert len(read_question_tables([open_question_table(path)], wanted).table) == 2
    assert asked == [(path, ["question", "answer"])]  # of the file on disk, not of its bytes


@pytest.mark.parametrize(
    ("names", "card", "told"),
    [
        (
            ["x.txt"],
            None,
            r"got a folder without tables \(it has 'x.txt'\), expected Parquet, .* xlsx files\.",
        ),
        (["a.csv", "b.parquet"], None, r"got tables of several forms \('b.parquet', 'a.csv'\)"),
        (["train.csv", "more.csv"], None, "names tell no split ('more.csv') beside those of 'train'"),
        (["train.csv", "val.csv", "dev.csv"], None, "got the splits .*'val'.*, expected one for validation"),
        (
            ["a.csv"],
            "configs:\n- config_name: a\n- config_name: b",
            "got the configurations 'a', 'b', expected",
        ),
        (["a.csv"], "configs: yes, no", "got configs that are no list"),
        (["a.csv"], "a: [", "got a header that is no YAML"),
        (["a.csv"], "configs:\n- data_files: [{split: train}]", "got data_files without a path"),
        (["a.csv"], "configs:\n- data_files: 'b*.csv'", r"got no file that 'b\*.csv' fits"),
        (["a.csv"], "configs:\n- data_files: /a.csv", r"are not in the folder \('/a.csv'\)"),
        (["a.csv"], "configs:\n- data_files: ../*.csv", r"not in the folder \('../\*.csv'\)"),
        (["a.csv"], "configs:\n- data_files: hf://x/a.csv", r"not in the folder \('hf://x/a.csv'\)"),
        (["a.csv"], "configs:\n- data_files: a**b", r"got the path 'a\*\*b', expected a pattern of files in"),
    ],
)
def test_what_is_not_clear_is_asked(fill: Fill, names: list[str], card: str | None, told: str) -> None:
    folder = fill(*names, card=card)
    with pytest.raises(SourceError, match=told.replace("('more.csv')", r"\('more.csv'\)")) as caught:
        files_of_table([folder], "validation")
    assert str(caught.value).startswith(str(folder))


def test_a_saved_folder_that_is_not_whole_is_told(tmp_path: Path) -> None:
    (tmp_path / "dataset_dict.json").write_text(json.dumps({"splits": ["train"]}))
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "state.json").write_text("{}")
    with pytest.raises(
        SourceError, match=r"state\.json: got a record without _data_files, expected what save"
    ):
        splits_of(tmp_path)
    for text in ("[", '{"splits": "train"}', '{"splits": [1]}'):
        (tmp_path / "dataset_dict.json").write_text(text)
        with pytest.raises(SourceError, match=r"dataset_dict\.json: got a record without splits"):
            splits_of(tmp_path)


def test_a_test_split_stands_in_for_validation_but_not_beside_it() -> None:
    assert split_for("validation", ["train", "Test"], "x") == "Test"
    assert split_for("validation", ["test", " Val"], "x") == " Val"
    with pytest.raises(SourceError, match=r"x: got the splits 'dev', 'val', expected one for validation"):
        split_for("validation", ["dev", "val"], "x")
    with pytest.raises(SourceError, match=r"expected one for training \(train, training\)"):
        split_for("training", ["a"], "x")
    with pytest.raises(SourceError, match=r"^x: got no split in any row, expected one for training"):
        split_for("training", [""], "x")
