"""Lines of detectors' TSV files that lost their end or were cut, and images that a file has twice."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sources.test_regions import (
    BOXES,
    b64,
    bottom_up,
    boxes_of,
    check,
    entry,
    lxmert,
    pipeline,
    vinvl,
    write_h5,
)

from shortcut_miner.cli.inspect import find_out
from shortcut_miner.errors import SourceError
from shortcut_miner.sources.images.regions import read_regions

Write = Callable[[str, Any], Path]
LINES = {
    "bottom-up": bottom_up,
    "lxmert": lxmert,
    "vinvl": lambda image: f"{image}\t{json.dumps(vinvl())}",
}
COLUMNS = {"bottom-up": (11, 6), "lxmert": (19, 10)}


def glued(form: str, kept: int) -> str:
    """Return four images' lines, of which the second lost its end, from some characters before it on."""
    first, second, third, fourth = (LINES[form](image) for image in ("9", "7", "1", "8"))
    return "\n".join([first, second[: len(second) - kept] + third, fourth]) + "\n"


@pytest.mark.parametrize("kept", [0, 5])
@pytest.mark.parametrize("images", [None, {"1"}, {"1", "8", "9"}])
@pytest.mark.parametrize("form", LINES)
def test_a_line_that_lost_its_end_hides_no_image(
    write: Write, form: str, images: set[str] | None, kept: int
) -> None:
    path = write("f.tsv", glued(form, kept))
    with pytest.raises(SourceError) as error:
        read_regions(path, images=images)
    told = str(error.value)
    if form == "vinvl":
        assert "line 2, objects: got [{" in told
    else:
        found, wanted = COLUMNS[form]
        assert (
            f"line 2, line: got {found} columns, as if a line end was lost, expected {wanted} columns" in told
        )
    finding = find_out(path, 5)
    assert any("line 2" in problem for problem in finding.problems)
    assert sum(finding.dropped.values()) == 1


@pytest.mark.parametrize("form", ["bottom-up", "lxmert"])
@pytest.mark.parametrize("several", [2, 3])
def test_the_first_line_may_have_lost_its_end(write: Write, form: str, several: int) -> None:
    lines = [LINES[form](str(image)) for image in range(4)]
    path = write("f.tsv", "".join(lines[:several]) + "\n" + "\n".join(lines[several:]))
    with pytest.raises(SourceError, match=r"line 1, line: got \d+ columns, as if a line end was lost"):
        read_regions(path)
    assert form.split("-")[0] in find_out(path, 1).kind.lower()


@pytest.mark.parametrize("form", LINES)
def test_a_lost_line_end_can_be_skipped_and_is_counted(write: Write, form: str) -> None:
    path = write("f.tsv", glued(form, 5))
    reading = check(read_regions(path, on_bad_row="skip"))
    assert reading.images["image_id"].to_list() == ["9", "8"]
    assert sum(reading.dropped.values()) == 1
    assert (
        read_regions(write("f.tsv", glued(form, 5)), images={"8"}, on_bad_row="skip").dropped
        == reading.dropped
    )


@pytest.mark.parametrize("line", [bottom_up, lxmert])
def test_good_lines_stay_good(write: Write, line: Callable[..., str]) -> None:
    text = "\n".join([line("9"), line("7"), line("8", BOXES[:0])])
    reading = check(read_regions(write("f.tsv", text)))
    assert dict(reading.images.select("image_id", "region_count").iter_rows()) == {"9": 3, "7": 3, "8": 0}
    without = "\n".join(line(name, features="") for name in "976")
    assert check(read_regions(write("f.tsv", without))).images["region_count"].to_list() == [3, 3, 3]


@pytest.mark.parametrize("line", [bottom_up, lxmert])
@pytest.mark.parametrize(
    ("features", "told"),
    [
        (
            b64(np.zeros(10)),
            "line 2, features: got 56 characters of base64, expected as many float32",
        ),
        (b64(np.zeros(9))[:-1], "line 2, features: got 47 characters of base64"),
        ("", "line 2, features: got 0 dimensions, expected 3, as most lines have"),
        (b64(np.zeros(6)), "line 2, features: got 2 dimensions, expected 3, as most lines have"),
        ("AAA*" * 12, "line 2, features: got no base64: AAA*AAA*AAA*"),
        ("A=AA" * 12, "line 2, features: got no base64: A=AAA=AA"),
    ],
)
def test_the_last_column_is_checked(write: Write, line: Callable[..., str], features: str, told: str) -> None:
    lines = [line("9", features=b64(np.zeros(9))), line("7", features=features), line("8")]
    path = write("f.tsv", "\n".join(lines))
    with pytest.raises(SourceError) as error:
        read_regions(path)
    assert told in str(error.value)
    reading = read_regions(path, on_bad_row="skip")
    assert reading.images["image_id"].to_list() == ["9", "8"]
    assert find_out(path, 1).problems[1].startswith("line 2, features: got ")


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"attrs": b64([1], "<i8")}, "attrs_id: got 8 bytes, expected 24 bytes for num_boxes regions"),
        ({"attrs_conf": "AAA"}, "attrs_conf: got AAA (Incorrect padding), expected intact base64"),
        ({"ids": b64([1], "<i8")}, "objects_id: got 8 bytes"),
        ({"conf": ""}, "objects_conf: got 0 bytes, expected 12 bytes"),
        ({"w": "nan"}, "img_w: got nan, expected a number of pixels"),
        ({"h": "-4"}, "img_h: got -4, expected a number of pixels"),
    ],
)
def test_every_other_column_is_checked(write: Write, columns: dict[str, str], told: str) -> None:
    path = write("f.tsv", lxmert("9") + "\n" + lxmert("7", **columns))
    with pytest.raises(SourceError) as error:
        read_regions(path)
    assert f"line 2, {told}" in str(error.value)


# ---- an image twice ----


def twice(write: Write, tmp_path: Path, form: str, boxes: Any) -> Path:
    """Write image 7, image 8, and image 7 again with some boxes."""
    if form in ("bottom-up", "lxmert"):
        line = {"bottom-up": bottom_up, "lxmert": lxmert}[form]
        return write("f.tsv", "\n".join([line("7"), line("8"), line("7", boxes)]))
    if form == "vinvl":
        return write("label.tsv", "".join(f"{name}\t{json.dumps(vinvl(one))}\n" for name, one in (
            ("7", BOXES), ("8", BOXES), ("7", boxes))))  # fmt: skip
    if form == "pipeline":
        return write("d.jsonl", "\n".join([pipeline(7), pipeline(8), pipeline("7", boxes)]))
    path = write_h5(tmp_path / "f.h5", [BOXES, BOXES, boxes])
    write("f_info.json", {"000000000007": entry(0), "8": entry(1), "COCO_val2014_000000000007": entry(2)})
    return path


@pytest.mark.parametrize("form", ["bottom-up", "lxmert", "vinvl", "pipeline", "h5"])
def test_of_equal_copies_one_stays(write: Write, tmp_path: Path, form: str) -> None:
    path = twice(write, tmp_path, form, BOXES)
    with pytest.raises(SourceError, match=r"image id: got '7' 2 times, expected an id that occurs once"):
        read_regions(path)
    reading = check(read_regions(path, on_bad_row="skip"))
    assert reading.images["image_id"].to_list() == ["7", "8"]
    assert len(reading.regions) == 6
    np.testing.assert_array_equal(boxes_of(reading, "7"), BOXES)
    assert reading.dropped == {"image id: expected an id that occurs once": 1}


@pytest.mark.parametrize("form", ["bottom-up", "lxmert", "vinvl", "pipeline", "h5"])
def test_copies_that_differ_are_both_left_out(write: Write, tmp_path: Path, form: str) -> None:
    reading = check(read_regions(twice(write, tmp_path, form, BOXES + 1), on_bad_row="skip"))
    assert reading.images["image_id"].to_list() == ["8"]
    assert reading.dropped == {"image id: expected an id that occurs once": 2}


@pytest.mark.parametrize("fields", [{"width": 50}, {"height": 50}])
def test_copies_of_another_size_differ(write: Write, fields: dict[str, int]) -> None:
    path = write("d.jsonl", "\n".join([pipeline(7), pipeline(8), pipeline(7, **fields)]))
    assert read_regions(path, on_bad_row="skip").images["image_id"].to_list() == ["8"]


def test_a_bad_line_takes_no_good_one_along(write: Write) -> None:
    path = write("f.tsv", "\n".join([bottom_up("7", num="4"), bottom_up("8"), bottom_up("7")]))
    with pytest.raises(SourceError) as error:
        read_regions(path)
    assert "times" not in str(error.value)
    reading = check(read_regions(path, on_bad_row="skip"))
    assert reading.images["image_id"].to_list() == ["8", "7"]
    assert sum(reading.dropped.values()) == 1


def test_an_info_json_that_has_an_image_twice(write: Write, tmp_path: Path) -> None:
    path = write_h5(tmp_path / "f.h5", [BOXES, BOXES])
    one = json.dumps(entry(0))
    write("f_info.json", f'{{"7": {one}, "8": {json.dumps(entry(1))}, "7": {one}}}')
    with pytest.raises(SourceError, match=r"image '7', image id: got 2 entries, expected one entry an image"):
        read_regions(path)
    assert read_regions(path, images={"8"}).images["image_id"].to_list() == ["8"]


def test_rows_of_parquet_that_repeat_are_kept_once(tmp_path: Path) -> None:
    sides = {side: [1.0, 2.0, 2.0, 3.0, 4.0] for side in ("x1", "y1", "x2", "y2")}
    columns = {"image_id": ["a", "a", "a", "b", "b"], "region_index": [0, 1, 1, 0, 0], "label": [None] * 5}
    pl.DataFrame(columns | sides).write_parquet(tmp_path / "r")
    with pytest.raises(SourceError) as error:
        read_regions(tmp_path / "r")
    for told in ("image 'a', region 1, region_index: got 1 twice", "image 'b', region_index: got 0 twice"):
        assert told in str(error.value)
    reading = check(read_regions(tmp_path / "r", on_bad_row="skip"))
    assert reading.regions.select("image_id", "region_index", "x1").rows() == [("a", 0, 1.0), ("a", 1, 2.0)]
    assert reading.dropped == {"region_index: expected a number that occurs once an image": 2}


# ---- counts and boxes ----


@pytest.mark.parametrize("form", ["bottom-up", "lxmert", "vinvl", "pipeline", "h5"])
def test_a_count_without_boxes_is_told(write: Write, tmp_path: Path, form: str) -> None:
    zeros = np.zeros_like(BOXES)
    line = LINES.get(form)
    if form == "h5":
        path = write_h5(tmp_path / "f.h5", [BOXES, zeros])
        write("f_info.json", {"7": entry(0), "8": entry(1)})
    elif form == "pipeline":
        path = write("f", pipeline(7) + "\n" + pipeline(8, zeros))
    elif form == "vinvl":
        path = write("f", f"7\t{json.dumps(vinvl())}\n8\t{json.dumps(vinvl(zeros))}\n")
    else:
        assert line is not None
        path = write("f", line("7") + "\n" + line("8", zeros))  # type: ignore[call-arg]
    with pytest.raises(SourceError, match=r"boxes: got zeros for all 3 regions, expected a box for each"):
        read_regions(path)
    reading = check(read_regions(path, on_bad_row="skip"))
    assert reading.images["image_id"].to_list() == ["7"]
    assert reading.dropped == {"boxes: expected a box for each": 1}


def test_single_boxes_that_contradict_the_count_are_noted(write: Write, tmp_path: Path) -> None:
    path = write_h5(tmp_path / "f.h5", [[*BOXES[:2], np.zeros(4)], [*BOXES[:1], np.zeros(4), BOXES[2]]])
    write("f_info.json", {"7": entry(0, 3), "8": entry(1, 2)})
    reading = check(read_regions(path))
    assert reading.notes == (
        "boxes of zeros within their image's count: 2",
        "boxes beyond their image's count: 1",
    )
    assert reading.regions["is_padding"].to_list() == [False, False, True, False, True, True]


def test_parquet_that_says_zeros_are_regions(tmp_path: Path) -> None:
    sides = {side: [0.0, 0.0, 1.0] for side in ("x1", "y1", "x2", "y2")}
    frame = pl.DataFrame({"image_id": ["a", "a", "b"], "is_padding": [False, False, False]} | sides)
    frame.write_parquet(tmp_path / "r")
    with pytest.raises(SourceError, match=r"image 'a', boxes: got zeros for all 2 regions"):
        read_regions(tmp_path / "r")
    frame.with_columns(is_padding=pl.Series([True, True, False])).write_parquet(tmp_path / "r")
    assert read_regions(tmp_path / "r").images["region_count"].to_list() == [0, 1]


# ---- files that only look like others ----


def test_coco_results_with_segmentation(write: Write) -> None:
    names = write("c.json", {"1": "cat"})
    mask = {"size": [480, 640], "counts": 'a}b"]['}
    one = {"segmentation": mask, "image_id": 7, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 0.5}
    for record in (one, {**dict(reversed(one.items()))}):
        path = write("r.json", [record, record | {"image_id": 8}])
        reading = check(read_regions(path, info=names))
        assert reading.images["image_id"].to_list() == ["7", "8"]
        assert reading.kind == "COCO results JSON"
        assert find_out(path, 1).problems == ()
    long = write("l.json", [dict(reversed(one.items())) | {"segmentation": {"counts": "x" * 100_000}}])
    assert len(read_regions(long, info=names).regions) == 1
    with pytest.raises(SourceError, match="expected one of GQA objects HDF5"):
        read_regions(write("n.json", [{"a": {"image_id": 1, "category_id": 1, "bbox": 1}}]), info=names)


@pytest.mark.parametrize(
    "line",
    [
        "100\t2\t" + b64(np.zeros(24)),
        "100\t" + json.dumps({"num_boxes": 2, "features": b64(np.zeros(24))}),
    ],
)
def test_features_without_boxes_are_refused_by_name(write: Write, line: str) -> None:
    path = write("feature.tsv", f"{line}\n{line.replace('100', '101', 1)}\n")
    told = "got Oscar feature TSV (an image's features, without boxes), expected a detector's boxes."
    with pytest.raises(SourceError) as error:
        read_regions(path)
    assert told in str(error.value)
    finding = find_out(path, 1)
    assert finding.kind == "Oscar feature TSV"
    assert any(told in problem for problem in finding.problems)


def test_inspect_says_why_rows_are_not_checked(write: Write, tmp_path: Path) -> None:
    record = {"image_id": 7, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 1}
    csv = "ImageID,LabelName,XMin,XMax,YMin,YMax\n7,/m/1,0.1,0.2,0.3,0.4\n"
    for path, told in (
        (write("r.json", [record]), "without category names"),
        (write("o.csv", csv), "expected the images' sizes too"),
        (write_h5(tmp_path / "f.h5", [BOXES]), "got no info JSON"),
    ):
        finding = find_out(path, 1)
        assert finding.problems == ()
        assert finding.notes[-1].startswith("rows not checked: ")
        assert told in finding.notes[-1]
    write("f_info.json", {"7": entry(0), "8": entry(1)})
    assert find_out(tmp_path / "f.h5", 1).counts["rows read"] == 3
    write_h5(tmp_path / "f.h5", [np.zeros_like(BOXES)])
    assert "zeros for all 3" in find_out(tmp_path / "f.h5", 1).problems[1]
