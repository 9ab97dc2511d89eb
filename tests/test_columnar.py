import io
import random
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shortcut_miner.columnar import (
    COLUMNAR_ERRORS,
    columnar_form,
    look_at_columns,
    read_batches,
    read_frame,
    read_metadata,
)
from shortcut_miner.sources.opening.files import open_source
from shortcut_miner.sources.opening.flat_tables import open_table

TABLE = pl.DataFrame(
    {
        "id": ["a", None, "c"],
        "n": [1, 2, 3],
        "list": [["x"], [], None],
        "kind": pl.Series(["u", "v", "u"], dtype=pl.Categorical),
        "kinds": pl.Series([["u"], None, ["w", "u"]], dtype=pl.List(pl.Categorical)),
        "box": pl.Series([[1.0, 2.0]] * 3, dtype=pl.Array(pl.Float32, 2)),
    }
)


def as_bytes(form: str, table: pl.DataFrame = TABLE) -> bytes:
    packed = io.BytesIO()
    if form == "Parquet":
        table.write_parquet(packed, row_group_size=2)
    elif form == "Arrow file":
        table.write_ipc(packed)
    else:
        rows = table.to_arrow()
        with pa.ipc.new_stream(packed, rows.schema) as writer:
            writer.write_table(rows)
    return packed.getvalue()


FORMS = ("Parquet", "Arrow file", "Arrow stream")


@pytest.mark.parametrize("form", FORMS)
def test_tables_are_what_polars_wrote(form: str, tmp_path: Path) -> None:
    content = as_bytes(form)
    (tmp_path / "t").write_bytes(content)
    assert columnar_form(content) == form.split()[0]
    for given in (content, tmp_path / "t"):
        found = look_at_columns(given)
        assert (list(found.types), found.total) == (TABLE.columns, 3)
        frame = read_frame(given)
        assert frame.equals(TABLE)
        assert frame.schema == TABLE.schema == found.types
        assert read_frame(given, ["n", "id"]).equals(TABLE.select("n", "id"))
        pieces = list(read_batches(given, ["n"], rows=2))
        assert [piece["n"].to_list() for piece in pieces] == [[1, 2], [3]]
    assert open_table(open_source(tmp_path / "t")).types == TABLE.schema


@pytest.mark.parametrize("form", FORMS)
def test_empty_tables_keep_their_columns(form: str) -> None:
    content = as_bytes(form, TABLE.clear())
    assert look_at_columns(content).total == 0
    assert [piece.columns for piece in read_batches(content, ["n", "id"])] == [["n", "id"]]


def test_what_is_neither_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("text")
    with pytest.raises(ValueError, match="neither Parquet nor Arrow"):
        read_frame(tmp_path / "t")
    with pytest.raises(COLUMNAR_ERRORS):
        read_metadata(tmp_path / "t")
    assert read_metadata_of({"a": "b"}, tmp_path)[b"a"] == b"b"


def read_metadata_of(metadata: dict[str, str], folder: Path) -> dict[bytes, bytes]:
    TABLE.write_parquet(folder / "m", metadata=metadata)
    return read_metadata(folder / "m")


def test_a_column_twice_is_refused() -> None:
    rows = pa.table([pa.array([1]), pa.array([2]), pa.array([3])], names=["a", "a", "b"])
    packed, parquet = io.BytesIO(), io.BytesIO()
    with pa.ipc.new_file(packed, rows.schema) as writer:
        writer.write_table(rows)
    pq.write_table(rows, parquet)
    for content in (packed.getvalue(), parquet.getvalue()):
        assert look_at_columns(content).names == ["a", "a", "b"]
        assert read_frame(content, ["b"])["b"].to_list() == [3]
        assert [piece["b"].to_list() for piece in read_batches(content, ["b"])] == [[3]]
        for columns in (None, ["a"]):
            with pytest.raises(ValueError, match="a column name that occurs twice"):
                read_frame(content, columns)


@pytest.mark.parametrize("form", FORMS)
def test_damaged_tables_raise_and_print_nothing(form: str, capfd: pytest.CaptureFixture[str]) -> None:
    draw, raised = random.Random(0), 0
    for _ in range(200):
        content = bytearray(as_bytes(form))
        for _ in range(draw.choice((1, 3, 9))):
            content[draw.randrange(6, len(content))] = draw.randrange(256)
        try:
            look_at_columns(bytes(content))
            read_frame(bytes(content))
        except COLUMNAR_ERRORS:
            raised += 1
    assert raised > 20, raised
    assert capfd.readouterr().err == ""
