"""Object labels out of files that were made for something else: boxes in every format, and scene graphs."""

import base64
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sources.test_gqa import graph
from sources.test_regions import BOXES, FORMS, bottom_up, lxmert, pipeline, same_world, vinvl, write_h5

from shortcut_miner import schemas
from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.sources.images import labels, regions_tsv
from shortcut_miner.sources.images.labels import read_labels
from shortcut_miner.sources.images.regions import read_regions
from shortcut_miner.sources.opening import files as opening_files
from shortcut_miner.sources.opening.reading import Reading

Write = Callable[[str, Any], Path]
WITHOUT = ("bottom-up", "bottom-up gz", "h5")
SCORES = {"lxmert": [0.9, 0.7, 0.5], "pipeline": [0.75] * 3, "parquet": [None] * 3} | dict.fromkeys(
    ("coco", "open images"), [0.5] * 3
)


def check(reading: Reading) -> Reading:
    schemas.validated(reading.table, schemas.Labels, "labels")
    assert reading.table.columns[:3] == list(schemas.Labels.columns())
    return reading


# ---- boxes ----


@pytest.mark.parametrize("form", [form for form in FORMS if form not in WITHOUT])
def test_labels_of_every_format_that_has_them(write: Write, tmp_path: Path, form: str) -> None:
    path, options = same_world(write, tmp_path, form)
    reading = check(read_labels(path, info=options.get("info")))
    seven = reading.table.filter(image_id="7")
    assert seven["label"].to_list() == ["c0", "c1", "c2"]  # of synonyms the first, as for boxes
    assert seven["score"].to_list() == pytest.approx(SCORES.get(form, [0.9] * 3))
    rest = reading.table.filter(pl.col("image_id") != "7").rows()
    assert rest == ([] if form in ("coco", "open images") else [("8", None, None)])
    assert (reading.kind, reading.dropped, reading.notes) == (FORMS[form], {}, ())


@pytest.mark.parametrize("form", WITHOUT)
def test_boxes_without_labels_are_refused_with_a_way_out(write: Write, tmp_path: Path, form: str) -> None:
    path, _ = same_world(write, tmp_path, form)
    told = (
        f"{path}: got {FORMS[form]} (boxes without labels), expected object labels. Give the same detector's "
        "labels as JSON ({image: {classes, scores}}), or as a table with image_id, label and score."
    )
    for given_path in (path, path.parent):
        with pytest.raises(SourceError) as error:
            read_labels(given_path)
        assert str(error.value) == told


def test_a_second_file_that_is_missing_is_asked_for(write: Write) -> None:
    path = write("f.tsv", lxmert("7"))
    with pytest.raises(ConfigError) as error:
        read_labels(path)
    assert str(error.value) == (
        f"{path}: got LXMERT TSV without the names of its object ids, expected a file that has them. "
        "Name the vocabulary, a name a line, with --detections-info."
    )
    path = write("c.json", [{"image_id": 7, "category_id": 1, "score": 0.5, "bbox": [1, 2, 3, 4]}])
    with pytest.raises(
        ConfigError, match=r"c\.json: got COCO results JSON without category names, .* with --det"
    ):
        read_labels(path)


def test_a_second_file_that_is_too_many_is_told(write: Write) -> None:
    info = write("names.txt", "c0\n")
    for path in (
        write("d.json", {"7": {"classes": ["cat"], "scores": [1]}}),
        write("d.jsonl", pipeline(7)),
        write("d.csv", "image_id,label\n7,cat\n"),
        write("g.json", {"7": graph()}),
    ):
        with pytest.raises(
            ConfigError, match=r" and names\.txt beside it, expected .* alone\. Leave --detect"
        ):
            read_labels(path, info=info)
    with pytest.raises(ConfigError, match="detections_info: got 2 files for 1 detections"):
        read_labels(path, info=[info, info])


def test_padding_has_no_label_and_an_image_of_padding_alone_nothing(tmp_path: Path) -> None:
    path = tmp_path / "regions.parquet"
    pl.DataFrame(
        {
            "image_id": ["1", "1", "2", "2"],
            "region_index": [0, 1, 0, 1],
            "is_padding": [False, True, True, True],
            "label": ["cat", "dog", "dog", None],
            "score": [0.5, 7.0, None, None],  # of padding anything may stand there
            **dict.fromkeys(("x1", "y1"), [1.0] * 4),
            **dict.fromkeys(("x2", "y2"), [5.0] * 4),
        }
    ).write_parquet(path)
    assert check(read_labels(path)).table.rows() == [("1", "cat", 0.5), ("2", None, None)]


def test_regions_parquet_without_labels_or_with_labels_without_boxes(tmp_path: Path) -> None:
    path = tmp_path / "regions.parquet"
    sides = {name: [1.0, None] for name in ("x1", "y1")} | {name: [5.0, None] for name in ("x2", "y2")}
    pl.DataFrame({"image_id": ["1", "2"], **sides}).write_parquet(path)
    with pytest.raises(SourceError, match="got regions Parquet in which no box has a label, expected labels"):
        read_labels(path)
    pl.DataFrame({"image_id": ["1", "2"], "label": ["cat", "dog"], **sides}).write_parquet(path)
    with pytest.raises(SourceError) as error:
        read_labels(path)
    assert str(error.value) == (
        f"{path}: got 1 rows with a label and without a box (images '2'), expected both or none. Fill in the "
        "boxes, or leave the columns of boxes out."
    )
    assert read_regions(path).regions["label"].to_list() == ["cat"]


def one(label: Any, score: Any) -> dict[str, Any]:
    return {"label": label, "score": score, "box": {"xmin": 1, "ymin": 1, "xmax": 5, "ymax": 5}}


def test_all_bad_labels_of_boxes_are_told_at_once(write: Write) -> None:
    found = {
        1: [one("cat", 0.5), one(None, 0.5)],
        2: [one(" ", None), one("dog", 1.5)],
        3: [one("dog", -0.5), one("dog", None)],
        4: [],
    }
    lines = [json.dumps({"image_id": image, "detections": some}) for image, some in found.items()]
    path = write("d.jsonl", "\n".join(lines))
    with pytest.raises(SourceError) as error:
        read_labels(path)
    assert str(error.value).splitlines() == [
        f"{path}: got 4 bad of 6 regions, expected none. Fix them, or skip them with --on-bad-row skip.",
        "  - image '1', region 1, label: got null, expected text that is not blank",
        "  - image '2', region 0, label: got ' ', expected text that is not blank",
        "  - image '2', region 1, score: got 1.5, expected a number from 0 to 1",
        "  - image '3', region 0, score: got -0.5, expected a number from 0 to 1",
    ]
    reading = check(read_labels(path, on_bad_row="skip"))
    # Of image 2 nothing is left: what is in it is not known.
    assert reading.table.rows() == [("1", "cat", 0.5), ("3", "dog", None), ("4", None, None)]
    assert reading.dropped == {
        "label: expected text that is not blank": 2,
        "score: expected a number from 0 to 1": 2,
    }


def test_bad_lines_are_counted_beside_bad_labels(write: Write) -> None:
    lines = [pipeline(7), "{}", json.dumps({"image_id": 8, "detections": [one("cat", 1), one("", 1)]})]
    reading = read_labels(write("d.jsonl", "\n".join(lines)), on_bad_row="skip")
    assert reading.table["label"].to_list() == ["c0", "c1", "c2", "cat"]
    assert sum(reading.dropped.values()) == 2


def test_a_start_that_does_not_tell_coco_results(write: Write) -> None:
    mask = {"size": [9, 9], "counts": "x" * 70_000}  # longer than what is looked at first
    record = {"segmentation": mask, "image_id": 7, "category_id": 1, "score": 0.5, "bbox": [1, 2, 3, 4]}
    path = write("c.json", [record])
    assert read_labels(path, info=write("n.json", {"1": "cat"})).table.rows() == [("7", "cat", 0.5)]


# ---- the same labels in several formats ----

_found = st.tuples(st.sampled_from(["cat", "dog", "traffic light"]), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
IMAGES = st.dictionaries(
    st.sampled_from(["7", "8", "0012"]), st.lists(_found, min_size=1, max_size=4), min_size=1
)


def write_labels(folder: Path, form: str, images: dict[str, list[tuple[str, float]]]) -> dict[str, Path]:
    """Write labels as some format, all in the same box; return what to read them by."""
    path = folder / form
    names = ["cat", "dog", "traffic light"]
    rows = [(image, *one) for image, found in images.items() for one in found]
    if form == "image JSON":
        content: Any = {
            image: {"classes": [label for label, _ in found], "scores": [score for _, score in found]}
            for image, found in images.items()
        }
        path.write_text(json.dumps(content))
    elif form == "COCO results":
        content = [
            {"image_id": image, "category_id": names.index(label), "score": score, "bbox": [1, 1, 4, 4]}
            for image, label, score in rows
        ]
        path.write_text(json.dumps(content))
        info = folder / "categories.json"
        info.write_text(json.dumps({str(at): name for at, name in enumerate(names)}))
        return {"path": path, "info": info}
    elif form in ("pipeline", "VinVL"):
        lines = [
            json.dumps({"image_id": image, "detections": [one(*pair) for pair in found]})
            if form == "pipeline"
            else f"{image}\t{json.dumps([{'class': a, 'conf': b, 'rect': [1, 1, 5, 5]} for a, b in found])}"
            for image, found in images.items()
        ]
        path.write_text("\n".join(lines))
    elif form == "LXMERT":
        lines = [
            lxmert(
                image, np.ones((len(found), 4)) * [1, 1, 5, 5],
                ids=coded([names.index(label) for label, _ in found], "<i8"),
                conf=coded([score for _, score in found], "<f4"),
            )
            for image, found in images.items()
        ]  # fmt: skip
        path.write_text("\n".join(lines))
        info = folder / "objects.txt"
        info.write_text("cat\ndog,dogs\ntraffic light\n")
        return {"path": path, "info": info}
    else:
        sides = {"x1": 1.0, "y1": 1.0, "x2": 5.0, "y2": 5.0} if form == "regions Parquet" else {}
        frame = pl.DataFrame(rows, schema=["image_id", "label", "score"], orient="row")
        frame.with_columns(pl.lit(value).alias(name) for name, value in sides.items()).write_parquet(path)
    return {"path": path}


def coded(values: Any, dtype: str) -> str:
    return base64.b64encode(np.asarray(values, dtype).tobytes()).decode()


SAME = ("image JSON", "COCO results", "pipeline", "VinVL", "LXMERT", "regions Parquet", "labels Parquet")


@given(images=IMAGES)
@settings(max_examples=25)
def test_the_same_labels_are_equal_in_every_format(
    tmp_path: Path, images: dict[str, list[tuple[str, float]]]
) -> None:
    expected = [(image, *one) for image, found in images.items() for one in found]
    for form in SAME:
        assert read_labels(**write_labels(tmp_path, form, images)).table.rows() == expected, form
    files = [write_labels(tmp_path, form, images)["path"] for form in ("image JSON", "pipeline", "VinVL")]
    several = read_labels(files)
    assert several.table.rows() == expected
    assert several.notes == (f"images that several files have alike, kept once: {len(images)}",)


# ---- scene graphs ----


def test_names_of_gqa_scene_graphs(write: Write) -> None:
    box = {"x": 1, "y": 2, "w": 3, "h": 4}
    first = {
        "1": {"name": "dog", "attributes": ["brown"], **box},
        "2": {"name": "cat", **box},
        "3": {"name": "dog", **box},
    }
    path = write("g.json", {"7": {"objects": {}}, "0012": {"width": 9, "height": 9, "objects": first}})
    reading = check(read_labels(path))
    assert reading.kind == "GQA scene graphs JSON"
    assert reading.table.rows() == [
        ("7", None, None),
        ("0012", "dog", None),
        ("0012", "cat", None),
        ("0012", "dog", None),
    ]


def test_first_names_of_visual_genome(write: Write) -> None:
    box = {"x": 1, "y": 2, "w": 3, "h": 4}
    objects = [{"object_id": 1, "names": ["dog", "puppy"], **box}, {"object_id": 2, "names": ["cat"], **box}]
    path = write("objects.json", [{"image_id": 7, "objects": objects}, {"image_id": 8, "objects": []}])
    assert check(read_labels(path)).table.rows() == [
        ("7", "dog", None),
        ("7", "cat", None),
        ("8", None, None),
    ]


def test_a_bad_scene_graph_is_left_out_as_a_whole(write: Write) -> None:
    bad = graph()
    next(iter(bad["objects"].values()))["name"] = ""
    path = write("g.json", {"1": graph(), "2": bad})
    with pytest.raises(SourceError, match=r"image '2', name: got '', expected text that is not blank"):
        read_labels(path)
    reading = read_labels(path, on_bad_row="skip")
    assert reading.table["image_id"].unique().to_list() == ["1"]
    assert sum(reading.dropped.values()) == 1


@pytest.mark.real
def test_real_scene_graphs_and_boxes(real_data: Path) -> None:
    path = real_data / "gqa" / "scene_graphs_4.json"
    reading = check(read_labels(path))
    graphs = json.loads(path.read_bytes())
    assert Counter(reading.table.select("image_id", "label").rows()) == Counter(
        (image, found["name"]) for image, one in graphs.items() for found in one["objects"].values()
    )
    with pytest.raises(
        SourceError, match=r"got bottom-up-attention TSV .boxes without labels., expected object"
    ):
        read_labels(real_data / "detectors" / "bottom_up_trainval_36_sample.zip")


# ---- several files ----


def test_files_of_several_formats_are_read_as_one(write: Write) -> None:
    files = [
        write("a.json", {"1": {"classes": ["cat"], "scores": [0.5]}}),
        write("b.tsv", f"2\t{json.dumps(vinvl())}\n"),
        write("c.tsv", lxmert("3")),
        write("d.csv", "image_id,label\n4,dog\n"),
        write("e.json", {"5": {"objects": {"1": {"name": "cow", "x": 1, "y": 2, "w": 3, "h": 4}}}}),
    ]
    names = write("objects.txt", "x\ny\nz\n")
    reading = check(read_labels(files, info=names))  # the one that takes it gets it
    assert reading.table.select("image_id", "label").rows() == [
        ("1", "cat"),
        *(("2", name) for name in ("c0", "c1", "c2")),
        *(("3", name) for name in "xyz"),
        ("4", "dog"),
        ("5", "cow"),
    ]
    assert reading.kind == (
        "image-to-detection JSON, VinVL TSV, LXMERT TSV, labels CSV, GQA scene graphs JSON"
    )


def test_a_folder_leaves_out_what_has_no_labels(write: Write, tmp_path: Path) -> None:
    write("captions.json", {"images": [{"id": 1}], "annotations": [{"image_id": 1, "caption": "A cat"}]})
    write("broken.json", '{"1": {"classes"')
    write("features.npy", b"\x93NUMPY\x01\x00" + bytes(100))
    write("notes.txt", "Boxes of 2019\n")
    write("boxes.tsv", bottom_up("7"))
    write("oscar.tsv", f"7\t2\t{coded(range(20), '<f4')}\n")
    write("d.csv", "image_id,label\n4,dog\n")
    write("e.jsonl", pipeline(7))
    reading = read_labels(tmp_path)
    assert reading.table["label"].to_list() == ["dog", "c0", "c1", "c2"]
    others = "'broken.json', 'captions.json', 'features.npy', 'notes.txt', 'oscar.tsv'"
    assert reading.notes == (
        f"files of another format left out: {others}",
        "boxes without labels left out: 'boxes.tsv'",
    )


def test_a_folder_of_coco_annotations_with_captions(write: Write, tmp_path: Path) -> None:
    images = [{"id": 1}, {"id": 2}]
    write("captions_val.json", {"images": images, "annotations": [{"image_id": 1, "caption": "A cat"}]})
    dog = {"image_id": 1, "category_id": 18}
    instances = {"images": images, "annotations": [dog], "categories": [{"id": 18, "name": "dog"}]}
    write("instances_val.json", instances)
    reading = read_labels(tmp_path)
    assert reading.table.select("image_id", "label").rows() == [("1", "dog"), ("2", None)]
    assert reading.notes == ("files of another format left out: 'captions_val.json'",)


def test_no_file_is_read_twice_as_a_whole(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.json", {"1": {"classes": ["cat"], "scores": [0.5]}})
    write("b.csv", "image_id,label\n4,dog\n")
    write("c.tsv", f"2\t{json.dumps(vinvl())}\n")
    write("picture.jpg", b"\xff\xd8\xff" + bytes(100))
    opened: list[str] = []

    def open_source(path: Path, **options: Any) -> Any:
        opened.append(Path(path).name)
        return opening_files.open_source(path, **options)

    monkeypatch.setattr(labels, "open_source", open_source)
    for path in (tmp_path, [tmp_path / "a.json", tmp_path / "b.csv", tmp_path / "c.tsv"]):
        opened.clear()
        assert len(read_labels(path).table) == 5
        assert sorted(opened) == ["a.json", "b.csv"]  # lines of boxes are streamed


def test_features_are_not_decoded(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    n, size = len(BOXES), 2048
    wide = coded(np.zeros(n * size), "<f4")
    path = write("f.tsv", "\n".join(lxmert(str(image), features=wide) for image in range(3)))
    decoded: list[int] = []
    decode = base64.b64decode

    def b64decode(value: bytes, **options: Any) -> bytes:
        decoded.append(len(value))
        return decode(value, **options)

    monkeypatch.setattr(regions_tsv.base64, "b64decode", b64decode)
    reading = read_labels(path, info=write("objects.txt", "x\ny\nz\n"))
    assert reading.table["label"].to_list() == ["x", "y", "z"] * 3
    assert len(decoded) == 3 * 5  # ids and scores of objects and attributes, and boxes
    assert max(decoded) < 100 < len(wide)


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    import os
    import threading

    path = tmp_path / "pipe"
    os.mkfifo(path)
    writing = threading.Thread(
        target=path.write_text, args=('{"7": {"classes": ["cat"], "scores": [1]}}',), daemon=True
    )
    writing.start()
    assert read_labels(path).table.rows() == [("7", "cat", 1.0)]
    writing.join()


def test_hdf5_beside_labels_is_left_out(write: Write, tmp_path: Path) -> None:
    write_h5(tmp_path / "objects_0.h5", [BOXES])
    write("info.json", {"7": {"objectsNum": 1, "width": 9, "height": 9, "idx": 0, "file": 0}})
    write("d.csv", "image_id,label\n4,dog\n")
    reading = read_labels(tmp_path)
    assert reading.table.rows() == [("4", "dog", None)]
    assert reading.notes == (
        "files of another format left out: 'info.json'",
        "boxes without labels left out: 'objects_0.h5'",
    )
