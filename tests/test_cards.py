from datetime import date
from pathlib import Path

import polars as pl
import yaml
from exports.cases import loaded
from polars.testing import assert_frame_equal

from shortcut_miner.datasets.cards import write_table_card
from shortcut_miner.publishing import published_folder, staged_folder
from shortcut_miner.storage import Provenance, write_json


def write_tables(folder: Path, **tables: pl.DataFrame) -> dict[str, object]:
    """Write tables and their card, and return its header."""
    for name, table in tables.items():
        table.write_parquet(folder / f"{name}.parquet")
    write_table_card(folder, "mine", "1.0")
    text = (folder / "README.md").read_text(encoding="utf-8")
    found: dict[str, object] = yaml.safe_load(text.split("---\n")[1])
    return found


def configs(header: dict[str, object]) -> dict[str, bool]:
    """Return the configurations, and whether each is the default one."""
    assert isinstance(header["configs"], list)
    return {one["config_name"]: one.get("default", False) for one in header["configs"]}


SOME = pl.DataFrame({"yes": [1, None], "no": ["null", "a: b"]})


def test_the_table_that_a_folder_is_about_opens_without_a_name(tmp_path: Path) -> None:
    for place, names, default in (
        ("a", ("matches", "rules", "questions"), "questions"),
        ("b", ("counts", "scores"), "scores"),
        ("c", ("sweep", "other"), "other"),
    ):
        folder = tmp_path / place
        folder.mkdir()
        found = configs(write_tables(folder, **dict.fromkeys(names, SOME)))
        assert found == {name: name == default for name in sorted(names)}


def test_tables_of_all_types_open_and_those_without_rows_are_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    lists = pl.DataFrame({"a": [[["x"], None], []], "b": [[1.5], None]}).with_columns(
        c=pl.Series([1, None], dtype=pl.UInt8), d=pl.Series([0.5, None], dtype=pl.Float32), e=True
    )
    dates = pl.DataFrame({"day": [date(2026, 1, 1)]})  # the library guesses what it is
    header = write_tables(folder, lists=lists, dates=dates, empty=lists.clear(), texts=SOME)
    assert configs(header) == {"dates": True, "lists": False, "texts": False}
    assert isinstance(header["dataset_info"], list)
    assert [one["config_name"] for one in header["dataset_info"]] == ["lists", "texts"]
    tables, _ = loaded(folder, tmp_path)
    assert_frame_equal(tables["lists", "train"], lists)
    assert_frame_equal(tables["texts", "train"], SOME)
    assert tables["dates", "train"]["day"].to_list() == [date(2026, 1, 1)]


def test_a_folder_without_rows_has_no_card(tmp_path: Path) -> None:
    SOME.clear().write_parquet(tmp_path / "empty.parquet")
    write_table_card(tmp_path, "mine", "1.0")
    assert not (tmp_path / "README.md").exists()


def test_other_content_is_another_card(tmp_path: Path) -> None:
    first, second = (write_tables(tmp_path, rules=table) for table in (SOME, SOME.reverse()))
    assert first != second
    assert write_tables(tmp_path, rules=SOME) == first


def test_whoever_writes_a_folder_can_know_where_it_will_be(tmp_path: Path) -> None:
    made = Provenance(command="mine", config={}, inputs=(), counts={}, dropped={})
    with staged_folder(tmp_path / "out") as folder:
        assert published_folder(folder) == (tmp_path / "out").resolve()
        write_json(made.for_manifest(), folder / "manifest.json")
    assert published_folder(tmp_path / "out") == (tmp_path / "out").resolve()
