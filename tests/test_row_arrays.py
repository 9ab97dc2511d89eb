from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from mining.plain import skewed_rows
from strategies import Table, encode, tables

from shortcut_miner.errors import SourceError
from shortcut_miner.row_arrays import load_rows, save_rows


@given(table=tables(max_weight=3))
def test_rows_come_back_without_names(table: Table, tmp_path_factory: pytest.TempPathFactory) -> None:
    rows = encode(table)
    path = tmp_path_factory.mktemp("rows") / "rows.npz"
    save_rows(rows, path)
    loaded, expected = load_rows(path), rows.without_names()
    for name in ("offsets", "items", "classes", "weights"):
        array = getattr(loaded, name)
        assert array.dtype == getattr(expected, name).dtype
        np.testing.assert_array_equal(array, getattr(expected, name), err_msg=name)
    assert loaded.vocabulary.first_items.tolist() == expected.vocabulary.first_items.tolist()
    np.testing.assert_array_equal(loaded.vocabulary.answer_counts, expected.vocabulary.answer_counts)
    assert [entry.name for entry in path.parent.iterdir()] == ["rows.npz"]


@pytest.mark.parametrize("content", [b"", b"PK no zip", None])
def test_a_file_without_rows(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    if content is None:
        np.savez(path, offsets=np.arange(3))
    else:
        path.write_bytes(content)
    with pytest.raises(SourceError, match=r"rows\.npz: got no rows \(.+\), expected a file that save_rows"):
        load_rows(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="No such file"):
        load_rows(tmp_path / "rows.npz")


def test_arrays_of_another_program(tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    save_rows(encode(skewed_rows(5, 4, seed=0)), path)
    assert len(load_rows(path)) == 5
