"""Values of regions tables that are converted, and those that can't be."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.images import regions_flat
from shortcut_miner.sources.images.regions import read_regions

SIDES: dict[str, Any] = {side: [1.0, 2.0] for side in ("x1", "y1", "x2", "y2")}


def regions(folder: Path, **columns: Any) -> pl.DataFrame:
    pl.DataFrame({"image_id": ["a", "a"]} | SIDES | columns).write_parquet(folder / "r")
    return read_regions(folder / "r").table


@pytest.mark.parametrize(
    ("columns", "column", "wanted"),
    [
        ({"x1": ["1", "2"]}, "x1", [1.0, 2.0]),
        ({"region_index": ["5", "6"]}, "region_index", [5, 6]),
        ({"region_index": [5.0, 6.0]}, "region_index", [5, 6]),
        ({}, "region_index", [0, 1]),
        ({"score": [True, False]}, "score", [1.0, 0.0]),
        ({"image_id": [1.0, 1.0]}, "image_id", ["1", "1"]),
    ],
)
def test_values_that_are_converted(tmp_path: Path, columns: Any, column: str, wanted: Any) -> None:
    assert regions(tmp_path, **columns)[column].to_list() == wanted


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"region_index": [5.0, 6.5]}, "got '6.5' in the column region_index, expected whole numbers"),
        ({"region_index": [5, None]}, "got 1 of 2 boxes without a region_index"),
        ({"region_index": [-1, 0]}, "expected the columns of our regions. Convert its columns"),
        ({"is_padding": ["no", "yes"]}, "expected the columns of our regions. Convert its columns"),
        ({"image_id": [1.0, 1.5]}, "in the column image_id, expected whole numbers"),
    ],
)
def test_values_that_are_not(tmp_path: Path, columns: Any, told: str) -> None:
    with pytest.raises(SourceError) as caught:
        regions(tmp_path, **columns)
    assert told in str(caught.value)
    assert "damaged" not in str(caught.value)


def test_uneven_rows_of_open_images(tmp_path: Path) -> None:
    header = "ImageID,LabelName,XMin,XMax,YMin,YMax\n"
    (tmp_path / "o.csv").write_text(header + "a,b,0,1,0,1\na,b,0,1\n")
    sizes = pl.DataFrame({"image_id": ["a"], "width": [10.0], "height": [10.0]})
    with pytest.raises(SourceError, match="line 3: got 4 values, expected 6"):
        read_regions(tmp_path / "o.csv", sizes=sizes)
    (tmp_path / "o.csv").write_text(header.replace(",", ";"))
    with pytest.raises(SourceError, match="expected one of GQA objects HDF5"):
        read_regions(tmp_path / "o.csv", sizes=sizes)


def test_columns_of_open_images_that_are_there_twice(tmp_path: Path) -> None:
    path, sizes = tmp_path / "o.csv", pl.DataFrame({"image_id": ["a"], "width": [10.0], "height": [10.0]})
    header = "ImageID,LabelName,XMin,XMax,YMin,YMax,Source, Source"
    path.write_text(f"{header}\na,b,0,1,0,0.5,x,y\n")
    assert read_regions(path, sizes=sizes).regions.select("x1", "x2", "y1", "y2").row(0) == (0, 10, 0, 5)
    path.write_text(f"{header}, XMin\na,b,0,1,0,0.5,x,y,0.25\n")
    with pytest.raises(SourceError, match="got the column 'XMin' twice, expected it once"):
        read_regions(path, sizes=sizes)


@pytest.mark.parametrize("row", ["a,b,0,1", '"a",b,0,1'])
def test_open_images_rows_are_told_by_their_lines_in_any_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: str
) -> None:
    monkeypatch.setattr(regions_flat, "_BATCH_BYTES", 20)
    rows = ["a,b,0,1,0,1"] * 4
    path = tmp_path / "o.csv"
    path.write_text("\n".join(["ImageID,LabelName,XMin,XMax,YMin,YMax", *rows, row, *rows]) + "\n")
    sizes = pl.DataFrame({"image_id": ["a"], "width": [10.0], "height": [10.0]})
    with pytest.raises(SourceError, match="line 6: got 4 values, expected 6"):
        read_regions(path, sizes=sizes)
    path.write_text(path.read_text().replace(row + "\n", ""))
    assert len(read_regions(path, sizes=sizes).regions) == 8
