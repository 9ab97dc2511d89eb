import base64
import gzip
import hashlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shortcut_miner.errors import BackendError, ConfigError, SourceError
from shortcut_miner.schemas import Images, Regions, validated
from shortcut_miner.sources.images.region_tables import RegionReading
from shortcut_miner.sources.images.regions import read_regions, region_kind
from shortcut_miner.sources.recognise import recognise

Write = Callable[[str, Any], Path]

BOXES = np.array([[1, 2, 30, 40], [5.5, 6.25, 70, 80], [10, 10, 20, 20]], np.float32)
SIZES = pl.DataFrame({"image_id": ["7", "8"], "width": [100.0, 200.0], "height": [100.0, 50.0]})


def b64(values: Any, dtype: str = "<f4") -> str:
    return base64.b64encode(np.asarray(values, dtype).tobytes()).decode()


def bottom_up(image: str, boxes: Any = BOXES, **columns: str) -> str:
    values = {
        "w": "100",
        "h": "90",
        "num": str(len(boxes)),
        "coded": b64(boxes),
        "features": b64(np.zeros(3 * len(boxes))),
    }
    return "\t".join([image, *(values | columns).values()])


def lxmert(image: str, boxes: Any = BOXES, **columns: str) -> str:
    n = len(boxes)
    values = {
        "h": "90",
        "w": "100",
        "ids": b64(range(n), "<i8"),
        "conf": b64(np.linspace(0.9, 0.5, n)),
        "attrs": b64(range(n), "<i8"),
        "attrs_conf": b64(np.zeros(n)),
        "num": str(n),
        "boxes": b64(boxes),
        "features": b64(np.zeros(3 * n)),
    }
    return "\t".join([image, *(values | columns).values()])


def vinvl(boxes: Any = BOXES) -> list[dict[str, Any]]:
    return [
        {"class": f"c{at}", "conf": 0.9, "rect": [float(side) for side in box], "feature": "x" * 50}
        for at, box in enumerate(boxes)
    ]


def pipeline(image: int | str, boxes: Any = BOXES, **fields: Any) -> str:
    found = [
        {
            "score": 0.75,
            "label": f"c{at}",
            "box": dict(zip(("xmin", "ymin", "xmax", "ymax"), map(float, box), strict=True)),
        }
        for at, box in enumerate(boxes)
    ]
    return json.dumps({"image_id": image, "detections": found} | fields)


def write_h5(path: Path, boxes: Any, **more: Any) -> Path:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file.create_dataset("bboxes", data=np.asarray(boxes, np.float32))
        file.create_dataset("features", data=np.zeros((len(boxes), 3, 4)))
        for name, data in more.items():
            file.create_dataset(name, data=data)
    return path


def entry(index: int, count: int = 3, **fields: Any) -> dict[str, Any]:
    return {"width": 100, "height": 90, "objectsNum": count, "index": index} | fields


def check(reading: RegionReading) -> RegionReading:
    validated(reading.regions, Regions, "regions")
    validated(reading.images, Images, "images")
    assert reading.table is reading.regions
    return reading


def boxes_of(reading: RegionReading, image: str) -> Any:
    rows = reading.regions.filter(pl.col("image_id") == image).sort("region_index")
    return rows.select("x1", "y1", "x2", "y2").to_numpy()


# ---- every format gives the same table ----


def same_world(write: Write, tmp_path: Path, form: str) -> tuple[Path, dict[str, Any]]:
    """Write images 7 (three boxes) and 8 (none, where the format can say so) and return how to read them."""
    empty = BOXES[:0]
    if form == "bottom-up":
        return write("f.tsv", "\n".join([bottom_up("7"), bottom_up("8", empty)]) + "\n"), {}
    if form == "bottom-up gz":
        text = "\r\n".join([bottom_up("7"), bottom_up("8", empty)])
        return write("f.gz", gzip.compress(text.encode())), {}
    if form == "lxmert":
        vocabulary = write("objects.txt", "c0,alias\nc1\nc2\n")
        return write("f.tsv", "\n".join([lxmert("7"), lxmert("8", empty)])), {"info": vocabulary}
    if form == "vinvl predictions":
        lines = [
            "7\t" + json.dumps({"image_w": 100, "image_h": 90, "objects": vinvl()}),
            "8\t" + json.dumps({"image_w": 100, "image_h": 90, "objects": []}),
        ]
        write("predictions.lineidx", f"0\n{len(lines[0]) + 1}\n")
        return write("predictions.tsv", "\n".join(lines) + "\n"), {}
    if form == "vinvl labels":
        return write("label.tsv", f"7\t{json.dumps(vinvl())}\n8\t[]\n"), {}
    if form == "pipeline":
        return write("d.jsonl", pipeline(7) + "\n\n" + pipeline("8", empty) + "\n"), {}
    if form == "coco":
        records = [
            {"image_id": image, "category_id": 11 + at, "score": 0.5, "bbox": bbox}
            for image in (7,)
            for at, bbox in enumerate(np.hstack([BOXES[:, :2], BOXES[:, 2:] - BOXES[:, :2]]).tolist())
        ]
        names = [{"id": 11 + at, "name": f"c{at}"} for at in range(3)]
        categories = write("c.json", {"categories": names, "images": [], "annotations": []})
        return write("results.json", records), {"info": categories}
    if form == "open images":
        rows = [
            f"7,xclick,/m/{at},0.5,{x1 / 100},{x2 / 100},{y1 / 100},{y2 / 100}"
            for at, (x1, y1, x2, y2) in enumerate(BOXES)
        ]
        header = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax"
        names = write("names.csv", "/m/0,c0\n/m/1,c1\n/m/2,c2\n")
        return write("boxes.csv", "\n".join([header, *rows])), {"sizes": SIZES, "info": names}
    if form == "parquet":
        frame = pl.DataFrame(
            {
                "image_id": ["7", "7", "7", "8"],
                "label": ["c0", "c1", "c2", None],
                **{side: [*BOXES[:, at].tolist(), None] for at, side in enumerate(("x1", "y1", "x2", "y2"))},
            }
        )
        frame.write_parquet(tmp_path / "r.parquet")
        return tmp_path / "r.parquet", {}
    file = write_h5(tmp_path / "f.h5", [BOXES, np.zeros_like(BOXES)])
    write("f_info.json", {"7": entry(0), "8": entry(1, 0)})
    return file, {}


FORMS = {
    "bottom-up": "bottom-up-attention TSV",
    "bottom-up gz": "bottom-up-attention TSV",
    "lxmert": "LXMERT TSV",
    "vinvl predictions": "VinVL TSV",
    "vinvl labels": "VinVL TSV",
    "pipeline": "object detection JSONL",
    "coco": "COCO results JSON",
    "open images": "Open Images boxes CSV",
    "parquet": "regions Parquet",
    "h5": "GQA objects HDF5",
}


@pytest.mark.parametrize("form", FORMS)
def test_every_format_gives_the_same_boxes(write: Write, tmp_path: Path, form: str) -> None:
    path, options = same_world(write, tmp_path, form)
    reading = check(read_regions(path, **options))
    assert reading.kind == FORMS[form] == region_kind(path) == recognise(path).kind
    np.testing.assert_allclose(boxes_of(reading, "7"), BOXES, rtol=1e-6)
    seven = reading.regions.filter(image_id="7")
    assert seven["region_index"].to_list() == [0, 1, 2]
    assert not seven["is_padding"].any()
    if form in ("lxmert", "vinvl predictions", "vinvl labels", "pipeline", "coco", "open images", "parquet"):
        assert seven["label"].to_list() == ["c0", "c1", "c2"]
    counts = dict(reading.images.select("image_id", "region_count").iter_rows())
    assert counts == ({"7": 3} if form in ("coco", "open images") else {"7": 3, "8": 0})
    assert (reading.dropped, reading.notes) == ({}, ())
    only = check(read_regions(path, images=["8"], **options))
    assert "7" not in only.images["image_id"].to_list()
    assert only.regions.filter(~pl.col("is_padding")).is_empty()


def in_coco_names(folder: Path, path: Path, form: str) -> Path:
    """Write a file again with image 7 under the name of COCO's image 42, and 8 under a name of letters."""
    names = {"7": "COCO_val2014_000000000042.jpg", "8": "n8"}
    if form == "parquet":
        renamed = pl.read_parquet(path).with_columns(pl.col("image_id").replace(names))
        renamed.write_parquet(folder / "renamed.parquet")
        return folder / "renamed.parquet"
    if form == "h5":
        (folder / "f_info.json").write_text(json.dumps({names["7"]: entry(0), names["8"]: entry(1, 0)}))
        return path
    text = (gzip.decompress if form.endswith("gz") else bytes)(path.read_bytes()).decode()
    for old, new in names.items():
        text = re.sub(rf"^{old}(?=[\t,])", new, text, flags=re.MULTILINE)
        text = re.sub(rf'"image_id": "?{old}"?(?=,)', f'"image_id": "{new}"', text)
    (folder / "renamed").write_text(text)
    return folder / "renamed"


@pytest.mark.parametrize("form", FORMS)
def test_images_are_wanted_by_their_short_names(write: Write, tmp_path: Path, form: str) -> None:
    path, options = same_world(write, tmp_path, form)
    path = in_coco_names(tmp_path, path, form)
    if "sizes" in options:
        options["sizes"] = options["sizes"].with_columns(image_id=pl.Series(["42", "n8"]))
    every = read_regions(path, **options)
    only = check(read_regions(path, images={"42"}, **options))
    assert only.images["image_id"].to_list() == ["42"]
    assert only.regions.equals(every.regions.filter(image_id="42"))
    np.testing.assert_allclose(boxes_of(only, "42"), BOXES, rtol=1e-6)


# ---- problems ----


BROKEN: dict[str, tuple[Callable[[], str], str]] = {
    "columns": (lambda: "x\t1\t2", "line 2, line: got 3 columns, expected 6"),
    "base64": (lambda: bottom_up("9", coded="A" * 7), "expected intact base64"),
    "count": (lambda: bottom_up("9", num="4"), "got 48 bytes, expected 64 bytes for num_boxes regions"),
    "not a count": (lambda: bottom_up("9", num="x"), "num_boxes: got x, expected a whole number"),
    "size": (lambda: bottom_up("9", w="wide"), "image_w: got wide, expected a number of pixels"),
    "repeated": (lambda: bottom_up("7"), "image id: got '7' 2 times"),
    "nan": (
        lambda: bottom_up("9", [[1, 2, np.nan, 4], [0, 0, 5, 5]]),
        "line 2, region 0, box: got [1.0, 2.0, nan, 4.0], expected finite numbers",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_bad_line_is_named_or_skipped(write: Write, case: str) -> None:
    line, told = BROKEN[case]
    path = write("f.tsv", "\n".join([bottom_up("7"), line(), bottom_up("8")]))
    with pytest.raises(SourceError) as error:
        read_regions(path)
    assert told in str(error.value)
    reading = check(read_regions(path, on_bad_row="skip"))
    assert sum(reading.dropped.values()) == 1
    assert len(boxes_of(reading, "8")) == 3
    if case == "repeated":  # equal copies: one of them stays
        np.testing.assert_array_equal(boxes_of(reading, "7"), BOXES)
    if case == "nan":  # the region goes, its neighbours keep their numbers
        assert reading.regions.filter(image_id="9")["region_index"].to_list() == [1]


def test_a_cut_file_is_told(write: Write) -> None:
    packed = gzip.compress(("\n".join(bottom_up(str(n)) for n in range(200))).encode())
    with pytest.raises(SourceError, match=r"ends too early"):
        read_regions(write("f.tsv.gz", packed[: len(packed) // 2]))


def test_vinvl_lines_must_be_as_many_as_indexed(write: Write) -> None:
    path = write("label.tsv", f"7\t{json.dumps(vinvl())}\n")
    write("label.lineidx", "0\n100\n")
    with pytest.raises(SourceError, match=r"got 1 lines, expected the 2 that label.lineidx lists"):
        read_regions(path)


def test_lxmert_without_and_with_a_short_vocabulary(write: Write) -> None:
    path = write("f.tsv", lxmert("7"))
    reading = read_regions(path)
    assert reading.regions["label"].null_count() == 3
    assert reading.notes == ("object ids without names: no vocabulary given",)
    with pytest.raises(SourceError, match=r"objects_id: got 2, expected numbers from 0 to 1"):
        read_regions(path, info=write("v.txt", "a\nb\n"))


def test_pipeline_lines(write: Write) -> None:
    path = write("d.jsonl", pipeline(7, width=50, height=60) + "\n" + '{"image_id": 8, "detections": [{}]}')
    with pytest.raises(SourceError, match=r"line 2, line: got .*, expected image_id and detections"):
        read_regions(path)
    reading = check(read_regions(path, on_bad_row="skip"))
    assert reading.images.rows() == [("7", 50.0, 60.0, 3)]
    assert reading.notes == ("boxes that reach outside their image: 1 of 3",)


def test_coco_results(write: Write) -> None:
    records = [{"image_id": 7, "category_id": 1, "score": 0.5, "bbox": [1, 2, 3, 4]}]
    path = write("r.json", records)
    with pytest.raises(ConfigError, match=r"without category names.*--detections-info"):
        read_regions(path)
    names = write("c.json", {"1": "cat"})
    assert read_regions(path, info=names).regions["label"].to_list() == ["cat"]
    assert read_regions(path, info=write("c2.json", [{"id": 1, "name": "cat"}])).regions["x2"].item() == 4
    bad = [*records, {"image_id": 8, "category_id": 2, "bbox": [1, 2, 3, 4]}, {"image_id": 9}]
    path = write("bad.json", bad)
    with pytest.raises(SourceError) as error:
        read_regions(path, info=names)
    assert "record 1, category_id: got '2', expected an id in c.json" in str(error.value)
    assert "record 2, bbox: got no such field" in str(error.value)
    assert read_regions(path, info=names, on_bad_row="skip").images["image_id"].to_list() == ["7"]


def test_open_images_needs_sizes_and_fractions(write: Write) -> None:
    text = "ImageID,LabelName,XMin,XMax,YMin,YMax\n7,/m/1,0.1,0.2,0.3,0.4\n9,/m/1,0,1,0,1\n"
    path = write("b.csv", text)
    with pytest.raises(ConfigError, match=r"expected the images' sizes too"):
        read_regions(path)
    with pytest.raises(SourceError, match=r"got 1 images without a known size \('9'\)"):
        read_regions(path, sizes=SIZES)
    reading = check(read_regions(path, sizes=SIZES, images={"7"}))
    np.testing.assert_allclose(boxes_of(reading, "7"), [[10, 30, 20, 40]], rtol=1e-6)
    pixels = write("p.csv", text.replace("0.1,0.2", "10,20").replace("\n9,", "\n8,"))
    told = r"image '7', region 0, box: got 10.0 0.3 20.0 0.4, expected fractions from 0 to 1"
    with pytest.raises(SourceError, match=told):
        read_regions(pixels, sizes=SIZES)
    skipped = check(read_regions(pixels, sizes=SIZES, on_bad_row="skip"))
    assert skipped.regions["image_id"].to_list() == ["8"]


def test_parquet_in_our_schema(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "image_id": ["7", "7", "7"],
            "region_index": [2, 0, 1],
            "is_padding": [True, False, False],
            "x1": [0.0, 1, 2],
            "y1": [0.0, 1, 2],
            "x2": [0.0, 11, 12],
            "y2": [0.0, 11, 12],
            "attributes": [None, ["red"], []],
        }
    )
    path = tmp_path / "r.parquet"
    frame.write_parquet(path)
    reading = check(read_regions(path))
    assert reading.regions["region_index"].to_list() == [0, 1, 2]
    assert reading.regions["attributes"].to_list() == [["red"], [], None]
    assert reading.images["region_count"].to_list() == [2]
    frame.with_columns(region_index=pl.lit(0)).write_parquet(path)
    with pytest.raises(SourceError, match=r"region_index: got 0 twice"):
        read_regions(path)
    frame.drop("x2").write_parquet(path)
    with pytest.raises(SourceError, match=r"expected x2 too"):
        read_regions(path)


# ---- conventions ----


def test_odd_boxes_are_counted(write: Write) -> None:
    odd = [[30, 2, 10, 40], [1, 1, 500, 20], *BOXES, *BOXES, [0, 0, 0, 0]]
    reading = check(read_regions(write("f.tsv", bottom_up("7", odd))))
    assert reading.notes == (
        "boxes with x2 < x1 or y2 < y1: 1 of 8",
        "boxes that reach outside their image: 1 of 8",
        "boxes of zeros within their image's count: 1",
    )
    assert reading.regions["is_padding"].to_list() == [False] * 8 + [True]


def test_most_boxes_the_wrong_way_round_are_another_convention(write: Write) -> None:
    xywh = [[50, 60, 10, 5], [70, 10, 20, 30], [20, 20, 30, 30]]
    with pytest.raises(SourceError, match=r"got 2 of 3 boxes with x2 < x1.*x, y, width, height"):
        read_regions(write("f.tsv", bottom_up("7", xywh)))


# ---- HDF5 ----


def test_shards_of_a_folder(tmp_path: Path) -> None:
    for number in (0, 10, 2):
        write_h5(tmp_path / f"gqa_objects_{number}.h5", [BOXES + number, BOXES + number + 1])
    info = {
        "a": entry(0, idx=1, file=10),
        "b": entry(0, 2, idx=0, file=0),
        "c": entry(0, idx=0, file=2),
        "d": entry(0, idx=5, file=2),
    }
    (tmp_path / "gqa_objects_info.json").write_text(json.dumps(info))
    reading = check(read_regions(tmp_path))
    np.testing.assert_allclose(boxes_of(reading, "a"), BOXES + 11)
    np.testing.assert_allclose(boxes_of(reading, "b"), BOXES)
    np.testing.assert_allclose(boxes_of(reading, "c"), BOXES + 2)
    assert reading.images["region_count"].to_list() == [3, 2, 3, None]
    assert reading.regions.filter(image_id="b")["is_padding"].to_list() == [False, False, True]
    assert "images whose row lies past the end of their file, taken as not detected: 1" in reading.notes
    assert len(reading.files) == 4
    (tmp_path / "gqa_objects_2.h5").unlink()
    with pytest.raises(SourceError, match=r"image 'c' and .*image 'd', file: got 2, not in the folder"):
        read_regions(tmp_path)
    assert read_regions(tmp_path, on_bad_row="skip").images["image_id"].to_list() == ["a", "b"]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"objectsNum": 9}, "objectsNum: got 9, expected at most 3, the rows"),
        ({"objectsNum": "x"}, 'objectsNum: got "x", expected a whole number'),
        ({"index": -1}, "idx: got -1, expected a whole number of 0 or more"),
        ({"index": None}, "idx: got no such field"),
    ],
)
def test_info_entries_that_do_not_fit(
    tmp_path: Path, write: Write, fields: dict[str, Any], told: str
) -> None:
    path = write_h5(tmp_path / "f.h5", [BOXES, BOXES])
    info = write("info.json", {"7": entry(0), "8": entry(1) | fields})
    with pytest.raises(SourceError) as error:
        read_regions(path, info=info)
    assert told in str(error.value)
    reading = check(read_regions(path, info=info, on_bad_row="skip"))
    assert reading.images["image_id"].to_list() == ["7"]
    np.testing.assert_allclose(boxes_of(reading, "7"), BOXES)


def test_images_of_one_row(tmp_path: Path, write: Write) -> None:
    path = write_h5(tmp_path / "f.h5", [BOXES, BOXES])
    info = write("info.json", {"7": entry(0), "8": entry(1), "9": entry(1)})
    told = "image '8' and info.json image '9', idx: got row 1 of file 0, expected a row of each image's own"
    with pytest.raises(SourceError) as error:
        read_regions(path, info=info)
    assert told in str(error.value)
    reading = check(read_regions(path, info=info, on_bad_row="skip"))
    assert reading.images["image_id"].to_list() == ["7"]
    assert reading.dropped == {"idx: expected a row of each image's own": 2}


def test_hdf5_that_does_not_fit(tmp_path: Path, write: Write) -> None:
    path = write_h5(tmp_path / "f.h5", [BOXES])
    with pytest.raises(ConfigError, match=r"got no info JSON.*--detections-info"):
        read_regions(path)
    info = write("f_info.json", {"7": entry(0)})
    with pytest.raises(SourceError, match=r"expected GQA objects info JSON"):
        read_regions(path, info=write("other.json", {"questions": []}))
    flat = write_h5(tmp_path / "g.h5", BOXES.reshape(1, 12, 1))
    with pytest.raises(SourceError, match=r"expected a data set 'bboxes'"):
        read_regions(flat, info=info)
    content = path.read_bytes()
    cut = write("cut.h5", content[: len(content) // 2])
    with pytest.raises(SourceError, match=r"got an HDF5 file that can't be read"):
        read_regions(cut, info=info)


def test_of_large_hdf5_files_the_boxes_are_hashed(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shortcut_miner.sources.images.regions_h5.HASHED_WHOLE", 10)
    monkeypatch.setattr("shortcut_miner.sources.images.regions_h5._ROWS_AT_ONCE", 1)
    write("f_info.json", {"7": entry(0)})
    path = write_h5(tmp_path / "f.h5", [BOXES, BOXES])
    first = read_regions(path)
    assert first.notes == ("files above 1 GiB whose checksum is of their boxes alone: 1",)
    assert first.files[1].sha256 == hashlib.sha256(np.stack([BOXES, BOXES]).tobytes()).hexdigest()
    write_h5(path, [BOXES, BOXES], more=np.zeros(9))
    assert read_regions(path).files[1].sha256 == first.files[1].sha256
    write_h5(path, [BOXES, BOXES + 1])
    assert read_regions(path).files[1].sha256 != first.files[1].sha256


def test_hdf5_without_h5py(tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_h5(tmp_path / "f.h5", [BOXES])
    info = write("f_info.json", {"7": entry(0)})
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(BackendError, match=r"pip install 'shortcut-miner\[gqa\]'"):
        read_regions(path, info=info)


def test_what_is_no_detections(write: Write, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"got text that starts with 'hello', expected one of GQA"):
        read_regions(write("x", "hello"))
    with pytest.raises(SourceError, match=r"got no such file"):
        read_regions(tmp_path / "nothing")
    with pytest.raises(SourceError, match=r"got an empty file"):
        read_regions(write("empty", ""))
    (tmp_path / "folder").mkdir()
    with pytest.raises(SourceError, match=r"got a folder without detections \(it has no files\)"):
        read_regions(tmp_path / "folder")
    with pytest.raises(ConfigError, match=r"expected bottom-up-attention TSV alone"):
        read_regions(write("f.tsv", bottom_up("7")), info=write("v.txt", "a"))


# ---- real samples ----


@pytest.mark.real
def test_a_real_bottom_up_file(real_data: Path) -> None:
    reading = check(read_regions(real_data / "detectors" / "bottom_up_trainval_36_sample.zip"))
    assert (len(reading.images), len(reading.regions)) == (10, 360)
    assert reading.images.row(0) == ("150367", 640.0, 480.0, 36)
    first = boxes_of(reading, "150367")[0]
    np.testing.assert_allclose(first, [0, 277.6827, 583.3728, 479.2], rtol=1e-6)
    assert reading.notes == ()


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "info", "images", "regions"),
    [
        (".", "gqa_objects_info.json", 198, 9_889),
        ("output_gqa_detectron_objects.h5", None, 198, 10_861),
        ("vg_gqa_obj36.tsv.gz", None, 198, 5_410),
    ],
)
def test_the_golden_detectors(
    real_data: Path, name: str, info: str | None, images: int, regions: int
) -> None:
    world = real_data.parent / "golden" / "fpvg" / "world"
    reading = check(read_regions(world / name, info=world / info if info else None))
    assert (len(reading.images), int((~reading.regions["is_padding"]).sum())) == (images, regions)


def test_a_format_that_only_the_whole_file_tells(write: Write) -> None:
    mask = {"size": [30, 40], "counts": "x"}
    box = {"image_id": 7, "segmentation": mask, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 0.5}
    reading = read_regions(write("r.json", [box]), info=write("names.json", {"1": "dog"}))
    assert reading.kind == "COCO results JSON"
    assert reading.regions.select("image_id", "label", "x1", "y2").rows() == [("7", "dog", 1.0, 6.0)]
