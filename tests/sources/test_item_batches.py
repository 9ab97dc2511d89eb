"""Items of a table in batches are the items of the whole table, and so are facts, notes and errors."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.datasets.inputs import input_record
from shortcut_miner.errors import ShortcutMinerError
from shortcut_miner.sources.item_batches import ItemBatches
from shortcut_miner.sources.item_tables import Columns, open_items, read_table
from shortcut_miner.sources.opening.reading import Reading

TEXTS = ["a dog, a cat", "What's this?", "[red]", "", None]
LISTED = ['["a", "b"]', "['a', \"it's\"]", "[]", "", None]
UNREADABLE = ["[red, ]]", '["a"', "['a' 'b']", '["b"]']
LISTS = st.none() | st.lists(st.sampled_from(["dog", "cat", "", None]), max_size=3)
CELLS = {
    "texts": (pl.String, st.sampled_from(TEXTS)),
    "listed": (pl.String, st.sampled_from(LISTED)),
    "mixed": (pl.String, st.sampled_from(TEXTS + LISTED)),
    "unreadable": (pl.String, st.sampled_from(UNREADABLE + LISTED[:2])),
    "categories": (pl.Categorical, st.sampled_from(TEXTS)),
    "lists": (pl.List(pl.String), LISTS),
    "numbers": (pl.Int64, st.integers(0, 3)),
    "nothing": (pl.Null, st.none()),
}
ANSWERS = {
    "texts": (pl.String, st.sampled_from(["yes", "no", "", None])),
    "numbers": (pl.Int64, st.integers(0, 3) | st.none()),
    "floats": (pl.Float64, st.sampled_from([1.0, 2.5])),
}
GENRES = (pl.String, st.sampled_from(["news", "sport", None]))


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    count = draw(st.integers(0, 9))
    kinds = {
        "w": CELLS[draw(st.sampled_from([*CELLS]))],
        "o": CELLS[draw(st.sampled_from([*CELLS]))],
        "a": ANSWERS[draw(st.sampled_from(["texts", *ANSWERS]))],
        "genre": GENRES,
    }
    return pl.DataFrame(
        {
            name: pl.Series(draw(st.lists(cells, min_size=count, max_size=count)), dtype=dtype)
            for name, (dtype, cells) in kinds.items()
        }
    )


def outcome(read: Callable[[], Any]) -> Any:
    """Return what a function returns, or the type and words of its error."""
    try:
        return read()
    except ShortcutMinerError as error:
        return type(error), str(error)


def batches_of(path: Path, columns: Columns, **options: Any) -> ItemBatches:
    file, flat = open_items(path, columns)
    return ItemBatches(file=file, flat=flat, columns=columns, **options)


def in_batches(batches: ItemBatches) -> tuple[pl.DataFrame, Reading]:
    parts = list(batches.batches())
    assert all(0 < len(part) <= batches.rows for part in parts)
    return pl.concat([batches.reading.table, *parts]), batches.reading


@given(
    tables(),
    st.sampled_from(["Parquet", "Arrow", "JSONL"]),
    st.booleans(),
    st.none() | st.integers(1, 10),
    st.sampled_from(
        [("w", "o", "genre"), ("w", "o", None), ("w", None, None), (None, "o", None), ("w", "w", None)]
    ),
)
def test_batches_are_the_table(
    table: pl.DataFrame, form: str, skip_bad_rows: bool, limit: int | None, names: tuple
) -> None:
    words, objects, items = names
    columns = Columns(words=words, objects=objects, answer="a", separator=",", item_columns=items)
    with TemporaryDirectory() as folder:
        path = Path(folder, "table")
        write = {"Parquet": table.write_parquet, "Arrow": table.write_ipc, "JSONL": table.write_ndjson}
        write[form](path)
        whole = outcome(lambda: read_table(path, columns, skip_bad_rows=skip_bad_rows, limit=limit))
        batches = outcome(lambda: batches_of(path, columns, skip_bad_rows=skip_bad_rows, limit=limit, rows=3))
        found = outcome(lambda: in_batches(batches)) if isinstance(batches, ItemBatches) else batches
        if not isinstance(whole, Reading):
            assert found == whole
            return
        rows, reading = found
        assert rows.equals(whole.table)
        assert rows.schema == whole.table.schema
        assert input_record("table", reading) == input_record("table", whole)
        for fact in ("kind", "dropped", "notes", "parts"):
            assert getattr(reading, fact) == getattr(whole, fact)
        assert in_batches(batches)[1].notes == whole.notes  # another pass counts anew


def test_what_a_pass_found_is_known_after_it(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pl.DataFrame({"w": ["a"] * 5, "answer": ["x"] * 5}).write_parquet(path)
    columns = Columns(words="w", objects=None, answer="answer", separator=",")
    batches = batches_of(path, columns, skip_bad_rows=False, rows=2)
    with pytest.raises(ValueError, match="known after a pass"):
        _ = batches.reading
    assert [len(part) for part in batches.batches()] == [2, 2, 1]
    assert len(batches.reading.table) == 0
